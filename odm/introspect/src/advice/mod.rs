//! Advice: what is wrong with a design, the figure that shows it, what it costs, and what to write instead.
//!
//! A rule is a function that reads a [`Design`] and gives an [`Advice`] for each place where a figure passes a threshold. Without a
//! figure there is no advice. The thresholds are constants beside the rules, each with its reason.

mod collation;
mod computed;
mod copies;
mod declared;
mod estimate;
mod fields;
#[cfg(test)]
pub(crate) mod fixtures;
mod growth;
mod indexes;
mod joins;
mod keys;
mod kinds;
mod links;
mod missing;
mod mixed;
mod names;
mod nulls;
mod remedy;
mod together;
mod typed;
mod variants;
pub(crate) mod words;

use crate::design::Design;

pub use kinds::{Advice, Rule, Severity};
pub use remedy::{Code, Language, Remedy};

/// All advice that the figures of a design give, the worst first.
pub fn advise(design: &Design) -> Vec<Advice> {
    let rules: [fn(&Design) -> Vec<Advice>; 21] = [
        growth::large_documents,
        growth::growing_arrays,
        growth::bloated_documents,
        links::dangling_references,
        links::links_that_disagree,
        copies::stale_copies,
        computed::wrong_computed,
        computed::wrong_subsets,
        joins::joins_of_copied,
        mixed::mixed_types,
        variants::near_duplicates,
        typed::typed_text,
        nulls::null_and_missing,
        keys::awkward_keys,
        missing::missing,
        indexes::redundant,
        indexes::unused,
        collation::case_without_collation,
        together::one_to_one,
        together::one_to_few,
        together::many_collections,
    ];
    let mut all: Vec<Advice> = rules.iter().flat_map(|rule| rule(design)).collect();
    all.sort_by(|a, b| {
        let key = |advice: &Advice| (advice.severity, advice.rule);
        key(a)
            .cmp(&key(b))
            .then_with(|| b.weight().total_cmp(&a.weight()))
            .then_with(|| (&a.collection, &a.path).cmp(&(&b.collection, &b.path)))
    });
    all
}

#[cfg(test)]
mod tests {
    use super::fixtures::*;
    use super::*;

    #[test]
    fn an_empty_design_gets_no_advice() {
        assert!(advise(&Design::default()).is_empty());
    }

    #[test]
    fn the_worst_comes_first() {
        let mut design = orders();
        design.references[0].dangling = 12;
        let all = advise(&design);
        assert_eq!(all[0].rule, Rule::DanglingReference);
        assert!(all.is_sorted_by_key(|advice| advice.severity));
    }

    #[test]
    fn each_advice_has_a_figure_a_cost_and_a_remedy() {
        let design = faulty();
        let all = advise(&design);
        assert!(all.len() > 10, "{all:#?}");
        for advice in &all {
            let sentence = |text: &str| text.ends_with('.') && !text.contains("  ");
            assert!(sentence(&advice.finding), "{advice:#?}");
            assert!(
                advice.finding.contains(|c: char| c.is_ascii_digit()),
                "{advice:#?}"
            );
            assert!(sentence(&advice.cost), "{advice:#?}");
            assert!(sentence(&advice.remedy.words), "{advice:#?}");
            assert!(!advice.evidence.is_empty(), "{advice:#?}");
            assert!(advice.evidence.contains_key("affected"), "{advice:#?}");
        }
    }

    #[test]
    fn rust_that_mends_can_be_parsed() {
        let mut parsed = 0;
        for advice in advise(&faulty()) {
            for code in &advice.remedy.code {
                if code.language == Language::Rust {
                    syn::parse_str::<syn::File>(&code.text)
                        .unwrap_or_else(|error| panic!("{error}: {}", code.text));
                    assert!(
                        code.text.lines().all(|line| line.chars().count() <= 100),
                        "{}",
                        code.text
                    );
                    parsed += 1;
                }
            }
        }
        assert!(parsed > 10, "{parsed}");
    }
}
