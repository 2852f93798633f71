//! Runs the checker, prints what it found, and compares that with the tables of the book.
//!
//! A check that has a row of its name there has to find what the row says: `ODM_WRITE_BOOK=1 cargo test -p odm-protocol` writes
//! what is found into these rows.

use stateright::{Checker, Expectation, HasDiscoveries, Model};
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Mutex;

/// The result of one check.
struct Found<A> {
    states: usize,
    depth: usize,
    /// The properties that are violated, each with the steps that lead there.
    violated: Vec<(&'static str, Vec<A>)>,
    /// The properties that should hold in some state, and did in none.
    never: Vec<&'static str>,
}

/// Visits every state that can be reached, or stops at one that violates this property; a longer way than this is not
/// looked for.
fn visit<M>(model: &M, until: Option<&'static str>, longest: Option<usize>) -> Found<M::Action>
where
    M: Clone + Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync,
    M::Action: Clone + Debug + PartialEq,
{
    let when = match until {
        Some(name) => HasDiscoveries::AllOf([name].into()),
        None => HasDiscoveries::AnyFailures,
    };
    let mut checker = model.clone().checker().finish_when(when);
    if let Some(steps) = longest {
        // A way of no steps has the depth 1, and what is as deep as the target is skipped.
        checker = checker.target_max_depth(steps + 2);
    }
    let checker = checker.spawn_bfs().join();
    let mut discoveries = checker.discoveries();
    let mut found = Found {
        states: checker.unique_state_count(),
        depth: checker.max_depth(),
        violated: Vec::new(),
        never: Vec::new(),
    };
    for property in model.properties() {
        match (discoveries.remove(property.name), property.expectation) {
            (None, Expectation::Sometimes) => found.never.push(property.name),
            (Some(path), Expectation::Always | Expectation::Eventually) => {
                found.violated.push((property.name, path.into_actions()));
            }
            _ => {}
        }
    }
    found
}

/// The whole protocol holds.
pub(crate) fn holds<M>(name: &str, model: M)
where
    M: Clone + Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync,
    M::Action: Clone + Debug + PartialEq,
{
    let found = visit(&model, None, None);
    println!(
        "{name:<66} {:>9} states, {:>2} deep: {}",
        found.states,
        found.depth,
        if found.violated.is_empty() {
            "holds"
        } else {
            "VIOLATED"
        }
    );
    for (property, steps) in &found.violated {
        println!("  \"{property}\" is violated by");
        steps.iter().for_each(|step| println!("    {step:?}"));
    }
    assert!(found.violated.is_empty(), "{name}: see the steps above");
    assert!(found.never.is_empty(), "{name}: never {:?}", found.never);
    compare(name, &[with_commas(found.states), found.depth.to_string()]);
}

/// Without this safeguard, this property is violated.
pub(crate) fn fails<M>(name: &str, model: M, property: &'static str)
where
    M: Clone + Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync,
    M::Action: Clone + Debug + PartialEq,
{
    let way = |longest: Option<usize>| {
        let found = visit(&model, Some(property), longest);
        found
            .violated
            .into_iter()
            .find(|(name, _)| *name == property)
            .map(|(_, steps)| steps)
    };
    let mut shortest = way(None);
    // The checker looks at many states before it stops, and tells of the last: there may be a shorter way.
    while let Some(shorter) = shortest
        .as_ref()
        .and_then(|steps| way(Some(steps.len().checked_sub(1)?)))
    {
        shortest = Some(shorter);
    }
    let Some(steps) = shortest else {
        panic!("without {name}, it was expected to be violated that {property}");
    };
    println!("without {name}: violated after {} steps: {property}", steps.len());
    steps.iter().for_each(|step| println!("    {step:?}"));
    compare(name, &[steps.len().to_string()]);
}

/// The pages with tables of what was checked.
const PAGES: [&str; 2] = [
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/internals/models.md"),
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/internals/safeguards.md"),
];

/// How the tables of what was checked begin.
const TABLES: [&str; 2] = ["| processes | states |", "| without | what is violated |"];

/// One check writes to the pages at a time.
static WRITING: Mutex<()> = Mutex::new(());

fn read(page: &str) -> String {
    std::fs::read_to_string(page).expect("the page is read")
}

/// The rows of the tables of what was checked, each by its place among the lines of the page.
fn rows(page: &str) -> Vec<(usize, &str)> {
    let mut is_in = false;
    let mut rows = Vec::new();
    for (at, line) in page.lines().enumerate() {
        if TABLES.iter().any(|table| line.starts_with(table)) {
            is_in = true;
        } else if !line.starts_with('|') {
            assert!(!is_in || line.is_empty(), "a table is cut off by {line:?}");
            is_in = false;
        } else if is_in && !line.starts_with("| -") {
            rows.push((at, line));
        }
    }
    rows
}

fn name_of(row: &str) -> &str {
    row.split('|').nth(1).unwrap_or_default().trim()
}

/// The row with other numbers in its last cells.
fn with_numbers(row: &str, numbers: &[String]) -> String {
    let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
    let words = &cells[..cells.len().saturating_sub(numbers.len())];
    let numbers = numbers.iter().map(String::as_str);
    let cells: Vec<&str> = words.iter().copied().chain(numbers).collect();
    format!("| {} |", cells.join(" | "))
}

/// `2,219,692`
fn with_commas(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .filter_map(|group| str::from_utf8(group).ok())
        .collect();
    groups.join(",")
}

/// That the pages have these numbers, if one of them has a row of this name.
fn compare(name: &str, numbers: &[String]) {
    let _writing = WRITING.lock().unwrap_or_else(|error| error.into_inner());
    PAGES.iter().for_each(|path| compare_on(path, name, numbers));
}

fn compare_on(path: &str, name: &str, numbers: &[String]) {
    let page = read(path);
    let mut of_name = rows(&page).into_iter().filter(|(_, row)| name_of(row) == name);
    let Some((at, row)) = of_name.next() else {
        return;
    };
    assert!(of_name.next().is_none(), "two rows are called {name}");
    let found = with_numbers(row, numbers);
    if found == row {
        return;
    }
    assert!(
        std::env::var_os("ODM_WRITE_BOOK").is_some(),
        "{path} says\n{row}\nand this was found:\n{found}\nODM_WRITE_BOOK=1 writes it there"
    );
    let lines = page.lines().enumerate();
    let lines: Vec<&str> = lines
        .map(|(n, line)| if n == at { found.as_str() } else { line })
        .collect();
    std::fs::write(path, lines.join("\n") + "\n").expect("the page is written");
}

#[test]
fn each_row_of_the_pages_is_that_of_one_check() {
    let sources = [
        include_str!("copies.rs"),
        include_str!("children.rs"),
        include_str!("claims.rs"),
        include_str!("commits.rs"),
        include_str!("deletions.rs"),
        include_str!("followed.rs"),
        include_str!("kept.rs"),
        include_str!("layers.rs"),
        include_str!("leases.rs"),
        include_str!("migrations.rs"),
        include_str!("parents.rs"),
        include_str!("passing.rs"),
        include_str!("references.rs"),
        include_str!("shards.rs"),
        include_str!("transactions.rs"),
    ];
    let pages = PAGES.map(read);
    let rows: Vec<&str> = pages
        .iter()
        .flat_map(|page| rows(page))
        .map(|(_, row)| row)
        .collect();
    assert!(rows.len() > 100, "the tables are found: {rows:?}");
    for row in rows {
        let literal = format!("\"{}\"", name_of(row));
        let checks: usize = sources
            .iter()
            .map(|source| source.matches(&literal).count())
            .sum();
        assert_eq!(checks, 1, "{checks} checks are called {literal}");
    }
}

#[test]
fn numbers_are_written_as_on_the_page() {
    let numbers = [0, 374, 9_877, 150_353, 3_094_911].map(with_commas);
    assert_eq!(numbers, ["0", "374", "9,877", "150,353", "3,094,911"]);
    let row = "| copies: two inserts | 1,000 | 3 |";
    let numbers = ["2,000".to_owned(), "4".to_owned()];
    assert_eq!(with_numbers(row, &numbers), "| copies: two inserts | 2,000 | 4 |");
    assert_eq!(
        with_numbers("| a mark | it stays | 3 |", &["12".to_owned()]),
        "| a mark | it stays | 12 |"
    );
}
