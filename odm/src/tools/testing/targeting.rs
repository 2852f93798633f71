//! To which shards a router of a sharded cluster sends the statements of a command: worked out from the command and the shard keys of
//! the collections alone, as `mongos` 4.9 does.
//!
//! The values of the key are read from the filter of a statement (`key_values.rs`), or from the document of an insert or a replacement.
//! A statement that a router of that version refuses because of the key has the reason beside that, with the first version that takes it.
//!
//! One case differs: for a text in a hashed field, `mongos` asks the shard of its hash also under a collation, and misses texts that
//! the collation takes for equal. Here that is a broadcast.

use super::key_values::{HasArray, KeyValues, ShardKey, exact, is_collatable, value_at};
use crate::store::filter::is_of_operators;
use mongodb::bson::{Bson, Document, doc};
use std::collections::BTreeMap;
use std::fmt;

/// The shard keys of the collections that have one.
pub type ShardKeys = BTreeMap<String, ShardKey>;

/// A statement on a collection with a shard key.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// Its collection.
    pub collection: String,
    /// Its position in the command, where that holds several.
    pub position: usize,
    /// Where it goes, once it is taken.
    pub routing: Routing,
    /// The values of the key that it names.
    pub values: KeyValues,
    /// Why a router does not take it.
    pub refusal: Option<Refusal>,
}

/// The shards that a statement goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Routing {
    /// Those of this number of values of the whole key.
    Targeted {
        /// The values. Without one, no document matches, and the router chooses a shard.
        points: usize,
    },
    /// Those that have documents of some values of the first fields, or of ranges of them.
    Partial {
        /// The first field of the key that is not known.
        unknown: String,
    },
    /// All.
    Broadcast {
        /// The first field of the key, which is not known.
        unknown: String,
        /// The reason.
        because: Because,
    },
}

/// Why a statement goes to all shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Because {
    /// The filter does not name the field, or does so by a condition that a router does not read.
    NotNamed,
    /// The filter has a text for it, and a collation compares texts.
    Collation,
    /// The stage is executed on all shards.
    Stage,
}

/// Why a router refuses a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A `findAndModify` or an upsert needs an equality for each field of the key; this one lacks it.
    WholeKey(String),
    /// An update of one document needs the exact `_id` or the key.
    OneShard(String),
    /// An update of one document names several values of the key and no exact `_id`: it is refused where they lie on several shards.
    SeveralShards(String),
    /// A deletion of one document needs the exact `_id` or the whole key.
    KeyOrId(String),
    /// The field of the key is a text, and a collation compares texts.
    Collation(String),
    /// The field of the key is, or is in, an array.
    Array(String),
    /// The document lacks the field of the key. A router takes it as null; the library does not.
    LacksField(String),
    /// `$lookup` and `$graphLookup` don't read a sharded collection.
    Joined,
    /// `$out` does not write to a sharded collection.
    Out,
    /// The fields `on` of a `$merge` lack this one of the key.
    MergedOn(String),
    /// A transaction has no `distinct` of a sharded collection.
    DistinctInTransaction,
}

impl Refusal {
    /// The code of the router's error.
    pub fn code(&self) -> Option<i32> {
        Some(match self {
            Refusal::WholeKey(_) | Refusal::KeyOrId(_) | Refusal::Collation(_) => 61,
            Refusal::Array(_) | Refusal::MergedOn(_) => 61,
            Refusal::OneShard(_) | Refusal::SeveralShards(_) => 72,
            Refusal::Joined | Refusal::Out => 28769,
            Refusal::DistinctInTransaction => 263,
            Refusal::LacksField(_) => return None,
        })
    }

