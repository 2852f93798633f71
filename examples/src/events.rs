//! Events of four kinds in one collection: an enum of documents, with a struct for each kind.
use mongodb::{
    Database,
    bson::{DateTime, doc, oid::ObjectId},
};
use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "users")]
pub struct User {
    pub id: ObjectId,
    pub name: String,
}

/// Each kind has a time, by which all of them are read together.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "events", common(at: DateTime), index(fields(-at)))]
#[document(rename_all = "snake_case")]
pub enum Event {
    Login(Login),
    Purchase(Purchase),
    PageView(PageView),
    Failure(Failure),
}

/// `{ type: "login", _id: …, at: …, user: …, address: "10.0.0.1" }`. Its index holds logins alone.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(variant_of = Event, index(fields(user, -at)))]
pub struct Login {
    pub id: ObjectId,
    pub at: DateTime,
    #[reference]
    pub user: Ref<User>,
    pub address: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(variant_of = Event)]
pub struct Purchase {
    pub id: ObjectId,
    pub at: DateTime,
    #[reference]
    pub user: Ref<User>,
    #[field(min = 1)]
    pub cents: i64,
    /// No two purchases have one receipt.
    #[index(unique)]
    pub receipt: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(variant_of = Event)]
pub struct PageView {
    pub id: ObjectId,
    pub at: DateTime,
    pub path: String,
}

/// Its `path` is that of a file.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(variant_of = Event)]
pub struct Failure {
    pub id: ObjectId,
    pub at: DateTime,
    pub path: Option<String>,
    pub message: String,
}

/// A note about an event of any kind.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "notes")]
pub struct Note {
    pub id: ObjectId,
    #[reference]
    pub about: Ref<Event>,
    pub text: String,
}

fn minute(n: i64) -> DateTime {
    DateTime::from_millis(n * 60_000)
}

/// The program.
pub fn start() -> std::process::ExitCode {
    crate::program::start("events", |db| Box::pin(async { Ok(run(db).await?) }))
}

pub async fn run(db: Database) -> odm::Result<()> {
    // The enum brings its variants.
    let odm = Odm::new(db.clone(), models![User, Event, Note])?;
    odm.sync().await?; // one collection, one validator with a form for each kind, the indexes of all kinds
    let kate = NewUser { name: "Kate".into() };
    let kate = odm.collection::<User>().insert(kate).await?;

    // All kinds by one statement.
    let events = odm.collection::<Event>();
    let login = NewLogin {
        at: minute(1),
        user: kate.to_ref(),
        address: "10.0.0.1".into(),
    };
    let view = NewPageView {
        at: minute(2),
        path: "/products".into(),
    };
    let purchase = NewPurchase {
        at: minute(3),
        user: kate.to_ref(),
        cents: 4_200,
        receipt: "R-1".into(),
    };
    let failure = NewFailure {
        at: minute(4),
        path: None,
        message: "no reply of the printer".into(),
    };
    events
        .insert_many([
            NewEvent::Login(login),
            NewEvent::PageView(view),
            NewEvent::Purchase(purchase),
            NewEvent::Failure(failure),
        ])
        .await?;

    // All of them, typed.
    for event in events.find_all().sort(|e| e.at.desc()).all().await? {
        match event {
            Event::Login(login) => println!("A login from {}", login.address),
            Event::Purchase(purchase) => println!("A purchase of {} cents", purchase.cents),
            Event::PageView(view) => println!("A view of {}", view.path),
            Event::Failure(failure) => println!("A failure: {}", failure.message),
        }
    }

    // One kind, as its struct: every read and write has the condition `type: "purchase"`.
    let purchases = odm.collection::<Purchase>();
    let bought = purchases
        .find(|p| p.user.eq(kate.to_ref()))
        .include(|p| p.user)
        .all()
        .await?;
    assert_eq!(bought.len(), 1);
    let (bought, buyer) = &bought[0];
    println!("{} has bought for {} cents", buyer.name, bought.cents);
    let twice = NewPurchase {
        at: minute(5),
        user: kate.to_ref(),
        cents: 100,
        receipt: bought.receipt.clone(),
    };
    let twice = purchases.insert(twice).await;
    assert!(matches!(twice, Err(odm::Error::DuplicateKey { .. })));

    // Some kinds: a condition on what is in a variant is on the variant too.
    let of_interest = |e: EventFields| e.is_failure() | e.purchase.cents.gte(1_000);
    assert_eq!(events.find(of_interest).count().await?, 2);
    assert_eq!(
        events.find(|e| e.page_view.path.eq("/products")).count().await?,
        1
    );

    // An event stays of its kind.
    let other = PageView {
        id: bought.id,
        at: bought.at,
        path: "/".into(),
    };
    let refused = events.replace(Event::PageView(other)).await;
    assert!(matches!(refused, Err(odm::Error::NotFound { .. })));
    if let Err(error) = refused {
        println!("A purchase does not become a page view: {error}");
    }

    // A reference to any of them; what a note names is not deleted.
    let note = NewNote {
        about: Ref::new(bought.id),
        text: "sent by post".into(),
    };
    odm.collection::<Note>().insert(note).await?;
    assert!(matches!(
        events.delete(bought.id).await,
        Err(odm::Error::StillReferenced { .. })
    ));

    // The server refuses what is none of them.
    let unknown = doc! { "type": "logout", "at": minute(6) };
    let stored = db
        .collection::<mongodb::bson::Document>("events")
        .insert_one(unknown)
        .await;
    assert!(stored.is_err());
    println!("The server refuses an event of an unknown kind.");
    Ok(())
}
