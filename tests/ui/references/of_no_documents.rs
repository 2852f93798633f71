//! References to what is no document, in each way in which one is declared.
use odm::prelude::*;

#[derive(Embed, Clone, Debug, PartialEq)]
struct Address {
    street: String,
}

#[derive(Embed, Clone, Debug, PartialEq)]
enum Color {
    Red,
    Green,
}

type Home = Ref<Address>;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "people", patch, builder)]
struct Person {
    id: ObjectId,
    #[reference]
    second_home: Option<Ref<Address>>,
    #[reference(many, max = 5)]
    homes: Vec<Ref<Address>>,
    #[reference]
    home: Home,
    #[reference]
    color: Ref<Color>,
    #[reference]
    name: Ref<String>,
    #[reference]
    friend: Ref<ObjectId>,
    #[reference]
    boss: Ref<Option<Person>>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "rooms")]
struct Room {
    id: ObjectId,
    #[parent_ref(order(-number))]
    house: Ref<Address>,
    number: i32,
}

async fn uses(people: Collection<Person>, new: NewPerson, patch: PersonPatch, id: ObjectId) -> odm::Result<()> {
    let person = people.insert(new).await?;
    people.update(id).apply(patch).set(|p| p.homes, person.homes).await?;
    people.find(|p| p.second_home.exists(true)).sort(|p| p.home.asc()).all().await?;
    Ok(())
}

fn main() {}
