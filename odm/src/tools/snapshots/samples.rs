//! Documents of every shape that a model has: minimal, full, with `null`, with empty arrays, and one for each variant of each enum.
//!
//! Values keep the declared bounds and rules. Of a type that reads less than its shape says, such as an address in a text, the next value
//! of a list is tried until the model decodes the document.
//!
//! `extended` is the form of documents and values in a snapshot.

use crate::Error;
use crate::model::document::DocumentMeta;
use crate::model::shape::{
    Body, Bounds, EnumShape, FieldMeta, Managed, Number, Shape, StructShape, Tagging, VariantMeta, of_field,
};
use crate::schema::tighter;
use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{
    Binary, Bson, DateTime, Decimal128, Document, RawBsonRef, RawDocumentBuf, Regex, Timestamp, cstr, doc,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// A document that the models read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sample {
    /// The case that it shows: `minimal`, `full`, `` `status` is draft ``.
    pub(crate) shows: String,
    #[serde(with = "extended::document")]
    pub(crate) document: Document,
}

/// Samples of one collection: enums within enums could have any number of combinations.
const MOST: usize = 100;
/// How often a type stands within itself.
const LEVELS: usize = 2;
/// 2001-02-03T04:05:06.007Z.
const TIME: i64 = 981_173_106_007;

/// Texts that some types read, where any text fits the shape.
const TEXTS: [&str; 18] = [
    "2001-02-03",
    "2001-02-03T04:05:06Z",
    "04:05:06",
    "https://example.com/",
    "kate@example.com",
    "192.0.2.1",
    "2001:db8::1",
    "192.0.2.1:8080",
    "UTC",
    "en",
    "1",
    "1.5",
    "P1D",
    "00000000-0000-4000-8000-000000000001",
    "000000000000000000000001",
    "true",
    "{}",
    "",
];

/// Why a collection has no samples.
pub(super) enum NoSample {
    /// A field that is not looked into takes none of the values that are tried.
    Opaque(String),
    /// The model does not decode a document of its own shape.
    Unread(String),
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Minimal,
    Full,
    Null,
    Empty,
}

/// The samples of a collection, each of which its model decodes.
pub(super) fn of(meta: &'static DocumentMeta) -> Result<Vec<Sample>, NoSample> {
    let mut samples: Vec<Sample> = Vec::new();
    let mut tries = HashMap::new();
    let none = BTreeMap::new();
    let mut waiting = VecDeque::new();
    let mut seen = Vec::new();
    let mut add = |shows: String, form: Form, chosen: &BTreeMap<String, usize>| {
        let number = samples.len() + 1;
        let (document, points) = decoded(meta, &shows, form, chosen, number, &mut tries)?;
        // The id alone tells it from one that is there.
        let is_new = |one: &Sample| {
            let without = |document: &Document| {
                let fields = document.iter().filter(|(name, _)| *name != "_id");
                fields
                    .map(|(name, value)| (name.clone(), value.clone()))
                    .collect::<Document>()
            };
            without(&one.document) != without(&document)
        };
        if samples.iter().all(is_new) {
            samples.push(Sample { shows, document });
        }
        Ok::<_, NoSample>((points, samples.len()))
    };
    add("minimal".to_owned(), Form::Minimal, &none)?;
    let (points, _) = add("full".to_owned(), Form::Full, &none)?;
    add("`null` for what is not there".to_owned(), Form::Null, &none)?;
    add("empty arrays".to_owned(), Form::Empty, &none)?;
    waiting.push_back((none.clone(), points));
    while let Some((chosen, points)) = waiting.pop_front() {
        for point in points {
            if seen.contains(&point.path) {
                continue;
            }
            seen.push(point.path.clone());
            for (at, name) in point
                .of
                .variants
                .iter()
                .enumerate()
                .map(|(at, one)| (at, one.name))
            {
                if at == point.used {
                    continue;
                }
                let mut chosen = chosen.clone();
                chosen.insert(point.path.clone(), at);
                let shows = match point.path.as_str() {
                    "" => format!("variant {name}"),
                    path => format!("`{path}` is {name}"),
                };
                let (points, so_far) = add(shows, Form::Full, &chosen)?;
                if so_far >= MOST {
                    return Ok(samples);
                }
                waiting.push_back((chosen, points));
            }
        }
    }
    Ok(samples)
}

/// An enum in a document.
#[derive(Clone)]
struct Point {
    path: String,
    of: &'static EnumShape,
    used: usize,
}

