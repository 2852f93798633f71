//! The list of operations, and the pages of attributes, errors and limits, show what the code declares: `ODM_WRITE_BOOK=1 cargo test -p odm-book --test reference` writes the
//! tables of operations, and the other pages are compared.

use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use syn::{
    Attribute, Expr, FnArg, ImplItem, Item, Lit, Meta, Pat, ReturnType, Signature, TraitItem, Type,
    Visibility,
};

#[path = "../../odm-derive/src/attr/keys.rs"]
#[expect(dead_code, reason = "the parsers use the rest")]
mod keys;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn page(path: &str) -> (PathBuf, String) {
    let path = workspace().join(path);
    let text = std::fs::read_to_string(&path).expect("the page can be read");
    (path, text)
}

fn parsed(file: &Path) -> syn::File {
    let text = std::fs::read_to_string(file).expect("a source can be read");
    syn::parse_file(&text).expect("a source can be parsed")
}

/// All sources below a folder.
fn sources(folder: &Path) -> Vec<syn::File> {
    let mut files = Vec::new();
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("a folder of sources")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(parsed(&path));
        }
    }
    files
}

/// The documentation, a line each.
fn documentation(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(doc) if doc.path.is_ident("doc") => match &doc.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value().strip_prefix(' ').unwrap_or(&text.value()).to_owned()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn is_hidden(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("doc") && attribute.meta.to_token_stream().to_string().contains("hidden")
            || attribute.path().is_ident("cfg")
                && attribute.meta.to_token_stream().to_string().contains("test")
    })
}

/// The first paragraph.
fn summary(documentation: &str) -> String {
    plain(documentation.split("\n\n").next().unwrap_or_default())
}

/// The text of the section `# Cost`.
fn cost(documentation: &str) -> Option<String> {
    let (_, section) = documentation.split_once("# Cost\n")?;
    let end = ["\n# ", "\n```"].iter().filter_map(|end| section.find(end)).min();
    Some(plain(&section[..end.unwrap_or(section.len())]))
}

/// Without the links of rustdoc, in one line. Links to the web stay.
fn plain(text: &str) -> String {
    let mut text = text
        .lines()
        .filter(|line| !(line.starts_with("[`") && line.contains("`]: ")))
        .collect::<Vec<_>>()
        .join(" ");
    let mut made = String::new();
    while let Some(start) = text.find('[') {
        let Some(end) = text[start..].find(']').map(|end| start + end) else {
            break;
        };
        made.push_str(&text[..start]);
        let label = text[start + 1..end].to_owned();
        let rest = text[end + 1..].to_owned();
        let (target, rest) = match rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
            Some((target, after)) => (Some(target.to_owned()), after.to_owned()),
            None => (None, rest),
        };
        match target {
            Some(target) if target.starts_with("https://") => {
                write!(made, "[{label}]({target})").expect("memory")
            }
            None if !label.starts_with('`') => write!(made, "[{label}]").expect("memory"),
            _ => made.push_str(&label),
        }
        text = rest;
    }
    made.push_str(&text);
    made.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The first sentence, without what it lists after a colon where it is long.
fn short(text: &str) -> String {
    const LONG: usize = 160;
    let (sentence, _) = split_sentence(text);
    match sentence.split_once(": ") {
        Some((short, _)) if sentence.chars().count() > LONG => format!("{short}."),
        _ => sentence.to_owned(),
    }
}

/// The first sentence, and what follows it.
fn split_sentence(text: &str) -> (&str, &str) {
    let code_before = |at: usize| text[..at].matches('`').count() % 2 == 1;
    let parentheses_before = |at: usize| text[..at].matches('(').count() > text[..at].matches(')').count();
    let end = text.match_indices(". ").find(|(at, _)| {
        let next = text[at + 2..].chars().next();
        !code_before(*at)
            && !parentheses_before(*at)
            && next.is_some_and(|next| next.is_uppercase() || next == '`')
    });
    match end {
        Some((at, _)) => (&text[..=at], text[at + 2..].trim()),
        None => (text, ""),
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// A type as it is written in the source.
fn written(ty: &impl ToTokens) -> String {
    let text = ty.to_token_stream().to_string();
    let mut text = text
        .replace(" < ", "<")
        .replace(" > ", ">")
        .replace(" >", ">")
        .replace(" :: ", "::");
    for (from, to) in [
        ("< ", "<"),
        ("& ", "&"),
        (" ,", ","),
        (" ;", ";"),
        ("( )", "()"),
        ("'static, ", ""),
        (" <", "<"),
    ] {
        text = text.replace(from, to);
    }
    text
}

/// The argument of a type such as `Result<T>`, where it is one of these.
fn within<'a>(ty: &'a str, names: &[&str]) -> Option<&'a str> {
    let inner = ty.strip_suffix('>')?;
    let (name, inner) = inner.split_once('<')?;
    names.contains(&name).then_some(inner)
}

