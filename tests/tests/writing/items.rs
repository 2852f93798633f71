//! Conditions on, and changes of, the items of plain arrays.

use odm::Error;
use odm::bson::doc;
use odm::error::Rule;
use odm::prelude::*;
use odm_tests::{TestDb, with_db};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[document(collection = "exams")]
struct Exam {
    #[serde(rename = "_id")]
    id: i32,
    #[embed(max = 10)]
    scores: Vec<i32>,
    #[embed(max = 5)]
    tags: Vec<String>,
    #[embed(max = 5)]
    codes: Vec<Code>,
    #[embed(max = 5)]
    marks: BTreeSet<Mark>,
    #[embed(max = 5)]
    times: Option<Vec<f64>>,
    #[embed(max = 5)]
    gaps: Vec<Option<i32>>,
    #[embed(max = 5)]
    sizes: Vec<u64>,
    #[embed(max = 5)]
    parts: Vec<Part>,
    #[reference(many, max = 5, check = false)]
    follows: Vec<Ref<Exam>>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Code(#[field(max_len = 8)] String);

#[derive(Embed, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    Late,
    Good,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Part {
    #[field(max_len = 8)]
    name: String,
    points: i32,
}

fn exam(id: i32, scores: &[i32]) -> Exam {
    Exam {
        id,
        scores: scores.to_vec(),
        ..Exam::default()
    }
}

async fn models(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Exam]).unwrap();
    odm.sync().await.unwrap();
    odm
}

#[odm_tests::test]
fn one_item_of_a_plain_array_fits_a_whole_condition() {
    with_db(async |t| {
        let odm = models(&t).await;
        let exams = odm.collection::<Exam>();
        let tagged = Exam {
            tags: vec!["old-a".into(), "new".into()],
            marks: [Mark::Good].into(),
            times: Some(vec![0.5, 9.5]),
            ..exam(3, &[])
        };
        let all = [exam(1, &[10, 90]), exam(2, &[10, 50, 90]), tagged];
        exams.insert_many(all).await.unwrap();
        let found = async |filter: Filter<Exam>| -> Vec<i32> {
            let found = exams.find(|_| filter).sort(|e| e.id.asc()).all().await.unwrap();
            found.iter().map(|exam| exam.id).collect()
        };
        let e = Exam::paths();
        assert_eq!(
            found(e.scores.any_item().gt(40) & e.scores.any_item().lt(60)).await,
            [1, 2]
        );
        assert_eq!(found(e.scores.elem(|s| s.gt(40) & s.lt(60))).await, [2]);
        assert_eq!(
            found(e.scores.elem(|s| s.gt(40) & s.lt(60) & s.ne(50))).await,
            [0; 0]
        );
        // The same operator twice.
        assert_eq!(
            found(e.scores.elem(|s| s.gt(40) & s.gt(60) & s.lt(95))).await,
            [1, 2]
        );
        assert_eq!(found(e.tags.elem(|tag| tag.starts_with("old-"))).await, [3]);
        assert_eq!(
            found(
                e.tags
                    .elem(|tag| tag.contains_text("ol") & tag.contains_text("d-"))
            )
            .await,
            [3]
        );
        assert_eq!(
            found(e.marks.elem(|mark| mark.in_([Mark::Good, Mark::Late]))).await,
            [3]
        );
        assert_eq!(
            found(e.times.elem(|time| time.gt(1.0) & time.lt(9.0))).await,
            [0; 0]
        );
        assert_eq!(found(e.scores.elem(|_| Filter::always())).await, [1, 2]);
        assert_eq!(found(!e.scores.elem(|s| s.lt(20))).await, [3]);
        // A value that the server accepts nowhere is refused here; one of another form than serde's, where copies are kept.
        let part = || Part {
            name: "a".into(),
            points: 1,
        };
        for filter in [
            e.scores.elem(|s| s.lt(20) | s.gt(80)),
            e.scores.elem(|s| !s.lt(20)),
            e.parts.elem(|one| one.name.eq("a") & one.eq(part())),
            e.parts.elem(|one| one.ne(part())),
        ] {
            let error = filter.into_document().unwrap_err();
            assert!(matches!(&error, Error::Query { .. }), "{error}");
        }
        // Whatever a value looks like.
        let sly = e.tags.elem(|tag| tag.eq("{\"$gt\": \"\"}"));
        assert_eq!(found(sly).await, [0; 0]);
    });
}

