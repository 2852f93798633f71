use crate::Model;
use crate::graph::Graph;
use crate::model::copy::{Computed, Copied, CopiedField, FieldCopy, Operation, Subset, SyncMode};
use crate::model::document::{DocumentMeta, IndexKey, IndexKind};
use crate::model::meta::bucket::{BucketMeta, BucketPeriod, Per};
use crate::model::reference::{OnDelete, ParentField, ReferenceKind, ReferenceMeta, TargetMeta};
use crate::model::shape::{Bounds, FieldMeta, Managed, Shape, ShapeFn, StructShape};
use crate::tools::edges::Edges;

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
        mermaid.contains("d0 <-->|\"tasks: many ≤ 500 / owner: one\"| d1\n"),
        "{mermaid}"
    );
    assert!(
        mermaid.contains("d2 -.->|\"rating: avg(stars), sync = atomic\"| d3\n"),
        "{mermaid}"
    );
}

/// The attribute of an element, as a number.
fn number(node: roxmltree::Node<'_, '_>, name: &str) -> f64 {
    let value = node.attribute(name).and_then(|value| value.parse().ok());
    value.unwrap_or_else(|| panic!("{name} of {node:?} is no number"))
}

/// Left, top, right and bottom.
type Area = (f64, f64, f64, f64);

fn apart(a: &Area, b: &Area) -> bool {
    a.2 <= b.0 || b.2 <= a.0 || a.3 <= b.1 || b.3 <= a.1
}

fn within(a: &Area, b: &Area) -> bool {
    b.0 <= a.0 && a.2 <= b.2 && b.1 <= a.1 && a.3 <= b.3
}

/// The rectangles of this class, as they are drawn.
fn rects(svg: &roxmltree::Document<'_>, class: &str) -> Vec<Area> {
    let rects = svg
        .descendants()
        .filter(|node| node.tag_name().name() == "rect" && node.attribute("class") == Some(class));
    rects
        .map(|rect| {
            let (x, y) = (number(rect, "x"), number(rect, "y"));
            (x, y, x + number(rect, "width"), y + number(rect, "height"))
        })
        .collect()
}

/// The text of an element without its title.
fn shown(node: roxmltree::Node<'_, '_>) -> String {
    let texts = node.children().filter(|child| child.is_text());
    texts.filter_map(|child| child.text()).collect()
}

/// The texts and how much room they take. The widest monospace fonts draw a character 0.62 of its size wide; the title is
/// larger.
fn texts(svg: &roxmltree::Document<'_>) -> Vec<(String, Area)> {
    let texts = svg.descendants().filter(|node| node.tag_name().name() == "text");
    texts
        .map(|node| {
            let size = match node.attribute("class") {
                Some("name") => 14.0,
                _ => 12.0,
            };
            let (x, y) = (number(node, "x"), number(node, "y"));
            let text = shown(node);
            let width = text.chars().count() as f64 * 0.62 * size;
            (text, (x, y - size * 0.8, x + width, y + size * 0.25))
        })
        .collect()
}

/// Fails where a text would be cut, lie on another one, or be too small on a page.
fn assert_readable(svg: &str) {
    let xml = roxmltree::Document::parse(svg).expect("well-formed XML");
    let root = xml.root_element();
    let page = (0.0, 0.0, number(root, "width"), number(root, "height"));
    assert_eq!(
        root.attribute("viewBox"),
        Some(format!("0 0 {} {}", page.2, page.3).as_str())
    );
    // In a column of 700 pixels it is shown in its own size, so its text has the size that its style says.
    assert!(page.2 <= 700.0, "{} wide", page.2);
    let sizes: Vec<f64> = svg
        .split("px")
        .filter_map(|before| before.rsplit([':', ' ']).next()?.parse().ok())
        .collect();
    assert!(
        sizes.len() == 2 && sizes.iter().all(|size| *size >= 11.0),
        "{sizes:?}"
    );
    let boxes = rects(&xml, "box");
    for (at, a) in boxes.iter().enumerate() {
        assert!(within(a, &page), "{a:?} leaves the page");
        assert!(boxes[at + 1..].iter().all(|b| apart(a, b)), "{a:?} lies on a box");
    }
    for frame in rects(&xml, "embed") {
        assert!(
            boxes.iter().any(|b| within(&frame, b)),
            "{frame:?} leaves its box"
        );
    }
    let texts = texts(&xml);
    for (at, (text, a)) in texts.iter().enumerate() {
        let place = boxes.iter().find(|b| !apart(a, b)).unwrap_or(&page);
        assert!(within(a, place), "`{text}` leaves {place:?}: {a:?}");
        for (other, b) in &texts[at + 1..] {
            assert!(apart(a, b), "`{text}` lies on `{other}`");
        }
    }
}

