//! Changes of items of an array in the items of another array.

use odm::Error;
use odm::bson::{Document as Bson, doc};
use odm::error::Rule;
use odm::prelude::*;
use odm::update::{Changes, Update};
use odm_tests::{TestDb, changed, with_db};
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "manuals", version)]
struct Manual {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    #[embed(max = 5)]
    sections: Vec<Section>,
    version: i64,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Section {
    title: String,
    #[embed(max = 5)]
    parts: Vec<Part>,
    #[embed(max = 5)]
    tags: Option<Vec<String>>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Part {
    name: String,
    #[field(min = 0, max = 10)]
    count: i32,
    #[serde(default = "four")]
    weight: i32,
    price: Option<i32>,
    #[embed(max = 4)]
    sizes: Vec<i32>,
    #[reference]
    tool: Option<Ref<Tool>>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "tools")]
struct Tool {
    #[serde(rename = "_id")]
    id: i32,
}

fn four() -> i32 {
    4
}

fn part(name: &str, count: i32) -> Part {
    Part {
        name: name.into(),
        count,
        weight: 4,
        price: None,
        sizes: vec![1, 2],
        tool: None,
    }
}

fn section(title: &str, parts: &[(&str, i32)]) -> Section {
    Section {
        title: title.into(),
        parts: parts.iter().map(|(name, count)| part(name, *count)).collect(),
        tags: Some(vec!["old".into()]),
    }
}

/// Manual 1 has parts in two sections, and manual 2 none.
async fn manuals(t: &TestDb) -> (Odm, odm::Collection<Manual>) {
    let odm = Odm::new(t.db.clone(), models![Manual, Tool]).unwrap();
    odm.sync().await.unwrap();
    let manuals = odm.collection::<Manual>();
    let first = vec![
        section("a", &[("bolt", 1), ("nut", 9)]),
        section("b", &[("bolt", 3), ("nut", 4)]),
    ];
    let untagged = Section {
        tags: None,
        ..section("a", &[])
    };
    let new = |id: i32, sections: Vec<Section>| NewManual {
        id,
        title: "?".into(),
        sections,
    };
    manuals
        .insert_many([new(1, first), new(2, vec![untagged])])
        .await
        .unwrap();
    (odm, manuals)
}

async fn counts(manuals: &odm::Collection<Manual>) -> Vec<Vec<i32>> {
    let sections = manuals.get(1).await.unwrap().unwrap().sections;
    let counts = |section: &Section| section.parts.iter().map(|part| part.count).collect();
    sections.iter().map(counts).collect()
}

type Item<T> = Changes<odm::query::Element<T>>;

fn add(part: Item<Part>) -> Item<Part> {
    part.inc(|p| p.count, 1)
}

#[odm_tests::test]
fn items_in_items_are_changed_by_their_conditions() {
    with_db(async |t| {
        if odm_tests::is_the_stand_in_in_python(&t.db).await {
            odm_tests::skip("needs a server that applies two filters of one array in an update");
        }
        let (odm, manuals) = manuals(&t).await;
        let bolts = |section: Item<Section>| section.elem(|s| s.parts, |p| p.name.eq("bolt"), add);
        t.commands.clear();
        let done = manuals
            .update(1)
            .elem(|m| m.sections, |s| s.title.eq("b"), bolts)
            .await
            .unwrap();
        assert_eq!((done.modified, t.commands.take().len()), (1, 1));
        assert_eq!(counts(&manuals).await, [[1, 9], [4, 4]]);
        manuals.update(1).each(|m| m.sections, bolts).await.unwrap();
        assert_eq!(counts(&manuals).await, [[2, 9], [5, 4]]);
        let all = |section: Item<Section>| section.each(|s| s.parts, add);
        manuals
            .update(1)
            .elem(|m| m.sections, |s| s.title.eq("a"), all)
            .await
            .unwrap();
        assert_eq!(counts(&manuals).await, [[3, 10], [5, 4]]);
        // Together with changes of the outer items and of the document, each by a condition of its own.
        manuals
            .update(1)
            .set(|m| m.title, "new")
            .elem(
                |m| m.sections,
                |s| s.title.eq("a") & s.parts.elem(|p| p.name.eq("nut")),
                |s| {
                    s.set(|s| s.title, "c")
                        .elem(|s| s.parts, |p| p.name.eq("nut"), |p| p.set(|p| p.count, 0))
                        .elem(
                            |s| s.parts,
                            |p| p.name.eq("bolt"),
                            |p| {
                                p.set(|p| p.count, 7)
                                    .each(|p| p.sizes, |size| size.mul(|s| s, 10))
                            },
                        )
                        .replace_item(|s| s.tags, "old", "new")
                },
            )
            .elem(
                |m| m.sections,
                |s| s.title.eq("b"),
                |s| {
                    s.elem(
                        |s| s.parts,
                        |p| p.count.gte(5),
                        |p| p.elem(|p| p.sizes, |size| size.gt(1), |size| size.set(|s| s, 0)),
                    )
                },
            )
            .await
            .unwrap();
        let stored = manuals.get(1).await.unwrap().unwrap();
        let mut first = section("c", &[("bolt", 7), ("nut", 0)]);
        first.parts[0].sizes = vec![10, 20];
        first.tags = Some(vec!["new".into()]);
        let mut second = section("b", &[("bolt", 5), ("nut", 4)]);
        second.parts[0].sizes = vec![1, 0];
        assert_eq!((stored.title.as_str(), stored.version), ("new", 5));
        assert_eq!(stored.sections, [first, second]);
        // In a bulk, and of many documents.
        let bulk = odm
            .bulk()
            .add(odm.collection::<Manual>().update(1).each(|m| m.sections, all));
        assert_eq!(bulk.await.unwrap().modified, 1);
        let done = manuals
            .update_all()
            .each(|m| m.sections, |s| s.each(|s| s.parts, |p| p.set(|p| p.price, 3)))
            .await
            .unwrap();
        assert_eq!((done.matched, done.modified), (2, 1));
        assert_eq!(counts(&manuals).await, [[8, 1], [6, 5]]);
    });
}

/// Pairs of changes: by a path of items, and by an `elem` or `each` within another one.
fn in_both_ways() -> Vec<[Changes<Manual>; 2]> {
    let nothing = Changes::<Manual>::new;
    vec![
        [
            nothing().items(
                |m| m.sections.items(|s| s.title.eq("b")),
                |s| s.set(|s| s.title, "x"),
            ),
            nothing().elem(|m| m.sections, |s| s.title.eq("b"), |s| s.set(|s| s.title, "x")),
        ],
        [
            nothing().items(
                |m| {
                    m.sections
                        .items(|s| s.title.eq("b"))
                        .items_of(|s| s.parts, |p| p.name.eq("bolt"))
                },
                add,
            ),
            nothing().elem(
                |m| m.sections,
                |s| s.title.eq("b"),
                |s| s.elem(|s| s.parts, |p| p.name.eq("bolt"), add),
            ),
        ],
        [
            nothing().items(|m| m.sections.all_items().all_items_of(|s| s.parts), add),
            nothing().each(|m| m.sections, |s| s.each(|s| s.parts, add)),
        ],
        [
            nothing().items(
                |m| {
                    let parts = m.sections.all_items().items_of(|s| s.parts, |p| p.count.gte(5));
                    parts.items_of(|p| p.sizes, |size| size.gt(1))
                },
                |size| size.set(|size| size, 0),
            ),
            nothing().each(
                |m| m.sections,
                |s| {
                    s.elem(
                        |s| s.parts,
                        |p| p.count.gte(5),
                        |p| p.elem(|p| p.sizes, |size| size.gt(1), |size| size.set(|size| size, 0)),
                    )
                },
            ),
        ],
        // Without a change there is nothing to find.
        [
            nothing().items(
                |m| m.sections.items(|s| s.title.eq("b")).all_items_of(|s| s.parts),
                |p| p,
            ),
            nothing(),
        ],
    ]
}

#[odm_tests::test]
fn a_path_of_items_makes_the_update_of_nested_changes() {
    for [path, nested] in in_both_ways() {
        assert_eq!(format!("{path:?}"), format!("{nested:?}"));
    }
}

#[odm_tests::test]
fn a_path_of_items_changes_the_innermost_ones() {
    with_db(async |t| {
        if odm_tests::is_the_stand_in_in_python(&t.db).await {
            odm_tests::skip("needs a server that applies two filters of one array in an update");
        }
        let (_, manuals) = manuals(&t).await;
        t.commands.clear();
        let bolts = manuals.update(1).items(
            |m| {
                m.sections
                    .items(|s| s.title.eq("b"))
                    .items_of(|s| s.parts, |p| p.name.eq("bolt"))
            },
            add,
        );
        assert_eq!(bolts.await.unwrap().modified, 1);
        assert_eq!(t.commands.take(), ["update"]);
        assert_eq!(counts(&manuals).await, [[1, 9], [4, 4]]);
        // A bound of the innermost items, and a condition that the server takes no update for.
        let all = |m: <Manual as Document>::Paths| m.sections.all_items().all_items_of(|s| s.parts);
        let broken = manuals.update(1).items(all, |p| p.inc(|p| p.count, 5)).await;
        assert!(matches!(broken, Err(Error::Invalid { .. })), "{broken:?}");
        assert_eq!(counts(&manuals).await, [[1, 9], [4, 4]]);
        let done = manuals.update_all().items(all, |p| p.set(|p| p.count, 2)).await;
        assert_eq!(done.unwrap().modified, 1);
        assert_eq!(counts(&manuals).await, [[2, 2], [2, 2]]);
    });
}

/// The version stays as it is where no item fits.
#[odm_tests::test]
fn an_update_without_items_in_items_changes_nothing() {
    with_db(async |t| {
        let (odm, manuals) = manuals(&t).await;
        let none: [fn(Changes<Manual>) -> Changes<Manual>; 6] = [
            |m| m.elem(|m| m.sections, |s| s.title.eq("x"), |s| s.each(|s| s.parts, add)),
            |m| {
                m.elem(
                    |m| m.sections,
                    |s| s.title.eq("a"),
                    |s| s.elem(|s| s.parts, |p| p.count.gt(100), add),
                )
            },
            // One section has the title, and another one the part.
            |m| {
                m.elem(
                    |m| m.sections,
                    |s| s.title.eq("b"),
                    |s| s.elem(|s| s.parts, |p| p.count.eq(9), add),
                )
            },
            |m| m.each(|m| m.sections, |s| s.elem(|s| s.parts, |p| p.name.eq("x"), add)),
            |m| m.each(|m| m.sections, |s| s.replace_item(|s| s.tags, "x", "y")),
            |m| m.elem(|m| m.sections, |s| s.title.eq("b"), |s| s.pull(|s| s.tags, "x")),
        ];
        let before = manuals.find_all().sort(|m| m.id.asc()).all().await.unwrap();
        for (at, change) in none.into_iter().enumerate() {
            let bulk = odm.bulk().add(changed(
                odm.collection::<Manual>().update_where(|_| Filter::always()),
                change,
            ));
            let done = bulk.await.unwrap();
            assert_eq!((done.matched, done.modified), (2, 0), "{at}");
        }
        assert_eq!(
            manuals.find_all().sort(|m| m.id.asc()).all().await.unwrap(),
            before
        );
        // An item without the array is left as it is, beside one that has it.
        let done = manuals
            .update_all()
            .each(
                |m| m.sections,
                |s| s.each(|s| s.tags, |tag| tag.set(|t| t, "new")),
            )
            .await
            .unwrap();
        assert_eq!((done.matched, done.modified, done.refused), (2, 1, 0));
        let pulled = manuals
            .update(1)
            .elem(|m| m.sections, |s| s.title.eq("a"), |s| s.pull(|s| s.tags, "new"))
            .await
            .unwrap();
        assert_eq!(pulled.modified, 1);
        let stored = manuals.get(1).await.unwrap().unwrap();
        assert_eq!((stored.version, &stored.sections[0].tags), (3, &Some(vec![])));
    });
}

#[odm_tests::test]
fn bounds_hold_for_items_in_items() {
    with_db(async |t| {
        let (_odm, manuals) = manuals(&t).await;
        let update = || manuals.update(1);
        let broken = async |update: Update<Manual>| match update.await.unwrap_err() {
            Error::Invalid { violations, .. } => {
                let [violation] = violations.try_into().expect("one");
                (violation.path, violation.rule)
            }
            other => panic!("{other}"),
        };
        let max = || {
            (
                "sections.parts.count".to_owned(),
                Rule::Max(odm::types::Number::Int(10)),
            )
        };
        t.commands.clear();
        let set = update().each(
            |m| m.sections,
            |s| s.each(|s| s.parts, |p| p.set(|p| p.count, 11)),
        );
        assert_eq!(broken(set).await, max());
        assert!(t.commands.take().is_empty());
        // The nut of the first section has nine; that of the second one four.
        let inc = |by: i32, title: &'static str| {
            let nuts =
                move |s: Item<Section>| s.elem(|s| s.parts, |p| p.name.eq("nut"), |p| p.inc(|p| p.count, by));
            update().elem(|m| m.sections, |s| s.title.eq(title), nuts)
        };
        assert_eq!(broken(inc(2, "a")).await, max());
        assert_eq!(inc(2, "b").await.unwrap().modified, 1);
        let in_all = update().each(|m| m.sections, |s| s.each(|s| s.parts, |p| p.inc(|p| p.count, 5)));
        assert_eq!(broken(in_all).await, max());
        let sizes = update().each(
            |m| m.sections,
            |s| {
                s.each(
                    |s| s.parts,
                    |p| p.each(|p| p.sizes, |size| size.inc(|s| s, i32::MAX)),
                )
            },
        );
        assert_eq!(broken(sizes).await.0, "sections.parts.sizes");
        let many = manuals
            .update_all()
            .each(|m| m.sections, |s| s.each(|s| s.parts, |p| p.inc(|p| p.count, 5)))
            .await
            .unwrap();
        assert_eq!((many.matched, many.refused), (1, 1));
        // Null is no number, and no array to change beside another change.
        let null = async |update: Update<Manual>| match update.await.unwrap_err() {
            Error::IsNull { field, .. } => field,
            other => panic!("{other}"),
        };
        let price = update().each(|m| m.sections, |s| s.each(|s| s.parts, |p| p.inc(|p| p.price, 1)));
        assert_eq!(null(price).await, "sections.parts.price");
        let beside = manuals.update(2).each(
            |m| m.sections,
            |s| {
                s.set(|s| s.title, "x")
                    .each(|s| s.tags, |tag| tag.set(|t| t, "x"))
            },
        );
        assert_eq!(null(beside).await, "sections.tags");
        assert_eq!(counts(&manuals).await, [[1, 9], [3, 6]]);
        assert_eq!(manuals.get(1).await.unwrap().unwrap().version, 2);
        // One update changes an item once, and adds none to an array in it.
        let refused = async |update: Update<Manual>| match update.await.unwrap_err() {
            Error::Query { message, .. } => message,
            other => panic!("{other}"),
        };
        let twice = update()
            .elem(|m| m.sections, |s| s.title.eq("a"), |s| s.each(|s| s.parts, add))
            .each(|m| m.sections, |s| s.elem(|s| s.parts, |p| p.name.eq("nut"), add));
        assert!(refused(twice).await.contains("`sections.parts.count` twice"));
        let within = update()
            .elem(|m| m.sections, |s| s.title.eq("a"), |s| s.each(|s| s.parts, add))
            .elem(
                |m| m.sections,
                |s| s.title.eq("a"),
                |s| s.set(|s| s.parts, vec![]),
            );
        assert!(refused(within).await.contains("`sections.parts` twice"));
        let push = update().each(
            |m| m.sections,
            |s| s.each(|s| s.parts, |p| p.push(|p| p.sizes, 1)),
        );
        assert!(refused(push).await.contains("can't grow with its bound kept"));
    });
}

