//! The designs with references: each is shown step by step on its program's types, then the program runs as a whole.

use crate::Databases;
use crate::designs::program;
use crate::show::{Show, commands_of_limited};
use anyhow::{Context, Result, bail};
use mongodb::bson::DateTime;
use odm::Error;
use odm::prelude::*;
use odm_examples::many_to_many;
use odm_examples::one_to_many::{self, NewPart, NewProduct, Part, Product};
use odm_examples::reference_in_child::{self, Book, NewBook, NewPublisher, Publisher};
use odm_examples::tree;
use odm_examples::two_way::{self, NewPerson, NewTask, Person, Task};

pub async fn one_to_many(show: &mut Show, databases: &Databases) -> Result<()> {
    show.heading("One to many: an array of references");
    show.text(
        "A product has hundreds of parts, and parts are looked at, and change, without it: the product holds their ids, \
         `#[reference(many, max = 2000)] parts: Vec<Ref<Part>>`.",
    );
    println!();
    let odm = Odm::new(databases.named("products"), models![Part, Product])?;
    show.step("Create what the models declare", odm.sync()).await?;
    let (parts, products) = (odm.collection::<Part>(), odm.collection::<Product>());
    let new = (0..200).map(|n| NewPart {
        partno: format!("123-aff-{n}"),
        name: format!("#{n} grommet"),
        qty: 94,
        price: 399,
    });
    let made = show.step("Insert 200 parts", parts.insert_many(new)).await?;
    let new = (0..50).map(|n| NewProduct {
        name: format!("smoke shifter {n}"),
        manufacturer: "Acme Corp".into(),
        catalog_number: n,
        parts: made
            .iter()
            .cycle()
            .skip(n as usize * 7)
            .take(20)
            .map(Part::to_ref)
            .collect(),
    });
    let stored = show
        .step("And 50 products of 20 parts each", products.insert_many(new))
        .await?;
    show.got("the parts of all of them were looked for at once, before and after the insert");
    let first = stored.first().context("there are no products")?;
    let joined = show
        .step(
            "The parts of one product: `product.parts.load(&odm)`",
            first.parts.load(&odm),
        )
        .await?;
    show.check(
        "in the order of its array",
        joined.as_slice(),
        made.get(..20).unwrap_or_default(),
    )?;
    let find = products
        .find(|p| p.manufacturer.eq("Acme Corp"))
        .include(|p| p.parts)
        .all();
    let all: Vec<(Product, Vec<Part>)> = show
        .step("All products with their parts: `.include(|p| p.parts)`", find)
        .await?;
    let count: usize = all.iter().map(|(_, parts)| parts.len()).sum();
    show.check("1000 parts, as many as there are references", count, 1000)?;
    show.check("2 commands", show.last_sent(), 2)?;
    let used = made.first().context("there are no parts")?;
    match show
        .step("Delete a part that is used", parts.delete(used.id))
        .await
    {
        Err(error @ Error::StillReferenced { .. }) => show.got(error.to_string()),
        other => bail!("a part that is used should not be deleted: {other:?}"),
    }
    program(
        show,
        "one_to_many",
        one_to_many::run(databases.named("one_to_many")),
    )
    .await
}

pub async fn two_way(show: &mut Show, databases: &Databases) -> Result<()> {
    show.heading("Two-way: both sides know each other, and both always agree");
    show.text(
        "A person lists the tasks, `#[reference(many, inverse = owner, max = 500)]`, and a task names its owner, \
         `#[reference(inverse = tasks)]`. Whichever is written, the library writes the other one with it.",
    );
    println!();
    let odm = Odm::new(databases.named("tasks"), models![Person, Task])?;
    show.step("Create what the models declare", odm.sync()).await?;
    let (people, tasks) = (odm.collection::<Person>(), odm.collection::<Task>());
    let new = ["Kate Monster", "Rod"].map(|name| NewPerson {
        name: name.into(),
        tasks: Vec::new(),
    });
    let both = show.step("Insert Kate and Rod", people.insert_many(new)).await?;
    let [kate, rod] = both.as_slice() else {
        bail!("two people were inserted, and {} came back", both.len());
    };
    let new = NewTask {
        description: "Write lesson plan".into(),
        due_date: DateTime::from_millis(1_396_310_400_000),
        owner: kate.to_ref(),
    };
    let plan = show.step("Insert a task of Kate's", tasks.insert(new)).await?;
    owners(show, &odm, (1, 0)).await?;
    let change = tasks.update(plan.id).set(|t| t.owner, rod.to_ref());
    show.step("Reassign it to Rod: one call for three documents", change)
        .await?;
    owners(show, &odm, (0, 1)).await?;
    let change = people.update(kate.id).push(|p| p.tasks, plan.to_ref());
    show.step("Push it onto Kate's list: the other side", change)
        .await?;
    owners(show, &odm, (1, 0)).await?;
    show.step("Delete it", tasks.delete(plan.id)).await?;
    owners(show, &odm, (0, 0)).await?;
    program(show, "two_way", two_way::run(databases.named("two_way"))).await?;
    program(
        show,
        "many_to_many",
        many_to_many::run(databases.named("many_to_many")),
    )
    .await
}

