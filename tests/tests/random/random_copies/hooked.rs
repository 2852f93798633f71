//! Documents whose writes call a function, which stores what it was called with in the same transaction.

use super::*;
use odm::hooks::InTransaction;

/// Where the traces of deletions begin: their entries have no number of their own any more.
const OF_DELETIONS: i32 = 500_000_000;

/// Stores the number of the write.
pub(super) async fn trace(write: InTransaction<Entry>) -> odm::Result<()> {
    let new = match (&write.before, &write.after) {
        (_, Some(after)) => NewTrace {
            id: after.number,
            entry: after.id,
            amount: after.amount,
        },
        (Some(before), None) => NewTrace {
            id: OF_DELETIONS + before.number,
            entry: before.id,
            amount: before.amount,
        },
        (None, None) => return Ok(()),
    };
    write.tx.collection::<super::Trace>().insert(new).await.map(drop)
}

impl Task {
    /// A write of one entry or several; the traces that it leaves are documents of the task, too.
    pub(super) fn hooked(&mut self, odm: Odm) -> Operation {
        let amount = self.random.below(1_000);
        let entries = odm.collection::<Entry>();
        let written = |after: Raw| {
            let number = after.get_i32("number").expect("a number");
            let entry = after.get_i32("_id").expect("an id");
            let trace =
                doc! { "_id": number, "entry": entry, "amount": after.get_i32("amount").expect("an amount") };
            [
                (("entries", entry), Some(after)),
                (("traces", number), Some(trace)),
            ]
        };
        let number = self.id();
        let kind = if self.all("entries").count() > MOST {
            5
        } else {
            self.random.below(9)
        };
        let (name, after, run) = match (kind, self.pick("entries")) {
            (6, _) => {
                let others = [self.id(), self.id()];
                let [first, second] = [(others[0], number), (others[1], self.id())];
                let new = [first, second].map(|(id, number)| NewEntry { id, number, amount });
                let after = [first, second]
                    .map(|(id, number)| written(doc! { "_id": id, "number": number, "amount": amount }));
                let run = async move { entries.insert_many(new).await.map(drop) };
                ("insert_many with a hook", after.concat(), run.boxed())
            }
            (7, Some((id, mut after))) => {
                let (new, other) = (self.id(), self.id());
                after.insert("number", number);
                let inserted = written(doc! { "_id": new, "number": other, "amount": amount });
                let after = [inserted, written(after)].concat();
                let run = async move {
                    let bulk = odm.bulk().add(entries.update(id).set(|e| e.number, number));
                    let inserted = NewEntry {
                        id: new,
                        number: other,
                        amount,
                    };
                    bulk.add(odm.collection().insert(inserted)).await.map(drop)
                };
                ("bulk with hooks", after, run.boxed())
            }
            (8, Some((id, mut after))) => {
                let (new, other) = (self.id(), self.id());
                after.insert("number", number);
                let inserted = written(doc! { "_id": new, "number": other, "amount": amount });
                let after = [inserted, written(after)].concat();
                let run = async move {
                    let work = odm.transaction(async |tx| {
                        let entries = tx.collection::<Entry>();
                        entries.update(id).set(|e| e.number, number).await?;
                        // Nothing has its id, and this error is ignored.
                        match entries.update(-1).set(|e| e.number, number).await {
                            Err(odm::Error::NotFound { .. }) => {}
                            ended => return ended.map(drop),
                        }
                        let inserted = NewEntry {
                            id: new,
                            number: other,
                            amount,
                        };
                        entries.insert(inserted).await.map(drop)
                    });
                    work.await
                };
                ("transaction with hooks", after, run.boxed())
            }
            (0 | 1, _) | (_, None) => {
                let id = self.id();
                let after = written(doc! { "_id": id, "number": number, "amount": amount });
                let run = async move { entries.insert(NewEntry { id, number, amount }).await.map(drop) };
                ("insert with a hook", after.to_vec(), run.boxed())
            }
            (2, Some((id, mut after))) => {
                after.extend(doc! { "number": number, "amount": amount });
                let run = async move {
                    let update = entries
                        .update(id)
                        .set(|e| e.number, number)
                        .set(|e| e.amount, amount);
                    update.await.map(drop)
                };
                ("update with a hook", written(after).to_vec(), run.boxed())
            }
            (3, Some((id, mut after))) => {
                let sum = after.get_i32("amount").expect("an amount") + 1;
                after.extend(doc! { "number": number, "amount": sum });
                let run = async move {
                    let update = entries.update_where(|e| e.id.eq(id)).set(|e| e.number, number);
                    update.inc(|e| e.amount, 1).await.map(drop)
                };
                ("update_where with a hook", written(after).to_vec(), run.boxed())
            }
            (4, Some((id, _))) => {
                let after = written(doc! { "_id": id, "number": number, "amount": amount });
                let run = async move { entries.replace(Entry { id, number, amount }).await.map(drop) };
                ("replace with a hook", after.to_vec(), run.boxed())
            }
            (_, Some((id, before))) => {
                let trace = OF_DELETIONS + before.get_i32("number").expect("a number");
                let of = doc! { "_id": trace, "entry": id, "amount": before.get_i32("amount").expect("an amount") };
                let after = vec![(("entries", id), None), (("traces", trace), Some(of))];
                (
                    "delete with a hook",
                    after,
                    async move { entries.delete(id).optional().await.map(drop) }.boxed(),
                )
            }
        };
        Operation {
            name,
            after,
            whole: true,
            events: vec![],
            run: run.map_ok(|()| true).boxed(),
            again: None,
        }
    }
}