    /// The first version of MongoDB that takes it.
    pub fn taken_by(&self) -> Option<&'static str> {
        match self {
            Refusal::WholeKey(_) | Refusal::KeyOrId(_) => Some("7.1"),
            Refusal::OneShard(_) | Refusal::SeveralShards(_) => Some("7.1"),
            Refusal::Joined => Some("5.1"),
            _ => None,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::WholeKey(field) => write!(f, "it needs an equality for `{field}`, once"),
            Refusal::OneShard(field) => {
                write!(
                    f,
                    "an update of one document needs one equality for {}",
                    of_one(field)
                )
            }
            Refusal::SeveralShards(field) => write!(
                f,
                "an update of one document needs one equality for {}, if its values lie on several shards",
                of_one(field)
            ),
            Refusal::KeyOrId(field) => {
                write!(
                    f,
                    "a deletion of one document needs one equality for {}",
                    of_one(field)
                )
            }
            Refusal::Collation(field) => write!(f, "its collation compares `{field}`"),
            Refusal::Array(field) => write!(f, "`{field}` is in an array"),
            Refusal::LacksField(field) => write!(f, "the document has no `{field}`"),
            Refusal::Joined => f.write_str("`$lookup` does not read a sharded collection"),
            Refusal::Out => f.write_str("`$out` does not write to a sharded collection"),
            Refusal::MergedOn(field) => write!(f, "the fields `on` of `$merge` lack `{field}`"),
            Refusal::DistinctInTransaction => {
                f.write_str("a transaction has no `distinct` of a sharded collection")
            }
        }
    }
}

/// What names one document: its `_id`, or the field of the key that a filter lacks.
fn of_one(field: &str) -> String {
    match field {
        "_id" => "`_id`".to_owned(),
        field => format!("`_id` or for `{field}`"),
    }
}

/// The stages that every shard executes, if a pipeline begins with them.
const ON_ALL_SHARDS: [&str; 7] = [
    "$changeStream",
    "$collStats",
    "$indexStats",
    "$planCacheStats",
    "$search",
    "$searchMeta",
    "$vectorSearch",
];

/// The statements of a command that a router finds the shards of by a key. Of a cursor's further batches and of commands on the schema
/// there is none.
pub fn statements(command: &Document, keys: &ShardKeys) -> Vec<Statement> {
    let mut found = Found {
        keys,
        statements: Vec::new(),
    };
    found.command(command);
    found.statements
}

struct Found<'k> {
    keys: &'k ShardKeys,
    statements: Vec<Statement>,
}

/// Whether an update has operators, or a document that replaces the stored one.
enum Change<'c> {
    Operators,
    Replacement(&'c Document),
}

/// The documents of an update or a deletion.
struct Selection<'c> {
    collection: &'c str,
    position: usize,
    filter: &'c Document,
    is_of_many: bool,
    collation: Option<&'c Document>,
}

