use crate::graph::edge::EdgeId;
use crate::graph::testing::*;
use crate::model::document::DocumentMeta;
use crate::plan::links::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Stored documents: by collection and id, the references of each field.
type World = BTreeMap<(&'static str, i32), BTreeMap<String, Vec<i32>>>;

/// A write of some documents: the fields that it sets. `None` deletes.
type Writes = Vec<(&'static DocumentMeta, i32, Option<BTreeMap<String, Vec<i32>>>)>;

fn nodes(ids: &[i32]) -> Vec<Bson> {
    ids.iter().map(|id| Bson::Int32(*id)).collect()
}

fn number(node: &LinkedDocument) -> i32 {
    node.id.as_i32().expect("an id of the test")
}

fn references(world: &World, edge: &Edge, id: i32) -> Option<Vec<i32>> {
    let document = world.get(&(edge.holder.collection, id))?;
    Some(document.get(&edge.path).cloned().unwrap_or_default())
}

fn write(world: &mut World, writes: &Writes) {
    for (meta, id, fields) in writes {
        match fields {
            None => drop(world.remove(&(meta.collection, *id))),
            Some(fields) => {
                let document = world.entry((meta.collection, *id)).or_default();
                document.extend(fields.clone());
            }
        }
    }
}

fn difference(graph: &Graph, before: &World, after: &World, writes: &Writes) -> Result<LinkDiff> {
    let mut diff = LinkDiff::default();
    let edges = graph.edges().iter();
    for (two_way, edge) in edges.filter_map(|edge| Some((edge.two_way()?, edge))) {
        for (meta, id, _) in writes {
            if meta.collection == edge.holder.collection {
                let of = |world| nodes(&references(world, edge, *id).unwrap_or_default());
                diff.add(
                    (two_way, edge),
                    &LinkedDocument::new(&Bson::Int32(*id)),
                    &of(before),
                    &of(after),
                )?;
            }
        }
    }
    Ok(diff)
}

fn answers(graph: &Graph, world: &World, diff: &LinkDiff) -> Answers {
    let mut answers = Answers::new();
    for (at, holders) in questions(graph, diff) {
        let edge = &graph[at];
        for holder in holders {
            if let Some(now) = references(world, edge, number(&holder)) {
                let now = now.first().map(|id| LinkedDocument::new(&Bson::Int32(*id)));
                answers.insert((at, holder.key), now);
            }
        }
    }
    answers
}

/// Carries an effect out as its statement would: only where its condition holds.
fn carry_out(graph: &Graph, world: &mut World, effect: &OtherSideWrite) -> Result<(), &'static str> {
    let edge = &graph[effect.two_way.edge];
    let target = number(&effect.target);
    let document = world.get_mut(&(edge.holder.collection, number(&effect.holder)));
    let Some(document) = document else {
        return match effect.act {
            LinkAction::Lose | LinkAction::Stay => Ok(()),
            _ => Err("missing"),
        };
    };
    let field = document.entry(edge.path.clone()).or_default();
    match &effect.act {
        LinkAction::Lose => field.retain(|id| *id != target),
        LinkAction::Gain if field.contains(&target) => {}
        LinkAction::Gain if field.len() as u64 >= edge.max.unwrap_or(u64::MAX) => return Err("full"),
        LinkAction::Gain => field.push(target),
        LinkAction::Become { previous } => {
            assert_eq!(
                field.first().copied(),
                previous.as_ref().map(number),
                "{effect:?}"
            );
            *field = vec![target];
        }
        LinkAction::Stay => {}
    }
    Ok(())
}

/// The order of the statements of one command.
fn in_order(effects: Vec<OtherSideWrite>) -> Vec<OtherSideWrite> {
    let (first, last): (Vec<OtherSideWrite>, Vec<OtherSideWrite>) = effects
        .into_iter()
        .partition(|effect| effect.act == LinkAction::Lose);
    first.into_iter().chain(last).collect()
}

/// Every link of an edge.
fn links(world: &World, edge: &Edge) -> BTreeSet<(i32, i32)> {
    world
        .iter()
        .filter(|((collection, _), _)| *collection == edge.holder.collection)
        .flat_map(|((_, id), document)| {
            let targets = document.get(&edge.path).cloned().unwrap_or_default();
            targets.into_iter().map(|target| (*id, target))
        })
        .collect()
}

fn check(graph: &Graph, world: &World) {
    for edge in graph.edges() {
        let Some(other) = graph.inverse(edge) else {
            continue;
        };
        let back: BTreeSet<(i32, i32)> = links(world, other).into_iter().map(|(a, b)| (b, a)).collect();
        assert_eq!(links(world, edge), back, "{} {}", edge.holder.name, edge.path);
        for ((collection, id), document) in world {
            if *collection != edge.holder.collection {
                continue;
            }
            let held = document.get(&edge.path).cloned().unwrap_or_default();
            let most = if edge.list {
                edge.max.unwrap_or(u64::MAX)
            } else {
                1
            };
            assert!(held.len() as u64 <= most, "{} {id}: {held:?}", edge.path);
            let distinct: BTreeSet<i32> = held.iter().copied().collect();
            assert_eq!(distinct.len(), held.len(), "{} {id}: {held:?}", edge.path);
            assert!(
                edge.list || edge.reference.optional || !held.is_empty(),
                "{} {id}",
                edge.path
            );
        }
    }
}

/// The whole write as one, or nothing of it.
fn step(graph: &Graph, world: &World, writes: &Writes) -> Option<World> {
    let mut new = world.clone();
    write(&mut new, writes);
    let diff = difference(graph, world, &new, writes).ok()?;
    let answers = answers(graph, &new, &diff);
    let effects = effects(graph, &diff, &answers).ok()?;
    for effect in in_order(effects) {
        carry_out(graph, &mut new, &effect).ok()?;
    }
    for link in &diff.added {
        let edge = &graph[link.two_way.edge];
        let now = references(&new, edge, number(&link.holder)).unwrap_or_default();
        assert!(now.contains(&number(&link.target)), "{link:?} was written");
    }
    for link in &diff.removed {
        let edge = &graph[link.two_way.edge];
        let now = references(&new, edge, number(&link.holder)).unwrap_or_default();
        assert!(!now.contains(&number(&link.target)), "{link:?} was removed");
    }
    Some(new)
}

/// The write and then the other side, without a transaction: the worlds that a crash may leave, and the last one.
fn steps(graph: &Graph, world: &World, writes: &Writes) -> Option<Vec<World>> {
    let mut new = world.clone();
    write(&mut new, writes);
    let diff = difference(graph, world, &new, writes).ok()?;
    let effects = effects(graph, &diff, &answers(graph, &new, &diff)).ok()?;
    let mut worlds = vec![new.clone()];
    for effect in in_order(effects) {
        carry_out(graph, &mut new, &effect).ok()?;
        worlds.push(new.clone());
    }
    Some(worlds)
}

/// The findings of an audit: links that one side names alone, by edge, holder and target; of documents that are not there, too.
fn one_sided(graph: &Graph, world: &World) -> BTreeSet<(EdgeId, i32, i32)> {
    let mut found = BTreeSet::new();
    for edge in graph.edges() {
        let Some(other) = graph.inverse(edge) else {
            continue;
        };
        let back: BTreeSet<(i32, i32)> = links(world, other).into_iter().map(|(a, b)| (b, a)).collect();
        let alone = links(world, edge).into_iter().filter(|link| !back.contains(link));
        found.extend(alone.map(|(holder, target)| (edge.id, holder, target)));
    }
    found
}

const COLLECTIONS: [&DocumentMeta; 9] = [
    &PERSON, &TASK, &TEAM, &MEMBER, &AUTHOR, &BOOK, &CITIZEN, &PASSPORT, &NODE,
];

/// Five documents of each kind, without links but those that must be.
fn start(graph: &Graph) -> World {
    let mut world = World::new();
    for meta in COLLECTIONS {
        for id in 0..5 {
            world.insert((meta.collection, id), BTreeMap::new());
        }
    }
    for id in 0..5 {
        let owner = BTreeMap::from([("owner".to_owned(), vec![0])]);
        world.insert(("tasks", id), owner);
    }
    let tasks = BTreeMap::from([("tasks".to_owned(), (0..5).collect())]);
    world.insert(("people", 0), tasks);
    check(graph, &world);
    world
}

#[derive(Clone, Debug)]
struct Random {
    collection: usize,
    documents: BTreeMap<i32, Option<Vec<Vec<i32>>>>,
}

fn random(most: usize) -> impl Strategy<Value = Random> {
    let fields = prop::collection::vec(prop::collection::vec(0..6_i32, 0..4), 4);
    let documents = prop::collection::btree_map(0..7_i32, prop::option::weighted(0.9, fields), 1..=most);
    (0..COLLECTIONS.len(), documents).prop_map(|(collection, documents)| Random {
        collection,
        documents,
    })
}

fn writes(graph: &Graph, random: &Random) -> Writes {
    let meta = COLLECTIONS[random.collection];
    let edges: Vec<&Edge> = graph.outgoing(meta).collect();
    let fields = |values: &Vec<Vec<i32>>| -> BTreeMap<String, Vec<i32>> {
        edges
            .iter()
            .zip(values)
            .map(|(edge, ids)| {
                let mut ids = ids.clone();
                let must = !edge.list && !edge.reference.optional;
                ids.truncate(if edge.list { 4 } else { 1 });
                if must && ids.is_empty() {
                    ids.push(1);
                }
                (edge.path.clone(), ids)
            })
            .collect()
    };
    random
        .documents
        .iter()
        .map(|(id, values)| (meta, *id, values.as_ref().map(fields)))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Both sides are equal after any series of writes, and everything that was written holds.
    #[test]
    fn both_sides_are_equal_after_every_write(series in prop::collection::vec(random(4), 1..12)) {
        let graph = all();
        let mut world = start(&graph);
        for one in &series {
            if let Some(new) = step(&graph, &world, &writes(&graph, one)) {
                check(&graph, &new);
                world = new;
            }
        }
    }

    /// Without a transaction a crash leaves links on one side: an audit of the documents finds every one, since it compares both
    /// sides of all of them, and they are links that the write itself added or removed. After the last step there are none.
    #[test]
    fn a_crash_leaves_links_of_the_write_on_one_side(
        series in prop::collection::vec(random(4), 0..8),
        last in random(1),
    ) {
        let graph = all();
        let mut world = start(&graph);
        for one in &series {
            world = step(&graph, &world, &writes(&graph, one)).unwrap_or(world);
        }
        let last = writes(&graph, &last);
        if let Some(worlds) = steps(&graph, &world, &last) {
            let all_links = |world: &World| -> BTreeSet<(EdgeId, i32, i32)> {
                let edges = graph.edges().iter().filter(|edge| edge.is_two_way());
                edges
                    .flat_map(|edge| links(world, edge).into_iter().map(|(a, b)| (edge.id, a, b)))
                    .collect()
            };
            let end = worlds.last().expect("at least the write").clone();
            let (before, after) = (all_links(&world), all_links(&end));
            for world in &worlds {
                for found in one_sided(&graph, world) {
                    prop_assert!(before.contains(&found) != after.contains(&found), "{:?}", found);
                }
            }
            prop_assert_eq!(one_sided(&graph, &end), BTreeSet::new());
            prop_assert_eq!(Some(end), step(&graph, &world, &last));
        }
    }
}
