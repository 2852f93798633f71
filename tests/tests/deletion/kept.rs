//! Deletions that keep the documents: what reads, rules and unique keys make of a deleted document, and its way back.

use odm::Error;
use odm::bson::doc;
use odm::hooks::Committed;
use odm::prelude::*;
use odm::write::Restored;
use odm_tests::{TestDb, assert_clean, skip, with_db};
use std::sync::Mutex;

/// A user is named by a unique slug. Projects copy the name; they count their tasks and list the newest; notes go with their task.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "users", soft_delete, version)]
struct User {
    id: i32,
    name: String,
    #[index(unique)]
    slug: String,
    version: i64,
    deleted_at: Option<odm::bson::DateTime>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "projects", soft_delete, shared(name))]
struct Project {
    id: i32,
    #[reference(on_delete = restrict)]
    owner: Ref<User>,
    #[denormalize(from = owner.name)]
    owner_name: String,
    #[reference(many, max = 10, on_delete = pull)]
    members: Vec<Ref<User>>,
    #[computed(count = Task)]
    tasks: i64,
    #[subset(of = Task, limit = 2, order(-id), fields(title: String))]
    newest: Vec<NewestEntry>,
    deleted_at: Option<odm::bson::DateTime>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "tasks", soft_delete, shared(name))]
struct Task {
    id: i32,
    #[parent_ref(on_delete = cascade)]
    project: Ref<Project>,
    title: String,
    deleted_at: Option<odm::bson::DateTime>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "notes", soft_delete(removed), expire = removed, shared(name))]
struct Note {
    id: i32,
    #[parent_ref(on_delete = cascade)]
    task: Ref<Task>,
    removed: Option<odm::bson::DateTime>,
}

struct All {
    odm: Odm,
    users: Collection<User>,
    projects: Collection<Project>,
    tasks: Collection<Task>,
    notes: Collection<Note>,
}

impl All {
    /// Two users, a project of the first one with three tasks, and a note for each task.
    async fn of(t: &TestDb, standalone: bool) -> All {
        let mut odm = Odm::new(t.db.clone(), models![User, Project, Task, Note]).unwrap();
        if standalone {
            odm = t.standalone_of(&odm).await;
        }
        odm.sync().await.unwrap();
        let all = All {
            users: odm.collection(),
            projects: odm.collection(),
            tasks: odm.collection(),
            notes: odm.collection(),
            odm,
        };
        for (id, name) in [(1, "Ada"), (2, "Bob")] {
            let slug = name.to_lowercase();
            all.users
                .insert(NewUser {
                    id,
                    name: name.into(),
                    slug,
                })
                .await
                .unwrap();
        }
        let members = vec![Ref::new(2)];
        let project = NewProject {
            id: 1,
            owner: Ref::new(1),
            members,
        };
        all.projects.insert(project).await.unwrap();
        for id in 1..=3 {
            let title = format!("task {id}");
            all.tasks
                .insert(NewTask {
                    id,
                    project: Ref::new(1),
                    title,
                })
                .await
                .unwrap();
            all.notes
                .insert(NewNote {
                    id,
                    task: Ref::new(id),
                })
                .await
                .unwrap();
        }
        all
    }

    async fn project(&self) -> Project {
        self.projects.get(1).required().await.unwrap()
    }
}

fn listed(project: &Project) -> (i64, Vec<&str>) {
    (
        project.tasks,
        project.newest.iter().map(|task| task.title.as_str()).collect(),
    )
}

