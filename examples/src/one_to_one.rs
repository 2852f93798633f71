//! One-to-one: embed what is read together, link what stands alone.
use mongodb::Database;
use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "users", index(fields(address.city, id)))]
pub struct User {
    pub id: i32,
    #[field(max_len = 100)]
    pub name: String,
    #[embed] // embedded: a part of the user's document
    pub address: Option<Address>,
}

#[derive(Embed, Clone, Debug, PartialEq)]
pub struct Address {
    #[field(max_len = 100)]
    pub street: String,
    #[field(max_len = 100)]
    pub city: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "memberships")]
pub struct Membership {
    #[field(name = "_id")]
    pub number: i32,
    pub since: DateTime,
    #[parent_ref(one, on_delete = cascade)] // linked: a unique index on `user_id`
    #[field(name = "user_id")]
    pub user: Ref<User>,
}

pub async fn run(db: Database) -> odm::Result<()> {
    let odm = Odm::new(db, models![User, Membership])?;
    odm.sync().await?;
    let (users, memberships) = (odm.collection::<User>(), odm.collection::<Membership>());

    let peter = users
        .insert(NewUser {
            id: 1,
            name: "Peter Wilkinson".into(),
            address: Some(Address {
                street: "100 some road".into(),
                city: "Nevermore".into(),
            }),
        })
        .await?;
    let card = memberships
        .insert(NewMembership {
            number: 4711,
            since: DateTime::from_millis(1_767_225_600_000),
            user: peter.to_ref(),
        })
        .await?;

    // The embedded address comes with the user; the linked membership is one more query.
    let (user, membership): (User, Option<Membership>) = users
        .find(|u| u.address.city.eq("Nevermore"))
        .include(|u| u.child::<Membership>())
        .one()
        .await?
        .expect("he was inserted");
    let city = user.address.map(|address| address.city);
    assert_eq!((city.as_deref(), membership), (Some("Nevermore"), Some(card)));
    println!("{} lives in Nevermore and has the membership 4711.", user.name);

    // The linked document stands alone: found by its own id, with its user one call away.
    let card = memberships.get(4711).await?.expect("it was inserted");
    assert_eq!(card.user.load(&odm).await?.name, "Peter Wilkinson");

    // A change of a part of the embedded struct is one update of the user.
    users.update(1).set(|u| u.address.street, "101 some road").await?;

    // A user has one membership: the index is unique.
    let second = memberships
        .insert(NewMembership {
            number: 4712,
            since: DateTime::now(),
            user: peter.to_ref(),
        })
        .await;
    assert!(matches!(second, Err(odm::Error::DuplicateKey { .. })));
    println!("A second membership of the same user is refused.");

    // The address can be removed with the user's other fields in place; the membership goes with the user.
    users.update(1).set(|u| u.address, None).await?;
    assert_eq!(users.delete(1).await?.cascaded, 1);
    assert_eq!(memberships.find_all().count().await?, 0);
    println!("The membership was deleted with its user.");
    Ok(())
}