/// How many tasks Kate and Rod have; the tasks have to say the same.
async fn owners(show: &mut Show, odm: &Odm, expected: (usize, usize)) -> Result<()> {
    let (people, tasks) = (odm.collection::<Person>(), odm.collection::<Task>());
    let people = people.find_all().sort(|p| p.name.asc()).all().await?;
    let tasks: Vec<(Task, Person)> = tasks.find_all().include(|t| t.owner).all().await?;
    let of = |name: &str| {
        let listed = people.iter().filter(|p| p.name == name).map(|p| p.tasks.len());
        let named = tasks.iter().filter(|(_, owner)| owner.name == name);
        (listed.sum::<usize>(), named.count())
    };
    let (kate, rod) = expected;
    show.check(
        &format!("by the lists and by the tasks, Kate has {kate} and Rod {rod}"),
        (of("Kate Monster"), of("Rod")),
        ((kate, kate), (rod, rod)),
    )
}

pub async fn reference_in_child(show: &mut Show, databases: &Databases) -> Result<()> {
    show.heading("One to any number: the child names its parent");
    show.text(
        "A publisher may have any number of books, so the book names the publisher: \
         `#[parent_ref(order(-published_date))]`, which declares an index too.",
    );
    println!();
    let odm = Odm::new(databases.named("publishers"), models![Publisher, Book])?;
    let plan = show.step("What would `sync` do?", odm.plan()).await?;
    show.block(&plan.to_string());
    show.step("Do it", odm.apply(&plan)).await?;
    let (publishers, books) = (odm.collection::<Publisher>(), odm.collection::<Book>());
    let new = ["oreilly", "apress", "manning"].map(|id| NewPublisher {
        id: id.into(),
        name: id.to_uppercase(),
        founded: 1980,
        location: "CA".into(),
    });
    let made = show
        .step("Insert three publishers", publishers.insert_many(new))
        .await?;
    let new = (0..300_i64)
        .zip(made.iter().cycle())
        .map(|(n, publisher)| NewBook {
            id: n,
            title: format!("Volume {n}"),
            authors: vec!["Kristina Chodorow".into()],
            published_date: DateTime::from_millis(1_285_286_400_000 + n * 86_400_000),
            pages: 216,
            publisher: publisher.to_ref(),
        });
    show.step("And 100 books of each", books.insert_many(new)).await?;
    let first = made.first().context("there are no publishers")?;
    let newest = books.children_of(first).limit(2).all();
    let newest = show
        .step("The newest two of one: `books.children_of(&publisher)`", newest)
        .await?;
    show.check(
        "the last two, the newest first",
        newest.iter().map(|b| b.id).collect(),
        vec![297, 294],
    )?;
    let find = publishers
        .find_all()
        .include(|p| p.children::<Book>().limit(2))
        .all();
    let all: Vec<(Publisher, Vec<Book>)> = show
        .step("And of all: `.include(|p| p.children::<Book>().limit(2))`", find)
        .await?;
    let ids: Vec<Vec<i64>> = all
        .iter()
        .map(|(_, books)| books.iter().map(|b| b.id).collect())
        .collect();
    let commands = commands_of_limited(&odm, all.len()).await?;
    show.check(
        &format!("two of each, in {commands} commands"),
        (ids, show.last_sent()),
        (vec![vec![297, 294], vec![298, 295], vec![299, 296]], commands),
    )?;
    program(
        show,
        "reference_in_child",
        reference_in_child::run(databases.named("reference_in_child")),
    )
    .await?;
    if !odm.server().await?.has_transactions() {
        return Ok(());
    }
    program(show, "tree", tree::run(databases.named("tree"))).await
}
