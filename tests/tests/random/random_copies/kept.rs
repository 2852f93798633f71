//! Documents that a deletion keeps: deletions, restorations and purges of papers in folders and binders.
//!
//! A document of the model that is deleted says so by `deleted`; the task knows in which of its operations that was.

use super::*;
use odm::Error;
use odm::write::SoftDelete;

/// A parent of papers, with the field that names it.
const PARENTS: [(&str, &str); 2] = [("folders", "folder"), ("binders", "binder")];

const DELETE: &str = "delete and keep";
const PURGE: &str = "purge";

fn is_deleted(document: &Raw) -> bool {
    document.get_bool("deleted").unwrap_or(false)
}

/// The outcome of a write of a document that is deleted or whose parent is.
fn refused<R: std::fmt::Debug>(outcome: odm::Result<R>) -> odm::Result<bool> {
    match outcome {
        Err(Error::NotFound { .. } | Error::MissingReference { .. }) => Ok(true),
        Err(error) => Err(error),
        Ok(done) => panic!("a write has succeeded that names a deleted document: {done:?}"),
    }
}

/// An operation on a document by its id.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Delete,
    Restore,
    Purge,
}

async fn meet<T>(all: Collection<T>, id: i32, fate: Fate, is_refused: bool) -> odm::Result<bool>
where
    T: SoftDelete + odm::write::Deletable<Id = i32>,
    i32: odm::write::WriteTarget<T>,
{
    match fate {
        Fate::Delete => all.delete(id).optional().await.map(|_| true),
        Fate::Restore if is_refused => refused(all.restore(id).await),
        Fate::Restore => all.restore(id).await.map(|_| true),
        Fate::Purge => all.purge(id).optional().await.map(|_| true),
    }
}

impl Task {
    pub(super) fn kept(&mut self, odm: Odm) -> Operation {
        let text = format!("{}", self.random.below(1_000_000));
        let fates = [
            Fate::Delete,
            Fate::Delete,
            Fate::Restore,
            Fate::Restore,
            Fate::Restore,
            Fate::Purge,
        ];
        let fate = self.random.pick(&fates);
        let collection = self.random.pick(&["folders", "binders", "papers", "papers"]);
        match (self.random.below(10), self.pick(collection)) {
            (0..=4, Some((id, document))) => self.meet(odm, (collection, id), &document, fate),
            (5, Some((id, mut after))) if collection != "papers" => {
                let is_there = !is_deleted(&after);
                if is_there {
                    after.insert("name", &text);
                }
                self.again(
                    "rename a parent that may be deleted",
                    vec![((collection, id), Some(after))],
                    odm,
                    move |odm| {
                        let text = text.clone();
                        async move {
                            let done = if collection == "folders" {
                                odm.collection::<Folder>().update(id).set(|f| f.name, text).await
                            } else {
                                odm.collection::<Binder>().update(id).set(|b| b.name, text).await
                            };
                            if is_there {
                                done.map(|_| true)
                            } else {
                                refused(done)
                            }
                        }
                    },
                )
            }
            (6, _) => {
                let (Some((folder, to)), Some((paper, mut after))) =
                    (self.pick("folders"), self.pick("papers"))
                else {
                    return self.insert_paper(odm);
                };
                let is_moved = !is_deleted(&to) && !is_deleted(&after);
                if is_moved {
                    after.insert("folder", folder);
                }
                self.again(
                    "move a paper",
                    vec![(("papers", paper), Some(after))],
                    odm,
                    move |odm| async move {
                        let moved = odm
                            .collection::<Paper>()
                            .update(paper)
                            .set(|p| p.folder, Ref::new(folder))
                            .await;
                        if is_moved {
                            moved.map(|_| true)
                        } else {
                            refused(moved)
                        }
                    },
                )
            }
            (7, _) => self.insert_parent(odm, text),
            _ => self.insert_paper(odm),
        }
    }

    fn insert_parent(&mut self, odm: Odm, name: String) -> Operation {
        let id = self.id();
        let collection = PARENTS[self.random.below(2_usize)].0;
        if self.all(collection).count() > 6
            && let Some((id, document)) = self.pick(collection)
        {
            let fate = if is_deleted(&document) {
                Fate::Purge
            } else {
                Fate::Delete
            };
            return self.meet(odm, (collection, id), &document, fate);
        }
        let after = doc! { "_id": id, "name": &name };
        one(
            "insert a parent that is kept",
            (collection, id),
            Some(after),
            async move {
                if collection == "folders" {
                    odm.collection::<Folder>()
                        .insert(NewFolder { id, name })
                        .await
                        .map(drop)
                } else {
                    odm.collection::<Binder>()
                        .insert(NewBinder { id, name })
                        .await
                        .map(drop)
                }
            },
        )
    }

