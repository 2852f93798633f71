//! The mistake in one parameter of a request.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A parameter of a request that can't be taken. It is serialized with these names, so that it can stand in an answer as it is.
///
/// ```
/// use odm::error::{BadParameter, ParameterProblem};
///
/// let bad = BadParameter::new("age[gte]", "old", ParameterProblem::WrongValue, "a whole number");
/// assert_eq!(bad.to_string(), "`age[gte]` does not take the value `old`: it takes a whole number");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BadParameter {
    /// The parameter as the request has it, with its operator: `age[gte]`. The first 100 characters.
    pub parameter: String,
    /// Its value as the request has it. The first 100 characters.
    pub value: String,
    /// The reason.
    pub problem: ParameterProblem,
    /// The values that are accepted there, in words.
    pub accepts: String,
}

impl BadParameter {
    /// A longer parameter or value is cut.
    ///
    /// ```
    /// use odm::error::{BadParameter, ParameterProblem};
    ///
    /// let bad = BadParameter::new("colour", "x".repeat(9_999), ParameterProblem::Unknown, "`age` and `sort`");
    /// assert_eq!(bad.value.len(), 100);
    /// ```
    pub fn new(
        parameter: impl AsRef<str>,
        value: impl AsRef<str>,
        problem: ParameterProblem,
        accepts: impl Into<String>,
    ) -> BadParameter {
        let cut = |text: &str| text.chars().take(100).collect();
        BadParameter {
            parameter: cut(parameter.as_ref()),
            value: cut(value.as_ref()),
            problem,
            accepts: accepts.into(),
        }
    }
}

impl fmt::Display for BadParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BadParameter {
            parameter,
            value,
            accepts,
            ..
        } = self;
        match self.problem {
            ParameterProblem::Unknown => write!(f, "`{parameter}` is no parameter: there are {accepts}"),
            ParameterProblem::Operator => {
                write!(f, "`{parameter}` is no condition of it: there are {accepts}")
            }
            ParameterProblem::WrongValue => {
                write!(
                    f,
                    "`{parameter}` does not take the value `{value}`: it takes {accepts}"
                )
            }
            ParameterProblem::Repeated => write!(f, "`{parameter}` is given twice: it takes {accepts}"),
            ParameterProblem::TooManyValues => {
                write!(f, "`{parameter}` has too many values: it takes {accepts}")
            }
            ParameterProblem::TooManyConditions => {
                write!(
                    f,
                    "`{parameter}` is one condition too many: a request takes {accepts}"
                )
            }
            ParameterProblem::Limit => write!(f, "`{parameter}` can't be `{value}`: it takes {accepts}"),
            ParameterProblem::Token => write!(f, "`{parameter}` is not a page token: it takes {accepts}"),
        }
    }
}

/// Why a parameter of a request can't be taken. It is serialized as the name in small letters: `"too_many_values"`.
///
/// ```
/// use odm::error::ParameterProblem;
///
/// assert_ne!(ParameterProblem::Unknown, ParameterProblem::Operator);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ParameterProblem {
    /// No parameter has this name.
    Unknown,
    /// The parameter has no such operator.
    Operator,
    /// The value is not one of the field's type, or is too long.
    WrongValue,
    /// The same parameter is given twice with the same operator, or two that exclude each other.
    Repeated,
    /// A list has more values than are allowed.
    TooManyValues,
    /// The request has more conditions than are allowed. Only the first of those too many is listed.
    TooManyConditions,
    /// The size of the page is none, or larger than is allowed.
    Limit,
    /// The text is not a token of a page.
    Token,
}
