//! The constants of the derives, against the values that serde and BSON make.

use mongodb::bson::{self, DateTime, oid::ObjectId};
use odm::__private::stored::write_alone;
use odm::__private::{Body, Codec, Fielded, Managed, Shape, Value, Varied};
use odm::Document as _;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "people", timestamps, version, index(fields(name, -addresses.city), name = "by_city"))]
pub struct Person {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[field(max_len = 100)]
    pub name: String,
    #[index(unique)]
    pub ssn: String,
    #[embed(max = 10)]
    pub addresses: Vec<Address>,
    pub home: Option<Address>,
    #[field(min = 0, max = 150)]
    pub age: i32,
    pub created_at: DateTime,
    pub updated_at: DateTime,
    pub version: i64,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Address {
    pub street: String,
    #[field(max_len = 50)]
    pub city: String,
}

#[derive(Projection, Deserialize)]
#[projection(of = Person)]
#[allow(dead_code)] // only its metadata is looked at
pub struct PersonName {
    pub name: String,
    pub age: i32,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub enum Payment {
    Cash,
    Card { number: String },
    Bank(i32),
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "pages")]
pub struct Page<T> {
    #[serde(rename = "_id")]
    pub id: i32,
    pub item: T,
    #[embed(max = 3)]
    pub items: Vec<T>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Node {
    #[embed(max = 4, depth = 5)]
    pub children: Vec<Node>,
    #[embed(depth = 5)]
    pub next: Option<Box<Node>>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Row(#[embed(max = 5)] pub Vec<f64>);

#[odm_tests::test]
fn a_document_knows_its_fields() {
    let names: Vec<_> = Person::FIELDS.iter().map(|field| field.name).collect();
    assert_eq!(
        names,
        [
            "_id",
            "name",
            "ssn",
            "addresses",
            "home",
            "age",
            "created_at",
            "updated_at",
            "version"
        ]
    );
    let p = Person::paths();
    assert_eq!(p.addresses.city.name(), "addresses.city");
    let now = DateTime::from_millis(5);
    let person = Person::from_new(
        NewPerson {
            name: "Kate".into(),
            ssn: "1".into(),
            addresses: vec![],
            home: None,
            age: 3,
        },
        now,
    );
    assert_eq!(
        (person.created_at, person.updated_at, person.version),
        (now, now, 1)
    );
    assert_eq!(Person::FIELDS[0].managed, Managed::Id);
    assert_eq!(<PersonName as odm::Projection<Person>>::fields(), ["name", "age"]);
    assert_eq!(Page::<i32>::paths().items.name(), "items");
    assert_eq!(Row::SIZE.with(None), Some(5 + 5 * 11));
}

/// The names of the metadata are those that serde stores.
#[track_caller]
fn names_are_stored<T: Fielded + Serialize>(value: &T) {
    let stored = bson::serialize_to_document(value).expect("encodes");
    let declared: Vec<_> = T::FIELDS.iter().map(|field| field.name).collect();
    let keys: Vec<_> = stored.keys().collect();
    assert_eq!(keys, declared);
}

macro_rules! cases {
    ($($ident:ident $enum:ident $case:literal;)*) => {$(
        #[derive(Embed, Serialize, Deserialize, Default)]
        #[serde(rename_all = $case)]
        #[allow(dead_code)]
        struct $ident {
            name: i32,
            two_words: i32,
            with_3_parts: i32,
            _led: i32,
            r#type: i32,
        }

        #[derive(Embed, Serialize, Deserialize)]
        #[serde(rename_all = $case, rename_all_fields = $case)]
        enum $enum {
            One,
            TwoWords,
            HTTPServer,
            Fields { two_words: i32 },
        }
    )*

        #[odm_tests::test]
        fn renamed_fields_have_the_stored_names() {
            $(names_are_stored(&$ident::default());)*
        }

        #[odm_tests::test]
        fn renamed_variants_have_the_stored_names() {
            $(
                let shape = <$enum as Varied>::SHAPE;
                for (variant, value) in shape.variants.iter().zip([$enum::One, $enum::TwoWords, $enum::HTTPServer]) {
                    assert_eq!(bson::serialize_to_bson(&value).expect("encodes"), bson::Bson::from(variant.name));
                }
                let Body::Struct(fields) = shape.variants[3].body else { panic!("has fields") };
                let stored = bson::serialize_to_document(&$enum::Fields { two_words: 1 }).expect("encodes");
                let content = stored.get_document(shape.variants[3].name).expect("is stored under the variant's name");
                assert!(content.contains_key(fields.fields[0].name));
            )*
        }
    };
}

cases! {
    Lower LowerEnum "lowercase";
    Upper UpperEnum "UPPERCASE";
    Pascal PascalEnum "PascalCase";
    Camel CamelEnum "camelCase";
    Snake SnakeEnum "snake_case";
    ScreamingSnake ScreamingSnakeEnum "SCREAMING_SNAKE_CASE";
    Kebab KebabEnum "kebab-case";
    ScreamingKebab ScreamingKebabEnum "SCREAMING-KEBAB-CASE";
}

macro_rules! taggings {
    ($($ident:ident, [$($attr:tt)*];)*) => {
        $(
            #[derive(Embed, Serialize, Deserialize)]
            #[serde($($attr)*)]
            enum $ident {
                Unit,
                Fields { number: i64, flag: bool },
                Newtype(Flags),
            }
        )*

        /// The size that the compiler computes is the size of the largest value, for every tagging.
        #[odm_tests::test]
        fn sizes_of_enums_are_those_of_bson() {
            $(
                let values = [
                    $ident::Unit,
                    $ident::Fields { number: 1, flag: true },
                    $ident::Newtype(Flags { first: true, second: 1 }),
                ];
                let sizes = values.map(|value| {
                    let document = bson::serialize_to_document(&Holder { v: value }).expect("encodes");
                    let raw = bson::RawDocumentBuf::try_from(&document).expect("encodes");
                    raw.as_bytes().len() as u64 - 8
                });
                assert_eq!(<$ident as Value>::SIZE.with(None), sizes.into_iter().max(), stringify!($ident));
            )*
        }
    };
}

#[derive(Serialize)]
struct Holder<T> {
    v: T,
}

#[derive(Embed, Serialize, Deserialize)]
struct Flags {
    first: bool,
    second: i64,
}

taggings! {
    External, [rename_all = "camelCase"];
    Internal, [tag = "kind"];
    Adjacent, [tag = "kind", content = "value"];
    Untagged, [untagged];
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
enum Level {
    Low,
    Middle,
}

#[derive(Embed, Serialize, Deserialize)]
struct Pair(i32, Level);

#[odm_tests::test]
fn strings_and_tuples_have_sizes() {
    assert_eq!(Level::SIZE.with(None), Some(5 + 6));
    let document = bson::serialize_to_document(&Holder {
        v: Pair(1, Level::Middle),
    })
    .expect("encodes");
    let raw = bson::RawDocumentBuf::try_from(&document).expect("encodes");
    assert_eq!(Pair::SIZE.with(None), Some(raw.as_bytes().len() as u64 - 8));
}

mod text {
    use serde::{Deserialize, Deserializer, Serializer};
    pub fn serialize<S: Serializer>(value: &i32, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i32, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

mod renamed {
    pub use odm as database;
}

#[derive(Document, Serialize, Deserialize)]
#[document(
    collection = "all",
    crate = "renamed::database",
    new(derive(Clone, Debug, Serialize, Deserialize))
)]
#[serde(rename_all = "camelCase")]
struct All {
    #[serde(rename = "_id")]
    the_id: i32,
    #[serde(flatten)]
    flat: Flat,
    #[serde(with = "text")]
    #[field(stored = String, max_len = 5)]
    as_text: i32,
    #[serde(default, alias = "old")]
    by_default: i32,
    #[serde(skip)]
    not_stored: Vec<String>,
    maybe: Option<i32>,
    r#type: String,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
struct Flat {
    in_parent: i32,
    part: Inner,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
struct Inner {
    x: i32,
}

fn codec<T, R, P, C: Codec<T>>(_: odm::query::Path<R, T, P, C>, value: &T) -> bson::Bson {
    let bytes = write_alone(|name, out| C::write(value, name, None, out)).expect("encodes");
    let alone: bson::Document = bson::deserialize_from_slice(&bytes).expect("is BSON");
    alone.get("v").cloned().expect("holds the value")
}

#[odm_tests::test]
fn serde_attributes_are_followed() {
    let p = All::paths();
    assert_eq!(p.flat.in_parent.name(), "in_parent");
    assert_eq!(p.flat.part.x.name(), "part.x");
    assert_eq!(p.r#type.name(), "type");
    assert_eq!(p.by_default.name(), "byDefault");
    assert_eq!(codec(p.as_text, &7), bson::Bson::from("7"));
    let required: Vec<_> = All::FIELDS.iter().map(|field| field.required).collect();
    assert_eq!(required, [true, true, true, false, false, true]);
    assert_eq!(All::FIELDS[3].aliases, ["old"]);
    assert_eq!((All::FIELDS[5].rust, All::FIELDS[5].name), ("type", "type"));
    assert!(matches!((All::FIELDS[2].shape)(), Shape::String));

    let new: NewAll = bson::deserialize_from_document(bson::doc! {
        "_id": 3, "in_parent": 1, "part": { "x": 2 }, "asText": "8", "maybe": null, "type": "t",
    })
    .expect("the new struct reads what serde's attributes say");
    let all = All::from_new(new.clone(), DateTime::from_millis(0));
    assert_eq!((all.the_id, all.as_text, all.by_default), (3, 8, 0));
    assert!(all.not_stored.is_empty());
    let stored = bson::serialize_to_document(&all).expect("encodes");
    assert_eq!(stored, bson::serialize_to_document(&new).expect("encodes"));
}

#[derive(Embed, Serialize, Deserialize)]
struct Grid<T, const N: usize>
where
    T: Copy,
{
    #[embed(max = 2)]
    cells: Vec<T>,
    fixed: bson::oid::ObjectId,
    #[serde(skip)]
    _size: std::marker::PhantomData<[(); N]>,
}

#[odm_tests::test]
fn type_parameters_are_kept_by_the_derives() {
    assert_eq!(
        <Grid<bool, 3>>::SIZE.with(None),
        Some(5 + (2 + 5 + (5 + 2 * 4)) + (2 + 5 + 12))
    );
    const { assert!(<Grid<bool, 3> as Value>::DOCUMENT) };
}

/// Types with one name: those of a generic one, and two of different modules.
mod same_names {
    use odm::json::{JsonSchema as _, Schemas};
    use odm::prelude::*;
    use odm::types::{Compared, Value};
    use serde::{Deserialize, Serialize};

    #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
    pub struct Row<T: Value + Compared> {
        value: T,
    }

    #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
    pub enum Either<T: Value + Compared> {
        One(T),
        Two { value: T },
    }

    mod other {
        use super::*;

        #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
        pub struct Place {
            pub zip: i32,
        }
    }

    #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
    pub struct Place {
        city: String,
    }

    /// A type that contains itself, within another one of its name.
    #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
    pub struct Node<T: Value + Compared> {
        value: T,
        #[embed(max = 3, depth = 1)]
        below: Vec<Node<T>>,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "tables")]
    pub struct Table {
        #[serde(rename = "_id")]
        pub id: i32,
        number: Row<f64>,
        text: Row<String>,
        nested: Row<Row<i32>>,
        maybe: Row<Option<Place>>,
        either: Either<i32>,
        or: Either<String>,
        here: Place,
        there: other::Place,
        tree: Node<Node<i32>>,
    }

    #[odm_tests::test]
    fn each_type_has_a_schema_of_its_own() {
        let schema = Table::json_schema();
        let of = |field: &str, part: &str| {
            let reference = schema["properties"][field]["$ref"].as_str().unwrap();
            schema
                .pointer(&format!("{}{part}", &reference[1..]))
                .unwrap_or_else(|| panic!("{schema:#}"))
                .clone()
        };
        assert_eq!(of("number", "/properties/value/type"), "number");
        assert_eq!(of("text", "/properties/value/type"), "string");
        assert_eq!(of("nested", "/properties/value/$ref"), "#/$defs/Row_i32");
        assert_eq!(of("either", "/oneOf/0/properties/One/type"), "integer");
        assert_eq!(of("or", "/oneOf/0/properties/One/type"), "string");
        assert_eq!(of("here", "/properties/city/type"), "string");
        assert_eq!(of("there", "/properties/zip/type"), "integer");
        let mut names: Vec<&str> = schema["$defs"]
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "Either_String",
                "Either_i32",
                "Node_Node_i32",
                "Node_i32",
                "Place",
                "Place2",
                "Row_Option_Place",
                "Row_Row_i32",
                "Row_String",
                "Row_f64",
                "Row_i32",
            ]
        );
    }

    /// A name is that of the type, whichever is added first.
    #[odm_tests::test]
    fn a_generic_type_has_the_name_of_its_parameters() {
        let mut schemas = Schemas::openapi();
        assert_eq!(
            schemas.add::<Row<String>>()["$ref"],
            "#/components/schemas/Row_String"
        );
        assert_eq!(schemas.add::<Row<f64>>()["$ref"], "#/components/schemas/Row_f64");
        assert_eq!(
            schemas.add::<Row<String>>()["$ref"],
            "#/components/schemas/Row_String"
        );
        assert_eq!(schemas.into_map().len(), 2);
    }

    /// The depth of the outer type is not taken from the inner one, by the library nor by the validator.
    #[odm_tests::test]
    fn a_type_within_another_one_of_its_name_has_its_own_depth() {
        odm_tests::with_db(async |t| {
            let odm = Odm::new(t.db.clone(), models![Table]).unwrap();
            odm.sync().await.unwrap();
            let leaf = |value| Node {
                value,
                below: Vec::new(),
            };
            let inner = |value| Node {
                value,
                below: vec![leaf(value + 1)],
            };
            let table = Table {
                id: 1,
                number: Row { value: 1.5 },
                text: Row { value: "a".into() },
                nested: Row {
                    value: Row { value: 1 },
                },
                maybe: Row { value: None },
                either: Either::One(1),
                or: Either::Two { value: "b".into() },
                here: Place { city: "Ulm".into() },
                there: other::Place { zip: 89_073 },
                tree: Node {
                    value: inner(1),
                    below: vec![Node {
                        value: inner(3),
                        below: Vec::new(),
                    }],
                },
            };
            let tables = odm.collection::<Table>();
            assert_eq!(tables.insert(table.clone()).await.unwrap(), table);
            let mut deeper = table.clone();
            deeper.id = 2;
            deeper.tree.value.below[0].below = vec![leaf(9)];
            let error = tables.insert(deeper).await.unwrap_err();
            assert!(error.to_string().contains("tree.value.below.0.below"), "{error}");
        });
    }
}
