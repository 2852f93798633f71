//! Damage by out-of-band writes: found, repaired where there is one right answer, and reported where there is not.

use super::Library;
use crate::show::{Show, plural, shorten};
use anyhow::{Context, Result};
use mongodb::bson::{self, doc};
use odm::prelude::*;
use odm::to_bson;
use odm::upkeep::{Audit, Findings, RepairKind};
use odm_examples::books::library::{Author, Book, Category};

pub async fn run(show: &mut Show, odm: &Odm, library: &Library) -> Result<()> {
    show.part("After all of this");
    let audit = show
        .step("Is anything wrong with any reference?", odm.audit())
        .await?;
    show.got(audit.to_string());
    show.check("no", audit.is_clean(), true)?;
    show.part("An out-of-band write");
    let damage = Damage::choose(odm, library).await?;
    damage.done(show, odm).await?;
    damage.found(show, odm).await?;
    damage.repaired(show, odm).await?;
    damage.decided(show, odm).await
}

/// The damaged documents, which are unrelated.
struct Damage {
    /// Deleted, though books name him.
    author: Author,
    /// Deleted, though this number of books names it.
    category: Category,
    categorized: u64,
    /// It forgets its first author.
    forgets: Book,
    /// Its second author forgets it.
    forgotten: Book,
    /// It gets more categories than it may have.
    full: Book,
    too_many: Vec<Ref<Category>>,
}

impl Damage {
    async fn choose(odm: &Odm, library: &Library) -> Result<Damage> {
        let (books, authors, categories) = (
            odm.collection::<Book>(),
            odm.collection::<Author>(),
            odm.collection::<Category>(),
        );
        let author = authors
            .find(|a| !a.books.size(0) & !a.books.size(1))
            .sort(|a| a.name.asc())
            .one()
            .await?
            .context("no author has several books")?;
        let mut several: Vec<Category> = Vec::new();
        for category in categories.find_all().sort(|c| c.name.asc()).all().await? {
            let shelf = library.categories.get(&category.name);
            if shelf.is_some_and(|shelf| shelf.len() > 1) {
                several.push(category);
            }
        }
        let category = several.first().context("no category has several books")?.clone();
        let two = books
            .find(|b| {
                b.authors.size(2)
                    & !b.authors.contains(author.to_ref())
                    & !b.categories.contains(category.to_ref())
            })
            .sort(|b| b.title.asc())
            .limit(2)
            .all()
            .await?;
        let (forgets, forgotten) = (two.first(), two.get(1));
        let full = books
            .find(|b| b.categories.size(0) & !b.authors.size(2) & !b.authors.contains(author.to_ref()))
            .sort(|b| b.title.asc())
            .one()
            .await?;
        Ok(Damage {
            categorized: books
                .find(|b| b.categories.contains(category.to_ref()))
                .count()
                .await?,
            too_many: several
                .iter()
                .skip(1)
                .cycle()
                .take(6)
                .map(Category::to_ref)
                .collect(),
            forgets: forgets.context("no book has two authors")?.clone(),
            forgotten: forgotten.context("one book has two authors")?.clone(),
            full: full.context("every book has a category")?,
            author,
            category,
        })
    }

    /// Does it, with the plain driver.
    async fn done(&self, show: &mut Show, odm: &Odm) -> Result<()> {
        let (books, authors, categories) = (
            odm.collection::<Book>().driver::<bson::Document>(),
            odm.collection::<Author>().driver::<bson::Document>(),
            odm.collection::<Category>().driver::<bson::Document>(),
        );
        let what = format!(
            "The author {} is deleted, whom {} name",
            self.author.name,
            plural(self.author.books.len() as u64, "book")
        );
        show.step(what, authors.delete_one(by_id(&self.author.id)?))
            .await?;
        let what = format!(
            "The category {} is deleted, which {} name",
            self.category.name,
            plural(self.categorized, "book")
        );
        show.step(what, categories.delete_one(by_id(&self.category.id)?))
            .await?;
        let what = format!("{} forgets its first author", short(&self.forgets));
        let change = doc! { "$pop": { "authors": -1 } };
        show.step(what, books.update_one(by_id(&self.forgets.id)?, change))
            .await?;
        let what = format!("The second author of {} forgets it", short(&self.forgotten));
        let second = self.forgotten.authors.get(1).context("it has no second author")?;
        let change = doc! { "$pull": { "books": to_bson(&self.forgotten.id)? } };
        show.step(what, authors.update_one(by_id(second)?, change))
            .await?;
        let what = format!(
            "{} gets six categories, past the validator: it may have five",
            short(&self.full)
        );
        let change = doc! { "$set": { "categories": to_bson(&self.too_many)? } };
        let update = books.update_one(by_id(&self.full.id)?, change);
        show.step(what, update.bypass_document_validation(true)).await?;
        Ok(())
    }