/// Values at a path that can be tried one after the other.
struct Leaf {
    path: String,
    values: usize,
    is_opaque: bool,
}

fn decoded(
    meta: &'static DocumentMeta,
    shows: &str,
    form: Form,
    chosen: &BTreeMap<String, usize>,
    number: usize,
    tries: &mut HashMap<String, usize>,
) -> Result<(Document, Vec<Point>), NoSample> {
    loop {
        let mut maker = Maker {
            form,
            chosen,
            tries,
            number: u8::try_from(number).unwrap_or(u8::MAX),
            points: Vec::new(),
            leaves: Vec::new(),
            open: Vec::new(),
        };
        let whole = maker.value("", meta.whole(), &Bounds::NONE, None);
        let (points, leaves) = (maker.points, maker.leaves);
        let Some(Bson::Document(document)) = whole else {
            return Err(NoSample::Unread(format!(
                "no document of `{}` can be made: `{}` contains itself without an end",
                meta.collection, meta.name
            )));
        };
        let raw = RawDocumentBuf::try_from(&document).map_err(|error| {
            NoSample::Unread(format!(
                "a sample of `{}` can't be stored: {error}",
                meta.collection
            ))
        })?;
        let Err(error) = (meta.decode)(&raw) else {
            return Ok((document, points));
        };
        let at = match &error {
            Error::Decode { path, .. } => path.clone(),
            _ => String::new(),
        };
        // Inner fields before outer ones.
        let within = leaves.iter().filter(|leaf| begins(&leaf.path, &at));
        let around = leaves
            .iter()
            .rev()
            .filter(|leaf| leaf.path != at && begins(&at, &leaf.path));
        let near: Vec<&Leaf> = within.chain(around).collect();
        let next = near
            .iter()
            .find(|leaf| tries.get(&leaf.path).copied().unwrap_or(0) + 1 < leaf.values);
        if let Some(leaf) = next {
            *tries.entry(leaf.path.clone()).or_default() += 1;
            continue;
        }
        if near.iter().any(|leaf| leaf.is_opaque) {
            return Err(NoSample::Opaque(format!(
                "`{at}` is not looked into (`opaque`), and no value that was tried can be decoded: {error}"
            )));
        }
        return Err(NoSample::Unread(format!(
            "a generated document of `{}` ({shows}) can't be decoded as `{}`, so the snapshot would not say what documents look like: \
             {error}. The type of `{at}` reads less than its shape says: declare the field `opaque`, or with a rule that its values keep",
            meta.collection, meta.name
        )));
    }
}

/// Whether a path is another one, or within it.
fn begins(path: &str, other: &str) -> bool {
    path.strip_prefix(other)
        .is_some_and(|rest| rest.is_empty() || other.is_empty() || rest.starts_with('.'))
}

struct Maker<'m> {
    form: Form,
    /// The variants of enums, by their paths.
    chosen: &'m BTreeMap<String, usize>,
    /// Which value of a list is used, by its path.
    tries: &'m HashMap<String, usize>,
    /// By which the id differs from those of other samples.
    number: u8,
    points: Vec<Point>,
    leaves: Vec<Leaf>,
    /// The types around a value.
    open: Vec<&'static str>,
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

