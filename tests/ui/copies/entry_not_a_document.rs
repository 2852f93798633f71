//! Entries with copies of an embedded struct.
use odm::prelude::*;

#[derive(Embed, Clone)]
struct Part {
    name: String,
}

#[derive(Document)]
#[document(collection = "tools")]
struct Tool {
    id: ObjectId,
    #[reference(many, max = 20)]
    #[denormalize(from = Part, fields(name: String))]
    parts: Vec<PartEntry>,
}

async fn uses(tools: Collection<Tool>, new: NewTool) -> odm::Result<()> {
    tools.insert(new).await?;
    Ok(())
}

fn main() {}