#[odm_tests::test]
fn plain_items_that_fit_are_pulled_and_changed() {
    with_db(async |t| {
        let odm = models(&t).await;
        let exams = odm.collection::<Exam>();
        let first = Exam {
            tags: vec!["old-a".into(), "new".into(), "old-b".into()],
            marks: [Mark::Late].into(),
            times: None,
            parts: vec![Part {
                name: "a".into(),
                points: 1,
            }],
            gaps: vec![Some(1), None],
            follows: vec![Ref::new(7)],
            ..exam(1, &[95, 102 - 2, 90, 12, 50])
        };
        exams.insert(first).await.unwrap();
        let stored = async || exams.get(1).await.unwrap().unwrap();
        t.commands.clear();
        let done = exams
            .update(1)
            .pull_where(|e| e.scores, |s| s.gt(10) & s.lt(60))
            .pull_where(|e| e.tags, |tag| tag.starts_with("old-"))
            .await
            .unwrap();
        assert_eq!((done.modified, t.commands.take().len()), (1, 1));
        assert_eq!(stored().await.scores, [95, 100, 90]);
        assert_eq!(stored().await.tags, ["new"]);
        exams
            .update(1)
            .pull_where(|e| e.tags, |_| Filter::always())
            .await
            .unwrap();
        assert_eq!(stored().await.tags, [""; 0]);
        // As in MongoDB's manual: a grade above 92 becomes 92.
        exams
            .update(1)
            .elem(|e| e.scores, |s| s.gte(92), |s| s.set(|s| s, 92))
            .await
            .unwrap();
        assert_eq!(stored().await.scores, [92, 92, 90]);
        exams
            .update(1)
            .each(|e| e.scores, |s| s.inc(|s| s, -1))
            .await
            .unwrap();
        assert_eq!(stored().await.scores, [91, 91, 89]);
        exams
            .update(1)
            .elem(|e| e.scores, |s| s.lt(90) | s.gt(99), |s| s.mul(|s| s, 0))
            .elem(
                |e| e.marks,
                |mark| mark.eq(Mark::Late),
                |mark| mark.set(|mark| mark, Mark::Good),
            )
            .await
            .unwrap();
        assert_eq!(
            (stored().await.scores, stored().await.marks),
            (vec![91, 91, 0], [Mark::Good].into())
        );
        // A document without the array is left as it is.
        let none = exams
            .update(1)
            .each(|e| e.times, |time| time.inc(|time| time, 1.0))
            .await
            .unwrap();
        assert_eq!((none.matched, none.modified), (1, 0));
    });
}

