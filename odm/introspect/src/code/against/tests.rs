//! The structs of a person against changed documents: the patch holds what is new, and what was written stays.

use super::edit;
use super::source::Source;
use super::{Against, What, against, compared};
use crate::design::{Collection, Computed, ComputedKind, Design, Field, Index, Place, Reference};
use crate::kind::Kind;
use bson::doc;
use std::collections::BTreeMap;
use std::path::Path;

const WRITTEN: &str = r#"//! Articles.

use odm::prelude::*;

/// What people read. (A comment by hand.)
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "articles", rename_all = "camelCase")]
#[document(index(fields(author.name)))]
pub struct Article {
    pub id: ObjectId, // made at the insert
    /* The headline. */
    #[field(max_len = 100)]
    pub title: String,
    pub word_count: i32,
    pub author: Writer,
    pub state: State,
    // Written by the first program.
    pub legacy: Option<String>,
    #[embed(max = 10)]
    pub tags: Vec<String>
}

#[derive(Embed, Clone, Debug, PartialEq)]
pub struct Writer { pub name: String, pub mail: String }

#[derive(Embed, Clone, Copy, Debug, PartialEq)]
#[embed(rename_all = "lowercase")]
pub enum State {
    Draft,
    Published
}
"#;

fn field(path: &str, kinds: &[(Kind, u64)], of: u64) -> Field {
    let name = path.rsplit('.').next().unwrap_or(path);
    let name = if name.ends_with(']') { "" } else { name };
    Field {
        path: path.to_owned(),
        name: name.to_owned(),
        present: kinds.iter().map(|(_, number)| number).sum(),
        of,
        kinds: kinds.iter().copied().collect::<BTreeMap<_, _>>(),
        ..Field::default()
    }
}

fn index(keys: bson::Document) -> Index {
    let name: Vec<String> = keys.iter().map(|(name, kind)| format!("{name}_{kind}")).collect();
    Index {
        name: name.join("_"),
        keys,
        ..Index::default()
    }
}

/// The structs that are there.
fn design() -> Design {
    let mut state = field("state", &[(Kind::String, 10)], 10);
    state.enumeration = true;
    state.values = vec![("draft".to_owned(), 4), ("published".to_owned(), 6)];
    let mut author = field("author", &[(Kind::Object, 10)], 10);
    author.fields = vec![
        field("author.name", &[(Kind::String, 10)], 10),
        field("author.mail", &[(Kind::String, 10)], 10),
    ];
    let mut tags = field("tags", &[(Kind::Array, 10)], 10);
    tags.items = Some(Box::new(field("tags[]", &[(Kind::String, 30)], 30)));
    let root = Field {
        present: 10,
        of: 10,
        kinds: BTreeMap::from([(Kind::Object, 10)]),
        fields: vec![
            field("_id", &[(Kind::ObjectId, 10)], 10),
            field("title", &[(Kind::String, 10)], 10),
            field("wordCount", &[(Kind::Int, 10)], 10),
            author,
            state,
            field("legacy", &[(Kind::String, 2)], 10),
            tags,
        ],
        ..Field::default()
    };
    Design {
        database: "blog".to_owned(),
        collections: vec![Collection {
            name: "articles".to_owned(),
            documents: 10,
            read: 10,
            indexes: vec![index(doc! { "_id": 1 }), index(doc! { "author.name": 1 })],
            root,
            ..Collection::default()
        }],
        ..Design::default()
    }
}

fn at<'a>(design: &'a mut Design, name: &str) -> &'a mut Field {
    design.collections[0]
        .root
        .fields
        .iter_mut()
        .find(|field| field.name == name)
        .unwrap()
}

fn run(folder: &Path, design: &Design) -> Against {
    against(folder, design).unwrap()
}

/// Writes what the patch leads to, and compares again.
fn follow(folder: &Path, design: &Design) -> (String, Against) {
    let source = Source::read(folder).unwrap();
    let mut design = design.clone();
    let comparison = compared(&source, &mut design);
    for file in edit::files(&comparison, &design) {
        std::fs::write(folder.join(&file.path), &file.new).unwrap();
    }
    let text = std::fs::read_to_string(folder.join("article.rs")).unwrap();
    (text, run(folder, &design))
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("article.rs"), WRITTEN).unwrap();
    folder
}