impl Maker<'_> {
    /// A value; `None` where a type contains itself too often.
    fn value(
        &mut self,
        path: &str,
        shape: Shape,
        bounds: &Bounds,
        field: Option<&FieldMeta>,
    ) -> Option<Bson> {
        let of_items = of_items(bounds);
        let is_empty = matches!(self.form, Form::Minimal | Form::Empty) || bounds.max_items == Some(0);
        Some(match shape {
            Shape::Optional(some) => match self.form {
                Form::Minimal | Form::Null => Bson::Null,
                Form::Full | Form::Empty => self.value(path, some(), bounds, field).unwrap_or(Bson::Null),
            },
            Shape::Bounded(meta) => {
                let own = if meta.bounds.opaque {
                    *bounds
                } else {
                    tighter(&meta.bounds, bounds)
                };
                return self.value(path, of_field(meta), &own, field);
            }
            Shape::Array(items) => {
                // More than one where no fewer are read.
                let most = bounds.max_items.map_or(4, |most| most.min(4));
                let mut counts = vec![0, 1, 2, 4];
                counts.retain(|count| *count <= most && (*count > 0 || is_empty));
                let count = if counts.is_empty() {
                    0
                } else {
                    self.tried(path, &counts, false)
                };
                let items = (0..count)
                    .map_while(|at| self.value(&join(path, &at.to_string()), items(), &of_items, None));
                Bson::Array(items.collect())
            }
            Shape::Fixed { items, len } => {
                let items =
                    (0..len).map(|at| self.value(&join(path, &at.to_string()), items(), &of_items, None));
                Bson::Array(items.collect::<Option<_>>()?)
            }
            Shape::Tuple(items) => {
                let items = items.iter().enumerate();
                let items =
                    items.map(|(at, item)| self.value(&join(path, &at.to_string()), item(), &of_items, None));
                Bson::Array(items.collect::<Option<_>>()?)
            }
            Shape::Map(_) if is_empty => Bson::Document(Document::new()),
            Shape::Map(values) => Bson::Document(self.entries(path, values(), bounds)),
            Shape::Struct(of) if geometry(of).is_some() => Bson::Document(geometry(of)?),
            Shape::Struct(of) => {
                let mut document = Document::new();
                self.entered(of.identity(), bounds, |maker| {
                    maker.fields(path, of, &mut document)
                })?;
                Bson::Document(document)
            }
            Shape::Enum(of) => {
                return self.entered(of.identity(), bounds, |maker| maker.variant(path, of));
            }
            _ => self.leaf(path, shape, bounds, field),
        })
    }

    fn entered<T>(
        &mut self,
        name: &'static str,
        bounds: &Bounds,
        make: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<T> {
        let levels = bounds.depth.map_or(LEVELS, |depth| LEVELS.min(depth as usize));
        let is_open = self.open.iter().filter(|open| **open == name).count();
        if is_open >= levels.max(1) {
            return None;
        }
        self.open.push(name);
        let made = make(self);
        self.open.pop();
        made
    }

    fn fields(&mut self, path: &str, of: &'static StructShape, document: &mut Document) -> Option<()> {
        for field in of.fields {
            self.field(path, field, document)?;
        }
        Some(())
    }

    fn field(&mut self, path: &str, field: &'static FieldMeta, document: &mut Document) -> Option<()> {
        if field.is_extra() {
            return Some(());
        }
        let shape = of_field(field);
        let is_optional = matches!(shape, Shape::Optional(_));
        let may_miss = (!field.required || is_optional) && !field.stored;
        let is_absent = match self.form {
            Form::Minimal => may_miss,
            Form::Null => is_optional && (field.skips_none || field.flatten),
            Form::Full | Form::Empty => false,
        };
        if is_absent {
            return Some(());
        }
        if field.flatten {
            return match self.flat(path, shape, &field.bounds, document) {
                None if may_miss => Some(()),
                made => made,
            };
        }
        match self.value(&join(path, field.name), shape, &field.bounds, Some(field)) {
            Some(value) => {
                document.insert(field.name, value);
            }
            None if may_miss => {}
            None => return None,
        }
        Some(())
    }

    /// The fields of the document around it.
    fn flat(&mut self, path: &str, shape: Shape, bounds: &Bounds, document: &mut Document) -> Option<()> {
        match shape {
            Shape::Optional(some) => self.flat(path, some(), bounds, document),
            Shape::Bounded(meta) => self.flat(path, of_field(meta), &tighter(&meta.bounds, bounds), document),
            Shape::Map(_) if matches!(self.form, Form::Minimal | Form::Empty) => Some(()),
            Shape::Map(values) => {
                let entries = self.entries(path, values(), bounds);
                document.extend(entries);
                Some(())
            }
            Shape::Struct(of) => {
                self.entered(of.identity(), bounds, |maker| maker.fields(path, of, document))
            }
            Shape::Enum(_) => match self.value(path, shape, bounds, None)? {
                Bson::Document(fields) => {
                    document.extend(fields);
                    Some(())
                }
                _ => Some(()),
            },
            _ => Some(()),
        }
    }

    /// One entry of a map, whose key may have to be a number, an id, or another text.
    fn entries(&mut self, path: &str, values: Shape, bounds: &Bounds) -> Document {
        let longest = bounds.key_len.unwrap_or(u64::MAX) as usize;
        let all = std::iter::once("key").chain(TEXTS);
        let all = all.filter(|key| !key.is_empty() && !key.contains(['.', '$']));
        let mut keys: Vec<String> = all.map(|key| key.chars().take(longest).collect()).collect();
        // No entry, where no key is read.
        keys.push(String::new());
        keys.dedup();
        let key = self.tried(path, &keys, false);
        if key.is_empty() {
            return Document::new();
        }
        let value = self.value(&join(path, &key), values, &of_items(bounds), None);
        value.into_iter().map(|value| (key.clone(), value)).collect()
    }

    fn tried<T: Clone>(&mut self, path: &str, values: &[T], is_opaque: bool) -> T {
        let at = self.tries.get(path).copied().unwrap_or(0).min(values.len() - 1);
        self.leaves.push(Leaf {
            path: path.to_owned(),
            values: values.len(),
            is_opaque,
        });
        values[at].clone()
    }

    fn variant(&mut self, path: &str, of: &'static EnumShape) -> Option<Bson> {
        let chosen = self.chosen.get(path).copied();
        let (points, leaves) = (self.points.len(), self.leaves.len());
        for at in chosen.into_iter().chain(0..of.variants.len()) {
            self.points.truncate(points);
            self.leaves.truncate(leaves);
            self.points.push(Point {
                path: path.to_owned(),
                of,
                used: at,
            });
            let variant = of.variants.get(at)?;
            if let Some(value) = self.one(path, of.tagging, variant) {
                return Some(value);
            }
        }
        self.points.truncate(points);
        None
    }

    fn one(&mut self, path: &str, tagging: Tagging, variant: &'static VariantMeta) -> Option<Bson> {
        let is_unit = matches!(variant.body, Body::Unit);
        let mut document = Document::new();
        match tagging {
            Tagging::External if is_unit => return Some(variant.name.into()),
            Tagging::External => {
                let content = self.content(&join(path, variant.name), &variant.body)?;
                document.insert(variant.name, content);
            }
            Tagging::Untagged => return self.content(path, &variant.body),
            Tagging::Internal(tag) => {
                document.insert(tag, variant.name);
                match variant.body {
                    Body::Struct(of) => self.fields(path, of, &mut document)?,
                    Body::Newtype(meta) => self.flat(path, of_field(meta), &meta.bounds, &mut document)?,
                    Body::Unit | Body::Tuple(_) => {}
                }
            }
            Tagging::Adjacent(tag, content) => {
                document.insert(tag, variant.name);
                if !is_unit {
                    let value = self.content(&join(path, content), &variant.body)?;
                    document.insert(content, value);
                }
            }
        }
        Some(document.into())
    }

    fn content(&mut self, path: &str, body: &'static Body) -> Option<Bson> {
        match body {
            Body::Unit => Some(Bson::Null),
            Body::Newtype(meta) => self.value(path, of_field(meta), &meta.bounds, Some(meta)),
            Body::Tuple(fields) => {
                let items = fields.iter().enumerate();
                let items = items.map(|(at, meta)| {
                    self.value(
                        &join(path, &at.to_string()),
                        of_field(meta),
                        &meta.bounds,
                        Some(meta),
                    )
                });
                Some(Bson::Array(items.collect::<Option<_>>()?))
            }
            Body::Struct(of) => {
                let mut document = Document::new();
                self.fields(path, of, &mut document)?;
                Some(document.into())
            }
        }
    }

    /// A value without others in it.
    fn leaf(&mut self, path: &str, shape: Shape, bounds: &Bounds, field: Option<&FieldMeta>) -> Bson {
        let is_id = field.is_some_and(|field| field.managed == Managed::Id);
        let number = if is_id { self.number } else { 1 };
        let mut values = candidates(shape, bounds, number, field.map_or("text", |field| field.name));
        let default = field
            .and_then(|field| field.default)
            .and_then(|default| default().ok());
        if matches!(shape, Shape::Any) {
            values.splice(0..0, default);
        } else {
            values.extend(default);
        }
        let keeps = |value: &Bson| is_within(value, bounds);
        if values.iter().any(keeps) {
            values.retain(keeps);
        }
        self.tried(path, &values, matches!(shape, Shape::Any))
    }
}

