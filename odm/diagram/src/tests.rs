use crate::{Diagram, Field, FieldKind, Line, LineKind, Node, Port};

fn field(name: &str, text: &str) -> Field {
    Field {
        name: name.to_owned(),
        text: text.to_owned(),
        words: String::new(),
        kind: FieldKind::Plain,
        fields: Vec::new(),
    }
}

fn reference(name: &str, text: &str) -> Field {
    Field {
        words: format!("one {text}, on_delete = restrict"),
        kind: FieldKind::Reference,
        ..field(name, text)
    }
}

fn derived(name: &str, text: &str) -> Field {
    Field {
        words: format!("{text}, consistency = auto"),
        kind: FieldKind::Derived,
        ..field(name, text)
    }
}

fn with(outer: Field, fields: Vec<Field>) -> Field {
    Field { fields, ..outer }
}

fn node(name: &str, below: &str, mut fields: Vec<Field>) -> Node {
    fields.insert(0, field("_id", "int"));
    Node {
        name: name.to_owned(),
        below: vec![below.to_owned()],
        fields,
    }
}

fn line(kind: LineKind, from: (usize, &str), to: (usize, &str)) -> Line {
    let port = |(node, field): (usize, &str)| Port {
        node,
        field: (!field.is_empty()).then(|| field.to_owned()),
    };
    Line {
        from: port(from),
        to: port(to),
        kind,
        label: format!("{}: one", from.1),
        words: format!("box {} to box {}", from.0, to.0),
    }
}

