use super::*;
use crate::geo::{LineString, Point};
use crate::model::shape::Shape;
use crate::prelude::*;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{Binary, DateTime, Decimal128, Document as Raw, RawBsonRef, Regex, Timestamp, Uuid, doc};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[embed(crate = "crate")]
struct Place {
    #[field(min_len = 1, max_len = 20)]
    city: String,
    zip: Option<i32>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[embed(crate = "crate")]
struct Name(#[field(max_len = 10)] String);

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[embed(crate = "crate")]
enum Marked {
    Nothing,
    One(i64),
    Two(i32, String),
    Named { at: DateTime, place: Option<Place> },
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[embed(crate = "crate")]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Inside {
    Empty,
    Place(Place),
    Days { days: i64, secret: Option<ObjectId> },
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[embed(crate = "crate")]
#[serde(tag = "t", content = "c")]
enum Beside {
    Empty,
    Id(ObjectId),
    Pair(i32, bool),
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[embed(crate = "crate")]
#[serde(untagged)]
enum Either {
    Whole(i64),
    Text(String),
    Place(Place),
}

/// Every shape.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "all", crate = "crate")]
pub(super) struct All {
    #[serde(rename = "_id")]
    id: ObjectId,
    truth: bool,
    byte: u8,
    int: i32,
    long: i64,
    #[field(json = text)]
    counter: i64,
    big: u64,
    double: f64,
    decimal: Decimal128,
    letter: char,
    name: Name,
    at: DateTime,
    #[field(max_len = 100)]
    bytes: Binary,
    uuid: Uuid,
    time: Timestamp,
    pattern: Regex,
    nothing: (),
    maybe: Option<f64>,
    #[embed(max = 5)]
    list: Vec<Option<Place>>,
    #[embed(max = 5)]
    #[field(json = text)]
    counters: Vec<i64>,
    #[embed(max = 5)]
    set: BTreeSet<String>,
    fixed: [i32; 2],
    pair: (i32, String),
    #[embed(max = 5, key_len = 8)]
    map: BTreeMap<String, Place>,
    marked: Marked,
    inside: Inside,
    beside: Beside,
    either: Either,
    point: Point,
    line: Option<LineString<10>>,
    #[serde(flatten)]
    place: Place,
    #[field(opaque)]
    any: Raw,
}

fn text() -> BoxedStrategy<String> {
    "\\PC{0,8}".boxed()
}

fn date() -> BoxedStrategy<DateTime> {
    any::<i64>().prop_map(DateTime::from_millis).boxed()
}

fn id() -> BoxedStrategy<ObjectId> {
    any::<[u8; 12]>().prop_map(ObjectId::from_bytes).boxed()
}

fn place() -> BoxedStrategy<Place> {
    ("[a-zä]{1,8}", option::of(any::<i32>()))
        .prop_map(|(city, zip)| Place { city, zip })
        .boxed()
}

fn float() -> BoxedStrategy<f64> {
    prop_oneof![
        any::<f64>().prop_filter("NaN equals nothing", |n| !n.is_nan()),
        Just(f64::INFINITY),
        Just(-0.0)
    ]
    .boxed()
}

fn decimal() -> BoxedStrategy<Decimal128> {
    (any::<i64>(), -20..20_i32)
        .prop_map(|(n, e)| {
            format!("{n}E{e}")
                .parse()
                .unwrap_or(Decimal128::from_bytes([0; 16]))
        })
        .boxed()
}

fn marked() -> BoxedStrategy<Marked> {
    prop_oneof![
        Just(Marked::Nothing),
        any::<i64>().prop_map(Marked::One),
        (any::<i32>(), text()).prop_map(|(n, text)| Marked::Two(n, text)),
        (date(), option::of(place())).prop_map(|(at, place)| Marked::Named { at, place }),
    ]
    .boxed()
}

fn inside() -> BoxedStrategy<Inside> {
    prop_oneof![
        Just(Inside::Empty),
        place().prop_map(Inside::Place),
        (any::<i64>(), option::of(id())).prop_map(|(days, secret)| Inside::Days { days, secret }),
    ]
    .boxed()
}

fn beside() -> BoxedStrategy<Beside> {
    prop_oneof![
        Just(Beside::Empty),
        id().prop_map(Beside::Id),
        (any::<i32>(), any::<bool>()).prop_map(|(n, is)| Beside::Pair(n, is)),
    ]
    .boxed()
}

fn either() -> BoxedStrategy<Either> {
    prop_oneof![
        // Beyond 2^53 an integer is a text, and there the variant without a mark is a text too.
        (-SAFE_INTEGER..=SAFE_INTEGER).prop_map(Either::Whole),
        "[a-z]{0,8}".prop_map(Either::Text),
        place().prop_map(Either::Place),
    ]
    .boxed()
}

const SAFE_INTEGER: i64 = text::SAFE;

fn raw() -> BoxedStrategy<Raw> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(|n| i32::try_from(n).map_or(Bson::Int64(n), Bson::Int32)),
        any::<i32>().prop_map(Bson::Int32),
        float()
            .prop_filter("a whole number is one", |n| n.fract() != 0.0)
            .prop_map(Bson::Double),
        text().prop_map(Bson::String),
        date().prop_map(Bson::DateTime),
        id().prop_map(Bson::ObjectId),
        decimal().prop_map(Bson::Decimal128),
        any::<[u8; 16]>().prop_map(|bytes| Bson::from(Uuid::from_bytes(bytes))),
        any::<bool>().prop_map(Bson::Boolean),
        Just(Bson::Null),
    ];
    let value = leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Bson::Array),
            btree_map("[a-z]{1,4}", inner, 0..4)
                .prop_map(|fields| Bson::Document(fields.into_iter().collect())),
        ]
    });
    btree_map("[a-z]{1,4}", value, 0..4)
        .prop_map(|fields| fields.into_iter().collect())
        .boxed()
}

