//! Edits of texts at places, and the difference as a unified patch.

use std::fmt::Write as _;
use std::ops::Range;

/// The lines around a change.
const AROUND: usize = 3;
/// Above this number of changed lines, a file is shown as one change from the first to the last.
const CHANGES: usize = 4_000;

/// A change of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The text that is replaced; empty where something is inserted.
    pub at: Range<usize>,
    /// What stands there then.
    pub text: String,
}

/// The text after the edits. Those that overlap one before are left out.
pub fn apply(text: &str, edits: &[Edit]) -> String {
    let mut edits: Vec<(usize, &Edit)> = edits.iter().enumerate().collect();
    edits.sort_by_key(|(number, edit)| (edit.at.start, *number));
    let mut out = String::new();
    let mut at = 0;
    for (_, edit) in edits {
        if edit.at.start < at {
            continue;
        }
        let (Some(before), Some(_)) = (text.get(at..edit.at.start), text.get(edit.at.clone())) else {
            continue;
        };
        out.push_str(before);
        out.push_str(&edit.text);
        at = edit.at.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Same,
    Old,
    New,
}

/// The patch from one text to another; empty where they are the same. `old` is `None` of a new file.
pub fn unified(path: &str, old: Option<&str>, new: &str) -> String {
    let before: Vec<&str> = old.unwrap_or_default().split_inclusive('\n').collect();
    let after: Vec<&str> = new.split_inclusive('\n').collect();
    if old == Some(new) {
        return String::new();
    }
    let lines = compare(&before, &after);
    let mut out = match old {
        Some(_) => format!("--- a/{path}\n+++ b/{path}\n"),
        None => format!("--- /dev/null\n+++ b/{path}\n"),
    };
    // The places of changes, with the lines around them, where they meet in one.
    let mut parts: Vec<Range<usize>> = Vec::new();
    for (at, _) in lines.iter().enumerate().filter(|(_, line)| **line != Line::Same) {
        let part = at.saturating_sub(AROUND)..(at + AROUND + 1).min(lines.len());
        match parts.last_mut() {
            Some(last) if last.end >= part.start => last.end = part.end,
            _ => parts.push(part),
        }
    }
    let number = |until: usize, side: Line| {
        lines
            .iter()
            .take(until)
            .filter(|line| **line == Line::Same || **line == side)
            .count()
    };
    for part in parts {
        let (old_from, new_from) = (number(part.start, Line::Old), number(part.start, Line::New));
        let (old_to, new_to) = (number(part.end, Line::Old), number(part.end, Line::New));
        let range = |from: usize, to: usize| {
            let first = if to > from { from + 1 } else { from };
            format!("{first},{}", to - from)
        };
        let _ = writeln!(
            out,
            "@@ -{} +{} @@",
            range(old_from, old_to),
            range(new_from, new_to)
        );
        let (mut old_at, mut new_at) = (old_from, new_from);
        for line in lines.get(part).unwrap_or_default() {
            let (sign, text) = match line {
                Line::Same => (' ', before.get(old_at)),
                Line::Old => ('-', before.get(old_at)),
                Line::New => ('+', after.get(new_at)),
            };
            old_at += usize::from(*line != Line::New);
            new_at += usize::from(*line != Line::Old);
            let text = text.copied().unwrap_or_default();
            out.push(sign);
            out.push_str(text);
            if !text.ends_with('\n') {
                out.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    out
}

/// What became of each line: the shortest change, by Myers' algorithm.
fn compare(old: &[&str], new: &[&str]) -> Vec<Line> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take(rest)
        .take_while(|(a, b)| a == b)
        .count();
    let (a, b) = (
        old.get(head..old.len() - tail).unwrap_or_default(),
        new.get(head..new.len() - tail).unwrap_or_default(),
    );
    let mut lines = vec![Line::Same; head];
    lines.extend(shortest(a, b).unwrap_or_else(|| {
        let mut all = vec![Line::Old; a.len()];
        all.extend(vec![Line::New; b.len()]);
        all
    }));
    lines.extend(vec![Line::Same; tail]);
    lines
}

fn shortest(a: &[&str], b: &[&str]) -> Option<Vec<Line>> {
    let (n, m) = (a.len() as isize, b.len() as isize);
    let most = n + m;
    let offset = most + 1;
    let mut furthest = vec![0_isize; (2 * most + 3) as usize];
    let mut rounds: Vec<Vec<isize>> = Vec::new();
    let get = |of: &[isize], k: isize| {
        usize::try_from(k + offset)
            .ok()
            .and_then(|at| of.get(at))
            .copied()
            .unwrap_or(0)
    };
    for d in 0..=most {
        if d as usize > CHANGES {
            return None;
        }
        rounds.push(furthest.clone());
        let mut k = -d;
        while k <= d {
            let mut x = if k == -d || k != d && get(&furthest, k - 1) < get(&furthest, k + 1) {
                get(&furthest, k + 1)
            } else {
                get(&furthest, k - 1) + 1
            };
            while x < n && x - k < m && a.get(x as usize) == b.get((x - k) as usize) {
                x += 1;
            }
            if let Some(slot) = usize::try_from(k + offset)
                .ok()
                .and_then(|at| furthest.get_mut(at))
            {
                *slot = x;
            }
            if x >= n && x - k >= m {
                return Some(way(&rounds, n, m, &get));
            }
            k += 2;
        }
    }
    None
}

/// The way back from the end.
fn way(rounds: &[Vec<isize>], n: isize, m: isize, get: &dyn Fn(&[isize], isize) -> isize) -> Vec<Line> {
    let (mut x, mut y) = (n, m);
    let mut lines = Vec::new();
    for (d, furthest) in rounds.iter().enumerate().rev() {
        let d = d as isize;
        let k = x - y;
        let is_down = k == -d || k != d && get(furthest, k - 1) < get(furthest, k + 1);
        let before = if is_down { k + 1 } else { k - 1 };
        let (from_x, from_y) = (get(furthest, before), get(furthest, before) - before);
        while d > 0 && x > from_x && y > from_y || d == 0 && x > 0 && y > 0 {
            lines.push(Line::Same);
            x -= 1;
            y -= 1;
        }
        if d > 0 {
            lines.push(if is_down { Line::New } else { Line::Old });
        }
        (x, y) = (from_x, from_y);
    }
    lines.reverse();
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_patch_has_the_changed_lines_with_those_around() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\n";
        let new = "a\nb\nc\nd\nE\nf\ng\nh\n";
        assert_eq!(
            unified("x.rs", Some(old), new),
            "--- a/x.rs\n+++ b/x.rs\n@@ -2,7 +2,7 @@\n b\n c\n d\n-e\n+E\n f\n g\n h\n"
        );
        assert_eq!(
            unified("x.rs", None, "a\n"),
            "--- /dev/null\n+++ b/x.rs\n@@ -0,0 +1,1 @@\n+a\n"
        );
        assert_eq!(unified("x.rs", Some(old), old), "");
    }

    /// Applies a patch, as the program `patch` does.
    fn patched(old: &str, patch: &str) -> String {
        let before: Vec<&str> = old.split_inclusive('\n').collect();
        let mut out = String::new();
        let mut at = 0;
        for line in patch.split_inclusive('\n') {
            if line.starts_with("---") || line.starts_with("+++") {
                continue;
            }
            if let Some(range) = line.strip_prefix("@@ -") {
                let mut numbers = range.split([',', ' ']);
                let first: usize = numbers.next().and_then(|n| n.parse().ok()).unwrap();
                let number: usize = numbers.next().and_then(|n| n.parse().ok()).unwrap();
                let from = if number == 0 { first } else { first - 1 };
                out.extend(before[at..from].iter().copied());
                at = from;
            } else if let Some(same) = line.strip_prefix(' ') {
                assert_eq!(before[at], same);
                out.push_str(same);
                at += 1;
            } else if let Some(lost) = line.strip_prefix('-') {
                assert_eq!(before[at], lost);
                at += 1;
            } else if let Some(new) = line.strip_prefix('+') {
                out.push_str(new);
            }
        }
        out.extend(before[at..].iter().copied());
        out
    }

    proptest! {
        #[test]
        fn a_patch_leads_to_the_new_text(
            old in prop::collection::vec("[ab]\n", 0..30),
            new in prop::collection::vec("[abc]\n", 0..30),
        ) {
            let (old, new) = (old.concat(), new.concat());
            prop_assert_eq!(patched(&old, &unified("x", Some(&old), &new)), new);
        }
    }
}
