//! The parameters of a request against those that a struct declares, without types: what is there, and what can't be taken.

use super::value::{MOST_CHARS, listed};
use crate::error::parameter::{BadParameter, ParameterProblem};
use crate::query::page::PageToken;
use std::fmt;

/// Maximum number of problems of a request that are collected: the rest of the request is not read.
const MOST_PROBLEMS: usize = 100;

/// How a parameter compares the field with its value: the word in brackets, `age[gte]=18`.
///
/// ```
/// use odm::request::Operator;
///
/// assert_eq!(Operator::StartsWith.to_string(), "starts_with");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operator {
    /// The field has this value: also without brackets, `age=18`.
    Eq,
    /// It has another value, or none.
    Ne,
    /// It has one of these values, which commas separate.
    In,
    /// It is greater.
    Gt,
    /// It is greater or equal.
    Gte,
    /// It is less.
    Lt,
    /// It is less or equal.
    Lte,
    /// It begins with this text.
    StartsWith,
}

impl Operator {
    const ALL: [(&'static str, Operator); 8] = [
        ("eq", Operator::Eq),
        ("ne", Operator::Ne),
        ("in", Operator::In),
        ("gt", Operator::Gt),
        ("gte", Operator::Gte),
        ("lt", Operator::Lt),
        ("lte", Operator::Lte),
        ("starts_with", Operator::StartsWith),
    ];

    /// The operator of this name, among those that a parameter takes.
    fn named(word: Option<&str>, taken: &[Operator]) -> Option<Operator> {
        let word = word.unwrap_or("eq");
        let (_, operator) = Operator::ALL.iter().find(|(name, _)| *name == word)?;
        taken.contains(operator).then_some(*operator)
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Operator::ALL.iter().find(|(_, operator)| operator == self);
        f.write_str(named.map_or("", |(name, _)| name))
    }
}

/// The declarations of a struct with `#[derive(RequestQuery)]`.
#[doc(hidden)]
#[derive(Debug)]
pub struct Parameters {
    /// The greatest size of a page.
    pub max_limit: u32,
    /// The greatest number of conditions.
    pub max_conditions: u32,
    /// The greatest number of values of one list.
    pub max_values: u32,
    /// The parameters that are conditions, in the order of the fields.
    pub conditions: &'static [Parameter],
    /// The name of the parameter for the order, and the fields that it takes.
    pub sort: Option<(&'static str, &'static [SortKey])>,
    /// Whether there are `limit`, `after` and `before`.
    pub pages: bool,
}

/// A parameter that is a condition.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name in a request.
    pub name: &'static str,
    /// The operators that it takes.
    pub operators: &'static [Operator],
}

/// A field by which a request may sort.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct SortKey {
    /// Its name in a request.
    pub name: &'static str,
    /// Its stored name.
    pub stored: &'static str,
}

const LIMIT: &str = "limit";
const AFTER: &str = "after";
const BEFORE: &str = "before";

/// The parameters of a request, by those of a struct.
#[doc(hidden)]
#[derive(Debug)]
pub struct Given {
    declared: &'static Parameters,
    conditions: Vec<GivenCondition>,
    pub(super) sort: Vec<(SortKey, bool)>,
    pub(super) limit: Option<u32>,
    /// The token, and whether the page is the one before it.
    pub(super) token: Option<(PageToken, bool)>,
    /// By the position of the parameter in the request.
    problems: Vec<(usize, BadParameter)>,
}

/// A condition as the request has it.
#[derive(Debug)]
pub(super) struct GivenCondition {
    /// The position in the request.
    at: usize,
    /// The position among the declared parameters.
    parameter: usize,
    pub(super) operator: Operator,
    /// The parameter and its value, as they are written.
    key: String,
    value: String,
}

impl GivenCondition {
    /// The texts of its values.
    pub(super) fn texts(&self) -> Vec<&str> {
        match self.operator {
            Operator::In => self.value.split(',').collect(),
            _ => vec![&self.value],
        }
    }
}

impl Given {
    pub(super) fn new(declared: &'static Parameters) -> Given {
        Given {
            declared,
            conditions: Vec::new(),
            sort: Vec::new(),
            limit: None,
            token: None,
            problems: Vec::new(),
        }
    }

    /// One more parameter of the request, at a position in it.
    pub(super) fn add(&mut self, at: usize, key: &str, value: &str) {
        if self.problems.len() >= MOST_PROBLEMS {
            return;
        }
        let declared = self.declared;
        let (name, word) = match key.strip_suffix(']').and_then(|key| key.split_once('[')) {
            Some((name, word)) => (name, Some(word)),
            None => (key, None),
        };
        let accepted = match word {
            None if declared.pages && [LIMIT, AFTER, BEFORE].contains(&key) => self.place(key, value),
            None if declared.sort.is_some_and(|(sort, _)| sort == key) => self.order(value),
            _ => match declared.conditions.iter().position(|known| known.name == name) {
                Some(parameter) => self.condition(at, parameter, key, word, value),
                None => Err((ParameterProblem::Unknown, self.names())),
            },
        };
        if let Err((problem, accepts)) = accepted {
            self.refuse(at, key, value, problem, accepts);
        }
    }

