//! `by` names a field of an embedded struct.
use odm::prelude::*;

#[derive(Embed, Clone)]
struct Part {
    number: i32,
}

#[derive(Document)]
#[document(collection = "tools")]
struct Tool {
    id: ObjectId,
    #[reference(by = number)]
    part: Ref<Part, i32>,
    #[reference(many, max = 5, by = number)]
    parts: Vec<Ref<Part, i32>>,
}

async fn uses(tools: Collection<Tool>, new: NewTool) -> odm::Result<()> {
    tools.insert(new).await?;
    Ok(())
}

fn main() {}
