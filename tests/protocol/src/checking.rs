//! Runs the checker and prints what it found.

use stateright::{Checker, HasDiscoveries, Model};
use std::hash::Hash;

/// What one exhaustive check found.
pub(crate) struct Found {
    pub(crate) states: usize,
    pub(crate) depth: usize,
    /// The properties that are violated, each with the steps of a shortest way there.
    pub(crate) violated: Vec<(&'static str, String, usize)>,
}

/// Visits every state that can be reached, or stops at the first that violates this property.
pub(crate) fn check<M>(model: M, until: Option<&'static str>) -> Found
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + std::fmt::Debug + Hash + PartialEq + Send + Sync,
    M::Action: std::fmt::Debug + Clone + PartialEq,
{
    // One thread: breadth first then finds a shortest counterexample, and the same one each time.
    let when = match until {
        Some(name) => HasDiscoveries::AllOf([name].into()),
        None => HasDiscoveries::AnyFailures,
    };
    let checker = model.checker().finish_when(when).spawn_bfs().join();
    let mut violated: Vec<_> = checker
        .discoveries()
        .into_iter()
        .map(|(name, path)| {
            let steps = path.into_actions();
            let told: Vec<String> = steps.iter().map(|step| format!("{step:?}")).collect();
            (name, told.join("\n    "), steps.len())
        })
        .collect();
    violated.sort_unstable();
    Found {
        states: checker.unique_state_count(),
        depth: checker.max_depth(),
        violated,
    }
}

/// The whole protocol holds.
pub(crate) fn holds<M>(name: &str, model: M)
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + std::fmt::Debug + Hash + PartialEq + Send + Sync,
    M::Action: std::fmt::Debug + Clone + PartialEq,
{
    let found = check(model, None);
    let result = if found.violated.is_empty() {
        "holds"
    } else {
        "VIOLATED"
    };
    println!(
        "{name:<62} {:>9} states  depth {:>3}  {result}",
        found.states, found.depth
    );
    for (property, steps, length) in &found.violated {
        println!("  {property}, after {length} steps:\n    {steps}");
    }
    assert!(found.violated.is_empty(), "{name}: see the steps above");
    assert!(found.states > 1, "{name}: nothing was checked");
}

/// Without this safeguard, this property is violated.
pub(crate) fn fails<M>(name: &str, model: M, property: &'static str)
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + std::fmt::Debug + Hash + PartialEq + Send + Sync,
    M::Action: std::fmt::Debug + Clone + PartialEq,
{
    let found = check(model, Some(property));
    let one = found.violated.iter().find(|(name, ..)| *name == property);
    match one {
        Some((_, steps, length)) => {
            println!(
                "without: {name:<53} {:>9} states  violates \"{property}\" after {length} steps",
                found.states
            );
            println!("    {steps}");
        }
        None => println!(
            "without: {name:<53} {:>9} states  nothing was found",
            found.states
        ),
    }
    assert!(
        one.is_some(),
        "without {name}, \"{property}\" was expected to be violated"
    );
}
