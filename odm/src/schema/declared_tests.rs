use super::*;
use crate::expansion_fixture::{FIELD, Person};
use crate::model::document::IndexKey;
use crate::model::shape::{EnumShape, StructShape, Tagging, VariantMeta};
use mongodb::bson::{Document, RawDocumentBuf, doc, rawdoc};

const fn plain(name: &'static str, shape: fn() -> Shape) -> FieldMeta {
    FieldMeta {
        rust: name,
        name,
        shape,
        ..FIELD
    }
}

const fn struct_of(fields: &'static [FieldMeta]) -> StructShape {
    StructShape {
        ty: None,
        name: "Thing",
        fields,
        deny_unknown: false,
    }
}

const ROW: StructShape = struct_of(&[plain("x", || Shape::String), plain("language", || Shape::Bool)]);

const fn variant(name: &'static str) -> VariantMeta {
    VariantMeta {
        name,
        json: None,
        body: Body::Unit,
    }
}

const LANGUAGE: EnumShape = EnumShape {
    ty: None,
    name: "Language",
    tagging: Tagging::External,
    variants: &[variant("german"), variant("en")],
};
const MOOD: EnumShape = EnumShape {
    ty: None,
    name: "Mood",
    tagging: Tagging::External,
    variants: &[variant("german"), variant("klingon")],
};

const THING: StructShape = struct_of(&[
    plain("_id", || Shape::ObjectId),
    plain("title", || Shape::String),
    plain("tags", || Shape::Array(|| Shape::String)),
    plain("some", || Shape::Optional(|| Shape::Array(|| Shape::String))),
    plain("home", || Shape::Optional(|| Shape::Struct(&ROW))),
    plain("rows", || Shape::Array(|| Shape::Struct(&ROW))),
    plain("number", || Shape::Double),
    plain("text", || Shape::String),
    plain("place", || Shape::Any),
    plain("pair", || Shape::Array(|| Shape::Double)),
    plain("good", || Shape::Enum(&LANGUAGE)),
    plain("bad", || Shape::Enum(&MOOD)),
    plain("maybe", || Shape::Optional(|| Shape::String)),
    FieldMeta {
        skips_none: true,
        ..plain("skipped", || Shape::Optional(|| Shape::String))
    },
]);

const SPOKEN: StructShape = struct_of(&[
    plain("_id", || Shape::ObjectId),
    plain("title", || Shape::String),
    plain("language", || Shape::String),
]);

macro_rules! on {
    ($($path:literal: $kind:expr),*) => {
        IndexMeta::on(const { &[$(IndexKey { path: || $path, kind: $kind }),*] })
    };
}

use IndexKind::{Ascending, Descending, Hashed};
const TEXT: IndexKind = IndexKind::Text { weight: 1 };

fn of(shape: fn() -> Shape, index: IndexMeta) -> Vec<String> {
    problems(&DocumentMeta {
        shape,
        indexes: Box::leak(Box::new([index])),
        ..*<Person as crate::Document>::META
    })
}

fn found(index: IndexMeta) -> Vec<String> {
    of(|| Shape::Struct(&THING), index)
}

#[test]
fn a_hashed_index_is_on_no_array() {
    for (index, array) in [
        (on!("tags": Hashed), Some("tags")),
        (on!("some": Hashed), Some("some")),
        (on!("rows.x": Hashed), Some("rows")),
        (on!("title": Ascending, "rows.x": Hashed), Some("rows")),
        (on!("home.x": Hashed), None),
        (on!("title": Hashed), None),
        (on!("_id": Hashed), None),
        (on!("tags": Ascending), None),
        (on!("unknown.a": Hashed), None),
    ] {
        let problems = found(index);
        match array {
            Some(array) => {
                let said = format!("`{array}` is an array: MongoDB would refuse every document that has one");
                assert!(problems[0].contains(&said), "{problems:?}");
            }
            None => assert_eq!(problems, [""; 0], "{index:?}"),
        }
    }
}

/// "Can't extract geo keys", 16755, of each insert.
#[test]
fn a_geospatial_index_is_on_places() {
    for path in ["title", "number", "tags", "some", "home.x"] {
        let index = IndexMeta::on(Box::leak(Box::new([IndexKey {
            path: match path {
                "title" => || "title",
                "number" => || "number",
                "tags" => || "tags",
                "some" => || "some",
                _ => || "home.x",
            },
            kind: IndexKind::Geo,
        }])));
        let problems = found(index);
        let said = format!("is geospatial, and `{path}` holds no places");
        assert!(problems.len() == 1 && problems[0].contains(&said), "{problems:?}");
    }
    for index in [
        on!("place": IndexKind::Geo),
        on!("pair": IndexKind::Geo, "title": Ascending),
        on!("home": IndexKind::Geo),
        on!("unknown": IndexKind::Geo),
    ] {
        assert_eq!(found(index), [""; 0]);
    }
}

#[test]
fn a_text_index_is_on_texts() {
    let problems = found(on!("title": TEXT, "number": TEXT));
    assert!(
        problems.len() == 1 && problems[0].contains("is of texts, and `number` holds none"),
        "{problems:?}"
    );
    assert_eq!(found(on!("number": Ascending, "tags": TEXT)), [""; 0]);
    assert_eq!(found(on!("unknown": TEXT)), [""; 0]);
}

