//! Geospatial values, stored as [GeoJSON](https://datatracker.ietf.org/doc/html/rfc7946) and indexed by `2dsphere`.

use crate::model::shape::{Body, Bounds, EnumShape, FieldMeta, Shape, StructShape, Tagging, VariantMeta};
use crate::model::size::{Size, document};
use crate::model::stored::{
    self, Bound, Done, Fault, Field, Fields, Input, Limit, Name, Out, Read, Reader, Row, Stored, external,
};
use crate::model::value::{ByParts, ByValue, Compared, Listed, Value};
use mongodb::bson::{Bson, Document, doc};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// A place: longitude and latitude in degrees, in that order, as GeoJSON writes them.
///
/// ```
/// let berlin = odm::geo::Point::new(13.4, 52.52);
/// assert_eq!((berlin.longitude(), berlin.latitude()), (13.4, 52.52));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    #[serde(rename = "type")]
    kind: GeoKind,
    coordinates: [f64; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum GeoKind {
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
            kind: GeoKind::Point,
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

/// Why positions are no line and no polygon. `?` makes an [`Error::Application`](crate::Error::Application) of it.
///
/// ```
/// use odm::geo::{LineString, Point};
///
/// let error = LineString::<10>::new([Point::new(13.4, 52.5)]).unwrap_err();
/// assert_eq!(error.to_string(), "a line needs two different positions at least, and has 1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct GeometryError(String);

impl From<GeometryError> for crate::Error {
    fn from(error: GeometryError) -> Self {
        crate::Error::application(error)
    }
}

/// Longitude and latitude, as GeoJSON writes them.
type GeoPosition = [f64; 2];

fn positions(points: impl IntoIterator<Item = Point>) -> Vec<GeoPosition> {
    points.into_iter().map(|point| point.coordinates).collect()
}

fn points(positions: &[GeoPosition]) -> impl Iterator<Item = Point> {
    positions
        .iter()
        .map(|[longitude, latitude]| Point::new(*longitude, *latitude))
}

fn bson(positions: &[GeoPosition]) -> Bson {
    positions
        .iter()
        .map(|[x, y]| Bson::from(vec![*x, *y]))
        .collect::<Vec<_>>()
        .into()
}

fn check_positions(positions: &[GeoPosition]) -> Result<(), GeometryError> {
    let is_on_earth = |[longitude, latitude]: &&GeoPosition| {
        (-180.0..=180.0).contains(longitude) && (-90.0..=90.0).contains(latitude)
    };
    match positions.iter().find(|position| !is_on_earth(position)) {
        Some([longitude, latitude]) => Err(GeometryError(format!(
            "longitude {longitude} and latitude {latitude} are no position: a longitude is from -180 to 180, a latitude from -90 to 90"
        ))),
        None => Ok(()),
    }
}

fn check_number(what: &str, positions: &[GeoPosition], most: usize) -> Result<(), GeometryError> {
    match positions.len() {
        number if number > most => Err(GeometryError(format!(
            "{what} of at most {most} positions has {number}"
        ))),
        _ => Ok(()),
    }
}

fn check_line(positions: &[GeoPosition]) -> Result<(), GeometryError> {
    let mut pairs = positions.iter().zip(positions.iter().skip(1));
    if !pairs.any(|(a, b)| a != b) {
        return Err(GeometryError(format!(
            "a line needs two different positions at least, and has {}",
            positions.len().min(1) // of different ones
        )));
    }
    check_positions(positions)
}

fn check_ring(positions: &[GeoPosition]) -> Result<(), GeometryError> {
    if positions.len() < 4 {
        return Err(GeometryError(format!(
            "a ring of a polygon needs four positions at least, the last of which is the first again, and has {}",
            positions.len()
        )));
    }
    if positions.first() != positions.last() {
        return Err(GeometryError(
            "a ring of a polygon ends at the position at which it begins, and this one does not".to_owned(),
        ));
    }
    check_positions(positions)
}

/// The ring around these corners: the last is joined to the first.
fn closed(corners: impl IntoIterator<Item = Point>) -> Vec<GeoPosition> {
    let mut ring = positions(corners);
    if let (Some(first), Some(last)) = (ring.first().copied(), ring.last().copied())
        && first != last
    {
        ring.push(first);
    }
    ring
}

/// A line on the earth of at most `N` positions, such as a way or a river, stored as GeoJSON and indexed by `#[index(geo)]`.
///
/// A value that is read, from the database or from a request, is checked as [`new`](LineString::new) does.
///
/// ```
/// use odm::geo::{LineString, Point};
///
/// let way = LineString::<100>::new([Point::new(13.37, 52.51), Point::new(13.4, 52.52)])?;
/// assert_eq!(way.points().count(), 2);
/// # Ok::<(), odm::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Line")]
pub struct LineString<const N: usize> {
    #[serde(rename = "type")]
    kind: LineKind,
    coordinates: Vec<GeoPosition>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum LineKind {
    LineString,
}

/// A line that is not checked yet.
#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    kind: LineKind,
    coordinates: Vec<GeoPosition>,
}

impl<const N: usize> TryFrom<Line> for LineString<N> {
    type Error = GeometryError;

    fn try_from(line: Line) -> Result<Self, GeometryError> {
        check_line(&line.coordinates)?;
        check_number("a line", &line.coordinates, N)?;
        Ok(LineString {
            kind: line.kind,
            coordinates: line.coordinates,
        })
    }
}

impl<const N: usize> LineString<N> {
    /// The line through these points.
    ///
    /// # Errors
    /// [`GeometryError`] for fewer than two different points, for more than `N`, and for one that is not on the earth.
    ///
    /// # Example
    /// ```
    /// use odm::geo::{LineString, Point};
    ///
    /// let way = LineString::<100>::new([Point::new(13.37, 52.51), Point::new(13.4, 52.52)])?;
    /// assert_eq!(
    ///     odm::bson::serialize_to_document(&way).expect("a document"),
    ///     odm::bson::doc! { "type": "LineString", "coordinates": [[13.37, 52.51], [13.4, 52.52]] },
    /// );
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn new(points: impl IntoIterator<Item = Point>) -> Result<Self, GeometryError> {
        Line {
            kind: LineKind::LineString,
            coordinates: positions(points),
        }
        .try_into()
    }

    /// Its points, in their order.
    ///
    /// ```
    /// use odm::geo::{LineString, Point};
    ///
    /// let way = LineString::<100>::new([Point::new(13.37, 52.51), Point::new(13.4, 52.52)])?;
    /// assert_eq!(way.points().next(), Some(Point::new(13.37, 52.51)));
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn points(&self) -> impl Iterator<Item = Point> {
        points(&self.coordinates)
    }

    const COORDINATES: FieldMeta = coordinates::<Vec<GeoPosition>>(N);
    const SHAPE: &'static StructShape = &StructShape {
        ty: Some(std::any::type_name::<Self>),
        name: "LineString",
        fields: &[kind::<LineKind>(), Self::COORDINATES],
        deny_unknown: false,
    };
}

/// An area on the earth within a ring of at most `N` positions, without at most `HOLES` holes of as many, stored as GeoJSON and indexed
/// by `#[index(geo)]`. The first position of a ring is stored again as its last, and counts twice.
///
/// A value that is read, from the database or from a request, is checked as [`new`](Polygon::new) does.
///
/// ```
/// use odm::geo::{Point, Polygon};
///
/// let corners = [Point::new(13.0, 52.3), Point::new(13.8, 52.3), Point::new(13.4, 52.7)];
/// let district = Polygon::<50>::new(corners)?;
/// assert_eq!(district.ring().count(), 4);
/// # Ok::<(), odm::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Rings")]
pub struct Polygon<const N: usize, const HOLES: usize = 0> {
    #[serde(rename = "type")]
    kind: PolygonKind,
    coordinates: Vec<Vec<GeoPosition>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum PolygonKind {
    Polygon,
}

/// A polygon that is not checked yet.
#[derive(Deserialize)]
struct Rings {
    #[serde(rename = "type")]
    kind: PolygonKind,
    coordinates: Vec<Vec<GeoPosition>>,
}

impl<const N: usize, const HOLES: usize> TryFrom<Rings> for Polygon<N, HOLES> {
    type Error = GeometryError;

    fn try_from(rings: Rings) -> Result<Self, GeometryError> {
        if rings.coordinates.is_empty() {
            return Err(GeometryError("a polygon needs a ring around it".to_owned()));
        }
        if rings.coordinates.len() - 1 > HOLES {
            return Err(GeometryError(format!(
                "a polygon of at most {HOLES} holes has {}",
                rings.coordinates.len() - 1
            )));
        }
        for ring in &rings.coordinates {
            check_ring(ring)?;
            check_number("a ring", ring, N)?;
        }
        Ok(Polygon {
            kind: rings.kind,
            coordinates: rings.coordinates,
        })
    }
}

impl<const N: usize, const HOLES: usize> Polygon<N, HOLES> {
    /// The area within these corners; the last is joined to the first. MongoDB takes the smaller of the two parts into which the ring
    /// divides the sphere.
    ///
    /// # Errors
    /// [`GeometryError`] for fewer than three corners, for more than `N` with the first one again, and for one that is not on the
    /// earth.
    ///
    /// # Example
    /// ```
    /// use odm::geo::{Point, Polygon};
    ///
    /// let corners = [Point::new(13.0, 52.3), Point::new(13.8, 52.3), Point::new(13.4, 52.7)];
    /// assert_eq!(
    ///     odm::bson::serialize_to_document(&Polygon::<50>::new(corners)?).expect("a document"),
    ///     odm::bson::doc! {
    ///         "type": "Polygon", "coordinates": [[[13.0, 52.3], [13.8, 52.3], [13.4, 52.7], [13.0, 52.3]]],
    ///     },
    /// );
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn new(corners: impl IntoIterator<Item = Point>) -> Result<Self, GeometryError> {
        Rings {
            kind: PolygonKind::Polygon,
            coordinates: vec![closed(corners)],
        }
        .try_into()
    }

    /// The same without the area within these corners, which lies inside of the ring.
    ///
    /// # Errors
    /// As [`new`](Polygon::new), and for one hole more than `HOLES`.
    ///
    /// # Example
    /// ```
    /// use odm::geo::{Point, Polygon};
    ///
    /// let corners = [Point::new(13.0, 52.3), Point::new(13.8, 52.3), Point::new(13.4, 52.7)];
    /// let lake = [Point::new(13.3, 52.4), Point::new(13.4, 52.4), Point::new(13.4, 52.5)];
    /// let district = Polygon::<50, 1>::new(corners)?.with_hole(lake)?;
    /// assert_eq!(district.holes().count(), 1);
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn with_hole(mut self, corners: impl IntoIterator<Item = Point>) -> Result<Self, GeometryError> {
        self.coordinates.push(closed(corners));
        Rings {
            kind: self.kind,
            coordinates: self.coordinates,
        }
        .try_into()
    }

    /// The positions of its ring, the first of them again as the last.
    ///
    /// ```
    /// use odm::geo::{Point, Polygon};
    ///
    /// let corners = [Point::new(13.0, 52.3), Point::new(13.8, 52.3), Point::new(13.4, 52.7)];
    /// assert_eq!(Polygon::<50>::new(corners)?.ring().last(), Some(corners[0]));
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn ring(&self) -> impl Iterator<Item = Point> {
        points(self.coordinates.first().map(Vec::as_slice).unwrap_or_default())
    }

    /// The positions of each of its holes.
    ///
    /// ```
    /// use odm::geo::{Point, Polygon};
    ///
    /// let corners = [Point::new(13.0, 52.3), Point::new(13.8, 52.3), Point::new(13.4, 52.7)];
    /// assert_eq!(Polygon::<50>::new(corners)?.holes().count(), 0);
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn holes(&self) -> impl Iterator<Item = Vec<Point>> {
        self.coordinates.iter().skip(1).map(|hole| points(hole).collect())
    }

    const COORDINATES: FieldMeta = coordinates::<Vec<Ring<N>>>(HOLES.saturating_add(1));
    const SHAPE: &'static StructShape = &StructShape {
        ty: Some(std::any::type_name::<Self>),
        name: "Polygon",
        fields: &[kind::<PolygonKind>(), Self::COORDINATES],
        deny_unknown: false,
    };
}

/// A ring of at most `N` positions, so far as the shape of a polygon is concerned.
struct Ring<const N: usize>(());

impl<const N: usize> Ring<N> {
    const POSITIONS: &'static FieldMeta = &coordinates::<Vec<GeoPosition>>(N);
}

impl<const N: usize> Value for Ring<N> {
    const SIZE: Size = Size::known(Self::POSITIONS.size);
    fn shape() -> Shape {
        Shape::Bounded(Self::POSITIONS)
    }
}

impl<const N: usize> Compared for Ring<N> {
    type As = Listed<Listed<ByValue>>;
}

const fn coordinates<A: crate::model::value::Array>(most: usize) -> FieldMeta {
    let bounds = Bounds {
        max_items: Some(most as u64),
        ..Bounds::NONE
    };
    FieldMeta::items::<A>("coordinates", "coordinates", "Vec<[f64; 2]>", bounds)
}

const fn kind<K: Value>() -> FieldMeta {
    FieldMeta::value::<K>("type", "type", "&str", Bounds::NONE)
}

macro_rules! kinds {
    ($($kind:ident::$variant:ident, $name:ident => $text:literal;)*) => {$(
        static $name: EnumShape = EnumShape { ty: None,
            name: $text,
            tagging: Tagging::External,
            variants: &[VariantMeta {
                name: $text,
                json: None,
                body: Body::Unit,
            }],
        };

        impl Stored for $kind {
            fn write(&self, name: &Name<'_>, _: Bound<'_>, out: &mut Out) -> Done {
                out.tag(name, $text);
                Ok(())
            }

            fn read(kind: u8, input: &mut Input<'_>) -> Read<Self> {
                let variant = external(kind, input)?;
                if variant.name() != $text {
                    return Err(Fault::unknown_variant(&[$text]));
                }
                variant.unit()?;
                Ok($kind::$variant)
            }
        }

        impl Compared for $kind {
            type As = ByValue;
        }

        impl Value for $kind {
            // The length of the text, its bytes, and a zero.
            const SIZE: Size = Size::fixed(5 + $text.len() as u64);
            fn shape() -> Shape {
                Shape::Enum(&$name)
            }
        }
    )*};
}

kinds! {
    GeoKind::Point, POINT_KIND => "Point";
    LineKind::LineString, LINE_KIND => "LineString";
    PolygonKind::Polygon, POLYGON_KIND => "Polygon";
}

static POINT: StructShape = StructShape {
    ty: None,
    name: "Point",
    fields: POINT_FIELDS,
    deny_unknown: false,
};

const POINT_FIELDS: &[FieldMeta] = &[
    kind::<GeoKind>(),
    FieldMeta::value::<GeoPosition>("coordinates", "coordinates", "[f64; 2]", Bounds::NONE),
];

macro_rules! geometries {
    ($([$($p:tt)*] $ty:ty => $shape:expr;)*) => {$(
        impl<$($p)*> Compared for $ty {
            type As = ByParts;
        }

        impl<$($p)*> Value for $ty {
            const SIZE: Size = Size::known(document($shape.fields));
            const DOCUMENT: bool = true;
            fn shape() -> Shape {
                Shape::Struct($shape)
            }
        }

        impl<$($p)*> Located for $ty {}
    )*};
}

geometries! {
    [const N: usize] LineString<N> => Self::SHAPE;
    [const N: usize, const HOLES: usize] Polygon<N, HOLES> => Self::SHAPE;
}

/// The fields of a geometry in the database.
struct Parts<K: 'static, C: 'static>(std::marker::PhantomData<(K, C)>);

impl<K: Stored, C: Stored> Parts<K, C> {
    const KIND: Field<K> = Field::stored("type\0", None);

    fn write(kind: &K, coordinates: &C, field: &'static Field<C>, out: &mut Out) -> Done {
        out.by(kind, const { &Self::KIND })?;
        out.by(coordinates, field)
    }

    fn read(field: &'static Field<C>, fields: &mut Reader<'_>) -> Read<(K, C)> {
        Ok((fields.by(const { &Self::KIND })?, fields.by(field)?))
    }
}

const fn stored_coordinates<C: Stored>(bound: Option<&'static Limit<'static>>) -> Field<C> {
    Field::stored("coordinates\0", bound)
}

impl Fields for Point {
    fn write_fields(&self, out: &mut Out) -> Done {
        let field = const { &stored_coordinates(None) };
        Parts::write(&self.kind, &self.coordinates, field, out)
    }
}

impl Row for Point {
    fn read_row(fields: &mut Reader<'_>) -> Read<Point> {
        let (kind, coordinates) = Parts::read(const { &stored_coordinates(None) }, fields)?;
        Ok(Point { kind, coordinates })
    }
}

stored::embedded_type!(Point);

impl<const N: usize> LineString<N> {
    const STORED: Field<Vec<GeoPosition>> =
        stored_coordinates(Some(const { &Limit::of(&Self::COORDINATES.bounds) }));
}

impl<const N: usize> Fields for LineString<N> {
    fn write_fields(&self, out: &mut Out) -> Done {
        Parts::write(&self.kind, &self.coordinates, const { &Self::STORED }, out)
    }
}

impl<const N: usize> Row for LineString<N> {
    fn read_row(fields: &mut Reader<'_>) -> Read<Self> {
        let (kind, coordinates) = Parts::read(const { &Self::STORED }, fields)?;
        Line { kind, coordinates }.try_into().map_err(unfit)
    }
}

stored::embedded_type!(LineString<N>, [const N: usize]);

impl<const N: usize, const HOLES: usize> Polygon<N, HOLES> {
    const STORED: Field<Vec<Vec<GeoPosition>>> =
        stored_coordinates(Some(const { &Limit::of(&Self::COORDINATES.bounds) }));
}

impl<const N: usize, const HOLES: usize> Fields for Polygon<N, HOLES> {
    fn write_fields(&self, out: &mut Out) -> Done {
        Parts::write(&self.kind, &self.coordinates, const { &Self::STORED }, out)
    }
}

impl<const N: usize, const HOLES: usize> Row for Polygon<N, HOLES> {
    fn read_row(fields: &mut Reader<'_>) -> Read<Self> {
        let (kind, coordinates) = Parts::read(const { &Self::STORED }, fields)?;
        Rings { kind, coordinates }.try_into().map_err(unfit)
    }
}

stored::embedded_type!(Polygon<N, HOLES>, [const N: usize, const HOLES: usize]);

fn unfit(error: GeometryError) -> Box<Fault> {
    Fault::other(error.0)
}

impl Compared for Point {
    type As = ByParts;
}

impl Value for Point {
    const SIZE: Size = Size::known(document(POINT_FIELDS));
    const DOCUMENT: bool = true;
    fn shape() -> Shape {
        Shape::Struct(&POINT)
    }
}

impl Located for Point {}

/// A geospatial value: a [`Point`], a [`LineString`], a [`Polygon`], or an `Option` of one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no geospatial value",
    label = "not a `geo::Point`, `geo::LineString` or `geo::Polygon`",
    note = "a position is stored as `odm::geo::Point`, longitude first"
)]
pub trait Located {}
impl<L: Located> Located for Option<L> {}

