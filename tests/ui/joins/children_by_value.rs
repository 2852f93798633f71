//! The children by a field that is no reference, and by one that refers to another document.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "hosts")]
struct Host {
    id: i32,
}

#[derive(Document, Clone)]
#[document(collection = "users")]
struct User {
    id: i32,
}

#[derive(Document, Clone)]
#[document(collection = "logs")]
struct Log {
    id: i32,
    host_name: String,
    #[reference]
    user: Ref<User>,
}

async fn children(odm: Odm) -> odm::Result<()> {
    let hosts = odm.collection::<Host>();
    let _ = hosts.find_all().include(|h| h.children_by(|l: LogFields| l.host_name)).all().await?;
    let _ = hosts.find_all().include(|h| h.children_by(|l: LogFields| l.user)).all().await?;
    Ok(())
}

fn main() {}