fn all() -> BoxedStrategy<All> {
    let numbers = (
        any::<bool>(),
        any::<u8>(),
        any::<i32>(),
        any::<i64>(),
        any::<i64>(),
        0..=i64::MAX as u64,
        float(),
        decimal(),
    );
    let texts = (
        any::<char>().prop_filter("is stored", |c| *c != '\0'),
        "\\PC{0,10}",
        date(),
        vec(any::<u8>(), 0..20),
        any::<[u8; 16]>(),
        any::<(u32, u32)>(),
        "[a-z.*]{0,6}",
    );
    let lists = (
        option::of(float()),
        vec(option::of(place()), 0..4),
        vec(any::<i64>(), 0..4),
        proptest::collection::btree_set(text(), 0..4),
        any::<[i32; 2]>(),
        (any::<i32>(), text()),
        btree_map("[a-z/~]{1,8}", place(), 0..4),
    );
    let enums = (marked(), inside(), beside(), either());
    let places = ((-180.0..180.0, -90.0..90.0), place(), raw(), id());
    (numbers, texts, lists, enums, places)
        .prop_map(|(numbers, texts, lists, enums, places)| All {
            id: places.3,
            truth: numbers.0,
            byte: numbers.1,
            int: numbers.2,
            long: numbers.3,
            counter: numbers.4,
            big: numbers.5,
            double: numbers.6,
            decimal: numbers.7,
            letter: texts.0,
            name: Name(texts.1),
            at: texts.2,
            bytes: Binary {
                subtype: bson::spec::BinarySubtype::Generic,
                bytes: texts.3,
            },
            uuid: Uuid::from_bytes(texts.4),
            time: Timestamp {
                time: texts.5.0,
                increment: texts.5.1,
            },
            pattern: Regex {
                pattern: texts.6.try_into().unwrap(),
                options: "i".to_owned().try_into().unwrap(),
            },
            nothing: (),
            maybe: lists.0,
            list: lists.1,
            counters: lists.2,
            set: lists.3,
            fixed: lists.4,
            pair: lists.5,
            map: lists.6,
            marked: enums.0,
            inside: enums.1,
            beside: enums.2,
            either: enums.3,
            point: Point::new(places.0.0, places.0.1),
            line: LineString::new([Point::new(0.0, 0.0), Point::new(places.0.0, 1.0)]).ok(),
            place: places.1,
            any: places.2,
        })
        .boxed()
}

fn faults<T: FromJson + std::fmt::Debug>(json: Value) -> Vec<String> {
    match from_value::<T>(json) {
        Err(Error::Json { values }) => values.iter().map(ToString::to_string).collect(),
        other => panic!("{other:?}"),
    }
}

proptest! {
    #[test]
    fn each_value_is_read_as_it_was_written(all in all()) {
        let text = to_string(&all).unwrap();
        let read: All = from_str(&text).map_err(|error| TestCaseError::fail(format!("{error}: {text}")))?;
        prop_assert_eq!(&read, &all, "{}", text);
        prop_assert_eq!(to_value(&all).unwrap(), serde_json::from_str::<Value>(&text).unwrap());
    }

    #[test]
    fn no_json_is_too_much(text in "[\\[\\]{}\",:0-9a-z$._-]{0,40}") {
        let _ = from_str::<All>(&text);
        let _ = from_str::<Either>(&text);
    }

    #[test]
    fn a_value_of_another_type_is_refused_at_its_place(all in all(), n in 0..40_usize) {
        let mut json = to_value(&all).unwrap();
        let fields = json.as_object_mut().unwrap();
        let name = fields.keys().nth(n % fields.len()).unwrap().clone();
        fields[&name] = json!({ "$gt": "" });
        let pointers = match from_value::<All>(json) {
            Err(Error::Json { values }) => values,
            other => panic!("{other:?}"),
        };
        prop_assert!(pointers.iter().all(|bad| bad.pointer.starts_with(&format!("/{name}"))), "{:?}", pointers);
    }
}

