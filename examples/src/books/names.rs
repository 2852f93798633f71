//! The names of authors and categories as the file has them, made into what one document each can stand for.
//!
//! Nothing is guessed: a name is changed by a rule that is printed with every case of it, and names that may or may not
//! mean the same person (`Paul Randal`, `Paul S. Randal`) stay two.

use crate::books::file::Line;
use crate::books::model::BookId;
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The file's list of categories was once one text, and that text was cut after this number of characters.
const CUT_AFTER: usize = 30;

/// A book with the names that are meant.
#[derive(Debug)]
pub struct Named {
    pub id: BookId,
    pub title: String,
    pub authors: Vec<String>,
    pub categories: Vec<String>,
}

/// The correction of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    Empty,
    Space,
    NoName,
    Suffix,
    Several,
    Role,
    PenName,
    Cut,
    Unknown,
    Spelling,
    Twice,
}

impl Rule {
    pub fn text(self) -> &'static str {
        match self {
            Rule::Empty => "empty: left out",
            Rule::Space => "white space around it or doubled: removed",
            Rule::NoName => "no name of a person: left out",
            Rule::Suffix => "a part of the name before it: put back",
            Rule::Several => "several people in one text: taken apart",
            Rule::Role => "a word before the name: removed",
            Rule::PenName => "a pen name after the name: removed",
            Rule::Cut => "cut off, and only one name begins like this: completed",
            Rule::Unknown => "cut off, and no one name begins like this: left out",
            Rule::Spelling => "another spelling of a name: made the usual one",
            Rule::Twice => "twice in one book: one left out",
        }
    }
}

/// The corrections, in the order of the file.
pub type Done = BTreeMap<Rule, Vec<String>>;

/// All books with clean names, and what was done to get them.
#[derive(Debug)]
pub struct Cleaned {
    pub books: Vec<Named>,
    pub authors: Done,
    pub categories: Done,
    /// Names that differ in a middle initial alone.
    pub alike: Vec<String>,
}

/// Cleans the names of all books.
pub fn clean(lines: &[Line]) -> Result<Cleaned> {
    let (mut authors, mut categories) = (Done::new(), Done::new());
    let mut people: Vec<Vec<String>> = lines
        .iter()
        .map(|line| people(&line.authors, &mut authors))
        .collect();
    let mut topics = topics(lines, &mut categories);
    one_spelling(&mut people, &mut authors);
    one_spelling(&mut topics, &mut categories);
    let mut books = Vec::new();
    for ((line, people), topics) in lines.iter().zip(people).zip(topics) {
        books.push(Named {
            id: line.id()?,
            title: line.title.clone(),
            authors: once(people, &mut authors),
            categories: once(topics, &mut categories),
        });
    }
    let alike = alike(&books);
    Ok(Cleaned {
        books,
        authors,
        categories,
        alike,
    })
}

fn note(done: &mut Done, rule: Rule, what: String) {
    done.entry(rule).or_default().push(what);
}

/// A name without needless white space; `None` for an empty one.
fn trimmed(name: &str, done: &mut Done) -> Option<String> {
    let words: Vec<&str> = name.split_whitespace().collect();
    let clean = words.join(" ");
    if clean.is_empty() {
        note(done, Rule::Empty, format!("{name:?}"));
        return None;
    }
    if clean != name {
        note(done, Rule::Space, format!("{name:?}"));
    }
    Some(clean)
}

