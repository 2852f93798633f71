//! A database that odm has written, read from its data alone: what comes back of its models, and advice that is followed.

use mongodb::bson::{DateTime, Document as Doc, doc, oid::ObjectId};
use odm::edges::CopyKind;
use odm::prelude::*;
use odm_introspect::advice::{Advice, Rule, advise};
use odm_introspect::design::Design;
use odm_introspect::read::{ReadOptions, Source};
use odm_tests::{TestDb, with_db};

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "publishers")]
pub struct Publisher {
    pub id: ObjectId,
    #[index(unique)]
    pub name: String,
    #[computed(count = Book)]
    pub books: i64,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "authors")]
pub struct Author {
    pub id: ObjectId,
    pub name: String,
    #[reference(many, inverse = authors, max = 100)]
    pub books: Vec<Ref<Book>>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "books")]
pub struct Book {
    pub id: ObjectId,
    pub title: String,
    #[parent_ref(on_delete = restrict)]
    pub publisher: Ref<Publisher>,
    #[denormalize(from = publisher.name)]
    pub publisher_name: String,
    #[reference(many, inverse = books, max = 12)]
    pub authors: Vec<Ref<Author>>,
    #[embed(max = 20)]
    pub tags: Vec<String>,
    #[subset(of = Review, limit = 3, order(-at), fields(text: String, at: DateTime))]
    pub newest: Vec<ReviewEntry>,
    #[computed(count = Review)]
    pub reviews: i64,
    #[computed(sum = Review.stars)]
    pub stars: i64,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "reviews")]
pub struct Review {
    pub id: ObjectId,
    #[parent_ref(order(-at), on_delete = cascade)]
    pub book: Ref<Book>,
    pub at: DateTime,
    pub stars: i32,
    pub text: String,
}

/// The tags of a book, since they have grown.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "tags")]
pub struct Tag {
    pub id: ObjectId,
    #[reference(on_delete = restrict)]
    pub book: Ref<Book>,
    pub text: String,
}

/// 20 publishers, 60 authors, 200 books with a publisher and two authors each, and 900 reviews.
async fn library(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Publisher, Author, Book, Review, Tag]).unwrap();
    odm.sync().await.unwrap();
    let publishers = (0..20).map(|at| NewPublisher {
        name: format!("Publisher {at}"),
    });
    let publishers = odm
        .collection::<Publisher>()
        .insert_many(publishers)
        .await
        .unwrap();
    let authors = (0..60).map(|at| NewAuthor {
        name: format!("Author {at}"),
        books: Vec::new(),
    });
    let authors = odm.collection::<Author>().insert_many(authors).await.unwrap();
    let books = (0..200_usize).map(|at| NewBook {
        title: format!("Book {at}"),
        publisher: publishers[at * at / 7 % 20].to_ref(),
        authors: vec![
            authors[at % 60].to_ref(),
            authors[(at + 1 + at % 7) % 60].to_ref(),
        ],
        tags: (0..at % 4)
            .map(|tag| format!("tag {}", (at * 3 + tag) % 50))
            .collect(),
    });
    let books = odm.collection::<Book>().insert_many(books).await.unwrap();
    let reviews = (0..900_usize).map(|at| NewReview {
        book: books[at * at % 197].to_ref(),
        at: DateTime::from_millis(1_700_000_000_000 + at as i64 * 7_919_000),
        stars: (at * 31 % 5) as i32 + 1,
        text: format!("The review number {at}"),
    });
    odm.collection::<Review>().insert_many(reviews).await.unwrap();
    odm
}

async fn design(t: &TestDb) -> Design {
    let source = Source::new(&t.db, ReadOptions::default());
    odm_introspect::introspect(&source).await.unwrap()
}

