//! A type that a macro is given: the caret is below the type.
use odm::prelude::*;

macro_rules! document {
    ($name:ident { $field:ident: $ty:ty }) => {
        #[derive(Document)]
        #[document(collection = "things")]
        struct $name {
            id: ObjectId,
            $field: $ty,
        }
    };
}

document!(Thing { tags: Vec<String> });
document!(Other { value: Option<mongodb::bson::Bson> });

fn main() {}