    fn insert_paper(&mut self, odm: Odm) -> Operation {
        let (Some((folder, in_folder)), Some((binder, in_binder))) =
            (self.pick("folders"), self.pick("binders"))
        else {
            return self.insert_parent(odm, "first".into());
        };
        if self.all("papers").count() > MOST
            && let Some((id, document)) = self.pick("papers")
        {
            let fate = if is_deleted(&document) {
                Fate::Purge
            } else {
                Fate::Delete
            };
            return self.meet(odm, ("papers", id), &document, fate);
        }
        let id = self.id();
        let is_inserted = !is_deleted(&in_folder) && !is_deleted(&in_binder);
        let after = is_inserted.then(|| doc! { "_id": id, "folder": folder, "binder": binder });
        let new = NewPaper {
            id,
            folder: Ref::new(folder),
            binder: Ref::new(binder),
        };
        let run = async move {
            let inserted = odm.collection::<Paper>().insert(new).await;
            if is_inserted {
                inserted.map(|_| true)
            } else {
                refused(inserted)
            }
        };
        Operation {
            name: "insert a paper",
            after: vec![(("papers", id), after)],
            whole: true,
            events: vec![],
            run: run.boxed(),
            again: None,
        }
    }

    /// Deletes, restores or purges a document, with what is below it.
    fn meet(&mut self, odm: Odm, key: Key, document: &Raw, fate: Fate) -> Operation {
        let (collection, id) = key;
        let is_there = !is_deleted(document);
        let below = self.below(key);
        let mut after: Vec<(Key, Option<Raw>)> = Vec::new();
        let mut is_refused = false;
        match fate {
            Fate::Delete if is_there => {
                let living = below.into_iter().filter(|key| !is_deleted(&self.own[key]));
                after.extend(living.chain([key]).map(|key| {
                    let mut deleted = self.own[&key].clone();
                    deleted.insert("deleted", true);
                    (key, Some(deleted))
                }));
            }
            Fate::Restore if !is_there => {
                let deletion = self.deletions[&key];
                let of_deletion = below
                    .into_iter()
                    .filter(|key| self.deletions.get(key) == Some(&deletion));
                let restored: Vec<Key> = of_deletion.chain([key]).collect();
                is_refused = restored.iter().any(|key| {
                    let targets = self.targets(*key).into_iter();
                    targets
                        .filter(|target| !restored.contains(target))
                        .any(|target| is_deleted(&self.own[&target]))
                });
                if !is_refused {
                    after.extend(restored.into_iter().map(|key| {
                        let mut living = self.own[&key].clone();
                        living.remove("deleted");
                        (key, Some(living))
                    }));
                }
            }
            Fate::Purge if !is_there => after.extend(below.into_iter().chain([key]).map(|key| (key, None))),
            // A second deletion, the restoration of a document that is there, a purge of one: nothing.
            _ => {}
        }
        if after.is_empty() {
            after.push((key, Some(document.clone())));
        }
        let name = match fate {
            Fate::Delete => DELETE,
            Fate::Restore => "restore",
            Fate::Purge => PURGE,
        };
        self.again(name, after, odm, move |odm| async move {
            match collection {
                "folders" => meet(odm.collection::<Folder>(), id, fate, is_refused).await,
                "binders" => meet(odm.collection::<Binder>(), id, fate, is_refused).await,
                _ => meet(odm.collection::<Paper>(), id, fate, is_refused).await,
            }
        })
    }

    /// The papers of a folder or binder.
    fn below(&self, (collection, id): Key) -> Vec<Key> {
        let Some((_, field)) = PARENTS.into_iter().find(|(parent, _)| *parent == collection) else {
            return vec![];
        };
        let papers = self.all("papers").map(|paper| ("papers", paper));
        papers
            .filter(|key| self.own[key].get_i32(field).ok() == Some(id))
            .collect()
    }

    /// The parents of a paper.
    fn targets(&self, key: Key) -> Vec<Key> {
        let parents = PARENTS.into_iter();
        parents
            .filter_map(|(parent, field)| Some((parent, self.own[&key].get_i32(field).ok()?)))
            .collect()
    }

    /// An operation that is performed again on a standalone server if the task was killed: it goes on.
    fn again<F>(
        &self,
        name: &'static str,
        after: Vec<(Key, Option<Raw>)>,
        odm: Odm,
        run: impl Fn(Odm) -> F + Send + Sync + 'static,
    ) -> Operation
    where
        F: Future<Output = odm::Result<bool>> + Send + 'static,
    {
        let again: Again = Arc::new(move |odm| run(odm).boxed());
        // A restoration and all others are one transaction, where there are some.
        let in_steps = self.alone || matches!(name, DELETE | PURGE);
        Operation {
            name,
            after,
            whole: true,
            events: vec![],
            run: again(odm),
            again: in_steps.then_some(again),
        }
    }
}