/// The people whom a book names. The file was made by cutting a text at its commas, so `Jr.` and `editors` became items,
/// while `A with B` stayed one.
fn people(names: &[String], done: &mut Done) -> Vec<String> {
    let mut people: Vec<String> = Vec::new();
    for name in names {
        let Some(name) = trimmed(name, done) else { continue };
        if let Some(suffix) = suffix(&name)
            && let Some(last) = people.last_mut()
        {
            note(done, Rule::Suffix, format!("{last:?}, {name:?}"));
            *last = format!("{last} {suffix}");
            continue;
        }
        let parts = apart(&name);
        if parts.len() > 1 {
            note(done, Rule::Several, format!("{name:?}"));
        }
        for part in parts {
            let mut person = part;
            for role in ["with ", "and ", "Edited by ", "introduced by ", "Foreword by "] {
                if let Some(rest) = person.strip_prefix(role) {
                    note(done, Rule::Role, format!("{person:?}"));
                    person = rest;
                }
            }
            if let Some((real, _)) = person.split_once(" writing as ") {
                note(done, Rule::PenName, format!("{person:?}"));
                person = real;
            }
            if is_nobody(person) {
                note(done, Rule::NoName, format!("{person:?}"));
            } else {
                people.push(person.to_owned());
            }
        }
    }
    people
}

fn suffix(name: &str) -> Option<&'static str> {
    match name {
        "Jr" | "Jr." => Some("Jr."),
        "II" => Some("II"),
        "III" => Some("III"),
        _ => None,
    }
}

fn is_nobody(name: &str) -> bool {
    matches!(name, "editors" | "friends" | "Compiled") || name.starts_with("Contributions from ")
}

/// `A and B with C` names three.
fn apart(name: &str) -> Vec<&str> {
    let mut parts = vec![name];
    for separator in ["; ", " with contributions by ", " with ", " and "] {
        parts = parts.into_iter().flat_map(|part| part.split(separator)).collect();
    }
    parts
}

/// The categories of each book, those that were cut off completed or left out.
fn topics(lines: &[Line], done: &mut Done) -> Vec<Vec<String>> {
    let cut = |line: &Line| line.categories.join(", ").chars().count() >= CUT_AFTER;
    let whole = lines.iter().flat_map(|line| match line.categories.split_last() {
        Some((_, others)) if cut(line) => others,
        _ => &line.categories,
    });
    let known: BTreeMap<String, &str> = whole.map(|name| (key(name), name.trim())).collect();
    let topics = |line: &Line| {
        let last = line.categories.len().saturating_sub(1);
        let mut topics = Vec::new();
        for (at, name) in line.categories.iter().enumerate() {
            let Some(name) = trimmed(name, done) else { continue };
            if at != last || !cut(line) || known.contains_key(&key(&name)) {
                topics.push(name);
                continue;
            }
            let mut longer = known.values().filter(|other| other.starts_with(&name));
            match (longer.next(), longer.next()) {
                (Some(one), None) => {
                    note(done, Rule::Cut, format!("{name:?}, of {one:?}"));
                    topics.push((*one).to_owned());
                }
                _ => note(done, Rule::Unknown, format!("{name:?}")),
            }
        }
        topics
    };
    lines.iter().map(topics).collect()
}

/// What two spellings of a name have in common.
fn key(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// Gives every name the spelling that is used most; of two that are used as often, the one with fewer capitals.
fn one_spelling(lists: &mut [Vec<String>], done: &mut Done) {
    let mut used: HashMap<String, BTreeMap<String, usize>> = HashMap::new();
    for name in lists.iter().flatten() {
        *used
            .entry(key(name))
            .or_default()
            .entry(name.clone())
            .or_default() += 1;
    }
    let capitals = |name: &str| name.chars().filter(|c| c.is_uppercase()).count();
    let best: HashMap<String, String> = used
        .into_iter()
        .filter_map(|(key, spellings)| {
            let best = spellings
                .into_iter()
                .max_by_key(|(name, n)| (*n, std::cmp::Reverse(capitals(name))));
            Some((key, best?.0))
        })
        .collect();
    for name in lists.iter_mut().flatten() {
        if let Some(best) = best.get(&key(name))
            && best != name
        {
            note(done, Rule::Spelling, format!("{name:?}, of {best:?}"));
            name.clone_from(best);
        }
    }
}

fn once(names: Vec<String>, done: &mut Done) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut kept = Vec::new();
    for name in names {
        if seen.insert(name.clone()) {
            kept.push(name);
        } else {
            note(done, Rule::Twice, format!("{name:?}"));
        }
    }
    kept
}