/// A line and an area, which have several positions.
fn geometry(of: &StructShape) -> Option<Document> {
    let names = of.fields.iter().map(|field| field.name);
    if !names.eq(["type", "coordinates"]) {
        return None;
    }
    match of.name {
        "LineString" => Some(doc! { "type": of.name, "coordinates": [[13.25, 52.5], [13.5, 52.25]] }),
        "Polygon" => Some(doc! {
            "type": of.name,
            "coordinates": [[[13.25, 52.5], [13.5, 52.5], [13.5, 52.75], [13.25, 52.5]]],
        }),
        _ => None,
    }
}

fn is_within(value: &Bson, bounds: &Bounds) -> bool {
    let len = match value {
        Bson::String(text) => Some(text.chars().count() as u64),
        Bson::Binary(binary) => Some(binary.bytes.len() as u64),
        _ => None,
    };
    let fits = len.is_none_or(|len| {
        bounds.max_len.is_none_or(|max| len <= max) && bounds.min_len.is_none_or(|min| len >= min)
    });
    let raw = match value {
        Bson::String(text) => Some(RawBsonRef::String(text)),
        Bson::Int32(n) => Some(RawBsonRef::Int32(*n)),
        Bson::Int64(n) => Some(RawBsonRef::Int64(*n)),
        Bson::Double(n) => Some(RawBsonRef::Double(*n)),
        _ => None,
    };
    fits && raw.is_none_or(|raw| bounds.rules.is_none_or(|rules| rules.broken(raw).is_none()))
}

