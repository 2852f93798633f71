//! The bounds that are compared while a document is written, and the walk over it, agree: what the first lets pass breaks nothing.

use super::*;
use crate::model::meta::value_rules::{Choice, Normalize, ValueRules, email};
use crate::model::path::Fielded;
use crate::model::shape::{Bounds, Number, StructShape};
use crate::model::stored::{
    Bound, Done, Field, Fields, Input, Limit, Name, Out, Read, Stored, embedded, within, write,
};
use crate::model::value::{ByParts, Compared, Value};
use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{Binary, Decimal128};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// A text with bounds of its own, and as the field of another struct those of the field too.
#[derive(Clone, Debug)]
struct Title(String);

const TITLE: Bounds = Bounds {
    max_len: Some(4),
    ..Bounds::NONE
};

impl Stored for Title {
    fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
        const OWN: Limit<'static> = Limit::of(&TITLE);
        within(bound, Some(&OWN), |bound| self.0.write(name, bound, out))
    }
    fn read(kind: u8, input: &mut Input<'_>) -> Read<Self> {
        String::read(kind, input).map(Title)
    }
}

impl Compared for Title {
    type As = ByParts;
}

impl Value for Title {
    const SIZE: crate::model::size::Size = crate::model::size::Size::UNBOUNDED;
    fn shape() -> Shape {
        Shape::Bounded(const { &FieldMeta::value::<String>("0", "0", "String", TITLE) })
    }
}

/// A struct that contains itself.
#[derive(Clone, Debug)]
struct Tree {
    label: i32,
    below: Vec<Tree>,
}

const BELOW: Bounds = Bounds {
    max_items: Some(2),
    depth: Some(2),
    ..Bounds::NONE
};

impl Fields for Tree {
    fn write_fields(&self, out: &mut Out) -> Done {
        const LABEL: Field<i32> = Field::value("label\0", None);
        const BELOW: Field<Vec<Tree>> =
            Field::stored("below\0", Some(&Limit::of(&super::written_tests::BELOW)));
        out.by(&self.label, const { &LABEL })?;
        out.by(&self.below, const { &BELOW })
    }
}

impl Stored for Tree {
    fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
        embedded(self, name, bound, out)
    }
    fn read(_: u8, _: &mut Input<'_>) -> Read<Self> {
        Err(crate::model::stored::Fault::missing())
    }
}

impl Fielded for Tree {
    const FIELDS: &'static [FieldMeta] = &[
        FieldMeta::value::<i32>("label", "label", "i32", Bounds::NONE),
        FieldMeta {
            shape: || Shape::Array(Tree::shape),
            bounds: BELOW,
            ..FieldMeta::value::<i32>("below", "below", "Vec<Tree>", Bounds::NONE)
        },
    ];
}

impl Tree {
    fn shape() -> Shape {
        Shape::Struct(
            const {
                &StructShape {
                    ty: None,
                    name: "Tree",
                    fields: Tree::FIELDS,
                    deny_unknown: false,
                }
            },
        )
    }
}

const WORD: &ValueRules = &ValueRules {
    one_of: &[Choice::Text("ab"), Choice::Text("c")],
    normalize: Normalize {
        trim: true,
        lowercase: true,
    },
    ..ValueRules::NONE
};
const EVEN: &ValueRules = &ValueRules {
    multiple_of: Some(2),
    ..ValueRules::NONE
};
const MAIL: &ValueRules = &ValueRules {
    pattern: Some(email),
    ..ValueRules::NONE
};

macro_rules! all {
    ($($field:ident: $ty:ty = $kind:ident, { $($bound:ident: $value:expr),* };)*) => {
        #[derive(Clone, Debug)]
        struct All { $($field: $ty,)* tree: Option<Tree> }

        impl Fielded for All {
            const FIELDS: &'static [FieldMeta] = &[
                $(FieldMeta::$kind::<$ty>(
                    stringify!($field),
                    stringify!($field),
                    stringify!($ty),
                    Bounds { $($bound: $value,)* ..Bounds::NONE },
                ),)*
                FieldMeta {
                    shape: || Shape::Optional(Tree::shape),
                    ..FieldMeta::value::<i32>("tree", "tree", "Option<Tree>", Bounds::NONE)
                },
            ];
        }

        impl Fields for All {
            fn write_fields(&self, out: &mut Out) -> Done {
                $({
                    const FIELD: Field<$ty> = Field::stored(
                        concat!(stringify!($field), "\0"),
                        Some(const { &Limit::of(&Bounds { $($bound: $value,)* ..Bounds::NONE }) }),
                    );
                    out.by(&self.$field, const { &FIELD })?;
                })*
                const TREE: Field<Option<Tree>> = Field::stored("tree\0", None);
                out.by(&self.tree, const { &TREE })
            }
        }
    };
}