#[odm_tests::test]
fn a_deleted_document_is_gone_for_reads_and_rules_until_it_is_restored() {
    for standalone in [false, true] {
        with_db(async |t| {
            let all = All::of(&t, standalone).await;
            let before = all.project().await;
            assert_eq!(listed(&before), (3, vec!["task 3", "task 2"]));

            let done = all.tasks.delete(3).await.unwrap();
            assert_eq!((done.deleted, done.cascaded), (1, 1));
            assert_eq!(all.tasks.get(3).await.unwrap(), None);
            assert_eq!(all.tasks.find_all().count().await.unwrap(), 2);
            assert_eq!(all.notes.find_all().count().await.unwrap(), 2);
            assert_eq!(listed(&all.project().await), (2, vec!["task 2", "task 1"]));
            let (_, tasks) = all
                .projects
                .find_all()
                .include(|p| p.children::<Task>())
                .one()
                .required()
                .await
                .unwrap();
            assert_eq!(tasks.len(), 2);
            // An update, a replacement and another deletion find none.
            let update = all.tasks.update(3).set(|t| t.title, "x").await;
            assert!(matches!(update, Err(Error::NotFound { .. })), "{update:?}");
            let delete = all.tasks.delete(3).await;
            assert!(
                matches!(delete, Err(Error::NotFound { deleted: true, .. })),
                "{delete:?}"
            );
            // Nor can anything new refer to it.
            let note = all
                .notes
                .insert(NewNote {
                    id: 9,
                    task: Ref::new(3),
                })
                .await;
            assert!(matches!(note, Err(Error::MissingReference { .. })), "{note:?}");

            let deleted = all.tasks.with_deleted().get(3).required().await.unwrap();
            assert!(deleted.deleted_at.is_some());
            assert_clean(&all.odm).await;

            let done = all.tasks.restore(3).await.unwrap();
            assert_eq!((done.restored, done.cascaded), (true, 1));
            assert_eq!(all.project().await, before);
            assert_eq!(all.notes.find_all().count().await.unwrap(), 3);
            assert_eq!(all.tasks.restore(3).await.unwrap(), Restored::default());
            assert_clean(&all.odm).await;
        });
    }
}

#[odm_tests::test]
fn a_restoration_brings_back_what_its_deletion_took_and_nothing_else() {
    for standalone in [false, true] {
        with_db(async |t| {
            let all = All::of(&t, standalone).await;
            // The first task is deleted by itself before.
            all.tasks.delete(1).await.unwrap();
            let done = all.projects.delete(1).await.unwrap();
            assert_eq!((done.deleted, done.cascaded), (1, 4));
            assert_eq!(all.tasks.find_all().count().await.unwrap(), 0);
            // Its project is deleted too.
            let alone = all.tasks.restore(1).await;
            assert!(matches!(alone, Err(Error::MissingReference { .. })), "{alone:?}");

            let done = all.projects.restore(1).await.unwrap();
            assert_eq!((done.restored, done.cascaded), (true, 4));
            assert_eq!(listed(&all.project().await), (2, vec!["task 3", "task 2"]));
            assert_eq!(all.tasks.get(1).await.unwrap(), None);
            assert_eq!(all.notes.find_all().count().await.unwrap(), 2);
            let left = all.tasks.with_deleted().find_all().count().await.unwrap();
            assert_eq!(left, 3);
            assert_clean(&all.odm).await;
        });
    }
}

#[odm_tests::test]
fn restrict_holds_for_documents_that_are_not_deleted() {
    for standalone in [false, true] {
        with_db(async |t| {
            let all = All::of(&t, standalone).await;
            let held = all.users.delete(1).await;
            match held {
                Err(Error::StillReferenced {
                    by, count, sample, ..
                }) => {
                    assert_eq!((by, count, sample), ("projects", 1, vec![1.into()]));
                }
                other => panic!("{other:?}"),
            }
            // `pull` waits for the purge.
            assert_eq!(all.users.delete(2).await.unwrap().deleted, 1);
            assert_eq!(all.project().await.members, [Ref::new(2)]);
            let (_, members) = all
                .projects
                .find_all()
                .include(|p| p.members.leave_out_missing())
                .one()
                .required()
                .await
                .unwrap();
            assert_eq!(members, []);
            all.projects.delete(1).await.unwrap();
            assert_eq!(all.users.delete(1).await.unwrap().deleted, 1);
            // The owner has to be there first.
            let early = all.projects.restore(1).await;
            assert!(matches!(early, Err(Error::MissingReference { .. })), "{early:?}");
            all.users.restore(1).await.unwrap();
            all.projects.restore(1).await.unwrap();
            assert_clean(&all.odm).await;
        });
    }
}

