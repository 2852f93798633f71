//! Reads details that the server reports only in the text of its messages.

use crate::error::DOCUMENT;
use mongodb::bson::{Bson, DateTime, Document, oid::ObjectId};
use std::cell::Cell;

/// The details in a duplicate key's message.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Duplicate<'a> {
    /// The index's name.
    pub(super) index: Option<&'a str>,
    /// The values by field.
    pub(super) value: Option<Document>,
    /// The values alone, of a server that does not name the fields.
    pub(super) bare: Option<Vec<Bson>>,
    /// Whether the index compares by a collation: in the place of a text the server shows the collation's sort key.
    pub(super) is_collated: bool,
}

/// Reads `E11000 duplicate key error collection: db.people index: ssn_1 dup key: { ssn: "123" }`. An index's name may
/// contain spaces; a value may contain anything.
pub(super) fn duplicate(message: &str) -> Duplicate<'_> {
    let mut found = Duplicate::default();
    let text = message.find("E11000").map_or(message, |at| &message[at..]);
    let Some((_, text)) = text.split_once(" index: ") else {
        return found;
    };
    let (name, value) = match text.split_once(" dup key: ") {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    let name = match name.split_once(" collation: {") {
        Some((name, _)) => {
            found.is_collated = true;
            name
        }
        None => name,
    };
    // Servers without "collection:" write the namespace before the name: `db.people.$ssn_1`.
    let name = match name.split_once(".$") {
        Some((_, short)) if !message.contains(" collection: ") => short,
        _ => name,
    };
    found.index = Some(name.trim());
    let Some(value) = value.map(str::trim).filter(|value| value.len() <= MOST) else {
        return found;
    };
    let budget = Budget {
        steps: Cell::new(2_000),
        fields: Cell::new(64),
    };
    if let Some((pairs, rest)) = pairs(value, true, &budget)
        && rest.trim().is_empty()
    {
        if pairs.iter().all(|(name, _)| name.is_empty()) {
            found.bare = Some(pairs.into_iter().map(|(_, value)| value).collect())
        } else {
            found.value = Some(pairs.into_iter().collect())
        }
    }
    found
}

/// Reads `Cannot create field 'rows' in element {extra: null}`: the name of the element, whose value may contain anything.
/// So it does `Cannot use the part (seen) of (range.seen) to traverse the element ({range: null})`.
pub(super) fn element(message: &str) -> Option<String> {
    let (_, element) = message
        .split_once("' in element {")
        .or_else(|| message.split_once("to traverse the element ({"))?;
    let (name, _) = element.split_once(": ")?;
    Some(name.to_owned())
}

/// The text in quotes behind some words, of which the last is the quote.
pub(super) fn quoted<'a>(message: &'a str, words: &str) -> Option<&'a str> {
    let (_, rest) = message.split_once(words)?;
    rest.split_once('\'').map(|(text, _)| text)
}

/// The word behind some words.
pub(super) fn after(message: &str, words: &str) -> Option<String> {
    let (_, rest) = message.split_once(words)?;
    let word = rest.split([' ', ',']).next().filter(|word| !word.is_empty())?;
    Some(word.trim_matches(['\'', '"', '.']).to_owned())
}

/// Whether a router refuses a write of one document for which its filter names no shard. ShardKeyNotFound stands for documents that
/// can't have the key, too; InvalidOptions stands for many refusals.
pub(super) fn lacks_shard_key(code: i32, message: &str) -> bool {
    match code {
        61 => !message.contains("cannot contain array"),
        _ => message.contains("must contain an exact match on _id"),
    }
}

/// Whether a router or a shard refuses another value for a field of the shard key: by a filter without the whole key, without a
/// transaction or a retryable write, in an update of many documents, or beside other updates.
pub(super) fn changes_shard_key(message: &str) -> bool {
    [
        "Shard key update is not allowed",
        "Must run update to shard key field",
        "shard key value updates that cause the doc to move shards",
        "are not allowed when updating the shard key field",
    ]
    .iter()
    .any(|words| message.contains(words))
}

/// Reads `cannot create unique index over { slug: 1 } with shard key pattern { tenant: 1, _id: 1 }`: the pattern of the shard key, as
/// the server writes it.
pub(super) fn shard_key_pattern(message: &str) -> Option<&str> {
    let (_, pattern) = message.split_once("with shard key pattern ")?;
    let (fields, _) = pattern.strip_prefix('{')?.split_once('}')?;
    pattern.get(..fields.len() + 2)
}

/// The type of a stored field, where an operator needs another one.
#[derive(Debug, PartialEq)]
pub(super) struct StoredType {
    pub(super) id: Option<String>,
    pub(super) field: String,
    pub(super) needs: &'static str,
    pub(super) is: String,
}

