use crate::Model;
use crate::graph::Graph;
use crate::model::copy::{Computed, Consistency, Copied, CopiedField, FieldCopy, Operation, Subset};
use crate::model::document::{DocumentMeta, IndexKey, IndexKind};
use crate::model::meta::bucket::{BucketMeta, BucketPeriod, Per};
use crate::model::reference::{OnDelete, ParentField, ReferenceKind, ReferenceMeta, TargetMeta};
use crate::model::shape::{Bounds, FieldMeta, Managed, Shape, ShapeFn, StructShape};
use crate::tools::edges::Edges;
use odm_diagram::{Field, FieldKind, LineKind};

const fn field(name: &'static str, shape: ShapeFn) -> FieldMeta {
    FieldMeta {
        rust: name,
        name,
        ty: "",
        shape,
        bounds: Bounds::NONE,
        ..crate::expansion_fixture::FIELD
    }
}

const fn copied(name: &'static str, copied: &'static Copied) -> FieldMeta {
    FieldMeta {
        copied: Some(copied),
        ..field(name, int)
    }
}

const fn refers(
    name: &'static str,
    shape: ShapeFn,
    max: Option<u64>,
    reference: &'static ReferenceMeta,
) -> FieldMeta {
    FieldMeta {
        reference: Some(reference),
        bounds: Bounds {
            max_items: max,
            ..Bounds::NONE
        },
        ..field(name, shape)
    }
}

const fn to(kind: ReferenceKind, targets: &'static [TargetMeta]) -> ReferenceMeta {
    ReferenceMeta {
        kind,
        targets,
        union: targets.len() > 1,
        optional: false,
        by: || "_id",
        inverse: None,
        expected: None,
        one: false,
        order: &[],
        check: true,
        index: true,
        on_delete: OnDelete::Restrict,
        same: &[],
    }
}

const fn target(document: fn() -> &'static DocumentMeta) -> TargetMeta {
    TargetMeta { tag: "", document }
}

fn int() -> Shape {
    Shape::Int {
        min: i32::MIN,
        max: i32::MAX,
    }
}

fn ints() -> Shape {
    Shape::Array(int)
}

macro_rules! document {
    ($constant:ident, $name:literal, $collection:literal, [$($field:expr),* $(,)?]) => {
        static $constant: DocumentMeta = crate::expansion_fixture::document(
            $name,
            $collection,
            || Shape::Struct(const {
                &StructShape { ty: None,
                    name: $name,
                    fields: &[
                        FieldMeta { managed: Managed::Id, ..field("_id", int) },
                        $($field),*
                    ],
                    deny_unknown: false,
                }
            }),
        );
    };
}

document!(
    PERSON,
    "Person",
    "people & <friends>",
    [refers(
        "tasks",
        ints,
        Some(500),
        const {
            &ReferenceMeta {
                inverse: Some("owner"),
                on_delete: OnDelete::Pull,
                ..to(ReferenceKind::Many, const { &[target(|| &TASK)] })
            }
        }
    )]
);
document!(
    TASK,
    "Task",
    "tasks",
    [
        refers(
            "owner",
            int,
            None,
            const {
                &ReferenceMeta {
                    inverse: Some("tasks"),
                    ..to(ReferenceKind::One, const { &[target(|| &PERSON)] })
                }
            }
        ),
        refers(
            "after",
            int,
            None,
            const {
                &ReferenceMeta {
                    optional: true,
                    by: || "number",
                    on_delete: OnDelete::Nullify,
                    ..to(ReferenceKind::One, const { &[target(|| &TASK)] })
                }
            }
        ),
    ]
);

static ENTRY: StructShape = StructShape {
    ty: None,
    name: "Entry",
    fields: &[
        refers(
            "id",
            int,
            None,
            const { &to(ReferenceKind::One, const { &[target(|| &PERSON)] }) },
        ),
        copied(
            "name",
            const {
                &Copied::Field(FieldCopy {
                    through: "id",
                    source: || "name",
                    field: || None,
                    consistency: Consistency::Eventual,
                })
            },
        ),
    ],
    deny_unknown: false,
};

const fn parent() -> ParentField {
    ParentField {
        name: "product",
        id: None,
        reference: &PARENT,
    }
}

static PARENT: ReferenceMeta = ReferenceMeta {
    one: true,
    on_delete: OnDelete::Cascade,
    ..to(
        ReferenceKind::Parent,
        const { &[target(|| &PRODUCT), target(|| &PERSON)] },
    )
};

