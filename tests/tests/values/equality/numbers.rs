//! The range of an integer type is a bound: what a sum or a product makes of a number can be read again.

use odm::Error;
use odm::bson::{Decimal128, doc};
use odm::error::Rule;
use odm::prelude::*;
use odm::types::Number;
use odm_tests::with_db;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "meters")]
struct Meter {
    #[serde(rename = "_id")]
    id: i32,
    #[index(unique)]
    name: String,
    tiny: i8,
    byte: u8,
    short: i16,
    word: u16,
    int: i32,
    nat: u32,
    long: i64,
    wide: u64,
    level: Option<Level>,
    #[field(min = 10, max = 90)]
    share: i32,
    #[field(min = 0.0, max = 1.0)]
    part: f64,
    #[field(min = 0)]
    cents: Decimal128,
    #[embed(max = 5)]
    scores: Vec<i8>,
    #[embed(max = 5)]
    rounds: Vec<Round>,
}

/// A number with a bound of its own.
#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Round {
    points: u8,
    step: Step,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Level {
    at: u16,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Step(#[field(max = 100)] i8);

fn meter(id: i32) -> NewMeter {
    NewMeter {
        id,
        name: format!("m{id}"),
        tiny: 0,
        byte: 0,
        short: 0,
        word: 0,
        int: 0,
        nat: 0,
        long: 0,
        wide: 0,
        level: None,
        share: 50,
        part: 0.5,
        cents: "1.00".parse().expect("a decimal"),
        scores: Vec::new(),
        rounds: Vec::new(),
    }
}

/// The one rule that is broken, and where.
fn rule(refused: odm::Result<odm::update::Updated>) -> (String, Rule) {
    match refused {
        Err(Error::Invalid { mut violations, .. }) if violations.len() == 1 => {
            let violation = violations.remove(0);
            (violation.path, violation.rule)
        }
        other => panic!("not refused by one rule: {other:?}"),
    }
}

fn max(path: &str, n: i64) -> (String, Rule) {
    (path.to_owned(), Rule::Max(Number::Int(n)))
}

fn min(path: &str, n: i64) -> (String, Rule) {
    (path.to_owned(), Rule::Min(Number::Int(n)))
}

/// Each without the validator, which would find it too: then it would be stored, and unreadable for ever.
#[odm_tests::test]
fn a_sum_past_the_range_of_its_type_is_refused() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Meter]).unwrap();
        let meters = odm.collection::<Meter>();
        meters.insert(meter(1)).await.unwrap();
        macro_rules! ends {
            ($($field:ident: $ty:ty, $least:expr, $greatest:expr;)*) => {$(
                let name = stringify!($field);
                meters.update(1).set(|m| m.$field, ($greatest - 1) as $ty).await.unwrap();
                meters.update(1).inc(|m| m.$field, 1).await.unwrap();
                assert_eq!(rule(meters.update(1).inc(|m| m.$field, 1).await), max(name, $greatest));
                assert_eq!(rule(meters.update(1).mul(|m| m.$field, 2).await), max(name, $greatest));
                assert_eq!(meters.get(1).await.unwrap().unwrap().$field, $greatest as $ty);
                meters.update(1).set(|m| m.$field, ($least + 1) as $ty).await.unwrap();
                meters.update(1).dec(|m| m.$field, 1).await.unwrap();
                assert_eq!(rule(meters.update(1).dec(|m| m.$field, 1).await), min(name, $least));
                assert_eq!(meters.get(1).await.unwrap().unwrap().$field, $least as $ty);
            )*};
        }
        ends! {
            tiny: i8, i64::from(i8::MIN), i64::from(i8::MAX);
            byte: u8, 0, i64::from(u8::MAX);
            short: i16, i64::from(i16::MIN), i64::from(i16::MAX);
            word: u16, 0, i64::from(u16::MAX);
            int: i32, i64::from(i32::MIN), i64::from(i32::MAX);
            nat: u32, 0, i64::from(u32::MAX);
            long: i64, i64::MIN, i64::MAX;
            wide: u64, 0, i64::MAX;
        }
        for n in [i8::MIN, i8::MIN + 1] {
            meters.update(1).set(|m| m.tiny, n).await.unwrap();
            let turned = meters.update(1).mul(|m| m.tiny, -1).await;
            match n {
                i8::MIN => assert_eq!(rule(turned), max("tiny", 127)),
                _ => assert_eq!(turned.unwrap().modified, 1),
            }
        }
        let least = meters.update(1).dec(|m| m.long, i64::MIN).await;
        assert!(matches!(least, Err(Error::Query { .. })), "{least:?}");
        assert_eq!(meters.get(1).await.unwrap().unwrap().tiny, 127);
    });
}