/// Boxes with a line of each kind, one back to the same box, and embedded fields.
fn shop() -> Diagram {
    let entry = vec![
        reference("id", "→ people & <friends>"),
        derived("name", "= people & <friends>.name, consistency = eventual"),
    ];
    Diagram {
        title: "Person, Task, Review and Product".to_owned(),
        description: "Person in people & <friends>; Task in tasks".to_owned(),
        boxes: vec![
            node(
                "Person",
                "people & <friends>",
                vec![reference("tasks", "[→ tasks] ≤ 500")],
            ),
            node(
                "Task",
                "tasks",
                vec![
                    reference("owner", "→ people & <friends>"),
                    reference("after", "→ tasks.number?, on_delete = nullify"),
                ],
            ),
            node(
                "Review",
                "reviews",
                vec![reference(
                    "product",
                    "→ products | people & <friends>, unique, on_delete = cascade",
                )],
            ),
            node(
                "Product",
                "products",
                vec![
                    with(field("entries", "[Entry]"), entry),
                    derived("reviews", "first(reviews.text) by -date, stars, if it matches"),
                    derived("rating", "avg(reviews.stars), consistency = atomic"),
                    derived("count", "count(reviews)"),
                ],
            ),
        ],
        lines: vec![
            line(LineKind::TwoWay, (0, "tasks"), (1, "owner")),
            line(LineKind::Reference, (1, "after"), (1, "number")),
            line(LineKind::Reference, (2, "product"), (3, "_id")),
            line(LineKind::Reference, (2, "product"), (0, "_id")),
            line(LineKind::Reference, (3, "entries.id"), (0, "_id")),
            line(LineKind::Copy, (0, "name"), (3, "entries.name")),
            line(LineKind::Copy, (2, ""), (3, "reviews.0.text")),
            line(LineKind::Copy, (2, "stars"), (3, "rating")),
            line(LineKind::Copy, (2, ""), (3, "count")),
        ],
    }
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
fn the_image_has_all_boxes_lines_and_words() {
    let diagram = shop();
    let svg = diagram.svg();
    assert_readable(&svg);
    let xml = roxmltree::Document::parse(&svg).expect("well-formed XML");
    let texts: Vec<&str> = xml.descendants().filter_map(|node| node.text()).collect();
    for node in &diagram.boxes {
        assert!(texts.contains(&node.name.as_str()), "{} in {texts:?}", node.name);
        assert!(texts.contains(&node.below[0].as_str()), "{texts:?}");
    }
    for line in &diagram.lines {
        assert!(
            texts.contains(&line.words.as_str()),
            "{} in {texts:?}",
            line.words
        );
    }
    assert!(
        texts.contains(&"entries.id: one → people & <friends>, on_delete = restrict"),
        "{texts:?}"
    );
    assert_eq!(rects(&xml, "box").len(), 4);
    assert_eq!(rects(&xml, "embed").len(), 1);
    let lines = |class: &str| {
        let lines = xml.descendants().filter(|node| {
            node.tag_name().name() == "path"
                && node.attribute("class") == Some(class)
                && node.children().any(|child| child.tag_name().name() == "title")
        });
        lines.count()
    };
    assert_eq!((lines("reference"), lines("copy")), (5, 4));
    assert_eq!(svg, shop().svg(), "the same diagram gives the same image");
    // The words of a screen reader.
    let heard = |name: &str| {
        let mut children = xml.root_element().children();
        children.find(|node| node.tag_name().name() == name).map(shown)
    };
    assert_eq!(heard("title"), Some(diagram.title));
    assert_eq!(heard("desc"), Some(diagram.description));
}

#[test]
fn mermaid_has_an_arrow_for_each_line() {
    let mermaid = shop().mermaid();
    let count = |arrow: &str| mermaid.matches(arrow).count();
    assert_eq!(
        (count(" --> ") + count(" -->|"), count("<-->"), count("-.->")),
        (4, 1, 4),
        "{mermaid}"
    );
    assert!(
        mermaid.starts_with("flowchart LR\n    d0[\"Person<br/>people #38; #60;friends#62;\"]\n"),
        "{mermaid}"
    );
    assert!(mermaid.contains("d0 <-->|\"tasks: one\"| d1\n"), "{mermaid}");
}

#[test]
fn embedded_fields_are_framed_each_in_its_own_box() {
    let depths = with(
        field("a", "A"),
        vec![with(
            field("b", "[B] ≤ 3, 4 deep"),
            vec![field("c", "string ≤ 80")],
        )],
    );
    let home = with(field("home", "Street?"), vec![field("name", "string ≤ 80")]);
    let diagram = Diagram {
        boxes: vec![node("Many", "many", vec![depths, home])],
        ..Diagram::default()
    };
    let svg = diagram.svg();
    assert_readable(&svg);
    let xml = roxmltree::Document::parse(&svg).expect("well-formed XML");
    assert_eq!(rects(&xml, "embed").len(), 3);
}

#[test]
fn long_names_and_many_boxes_fit_too() {
    let long = node(
        "DocumentWithANameThatIsMuchLongerThanABoxIsWideAndThenSomeMoreOfIt",
        "a_collection_with_a_name_that_is_much_longer_than_a_box_is_wide_and_some",
        vec![
            field(
                "a_field_with_a_name_that_is_longer_than_what_is_left_for_it_here",
                "int",
            ),
            reference(
                "reference",
                "→ a_collection_with_a_name_that_is_much_longer_than_a_box",
            ),
            reference("other", "→ tasks"),
        ],
    );
    let mut diagram = shop();
    let at = diagram.boxes.len();
    diagram.boxes.push(long);
    diagram
        .lines
        .push(line(LineKind::Reference, (at, "reference"), (at, "_id")));
    diagram
        .lines
        .push(line(LineKind::Reference, (at, "other"), (1, "_id")));
    assert_readable(&diagram.svg());
    diagram.boxes.truncate(2);
    diagram.lines.truncate(2);
    assert_readable(&diagram.svg());
    assert_readable(&Diagram::default().svg());
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
    let svg = shop().svg();
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
fn odd_names_stay_text() {
    let diagram = Diagram {
        boxes: vec![node("Odd", "a\"b<c>&'\u{1}`#</svg>", Vec::new())],
        ..Diagram::default()
    };
    let svg = diagram.svg();
    let xml = roxmltree::Document::parse(&svg).expect("well-formed XML");
    let texts: Vec<&str> = xml.descendants().filter_map(|node| node.text()).collect();
    assert!(texts.contains(&"a\"b<c>&'\u{fffd}`#</svg>"), "{texts:?}");
    let mermaid = diagram.mermaid();
    assert!(
        mermaid.contains("Odd<br/>a#34;b#60;c#62;#38;#39; #96;#35;#60;/svg#62;"),
        "{mermaid}"
    );
}