/// Names that are the same without the words of one letter. They are left as they are: two people may be meant.
fn alike(books: &[Named]) -> Vec<String> {
    let mut groups: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for name in books.iter().flat_map(|book| &book.authors) {
        let words = name.split(' ').filter(|word| key(word).chars().count() > 1);
        let words: Vec<&str> = words.collect();
        groups.entry(words.join(" ")).or_default().insert(name);
    }
    let several = groups.into_values().filter(|group| group.len() > 1);
    several
        .map(|group| group.into_iter().collect::<Vec<_>>().join(" / "))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::books::file;
    use serde_json::json;

    fn cleaned(books: &[(&[&str], &[&str])]) -> Result<Cleaned> {
        let lines = books.iter().enumerate().map(|(n, (authors, categories))| {
            json!({
                "_id": n, "title": "", "pageCount": 0, "status": "MEAP", "authors": authors, "categories": categories,
            })
            .to_string()
        });
        clean(&file::parse(&lines.collect::<Vec<_>>().join("\n"))?)
    }

    #[test]
    fn people_are_told_apart() -> Result<()> {
        let names: [&[&str]; 6] = [
            &[" Ada  Byron", "", "editors"],
            &["A. One and B. Two with C. Three", "with D. Four"],
            &["Emmit A. Scott", "Jr"],
            &["Contributions from 53 SQL Server MVPs; Edited by Paul Nielsen"],
            &["Oren Eini writing as Ayende Rahien", "Ada Byron", "ADA BYRON"],
            &["Jr."],
        ];
        let books: Vec<(&[&str], &[&str])> = names.iter().map(|names| (*names, &[][..])).collect();
        let cleaned = cleaned(&books)?;
        let people: Vec<&[String]> = cleaned.books.iter().map(|book| &book.authors[..]).collect();
        assert_eq!(
            people,
            [
                &["Ada Byron"][..],
                &["A. One", "B. Two", "C. Three", "D. Four"],
                &["Emmit A. Scott Jr."],
                &["Paul Nielsen"],
                &["Oren Eini", "Ada Byron"],
                &["Jr."],
            ]
        );
        let counts: Vec<(Rule, usize)> = cleaned
            .authors
            .iter()
            .map(|(rule, all)| (*rule, all.len()))
            .collect();
        assert_eq!(
            counts,
            [
                (Rule::Empty, 1),
                (Rule::Space, 1),
                (Rule::NoName, 2),
                (Rule::Suffix, 1),
                (Rule::Several, 2),
                (Rule::Role, 2),
                (Rule::PenName, 1),
                (Rule::Spelling, 1),
                (Rule::Twice, 1),
            ]
        );
        Ok(())
    }

    #[test]
    fn a_category_that_was_cut_off_is_completed_if_one_fits() -> Result<()> {
        let books: [(&[&str], &[&str]); 6] = [
            (&[], &["Computer Graphics", "java"]),
            (&[], &["Java", "Internet", "Computer Graph"]),
            (&[], &["Object-Oriented Programming", "P"]),
            (&[], &["PHP", "Perl"]),
            (&[], &["Mobile"]),
            (&[], &["Java", "Client-Server", "Internet"]),
        ];
        let cleaned = cleaned(&books)?;
        let topics: Vec<&[String]> = cleaned.books.iter().map(|book| &book.categories[..]).collect();
        assert_eq!(
            topics,
            [
                &["Computer Graphics", "Java"][..],
                &["Java", "Internet", "Computer Graphics"],
                &["Object-Oriented Programming"],
                &["PHP", "Perl"],
                &["Mobile"],
                &["Java", "Client-Server", "Internet"],
            ]
        );
        Ok(())
    }

    #[test]
    fn names_that_may_be_two_people_stay_two() -> Result<()> {
        let cleaned = cleaned(&[(&["Paul Randal", "Paul S. Randal"], &[])])?;
        assert_eq!(cleaned.books[0].authors.len(), 2);
        assert_eq!(cleaned.alike, ["Paul Randal / Paul S. Randal"]);
        Ok(())
    }
}
