use super::Edges;
use crate::Model;
use crate::graph::Graph;
use crate::model::bucket::{BucketMeta, BucketPeriod, Per};
use crate::model::copy::{Computed, Copied, CopiedField, FieldCopy, Operation, Subset, SyncMode};
use crate::model::document::{DocumentMeta, IndexKey, IndexKind, Validation};
use crate::model::reference::{OnDelete, ParentField, ReferenceKind, ReferenceMeta, TargetMeta};
use crate::model::shape::{Bounds, FieldMeta, Managed, Shape, ShapeFn, StructShape};

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
        static $constant: DocumentMeta = DocumentMeta {
            name: $name,
            collection: $collection,
            shape: || Shape::Struct(const {
                &StructShape {
                    name: $name,
                    fields: &[
                        FieldMeta { managed: Managed::Id, ..field("_id", int) },
                        $($field),*
                    ],
                    deny_unknown: false,
                }
            }),
            indexes: &[],
            validation: Validation::STRICT,
            collation: None,
            expiry: None,
            append_only: false,
            bucket: None,
            extra: || false,
        };
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
                    sync: SyncMode::Eventual,
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
                    sync: SyncMode::Auto,
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
                    sync: SyncMode::Atomic,
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
                    sync: SyncMode::Auto,
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
  entries.name  copy of people & <friends>.name through entries.id, sync = eventual
  reviews       the first 10 of reviews in the order -date, stars, by reviews.product, of those that match a condition, with text, sync = auto
  rating        avg of reviews.stars, by reviews.product, sync = atomic
  count         count of reviews, by reviews.product, sync = auto"
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
        mermaid.contains(
            "d0 <-->|\"tasks: many ≤ 500, on_delete = pull / owner: one, on_delete = restrict\"| d1\n"
        ),
        "{mermaid}"
    );
    assert!(
        mermaid.contains("d2 -.->|\"rating: avg(stars), sync = atomic\"| d3\n"),
        "{mermaid}"
    );
}

/// The boxes of an image, as they are drawn.
fn boxes(svg: &roxmltree::Document<'_>) -> Vec<(f64, f64, f64, f64)> {
    let rects = svg
        .descendants()
        .filter(|node| node.attribute("class") == Some("box"));
    rects
        .map(|rect| {
            let number = |name| {
                rect.attribute(name)
                    .and_then(|n| n.parse().ok())
                    .expect("a number")
            };
            (number("x"), number("y"), number("width"), number("height"))
        })
        .collect()
}

#[test]
fn the_image_is_sound() {
    let edges = all();
    let svg = edges.svg();
    let xml = roxmltree::Document::parse(&svg).expect("well-formed XML");
    let text: String = xml
        .descendants()
        .filter_map(|node| node.text())
        .collect::<Vec<_>>()
        .join("\n");
    for document in &edges.documents {
        assert!(
            text.contains(document.name) && text.contains(document.collection),
            "{document} in {text}"
        );
    }
    for (field, words) in edges
        .references
        .iter()
        .map(|edge| (&edge.field, edge.to_string()))
        .chain(edges.copies.iter().map(|edge| (&edge.field, edge.to_string())))
    {
        assert!(
            text.contains(field.as_str()) && text.contains(&words),
            "{field}: {words} in {text}"
        );
    }
    let boxes = boxes(&xml);
    assert_eq!(boxes.len(), 4);
    for (at, a) in boxes.iter().enumerate() {
        for b in &boxes[at + 1..] {
            let apart = a.0 + a.2 <= b.0 || b.0 + b.2 <= a.0 || a.1 + a.3 <= b.1 || b.1 + b.3 <= a.1;
            assert!(apart, "{a:?} and {b:?}");
        }
    }
    let lines = |class: &str| {
        xml.descendants()
            .filter(|node| node.tag_name().name() == "path" && node.attribute("class") == Some(class))
            .count()
    };
    assert_eq!((lines("reference"), lines("copy")), (5, 4));
    assert!(svg.contains("prefers-color-scheme:dark"));
}

#[test]
fn no_text_leaves_its_box() {
    let svg = all().svg();
    let xml = roxmltree::Document::parse(&svg).expect("well-formed XML");
    let boxes = boxes(&xml);
    for text in xml.descendants().filter(|node| node.tag_name().name() == "text") {
        let x: f64 = text
            .attribute("x")
            .and_then(|x| x.parse().ok())
            .expect("a number");
        let y: f64 = text
            .attribute("y")
            .and_then(|y| y.parse().ok())
            .expect("a number");
        let shown: String = text
            .children()
            .filter_map(|node| node.is_text().then(|| node.text()).flatten())
            .collect();
        // The widest monospace fonts draw a character 0.62 of its size wide; the title is bold and larger.
        let size = if text.attribute("class") == Some("name") {
            14.0
        } else {
            12.0
        };
        let end = x + shown.chars().count() as f64 * 0.62 * size;
        let inside = boxes
            .iter()
            .any(|b| x >= b.0 && end <= b.0 + b.2 && y >= b.1 && y <= b.1 + b.3);
        assert!(inside, "`{shown}` ends at {end}");
    }
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
        svg.contains(">reading_buckets, readings: 3600 per bucket, by hour</text>"),
        "{svg}"
    );
}

#[test]
fn odd_names_stay_text() {
    document!(ODD, "Odd", "a\"b<c>&'\u{1}`#</svg>", []);
    let edges = edges(&[&ODD]);
    let svg = edges.svg();
    let xml = roxmltree::Document::parse(&svg).expect("well-formed XML");
    let texts: Vec<&str> = xml.descendants().filter_map(|node| node.text()).collect();
    assert!(texts.contains(&"a\"b<c>&'\u{fffd}`#</svg>"), "{texts:?}");
    let mermaid = edges.mermaid();
    assert!(
        mermaid.contains("Odd<br/>a#34;b#60;c#62;#38;#39; #96;#35;#60;/svg#62;"),
        "{mermaid}"
    );
}