all! {
    text: String = value, { max_len: Some(5), min_len: Some(2) };
    title: Option<Title> = value, { min_len: Some(2) };
    word: String = value, { rules: Some(WORD) };
    mail: Option<String> = value, { rules: Some(MAIL) };
    tags: Vec<String> = items, { max_items: Some(2), max_len: Some(3) };
    unique: Vec<i32> = items, { max_items: Some(3), unique_items: true };
    set: BTreeSet<i64> = items, { max_items: Some(3), rules: Some(EVEN) };
    map: BTreeMap<String, i32> = items, { max_items: Some(2), key_len: Some(3), max: Some(Number::Int(5)) };
    int: i32 = value, { min: Some(Number::Int(-2)), max: Some(Number::Float(2.5)) };
    double: f64 = value, { min: Some(Number::Int(0)), max: Some(Number::Float(1.5)) };
    long: Option<i64> = value, { rules: Some(EVEN) };
    decimal: Option<Decimal128> = value, { max: Some(Number::Int(5)) };
    bytes: Binary = value, { max_len: Some(2) };
    pair: [i32; 2] = value, { max: Some(Number::Int(5)) };
    tuple: (i32, String) = value, { max_len: Some(3) };
    letter: char = value, { max_len: Some(1) };
}

static SHAPE: StructShape = StructShape {
    ty: None,
    name: "All",
    fields: All::FIELDS,
    deny_unknown: false,
};

fn trees() -> impl Strategy<Value = Tree> {
    let leaf = any::<i32>().prop_map(|label| Tree { label, below: vec![] });
    leaf.prop_recursive(4, 8, 3, |below| {
        vec(below, 0..3).prop_map(|below| Tree { label: 0, below })
    })
}

/// A document that keeps all bounds.
fn kept() -> All {
    All {
        text: "abc".to_owned(),
        title: Some(Title("abcd".to_owned())),
        word: " AB ".to_owned(),
        mail: Some("a@b.example".to_owned()),
        tags: vec!["äöü".to_owned()],
        unique: vec![1],
        set: BTreeSet::from([2, 4]),
        map: BTreeMap::from([("abc".to_owned(), 5)]),
        int: 2,
        double: 1.5,
        long: Some(-4),
        decimal: None,
        bytes: Binary {
            subtype: BinarySubtype::Generic,
            bytes: vec![1, 2],
        },
        pair: [5, 0],
        tuple: (9, "abc".to_owned()),
        letter: 'ä',
        tree: None,
    }
}

/// Whether the encoder lets a document pass, and whether the walk does.
fn verdicts(all: &All) -> (bool, bool) {
    let mut out = Out::default();
    write(all, &mut out).expect("is written");
    let passes = !out.broken();
    let bytes = out.into_bytes();
    let raw = RawDocument::from_bytes(&bytes).expect("is a document");
    let violations = violations(Shape::Struct(&SHAPE), raw);
    (passes, violations.is_empty())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_passes_while_it_is_written_breaks_nothing(
        texts in (".{0,7}", prop::option::of("[a-c]{0,6}"), "[ aBc]{0,4}", vec("[aä]{0,4}", 0..4)),
        numbers in (-4..4_i32, -1.0..3.0_f64, prop::option::of(-4..4_i64), [0..7_i32, 0..7_i32]),
        unique in vec(0..4_i32, 0..4),
        set in btree_set(0..6_i64, 0..4),
        map in btree_map("[a.$]{0,4}", 0..7_i32, 0..4),
        bytes in vec(any::<u8>(), 0..4),
        tree in trees(),
        change in 0..14_usize,
    ) {
        let mut all = kept();
        let (text, title, word, tags) = texts;
        let (int, double, long, pair) = numbers;
        match change {
            0 => all.text = text,
            1 => all.title = title.map(Title),
            2 => all.word = word,
            3 => all.mail = Some(text),
            4 => all.tags = tags,
            5 => all.unique = unique,
            6 => all.set = set,
            7 => all.map = map,
            8 => all.int = int,
            9 => all.double = double,
            10 => all.long = long,
            11 => (all.pair, all.tuple) = (pair, (int, word)),
            12 => all.bytes.bytes = bytes,
            _ => all.tree = Some(tree),
        }
        let (passes, fits) = verdicts(&all);
        prop_assert!(fits || !passes, "{:?}", all);
        // What needs no walk is not left to it.
        if ![5, 13].contains(&change) {
            prop_assert_eq!(fits, passes, "{:?}", all);
        }
    }
}

#[test]
fn what_only_the_walk_knows_is_left_to_it() {
    let mut unsure = kept();
    assert_eq!(verdicts(&unsure), (true, true));
    unsure.decimal = Some("1".parse().expect("a decimal"));
    assert_eq!(verdicts(&unsure), (false, true));
}
