//! Snapshots of the models under `migrations/`: what a step leads to, as plain JSON beside its Rust file.
//!
//! A [`Snapshot`] is taken of the models (`of`), written with a checksum, and read again. `diff` compares two of them, `steps` writes the
//! step that leads from one to the other and checks the folder, `samples` makes the documents of every shape that a snapshot holds.
//! Nothing here sends anything.
//!
//! A path names a field as it is stored: `address.city`; `tags[]` is an item of an array, `prices{}` a value of a map, `[0]` a position of
//! an array with one shape a position. The fields of an enum's variant name the variant beside their path.

pub(crate) mod check;
pub(crate) mod diff;
mod samples;
pub(crate) mod steps;
#[cfg(test)]
mod tests;

use crate::model::document::{CollationMeta, CollectionKind, DocumentMeta};
use crate::model::meta::Several;
use crate::model::meta::bucket::Per;
use crate::model::shape::{
    Body, Bounds, EnumShape, FieldMeta, Managed, Number, Shape, StructShape, Tagging, inner, of_field,
};
use crate::tools::edges::{CopyKind, Edges};
use crate::{Odm, schema};
use mongodb::bson::{Bson, Document, doc};
use samples::{Sample, extended, of_items, whole};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::path::Path;

/// The format that this version writes and reads.
const FORMAT: u32 = 1;

/// The models after a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Snapshot {
    pub(crate) format: u32,
    /// The step that led to it: `m0002_slug`.
    pub(crate) step: String,
    /// The names that the step changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) renamed: Vec<Renamed>,
    /// By their names.
    pub(crate) collections: Vec<CollectionShape>,
}

/// A collection or a field with another name than before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Renamed {
    /// Of a field: its collection, by the new name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) collection: Option<String>,
    pub(crate) from: String,
    pub(crate) to: String,
}

/// A collection with the documents that it holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CollectionShape {
    pub(crate) name: String,
    /// The type in Rust.
    pub(crate) rust: String,
    pub(crate) kind: String,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) append_only: bool,
    /// The field with the time of a deletion that keeps the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) soft_delete: Option<String>,
    /// When the library deletes documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bucket: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "extended::option")]
    pub(crate) shard_key: Option<Document>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "extended::option")]
    pub(crate) collation: Option<Document>,
    /// The greatest size of a document in bytes, where every part of it has a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_bytes: Option<u64>,
    /// The rules for a whole document.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) checks: Vec<String>,
    /// By their paths.
    pub(crate) fields: Vec<FieldShape>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) references: Vec<ReferenceOf>,
    /// Copies, subsets and computed fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) copies: Vec<CopyOf>,
    /// By their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) indexes: Vec<IndexOf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) validator: Option<ValidatorOf>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) samples: Vec<Sample>,
    /// Why there are no samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) without_samples: Option<String>,
}

/// A stored field, an item of an array, or a value of a map.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FieldShape {
    pub(crate) path: String,
    /// The variant of an enum to which it belongs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) variant: Option<String>,
    /// By MongoDB's names of types, with `null` where that is read for a value that is not there.
    pub(crate) types: Vec<String>,
    /// Whether a document without it can't be read, or is refused.
    pub(crate) required: bool,
    /// The value that the library keeps in it: `id`, `version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) is: Option<String>,
    /// The value that is read where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "extended::value")]
    pub(crate) default: Option<Bson>,
    #[serde(default, skip_serializing_if = "BoundsOf::is_none")]
    pub(crate) bounds: BoundsOf,
    /// The texts that an enum is stored as.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) values: Vec<String>,
    /// The variants of an enum that have values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) variants: Vec<String>,
    /// The fields that tell the variant: `tag type`, `name`, `content`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) told_by: Option<String>,
    /// Other names that it is read from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) aliases: Vec<String>,
    /// Whether fields are refused that are not declared.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) closed: bool,
    /// The path of the same type, which contains itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) repeats: Option<String>,
}

/// The declared bounds of a value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BoundsOf {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_items: Option<u64>,
    /// Of an array with a fixed number of items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) items: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_len: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) min_len: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key_len: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "extended::value")]
    pub(crate) min: Option<Bson>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "extended::value")]
    pub(crate) max: Option<Bson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) depth: Option<u32>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) unique_items: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pattern: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "extended::values")]
    pub(crate) one_of: Vec<Bson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) multiple_of: Option<i64>,
    /// The function that looks at a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) check: Option<String>,
}