#[odm_tests::test]
fn a_deleted_document_leaves_its_unique_key_to_others() {
    with_db(async |t| {
        if odm_tests::is_the_stand_in(&t.db).await {
            skip(
                "the stand-in keeps an updated document in a partial index whose filter it does not match any more",
            );
        }
        let all = All::of(&t, false).await;
        all.users.delete(2).await.unwrap();
        let other = NewUser {
            id: 3,
            name: "Bert".into(),
            slug: "bob".into(),
        };
        let bert = all.users.insert(other).or_get_by(|u| u.slug).await.unwrap();
        assert!(bert.inserted);
        let taken = all.users.restore(2).await;
        assert!(matches!(taken, Err(Error::DuplicateKey { .. })), "{taken:?}");
        all.users
            .update_by(|u| u.slug, "bob")
            .set(|u| u.slug, "bert")
            .await
            .unwrap();
        let back = all.users.restore(2).await.unwrap();
        assert!(back.restored);
        let bob = all.users.get(2).required().await.unwrap();
        assert_eq!((bob.slug.as_str(), bob.deleted_at), ("bob", None));
        assert_clean(&all.odm).await;
    });
}

#[odm_tests::test]
fn copies_in_deleted_documents_follow_and_versions_are_raised() {
    with_db(async |t| {
        let all = All::of(&t, false).await;
        all.users.delete(2).await.unwrap();
        all.users.restore(2).await.unwrap();
        // A deleted document may have had the same key.
        let among_all = all.users.with_deleted().get_by(|u| u.slug, "bob").await;
        assert!(matches!(among_all, Err(Error::Query { .. })), "{among_all:?}");
        // The deletion and the restoration are changes: what was read before is old.
        assert_eq!(all.users.get(2).required().await.unwrap().version, 3);

        all.projects.delete(1).await.unwrap();
        all.users.update(1).set(|u| u.name, "Ada L.").await.unwrap();
        let deleted = all.projects.with_deleted().get(1).required().await.unwrap();
        assert_eq!(deleted.owner_name, "Ada L.");
        assert_clean(&all.odm).await;
    });
}

#[odm_tests::test]
fn a_purge_removes_deleted_documents_by_the_rules_and_leaves_the_others() {
    with_db(async |t| {
        let all = All::of(&t, false).await;
        assert_eq!(all.projects.purge(1).optional().await.unwrap(), None);
        all.users.delete(2).await.unwrap();
        let gone = all.users.purge(2).await.unwrap();
        assert_eq!((gone.deleted, gone.pulled), (1, 1));
        assert_eq!(all.project().await.members, []);
        all.projects.delete(1).await.unwrap();
        all.users.delete(1).await.unwrap();
        // A deleted project still refers to its owner.
        let held = all.users.purge(1).await;
        assert!(matches!(held, Err(Error::StillReferenced { .. })), "{held:?}");
        // Deleted documents may expire.
        assert_eq!(all.odm.delete_expired().await.unwrap().deleted, 3);
        let gone = all.projects.purge_where(|p| p.id.eq(1)).await.unwrap();
        assert_eq!((gone.deleted, gone.cascaded), (1, 3));
        assert_eq!(all.users.purge(1).await.unwrap().deleted, 1);
        assert_eq!(all.notes.with_deleted().find_all().count().await.unwrap(), 0);
        assert_clean(&all.odm).await;
    });
}

#[odm_tests::test]
fn a_purge_is_refused_while_a_document_that_is_not_deleted_would_go_with_it() {
    for standalone in [false, true] {
        with_db(async |t| {
            let all = All::of(&t, standalone).await;
            all.projects.delete(1).await.unwrap();
            // Another program restores a task.
            let living = doc! { "$set": { "deleted_at": null }, "$unset": { "_odm.deletion": "" } };
            let tasks = t.db.collection::<odm::bson::Document>("tasks");
            tasks.update_one(doc! { "_id": 1 }, living).await.unwrap();
            let refused = all.projects.purge(1).await;
            match refused {
                Err(Error::StillReferenced {
                    by, count, sample, ..
                }) => assert_eq!((by, count, sample), ("tasks", 1, vec![1.into()])),
                other => panic!("{other:?}"),
            }
            // Nothing is removed.
            let all_tasks = all.tasks.with_deleted();
            assert_eq!(all_tasks.find_all().count().await.unwrap(), 3);
            assert_eq!(all.notes.with_deleted().find_all().count().await.unwrap(), 3);
            all.tasks.delete(1).await.unwrap();
            let gone = all.projects.purge(1).await.unwrap();
            assert_eq!((gone.deleted, gone.cascaded), (1, 6));
            assert_clean(&all.odm).await;
        });
    }
}

