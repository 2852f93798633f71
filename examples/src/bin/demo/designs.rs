//! The designs: each is shown step by step on its own types, then its program runs as a whole.

use crate::Databases;
use crate::show::Show;
use anyhow::{Context, Result, bail};
use futures::future::join_all;
use mongodb::bson::DateTime;
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use odm_examples::one_to_few::{self, Address, NewPerson, Person};
use odm_examples::one_to_one;
use odm_examples::one_to_one_split::{self, Movie, MovieTitle, NewMovie, Rating};

fn address(street: &str, city: &str) -> Address {
    Address {
        street: street.into(),
        city: city.into(),
        cc: "USA".into(),
    }
}

pub async fn one_to_few(show: &mut Show, databases: &Databases) -> Result<()> {
    show.heading("One to few: a bounded array inside its document");
    show.text(
        "A person has a few addresses that are never looked at without the person: they are an array inside, \
         `#[embed(max = 10)]`. On the right of each step stand the commands that were sent to the server for it.\n",
    );
    println!();
    let odm = Odm::new(databases.named("people"), models![Person])?;
    show.step("Create what the model declares", odm.sync()).await?;
    let people = odm.collection::<Person>();

    let kate = NewPerson {
        name: "Kate Monster".into(),
        ssn: "123-456-7890".into(),
        addresses: vec![
            address("123 Sesame St", "Anytown"),
            address("123 Avenue Q", "New York"),
        ],
    };
    let kate = show
        .step("Insert Kate with two addresses", people.insert(kate))
        .await?;
    show.got(format!("stored with the _id {}, which the library made", kate.id));

    let found = show
        .step(
            "Who lives in New York?",
            people.find(|p| p.addresses.city.eq("New York")).all(),
        )
        .await?;
    show.got(
        found
            .iter()
            .map(|p| p.name.as_str())
            .collect::<Vec<_>>()
            .join(", "),
    );

    let change = people
        .update(kate.id)
        .elem(
            |p| p.addresses,
            |a| a.city.eq("Anytown"),
            |a| a.set(|a| a.city, "Any City"),
        )
        .returning();
    let changed = show
        .step("Rename a city, in the one address that has it", change)
        .await?;
    let cities = changed.addresses.iter().map(|a| a.city.as_str());
    show.got(cities.collect::<Vec<_>>().join(", "));

    let clients = (0..20).map(|n| {
        let (people, id) = (people.clone(), kate.id);
        tokio::spawn(async move {
            people
                .update(id)
                .push(|p| p.addresses, address(&format!("{n} Main St"), "X"))
                .await
        })
    });
    let outcomes = show
        .step(
            "Twenty clients push an address at the same time",
            join_all(clients),
        )
        .await;
    let mut pushed = 0;
    let mut refused = Vec::new();
    for outcome in outcomes {
        match outcome? {
            Ok(_) => pushed += 1,
            Err(error @ odm::Error::ArrayFull { .. }) => refused.push(error.to_string()),
            Err(error) => return Err(error.into()),
        }
    }
    show.got(format!(
        "{pushed} went in, {} were refused, each with this error:",
        refused.len()
    ));
    show.list(refused.first());
    let stored = people.get(kate.id).await?.context("Kate has gone")?;
    show.check(
        "10 addresses are stored, the bound held",
        (pushed, stored.addresses.len()),
        (8, 10),
    )?;

    let twin = NewPerson {
        name: "Kate".into(),
        ssn: "123-456-7890".into(),
        addresses: vec![],
    };
    match show
        .step("Insert a second person with her number", people.insert(twin))
        .await
    {
        Err(error @ odm::Error::DuplicateKey { .. }) => show.got(error.to_string()),
        other => bail!("a second person with the same number should be refused: {other:?}"),
    }
    program(show, "one_to_few", one_to_few::run(databases.named("one_to_few"))).await
}

pub async fn one_to_one(show: &mut Show, databases: &Databases) -> Result<()> {
    show.heading("One to one: embedded, or split off what is seldom read");
    show.text(
        "A movie has one rating, read with it: a struct inside, `#[embed]`. Its fields are typed paths too.",
    );
    println!();
    let odm = Odm::new(databases.named("movies"), models![Movie])?;
    show.step("Create what the model declares", odm.sync()).await?;
    let movies = odm.collection::<Movie>();
    let movie = |id, title: &str, year, rating| NewMovie {
        id,
        title: title.into(),
        year,
        released: None,
        rating,
        directors: vec!["Auguste Lumière".into(), "Louis Lumière".into()],
        countries: vec!["France".into()],
    };
    let all = [
        movie(
            1,
            "The Arrival of a Train",
            1896,
            Some(Rating {
                value: 7.3,
                votes: 5043,
            }),
        ),
        movie(
            2,
            "The Waterer Watered",
            1895,
            Some(Rating {
                value: 7.1,
                votes: 5500,
            }),
        ),
        movie(3, "Baby's Meal", 1895, None),
    ];
    show.step(
        "Insert three movies, one of them not rated yet",
        movies.insert_many(all),
    )
    .await?;
    let best = movies.find(|m| m.rating.value.gte(7.2)).all();
    let best = show.step("Which are rated 7.2 or better?", best).await?;
    show.got(
        best.iter()
            .map(|m| m.title.as_str())
            .collect::<Vec<_>>()
            .join(", "),
    );
    let titles = movies
        .find(|m| m.year.lt(1900))
        .sort(|m| m.year.asc())
        .select::<MovieTitle>()
        .all();
    let titles = show
        .step("Title and year only: a projection is a type of its own", titles)
        .await?;
    show.list(titles.iter().map(|t| format!("{} ({})", t.title, t.year)));
    let vote = movies.update(1).inc(|m| m.rating.votes, 1).returning();
    let voted = show.step("Count one more vote, inside the rating", vote).await?;
    let votes = voted.rating.map(|r| r.votes);
    show.check("5044 votes", votes, Some(5044))?;
    program(
        show,
        "one_to_one_split",
        one_to_one_split::run(databases.named("one_to_one_split")),
    )
    .await?;
    program(show, "one_to_one", one_to_one::run(databases.named("one_to_one"))).await
}

