//! Geospatial values, stored as [GeoJSON](https://datatracker.ietf.org/doc/html/rfc7946) and indexed by `2dsphere`.

use crate::model::shape::{Body, Bounds, FieldMeta, Managed, Shape, StructShape};
use crate::{model::size::Size, model::value::Value};
use mongodb::bson::{Document, doc};
use serde::{Deserialize, Serialize};

/// A place: longitude and latitude in degrees, in that order, as GeoJSON writes them.
///
/// ```
/// let berlin = odm::geo::Point::new(13.4, 52.52);
/// assert_eq!((berlin.longitude(), berlin.latitude()), (13.4, 52.52));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    #[serde(rename = "type")]
    kind: Kind,
    coordinates: [f64; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Kind {
    Point,
}

impl Point {
    /// The place at `longitude` (-180 to 180, east is positive) and `latitude` (-90 to 90, north is positive).
    ///
    /// ```
    /// let berlin = odm::geo::Point::new(13.4, 52.52);
    /// assert_eq!(
    ///     odm::bson::serialize_to_document(&berlin).expect("a document"),
    ///     odm::bson::doc! { "type": "Point", "coordinates": [13.4, 52.52] },
    /// );
    /// ```
    pub const fn new(longitude: f64, latitude: f64) -> Point {
        Point {
            kind: Kind::Point,
            coordinates: [longitude, latitude],
        }
    }

    /// Degrees east.
    ///
    /// ```
    /// assert_eq!(odm::geo::Point::new(13.4, 52.52).longitude(), 13.4);
    /// ```
    pub const fn longitude(&self) -> f64 {
        self.coordinates[0]
    }

    /// Degrees north.
    ///
    /// ```
    /// assert_eq!(odm::geo::Point::new(13.4, 52.52).latitude(), 52.52);
    /// ```
    pub const fn latitude(&self) -> f64 {
        self.coordinates[1]
    }
}

static KINDS: crate::model::shape::EnumShape = crate::model::shape::EnumShape {
    name: "Kind",
    tagging: crate::model::shape::Tagging::External,
    variants: &[crate::model::shape::VariantMeta {
        name: "Point",
        aliases: &[],
        body: Body::Unit,
    }],
};

static POINT: StructShape = StructShape {
    name: "Point",
    fields: &[
        FieldMeta {
            rust: "type",
            name: "type",
            aliases: &[],
            ty: "&str",
            shape: || Shape::Enum(&KINDS),
            bounds: Bounds::NONE,
            required: true,
            flatten: false,
            managed: Managed::No,
            size: Some(10),
            unique: false,
            reference: None,
            entry: None,
            copied: None,
            volatile: false,
            skips_none: false,
            set: false,
            default: None,
            left_out: false,
            inserted: false,
            stored: false,
            shows_more: false,
        },
        FieldMeta {
            rust: "coordinates",
            name: "coordinates",
            aliases: &[],
            ty: "[f64; 2]",
            shape: <[f64; 2] as Value>::shape,
            bounds: Bounds::NONE,
            required: true,
            flatten: false,
            managed: Managed::No,
            size: <[f64; 2] as Value>::SIZE.fixed,
            unique: false,
            reference: None,
            entry: None,
            copied: None,
            volatile: false,
            skips_none: false,
            set: false,
            default: None,
            left_out: false,
            inserted: false,
            stored: false,
            shows_more: false,
        },
    ],
    deny_unknown: false,
};

impl crate::model::value::Compared for Point {
    type As = crate::model::value::ByParts;
}

impl Value for Point {
    const SIZE: Size = Size::known(crate::model::size::document(POINT_FIELDS));
    const DOCUMENT: bool = true;
    fn shape() -> Shape {
        Shape::Struct(&POINT)
    }
}

const POINT_FIELDS: &[FieldMeta] = POINT.fields;

/// A part of the earth's surface: what [`Path::within`](crate::Path::within) takes.
///
/// ```
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// let p = Person::paths();
/// let around = Area::circle(Point::new(13.4, 52.52), 6_378.1);
/// assert_eq!(
///     p.place.within(around).into_document()?,
///     doc! { "place": { "$geoWithin": { "$centerSphere": [[13.4, 52.52], 6_378.1 / 6_378_100.0] } } },
/// );
/// # Ok::<(), odm::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Area(Document);

/// The earth's equatorial radius in meters, with which MongoDB turns a distance on the sphere into radians.
/// Source: <https://www.mongodb.com/docs/manual/core/indexes/index-types/geospatial/2d/calculate-distances/>
const EARTH_RADIUS_METERS: f64 = 6_378_100.0;

impl Area {
    /// Everything within `meters` of `center`, on a sphere of 6,378,100 meters: [MongoDB's
    /// radius](https://www.mongodb.com/docs/manual/core/indexes/index-types/geospatial/2d/calculate-distances/) of the
    /// earth.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let near_by = people.find(|p| p.place.within(Area::circle(Point::new(13.4, 52.52), 5_000.0))).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn circle(center: Point, meters: f64) -> Area {
        Area(
            doc! { "$centerSphere": [[center.longitude(), center.latitude()], meters / EARTH_RADIUS_METERS] },
        )
    }

    /// The inside of a polygon of at least three corners; the last is joined to the first. MongoDB takes the smaller of
    /// the two parts into which it divides the sphere.
    ///
    /// ```
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// let corners = [Point::new(13.0, 52.3), Point::new(13.8, 52.3), Point::new(13.4, 52.7)];
    /// let p = Person::paths();
    /// assert_eq!(
    ///     p.place.within(Area::polygon(corners)).into_document()?,
    ///     doc! { "place": { "$geoWithin": { "$geometry": {
    ///         "type": "Polygon",
    ///         "coordinates": [[[13.0, 52.3], [13.8, 52.3], [13.4, 52.7], [13.0, 52.3]]],
    ///     } } } },
    /// );
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn polygon(corners: impl IntoIterator<Item = Point>) -> Area {
        let mut ring: Vec<Point> = corners.into_iter().collect();
        if let (Some(first), Some(last)) = (ring.first().copied(), ring.last().copied())
            && first != last
        {
            ring.push(first);
        }
        let ring: Vec<[f64; 2]> = ring.into_iter().map(|p| p.coordinates).collect();
        let ring: Vec<mongodb::bson::Bson> = ring.into_iter().map(|[x, y]| vec![x, y].into()).collect();
        Area(doc! { "$geometry": { "type": "Polygon", "coordinates": [ring] } })
    }

    pub(crate) fn into_document(self) -> Document {
        self.0
    }
}
