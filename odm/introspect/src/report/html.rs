//! The report as a page: a single file without scripts, which loads nothing.

use super::marks::{code, escaped, sentence};
use super::page::page;
use super::{diagram, tables};
use crate::advice::words::{bytes, count, counted, documents};
use crate::advice::{Advice, Language, Severity};
use crate::design::Design;
use std::fmt::Write;

/// The page: the advice, the diagrams, each collection with its fields and figures, references, and what comes from elsewhere.
pub fn write(design: &Design, advice: &[Advice]) -> String {
    let title = format!("The design of {}", design.database);
    let mut html = format!("<h1>{}</h1>\n", escaped(&title));
    html.push_str(&summary(design));
    html.push_str(
        "<nav><a href=\"#advice\">Advice</a><a href=\"#diagrams\">Diagrams</a><a href=\"#collections\">Collections</a>\
         <a href=\"#references\">References</a><a href=\"#derived\">Copies and computed fields</a></nav>\n",
    );
    html.push_str("<h2 id=\"advice\">Advice</h2>\n");
    html.push_str(&advices(advice));
    html.push_str("<h2 id=\"diagrams\">Diagrams</h2>\n");
    let diagrams = diagram::all(design);
    if diagrams.is_empty() {
        html.push_str("<p>No collection refers to another one.</p>\n");
    }
    for (at, diagram) in diagrams.iter().enumerate() {
        // The heads of lines have names, each of which a page has once.
        let svg = ["odm-reference-head", "odm-copy-head"]
            .iter()
            .fold(diagram.svg(), |svg, head| {
                svg.replace(head, &format!("{head}-{at}"))
            });
        let _ = writeln!(html, "<div class=\"scroll\">{svg}</div>");
    }
    html.push_str("<h2 id=\"collections\">Collections</h2>\n");
    for (at, collection) in design.collections.iter().enumerate() {
        html.push_str(&tables::collection(collection, at));
    }
    html.push_str("<h2 id=\"references\">References</h2>\n");
    let references = tables::references(design);
    html.push_str(if references.is_empty() {
        "<p>The data show none.</p>\n"
    } else {
        &references
    });
    html.push_str("<h2 id=\"derived\">Copies and computed fields</h2>\n");
    let derived = tables::derived(design);
    html.push_str(if derived.is_empty() {
        "<p>The data show none.</p>\n"
    } else {
        &derived
    });
    if !design.notes.is_empty() {
        html.push_str("<h2 id=\"notes\">Notes</h2>\n<ul>\n");
        for note in &design.notes {
            let _ = writeln!(html, "<li>{}</li>", sentence(note));
        }
        html.push_str("</ul>\n");
    }
    page(&title, &html)
}

fn summary(design: &Design) -> String {
    let sum = |of: &dyn Fn(&crate::design::Collection) -> u64| design.collections.iter().map(of).sum::<u64>();
    let size: f64 = design
        .collections
        .iter()
        .map(|collection| collection.sizes.mean * collection.documents as f64)
        .sum();
    format!(
        "<p>{}, {} of about {}, of which {} were read; {}, {}, {}.</p>\n",
        counted(design.collections.len() as u64, "collection", "collections"),
        documents(sum(&|collection| collection.documents)),
        bytes(size),
        count(sum(&|collection| collection.read)),
        counted(design.references.len() as u64, "reference", "references"),
        counted(design.copies.len() as u64, "copied field", "copied fields"),
        counted(design.computed.len() as u64, "computed field", "computed fields"),
    )
}

fn advices(advice: &[Advice]) -> String {
    if advice.is_empty() {
        return "<p>None: no figure passes a threshold.</p>\n".to_owned();
    }
    let mut html = String::new();
    for (severity, one, many, means) in [
        (
            Severity::Fault,
            "fault",
            "faults",
            "the data contradict each other now",
        ),
        (
            Severity::Risk,
            "risk",
            "risks",
            "it costs already, or it will break",
        ),
        (
            Severity::Hint,
            "hint",
            "hints",
            "the figures allow another design",
        ),
    ] {
        let of: Vec<&Advice> = advice
            .iter()
            .filter(|advice| advice.severity == severity)
            .collect();
        if of.is_empty() {
            continue;
        }
        let _ = writeln!(
            html,
            "<h3><b class=\"{one}\">{}</b>: {means}</h3>",
            counted(of.len() as u64, one, many)
        );
        for advice in of {
            html.push_str(&entry(advice));
        }
    }
    html
}

