//! The guide shows this program: each block that names a part of a file is that part.
#![allow(missing_docs)] // a test is read, not linked

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The lines of a file between `// ANCHOR: name` and `// ANCHOR_END: name`, as mdBook names them.
fn part(file: &str, name: &str) -> String {
    let text =
        fs::read_to_string(root().join(file)).expect("a file of the program");
    let (begin, end) =
        (format!("// ANCHOR: {name}"), format!("// ANCHOR_END: {name}"));
    let lines = text.lines().skip_while(|line| line.trim() != begin).skip(1);
    let part: Vec<&str> = lines.take_while(|line| line.trim() != end).collect();
    assert!(!part.is_empty(), "{file} has no part `{name}`");
    let indent = part.iter().filter(|line| !line.is_empty());
    let indent = indent.map(|line| line.len() - line.trim_start().len()).min();
    let part = part
        .iter()
        .map(|line| line.get(indent.unwrap_or_default()..).unwrap_or_default());
    part.collect::<Vec<_>>().join("\n")
}

/// The page with each block behind `<!-- file#part -->` as the file has it, and how many there are.
fn shown(page: &str) -> (String, usize) {
    let (mut lines, mut parts) = (Vec::new(), 0);
    let mut rest = page.lines();
    while let Some(line) = rest.next() {
        lines.push(line.to_owned());
        let named = line
            .strip_prefix("<!-- examples/")
            .and_then(|line| line.strip_suffix(" -->"));
        let Some((file, name)) = named.and_then(|named| named.split_once('#'))
        else {
            continue;
        };
        let fence = rest
            .by_ref()
            .find(|line| line.starts_with("```"))
            .expect("a block of code");
        rest.by_ref().find(|line| *line == "```").expect("the end of the block");
        let code = part(&format!("examples/{file}"), name);
        lines.extend([String::new(), fence.to_owned(), code, "```".to_owned()]);
        parts += 1;
    }
    (lines.join("\n") + "\n", parts)
}

#[test]
fn the_pages_show_the_program() {
    let mut parts = 0;
    for name in ["application.md", "deployment.md", "runbook.md"] {
        let path = root().join("book/src").join(name);
        let page = fs::read_to_string(&path).expect("a page of the guide");
        let (right, count) = shown(&page);
        parts += count;
        if page != right && std::env::var_os("ODM_WRITE_BOOK").is_some() {
            fs::write(&path, &right).expect("the page can be written");
        }
        let page = fs::read_to_string(&path).expect("a page of the guide");
        assert!(
            page == right,
            "{name} differs from the program: `ODM_WRITE_BOOK=1 cargo test -p odm-blog --test blog_pages`"
        );
    }
    assert!(parts >= 8, "{parts} parts of the program are shown");
}

#[test]
fn what_is_shown_is_within_the_column() {
    let source = root().join("examples/blog/src");
    for entry in fs::read_dir(source).expect("the program") {
        let path = entry.expect("a file").path();
        let text = fs::read_to_string(&path).expect("a file of the program");
        let wide: Vec<&str> =
            text.lines().filter(|line| line.chars().count() > 84).collect();
        assert!(wide.is_empty(), "{}: {wide:?}", path.display());
    }
}