/// What `.await` gives, or the value.
fn awaited(ty: &str) -> String {
    let inner = within(ty, &["Action", "action::Action", "Result"]).unwrap_or(ty);
    if let Some(items) = within(inner, &["BoxStream"]) {
        let items = within(items, &["Result"]).unwrap_or(items);
        return format!("stream of {}", awaited(items));
    }
    match inner {
        // Of a reference, of an optional one, and of an array.
        "M::Given<V, J::Item>" => "T, Option<T> or Vec<T>".to_owned(),
        inner => inner.replace("J::Row<Out>", "Row"),
    }
}

struct Method {
    name: String,
    /// As a program calls it.
    call: String,
    returns: String,
    is_async: bool,
    text: String,
    cost: Option<String>,
}

#[derive(Default)]
struct Code {
    /// Of each type and trait, in the order of the sources.
    methods: BTreeMap<String, Vec<Method>>,
    /// The type that the future of a builder gives.
    outputs: BTreeMap<String, String>,
    /// The section `# Cost` of a type.
    costs: BTreeMap<String, String>,
}

impl Code {
    fn read() -> Code {
        let mut code = Code::default();
        for file in sources(&workspace().join("odm/src")) {
            code.items(&file.items);
        }
        code
    }

    fn items(&mut self, items: &[Item]) {
        for item in items {
            match item {
                Item::Mod(module) if !is_hidden(&module.attrs) => {
                    if let Some((_, items)) = &module.content {
                        self.items(items);
                    }
                }
                Item::Struct(item) => {
                    if let Some(cost) = cost(&documentation(&item.attrs)) {
                        self.costs.insert(item.ident.to_string(), cost);
                    }
                }
                Item::Trait(item) => {
                    for member in &item.items {
                        if let TraitItem::Fn(method) = member
                            && method.default.is_some()
                            && !is_hidden(&method.attrs)
                        {
                            let method = Method::of("", &method.sig, &documentation(&method.attrs));
                            self.methods
                                .entry(format!("trait {}", item.ident))
                                .or_default()
                                .push(method);
                        }
                    }
                }
                Item::Impl(item) => self.implementation(item),
                _ => {}
            }
        }
    }

    fn implementation(&mut self, item: &syn::ItemImpl) {
        let Type::Path(path) = &*item.self_ty else { return };
        let Some(name) = path.path.segments.last().map(|segment| segment.ident.to_string()) else {
            return;
        };
        match &item.trait_ {
            Some((path, _)) if path.is_ident("IntoFuture") => {
                for member in &item.items {
                    if let ImplItem::Type(output) = member
                        && output.ident == "Output"
                    {
                        self.outputs.insert(name.clone(), written(&output.ty));
                    }
                }
            }
            Some(_) => {}
            None => {
                for member in &item.items {
                    if let ImplItem::Fn(method) = member
                        && matches!(method.vis, Visibility::Public(_))
                        && !is_hidden(&method.attrs)
                    {
                        let method = Method::of(&name, &method.sig, &documentation(&method.attrs));
                        self.methods.entry(name.clone()).or_default().push(method);
                    }
                }
            }
        }
    }
}

impl Method {
    fn of(of: &str, signature: &Signature, documentation: &str) -> Method {
        let name = signature.ident.to_string();
        let mut takes_self = false;
        let mut given = Vec::new();
        for input in &signature.inputs {
            match input {
                FnArg::Receiver(_) => takes_self = true,
                FnArg::Typed(input) => match &*input.pat {
                    Pat::Ident(pattern) => given.push(pattern.ident.to_string()),
                    _ => given.push("…".to_owned()),
                },
            }
        }
        let types: Vec<String> = signature
            .generics
            .type_params()
            .map(|ty| ty.ident.to_string())
            .collect();
        let types = match (given.is_empty(), types.is_empty()) {
            (true, false) => format!("::<{}>", types.join(", ")),
            _ => String::new(),
        };
        let before = if takes_self {
            String::new()
        } else {
            format!("{of}::")
        };
        let returns = match &signature.output {
            ReturnType::Default => "()".to_owned(),
            ReturnType::Type(_, ty) => written(ty),
        };
        Method {
            call: format!("{before}{name}{types}({})", given.join(", ")),
            name,
            returns,
            is_async: signature.asyncness.is_some(),
            text: summary(documentation),
            cost: cost(documentation),
        }
    }