#[odm_tests::test]
fn values_that_plain_items_cannot_have_are_refused() {
    with_db(async |t| {
        let odm = models(&t).await;
        let exams = odm.collection::<Exam>();
        let code = |text: &str| Code(text.into());
        let first = Exam {
            codes: vec![code("a"), code("b")],
            ..exam(1, &[5])
        };
        exams.insert(first).await.unwrap();
        let update = || exams.update(1);
        let set = update().elem(|e| e.codes, |c| c.eq(code("b")), |c| c.set(|c| c, code("c")));
        assert_eq!(set.await.unwrap().modified, 1);
        assert_eq!(exams.get(1).await.unwrap().unwrap().codes, [code("a"), code("c")]);
        t.commands.clear();
        let long = update().each(|e| e.codes, |c| c.set(|c| c, code("much too long")));
        match long.await.unwrap_err() {
            Error::Invalid { violations, .. } => {
                let told: Vec<_> = violations.iter().map(|v| (v.path.as_str(), &v.rule)).collect();
                assert_eq!(told, [("codes", &Rule::MaxLength(8))]);
            }
            other => panic!("{other}"),
        }
        let query = async |update: odm::update::Update<Exam>| match update.await.unwrap_err() {
            Error::Query { message, .. } => message,
            other => panic!("{other}"),
        };
        // The server takes no such condition.
        let either = update().pull_where(|e| e.scores, |s| s.lt(9) | s.gt(90));
        assert!(query(either).await.contains("`|` or `!`"));
        let twice = update()
            .pull_where(|e| e.scores, |s| s.lt(9))
            .pull_where(|e| e.scores, |s| s.gt(90));
        assert!(query(twice).await.contains("make it two updates"));
        let whole = Part {
            name: "a".into(),
            points: 1,
        };
        let by_itself = update().elem(
            |e| e.parts,
            |one| one.eq(whole),
            |one| one.inc(|one| one.points, 1),
        );
        assert!(query(by_itself).await.contains("compare their fields"));
        let large = update().each(|e| e.sizes, |size| size.set(|size| size, u64::MAX));
        match large.await.unwrap_err() {
            Error::Encode { field, .. } => assert_eq!(field, "sizes"),
            other => panic!("{other}"),
        }
        // These may be null, refer to something, or have fields of their own.
        query(update().each(|e| e.gaps, |gap| gap.set(|gap| gap, 1))).await;
        query(update().each(|e| e.follows, |exam| exam.set(|exam| exam, Ref::new(2)))).await;
        let part = Part {
            name: "b".into(),
            points: 2,
        };
        query(update().each(|e| e.parts, |one| one.set(|one| one, part))).await;
        assert!(t.commands.take().is_empty());
    });
}

/// Without the array there is nothing to do for its items; but what stands beside it would not be done either.
#[odm_tests::test]
fn a_change_beside_one_of_missing_items_is_not_lost_without_a_word() {
    with_db(async |t| {
        let odm = models(&t).await;
        let exams = odm.collection::<Exam>();
        exams.insert(exam(1, &[1])).await.unwrap();
        let alone = exams
            .update(1)
            .each(|e| e.times, |time| time.mul(|time| time, 2.0))
            .await
            .unwrap();
        assert_eq!((alone.matched, alone.modified), (1, 0));
        let beside = exams
            .update(1)
            .push(|e| e.tags, "new")
            .each(|e| e.times, |time| time.mul(|time| time, 2.0));
        let refused = beside.await.unwrap_err();
        assert!(
            matches!(&refused, Error::IsNull { field, .. } if field == "times"),
            "{refused}"
        );
        let of_many = exams
            .update_all()
            .push(|e| e.tags, "new")
            .each(|e| e.times, |time| time.mul(|time| time, 2.0));
        let done = of_many.await.unwrap();
        assert_eq!((done.matched, done.refused), (0, 1));
        assert_eq!(exams.get(1).await.unwrap(), Some(exam(1, &[1])));
    });
}

