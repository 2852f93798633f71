//! Dates with a zone or an offset: two fields of a document, compared by the moment.

use chrono::{DateTime as Date, FixedOffset};
use jiff::ZonedDateTime;
use odm::Error;
use odm::bson::{Document as Raw, doc};
use odm::prelude::*;
use odm_tests::{TestDb, with_db};
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "flights", index(fields(departs.at)), new(derive(Deserialize)))]
pub struct Flight {
    #[serde(rename = "_id")]
    pub id: i32,
    #[serde(with = "odm::native")]
    pub departs: ZonedDateTime,
    #[serde(default, with = "odm::native")]
    pub arrives: Option<Date<FixedOffset>>,
    #[embed(max = 5)]
    #[serde(with = "odm::native")]
    pub stops: Vec<Date<FixedOffset>>,
    pub boarding: Boarding,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Boarding(#[serde(with = "odm::native")] pub ZonedDateTime);

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "tickets")]
pub struct Ticket {
    #[serde(rename = "_id")]
    pub id: i32,
    #[parent_ref]
    pub flight: Ref<Flight>,
    #[denormalize(from = flight.departs)]
    #[serde(with = "odm::native")]
    pub departs: ZonedDateTime,
}

fn zoned(text: &str) -> ZonedDateTime {
    text.parse().unwrap()
}

fn offset(text: &str) -> Date<FixedOffset> {
    Date::parse_from_rfc3339(text).unwrap()
}

const BERLIN: &str = "2030-01-31T12:00:00.123456[Europe/Berlin]";
const KOLKATA: &str = "2030-01-31T16:30:00.123[Asia/Kolkata]";
const LATER: &str = "2030-02-01T08:00:00[America/New_York]";

async fn prepared(t: &TestDb) -> (Odm, Flight) {
    let odm = Odm::new(t.db.clone(), models![Flight, Ticket]).unwrap();
    odm.sync().await.unwrap();
    let flights = odm.collection::<Flight>();
    let first = NewFlight {
        id: 1,
        departs: zoned(BERLIN),
        arrives: Some(offset("2030-01-31T15:00:00.999999+02:00")),
        stops: vec![
            offset("2030-01-31T13:00:00+01:00"),
            offset("2030-01-31T14:00:00+01:00"),
        ],
        boarding: Boarding(zoned(BERLIN)),
    };
    let first = flights.insert(first).await.unwrap();
    let second = NewFlight {
        id: 2,
        departs: zoned(LATER),
        arrives: None,
        stops: Vec::new(),
        boarding: Boarding(zoned(LATER)),
    };
    flights.insert(second).await.unwrap();
    (odm, first)
}

async fn stored(t: &TestDb, collection: &str) -> Raw {
    let all = t.db.collection::<Raw>(collection);
    all.find_one(doc! { "_id": 1 }).await.unwrap().unwrap()
}

#[odm_tests::test]
fn a_date_is_stored_with_its_zone_and_found_by_the_moment() {
    with_db(async |t| {
        let (odm, first) = prepared(&t).await;
        let flights = odm.collection::<Flight>();
        // An insert returns the stored value, in milliseconds.
        assert_eq!(
            first.departs.to_string(),
            "2030-01-31T12:00:00.123+01:00[Europe/Berlin]"
        );
        assert_eq!(
            first.arrives.unwrap().to_rfc3339(),
            "2030-01-31T15:00:00.999+02:00"
        );
        assert_eq!(flights.get(1).await.unwrap(), Some(first.clone()));
        let raw = stored(&t, "flights").await;
        let departs = raw.get_document("departs").unwrap();
        assert_eq!(departs.get_str("zone").unwrap(), "Europe/Berlin");
        assert!(departs.get_datetime("at").is_ok() && departs.len() == 2);
        let arrives = raw.get_document("arrives").unwrap();
        assert_eq!(arrives.get_i32("offset").unwrap(), 7_200);

        let f = Flight::paths();
        let at = first.departs.timestamp();
        let only = f.departs.eq(zoned(KOLKATA)).into_document().unwrap();
        let millis = odm::bson::DateTime::from_millis(at.as_millisecond());
        assert_eq!(only, doc! { "departs.at": { "$eq": millis } });
        for (filter, expected) in [
            (f.departs.eq(zoned(KOLKATA)), 1),
            (f.departs.eq(zoned(BERLIN)), 1),
            (f.departs.ne(zoned(KOLKATA)), 1),
            (f.departs.in_([zoned(KOLKATA), zoned(LATER)]), 2),
            (f.departs.at.eq(at), 1),
            (f.departs.at.gt(at), 1),
            (f.departs.at.gte(at), 2),
            (f.departs.zone.eq("Europe/Berlin"), 1),
            (f.boarding.eq(Boarding(zoned(KOLKATA))), 1),
            (f.arrives.eq(offset("2030-01-31T13:00:00.999Z")), 1),
            (f.arrives.eq(None), 1),
            (f.arrives.offset.gt(0), 1),
            (f.stops.contains(offset("2030-01-31T12:00:00Z")), 1),
            (f.stops.elem(|s| s.at.gt(at.to_chrono())), 1),
            (f.stops.contains(offset("2030-01-31T11:00:00Z")), 0),
        ] {
            let said = format!("{filter:?}");
            assert_eq!(
                flights.find(|_| filter).count().await.unwrap(),
                expected,
                "{said}"
            );
        }
        // In the order of the moments, page by page.
        let pages = || flights.find_all().sort(|f| f.departs.at.desc()).page(1);
        let page = pages().await.unwrap();
        assert_eq!(page.items[0].id, 2);
        let next = pages().after(page.next.unwrap()).await.unwrap();
        assert_eq!(next.items[0].id, 1);
        let by_index = flights.find(|f| f.departs.at.lte(at)).hint("departs.at_1");
        assert_eq!(by_index.all().await.unwrap(), [first]);
    });
}

