//! The file as it is: one book a line, in MongoDB's Extended JSON.

use super::model::{Book, BookId, Status};
use anyhow::{Context, Result, anyhow};
use mongodb::bson::DateTime;
use mongodb::bson::oid::ObjectId;
use serde::Deserialize;
use std::path::Path;

/// The name of the file that is read where none is named.
pub const FILE: &str = "books.json";

/// A line of the file. A field that is not known here is an error, so that nothing gets lost silently.
#[derive(Deserialize, Clone, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Line {
    #[serde(rename = "_id")]
    id: LineId,
    pub title: String,
    pub isbn: Option<String>,
    pub page_count: i32,
    published_date: Option<LineDate>,
    pub thumbnail_url: Option<String>,
    pub short_description: Option<String>,
    pub long_description: Option<String>,
    pub status: Status,
    pub authors: Vec<String>,
    pub categories: Vec<String>,
}

#[derive(Deserialize, Clone, Debug)]
#[serde(untagged)]
enum LineId {
    Number(i32),
    Made {
        #[serde(rename = "$oid")]
        oid: String,
    },
}

#[derive(Deserialize, Clone, Debug)]
struct LineDate {
    #[serde(rename = "$date")]
    date: String,
}

/// The lines of a file, none left out.
pub fn read(path: &Path) -> Result<Vec<Line>> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("`{}` can't be read", path.display()))?;
    parse(&text).with_context(|| format!("`{}` is not a file of books", path.display()))
}

/// The lines of a text.
pub fn parse(text: &str) -> Result<Vec<Line>> {
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(at, line)| serde_json::from_str(line).with_context(|| format!("line {}", at + 1)))
        .collect()
}

impl Line {
    pub fn id(&self) -> Result<BookId> {
        Ok(match &self.id {
            LineId::Number(number) => BookId::Number(*number),
            LineId::Made { oid } => {
                BookId::Made(ObjectId::parse_str(oid).with_context(|| format!("`{oid}`"))?)
            }
        })
    }

    pub fn published(&self) -> Result<Option<DateTime>> {
        self.published_date
            .as_ref()
            .map(|date| date_of(&date.date))
            .transpose()
    }

    /// The book of this line, with everything that the line has.
    pub fn book(&self) -> Result<Book> {
        Ok(Book {
            id: self.id()?,
            title: self.title.clone(),
            isbn: self.isbn.clone(),
            page_count: self.page_count,
            published_date: self.published()?,
            thumbnail_url: self.thumbnail_url.clone(),
            short_description: self.short_description.clone(),
            long_description: self.long_description.clone(),
            status: self.status,
            authors: self.authors.clone(),
            categories: self.categories.clone(),
        })
    }
}

/// A date of the file. Its offsets have no colon (`2009-04-01T00:00:00.000-0700`), while RFC 3339 and BSON's reader want
/// one.
fn date_of(text: &str) -> Result<DateTime> {
    let bytes = text.as_bytes();
    let sign = bytes.len().checked_sub(5).and_then(|at| bytes.get(at));
    let repaired = match sign {
        Some(b'+' | b'-') => {
            let (head, minutes) = text.split_at(text.len() - 2);
            format!("{head}:{minutes}")
        }
        _ => text.to_owned(),
    };
    DateTime::parse_rfc3339_str(&repaired).map_err(|error| anyhow!("`{text}` is not a date: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_need_no_colon() -> Result<()> {
        let expected = DateTime::parse_rfc3339_str("2009-04-01T07:00:00Z")?;
        for text in [
            "2009-04-01T00:00:00.000-0700",
            "2009-04-01T00:00:00-07:00",
            "2009-04-01T07:00:00Z",
        ] {
            assert_eq!(date_of(text)?, expected, "{text}");
        }
        assert!(date_of("yesterday").is_err());
        assert!(date_of("é-070").is_err());
        Ok(())
    }

    #[test]
    fn an_unknown_field_is_an_error() {
        let line = r#"{"_id":1,"title":"","pageCount":0,"status":"MEAP","authors":[],"categories":[],"x":1}"#;
        let error = parse(line).map(|_| ()).unwrap_err();
        assert!(format!("{error:#}").contains("unknown field `x`"), "{error:#}");
    }
}
