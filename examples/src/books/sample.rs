//! Books of the same shape as the real file's, for where that is not at hand: made up, the same ones every time, with
//! missing and empty fields, names in several spellings, and a few that break a bound.

use serde_json::{Value, json};

const SUBJECTS: [&str; 12] = [
    "Rust",
    "Java",
    "Databases",
    "Networks",
    "Compilers",
    "Graphics",
    "Testing",
    "Security",
    "Statistics",
    "Parsing",
    "Caching",
    "Queues",
];
const AUTHORS: [&str; 9] = [
    "Ada Byron",
    "Grace Murray",
    "Alan M. Turing",
    "Edsger Wybe",
    "Barbara Jane",
    "Donald Ervin",
    "Ada  Byron",
    "A. Byron",
    "",
];
const CATEGORIES: [&str; 8] = [
    "Java",
    "Internet",
    "java",
    "Theory",
    "Client-Server",
    "Client Server",
    "Business",
    "",
];

/// The lines of the file.
pub fn lines() -> String {
    (1..=160).map(|n| format!("{}\n", line(n))).collect()
}

fn line(n: usize) -> Value {
    let id = match n % 13 {
        0 => json!({ "$oid": format!("{:024x}", 0x53c2_ae85_0000_0000_u64 + n as u64) }),
        _ => json!(n),
    };
    let subject = SUBJECTS[n % SUBJECTS.len()];
    let title = match n {
        47 => format!("{subject}: everything that there is to know about it, and some more"),
        _ => format!("{subject} in Action, volume {n}"),
    };
    let authors = match n {
        31 | 90 => 8,
        12 | 60 => 6,
        _ => n % 5,
    };
    let pick = |from: &[&str], count: usize, step: usize| -> Vec<String> {
        (0..count)
            .map(|i| from[(n * step + i) % from.len()].to_owned())
            .collect()
    };
    let mut book = json!({
        "_id": id,
        "title": title,
        "pageCount": if n.is_multiple_of(3) { 0 } else { 150 + n * 7 % 600 },
        "status": if n % 6 == 5 { "MEAP" } else { "PUBLISH" },
        "authors": pick(&AUTHORS, authors, 2),
        "categories": pick(&CATEGORIES, if n == 72 { 4 } else { n % 3 }, 5),
    });
    if n % 40 != 7 {
        // Two books with the number of another one.
        let number = if n == 101 || n == 133 { n - 50 } else { n };
        book["isbn"] = json!(format!("19339{number:05}"));
    }
    if !n.is_multiple_of(5) {
        let (year, month) = (1995 + n % 19, 1 + n % 12);
        let offset = if month < 4 { "-0800" } else { "-0700" };
        book["publishedDate"] = json!({ "$date": format!("{year}-{month:02}-01T00:00:00.000{offset}") });
        book["thumbnailUrl"] = json!(format!("https://books.example/thumb/{n}.jpg"));
    }
    if n % 3 == 1 {
        book["shortDescription"] =
            json!(format!("What {subject} is good for. ").repeat(if n == 88 { 60 } else { 4 }));
    }
    if n % 2 == 1 {
        book["longDescription"] = json!(format!("More than you wanted to hear of {subject}. ").repeat(20));
    }
    book
}

#[cfg(test)]
mod tests {
    use crate::books::file;

    #[test]
    fn it_is_read_like_the_real_file() -> anyhow::Result<()> {
        let lines = file::parse(&super::lines())?;
        assert_eq!(lines.len(), 160);
        for line in lines {
            line.book()?;
        }
        Ok(())
    }
}