document!(
    REVIEW,
    "Review",
    "reviews",
    [refers("product", int, None, &PARENT)]
);
document!(
    PRODUCT,
    "Product",
    "products",
    [
        field("entries", || Shape::Array(|| Shape::Struct(&ENTRY))),
        copied(
            "reviews",
            const {
                &Copied::Subset(Subset {
                    child: || &REVIEW,
                    parent,
                    limit: 10,
                    order: &[
                        IndexKey {
                            path: || "date",
                            kind: IndexKind::Descending,
                        },
                        IndexKey {
                            path: || "stars",
                            kind: IndexKind::Ascending,
                        },
                    ],
                    last: false,
                    single: false,
                    fields: || {
                        &[CopiedField {
                            name: "t",
                            source: "text",
                        }]
                    },
                    filter: Some(|| Ok(mongodb::bson::RawDocumentBuf::new())),
                    consistency: Consistency::Auto,
                })
            }
        ),
        copied(
            "rating",
            const {
                &Copied::Computed(Computed {
                    child: || &REVIEW,
                    parent,
                    operation: Operation::Avg,
                    of: Some(|| "stars"),
                    filter: None,
                    consistency: Consistency::Atomic,
                })
            }
        ),
        copied(
            "count",
            const {
                &Copied::Computed(Computed {
                    child: || &REVIEW,
                    parent,
                    operation: Operation::Count,
                    of: None,
                    filter: None,
                    consistency: Consistency::Auto,
                })
            }
        ),
    ]
);

