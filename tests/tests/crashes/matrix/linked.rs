//! The rows of two-way references without any copies: many to many, one to one, and within one collection.
//!
//! How copies follow makes no difference to them, so that what is `eventual` does here what is `atomic` does.

use super::{Edge, Effect, Row};
use crate::links::{Author, Book, Node, author, book, node, refs};
use futures::FutureExt;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "pilots", version)]
pub struct Pilot {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    #[reference(inverse = pilot)]
    pub plane: Option<Ref<Plane>>,
    pub version: i64,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "planes", version)]
pub struct Plane {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    #[reference(inverse = plane)]
    pub pilot: Option<Ref<Pilot>>,
    pub version: i64,
}

pub fn edges() -> Vec<Edge> {
    vec![many_to_many(), one_to_one(), within_one_collection()]
}

fn many_to_many() -> Edge {
    Edge {
        name: "many to many",
        models: || models![Author, Book].into(),
        copies: &[],
        setup: |odm| {
            async move {
                let authors = (1..=4).map(|id| author(id, &[]));
                odm.collection::<Author>().insert_many(authors).await?;
                let books = [book(1, &[1, 2]), book(2, &[1]), book(3, &[2, 3]), book(4, &[])];
                odm.collection::<Book>().insert_many(books).await?;
                Ok(())
            }
            .boxed()
        },
        again: |odm| {
            async move {
                let books = odm.collection::<Book>();
                let set = vec![Ref::new(4)];
                books.update_where(|b| b.id.lt(3)).set(|b| b.authors, set).await?;
                Ok(())
            }
            .boxed()
        },
        rows: vec![
            row!("insert", Linked, |odm| {
                odm.collection::<Book>().insert(book(5, &[1, 4])).await?;
            }),
            row!("insert_many", Linked, |odm| {
                let books = [book(5, &[1, 4]), book(6, &[4])];
                odm.collection::<Book>().insert_many(books).await?;
            }),
            row!("insert the other side", Linked, |odm| {
                odm.collection::<Author>().insert(author(5, &[1, 4])).await?;
            }),
            row!("push", Linked, |odm| {
                let books = odm.collection::<Book>();
                books.update(4).push(|b| b.authors, Ref::new(1)).await?;
            }),
            row!("push_all", Linked, |odm| {
                let authors = odm.collection::<Author>();
                authors.update(4).push_all(|a| a.books, refs(&[2, 4])).await?;
            }),
            row!("pull", Linked, |odm| {
                let books = odm.collection::<Book>();
                books.update(1).pull(|b| b.authors, Ref::new(1)).await?;
            }),
            row!("pop on the other side", Linked, |odm| {
                odm.collection::<Author>().update(1).pop(|a| a.books).await?;
            }),
            row!("set the array", Linked, |odm| {
                let books = odm.collection::<Book>();
                books.update(1).set(|b| b.authors, refs(&[3, 4])).await?;
            }),
            row!("push with update_where", Linked, |odm| {
                let books = odm.collection::<Book>();
                books
                    .update_where(|b| b.id.gt(1))
                    .push(|b| b.authors, Ref::new(4))
                    .await?;
            }),
            row!("upsert", Linked, |odm| {
                let books = odm.collection::<Book>();
                books
                    .update(9)
                    .set(|b| b.title, "new")
                    .set(|b| b.authors, refs(&[1, 3]))
                    .upsert()
                    .await?;
            }),
            row!("replace", Linked, |odm| {
                let new = Book {
                    id: 1,
                    title: "new".into(),
                    authors: refs(&[4, 2]),
                };
                odm.collection::<Book>().replace(new).await?;
            }),
            row!("delete", LinkedParts, |odm| {
                odm.collection::<Book>().delete(1).optional().await?;
            }),
            row!("delete_where", LinkedParts, |odm| {
                odm.collection::<Author>().delete_where(|a| a.id.lt(3)).await?;
            }),
            row!("bulk", Linked, |odm| {
                odm.bulk()
                    .add(odm.collection().insert(book(5, &[1])))
                    .add(odm.collection().insert(author(5, &[4])))
                    .add(
                        odm.collection::<Book>()
                            .update(3)
                            .pull(|b| b.authors, Ref::new(2)),
                    )
                    .await?;
            }),
            row!("transaction", Transaction, |odm| {
                odm.transaction(async |tx| {
                    let books = tx.collection::<Book>();
                    books.insert(book(5, &[1, 4])).await?;
                    books.update(1).pull(|b| b.authors, Ref::new(1)).await?;
                    let authors = tx.collection::<Author>();
                    authors.update(3).push(|a| a.books, Ref::new(5)).await?;
                    books.delete(2).optional().await?;
                    Ok(())
                })
                .await?;
            }),
        ],
    }
}

