//! The changes of files: what people wrote stays, and new text stands between.

use super::compare::{Change, Comparison};
use super::imports;
use super::patch::{Edit, apply, unified};
use super::source::{Form, Source, Written, WrittenField};
use crate::code::model::{Is, Member, Models, Type};
use crate::code::names::{self, Given};
use crate::code::print;
use crate::design::Design;
use std::collections::{BTreeMap, BTreeSet};

/// A file that is changed, or a new one.
pub struct Edited {
    /// Its path below the folder.
    pub path: String,
    /// Its text; `None` of a new one.
    pub old: Option<String>,
    /// Its text then.
    pub new: String,
}

/// The patch of all files.
pub fn patch(comparison: &Comparison<'_>, design: &Design) -> String {
    let files = files(comparison, design);
    files
        .iter()
        .map(|file| unified(&file.path, file.old.as_deref(), &file.new))
        .collect()
}

/// The files that are changed.
pub fn files(comparison: &Comparison<'_>, design: &Design) -> Vec<Edited> {
    let source = comparison.source;
    let mut models = comparison.models.clone();
    let added = rename(&mut models, comparison);
    let mut edits: BTreeMap<usize, Vec<Edit>> = BTreeMap::new();
    let mut printed: BTreeSet<usize> = BTreeSet::new();
    for change in &comparison.changes {
        let mut of = Writer {
            source,
            models: &models,
            edits: &mut edits,
        };
        let needed = of.change(change);
        // The types of a new field stand at the end of its file.
        if let Some((file, types)) = needed {
            let mut text = String::new();
            let mut open = types;
            while let Some(ty) = open.pop() {
                for at in named(&ty) {
                    let is_new = added.contains(&at) && !is_root(&models, at) && printed.insert(at);
                    if let (true, Some(new)) = (is_new, models.types.get(at)) {
                        text.push('\n');
                        print::embedded(&mut text, &models, new);
                        open.extend(new.is.types().into_iter().cloned());
                    }
                }
            }
            if let Some((_, old)) = source.files.get(file)
                && !text.is_empty()
            {
                let end = old.len();
                let start = if old.ends_with('\n') || old.is_empty() {
                    ""
                } else {
                    "\n"
                };
                edits.entry(file).or_default().push(Edit {
                    at: end..end,
                    text: format!("{start}{text}"),
                });
            }
        }
    }
    let mut out = Vec::new();
    for (file, (path, old)) in source.files.iter().enumerate() {
        let mut all = edits.remove(&file).unwrap_or_default();
        if path.to_str() == Some("mod.rs") {
            all.extend(modules(comparison, &models, old));
        }
        if all.is_empty() {
            continue;
        }
        let mut new = apply(old, &all);
        let imports = imports::imports(source, &models, old, &new, file);
        if !imports.is_empty() {
            let at = imports::place(&new);
            new.insert_str(at, &imports);
        }
        out.push(Edited {
            path: path.display().to_string(),
            old: Some(old.clone()),
            new,
        });
    }
    let wanted: Vec<&str> = comparison
        .missing
        .iter()
        .filter_map(|number| Some(models.collections.get(*number)?.module.as_str()))
        .collect();
    for file in print::files(&models, design) {
        let module = file.path.trim_end_matches(".rs");
        if wanted.contains(&module) {
            out.push(Edited {
                path: file.path,
                old: None,
                new: file.text,
            });
        }
    }
    out
}

/// Gives types the names that were written, and others a name that is free. Returns those that were not written.
fn rename(models: &mut Models, comparison: &Comparison<'_>) -> BTreeSet<usize> {
    let mut given = Given::default();
    for name in comparison.source.types.keys() {
        given.give_type(name);
    }
    let mut added = BTreeSet::new();
    for at in 0..models.types.len() {
        let Some(named) = models.types.get_mut(at) else {
            continue;
        };
        match comparison.names.get(&at) {
            Some(name) => name.clone_into(&mut named.name),
            None => {
                named.name = given.give_type(&named.name);
                added.insert(at);
            }
        }
    }
    added
}

