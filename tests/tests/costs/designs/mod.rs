//! What each design costs: the tables of its chapter, measured. The models are those of the chapters.

use odm::prelude::*;
use odm_book::designs::{many_to_many, one_to_few, one_to_many, one_to_one, split, squillions, two_way};
use odm_tests::{TestDb, assert_clean, with_transactions};

/// A chapter: its text, and its models as the compiler reads them.
macro_rules! chapter {
    ($page:literal, $models:literal) => {
        chapter!($page, $models, None)
    };
    ($page:literal, $models:literal, $part:expr) => {
        Chapter {
            part: $part,
            page: include_str!(concat!("../../../../book/src/designs/", $page)),
            models: include_str!(concat!("../../../../book/designs/", $models)),
            rows: Vec::new(),
        }
    };
}

/// The measurements of a chapter.
struct Chapter {
    /// The heading above the table within the section of the costs, where the page has several.
    part: Option<&'static str>,
    page: &'static str,
    models: &'static str,
    rows: Vec<(&'static str, Vec<String>)>,
}

impl Chapter {
    /// The commands that an operation sent; its result is returned.
    async fn row<T>(&mut self, t: &TestDb, operation: &'static str, work: impl IntoFuture<Output = T>) -> T {
        t.commands.clear();
        let result = work.await;
        let commands = t.commands.take().into_iter();
        let commands = commands.map(|name| name.replace("Transaction", "")).collect();
        self.rows.push((operation, commands));
        result
    }