/// A member names its club by the slug, which a new club may have after a deletion.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "clubs", soft_delete)]
struct Club {
    id: i32,
    #[index(unique)]
    slug: String,
    deleted_at: Option<odm::bson::DateTime>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "members", soft_delete)]
struct Member {
    id: i32,
    #[reference(by = slug, on_delete = cascade)]
    club: Ref<Club, String>,
    #[reference(by = slug, on_delete = restrict)]
    needs: Option<Ref<Club, String>>,
    #[reference(by = slug, on_delete = nullify)]
    was_in: Option<Ref<Club, String>>,
    deleted_at: Option<odm::bson::DateTime>,
}

#[odm_tests::test]
fn a_purge_leaves_references_by_a_key_that_another_document_has() {
    for standalone in [false, true] {
        with_db(async |t| {
            // Without its indexes: a stand-in keeps deleted documents in a partial one.
            let mut odm = Odm::new(t.db.clone(), models![Club, Member]).unwrap();
            if standalone {
                odm = t.standalone_of(&odm).await;
            }
            let (clubs, members) = (odm.collection::<Club>(), odm.collection::<Member>());
            let club = |id| NewClub {
                id,
                slug: "chess".into(),
            };
            let chess = || Ref::new("chess".to_owned());
            let member = |id| NewMember {
                id,
                club: chess(),
                needs: Some(chess()),
                was_in: Some(chess()),
            };
            clubs.insert(club(1)).await.unwrap();
            clubs.delete(1).await.unwrap();
            clubs.insert(club(2)).await.unwrap();
            let new = members.insert(member(1)).await.unwrap();
            let gone = clubs.purge(1).await.unwrap();
            assert_eq!((gone.deleted, gone.cascaded, gone.nullified), (1, 0, 0));
            assert_eq!(members.get(1).required().await.unwrap(), new);
            assert_clean(&odm).await;
            // The last one with this key takes them.
            members.update(1).unset(|m| m.needs).await.unwrap();
            clubs.delete(2).await.unwrap();
            assert_eq!(clubs.purge(2).await.unwrap().cascaded, 1);
            assert_eq!(members.with_deleted().find_all().count().await.unwrap(), 0);
        });
    }
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Club, size = 3)]
struct Game {
    n: i32,
}

#[odm_tests::test]
fn items_of_buckets_stay_until_the_purge_and_an_audit_takes_them_for_right() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Club, GameBucket]).unwrap();
        odm.sync().await.unwrap();
        let clubs = odm.collection::<Club>();
        let new = NewClub {
            id: 1,
            slug: "chess".into(),
        };
        clubs.insert(new).await.unwrap();
        odm.buckets::<Game>().push(1, Game { n: 1 }).await.unwrap();
        assert_eq!(clubs.delete(1).await.unwrap().deleted, 1);
        assert_clean(&odm).await;
        assert_eq!(clubs.purge(1).await.unwrap().cascaded, 1);
        assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn only_delete_and_restore_write_the_time_of_a_deletion() {
    with_db(async |t| {
        let all = All::of(&t, false).await;
        let mut ada = all.users.get(1).required().await.unwrap();
        ada.deleted_at = Some(odm::bson::DateTime::now());
        let replaced = all.users.replace(ada.clone()).await;
        assert!(matches!(replaced, Err(Error::OutOfScope { .. })), "{replaced:?}");
        ada.id = 5;
        let inserted = all.users.insert(ada.clone()).await;
        assert!(matches!(inserted, Err(Error::OutOfScope { .. })), "{inserted:?}");
        let many = all.users.insert_many([ada.clone()]).await;
        assert!(matches!(many, Err(Error::InsertMany { .. })), "{many:?}");
        let raw = all
            .users
            .update(1)
            .raw(doc! { "$unset": { "deleted_at": "" } })
            .await;
        assert!(matches!(raw, Err(Error::OutOfScope { .. })), "{raw:?}");
        let bulk = all
            .odm
            .bulk()
            .add(all.odm.collection::<User>().insert(ada))
            .add(all.odm.collection::<User>().delete(1))
            .await;
        assert!(matches!(bulk, Err(Error::Bulk { .. })), "{bulk:?}");
        assert_eq!(all.users.find_all().count().await.unwrap(), 2);
    });
}