impl BoundsOf {
    fn is_none(&self) -> bool {
        *self == BoundsOf::default()
    }
}

/// A reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReferenceOf {
    pub(crate) field: String,
    pub(crate) targets: Vec<String>,
    /// In words, as `edges` shows it.
    pub(crate) is: String,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) two_way: bool,
}

/// A field that the library derives from other documents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CopyOf {
    pub(crate) field: String,
    /// `copy`, `subset` or `computed`.
    pub(crate) kind: String,
    /// The collection that it is derived from.
    pub(crate) source: String,
    /// The source's field that is copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) of: Option<String>,
    pub(crate) consistency: String,
    /// In words, as `edges` shows it.
    pub(crate) is: String,
}

/// A declared index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IndexOf {
    pub(crate) is: String,
    #[serde(with = "extended::document")]
    pub(crate) spec: Document,
}

impl IndexOf {
    pub(crate) fn name(&self) -> &str {
        self.spec.get_str("name").unwrap_or_default()
    }
}

/// The validator of a collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ValidatorOf {
    pub(crate) level: String,
    pub(crate) action: String,
    #[serde(with = "extended::document")]
    pub(crate) rules: Document,
}

fn is_false(is: &bool) -> bool {
    !is
}

/// A snapshot as a file has it.
#[derive(Debug)]
pub(crate) struct StoredSnapshot {
    pub(crate) snapshot: Snapshot,
    /// Whether nothing was changed since it was written.
    pub(crate) is_intact: bool,
}

impl Snapshot {
    /// The models of this program.
    ///
    /// # Errors
    /// In words, where declarations contradict each other, and where a sample can't be decoded.
    pub(crate) fn of(odm: &Odm, step: &str, renamed: Vec<Renamed>) -> Result<Snapshot, String> {
        let edges = odm.edges();
        let models = odm.models().iter();
        let mut collections = models
            .map(|model| collection(odm, model.meta, &edges))
            .collect::<Result<Vec<_>, String>>()?;
        collections.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Snapshot {
            format: FORMAT,
            step: step.to_owned(),
            renamed,
            collections,
        })
    }

    pub(crate) fn collection(&self, name: &str) -> Option<&CollectionShape> {
        self.collections.iter().find(|one| one.name == name)
    }

    /// As it is written into a file: with its checksum, and a line break at the end.
    ///
    /// # Errors
    /// Where a value has no form in JSON, such as an infinite number.
    pub(crate) fn text(&self) -> Result<String, String> {
        let mut text = serde_json::to_string_pretty(self)
            .map_err(|error| format!("no snapshot can be written: {error}"))?;
        let sum = checksum(&text);
        text.truncate(text.trim_end_matches('}').trim_end().len());
        let _ = writeln!(text, ",\n  {CHECKSUM}: \"{sum}\"\n}}");
        Ok(text)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// In words, where it is no snapshot.
    pub(crate) fn parse(text: &str) -> Result<StoredSnapshot, String> {
        let Some((before, after)) = text.rsplit_once(CHECKSUM) else {
            return Err("it has no checksum".to_owned());
        };
        let before = before.trim_end().trim_end_matches(',');
        let sum = after.split('"').nth(1).unwrap_or_default();
        let content = format!("{before}\n}}");
        let is_closed = after.trim_end().ends_with('}') && after.matches('"').count() == 2;
        let value: serde_json::Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let format = value.get("format").and_then(serde_json::Value::as_u64);
        if format != Some(FORMAT.into()) {
            return Err(format!(
                "its format is {}, and this version of the library reads format {FORMAT}",
                format.map_or_else(|| "missing".to_owned(), |format| format.to_string())
            ));
        }
        Ok(StoredSnapshot {
            snapshot: serde_json::from_str(&content).map_err(|error| error.to_string())?,
            is_intact: is_closed && sum == checksum(&content),
        })
    }

    /// Reads a file.
    ///
    /// # Errors
    /// In words with the name of the file.
    pub(crate) fn read(file: &Path) -> Result<StoredSnapshot, String> {
        let text = std::fs::read_to_string(file)
            .map_err(|error| format!("{} can't be read: {error}", file.display()))?;
        Snapshot::parse(&text).map_err(|why| {
            format!(
                "{} is no snapshot: {why}. Restore the file from version control",
                file.display()
            )
        })
    }
}

const CHECKSUM: &str = "\"checksum\"";