#[test]
fn the_forms_are_those_of_the_web() {
    let id = ObjectId::from_bytes([0xab; 12]);
    let json = to_value(&All {
        id,
        truth: true,
        byte: 1,
        int: 2,
        long: SAFE_INTEGER,
        counter: 4,
        big: 9_007_199_254_740_993,
        double: f64::NAN,
        decimal: "1.50".parse().unwrap(),
        letter: 'x',
        name: Name("Kate".into()),
        at: DateTime::from_millis(1),
        bytes: Binary {
            subtype: bson::spec::BinarySubtype::Generic,
            bytes: vec![0, 255],
        },
        uuid: Uuid::from_bytes([1; 16]),
        time: Timestamp {
            time: 1,
            increment: 2,
        },
        pattern: Regex {
            pattern: "a.".to_owned().try_into().unwrap(),
            options: "i".to_owned().try_into().unwrap(),
        },
        nothing: (),
        maybe: None,
        list: vec![None],
        counters: vec![5],
        set: ["a".to_owned()].into(),
        fixed: [1, 2],
        pair: (3, "b".into()),
        map: BTreeMap::new(),
        marked: Marked::Two(1, "c".into()),
        inside: Inside::Place(Place {
            city: "Bonn".into(),
            zip: None,
        }),
        beside: Beside::Id(id),
        either: Either::Whole(5),
        point: Point::new(1.0, 2.0),
        line: None,
        place: Place {
            city: "Ulm".into(),
            zip: Some(89073),
        },
        any: doc! { "id": id, "n": 1_i64, "text": "$where" },
    })
    .unwrap();
    assert_eq!(
        json,
        json!({
            "id": "abababababababababababab",
            "truth": true,
            "byte": 1,
            "int": 2,
            "long": 9_007_199_254_740_991_i64,
            "counter": "4",
            "big": "9007199254740993",
            "double": "NaN",
            "decimal": "1.50",
            "letter": "x",
            "name": "Kate",
            "at": "1970-01-01T00:00:00.001Z",
            "bytes": "AP8=",
            "uuid": "01010101-0101-0101-0101-010101010101",
            "time": { "t": 1, "i": 2 },
            "pattern": { "pattern": "a.", "options": "i" },
            "nothing": null,
            "maybe": null,
            "list": [null],
            "counters": ["5"],
            "set": ["a"],
            "fixed": [1, 2],
            "pair": [3, "b"],
            "map": {},
            "marked": { "Two": [1, "c"] },
            "inside": { "kind": "place", "city": "Bonn", "zip": null },
            "beside": { "t": "Id", "c": "abababababababababababab" },
            "either": 5,
            "point": { "type": "Point", "coordinates": [1.0, 2.0] },
            "line": null,
            "city": "Ulm",
            "zip": 89073,
            "any": { "id": { "$oid": "abababababababababababab" }, "n": 1, "text": "$where" },
        })
    );
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "accounts", version, timestamps, crate = "crate")]
#[document(new(derive(Serialize, Deserialize, Debug, PartialEq)))]
#[serde(rename_all = "camelCase")]
pub(super) struct Account {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[field(max_len = 20)]
    first_name: String,
    #[serde(default)]
    #[field(private)]
    password_hash: String,
    #[field(write_only, min_len = 8)]
    code: String,
    #[field(read_only)]
    #[serde(default)]
    credit: i32,
    #[embed(max = 2)]
    places: Vec<Secret>,
    version: i64,
    created_at: DateTime,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[embed(crate = "crate")]
#[serde(deny_unknown_fields)]
struct Secret {
    city: String,
    #[field(private)]
    #[serde(default)]
    door: i32,
}

fn account() -> Account {
    Account {
        id: ObjectId::from_bytes([1; 12]),
        first_name: "Kate".into(),
        password_hash: "hash".into(),
        code: "12345678".into(),
        credit: 5,
        places: vec![Secret {
            city: "Bonn".into(),
            door: 3,
        }],
        version: 1,
        created_at: DateTime::from_millis(0),
    }
}

#[test]
fn what_is_private_stays_within() {
    assert_eq!(
        to_value(&vec![account()]).unwrap(),
        json!([{
            "id": "010101010101010101010101",
            "firstName": "Kate",
            "credit": 5,
            "places": [{ "city": "Bonn" }],
            "version": 1,
            "createdAt": "1970-01-01T00:00:00.000Z",
        }])
    );
}

#[test]
fn a_new_document_is_made_of_what_a_client_may_set() {
    let new: NewAccount = from_value(json!({
        "firstName": "Kate",
        "code": "12345678",
        "places": [{ "city": "Bonn" }],
        "unknown": 1,
    }))
    .unwrap();
    let places = vec![Secret {
        city: "Bonn".into(),
        door: 0,
    }];
    let expected = NewAccount {
        first_name: "Kate".into(),
        password_hash: String::new(),
        code: "12345678".into(),
        credit: 0,
        places,
    };
    assert_eq!(new, expected);
    assert_eq!(
        faults::<NewAccount>(json!({
            "id": "010101010101010101010101",
            "firstName": "x".repeat(21),
            "passwordHash": "mine",
            "code": "short",
            "credit": 1_000_000,
            "places": [{ "city": 1, "door": 5, "more": 1 }, {}, { "city": "" }],
            "version": 7,
            "createdAt": "1970-01-01T00:00:00.000Z",
        })),
        [
            "`/code` must be at least 8 long",
            "`/createdAt` can't be set: the service sets it",
            "`/credit` can't be set: the service sets it",
            "`/firstName` may be at most 20 long",
            "`/id` can't be set: the service sets it",
            "`/passwordHash` is not a field",
            "`/places` may hold at most 2 items",
            "`/places/0/city` must be a text",
            "`/places/0/door` is not a field",
            "`/places/0/more` is not a field",
            "`/places/1/city` is missing",
            "`/version` can't be set: the service sets it",
        ]
    );
    assert_eq!(
        faults::<NewAccount>(json!({})),
        [
            "`/firstName` is missing",
            "`/code` is missing",
            "`/places` is missing"
        ]
    );
    assert_eq!(faults::<NewAccount>(json!([])), ["the value must be an object"]);
    let Err(Error::Json { values }) = from_slice::<NewAccount>(b"{") else {
        panic!()
    };
    assert_eq!(values[0].problem, ValueProblem::Syntax);
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[embed(crate = "crate")]
struct Ruled {
    #[field(normalize(trim, lowercase), pattern = "[a-z]+")]
    word: String,
    #[embed(max = 5)]
    #[field(unique_items)]
    numbers: Vec<i32>,
}

#[test]
fn rules_hold_for_what_is_stored() {
    let read: Ruled = from_value(json!({ "word": " Kate ", "numbers": [1, 2] })).expect("is valid");
    assert_eq!(read.word, "kate");
    let Err(Error::Json { values }) = from_value::<Ruled>(json!({ "word": "K 8", "numbers": [1, 2, 1] }))
    else {
        panic!("breaks two rules");
    };
    let pointers: Vec<&str> = values.iter().map(|bad| bad.pointer.as_str()).collect();
    assert_eq!(pointers, ["/numbers", "/word"]);

    let many = vec![json!({ "word": 1 }); 1_000];
    let Err(Error::Json { values }) = from_value::<Vec<Ruled>>(many.into()) else {
        panic!("breaks rules");
    };
    assert_eq!(values.len(), faults::MOST);
}

#[test]
fn the_service_gives_fields_that_no_client_sets() {
    let json = json!({ "firstName": "Kate", "places": [] });
    let reader = reader::<NewAccount>();
    let reader = reader
        .set(|a| a.password_hash, "hash")
        .and_then(|r| r.set(|a| a.code, "12345678"))
        .unwrap();
    let new = reader.from_value(&json).unwrap();
    assert_eq!(
        (new.password_hash.as_str(), new.code.as_str()),
        ("hash", "12345678")
    );
    let json = json!({ "firstName": "Kate", "places": [], "code": "00000000" });
    let Err(Error::Json { values }) = reader.from_value(&json) else {
        panic!()
    };
    assert_eq!(values[0].pointer, "/code");
}

#[test]
fn integers_beyond_what_javascript_holds_are_texts() {
    #[derive(Embed, Serialize, Deserialize, Debug, PartialEq)]
    #[embed(crate = "crate")]
    struct Numbers {
        n: i64,
        #[field(json = text)]
        text: Option<i64>,
    }
    let read = |json| from_value::<Numbers>(json).unwrap();
    assert_eq!(
        read(json!({ "n": 5, "text": 5 })),
        Numbers { n: 5, text: Some(5) }
    );
    let beyond = SAFE_INTEGER + 2;
    assert_eq!(
        read(json!({ "n": beyond.to_string(), "text": "5" })),
        Numbers {
            n: beyond,
            text: Some(5)
        }
    );
    assert_eq!(
        faults::<Numbers>(json!({ "n": beyond, "text": 5.5 })),
        [
            "`/n` must be a whole number from -9007199254740991 to 9007199254740991",
            "`/text` must be a whole number as a text, such as `\"9007199254740993\"`",
        ]
    );
    assert_eq!(read(json!({ "n": 5.0 })), Numbers { n: 5, text: None });
    assert_eq!(faults::<Numbers>(json!({ "n": "5" })).len(), 1);
}

#[test]
fn no_key_of_a_client_is_an_operator() {
    #[derive(Embed, Serialize, Deserialize, Debug, PartialEq)]
    #[embed(crate = "crate")]
    struct Open {
        #[field(opaque)]
        any: Bson,
        #[embed(max = 5, key_len = 3)]
        #[serde(default)]
        map: BTreeMap<String, i32>,
    }
    for json in [
        json!({ "$gt": 1 }),
        json!([{ "a": { "$where": "1" } }]),
        json!({ "$regularExpression": { "pattern": "a", "options": "" } }),
        json!({ "$oid": "010101010101010101010101", "$gt": 1 }),
        json!({ "$date": "soon" }),
        json!({ "a.b": 1 }),
        json!({ "": 1 }),
    ] {
        let found = faults::<Open>(json!({ "any": json }));
        assert_eq!(found.len(), 1, "{found:?}");
    }
    assert_eq!(
        faults::<Open>(json!({ "any": 1, "map": { "$a": 1, "long": 1, "b": true } })),
        [
            "`/map/$a` has the key \"$a\", which can't be stored: a key is not empty, does not start with `$` and has neither `.` nor \
             a zero byte in it",
            "`/map/b` must be a whole number from -2147483648 to 2147483647",
            "`/map/long` may have keys of at most 3 characters",
        ]
    );
}

#[test]
fn a_schema_has_the_bounds_and_the_marks() {
    let schema = Account::json_schema();
    assert_eq!(schema["title"], "Account");
    let properties = schema["properties"].as_object().unwrap();
    assert_eq!(
        properties.keys().collect::<Vec<_>>(),
        ["createdAt", "credit", "firstName", "id", "places", "version"]
    );
    for name in ["createdAt", "credit", "id", "version"] {
        assert_eq!(properties[name]["readOnly"], true, "{name}");
    }
    assert_eq!(
        properties["firstName"],
        json!({ "type": "string", "maxLength": 20 })
    );
    assert_eq!(
        properties["places"],
        json!({ "type": "array", "maxItems": 2, "items": { "$ref": "#/$defs/Secret" } })
    );
    let new = NewAccount::json_schema();
    assert_eq!(
        new,
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "NewAccount",
            "type": "object",
            "properties": {
                "firstName": { "type": "string", "maxLength": 20 },
                "code": { "type": "string", "minLength": 8, "writeOnly": true },
                "places": { "type": "array", "maxItems": 2, "items": { "$ref": "#/$defs/SecretInput" } },
            },
            "required": ["firstName", "code", "places"],
            "$defs": {
                "SecretInput": {
                    "type": "object",
                    "properties": { "city": { "type": "string" } },
                    "required": ["city"],
                    "additionalProperties": false,
                },
            },
        })
    );
}