/// Values of a shape, the plainest first.
fn candidates(shape: Shape, bounds: &Bounds, number: u8, name: &str) -> Vec<Bson> {
    match shape {
        Shape::Null => vec![Bson::Null],
        Shape::Bool => vec![true.into(), false.into()],
        Shape::Int { min, max } => {
            let all = integers(bounds, (min.into(), max.into()), number);
            all.into_iter()
                .filter_map(|n| i32::try_from(n).ok())
                .map(Bson::Int32)
                .collect()
        }
        Shape::Long { min, max } => {
            let all = integers(bounds, (min, max), number);
            all.into_iter().map(Bson::Int64).collect()
        }
        Shape::Double => {
            let (min, max) = (float(bounds.min, f64::MIN), float(bounds.max, f64::MAX));
            let all = [1.5, 0.5, 1.0, 0.0, min, max, (min / 2.0) + (max / 2.0)];
            let mut all: Vec<f64> = all.into_iter().filter(|n| *n >= min && *n <= max).collect();
            if all.is_empty() {
                all.push(min);
            }
            all.into_iter().map(Bson::Double).collect()
        }
        Shape::Decimal => ["1.5", "1", "0"]
            .iter()
            .filter_map(|text| text.parse::<Decimal128>().ok())
            .map(Bson::Decimal128)
            .collect(),
        Shape::Char => vec!["a".into(), "1".into(), "A".into()],
        Shape::String => texts(bounds, number, name),
        Shape::ObjectId => {
            let mut bytes = [0; 12];
            bytes[11] = number;
            vec![Bson::ObjectId(bytes.into())]
        }
        Shape::Date => vec![Bson::DateTime(DateTime::from_millis(TIME))],
        Shape::Uuid => {
            let mut bytes = vec![0; 16];
            (bytes[6], bytes[8], bytes[15]) = (0x40, 0x80, number);
            vec![binary(BinarySubtype::Uuid, bytes)]
        }
        Shape::Binary => {
            let lens = [
                bounds.min_len.unwrap_or(3).min(64),
                3,
                1,
                2,
                4,
                8,
                12,
                16,
                20,
                24,
                32,
                48,
                64,
                0,
            ];
            let lens = lens.into_iter().map(|len| len as usize);
            lens.map(|len| binary(BinarySubtype::Generic, vec![1; len]))
                .collect()
        }
        Shape::Timestamp => vec![Bson::Timestamp(Timestamp {
            time: (TIME / 1000) as u32,
            increment: 1,
        })],
        Shape::Regex => vec![Bson::RegularExpression(Regex {
            pattern: cstr!("a").into(),
            options: cstr!("").into(),
        })],
        _ => {
            let mut all: Vec<Bson> = vec!["text".into(), 1.into(), true.into(), Bson::Int64(1), 1.5.into()];
            all.extend([
                Bson::Document(Document::new()),
                Bson::Array(Vec::new()),
                Bson::Null,
            ]);
            all.push(Bson::DateTime(DateTime::from_millis(TIME)));
            all.push(Bson::ObjectId([1; 12].into()));
            all.push(binary(BinarySubtype::Generic, vec![1; 16]));
            all.push(binary(BinarySubtype::Uuid, vec![1; 16]));
            all.extend(TEXTS.iter().map(|text| Bson::from(*text)));
            all
        }
    }
}

fn binary(subtype: BinarySubtype, bytes: Vec<u8>) -> Bson {
    Bson::Binary(Binary { subtype, bytes })
}

fn float(bound: Option<Number>, otherwise: f64) -> f64 {
    match bound {
        Some(Number::Int(n)) => n as f64,
        Some(Number::Float(n)) => n,
        None => otherwise,
    }
}

