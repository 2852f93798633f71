//! Errors as HTTP answers: RFC 9457, `application/problem+json`.

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use odm::Error;
use serde::Serialize;

/// An error as the client reads it.
#[derive(Serialize, Clone, Debug, PartialEq)]
pub struct Problem {
    pub status: u16,
    pub title: String,
    /// The fields with a mistake, to show it with the form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldProblem>,
}

#[derive(Serialize, Clone, Debug, PartialEq)]
pub struct FieldProblem {
    pub field: String,
    pub problem: String,
}

/// The answer to an error of the library. The text of an error holds values of
/// documents and names of collections, so it goes to the log and not to the client.
pub fn problem(error: &Error) -> Problem {
    let answer = |status: StatusCode, title: &str| Problem {
        status: status.as_u16(),
        title: title.to_owned(),
        fields: Vec::new(),
    };
    let with = |status, title, field: &str, problem: &str| Problem {
        fields: vec![FieldProblem { field: field.into(), problem: problem.into() }],
        ..answer(status, title)
    };
    match error {
        Error::NotFound { .. } => {
            answer(StatusCode::NOT_FOUND, "there is no such document")
        }
        Error::DuplicateKey { fields, .. } => {
            let title = "another document has this value";
            with(StatusCode::CONFLICT, title, &fields.join(", "), "is taken")
        }
        Error::Invalid { violations, .. } => Problem {
            fields: violations
                .iter()
                .map(|broken| FieldProblem {
                    field: broken.path.clone(),
                    problem: broken.rule.to_string(),
                })
                .collect(),
            ..answer(StatusCode::UNPROCESSABLE_ENTITY, "a value is not allowed")
        },
        Error::MissingReference { field, .. } => {
            // Beside copies, the reference is stored within a struct: `author.id`.
            let field = field.strip_suffix(".id").unwrap_or(field);
            let title = "a document that is referred to does not exist";
            with(StatusCode::UNPROCESSABLE_ENTITY, title, field, "does not exist")
        }
        Error::ArrayFull { field, max, .. } => {
            let problem = format!("may hold at most {max} items");
            with(StatusCode::CONFLICT, "there is no more room", field, &problem)
        }
        Error::StillReferenced { by, .. } => {
            let title = "other documents refer to it";
            with(StatusCode::CONFLICT, title, by, "refers to it")
        }
        Error::Conflict { .. } => {
            answer(StatusCode::CONFLICT, "it was changed meanwhile")
        }
        Error::TooLarge { .. } => {
            answer(StatusCode::PAYLOAD_TOO_LARGE, "it is too large")
        }
        // Each mistake of a body, by its place: `/author`.
        Error::Json { values } => Problem {
            fields: values
                .iter()
                .map(|bad| FieldProblem {
                    field: bad.pointer.clone(),
                    problem: bad.rule.clone(),
                })
                .collect(),
            ..answer(StatusCode::UNPROCESSABLE_ENTITY, "a value is not allowed")
        },
        Error::Request { parameters } => Problem {
            fields: parameters
                .iter()
                .map(|bad| FieldProblem {
                    field: bad.parameter.clone(),
                    problem: format!("takes {}", bad.accepts),
                })
                .collect(),
            ..answer(StatusCode::BAD_REQUEST, "a parameter can't be taken")
        },
        Error::PageToken { .. } => {
            answer(StatusCode::BAD_REQUEST, "this is no page")
        }
        // Nothing was written (`is_transient`), or it is unknown whether something
        // was (`outcome_unknown`): each request may be repeated. `UnknownCopies`
        // and `UnknownReferences` are those of an old version: a new one can do it.
        Error::Contention { .. }
        | Error::Unavailable { .. }
        | Error::UnknownCopies { .. }
        | Error::UnknownReferences { .. } => unavailable(),
        error if error.is_transient() || error.outcome_unknown() => unavailable(),
        _ => answer(StatusCode::INTERNAL_SERVER_ERROR, "something went wrong"),
    }
}

fn unavailable() -> Problem {
    Problem {
        status: StatusCode::SERVICE_UNAVAILABLE.as_u16(),
        title: "please try again".to_owned(),
        fields: Vec::new(),
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        let problem = problem(&error);
        match problem.status {
            503 => tracing::warn!(%error, "unavailable"),
            500 => tracing::error!(%error, "failed"),
            _ => tracing::debug!(%error, "refused"),
        }
        problem
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Json(self)).into_response();
        let headers = response.headers_mut();
        let kind = header::HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, kind);
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers
                .insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
        }
        response
    }
}

impl Problem {
    /// An answer that no error of the library stands behind.
    pub fn new(status: StatusCode, title: impl Into<String>) -> Problem {
        Problem { status: status.as_u16(), title: title.into(), fields: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odm::error::{Rule, Violation};
    use odm::mongodb::error::Error as DriverError;

    fn invalid() -> Error {
        Error::Invalid {
            collection: "posts".into(),
            violations: vec![Violation::new("title", Rule::MaxLength(120), None)],
            source: None,
        }
    }

    #[test]
    fn each_error_has_its_status() {
        let lost =
            || Error::from(DriverError::from(std::io::Error::other("reset")));
        for (error, status) in [
            (invalid(), 422),
            (
                Error::NotFound {
                    collection: "posts",
                    key: Box::new(odm::bson::doc! { "_id": "x" }),
                    deleted: false,
                },
                404,
            ),
            (Error::PageToken { collection: "posts", reason: "is cut" }, 400),
            (Error::UnknownCopies { edges: vec![] }, 503),
            (lost(), 503),
            (Error::Models { problems: vec![] }, 500),
        ] {
            assert_eq!(problem(&error).status, status, "{error}");
        }
        assert!(lost().outcome_unknown());
    }

    #[test]
    fn the_client_reads_the_field_and_not_the_value() {
        let answer = serde_json::to_value(problem(&invalid())).expect("JSON");
        assert_eq!(answer["fields"][0]["field"], "title");
        assert_eq!(answer["fields"][0]["problem"], "may be at most 120 long");

        let secret = Error::application("the password is swordfish");
        assert!(
            !serde_json::to_string(&problem(&secret))
                .expect("JSON")
                .contains("fish")
        );
    }
}