    /// The type that it returns, without parameters.
    fn returned(&self) -> &str {
        let name = self.returns.split('<').next().unwrap_or_default();
        match name.strip_prefix("crate::").unwrap_or(name) {
            // Its argument is the type that the future gives.
            "Action" | "action::Action" => "",
            name => name,
        }
    }
}

/// The tables of a type, or of its methods that return another one, and the names of what has no cost though it sends something.
fn tables(code: &Code, of: &str, silent: &mut Vec<String>) -> String {
    let (of, only) = match of.split_once(" that returns ") {
        Some((of, only)) => (of, Some(only)),
        None => (of, None),
    };
    let mut page = String::new();
    if let Some(cost) = code.costs.get(of) {
        write!(page, "**Round trips.** {cost}\n\n").expect("memory");
    }
    let none = Vec::new();
    let methods = code.methods.get(of).unwrap_or(&none);
    let (options, operations): (Vec<&Method>, Vec<&Method>) = methods
        .iter()
        .filter(|method| only.is_none_or(|only| method.returned() == only))
        .partition(|method| method.returned() == "Self" || method.returned() == of);
    let mut more = String::new();
    let mut rest = |method: &Method, text: &str| {
        if !text.is_empty() {
            writeln!(more, "- `{}`: {text}", method.name).expect("memory");
        }
    };
    if !operations.is_empty() {
        page.push_str("| operation | returns | what it does | round trips |\n| --- | --- | --- | --- |\n");
        for method in operations {
            let builder = method.returned();
            let output = code.outputs.get(builder);
            let link = format!("see [`{builder}`](#{})", builder.to_lowercase());
            let (trips, after) = match (&method.cost, output) {
                (Some(cost), _) => split_sentence(cost),
                (None, Some(_)) if code.costs.contains_key(builder) => (link.as_str(), ""),
                (None, None) if !method.is_async && !method.returns.contains("Action<") => ("none", ""),
                _ => {
                    silent.push(format!("{of}::{}", method.name));
                    ("", "")
                }
            };
            rest(method, after);
            let returns = match output {
                Some(output) => awaited(output),
                None if code.methods.contains_key(builder) => builder.to_owned(),
                None => awaited(&method.returns),
            };
            let returns = match returns.as_str() {
                "()" => String::new(),
                returns => format!("`{returns}`")
                    .replace(" of ", " of `")
                    .replace("`stream of", "stream of"),
            };
            let text = &short(&method.text);
            let line = format!(
                "| `{}` | {} | {} | {} |\n",
                method.call,
                cell(&returns),
                cell(text),
                cell(trips)
            );
            page.push_str(&line);
        }
        page.push('\n');
    }
    if !options.is_empty() {
        page.push_str("| option | what it does |\n| --- | --- |\n");
        for method in options {
            let text = &short(&method.text);
            page.push_str(&format!("| `{}` | {} |\n", method.call, cell(text)));
            if let Some(cost) = &method.cost {
                rest(method, cost);
            }
        }
        page.push('\n');
    }
    if !more.is_empty() {
        write!(page, "More on round trips:\n\n{more}\n").expect("memory");
    }
    if methods.is_empty() && !code.costs.contains_key(of) {
        silent.push(format!("{of} has no operation"));
    }
    page
}

/// Types that hold results or are made of them, and have methods that only look at what is there; and those that the derives and
/// the conditions are about.
const NO_OPERATIONS: [&str; 5] = [
    "AuditedCopies",
    "AuditedReference",
    "MigrationStatus",
    "Page",
    "Violation",
];