/// The checksum of a text without the white space between its parts, so that other line ends are no change: FNV-1a of 64 bits.
fn checksum(text: &str) -> String {
    let (mut hash, mut quoted, mut escaped) = (0xcbf2_9ce4_8422_2325_u64, false, false);
    for byte in text.bytes() {
        if !quoted && byte.is_ascii_whitespace() {
            continue;
        }
        quoted ^= byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{hash:016x}")
}

fn collection(odm: &Odm, meta: &'static DocumentMeta, edges: &Edges) -> Result<CollectionShape, String> {
    let mut walk = Walk::default();
    match meta.several {
        Several::Enum { shape, .. } => {
            let mut root = FieldShape::default();
            walk.variants(&mut root, shape, &Place::default());
            walk.fields.push(FieldShape {
                types: vec!["object".to_owned()],
                required: true,
                ..root
            });
        }
        _ => {
            if let Shape::Struct(shape) = (meta.shape)() {
                walk.open.push((shape.identity(), String::new()));
                walk.of_struct(shape, &Place::default(), false);
                if shape.deny_unknown {
                    walk.fields.push(FieldShape {
                        types: vec!["object".to_owned()],
                        required: true,
                        closed: true,
                        ..FieldShape::default()
                    });
                }
            }
        }
    }
    let mut fields = walk.fields;
    fields.sort_by(|a, b| (&a.path, &a.variant).cmp(&(&b.path, &b.variant)));
    let mut indexes: Vec<IndexOf> = schema::declared_indexes(meta, odm.graph())?
        .into_iter()
        .map(|(spec, is)| IndexOf { is, spec })
        .collect();
    indexes.sort_by(|a, b| a.name().cmp(b.name()));
    let is_validated = matches!(meta.kind, CollectionKind::Plain | CollectionKind::Capped { .. });
    let (samples, without_samples) = match samples::of(meta) {
        Ok(samples) => (samples, None),
        Err(samples::NoSample::Opaque(why)) => (Vec::new(), Some(why)),
        Err(samples::NoSample::Unread(why)) => return Err(why),
    };
    Ok(CollectionShape {
        name: meta.collection.to_owned(),
        rust: meta.name.to_owned(),
        kind: kind(&meta.kind),
        append_only: meta.append_only,
        soft_delete: meta.soft_delete.map(str::to_owned),
        expires: meta
            .expiry
            .as_ref()
            .map(|expiry| format!("{} s after {}", expiry.after, (expiry.path)())),
        bucket: meta.bucket.map(|bucket| {
            let per = bucket.period.as_ref().map_or("", |period| match period.per {
                Per::Hour => ", each for one hour",
                Per::Day => ", each for one day",
                Per::Month => ", each for one month",
            });
            format!("at most {} {} per bucket{per}", bucket.size, bucket.items)
        }),
        shard_key: meta.shard_key.map(|key| {
            let fields = key.fields.iter().map(|field| {
                let kind: Bson = if field.hashed { "hashed".into() } else { 1.into() };
                (field.path.to_owned(), kind)
            });
            fields.collect()
        }),
        collation: meta.collation.map(collation),
        max_bytes: match meta.several {
            Several::Enum { .. } => None,
            _ => crate::model::size::whole(meta.fields()),
        },
        checks: meta.checks.iter().map(|check| check.text.to_owned()).collect(),
        fields,
        references: references(meta, edges),
        copies: copies(meta, edges),
        indexes,
        validator: is_validated.then(|| ValidatorOf {
            level: meta.validation.level.as_str().to_owned(),
            action: meta.validation.action.as_str().to_owned(),
            rules: schema::declared_rules(meta),
        }),
        samples,
        without_samples,
    })
}

fn kind(kind: &CollectionKind) -> String {
    match kind {
        CollectionKind::Plain => "collection".to_owned(),
        CollectionKind::Capped { size, max } => match max {
            Some(max) => format!("capped collection of {size} bytes and {max} documents"),
            None => format!("capped collection of {size} bytes"),
        },
        CollectionKind::TimeSeries(series) => {
            let mut words = format!("time series by {}", (series.time)());
            if let Some(meta) = series.meta {
                let _ = write!(words, " of {}", meta());
            }
            if let Some(granularity) = series.granularity {
                let _ = write!(words, ", {granularity}");
            }
            if let Some(seconds) = series.expire_after {
                let _ = write!(words, ", deleted after {seconds} s");
            }
            words
        }
        CollectionKind::View(view) => format!("view of {}", (view.collection)()),
    }
}

fn collation(meta: CollationMeta) -> Document {
    let mut collation = doc! { "locale": meta.locale, "strength": i32::from(meta.strength) };
    if meta.numeric_ordering {
        collation.insert("numericOrdering", true);
    }
    collation
}

fn references(meta: &DocumentMeta, edges: &Edges) -> Vec<ReferenceOf> {
    let of = edges
        .references
        .iter()
        .filter(|edge| edge.holder == meta.collection);
    let mut references: Vec<ReferenceOf> = of
        .map(|edge| ReferenceOf {
            field: edge.field.clone(),
            targets: edge.targets.iter().map(|target| (*target).to_owned()).collect(),
            is: edge.to_string(),
            two_way: edge.inverse.is_some(),
        })
        .collect();
    references.sort_by(|a, b| a.field.cmp(&b.field));
    references
}

fn copies(meta: &DocumentMeta, edges: &Edges) -> Vec<CopyOf> {
    let of = edges.copies.iter().filter(|edge| edge.holder == meta.collection);
    let mut copies: Vec<CopyOf> = of
        .map(|edge| {
            let (kind, of) = match &edge.kind {
                CopyKind::Field { source, .. } => ("copy", Some((*source).to_owned())),
                CopyKind::Subset { .. } => ("subset", None),
                CopyKind::Computed { of, .. } => ("computed", of.map(str::to_owned)),
            };
            CopyOf {
                field: edge.field.clone(),
                kind: kind.to_owned(),
                source: edge.source.to_owned(),
                of,
                consistency: edge.consistency.to_string(),
                is: edge.to_string(),
            }
        })
        .collect();
    copies.sort_by(|a, b| a.field.cmp(&b.field));
    copies
}

/// Where the fields of a struct stand.
#[derive(Clone, Default)]
struct Place {
    path: String,
    variant: Option<String>,
}

impl Place {
    fn field(&self, name: &str) -> Place {
        let dot = if self.path.is_empty() { "" } else { "." };
        self.end(&format!("{dot}{name}"))
    }

    fn end(&self, end: &str) -> Place {
        Place {
            path: format!("{}{end}", self.path),
            variant: self.variant.clone(),
        }
    }

    fn variant(&self, name: &str) -> Place {
        let outer = self.variant.as_ref().map(|outer| format!("{outer}/"));
        Place {
            path: self.path.clone(),
            variant: Some(format!("{}{name}", outer.unwrap_or_default())),
        }
    }
}

/// Collects the fields of a document.
#[derive(Default)]
struct Walk {
    fields: Vec<FieldShape>,
    /// The types around a value, with their paths.
    open: Vec<(&'static str, String)>,
}

impl Walk {
    fn of_struct(&mut self, shape: &'static StructShape, place: &Place, optional: bool) {
        for field in shape.fields {
            self.field(field, place, optional);
        }
    }

    fn field(&mut self, meta: &'static FieldMeta, place: &Place, optional: bool) {
        if meta.is_extra() {
            return;
        }
        if meta.flatten {
            let shape = of_field(meta);
            let optional = optional || !meta.required || matches!(shape, Shape::Optional(_));
            match inner(shape) {
                Shape::Struct(of) if self.open.iter().all(|(open, _)| *open != of.identity()) => {
                    self.open.push((of.identity(), place.path.clone()));
                    self.of_struct(of, place, optional);
                    self.open.pop();
                }
                Shape::Map(values) => self.value(values(), &of_items(&meta.bounds), &place.field("{}")),
                Shape::Enum(of) => {
                    let mut field = FieldShape::default();
                    self.variants(&mut field, of, place);
                    let place = place.field("…");
                    self.fields.push(FieldShape {
                        path: place.path,
                        variant: place.variant,
                        types: vec!["object".to_owned()],
                        ..field
                    });
                }
                _ => {}
            }
            return;
        }
        let place = place.field(meta.name);
        let shape = of_field(meta);
        let needed = meta.required && !matches!(shape, Shape::Optional(_));
        let mut field = FieldShape {
            path: place.path.clone(),
            variant: place.variant.clone(),
            required: !optional && (needed || meta.stored),
            is: managed(meta.managed).map(str::to_owned),
            default: meta.default.and_then(|default| default().ok()),
            aliases: meta.aliases.iter().map(|alias| (*alias).to_owned()).collect(),
            ..FieldShape::default()
        };
        self.describe(&mut field, shape, &meta.bounds, &place);
        self.fields.push(field);
    }

    /// An item of an array, a value of a map, the content of a variant.
    fn value(&mut self, shape: Shape, bounds: &Bounds, place: &Place) {
        let mut field = FieldShape {
            path: place.path.clone(),
            variant: place.variant.clone(),
            required: true,
            ..FieldShape::default()
        };
        self.describe(&mut field, shape, bounds, place);
        self.fields.push(field);
    }

    fn describe(&mut self, field: &mut FieldShape, shape: Shape, bounds: &Bounds, place: &Place) {
        let mut of = bounds_of(bounds);
        let name = match shape {
            Shape::Optional(some) => {
                self.describe(field, some(), bounds, place);
                if !field.types.iter().any(|ty| ty == "null") {
                    field.types.push("null".to_owned());
                }
                return;
            }
            Shape::Bounded(meta) => {
                let own = if meta.bounds.opaque {
                    *bounds
                } else {
                    schema::tighter(&meta.bounds, bounds)
                };
                self.describe(field, of_field(meta), &own, place);
                return;
            }
            Shape::Any => "any",
            Shape::Null => "null",
            Shape::Bool => "bool",
            Shape::Int { min, max } => {
                within(
                    &mut of,
                    i64::from(min),
                    i64::from(max),
                    i32::MIN.into(),
                    i32::MAX.into(),
                );
                "int"
            }
            Shape::Long { min, max } => {
                within(&mut of, min, max, i64::MIN, i64::MAX);
                "long"
            }
            Shape::Double => "double",
            Shape::Decimal => "decimal",
            Shape::String => "string",
            Shape::Char => {
                (of.min_len, of.max_len) = (Some(1), Some(1));
                "string"
            }
            Shape::ObjectId => "objectId",
            Shape::Date => "date",
            Shape::Binary => "binData",
            Shape::Uuid => "binData (uuid)",
            Shape::Timestamp => "timestamp",
            Shape::Regex => "regex",
            Shape::Array(items) => {
                of = of_array(&of);
                self.value(items(), &of_items(bounds), &place.end("[]"));
                "array"
            }
            Shape::Fixed { items, len } => {
                of = of_array(&of);
                (of.items, of.max_items) = (Some(len as u64), None);
                self.value(items(), &of_items(bounds), &place.end("[]"));
                "array"
            }
            Shape::Tuple(items) => {
                of = of_array(&of);
                of.items = Some(items.len() as u64);
                for (at, item) in items.iter().enumerate() {
                    self.value(item(), &of_items(bounds), &place.end(&format!("[{at}]")));
                }
                "array"
            }
            Shape::Map(values) => {
                of = of_array(&of);
                self.value(values(), &of_items(bounds), &place.end("{}"));
                "object"
            }
            Shape::Struct(shape) => {
                of = of_array(&of);
                field.closed = shape.deny_unknown;
                if let Some((_, path)) = self.open.iter().find(|(open, _)| *open == shape.identity()) {
                    field.repeats = Some(path.clone());
                } else {
                    self.open.push((shape.identity(), place.path.clone()));
                    self.of_struct(shape, place, false);
                    self.open.pop();
                }
                "object"
            }
            Shape::Enum(shape) => {
                of = of_array(&of);
                field.bounds = of;
                if let Some((_, path)) = self.open.iter().find(|(open, _)| *open == shape.identity()) {
                    field.repeats = Some(path.clone());
                    field.types.push("any".to_owned());
                } else {
                    self.open.push((shape.identity(), place.path.clone()));
                    self.variants(field, shape, place);
                    self.open.pop();
                }
                return;
            }
        };
        field.types.push(name.to_owned());
        field.bounds = of;
    }

    fn variants(&mut self, field: &mut FieldShape, shape: &'static EnumShape, place: &Place) {
        let is_unit = |body: &Body| matches!(body, Body::Unit);
        field.told_by = match shape.tagging {
            Tagging::External if shape.variants.iter().all(|one| is_unit(&one.body)) => None,
            Tagging::External => Some("its name".to_owned()),
            Tagging::Internal(tag) => Some(format!("`{tag}`")),
            Tagging::Adjacent(tag, content) => Some(format!("`{tag}`, with `{content}`")),
            Tagging::Untagged => Some("its form".to_owned()),
        };
        for variant in shape.variants {
            let unit = is_unit(&variant.body);
            let ty = match (shape.tagging, variant.body) {
                (Tagging::External, Body::Unit) => "string",
                (Tagging::Untagged, Body::Unit) => "null",
                (Tagging::Untagged, Body::Tuple(_)) => "array",
                (Tagging::Untagged, Body::Newtype(_)) => "any",
                _ => "object",
            };
            if !field.types.iter().any(|known| known == ty) {
                field.types.push(ty.to_owned());
            }
            if unit && matches!(shape.tagging, Tagging::External) {
                field.values.push(variant.name.to_owned());
                continue;
            }
            field.variants.push(variant.name.to_owned());
            let within = place.variant(variant.name);
            match shape.tagging {
                Tagging::External => self.content(&variant.body, &within.field(variant.name)),
                Tagging::Adjacent(_, content) if !unit => self.content(&variant.body, &within.field(content)),
                Tagging::Adjacent(..) => {}
                Tagging::Untagged if matches!(variant.body, Body::Newtype(_) | Body::Tuple(_)) => {
                    self.content(&variant.body, &within);
                }
                Tagging::Internal(_) | Tagging::Untagged => match variant.body {
                    Body::Struct(of) => self.of_struct(of, &within, false),
                    Body::Newtype(meta) => match inner(of_field(meta)) {
                        Shape::Struct(of) if self.open.iter().all(|(open, _)| *open != of.identity()) => {
                            self.open.push((of.identity(), place.path.clone()));
                            self.of_struct(of, &within, false);
                            self.open.pop();
                        }
                        Shape::Enum(of) if self.open.iter().all(|(open, _)| *open != of.identity()) => {
                            self.open.push((of.identity(), place.path.clone()));
                            self.variants(&mut FieldShape::default(), of, &within);
                            self.open.pop();
                        }
                        _ => {}
                    },
                    Body::Unit | Body::Tuple(_) => {}
                },
            }
        }
    }

    fn content(&mut self, body: &Body, place: &Place) {
        match body {
            Body::Unit => {}
            Body::Newtype(meta) => self.value(of_field(meta), &meta.bounds, place),
            Body::Tuple(fields) => {
                for (at, meta) in fields.iter().enumerate() {
                    self.value(of_field(meta), &meta.bounds, &place.end(&format!("[{at}]")));
                }
            }
            Body::Struct(of) => self.of_struct(of, place, false),
        }
    }
}

fn managed(managed: Managed) -> Option<&'static str> {
    Some(match managed {
        Managed::No => return None,
        Managed::Id => "id",
        Managed::CreatedAt => "created_at",
        Managed::UpdatedAt => "updated_at",
        Managed::Version => "version",
        Managed::DeletedAt => "deleted_at",
        Managed::Scope => "scope",
    })
}

/// Those of the array itself, or of a map or document.
fn of_array(bounds: &BoundsOf) -> BoundsOf {
    BoundsOf {
        max_items: bounds.max_items,
        key_len: bounds.key_len,
        depth: bounds.depth,
        unique_items: bounds.unique_items,
        ..BoundsOf::default()
    }
}

fn bounds_of(bounds: &Bounds) -> BoundsOf {
    let number = |number: Number| match number {
        Number::Int(n) => whole(n),
        Number::Float(n) => Bson::Double(n),
    };
    let rules = bounds.rules;
    BoundsOf {
        max_items: bounds.max_items,
        items: None,
        max_len: bounds.max_len,
        min_len: bounds.min_len,
        key_len: bounds.key_len,
        min: bounds.min.map(number),
        max: bounds.max.map(number),
        depth: bounds.depth,
        unique_items: bounds.unique_items,
        pattern: rules.and_then(|rules| rules.regex().map(|pattern| pattern.text().to_owned())),
        one_of: rules.map(|rules| rules.values()).unwrap_or_default(),
        multiple_of: rules.and_then(|rules| rules.multiple_of),
        check: rules.and_then(|rules| rules.check.map(|check| check.name.to_owned())),
    }
}

/// The bounds of the Rust type, where it holds fewer numbers than the type in BSON.
fn within(of: &mut BoundsOf, min: i64, max: i64, least: i64, greatest: i64) {
    if of.min.is_none() && min > least {
        of.min = Some(whole(min));
    }
    if of.max.is_none() && max < greatest {
        of.max = Some(whole(max));
    }
}
