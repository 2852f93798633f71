use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "people")]
pub struct Person {
    pub id: ObjectId,
    #[field(max_len = 100)]
    pub name: String,
    #[reference(many, inverse = owner, max = 500)]
    pub tasks: Vec<Ref<Task>>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "tasks", index(fields(due_date, id)))]
pub struct Task {
    pub id: ObjectId,
    #[field(max_len = 500)]
    pub description: String,
    pub due_date: DateTime,
    #[reference(inverse = tasks)]
    pub owner: Ref<Person>,
}