/// A geometry that conditions take: [`Path::intersects`](crate::query::Path::intersects). A [`Point`], a [`LineString`] and a [`Polygon`] are
/// made into one.
///
/// ```
/// # use samples::model::*;
/// use odm::geo::Geometry;
///
/// let way = Geometry::line([Point::new(13.37, 52.51), Point::new(13.4, 52.52)])?;
/// let p = Person::paths();
/// assert_eq!(
///     p.place.intersects(way).into_document()?,
///     doc! { "place": { "$geoIntersects": { "$geometry": {
///         "type": "LineString", "coordinates": [[13.37, 52.51], [13.4, 52.52]],
///     } } } },
/// );
/// # Ok::<(), odm::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Geometry(Document);

impl Geometry {
    /// The line through these points.
    ///
    /// # Errors
    /// As [`LineString::new`], with any number of points.
    ///
    /// # Example
    /// ```
    /// use odm::geo::{Geometry, Point};
    ///
    /// let way = Geometry::line([Point::new(13.37, 52.51), Point::new(13.4, 52.52)])?;
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn line(points: impl IntoIterator<Item = Point>) -> Result<Geometry, GeometryError> {
        LineString::<{ usize::MAX }>::new(points).map(Geometry::from)
    }

    /// The area within these corners.
    ///
    /// # Errors
    /// As [`Polygon::new`], with any number of corners.
    ///
    /// # Example
    /// ```
    /// use odm::geo::{Geometry, Point};
    ///
    /// let corners = [Point::new(13.0, 52.3), Point::new(13.8, 52.3), Point::new(13.4, 52.7)];
    /// let district = Geometry::polygon(corners)?;
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn polygon(corners: impl IntoIterator<Item = Point>) -> Result<Geometry, GeometryError> {
        Polygon::<{ usize::MAX }>::new(corners).map(Geometry::from)
    }