impl Found<'_> {
    fn command(&mut self, command: &Document) {
        let Some((name, target)) = command.iter().next() else {
            return;
        };
        let none = Document::new();
        let filter = |name: &str| command.get_document(name).unwrap_or(&none);
        let collation = command.get_document("collation").ok();
        let list = |name: &str| {
            let items = command.get_array(name).into_iter().flatten();
            items.filter_map(Bson::as_document).enumerate()
        };
        match (name.as_str(), target) {
            ("explain", Bson::Document(explained)) => self.command(explained),
            ("find", Bson::String(collection)) => self.read(collection, filter("filter"), collation),
            ("count", Bson::String(collection)) => self.read(collection, filter("query"), collation),
            ("distinct", Bson::String(collection)) => {
                self.read(collection, filter("query"), collation);
                let is_in_transaction = command.get_bool("autocommit").is_ok_and(|commits| !commits);
                if let (true, Some(last)) = (is_in_transaction, self.statements.last_mut()) {
                    last.refusal = Some(Refusal::DistinctInTransaction);
                }
            }
            ("aggregate", target) => {
                let pipeline = command.get_array("pipeline").map_or(&[][..], Vec::as_slice);
                self.pipeline(target.as_str(), pipeline, collation);
            }
            ("findAndModify" | "findandmodify", Bson::String(collection)) => {
                self.find_and_modify(collection, filter("query"), collation);
            }
            ("insert", Bson::String(collection)) => {
                for (position, document) in list("documents") {
                    self.insert(collection, position, document);
                }
            }
            ("update", Bson::String(collection)) => {
                for (position, one) in list("updates") {
                    let of = Selection {
                        collection,
                        position,
                        filter: one.get_document("q").unwrap_or(&none),
                        is_of_many: is_true(one, "multi"),
                        collation: one.get_document("collation").ok(),
                    };
                    self.update(&of, change(one.get("u")), is_true(one, "upsert"));
                }
            }
            ("delete", Bson::String(collection)) => {
                for (position, one) in list("deletes") {
                    self.delete(&Selection {
                        collection,
                        position,
                        filter: one.get_document("q").unwrap_or(&none),
                        is_of_many: !is_one(one.get("limit")),
                        collation: one.get_document("collation").ok(),
                    });
                }
            }
            ("bulkWrite", _) => {
                let names: Vec<&str> = list("nsInfo")
                    .filter_map(|(_, info)| Some(info.get_str("ns").ok()?.split_once('.')?.1))
                    .collect();
                for (position, operation) in list("ops") {
                    self.operation(position, operation, &names);
                }
            }
            _ => {}
        }
    }

    /// An operation of a `bulkWrite`.
    fn operation(&mut self, position: usize, operation: &Document, names: &[&str]) {
        let Some((name, target)) = operation.iter().next() else {
            return;
        };
        let at = match target {
            Bson::Int32(at) => usize::try_from(*at).ok(),
            Bson::Int64(at) => usize::try_from(*at).ok(),
            _ => None,
        };
        let Some(collection) = at.and_then(|at| names.get(at)) else {
            return;
        };
        let none = Document::new();
        let of = Selection {
            collection,
            position,
            filter: operation.get_document("filter").unwrap_or(&none),
            is_of_many: is_true(operation, "multi"),
            collation: operation.get_document("collation").ok(),
        };
        match name.as_str() {
            "insert" => {
                let document = operation.get_document("document").unwrap_or(&none);
                self.insert(collection, position, document);
            }
            "update" => self.update(
                &of,
                change(operation.get("updateMods")),
                is_true(operation, "upsert"),
            ),
            "delete" => self.delete(&of),
            _ => {}
        }
    }

    fn add(
        &mut self,
        collection: &str,
        position: usize,
        (routing, values): (Routing, KeyValues),
        refusal: Option<Refusal>,
    ) {
        self.statements.push(Statement {
            collection: collection.to_owned(),
            position,
            routing,
            values,
            refusal,
        });
    }

    fn read(&mut self, collection: &str, filter: &Document, collation: Option<&Document>) {
        if let Some(key) = self.keys.get(collection) {
            let routed = by_filter(key, filter, key.is_collated(collation));
            self.add(collection, 0, routed, None);
        }
    }

    fn insert(&mut self, collection: &str, position: usize, document: &Document) {
        if let Some(key) = self.keys.get(collection) {
            let (routed, refusal) = by_document(key, document, None);
            self.add(collection, position, routed, refusal);
        }
    }

    fn find_and_modify(&mut self, collection: &str, filter: &Document, collation: Option<&Document>) {
        if let Some(key) = self.keys.get(collection) {
            let is_collated = key.is_collated(collation);
            let routed = by_filter(key, filter, is_collated);
            self.add(collection, 0, routed, whole_key(key, filter, is_collated));
        }
    }

    fn update(&mut self, of: &Selection<'_>, change: Change<'_>, is_upsert: bool) {
        let Some(key) = self.keys.get(of.collection) else {
            return;
        };
        let is_collated = key.is_collated(of.collation);
        let routed = by_filter(key, of.filter, is_collated);
        let whole = || whole_key(key, of.filter, is_collated).filter(|_| is_upsert);
        let (routed, refusal) = match change {
            Change::Replacement(document) => {
                let (own, refusal) = by_document(key, document, Some(of.filter));
                if is_upsert || is_on_one_shard(&routed.0) {
                    (routed, refusal.or_else(whole))
                } else {
                    // A router sends a replacement by its own key where the filter does not name one shard.
                    let text = own.1.text(key).filter(|_| is_collated);
                    (own, refusal.or(text.map(Refusal::Collation)))
                }
            }
            Change::Operators if is_upsert => (routed, whole()),
            Change::Operators => {
                let is_taken = of.is_of_many || is_on_one_shard(&routed.0) || is_exact_id(key, of);
                let unknown = not_exact(key, of.filter);
                let refusal = match &routed.0 {
                    Routing::Broadcast { .. } => Refusal::OneShard(unknown),
                    _ => Refusal::SeveralShards(unknown),
                };
                (routed, Some(refusal).filter(|_| !is_taken))
            }
        };
        self.add(of.collection, of.position, routed, refusal);
    }

    fn delete(&mut self, of: &Selection<'_>) {
        let Some(key) = self.keys.get(of.collection) else {
            return;
        };
        let is_collated = key.is_collated(of.collation);
        let is_taken =
            of.is_of_many || whole_key(key, of.filter, is_collated).is_none() || is_exact_id(key, of);
        let refusal = (!is_taken).then(|| Refusal::KeyOrId(not_exact(key, of.filter)));
        self.add(
            of.collection,
            of.position,
            by_filter(key, of.filter, is_collated),
            refusal,
        );
    }

    /// The statements of a pipeline: that on its own collection, by its first `$match`, and those of its stages on others.
    fn pipeline(&mut self, collection: Option<&str>, pipeline: &[Bson], collation: Option<&Document>) {
        let stages: Vec<(&str, &Bson)> = pipeline
            .iter()
            .filter_map(|stage| stage.as_document()?.iter().next())
            .map(|(name, value)| (name.as_str(), value))
            .collect();
        if let Some((collection, key)) = collection.and_then(|name| Some((name, self.keys.get(name)?))) {
            let first = stages.first().map_or("", |(name, _)| name);
            let routed = if ON_ALL_SHARDS.contains(&first) {
                on_all_shards(key)
            } else {
                by_filter(key, &first_match(&stages), key.is_collated(collation))
            };
            self.add(collection, 0, routed, None);
        }
        self.stages(&stages, collation);
    }

    fn stages(&mut self, stages: &[(&str, &Bson)], collation: Option<&Document>) {
        for (name, stage) in stages {
            match (*name, stage) {
                ("$lookup", Bson::Document(join)) => self.join(join, "foreignField", collation),
                ("$graphLookup", Bson::Document(join)) => self.join(join, "connectToField", collation),
                ("$unionWith", Bson::String(from)) => self.pipeline(Some(from), &[], collation),
                ("$unionWith", Bson::Document(union)) => {
                    let pipeline = union.get_array("pipeline").map_or(&[][..], Vec::as_slice);
                    self.pipeline(union.get_str("coll").ok(), pipeline, collation);
                }
                ("$facet", Bson::Document(facets)) => {
                    for pipeline in facets.values().filter_map(Bson::as_array) {
                        self.pipeline(None, pipeline, collation);
                    }
                }
                ("$out", into) => self.out(into),
                ("$merge", into) => self.merge(into),
                _ => {}
            }
        }
    }

    /// A join: a query of the other collection for each document, by a value of the document and the first `$match` of its pipeline.
    fn join(&mut self, join: &Document, by: &str, collation: Option<&Document>) {
        let pipeline = join.get_array("pipeline").map_or(&[][..], Vec::as_slice);
        let from = join.get_str("from").ok();
        if let Some((from, key)) = from.and_then(|from| Some((from, self.keys.get(from)?))) {
            let stages: Vec<(&str, &Bson)> = pipeline
                .iter()
                .filter_map(|stage| stage.as_document()?.iter().next())
                .map(|(name, value)| (name.as_str(), value))
                .collect();
            let mut filter = first_match(&stages);
            if let Ok(field) = join.get_str(by) {
                // Whatever the value is, it is one.
                filter = doc! { "$and": [filter, { field: Bson::Int32(0) }] };
            }
            let (routing, _) = by_filter(key, &filter, key.is_collated(collation));
            self.add(from, 0, (routing, KeyValues::all(key)), Some(Refusal::Joined));
        }
        self.pipeline(None, pipeline, collation);
    }

    fn out(&mut self, into: &Bson) {
        let collection = match into {
            Bson::String(collection) => Some(collection.as_str()),
            Bson::Document(into) => into.get_str("coll").ok(),
            _ => None,
        };
        if let Some((collection, key)) = collection.and_then(|name| Some((name, self.keys.get(name)?))) {
            self.add(collection, 0, on_all_shards(key), Some(Refusal::Out));
        }
    }

    /// The writes of a `$merge`: by default a router has it find documents by `_id` and the shard key.
    fn merge(&mut self, merge: &Bson) {
        let into = match merge {
            Bson::Document(merge) => merge.get("into"),
            into => Some(into),
        };
        let collection = match into {
            Some(Bson::String(collection)) => Some(collection.as_str()),
            Some(Bson::Document(into)) => into.get_str("coll").ok(),
            _ => None,
        };
        let Some((collection, key)) = collection.and_then(|name| Some((name, self.keys.get(name)?))) else {
            return;
        };
        let on = merge.as_document().and_then(|merge| merge.get("on"));
        let is_on = |path: &str| match on {
            None => true,
            Some(Bson::Array(fields)) => fields.iter().any(|field| field.as_str() == Some(path)),
            Some(field) => field.as_str() == Some(path),
        };
        let lacks = key.fields.iter().find(|field| !is_on(&field.path));
        let routed = match lacks {
            None => (Routing::Targeted { points: 1 }, KeyValues::all(key)),
            Some(_) => on_all_shards(key),
        };
        let refusal = lacks.map(|field| Refusal::MergedOn(field.path.clone()));
        self.add(collection, 0, routed, refusal);
    }
}