#[odm_tests::test]
fn deletions_of_a_bulk_and_by_conditions_keep_documents_too() {
    with_db(async |t| {
        let all = All::of(&t, false).await;
        let done = all
            .odm
            .bulk()
            .add(all.odm.collection::<Task>().delete(1))
            .add(all.odm.collection::<Note>().delete_where(|n| n.id.gte(2)))
            .add(all.odm.collection::<User>().insert(NewUser {
                id: 7,
                name: "Eve".into(),
                slug: "eve".into(),
            }))
            .await
            .unwrap();
        assert_eq!((done.deleted, done.cascaded, done.inserted), (3, 1, 1));
        let first = all
            .tasks
            .delete_first(|_| odm::Filter::always())
            .sort(|t| t.id.desc())
            .await
            .unwrap();
        assert_eq!(first.map(|task| task.id), Some(3));
        let done = all
            .tasks
            .delete_where(|t| t.title.starts_with("task"))
            .await
            .unwrap();
        assert_eq!(done.deleted, 1);
        assert_eq!(all.tasks.with_deleted().find_all().count().await.unwrap(), 3);
        assert_eq!(all.notes.with_deleted().find_all().count().await.unwrap(), 3);
        assert_eq!(listed(&all.project().await), (0, vec![]));
        let restored = all.tasks.restore(1).await.unwrap();
        assert_eq!(restored.cascaded, 1);
        assert_clean(&all.odm).await;
    });
}

#[odm_tests::test]
fn a_transaction_deletes_and_restores_all_or_nothing() {
    odm_tests::with_transactions(async |t| {
        let all = All::of(&t, false).await;
        let failed: odm::Result<()> = all
            .odm
            .transaction(async |tx| {
                tx.collection::<Project>().delete(1).await?;
                assert_eq!(tx.collection::<Task>().find_all().count().await?, 0);
                Err(Error::application("no"))
            })
            .await;
        assert!(failed.is_err());
        assert_eq!(all.tasks.find_all().count().await.unwrap(), 3);
        all.odm
            .transaction(async |tx| {
                tx.collection::<Project>().delete(1).await?;
                tx.collection::<Project>().restore(1).await?;
                tx.collection::<Task>().delete(2).await.map(drop)
            })
            .await
            .unwrap();
        assert_eq!(listed(&all.project().await), (2, vec!["task 3", "task 1"]));
        assert_clean(&all.odm).await;
    });
}

#[odm_tests::test]
fn pipelines_and_lookups_leave_deleted_documents_out() {
    with_db(async |t| {
        let all = All::of(&t, false).await;
        all.tasks.delete(3).await.unwrap();
        let titles: Vec<odm::bson::Document> = all
            .tasks
            .aggregate()
            .group(|t| t.project, |g| g.count("n"))
            .all()
            .await
            .unwrap();
        assert_eq!(titles.len(), 1);
        assert_eq!(titles[0].get_i32("n").unwrap(), 2);
        let raw = doc! { "$lookup": {
            "from": "tasks", "localField": "_id", "foreignField": "project", "as": "all"
        } };
        let joined: Vec<odm::bson::Document> = all.projects.aggregate().stage(raw).all().await.unwrap();
        assert_eq!(joined[0].get_array("all").unwrap().len(), 2);
        all.users.delete(2).await.unwrap();
        let tasks = all.projects.find_all().include(|p| p.children::<Task>());
        match tasks.lookup().all().await {
            // Before MongoDB 5.0.
            Err(Error::Unsupported { .. }) if !all.odm.server().await.unwrap().has_lookup_with_pipeline() => {
            }
            tasks => assert_eq!(tasks.unwrap()[0].1.len(), 2),
        }
        let plan = all.users.find(|u| u.slug.eq("ada")).explain().await.unwrap();
        assert!(!plan.is_collection_scan(), "{plan:?}");
    });
}