fn integers(bounds: &Bounds, (least, greatest): (i64, i64), number: u8) -> Vec<i64> {
    let least = match bounds.min {
        Some(Number::Int(n)) => n.max(least),
        Some(Number::Float(n)) => (n.ceil() as i64).max(least),
        None => least,
    };
    let greatest = match bounds.max {
        Some(Number::Int(n)) => n.min(greatest),
        Some(Number::Float(n)) => (n.floor() as i64).min(greatest),
        None => greatest,
    };
    let mut all: Vec<i64> = Vec::new();
    let rules = bounds.rules;
    if let Some(rules) = rules {
        all.extend(rules.values().iter().filter_map(Bson::as_i64));
        all.extend(rules.values().iter().filter_map(Bson::as_i32).map(i64::from));
        if let Some(factor) = rules.multiple_of.filter(|factor| *factor > 0) {
            let first = least.max(1).saturating_add(factor - 1) / factor;
            all.push(first.saturating_mul(factor));
            all.push((least.saturating_add(factor - 1) / factor).saturating_mul(factor));
        }
    }
    all.extend([i64::from(number), 1, 0, 2, 10, 100, -1, least, greatest]);
    all.extend((0..64).map(|n| least.saturating_add(n)));
    all.retain(|n| (least..=greatest).contains(n));
    if all.is_empty() {
        all.push(least);
    }
    all
}

fn texts(bounds: &Bounds, number: u8, name: &str) -> Vec<Bson> {
    let (min, max) = (bounds.min_len.unwrap_or(0), bounds.max_len.unwrap_or(u64::MAX));
    let mut all: Vec<String> = Vec::new();
    if let Some(rules) = bounds.rules {
        all.extend(rules.values().iter().filter_map(Bson::as_str).map(str::to_owned));
        if let Some(pattern) = rules.regex() {
            let texts = TEXTS.iter().map(|text| (*text).to_owned());
            let made = (0..64).filter_map(|more| matching(pattern.text(), more));
            all.extend(texts.chain(made).filter(|text| pattern.matches(text)));
        }
    }
    let plain = match number {
        1 => name.trim_start_matches('_').to_owned(),
        _ => format!("{}{number}", name.trim_start_matches('_')),
    };
    let fitted = |text: &str| {
        let longer = text.chars().chain(std::iter::repeat('a'));
        let len = (text.chars().count() as u64).max(min).min(max).min(10_000);
        longer.take(len as usize).collect::<String>()
    };
    all.push(fitted(&plain));
    all.push(fitted(&plain).to_uppercase());
    all.extend(TEXTS.iter().map(|text| (*text).to_owned()));
    all.into_iter().map(Bson::String).collect()
}

/// A text that a pattern matches, as far as it has characters, classes, groups, alternatives and repetitions; `more` lengthens what may be
/// repeated.
fn matching(pattern: &str, more: usize) -> Option<String> {
    let mut parser = Matching {
        rest: pattern.chars().collect(),
        more,
        depth: 0,
    };
    parser.rest.reverse();
    let text = parser.alternatives()?;
    parser.rest.is_empty().then_some(text)
}

struct Matching {
    /// Backwards.
    rest: Vec<char>,
    more: usize,
    depth: usize,
}

impl Matching {
    fn next_is(&mut self, c: char) -> bool {
        let is = self.rest.last() == Some(&c);
        if is {
            self.rest.pop();
        }
        is
    }

    /// The first of them.
    fn alternatives(&mut self) -> Option<String> {
        self.depth += 1;
        if self.depth > 50 {
            return None;
        }
        let first = self.sequence()?;
        while self.next_is('|') {
            self.sequence()?;
        }
        self.depth -= 1;
        Some(first)
    }

    fn sequence(&mut self) -> Option<String> {
        let mut text = String::new();
        while let Some(c) = self.rest.last().copied() {
            if c == '|' || c == ')' {
                break;
            }
            let part = self.part()?;
            let times = self.times()?;
            text.push_str(&part.repeat(times));
            if text.len() > 10_000 {
                return None;
            }
        }
        Some(text)
    }

    fn part(&mut self) -> Option<String> {
        Some(match self.rest.pop()? {
            '(' => {
                if self.next_is('?') {
                    // `(?:…)` and `(?<name>…)`.
                    while !matches!(self.rest.pop()?, ':' | '>') {}
                }
                let inner = self.alternatives()?;
                if !self.next_is(')') {
                    return None;
                }
                inner
            }
            '[' => self.class()?.to_string(),
            '.' => "a".to_owned(),
            '^' | '$' => String::new(),
            '\\' => match self.rest.pop()? {
                'A' | 'z' | 'b' | 'B' => String::new(),
                c => escaped(c)?.to_string(),
            },
            c => c.to_string(),
        })
    }

