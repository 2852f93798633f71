//! The models of `cargo xtask demo`, from the data that it loads alone.

use super::followed::came_back;
use odm::prelude::*;
use odm_examples::books::library::{Author, Book, Category, NewAuthor, NewBook, NewCategory};
use odm_examples::books::{file, names, sample};
use odm_examples::log::{Host, LogMsg, NewHost, NewLogMsg};
use odm_examples::syslog;
use odm_introspect::code;
use odm_introspect::read::{ReadOptions, Source};
use odm_tests::{TestDb, with_db};
use std::collections::BTreeMap;

/// A reference to each document, by its name, whose id is its position.
fn by_name<T: odm::Document<Id = i32>>(names: impl Iterator<Item = String>) -> BTreeMap<String, Ref<T>> {
    let names: std::collections::BTreeSet<String> = names.collect();
    names
        .into_iter()
        .zip(1..)
        .map(|(name, id)| (name, Ref::new(id)))
        .collect()
}

/// The books that the demo makes up, with their authors and categories, and the log.
async fn load(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Author, Book, Category, Host, LogMsg]).unwrap();
    odm.sync().await.unwrap();
    let lines = file::parse(&sample::lines()).unwrap();
    let books = names::clean(&lines).unwrap().books;
    let authors = by_name::<Author>(books.iter().flat_map(|book| book.authors.clone()));
    let categories = by_name::<Category>(books.iter().flat_map(|book| book.categories.clone()));
    let new = authors.iter().map(|(name, id)| NewAuthor {
        id: *id.key(),
        name: name.clone(),
        books: Vec::new(),
    });
    odm.collection::<Author>().insert_many(new).await.unwrap();
    let new = categories.iter().map(|(name, id)| NewCategory {
        id: *id.key(),
        name: name.clone(),
    });
    odm.collection::<Category>().insert_many(new).await.unwrap();
    let new = books.iter().map(|book| NewBook {
        id: book.id.clone(),
        title: book.title.clone(),
        authors: book.authors.iter().map(|name| authors[name]).collect(),
        categories: book.categories.iter().map(|name| categories[name]).collect(),
    });
    odm.collection::<Book>().insert_many(new).await.unwrap();
    let lines = syslog::made_up().unwrap();
    let hosts: std::collections::BTreeSet<&str> = lines.iter().map(|line| line.host.as_str()).collect();
    let new = hosts.iter().map(|name| NewHost {
        name: (*name).to_owned(),
        address: syslog::address(name),
    });
    odm.collection::<Host>().insert_many(new).await.unwrap();
    let new = lines.iter().map(|line| NewLogMsg {
        line: line.number,
        host: Ref::new(line.host.clone()),
        time: line.time,
        process: line.process.clone(),
        pid: line.pid,
        text: line.text.clone(),
    });
    odm.collection::<LogMsg>().insert_many(new).await.unwrap();
    odm
}

#[odm_tests::test]
fn the_models_of_the_demo_come_back_from_its_data_alone() {
    with_db(async |t| {
        let odm = load(&t).await;
        let source = Source::new(&t.db, ReadOptions::default());
        let design = odm_introspect::introspect(&source).await.unwrap();
        let table = came_back(&odm, &design);
        for (what, is_found) in &table {
            println!("  {} {what}", if *is_found { "found " } else { "missed" });
        }
        assert_eq!(table.len(), 4);
        assert!(table.iter().all(|(_, is_found)| *is_found), "{table:?}");
        let files = code::write(&design);
        let has = |file: &str, text: &str| {
            let file = files.iter().find(|of| of.path == file).unwrap();
            assert!(file.text.contains(text), "{text} is not in:\n{}", file.text);
        };
        has("authors.rs", "inverse = authors");
        has("books.rs", "inverse = books");
        has("books.rs", "pub categories: Vec<Ref<Category>>");
        has("messages.rs", "#[parent_ref(order(-time, -id))]");
        has("hosts.rs", "index(fields(address))");
    });
}
