//! The table of operations is that of the reference.

use odm_tests::fixtures::operations::SETS;
use odm_tests::fixtures::operations::reference::{WITHOUT_ROW, methods};
use std::collections::BTreeSet;

#[odm_tests::test]
fn every_operation_of_the_reference_has_a_row_or_a_reason_to_have_none() {
    let listed = methods();
    assert!(listed.len() > 200, "the page lists {} methods", listed.len());
    for set in SETS {
        let operations = (set.operations)();
        let names: BTreeSet<&str> = operations
            .iter()
            .map(|operation| operation.name.as_str())
            .collect();
        assert_eq!(names.len(), operations.len(), "a row has the name of another one");
        let in_rows: BTreeSet<&str> = operations
            .iter()
            .flat_map(|operation| operation.methods.iter().copied())
            .collect();
        let excepted = |method: &str| {
            WITHOUT_ROW.iter().any(|(name, _)| {
                *name == method || method.split_once("::").is_some_and(|(of, _)| of == *name)
            })
        };
        let without: Vec<&String> = listed
            .iter()
            .filter(|method| !in_rows.contains(method.as_str()) && !excepted(method))
            .collect();
        assert!(without.is_empty(), "operations without a row: {without:?}");
        let unknown: Vec<&&str> = in_rows
            .iter()
            .filter(|method| !listed.contains(**method))
            .collect();
        assert!(
            unknown.is_empty(),
            "rows of operations that the reference does not list: {unknown:?}"
        );
        let needless: Vec<&str> = WITHOUT_ROW
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| {
                let of = format!("{name}::");
                in_rows.contains(name)
                    || !listed
                        .iter()
                        .any(|method| method == name || method.starts_with(&of))
            })
            .collect();
        assert!(needless.is_empty(), "exceptions that are none: {needless:?}");
    }
}