    fn class(&mut self) -> Option<char> {
        let negated = self.next_is('^');
        let mut ranges: Vec<(char, char)> = Vec::new();
        let mut is_first = true;
        loop {
            let c = match self.rest.pop()? {
                ']' if !is_first => break,
                '[' => return None,
                '\\' => match self.rest.pop()? {
                    'd' => {
                        ranges.push(('0', '9'));
                        is_first = false;
                        continue;
                    }
                    'w' => {
                        ranges.extend([('a', 'z'), ('A', 'Z'), ('0', '9'), ('_', '_')]);
                        is_first = false;
                        continue;
                    }
                    c => escaped(c)?,
                },
                c => c,
            };
            is_first = false;
            let is_range = self.rest.last() == Some(&'-') && self.rest.iter().rev().nth(1) != Some(&']');
            if !is_range {
                ranges.push((c, c));
                continue;
            }
            self.rest.pop();
            let end = match self.rest.pop()? {
                '\\' => escaped(self.rest.pop()?)?,
                end => end,
            };
            ranges.push((c, end));
        }
        if !negated {
            return ranges.first().map(|(first, _)| *first);
        }
        let is_in = |c: &char| ranges.iter().any(|(first, last)| (first..=last).contains(&c));
        "a0A _-.".chars().find(|c| !is_in(c))
    }

    fn times(&mut self) -> Option<usize> {
        let (least, most) = match self.rest.last() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => {
                self.rest.pop();
                let mut text = String::new();
                while let Some(c) = self.rest.last().copied().filter(|c| *c != '}') {
                    text.push(c);
                    self.rest.pop();
                }
                match text.split_once(',') {
                    None => {
                        let n = text.parse().ok()?;
                        (n, Some(n))
                    }
                    Some((least, "")) => (least.parse().ok()?, None),
                    Some((least, most)) => (least.parse().ok()?, Some(most.parse().ok()?)),
                }
            }
            _ => return Some(1),
        };
        self.rest.pop();
        // Possessive and lazy ones match the same.
        let _ = self.next_is('?') || self.next_is('+');
        let times = least + self.more;
        Some(most.map_or(times, |most: usize| times.min(most)))
    }
}

fn escaped(c: char) -> Option<char> {
    Some(match c {
        'd' => '0',
        'w' => 'a',
        's' => ' ',
        't' => '\t',
        'n' => '\n',
        c if c.is_ascii_alphanumeric() => return None,
        c => c,
    })
}

/// The bounds of an array that are those of its items.
pub(super) fn of_items(bounds: &Bounds) -> Bounds {
    Bounds {
        max_items: None,
        key_len: None,
        depth: None,
        unique_items: false,
        ..*bounds
    }
}

/// A number in the smallest type that holds it.
pub(super) fn whole(n: i64) -> Bson {
    i32::try_from(n).map_or(Bson::Int64(n), Bson::Int32)
}

/// BSON as MongoDB's extended JSON, in the order of its fields: relaxed where that keeps the type, such as an `int` as a plain number.
pub(super) mod extended {
    use super::whole;
    use mongodb::bson::{Bson, Document, doc};
    use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
    use serde::{Deserialize, Serialize, Serializer};

    /// The names of values that JSON has no form for.
    const MARKS: [&str; 9] = [
        "$oid",
        "$numberInt",
        "$numberLong",
        "$numberDouble",
        "$numberDecimal",
        "$date",
        "$binary",
        "$timestamp",
        "$regularExpression",
    ];

    /// A document.
    pub(crate) mod document {
        use super::*;

        pub(crate) fn serialize<S: Serializer>(
            document: &Document,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            of_document(document).serialize(serializer)
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Document, D::Error> {
            match Read::deserialize(deserializer)?.0 {
                Bson::Document(document) => Ok(document),
                other => Err(D::Error::custom(format!("{other} is no document"))),
            }
        }
    }

    /// A document that may not be there.
    pub(crate) mod option {
        use super::*;

        pub(crate) fn serialize<S: Serializer>(
            document: &Option<Document>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            document.as_ref().map(of_document).serialize(serializer)
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Option<Document>, D::Error> {
            document::deserialize(deserializer).map(Some)
        }
    }

