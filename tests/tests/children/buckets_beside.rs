//! Buckets beside everything else: what is derived of them, references and copies in their items, days and months.

use odm::prelude::*;
use odm_tests::{TestDb, with_db};

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "walls")]
pub struct Wall {
    pub id: i32,
    #[computed(sum = NoteBucket.count)]
    pub notes: i64,
    #[computed(sum = NoteBucket.sum_stars)]
    pub stars: i64,
    #[subset(of = NoteBucket, limit = 1, order(-page), fields(page: i32, count: i32))]
    pub newest: Vec<NewestEntry>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "writers")]
pub struct Writer {
    pub id: i32,
    pub name: String,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Wall, size = 3, sum(stars))]
pub struct Note {
    pub n: i32,
    pub stars: i32,
    #[reference(on_delete = nullify)]
    pub by: Option<Ref<Writer>>,
    #[denormalize(from = by.name)]
    pub by_name: Option<String>,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Wall, per = day, time = at, size = 10, sum(n))]
pub struct Visit {
    pub n: i32,
    pub at: DateTime,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Wall, per = month, time = at, size = 10, sum(n))]
pub struct Bill {
    pub n: i32,
    pub at: DateTime,
}

async fn odm(t: &TestDb) -> Odm {
    let models = models![Wall, Writer, NoteBucket, VisitBucket, BillBucket];
    let odm = Odm::new(t.db.clone(), models).unwrap();
    odm.sync().await.unwrap();
    let walls = (1..=2).map(|id| NewWall { id });
    odm.collection::<Wall>().insert_many(walls).await.unwrap();
    let writers = (1..=2).map(|id| Writer {
        id,
        name: format!("writer {id}"),
    });
    odm.collection::<Writer>().insert_many(writers).await.unwrap();
    odm
}

fn note(n: i32, by: Option<i32>) -> Note {
    Note {
        n,
        stars: n,
        by: by.map(Ref::new),
        by_name: Some("a lie".into()),
    }
}

