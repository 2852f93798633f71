//! `utoipa::ToSchema` of documents and what comes of them, where it is asked for: `odm::json::to_schema!`.

use super::schema::Schemas;
use crate::model::described::Described;
use serde_json::Value;
use utoipa::openapi::{RefOr, schema::Schema};

/// Implements `utoipa::ToSchema` for types with a JSON by their shape: documents, `New…` structs, projections, structs that derive
/// `Embed`. The schemas are those of [`Schemas`](crate::json::Schemas::openapi): a document as it goes out, a `New…` struct as it comes in.
///
/// ```
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// use utoipa::OpenApi;
///
/// odm::json::to_schema!(Person, Address);
///
/// #[derive(OpenApi)]
/// #[openapi(components(schemas(Person)))]
/// struct Api;
///
/// let components = Api::openapi().components.unwrap();
/// assert!(components.schemas.contains_key("Person") && components.schemas.contains_key("Address"));
/// ```
#[macro_export]
macro_rules! __to_schema {
    ($($ty:ty),+ $(,)?) => {$(
        impl $crate::__private::utoipa::PartialSchema for $ty {
            fn schema() -> $crate::__private::utoipa::openapi::RefOr<$crate::__private::utoipa::openapi::schema::Schema> {
                $crate::__private::utoipa_schema::<$ty>()
            }
        }
        impl $crate::__private::utoipa::ToSchema for $ty {
            fn name() -> ::std::borrow::Cow<'static, str> {
                <$ty as $crate::__private::Described>::described().name.into()
            }
            fn schemas(
                schemas: &mut ::std::vec::Vec<(
                    ::std::string::String,
                    $crate::__private::utoipa::openapi::RefOr<$crate::__private::utoipa::openapi::schema::Schema>,
                )>,
            ) {
                $crate::__private::utoipa_schemas::<$ty>(schemas);
            }
        }
    )+};
}

/// utoipa's form of a schema.
fn read(mut schema: Value) -> RefOr<Schema> {
    name_types(&mut schema, false);
    serde_json::from_value(schema).unwrap_or_else(|_| RefOr::T(Schema::default()))
}

/// utoipa reads no schema without a type, which one of any value is.
fn name_types(schema: &mut Value, are_names: bool) {
    match schema {
        Value::Object(fields) if fields.is_empty() && !are_names => {
            let all = ["string", "number", "boolean", "object", "array", "null"];
            fields.insert("type".into(), all.as_slice().into());
        }
        Value::Object(fields) => {
            for (name, schema) in fields {
                name_types(schema, name == "properties" && !are_names);
            }
        }
        Value::Array(schemas) => schemas.iter_mut().for_each(|schema| name_types(schema, false)),
        _ => {}
    }
}

/// The schema of a type.
pub fn schema<T: Described>() -> RefOr<Schema> {
    let mut schemas = Schemas::openapi();
    let reference = schemas.add::<T>();
    let own = schemas.into_map().remove(&T::described().name);
    read(own.unwrap_or(reference))
}

/// Adds the schemas that the one of a type refers to.
pub fn schemas<T: Described>(all: &mut Vec<(String, RefOr<Schema>)>) {
    let mut schemas = Schemas::openapi();
    schemas.add::<T>();
    let own = T::described().name;
    let others = schemas.into_map().into_iter().filter(|(name, _)| *name != own);
    all.extend(others.map(|(name, schema)| (name, read(schema))));
}

#[cfg(test)]
mod tests {
    use crate::json::tests::{All, NewAccount};
    use crate::json::{Schemas, to_schema};
    use serde_json::{Map, Value, json};

    to_schema!(All, NewAccount);

    #[derive(utoipa::OpenApi)]
    #[openapi(components(schemas(All, NewAccount)))]
    struct Api;

    #[test]
    fn no_word_of_a_schema_is_lost() {
        let api = <Api as utoipa::OpenApi>::openapi();
        let api = serde_json::to_value(api).unwrap();
        let mut own = Schemas::openapi();
        own.add::<All>();
        own.add::<NewAccount>();
        let mut own: Map<String, Value> = own.into_map();
        own["All"]["properties"]["any"] =
            json!({ "type": ["string", "number", "boolean", "object", "array", "null"] });
        assert_eq!(api["components"]["schemas"], Value::Object(own));
    }
}