/// Reads the messages of the operators of arrays and numbers:
/// `The field 'n' must be an array but is of type int in document {_id: 1}`, for instance.
pub(super) fn stored_type(message: &str) -> Option<StoredType> {
    let told = |field: &str, needs, is: &str| {
        let (_, id) = message.split_once("{_id: ").unzip();
        let id = id.and_then(|id| id.split_once('}')).map(|(id, _)| id.to_owned());
        let is = is.trim_end_matches('.').to_owned();
        let field = field.to_owned();
        Some(StoredType { id, field, needs, is })
    };
    const ARRAY: &str = "an array";
    let word = |words: &str| after(message, words);
    if let Some(field) = quoted(message, "The field '")
        && let Some(is) = word("must be an array but is of type ")
    {
        return told(field, ARRAY, &is);
    }
    if let Some(field) = quoted(message, "Field named '")
        && let Some(is) = word("has non-array type ")
    {
        return told(field, ARRAY, &is);
    }
    if let Some(field) = quoted(message, "Path '")
        && let Some(is) = word("contains an element of non-array type ")
    {
        return told(field, ARRAY, &is);
    }
    if let Some(field) = quoted(message, "The path '")
        && message.contains("must exist in the document in order to apply array updates")
    {
        return told(field, ARRAY, "nothing");
    }
    if let Some(field) = quoted(message, "has the field '")
        && let Some(is) = word("of non-numeric type ")
    {
        return told(field, "a number", &is);
    }
    None
}

/// The longest list of values that is read: the server shortens strings to 150 bytes.
const MOST: usize = 4 * 1024;

/// A limit for the work of reading a message. The server does not escape quotes, so a first interpretation may be wrong, and
/// others are tried.
struct Budget {
    /// How many fields are tried in all.
    steps: Cell<u32>,
    /// How many fields stand one behind or in the other: an index has at most 32.
    fields: Cell<u32>,
}

impl Budget {
    fn step(&self) -> Option<()> {
        let fields = self.fields.get().checked_sub(1)?;
        self.steps.set(self.steps.get().checked_sub(1)?);
        self.fields.set(fields);
        Some(())
    }
}

type FieldValues = Vec<(String, Bson)>;

/// `{ a: 1, b: "x" }`, or `{ : 1, : "x" }`; and what stands behind it. At the outermost level nothing may.
fn pairs<'a>(text: &'a str, outer: bool, budget: &Budget) -> Option<(FieldValues, &'a str)> {
    let text = text.strip_prefix('{')?;
    if let Some(rest) = text.trim_start().strip_prefix('}') {
        return Some((Vec::new(), rest));
    }
    pair(text.trim_start(), outer, budget)
}

/// One field and all that follow it. Where a value could end in several places, the first that makes sense of all the
/// rest is taken.
fn pair<'a>(text: &'a str, outer: bool, budget: &Budget) -> Option<(FieldValues, &'a str)> {
    budget.step()?;
    let read = tried(text, outer, budget);
    budget.fields.set(budget.fields.get() + 1);
    read
}

fn tried<'a>(text: &'a str, outer: bool, budget: &Budget) -> Option<(FieldValues, &'a str)> {
    let (name, text) = match text.strip_prefix(':') {
        Some(rest) => ("", rest),
        None => text
            .split_once(':')
            .filter(|(name, _)| !name.contains(['"', '{', '}']))?,
    };
    let (name, text) = (name.trim().to_owned(), text.trim_start());
    let go_on = |value: Bson, rest: &'a str| -> Option<(FieldValues, &'a str)> {
        if let Some(rest) = rest.strip_prefix(" }")
            && (!outer || rest.trim().is_empty())
        {
            return Some((vec![(name.clone(), value)], rest));
        }
        let (mut all, rest) = pair(rest.strip_prefix(", ")?, outer, budget)?;
        all.insert(0, (name.clone(), value));
        Some((all, rest))
    };
    if let Some(string) = text.strip_prefix('"') {
        return string
            .match_indices('"')
            .map(|(end, _)| (&string[..end], &string[end + 1..]))
            .filter(|(_, rest)| rest.starts_with(", ") || rest.starts_with(" }"))
            .find_map(|(inside, rest)| go_on(Bson::String(inside.to_owned()), rest));
    }
    if text.starts_with('{') {
        let (inside, rest) = pairs(text, false, budget)?;
        return go_on(Bson::Document(inside.into_iter().collect()), rest);
    }
    if text.starts_with('[') {
        let end = text.find(" ]")? + 2;
        return go_on(Bson::String(text[..end].to_owned()), &text[end..]);
    }
    let ends = text.match_indices([',', ' ']).map(|(end, _)| end);
    ends.filter(|end| text[*end..].starts_with(", ") || text[*end..].starts_with(" }"))
        .find_map(|end| go_on(scalar(&text[..end]), &text[end..]))
}