trait ToChrono {
    fn to_chrono(self) -> Date<chrono::Utc>;
}

impl ToChrono for jiff::Timestamp {
    fn to_chrono(self) -> Date<chrono::Utc> {
        Date::from_timestamp_millis(self.as_millisecond()).unwrap()
    }
}

#[odm_tests::test]
fn changes_reach_the_zone_alone_too() {
    with_db(async |t| {
        let (odm, first) = prepared(&t).await;
        let (flights, tickets) = (odm.collection::<Flight>(), odm.collection::<Ticket>());
        let ticket = NewTicket {
            id: 1,
            flight: Ref::new(1),
        };
        tickets.insert(ticket).await.unwrap();
        // The same moment elsewhere: the copy follows, too.
        flights
            .update(1)
            .set(|f| f.departs, zoned(KOLKATA))
            .await
            .unwrap();
        for collection in ["flights", "tickets"] {
            let departs = stored(&t, collection).await;
            let departs = departs.get_document("departs").unwrap();
            assert_eq!(departs.get_str("zone").unwrap(), "Asia/Kolkata", "{collection}");
        }
        let by_copy = tickets.find(|t| t.departs.at.eq(first.departs.timestamp()));
        assert_eq!(by_copy.count().await.unwrap(), 1);
        let moment = zoned(LATER).timestamp();
        let changed = flights.update(1).set(|f| f.departs.at, moment).returning().await;
        let changed = changed.unwrap();
        assert_eq!(
            changed.departs.to_string(),
            "2030-02-01T18:30:00+05:30[Asia/Kolkata]"
        );
        flights.update(1).set(|f| f.arrives.offset, 0).await.unwrap();
        flights
            .update(1)
            .pull(|f| f.stops, offset("2030-01-31T12:00:00Z"))
            .await
            .unwrap();
        let stop = offset("2030-01-31T18:00:00.0009+01:00");
        let changed = flights.update(1).push(|f| f.stops, stop).returning().await;
        let changed = changed.unwrap();
        assert_eq!(
            changed.arrives.unwrap().to_rfc3339(),
            "2030-01-31T13:00:00.999+00:00"
        );
        let stops: Vec<String> = changed.stops.iter().map(|stop| stop.to_rfc3339()).collect();
        assert_eq!(stops, ["2030-01-31T14:00:00+01:00", "2030-01-31T18:00:00+01:00"]);
        assert!(odm.audit().await.unwrap().is_clean());
    });
}

#[odm_tests::test]
fn what_no_date_can_hold_is_refused() {
    with_db(async |t| {
        let (odm, _) = prepared(&t).await;
        let raw = t.db.collection::<Raw>("flights");
        for set in [
            doc! { "departs": odm::bson::DateTime::now() },
            doc! { "departs.at": "2030-01-31" },
            doc! { "departs.zone": 60 },
            doc! { "arrives.offset": 86_400 },
        ] {
            let refused = raw
                .update_one(doc! { "_id": 1 }, doc! { "$set": set.clone() })
                .await;
            assert!(refused.is_err(), "{set}");
        }
        let refused = odm
            .collection::<Flight>()
            .update(1)
            .set(|f| f.arrives.offset, 86_400)
            .await;
        assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
        // A name that this program does not know.
        raw.update_one(
            doc! { "_id": 1 },
            doc! { "$set": { "departs.zone": "Mars/Olympus" } },
        )
        .await
        .unwrap();
        let read = odm.collection::<Flight>().get(1).await;
        let Err(error @ Error::Decode { .. }) = read else {
            panic!("{read:?}")
        };
        assert!(error.to_string().contains("Mars/Olympus"), "{error}");
    });
}

#[odm_tests::test]
fn json_has_both_fields() {
    let body = json!({
        "id": 1,
        "departs": { "at": "2030-01-31T12:00:00+01:00", "zone": "Europe/Berlin" },
        "arrives": { "at": "2030-01-31T13:00:00Z", "offset": 7_200 },
        "stops": [],
        "boarding": { "at": "2030-01-31T11:00:00Z", "zone": "+01:00" },
    });
    let new: NewFlight = odm::json::from_value(body).unwrap();
    assert_eq!(new.boarding.0, new.departs);
    assert_eq!(new.arrives.unwrap().to_rfc3339(), "2030-01-31T15:00:00+02:00");
    let flight = Flight {
        id: new.id,
        departs: new.departs,
        arrives: new.arrives,
        stops: new.stops,
        boarding: new.boarding,
    };
    let json = odm::json::to_value(&flight).unwrap();
    let at = "2030-01-31T11:00:00.000Z";
    assert_eq!(json["departs"], json!({ "at": at, "zone": "Europe/Berlin" }));
    assert_eq!(json["boarding"], json!({ "at": at, "zone": "+01:00" }));

    let unknown = json!({ "at": at, "zone": "Mars/Olympus" });
    let body = json!({ "id": 1, "departs": unknown, "stops": [], "boarding": { "at": at, "zone": "UTC" } });
    let Err(Error::Json { values }) = odm::json::from_value::<NewFlight>(body) else {
        panic!("there is no such zone")
    };
    assert_eq!(values[0].pointer, "/departs");
    assert!(values[0].rule.contains("Mars/Olympus"), "{values:?}");
}