fn pilot(id: i32, plane: Option<i32>) -> NewPilot {
    NewPilot {
        id,
        name: format!("pilot {id}"),
        plane: plane.map(Ref::new),
    }
}

fn plane(id: i32, pilot: Option<i32>) -> NewPlane {
    NewPlane {
        id,
        name: format!("plane {id}"),
        pilot: pilot.map(Ref::new),
    }
}

fn one_to_one() -> Edge {
    Edge {
        name: "one to one",
        models: || models![Pilot, Plane].into(),
        copies: &[],
        setup: |odm| {
            async move {
                let pilots = (1..=3).map(|id| pilot(id, None));
                odm.collection::<Pilot>().insert_many(pilots).await?;
                let planes = [plane(1, Some(1)), plane(2, Some(2)), plane(3, None)];
                odm.collection::<Plane>().insert_many(planes).await?;
                Ok(())
            }
            .boxed()
        },
        again: |odm| {
            async move {
                // Of those who are there whatever was deleted.
                let planes = odm.collection::<Plane>();
                planes.update(3).set(|p| p.pilot, Ref::new(3)).await?;
                planes.update(3).set(|p| p.pilot, Ref::new(2)).await?;
                Ok(())
            }
            .boxed()
        },
        rows: vec![
            row!("insert", Linked, |odm| {
                odm.collection::<Plane>().insert(plane(4, Some(3))).await?;
            }),
            row!("insert, taken", Linked, |odm| {
                odm.collection::<Plane>().insert(plane(4, Some(1))).await?;
            }),
            row!("set", Linked, |odm| {
                let pilots = odm.collection::<Pilot>();
                pilots.update(3).set(|p| p.plane, Ref::new(3)).await?;
            }),
            row!("set, both taken", Linked, |odm| {
                let pilots = odm.collection::<Pilot>();
                pilots.update(1).set(|p| p.plane, Ref::new(2)).await?;
            }),
            row!("unset", Linked, |odm| {
                odm.collection::<Pilot>().update(1).unset(|p| p.plane).await?;
            }),
            row!("upsert", Linked, |odm| {
                let planes = odm.collection::<Plane>();
                planes
                    .update(9)
                    .set(|p| p.name, "new")
                    .set(|p| p.pilot, Ref::new(1))
                    .upsert()
                    .await?;
            }),
            row!("replace", Linked, |odm| {
                let new = Plane {
                    id: 1,
                    name: "new".into(),
                    pilot: Some(Ref::new(2)),
                    version: 1,
                };
                odm.collection::<Plane>().replace(new).await?;
            }),
            row!("delete", LinkedParts, |odm| {
                odm.collection::<Pilot>().delete(1).optional().await?;
            }),
            row!("delete the other side", LinkedParts, |odm| {
                odm.collection::<Plane>().delete(1).optional().await?;
            }),
            row!("insert_many", Linked, |odm| {
                let planes = [plane(4, Some(3)), plane(5, Some(1))];
                odm.collection::<Plane>().insert_many(planes).await?;
            }),
            row!("update_where", Linked, |odm| {
                let pilots = odm.collection::<Pilot>();
                pilots.update_where(|p| p.id.lt(3)).unset(|p| p.plane).await?;
            }),
            row!("delete_where", LinkedParts, |odm| {
                odm.collection::<Plane>().delete_where(|p| p.id.lt(3)).await?;
            }),
            row!("bulk", Linked, |odm| {
                odm.bulk()
                    .add(odm.collection().insert(plane(4, Some(1))))
                    .add(odm.collection::<Pilot>().update(3).set(|p| p.plane, Ref::new(2)))
                    .await?;
            }),
            row!("transaction", Transaction, |odm| {
                odm.transaction(async |tx| {
                    tx.collection::<Plane>().insert(plane(4, Some(1))).await?;
                    let pilots = tx.collection::<Pilot>();
                    pilots.update(3).set(|p| p.plane, Ref::new(2)).await?;
                    tx.collection::<Plane>().delete(1).optional().await?;
                    Ok(())
                })
                .await?;
            }),
        ],
    }
}

