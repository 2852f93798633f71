//! Fields derived of children whose reference is the single side of a two-way one: a write of the other side, the parent's array,
//! moves children, too.

use futures::future::{join, join_all};
use odm::bson::{Document as Raw, doc};
use odm::prelude::*;
use odm::{Error, Odm};
use odm_tests::{TestDb, assert_clean, require_transactions, with_db};

macro_rules! documents {
    ($name:ident $(, $sync:ident)?) => {
        mod $name {
            use odm::prelude::*;

            #[derive(Document, Clone, Debug, PartialEq)]
            #[document(collection = "teams")]
            pub struct Team {
                pub id: i32,
                #[reference(many, inverse = team, max = 50)]
                pub members: Vec<Ref<Member>>,
                #[computed(count = Member, by = team $(, consistency = $sync)?)]
                pub size: i64,
                #[computed(count = Member, by = team, filter = |m| m.weight.gte(3) $(, consistency = $sync)?)]
                pub heavy: i64,
                #[computed(sum = Member.weight, by = team $(, consistency = $sync)?)]
                pub weight: i64,
                #[subset(of = Member, by = team, limit = 2, order(-weight), fields(weight: i32) $(, consistency = $sync)?)]
                pub heaviest: Vec<HeaviestEntry>,
            }

            #[derive(Document, Clone, Debug, PartialEq)]
            #[document(collection = "members")]
            pub struct Member {
                pub id: i32,
                pub weight: i32,
                #[reference(inverse = members)]
                pub team: Option<Ref<Team>>,
            }
        }
    };
}

documents!(auto);
documents!(eventual, eventual);

/// Each team: its id, its count, the count of heavy members, the weight, the heaviest, and the members that it names.
type Teams = Vec<(i32, i64, i64, i64, Vec<i32>, Vec<i32>)>;

async fn teams(odm: &Odm) -> Teams {
    let all = odm.database().collection::<Raw>("teams");
    let mut found = Vec::new();
    for id in 1..=5 {
        let Some(team) = all.find_one(doc! { "_id": id }).await.unwrap() else {
            continue;
        };
        let number = |name: &str| team.get_i64(name).unwrap();
        let mut members: Vec<i32> = team
            .get_array("members")
            .unwrap()
            .iter()
            .map(|id| id.as_i32().unwrap())
            .collect();
        members.sort_unstable();
        let heaviest = team.get_array("heaviest").unwrap().iter();
        let heaviest = heaviest.map(|entry| entry.as_document().unwrap().get_i32("weight").unwrap());
        found.push((
            id,
            number("size"),
            number("heavy"),
            number("weight"),
            heaviest.collect(),
            members,
        ));
    }
    found
}

/// Member `n` has the weight `n`. Each team counts the members that it names, and these name it.
async fn counted(odm: &Odm, expected: &[&[i32]], what: &str) {
    let all = expected.iter().zip(1..).filter(|(members, _)| **members != [0]);
    let expected: Teams = all
        .map(|(members, id)| {
            let heavy = members.iter().filter(|weight| **weight >= 3).count() as i64;
            let weight = members.iter().copied().map(i64::from).sum();
            let heaviest = members.iter().rev().take(2).copied().collect();
            (
                id,
                members.len() as i64,
                heavy,
                weight,
                heaviest,
                members.to_vec(),
            )
        })
        .collect();
    assert_eq!(teams(odm).await, expected, "{what}");
    odm_tests::assert_clean_after(odm, what).await;
}

/// A team that is gone.
const GONE: &[i32] = &[0];

