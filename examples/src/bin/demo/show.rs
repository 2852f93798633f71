//! The output of the demo: headings, steps, results, and the number of commands.

use anyhow::{Result, ensure};
use odm::Odm;
use odm_examples::program::Commands;
use std::fmt::Debug;
use std::time::Instant;

const WIDTH: usize = 100;
/// Where the commands of a step begin.
const COMMANDS_AT: usize = 68;

/// Prints the walk.
pub struct Show {
    commands: Commands,
    designs: usize,
    steps: usize,
    sent: usize,
    /// Those of the last step.
    last_sent: usize,
    checks: usize,
    started: Instant,
}

impl Show {
    pub fn new(commands: Commands) -> Show {
        Show {
            commands,
            designs: 0,
            steps: 0,
            sent: 0,
            last_sent: 0,
            checks: 0,
            started: Instant::now(),
        }
    }

    /// Begins a design.
    pub fn heading(&mut self, title: &str) {
        self.designs += 1;
        println!(
            "\n{}\n {}  {title}\n{}\n",
            "═".repeat(WIDTH),
            self.designs,
            "═".repeat(WIDTH)
        );
    }

    /// Begins a part of a design.
    pub fn part(&self, title: &str) {
        println!(
            "\n── {title} {}\n",
            "─".repeat(WIDTH.saturating_sub(title.chars().count() + 4))
        );
    }

    /// Says something in whole sentences.
    pub fn text(&self, text: &str) {
        for line in wrap(text, WIDTH) {
            println!("{line}");
        }
    }

    /// Shows lines as they are; one that is too long is broken, unless it points at something in the line above.
    pub fn block(&self, block: &str) {
        for line in block.trim_matches('\n').lines() {
            let width = if line.trim_start().starts_with('|') {
                usize::MAX
            } else {
                WIDTH - 6
            };
            for part in wrap(line, width) {
                println!("{}", format!("    │ {part}").trim_end());
            }
        }
    }

    /// Does something: prints what, and at the right the commands that were sent for it.
    pub async fn step<W: IntoFuture>(&mut self, what: impl AsRef<str>, work: W) -> W::Output {
        self.commands.take();
        let output = work.await;
        let sent = self.commands.take();
        self.steps += 1;
        self.sent += sent.len();
        self.last_sent = sent.len();
        let mut left = wrap(what.as_ref(), COMMANDS_AT - 7);
        let right = wrap(&summary(&sent), WIDTH - COMMANDS_AT);
        left.resize(left.len().max(right.len()), String::new());
        for (at, line) in left.iter().enumerate() {
            let bullet = if at == 0 { "•" } else { " " };
            let commands = right.get(at).map_or("", String::as_str);
            let filler = if at == 0 { "·" } else { " " };
            let gap = (COMMANDS_AT - 6).saturating_sub(line.chars().count());
            let line = format!("  {bullet} {line} {} {commands}", filler.repeat(gap));
            println!("{}", line.trim_end());
        }
        output
    }

    /// How many commands the last step sent.
    pub fn last_sent(&self) -> usize {
        self.last_sent
    }

    /// Prints a result.
    pub fn got(&self, result: impl AsRef<str>) {
        for (at, line) in wrap(result.as_ref(), WIDTH - 8).iter().enumerate() {
            println!("      {} {line}", if at == 0 { "→" } else { " " });
        }
    }

    /// Prints a result as a list.
    pub fn list<T: AsRef<str>>(&self, items: impl IntoIterator<Item = T>) {
        for item in items {
            for (at, line) in wrap(item.as_ref(), WIDTH - 12).iter().enumerate() {
                println!("        {} {line}", if at == 0 { "-" } else { " " });
            }
        }
    }

    /// Ends the demo where a result is not what it has to be.
    pub fn check<T: PartialEq + Debug>(&mut self, what: &str, found: T, expected: T) -> Result<()> {
        ensure!(
            found == expected,
            "{what}: {found:?} was found, and it should be {expected:?}"
        );
        self.checks += 1;
        println!("      ✓ {what}");
        Ok(())
    }

    /// The last words.
    pub fn closing(&self, dropped: usize) {
        println!("\n{}", "═".repeat(WIDTH));
        println!(
            " {} parts, {} steps, {} commands, {} checks, all as they should be, in {:.1} s. {dropped} databases dropped.",
            self.designs,
            self.steps,
            self.sent,
            self.checks,
            self.started.elapsed().as_secs_f64()
        );
    }
}

/// `find, 4×getMore`.
fn summary(sent: &[String]) -> String {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for name in sent {
        match counted.iter_mut().find(|(known, _)| known == name) {
            Some((_, count)) => *count += 1,
            None => counted.push((name, 1)),
        }
    }
    if counted.is_empty() {
        return "nothing sent".to_owned();
    }
    let words: Vec<String> = counted
        .into_iter()
        .map(|(name, count)| {
            if count == 1 {
                name.to_owned()
            } else {
                format!("{count}×{name}")
            }
        })
        .collect();
    words.join(", ")
}

/// The text in lines of at most `width` characters, broken between words.
fn wrap(text: &str, width: usize) -> Vec<String> {
    if text.chars().count() <= width && !text.contains('\n') {
        return vec![text.to_owned()];
    }
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().map_or(0, |line| line.chars().count());
        if line > 0 && line + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else if let Some(last) = lines.last_mut() {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}

/// At most `length` characters of a text, with an ellipsis where something is left out.
pub fn shorten(text: &str, length: usize) -> String {
    if text.chars().count() <= length {
        return text.to_owned();
    }
    text.chars().take(length.saturating_sub(1)).chain(['…']).collect()
}

/// `1 book`, `2 books`.
pub fn plural(n: u64, one: &str) -> String {
    match n {
        1 => format!("1 {one}"),
        _ => format!("{n} {one}s"),
    }
}

/// How many commands read this number of parents, each with a limited number of its children: before MongoDB 5.0 a query for each.
pub async fn commands_of_limited(odm: &Odm, parents: usize) -> Result<usize> {
    Ok(if odm.server().await?.has_lookup_with_pipeline() {
        2
    } else {
        1 + parents
    })
}