#[test]
fn the_image_is_sound() {
    let edges = all();
    let svg = edges.svg();
    assert_readable(&svg);
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
            text.contains(&format!("{field}: {words}")),
            "{field}: {words} in {text}"
        );
    }
    assert_eq!(rects(&xml, "box").len(), 4);
    let lines = |class: &str| {
        let lines = xml.descendants().filter(|node| {
            node.tag_name().name() == "path"
                && node.attribute("class") == Some(class)
                && node.children().any(|child| child.tag_name().name() == "title")
        });
        lines.count()
    };
    assert_eq!((lines("reference"), lines("copy")), (5, 4));
    assert_eq!(svg, all().svg(), "the same models give the same image");
    // The words of a screen reader.
    let heard = |name: &str| {
        let mut children = xml.root_element().children();
        children.find(|node| node.tag_name().name() == name).map(shown)
    };
    assert_eq!(
        heard("title").as_deref(),
        Some("Person, Task, Review and Product: fields, references and copies")
    );
    assert!(heard("desc").is_some_and(|text| text.contains("Task in tasks;   owner  one -> people")));
}

/// The rows of a box as a reader sees them: each name with what stands behind it.
fn rows_of(edges: &Edges, document: usize) -> Vec<String> {
    let rows = edges.rows(&edges.documents[document]);
    rows.iter()
        .map(|row| format!("{}{}  {}", "  ".repeat(row.depth), row.name, row.text))
        .collect()
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
    let svg = edges.svg();
    assert_readable(&svg);
    let xml = roxmltree::Document::parse(&svg).expect("well-formed XML");
    assert_eq!(rects(&xml, "embed").len(), 3);
    assert!(
        svg.contains("class=\"derived\""),
        "the version is the library's: {svg}"
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
            "  name  = people & <friends>.name, sync = eventual",
            "reviews  first(reviews.text) by -date, stars, if it matches",
            "rating  avg(reviews.stars), sync = atomic",
            "count  count(reviews)",
        ]
    );
}

#[test]
fn long_names_and_many_documents_fit_too() {
    document!(
        LONG,
        "DocumentWithANameThatIsMuchLongerThanABoxIsWideAndThenSomeMoreOfIt",
        "a_collection_with_a_name_that_is_much_longer_than_a_box_is_wide_and_some",
        [
            field(
                "a_field_with_a_name_that_is_longer_than_what_is_left_for_it_here",
                int
            ),
            refers(
                "reference",
                int,
                None,
                const { &to(ReferenceKind::One, const { &[target(|| &LONG)] }) }
            ),
            refers(
                "other",
                int,
                None,
                const { &to(ReferenceKind::One, const { &[target(|| &TASK)] }) }
            ),
        ]
    );
    assert_readable(&edges(&[&LONG, &PERSON, &TASK, &REVIEW, &PRODUCT]).svg());
    assert_readable(&edges(&[&PERSON, &TASK]).svg());
    assert_readable(&Edges::default().svg());
}

/// The contrast of two colours: <https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio>.
fn contrast(a: &str, b: &str) -> f64 {
    let luminance = |colour: &str| {
        let part = |at: usize| {
            let part = u8::from_str_radix(&colour[at..at + 2], 16).expect("a colour");
            let part = f64::from(part) / 255.0;
            if part <= 0.03928 {
                part / 12.92
            } else {
                ((part + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    };
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn text_can_be_read_in_light_and_in_dark_mode() {
    let svg = all().svg();
    let style = svg
        .split("<style>")
        .nth(1)
        .and_then(|rest| rest.split("</style>").next());
    let (light, dark) = style
        .and_then(|style| style.split_once("@media"))
        .expect("two modes");
    for mode in [light, dark] {
        let fill = |class: &str| {
            let rule = mode.split(&format!(".odm-edges {class}{{fill:")).nth(1);
            rule.and_then(|rule| rule.get(..7))
                .unwrap_or_else(|| panic!("{class} in {mode}"))
        };
        for ground in [".ground", ".box", ".embed"] {
            for text in ["text", ".quiet", ".refers", ".derived"] {
                let contrast = contrast(fill(text), fill(ground));
                assert!(contrast >= 4.5, "{text} on {ground}: {contrast:.2}");
            }
            for head in [".reference-head", ".copy-head"] {
                let contrast = contrast(fill(head), fill(ground));
                assert!(contrast >= 3.0, "{head} on {ground}: {contrast:.2}");
            }
        }
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
        svg.contains("<title>reading_buckets, readings: 3600 per bucket, by hour</title>")
            && !svg.contains('…'),
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