#[test]
fn each_form_of_an_enum_has_a_schema() {
    let schema = All::json_schema();
    let definitions = schema["$defs"].as_object().unwrap();
    assert_eq!(
        definitions["Inside"]["oneOf"][2],
        json!({
            "type": "object",
            "properties": {
                "kind": { "type": "string", "enum": ["days"] },
                "days": {
                    "type": "integer", "format": "int64",
                    "minimum": -SAFE_INTEGER, "maximum": SAFE_INTEGER,
                },
                "secret": { "type": ["string", "null"], "pattern": "^[0-9a-fA-F]{24}$" },
            },
            "required": ["kind", "days"],
        })
    );
    assert_eq!(
        definitions["Marked"]["oneOf"][0],
        json!({ "type": "string", "enum": ["Nothing"] })
    );
    assert_eq!(
        definitions["Beside"]["oneOf"][0],
        json!({
            "type": "object",
            "properties": { "t": { "type": "string", "enum": ["Empty"] } },
            "required": ["t"],
            "additionalProperties": false,
        })
    );
    assert_eq!(
        definitions["Either"]["anyOf"][2],
        json!({ "$ref": "#/$defs/Place" })
    );
    assert_eq!(
        schema["properties"]["city"],
        json!({ "type": "string", "minLength": 1, "maxLength": 20 })
    );
    assert_eq!(schema["properties"]["counters"]["items"]["type"], "string");
}

