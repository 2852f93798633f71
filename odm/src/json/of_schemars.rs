//! `schemars::JsonSchema` of what goes out as JSON.

use super::Json;
use super::schema::{SchemaWay, Schemas};
use crate::model::described::Described;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use std::borrow::Cow;

/// The schema of what goes out; of a `New…` struct of what comes in, whatever the contract of the generator is.
impl<T: Described> JsonSchema for Json<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::described().name.into()
    }

    fn schema_id() -> Cow<'static, str> {
        format!("odm::json::{}", std::any::type_name::<T>()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let path = generator.settings().definitions_path.trim_matches('/').to_owned();
        let mut schemas = Schemas::new(&format!("#/{path}/"));
        let of = T::described();
        let reference = schemas.describe(&of, SchemaWay::Out, &of.name, &[]);
        generator.definitions_mut().extend(schemas.into_map());
        Schema::try_from(reference).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expansion_fixture::Person;
    use serde_json::json;

    #[test]
    fn a_list_refers_to_the_schema_of_its_documents() {
        let generator = SchemaGenerator::default();
        let schema = generator.into_root_schema_for::<Vec<Json<Person>>>();
        let person = json!({ "$ref": "#/$defs/Person" });
        assert_eq!(schema.pointer("/items"), Some(&person));
        let properties = schema
            .pointer("/$defs/Person/properties")
            .and_then(|of| of.as_object());
        assert!(properties.is_some_and(|of| of.contains_key("id")));
    }
}