fn is_true(options: &Document, name: &str) -> bool {
    options.get_bool(name).unwrap_or(false)
}

fn is_one(limit: Option<&Bson>) -> bool {
    match limit {
        Some(Bson::Int32(limit)) => *limit == 1,
        Some(Bson::Int64(limit)) => *limit == 1,
        Some(Bson::Double(limit)) => *limit == 1.0,
        _ => false,
    }
}

fn change(update: Option<&Bson>) -> Change<'_> {
    match update {
        Some(Bson::Document(update)) if !is_of_operators(update) => Change::Replacement(update),
        _ => Change::Operators,
    }
}

/// The conditions with which a pipeline begins. A router has a `$match` before a `$sort`.
fn first_match(stages: &[(&str, &Bson)]) -> Document {
    if let Some(("$geoNear", Bson::Document(near))) = stages.first() {
        return near.get_document("query").cloned().unwrap_or_default();
    }
    let first = stages
        .iter()
        .take_while(|(name, _)| ["$match", "$sort"].contains(name));
    let filters: Vec<&Bson> = first
        .filter(|(name, _)| *name == "$match")
        .map(|(_, filter)| *filter)
        .collect();
    match filters.as_slice() {
        [Bson::Document(one)] => one.clone(),
        several => doc! { "$and": several.iter().copied().cloned().collect::<Vec<_>>() },
    }
}