/// A value that is no string and no document, as the server prints it; what is not known stays text.
fn scalar(text: &str) -> Bson {
    let called = |name: &str| text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
    let quoted = |text: &'_ str| text.trim_matches(['\'', '"']).to_owned();
    match text {
        "null" => return Bson::Null,
        "undefined" => return Bson::Undefined,
        "true" => return Bson::Boolean(true),
        "false" => return Bson::Boolean(false),
        "MinKey" => return Bson::MinKey,
        "MaxKey" => return Bson::MaxKey,
        _ => {}
    }
    if let Ok(n) = text.parse::<i32>() {
        return Bson::Int32(n);
    }
    if let Ok(n) = text.parse::<i64>() {
        return Bson::Int64(n);
    }
    if let (true, Ok(n)) = (text.contains(|c: char| c.is_ascii_digit()), text.parse::<f64>()) {
        return Bson::Double(n);
    }
    if let Some(id) = called("ObjectId").and_then(|id| ObjectId::parse_str(quoted(id)).ok()) {
        return Bson::ObjectId(id);
    }
    if let Some(date) = called("new Date").and_then(|millis| millis.parse().ok()) {
        return Bson::DateTime(DateTime::from_millis(date));
    }
    if let Some(uuid) = called("UUID").and_then(|id| mongodb::bson::Uuid::parse_str(quoted(id)).ok()) {
        return Bson::from(uuid);
    }
    Bson::String(text.to_owned())
}

/// `["a", "b.c"]` of `a_1_b.c_-1`.
pub(super) fn fields_of_default_name(index: &str) -> Vec<String> {
    const KINDS: [&str; 6] = ["1", "-1", "text", "2dsphere", "2d", "hashed"];
    if index == "_id_" {
        return vec!["_id".to_owned()];
    }
    let mut fields = Vec::new();
    let mut name = String::new();
    for part in index.split('_') {
        if KINDS.contains(&part) && !name.is_empty() {
            fields.push(std::mem::take(&mut name));
        } else {
            if !name.is_empty() {
                name.push('_');
            }
            name.push_str(part);
        }
    }
    if name.is_empty() { fields } else { Vec::new() }
}

/// The size of what is too large, where the message tells it.
pub(super) fn size(message: &str) -> Option<u64> {
    ["size in bytes: ", "BSONObj size: ", "document provided is "]
        .iter()
        .find_map(|words| number_after(message, words))
}

/// Names what is too large: the server shows its first field, by which a command and a statement are known.
pub(super) fn too_large(message: &str) -> &'static str {
    let (_, first) = message.split_once("First element: ").unwrap_or_default();
    match first.split(':').next().unwrap_or_default() {
        "find" | "count" | "distinct" => "the filter",
        "aggregate" => "the pipeline",
        "q" => "a statement, with its filter,",
        "update" | "delete" | "findAndModify" | "findandmodify" | "explain" | "bulkWrite" => "the command",
        _ if message.contains("during aggregation") => "a result of the pipeline",
        _ if message.starts_with("operation at index") => "a statement, with its filter,",
        _ => DOCUMENT,
    }
}

