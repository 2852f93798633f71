//! The anchors that an HTML page offers, and the targets of its links.

use std::collections::{BTreeMap, BTreeSet};

use html5gum::{DefaultEmitter, HtmlString, Spanned, StartTag, Token, Tokenizer};

/// A page, or an SVG picture.
#[derive(Debug, Default)]
pub struct Html {
    /// The anchors: texts that a link may have behind `#`.
    pub anchors: BTreeSet<String>,
    pub links: Vec<Link>,
    /// The classes of its elements.
    pub classes: BTreeSet<String>,
    /// Whether the page only leads to another.
    pub redirects: bool,
}

/// Where an element leads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Link {
    /// A reader follows it.
    Followed(String),
    /// A browser loads it together with the page.
    Loaded(String),
}

type Attributes = BTreeMap<HtmlString, Spanned<HtmlString, ()>>;

impl Html {
    pub fn read(text: &str) -> Self {
        let mut html = Self::default();
        let mut emitter = DefaultEmitter::default();
        // Markup inside of scripts and styles is none.
        emitter.naively_switch_states(true);
        for Ok(token) in Tokenizer::new_with_emitter(text, emitter) {
            if let Token::StartTag(tag) = token {
                html.add(&tag);
            }
        }
        html
    }

    fn add(&mut self, tag: &StartTag<()>) {
        let name = String::from_utf8_lossy(&tag.name).into_owned();
        let attribute = |name: &str| attribute(&tag.attributes, name);
        self.anchors.extend(attribute("id"));
        if let Some(classes) = attribute("class") {
            self.classes
                .extend(classes.split_ascii_whitespace().map(str::to_owned));
        }
        match name.as_str() {
            "a" | "area" => {
                self.anchors.extend(attribute("name"));
                self.links.extend(
                    attribute("href")
                        .or_else(|| attribute("xlink:href"))
                        .map(Link::Followed),
                );
            }
            "link" => self.links.extend(attribute("href").map(Link::Loaded)),
            "image" | "use" => {
                let target = attribute("href").or_else(|| attribute("xlink:href"));
                self.links.extend(target.map(Link::Loaded));
            }
            "object" => self.links.extend(attribute("data").map(Link::Loaded)),
            "meta" if attribute("http-equiv").is_some_and(|value| value.eq_ignore_ascii_case("refresh")) => {
                self.redirects = true;
                let content = attribute("content").unwrap_or_default();
                let url = content.split_once('=').map(|(_, url)| url.trim().to_owned());
                self.links.extend(url.map(Link::Followed));
            }
            _ => {}
        }
        self.links.extend(attribute("src").map(Link::Loaded));
        for candidate in attribute("srcset").unwrap_or_default().split(',') {
            let url = candidate.split_ascii_whitespace().next();
            self.links.extend(url.map(|url| Link::Loaded(url.to_owned())));
        }
    }
}

fn attribute(attributes: &Attributes, name: &str) -> Option<String> {
    let value = attributes.get(name.as_bytes())?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// The files that a style sheet loads: the arguments of `url(…)` and of `@import`.
pub fn loaded_by_style(css: &str) -> Vec<String> {
    let argument = |text: &str, end: &[char]| {
        let text = text.trim_start();
        let quote = text.chars().next().filter(|first| matches!(first, '"' | '\''));
        match quote {
            Some(quote) => text[1..].split(quote).next(),
            None => text.split(end).next().map(str::trim),
        }
        .unwrap_or_default()
        .to_owned()
    };
    let urls = css.split("url(").skip(1).map(|rest| argument(rest, &[')']));
    let imports = css.split("@import").skip(1);
    let imports = imports.map(|rest| argument(rest, &[';', ' ', '\n']));
    urls.chain(imports.filter(|url| !url.is_empty() && !url.starts_with("url(")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(text: &str) -> Vec<Link> {
        Html::read(text).links
    }

    fn loaded(url: &str) -> Link {
        Link::Loaded(url.to_owned())
    }

    fn followed(url: &str) -> Link {
        Link::Followed(url.to_owned())
    }

    #[test]
    fn links_are_followed_and_resources_are_loaded() {
        assert_eq!(links("<a href='b.html#c&amp;d'>b</a>"), [followed("b.html#c&d")]);
        assert_eq!(links("<img src=a.svg>"), [loaded("a.svg")]);
        assert_eq!(
            links("<link rel=icon href=i.svg><script src='s.js'></script>"),
            [loaded("i.svg"), loaded("s.js")]
        );
        assert_eq!(links("<object data='o.svg'></object>"), [loaded("o.svg")]);
        assert_eq!(
            links("<img src=a.png srcset='b.png 2x, c.png 3x'>"),
            [loaded("a.png"), loaded("b.png"), loaded("c.png")]
        );
        assert_eq!(
            links("<svg><a xlink:href='#x'/><use href='#y'/><image href='z.png'/></svg>"),
            [followed("#x"), loaded("#y"), loaded("z.png")]
        );
    }

    #[test]
    fn markup_in_scripts_comments_and_code_is_none() {
        for text in [
            "<script>x = '<a href=no.html>';</script>",
            "<style>/* <img src=no.svg> */</style>",
            "<!-- <a href=no.html> -->",
            "<code>&lt;a href=no.html&gt;</code>",
        ] {
            assert_eq!(links(text), [], "{text}");
        }
    }

    #[test]
    fn anchors_and_classes_are_collected() {
        let html = Html::read("<h2 id=one class='header x'>1</h2><a name=two></a>");
        assert_eq!(Vec::from_iter(&html.anchors), ["one", "two"]);
        assert_eq!(Vec::from_iter(&html.classes), ["header", "x"]);
        assert!(!html.redirects);
    }

    #[test]
    fn a_redirect_is_a_link() {
        let html = Html::read(r#"<meta http-equiv="Refresh" content="0; URL=new.html#part">"#);
        assert!(html.redirects);
        assert_eq!(html.links, [followed("new.html#part")]);
    }

    #[test]
    fn styles_load_urls_and_imports() {
        let css = "@import 'a.css'; @import url(b.css);\nx { background: url( \"c.svg\" ), url(data:x) }";
        assert_eq!(loaded_by_style(css), ["b.css", "c.svg", "data:x", "a.css"]);
        assert_eq!(loaded_by_style("body { color: red }"), Vec::<String>::new());
    }
}