/// Nothing can be written within `null`: one document of many is no reason to stop at it.
#[odm_tests::test]
fn a_struct_that_is_null_holds_back_writes_within_it() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![sensors::Sensor]).unwrap();
        odm.sync().await.unwrap();
        let sensors = odm.collection::<sensors::Sensor>();
        let all = [
            sensors::sensor(1, Some(sensors::range(1, None))),
            sensors::sensor(2, None),
            sensors::sensor(3, Some(sensors::range(3, Some(0)))),
        ];
        sensors.insert_many(all.clone()).await.unwrap();
        t.commands.take();
        let set = sensors.update_all().set(|s| s.range.min, 7);
        let done = set.await.unwrap();
        assert_eq!((done.matched, done.modified, done.refused), (2, 2, 1));
        let within = sensors.update_all().inc(|s| s.range.step.by, 5);
        let done = within.await.unwrap();
        assert_eq!((done.matched, done.modified, done.refused), (1, 1, 2));
        let items = sensors
            .update_all()
            .each(|s| s.ranges, |range| range.set(|r| r.step.by, 9));
        let done = items.await.unwrap();
        assert_eq!((done.matched, done.modified, done.refused), (1, 1, 2));
        for (update, null) in [
            (sensors.update(2).set(|s| s.range.min, 8), "range"),
            (sensors.update(2).push(|s| s.range.seen, 8), "range"),
            (sensors.update(1).max(|s| s.range.step.by, 8), "range.step"),
            (sensors.update(2).min(|s| s.least, 8), "least"),
            (
                sensors
                    .update(1)
                    .elem(|s| s.ranges, |r| r.min.eq(1), |r| r.inc(|r| r.step.by, 8)),
                "ranges.step",
            ),
        ] {
            let refused = update.await.unwrap_err();
            assert!(
                matches!(&refused, Error::IsNull { field, .. } if field == null),
                "{null}: {refused}"
            );
        }
        // What takes something away finds nothing to take: the server refuses to look for it within `null` (code 28).
        sensors.update(2).pull(|s| s.range.seen, 8).await.unwrap();
        let pull = sensors.update_all().pull(|s| s.range.seen, 8);
        assert_eq!(pull.await.unwrap().refused, 0);
        let mixed = sensors
            .update(2)
            .pull(|s| s.range.seen, 8)
            .set(|s| s.least, Some(1));
        let refused = mixed.await.unwrap_err();
        assert!(
            matches!(&refused, Error::IsNull { field, .. } if field == "range"),
            "{refused}"
        );
        let [mut one, two, mut three] = all;
        one.range = Some(sensors::range(7, None));
        three.range = Some(sensors::range(7, Some(5)));
        three.ranges = vec![sensors::range(3, Some(9))];
        let mut stored = sensors.find_all().all().await.unwrap();
        stored.sort_by_key(|sensor| sensor.id);
        assert_eq!(stored, [one, two, three]);

        // Where it is missing, a part of it is nothing that could be read.
        let raw = sensors.driver::<odm::bson::Document>();
        let gone = doc! { "$unset": { "range": "" } };
        raw.update_one(doc! { "_id": 1 }, gone).await.unwrap();
        let refused = sensors.update(1).set(|s| s.range.min, 4).await.unwrap_err();
        assert!(
            matches!(&refused, Error::IsNull { field, .. } if field == "range"),
            "{refused}"
        );
        let done = sensors
            .update_where(|s| s.id.lt(3))
            .inc(|s| s.range.min, 4)
            .await
            .unwrap();
        assert_eq!((done.matched, done.refused), (0, 2));
        let whole = sensors
            .update(1)
            .set(|s| s.range.min, 4)
            .set(|s| s.range.seen, vec![5]);
        whole.await.unwrap();
        let stored = sensors.get(1).await.unwrap().unwrap().range.unwrap();
        assert_eq!((stored.min, stored.step, stored.seen), (4, None, vec![5]));
    });
}

mod sensors {
    use super::*;

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "sensors")]
    pub struct Sensor {
        #[serde(rename = "_id")]
        pub id: i32,
        pub range: Option<Range>,
        #[embed(max = 5)]
        pub ranges: Vec<Range>,
        pub least: Option<i32>,
    }

    #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
    pub struct Range {
        pub min: i32,
        pub step: Option<Step>,
        #[embed(max = 5)]
        pub seen: Vec<i32>,
    }

    #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
    pub struct Step {
        pub by: i32,
    }

    pub fn range(min: i32, by: Option<i32>) -> Range {
        Range {
            min,
            step: by.map(|by| Step { by }),
            seen: Vec::new(),
        }
    }

    pub fn sensor(id: i32, range: Option<Range>) -> Sensor {
        Sensor {
            id,
            ranges: range.clone().or(Some(self::range(2, None))).into_iter().collect(),
            range,
            least: None,
        }
    }
}