    fn condition(
        &mut self,
        at: usize,
        parameter: usize,
        key: &str,
        word: Option<&str>,
        value: &str,
    ) -> Result<(), (ParameterProblem, String)> {
        let Parameter { name, operators } = self.declared.conditions[parameter];
        let Some(operator) = Operator::named(word, operators) else {
            let forms = operators.iter().map(|operator| match operator {
                Operator::Eq => name.to_owned(),
                operator => format!("{name}[{operator}]"),
            });
            return Err((ParameterProblem::Operator, listed(forms)));
        };
        let same = |other: &GivenCondition| other.parameter == parameter && other.operator == operator;
        if self.conditions.iter().any(same) {
            let once = if operators.contains(&Operator::In) {
                format!("one value, and several as `{name}[in]=a,b`")
            } else {
                "one value".to_owned()
            };
            return Err((ParameterProblem::Repeated, once));
        }
        let most = self.declared.max_conditions as usize;
        let mut condition = GivenCondition {
            at,
            parameter,
            operator,
            key: key.to_owned(),
            value: value.to_owned(),
        };
        let values = condition.texts().len();
        let most_values = self.declared.max_values as usize;
        let has_too_many = values > most_values;
        if has_too_many {
            // They are not read.
            condition.value.clear();
        }
        self.conditions.push(condition);
        match self.conditions.len() {
            n if n == most + 1 => Err((
                ParameterProblem::TooManyConditions,
                format!("at most {most} conditions"),
            )),
            _ if has_too_many => Err((
                ParameterProblem::TooManyValues,
                format!("at most {most_values} values"),
            )),
            _ if operator == Operator::StartsWith && value.is_empty() => {
                let text = format!("a text of 1 to {MOST_CHARS} characters");
                Err((ParameterProblem::WrongValue, text))
            }
            _ => Ok(()),
        }
    }

    /// `sort=-name,age`.
    fn order(&mut self, value: &str) -> Result<(), (ParameterProblem, String)> {
        let keys = self.declared.sort.map_or(&[][..], |(_, keys)| keys);
        if !self.sort.is_empty() {
            let once = "one list of fields, such as `-a,b`".to_owned();
            return Err((ParameterProblem::Repeated, once));
        }
        for part in value.split(',') {
            let (name, descending) = match part.strip_prefix('-') {
                Some(name) => (name, true),
                None => (part, false),
            };
            let key = keys.iter().find(|key| key.name == name);
            let is_new = |key: &&SortKey| self.sort.iter().all(|(other, _)| other.stored != key.stored);
            let Some(key) = key.filter(is_new) else {
                let names = listed(keys.iter().map(|key| key.name));
                let each = format!("each of {names} at most once, and `-` before a descending one");
                return Err((ParameterProblem::WrongValue, each));
            };
            self.sort.push((*key, descending));
        }
        Ok(())
    }

    /// `limit=20`, `after=TOKEN`, `before=TOKEN`.
    fn place(&mut self, key: &str, value: &str) -> Result<(), (ParameterProblem, String)> {
        let most = self.declared.max_limit;
        let repeated = |accepts: &str| Err((ParameterProblem::Repeated, accepts.to_owned()));
        if key == LIMIT {
            if self.limit.is_some() {
                return repeated("one number");
            }
            let is_number = value.bytes().all(|digit| digit.is_ascii_digit());
            let size = value.parse().ok().filter(|n| is_number && (1..=most).contains(n));
            self.limit = size;
            return match size {
                Some(_) => Ok(()),
                None => Err((
                    ParameterProblem::Limit,
                    format!("a whole number from 1 to {most}"),
                )),
            };
        }
        if self.token.is_some() {
            return repeated("one of `after` and `before`, once");
        }
        let token = PageToken::from(value);
        if !token.is_well_formed() {
            let token = "the token of a page, from the answer to an earlier request".to_owned();
            return Err((ParameterProblem::Token, token));
        }
        self.token = Some((token, key == BEFORE));
        Ok(())
    }

    /// All parameters, for a message.
    fn names(&self) -> String {
        let conditions = self.declared.conditions.iter().map(|parameter| parameter.name);
        let sort = self.declared.sort.map(|(name, _)| name);
        let pages = [LIMIT, AFTER, BEFORE].into_iter().filter(|_| self.declared.pages);
        listed(conditions.chain(sort).chain(pages))
    }

    fn refuse(
        &mut self,
        at: usize,
        key: &str,
        value: &str,
        problem: ParameterProblem,
        accepts: impl Into<String>,
    ) {
        self.problems
            .push((at, BadParameter::new(key, value, problem, accepts)));
    }

    /// The conditions of the parameter at this position, read one by one: an error is what a value has to be.
    pub(super) fn each<C>(
        &mut self,
        parameter: usize,
        mut read: impl FnMut(&GivenCondition) -> Result<C, String>,
    ) -> Vec<C> {
        let mut read_conditions = Vec::new();
        for condition in self.conditions.iter().filter(|of| of.parameter == parameter) {
            match read(condition) {
                Ok(condition) => read_conditions.push(condition),
                Err(accepts) => {
                    let GivenCondition { key, value, at, .. } = condition;
                    let bad = BadParameter::new(key, value, ParameterProblem::WrongValue, accepts);
                    self.problems.push((*at, bad));
                }
            }
        }
        read_conditions
    }

    /// What can't be taken, in the order of the request.
    pub(super) fn into_problems(mut self) -> Vec<BadParameter> {
        self.problems.sort_by_key(|(at, _)| *at);
        // Of one parameter the first problem says enough.
        self.problems.dedup_by_key(|(at, _)| *at);
        self.problems.into_iter().map(|(_, bad)| bad).collect()
    }
}