#[odm_tests::test]
fn dec_keeps_the_declared_minimum_and_that_of_a_missing_number() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Meter]).unwrap();
        let meters = odm.collection::<Meter>();
        meters.insert(meter(1)).await.unwrap();
        assert_eq!(
            rule(meters.update(1).dec(|m| m.share, 41).await),
            min("share", 10)
        );
        assert_eq!(
            rule(meters.update(1).dec(|m| m.share, -41).await),
            max("share", 90)
        );
        meters.update(1).dec(|m| m.share, 40).await.unwrap();
        let cents = |text: &str| -> Decimal128 { text.parse().expect("a decimal") };
        let more = meters.update(1).dec(|m| m.cents, cents("1.01")).await;
        assert_eq!(rule(more), min("cents", 0));
        meters.update(1).dec(|m| m.cents, cents("0.90")).await.unwrap();
        meters.update(1).dec(|m| m.cents, cents("0.10")).await.unwrap();
        meters.update(1).dec(|m| m.part, 0.5).await.unwrap();
        let stored = meters.get(1).await.unwrap().unwrap();
        assert_eq!((stored.share, stored.part), (10, 0.0));
        assert_eq!(stored.cents.to_string(), "0.00");

        // A difference of a missing number is less than 0.
        meters
            .update(1)
            .raw(doc! { "$unset": { "nat": "" } })
            .await
            .unwrap();
        assert_eq!(rule(meters.update(1).dec(|m| m.nat, 1).await), min("nat", 0));
        for upsert in [
            meters.update(2).dec(|m| m.nat, 1).upsert_with(meter(2)).await,
            meters
                .update_where(|m| m.id.eq(2))
                .dec(|m| m.nat, 1)
                .upsert_with(meter(2))
                .await,
        ] {
            assert_eq!(rule(upsert), min("nat", 0));
        }
        assert_eq!(meters.find_all().count().await.unwrap(), 1);
    });
}

#[odm_tests::test]
fn a_product_keeps_its_declared_bounds() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Meter]).unwrap();
        let meters = odm.collection::<Meter>();
        meters.insert(meter(1)).await.unwrap();
        for (by, refused) in [
            (2, max("share", 90)),
            (-1, min("share", 10)),
            (0, min("share", 10)),
        ] {
            assert_eq!(rule(meters.update(1).mul(|m| m.share, by).await), refused, "{by}");
        }
        meters.update(1).mul(|m| m.share, 1).await.unwrap();
        let part = |n| (String::from("part"), n);
        let above = meters.update(1).mul(|m| m.part, 2.1).await;
        assert_eq!(rule(above), part(Rule::Max(Number::Float(1.0))));
        let below = meters.update(1).mul(|m| m.part, -0.5).await;
        assert_eq!(rule(below), part(Rule::Min(Number::Float(0.0))));
        meters.update(1).mul(|m| m.part, 2.0).await.unwrap();
        // A product of a missing number is 0, which is below the least.
        meters
            .update(1)
            .raw(doc! { "$unset": { "share": "" } })
            .await
            .unwrap();
        assert_eq!(rule(meters.update(1).mul(|m| m.share, 1).await), min("share", 10));
    });
}

#[odm_tests::test]
fn items_keep_the_range_of_their_type() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Meter]).unwrap();
        let meters = odm.collection::<Meter>();
        let round = |points, step| Round {
            points,
            step: Step(step),
        };
        let new = NewMeter {
            scores: vec![3, 120, -100],
            rounds: vec![round(250, 90), round(1, 5)],
            ..meter(1)
        };
        meters.insert(new).await.unwrap();
        let one = || meters.update(1);
        assert_eq!(
            rule(one().each(|m| m.scores, |s| s.inc(|s| s, 8)).await),
            max("scores", 127)
        );
        assert_eq!(
            rule(one().each(|m| m.scores, |s| s.dec(|s| s, 29)).await),
            min("scores", -128)
        );
        assert_eq!(
            rule(one().each(|m| m.scores, |s| s.mul(|s| s, 2)).await),
            max("scores", 127)
        );
        let small = one().elem(|m| m.scores, |s| s.gt(0) & s.lt(100), |s| s.mul(|s| s, 10));
        assert_eq!(small.await.unwrap().modified, 1);
        let either = one().elem(|m| m.scores, |s| s.eq(30) | s.lt(0), |s| s.inc(|s| s, 90));
        assert_eq!(either.await.unwrap().modified, 1);
        let not_small = one().elem(|m| m.scores, |s| !s.lt(120), |s| s.inc(|s| s, 8));
        assert_eq!(rule(not_small.await), max("scores", 127));

        assert_eq!(
            rule(one().each(|m| m.rounds, |r| r.inc(|r| r.points, 6)).await),
            max("rounds.points", 255)
        );
        assert_eq!(
            rule(one().each(|m| m.rounds, |r| r.dec(|r| r.points, 2)).await),
            min("rounds.points", 0)
        );
        let second = one().elem(|m| m.rounds, |r| r.points.lt(9), |r| r.mul(|r| r.points, 200));
        assert_eq!(second.await.unwrap().modified, 1);
        let stored = meters.get(1).await.unwrap().unwrap();
        assert_eq!(stored.scores, [120, 120, -10]);
        assert_eq!(stored.rounds, [round(250, 90), round(200, 5)]);
    });
}

