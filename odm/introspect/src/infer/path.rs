//! Paths into documents, as [`design`](crate::design) writes them.

use bson::{RawBsonRef, RawDocument};

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// A field of a document.
    Field(String),
    /// Each element of an array.
    Items,
    /// Each value of a map.
    Values,
    /// Each key of a map.
    Key,
}

/// A path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Path(Vec<Step>);

/// A value or a key at a path.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found<'a> {
    /// A value.
    Value(RawBsonRef<'a>),
    /// A key of a map.
    Key(&'a str),
}

impl Path {
    /// A path as it is written.
    pub(super) fn parse(mut text: &str) -> Self {
        let mut steps = Vec::new();
        while !text.is_empty() {
            let marks = [("[]", Step::Items), ("{key}", Step::Key), ("{}", Step::Values)];
            if let Some((rest, step)) = marks
                .into_iter()
                .find_map(|(mark, step)| Some((text.strip_prefix(mark)?, step)))
            {
                steps.push(step);
                text = rest.strip_prefix('.').unwrap_or(rest);
                continue;
            }
            let end = text.find(['.', '[', '{']).unwrap_or(text.len()).max(1);
            // A character of several bytes may begin a name.
            let end = (end..=text.len())
                .find(|end| text.is_char_boundary(*end))
                .unwrap_or(text.len());
            steps.push(Step::Field(text[..end].to_owned()));
            text = text[end..].strip_prefix('.').unwrap_or(&text[end..]);
        }
        Self(steps)
    }

    /// A path of the steps to a document, and one more.
    pub(super) fn then(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    /// Whether it leads to one value of a document.
    pub(super) fn is_single(&self) -> bool {
        self.0.iter().all(|step| matches!(step, Step::Field(_)))
    }

    /// The path of the document that has its last field; `None` behind an array of values or a map of them.
    pub(super) fn parent(&self) -> Option<Self> {
        let (last, before) = self.0.split_last()?;
        matches!(last, Step::Field(_)).then(|| Self(before.to_vec()))
    }

    /// The names of its fields.
    pub(super) fn names(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.iter().filter_map(|step| match step {
            Step::Field(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Each value at the path, with the document that has its last field.
    pub(super) fn each<'a>(
        &self,
        document: &'a RawDocument,
        visit: &mut dyn FnMut(&'a RawDocument, Found<'a>),
    ) {
        into(RawBsonRef::Document(document), &self.0, document, visit);
    }

    /// The first value at the path.
    pub(super) fn first<'a>(&self, document: &'a RawDocument) -> Option<Found<'a>> {
        let mut first = None;
        self.each(document, &mut |_, found| {
            first.get_or_insert(found);
        });
        first
    }
}

fn into<'a>(
    value: RawBsonRef<'a>,
    steps: &[Step],
    parent: &'a RawDocument,
    visit: &mut dyn FnMut(&'a RawDocument, Found<'a>),
) {
    let Some((step, rest)) = steps.split_first() else {
        return visit(parent, Found::Value(value));
    };
    match (step, value) {
        (Step::Field(name), RawBsonRef::Document(document)) => {
            if let Ok(Some(value)) = document.get(name.as_str()) {
                into(value, rest, document, visit);
            }
        }
        (Step::Items, RawBsonRef::Array(array)) => {
            for value in array.into_iter().flatten() {
                into(value, rest, parent, visit);
            }
        }
        (Step::Values, RawBsonRef::Document(document)) => {
            for (_, value) in document.iter().flatten() {
                into(value, rest, parent, visit);
            }
        }
        (Step::Key, RawBsonRef::Document(document)) => {
            for (key, _) in document.iter().flatten() {
                visit(parent, Found::Key(key.as_str()));
            }
        }
        _ => {}
    }
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Field(name) if at == 0 => f.write_str(name)?,
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Items => f.write_str("[]")?,
                Step::Values => f.write_str("{}")?,
                Step::Key => f.write_str("{key}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::rawdoc;

    #[test]
    fn a_path_is_written_as_it_is_read() {
        for text in ["", "a", "a.b", "a[].b", "a[][]", "a{key}", "a{}.b[]", "ä.ö"] {
            assert_eq!(Path::parse(text).to_string(), text);
        }
    }

    #[test]
    fn a_path_leads_through_arrays_and_maps() {
        let document = rawdoc! { "a": [{ "b": 1 }, { "b": 2 }, 3], "m": { "x": { "c": 4 }, "y": { "c": 5 } }, "n": [[6], [7]] };
        let all = |text: &str| {
            let mut all = Vec::new();
            Path::parse(text).each(&document, &mut |_, found| {
                all.push(match found {
                    Found::Value(value) => value
                        .as_i32()
                        .map(|number| number.to_string())
                        .unwrap_or_default(),
                    Found::Key(key) => key.to_owned(),
                });
            });
            all
        };
        assert_eq!(all("a[].b"), ["1", "2"]);
        assert_eq!(all("m{}.c"), ["4", "5"]);
        assert_eq!(all("m{key}"), ["x", "y"]);
        assert_eq!(all("n[][]"), ["6", "7"]);
        assert!(all("z").is_empty());
    }
}
