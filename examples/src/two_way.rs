//! Two-way referencing: a person lists the tasks, a task names its owner, and both always agree.
use mongodb::{
    Database,
    bson::{DateTime, oid::ObjectId},
};
use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "people")]
pub struct Person {
    pub id: ObjectId,
    pub name: String,
    #[reference(many, inverse = owner, max = 500)]
    pub tasks: Vec<Ref<Task>>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "tasks")]
pub struct Task {
    pub id: ObjectId,
    pub description: String,
    #[index]
    pub due_date: DateTime,
    #[reference(inverse = tasks)]
    pub owner: Ref<Person>,
}

pub async fn run(db: Database) -> odm::Result<()> {
    let odm = Odm::new(db, models![Person, Task])?;
    odm.sync().await?;
    let (people, tasks) = (odm.collection::<Person>(), odm.collection::<Task>());

    let kate = people
        .insert(NewPerson {
            name: "Kate Monster".into(),
            tasks: vec![],
        })
        .await?;
    let rod = people
        .insert(NewPerson {
            name: "Rod".into(),
            tasks: vec![],
        })
        .await?;

    // One insert, both sides: the task and Kate's list.
    let plan = tasks
        .insert(NewTask {
            description: "Write lesson plan".into(),
            due_date: DateTime::from_millis(1_396_310_400_000),
            owner: kate.to_ref(),
        })
        .await?;
    assert_eq!(people.get(kate.id).await?.unwrap().tasks, vec![plan.to_ref()]);
    println!(
        "{} belongs to {}, whose list has it too.",
        plan.description, kate.name
    );

    // Reassigning is one call: the owner, the old list and the new list.
    tasks.update(plan.id).set(|t| t.owner, rod.to_ref()).await?;
    assert!(people.get(kate.id).await?.unwrap().tasks.is_empty());
    assert_eq!(people.get(rod.id).await?.unwrap().tasks, vec![plan.to_ref()]);

    // From a list of tasks to the people responsible, in two queries.
    let due: Vec<(Task, Person)> = tasks
        .find(|t| t.due_date.lt(DateTime::now()))
        .include(|t| t.owner)
        .all()
        .await?;
    assert_eq!(due[0].1.name, "Rod");
    println!(
        "Reassigned: {} belongs to {}.",
        due[0].0.description, due[0].1.name
    );

    tasks.delete(plan.id).await?;
    assert!(people.get(rod.id).await?.unwrap().tasks.is_empty());
    Ok(())
}
