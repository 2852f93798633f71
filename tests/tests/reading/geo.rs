//! Points, lines and polygons: what is stored of them, and the conditions on where they are.

use odm::Error;
use odm::bson::{Document as Doc, doc};
use odm::geo::{Area, Geometry, LineString, Point, Polygon};
use odm::prelude::*;
use odm_tests::{TestDb, with_db};
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "districts")]
struct District {
    #[serde(rename = "_id")]
    id: i32,
    #[index(geo)]
    center: Point,
    #[index(geo)]
    area: Polygon<10, 1>,
    /// The way through it.
    #[index(geo)]
    way: Option<LineString<5>>,
}

fn corners(x: f64, y: f64) -> [Point; 4] {
    [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)].map(|(dx, dy)| Point::new(x + dx, y + dy))
}

fn square(x: f64, y: f64) -> Polygon<10, 1> {
    Polygon::new(corners(x, y)).unwrap()
}

/// Squares of a degree beside each other, one with a hole around its center, two with a way through.
fn districts() -> Vec<District> {
    let district = |id: i32, x: f64, way: Option<LineString<5>>| District {
        id,
        center: Point::new(x + 0.5, 50.5),
        area: square(x, 50.0),
        way,
    };
    let lake = [(0.4, 0.4), (0.6, 0.4), (0.6, 0.6), (0.4, 0.6)];
    let lake = lake.map(|(dx, dy)| Point::new(12.0 + dx, 50.0 + dy));
    let way = |from: f64, to: f64| LineString::new([Point::new(from, 50.2), Point::new(to, 50.3)]).ok();
    vec![
        district(1, 10.0, way(10.1, 11.9)),
        district(2, 11.0, None),
        District {
            area: square(12.0, 50.0).with_hole(lake).unwrap(),
            ..district(3, 12.0, way(12.1, 12.9))
        },
    ]
}

async fn stocked(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![District]).unwrap();
    odm.sync().await.unwrap();
    odm.collection::<District>()
        .insert_many(districts())
        .await
        .unwrap();
    t.commands.clear();
    odm
}

/// The ids of what is found; a server that lacks the operator says so.
async fn found(odm: &Odm, filter: Filter<District>) -> Vec<i32> {
    let found = odm
        .collection::<District>()
        .find_all()
        .matching(filter)
        .all()
        .await;
    let mut ids: Vec<i32> = match found {
        Ok(found) => found.iter().map(|district| district.id).collect(),
        Err(error) => odm_tests::skip(&format!("lacks a geospatial operator: {error}")),
    };
    ids.sort_unstable();
    ids
}

#[odm_tests::test]
fn lines_and_polygons_are_stored_as_geojson() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        let all = odm.collection::<District>();
        assert_eq!(
            all.find_all().sort(|d| d.id.asc()).all().await.unwrap(),
            districts()
        );
        let raw = t.db.collection::<Doc>("districts");
        let stored = raw.find_one(doc! { "_id": 1 }).await.unwrap().unwrap();
        assert_eq!(
            stored.get_document("way").unwrap(),
            &doc! { "type": "LineString", "coordinates": [[10.1, 50.2], [11.9, 50.3]] }
        );
        let ring = [
            [10.0, 50.0],
            [11.0, 50.0],
            [11.0, 51.0],
            [10.0, 51.0],
            [10.0, 50.0],
        ];
        let ring: Vec<Vec<f64>> = ring.into_iter().map(Vec::from).collect();
        assert_eq!(
            stored.get_document("area").unwrap(),
            &doc! { "type": "Polygon", "coordinates": [ring] }
        );
        assert_eq!(
            found(&odm, District::paths().area.eq(square(11.0, 50.0))).await,
            [2]
        );
        let way = LineString::new([Point::new(0.0, 0.0), Point::new(1.0, 1.0)]).unwrap();
        all.update(2).set(|d| d.way, way.clone()).await.unwrap();
        assert_eq!(all.get(2).await.unwrap().unwrap().way, Some(way));
    });
}

/// Another client has stored it.
#[odm_tests::test]
fn a_geometry_that_is_none_is_not_read() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![District]).unwrap();
        let open = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
            .map(Vec::from)
            .to_vec();
        let stored = doc! {
            "_id": 1,
            "center": { "type": "Point", "coordinates": [0.0, 0.0] },
            "area": { "type": "Polygon", "coordinates": [open] },
            "way": null,
        };
        t.db.collection::<Doc>("districts")
            .insert_one(stored)
            .await
            .unwrap();
        let error = odm.collection::<District>().get(1).await.unwrap_err();
        assert!(
            matches!(&error, Error::Decode { path, message, .. }
                if path == "area" && message.contains("ends at the position at which it begins")),
            "{error:?}"
        );
    });
}

#[odm_tests::test]
fn geometries_intersect_by_a_common_position() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        let d = District::paths();
        assert_eq!(found(&odm, d.area.intersects(Point::new(10.5, 50.5))).await, [1]);
        let across = Geometry::line([Point::new(10.5, 50.45), Point::new(11.5, 50.45)]).unwrap();
        assert_eq!(found(&odm, d.area.intersects(across)).await, [1, 2]);
        let here = square(11.2, 50.1);
        assert_eq!(found(&odm, d.area.intersects(&here)).await, [2, 3]);
        assert_eq!(found(&odm, d.way.intersects(here)).await, [1, 3]);
        // In the hole there is no district.
        assert_eq!(
            found(&odm, d.area.intersects(Point::new(12.5, 50.5))).await,
            [0; 0]
        );
        let lake = Geometry::polygon(corners(12.0, 50.0)).unwrap();
        assert_eq!(found(&odm, d.center.intersects(lake)).await, [3]);
    });
}

#[odm_tests::test]
fn what_is_within_an_area_is_within_it_as_a_whole() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        let d = District::paths();
        let around = Polygon::<5>::new([
            Point::new(9.5, 49.5),
            Point::new(11.4, 49.5),
            Point::new(11.4, 51.5),
            Point::new(9.5, 51.5),
        ]);
        let around = around.unwrap();
        assert_eq!(found(&odm, d.center.within(&around)).await, [1]);
        assert_eq!(found(&odm, d.area.within(around)).await, [1]);
        let circle = Area::circle(Point::new(11.0, 50.5), 60_000.0);
        assert_eq!(found(&odm, d.center.within(circle)).await, [1, 2]);
    });
}

#[odm_tests::test]
fn what_is_near_may_be_too_near() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        let d = District::paths();
        let here = Point::new(10.5, 50.5);
        // A degree of longitude is 71 km here.
        assert_eq!(found(&odm, d.center.near(here, 80_000.0)).await, [1, 2]);
        assert_eq!(found(&odm, d.center.near(here, 60_000.0..=80_000.0)).await, [2]);
        let filter = d.center.near(here, 60_000.0..=80_000.0).into_document().unwrap();
        assert_eq!(
            filter,
            doc! { "center": { "$near": {
                "$geometry": { "type": "Point", "coordinates": [10.5, 50.5] },
                "$maxDistance": 80_000.0, "$minDistance": 60_000.0,
            } } }
        );
    });
}
