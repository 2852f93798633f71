//! Documents with a shard key, and a value that is unique over all shards, which all tasks contend for.
//!
//! Each task writes its own documents, with codes of which there are few: a write that gives a document the code of another one is refused,
//! and has done nothing. At the end each code has one owner, and the claims are those of the documents, no more and no less.

use super::*;
use odm::Error;
use odm::update::Update;

/// The number of codes: so few that many writes are refused.
const CODES: i32 = 60;

/// The number of tenants that documents move between.
const TENANTS: i32 = 5;

const DELETE: &str = "delete and free a claim";
const PURGE: &str = "purge what was claimed";

const CLAIMS: &str = "_odm_claims.badges";

/// Whether it was done, and not refused since another document has the code.
fn done<R>(made: odm::Result<R>) -> odm::Result<bool> {
    match made {
        Ok(_) => Ok(true),
        Err(Error::DuplicateKey { fields, .. }) if fields == ["code"] => Ok(false),
        Err(error) => Err(error),
    }
}

/// The update that gives a badge this code, or none.
fn with_claim(update: Update<Badge>, code: Option<String>) -> Update<Badge> {
    match code {
        Some(code) => update.set(|b| b.code, Some(code)),
        None => update.unset(|b| b.code),
    }
}

impl Task {
    /// A write of a badge, by the handle of a process.
    fn badge<F>(
        &self,
        name: &'static str,
        (id, after): (i32, Option<Raw>),
        odm: Odm,
        run: impl Fn(Odm) -> F + Send + Sync + 'static,
    ) -> Operation
    where
        F: Future<Output = odm::Result<bool>> + Send + 'static,
    {
        let again: Again = Arc::new(move |odm| run(odm).boxed());
        Operation {
            name,
            after: vec![(("badges", id), after)],
            whole: true,
            events: vec![],
            run: again(odm),
            // A deletion goes on.
            again: matches!(name, DELETE | PURGE).then_some(again),
        }
    }