mod orders {
    use super::*;

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "products")]
    pub struct Product {
        #[serde(rename = "_id")]
        pub id: i32,
        pub name: String,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "orders")]
    pub struct Order {
        #[serde(rename = "_id")]
        pub id: i32,
        #[embed(max = 10)]
        pub lines: Vec<Line>,
        #[embed(max = 10)]
        pub gaps: Vec<Option<Line>>,
        pub gift: Option<Line>,
        #[embed(max = 4)]
        pub packs: Vec<Pack>,
    }

    #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
    pub struct Line {
        #[reference]
        pub product: Ref<Product>,
        #[denormalize(from = product.name)]
        pub name: String,
        pub quantity: i32,
        pub note: Option<String>,
    }

    #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
    pub struct Pack {
        pub name: String,
        pub line: Line,
    }

    pub fn line(product: i32, quantity: i32) -> Line {
        Line {
            product: Ref::new(product),
            // Whatever stands here, the copy follows its source.
            name: "?".into(),
            quantity,
            note: None,
        }
    }
}

/// Beside a copy stands its version, and the copy is the library's: what the application writes is compared.
#[odm_tests::test]
fn a_struct_that_holds_a_copy_is_compared_by_its_own_fields() {
    use orders::{Line, NewOrder, Order, Pack, Product, line};
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Product, Order]).unwrap();
        odm.sync().await.unwrap();
        let named = [(1, "saw"), (2, "axe")].map(|(id, name)| Product {
            id,
            name: name.into(),
        });
        odm.collection::<Product>().insert_many(named).await.unwrap();
        let orders = odm.collection::<Order>();
        let pack = |quantity| Pack {
            name: "p".into(),
            line: line(1, quantity),
        };
        orders
            .insert(NewOrder {
                id: 1,
                lines: vec![line(1, 5), line(2, 7), line(1, 7)],
                gaps: vec![None, Some(line(2, 1))],
                gift: Some(line(2, 3)),
                packs: vec![pack(1), pack(2)],
            })
            .await
            .unwrap();
        let count = async |filter: Filter<Order>| orders.find(|_| filter).count().await.unwrap();
        let p = Order::paths();
        for (filter, expected) in [
            (p.lines.contains(line(1, 5)), 1),
            // The reference of one and the quantity of another.
            (p.lines.contains(line(2, 5)), 0),
            (p.lines.contains_all([line(1, 5), line(2, 7)]), 1),
            (p.lines.contains_all([line(1, 5), line(2, 5)]), 0),
            (p.lines.contains_any([line(1, 6), line(1, 7)]), 1),
            (p.gift.eq(line(2, 3)), 1),
            (p.gift.ne(line(2, 3)), 0),
            (p.gift.eq(line(2, 4)), 0),
            (p.gift.in_([line(2, 4), line(2, 3)]), 1),
            (p.gift.not_in([line(2, 4)]), 1),
            (p.gift.eq(None), 0),
            (p.packs.contains(pack(2)), 1),
            (p.packs.contains(pack(3)), 0),
            (p.packs.line.eq(line(1, 2)), 1),
            (
                p.packs.elem(|pack| pack.line.eq(line(1, 2)) & pack.name.eq("p")),
                1,
            ),
        ] {
            let said = format!("{filter:?}");
            assert_eq!(count(filter).await, expected, "{said}");
        }
        orders.update(1).pull(|p| p.lines, line(1, 5)).await.unwrap();
        orders
            .update(1)
            .pull_all(|p| p.packs, [pack(1), pack(3)])
            .await
            .unwrap();
        orders
            .update(1)
            .replace_item(|p| p.lines, line(2, 7), line(1, 9))
            .await
            .unwrap();
        orders.update(1).pull(|p| p.gaps, Some(line(2, 1))).await.unwrap();
        let lines = |lines: &[Line]| -> Vec<(i32, String, i32)> {
            let each = lines.iter();
            each.map(|line| (*line.product.key(), line.name.clone(), line.quantity))
                .collect()
        };
        let order = orders.get(1).await.unwrap().unwrap();
        assert_eq!(lines(&order.lines), [(1, "saw".into(), 9), (1, "saw".into(), 7)]);
        assert_eq!(order.gaps, [None]);
        assert_eq!(
            order
                .packs
                .iter()
                .map(|pack| pack.line.quantity)
                .collect::<Vec<_>>(),
            [2]
        );
        orders.update(1).pull(|p| p.gaps, None).await.unwrap();
        assert_eq!(orders.get(1).await.unwrap().unwrap().gaps, []);
        let mixed = orders
            .update(1)
            .pull_all(|p| p.gaps, [None, Some(line(1, 1))])
            .await
            .unwrap_err();
        assert!(
            matches!(&mixed, Error::Query { message, .. } if message.contains("make two updates")),
            "{mixed}"
        );
        odm_tests::assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn pushed_items_stand_where_they_are_placed_and_the_array_keeps_some() {
    with_db(async |t| {
        let odm = models(&t).await;
        let exams = odm.collection::<Exam>();
        exams.insert(exam(1, &[5, 9])).await.unwrap();
        let scores = async || exams.get(1).required().await.unwrap().scores;
        t.commands.clear();
        let first = exams.update(1).push_into(|e| e.scores, [1, 2], |s| s.position(0));
        first.await.unwrap();
        assert_eq!(t.commands.take(), ["update"]);
        assert_eq!(scores().await, [1, 2, 5, 9]);
        let second = exams.update(1).push_into(|e| e.scores, [7], |s| s.position(-1));
        second.await.unwrap();
        assert_eq!(scores().await, [1, 2, 5, 7, 9]);
        let sorted = exams
            .update(1)
            .push_into(|e| e.scores, [6], |s| s.sort(|s| s.desc()).keep_first(4));
        sorted.await.unwrap();
        assert_eq!(scores().await, [9, 7, 6, 5]);

        // The last ten, of a full array too: the bound refuses nothing.
        for n in 0..12 {
            let last = exams.update(1).push_into(|e| e.scores, [n], |s| s.keep_last(10));
            last.await.unwrap();
        }
        assert_eq!(scores().await, (2..12).collect::<Vec<i32>>());
        // Without a number to keep it does.
        let full = exams
            .update(1)
            .push_into(|e| e.scores, [0], |s| s.position(0))
            .await;
        assert!(matches!(full, Err(Error::ArrayFull { .. })), "{full:?}");
        let many = exams.update_all();
        let many = many
            .push_into(|e| e.scores, [3, 4], |s| s.keep_last(2))
            .await
            .unwrap();
        assert_eq!((many.modified, many.refused), (1, 0));
        assert_eq!(scores().await, [3, 4]);

        let part = |name: &str, points| Part {
            name: name.into(),
            points,
        };
        let parts = [part("a", 2), part("b", 9), part("c", 5)];
        let best = |p: odm::update::Placed<Part>| p.sort(|p| (p.points.desc(), p.name.asc())).keep_first(2);
        exams.update(1).push_into(|e| e.parts, parts, best).await.unwrap();
        let stored = exams.get(1).required().await.unwrap().parts;
        assert_eq!(stored, [part("b", 9), part("c", 5)]);
    });
}

