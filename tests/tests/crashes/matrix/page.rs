//! The page of the guide with the crash matrix, made of the results of all rows.

use std::fmt::Write;

/// A write on an edge, with the result in each mode as the page shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub edge: String,
    pub write: String,
    pub results: Vec<String>,
}

impl Line {
    /// The edge and the write.
    pub fn name(&self) -> String {
        format!("{} | {}", self.edge, self.write)
    }
}

/// The numbers of some results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    /// Results of writes that were cut.
    cut: usize,
    /// Results that equal those without transactions.
    same: usize,
    points: usize,
    undone: usize,
    done: usize,
    parts: usize,
    repaired: usize,
    left: usize,
}

impl Sum {
    fn of<'l>(lines: impl Iterator<Item = &'l Line>) -> Sum {
        let mut sum = Sum::default();
        for result in lines.flat_map(|line| &line.results) {
            sum.add(result);
        }
        sum
    }

    /// `12 (1/3/8, 4 repaired)`
    fn add(&mut self, result: &str) {
        match result {
            "" => return,
            "the same" => {
                self.same += 1;
                return;
            }
            _ => self.cut += 1,
        }
        let numbers: Vec<usize> = result
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|number| number.parse().ok())
            .collect();
        let [points, undone, done, parts, rest @ ..] = numbers.as_slice() else {
            panic!("`{result}` is no result")
        };
        self.points += points;
        self.undone += undone;
        self.done += done;
        self.parts += parts;
        let mut rest = rest.iter();
        if result.contains("repaired") {
            self.repaired += rest.next().copied().unwrap_or_default();
        }
        if result.contains("left") {
            self.left += rest.next().copied().unwrap_or_default();
        }
    }
}

/// With commas between thousands.
fn grouped(number: usize) -> String {
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

/// `field copy` as a heading.
fn heading(edge: &str) -> String {
    let mut letters = edge.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The lines of each edge, in their order.
fn edges(lines: &[Line]) -> Vec<&[Line]> {
    lines.chunk_by(|a, b| a.edge == b.edge).collect()
}

/// The table of an edge.
pub fn table(lines: &[Line], modes: &[&str]) -> String {
    let mut table = format!("| {:<25}", "write");
    for mode in modes {
        write!(table, " | {mode:<20}").expect("memory");
    }
    table.push_str(" |\n| ------------------------- |");
    table.push_str(&" -------------------- |".repeat(modes.len()));
    table.push('\n');
    for line in lines {
        write!(table, "| {:<25}", line.write).expect("memory");
        for result in &line.results {
            write!(table, " | {result:<20}").expect("memory");
        }
        table.push_str(" |\n");
    }
    table
}

pub fn page(lines: &[Line], modes: &[&str]) -> String {
    let all = Sum::of(lines.iter());
    let mut page = format!(
        "# The crash matrix\n\n\
         **Result: after each of {} kills, a second process completed the work. Nothing was lost, and no copy was wrong.**\n\n\
         A process was killed after each command of every kind of write on every kind of edge (the connection of a source with\n\
         its copies, or of two linked documents). Then another process ran `recover()`. Each time\n\n\
         - the audit was clean, and no work was pending;\n\
         - the application's write was there as a whole or not at all: never a copy without its source, never half of a\n\
         \x20 document, never a change of anything else;\n\
         - when the source was changed once more, its copies were updated.\n\n\
         ## Summary by kind of edge\n\n\
         | edge | writes | kills | write undone | done | done in part | repaired |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
        grouped(all.points)
    );
    let mut row = |name: &str, writes: usize, sum: &Sum| {
        writeln!(
            page,
            "| {name} | {writes} | {} | {} | {} | {} | {} |",
            grouped(sum.points),
            grouped(sum.undone),
            grouped(sum.done),
            grouped(sum.parts),
            grouped(sum.repaired)
        )
        .expect("memory");
    };
    for lines in edges(lines) {
        let name = heading(&lines[0].edge);
        let link: String = lines[0]
            .edge
            .replace(' ', "-")
            .chars()
            .filter(|c| c.is_alphanumeric() || *c == '-')
            .collect();
        row(&format!("[{name}](#{link})"), lines.len(), &Sum::of(lines.iter()));
    }
    row("**all**", lines.len(), &all);
    write!(
        page,
        "\nA write on an edge was tried in up to four modes, which makes {} results: {} of writes that were cut, and {} that send\n\
         the same commands as on a standalone server and were not cut once more. In {} cases two documents named one that can be\n\
         linked with one alone; that is left to the application.\n\n\
         ## How to read the tables\n\n\
         A result such as `12 (1/3/8, 4 repaired)` is the number of commands after which the process was killed, and of these\n\
         how many left the write undone, done, and done in part. The server has executed the command, its answer is withheld,\n\
         and nothing passes any more.\n\n\
         - **Parts** are left only by what is several writes by its nature: a deletion with its cascades, and writes of several\n\
         \x20 documents where no transaction spans them. Then each document is as it was or as it was to be, and its copies are\n\
         \x20 right.\n\
         - ***standalone*** is a server without transactions, where a two-way link, and the move of a child to another parent,\n\
         \x20 are two statements. There `repair_all()` runs after `recover()`, and the result says after how many kills it\n\
         \x20 repaired something. Where two documents name one that can be linked with one alone, it leaves that to the\n\
         \x20 application: *left*.\n\
         - ***after the commit***: a source with more holders than one transaction changes, which is what each of them is here\n\
         \x20 (`FanOut::new().in_transaction(0).batch(1)`). Its copies are updated after the commit, holder by holder.\n\
         - ***the same***: the write sends the same commands as on a standalone server.\n\
         - On **buckets**, the rows are the writes of items, the deletion of a parent, and by count an update of it. Writes\n\
         \x20 that the compiler refuses for a document with `append_only` have no row.\n\
         - **Kept deletions** are those of documents with `soft_delete`. They are several writes with transactions, too, and there\n\
         \x20 `repair_all()` runs as on a standalone server.\n",
        grouped(all.cut + all.same),
        grouped(all.cut),
        grouped(all.same),
        grouped(all.left)
    )
    .expect("memory");
    for lines in edges(lines) {
        write!(
            page,
            "\n## {}\n\n{}",
            heading(&lines[0].edge),
            table(lines, modes)
        )
        .expect("memory");
    }
    page
}

/// The lines of a page.
pub fn lines(page: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let tables = page.split("\n## ").skip(3);
    for section in tables {
        let mut rows = section.lines();
        let edge = rows.next().unwrap_or_default();
        let mut letters = edge.chars();
        let edge: String = letters
            .next()
            .map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect());
        for row in rows.filter(|row| row.starts_with('|')).skip(2) {
            let mut cells = row
                .trim_matches('|')
                .split('|')
                .map(|cell| cell.trim().to_owned());
            lines.push(Line {
                edge: edge.clone(),
                write: cells.next().unwrap_or_default(),
                results: cells.collect(),
            });
        }
    }
    lines
}
