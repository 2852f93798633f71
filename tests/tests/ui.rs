//! What does not compile, and what the compiler then says; and that the offered fixes compile.
//!
//! Recorded with Rust 1.95. Other versions word the compiler's own parts differently (1.88 lists fewer notes), so the
//! comparison is made on that version only: `TRYBUILD=overwrite cargo test -p odm-tests --test ui` records anew.

#[test]
fn messages() {
    let cases = trybuild::TestCases::new();
    cases.pass("ui/pass/*.rs");
    for topic in [
        "append_only",
        "bounds",
        "buckets",
        "computed",
        "copies",
        "documents",
        "enums",
        "fields",
        "generics",
        "ids",
        "indexes",
        "inverse",
        "joins",
        "opaque",
        "paths",
        "projection",
        "recursion",
        "references",
        "serde",
        "subsets",
        "unions",
    ] {
        cases.compile_fail(format!("ui/{topic}/*.rs"));
    }
}
