//! The next operation of a task.

use super::*;
use odm::__private::SwitchBulk as _;

macro_rules! child {
    ($task:ident, $odm:ident, $choice:expr, $Child:ident, $New:ident, $name:literal) => {{
        let above = $task.random.below(SOURCES);
        let stars = $task.random.below(100);
        let public = $task.random.below(2) == 0;
        match ($choice, $task.pick($name)) {
            (0, _) | (_, None) => {
                let id = $task.id();
                let after = doc! { "_id": id, "text": "new", "stars": stars, "public": public, "tags": [], "above": above };
                let new = $New { id, text: Some("new".into()), stars, public, tags: vec![], above: Ref::new(above) };
                one("insert a child", ($name, id), Some(after), async move {
                    $odm.collection::<$Child>().insert(new).await.map(drop)
                })
            }
            (1, Some((id, mut after))) => {
                after.insert("stars", stars);
                one("set a child", ($name, id), Some(after), async move {
                    $odm.collection::<$Child>().update(id).set(|c| c.stars, stars).await.map(drop)
                })
            }
            (2, Some((id, mut after))) => {
                after.insert("public", public);
                after.insert("text", format!("text {stars}"));
                one("set what is filtered by", ($name, id), Some(after), async move {
                    let children = $odm.collection::<$Child>();
                    let text = Some(format!("text {stars}"));
                    children.update(id).set(|c| c.public, public).set(|c| c.text, text).await.map(drop)
                })
            }
            (3, Some((id, mut after))) => {
                after.insert("above", above);
                one("move a child", ($name, id), Some(after), async move {
                    let children = $odm.collection::<$Child>();
                    children.update(id).set(|c| c.above, Ref::new(above)).await.map(drop)
                })
            }
            (4, Some((id, _))) => one("delete a child", ($name, id), None, async move {
                $odm.collection::<$Child>().delete(id).optional().await.map(drop)
            }),
            (5, Some((id, _))) => {
                let after = doc! { "_id": id, "stars": stars, "public": public, "tags": [], "above": above };
                one("replace a child", ($name, id), Some(after), async move {
                    let children = $odm.collection::<$Child>();
                    let Some(now) = children.get(id).await? else { return Ok(()) };
                    let (above, version) = (Ref::new(above), now.version);
                    let new = $Child { id, text: None, stars, public, tags: vec![], above, version };
                    children.replace(new).await.map(drop)
                })
            }
            _ => {
                // All of a parent's that are this task's.
                let mine: Vec<i32> = $task.all($name).take(3).collect();
                let after = mine.iter().map(|id| {
                    let mut after = $task.own[&($name, *id)].clone();
                    after.insert("stars", stars);
                    (($name, *id), Some(after))
                });
                let after = after.collect();
                let run = async move {
                    let children = $odm.collection::<$Child>();
                    children.update_where(|c| c.id.in_(mine)).set(|c| c.stars, stars).await.map(drop)
                };
                some("update_where", after, run)
            }
        }
    }};
}

pub(super) fn one(
    name: &'static str,
    key: Key,
    after: Option<Raw>,
    run: impl Future<Output = odm::Result<()>> + Send + 'static,
) -> Operation {
    Operation {
        name,
        after: vec![(key, after)],
        whole: true,
        events: vec![],
        run: run.map_ok(|()| true).boxed(),
        again: None,
    }
}

/// Of several documents, each of which may be written without the others.
pub(super) fn some(
    name: &'static str,
    after: Vec<(Key, Option<Raw>)>,
    run: impl Future<Output = odm::Result<()>> + Send + 'static,
) -> Operation {
    Operation {
        name,
        after,
        whole: false,
        events: vec![],
        run: run.map_ok(|()| true).boxed(),
        again: None,
    }
}

/// Of documents that all tasks write.
fn contended(
    name: &'static str,
    events: Vec<Event>,
    run: impl Future<Output = odm::Result<()>> + Send + 'static,
) -> Operation {
    let run = async move {
        match run.await {
            Ok(()) => Ok(true),
            // Another task has deleted it, inserted it, or changed the document that was to be replaced.
            Err(
                odm::Error::NotFound { .. } | odm::Error::DuplicateKey { .. } | odm::Error::Conflict { .. },
            ) => Ok(false),
            Err(error) => Err(error),
        }
    };
    Operation {
        name,
        after: vec![],
        whole: false,
        events,
        run: run.boxed(),
        again: None,
    }
}

impl Task {
    pub(super) fn id(&mut self) -> i32 {
        self.ids += TASKS;
        self.ids
    }