/// A change that the range of a type refuses costs no more than before, and is counted where that is asked for.
#[odm_tests::test]
fn an_update_of_many_goes_on_past_the_range_of_a_type() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Meter]).unwrap();
        let meters = odm.collection::<Meter>();
        for (id, int) in [(1, 7), (2, i32::MAX), (3, i32::MAX - 1)] {
            meters.insert(NewMeter { int, ..meter(id) }).await.unwrap();
        }
        t.commands.clear();
        let done = meters
            .update_where(|m| m.id.gt(0))
            .inc(|m| m.int, 1)
            .await
            .unwrap();
        assert_eq!((done.matched, done.modified, done.refused), (2, 2, 0));
        assert_eq!(t.commands.take(), ["update"]);
        let done = meters
            .update_where(|m| m.id.gt(0))
            .mul(|m| m.int, 2)
            .count_refused()
            .await
            .unwrap();
        assert_eq!((done.matched, done.refused), (1, 2));
        assert_eq!(t.commands.take(), ["aggregate", "update"]);
        // Declared bounds are counted as ever.
        let done = meters
            .update_where(|m| m.id.gt(0))
            .inc(|m| m.share, 50)
            .await
            .unwrap();
        assert_eq!((done.matched, done.refused), (0, 3));
        assert_eq!(t.commands.take(), ["aggregate", "update"]);
        let bulk = odm
            .bulk()
            .add(meters.update(2).inc(|m| m.int, 1))
            .add(meters.update(1).inc(|m| m.int, 1));
        let done = bulk.await.unwrap();
        assert_eq!((done.modified, done.missed), (1, 1));
        let all: Vec<i32> = meters
            .find_all()
            .sort(|m| m.id.asc())
            .all()
            .await
            .unwrap()
            .iter()
            .map(|m| m.int)
            .collect();
        assert_eq!(all, [17, i32::MAX, i32::MAX]);
    });
}

/// An upsert inserts nothing beside a document that the range of a type holds back.
#[odm_tests::test]
fn an_upsert_finds_a_document_that_the_range_of_a_type_holds_back() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Meter]).unwrap();
        odm.sync().await.unwrap();
        let meters = odm.collection::<Meter>();
        meters
            .insert(NewMeter {
                int: i32::MAX,
                ..meter(1)
            })
            .await
            .unwrap();
        t.commands.clear();
        let refused = meters.update(1).inc(|m| m.int, 1).upsert_with(meter(9)).await;
        assert_eq!(rule(refused), max("int", i32::MAX.into()));
        t.commands.clear();
        // By a unique key, which the new document would have too.
        for filter in [Meter::paths().id.eq(1), Meter::paths().name.eq("m1")] {
            let done = meters
                .update_where(|_| filter)
                .inc(|m| m.int, 1)
                .upsert_with(meter(9))
                .await
                .unwrap();
            assert_eq!((done.matched, done.refused, done.upserted), (0, 1, None));
            // Mostly a document with the key has come in between, so the update is sent once more.
            assert_eq!(t.commands.take(), ["update", "update", "aggregate"]);
        }
        // By anything else: counted before.
        let done = meters
            .update_where(|m| m.share.eq(50))
            .inc(|m| m.int, 1)
            .upsert_with(meter(9))
            .await
            .unwrap();
        assert_eq!((done.matched, done.refused, done.upserted), (0, 1, None));
        assert_eq!(meters.find_all().count().await.unwrap(), 1);
    });
}