/// Where a statement with this filter goes.
fn by_filter(key: &ShardKey, filter: &Document, is_collated: bool) -> (Routing, KeyValues) {
    let values = key.values(filter, is_collated);
    let field = |at: usize| {
        key.fields
            .get(at)
            .map_or_else(String::new, |field| field.path.clone())
    };
    let routing = if values.is_unbounded() {
        let is_known = is_collated && !key.values(filter, false).is_unbounded();
        Routing::Broadcast {
            unknown: field(0),
            because: if is_known {
                Because::Collation
            } else {
                Because::NotNamed
            },
        }
    } else {
        match values.unknown() {
            Some(at) => Routing::Partial { unknown: field(at) },
            None => Routing::Targeted {
                points: values.ranges().len(),
            },
        }
    };
    (routing, values)
}

fn on_all_shards(key: &ShardKey) -> (Routing, KeyValues) {
    let routing = Routing::Broadcast {
        unknown: key
            .fields
            .first()
            .map_or_else(String::new, |field| field.path.clone()),
        because: Because::Stage,
    };
    (routing, KeyValues::all(key))
}

/// Where a document goes that is inserted, or that replaces one: then its `_id` is that of the filter, if it has none.
fn by_document(
    key: &ShardKey,
    document: &Document,
    filter: Option<&Document>,
) -> ((Routing, KeyValues), Option<Refusal>) {
    let mut values = Vec::new();
    let mut refusal = None;
    for field in &key.fields {
        let value = match value_at(document, &field.path) {
            Ok(Some(value)) => value.clone(),
            Err(HasArray) => {
                refusal.get_or_insert(Refusal::Array(field.path.clone()));
                Bson::Null
            }
            Ok(None) => {
                let of_filter = filter.filter(|_| field.path == "_id");
                let id = of_filter.and_then(|filter| exact(filter, &["_id"])?.pop());
                id.unwrap_or_else(|| {
                    refusal.get_or_insert(Refusal::LacksField(field.path.clone()));
                    Bson::Null
                })
            }
        };
        values.push(value);
    }
    let routing = Routing::Targeted { points: 1 };
    ((routing, KeyValues::of(values)), refusal)
}