fn entry(advice: &Advice) -> String {
    let mut html = format!(
        "<details class=\"{}\"><summary>{} <span>{}</span><span class=\"finding\">{}</span></summary>\n<p><strong>Cost:</strong> {}</p>\n\
         <p><strong>Instead:</strong> {}</p>\n",
        advice.severity.name(),
        code(&advice.place()),
        advice.rule.name(),
        sentence(&advice.finding),
        sentence(&advice.cost),
        sentence(&advice.remedy.words),
    );
    for part in &advice.remedy.code {
        let name = match part.language {
            Language::Rust => "Rust",
            Language::Shell => "mongosh",
            Language::Terminal => "terminal",
        };
        let _ = writeln!(
            html,
            "<pre tabindex=\"0\" aria-label=\"{name}\"><code>{}</code></pre>",
            escaped(&part.text)
        );
    }
    if !advice.also.is_empty() {
        let also: Vec<String> = advice.also.iter().map(|place| code(place)).collect();
        let _ = writeln!(html, "<p>Also: {}</p>", also.join(" "));
    }
    if !advice.examples.is_empty() {
        let examples: Vec<String> = advice.examples.iter().map(|example| code(example)).collect();
        let _ = writeln!(html, "<p>Such as {}</p>", examples.join(" "));
    }
    html.push_str("</details>\n");
    html
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::advise;
    use crate::advice::fixtures::*;

    #[test]
    fn the_page_has_all_parts_and_loads_nothing() {
        let design = faulty();
        let html = write(&design, &advise(&design));
        for part in [
            "<title>The design of shop</title>",
            "<details class=\"fault\">",
            "class=\"odm-edges\"",
            "id=\"c0\"",
            "Two-way references",
            "prefers-color-scheme:dark",
        ] {
            assert!(html.contains(part), "{part}");
        }
        for outside in [
            "<script", "http://", "https://", "@import", "url(h", "url('", "url(/", "<img",
        ] {
            let found: Vec<_> = html
                .match_indices(outside)
                .map(|(at, _)| &html[at..(at + 40).min(html.len())])
                .collect();
            // The name of a namespace is no address.
            assert!(
                found.iter().all(|found| found.contains("www.w3.org/2000/svg")),
                "{outside}: {found:?}"
            );
        }
    }

    #[test]
    fn what_the_database_holds_is_no_markup() {
        let mut design = faulty();
        let bad = "<script>alert(1)</script>\"'`";
        design.database = bad.to_owned();
        design.collections[0].name = bad.to_owned();
        design.collections[0].root.fields[1].path = bad.to_owned();
        design.collections[0].root.fields[1].name = bad.to_owned();
        design.collections[0].indexes[1].name = bad.to_owned();
        design.references[0].from.collection = bad.to_owned();
        design.references[0].from.paths = vec![bad.to_owned()];
        design.references[0].evidence = bad.to_owned();
        design.references[0].examples = vec![bad.to_owned()];
        design.copies[0].evidence = bad.to_owned();
        design.notes.push(bad.to_owned());
        for collection in &mut design.collections {
            collection.root.doubts.push(bad.to_owned());
            collection.root.fields[1].doubts.push(bad.to_owned());
        }
        let html = write(&design, &advise(&design));
        assert!(!html.contains("<script"), "{html}");
        assert!(html.contains("&lt;script&gt;"));
    }

    #[test]
    fn an_empty_database_has_a_page() {
        let html = write(&Design::default(), &[]);
        assert!(html.contains("None: no figure passes a threshold."));
    }
}