/// A note that several people edit.
#[derive(Document, Clone, Debug)]
#[document(collection = "notes", version, timestamps)]
struct Note {
    id: ObjectId,
    #[field(max_len = 500)]
    text: String,
    version: i64,
    created_at: DateTime,
    updated_at: DateTime,
}

pub async fn versions(show: &mut Show, databases: &Databases) -> Result<()> {
    show.heading("Two editors of one document: a version instead of a lock");
    let odm = Odm::new(databases.named("notes"), models![Note])?;
    show.step(
        "Create what the model declares: `#[document(version, timestamps)]`",
        odm.sync(),
    )
    .await?;
    let notes = odm.collection::<Note>();
    let mine = show
        .step(
            "Insert a note",
            notes.insert(NewNote {
                text: "Buy milk".into(),
            }),
        )
        .await?;
    show.got(format!(
        "version {}, created at {}",
        mine.version,
        mine.created_at.try_to_rfc3339_string()?
    ));
    let theirs = mine.clone();
    let change = notes
        .update(&mine)
        .set(|n| n.text, "Buy milk and bread")
        .returning();
    let mine = show.step("I change it", change).await?;
    show.got(format!("version {}: {:?}", mine.version, mine.text));
    let change = notes.update(&theirs).set(|n| n.text, "Buy beer");
    match show
        .step("Somebody who read version 1 changes it too", change)
        .await
    {
        Err(error @ odm::Error::Conflict { .. }) => show.got(error.to_string()),
        other => bail!("an update of an old version should be refused: {other:?}"),
    }
    let stored = notes.get(mine.id).await?.context("the note has gone")?;
    show.check(
        "my change is still there",
        stored.text.as_str(),
        "Buy milk and bread",
    )
}

pub async fn transactions(show: &mut Show, databases: &Databases) -> Result<()> {
    show.heading("Several writes as one: a transaction");
    let odm = Odm::new(databases.named("transaction"), models![Person, Note])?;
    odm.sync().await?;
    let server = odm.server().await?;
    show.text(&format!("This deployment is {server}."));
    println!();
    let write = |fails: bool| {
        odm.transaction(move |tx| async move {
            let person = NewPerson {
                name: "Rod".into(),
                ssn: format!("fails: {fails}"),
                addresses: vec![],
            };
            let rod = tx.collection::<Person>().insert(person).await?;
            tx.collection::<Note>()
                .insert(NewNote {
                    text: format!("{} joined", rod.name),
                })
                .await?;
            // Somebody's rule: found out late, after two writes.
            if fails {
                tx.collection::<Note>()
                    .insert(NewNote {
                        text: "x".repeat(501),
                    })
                    .await?;
            }
            Ok(())
        })
    };
    match show
        .step("Insert a person and a note about it", write(false))
        .await
    {
        Ok(()) => show.got("both are committed"),
        Err(error @ odm::Error::Unsupported { .. }) => {
            show.got(error.to_string());
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    }
    match show
        .step("The same, with a third write that breaks a bound", write(true))
        .await
    {
        Err(error @ odm::Error::Invalid { .. }) => show.got(format!("rolled back: {error}")),
        other => bail!("a note of 501 characters should be refused: {other:?}"),
    }
    let stored = (
        odm.collection::<Person>().find_all().count().await?,
        odm.collection::<Note>().find_all().count().await?,
    );
    show.check(
        "one person and one note are stored, nothing of the second attempt",
        stored,
        (1, 1),
    )
}

/// Runs a design's program. It asserts what it claims, so that it comes to its end is the result.
pub async fn program(
    show: &mut Show,
    name: &str,
    run: impl Future<Output = odm::Result<()>> + Send + 'static,
) -> Result<()> {
    show.part(&format!("The whole design as a program: examples/src/{name}.rs"));
    show.text("It says:");
    let outcome = show
        .step(format!("Run `{name}::run`, which asserts all of this"), async {
            tokio::spawn(run).await
        })
        .await;
    match outcome {
        Ok(Ok(())) => show.got("it came to its end: every assertion held"),
        Ok(Err(error)) => return Err(error).context(format!("`{name}` failed")),
        Err(panic) => bail!("an assertion of `{name}` does not hold: {panic}"),
    }
    Ok(())
}