    /// That the chapter shows these models, and a table with these rows and no others.
    fn compare(self) {
        // With the lines that mdBook hides.
        let page = self.page.replace("\n# ", "\n").replace("\n#\n", "\n\n");
        assert!(
            page.contains(self.models),
            "the chapter shows other models than these:\n{}",
            self.models
        );
        let section = self.page.split("\n## What it costs\n").nth(1).unwrap();
        let section = match self.part {
            None => section.split("\n##").next(),
            Some(part) => section.split(&format!("\n### {part}\n")).nth(1),
        };
        let section = section.unwrap();
        let printed: Vec<Vec<&str>> = section
            .lines()
            .filter(|line| line.starts_with('|'))
            .skip(2)
            .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
            .collect();
        let measured: Vec<String> = self
            .rows
            .iter()
            .map(|(what, commands)| row(what, commands))
            .collect();
        assert_eq!(
            printed.len(),
            measured.len(),
            "measured:\n{}",
            measured.join("\n")
        );
        for (printed, (operation, commands)) in printed.iter().zip(&self.rows) {
            let statements = in_short(commands);
            let trips: String = printed[2].chars().take_while(char::is_ascii_digit).collect();
            let trips: usize = trips.parse().unwrap_or_default();
            let right = if printed[2].contains("together") {
                trips < commands.len() && trips > 0
            } else {
                trips == commands.len()
            };
            assert!(
                printed[..2] == [*operation, statements.as_str()] && right,
                "the chapter says {printed:?}; measured:\n{}",
                measured.join("\n")
            );
        }
    }
}

fn row(operation: &str, commands: &[String]) -> String {
    format!("| {operation} | {} | {} |", in_short(commands), commands.len())
}

/// `find`, `find`, `update` as `2 find, update`.
fn in_short(commands: &[String]) -> String {
    let runs = commands.chunk_by(|a, b| a == b).map(|run| match run.len() {
        1 => run[0].clone(),
        n => format!("{n} {}", run[0]),
    });
    runs.collect::<Vec<_>>().join(", ")
}

/// A handle that has written and asked once what is asked once.
async fn odm(t: &TestDb, models: impl IntoIterator<Item = odm::Model>) -> Odm {
    let odm = Odm::new(t.db.clone(), models).unwrap();
    odm.sync().await.unwrap();
    odm_tests::require_lookup_with_pipeline(&odm).await;
    odm
}

/// On a cluster, without a declared shard key, the document of a link is read by one command and changed by another: one round trip more.
async fn one_command_for_a_link(odm: &Odm) {
    odm_tests::require_no_cluster(odm).await;
}

#[odm_tests::test]
fn one_to_few_costs_what_its_chapter_says() {
    use one_to_few::*;
    with_transactions(async |t| {
        let mut chapter = chapter!("one-to-few.md", "one_to_few.rs");
        let odm = odm(&t, models![Person]).await;
        let people = odm.collection::<Person>();
        let address = |n: i32| Address {
            street: format!("{n} Main St"),
            city: "Anytown".into(),
            cc: "USA".into(),
        };
        let person = |ssn: i32, addresses: i32| NewPerson {
            name: "Kate Monster".into(),
            ssn: ssn.to_string(),
            addresses: (0..addresses).map(address).collect(),
        };
        let full = people.insert(person(0, 10)).await.unwrap();
        let kate = chapter.row(&t, "insert a person", people.insert(person(1, 2)));
        let kate = kate.await.unwrap();
        chapter
            .row(&t, "read a person with the addresses", people.get(kate.id))
            .await
            .unwrap();
        let update = || people.update(kate.id);
        let push = update().push(|p| p.addresses, address(3));
        chapter.row(&t, "add an address", push).await.unwrap();
        let street = update().elem(
            |p| p.addresses,
            |a| a.street.eq("0 Main St"),
            |a| a.set(|a| a.cc, "US"),
        );
        chapter.row(&t, "change an address", street).await.unwrap();
        let pull = update().pull_where(|p| p.addresses, |a| a.street.eq("1 Main St"));
        chapter.row(&t, "remove an address", pull).await.unwrap();
        let push = people.update(full.id).push(|p| p.addresses, address(11));
        let refused = chapter.row(&t, "add an address to a full array", push).await;
        assert!(matches!(refused, Err(odm::Error::ArrayFull { .. })));
        let page = people
            .find(|p| p.addresses.city.eq("Anytown"))
            .sort(|p| p.name.asc());
        let page = chapter
            .row(&t, "a page of the people in a city", page.page(20))
            .await;
        assert_eq!(page.unwrap().items.len(), 2);
        chapter.compare();
    });
}

#[odm_tests::test]
fn one_to_one_costs_what_its_chapter_says() {
    use one_to_one::*;
    with_transactions(async |t| {
        let mut chapter = chapter!("one-to-one.md", "one_to_one.rs");
        let odm = odm(&t, models![User, Membership]).await;
        let (users, memberships) = (odm.collection::<User>(), odm.collection::<Membership>());
        let user = |id| NewUser {
            id,
            name: "Peter".into(),
            address: Some(Address {
                street: "100 some road".into(),
                city: "Nevermore".into(),
            }),
        };
        users.insert(user(2)).await.unwrap();
        let insert = users.insert(user(1));
        let peter = chapter
            .row(&t, "insert a user with the address", insert)
            .await
            .unwrap();
        let read = chapter.row(&t, "read a user with the address", users.get(1));
        read.await.unwrap();
        let set = users.update(1).set(|u| u.address.street, "7 Raven Lane");
        chapter
            .row(&t, "change a field of the address", set)
            .await
            .unwrap();
        let new = NewMembership {
            number: 4711,
            since: DateTime::now(),
            user: peter.to_ref(),
        };
        let insert = memberships.insert(new);
        chapter.row(&t, "insert a membership", insert).await.unwrap();
        let both = users.find(|u| u.id.eq(1)).include(|u| u.child::<Membership>());
        let both = chapter
            .row(&t, "read a user with the membership", both.one())
            .await;
        assert!(both.unwrap().unwrap().1.is_some());
        let of = memberships.children_of(&peter).one();
        let of = chapter.row(&t, "read the membership of a user at hand", of).await;
        assert!(of.unwrap().is_some());
        let set = memberships.update(4711).set(|m| m.user, Ref::new(2));
        chapter
            .row(&t, "pass a membership to another user", set)
            .await
            .unwrap();
        let page = users
            .find(|u| u.address.city.eq("Nevermore"))
            .include(|u| u.child::<Membership>());
        let page = chapter
            .row(&t, "a page of users with their memberships", page.page(20))
            .await;
        assert_eq!(page.unwrap().items.len(), 2);
        let delete = chapter
            .row(&t, "delete a user with the membership", users.delete(2))
            .await;
        assert_eq!(delete.unwrap().cascaded, 1);
        assert_clean(&odm).await;
        chapter.compare();
    });
}

#[odm_tests::test]
fn a_split_costs_what_its_chapter_says() {
    use split::*;
    with_transactions(async |t| {
        let mut chapter = chapter!("one-to-one.md", "split.rs", Some("Split"));
        let odm = odm(&t, models![Movie, MovieDetails]).await;
        let (movies, details) = (odm.collection::<Movie>(), odm.collection::<MovieDetails>());
        let movie = |id| NewMovie {
            id,
            title: "The Arrival of a Train".into(),
            year: 1896,
            directors: vec![],
        };
        let new = |movie| NewMovieDetails {
            movie: Ref::new(movie),
            plot: String::new(),
            fullplot: String::new(),
        };
        chapter
            .row(&t, "insert a movie", movies.insert(movie(1)))
            .await
            .unwrap();
        let insert = details.insert(new(1));
        chapter.row(&t, "insert its details", insert).await.unwrap();
        let both = odm.transaction(async |tx| {
            tx.collection::<Movie>().insert(movie(2)).await?;
            tx.collection::<MovieDetails>().insert(new(2)).await
        });
        chapter
            .row(&t, "insert both in a transaction", both)
            .await
            .unwrap();
        let list = || movies.find(|m| m.year.lt(1900)).sort(|m| m.year.asc());
        let page = chapter.row(&t, "a page of the list", list().page(20)).await;
        let first = page.unwrap().items.remove(0);
        let of = details.children_of(&first).one();
        let of = chapter.row(&t, "the details of one movie", of).await;
        assert!(of.unwrap().is_some());
        let both = list().include(|m| m.child::<MovieDetails>()).page(20);
        let both = chapter.row(&t, "a page of movies with their details", both).await;
        assert_eq!(both.unwrap().items.len(), 2);
        let update = movies.update(1).set(|m| m.year, 1895);
        chapter.row(&t, "change a movie", update).await.unwrap();
        let of = |id| details.update_where(move |d| d.movie.eq(Ref::new(id)));
        let update = of(1).set(|d| d.plot, "A train arrives.");
        chapter
            .row(&t, "change the details by their movie", update)
            .await
            .unwrap();
        movies.insert(movie(3)).await.unwrap();
        let upsert = of(3).set(|d| d.plot, "").set(|d| d.fullplot, "").upsert();
        let upsert = chapter.row(&t, "upsert the details of a movie", upsert).await;
        assert!(upsert.unwrap().upserted.is_some());
        let delete = movies.delete(1);
        let delete = chapter.row(&t, "delete a movie with its details", delete).await;
        assert_eq!(delete.unwrap().cascaded, 1);
        assert_clean(&odm).await;
        chapter.compare();
    });
}

#[odm_tests::test]
fn one_to_many_costs_what_its_chapter_says() {
    use one_to_many::*;
    with_transactions(async |t| {
        let mut chapter = chapter!("one-to-many.md", "one_to_many.rs");
        let odm = odm(&t, models![Part, Product]).await;
        let (parts, products) = (odm.collection::<Part>(), odm.collection::<Product>());
        let part = |n: i32| NewPart {
            partno: n.to_string(),
            name: "grommet".into(),
            qty: 94,
            price: 399,
        };
        let made = parts.insert_many((0..5).map(part)).await.unwrap();
        chapter
            .row(&t, "insert a part", parts.insert(part(9)))
            .await
            .unwrap();
        let product = NewProduct {
            name: "smoke shifter".into(),
            manufacturer: "Acme Corp".into(),
            catalog_number: 1234,
            parts: made[..3].iter().map(Part::to_ref).collect(),
        };
        let insert = products.insert(product);
        let product = chapter.row(&t, "insert a product with 3 parts", insert).await;
        let product = product.unwrap();
        let read = products.find(|p| p.catalog_number.eq(1234)).include(|p| p.parts);
        let read = chapter
            .row(&t, "read a product with all of its parts", read.one())
            .await;
        assert_eq!(read.unwrap().unwrap().1.len(), 3);
        let page = products.find(|p| p.manufacturer.eq("Acme Corp"));
        let page = page.sort(|p| p.name.asc()).include(|p| p.parts).page(20);
        chapter
            .row(&t, "a page of products with their parts", page)
            .await
            .unwrap();
        let using = products.find(|p| p.parts.contains(made[0].to_ref())).all();
        let using = chapter.row(&t, "the products that use a part", using).await;
        assert_eq!(using.unwrap().len(), 1);
        let update = parts.update(made[0].id).inc(|p| p.qty, -1);
        chapter.row(&t, "change a part", update).await.unwrap();
        let push = products.update(product.id).push(|p| p.parts, made[3].to_ref());
        chapter.row(&t, "add a part to a product", push).await.unwrap();
        let pull = products.update(product.id).pull(|p| p.parts, made[3].to_ref());
        chapter
            .row(&t, "remove a part from a product", pull)
            .await
            .unwrap();
        let delete = parts.delete(made[3].id);
        let delete = chapter
            .row(&t, "delete a part that no product uses", delete)
            .await;
        assert_eq!(delete.unwrap().deleted, 1);
        let delete = parts.delete(made[0].id);
        let delete = chapter.row(&t, "delete a part that a product uses", delete).await;
        assert!(matches!(delete, Err(odm::Error::StillReferenced { .. })));
        assert_clean(&odm).await;
        chapter.compare();
    });
}

#[odm_tests::test]
fn one_to_squillions_costs_what_its_chapter_says() {
    use squillions::*;
    with_transactions(async |t| {
        let mut chapter = chapter!("squillions.md", "squillions.rs");
        let odm = odm(&t, models![Host, LogMsg]).await;
        let (hosts, log) = (odm.collection::<Host>(), odm.collection::<LogMsg>());
        let host = |n: i32| NewHost {
            name: "goofy".into(),
            ipaddr: n.to_string(),
        };
        let goofy = hosts.insert(host(1)).await.unwrap();
        hosts.insert(host(2)).await.unwrap();
        let message = |n: i64| NewLogMsg {
            time: DateTime::from_millis(n),
            message: n.to_string(),
            host: goofy.to_ref(),
        };
        let insert = log.insert(message(0));
        chapter.row(&t, "insert a message", insert).await.unwrap();
        let insert = log.insert_many((1..=1000).map(message));
        chapter.row(&t, "insert 1,000 messages", insert).await.unwrap();
        let newest = log.children_of(&goofy).limit(5).all();
        let newest = chapter.row(&t, "the newest messages of a host", newest).await;
        let newest = newest.unwrap();
        assert_eq!(newest[0].message, "1000");
        let first = log.children_of(&goofy).page(50).await.unwrap();
        let second = log.children_of(&goofy).page(50).after(first.next.unwrap());
        let second = chapter
            .row(&t, "a page of messages, first or later", second)
            .await;
        assert_eq!(second.unwrap().items[0].message, "950");
        let since = DateTime::from_millis(500);
        let count = log.children_of(&goofy).filter(|m| m.time.gte(since)).count();
        let count = chapter
            .row(&t, "the number of messages since a time", count)
            .await;
        assert_eq!(count.unwrap(), 501);
        let all = hosts.find_all().include(|h| h.children::<LogMsg>().limit(10));
        let all = chapter.row(&t, "the newest 10 of every host", all.all()).await;
        assert_eq!(all.unwrap()[0].1.len(), 10);
        let update = log.update(newest[0].id).set(|m| m.message, "x");
        chapter.row(&t, "change a message", update).await.unwrap();
        let delete = log.delete_where(|m| m.time.lt(since));
        let delete = chapter.row(&t, "delete the messages before a time", delete).await;
        assert_eq!(delete.unwrap().deleted, 500);
        let delete = hosts.delete(goofy.id);
        let delete = chapter.row(&t, "delete a host with its messages", delete).await;
        assert_eq!(delete.unwrap().cascaded, 501);
        assert_clean(&odm).await;
        chapter.compare();
    });
}

#[odm_tests::test]
fn two_way_costs_what_its_chapter_says() {
    use two_way::*;
    with_transactions(async |t| {
        let mut chapter = chapter!("two-way.md", "two_way.rs");
        let odm = odm(&t, models![Person, Task]).await;
        one_command_for_a_link(&odm).await;
        let (people, tasks) = (odm.collection::<Person>(), odm.collection::<Task>());
        let person = |name: &str| NewPerson {
            name: name.into(),
            tasks: vec![],
        };
        let kate = people.insert(person("Kate")).await.unwrap();
        let rod = people.insert(person("Rod")).await.unwrap();
        let task = |n: i64| NewTask {
            description: n.to_string(),
            due_date: DateTime::from_millis(n),
            owner: kate.to_ref(),
        };
        let insert = tasks.insert(task(0));
        let plan = chapter.row(&t, "insert a task", insert).await.unwrap();
        let insert = tasks.insert_many((1..=100).map(task));
        chapter
            .row(&t, "insert 100 tasks of one person", insert)
            .await
            .unwrap();
        let read = people.find(|p| p.id.eq(kate.id)).include(|p| p.tasks);
        let read = chapter.row(&t, "read a person with the tasks", read.one()).await;
        assert_eq!(read.unwrap().unwrap().1.len(), 101);
        let due = tasks.find(|t| t.due_date.lt(DateTime::now()));
        let due = due.sort(|t| t.due_date.asc()).include(|t| t.owner).page(20);
        let due = chapter.row(&t, "a page of tasks with their owners", due).await;
        assert_eq!(due.unwrap().items.len(), 20);
        let update = tasks.update(plan.id).set(|t| t.description, "x");
        chapter
            .row(&t, "change another field of a task", update)
            .await
            .unwrap();
        let update = tasks.update(plan.id).set(|t| t.owner, rod.to_ref());
        chapter
            .row(&t, "reassign a task by its owner", update)
            .await
            .unwrap();
        let push = people.update(kate.id).push(|p| p.tasks, plan.to_ref());
        chapter
            .row(&t, "reassign a task by the list of a person", push)
            .await
            .unwrap();
        let delete = tasks.delete(plan.id);
        chapter.row(&t, "delete a task", delete).await.unwrap();
        let delete = chapter
            .row(&t, "delete a person with tasks", people.delete(kate.id))
            .await;
        assert!(matches!(
            delete,
            Err(odm::Error::StillReferenced { count: 100, .. })
        ));
        assert_clean(&odm).await;
        chapter.compare();
    });
}

#[odm_tests::test]
fn many_to_many_costs_what_its_chapter_says() {
    use many_to_many::*;
    with_transactions(async |t| {
        let mut chapter = chapter!("many-to-many.md", "many_to_many.rs");
        let odm = odm(&t, models![Author, Book, Category]).await;
        one_command_for_a_link(&odm).await;
        let (authors, books) = (odm.collection::<Author>(), odm.collection::<Book>());
        let categories = odm.collection::<Category>();
        for id in [1, 2, 3] {
            let name = id.to_string();
            let author = NewAuthor {
                id,
                name: name.clone(),
                books: vec![],
            };
            authors.insert(author).await.unwrap();
            categories.insert(NewCategory { id, name }).await.unwrap();
        }
        let new = NewBook {
            id: 1,
            title: "A tale of two people".into(),
            authors: vec![Ref::new(1), Ref::new(2)],
            categories: vec![Ref::new(1)],
        };
        let insert = books.insert(new);
        chapter
            .row(&t, "insert a book with 2 authors and a category", insert)
            .await
            .unwrap();
        let read = authors.find(|a| a.id.eq(1)).include(|a| a.books).one();
        let read = chapter.row(&t, "read an author with the books", read).await;
        assert_eq!(read.unwrap().unwrap().1.len(), 1);
        let read = books.find(|b| b.id.eq(1)).include(|b| (b.authors, b.categories));
        chapter
            .row(&t, "read a book with authors and categories", read.one())
            .await
            .unwrap();
        let page = books.find(|b| b.categories.contains(Ref::new(1)));
        let page = page.sort(|b| b.title.asc()).include(|b| b.authors).page(20);
        let page = chapter
            .row(&t, "a page of the books in a category, with authors", page)
            .await;
        assert_eq!(page.unwrap().items.len(), 1);
        let shelf = categories.find_all().include(|c| {
            c.children_by(|b: BookFields| b.categories)
                .sort(|b| b.title.asc())
                .limit(3)
        });
        let shelf = chapter
            .row(&t, "every category with its first 3 books", shelf.all())
            .await;
        assert_eq!(shelf.unwrap().len(), 3);
        let update = books.update(1).set(|b| b.title, "x");
        chapter
            .row(&t, "change the title of a book", update)
            .await
            .unwrap();
        let push = books.update(1).push(|b| b.authors, Ref::new(3));
        chapter.row(&t, "link an author to a book", push).await.unwrap();
        let pull = books.update(1).pull(|b| b.authors, Ref::new(3));
        chapter
            .row(&t, "unlink an author from a book", pull)
            .await
            .unwrap();
        let push = books.update(1).push(|b| b.categories, Ref::new(2));
        chapter.row(&t, "add a category to a book", push).await.unwrap();
        let delete = chapter.row(&t, "delete an author", authors.delete(1)).await;
        assert_eq!(delete.unwrap().deleted, 1);
        let delete = categories.delete(1);
        let delete = chapter.row(&t, "delete a category that has books", delete).await;
        assert!(matches!(delete, Err(odm::Error::StillReferenced { .. })));
        assert_clean(&odm).await;
        chapter.compare();
    });
}