fn is_root(models: &Models, at: usize) -> bool {
    models.collections.iter().any(|model| model.root == at)
}

/// The named types in a type.
fn named(ty: &Type) -> Vec<usize> {
    match ty {
        Type::Named(at) => vec![*at],
        Type::List(many) | Type::Map(many) => named(&many.item),
        _ => Vec::new(),
    }
}

struct Writer<'a> {
    source: &'a Source,
    models: &'a Models,
    edits: &'a mut BTreeMap<usize, Vec<Edit>>,
}

impl<'a> Writer<'a> {
    /// Makes the edits of a change. Returns its file and the types that it needs.
    fn change(&mut self, change: &Change) -> Option<(usize, Vec<Type>)> {
        match change {
            Change::Add {
                written,
                behind,
                model,
                field,
            } => {
                let (owner, text, fields) = self.written(written)?;
                let (member, others) = self.member(*model, *field)?;
                let indent = fields
                    .first()
                    .map_or("    ".to_owned(), |field| indent(text, field.at.start));
                let mut new = member.clone();
                let mut rust = Given::default();
                for field in fields {
                    rust.give(&field.rust, "_");
                }
                new.rust = rust.give(&new.rust, "_");
                let mut lines = String::new();
                print::member(
                    &mut lines,
                    self.models,
                    &new,
                    others,
                    is_root(self.models, *model),
                );
                let lines: String = lines
                    .lines()
                    .map(|line| format!("{indent}{}\n", line.trim_start()))
                    .collect();
                let edit = match behind.and_then(|at| fields.get(at)) {
                    Some(before) => behind_field(text, before, &lines),
                    None => match fields.first() {
                        Some(first) => at_line(text, first.at.start, &lines),
                        None => Edit {
                            at: owner.close..owner.close,
                            text: format!("\n{lines}"),
                        },
                    },
                };
                self.edits.entry(owner.file).or_default().push(edit);
                Some((owner.file, vec![new.ty.clone()]))
            }
            Change::Retype {
                written,
                at,
                model,
                field,
            } => {
                let (owner, text, fields) = self.written(written)?;
                let old = fields.get(*at)?;
                let (member, others) = self.member(*model, *field)?;
                let edits = self.edits.entry(owner.file).or_default();
                edits.push(Edit {
                    at: old.ty_at.clone(),
                    text: self.models.member_text(member),
                });
                // The attributes that the new type needs, where there are none of that name.
                let written = text.get(old.at.clone()).unwrap_or_default();
                let indent = indent(text, old.at.start);
                let all = print::attributes(self.models, member, others, false, false);
                let lines: String = all
                    .iter()
                    .filter(|line| {
                        let name = line.split(['(', ']']).next().unwrap_or(line);
                        !written.contains(name)
                    })
                    .map(|line| format!("{line}\n{indent}"))
                    .collect();
                if !lines.is_empty() {
                    let start = name_start(text, old);
                    edits.push(Edit {
                        at: start..start,
                        text: lines,
                    });
                }
                Some((owner.file, vec![member.ty.clone()]))
            }
            Change::Optional { written, at, missing } => {
                let (owner, text, fields) = self.written(written)?;
                let field = fields.get(*at)?;
                let ty = text.get(field.ty_at.clone())?;
                let edits = self.edits.entry(owner.file).or_default();
                edits.push(Edit {
                    at: field.ty_at.clone(),
                    text: format!("Option<{ty}>"),
                });
                if *missing {
                    let start = name_start(text, field);
                    edits.push(Edit {
                        at: start..start,
                        text: format!("#[field(skip_none)]\n{}", indent(text, field.at.start)),
                    });
                }
                None
            }
            Change::Gone { written, at, read } => {
                let (owner, text, fields) = self.written(written)?;
                let field = fields.get(*at)?;
                // Once is enough.
                let before = text.get(..field.at.start)?;
                let remark = before.trim_end().rsplit('\n').next().unwrap_or_default();
                if remark.contains("has this field.") {
                    return None;
                }
                let line = format!(
                    "{}// None of {read} documents has this field.\n",
                    indent(text, field.at.start)
                );
                let edit = at_line(text, field.at.start, &line);
                self.edits.entry(owner.file).or_default().push(edit);
                None
            }
            Change::Value { written, value } => {
                let owner = self.source.types.get(written)?;
                let (_, text) = self.source.files.get(owner.file)?;
                let name = names::ty(value);
                let stored = if name == *value {
                    String::new()
                } else {
                    format!("    #[embed(name = {value:?})]\n")
                };
                let lines = format!("{stored}    {name},\n");
                let line = text.get(..owner.close)?.rfind('\n').map_or(0, |at| at + 1);
                let is_alone = text.get(line..owner.close)?.trim().is_empty();
                let body = text.get(..owner.close)?.trim_end();
                let comma = if body.ends_with([',', '{']) { "" } else { "," };
                let edit = if is_alone && comma.is_empty() {
                    Edit {
                        at: line..line,
                        text: lines,
                    }
                } else {
                    Edit {
                        at: body.len()..owner.close,
                        text: format!("{comma}\n{lines}"),
                    }
                };
                self.edits.entry(owner.file).or_default().push(edit);
                None
            }
            Change::Index { written, option } => {
                let owner = self.source.types.get(written)?;
                let (_, text) = self.source.files.get(owner.file)?;
                let indent = indent(text, owner.head);
                self.edits.entry(owner.file).or_default().push(Edit {
                    at: owner.head..owner.head,
                    text: format!("#[document({option})]\n{indent}"),
                });
                None
            }
        }
    }