#[odm_tests::test]
fn defaults_and_references_hold_in_items_in_items() {
    with_db(async |t| {
        let (odm, manuals) = manuals(&t).await;
        let raw = manuals.driver::<Bson>();
        let gone = doc! { "$unset": { "sections.1.parts.0.weight": "" } };
        raw.update_one(doc! { "_id": 1 }, gone).await.unwrap();
        manuals
            .update(1)
            .each(
                |m| m.sections,
                |s| s.each(|s| s.parts, |p| p.inc(|p| p.weight, 1)),
            )
            .await
            .unwrap();
        let stored = manuals.get(1).await.unwrap().unwrap();
        let mut parts = stored.sections.iter().flat_map(|section| &section.parts);
        assert!(parts.all(|part| part.weight == 5));
        odm.collection::<Tool>().insert(Tool { id: 1 }).await.unwrap();
        let set = |tool: i32| {
            manuals.update(1).each(
                |m| m.sections,
                |s| {
                    s.elem(
                        |s| s.parts,
                        |p| p.name.eq("nut"),
                        |p| p.set(|p| p.tool, Some(Ref::new(tool))),
                    )
                },
            )
        };
        let missing = set(2).await.unwrap_err();
        assert!(matches!(missing, Error::MissingReference { .. }), "{missing}");
        set(1).await.unwrap();
        let held = odm.collection::<Tool>().delete(1).await.unwrap_err();
        assert!(matches!(held, Error::StillReferenced { .. }), "{held}");
        odm_tests::assert_clean(&odm).await;
    });
}