#[test]
fn the_page_of_operations_shows_every_method() {
    let code = Code::read();
    let (path, text) = page("docs/operations.md");
    let mut silent = Vec::new();
    let mut shown = BTreeSet::new();
    let mut made = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("<!-- generated: ") {
        let (of, after) = after.split_once(" -->\n").expect("the end of a mark");
        let (_, after) = after.split_once("<!-- end -->").expect("the end of a table");
        let tables = tables(&code, of, &mut silent);
        write!(
            made,
            "{before}<!-- generated: {of} -->\n\n{}\n\n<!-- end -->",
            tables.trim_end()
        )
        .expect("memory");
        shown.insert(of.to_owned());
        rest = after;
    }
    made.push_str(rest);
    assert!(
        silent.is_empty(),
        "these say nothing of their round trips: {silent:#?}"
    );

    // Whatever an operation returns is shown, too.
    let mut missing = BTreeSet::new();
    for of in &shown {
        for method in code.methods.get(of).into_iter().flatten() {
            let output = code.outputs.get(method.returned()).map_or("", String::as_str);
            for returned in [awaited(&method.returns), awaited(output)] {
                let returned = returned
                    .trim_start_matches('&')
                    .split('<')
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                let is_known = shown.contains(&returned) || NO_OPERATIONS.contains(&returned.as_str());
                if code.methods.contains_key(&returned) && !is_known {
                    missing.insert(returned);
                }
            }
        }
    }
    assert!(missing.is_empty(), "the page does not show {missing:?}");
    compare(&path, &made);
}

/// The tables below each heading of the third level: the code spans of the first column.
fn first_columns(text: &str) -> Vec<(String, Vec<Vec<String>>)> {
    let mut sections = Vec::new();
    for section in text.split("\n### ").skip(1) {
        let (heading, rest) = section.split_once('\n').expect("a heading");
        let rest = rest.split("\n## ").next().unwrap_or_default();
        let rows = rest
            .lines()
            .filter(|line| line.starts_with("| `"))
            .map(|line| {
                let line = line.replace("\\|", "\u{1}");
                let first = line.split('|').nth(1).unwrap_or_default().replace('\u{1}', "|");
                first.split('`').skip(1).step_by(2).map(str::to_owned).collect()
            })
            .collect();
        sections.push((heading.to_owned(), rows));
    }
    sections
}

/// The most options that a reader meets first.
const CORE: usize = 60;

/// The rows of the core: the heading of the attribute's section, and the code spans of the option.
fn core(text: &str) -> Vec<(String, Vec<String>)> {
    let (_, section) = text.split_once("\n## The core").expect("a section with the core");
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.map(|line| {
        let line = line.replace("\\|", "\u{1}");
        let mut cells = line.split('|').map(str::trim);
        let attribute = cells.nth(1).expect("an attribute").to_owned();
        let option = cells.next().expect("an option").replace('\u{1}', "|");
        let forms = option.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        (attribute, forms)
    })
    .collect()
}

#[test]
fn the_page_of_attributes_begins_with_a_core_and_shows_every_option_once() {
    let (_, text) = page("odm/doc/attributes.md");
    let mut core = core(&text);
    assert!(core.len() <= CORE, "the core has {} options", core.len());
    let mut sections = first_columns(&text);
    for (heading, rows) in &mut sections {
        let (of_section, others): (Vec<_>, Vec<_>) = core.into_iter().partition(|(of, _)| of == heading);
        core = others;
        if of_section.is_empty() {
            continue;
        }
        let names: Vec<String> = of_section
            .iter()
            .map(|(_, forms)| forms[0].split([' ', '(']).next().unwrap_or_default().to_owned())
            .collect();
        let named = format!("In [the core](#the-core): `{}`.", names.join("`, `"));
        let (_, section) = text
            .split_once(&format!("\n### {heading}\n"))
            .expect("the section");
        let section = section.split("\n##").next().unwrap_or_default();
        assert!(section.contains(&named), "`{heading}` has no line `{named}`");
        for (_, forms) in of_section {
            assert!(!rows.contains(&forms), "`{heading}` shows `{}` twice", forms[0]);
            rows.push(forms);
        }
    }
    assert!(core.is_empty(), "no section is that of {core:?}");
    let mut attributes: Vec<&keys::Attribute> = keys::ALL.to_vec();
    for (heading, rows) in &sections {
        let shown = heading.split('`').nth(1).expect("a heading with an attribute");
        if shown == "#[volatile]" || shown == "#[serde(…)]" {
            assert!(rows.is_empty());
            continue;
        }
        let at = attributes
            .iter()
            .position(|attribute| attribute.shown == shown)
            .unwrap_or_else(|| {
                panic!("the page has a section `{heading}`, and the derives have no such attribute")
            });
        let attribute = attributes.remove(at);
        let options: Vec<Vec<&str>> = attribute.options.iter().map(|key| key.syntax.to_vec()).collect();
        for syntax in &options {
            let row = rows.iter().find(|row| row[0] == syntax[0]);
            let row = row.unwrap_or_else(|| panic!("`{heading}` has no row for `{}`", syntax[0]));
            assert!(
                syntax.iter().all(|form| row.iter().any(|shown| shown == form)),
                "`{heading}` does not show all forms of `{}`",
                syntax[0]
            );
        }
        assert_eq!(
            rows.len(),
            options.len(),
            "`{heading}` has a row for an option that there is not"
        );
    }
    let left: Vec<&str> = attributes.iter().map(|attribute| attribute.shown).collect();
    assert!(left.is_empty(), "the page does not show {left:?}");
}

