//! Programs that do not compile, and the messages of the compiler: programs of the tests, which hold the messages to the
//! letter.

use crate::show::Show;

/// A program that is refused, why, and the words of the compiler.
struct Refusal {
    why: &'static str,
    program: &'static str,
    message: &'static str,
}

macro_rules! refusal {
    ($name:literal, $why:literal) => {
        Refusal {
            why: $why,
            program: include_str!(concat!("../../../../tests/ui/", $name, ".rs")),
            message: include_str!(concat!("../../../../tests/ui/", $name, ".stderr")),
        }
    };
}

const REFUSALS: [Refusal; 5] = [
    refusal!(
        "bounds/vec",
        "An array without a bound grows until its document can't be written any more, years later. So it has to say how \
         many items it may hold, before it is compiled:"
    ),
    refusal!(
        "bounds/too_large",
        "The bounds of all fields together give the size of the largest possible document. If that is more than MongoDB \
         stores, the declaration is wrong, whatever is stored today:"
    ),
    refusal!(
        "projection/unknown",
        "Queries, updates, indexes and projections name fields by typed paths. A field that does not exist is not a query \
         that finds nothing:"
    ),
    refusal!(
        "references/max_too_large",
        "An array of references is bounded too: of ids alone, but some thousands of them at most. A document that may \
         have more is named by its children:"
    ),
    refusal!(
        "inverse/unbalanced",
        "Both sides of a many-to-many may list each other only if both lists stay short:"
    ),
];

pub fn show(show: &mut Show) {
    show.heading("What does not compile");
    for (at, refusal) in REFUSALS.iter().enumerate() {
        if at > 0 {
            println!();
        }
        show.text(refusal.why);
        println!();
        show.block(declarations(refusal.program));
        println!();
        show.block(refusal.message);
    }
}

/// The program without its imports and its `main`, which are the same everywhere.
fn declarations(program: &str) -> &str {
    let from = program.find("#[derive").unwrap_or(0);
    let to = program.find("\nfn main").unwrap_or(program.len());
    program.get(from..to).unwrap_or(program)
}
