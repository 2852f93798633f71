//! A drawing of lines, boxes and text as SVG: at most as wide as a page's column, with text of 12 pixels, readable in light
//! and in dark mode. The same calls give the same drawing.

use std::fmt::Write;

/// The width of every drawing: that of a page's column, so that its text is shown in its own size.
pub const WIDTH: i64 = 700;

/// How wide a character is drawn at most, in hundredths of a pixel.
const CHARACTER: i64 = 744;

/// The height of a line of text.
pub const LINE: i64 = 15;

const STYLE: &str = "\
.odm-drawing .ground{fill:#ffffff}\
.odm-drawing text{fill:#1f2328;font:12px ui-monospace,Menlo,Consolas,monospace}\
.odm-drawing .name{font-weight:bold}\
.odm-drawing .quiet{fill:#57606a}\
.odm-drawing .box{fill:#f6f8fa;stroke:#57606a}\
.odm-drawing .frame{fill:none;stroke:#8250df}\
.odm-drawing .tab{fill:#6639ba}\
.odm-drawing .life{stroke:#8c959f;stroke-dasharray:2 4}\
.odm-drawing .call{stroke:#0969da;stroke-width:1.5}\
.odm-drawing .reply{stroke:#57606a;stroke-dasharray:5 3}\
.odm-drawing .call-head{fill:#0969da}\
.odm-drawing .reply-head{fill:#57606a}\
.odm-drawing .crash{stroke:#cf222e;stroke-width:2.5}\
.odm-drawing .bad{fill:#cf222e}\
.odm-drawing .axis{stroke:#57606a}\
.odm-drawing .grid{stroke:#d0d7de}\
.odm-drawing .slower{fill:#bf8700}\
.odm-drawing .faster{fill:#2da44e}\
@media(prefers-color-scheme:dark){\
.odm-drawing .ground{fill:#0d1117}\
.odm-drawing text{fill:#e6edf3}\
.odm-drawing .quiet{fill:#9da7b3}\
.odm-drawing .box{fill:#161b22;stroke:#8b949e}\
.odm-drawing .frame{stroke:#bc8cff}\
.odm-drawing .tab{fill:#d2a8ff}\
.odm-drawing .life{stroke:#6e7681}\
.odm-drawing .call{stroke:#58a6ff}\
.odm-drawing .reply{stroke:#9da7b3}\
.odm-drawing .call-head{fill:#58a6ff}\
.odm-drawing .reply-head{fill:#9da7b3}\
.odm-drawing .crash{stroke:#ff7b72}\
.odm-drawing .bad{fill:#ff7b72}\
.odm-drawing .axis{stroke:#8b949e}\
.odm-drawing .grid{stroke:#30363d}\
.odm-drawing .slower{fill:#d29922}\
.odm-drawing .faster{fill:#3fb950}}";

/// Where a text stands from its point.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

pub struct Canvas {
    title: String,
    description: String,
    body: String,
}

impl Canvas {
    pub fn new(title: &str, description: &str) -> Canvas {
        Canvas {
            title: escaped(title),
            description: escaped(description),
            body: String::new(),
        }
    }

    pub fn rect(&mut self, class: &str, (x, y): (i64, i64), (width, height): (i64, i64)) {
        let _ = writeln!(
            self.body,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"3\"/>"
        );
    }

    pub fn line(&mut self, class: &str, (x1, y1): (i64, i64), (x2, y2): (i64, i64)) {
        let _ = writeln!(self.body, "<path class=\"{class}\" d=\"M{x1},{y1} L{x2},{y2}\"/>");
    }

    /// A line with a head at its end, of the class `call` or `reply`.
    pub fn arrow(&mut self, class: &str, (x1, y1): (i64, i64), (x2, y2): (i64, i64)) {
        let _ = writeln!(
            self.body,
            "<path class=\"{class}\" marker-end=\"url(#odm-{class}-head)\" d=\"M{x1},{y1} L{x2},{y2}\"/>"
        );
    }

    pub fn text(&mut self, class: &str, anchor: Anchor, (x, y): (i64, i64), text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let _ = writeln!(
            self.body,
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{anchor}>{}</text>",
            escaped(text)
        );
    }

    /// The drawing, so high.
    pub fn finish(self, height: i64) -> String {
        let Canvas {
            title,
            description,
            body,
        } = self;
        let heads = ["call", "reply"].map(|kind| {
            format!(
                "<marker id=\"odm-{kind}-head\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" \
                 markerHeight=\"7\" orient=\"auto\"><path class=\"{kind}-head\" d=\"M0,0 L10,5 L0,10 z\"/></marker>"
            )
        });
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"odm-drawing\" role=\"img\" width=\"{WIDTH}\" \
             height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\">\n<title>{title}</title>\n<desc>{description}</desc>\n\
             <style>{STYLE}</style>\n<defs>{}</defs>\n<rect class=\"ground\" x=\"0\" y=\"0\" width=\"{WIDTH}\" \
             height=\"{height}\"/>\n{body}</svg>\n",
            heads.concat()
        )
    }
}