fn within_one_collection() -> Edge {
    Edge {
        name: "within one collection",
        models: || models![Node].into(),
        copies: &[],
        setup: |odm| {
            async move {
                let nodes = odm.collection::<Node>();
                nodes.insert_many((1..=6).map(node)).await?;
                nodes.update(1).set(|n| n.children, refs(&[2, 3])).await?;
                nodes.update(1).set(|n| n.friends, refs(&[2, 4])).await?;
                nodes.update(1).set(|n| n.partner, Ref::new(2)).await?;
                nodes.update(3).set(|n| n.partner, Ref::new(4)).await?;
                Ok(())
            }
            .boxed()
        },
        again: |odm| {
            async move {
                let nodes = odm.collection::<Node>();
                nodes.update(6).set(|n| n.parent, Ref::new(5)).await?;
                nodes.update(6).set(|n| n.friends, refs(&[3, 5])).await?;
                nodes.update(6).set(|n| n.partner, Ref::new(3)).await?;
                Ok(())
            }
            .boxed()
        },
        rows: vec![
            row!("insert", Linked, |odm| {
                let mut new = node(7);
                (new.parent, new.friends) = (Some(Ref::new(1)), refs(&[1, 2]));
                new.partner = Some(Ref::new(5));
                odm.collection::<Node>().insert(new).await?;
            }),
            row!("move below another", Linked, |odm| {
                let nodes = odm.collection::<Node>();
                nodes.update(2).set(|n| n.parent, Ref::new(3)).await?;
            }),
            row!("push a child of another", Linked, |odm| {
                let nodes = odm.collection::<Node>();
                nodes.update(4).push(|n| n.children, Ref::new(3)).await?;
            }),
            row!("push a friend", Linked, |odm| {
                let nodes = odm.collection::<Node>();
                nodes.update(2).push(|n| n.friends, Ref::new(3)).await?;
            }),
            row!("pull a friend", Linked, |odm| {
                let nodes = odm.collection::<Node>();
                nodes.update(4).pull(|n| n.friends, Ref::new(1)).await?;
            }),
            row!("set the friends", Linked, |odm| {
                let nodes = odm.collection::<Node>();
                nodes.update(1).set(|n| n.friends, refs(&[3, 4])).await?;
            }),
            row!("set the partner", Linked, |odm| {
                let nodes = odm.collection::<Node>();
                nodes.update(5).set(|n| n.partner, Ref::new(6)).await?;
            }),
            row!("set a partner, both taken", Linked, |odm| {
                let nodes = odm.collection::<Node>();
                nodes.update(1).set(|n| n.partner, Ref::new(3)).await?;
            }),
            row!("unset the partner", Linked, |odm| {
                odm.collection::<Node>().update(2).unset(|n| n.partner).await?;
            }),
            row!("all at once", Linked, |odm| {
                let nodes = odm.collection::<Node>();
                nodes
                    .update(5)
                    .set(|n| n.parent, Ref::new(1))
                    .push(|n| n.friends, Ref::new(1))
                    .set(|n| n.partner, Ref::new(1))
                    .await?;
            }),
            row!("delete", LinkedParts, |odm| {
                odm.collection::<Node>().delete(1).optional().await?;
            }),
            row!("insert_many", Linked, |odm| {
                let (mut first, mut second) = (node(7), node(8));
                (first.parent, first.friends) = (Some(Ref::new(1)), refs(&[1]));
                second.partner = Some(Ref::new(5));
                odm.collection::<Node>().insert_many([first, second]).await?;
            }),
            row!("update_where", Linked, |odm| {
                let nodes = odm.collection::<Node>();
                let moved = nodes.update_where(|n| n.id.in_([2, 4]));
                moved.set(|n| n.parent, Ref::new(3)).await?;
            }),
            row!("upsert", Linked, |odm| {
                let nodes = odm.collection::<Node>();
                let upsert = nodes.update(9).set(|n| n.parent, Ref::new(1));
                let upsert = upsert
                    .set(|n| n.children, refs(&[4]))
                    .set(|n| n.friends, refs(&[2]));
                upsert.set(|n| n.partner, Ref::new(1)).upsert().await?;
            }),
            row!("replace", Linked, |odm| {
                let new = Node {
                    id: 2,
                    parent: Some(Ref::new(3)),
                    children: vec![],
                    friends: refs(&[4]),
                    partner: Some(Ref::new(5)),
                };
                odm.collection::<Node>().replace(new).await?;
            }),
            row!("delete_where", LinkedParts, |odm| {
                odm.collection::<Node>().delete_where(|n| n.id.lt(3)).await?;
            }),
            row!("bulk", Linked, |odm| {
                let mut new = node(7);
                new.friends = refs(&[2]);
                odm.bulk()
                    .add(odm.collection().insert(new))
                    .add(odm.collection::<Node>().update(2).set(|n| n.parent, Ref::new(3)))
                    .add(odm.collection::<Node>().update(1).set(|n| n.partner, Ref::new(5)))
                    .await?;
            }),
            row!("transaction", Transaction, |odm| {
                odm.transaction(async |tx| {
                    let nodes = tx.collection::<Node>();
                    nodes.update(2).set(|n| n.parent, Ref::new(3)).await?;
                    nodes.update(1).set(|n| n.partner, Ref::new(5)).await?;
                    nodes.delete(4).optional().await?;
                    Ok(())
                })
                .await?;
            }),
        ],
    }
}