    fn written(&self, name: &str) -> Option<(&'a Written, &'a str, &'a [WrittenField])> {
        let source = self.source;
        let owner = source.types.get(name)?;
        let (_, text) = source.files.get(owner.file)?;
        match &owner.is {
            Form::Struct { fields } => Some((owner, text, fields)),
            _ => None,
        }
    }

    fn member(&self, model: usize, field: usize) -> Option<(&'a Member, &'a [Member])> {
        let models = self.models;
        match &models.types.get(model)?.is {
            Is::Struct { fields, .. } => Some((fields.get(field)?, fields)),
            _ => None,
        }
    }
}

/// The white space at the beginning of a line.
fn indent(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rfind('\n').map_or(before, |at| &before[at + 1..]);
    let is_first = line.trim().is_empty();
    if is_first {
        line.to_owned()
    } else {
        "    ".to_owned()
    }
}

/// Lines before the one at a place, where nothing else stands before it there.
fn at_line(text: &str, at: usize, lines: &str) -> Edit {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rfind('\n').map_or(0, |at| at + 1);
    let is_first = before.get(line..).is_some_and(|start| start.trim().is_empty());
    if is_first {
        Edit {
            at: line..line,
            text: lines.to_owned(),
        }
    } else {
        Edit {
            at: at..at,
            text: format!("\n{lines}    "),
        }
    }
}

/// Where the visibility or the name of a field begins, behind its attributes.
fn name_start(text: &str, field: &WrittenField) -> usize {
    let written = text.get(field.at.start..field.ty_at.start).unwrap_or_default();
    // Behind the last attribute or comment stands the name in one line, as far as the type.
    let line = written.trim_end().rfind('\n').map_or(0, |at| at + 1);
    let rest = written.get(line..).unwrap_or_default();
    let spaces = rest.len() - rest.trim_start().len();
    let mut start = field.at.start + line + spaces;
    // Attributes may stand in the same line.
    if let Some(end) = rest.rfind(']') {
        let behind = rest.get(end + 1..).unwrap_or_default();
        start = field.at.start + line + end + 1 + (behind.len() - behind.trim_start().len());
    }
    start
}

