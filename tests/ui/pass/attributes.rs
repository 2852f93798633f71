//! Attributes and options where they are read, and as they are written.
use chrono::{DateTime as Moment, FixedOffset};
use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(
    collection = "users",
    index(fields(email), unique),
    builder,
    soft_delete,
    check = |u| odm::expr::expr(u.left).gt(odm::expr::expr(u.joined)),
    check_with = has_a_name
)]
struct User {
    id: ObjectId,
    #[field(max_len = 100, default = "none".to_owned())]
    email: String,
    #[field(check_with = is_long)]
    name: String,
    nickname: Option<String>,
    joined: i32,
    left: i32,
    #[index]
    deleted_at: Option<DateTime>,
    isbn: Option<Isbn>,
    #[field(min = 1, default = 1)]
    stars: i32,
    #[reference(on_delete = cascade)]
    boss: Option<Ref<User>>,
}

fn has_a_name(user: &User) -> Result<(), &'static str> {
    if user.name.is_empty() { Err("has no name") } else { Ok(()) }
}

fn is_long(name: &str) -> Result<(), &'static str> {
    if name.len() < 3 { Err("is too short") } else { Ok(()) }
}

#[derive(Embed, Clone, Debug, PartialEq)]
struct Isbn(#[field(max_len = 13)] String);

#[derive(Embed, Clone, Debug, PartialEq)]
enum Payment {
    #[embed(name = "card")]
    Card {
        #[field(max_len = 4)]
        number: String,
    },
    Invoice(#[field(max_len = 20)] String),
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "flights", index(fields(-price, gate)))]
struct Flight {
    id: i32,
    departs: Moment<FixedOffset>,
    price: i32,
    gate: i32,
    #[parent_ref(order(-price))]
    owner: Ref<User>,
    paid_by: Payment,
}

#[derive(Row, Debug)]
struct Total {
    #[field(default)]
    total: i32,
}

async fn queries(odm: Odm) -> odm::Result<()> {
    let (users, flights) = (odm.collection::<User>(), odm.collection::<Flight>());
    users
        .find(|u| odm::expr::expr(u.left).gt(odm::expr::expr(u.joined)))
        .all()
        .await?;
    flights.find(|f| f.id.gt(0)).sort(|f| f.departs.at.asc()).all().await?;
    Ok(())
}

pub fn main() {
    let nickname = Some("Kate".to_owned());
    let builder = NewUser::builder().name("Katherine").joined(1).left(2);
    let user = NewUser {
        nickname: nickname.clone(),
        ..builder.build()
    };
    assert_eq!(user.nickname, nickname);
    assert_eq!((user.email.as_str(), user.stars), ("none", 1));
}
