//! The other side of a two-way reference is an embedded struct.
use odm::prelude::*;

#[derive(Embed, Clone)]
struct Person {
    name: String,
}

#[derive(Document)]
#[document(collection = "tasks")]
struct Task {
    id: ObjectId,
    #[reference(inverse = tasks)]
    owner: Ref<Person>,
}

async fn uses(tasks: Collection<Task>, new: NewTask) -> odm::Result<()> {
    tasks.insert(new).await?;
    Ok(())
}

fn main() {}