/// Lines behind a field, its comma and the comment in its line.
fn behind_field(text: &str, field: &WrittenField, lines: &str) -> Edit {
    let rest = text.get(field.at.end..).unwrap_or_default();
    let spaces = rest.len() - rest.trim_start().len();
    let has_comma = rest.trim_start().starts_with(',');
    let end = field.at.end + if has_comma { spaces + 1 } else { 0 };
    let line = text.get(end..).unwrap_or_default();
    let until = line.find('\n').map_or(line.len(), |at| at + 1);
    let behind = line.get(..until).unwrap_or_default().trim();
    let is_last =
        behind.is_empty() || behind.starts_with("//") || behind.starts_with("/*") && behind.ends_with("*/");
    match (is_last, has_comma) {
        (true, true) => Edit {
            at: end + until..end + until,
            text: lines.to_owned(),
        },
        (true, false) => Edit {
            at: field.at.end..end + until,
            text: format!(",{}{lines}", line.get(..until).unwrap_or_default()),
        },
        (false, true) => Edit {
            at: end..end,
            text: format!("\n{lines}   "),
        },
        (false, false) => Edit {
            at: field.at.end..field.at.end,
            text: format!(",\n{lines}"),
        },
    }
}

/// The modules of new files, in `mod.rs`.
fn modules(comparison: &Comparison<'_>, models: &Models, text: &str) -> Vec<Edit> {
    let mut all = Vec::new();
    let mut lines = String::new();
    let mut uses = String::new();
    for number in &comparison.missing {
        if let Some(model) = models.collections.get(*number) {
            lines.push_str(&format!("pub mod {};\n", model.module));
            uses.push_str(&format!("pub use {}::*;\n", model.module));
        }
    }
    if lines.is_empty() {
        return all;
    }
    let behind = |is: &dyn Fn(&str) -> bool| {
        let mut at = 0;
        let mut found = None;
        for line in text.split_inclusive('\n') {
            at += line.len();
            if is(line.trim_end()) {
                found = Some(at);
            }
        }
        found
    };
    let end = text.len();
    let module =
        |line: &str| line.ends_with(';') && (line.starts_with("pub mod ") || line.starts_with("mod "));
    let at = behind(&module).unwrap_or(end);
    all.push(Edit {
        at: at..at,
        text: lines,
    });
    if let Some(at) = behind(&|line| line.starts_with("pub use ") && line.ends_with("::*;")) {
        all.push(Edit {
            at: at..at,
            text: uses,
        });
    }
    // The list of all documents.
    if let Some(list) = text.find("odm::models![").or_else(|| text.find("models![")) {
        let close = text
            .get(list..)
            .and_then(|rest| rest.find(']'))
            .map(|at| list + at);
        if let Some(close) = close {
            let inside = text.get(list..close).unwrap_or_default();
            let line = inside.rfind('\n').map(|at| list + at + 1);
            let names = comparison.missing.iter().map(|number| models.document(*number));
            let (at, new) = match line {
                Some(line) => (
                    line,
                    names.map(|name| format!("        {name},\n")).collect::<String>(),
                ),
                None => (close, names.map(|name| format!(", {name}")).collect()),
            };
            all.push(Edit {
                at: at..at,
                text: new,
            });
            let before = text.get(..list).unwrap_or_default();
            if let Some(from) = before.rfind("odm::Model; ")
                && let Some(length) = before.get(from + 12..).and_then(|rest| rest.find(']'))
                && let Some(Ok(number)) = before.get(from + 12..from + 12 + length).map(str::parse::<usize>)
            {
                all.push(Edit {
                    at: from + 12..from + 12 + length,
                    text: (number + comparison.missing.len()).to_string(),
                });
            }
        }
    }
    all
}