/// Every value that a type takes to its end, on its way out and back in.
#[test]
fn the_extremes_of_each_type_are_read_as_they_were_written() {
    #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[embed(crate = "crate")]
    struct Extremes {
        at: DateTime,
        long: i64,
        int: i32,
        #[field(json = text)]
        counter: i64,
        double: f64,
        decimal: Decimal128,
        text: String,
        letter: char,
        bytes: Binary,
        time: Timestamp,
        #[field(opaque)]
        any: Bson,
    }
    let decimal = |text: &str| text.parse::<Decimal128>().unwrap();
    let bytes = |subtype, bytes: &[u8]| Binary {
        subtype,
        bytes: bytes.to_vec(),
    };
    let generic = bson::spec::BinarySubtype::Generic;
    let plain = Extremes {
        at: DateTime::from_millis(0),
        long: 0,
        int: 0,
        counter: 0,
        double: 0.0,
        decimal: decimal("0"),
        text: String::new(),
        letter: 'a',
        bytes: bytes(generic, &[]),
        time: Timestamp {
            time: 0,
            increment: 0,
        },
        any: Bson::Null,
    };
    let is_same = |extremes: &Extremes, shown: &str| {
        let text = to_string(extremes).unwrap_or_else(|error| panic!("{shown}: {error}"));
        let read: Extremes = from_str(&text).unwrap_or_else(|error| panic!("{shown}: {error}: {text}"));
        // Of a NaN none equals another, and the two zeros are equal.
        assert_eq!(format!("{read:?}"), format!("{extremes:?}"), "{text}");
        let tree = to_value(extremes).unwrap();
        let read: Extremes = from_value(tree).unwrap_or_else(|error| panic!("{shown}: {error}: {text}"));
        assert_eq!(format!("{read:?}"), format!("{extremes:?}"), "{text}");
    };
    let mut all: Vec<Extremes> = Vec::new();
    for millis in [i64::MIN, i64::MIN + 1, -1, i64::MAX - 1, i64::MAX] {
        all.push(Extremes {
            at: DateTime::from_millis(millis),
            ..plain.clone()
        });
    }
    let safe = text::SAFE;
    for n in [i64::MIN, i64::MIN + 1, -safe - 1, -safe, safe, safe + 1, i64::MAX] {
        all.push(Extremes {
            long: n,
            counter: n,
            ..plain.clone()
        });
    }
    for n in [i32::MIN, i32::MAX] {
        all.push(Extremes {
            int: n,
            ..plain.clone()
        });
    }
    let doubles = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
        f64::MIN,
        f64::MIN_POSITIVE,
        5e-324,
        -0.0,
        0.1 + 0.2,
        9_007_199_254_740_993.0,
        1e308,
    ];
    for n in doubles {
        all.push(Extremes {
            double: n,
            ..plain.clone()
        });
    }
    let decimals = [
        "NaN",
        "Infinity",
        "-Infinity",
        "9.999999999999999999999999999999999E+6144",
        "-9.999999999999999999999999999999999E+6144",
        "1E-6176",
        "-1E-6176",
        "-0",
        "0E+6111",
        "0E-6176",
        "1.000000000000000000000000000000000",
    ];
    for text in decimals {
        all.push(Extremes {
            decimal: decimal(text),
            ..plain.clone()
        });
    }
    for text in [
        "",
        "\0",
        "a\0b",
        "\u{10FFFF}",
        "\u{feff}",
        "\\\"\n",
        "$where",
        "\u{2028}",
    ] {
        all.push(Extremes {
            text: text.to_owned(),
            ..plain.clone()
        });
    }
    for letter in ['\0', '\u{10FFFF}', '"', '\\', ' '] {
        all.push(Extremes {
            letter,
            ..plain.clone()
        });
    }
    for held in [&[0_u8; 0][..], &[0], &[255; 100]] {
        all.push(Extremes {
            bytes: bytes(generic, held),
            ..plain.clone()
        });
    }
    all.push(Extremes {
        time: Timestamp {
            time: u32::MAX,
            increment: u32::MAX,
        },
        ..plain.clone()
    });
    // Values of no declared type have the same extremes.
    let opaque = all.iter().flat_map(|extremes| {
        let long = i32::try_from(extremes.long).map_or(Bson::Int64(extremes.long), Bson::Int32);
        [
            Bson::DateTime(extremes.at),
            long,
            Bson::Double(extremes.double),
            Bson::Decimal128(extremes.decimal),
            Bson::String(extremes.text.clone()),
            Bson::Binary(extremes.bytes.clone()),
            Bson::Timestamp(extremes.time),
        ]
    });
    let mut opaque: Vec<Bson> = opaque.collect();
    let subtypes = [
        bson::spec::BinarySubtype::Uuid,
        bson::spec::BinarySubtype::Md5,
        bson::spec::BinarySubtype::UserDefined(0x80),
        bson::spec::BinarySubtype::UserDefined(0xff),
    ];
    opaque.extend(subtypes.map(|subtype| Bson::Binary(bytes(subtype, &[7; 16]))));
    opaque.extend([
        Bson::Array(vec![]),
        Bson::Document(doc! {}),
        Bson::ObjectId(ObjectId::from_bytes([255; 12])),
    ]);
    all.extend(opaque.into_iter().map(|any| Extremes { any, ..plain.clone() }));
    for extremes in all {
        is_same(&extremes, &format!("{extremes:?}"));
    }
}