/// The number that stands behind some words.
pub(super) fn number_after(message: &str, words: &str) -> Option<u64> {
    let (_, rest) = message.split_once(words)?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mongodb::bson::doc;

    #[track_caller]
    fn read(message: &str, index: &str, value: Document) {
        let found = duplicate(message);
        assert_eq!(found.index, Some(index));
        assert_eq!(found.value, Some(value));
        assert_eq!(found.bare, None);
    }

    #[test]
    fn a_duplicate_key_is_read_from_its_message() {
        read(
            "E11000 duplicate key error collection: DB.w index: _id_ dup key: { _id: 1 }",
            "_id_",
            doc! { "_id": 1 },
        );
        read(
            "E11000 duplicate key error collection: DB.i index: a_1_b_-1 dup key: { a: 1, b: 1 }",
            "a_1_b_-1",
            doc! { "a": 1, "b": 1 },
        );
        read(
            "Plan executor error during update :: caused by :: E11000 duplicate key error collection: app.people index: one ssn only dup key: { ssn: \"12 34\" }",
            "one ssn only",
            doc! { "ssn": "12 34" },
        );
        read(
            "Index build failed: 4443501d-4d4a-4950-85e6-02198f76ca6a: Collection DB.i ( 572179aa-8598-499f-9b18-025d17b1332d ) :: caused by :: E11000 duplicate key error collection: DB.i index: a_1 dup key: { a: 1 }",
            "a_1",
            doc! { "a": 1 },
        );
        read(
            "E11000 duplicate key error collection: t.c index: a_1 collation: { locale: \"en\", strength: 2 } dup key: { a: \"x\" }",
            "a_1",
            doc! { "a": "x" },
        );
    }

    #[test]
    fn values_of_every_type_are_read() {
        let id = ObjectId::parse_str("507f1f77bcf86cd799439011").expect("an id");
        read(
            "E11000 duplicate key error collection: t.c index: i dup key: { a: ObjectId('507f1f77bcf86cd799439011'), b: new Date(1700000000000), c: null, d: true, e: -1.5, f: 5000000000, g: { x: 1, y: { z: \"q\" } }, h: { }, i: BinData(0, 00FF) }",
            "i",
            doc! {
                "a": id, "b": DateTime::from_millis(1_700_000_000_000), "c": Bson::Null, "d": true, "e": -1.5,
                "f": 5_000_000_000_i64, "g": { "x": 1, "y": { "z": "q" } }, "h": {}, "i": "BinData(0, 00FF)",
            },
        );
    }

    #[test]
    fn quotes_and_brackets_in_a_string_do_not_end_it() {
        read(
            "E11000 duplicate key error collection: t.c index: n dup key: { a: \"say \"hi\" }, b: 1\", b: \" dup key: { a: 1 }\" }",
            "n",
            doc! { "a": "say \"hi\" }, b: 1", "b": " dup key: { a: 1 }" },
        );
        read(
            "E11000 duplicate key error collection: t.c index: n dup key: { a: \"\" }",
            "n",
            doc! { "a": "" },
        );
    }

    #[test]
    fn older_servers_do_not_name_the_fields() {
        let found = duplicate(
            "E11000 duplicate key error collection: t.c index: a_1_b_1 dup key: { : \"123\", : 5 }",
        );
        assert_eq!(found.index, Some("a_1_b_1"));
        assert_eq!(found.bare, Some(vec![Bson::from("123"), Bson::from(5)]));
        let found = duplicate("E11000 duplicate key error index: test.people.$ssn_1 dup key: { : \"123\" }");
        assert_eq!(found.index, Some("ssn_1"));
        assert_eq!(found.bare, Some(vec![Bson::from("123")]));
    }

    #[test]
    fn another_message_is_not_parsed() {
        assert_eq!(duplicate("something else"), Duplicate::default());
        assert_eq!(duplicate("E11000 duplicate key error index: x").index, Some("x"));
        assert_eq!(
            duplicate("E11000 collection: a.b index: x dup key: { a: \"").value,
            None
        );
        let long = format!(
            "E11000 collection: a.b index: x dup key: {{ {} }}",
            "a: \"\", ".repeat(2000)
        );
        assert_eq!(duplicate(&long).index, Some("x"));
    }

    #[test]
    fn default_names_tell_the_fields() {
        assert_eq!(fields_of_default_name("_id_"), ["_id"]);
        assert_eq!(
            fields_of_default_name("first_name_1_home.city_-1"),
            ["first_name", "home.city"]
        );
        assert_eq!(fields_of_default_name("my index"), [""; 0]);
    }

    #[test]
    fn the_type_that_is_stored_is_read() {
        let read = |message: &str| {
            let told = stored_type(message)?;
            Some(format!("{:?} {} {} {}", told.id, told.field, told.needs, told.is))
        };
        for (message, expected) in [
            (
                "The field 'n' must be an array but is of type int in document {_id: 1}",
                Some("Some(\"1\") n an array int"),
            ),
            (
                "Cannot apply $addToSet to non-array field. Field named 'x' has non-array type null",
                Some("None x an array null"),
            ),
            (
                "Cannot apply $inc to a value of non-numeric type. {_id: 1} has the field 's' of non-numeric type string",
                Some("Some(\"1\") s a number string"),
            ),
            (
                "The path 'nope' must exist in the document in order to apply array updates.",
                Some("None nope an array nothing"),
            ),
            ("can't use an array for _id", None),
            ("The field 'n", None),
        ] {
            assert_eq!(read(message).as_deref(), expected, "{message}");
        }
    }

    #[test]
    fn sizes_are_read() {
        assert_eq!(
            size("object to insert too large. size in bytes: 16777238, max size: 16777216"),
            Some(16_777_238)
        );
        assert_eq!(
            size("BSONObj size: 16777300 (0x1000054) is invalid. Size must be between 0 and 16793600(16MB)"),
            Some(16_777_300)
        );
        assert_eq!(
            size("Resulting document after update is larger than 16777216"),
            None
        );
    }
}