/// The guide shows the core alone, in words of its own.
#[test]
fn the_guide_shows_the_core() {
    let (_, all) = page("odm/doc/attributes.md");
    let (_, guide) = page("book/src/attributes.md");
    assert_eq!(core(&guide), core(&all));
}

#[test]
fn the_page_of_attributes_shows_what_the_derives_register() {
    let (_, text) = page("odm/doc/attributes.md");
    let lib = parsed(&workspace().join("odm-derive/src/lib.rs"));
    let mut registered = BTreeSet::new();
    for item in &lib.items {
        let Item::Fn(item) = item else { continue };
        for attribute in item
            .attrs
            .iter()
            .filter(|attribute| attribute.path().is_ident("proc_macro_derive"))
        {
            let tokens = attribute.meta.to_token_stream().to_string();
            let (_, list) = tokens.split_once("attributes").expect("a list of attributes");
            registered.extend(
                list.split(|c: char| !c.is_alphanumeric() && c != '_')
                    .filter(|name| !name.is_empty())
                    .map(str::to_owned),
            );
        }
    }
    assert!(registered.len() >= 11, "{registered:?}");
    for name in registered {
        let headings = [format!("### `#[{name}"), format!("### `#[{name}(…)]`")];
        assert!(
            headings.iter().any(|heading| text.contains(heading.as_str())),
            "no section for `#[{name}]`"
        );
    }
}

#[test]
fn the_page_of_errors_shows_every_variant_with_its_fields() {
    let file = parsed(&workspace().join("odm/src/error.rs"));
    let error = file
        .items
        .iter()
        .find_map(|item| match item {
            Item::Enum(item) if item.ident == "Error" => Some(item),
            _ => None,
        })
        .expect("the enum of errors");
    let (path, text) = page("odm/doc/errors.md");
    let (above, below) = text.split_once("\n## ").expect("sections");
    let mut made = above.to_owned();
    let mut variants = error.variants.iter();
    for section in below.split("\n## ") {
        let variant = variants
            .next()
            .expect("the page has more sections than there are variants");
        let (heading, rest) = section.split_once('\n').expect("a heading");
        assert_eq!(
            heading,
            format!("`{}`", variant.ident),
            "the sections are in the order of the variants"
        );
        let (_, rest) = rest.split_once("```text\n").expect("the text of the error");
        let (_, rest) = rest.split_once("```\n").expect("the end of the text");
        for label in ["**Cause.**", "**What to do.**"] {
            assert!(rest.contains(label), "{heading} says no {label}");
        }
        for field in variant.fields.iter().filter_map(|field| field.ident.as_ref()) {
            assert!(
                rest.contains(&format!("`{field}`")),
                "{heading} does not show its field `{field}`"
            );
        }
        write!(
            made,
            "\n## {heading}\n\n```text\n{}```\n{rest}",
            displayed(variant)
        )
        .expect("memory");
    }
    assert_eq!(
        variants.map(|variant| &variant.ident).collect::<Vec<_>>(),
        Vec::<&syn::Ident>::new()
    );
    compare(&path, &made);
}

/// A page is as it was made, or is written so.
fn compare(path: &Path, made: &str) {
    if std::env::var_os("ODM_WRITE_BOOK").is_some() {
        std::fs::write(path, made).expect("the page can be written");
    }
    let written = std::fs::read_to_string(path).expect("the page can be read");
    assert!(
        written == made,
        "{} is not that of the code: ODM_WRITE_BOOK=1 writes it",
        path.display()
    );
}