/// With transactions, and on a standalone server.
async fn both(t: &TestDb, odm: &Odm) -> [(&'static str, Odm, i32); 2] {
    [
        ("with", odm.clone(), 1),
        ("without", t.standalone_of(odm).await, 2),
    ]
}

async fn clean(odm: &Odm, mode: &str) {
    let audit = odm.audit().await.unwrap();
    assert!(audit.is_clean(), "{mode}: {audit}");
    assert_eq!(odm.recover().await.unwrap().documents, 0, "{mode}");
}

#[odm_tests::test]
fn a_parent_sums_the_summaries_of_its_buckets() {
    with_db(async |t| {
        let odm = odm(&t).await;
        for (mode, odm, wall) in both(&t, &odm).await {
            let notes = odm.buckets::<Note>();
            let walls = odm.collection::<Wall>();
            let told = async || {
                let wall = walls.get(wall).await.unwrap().unwrap();
                let newest = wall.newest.first().map(|bucket| (bucket.page, bucket.count));
                (wall.notes, wall.stars, newest)
            };
            notes.push(wall, note(1, None)).await.unwrap();
            assert_eq!(told().await, (1, 1, Some((1, 1))), "{mode}, the first");
            notes.push(wall, note(2, None)).await.unwrap();
            assert_eq!(told().await, (2, 3, Some((1, 2))), "{mode}, one more");
            notes
                .push_many(wall, (3..=7).map(|n| note(n, None)))
                .await
                .unwrap();
            assert_eq!(told().await, (7, 28, Some((3, 1))), "{mode}, many");
            notes
                .edit(wall, |n| n.n.eq(2), |n| n.set(|n| n.stars, 10))
                .await
                .unwrap();
            assert_eq!(told().await, (7, 36, Some((3, 1))), "{mode}, edited");
            assert_eq!(notes.delete(wall, |n| n.n.gte(6)).await.unwrap(), 2);
            assert_eq!(told().await, (5, 23, Some((3, 0))), "{mode}, deleted");
            clean(&odm, mode).await;
        }
    });
}

#[odm_tests::test]
fn copies_in_bucket_items_are_kept_in_sync() {
    with_db(async |t| {
        let odm = odm(&t).await;
        for (mode, odm, wall) in both(&t, &odm).await {
            let notes = odm.buckets::<Note>();
            let writers = odm.collection::<Writer>();
            let writer = 10 * wall;
            let name = |text: &str| format!("{text} {mode}");
            for (id, name) in [(writer, name("first")), (writer + 1, name("other"))] {
                writers.insert(Writer { id, name }).await.unwrap();
            }
            let told = async || -> Vec<(i32, Option<String>)> {
                let buckets = notes.pages(wall).await.unwrap();
                for bucket in &buckets {
                    let items = &bucket.notes;
                    assert_eq!(bucket.count, items.len() as i32, "{mode}: {bucket:?}");
                    let sum: i64 = items.iter().map(|note| i64::from(note.stars)).sum();
                    assert_eq!(bucket.sum_stars, sum, "{mode}: {bucket:?}");
                }
                let items = buckets.into_iter().flat_map(|bucket| bucket.notes);
                items.map(|note| (note.n, note.by_name)).collect()
            };
            notes.push(wall, note(1, Some(writer))).await.unwrap();
            notes.push(wall, note(2, Some(writer + 1))).await.unwrap();
            let many = (3..=5).map(|n| note(n, (n != 4).then_some(writer)));
            notes.push_many(wall, many).await.unwrap();
            let wanted = |first: &str| {
                let (first, other) = (Some(name(first)), Some(name("other")));
                vec![
                    (1, first.clone()),
                    (2, other),
                    (3, first.clone()),
                    (4, None),
                    (5, first),
                ]
            };
            assert_eq!(told().await, wanted("first"), "{mode}: pushed");
            writers
                .update(writer)
                .set(|w| w.name, name("second"))
                .await
                .unwrap();
            assert_eq!(told().await, wanted("second"), "{mode}: the source has changed");
            notes
                .edit(wall, |n| n.n.eq(4), |n| n.set(|n| n.by, Ref::new(writer + 1)))
                .await
                .unwrap();
            assert_eq!(told().await[3].1, Some(name("other")), "{mode}: set in an item");
            clean(&odm, mode).await;
            writers.delete(writer).await.unwrap();
            let left: Vec<Option<String>> = told().await.into_iter().map(|(_, name)| name).collect();
            let other = Some(name("other"));
            assert_eq!(
                left,
                [None, other.clone(), None, other, None],
                "{mode}: nullified"
            );
            clean(&odm, mode).await;
        }
    });
}

#[odm_tests::test]
fn buckets_by_day_and_month_start_at_calendar_boundaries() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let at = |text: &str| DateTime::parse_rfc3339_str(text).unwrap();
        let times = [
            "2023-12-31T23:59:59.999Z",
            "2024-01-01T00:00:00Z",
            "2024-02-29T00:00:00Z",
            "2024-02-29T23:59:59Z",
            "2024-03-01T00:00:00Z",
            "1969-12-31T12:00:00Z",
        ];
        let (visits, bills) = (odm.buckets::<Visit>(), odm.buckets::<Bill>());
        for (n, text) in (0..).zip(times) {
            visits.push(1, Visit { n, at: at(text) }).await.unwrap();
            bills.push(1, Bill { n, at: at(text) }).await.unwrap();
        }
        let days: Vec<(String, i32, i64)> = visits
            .pages(1)
            .await
            .unwrap()
            .into_iter()
            .map(|day| (day.start.try_to_rfc3339_string().unwrap(), day.count, day.sum_n))
            .collect();
        let day = |start: &str, count, sum| (format!("{start}T00:00:00Z"), count, sum);
        assert_eq!(
            days,
            [
                day("1969-12-31", 1, 5),
                day("2023-12-31", 1, 0),
                day("2024-01-01", 1, 1),
                day("2024-02-29", 2, 5),
                day("2024-03-01", 1, 4),
            ]
        );
        let months: Vec<(String, i32, i64)> = bills
            .pages(1)
            .await
            .unwrap()
            .into_iter()
            .map(|month| {
                (
                    month.start.try_to_rfc3339_string().unwrap(),
                    month.count,
                    month.sum_n,
                )
            })
            .collect();
        assert_eq!(
            months,
            [
                day("1969-12-01", 1, 5),
                day("2023-12-01", 1, 0),
                day("2024-01-01", 1, 1),
                day("2024-02-01", 2, 5),
                day("2024-03-01", 1, 4),
            ]
        );
        let range = at("2024-02-01T00:00:00Z")..at("2024-03-01T00:00:00Z");
        assert_eq!(visits.range(1, range.clone()).await.unwrap().len(), 2);
        assert_eq!(bills.range(1, range).await.unwrap().len(), 2);
        // To another day, but not to another month.
        let moved = at("2024-02-03T00:00:00Z");
        let error = visits
            .edit(1, |v| v.n.eq(2), |v| v.set(|v| v.at, moved))
            .await
            .unwrap_err();
        assert!(error.to_string().contains("push it again"), "{error}");
        bills
            .edit(1, |b| b.n.eq(2), |b| b.set(|b| b.at, moved))
            .await
            .unwrap();
        let february = &bills.pages(1).await.unwrap()[3];
        assert_eq!(
            (february.first, february.last),
            (Some(moved), Some(at("2024-02-29T23:59:59Z")))
        );
    });
}
