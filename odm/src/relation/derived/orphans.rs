//! Debts that no document can carry: a child went, or went elsewhere, and the parent that it named is not there.
//!
//! If the parent is inserted at that very moment, it may be derived with the child, and neither of the two transactions
//! modifies what the other one does. So when the child's is committed the parent is derived anew, if it is there by then. What
//! is owed until then stands beside the declaration of what is derived, written by the child's transaction.

use super::super::graph::{Derived, Edge, Graph};
use super::super::scope::Scope;
use super::Token;
use super::children::refresh;
use super::images::Image;
use super::pay::settle;
use super::stored::{EDGES, Known};
use crate::Result;
use crate::key::Key;
use mongodb::bson::{Bson, Document, doc};
use std::collections::{HashMap, HashSet};

/// In the stored declaration: what is owed, each with its token and the keys of the parents.
const OWED: &str = "owed";

/// A debt beside a declaration: the declaration, and the token.
pub(super) type Noted = (String, Token);

/// Those of these parents, by the references to them, that no child names any more.
pub(super) fn left_behind(
    graph: &Graph,
    alone: &[(usize, HashSet<Key>)],
    images: &[Image],
) -> Vec<(usize, Vec<Key>)> {
    let left = alone.iter().filter_map(|(at, keys)| {
        let edge = graph.edge(*at)?;
        let after = images.iter().filter_map(|image| image.after.as_ref());
        let named: HashSet<Key> = after
            .flat_map(|child| (0..edge.targets.len()).flat_map(move |target| edge.keys(target, child)))
            .collect();
        let left: Vec<Key> = keys.difference(&named).cloned().collect();
        (!left.is_empty()).then_some((*at, left))
    });
    left.collect()
}

/// Notes that something is to be derived in these parents, in the transaction of the children.
pub(super) async fn note(scope: &Scope<'_>, parents: Vec<(usize, Vec<Key>)>) -> Result<Vec<Noted>> {
    let mut noted = Vec::new();
    for (at, keys) in parents {
        let Some(derived) = scope
            .odm
            .graph()
            .derived()
            .iter()
            .find(|derived| derived.edge == at)
        else {
            continue;
        };
        let token = Token::new();
        let keys: Vec<Bson> = keys.iter().map(Key::to_bson).collect();
        let debt = doc! { "$push": { OWED: { "token": token, "keys": keys } } };
        change(scope, derived.name(), debt).await?;
        noted.push((derived.name(), token));
    }
    Ok(noted)
}

/// Strikes out what is paid.
pub(super) async fn strike_out(scope: &Scope<'_>, noted: Vec<Noted>) -> Result<()> {
    let mut by_name: HashMap<String, Vec<Token>> = HashMap::new();
    for (name, token) in noted {
        by_name.entry(name).or_default().push(token);
    }
    for (name, tokens) in by_name {
        change(
            scope,
            name,
            doc! { "$pull": { OWED: { "token": { "$in": tokens } } } },
        )
        .await?;
    }
    Ok(())
}

async fn change(scope: &Scope<'_>, name: String, update: Document) -> Result<()> {
    let edges = match scope.session {
        Some(_) => scope.odm.database().collection::<Document>(EDGES),
        None => scope.odm.stored_edges(),
    };
    scope.trip();
    crate::collection::act!(scope.session, edges.update_one(doc! { "_id": name }, update))?;
    Ok(())
}

/// Derives in these parents what is derived by this reference, where they are there. Gives how many documents were changed.
pub(super) async fn derive_anew(scope: &Scope<'_>, edge: &Edge, keys: &HashSet<Key>) -> Result<u64> {
    let graph = scope.odm.graph();
    let mut copies = 0;
    for meta in &edge.targets {
        let list: Vec<&Derived> = graph
            .derived_in(meta)
            .filter(|derived| derived.edge == edge.at)
            .collect();
        if list.is_empty() {
            continue;
        }
        let token = Token::new();
        let written = refresh(scope, edge, &list, keys.clone(), token.into()).await?;
        if written > 0 {
            copies += written;
            copies += settle(*scope, meta, token).await?;
        }
    }
    Ok(copies)
}

/// Pays what dead processes have noted, of what these models know. Gives how many documents were changed.
pub(super) async fn recover(scope: &Scope<'_>, known: &Known) -> Result<u64> {
    let graph = scope.odm.graph();
    let mut copies = 0;
    for derived in graph.derived() {
        let name = derived.name();
        let owed = known.edge(&name).and_then(|edge| edge.get_array(OWED).ok());
        let (Some(owed), Some(edge)) = (owed, graph.parent_edge(derived)) else {
            continue;
        };
        if owed.is_empty() || scope.odm.may_write(derived.parent).is_err() {
            continue;
        }
        let (mut keys, mut noted) = (HashSet::new(), Vec::new());
        for debt in owed.iter().filter_map(Bson::as_document) {
            if let (Ok(token), Ok(named)) = (debt.get_object_id("token"), debt.get_array("keys")) {
                keys.extend(named.iter().map(Key::of_bson));
                noted.push((name.clone(), token));
            }
        }
        copies += derive_anew(scope, edge, &keys).await?;
        strike_out(scope, noted).await?;
    }
    Ok(copies)
}