    pub(crate) fn into_document(self) -> Document {
        self.0
    }
}

impl From<Point> for Geometry {
    fn from(point: Point) -> Self {
        Geometry(doc! { "type": "Point", "coordinates": [point.longitude(), point.latitude()] })
    }
}

impl<const N: usize> From<LineString<N>> for Geometry {
    fn from(line: LineString<N>) -> Self {
        Geometry::from(&line)
    }
}

impl<const N: usize> From<&LineString<N>> for Geometry {
    fn from(line: &LineString<N>) -> Self {
        Geometry(doc! { "type": "LineString", "coordinates": bson(&line.coordinates) })
    }
}

impl<const N: usize, const HOLES: usize> From<Polygon<N, HOLES>> for Geometry {
    fn from(polygon: Polygon<N, HOLES>) -> Self {
        Geometry::from(&polygon)
    }
}

impl<const N: usize, const HOLES: usize> From<&Polygon<N, HOLES>> for Geometry {
    fn from(polygon: &Polygon<N, HOLES>) -> Self {
        let rings: Vec<Bson> = polygon.coordinates.iter().map(|ring| bson(ring)).collect();
        Geometry(doc! { "type": "Polygon", "coordinates": rings })
    }
}

/// A distance: at most a number of meters, or in a range of them. [`Path::near`](crate::query::Path::near) takes it.
///
/// ```
/// use odm::geo::Meters;
///
/// assert_ne!(Meters::from(5_000.0), Meters::from(100.0..=5_000.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Meters {
    pub(crate) least: Option<f64>,
    pub(crate) most: f64,
}