/// Each declared reference and derived field, and whether it was found.
pub(crate) fn came_back(odm: &Odm, design: &Design) -> Vec<(String, bool)> {
    let edges = odm.edges();
    let references = edges.references.iter().map(|edge| {
        let path = |path: &str| path == edge.field || path == format!("{}[]", edge.field);
        let is_found = design.references.iter().any(|reference| {
            reference.from.collection == edge.holder
                && path(&reference.from.paths[0])
                && edge.targets == [reference.to.collection.as_str()]
        });
        (
            format!("{}.{} refers to {:?}", edge.holder, edge.field, edge.targets),
            is_found,
        )
    });
    let derived = edges.copies.iter().map(|edge| {
        let holds = |collection: &str, path: &str| collection == edge.holder && path == edge.field;
        let is_found = match &edge.kind {
            CopyKind::Field { source, .. } => design.copies.iter().any(|copied| {
                let by = design.reference(copied.by).unwrap();
                holds(&by.from.collection, &copied.path) && copied.from == *source
            }),
            CopyKind::Subset { limit, .. } => design
                .subsets
                .iter()
                .any(|subset| holds(&subset.collection, &subset.path) && subset.limit == u64::from(*limit)),
            CopyKind::Computed { .. } => {
                let is_it =
                    |computed: &odm_introspect::design::Computed| holds(&computed.collection, &computed.path);
                design
                    .computed
                    .iter()
                    .any(|computed| is_it(computed) && computed.by.is_some())
            }
            other => panic!("{other:?}"),
        };
        (
            format!("{}.{} is derived from {}", edge.holder, edge.field, edge.source),
            is_found,
        )
    });
    references.chain(derived).collect()
}

#[odm_tests::test]
fn the_models_come_back_from_the_data_alone() {
    with_db(async |t| {
        let odm = library(&t).await;
        let design = design(&t).await;
        let table = came_back(&odm, &design);
        for (what, is_found) in &table {
            println!("  {} {what}", if *is_found { "found " } else { "missed" });
        }
        let missed: Vec<_> = table.iter().filter(|(_, is_found)| !is_found).collect();
        // No document refers to a book from `tags`.
        assert_eq!(missed, [&("tags.book refers to [\"books\"]".to_owned(), false)]);
        // And so do the attributes, in the code that is written.
        let files = odm_introspect::code::write(&design);
        for (file, attribute) in [
            ("publishers.rs", "#[computed(count = Book)]"),
            ("authors.rs", "#[reference(many, max = 20, inverse = authors)]"),
            ("books.rs", "#[parent_ref(index = false)]"),
            ("books.rs", "#[denormalize(from = publisher.name)]"),
            ("books.rs", "#[reference(many, max = 10, inverse = books)]"),
            ("books.rs", "#[subset(of = Review, limit = 3, order(-at))]"),
            ("books.rs", "#[computed(count = Review)]"),
            ("books.rs", "#[computed(sum = Review.stars)]"),
            ("reviews.rs", "#[parent_ref(order(-at, -id))]"),
        ] {
            let written = files.iter().find(|of| of.path == file).unwrap();
            assert!(
                written.text.contains(attribute),
                "{attribute} is not in:\n{}",
                written.text
            );
        }
        let own: Vec<_> = design
            .collections
            .iter()
            .filter(|collection| collection.name.starts_with("_odm"))
            .collect();
        assert!(own.is_empty(), "{own:?}");
        let faults: Vec<_> = advise(&design)
            .into_iter()
            .filter(|advice| is_of(advice, None))
            .collect();
        assert!(faults.is_empty(), "{faults:#?}");
    });
}

/// Whether an advice is about data that are wrong, or about this rule.
fn is_of(advice: &Advice, rule: Option<(Rule, &str)>) -> bool {
    const WRONG: [Rule; 5] = [
        Rule::StaleCopy,
        Rule::WrongComputed,
        Rule::WrongSubset,
        Rule::LinksDisagree,
        Rule::GrowingArray,
    ];
    match rule {
        Some((rule, path)) => advice.rule == rule && advice.path == path,
        None => WRONG.contains(&advice.rule),
    }
}

