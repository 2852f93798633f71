//! The text for the terminal: short, the worst and the surest first.

use crate::advice::words::{bytes, count, counted, documents, place};
use crate::advice::{Advice, Severity};
use crate::design::{Design, Reference};
use std::fmt::Write;

/// The number of advices that are shown with their remedy; of the others the finding is shown.
const ADVICE: usize = 8;
/// More is read in a file.
const FINDINGS: usize = 40;
/// More is read in a file.
const REFERENCES: usize = 20;
/// More lines of code are read in a file.
const LINES: usize = 12;
/// The width of a line.
const WIDTH: usize = 84;

/// The summary of a database, its advice, and its references.
pub fn write(design: &Design, advice: &[Advice]) -> String {
    let mut text = summary(design);
    text.push('\n');
    advices(&mut text, advice);
    references(&mut text, design);
    for note in &design.notes {
        paragraph(&mut text, "note: ", note);
    }
    text
}

fn summary(design: &Design) -> String {
    let total: u64 = design
        .collections
        .iter()
        .map(|collection| collection.documents)
        .sum();
    let read: u64 = design.collections.iter().map(|collection| collection.read).sum();
    let size: f64 = design
        .collections
        .iter()
        .map(|collection| collection.sizes.mean * collection.documents as f64)
        .sum();
    format!(
        "{}: {}, {} of about {}; {} read\n{}, {}, {}\n",
        plain(&design.database),
        counted(design.collections.len() as u64, "collection", "collections"),
        documents(total),
        bytes(size),
        count(read),
        counted(design.references.len() as u64, "reference", "references"),
        counted(design.copies.len() as u64, "copied field", "copied fields"),
        counted(design.computed.len() as u64, "computed field", "computed fields"),
    )
}

fn advices(text: &mut String, advice: &[Advice]) {
    let of = |severity: Severity| advice.iter().filter(|advice| advice.severity == severity).count() as u64;
    if advice.is_empty() {
        text.push_str("No advice: no figure passes a threshold.\n");
    } else {
        let _ = writeln!(
            text,
            "{}, {}, {}",
            counted(of(Severity::Fault), "fault", "faults"),
            counted(of(Severity::Risk), "risk", "risks"),
            counted(of(Severity::Hint), "hint", "hints"),
        );
    }
    for (at, advice) in advice.iter().take(ADVICE).enumerate() {
        let _ = writeln!(
            text,
            "\n{}. {}: {} ({})",
            at + 1,
            advice.severity.name(),
            plain(&advice.place()),
            advice.rule.name(),
        );
        paragraph(text, "   ", &advice.finding);
        paragraph(text, "   Cost: ", &advice.cost);
        paragraph(text, "   Instead: ", &advice.remedy.words);
        if let Some(code) = advice.remedy.code.first() {
            let lines: Vec<&str> = code.text.lines().collect();
            for line in lines.iter().take(LINES) {
                let _ = writeln!(text, "       {}", plain(line));
            }
            if lines.len() > LINES {
                let _ = writeln!(text, "       … {} lines more", lines.len() - LINES);
            }
        }
    }
    if advice.len() > ADVICE {
        text.push('\n');
    }
    for (at, advice) in advice.iter().enumerate().take(FINDINGS).skip(ADVICE) {
        let begin = format!(
            "{}. {} ({}): ",
            at + 1,
            advice.severity.name(),
            advice.rule.name()
        );
        paragraph(text, &begin, &advice.finding);
    }
    more(text, advice.len(), FINDINGS);
}

fn references(text: &mut String, design: &Design) {
    if design.references.is_empty() {
        return;
    }
    text.push_str("\nReferences, the surest first\n");
    for reference in design.references.iter().take(REFERENCES) {
        let _ = writeln!(text, "  {}", plain(&in_a_line(reference)));
    }
    more(text, design.references.len(), REFERENCES);
}

fn in_a_line(reference: &Reference) -> String {
    let end = |place_of: &crate::design::Place| place(&place_of.collection, &place_of.paths.join(", "));
    format!(
        "{} → {}: {} of {} found, {:.0} % sure",
        end(&reference.from),
        end(&reference.to),
        count(reference.found),
        count(reference.found + reference.dangling),
        reference.confidence * 100.0,
    )
}

fn more(text: &mut String, all: usize, shown: usize) {
    if all > shown {
        let _ = writeln!(
            text,
            "… {} more: `--html FILE` shows all",
            count((all - shown) as u64)
        );
    }
}

/// Words in lines of [`WIDTH`]; the first begins with `begin`, and the others are as far indented as it.
fn paragraph(text: &mut String, begin: &str, words: &str) {
    let indent = begin.chars().take_while(|letter| letter.is_whitespace()).count();
    let mut line = begin.to_owned();
    let mut is_empty = true;
    // A figure stays with its sign.
    let words = plain(words).replace(" %", "\u{a0}%");
    for word in words.split(' ').filter(|word| !word.is_empty()) {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            text.push_str(line.trim_end());
            text.push('\n');
            line = " ".repeat(indent);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(&word.replace('\u{a0}', " "));
        is_empty = false;
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

/// Names and values come from the database: what a terminal would take for a command is left out.
fn plain(text: &str) -> String {
    let shown = |letter: char| if letter.is_control() { '\u{fffd}' } else { letter };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::advise;
    use crate::advice::fixtures::*;

    #[test]
    fn the_worst_is_at_the_top() {
        let design = faulty();
        let text = write(&design, &advise(&design));
        let begin = "shop: 4 collections, 5,250 documents of about 1.0 MiB; 550 read\n\
                     3 references, 1 copied field, 0 computed fields\n\n";
        assert!(text.starts_with(begin), "{text}");
        assert!(
            text.contains("\n1. fault: orders.customer (dangling-reference)\n   12 of 300 values"),
            "{text}"
        );
        assert!(
            text.contains("orders.customer → customers._id: 288 of 300 found, 100 % sure"),
            "{text}"
        );
        assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
    }

    #[test]
    fn without_advice_it_says_so() {
        let text = write(&orders(), &[]);
        assert!(
            text.contains("No advice: no figure passes a threshold."),
            "{text}"
        );
    }

    #[test]
    fn names_send_nothing_to_the_terminal() {
        let mut design = orders();
        design.database = "shop\u{1b}[2J\nnext".to_owned();
        design.notes.push("a\u{7}b".to_owned());
        let text = write(&design, &[]);
        assert!(!text.contains(['\u{1b}', '\u{7}']), "{text:?}");
    }

    #[test]
    fn a_long_report_is_cut() {
        let mut design = orders();
        for id in 1..40 {
            design
                .references
                .push(reference(id, "orders", "customer", "customers"));
        }
        assert!(write(&design, &[]).contains("… 20 more: `--html FILE` shows all"));
    }
}