/// `{ _id: -1 }` is 2 BadValue on `mongod`, `{ _id: 1 }` with `unique` 197 InvalidIndexSpecificationOption (server-facts).
#[test]
fn the_index_on_the_id_is_declared_plainly_or_not_at_all() {
    let id = on!("_id": Ascending);
    for refused in [
        on!("_id": Descending),
        IndexMeta { unique: true, ..id },
        IndexMeta { sparse: true, ..id },
        IndexMeta {
            expire_after: Some(1),
            ..id
        },
    ] {
        let problems = found(refused);
        assert!(
            problems[0].contains("the index of `Person` on `_id` takes no options"),
            "{problems:?}"
        );
    }
    for taken in [
        id,
        IndexMeta {
            unique: true,
            ..on!("_id": Descending, "title": Ascending)
        },
    ] {
        assert_eq!(found(taken), [""; 0]);
    }
}

fn ne() -> crate::Result<RawDocumentBuf> {
    Ok(rawdoc! { "state": { "$ne": "done" } })
}

fn eq() -> crate::Result<RawDocumentBuf> {
    Ok(rawdoc! { "state": { "$eq": "done" } })
}

#[test]
fn a_filter_that_no_server_takes_is_found() {
    let partial = |partial| IndexMeta {
        partial: Some(partial),
        ..on!("title": Ascending)
    };
    assert_eq!(found(partial(eq)), [""; 0]);
    let problems = found(partial(ne));
    assert!(
        problems[0].starts_with(
            "the index of `Person` on `title`: no server takes `ne` of `state` in the filter of a partial index, which is made of `eq`"
        ),
        "{problems:?}"
    );
    assert!(
        problems[0].contains("Write which values the documents of the index have: `eq(…)`"),
        "{problems:?}"
    );
}

/// 17261 and 17262 on `mongod` (server-facts); bigchaindb/bigchaindb #1670, VassilisPallas/mongoose-fuzzy-searching #104.
#[test]
fn a_text_index_takes_the_language_from_a_field_that_holds_languages() {
    let of_field = |name: &'static str| IndexMeta {
        language_override: Some(name),
        ..on!("title": TEXT)
    };
    for (index, said) in [
        (on!("title": TEXT), None),
        (on!("home.x": TEXT), Some("from the field `home.language`")),
        (
            on!("title": TEXT, "rows.x": TEXT),
            Some("from the field `rows.language`"),
        ),
        (of_field("nothing"), None),
        (of_field("text"), None),
        (of_field("good"), None),
        (of_field("skipped"), None),
        (of_field("number"), Some("from the field `number`, which is a")),
        (
            of_field("bad"),
            Some("may be `klingon`, which is none of `danish`"),
        ),
        (of_field("maybe"), Some("is stored as `null` where it is `None`")),
        (
            IndexMeta {
                default_language: Some("klingon"),
                ..on!("title": TEXT)
            },
            Some("the default language `klingon`"),
        ),
        (
            IndexMeta {
                default_language: Some("de"),
                ..on!("title": TEXT)
            },
            None,
        ),
    ] {
        let problems = found(index);
        match said {
            Some(said) => assert!(problems.len() == 1 && problems[0].contains(said), "{problems:?}"),
            None => assert_eq!(problems, [""; 0], "{index:?}"),
        }
    }
    let spoken = |index| of(|| Shape::Struct(&SPOKEN), index);
    let problems = spoken(on!("title": TEXT));
    assert!(
        problems[0].contains("`language_override = \"language\"` if it is this one"),
        "{problems:?}"
    );
    assert_eq!(spoken(of_field("language")), [""; 0]);
    assert_eq!(spoken(of_field("text_language")), [""; 0]);
    assert_eq!(spoken(on!("title": Ascending)), [""; 0]);
}

#[test]
fn the_options_of_texts_are_sent_and_compared() {
    let german = IndexMeta {
        default_language: Some("german"),
        language_override: Some("lang"),
        ..on!("title": TEXT)
    };
    let german = Index::of(&german).unwrap();
    let spec = german.spec();
    assert_eq!(spec.get_str("default_language").ok(), Some("german"));
    assert_eq!(spec.get_str("language_override").ok(), Some("lang"));
    let listed = |language: &str, field: &str| -> Document {
        doc! {
            "key": { "_fts": "text", "_ftsx": 1 }, "name": "title_text", "weights": { "title": 1 },
            "default_language": language, "language_override": field, "textIndexVersion": 3,
        }
    };
    use crate::schema::index::Fit;
    assert_eq!(german.compare(&listed("german", "lang"), None), Fit::Same);
    assert_eq!(german.compare(&listed("de", "lang"), None), Fit::Same);
    let Fit::Differs(how) = german.compare(&listed("english", "language"), None) else {
        panic!("they differ");
    };
    assert_eq!(
        how,
        [
            "its default language is english, declared german",
            "it takes the language from language, declared lang"
        ]
    );
}