fn is_on_one_shard(routing: &Routing) -> bool {
    matches!(routing, Routing::Targeted { points: 0 | 1 })
}

/// The refusal of a statement that needs an equality for each field of the key, and lacks one.
fn whole_key(key: &ShardKey, filter: &Document, is_collated: bool) -> Option<Refusal> {
    let Some(values) = key.exact(filter) else {
        return Some(Refusal::WholeKey(not_exact(key, filter)));
    };
    KeyValues::of(values)
        .text(key)
        .filter(|_| is_collated)
        .map(Refusal::Collation)
}

fn not_exact(key: &ShardKey, filter: &Document) -> String {
    let unknown = key.not_exact(filter);
    let unknown = unknown.or_else(|| key.fields.first().map(|field| field.path.as_str()));
    unknown.unwrap_or_default().to_owned()
}

/// Whether a filter names one `_id`, as the collation of the collection compares it.
fn is_exact_id(key: &ShardKey, of: &Selection<'_>) -> bool {
    let id = exact(of.filter, &["_id"]).and_then(|mut id| id.pop());
    let compares_otherwise = || {
        of.collation
            .is_some_and(|given| !is_same_collation(given, key.collation.as_ref()))
    };
    id.is_some_and(|id| !(is_collatable(&id) && compares_otherwise()))
}

/// Whether a collation compares texts as that of the collection does.
fn is_same_collation(given: &Document, of_collection: Option<&Document>) -> bool {
    let simple = doc! { "locale": "simple" };
    let there = of_collection.unwrap_or(&simple);
    let option = |collation: &Document, name: &str| {
        let value = collation.get(name).cloned();
        let default = match name {
            "strength" => Bson::Int32(3),
            "caseFirst" => "off".into(),
            "alternate" => "non-ignorable".into(),
            "maxVariable" => "punct".into(),
            _ => Bson::Boolean(false),
        };
        match value.unwrap_or(default) {
            Bson::Int64(n) => i32::try_from(n).map_or(Bson::Int64(n), Bson::Int32),
            value => value,
        }
    };
    let mut names = given.keys().chain(there.keys()).filter(|name| *name != "version");
    names.all(|name| option(given, name) == option(there, name))
}

#[cfg(test)]
#[path = "targeting_tests.rs"]
mod tests;