fn whats(against: &Against) -> Vec<(What, &str)> {
    against
        .differences
        .iter()
        .map(|one| (one.what, one.path.as_str()))
        .collect()
}

#[test]
fn nothing_differs_where_nothing_changed() {
    let folder = folder();
    let against = run(folder.path(), &design());
    assert_eq!(against, Against::default());
}

#[test]
fn an_added_field_is_in_the_patch_and_the_comments_stay() {
    let folder = folder();
    let mut design = design();
    design.collections[0]
        .root
        .fields
        .insert(3, field("readTime", &[(Kind::Double, 4)], 10));
    let against = run(folder.path(), &design);
    assert_eq!(whats(&against), [(What::Added, "readTime")]);
    assert_eq!(
        against.patch,
        "--- a/article.rs
+++ b/article.rs
@@ -12,6 +12,9 @@
     #[field(max_len = 100)]
     pub title: String,
     pub word_count: i32,
+    // Missing in 6 of 10.
+    #[field(name = \"readTime\", skip_none)]
+    pub read_time: Option<f64>,
     pub author: Writer,
     pub state: State,
     // Written by the first program.
"
    );
    let (text, again) = follow(folder.path(), &design);
    assert_eq!(again, Against::default());
    for line in WRITTEN.lines() {
        assert!(text.contains(line), "{line}");
    }
}

/// The children keep the reference that was written for them.
#[test]
fn an_added_count_names_the_reference_of_the_children() {
    let folder = folder();
    let comments = "use super::Article;\nuse odm::prelude::*;\n\n#[derive(Document)]\n#[document(collection = \"comments\")]\n\
                    pub struct Comment {\n    pub id: ObjectId,\n    #[reference(index = false)]\n    pub article: Ref<Article>,\n}\n";
    std::fs::write(folder.path().join("comment.rs"), comments).unwrap();
    let mut design = design();
    design.collections.push(Collection {
        name: "comments".to_owned(),
        documents: 30,
        read: 30,
        root: Field {
            kinds: BTreeMap::from([(Kind::Object, 30)]),
            fields: vec![
                field("_id", &[(Kind::ObjectId, 30)], 30),
                field("article", &[(Kind::ObjectId, 30)], 30),
            ],
            ..Field::default()
        },
        ..Collection::default()
    });
    let place = |collection: &str, path: &str| Place {
        collection: collection.to_owned(),
        paths: vec![path.to_owned()],
    };
    design.references.push(Reference {
        from: place("comments", "article"),
        to: place("articles", "_id"),
        values: 30,
        found: 30,
        confidence: 1.0,
        ..Reference::default()
    });
    let count = field("comments", &[(Kind::Int, 10)], 10);
    design.collections[0].root.fields.push(count);
    design.computed.push(Computed {
        collection: "articles".to_owned(),
        path: "comments".to_owned(),
        kind: ComputedKind::CountOfReferrers,
        by: Some(0),
        equal: 10,
        ..Computed::default()
    });
    let (text, again) = follow(folder.path(), &design);
    assert_eq!(again, Against::default(), "{text}");
    assert!(
        text.contains("    #[computed(count = Comment, by = article)]\n    pub comments: i32,\n"),
        "{text}"
    );
    assert!(text.contains("use super::Comment;\n"), "{text}");
    let kept = std::fs::read_to_string(folder.path().join("comment.rs")).unwrap();
    assert_eq!(kept, comments);
}

