//! The collection `repositories`.

use super::{AccountEntry, DefaultBranch, Visibility};
use odm::prelude::*;

/// A document of `repositories`: 19 were counted. Half of them have up to 703 bytes, the largest
/// has 722.
// 2 kinds of documents, told by which of `visibility` is there: none (2): always `disabled`;
// visibility (17): always `is_template`, `visibility`. An enum with `tag` would have a variant for
// each.
// Documents have these fields in several orders: they are written in this one where the whole
// document is written anew.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "repositories")]
pub struct Repository {
    pub id: i32,
    pub name: String,
    pub full_name: String,
    pub private: bool,
    pub owner: AccountEntry,
    pub fork: bool,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub pushed_at: String,
    // Null in 14 of 19.
    pub homepage: Option<String>,
    pub size: i32,
    pub stargazers_count: i32,
    // Equal to the value of `stargazers_count`: 19 are, 0 are not.
    pub watchers_count: i32,
    // Null in 9 of 19.
    pub language: Option<String>,
    pub has_issues: bool,
    pub has_projects: bool,
    pub has_downloads: bool,
    pub has_wiki: bool,
    pub has_pages: bool,
    // Missing in 14 of 19.
    #[field(skip_none)]
    pub has_discussions: Option<bool>,
    pub forks_count: i32,
    pub archived: bool,
    // Missing in 3 of 19.
    #[field(skip_none)]
    pub disabled: Option<bool>,
    pub open_issues_count: i32,
    // Equal to the value of `forks_count`: 19 are, 0 are not.
    pub forks: i32,
    // Equal to the value of `open_issues_count`: 19 are, 0 are not.
    pub open_issues: i32,
    // Equal to the value of `watchers_count`: 19 are, 0 are not.
    pub watchers: i32,
    pub default_branch: DefaultBranch,
    // Missing in 11 of 19.
    #[field(skip_none)]
    pub allow_forking: Option<bool>,
    // Missing in 2 of 19.
    #[field(skip_none)]
    pub is_template: Option<bool>,
    // Missing in 2 of 19.
    #[field(skip_none)]
    pub visibility: Option<Visibility>,
    // Missing in 4 of 19.
    #[field(skip_none)]
    pub web_commit_signoff_required: Option<bool>,
    // Missing in 4 of 19.
    // Only documents without fields that can be declared were found.
    #[field(opaque, skip_none)]
    pub custom_properties: Option<odm::bson::Document>,
}