    pub(super) fn all(&self, collection: &'static str) -> impl Iterator<Item = i32> + '_ {
        let range = (collection, i32::MIN)..=(collection, i32::MAX);
        self.own.range(range).map(|((_, id), _)| *id)
    }

    /// One of the task's own.
    pub(super) fn pick(&mut self, collection: &'static str) -> Option<(i32, Raw)> {
        let all = self.all(collection).count();
        if all == 0 {
            return None;
        }
        let at = self.random.below(all as i32) as usize;
        let id = self.all(collection).nth(at)?;
        Some((id, self.own.get(&(collection, id))?.clone()))
    }

    pub(super) fn source(&mut self, collection: &'static str) -> (i32, Raw) {
        self.pick(collection).expect("sources are never deleted")
    }

    /// The deletion of one of a kind that the task has too many of.
    fn too_many(&mut self, odm: &Odm) -> Option<Operation> {
        macro_rules! delete {
            ($($Document:ident $name:literal),*) => {$(
                if self.all($name).count() > MOST {
                    let (id, _) = self.pick($name)?;
                    let documents = odm.collection::<$Document>();
                    return Some(one("delete one of many", ($name, id), None, async move {
                        documents.delete(id).optional().await.map(drop)
                    }));
                }
            )*};
        }
        delete!(
            Log "logs", Receipt "receipts", Product "products", Review "reviews", Vote "votes", Street "streets",
            Mayor "mayors", Sample "samples", Order "orders", Offer "offers", Grade "grades", Line "lines",
            Basket "baskets", Member "members", Ballot "ballots", Acrobat "acrobats"
        );
        if self.all("comments").count() > MOST {
            return self.delete_comment(odm);
        }
        if self.all("readings").count() > MOST {
            return self.delete_reading(odm);
        }
        None
    }

    pub(super) fn operation(&mut self, process: &Process) -> Operation {
        let odm = process.odm.clone();
        if let Some(delete) = self.too_many(&odm) {
            return delete;
        }
        let to = self.random.below(SOURCES);
        let text = format!("{}", self.random.below(1_000_000));
        match self.random.below(100) {
            0 => {
                let (id, mut after) = self.source("hosts");
                after.insert("name", &text);
                one("set the source", ("hosts", id), Some(after), async move {
                    let hosts = odm.collection::<Host>();
                    hosts.update(id).set(|h| h.name, text).await.map(drop)
                })
            }
            1 => {
                let (id, mut after) = self.source("hosts");
                let load = after.get_i32("load").unwrap_or_default();
                after.insert("load", load + 1);
                after.remove("ip");
                one(
                    "unset and inc the source",
                    ("hosts", id),
                    Some(after),
                    async move {
                        let hosts = odm.collection::<Host>();
                        hosts
                            .update(id)
                            .unset(|h| h.ip)
                            .inc(|h| h.load, 1)
                            .await
                            .map(drop)
                    },
                )
            }
            2 => {
                let (id, mut after) = self.source("parts");
                after.insert("name", &text);
                after.insert("note", &text);
                one(
                    "set the source of entries",
                    ("parts", id),
                    Some(after),
                    async move {
                        let parts = odm.collection::<Part>();
                        let note = Some(text.clone());
                        parts
                            .update(id)
                            .set(|p| p.name, text)
                            .set(|p| p.note, note)
                            .await
                            .map(drop)
                    },
                )
            }
            3 => {
                let (id, mut after) = self.source("parts");
                let tags = vec![text.clone()];
                after.insert("tags", &tags);
                after.remove("note");
                one(
                    "unset the source of entries",
                    ("parts", id),
                    Some(after),
                    async move {
                        let parts = odm.collection::<Part>();
                        parts
                            .update(id)
                            .set(|p| p.tags, tags)
                            .unset(|p| p.note)
                            .await
                            .map(drop)
                    },
                )
            }
            4 => {
                let (id, mut after) = self.source("users");
                after.insert("name", &text);
                after.remove("mail");
                one("set a user", ("users", id), Some(after), async move {
                    let users = odm.collection::<User>();
                    users
                        .update(id)
                        .set(|u| u.name, text)
                        .unset(|u| u.mail)
                        .await
                        .map(drop)
                })
            }
            5 => {
                let (id, mut after) = self.source("regions");
                after.insert("name", &text);
                one(
                    "set the source of a chain",
                    ("regions", id),
                    Some(after),
                    async move {
                        let regions = odm.collection::<Region>();
                        regions.update(id).set(|r| r.name, text).await.map(drop)
                    },
                )
            }
            6 => {
                let (id, mut after) = self.source("cities");
                after.insert("region", to);
                one("move in a chain", ("cities", id), Some(after), async move {
                    let cities = odm.collection::<City>();
                    cities.update(id).set(|c| c.region, Ref::new(to)).await.map(drop)
                })
            }
            7 => {
                let id = self.id();
                let after = doc! { "_id": id, "host": to };
                let taken = self.taken.clone();
                one("insert a receipt", ("receipts", id), Some(after), async move {
                    let new = NewReceipt {
                        id,
                        host: Ref::new(to),
                    };
                    let receipt = odm.collection::<Receipt>().insert(new).await?;
                    taken.lock().unwrap().insert(id, receipt.host_name);
                    Ok(())
                })
            }
            8 | 9 => match self.pick("logs") {
                Some((id, mut after)) => {
                    after.insert("host", to);
                    one("move", ("logs", id), Some(after), async move {
                        let logs = odm.collection::<Log>();
                        logs.update(id).set(|l| l.host, Ref::new(to)).await.map(drop)
                    })
                }
                None => self.insert_log(odm, to),
            },
            10 | 11 => self.insert_log(odm, to),
            12 => match self.pick("logs") {
                Some((id, _)) => one("delete", ("logs", id), None, async move {
                    odm.collection::<Log>().delete(id).optional().await.map(drop)
                }),
                None => self.insert_log(odm, to),
            },
            13 => {
                let id = self.id();
                let parts: Vec<i32> = (0..3).map(|n| (to + n * 5) % SOURCES).collect();
                let entries: Vec<Raw> = parts.iter().map(|part| doc! { "id": part }).collect();
                let after = doc! { "_id": id, "title": &text, "parts": entries };
                let new = NewProduct {
                    id,
                    title: text,
                    parts: parts.into_iter().map(Ref::new).collect(),
                };
                one("insert with entries", ("products", id), Some(after), async move {
                    odm.collection::<Product>().insert(new).await.map(drop)
                })
            }
            14..=16 => match self.pick("products") {
                None => self.insert_log(odm, to),
                Some((id, mut after)) => {
                    let entries = after.get_array_mut("parts").expect("an array");
                    let has = entries.contains(&Bson::from(doc! { "id": to }));
                    if has || entries.len() > 6 {
                        let gone = entries[0]
                            .as_document()
                            .and_then(|entry| entry.get_i32("id").ok())
                            .expect("an id");
                        entries.retain(|entry| *entry != Bson::from(doc! { "id": gone }));
                        one("pull", ("products", id), Some(after), async move {
                            let products = odm.collection::<Product>();
                            products
                                .update(id)
                                .pull(|p| p.parts, Ref::new(gone))
                                .await
                                .map(drop)
                        })
                    } else {
                        entries.push(doc! { "id": to }.into());
                        one("push", ("products", id), Some(after), async move {
                            let products = odm.collection::<Product>();
                            products
                                .update(id)
                                .push(|p| p.parts, Ref::new(to))
                                .await
                                .map(drop)
                        })
                    }
                }
            },
            17 => match self.pick("products") {
                Some((id, _)) => one("delete with entries", ("products", id), None, async move {
                    odm.collection::<Product>().delete(id).optional().await.map(drop)
                }),
                None => self.insert_log(odm, to),
            },
            18 | 19 => match self.pick("orders") {
                Some((id, mut after)) if after.contains_key("user") => {
                    after.remove("user");
                    one("unset", ("orders", id), Some(after), async move {
                        odm.collection::<Order>()
                            .update(id)
                            .unset(|o| o.user)
                            .await
                            .map(drop)
                    })
                }
                Some((id, mut after)) => {
                    after.insert("user", doc! { "id": to });
                    one("set", ("orders", id), Some(after), async move {
                        let orders = odm.collection::<Order>();
                        orders.update(id).set(|o| o.user, Ref::new(to)).await.map(drop)
                    })
                }
                None => {
                    let id = self.id();
                    let after = doc! { "_id": id, "what": &text, "user": { "id": to } };
                    let user = Some(Ref::new(to));
                    one("insert an order", ("orders", id), Some(after), async move {
                        let new = NewOrder { id, what: text, user };
                        odm.collection::<Order>().insert(new).await.map(drop)
                    })
                }
            },
            20 => {
                // Two writes of one transaction, where there are some.
                let (log, street) = (self.id(), self.id());
                let after = vec![
                    (
                        ("logs", log),
                        Some(doc! { "_id": log, "text": &text, "host": to }),
                    ),
                    (
                        ("streets", street),
                        Some(doc! { "_id": street, "name": &text, "city": to }),
                    ),
                ];
                let new_log = NewLog {
                    id: log,
                    text: text.clone(),
                    host: Ref::new(to),
                };
                let new_street = NewStreet {
                    id: street,
                    name: text,
                    city: Ref::new(to),
                };
                let bulk = odm
                    .bulk()
                    // SecantusDB refuses that command as the first of a transaction.
                    .without_bulk_write_command()
                    .add(odm.collection().insert(new_log))
                    .add(odm.collection().insert(new_street));
                some("bulk", after, async move { bulk.await.map(drop) })
            }
            21 => {
                let id = self.id();
                let after = doc! { "_id": id, "city": to };
                one("insert a mayor", ("mayors", id), Some(after), async move {
                    let city = Ref::new(to);
                    odm.collection::<Mayor>()
                        .insert(NewMayor { id, city })
                        .await
                        .map(drop)
                })
            }
            22 => match self.pick("streets") {
                Some((id, mut after)) => {
                    after.insert("city", to);
                    one(
                        "move at the end of a chain",
                        ("streets", id),
                        Some(after),
                        async move {
                            let streets = odm.collection::<Street>();
                            streets.update(id).set(|s| s.city, Ref::new(to)).await.map(drop)
                        },
                    )
                }
                None => self.insert_log(odm, to),
            },
            23 => match self.pick("streets") {
                Some((id, _)) => one(
                    "delete at the end of a chain",
                    ("streets", id),
                    None,
                    async move { odm.collection::<Street>().delete(id).optional().await.map(drop) },
                ),
                None => self.insert_log(odm, to),
            },
            24..=26 => child!(self, odm, self.random.below(7), Review, NewReview, "reviews"),
            27..=29 => child!(self, odm, self.random.below(7), Vote, NewVote, "votes"),
            30 => self.well(odm),
            31..=33 => self.sample(odm),
            34..=35 => child!(self, odm, self.random.below(7), Offer, NewOffer, "offers"),
            36..=37 => child!(self, odm, self.random.below(7), Grade, NewGrade, "grades"),
            38 => self.line(odm),
            39..=41 => self.basket(odm),
            42..=43 => self.sources(odm),
            44..=48 => self.member(odm),
            49..=53 => self.poll(odm),
            54..=57 => self.comment(odm),
            58..=61 => self.reading(odm),
            62..=66 => self.acrobat(odm),
            67..=70 if !self.alone => self.claimed(odm),
            67..=77 => self.contended(odm),
            78..=83 => self.scoped(&process.of_tenants),
            84..=89 => self.kept(odm),
            90..=93 if !self.alone => self.hooked(odm),
            94..=97 => self.tree(odm),
            _ => self.transaction(odm),
        }
    }

    /// Several sources by one write, of which each has holders of all tasks.
    fn sources(&mut self, odm: Odm) -> Operation {
        let text = format!("{}", self.random.below(1_000_000));
        let first = self.random.below(SOURCES);
        macro_rules! rename {
            ($Document:ident $name:literal) => {{
                let mine: Vec<i32> = self.all($name).filter(|id| *id >= first).take(3).collect();
                let after = mine.iter().map(|id| {
                    let mut after = self.own[&($name, *id)].clone();
                    after.insert("name", &text);
                    (($name, *id), Some(after))
                });
                let after = after.collect();
                some("update_where of sources", after, async move {
                    let sources = odm.collection::<$Document>();
                    sources
                        .update_where(|s| s.id.in_(mine))
                        .set(|s| s.name, text)
                        .await
                        .map(drop)
                })
            }};
        }
        macro_rules! parent {
            ($Document:ident $name:literal) => {{
                let (id, mut after) = self.source($name);
                after.insert("name", &text);
                one("update of a parent", ($name, id), Some(after), async move {
                    let parents = odm.collection::<$Document>();
                    parents.update(id).set(|p| p.name, text).await.map(drop)
                })
            }};
        }
        match self.random.below(11) {
            0 => rename!(Host "hosts"),
            1 => rename!(Part "parts"),
            2 => rename!(User "users"),
            3 => rename!(Region "regions"),
            4 => rename!(Good "goods"),
            5 => rename!(Team "teams"),
            6 => rename!(Poll "polls"),
            7 => rename!(Circus "circuses"),
            // And a parent, beside what is derived in it. One alone: SecantusDB hangs where an `updateMany` without a
            // transaction meets one that has another write in the same collection.
            8 => parent!(Shop "shops"),
            9 => parent!(Course "courses"),
            _ => parent!(District "districts"),
        }
    }

    /// A child that never changes.
    fn line(&mut self, odm: Odm) -> Operation {
        match (self.random.below(3), self.pick("lines")) {
            (0, Some((id, _))) => one("delete a line", ("lines", id), None, async move {
                odm.collection::<Line>().delete(id).optional().await.map(drop)
            }),
            _ => {
                let (id, board, at) = (self.id(), self.random.below(SOURCES), self.random.below(20));
                let text = format!("line {id}");
                let after = doc! { "_id": id, "at": at, "text": &text, "board": board };
                let board = Ref::new(board);
                one("insert a line", ("lines", id), Some(after), async move {
                    let new = Line { id, at, text, board };
                    odm.collection::<Line>().insert(new).await.map(drop)
                })
            }
        }
    }

    /// Copies in what is embedded.
    fn basket(&mut self, odm: Odm) -> Operation {
        let (to, n) = (self.random.below(SOURCES), self.random.below(1_000));
        let item = move |n: i32| Item {
            n,
            good: Some(Ref::new(to)),
            name: None,
            note: None,
        };
        let picked = self.pick("baskets");
        let baskets = odm.collection::<Basket>();
        match (self.random.below(7), picked) {
            (0 | 1, _) | (_, None) => {
                let id = self.id();
                let items: Vec<Raw> = vec![doc! { "n": 0, "good": to }, doc! { "n": 1, "good": to }];
                let after = doc! { "_id": id, "title": "new", "items": items, "gift": { "good": to } };
                let new = NewBasket {
                    id,
                    title: "new".into(),
                    items: vec![item(0), item(1)],
                    gift: Gift {
                        good: Some(Ref::new(to)),
                        name: Some("a lie".into()),
                    },
                };
                one("insert a basket", ("baskets", id), Some(after), async move {
                    baskets.insert(new).await.map(drop)
                })
            }
            (2, Some((id, mut after))) => {
                after.get_document_mut("gift").expect("a gift").insert("good", to);
                one("set within", ("baskets", id), Some(after), async move {
                    baskets
                        .update(id)
                        .set(|b| b.gift.good, Ref::new(to))
                        .await
                        .map(drop)
                })
            }
            (3, Some((id, mut after))) => {
                after.get_document_mut("gift").expect("a gift").remove("good");
                one("unset within", ("baskets", id), Some(after), async move {
                    baskets.update(id).unset(|b| b.gift.good).await.map(drop)
                })
            }
            (4, Some((id, mut after))) => {
                let items = after.get_array_mut("items").expect("items");
                if items.len() < 4 {
                    items.push(doc! { "n": n, "good": to }.into());
                    one("push within", ("baskets", id), Some(after), async move {
                        baskets.update(id).push(|b| b.items, item(n)).await.map(drop)
                    })
                } else {
                    *items = vec![doc! { "n": n, "good": to }.into()];
                    one("set all within", ("baskets", id), Some(after), async move {
                        baskets.update(id).set(|b| b.items, vec![item(n)]).await.map(drop)
                    })
                }
            }
            (5, Some((id, mut after))) => {
                let items = after.get_array_mut("items").expect("items");
                let first = items[0].as_document_mut().expect("an item");
                let n = first.get_i32("n").expect("a number");
                // Others may have the same number.
                for item in items.iter_mut().filter_map(Bson::as_document_mut) {
                    if item.get_i32("n").ok() == Some(n) {
                        item.insert("good", to);
                    }
                }
                one("set in an item", ("baskets", id), Some(after), async move {
                    let update = baskets.update(id);
                    let update = update.elem(|b| b.items, |i| i.n.eq(n), |i| i.set(|i| i.good, Ref::new(to)));
                    update.await.map(drop)
                })
            }
            (_, Some((id, _))) => one("delete a basket", ("baskets", id), None, async move {
                baskets.delete(id).optional().await.map(drop)
            }),
        }
    }

    /// One side of a two-way reference, whose other side is in a document of all tasks.
    fn member(&mut self, odm: Odm) -> Operation {
        let to = self.random.below(SOURCES);
        let (members, teams) = (odm.collection::<Member>(), odm.collection::<Team>());
        let picked = self.pick("members");
        match (self.random.below(9), picked) {
            (0 | 1, _) | (_, None) => {
                let id = self.id();
                let name = format!("member {id}");
                let fan_of = self.random.below(SOURCES);
                let mut after = doc! { "_id": id, "name": &name, "fan_of": fan_of };
                let team = (self.random.below(4) > 0).then_some(to);
                if let Some(team) = team {
                    after.insert("team", team);
                }
                let new = NewMember {
                    id,
                    name,
                    team: team.map(Ref::new),
                    fan_of: Some(Ref::new(fan_of)),
                };
                one("insert a member", ("members", id), Some(after), async move {
                    members.insert(new).await.map(drop)
                })
            }
            (2 | 3, Some((id, mut after))) => {
                after.insert("team", to);
                one("move a member", ("members", id), Some(after), async move {
                    members.update(id).set(|m| m.team, Ref::new(to)).await.map(drop)
                })
            }
            (4, Some((id, mut after))) => {
                after.remove("team");
                one("unset a team", ("members", id), Some(after), async move {
                    members.update(id).unset(|m| m.team).await.map(drop)
                })
            }
            (5, Some((id, mut after))) => {
                after.insert("fan_of", to);
                one("set beside a link", ("members", id), Some(after), async move {
                    members.update(id).set(|m| m.fan_of, Ref::new(to)).await.map(drop)
                })
            }
            (6, Some((id, mut after))) => {
                after.insert("team", to);
                one("push a member", ("members", id), Some(after), async move {
                    teams.update(to).push(|t| t.members, Ref::new(id)).await.map(drop)
                })
            }
            (7, Some((id, mut after))) if after.contains_key("team") => {
                let team = after.get_i32("team").expect("an id");
                after.remove("team");
                one("pull a member", ("members", id), Some(after), async move {
                    teams
                        .update(team)
                        .pull(|t| t.members, Ref::new(id))
                        .await
                        .map(drop)
                })
            }
            (_, Some((id, _))) => one("delete a member", ("members", id), None, async move {
                members.delete(id).optional().await.map(drop)
            }),
        }
    }

    /// Documents that come and go with one that they refer to, and count in another.
    fn poll(&mut self, odm: Odm) -> Operation {
        let text = format!("{}", self.random.below(1_000_000));
        let (to, weight) = (self.random.below(SOURCES), self.random.below(100));
        let (polls, ballots) = (odm.collection::<Poll>(), odm.collection::<Ballot>());
        let (choice, poll, ballot) = (self.random.below(9), self.pick("polls"), self.pick("ballots"));
        match (choice, poll, ballot) {
            (0, ..) | (_, None, _) => {
                let id = self.id();
                let after = doc! { "_id": id, "name": &text };
                one("insert a poll", ("polls", id), Some(after), async move {
                    polls.insert(NewPoll { id, name: text }).await.map(drop)
                })
            }
            (1, Some((id, mut after)), _) => {
                after.insert("name", &text);
                one("rename a poll", ("polls", id), Some(after), async move {
                    polls.update(id).set(|p| p.name, text).await.map(drop)
                })
            }
            (2, Some((id, _)), _) => {
                let mut after = vec![(("polls", id), None)];
                let of = self.own.iter().filter(|((collection, _), document)| {
                    *collection == "ballots" && document.get_i32("poll").ok() == Some(id)
                });
                after.extend(of.map(|(key, _)| (*key, None)));
                some("delete, cascade", after, async move {
                    polls.delete(id).optional().await.map(drop)
                })
            }
            (3, _, Some((id, mut after))) => {
                after.insert("district", to);
                one("move a ballot", ("ballots", id), Some(after), async move {
                    ballots
                        .update(id)
                        .set(|b| b.district, Ref::new(to))
                        .await
                        .map(drop)
                })
            }
            (4, Some((poll, _)), Some((id, mut after))) => {
                after.insert("poll", poll);
                after.insert("weight", weight);
                one("set a ballot", ("ballots", id), Some(after), async move {
                    let update = ballots.update(id).set(|b| b.poll, Ref::new(poll));
                    update.set(|b| b.weight, weight).await.map(drop)
                })
            }
            (5, _, Some(_)) => {
                let mine: Vec<i32> = self.all("ballots").take(3).collect();
                let after = mine.iter().map(|id| (("ballots", *id), None)).collect();
                some("delete_where", after, async move {
                    ballots.delete_where(|b| b.id.in_(mine)).await.map(drop)
                })
            }
            (_, Some((poll, _)), _) => {
                let new: Vec<NewBallot> = (0..3)
                    .map(|n| NewBallot {
                        id: self.id(),
                        weight: weight + n,
                        note: SECRET.into(),
                        poll: Ref::new(poll),
                        district: Ref::new((to + 7 * n) % SOURCES),
                    })
                    .collect();
                let after = new.iter().map(|ballot| {
                    let (id, district) = (ballot.id, *ballot.district.key());
                    let after = doc! { "_id": id, "weight": ballot.weight, "note": SECRET, "poll": poll, "district": district };
                    (("ballots", id), Some(after))
                });
                some("insert_many", after.collect(), async move {
                    ballots.insert_many(new).await.map(drop)
                })
            }
        }
    }

    /// An item of a bucket, in which all tasks have items.
    fn comment(&mut self, odm: Odm) -> Operation {
        let post = self.random.below(SOURCES);
        let (stars, at) = (self.random.below(10), self.random.below(1_000));
        let comments = odm.buckets::<Comment>();
        let new = move |n: i32| Comment {
            n,
            text: "new".into(),
            stars,
            at: DateTime::from_millis(i64::from(at)),
        };
        let after = |n: i32| {
            let at = DateTime::from_millis(i64::from(at));
            doc! { "n": n, "text": "new", "stars": stars, "at": at, "post": post }
        };
        let picked = self.pick("comments");
        match (self.random.below(8), picked) {
            (0..=2, _) | (_, None) => {
                let n = self.id();
                one("push a comment", ("comments", n), Some(after(n)), async move {
                    comments.push(post, new(n)).await.map(drop)
                })
            }
            (3, _) => {
                let all: Vec<i32> = (0..4).map(|_| self.id()).collect();
                let after = all.iter().map(|n| (("comments", *n), Some(after(*n)))).collect();
                some("push many comments", after, async move {
                    comments.push_many(post, all.into_iter().map(new)).await.map(drop)
                })
            }
            (4 | 5, Some((n, mut after))) => {
                let post = after.get_i32("post").expect("an id");
                after.insert("stars", stars);
                one("edit a comment", ("comments", n), Some(after), async move {
                    let edited = comments.edit(post, |c| c.n.eq(n), |c| c.set(|c| c.stars, stars));
                    edited.await.map(drop)
                })
            }
            (6, Some((n, mut after))) => {
                let post = after.get_i32("post").expect("an id");
                let at = DateTime::from_millis(i64::from(at));
                after.insert("at", at);
                one("edit a time", ("comments", n), Some(after), async move {
                    let edited = comments.edit(post, |c| c.n.eq(n), |c| c.set(|c| c.at, at));
                    edited.await.map(drop)
                })
            }
            _ => self.delete_comment(&odm).expect("one was picked"),
        }
    }

    fn delete_comment(&mut self, odm: &Odm) -> Option<Operation> {
        let (n, comment) = self.pick("comments")?;
        let (post, comments) = (comment.get_i32("post").ok()?, odm.buckets::<Comment>());
        Some(one("delete a comment", ("comments", n), None, async move {
            comments.delete(post, |c| c.n.eq(n)).await.map(drop)
        }))
    }

    /// The same by time.
    fn reading(&mut self, odm: Odm) -> Operation {
        let sensor = self.random.below(SOURCES);
        let (degrees, minute) = (self.random.below(10), self.random.below(240));
        let readings = odm.buckets::<Reading>();
        let time = |minute: i32| DateTime::from_millis(i64::from(minute) * 60_000);
        let picked = self.pick("readings");
        match (self.random.below(8), picked) {
            (0..=2, _) | (_, None) => {
                let n = self.id();
                let at = time(minute);
                let after = doc! { "n": n, "at": at, "degrees": degrees, "sensor": sensor };
                one("push a reading", ("readings", n), Some(after), async move {
                    readings.push(sensor, Reading { n, at, degrees }).await.map(drop)
                })
            }
            (3, _) => {
                // Of one hour, the next one, and the first one again.
                let new: Vec<Reading> = [0, 60, 1, 0]
                    .iter()
                    .map(|later| Reading {
                        n: self.id(),
                        at: time(minute + later),
                        degrees,
                    })
                    .collect();
                let after = new.iter().map(|r| {
                    let after = doc! { "n": r.n, "at": r.at, "degrees": degrees, "sensor": sensor };
                    (("readings", r.n), Some(after))
                });
                some("push many readings", after.collect(), async move {
                    readings.push_many(sensor, new).await.map(drop)
                })
            }
            (4..=6, Some((n, mut after))) => {
                let sensor = after.get_i32("sensor").expect("an id");
                let was = after.get_datetime("at").expect("a time").timestamp_millis();
                let within = i64::from(minute % 60) * 60_000;
                let at = DateTime::from_millis(was - was % 3_600_000 + within);
                let sum = after.get_i32("degrees").expect("a number") + 1;
                after.insert("at", at);
                after.insert("degrees", sum);
                one("edit a reading", ("readings", n), Some(after), async move {
                    let edited = readings.edit(
                        sensor,
                        |r| r.n.eq(n),
                        |r| r.set(|r| r.at, at).inc(|r| r.degrees, 1),
                    );
                    edited.await.map(drop)
                })
            }
            _ => self.delete_reading(&odm).expect("one was picked"),
        }
    }

    fn delete_reading(&mut self, odm: &Odm) -> Option<Operation> {
        let (n, reading) = self.pick("readings")?;
        let (sensor, readings) = (reading.get_i32("sensor").ok()?, odm.buckets::<Reading>());
        Some(one("delete a reading", ("readings", n), None, async move {
            readings.delete(sensor, |r| r.n.eq(n)).await.map(drop)
        }))
    }

    /// One side of a many-to-many, whose other side is in documents of all tasks.
    fn acrobat(&mut self, odm: Odm) -> Operation {
        let to = self.random.below(SOURCES);
        let (acrobats, circuses) = (odm.collection::<Acrobat>(), odm.collection::<Circus>());
        let picked = self.pick("acrobats");
        let several: Vec<i32> = (0..self.random.below(4))
            .map(|n| (to + n * 5) % SOURCES)
            .collect();
        let refs = |ids: &[i32]| ids.iter().map(|id| Ref::new(*id)).collect::<Vec<_>>();
        let linked = |acrobat: &Raw| -> Vec<i32> {
            let ids = acrobat.get_array("circuses").expect("an array");
            ids.iter().filter_map(Bson::as_i32).collect()
        };
        match (self.random.below(11), picked) {
            (0 | 1, _) | (_, None) => {
                let id = self.id();
                let name = format!("acrobat {id}");
                let home = self.random.below(SOURCES);
                let life = format!("life of {id}");
                let after =
                    doc! { "_id": id, "name": &name, "life": &life, "circuses": &several, "home": home };
                let new = NewAcrobat {
                    id,
                    name,
                    life,
                    circuses: refs(&several),
                    home: Some(Ref::new(home)),
                };
                one("insert an acrobat", ("acrobats", id), Some(after), async move {
                    acrobats.insert(new).await.map(drop)
                })
            }
            (n @ 2..=5, Some((id, mut after))) => {
                let mut ids = linked(&after);
                let other_side = n % 2 == 0;
                let push = ids.len() < 4 && !ids.contains(&to);
                let circus = if push {
                    ids.push(to);
                    to
                } else {
                    ids.remove(self.random.below(ids.len() as i32) as usize)
                };
                after.insert("circuses", ids);
                one("link or unlink", ("acrobats", id), Some(after), async move {
                    let (acrobat, there) = (acrobats.update(id), circuses.update(circus));
                    let (circus, id) = (Ref::new(circus), Ref::new(id));
                    match (other_side, push) {
                        (false, true) => acrobat.push(|a| a.circuses, circus).await.map(drop),
                        (false, false) => acrobat.pull(|a| a.circuses, circus).await.map(drop),
                        (true, true) => there.push(|c| c.acrobats, id).await.map(drop),
                        (true, false) => there.pull(|c| c.acrobats, id).await.map(drop),
                    }
                })
            }
            (6, Some((id, mut after))) => {
                after.insert("circuses", &several);
                one("set all links", ("acrobats", id), Some(after), async move {
                    acrobats
                        .update(id)
                        .set(|a| a.circuses, refs(&several))
                        .await
                        .map(drop)
                })
            }
            (7, Some((id, mut after))) => {
                let mut ids = linked(&after);
                ids.pop();
                after.insert("circuses", ids);
                one("pop a link", ("acrobats", id), Some(after), async move {
                    acrobats.update(id).pop(|a| a.circuses).await.map(drop)
                })
            }
            (8, Some((id, _))) => {
                let name = format!("acrobat of {to}");
                let life = format!("life of {id}");
                let after = doc! { "_id": id, "name": &name, "life": life, "circuses": &several, "home": to };
                one("replace an acrobat", ("acrobats", id), Some(after), async move {
                    let Some(mut now) = acrobats.get(id).await? else {
                        return Ok(());
                    };
                    now.name = name;
                    now.circuses = refs(&several);
                    now.home = Some(Ref::new(to));
                    acrobats.replace(now).await.map(drop)
                })
            }
            (9, Some((id, mut after))) => {
                after.insert("home", to);
                let mut ids = linked(&after);
                let gone = (!ids.is_empty()).then(|| ids.remove(0));
                after.insert("circuses", ids);
                one(
                    "unlink and set a copy's reference",
                    ("acrobats", id),
                    Some(after),
                    async move {
                        let mut update = acrobats.update(id).set(|a| a.home, Ref::new(to));
                        if let Some(gone) = gone {
                            update = update.pull(|a| a.circuses, Ref::new(gone));
                        }
                        update.await.map(drop)
                    },
                )
            }
            (_, Some((id, _))) => one("delete an acrobat", ("acrobats", id), None, async move {
                acrobats.delete(id).optional().await.map(drop)
            }),
        }
    }

    /// A write of what the other tasks write too.
    fn contended(&mut self, odm: Odm) -> Operation {
        let number = self.id();
        let (till, stub) = (self.random.below(TILLS), self.random.below(STUBS));
        let amount = 1 + self.random.below(100);
        let event = |key: Key, deed: Deed| Event {
            number,
            key,
            deed,
            done: None,
        };
        let key = ("stubs", stub);
        let put = vec![event(key, Deed::Put { till, amount })];
        let (tills, stubs) = (odm.collection::<Till>(), odm.collection::<Stub>());
        // There the sources alone are written by all.
        let kinds = if self.stands_still { 2 } else { 9 };
        match self.random.below(kinds) {
            0 | 1 => {
                let events = vec![event(("tills", till), Deed::Collect(amount.into()))];
                contended("collect", events, async move {
                    let update = tills.update(till).set(|t| t.name, format!("{number}"));
                    let update = update
                        .inc(|t| t.total, i64::from(amount))
                        .push(|t| t.done, number);
                    update.await.map(drop)
                })
            }
            2 => contended("move", vec![event(key, Deed::Move(till))], async move {
                let update = stubs.update(stub).set(|s| s.till, Ref::new(till));
                update.push(|s| s.done, number).await.map(drop)
            }),
            3 => contended("add", vec![event(key, Deed::Add(amount))], async move {
                let update = stubs.update(stub).inc(|s| s.amount, amount);
                update.push(|s| s.done, number).await.map(drop)
            }),
            4 => {
                let ids = [stub % STAYING, (stub + 1) % STAYING];
                let events = ids.map(|id| event(("stubs", id), Deed::Add(amount)));
                contended("add to several", events.into(), async move {
                    let update = stubs.update_where(|s| s.id.in_(ids));
                    let update = update.inc(|s| s.amount, amount).push(|s| s.done, number);
                    update.await.map(drop)
                })
            }
            5 => contended("replace", put, async move {
                let mut now = stubs.get(stub).required().await?;
                now.amount = amount;
                now.till = Ref::new(till);
                now.done.push(number);
                stubs.replace(now).await.map(drop)
            }),
            6 => contended("upsert", put, async move {
                let update = stubs.update(stub).set(|s| s.amount, amount);
                let update = update.set(|s| s.till, Ref::new(till)).push(|s| s.done, number);
                update.upsert().await.map(drop)
            }),
            7 if stub >= STAYING => contended("delete", vec![event(key, Deed::Delete)], async move {
                stubs.delete(stub).optional().await.map(drop)
            }),
            _ => contended("insert", put, async move {
                let new = NewStub {
                    id: stub,
                    amount,
                    done: vec![number],
                    till: Ref::new(till),
                };
                stubs.insert(new).await.map(drop)
            }),
        }
    }

    /// Several writes as one, where there are transactions.
    fn transaction(&mut self, odm: Odm) -> Operation {
        if self.alone {
            return self.sources(odm);
        }
        let to = self.random.below(SOURCES);
        let text = format!("{}", self.random.below(1_000_000));
        let stars = self.random.below(100);
        let mut after: Vec<(Key, Option<Raw>)> = Vec::new();
        let (host, mut renamed) = self.source("hosts");
        renamed.insert("name", &text);
        after.push((("hosts", host), Some(renamed)));
        let log = self.id();
        let new = doc! { "_id": log, "text": SECRET, "host": to };
        after.push((("logs", log), Some(new)));
        let vote = self.id();
        let new = doc! { "_id": vote, "stars": stars, "public": true, "tags": [], "above": to };
        after.push((("votes", vote), Some(new)));
        let review = self.pick("reviews").map(|(id, mut moved)| {
            moved.insert("above", to);
            after.push((("reviews", id), Some(moved)));
            id
        });
        let street = self.pick("streets").map(|(id, _)| {
            after.push((("streets", id), None));
            id
        });
        let member = self.pick("members").map(|(id, mut moved)| {
            moved.insert("team", to);
            after.push((("members", id), Some(moved)));
            id
        });
        let comment = (self.random.below(2) == 0).then(|| self.id());
        if let Some(n) = comment {
            let at = DateTime::from_millis(i64::from(stars));
            let new = doc! { "n": n, "text": "new", "stars": stars, "at": at, "post": to };
            after.push((("comments", n), Some(new)));
        }
        let poll = self.pick("polls").map(|(id, _)| {
            after.push((("polls", id), None));
            let of = self.own.iter().filter(|((collection, _), document)| {
                *collection == "ballots" && document.get_i32("poll").ok() == Some(id)
            });
            after.extend(of.map(|(key, _)| (*key, None)));
            id
        });
        let (number, till, amount) = (self.id(), self.random.below(TILLS), self.random.below(100));
        let event = Event {
            number,
            key: ("tills", till),
            deed: Deed::Collect(amount.into()),
            done: None,
        };
        let run = async move {
            let work = async |tx: odm::Tx| {
                let tills = tx.collection::<Till>();
                let update = tills.update(till);
                let update = update
                    .set(|t| t.name, format!("{number}"))
                    .inc(|t| t.total, i64::from(amount));
                update.push(|t| t.done, number).await?;
                let hosts = tx.collection::<Host>();
                hosts.update(host).set(|h| h.name, &text).await?;
                let new = NewLog {
                    id: log,
                    text: SECRET.into(),
                    host: Ref::new(to),
                };
                tx.collection::<Log>().insert(new).await?;
                let new = NewVote {
                    id: vote,
                    text: None,
                    stars,
                    public: true,
                    tags: vec![],
                    above: Ref::new(to),
                };
                tx.collection::<Vote>().insert(new).await?;
                if let Some(id) = review {
                    let reviews = tx.collection::<Review>();
                    reviews.update(id).set(|r| r.above, Ref::new(to)).await?;
                }
                if let Some(id) = street {
                    tx.collection::<Street>().delete(id).optional().await?;
                }
                if let Some(id) = member {
                    let teams = tx.collection::<Team>();
                    teams.update(to).push(|t| t.members, Ref::new(id)).await?;
                }
                if let Some(n) = comment {
                    let at = DateTime::from_millis(i64::from(stars));
                    let text = "new".into();
                    let comments = tx.buckets::<Comment>();
                    comments.push(to, Comment { n, text, stars, at }).await?;
                }
                if let Some(id) = poll {
                    tx.collection::<Poll>().delete(id).optional().await?;
                }
                Ok(())
            };
            odm.transaction(work).await
        };
        Operation {
            name: "transaction",
            after,
            whole: true,
            events: vec![event],
            run: run.map_ok(|()| true).boxed(),
            again: None,
        }
    }

    /// A parent comes, after its children or before them, or goes and leaves them.
    fn well(&mut self, odm: Odm) -> Operation {
        let id = self.number + TASKS * self.random.below(WELLS / TASKS);
        let name = format!("{}", self.random.below(1_000_000));
        let after = doc! { "_id": id, "name": &name };
        let there = self.own.contains_key(&("wells", id));
        match self.random.below(3) {
            0 if there => one("delete a parent", ("wells", id), None, async move {
                odm.collection::<Well>().delete(id).optional().await.map(drop)
            }),
            0 => one("insert a parent", ("wells", id), Some(after), async move {
                odm.collection::<Well>()
                    .insert(NewWell { id, name })
                    .await
                    .map(drop)
            }),
            _ => one("upsert a parent", ("wells", id), Some(after), async move {
                let wells = odm.collection::<Well>();
                wells.update(id).set(|w| w.name, name).upsert().await.map(drop)
            }),
        }
    }

    /// A child that does not ask for its parent.
    fn sample(&mut self, odm: Odm) -> Operation {
        let (well, depth) = (self.random.below(WELLS), self.random.below(100));
        match (self.random.below(5), self.pick("samples")) {
            (0, Some((id, _))) => one(
                "delete a child that need not ask",
                ("samples", id),
                None,
                async move { odm.collection::<Sample>().delete(id).optional().await.map(drop) },
            ),
            (1, Some((id, mut after))) => {
                after.insert("well", well);
                one(
                    "move a child that need not ask",
                    ("samples", id),
                    Some(after),
                    async move {
                        let samples = odm.collection::<Sample>();
                        samples.update(id).set(|s| s.well, Ref::new(well)).await.map(drop)
                    },
                )
            }
            (2, Some((id, mut after))) => {
                after.insert("depth", depth);
                one(
                    "set a child that need not ask",
                    ("samples", id),
                    Some(after),
                    async move {
                        let samples = odm.collection::<Sample>();
                        samples.update(id).set(|s| s.depth, depth).await.map(drop)
                    },
                )
            }
            _ => {
                let id = self.id();
                let after = doc! { "_id": id, "depth": depth, "well": well };
                let new = NewSample {
                    id,
                    depth,
                    well: Ref::new(well),
                };
                one(
                    "insert a child that need not ask",
                    ("samples", id),
                    Some(after),
                    async move { odm.collection::<Sample>().insert(new).await.map(drop) },
                )
            }
        }
    }

    fn insert_log(&mut self, odm: Odm, host: i32) -> Operation {
        let id = self.id();
        let after = doc! { "_id": id, "text": SECRET, "host": host };
        let new = NewLog {
            id,
            text: SECRET.into(),
            host: Ref::new(host),
        };
        one("insert", ("logs", id), Some(after), async move {
            odm.collection::<Log>().insert(new).await.map(drop)
        })
    }
}