#[odm_tests::test]
fn deletions_restorations_and_new_children_at_the_same_time_leave_no_child_behind() {
    for standalone in [false, true] {
        with_db(async |t| {
            let all = All::of(&t, standalone).await;
            for round in 0..6 {
                let insert = async |id: i32| {
                    let new = NewTask {
                        id,
                        project: Ref::new(1),
                        title: "new".into(),
                    };
                    match all.tasks.insert(new).await {
                        Ok(_) | Err(Error::MissingReference { .. } | Error::Contention { .. }) => {}
                        other => panic!("{other:?}"),
                    }
                };
                let change = async || {
                    let done = if round % 2 == 0 {
                        all.projects.delete(1).optional().await.map(|done| done.is_some())
                    } else {
                        all.projects.restore(1).await.map(|done| done.restored)
                    };
                    done.unwrap()
                };
                let first = 100 + round * 10;
                let (one, other, ..) = tokio::join!(
                    change(),
                    change(),
                    insert(first),
                    insert(first + 1),
                    insert(first + 2)
                );
                assert!(one != other, "one of two clients does it");
                let is_there = all.projects.get(1).await.unwrap().is_some();
                assert_eq!(is_there, round % 2 == 1);
                let tasks = all.tasks.find_all().count().await.unwrap();
                assert!(
                    if is_there { tasks >= 3 } else { tasks == 0 },
                    "{tasks} tasks, round {round}"
                );
                let notes = all.notes.find_all().count().await.unwrap();
                assert_eq!(notes, if is_there { 3 } else { 0 });
                assert_clean(&all.odm).await;
            }
        });
    }
}

#[odm_tests::test]
fn an_interrupted_deletion_and_restoration_go_on_when_they_are_repeated() {
    with_db(async |t| {
        let all = All::of(&t, false).await;
        // As the process leaves it that dies before it deletes the project itself.
        let raw = |name: &str| t.db.collection::<odm::bson::Document>(name);
        all.projects.delete(1).await.unwrap();
        let undone = doc! { "$set": { "deleted_at": null } };
        raw("projects")
            .update_one(doc! { "_id": 1 }, undone.clone())
            .await
            .unwrap();
        let done = all.projects.delete(1).await.unwrap();
        assert_eq!((done.deleted, done.cascaded), (1, 0));
        // And after it has restored the project alone.
        raw("projects")
            .update_one(doc! { "_id": 1 }, undone)
            .await
            .unwrap();
        let done = all.projects.restore(1).await.unwrap();
        assert_eq!((done.restored, done.cascaded), (false, 6));
        assert_eq!(all.tasks.find_all().count().await.unwrap(), 3);
        let marked = doc! { "_odm.deletion": { "$exists": true } };
        assert_eq!(raw("projects").count_documents(marked).await.unwrap(), 0);
        assert_clean(&all.odm).await;
    });
}

/// The same documents as a program declares them whose deletions remove them.
mod removing {
    use odm::prelude::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "tasks")]
    pub struct Task {
        pub id: i32,
        pub title: String,
    }
}

#[odm_tests::test]
fn a_program_whose_deletions_remove_documents_may_not_write_them() {
    with_db(async |t| {
        let _ = All::of(&t, false).await;
        let older = Odm::new(t.db.clone(), models![removing::Task]).unwrap();
        let tasks = older.collection::<removing::Task>();
        for written in [
            tasks.delete(1).await.map(drop),
            tasks.update(1).set(|t| t.title, "x").await.map(drop),
        ] {
            match written {
                Err(Error::UnknownCopies { edges }) => assert_eq!(edges, ["of `tasks`"]),
                other => panic!("{other:?}"),
            }
        }
        let known = older.check_models().await;
        assert!(
            matches!(&known, Err(Error::UnknownCopies { edges }) if edges.iter().any(|edge| edge == "tasks: soft_delete")),
            "{known:?}"
        );
    });
}

/// A draft goes with its folder, and tells of its writes.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "folders", soft_delete)]
struct Folder {
    id: i32,
    deleted_at: Option<odm::bson::DateTime>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "drafts", soft_delete, after_write = tell)]
struct Draft {
    id: i32,
    #[parent_ref(on_delete = cascade)]
    folder: Ref<Folder>,
    deleted_at: Option<odm::bson::DateTime>,
}

static TOLD: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

async fn tell(write: Committed<Draft>) -> odm::Result<()> {
    let one = |draft: &Draft| {
        format!(
            "{}{}",
            draft.id,
            if draft.deleted_at.is_some() { "x" } else { "" }
        )
    };
    let text = [&write.before, &write.after].map(|draft| draft.as_ref().map_or("-".to_owned(), one));
    let db = write.odm.database().name().to_owned();
    TOLD.lock().unwrap().push((db, text.join(" > ")));
    Ok(())
}