/// The text of an error as its attribute declares it, with three dots for what is made of its values, in lines of the guide.
fn displayed(variant: &syn::Variant) -> String {
    let attribute = variant
        .attrs
        .iter()
        .find(|attribute| attribute.path().is_ident("error"));
    let Some(Meta::List(list)) = attribute.map(|attribute| &attribute.meta) else {
        panic!("{} has no text", variant.ident)
    };
    let literal = list.tokens.clone().into_iter().next().expect("a text");
    let Ok(Lit::Str(text)) = syn::parse2::<Lit>(literal.into()) else {
        panic!("{} has no text", variant.ident)
    };
    let text = text
        .value()
        .replace("{}", "…")
        .replace("{0}", "…")
        .replace("……", "…");
    let mut lines = String::new();
    let mut width = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if width > 0 && width + 1 + length > 84 {
            lines.push_str("\n  ");
            width = 2;
        } else if width > 0 {
            lines.push(' ');
            width += 1;
        }
        lines.push_str(word);
        width += length;
    }
    lines.push('\n');
    lines
}

/// The value of a constant that is a number, or a product of numbers.
fn constant(file: &str, name: &str) -> u64 {
    fn found<'a>(items: &'a [Item], name: &str) -> Option<&'a Expr> {
        items.iter().find_map(|item| match item {
            Item::Const(item) if item.ident == name => Some(&*item.expr),
            Item::Mod(item) => found(&item.content.as_ref()?.1, name),
            Item::Impl(item) => item.items.iter().find_map(|member| match member {
                ImplItem::Const(member) if member.ident == name => Some(&member.expr),
                _ => None,
            }),
            _ => None,
        })
    }
    let parsed = parsed(&workspace().join(file));
    let value = found(&parsed.items, name).unwrap_or_else(|| panic!("{file} has no constant {name}"));
    number(value).unwrap_or_else(|| panic!("{name} of {file} is no number: {}", value.to_token_stream()))
}

/// The value of a product or a shift, the seconds or milliseconds of a duration, the greatest number of what `Takes` allows.
fn number(value: &Expr) -> Option<u64> {
    match value {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => number.base10_parse().ok(),
            _ => None,
        },
        Expr::Binary(binary) => {
            let (left, right) = (number(&binary.left)?, number(&binary.right)?);
            match binary.op {
                syn::BinOp::Mul(_) => Some(left * right),
                syn::BinOp::Shl(_) => Some(left << right),
                _ => None,
            }
        }
        Expr::Cast(cast) => number(&cast.expr),
        Expr::Paren(inner) => number(&inner.expr),
        Expr::Call(call) => {
            let called = written(&call.func);
            match called.as_str() {
                "Duration::from_secs" | "Duration::from_millis" => number(call.args.first()?),
                "Takes::new" => number(call.args.get(2)?),
                _ => None,
            }
        }
        _ => None,
    }
}

/// With commas between thousands, as the guide writes numbers.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[test]
fn the_page_of_limits_has_the_numbers_of_the_code() {
    const MIB: u64 = 1 << 20;
    let (_, text) = page("odm/doc/limits.md");
    let mut seen = BTreeSet::new();
    for (limit, file, name, unit) in LIMITS {
        let row = text
            .lines()
            .find(|line| line.starts_with(&format!("| {limit} |")))
            .unwrap_or_else(|| panic!("the page has no row `{limit}`"));
        let value = constant(file, name);
        let value = match unit {
            Unit::One => grouped(value),
            Unit::MiB => format!("{} MiB", value / MIB),
            Unit::Seconds => format!("{value} s"),
        };
        let shown = row.split('|').nth(2).expect("the second column").trim();
        assert!(
            shown == value || shown.starts_with(&format!("{value} ")),
            "the page says {shown} for `{limit}`, and {name} of {file} is {value}"
        );
        seen.insert(row);
    }
    // Of the library's own limits, each row is one of those above.
    let (_, own) = text
        .split_once("\n## Limits of odm")
        .expect("the library's own limits");
    let own = own.split("\n## ").next().unwrap_or_default();
    for row in own
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| ---") && !line.starts_with("| limit |"))
    {
        assert!(
            seen.contains(row),
            "no constant of the code is compared with {row}"
        );
    }
}

#[derive(Clone, Copy)]
enum Unit {
    One,
    MiB,
    Seconds,
}