/// A double that another client has stored as an integer.
#[test]
fn an_integer_in_the_place_of_a_double_is_a_number() {
    for value in [i64::MAX, text::SAFE, text::SAFE + 1, i64::MIN, 5] {
        let node = out::OutNode {
            shape: Shape::Double,
            text: false,
            value: RawBsonRef::Int64(value),
            depth: 0,
        };
        let json = serde_json::to_value(node).unwrap();
        assert_eq!(json.as_f64(), Some(value as f64), "{json}");
    }
}

#[derive(Embed, Serialize, Deserialize, Debug, PartialEq)]
#[embed(crate = "crate")]
struct Open {
    #[field(opaque)]
    any: Bson,
}

/// A text of this many levels: the object around the field is one of them.
fn nested(levels: usize, (open, close): (&str, &str)) -> String {
    let (open, close) = (open.repeat(levels - 1), close.repeat(levels - 1));
    format!("{{\"any\":{open}1{close}}}")
}

fn on_a_stack_of(kib: usize, work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(kib * 1024).spawn(work);
    thread.unwrap().join().unwrap();
}

const SHAPES: [(&str, &str); 2] = [("[", "]"), ("{\"a\":", "}")];

/// A thread of tokio has 2 MiB.
#[test]
fn values_up_to_a_depth_are_taken_and_shown() {
    on_a_stack_of(2048, || {
        for shape in SHAPES {
            let text = nested(text::LEVELS, shape);
            let read: Open = from_str(&text).unwrap();
            assert_eq!(to_string(&read).unwrap(), text);
            assert_eq!(from_value::<Open>(to_value(&read).unwrap()).unwrap(), read);
        }
        // Another program may have stored what is deeper.
        let deep = |levels: usize| (1..levels).fold(Bson::Int32(1), |within, _| Bson::Array(vec![within]));
        let any = deep(text::STORED_LEVELS);
        assert!(to_string(&Open { any }).is_ok());
        let any = deep(text::STORED_LEVELS + 1);
        let refused = to_string(&Open { any }).unwrap_err().to_string();
        assert!(refused.contains("is nested too deep: at most 100"), "{refused}");
    });
}