#[test]
fn a_field_behind_the_last_and_one_in_a_line_are_added() {
    let folder = folder();
    let mut design = design();
    let mut place = field("place", &[(Kind::Object, 10)], 10);
    place.fields = vec![
        field("place.city", &[(Kind::String, 10)], 10),
        field("place.at", &[(Kind::Date, 10)], 10),
    ];
    design.collections[0].root.fields.push(place);
    at(&mut design, "author")
        .fields
        .insert(1, field("author.born", &[(Kind::Date, 10)], 10));
    at(&mut design, "author")
        .fields
        .push(field("author.id", &[(Kind::Uuid, 10)], 10));
    let (text, again) = follow(folder.path(), &design);
    assert_eq!(again, Against::default(), "{text}");
    assert!(
        text.contains("    pub tags: Vec<String>,\n    pub place: ArticlePlace,\n}\n"),
        "{text}"
    );
    assert!(
        text.contains("pub struct ArticlePlace {\n    pub city: String,\n    pub at: DateTime,\n}\n"),
        "{text}"
    );
    assert!(
        text.contains("use odm::prelude::*;\nuse odm::bson::Uuid;\n"),
        "{text}"
    );
    assert!(syn::parse_file(&text).is_ok(), "{text}");
}

#[test]
fn types_that_differ_are_changed_where_they_stand() {
    let folder = folder();
    let mut design = design();
    at(&mut design, "title").kinds = BTreeMap::from([(Kind::String, 7)]);
    at(&mut design, "title").present = 7;
    at(&mut design, "wordCount").kinds = BTreeMap::from([(Kind::Int, 6), (Kind::String, 4)]);
    at(&mut design, "state").values.push(("in review".to_owned(), 1));
    at(&mut design, "state").kinds = BTreeMap::from([(Kind::String, 11)]);
    let against = run(folder.path(), &design);
    assert_eq!(
        whats(&against),
        [
            (What::Optional, "title"),
            (What::Type, "wordCount"),
            (What::Value, "state")
        ]
    );
    let (text, again) = follow(folder.path(), &design);
    assert_eq!(again, Against::default(), "{text}");
    for part in [
        "    #[field(max_len = 100)]\n    #[field(skip_none)]\n    pub title: Option<String>,\n",
        "    pub word_count: ArticleWordCountValue,\n",
        "#[embed(untagged)]\npub enum ArticleWordCountValue {\n    Integer(i32),\n    Text(String),\n}\n",
        "    Published,\n    #[embed(name = \"in review\")]\n    InReview,\n}\n",
        "    /* The headline. */\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(syn::parse_file(&text).is_ok(), "{text}");
}

#[test]
fn what_is_gone_and_what_is_not_declared_is_said() {
    let folder = folder();
    std::fs::write(folder.path().join("mod.rs"), "//! All.\n\npub mod article;\n\npub use article::*;\n\npub fn models() -> [odm::Model; 1] {\n    odm::models![Article]\n}\n").unwrap();
    let mut design = design();
    design.collections[0]
        .root
        .fields
        .retain(|field| field.name != "legacy");
    design.collections[0].indexes = vec![index(doc! { "wordCount": -1 })];
    design.collections.push(Collection {
        name: "readers".to_owned(),
        root: Field {
            fields: vec![field("_id", &[(Kind::Int, 1)], 1)],
            ..Field::default()
        },
        ..Collection::default()
    });
    let against = run(folder.path(), &design);
    assert_eq!(
        whats(&against),
        [
            (What::Index, ""),
            (What::IndexGone, ""),
            (What::Collection, ""),
            (What::Gone, "legacy")
        ]
    );
    let (text, again) = follow(folder.path(), &design);
    assert!(
        text.contains("#[document(index(fields(-word_count)))]\npub struct Article {"),
        "{text}"
    );
    assert!(
        text.contains("    // Written by the first program.\n    // None of 10 documents has this field.\n    pub legacy: Option<String>,\n"),
        "{text}"
    );
    let list = std::fs::read_to_string(folder.path().join("mod.rs")).unwrap();
    assert!(list.contains("pub mod article;\npub mod readers;\n"), "{list}");
    assert!(
        list.contains("[odm::Model; 2]") && list.contains("models![Article, Reader]"),
        "{list}"
    );
    assert_eq!(whats(&again), [(What::IndexGone, ""), (What::Gone, "legacy")]);
    assert_eq!(again.patch, "");
}

#[test]
fn what_is_no_rust_is_named_with_its_place() {
    let folder = folder();
    std::fs::write(folder.path().join("broken.rs"), "pub struct {\n").unwrap();
    let error = against(folder.path(), &design()).unwrap_err().to_string();
    assert!(error.contains("broken.rs:1:"), "{error}");
}