#[odm_tests::test]
fn hooks_take_a_kept_document_for_removed_until_it_is_restored() {
    odm_tests::with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models![Folder, Draft]).unwrap();
        odm.sync().await.unwrap();
        let told = || {
            let mut told = TOLD.lock().unwrap();
            let own = told.extract_if(.., |(db, _)| db == t.db.name());
            own.map(|(_, text)| text).collect::<Vec<_>>()
        };
        let (folders, drafts) = (odm.collection::<Folder>(), odm.collection::<Draft>());
        folders.insert(NewFolder { id: 1 }).await.unwrap();
        for id in [1, 2] {
            drafts
                .insert(NewDraft {
                    id,
                    folder: Ref::new(1),
                })
                .await
                .unwrap();
        }
        assert_eq!(told(), ["- > 1", "- > 2"]);
        drafts.delete(1).await.unwrap();
        assert_eq!(told(), ["1 > -"]);
        drafts.restore(1).await.unwrap();
        assert_eq!(told(), ["1x > 1"]);
        let done = folders.delete(1).await.unwrap();
        assert_eq!((done.deleted, done.cascaded), (1, 2));
        let mut both = told();
        both.sort();
        assert_eq!(both, ["1 > -", "2 > -"]);
        folders.restore(1).await.unwrap();
        assert_eq!(told().len(), 2);
        drafts.delete(2).await.unwrap();
        assert_eq!(drafts.purge(2).await.unwrap().deleted, 1);
        assert_eq!(told(), ["2 > -", "2x > -"]);
        assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn where_one_of_several_is_refused_none_is_deleted() {
    for standalone in [false, true] {
        with_db(async |t| {
            let all = All::of(&t, standalone).await;
            let unreferenced = NewUser {
                id: 0,
                name: "Zoe".into(),
                slug: "zoe".into(),
            };
            all.users.insert(unreferenced).await.unwrap();
            // The project of user 1 is not among them.
            let refused = all.users.delete_where(|u| u.id.lte(1)).await;
            assert!(
                matches!(refused, Err(Error::StillReferenced { .. })),
                "{refused:?}"
            );
            assert_eq!(all.users.find_all().count().await.unwrap(), 3);
            all.projects.delete(1).await.unwrap();
            assert_eq!(all.users.delete_where(|u| u.id.lte(1)).await.unwrap().deleted, 2);
            assert_clean(&all.odm).await;
        });
    }
}

/// A part of another one, which may not go alone.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "parts", soft_delete)]
struct Part {
    id: i32,
    #[reference(on_delete = restrict)]
    of: Option<Ref<Part>>,
    deleted_at: Option<odm::bson::DateTime>,
}

#[odm_tests::test]
fn documents_that_are_deleted_together_do_not_refuse_each_other() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Part]).unwrap();
        odm.sync().await.unwrap();
        let parts = odm.collection::<Part>();
        parts.insert(NewPart { id: 1, of: None }).await.unwrap();
        parts
            .insert(NewPart {
                id: 2,
                of: Some(Ref::new(1)),
            })
            .await
            .unwrap();
        let alone = parts.delete(1).await;
        assert!(matches!(alone, Err(Error::StillReferenced { .. })), "{alone:?}");
        assert_eq!(parts.delete_all().await.unwrap().deleted, 2);
        parts.restore(1).await.unwrap();
        parts.restore(2).await.unwrap();
        assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn deletions_and_restorations_cost_what_the_guide_says() {
    with_db(async |t| {
        let all = All::of(&t, false).await;
        let sent = |t: &TestDb| t.commands.take().len();
        all.notes.find_all().count().await.unwrap();
        t.commands.clear();
        all.notes.delete(1).await.unwrap();
        assert_eq!(sent(&t), 1, "nothing refers to a note");
        all.notes.restore(1).await.unwrap();
        assert_eq!(
            sent(&t),
            4,
            "it is read, its task is looked for, it is updated, and the task is looked for again"
        );
        all.users.delete(2).await.unwrap();
        // A project might refer to the user with `restrict`, before the deletion and after it.
        assert_eq!(t.commands.take(), ["find", "find", "update", "find", "find"]);
        let acme = all.odm.scoped(User::paths().name, "Ada").unwrap();
        acme.collection::<User>().get(1).required().await.unwrap();
        assert_eq!(sent(&t), 1, "a scope is a condition");
    });
}
