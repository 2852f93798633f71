//! Runs the checker and prints what it found.

use stateright::{Checker, Expectation, HasDiscoveries, Model};
use std::fmt::Debug;
use std::hash::Hash;

/// What one check found.
struct Found<A> {
    states: usize,
    depth: usize,
    /// The properties that are violated, each with the steps that lead there.
    violated: Vec<(&'static str, Vec<A>)>,
    /// What should be possible and never was.
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
}
