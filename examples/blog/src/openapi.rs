//! The service as an OpenAPI document: the schemas are those of the documents.

use crate::api::Headline;
use crate::model::{Author, Comment, NewAuthor, NewPost, Post, PostPatch};
use odm::json::Schemas;
use serde_json::{Value, json};

/// The description from which a client is generated.
pub fn openapi() -> Value {
    let mut schemas = Schemas::openapi();
    let author = schemas.add::<Author>();
    let post = schemas.add::<Post>();
    let comment = schemas.add::<Comment>();
    let headline = schemas.add::<Headline>();
    // The service takes the rest of the path, or sets it.
    let author_body = schemas.add_input::<NewAuthor>("AuthorBody", &["handle"]);
    let post_body = schemas.add_input::<NewPost>("PostBody", &["slug"]);
    let post_patch = schemas.add_input::<PostPatch>("PostPatch", &[]);
    let comment_body = schemas.add_input::<Comment>("CommentBody", &["name"]);
    let token = json!({ "type": ["string", "null"] });
    let feed = json!({
        "type": "object",
        "title": "Feed",
        "properties": {
            "items": { "type": "array", "items": headline },
            "next": token,
            "previous": token,
        },
        "required": ["items", "next", "previous"],
    });
    let comments = json!({ "type": "array", "items": comment });
    let text = |name: &str, place: &str| {
        json!({
            "name": name,
            "in": place,
            "required": place == "path",
            "schema": { "type": "string" },
        })
    };
    let number = |name: &str| {
        let schema = json!({ "type": "integer" });
        json!({ "name": name, "in": "query", "schema": schema })
    };
    let (handle, slug, id) =
        (text("handle", "path"), text("slug", "path"), text("id", "path"));
    let site = text("X-Site", "header");
    let feed_parameters =
        ["author", "at[gte]", "at[lt]", "sort", "after", "before"]
            .map(|name| text(name, "query"));
    let get = |id: &str, shown: &Value| {
        let responses = ok(shown);
        json!({ "operationId": id, "responses": responses })
    };
    let put = |id: &str, body: &Value, shown: &Value| {
        json!({
            "operationId": id,
            "requestBody": { "required": true, "content": content(body) },
            "responses": ok(shown),
        })
    };
    let put_comment = json!({
        "operationId": "put_comment",
        "requestBody": { "required": true, "content": content(&comment_body) },
        "responses": {
            "200": { "description": "It is there already" },
            "201": { "description": "It is added" },
        },
    });
    let mut put_post = put("put_post", &post_body, &post);
    put_post["parameters"] = json!([number("version")]);
    let mut patch_post = put("patch_post", &post_patch, &post);
    patch_post["parameters"] = json!([text("If-Match", "header")]);
    let mut get_comments = get("comments", &comments);
    get_comments["parameters"] = json!([number("page")]);
    let mut get_feed = get("feed", &feed);
    get_feed["parameters"] = json!(feed_parameters);
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Blog", "version": env!("CARGO_PKG_VERSION") },
        "paths": {
            "/authors/{handle}": {
                "parameters": [site, handle],
                "get": get("author", &author),
                "put": put("put_author", &author_body, &author),
            },
            "/posts/{slug}": {
                "parameters": [site, slug],
                "get": get("post", &post),
                "put": put_post,
                "patch": patch_post,
            },
            "/posts/{slug}/comments": {
                "parameters": [site, slug],
                "get": get_comments,
            },
            "/posts/{slug}/comments/{id}": {
                "parameters": [site, slug, id],
                "put": put_comment,
            },
            "/feed": { "parameters": [site], "get": get_feed },
        },
        "components": { "schemas": schemas.into_map() },
    })
}

fn content(schema: &Value) -> Value {
    json!({ "application/json": { "schema": schema } })
}

fn ok(schema: &Value) -> Value {
    let content = content(schema);
    json!({ "200": { "description": "As it is stored", "content": content } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_private_is_in_no_schema() {
        let api = openapi();
        let schemas = &api["components"]["schemas"];
        let post = schemas["Post"]["properties"].as_object().expect("fields");
        let fields: Vec<&str> = post.keys().map(String::as_str).collect();
        let shown = ["at", "author", "comments", "id", "text", "title", "version"];
        assert_eq!(fields, shown);
        let body = &schemas["PostBody"];
        assert_eq!(body["required"], json!(["title", "text", "author"]));
        assert_eq!(body["properties"]["title"]["maxLength"], 120);
        let patch = schemas["PostPatch"]["properties"].as_object();
        let patched: Vec<&String> = patch.expect("fields").keys().collect();
        assert_eq!(patched, ["text", "title"]);
        let comment = &schemas["CommentBody"];
        assert_eq!(comment["required"], json!(["by", "text"]));
    }
}