    pub(super) fn claimed(&mut self, odm: Odm) -> Operation {
        let code = (self.random.below(5) > 0).then(|| format!("code {}", self.random.below(CODES)));
        let (text, to) = (
            format!("{}", self.random.below(1_000)),
            self.random.below(TENANTS),
        );
        let with_code = |mut document: Raw| {
            match &code {
                Some(code) => drop(document.insert("code", code)),
                None => drop(document.remove("code")),
            }
            document
        };
        let kind = if self.all("badges").count() > MOST {
            9
        } else {
            self.random.below(12)
        };
        let picked = self.pick("badges");
        let Some((id, document)) = picked.filter(|_| kind > 1) else {
            let id = self.id();
            let after = with_code(doc! { "_id": id, "tenant": to, "text": &text });
            return self.badge("insert with a claim", (id, Some(after)), odm, move |odm| {
                let new = NewBadge {
                    id,
                    tenant: to,
                    code: code.clone(),
                    text: text.clone(),
                };
                async move { done(odm.collection::<Badge>().insert(new).await) }
            });
        };
        let tenant = document.get_i32("tenant").expect("a tenant");
        let mut after = document.clone();
        if after.get_bool("deleted").unwrap_or(false) {
            return if kind < 8 {
                after.remove("deleted");
                self.badge(
                    "restore with a claim",
                    (id, Some(after)),
                    odm,
                    move |odm| async move {
                        let badges = odm.collection::<Badge>();
                        done(badges.restore(id).at(|b| b.tenant, tenant).await)
                    },
                )
            } else {
                self.badge(PURGE, (id, None), odm, move |odm| async move {
                    let badges = odm.collection::<Badge>();
                    badges
                        .purge(id)
                        .at(|b| b.tenant, tenant)
                        .optional()
                        .await
                        .map(|_| true)
                })
            };
        }
        match kind {
            2 | 3 => {
                let after = with_code(after);
                let update = move |odm: Odm| {
                    let code = code.clone();
                    async move {
                        let badges = odm.collection::<Badge>().update(id).at(|b| b.tenant, tenant);
                        done(with_claim(badges, code).await)
                    }
                };
                self.badge("set a claimed value", (id, Some(after)), odm, update)
            }
            4 => {
                let after = with_code(after);
                let update = move |odm: Odm| {
                    let code = code.clone();
                    async move {
                        let badges = odm.collection::<Badge>();
                        let of = badges.update_where(|b| b.id.eq(id) & b.tenant.eq(tenant));
                        done(match code {
                            Some(code) => of.set(|b| b.code, Some(code)).await,
                            None => of.unset(|b| b.code).await,
                        })
                    }
                };
                self.badge(
                    "set a claimed value by a condition",
                    (id, Some(after)),
                    odm,
                    update,
                )
            }
            5 => {
                after.insert("text", &text);
                let after = with_code(after);
                let replace = move |odm: Odm| {
                    let (code, text) = (code.clone(), text.clone());
                    async move {
                        let badges = odm.collection::<Badge>();
                        let now = badges.get(id).at(|b| b.tenant, tenant).required().await?;
                        done(badges.replace(Badge { code, text, ..now }).await)
                    }
                };
                self.badge("replace with a claim", (id, Some(after)), odm, replace)
            }
            6 => {
                after.insert("text", &text);
                let update = move |odm: Odm| {
                    let text = text.clone();
                    async move {
                        let badges = odm.collection::<Badge>();
                        let change = badges.update(id).at(|b| b.tenant, tenant).set(|b| b.text, text);
                        change.await.map(|_| true)
                    }
                };
                self.badge("set beside a claim", (id, Some(after)), odm, update)
            }
            7 | 8 => {
                after.insert("tenant", to);
                let is_set = kind == 8;
                let after = if is_set { with_code(after) } else { after };
                let update = move |odm: Odm| {
                    let code = code.clone();
                    async move {
                        let badges = odm.collection::<Badge>().update(id).at(|b| b.tenant, tenant);
                        let moved = badges.move_to(|b| b.tenant, to);
                        done(if is_set {
                            with_claim(moved, code).await
                        } else {
                            moved.await
                        })
                    }
                };
                self.badge("move with a claim", (id, Some(after)), odm, update)
            }
            9 => {
                after.insert("deleted", true);
                self.badge(DELETE, (id, Some(after)), odm, move |odm| async move {
                    let badges = odm.collection::<Badge>();
                    badges
                        .delete(id)
                        .at(|b| b.tenant, tenant)
                        .optional()
                        .await
                        .map(|_| true)
                })
            }
            _ => {
                // Two codes change places in one transaction.
                let other = self.pick("badges").filter(|(other, document)| {
                    *other != id && !document.get_bool("deleted").unwrap_or(false)
                });
                let Some((other, second)) = other else {
                    after.insert("text", &text);
                    return self.badge("replace the text", (id, Some(after)), odm, move |odm| {
                        let text = text.clone();
                        async move {
                            let badges = odm.collection::<Badge>().update(id);
                            badges.set(|b| b.text, text).await.map(|_| true)
                        }
                    });
                };
                let mut swapped = [(id, document), (other, second)];
                let codes = swapped
                    .clone()
                    .map(|(_, of)| of.get_str("code").ok().map(str::to_owned));
                let [first, second] = codes;
                for ((_, of), code) in swapped.iter_mut().zip([&second, &first]) {
                    match code {
                        Some(code) => drop(of.insert("code", code)),
                        None => drop(of.remove("code")),
                    }
                }
                let after = swapped.map(|(id, of)| (("badges", id), Some(of)));
                let run = async move {
                    let swap = odm.transaction(async |tx| {
                        let badges = tx.collection::<Badge>();
                        badges.update(id).unset(|b| b.code).await?;
                        with_claim(badges.update(other), first.clone()).await?;
                        with_claim(badges.update(id), second.clone()).await
                    });
                    done(swap.await)
                };
                Operation {
                    name: "exchange claims",
                    after: after.into(),
                    whole: true,
                    events: vec![],
                    run: run.boxed(),
                    again: None,
                }
            }
        }
    }
}

/// That each code has one owner, and that the claims are those of the documents. Gives their number.
pub(super) async fn one_owner_each(db: &Database, own: &Written) -> usize {
    let mut expected: BTreeMap<String, (i32, i32)> = BTreeMap::new();
    for ((_, id), document) in own.iter().filter(|((name, _), _)| *name == "badges") {
        let code = document.get_str("code").ok();
        let code = code.filter(|_| !document.get_bool("deleted").unwrap_or(false));
        if let Some(code) = code {
            let owner = (*id, document.get_i32("tenant").unwrap());
            let other = expected.insert(code.to_owned(), owner);
            assert_eq!(other, None, "{code} has two owners, one of which is {id}");
        }
    }
    let claims = db.collection::<Raw>(CLAIMS).find(doc! {}).await.unwrap();
    let claims: Vec<Raw> = claims.try_collect().await.unwrap();
    let mut found: BTreeMap<String, (i32, i32)> = BTreeMap::new();
    for claim in claims {
        let code = claim.get_document("_id").unwrap().get_str("code").unwrap();
        let tenant = claim.get_document("key").unwrap().get_i32("tenant").unwrap();
        found.insert(code.to_owned(), (claim.get_i32("owner").unwrap(), tenant));
    }
    assert_eq!(found, expected, "the claims are not those of the documents");
    expected.len()
}