#[odm_tests::test]
fn a_push_that_can_not_be_placed_is_refused_before_it_is_sent() {
    with_db(async |t| {
        let odm = models(&t).await;
        let exams = odm.collection::<Exam>();
        t.commands.clear();
        let too_many = exams
            .update(1)
            .push_into(|e| e.tags, ["a"], |tags| tags.keep_last(6))
            .await;
        assert!(
            matches!(&too_many, Err(Error::Query { message, .. }) if message.contains("keeps 6 items")),
            "{too_many:?}"
        );
        let set = exams
            .update(1)
            .push_into(|e| e.marks, [Mark::Late], |marks| marks.keep_last(1));
        let set = set.await;
        assert!(
            matches!(&set, Err(Error::Query { message, .. }) if message.contains("is a set")),
            "{set:?}"
        );
        let twice = exams
            .update(1)
            .push(|e| e.scores, 1)
            .push_into(|e| e.scores, [2], |s| s.position(0));
        assert!(matches!(twice.await, Err(Error::Query { .. })));
        let long = exams
            .update(1)
            .push_into(|e| e.codes, [Code("123456789".into())], |c| c.keep_last(1));
        let long = long.await;
        assert!(
            matches!(&long, Err(Error::Invalid { violations, .. }) if violations[0].rule == Rule::MaxLength(8)),
            "{long:?}"
        );
        assert!(t.commands.take().is_empty());
    });
}