fn edges(models: &[&'static DocumentMeta]) -> Edges {
    let all: Vec<Model> = models.iter().map(|meta| Model { meta }).collect();
    let graph = Graph::of(&all).expect("sound models");
    Edges::of(models.iter().copied(), &graph)
}

fn all() -> Edges {
    edges(&[&PERSON, &TASK, &REVIEW, &PRODUCT])
}

#[test]
fn every_edge_is_said_in_words() {
    assert_eq!(
        all().to_string(),
        "\
Person in people & <friends>
  tasks  many, at most 500 -> tasks, two-way with tasks.owner, on_delete = pull
Task in tasks
  owner  one -> people & <friends>, two-way with people & <friends>.tasks, on_delete = restrict
  after  one or none -> tasks by number, on_delete = nullify
Review in reviews
  product  parent -> products or people & <friends>, which has one at most, on_delete = cascade
Product in products
  entries.id    one -> people & <friends>, on_delete = restrict
  entries.name  copy of people & <friends>.name through entries.id, consistency = eventual
  reviews       the first 10 of reviews in the order -date, stars, by reviews.product, of those that match a condition, with text, consistency = auto
  rating        avg of reviews.stars, by reviews.product, consistency = atomic
  count         count of reviews, by reviews.product, consistency = auto"
    );
    assert_eq!(Edges::default().to_string(), "no documents");
}

#[test]
fn mermaid_draws_a_two_way_reference_once() {
    let mermaid = all().mermaid();
    assert_eq!(mermaid.matches("<-->").count(), 1, "{mermaid}");
    assert_eq!(
        mermaid.matches(" --> ").count() + mermaid.matches(" -->|").count(),
        4,
        "{mermaid}"
    );
    assert_eq!(mermaid.matches("-.->").count(), 4, "{mermaid}");
    assert!(
        mermaid.starts_with("flowchart LR\n    d0[\"Person<br/>people #38; #60;friends#62;\"]\n"),
        "{mermaid}"
    );
    assert!(
        mermaid.contains("d0 <-->|\"tasks: many ≤ 500 / owner: one\"| d1\n"),
        "{mermaid}"
    );
    assert!(
        mermaid.contains("d2 -.->|\"rating: avg(stars), consistency = atomic\"| d3\n"),
        "{mermaid}"
    );
}

#[test]
fn the_diagram_has_all_boxes_lines_and_words() {
    let edges = all();
    let diagram = edges.diagram();
    let boxes = diagram
        .boxes
        .iter()
        .map(|node| (node.name.as_str(), &*node.below));
    let documents = edges.documents.iter();
    let below: Vec<_> = documents
        .map(|document| (document.name, vec![document.collection.to_owned()]))
        .collect();
    assert!(boxes.eq(below.iter().map(|(name, below)| (*name, &below[..]))));
    let words = |field: &str, words: String| {
        let line = diagram
            .lines
            .iter()
            .find(|line| line.words.ends_with(&format!("{field}: {words}")));
        assert!(line.is_some(), "{field}: {words} in {:?}", diagram.lines);
    };
    for copy in &edges.copies {
        words(&copy.field, copy.to_string());
    }
    // The second side of the two-way reference is drawn with the first one.
    for reference in edges.references.iter().filter(|edge| edge.field != "owner") {
        words(&reference.field, reference.to_string());
    }
    let lines = |kind: LineKind| diagram.lines.iter().filter(|line| line.kind == kind).count();
    let counted = [LineKind::Reference, LineKind::TwoWay, LineKind::Copy].map(lines);
    assert_eq!(counted, [4, 1, 4]);
    assert_eq!(
        diagram.title,
        "Person, Task, Review and Product: fields, references and copies"
    );
    assert!(
        diagram
            .description
            .contains("Task in tasks;   owner  one -> people")
    );
    let svg = edges.svg();
    assert_eq!(svg.matches("class=\"box\"").count(), 4, "{svg}");
    assert_eq!(svg, all().svg(), "the same models give the same image");
}

/// The rows of a box as a reader sees them: each name with what stands behind it.
fn rows_of(edges: &Edges, document: usize) -> Vec<String> {
    fn add(fields: &[Field], depth: usize, rows: &mut Vec<String>) {
        for field in fields {
            rows.push(format!("{}{}  {}", "  ".repeat(depth), field.name, field.text));
            add(&field.fields, depth + 1, rows);
        }
    }
    let mut rows = Vec::new();
    add(&edges.diagram().boxes[document].fields, 0, &mut rows);
    rows
}

#[test]
fn embedded_structs_and_bounds_are_drawn() {
    static STREET: StructShape = StructShape {
        ty: None,
        name: "Street",
        fields: &[FieldMeta {
            bounds: Bounds {
                max_len: Some(80),
                ..Bounds::NONE
            },
            ..field("name", || Shape::String)
        }],
        deny_unknown: false,
    };
    static PART: StructShape = StructShape {
        ty: None,
        name: "Part",
        fields: &[
            field("n", int),
            FieldMeta {
                bounds: Bounds {
                    max_items: Some(3),
                    depth: Some(4),
                    ..Bounds::NONE
                },
                ..field("parts", || Shape::Array(|| Shape::Struct(&PART)))
            },
        ],
        deny_unknown: false,
    };
    document!(
        MANY,
        "Many",
        "many",
        [
            FieldMeta {
                bounds: Bounds {
                    max_items: Some(10),
                    ..Bounds::NONE
                },
                ..field("addresses", || Shape::Array(|| Shape::Struct(&STREET)))
            },
            field("home", || Shape::Optional(|| Shape::Struct(&STREET))),
            FieldMeta {
                bounds: Bounds {
                    max_items: Some(6),
                    max_len: Some(60),
                    ..Bounds::NONE
                },
                ..field("names", || Shape::Optional(|| Shape::Array(|| Shape::String)))
            },
            field("part", || Shape::Struct(&PART)),
            FieldMeta {
                managed: Managed::Version,
                ..field("version", int)
            },
        ]
    );
    let edges = edges(&[&MANY]);
    assert_eq!(
        rows_of(&edges, 0),
        [
            "_id  int",
            "addresses  [Street] ≤ 10",
            "  name  string ≤ 80",
            "home  Street?",
            "  name  string ≤ 80",
            "names  [string ≤ 60]? ≤ 6",
            "part  Part",
            "  n  int",
            "  parts  [Part] ≤ 3, 4 deep",
            "version  int",
        ]
    );
    let version = edges.diagram().boxes[0].fields.pop();
    assert_eq!(
        version.map(|field| field.kind),
        Some(FieldKind::Derived),
        "the version is the library's"
    );
}

#[test]
fn references_and_what_is_derived_say_what_they_are() {
    let edges = all();
    assert_eq!(rows_of(&edges, 0), ["_id  int", "tasks  [→ tasks] ≤ 500"]);
    assert_eq!(
        rows_of(&edges, 1),
        [
            "_id  int",
            "owner  → people & <friends>",
            "after  → tasks.number?, on_delete = nullify"
        ]
    );
    assert_eq!(
        rows_of(&edges, 2),
        [
            "_id  int",
            "product  → products | people & <friends>, unique, on_delete = cascade"
        ]
    );
    assert_eq!(
        rows_of(&edges, 3),
        [
            "_id  int",
            "entries  [Entry]",
            "  id  → people & <friends>",
            "  name  = people & <friends>.name, consistency = eventual",
            "reviews  first(reviews.text) by -date, stars, if it matches",
            "rating  avg(reviews.stars), consistency = atomic",
            "count  count(reviews)",
        ]
    );
}

#[test]
fn a_bucket_says_how_many_it_holds() {
    static READINGS: BucketMeta = BucketMeta {
        collection: "reading_buckets",
        parent: "sensor",
        page: "page",
        count: "count",
        items: "readings",
        size: 3600,
        period: Some(BucketPeriod {
            per: Per::Hour,
            start: "start",
        }),
        time: None,
        sums: &[],
    };
    static BUCKET: DocumentMeta = DocumentMeta {
        name: "ReadingBucket",
        collection: "reading_buckets",
        bucket: Some(&READINGS),
        ..REVIEW
    };
    let edges = edges(&[&PERSON, &TASK, &PRODUCT, &REVIEW, &BUCKET]);
    let text = edges.to_string();
    assert!(
        text.contains(
            "\nReadingBucket in reading_buckets, at most 3600 readings per bucket, each for one hour\n"
        ),
        "{text}"
    );
    let mermaid = edges.mermaid();
    assert!(
        mermaid.contains("ReadingBucket<br/>reading_buckets<br/>readings: 3600 per bucket, by hour\"]"),
        "{mermaid}"
    );
    let svg = edges.svg();
    assert!(
        svg.contains("<title>reading_buckets, readings: 3600 per bucket, by hour</title>")
            && !svg.contains('…'),
        "{svg}"
    );
}