/// The rows of the page of limits, and the constants that they are.
const LIMITS: &[(&str, &str, &str, Unit)] = &[
    (
        "the size of a document",
        "odm/src/model/size.rs",
        "MAX_DOCUMENT_SIZE",
        Unit::MiB,
    ),
    (
        "levels of nesting in a document",
        "odm/src/bounds/walk.rs",
        "MAX_LEVELS",
        Unit::One,
    ),
    (
        "indexes of a collection",
        "odm/src/schema/index.rs",
        "MAX_INDEXES",
        Unit::One,
    ),
    (
        "depth of the filter of a partial index",
        "odm/src/schema/partial.rs",
        "MAX_DEPTH",
        Unit::One,
    ),
    (
        "embedded documents in an array, without `large = \"reason\"`",
        "odm/src/model/asserts/mod.rs",
        "EMBEDDED_DOCUMENTS",
        Unit::One,
    ),
    (
        "references in an array, without `max`",
        "odm-derive/src/attr/reference.rs",
        "DEFAULT_MAX",
        Unit::One,
    ),
    (
        "`max` of an array of references",
        "odm-derive/src/attr/reference.rs",
        "GREATEST_MAX",
        Unit::One,
    ),
    (
        "`max` of an array of references",
        "odm/src/model/asserts/count.rs",
        "REFERENCES",
        Unit::One,
    ),
    (
        "`expected` of an array of references",
        "odm/src/model/asserts/count.rs",
        "EXPECTED",
        Unit::One,
    ),
    (
        "`limit` of a subset",
        "odm/src/model/asserts/count.rs",
        "SUBSET",
        Unit::One,
    ),
    (
        "`size` of a bucket",
        "odm/src/model/asserts/count.rs",
        "BUCKET",
        Unit::One,
    ),
    (
        "`size` of a bucket, by default",
        "odm-derive/src/check/bucket.rs",
        "PAGE",
        Unit::One,
    ),
    (
        "`size` of a bucket with `per`, by default",
        "odm-derive/src/check/bucket.rs",
        "PERIOD",
        Unit::One,
    ),
    (
        "`depth` of a type that contains itself",
        "odm/src/model/asserts/count.rs",
        "DEPTH",
        Unit::One,
    ),
    (
        "`max` of an array of plain values",
        "odm/src/model/asserts/count.rs",
        "ITEMS",
        Unit::One,
    ),
    (
        "the name of a collection",
        "odm-derive/src/check/document.rs",
        "LONGEST_NAME",
        Unit::One,
    ),
    (
        "bytes that every document reserves for the library's field `_odm`",
        "odm/src/model/size.rs",
        "OWN",
        Unit::One,
    ),
    (
        "levels of nesting in JSON that comes in",
        "odm/src/json/text.rs",
        "LEVELS",
        Unit::One,
    ),
    (
        "levels of nesting in JSON that goes out",
        "odm/src/json/text.rs",
        "STORED_LEVELS",
        Unit::One,
    ),
    (
        "violations that one error lists",
        "odm/src/bounds/walk.rs",
        "MOST",
        Unit::One,
    ),
    (
        "fields that `TooLarge` lists",
        "odm/src/plan/operators/growth.rs",
        "MOST",
        Unit::One,
    ),
    (
        "values of several fields in `in_`, `not_in`, `all`, `contains_any`, `pull_all`",
        "odm/src/query/filter/equal.rs",
        "MOST_VALUES",
        Unit::One,
    ),
    (
        "entries of a map that is compared in the items of an array",
        "odm/src/query/filter/equal.rs",
        "MOST_ORDERED",
        Unit::One,
    ),
    (
        "entries of a map with a bound that an upsert sets",
        "odm/src/plan/operators/guard.rs",
        "MOST_ALTERNATIVES",
        Unit::One,
    ),
    (
        "structs within each other whose undeclared fields a replacement keeps",
        "odm/src/plan/keep.rs",
        "DEEPEST",
        Unit::One,
    ),
    (
        "characters of one value in a request",
        "odm/src/query/request/value.rs",
        "MOST_CHARS",
        Unit::One,
    ),
    (
        "ids in one query of a join or of `get_many`",
        "odm/src/model/key.rs",
        "KEYS_IN_ONE_QUERY",
        Unit::One,
    ),
    (
        "size of these ids",
        "odm/src/model/key.rs",
        "BYTES_IN_ONE_QUERY",
        Unit::MiB,
    ),
    (
        "parts of a list of ids that are queried at once",
        "odm/src/query/join/hop.rs",
        "IN_FLIGHT",
        Unit::One,
    ),
    (
        "documents of a stream that are joined at once",
        "odm/src/query/untyped.rs",
        "JOINED_AT_ONCE",
        Unit::One,
    ),
    (
        "losses of a resumable stream without a document in between",
        "odm/src/query/page/resume.rs",
        "MOST_LOSSES",
        Unit::One,
    ),
    (
        "ids that an operation with a collation reads first",
        "odm/src/engine/write/documents.rs",
        "MOST_FOUND",
        Unit::One,
    ),
    (
        "documents that one transaction of the library changes",
        "odm/src/engine/write/attempt.rs",
        "MAX_DOCS_PER_TX",
        Unit::One,
    ),
    (
        "holders that change in one transaction with their source",
        "odm/src/store/fan_out.rs",
        "IN_TRANSACTION",
        Unit::One,
    ),
    (
        "holders in one batch of a fan-out",
        "odm/src/store/fan_out.rs",
        "BATCH",
        Unit::One,
    ),
    (
        "batches of a fan-out that are written at once",
        "odm/src/rules/copy/deliver.rs",
        "AT_ONCE",
        Unit::One,
    ),
    (
        "time for which a transaction is repeated",
        "odm/src/store/transaction.rs",
        "RETRY_FOR",
        Unit::Seconds,
    ),
    (
        "aborted transactions before a write with `auto` becomes eventual",
        "odm/src/store/transaction.rs",
        "CONFLICTS",
        Unit::One,
    ),
    (
        "attempts of an update that matches nothing although nothing refuses it",
        "odm/src/engine/write/unmatched.rs",
        "ATTEMPTS",
        Unit::One,
    ),
    (
        "times that an upsert by a unique key is sent again",
        "odm/src/store/transaction.rs",
        "REPEATS",
        Unit::One,
    ),
    (
        "hooks that call each other by their writes",
        "odm/src/engine/hooks/call.rs",
        "MAX_DEPTH",
        Unit::One,
    ),
    (
        "attempts to push into a bucket",
        "odm/src/engine/bucket.rs",
        "ATTEMPTS",
        Unit::One,
    ),
    (
        "documents that a cascade deletes or changes at once",
        "odm/src/engine/delete/walk.rs",
        "BATCH",
        Unit::One,
    ),
    (
        "documents with pending work that a recovery handles at once",
        "odm/src/upkeep/recover.rs",
        "BATCH",
        Unit::One,
    ),
    (
        "age of pending work before a worker applies it",
        "odm/src/rules/lease.rs",
        "LASTS",
        Unit::Seconds,
    ),
    (
        "time that a `backfill` waits after a new declaration",
        "odm/src/rules/others.rs",
        "HOLDING",
        Unit::Seconds,
    ),
    (
        "earlier declarations of a copy or reference that the database keeps",
        "odm/src/graph/declaration.rs",
        "MOST_EARLIER",
        Unit::One,
    ),
    (
        "documents in one batch of an audit",
        "odm/src/upkeep/audit.rs",
        "BATCH",
        Unit::One,
    ),
    (
        "expired documents that are deleted in one step",
        "odm/src/upkeep/expiry.rs",
        "BATCH",
        Unit::One,
    ),
    (
        "changes that the reconciler applies together",
        "odm/src/upkeep/reconcile.rs",
        "TOGETHER",
        Unit::One,
    ),
    (
        "time between two heartbeats of the reconciler",
        "odm/src/upkeep/reconcile.rs",
        "HEARTBEAT",
        Unit::Seconds,
    ),
    (
        "time between two stored positions of a change stream without changes",
        "odm/src/upkeep/watch/stream.rs",
        "STORED",
        Unit::Seconds,
    ),
    (
        "longest pause before a change stream that failed is opened again",
        "odm/src/upkeep/watch/source.rs",
        "LONGEST",
        Unit::Seconds,
    ),
    (
        "items of a bucket that a stream has in memory",
        "odm/src/api/bucket/mod.rs",
        "STREAMED",
        Unit::One,
    ),
];

#[test]
fn every_question_is_answered_in_few_words_and_leads_on() {
    let (_, text) = page("book/src/faq.md");
    let questions: Vec<&str> = text.split("\n### ").skip(1).collect();
    assert!(questions.len() >= 20);
    for question in questions {
        let heading = question.lines().next().unwrap_or_default();
        assert!(heading.ends_with('?'), "{heading}");
        assert!(question.contains("]("), "this answer has no link: {heading}");
    }
}