    /// A value that may not be there. One that is `null` is there.
    pub(crate) mod value {
        use super::*;

        pub(crate) fn serialize<S: Serializer>(
            value: &Option<Bson>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            value.as_ref().map(of_value).serialize(serializer)
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Option<Bson>, D::Error> {
            Ok(Some(Read::deserialize(deserializer)?.0))
        }
    }

    /// Several values.
    pub(crate) mod values {
        use super::*;

        pub(crate) fn serialize<S: Serializer>(values: &[Bson], serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_seq(values.iter().map(of_value))
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Bson>, D::Error> {
            let values = Vec::<Read>::deserialize(deserializer)?;
            Ok(values.into_iter().map(|value| value.0).collect())
        }
    }

    fn of_document(document: &Document) -> Document {
        let fields = document.iter();
        fields
            .map(|(name, value)| (name.clone(), of_value(value)))
            .collect()
    }

    fn of_value(value: &Bson) -> Bson {
        match value {
            Bson::Int64(n) => doc! { "$numberLong": n.to_string() }.into(),
            Bson::Double(n) if !n.is_finite() => doc! { "$numberDouble": text(*n) }.into(),
            Bson::DateTime(at) => match at.try_to_rfc3339_string() {
                Ok(at) => doc! { "$date": at }.into(),
                Err(_) => value.clone(),
            },
            Bson::Document(document) => of_document(document).into(),
            Bson::Array(items) => Bson::Array(items.iter().map(of_value).collect()),
            _ => value.clone(),
        }
    }

    fn text(n: f64) -> &'static str {
        if n.is_nan() {
            "NaN"
        } else if n > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        }
    }

    /// A value as it was: a plain number without a point is an `int`, as it was written.
    struct Read(Bson);

    impl<'de> Deserialize<'de> for Read {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Read, D::Error> {
            deserializer.deserialize_any(Reader)
        }
    }

    struct Reader;

    impl<'de> Visitor<'de> for Reader {
        type Value = Read;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a value in extended JSON")
        }

        fn visit_unit<E>(self) -> Result<Read, E> {
            Ok(Read(Bson::Null))
        }

        fn visit_bool<E>(self, is: bool) -> Result<Read, E> {
            Ok(Read(is.into()))
        }

        fn visit_i64<E>(self, n: i64) -> Result<Read, E> {
            Ok(Read(whole(n)))
        }

        fn visit_u64<E: Error>(self, n: u64) -> Result<Read, E> {
            i64::try_from(n).map(|n| Read(whole(n))).map_err(E::custom)
        }

        fn visit_f64<E>(self, n: f64) -> Result<Read, E> {
            Ok(Read(n.into()))
        }

        fn visit_str<E>(self, text: &str) -> Result<Read, E> {
            Ok(Read(text.into()))
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Read, A::Error> {
            let mut all = Vec::new();
            while let Some(Read(item)) = items.next_element()? {
                all.push(item);
            }
            Ok(Read(Bson::Array(all)))
        }

        fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Read, A::Error> {
            let mut document = Document::new();
            while let Some((name, Read(value))) = fields.next_entry::<String, Read>()? {
                document.insert(name, value);
            }
            let is_marked = document
                .keys()
                .next()
                .is_some_and(|name| MARKS.contains(&name.as_str()));
            if !is_marked {
                return Ok(Read(document.into()));
            }
            // The forms of the values are those of the `bson` crate.
            let text = serde_json::to_string(&document).map_err(A::Error::custom)?;
            serde_json::from_str(&text).map(Read).map_err(A::Error::custom)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex_lite::Regex;

    #[test]
    fn a_text_is_made_that_a_pattern_matches() {
        for pattern in [
            "[a-z0-9]+(?:-[a-z0-9]+)*",
            "[A-Z]{2}\\d{4,6}",
            "\\+?[0-9 ]{5,}",
            "(red|green|blue)",
            "[^0-9]{3}",
            "a.c\\.d",
            "\\w+@\\w+\\.(?:com|org)",
            "",
        ] {
            let whole = Regex::new(&format!("^(?:{pattern})$")).expect("an expression");
            for more in [0, 3] {
                let text = matching(pattern, more).unwrap_or_else(|| panic!("{pattern}"));
                assert!(whole.is_match(&text), "{pattern}: {text}");
            }
        }
        // The values that are decoded decide about the rest.
        assert_eq!(matching("[[:alpha:]]", 0), None);
        assert_eq!(matching("(a", 0), None);
    }
}