/// The step of the advice on the array: its elements beyond the bound have become documents.
mod m0001_shorten_tags {
    use odm::bson::doc;

    pub async fn up(step: &odm::migrate::Step) -> odm::Result<()> {
        let first = doc! { "$set": { "tags": { "$slice": ["$tags", 10] } } };
        let longer = doc! { "tags.10": { "$exists": true } };
        step.collection("books").update(longer, [first]).await?;
        step.declare().await
    }
}

#[odm_tests::test]
fn advice_is_gone_once_it_is_followed() {
    with_db(async |t| {
        let odm = library(&t).await;
        let books = t.db.collection::<Doc>("books");
        // Other programs let twenty arrays grow, change copies of a tenth and a count, and take one side of a link away.
        let ids: Vec<ObjectId> = odm
            .collection::<Book>()
            .find_all()
            .all()
            .await
            .unwrap()
            .iter()
            .map(|book| book.id)
            .collect();
        for (at, id) in ids.iter().take(20).enumerate() {
            let tags: Vec<String> = (0..1_000 + at * 50).map(|tag| format!("tag {tag}")).collect();
            let change = doc! { "$set": { "tags": tags, "publisher_name": "An old name" } };
            books
                .update_one(doc! { "_id": id }, change)
                .bypass_document_validation(true)
                .await
                .unwrap();
        }
        let wrong = doc! { "$set": { "reviews": 1_000_i64 } };
        books
            .update_one(doc! { "_id": ids[40] }, wrong)
            .bypass_document_validation(true)
            .await
            .unwrap();
        let one_side = doc! { "$set": { "authors": [] } };
        books
            .update_one(doc! { "_id": ids[50] }, one_side)
            .bypass_document_validation(true)
            .await
            .unwrap();

        let advice = advise(&design(&t).await);
        let figure = |rule: Rule, path: &str, name: &str| {
            let advice = advice.iter().find(|advice| is_of(advice, Some((rule, path))));
            advice
                .unwrap_or_else(|| panic!("{rule:?} {path}: {advice:#?}"))
                .evidence[name]
        };
        assert_eq!(figure(Rule::GrowingArray, "tags", "greatest"), 1_950.0);
        assert_eq!(figure(Rule::StaleCopy, "publisher_name", "stale"), 20.0);
        assert_eq!(figure(Rule::WrongComputed, "reviews", "different"), 1.0);
        assert!(advice.iter().any(|advice| advice.rule == Rule::LinksDisagree));
        let array = advice
            .iter()
            .find(|advice| advice.rule == Rule::GrowingArray)
            .unwrap();
        println!("{}\n{:#?}", array.finding, array.remedy);

        // The elements of the arrays become documents, a step shortens the arrays, and `repair` writes what the library derives.
        let mut tags = Vec::new();
        let mut found = books.find(doc! {}).await.unwrap();
        while found.advance().await.unwrap() {
            let book = found.deserialize_current().unwrap();
            let id = book.get_object_id("_id").unwrap();
            let texts = book.get_array("tags").unwrap();
            tags.extend(texts.iter().map(|text| doc! { "book": id, "text": text.clone() }));
        }
        t.db.collection::<Doc>("tags").insert_many(tags).await.unwrap();
        odm.migrate(odm::migrations![m0001_shorten_tags])
            .up()
            .await
            .unwrap();
        let audit = odm.audit().await.unwrap();
        odm.repair(&audit).await.unwrap();

        let design = design(&t).await;
        let left: Vec<_> = advise(&design)
            .into_iter()
            .filter(|advice| is_of(advice, None))
            .collect();
        assert!(left.is_empty(), "{left:#?}");
        let tags = design
            .references
            .iter()
            .find(|reference| reference.from.collection == "tags")
            .unwrap();
        assert_eq!(tags.to.collection, "books");
    });
}
