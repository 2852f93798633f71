//! Documents that are inserted with those that refer to them, in one transaction.

use super::*;
use odm::Error;
use odm::write::Tree;

/// Begins each value that no error may show.
pub(super) const SECRET: &str = "correct horse battery";

/// No text of the error or of its sources has a sensitive value.
#[track_caller]
pub(super) fn conceals(error: &Error) {
    let mut texts = format!("{error} {error:?}");
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        texts += &format!(" {error} {error:?}");
        source = error.source();
    }
    assert!(!texts.contains(SECRET), "{texts}");
}

/// Why a child is refused.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    DuplicateId,
    DanglingReference,
    TooLong,
}

/// The end of an insert that is refused, if it is to be.
fn ended(made: odm::Result<()>, is_refused: bool) -> odm::Result<()> {
    match made {
        Ok(()) => {
            assert!(!is_refused, "a tree with a document that is refused was inserted");
            Ok(())
        }
        Err(
            error @ (Error::InsertMany { .. }
            | Error::MissingReference { .. }
            | Error::Application(_)
            | Error::Unsupported { .. }),
        ) if is_refused => {
            conceals(&error);
            Ok(())
        }
        Err(error) => Err(error),
    }
}

impl Task {
    pub(super) fn tree(&mut self, odm: Odm) -> Operation {
        match self.random.below(3) {
            0 => self.region_with_streets(odm),
            _ => self.poll_with_ballots(odm),
        }
    }

    /// All documents are inserted, or none.
    fn of_tree(
        &self,
        name: &'static str,
        after: Vec<(Key, Raw)>,
        is_refused: bool,
        run: impl Future<Output = odm::Result<()>> + Send + 'static,
    ) -> Operation {
        let after = after.into_iter().map(|(key, after)| {
            let unchanged = self.own.get(&key).cloned();
            (key, if is_refused { unchanged } else { Some(after) })
        });
        Operation {
            name,
            after: after.collect(),
            whole: true,
            events: vec![],
            run: run
                .map(move |made| ended(made, is_refused).map(|()| true))
                .boxed(),
            again: None,
        }
    }

    /// One level, of children that copy the root and count in parents of all tasks; by itself, or in a transaction of the application
    /// that ignores a refusal.
    fn poll_with_ballots(&mut self, odm: Odm) -> Operation {
        let faults = [Fault::DuplicateId, Fault::DanglingReference, Fault::TooLong];
        let fault = (self.random.below(2) == 0).then(|| self.random.pick(&faults));
        let is_within = self.random.below(2) == 0;
        let (poll, name) = (self.id(), format!("{}", self.random.below(1_000_000)));
        let mut ballots: Vec<Raw> = (0..3)
            .map(|_| {
                let (id, weight) = (self.id(), self.random.below(100));
                let (note, district) = (format!("{SECRET} {id}"), self.random.below(SOURCES));
                doc! { "_id": id, "weight": weight, "note": note, "poll": poll, "district": district }
            })
            .collect();
        let taken = self.pick("ballots").map(|(id, _)| id);
        let taken = taken.or(ballots[0].get_i32("_id").ok());
        let refused = &mut ballots[1 + self.random.below(2_usize)];
        match fault {
            Some(Fault::DuplicateId) => refused.insert("_id", taken),
            Some(Fault::DanglingReference) => refused.insert("district", -1),
            Some(Fault::TooLong) => refused.insert("note", SECRET.repeat(2)),
            None => None,
        };
        let mut after = vec![(("polls", poll), doc! { "_id": poll, "name": &name })];
        after.extend(ballots.iter().map(|ballot| {
            let id = ballot.get_i32("_id").expect("an id");
            (("ballots", id), ballot.clone())
        }));
        let insert = async move |polls: Collection<Poll>| {
            let root = NewPoll {
                id: poll,
                name: name.clone(),
            };
            let ballots = |poll| ballots.iter().map(move |ballot| new_ballot(poll, ballot));
            polls.insert(root).with(ballots).await.map(drop)
        };
        let run = async move {
            if !is_within {
                return insert(odm.collection()).await;
            }
            let work = async |tx: odm::Tx| match insert(tx.collection()).await {
                Err(error) if fault.is_some() => {
                    conceals(&error);
                    Ok(())
                }
                made => made,
            };
            odm.transaction(work).await
        };
        self.of_tree(
            "insert a poll with ballots",
            after,
            fault.is_some() || self.alone,
            run,
        )
    }

    /// Two levels, with a copy that is copied.
    fn region_with_streets(&mut self, odm: Odm) -> Operation {
        // Regions and cities are never deleted.
        let are_many = self.all("cities").count() > (SOURCES / TASKS) as usize + 3;
        let fault = are_many || self.random.below(3) == 0;
        let (region, city) = (self.id(), self.id());
        let mut streets = [self.id(), self.id()];
        if fault {
            streets[1] = self.pick("streets").map_or(streets[0], |(id, _)| id);
        }
        let text = format!("{}", self.random.below(1_000_000));
        let mut after = vec![
            (
                ("regions", region),
                doc! { "_id": region, "name": &text, "code": &text },
            ),
            (
                ("cities", city),
                doc! { "_id": city, "name": &text, "region": region },
            ),
        ];
        after.extend(streets.map(|id| (("streets", id), doc! { "_id": id, "name": &text, "city": city })));
        let run = async move {
            let root = NewRegion {
                id: region,
                name: text.clone(),
                code: Some(text.clone()),
            };
            let tree = Tree::<Region>::new(root).with_trees(|region| {
                let new = NewCity {
                    id: city,
                    name: text.clone(),
                    region,
                };
                [Tree::<City>::new(new).with(|city| {
                    streets.map(|id| NewStreet {
                        id,
                        name: text.clone(),
                        city,
                    })
                })]
            });
            odm.collection().insert_tree(tree).await.map(drop)
        };
        self.of_tree("insert a region with streets", after, fault || self.alone, run)
    }
}

fn new_ballot(poll: Ref<Poll>, ballot: &Raw) -> NewBallot {
    let number = |name: &str| ballot.get_i32(name).expect("a number");
    NewBallot {
        id: number("_id"),
        weight: number("weight"),
        note: ballot.get_str("note").expect("a text").into(),
        poll,
        district: Ref::new(number("district")),
    }
}