/// A deeper value is refused before anything recurs into it.
#[test]
fn deeper_values_are_refused_on_the_smallest_stack() {
    on_a_stack_of(256, || {
        let is_refused = |read: Result<Open>, levels: usize| match read {
            Err(Error::Json { values }) => {
                let found: Vec<_> = values
                    .iter()
                    .map(|bad| (bad.pointer.as_str(), bad.problem))
                    .collect();
                assert_eq!(found, [("", ValueProblem::Bound)], "{levels}");
                assert!(values[0].rule.contains("at most 50"), "{}", values[0]);
            }
            other => panic!("{levels}: {other:?}"),
        };
        for shape in SHAPES {
            for levels in [text::LEVELS + 1, 90, 127, 128, 10_000, 1_000_000] {
                is_refused(from_str(&nested(levels, shape)), levels);
                is_refused(
                    reader::<Open>().from_slice(nested(levels, shape).as_bytes()),
                    levels,
                );
            }
        }
        let tree = (0..text::LEVELS).fold(json!(1), |within, _| json!([within]));
        is_refused(from_value(json!({ "any": tree })), text::LEVELS + 1);
        is_refused(from_str(&"[".repeat(1_000_000)), 1_000_000);
        // Within a text, no bracket counts.
        let quoted = json!({ "any": "[{\\\"".repeat(10_000) }).to_string();
        assert!(from_str::<Open>(&quoted).is_ok());
        assert!(from_str::<Vec<Open>>(&format!("[{}]", nested(4, ("[", "]")))).is_ok());
    });
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[embed(crate = "crate")]
struct Priced {
    #[field(max_len = 20)]
    name: String,
    price: Option<Decimal128>,
    #[embed(max = 3, key_len = 10)]
    map: BTreeMap<String, i32>,
    #[field(opaque)]
    any: Raw,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[embed(crate = "crate")]
#[serde(untagged)]
enum Tree {
    Leaf(i32),
    Pair(#[embed(max = 5, depth = 50)] Vec<Tree>),
    Other(#[embed(max = 6, depth = 50)] std::collections::VecDeque<Tree>),
}

fn mistakes<T: FromJson + std::fmt::Debug>(text: &str) -> Vec<String> {
    match from_str::<T>(text) {
        Err(Error::Json { values }) => values.iter().map(ToString::to_string).collect(),
        read => panic!("{read:?}"),
    }
}

#[test]
fn a_name_that_stands_twice_is_a_mistake_wherever_it_stands() {
    let text = |map: &str, any: &str| format!(r#"{{ "name": "a", "map": {map}, "any": {any} }}"#);
    assert!(from_str::<Priced>(&text("{}", "{}")).is_ok());
    for (text, pointer) in [
        (
            r#"{ "name": "a", "name": "a", "map": {}, "any": {} }"#.to_owned(),
            "/name",
        ),
        (text(r#"{ "k": 1, "k": 2 }"#, "{}"), "/map/k"),
        (
            text("{}", r#"{ "a": [{ "b": 1, "c": 2, "b": 1 }] }"#),
            "/any/a/0/b",
        ),
    ] {
        assert_eq!(
            mistakes::<Priced>(&text),
            [format!("`{pointer}` stands twice in one object")]
        );
        let within = serde_json::from_str::<Json<Priced>>(&text);
        assert!(within.unwrap_err().to_string().contains("stands twice"), "{text}");
    }
}

#[test]
fn a_decimal_has_digits() {
    let text = |price: &str| format!(r#"{{ "name": "a", "price": "{price}", "map": {{}}, "any": {{}} }}"#);
    for price in ["0", "-1.50", "1E+3", ".5", "NaN", "-Infinity"] {
        let read: Priced = from_str(&text(price)).unwrap();
        let again = to_string(&read).unwrap();
        assert_eq!(
            from_str::<Priced>(&again).unwrap().price.unwrap().bytes(),
            read.price.unwrap().bytes()
        );
    }
    for price in [
        "",
        "-",
        ".",
        "e5",
        "5e",
        "--5",
        "nan",
        "inf",
        "1 ",
        &"é".repeat(40),
        &"9".repeat(7_000),
    ] {
        let said = mistakes::<Priced>(&text(price));
        assert_eq!(said.len(), 1, "{price}: {said:?}");
        assert!(said[0].starts_with("`/price` must be a decimal"), "{said:?}");
        let typed =
            format!(r#"{{ "name": "a", "map": {{}}, "any": {{ "n": {{ "$numberDecimal": "{price}" }} }} }}"#);
        assert_eq!(mistakes::<Priced>(&typed).len(), 1, "{price}");
    }
}

/// However large a text is, its mistakes are few and short.
#[test]
fn the_mistakes_of_a_text_are_bounded() {
    let entries = |entry: &dyn Fn(usize) -> String| (0..100_000).map(entry).collect::<Vec<_>>().join(",");
    let map = entries(&|n| format!(r#""k{n}": "x""#));
    let text = format!(r#"{{ "name": "a", "map": {{ {map} }}, "any": {{}} }}"#);
    assert_eq!(mistakes::<Priced>(&text).len(), faults::MOST);
    let twice = entries(&|n| format!(r#""k{}": 1"#, n % 2));
    let text = format!(r#"{{ "name": "a", "map": {{ {twice} }}, "any": {{}} }}"#);
    assert_eq!(mistakes::<Priced>(&text).len(), faults::MOST);
    let long = "k".repeat(100_000);
    let text = format!(r#"{{ "name": "a", "map": {{ "{long}": "x" }}, "any": {{ "{long}.": 1 }} }}"#);
    let said = mistakes::<Priced>(&text);
    assert!(said.iter().all(|said| said.len() < 1_500), "{said:?}");
    // Each level has two variants that may fit.
    let tree = format!("{}\"x\"{}", "[".repeat(45), "]".repeat(45));
    assert!(!mistakes::<Tree>(&tree).is_empty());
}
