//! Operations by the handles of three tenants, on documents of each of them.

use super::*;
use odm::Error;
use odm_tests::fixtures::operations::ignore_case;

/// The second differs from the first by case alone.
const TENANTS: [&str; 3] = ["acme", "ACME", "other"];

/// The tenant of the documents with this id.
pub(super) fn tenant_of(id: i32) -> &'static str {
    TENANTS[(id / TASKS) as usize % TENANTS.len()]
}

pub(super) fn scoped(odm: &Odm, tenant: &str) -> Odm {
    odm.scoped(Shelf::paths().tenant, tenant).unwrap()
}

/// The outcome of a write that changes nothing: it has found no document of the tenant, or is refused.
fn nothing<R: std::fmt::Debug>(outcome: odm::Result<R>) -> odm::Result<()> {
    match outcome {
        Err(Error::NotFound { .. } | Error::MissingReference { .. } | Error::OutOfScope { .. }) => Ok(()),
        Err(error) => Err(error),
        Ok(done) => panic!("a write beyond the tenant's documents has succeeded: {done:?}"),
    }
}

impl Task {
    pub(super) fn scoped(&mut self, odm: &Odm) -> Operation {
        let acting = self.random.pick(&TENANTS);
        let of = scoped(odm, acting);
        let (books, shelves) = (of.collection::<Book>(), of.collection::<Shelf>());
        let shelf = self.random.below(SOURCES);
        let is_own_shelf = tenant_of(shelf) == acting;
        let to = Ref::new(shelf);
        let pages = self.random.below(1_000);
        let text = format!("text {pages}");
        let unchanged = |key: Key, task: &Task| (key, task.own.get(&key).cloned());
        // One more of a kind that the task has enough of is deleted instead.
        let kind = if self.all("books").count() > MOST {
            7
        } else {
            self.random.below(12)
        };
        match (kind, self.pick("books")) {
            (0..=2, _) | (_, None) => {
                let id = self.id();
                let new = NewBook {
                    id,
                    title: text.clone(),
                    pages,
                    shelf: to,
                };
                let after =
                    doc! { "_id": id, "tenant": acting, "title": text, "pages": pages, "shelf": shelf };
                let after = is_own_shelf.then_some(after);
                one(
                    "insert into a shelf of a tenant",
                    ("books", id),
                    after,
                    async move {
                        let inserted = books.insert(new).await;
                        if is_own_shelf {
                            inserted.map(drop)
                        } else {
                            nothing(inserted)
                        }
                    },
                )
            }
            (3, Some((id, mut after))) => {
                let is_own = after.get_str("tenant").ok() == Some(acting);
                if is_own {
                    after.insert("pages", pages);
                }
                one("update by a tenant", ("books", id), Some(after), async move {
                    let updated = books.update(id).set(|b| b.pages, pages).await;
                    if is_own {
                        updated.map(drop)
                    } else {
                        nothing(updated)
                    }
                })
            }
            (4, Some((id, mut after))) => {
                let is_own = after.get_str("tenant").ok() == Some(acting);
                if is_own && is_own_shelf {
                    after.insert("shelf", shelf);
                }
                one(
                    "move to a shelf of a tenant",
                    ("books", id),
                    Some(after),
                    async move {
                        let moved = books.update(id).set(|b| b.shelf, to).await;
                        if is_own && is_own_shelf {
                            moved.map(drop)
                        } else {
                            nothing(moved)
                        }
                    },
                )
            }
            (n @ 5..=6, Some(_)) => {
                let mine: Vec<i32> = self.all("books").collect();
                let after = mine.iter().map(|id| {
                    let mut after = self.own[&("books", *id)].clone();
                    if after.get_str("tenant").ok() == Some(acting) {
                        after.insert("pages", pages);
                    }
                    (("books", *id), Some(after))
                });
                let after = after.collect();
                some("update_where by a tenant", after, async move {
                    let update = books.update_where(|b| b.id.in_(mine)).set(|b| b.pages, pages);
                    let update = if n == 5 {
                        update
                    } else {
                        update.collation(ignore_case())
                    };
                    update.await.map(drop)
                })
            }
            (7, Some((id, after))) => {
                let is_own = after.get_str("tenant").ok() == Some(acting);
                let after = (!is_own).then_some(after);
                one("delete by a tenant", ("books", id), after, async move {
                    books.delete(id).optional().await.map(drop)
                })
            }
            (8, Some((id, after))) => {
                let is_own = after.get_str("tenant").ok() == Some(acting);
                let after = (!is_own).then_some(after);
                one("delete_where by a tenant", ("books", id), after, async move {
                    books
                        .delete_where(|b| b.id.eq(id))
                        .collation(ignore_case())
                        .await
                        .map(drop)
                })
            }
            (9, Some((id, _))) => {
                let (key, other) = (("books", id), self.random.pick(&TENANTS));
                let after = vec![unchanged(key, self)];
                // The tenant of the handle may be repeated, and changes nothing.
                let change = if other == acting {
                    doc! { "$unset": { "tenant": acting } }
                } else {
                    doc! { "$set": { "tenant": other } }
                };
                some("change the tenant", after, async move {
                    nothing(books.update(id).raw(change).await)
                })
            }
            (10, Some((id, before))) => {
                let is_own = before.get_str("tenant").ok() == Some(acting);
                let after =
                    doc! { "_id": id, "tenant": acting, "title": &text, "pages": pages, "shelf": shelf };
                let is_replaced = is_own && is_own_shelf;
                let after = if is_replaced { after } else { before };
                one("replace by a tenant", ("books", id), Some(after), async move {
                    let version = if let Some(now) = books.get(id).await? {
                        now.version
                    } else {
                        1
                    };
                    let tenant = acting.to_owned();
                    let book = Book {
                        id,
                        tenant,
                        title: text,
                        pages,
                        shelf: to,
                        shelf_name: String::new(),
                        version,
                    };
                    let replaced = books.replace(book).await;
                    if is_replaced {
                        replaced.map(drop)
                    } else {
                        nothing(replaced)
                    }
                })
            }
            (_, Some(_)) => {
                let (id, mut after) = self.source("shelves");
                let is_own = tenant_of(id) == acting;
                if is_own {
                    after.insert("name", &text);
                }
                one(
                    "rename a shelf by a tenant",
                    ("shelves", id),
                    Some(after),
                    async move {
                        let renamed = shelves.update(id).set(|s| s.name, text).await;
                        if is_own {
                            renamed.map(drop)
                        } else {
                            nothing(renamed)
                        }
                    },
                )
            }
        }
    }
}