impl From<f64> for Meters {
    fn from(most: f64) -> Self {
        Meters { least: None, most }
    }
}

impl From<RangeInclusive<f64>> for Meters {
    fn from(range: RangeInclusive<f64>) -> Self {
        Meters {
            least: Some(*range.start()),
            most: *range.end(),
        }
    }
}

/// A part of the earth's surface: what [`Path::within`](crate::query::Path::within) takes.
///
/// ```
/// # use samples::model::*;
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
    /// # use samples::model::*;
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
    /// # use samples::model::*;
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
        let ring = bson(&closed(corners));
        Area(doc! { "$geometry": { "type": "Polygon", "coordinates": [ring] } })
    }

    pub(crate) fn into_document(self) -> Document {
        self.0
    }
}

impl<const N: usize, const HOLES: usize> From<Polygon<N, HOLES>> for Area {
    fn from(polygon: Polygon<N, HOLES>) -> Self {
        Area::from(&polygon)
    }
}

impl<const N: usize, const HOLES: usize> From<&Polygon<N, HOLES>> for Area {
    fn from(polygon: &Polygon<N, HOLES>) -> Self {
        Area(doc! { "$geometry": Geometry::from(polygon).into_document() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mongodb::bson::{deserialize_from_document, serialize_to_vec};

    fn corners() -> [Point; 3] {
        [
            Point::new(13.0, 52.3),
            Point::new(13.8, 52.3),
            Point::new(13.4, 52.7),
        ]
    }

    #[test]
    fn a_geometry_takes_at_most_the_bytes_that_it_says() {
        let line = LineString::<3>::new(corners()).unwrap();
        let bytes = serialize_to_vec(&line).unwrap().len() as u64;
        assert_eq!(LineString::<3>::SIZE.fixed, Some(bytes));
        let polygon = Polygon::<4, 1>::new(corners())
            .unwrap()
            .with_hole(corners())
            .unwrap();
        let bytes = serialize_to_vec(&polygon).unwrap().len() as u64;
        assert_eq!(Polygon::<4, 1>::SIZE.fixed, Some(bytes));
        let bytes = serialize_to_vec(&corners()[0]).unwrap().len() as u64;
        assert_eq!(Point::SIZE.fixed, Some(bytes));
    }

    #[test]
    fn what_is_no_geometry_is_refused_with_the_reason() {
        let line = |points: Vec<Point>| LineString::<2>::new(points).unwrap_err().to_string();
        let [a, b, c] = corners();
        assert_eq!(
            line(vec![]),
            "a line needs two different positions at least, and has 0"
        );
        assert_eq!(
            line(vec![a, a]),
            "a line needs two different positions at least, and has 1"
        );
        assert_eq!(line(vec![a, b, c]), "a line of at most 2 positions has 3");
        for wrong in [
            Point::new(180.1, 0.0),
            Point::new(0.0, -90.5),
            Point::new(f64::NAN, 0.0),
        ] {
            assert!(line(vec![a, wrong]).contains("are no position"), "{wrong:?}");
        }
        let polygon = |corners: Vec<Point>| Polygon::<5>::new(corners).unwrap_err().to_string();
        assert!(polygon(vec![a, b]).contains("needs four positions at least"));
        assert!(polygon(vec![a, b, c, a, b]).contains("at most 5 positions has 6"));
        let holed = Polygon::<5>::new(corners()).unwrap().with_hole(corners());
        assert_eq!(
            holed.unwrap_err().to_string(),
            "a polygon of at most 0 holes has 1"
        );
    }

    #[test]
    fn a_stored_geometry_is_checked_when_it_is_read() {
        let read = |coordinates: Vec<Vec<f64>>| {
            let stored = doc! { "type": "Polygon", "coordinates": [coordinates] };
            deserialize_from_document::<Polygon<10>>(stored)
        };
        let open = vec![vec![0.0, 0.0], vec![1.0, 0.0], vec![1.0, 1.0], vec![0.0, 1.0]];
        let mut ring = open.clone();
        ring.push(vec![0.0, 0.0]);
        assert_eq!(read(ring).unwrap().ring().count(), 5);
        assert!(
            read(open)
                .unwrap_err()
                .to_string()
                .contains("ends at the position at which it begins")
        );
        let point = doc! { "type": "Point", "coordinates": [0.0, 0.0] };
        assert!(deserialize_from_document::<LineString<10>>(point).is_err());
    }
}