    async fn found(&self, show: &mut Show, odm: &Odm) -> Result<()> {
        let audit = show.step("Audit", odm.audit()).await?;
        show.block(&audit.to_string());
        let found = [
            count(&audit, "books", "authors", |r| &r.dangling),
            count(&audit, "books", "categories", |r| &r.dangling),
            count(&audit, "authors", "books", |r| &r.one_sided),
            count(&audit, "books", "authors", |r| &r.one_sided),
            count(&audit, "books", "categories", |r| &r.over_bound),
            total(&audit),
        ];
        let lost = self.author.books.len() as u64;
        let expected = [lost, self.categorized, 1, 1, 1, lost + self.categorized + 3];
        show.check("all five are found, and nothing else", found, expected)
    }

    async fn repaired(&self, show: &mut Show, odm: &Odm) -> Result<()> {
        let repaired = show.step("Repair", odm.repair_all()).await?;
        show.block(&repaired.to_string());
        let count = |what| {
            let of_it = repaired.repairs.iter().filter(|repair| repair.what == what);
            of_it.map(|repair| repair.count).sum::<u64>()
        };
        let lost = self.author.books.len() as u64;
        show.check(
            "the deleted author is pulled out, and both sides agree again",
            [
                count(RepairKind::Pulled),
                count(RepairKind::Linked),
                count(RepairKind::Unlinked),
            ],
            [lost, 1, 1],
        )?;
        let books = odm.collection::<Book>();
        let forgets = books.get(&self.forgets.id).await?;
        let authors = forgets.map(|book| book.authors).unwrap_or_default();
        let mut expected = self.forgets.authors.clone();
        expected.rotate_left(1);
        show.check(
            &format!(
                "{} has its first author again, as the last one",
                short(&self.forgets)
            ),
            authors,
            expected,
        )?;
        show.check(
            "what has no one right answer is left as it was",
            total(&repaired.left),
            self.categorized + 1,
        )
    }

    async fn decided(&self, show: &mut Show, odm: &Odm) -> Result<()> {
        let books = odm.collection::<Book>();
        let gone = self.category.to_ref();
        let decision = books
            .update_where(|b| b.categories.contains(gone))
            .pull(|b| b.categories, gone);
        show.step("Somebody decides: the books do without the category", decision)
            .await?;
        let five: Vec<Ref<Category>> = self.too_many.iter().take(5).copied().collect();
        let decision = books.update(&self.full.id).set(|b| b.categories, five);
        show.step(format!("And five are enough for {}", short(&self.full)), decision)
            .await?;
        let audit = show.step("Audit", odm.audit()).await?;
        show.got(audit.to_string());
        show.check("everything is right again", audit.is_clean(), true)
    }
}

fn by_id(id: &impl odm::types::Stored) -> Result<bson::Document> {
    Ok(doc! { "_id": to_bson(id)? })
}

fn short(book: &Book) -> String {
    format!("{:?}", shorten(&book.title, 30))
}

fn count(
    audit: &Audit,
    collection: &str,
    field: &str,
    findings: impl Fn(&odm::upkeep::AuditedReference) -> &Findings,
) -> u64 {
    let of_it = audit.references.iter();
    let of_it = of_it.filter(|reference| reference.collection == collection && reference.field == field);
    of_it.map(|reference| findings(reference).count).sum()
}

fn total(audit: &Audit) -> u64 {
    let all = audit.references.iter();
    all.map(|r| {
        [
            &r.dangling,
            &r.one_sided,
            &r.repeated,
            &r.over_bound,
            &r.several_children,
        ]
        .map(|findings| findings.count)
        .iter()
        .sum::<u64>()
    })
    .sum()
}