/// How wide a text is drawn at most.
pub fn width(text: &str) -> i64 {
    (text.chars().count() as i64 * CHARACTER + 99) / 100
}

/// A text in lines of at most this width in pixels, broken between words.
pub fn wrapped(text: &str, pixels: i64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let Some(line) = lines.last_mut() else { break };
        if !line.is_empty() && width(line) + width(" ") + width(word) > pixels {
            lines.push(word.to_owned());
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines
}

pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Left, top, right and bottom.
type Area = (f64, f64, f64, f64);

fn overlap(a: &Area, b: &Area) -> bool {
    a.0 < b.2 && b.0 < a.2 && a.1 < b.3 && b.1 < a.3
}

/// Fails where a text of a drawing leaves it, lies on another one, or would be too small in a page's column.
pub fn assert_readable(name: &str, svg: &str) {
    let root = svg.split('>').next().unwrap_or_default();
    let (width, height) = (number(root, "width"), number(root, "height"));
    assert!(width <= WIDTH as f64, "{name} is {width} wide");
    let viewed = format!("viewBox=\"0 0 {width} {height}\"");
    assert!(root.contains(&viewed), "{name}: {root}");
    for part in ["<title>", "<desc>", "prefers-color-scheme:dark"] {
        assert!(svg.contains(part), "{name} has no {part}");
    }
    let sizes = svg.split("px").filter_map(|before| {
        let size = before.rsplit([':', ' ']).next()?;
        size.parse::<f64>().ok()
    });
    let sizes: Vec<f64> = sizes.collect();
    assert!(
        !sizes.is_empty() && sizes.iter().all(|size| *size >= 11.0),
        "{name}: {sizes:?}"
    );
    let texts = svg.split("<text ").skip(1).filter_map(|text| {
        let (head, rest) = text.split_once('>')?;
        let rest = rest.split("</text>").next()?;
        // Behind the title, which is no part of the drawing.
        let shown = rest.rsplit("</title>").next()?;
        let shown = shown
            .replace("&amp;", "&")
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"");
        let size = if head.contains("class=\"name\"") {
            14.0
        } else {
            12.0
        };
        // The widest monospace fonts draw a character 0.62 of its size wide.
        let wide = shown.chars().count() as f64 * 0.62 * size;
        let (x, y) = (number(head, "x"), number(head, "y"));
        let x = match head {
            head if head.contains("\"middle\"") => x - wide / 2.0,
            head if head.contains("\"end\"") => x - wide,
            _ => x,
        };
        Some((shown, (x, y - size * 0.8, x + wide, y + size * 0.25)))
    });
    let texts: Vec<(String, Area)> = texts.collect();
    assert!(!texts.is_empty(), "{name} has no text");
    for (at, (text, a)) in texts.iter().enumerate() {
        let inside = a.0 >= 0.0 && a.1 >= 0.0 && a.2 <= width && a.3 <= height;
        assert!(inside, "{name}: `{text}` leaves the drawing: {a:?}");
        for (other, b) in &texts[at + 1..] {
            assert!(!overlap(a, b), "{name}: `{text}` lies on `{other}`");
        }
    }
}

fn number(element: &str, name: &str) -> f64 {
    let value = element
        .split(&format!(" {name}=\""))
        .nth(1)
        .or_else(|| element.strip_prefix(&format!("{name}=\"")));
    let value = value.and_then(|value| value.split('"').next()?.parse().ok());
    value.unwrap_or_else(|| panic!("no number {name} in {element}"))
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
    let (light, dark) = STYLE.split_once("@media").expect("two modes");
    for mode in [light, dark] {
        let fill = |class: &str| {
            let rule = mode.split(&format!(".odm-drawing {class}{{fill:")).nth(1);
            rule.and_then(|rule| rule.get(..7))
                .unwrap_or_else(|| panic!("{class} in {mode}"))
        };
        let on_ground = ["text", ".quiet", ".tab", ".bad"].map(|text| (text, ".ground"));
        for (text, ground) in on_ground
            .into_iter()
            .chain([("text", ".box"), (".quiet", ".box")])
        {
            let contrast = contrast(fill(text), fill(ground));
            assert!(contrast >= 4.5, "{text} on {ground}: {contrast:.2}");
        }
    }
}