macro_rules! every_write {
    ($name:ident, $test:ident) => {
        #[odm_tests::test]
        fn $test() {
            with_db(async |t| {
                let odm = Odm::new(t.db.clone(), models![$name::Team, $name::Member]).unwrap();
                odm.sync().await.unwrap();
                every_write_of_both_sides(&odm).await;
                // Two statements, and what is counted follows.
                t.db.collection::<Raw>("teams")
                    .delete_many(doc! {})
                    .await
                    .unwrap();
                t.db.collection::<Raw>("members")
                    .delete_many(doc! {})
                    .await
                    .unwrap();
                let alone = t.standalone_of(&odm).await;
                every_write_of_both_sides(&alone).await;
            });

            async fn every_write_of_both_sides(odm: &Odm) {
                use $name::{Member, NewMember, NewTeam, Team};
                let (teams, members) = (odm.collection::<Team>(), odm.collection::<Member>());
                let team = |id: i32, members: &[i32]| NewTeam {
                    id,
                    members: members.iter().map(|id| Ref::new(*id)).collect(),
                };
                let member = |id: i32, team: Option<i32>| NewMember {
                    id,
                    weight: id,
                    team: team.map(Ref::new),
                };
                let refs = |ids: &[i32]| -> Vec<Ref<Member>> { ids.iter().map(|id| Ref::new(*id)).collect() };
                members
                    .insert_many((1..=6).map(|id| member(id, None)))
                    .await
                    .unwrap();
                teams.insert(team(1, &[1, 2])).await.unwrap();
                counted(odm, &[&[1, 2]], "a team with members").await;
                teams
                    .insert_many([team(2, &[2, 3]), team(3, &[])])
                    .await
                    .unwrap();
                counted(
                    odm,
                    &[&[1], &[2, 3], &[]],
                    "teams, one with a member of another",
                )
                .await;
                members.insert(member(7, Some(3))).await.unwrap();
                counted(odm, &[&[1], &[2, 3], &[7]], "a member of a team").await;

                teams
                    .update(3)
                    .push(|t| t.members, Ref::new(2))
                    .await
                    .unwrap();
                counted(odm, &[&[1], &[3], &[2, 7]], "push of another's member").await;
                teams
                    .update(3)
                    .push(|t| t.members, Ref::new(2))
                    .await
                    .unwrap();
                counted(odm, &[&[1], &[3], &[2, 7]], "push of an own member").await;
                teams
                    .update(1)
                    .push_all(|t| t.members, refs(&[4, 7]))
                    .await
                    .unwrap();
                counted(odm, &[&[1, 4, 7], &[3], &[2]], "push_all").await;
                teams
                    .update(1)
                    .pull(|t| t.members, Ref::new(4))
                    .await
                    .unwrap();
                counted(odm, &[&[1, 7], &[3], &[2]], "pull").await;
                teams.update(1).pop(|t| t.members).await.unwrap();
                counted(odm, &[&[1], &[3], &[2]], "pop").await;
                teams
                    .update(2)
                    .set(|t| t.members, refs(&[1, 5, 6]))
                    .await
                    .unwrap();
                counted(odm, &[&[], &[1, 5, 6], &[2]], "set").await;
                let mut read = teams.get(3).await.unwrap().unwrap();
                read.members = refs(&[3, 6]);
                teams.replace(read).await.unwrap();
                counted(odm, &[&[], &[1, 5], &[3, 6]], "replace").await;
                // One side of a link, and the other side of another one.
                odm.bulk()
                    .add(
                        odm.collection::<Team>()
                            .update(1)
                            .push(|t| t.members, Ref::new(5)),
                    )
                    .add(
                        odm.collection::<Member>()
                            .update(1)
                            .set(|m| m.team, Some(Ref::new(3))),
                    )
                    .add(odm.collection().insert(member(8, Some(1))))
                    .await
                    .unwrap();
                counted(odm, &[&[5, 8], &[], &[1, 3, 6]], "bulk").await;
                teams
                    .update_where(|t| t.id.gte(2))
                    .set(|t| t.members, Vec::new())
                    .await
                    .unwrap();
                counted(odm, &[&[5, 8], &[], &[]], "update_where").await;

                members
                    .update_where(|m| m.id.lte(4))
                    .set(|m| m.team, Some(Ref::new(2)))
                    .await
                    .unwrap();
                counted(
                    odm,
                    &[&[5, 8], &[1, 2, 3, 4], &[]],
                    "update_where of members",
                )
                .await;
                members.update(4).set(|m| m.team, None).await.unwrap();
                members.delete(1).await.unwrap();
                counted(odm, &[&[5, 8], &[2, 3], &[]], "a member goes").await;
                // Its members stay, and belong to none.
                teams.delete(2).await.unwrap();
                counted(odm, &[&[5, 8], GONE, &[]], "a team goes").await;
                teams.insert(team(2, &[3, 8])).await.unwrap();
                counted(odm, &[&[5], &[3, 8], &[]], "it comes back").await;
                members.delete_where(|m| m.id.gte(8)).await.unwrap();
                counted(odm, &[&[5], &[3], &[]], "delete_where").await;
            }
        }
    };
}

every_write!(auto, members_are_counted_whichever_side_is_written);
every_write!(eventual, eventual_counts_follow_whichever_side_is_written);

/// Two processes, at the two sides of the links of one child. Each has a handle of its own, so that neither waits for its turn.
#[odm_tests::test]
fn a_child_that_both_sides_move_at_once_is_counted_once() {
    use auto::{Member, NewMember, NewTeam, Team};
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Team, Member]).unwrap();
        odm.sync().await.unwrap();
        require_transactions(&odm).await;
        let new = |id| NewTeam { id, members: vec![] };
        odm.collection::<Team>()
            .insert_many((1..=3).map(new))
            .await
            .unwrap();
        let new = |id| NewMember {
            id,
            weight: id,
            team: Some(Ref::new(1)),
        };
        odm.collection::<Member>()
            .insert_many((1..=4).map(new))
            .await
            .unwrap();
        let one = |t: &TestDb| Odm::new(t.db.clone(), models![Team, Member]).unwrap();
        let (left, right) = (one(&t), one(&t));
        for round in 0..10 {
            let (here, there) = (1 + round % 3, 1 + (round + 1) % 3);
            let (teams, members) = (left.collection::<Team>(), right.collection::<Member>());
            let pushes = (1..=4).map(|id| teams.update(here).push(|t| t.members, Ref::new(id)).into_future());
            let sets = (1..=4).map(|id| {
                let to = Some(Ref::new(there));
                members.update(id).set(|m| m.team, to).into_future()
            });
            let (pushed, set) = join(join_all(pushes), join_all(sets)).await;
            for outcome in pushed.into_iter().chain(set) {
                // One that has met others too often says so, and has changed nothing.
                assert!(
                    matches!(outcome, Ok(_) | Err(Error::Contention { .. })),
                    "{outcome:?}"
                );
            }
            assert_clean(&odm).await;
            let all = teams_of(&odm).await;
            assert_eq!(all.iter().map(|(size, _)| size).sum::<i64>(), 4, "{round}");
            assert_eq!(all.iter().map(|(_, weight)| weight).sum::<i64>(), 10, "{round}");
        }
    });

    async fn teams_of(odm: &Odm) -> Vec<(i64, i64)> {
        let all = odm.collection::<auto::Team>().find_all().all().await.unwrap();
        all.iter().map(|team| (team.size, team.weight)).collect()
    }
}
