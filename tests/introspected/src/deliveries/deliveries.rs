//! The collection `deliveries`.

use super::{Account, Integer, OrNull, Repository};
use odm::bson::Bson;
use odm::prelude::*;

/// A document of `deliveries`: 329 were counted. Half of them have up to 1279 bytes, the largest
/// has 3780.
// 58 kinds of documents, told by `event`: branch_protection_rule (5): always `action`, `rule`,
// `repository`, `sender`; check_run (9): always `action`, `repository`, `sender`, `check_run`;
// check_suite (9): always `action`, `repository`, `sender`, `check_suite`; code_scanning_alert (6):
// always `action`, `repository`, `organization`, `sender`, `alert`, `ref`, `commit_oid`;
// commit_comment (5): always `action`, `repository`, `sender`, `comment`; create (5): always
// `repository`, `sender`, `ref`, `ref_type`, `master_branch`, `pusher_type`; delete (4): always
// `repository`, `sender`, `ref`, `ref_type`, `pusher_type`; dependabot_alert (3): always `action`,
// `repository`, `sender`, `alert`; deploy_key (2): always `action`, `repository`, `sender`, `key`;
// deployment (4): always `action`, `repository`, `sender`, `deployment`; deployment_review (1):
// always `action`, `repository`, `organization`, `sender`, `installation`, `workflow_run`, `since`,
// `workflow_job_run`, `environment`, `reviewers`, `requestor`; deployment_status (4): always
// `action`, `repository`, `sender`, `deployment`, `deployment_status`; and 46 more. An enum with
// `tag` would have a variant for each.
// 73 kinds of documents, told by `action`: (missing) (43): always `sender`; added (6): always
// `action`, `sender`; added_to_repository (2): always `action`, `repository`, `organization`,
// `sender`, `team`; answered (1): always `action`, `repository`, `sender`, `installation`,
// `discussion`, `answer`; archived (1): always `action`, `changes`, `organization`, `sender`,
// `projects_v2_item`; assigned (5): always `action`, `repository`, `sender`, `assignee`; blocked
// (3): always `action`, `organization`, `sender`, `blocked_user`; cancelled (1): always `action`,
// `sender`, `effective_date`, `marketplace_purchase`; category_changed (1): always `action`,
// `changes`, `repository`, `sender`, `installation`, `discussion`; changed (1): always `action`,
// `sender`, `effective_date`, `marketplace_purchase`, `previous_marketplace_purchase`;
// checks_requested (2): always `action`, `repository`, `organization`, `sender`, `installation`,
// `merge_group`; closed (4): always `action`, `repository`, `sender`; and 61 more. An enum with
// `tag` would have a variant for each.
// Documents have these fields in several orders: they are written in this one where the whole
// document is written anew.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "deliveries")]
#[document(index(fields(event, action)))]
#[document(index(fields(repository.id)))]
pub struct Delivery {
    pub id: ObjectId,
    pub event: DeliveryEvent,
    // Missing in 43 of 329.
    // Its values: "created" (64), "deleted" (20), "edited" (20), "completed" (12), "opened" (8),
    // "published" (8), "added" (6), "labeled" (6), "locked" (6), "reopened" (6), "requested" (6),
    // "assigned" (5), and 60 more.
    #[field(skip_none)]
    pub action: Option<String>,
    // Missing in 324 of 329.
    #[field(skip_none)]
    pub rule: Option<DeliveryRule>,
    // Missing in 319 of 329.
    #[field(skip_none)]
    pub check_run: Option<DeliveryCheckRun>,
    // Missing in 328 of 329.
    #[field(skip_none)]
    pub requested_action: Option<DeliveryRequestedAction>,
    // Missing in 320 of 329.
    #[field(skip_none)]
    pub check_suite: Option<DeliveryCheckSuite>,
    // Missing in 316 of 329.
    #[field(skip_none)]
    pub alert: Option<DeliveryAlert>,
    // Missing in 327 of 329.
    #[field(skip_none)]
    pub key: Option<DeliveryKey>,
    // Missing in 325 of 329.
    #[field(skip_none)]
    pub deployment_status: Option<DeliveryDeploymentStatus>,
    // Missing in 326 of 329.
    #[field(skip_none)]
    pub forkee: Option<DeliveryForkee>,
    // Missing in 326 of 329.
    // Items: always 1.
    #[embed(max = 10)]
    #[field(skip_none)]
    pub pages: Option<Vec<DeliveryPage>>,
    // Missing in 326 of 329, null in 1.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub requester: OrNull<DeliveryAppOwner>,
    // Missing in 291 of 329.
    #[field(skip_none)]
    pub issue: Option<DeliveryIssue>,
    // Missing in 306 of 329.
    #[field(skip_none)]
    pub comment: Option<DeliveryComment>,
    // Missing in 310 of 329.
    #[field(skip_none)]
    pub discussion: Option<DeliveryDiscussion>,
    // Missing in 328 of 329.
    #[field(skip_none)]
    pub answer: Option<DeliveryAnswer>,
    // Missing in 328 of 329.
    #[field(skip_none)]
    pub old_answer: Option<DeliveryAnswer>,
    // Missing in 320 of 329.
    #[field(skip_none)]
    pub milestone: Option<DeliveryMilestone>,
    // Missing in 324 of 329.
    #[field(skip_none)]
    pub scope: Option<DeliveryScope>,
    // Missing in 320 of 329.
    #[field(skip_none)]
    pub member: Option<AccountEntry>,
    // Missing in 315 of 329.
    #[field(skip_none)]
    pub team: Option<DeliveryTeam>,
    // Missing in 327 of 329.
    #[field(skip_none)]
    pub merge_group: Option<DeliveryMergeGroup>,
    // Missing in 323 of 329.
    #[field(skip_none)]
    pub hook_id: Option<i32>,
    // Missing in 323 of 329.
    #[field(skip_none)]
    pub hook: Option<DeliveryHook>,
    // Missing in 326 of 329.
    #[field(skip_none)]
    pub membership: Option<DeliveryMembership>,
    // Missing in 328 of 329.
    #[field(skip_none)]
    pub invitation: Option<DeliveryInvitation>,
    // Missing in 328 of 329.
    #[field(skip_none)]
    pub user: Option<DeliveryAppOwner>,
    // Missing in 325 of 329.
    #[field(skip_none)]
    pub blocked_user: Option<DeliveryAppOwner>,
    // Missing in 326 of 329.
    #[field(skip_none)]
    pub package: Option<DeliveryPackage>,
    // Missing in 326 of 329.
    #[field(skip_none)]
    pub build: Option<DeliveryBuild>,
    // Missing in 326 of 329.
    #[field(skip_none)]
    pub project: Option<DeliveryProject>,
    // Missing in 322 of 329.
    #[field(skip_none)]
    pub projects_v2_item: Option<DeliveryProjectsV2Item>,
    // Missing in 300 of 329.
    #[field(skip_none)]
    pub number: Option<i32>,
    // Missing in 325 of 329.
    #[field(skip_none)]
    pub review: Option<DeliveryReview>,
    // Missing in 288 of 329.
    #[field(skip_none)]
    pub pull_request: Option<DeliveryPullRequest>,
    // Missing in 312 of 329.
    #[field(skip_none)]
    pub label: Option<DeliveryLabel>,
    // Missing in 320 of 329.
    #[field(skip_none)]
    pub assignee: Option<DeliveryAppOwner>,
    // Missing in 326 of 329.
    #[field(skip_none)]
    pub thread: Option<DeliveryThread>,
    // Missing in 327 of 329.
    #[field(skip_none)]
    pub branch: Option<String>,
    // Missing in 327 of 329.
    // Only documents without fields that can be declared were found.
    #[field(opaque, skip_none)]
    pub client_payload: Option<odm::bson::Document>,
    // Missing in 327 of 329.
    #[field(skip_none)]
    pub status: Option<String>,
    // Missing in 325 of 329.
    #[field(skip_none)]
    pub security_advisory: Option<DeliverySecurityAdvisory>,
    // Missing in 325 of 329.
    #[field(skip_none)]
    pub sponsorship: Option<DeliverySponsorship>,
    // Missing in 293 of 329.
    #[field(skip_none)]
    pub changes: Option<DeliveryChange>,
    // Missing in 323 of 329.
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    #[field(skip_none)]
    pub effective_date: Option<String>,
    // Missing in 320 of 329.
    #[field(skip_none)]
    pub project_card: Option<DeliveryProjectCard>,
    // Missing in 325 of 329.
    #[field(skip_none)]
    pub project_column: Option<DeliveryProjectColumn>,
    // Missing in 316 of 329.
    #[field(skip_none)]
    pub release: Option<DeliveryRelease>,
    // Missing in 326 of 329, null in 1.
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub starred_at: OrNull<String>,
    // Missing in 325 of 329.
    #[field(skip_none)]
    pub sha: Option<String>,
    // Missing in 325 of 329.
    #[field(skip_none)]
    pub name: Option<String>,
    // Missing in 325 of 329.
    #[field(skip_none)]
    pub context: Option<String>,
    // Missing in 325 of 329.
    #[field(skip_none)]
    pub state: Option<String>,
    // Missing in 325 of 329.
    #[field(skip_none)]
    pub commit: Option<DeliveryCommit>,
    // Missing in 325 of 329.
    // Items: at most 3; half have up to 3, 99 of 100 up to 3.
    #[embed(max = 10)]
    #[field(skip_none)]
    pub branches: Option<Vec<DeliveryBranch>>,
    // Missing in 325 of 329.
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    #[field(skip_none)]
    pub created_at: Option<String>,
    // Missing in 325 of 329.
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    #[field(skip_none)]
    pub updated_at: Option<String>,
    // Missing in 327 of 329.
    // Only documents without fields that can be declared were found.
    #[field(opaque, skip_none)]
    pub inputs: Option<odm::bson::Document>,
    // Missing in 305 of 329.
    // Its values: "simple-tag" (9), "refs/heads/master" (5), "refs/tags/simple-tag" (5),
    // "refs/heads/main" (2), "" (1), "refs/heads/code-feature" (1), "refs/pull/11/merge" (1).
    #[field(name = "ref", skip_none)]
    pub ref_: Option<String>,
    // Missing in 323 of 329.
    #[field(skip_none)]
    pub commit_oid: Option<String>,
    // Missing in 320 of 329.
    #[field(skip_none)]
    pub ref_type: Option<DeliveryRefType>,
    // Missing in 324 of 329.
    #[field(skip_none)]
    pub master_branch: Option<DeliveryBaseRef>,
    // Missing in 320 of 329.
    #[field(skip_none)]
    pub pusher_type: Option<DeliveryPusherType>,
    // Missing in 321 of 329.
    #[field(skip_none)]
    pub before: Option<DeliveryBefore>,
    // Missing in 321 of 329.
    #[field(skip_none)]
    pub after: Option<DeliveryAfter>,
    // Missing in 322 of 329.
    #[field(skip_none)]
    pub created: Option<bool>,
    // Missing in 322 of 329.
    #[field(skip_none)]
    pub deleted: Option<bool>,
    // Missing in 322 of 329.
    #[field(skip_none)]
    pub forced: Option<bool>,
    // Missing in 322 of 329, null in 7.
    // Nothing but null was found, so that the type of its values is a guess.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub base_ref: OrNull<String>,
    // Missing in 322 of 329.
    #[field(skip_none)]
    pub compare: Option<String>,
    // Missing in 322 of 329.
    // Items: at most 1; half have up to 0, 99 of 100 up to 1.
    #[embed(max = 10)]
    #[field(skip_none)]
    pub commits: Option<Vec<DeliveryCommit2>>,
    // Missing in 322 of 329, null in 4.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub head_commit: OrNull<DeliveryCommit2>,
    // Missing in 321 of 329.
    #[field(skip_none)]
    pub workflow_job: Option<DeliveryWorkflowJob>,
    // Missing in 320 of 329.
    #[field(skip_none)]
    pub deployment: Option<DeliveryDeployment>,
    // Missing in 49 of 329.
    #[field(skip_none)]
    pub repository: Option<DeliveryRepository>,
    // Missing in 209 of 329.
    #[field(skip_none)]
    pub organization: Option<DeliveryOrganization>,
    // Missing in 322 of 329.
    #[field(skip_none)]
    pub pusher: Option<DeliveryPusher>,
    // Missing in 4 of 329.
    #[field(skip_none)]
    pub sender: Option<DeliveryUser>,
    // Missing in 196 of 329.
    #[field(skip_none)]
    pub installation: Option<DeliveryInstallation>,
    // Missing in 319 of 329, null in 2.
    // Its types differ: 2 string, 6 object. `retype` in a migration makes them one.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub workflow: OrNull<DeliveryWorkflowValue>,
    // Missing in 319 of 329, null in 2.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub workflow_run: OrNull<DeliveryWorkflowRun>,
    // Missing in 328 of 329.
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    #[field(skip_none)]
    pub since: Option<String>,
    // Missing in 328 of 329.
    #[field(skip_none)]
    pub workflow_job_run: Option<DeliveryWorkflowJobRun>,
    // Missing in 328 of 329.
    #[field(skip_none)]
    pub environment: Option<String>,
    // Missing in 328 of 329.
    // Items: always 1.
    #[embed(max = 10)]
    #[field(skip_none)]
    pub reviewers: Option<Vec<DeliveryReviewer>>,
    // Missing in 328 of 329.
    #[field(skip_none)]
    pub requestor: Option<DeliveryAppOwner>,
    // Missing in 324 of 329.
    // Items: always 1.
    #[embed(max = 10)]
    #[field(skip_none)]
    pub repositories: Option<Vec<DeliveryRepository2>>,
    // Missing in 326 of 329.
    #[field(skip_none)]
    pub repository_selection: Option<String>,
    // Missing in 326 of 329.
    // Items: at most 1; half have up to 1, 99 of 100 up to 1.
    #[embed(max = 10)]
    #[field(skip_none)]
    pub repositories_added: Option<Vec<DeliveryRepository2>>,
    // Missing in 326 of 329.
    // Items: at most 1; half have up to 0, 99 of 100 up to 1.
    #[embed(max = 10)]
    #[field(skip_none)]
    pub repositories_removed: Option<Vec<DeliveryRepository2>>,
    // Missing in 325 of 329.
    #[field(skip_none)]
    pub marketplace_purchase: Option<DeliveryMarketplacePurchase>,
    // Missing in 328 of 329.
    #[field(skip_none)]
    pub previous_marketplace_purchase: Option<DeliveryPreviousMarketplacePurchase>,
    // Missing in 326 of 329.
    #[field(skip_none)]
    pub build_id: Option<i32>,
    // Missing in 327 of 329.
    #[field(skip_none)]
    pub requested_reviewer: Option<DeliveryAppOwner>,
    // Missing in 325 of 329.
    #[field(skip_none)]
    pub status_id: Option<i64>,
}

/// `event` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryEvent {
    #[embed(name = "branch_protection_rule")]
    BranchProtectionRule,
    #[embed(name = "check_run")]
    CheckRun,
    #[embed(name = "check_suite")]
    CheckSuite,
    #[embed(name = "code_scanning_alert")]
    CodeScanningAlert,
    #[embed(name = "commit_comment")]
    CommitComment,
    #[embed(name = "create")]
    Create,
    #[embed(name = "delete")]
    Delete,
    #[embed(name = "dependabot_alert")]
    DependabotAlert,
    #[embed(name = "deploy_key")]
    DeployKey,
    #[embed(name = "deployment")]
    Deployment,
    #[embed(name = "deployment_review")]
    DeploymentReview,
    #[embed(name = "deployment_status")]
    DeploymentStatus,
    #[embed(name = "discussion")]
    Discussion,
    #[embed(name = "discussion_comment")]
    DiscussionComment,
    #[embed(name = "fork")]
    Fork,
    #[embed(name = "github_app_authorization")]
    GithubAppAuthorization,
    #[embed(name = "gollum")]
    Gollum,
    #[embed(name = "installation")]
    Installation,
    #[embed(name = "installation_repositories")]
    InstallationRepositories,
    #[embed(name = "issue_comment")]
    IssueComment,
    #[embed(name = "issues")]
    Issues,
    #[embed(name = "label")]
    Label,
    #[embed(name = "marketplace_purchase")]
    MarketplacePurchase,
    #[embed(name = "member")]
    Member,
    #[embed(name = "membership")]
    Membership,
    #[embed(name = "merge_group")]
    MergeGroup,
    #[embed(name = "meta")]
    Meta,
    #[embed(name = "milestone")]
    Milestone,
    #[embed(name = "org_block")]
    OrgBlock,
    #[embed(name = "organization")]
    Organization,
    #[embed(name = "package")]
    Package,
    #[embed(name = "page_build")]
    PageBuild,
    #[embed(name = "ping")]
    Ping,
    #[embed(name = "project")]
    Project,
    #[embed(name = "project_card")]
    ProjectCard,
    #[embed(name = "project_column")]
    ProjectColumn,
    #[embed(name = "projects_v2_item")]
    ProjectsV2Item,
    #[embed(name = "public")]
    Public,
    #[embed(name = "pull_request")]
    PullRequest,
    #[embed(name = "pull_request_review")]
    PullRequestReview,
    #[embed(name = "pull_request_review_comment")]
    PullRequestReviewComment,
    #[embed(name = "pull_request_review_thread")]
    PullRequestReviewThread,
    #[embed(name = "push")]
    Push,
    #[embed(name = "release")]
    Release,
    #[embed(name = "repository")]
    Repository,
    #[embed(name = "repository_dispatch")]
    RepositoryDispatch,
    #[embed(name = "repository_import")]
    RepositoryImport,
    #[embed(name = "repository_vulnerability_alert")]
    RepositoryVulnerabilityAlert,
    #[embed(name = "security_advisory")]
    SecurityAdvisory,
    #[embed(name = "sponsorship")]
    Sponsorship,
    #[embed(name = "star")]
    Star,
    #[embed(name = "status")]
    Status,
    #[embed(name = "team")]
    Team,
    #[embed(name = "team_add")]
    TeamAdd,
    #[embed(name = "watch")]
    Watch,
    #[embed(name = "workflow_dispatch")]
    WorkflowDispatch,
    #[embed(name = "workflow_job")]
    WorkflowJob,
    #[embed(name = "workflow_run")]
    WorkflowRun,
}

/// `rule.name` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryName {
    #[embed(name = "main")]
    Main,
    #[embed(name = "production")]
    Production,
}

/// `rule.pull_request_reviews_enforcement_level` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryPullRequestReviewsEnforcementLevel {
    #[embed(name = "non_admins")]
    NonAdmins,
    #[embed(name = "off")]
    Off,
}

/// `rule.required_status_checks[]` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryRequiredStatusCheck {
    #[embed(name = "basic-CI")]
    BasicCi,
    #[embed(name = "test")]
    Test,
}

/// `rule.required_status_checks_enforcement_level` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryRequiredStatusChecksEnforcementLevel {
    #[embed(name = "non_admins")]
    NonAdmins,
}

/// `rule.signature_requirement_enforcement_level` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliverySignatureRequirementEnforcementLevel {
    #[embed(name = "off")]
    Off,
}

/// `rule` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryRule {
    pub id: i32,
    pub repository_id: i32,
    pub name: DeliveryName,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
    pub pull_request_reviews_enforcement_level: DeliveryPullRequestReviewsEnforcementLevel,
    pub required_approving_review_count: i32,
    pub dismiss_stale_reviews_on_push: bool,
    pub require_code_owner_review: bool,
    pub authorized_dismissal_actors_only: bool,
    pub ignore_approvals_from_contributors: bool,
    // Items: always 1.
    #[embed(max = 10)]
    pub required_status_checks: Vec<DeliveryRequiredStatusCheck>,
    pub required_status_checks_enforcement_level: DeliveryRequiredStatusChecksEnforcementLevel,
    pub strict_required_status_checks_policy: bool,
    pub signature_requirement_enforcement_level: DeliverySignatureRequirementEnforcementLevel,
    pub linear_history_requirement_enforcement_level: DeliverySignatureRequirementEnforcementLevel,
    pub admin_enforced: bool,
    // Missing in 4 of 5.
    #[field(skip_none)]
    pub create_protected: Option<bool>,
    pub allow_force_pushes_enforcement_level: DeliverySignatureRequirementEnforcementLevel,
    pub allow_deletions_enforcement_level: DeliverySignatureRequirementEnforcementLevel,
    pub merge_queue_enforcement_level: DeliverySignatureRequirementEnforcementLevel,
    pub required_deployments_enforcement_level: DeliverySignatureRequirementEnforcementLevel,
    pub required_conversation_resolution_level: DeliverySignatureRequirementEnforcementLevel,
    pub authorized_actors_only: bool,
    // Items: at most 1; half have up to 1, 99 of 100 up to 1.
    #[embed(max = 10)]
    pub authorized_actor_names: Vec<String>,
    // Missing in 4 of 5.
    #[field(skip_none)]
    pub require_last_push_approval: Option<bool>,
}

/// `check_run.head_sha` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryHeadSha {
    #[embed(name = "5bd5f196a46b8222fb7484f05faba41a73cf34bd")]
    N5bd5f196a46b8222fb7484f05faba41a73cf34bd,
    #[embed(name = "d6fde92930d4715a2b49857d24b940956b26d2d3")]
    D6fde92930d4715a2b49857d24b940956b26d2d3,
    #[embed(name = "ec26c3e57ca3a959ca5aad62de7213c562f8c821")]
    Ec26c3e57ca3a959ca5aad62de7213c562f8c821,
}

/// `check_run.status` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryStatus {
    #[embed(name = "completed")]
    Completed,
    #[embed(name = "in_progress")]
    InProgress,
    #[embed(name = "queued")]
    Queued,
}

/// `check_run.output` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryOutput {
    pub annotations_count: i32,
}

/// `check_run.name` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryCheckRunName {
    #[embed(name = "API Review")]
    ApiReview,
    #[embed(name = "Octocoders-linter")]
    OctocodersLinter,
    #[embed(name = "deploy")]
    Deploy,
    #[embed(name = "randscape")]
    Randscape,
}

/// `check_run.check_suite.before` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryBefore2 {
    #[embed(name = "0cac7e27ee4c1d949ae4418899e5d5f206e393f6")]
    N0cac7e27ee4c1d949ae4418899e5d5f206e393f6,
    #[embed(name = "146e867f55c26428e5f9fade55a9bbf5e95a7912")]
    N146e867f55c26428e5f9fade55a9bbf5e95a7912,
    #[embed(name = "6113728f27ae82c7b1a177c8d03f9e96e0adf246")]
    N6113728f27ae82c7b1a177c8d03f9e96e0adf246,
}

/// `check_run.check_suite.pull_requests[].head.repo` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryHeadRepo {
    pub id: i32,
    pub name: String,
}

/// `check_run.check_suite.pull_requests[].head` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryPullRequestHead {
    // Its values: "changes" (6), "miniak/event-process-id" (1).
    #[field(name = "ref")]
    pub ref_: String,
    pub sha: String,
    pub repo: DeliveryHeadRepo,
}

/// `check_run.check_suite.pull_requests[].base.ref` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryBaseRef {
    #[embed(name = "master")]
    Master,
}

/// `check_run.check_suite.pull_requests[]` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryCheckSuitePullRequest {
    pub id: i32,
    pub number: i32,
    pub head: DeliveryPullRequestHead,
    pub base: DeliveryPullRequestHead,
}

/// `check_run.check_suite.deployment` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryCheckSuiteDeployment {
    pub id: i32,
    pub task: String,
    pub original_environment: String,
    pub environment: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
}

/// `check_run.check_suite.app.owner.type` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Bot,
    Organization,
    User,
}

/// `check_run.check_suite.app.owner` of `deliveries`.
// Documents have these fields in several orders: they are written in this one where the whole
// document is written anew.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct AccountEntry {
    // Its values: "Octocoders" (6), "github" (2), "electron" (1).
    // A copy: 9 equal `accounts.login`. 9 of 9 are equal; 3 distinct values, the commonest has 67 %.
    #[denormalize(from = id.login)]
    pub login: String,
    // Refers to `accounts._id`: 9 of 9 were found. 3 of 3 distinct values were found.
    #[reference(index = false)]
    pub id: Ref<Account>,
    // Perhaps a copy: 9 equal `accounts.type`. The values are too few to tell a copy from chance. 9 of
    // 9 are equal; 1 distinct values, the commonest has 100 %.
    #[field(name = "type")]
    pub type_: Type,
    // Perhaps a copy: 9 equal `accounts.site_admin`. The values are too few to tell a copy from chance.
    // 9 of 9 are equal; 1 distinct values, the commonest has 100 %.
    pub site_admin: bool,
}

/// `check_run.check_suite.app.name` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryName4 {
    #[embed(name = "Electron Cation")]
    ElectronCation,
    #[embed(name = "Super Duper")]
    SuperDuper,
    #[embed(name = "octocoders-linter")]
    OctocodersLinter,
}

/// `check_run.check_suite.app` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryCheckSuiteApp {
    pub id: i32,
    // Missing in 7 of 9.
    #[field(skip_none)]
    pub slug: Option<String>,
    pub owner: AccountEntry,
    pub name: DeliveryName4,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
}

/// `check_run.check_suite` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryCheckRunCheckSuite {
    pub id: i32,
    // Its values: "changes" (6), "master" (2), "miniak/event-process-id" (1).
    pub head_branch: String,
    pub head_sha: DeliveryHeadSha,
    pub status: DeliveryStatus,
    // Null in 5 of 9.
    pub conclusion: Option<String>,
    pub before: DeliveryBefore2,
    pub after: DeliveryHeadSha,
    // Items: at most 1; half have up to 1, 99 of 100 up to 1.
    #[embed(max = 10)]
    pub pull_requests: Vec<DeliveryCheckSuitePullRequest>,
    // Missing in 8 of 9.
    #[field(skip_none)]
    pub deployment: Option<DeliveryCheckSuiteDeployment>,
    pub app: DeliveryCheckSuiteApp,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
}

/// `check_run` of `deliveries`.
// 4 kinds of documents, told by `name`: API Review (1): always `output`, `check_suite`, `app`,
// `pull_requests`; Octocoders-linter (6): always `output`, `check_suite`, `app`, `pull_requests`;
// deploy (1): no fields of its own; randscape (2): always `output`, `check_suite`, `app`,
// `pull_requests`. An enum with `tag` would have a variant for each.
// Documents have these fields in several orders: they are written in this one where the whole
// document is written anew.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryCheckRun {
    pub id: i32,
    pub head_sha: DeliveryHeadSha,
    // Its texts are UUIDs as text: `retype` in a migration makes each a UUID.
    pub external_id: String,
    pub status: DeliveryStatus,
    // Null in 5 of 10.
    pub conclusion: Option<String>,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub started_at: String,
    // Null in 5 of 10.
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub completed_at: Option<String>,
    // Missing in 1 of 10.
    #[field(skip_none)]
    pub output: Option<DeliveryOutput>,
    pub name: DeliveryCheckRunName,
    // Missing in 1 of 10.
    #[field(skip_none)]
    pub check_suite: Option<DeliveryCheckRunCheckSuite>,
    // Missing in 1 of 10.
    #[field(skip_none)]
    pub app: Option<DeliveryCheckSuiteApp>,
    // Missing in 1 of 10.
    // Items: at most 1; half have up to 1, 99 of 100 up to 1.
    #[embed(max = 10)]
    #[field(skip_none)]
    pub pull_requests: Option<Vec<DeliveryCheckSuitePullRequest>>,
    // Missing in 9 of 10.
    #[field(skip_none)]
    pub deployment: Option<DeliveryCheckSuiteDeployment>,
}

/// `requested_action` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryRequestedAction {
    pub identifier: String,
}

/// `check_suite.head_branch` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryHeadBranch {
    #[embed(name = "changes")]
    Changes,
    #[embed(name = "main")]
    Main,
    #[embed(name = "master")]
    Master,
}

/// `check_suite.head_sha` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryCheckSuiteHeadSha {
    #[embed(name = "ec26c3e57ca3a959ca5aad62de7213c562f8c821")]
    Ec26c3e57ca3a959ca5aad62de7213c562f8c821,
    #[embed(name = "f95f852bd8fca8fcc58a9a2d6c842781e32a215e")]
    F95f852bd8fca8fcc58a9a2d6c842781e32a215e,
}

/// `check_suite.status` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryCheckSuiteStatus {
    #[embed(name = "completed")]
    Completed,
    #[embed(name = "queued")]
    Queued,
}

/// `check_suite.conclusion` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryConclusion {
    #[embed(name = "success")]
    Success,
}

/// `check_suite.before` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryCheckSuiteBefore {
    #[embed(name = "6113728f27ae82c7b1a177c8d03f9e96e0adf246")]
    N6113728f27ae82c7b1a177c8d03f9e96e0adf246,
}

/// `check_suite.pull_requests[].head.sha` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliverySha3 {
    #[embed(name = "ec26c3e57ca3a959ca5aad62de7213c562f8c821")]
    Ec26c3e57ca3a959ca5aad62de7213c562f8c821,
}

/// `check_suite.app.owner` of `deliveries`.
// Documents have these fields in several orders: they are written in this one where the whole
// document is written anew.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryAppOwner {
    // Perhaps a copy: 9 equal `accounts.login`. `check_suite.app.owner.id` is not declared as a
    // reference. 9 of 9 are equal; 1 distinct values, the commonest has 100 %.
    pub login: String,
    // Perhaps refers to `accounts._id`: 9 of 9 were found. The data alone do not prove it. 1 of 1
    // distinct values were found.
    pub id: i32,
    // Perhaps a copy: 9 equal `accounts.type`. `check_suite.app.owner.id` is not declared as a
    // reference. 9 of 9 are equal; 1 distinct values, the commonest has 100 %.
    #[field(name = "type")]
    pub type_: String,
    // Perhaps a copy: 9 equal `accounts.site_admin`. `check_suite.app.owner.id` is not declared as a
    // reference. 9 of 9 are equal; 1 distinct values, the commonest has 100 %.
    pub site_admin: bool,
}

/// `check_suite.app.name` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryAppName {
    #[embed(name = "octocoders-linter")]
    OctocodersLinter,
}

/// `check_suite.app` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryApp {
    pub id: i32,
    // Missing in 8 of 9.
    #[field(skip_none)]
    pub slug: Option<String>,
    pub owner: DeliveryAppOwner,
    pub name: DeliveryAppName,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
}

/// `check_suite.head_commit.tree_id` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryTreeId {
    #[embed(name = "31b122c26a97cf9af023e9ddab94a82c6e77b0ea")]
    N31b122c26a97cf9af023e9ddab94a82c6e77b0ea,
    #[embed(name = "c3e6e174b68ce629340ca817d52393dcf0aed707")]
    C3e6e174b68ce629340ca817d52393dcf0aed707,
}

/// `check_suite.head_commit.author` of `deliveries`.
// 2 kinds of documents, told by `name`: Codertocat (8): no fields of its own; github-actions[bot]
// (1): always `username`. An enum with `tag` would have a variant for each.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryAuthor {
    pub name: String,
    // Missing in 8 of 9.
    #[field(skip_none)]
    pub username: Option<String>,
}

/// `check_suite.head_commit` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryHeadCommit {
    pub id: DeliveryCheckSuiteHeadSha,
    pub tree_id: DeliveryTreeId,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub timestamp: String,
    pub author: DeliveryAuthor,
    pub committer: DeliveryAuthor,
}

/// `check_suite` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryCheckSuite {
    pub id: i32,
    pub head_branch: DeliveryHeadBranch,
    pub head_sha: DeliveryCheckSuiteHeadSha,
    pub status: DeliveryCheckSuiteStatus,
    // Null in 3 of 9.
    pub conclusion: Option<DeliveryConclusion>,
    pub before: DeliveryCheckSuiteBefore,
    pub after: DeliveryCheckSuiteHeadSha,
    // Items: at most 1; half have up to 1, 99 of 100 up to 1.
    #[embed(max = 10)]
    pub pull_requests: Vec<DeliveryCheckSuitePullRequest>,
    pub app: DeliveryApp,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
    pub latest_check_runs_count: i32,
    pub head_commit: DeliveryHeadCommit,
}

/// `alert.instances[].location` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryLocation {
    pub path: String,
    pub start_line: i32,
    pub end_line: i32,
    pub start_column: i32,
    pub end_column: i32,
}

/// `alert.instances[]` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryInstance {
    #[field(name = "ref")]
    pub ref_: String,
    pub analysis_key: String,
    pub environment: String,
    pub state: String,
    // Missing in 3 of 6.
    #[field(skip_none)]
    pub commit_sha: Option<String>,
    // Missing in 3 of 6.
    #[field(skip_none)]
    pub location: Option<DeliveryLocation>,
    // Missing in 3 of 6.
    // Items: at most 1; half have up to 0, 99 of 100 up to 1.
    #[embed(max = 10)]
    #[field(skip_none)]
    pub classifications: Option<Vec<String>>,
}

/// `alert.state` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryState {
    #[embed(name = "dismissed")]
    Dismissed,
    #[embed(name = "fixed")]
    Fixed,
    #[embed(name = "open")]
    Open,
}

/// `alert.dependency.package` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryDependencyPackage {
    pub ecosystem: String,
    pub name: String,
}

/// `alert.dependency` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryDependency {
    pub package: DeliveryDependencyPackage,
    pub manifest_path: String,
    pub scope: String,
}

/// `alert.security_advisory.vulnerabilities[].severity` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliverySeverity2 {
    #[embed(name = "medium")]
    Medium,
}

/// `alert.security_advisory.vulnerabilities[].first_patched_version` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryFirstPatchedVersion2 {
    pub identifier: String,
}

/// `alert.security_advisory.vulnerabilities[]` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliverySecurityAdvisoryVulnerabilitie {
    pub package: DeliveryDependencyPackage,
    pub severity: DeliverySeverity2,
    pub vulnerable_version_range: String,
    pub first_patched_version: DeliveryFirstPatchedVersion2,
}

/// `alert.security_advisory.cvss` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryCvss {
    pub vector_string: String,
    pub score: f64,
}

/// `alert.security_advisory.cwes[]` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryCwe {
    pub cwe_id: String,
    pub name: String,
}

/// `alert.security_advisory.identifiers[].type` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryIdentifierType {
    #[embed(name = "CVE")]
    Cve,
    #[embed(name = "GHSA")]
    Ghsa,
}

/// `alert.security_advisory.identifiers[]` of `deliveries`.
// Documents have these fields in several orders: they are written in this one where the whole
// document is written anew.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryIdentifier {
    #[field(name = "type")]
    pub type_: DeliveryIdentifierType,
    pub value: String,
}

/// `alert.security_advisory` of `deliveries`.
// Documents have these fields in several orders: they are written in this one where the whole
// document is written anew.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryAlertSecurityAdvisory {
    pub ghsa_id: String,
    pub cve_id: String,
    // Items: at most 3; half have up to 3, 99 of 100 up to 3.
    #[embed(max = 10)]
    pub vulnerabilities: Vec<DeliverySecurityAdvisoryVulnerabilitie>,
    pub severity: String,
    pub cvss: DeliveryCvss,
    // Items: always 1.
    #[embed(max = 10)]
    pub cwes: Vec<DeliveryCwe>,
    // Items: always 2.
    #[embed(max = 10)]
    pub identifiers: Vec<DeliveryIdentifier>,
    // Items: at most 8; half have up to 3, 99 of 100 up to 8.
    #[field(opaque)]
    pub references: Vec<Bson>,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub published_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
    // Null in 3 of 3.
    // Nothing but null was found, so that the type of its values is a guess.
    pub withdrawn_at: Option<String>,
}

/// `alert.security_vulnerability.first_patched_version` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryFirstPatchedVersion {
    pub identifier: String,
}

/// `alert.security_vulnerability` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliverySecurityVulnerability {
    pub package: DeliveryDependencyPackage,
    pub severity: String,
    pub vulnerable_version_range: String,
    pub first_patched_version: DeliveryFirstPatchedVersion,
}

/// `alert.rule.severity` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliverySeverity {
    #[embed(name = "error")]
    Error,
    #[embed(name = "note")]
    Note,
}

/// `alert.rule.tags` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(transparent)]
pub struct DeliveryTagList {
    // Missing in 2 of 6, null in 3.
    // Items: always 1.
    #[embed(max = 10)]
    pub items: Vec<String>,
}

/// `alert.rule` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryAlertRule {
    pub id: String,
    pub severity: DeliverySeverity,
    // Missing in 3 of 6.
    #[field(skip_none)]
    pub name: Option<String>,
    // Missing in 2 of 6, null in 3.
    // Items: always 1.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub tags: OrNull<DeliveryTagList>,
}

/// `alert.tool` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryTool {
    pub name: String,
    // Missing in 3 of 6, null in 3.
    // Nothing but null was found, so that the type of its values is a guess.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub guid: OrNull<String>,
    // Null in 6 of 6.
    // Nothing but null was found, so that the type of its values is a guess.
    pub version: Option<String>,
}

/// `alert` of `deliveries`.
// 2 kinds of documents, told by which of `state` is there: none (1): always `id`, `affected_range`,
// `affected_package_name`, `fixed_in`, `external_reference`, `external_identifier`, `severity`,
// `ghsa_id`; state (12): always `number`, `state`. An enum with `tag` would have a variant for
// each.
// Documents have these fields in several orders: they are written in this one where the whole
// document is written anew.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryAlert {
    // Missing in 9 of 13.
    #[field(skip_none)]
    pub id: Option<i32>,
    // Missing in 1 of 13.
    #[field(skip_none)]
    pub number: Option<i32>,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Missing in 9 of 13.
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    #[field(skip_none)]
    pub updated_at: Option<String>,
    // Missing in 7 of 13.
    // Items: always 1.
    #[embed(max = 10)]
    #[field(skip_none)]
    pub instances: Option<Vec<DeliveryInstance>>,
    // Missing in 1 of 13.
    #[field(skip_none)]
    pub state: Option<DeliveryState>,
    // Missing in 4 of 13, null in 8.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub dismissed_by: OrNull<DeliveryAppOwner>,
    // Missing in 10 of 13.
    #[field(skip_none)]
    pub dependency: Option<DeliveryDependency>,
    // Missing in 10 of 13.
    #[field(skip_none)]
    pub security_advisory: Option<DeliveryAlertSecurityAdvisory>,
    // Missing in 10 of 13.
    #[field(skip_none)]
    pub security_vulnerability: Option<DeliverySecurityVulnerability>,
    // Missing in 9 of 13.
    #[field(skip_none)]
    pub affected_range: Option<String>,
    // Missing in 9 of 13.
    #[field(skip_none)]
    pub affected_package_name: Option<String>,
    // Missing in 9 of 13.
    #[field(skip_none)]
    pub external_reference: Option<String>,
    // Missing in 9 of 13.
    #[field(skip_none)]
    pub external_identifier: Option<String>,
    // Missing in 9 of 13.
    #[field(skip_none)]
    pub fixed_in: Option<String>,
    // Missing in 9 of 13.
    #[field(skip_none)]
    pub severity: Option<String>,
    // Missing in 9 of 13.
    #[field(skip_none)]
    pub ghsa_id: Option<String>,
    // Missing in 12 of 13.
    #[field(skip_none)]
    pub dismisser: Option<DeliveryAppOwner>,
    // Missing in 12 of 13.
    #[field(skip_none)]
    pub dismiss_reason: Option<String>,
    // Missing in 3 of 13, null in 8.
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub dismissed_at: OrNull<String>,
    // Missing in 4 of 13, null in 8.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub dismissed_reason: OrNull<String>,
    // Missing in 7 of 13.
    #[field(skip_none)]
    pub rule: Option<DeliveryAlertRule>,
    // Missing in 7 of 13.
    #[field(skip_none)]
    pub tool: Option<DeliveryTool>,
    // Missing in 12 of 13.
    #[field(skip_none)]
    pub most_recent_instance: Option<DeliveryInstance>,
    // Missing in 10 of 13, null in 3.
    // Nothing but null was found, so that the type of its values is a guess.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub dismissed_comment: OrNull<String>,
    // Missing in 9 of 13, null in 2.
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub fixed_at: OrNull<String>,
    // Missing in 12 of 13, null in 1.
    // Nothing but null was found, so that the type of its values is a guess.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub auto_dismissed_at: OrNull<String>,
}

/// `key` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryKey {
    pub id: i32,
    pub verified: bool,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    pub read_only: bool,
}

/// `deployment_status` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryDeploymentStatus {
    pub id: i32,
    pub state: String,
    pub creator: DeliveryAppOwner,
    pub environment: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
}

/// `forkee` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryForkee {
    pub id: i32,
    pub name: String,
    pub full_name: String,
    pub private: bool,
    pub owner: DeliveryAppOwner,
    pub fork: bool,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub pushed_at: String,
    // Null in 3 of 3.
    // Nothing but null was found, so that the type of its values is a guess.
    pub homepage: Option<String>,
    pub size: i32,
    pub stargazers_count: i32,
    pub watchers_count: i32,
    // Null in 3 of 3.
    // Nothing but null was found, so that the type of its values is a guess.
    pub language: Option<String>,
    pub has_issues: bool,
    pub has_projects: bool,
    pub has_downloads: bool,
    pub has_wiki: bool,
    pub has_pages: bool,
    pub forks_count: i32,
    pub archived: bool,
    pub disabled: bool,
    pub open_issues_count: i32,
    pub forks: i32,
    pub open_issues: i32,
    pub watchers: i32,
    pub default_branch: String,
    #[field(skip_none)]
    pub public: Option<bool>,
    // Missing in 1 of 3.
    #[field(skip_none)]
    pub is_template: Option<bool>,
    // Missing in 1 of 3.
    #[field(skip_none)]
    pub visibility: Option<String>,
    // Missing in 1 of 3.
    #[field(skip_none)]
    pub web_commit_signoff_required: Option<bool>,
    // Missing in 1 of 3.
    // Only documents without fields that can be declared were found.
    #[field(opaque, skip_none)]
    pub custom_properties: Option<odm::bson::Document>,
}

/// `pages[]` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryPage {
    pub page_name: String,
    pub action: String,
    pub sha: String,
}

/// `issue.user.login` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryUserLogin {
    Codertocat,
    Octocoders,
    #[embed(name = "codebytere")]
    Codebytere,
    #[embed(name = "github")]
    Github,
    #[embed(name = "hacktocat")]
    Hacktocat,
    #[embed(name = "ilmax")]
    Ilmax,
    #[embed(name = "lineville")]
    Lineville,
    #[embed(name = "monalisa")]
    Monalisa,
    #[embed(name = "octo-org")]
    OctoOrg,
    #[embed(name = "octocat")]
    Octocat,
    #[embed(name = "octocoders-linter[bot]")]
    OctocodersLinterBot,
    #[embed(name = "rachmari")]
    Rachmari,
    #[embed(name = "renovate[bot]")]
    RenovateBot,
    #[embed(name = "username")]
    Username,
    #[embed(name = "wolfy1339")]
    Wolfy1339,
}

/// `issue.user.type` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryUserType {
    Bot,
    Organization,
    User,
}

/// `issue.user` of `deliveries`.
// Documents have these fields in several orders: they are written in this one where the whole
// document is written anew.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryUser {
    // Perhaps a copy: 38 equal `accounts.login`. The values are too few to tell a copy from chance. 38
    // of 38 are equal; 2 distinct values, the commonest has 97 %.
    pub login: DeliveryUserLogin,
    // Refers to `accounts._id`: 38 of 38 were found. 2 of 2 distinct values were found.
    #[reference(index = false)]
    pub id: Ref<Account>,
    // Perhaps a copy: 38 equal `accounts.type`. The values are too few to tell a copy from chance. 38
    // of 38 are equal; 2 distinct values, the commonest has 97 %.
    #[field(name = "type")]
    pub type_: DeliveryUserType,
    // Perhaps a copy: 38 equal `accounts.site_admin`. The values are too few to tell a copy from
    // chance. 38 of 38 are equal; 1 distinct values, the commonest has 100 %.
    pub site_admin: bool,
}

/// `issue.labels[]` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryLabel {
    pub id: i32,
    pub name: String,
    pub color: String,
    pub default: bool,
}

/// `issue.state` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryIssueState {
    #[embed(name = "closed")]
    Closed,
    #[embed(name = "open")]
    Open,
}

/// `issue.assignee.login` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryAssigneeLogin {
    Codertocat,
}

/// `issue.milestone` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryMilestone {
    pub id: i32,
    pub number: i32,
    pub creator: DeliveryAppOwner,
    pub open_issues: i32,
    pub closed_issues: i32,
    pub state: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub due_on: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub closed_at: Option<String>,
}

/// `issue.author_association` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryAuthorAssociation {
    #[embed(name = "OWNER")]
    Owner,
}

/// `issue.reactions` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryReaction {
    pub total_count: i32,
    #[field(name = "+1")]
    pub n_1: i32,
    #[field(name = "-1")]
    pub n_1_2: i32,
    pub laugh: i32,
    pub hooray: i32,
    pub confused: i32,
    pub heart: i32,
    pub rocket: i32,
    pub eyes: i32,
}

/// `issue` of `deliveries`.
// 2 kinds of documents, told by which of `assignee` is there: none (2): always
// `active_lock_reason`, `reactions`, `draft`; assignee (36): always `labels`, `state`, `locked`,
// `assignee`. An enum with `tag` would have a variant for each.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryIssue {
    pub id: i32,
    pub number: i32,
    pub user: DeliveryUser,
    // Missing in 2 of 38.
    // Items: at most 1; half have up to 1, 99 of 100 up to 1.
    #[embed(max = 10)]
    #[field(skip_none)]
    pub labels: Option<Vec<DeliveryLabel>>,
    // Missing in 2 of 38.
    #[field(skip_none)]
    pub state: Option<DeliveryIssueState>,
    // Missing in 2 of 38.
    #[field(skip_none)]
    pub locked: Option<bool>,
    // Missing in 2 of 38, null in 10.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub assignee: OrNull<DeliveryAppOwner>,
    // Items: at most 1; half have up to 1, 99 of 100 up to 1.
    #[embed(max = 10)]
    pub assignees: Vec<DeliveryAppOwner>,
    // Null in 12 of 38.
    pub milestone: Option<DeliveryMilestone>,
    pub comments: i32,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
    // Null in 36 of 38.
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub closed_at: Option<String>,
    pub author_association: DeliveryAuthorAssociation,
    // Missing in 2 of 38, null in 34.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub active_lock_reason: OrNull<String>,
    // Missing in 34 of 38.
    // Only documents without fields that can be declared were found.
    #[field(opaque, skip_none)]
    pub pull_request: Option<odm::bson::Document>,
    // Missing in 2 of 38.
    #[field(skip_none)]
    pub reactions: Option<DeliveryReaction>,
    // Missing in 2 of 38.
    #[field(skip_none)]
    pub draft: Option<bool>,
}

/// `comment.path` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryPath {
    #[embed(name = "README.md")]
    ReadmeMd,
}

/// `comment.commit_id` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryCommitId {
    #[embed(name = "6113728f27ae82c7b1a177c8d03f9e96e0adf246")]
    N6113728f27ae82c7b1a177c8d03f9e96e0adf246,
    #[embed(name = "ec26c3e57ca3a959ca5aad62de7213c562f8c821")]
    Ec26c3e57ca3a959ca5aad62de7213c562f8c821,
}

/// `comment.author_association` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryCommentAuthorAssociation {
    #[embed(name = "COLLABORATOR")]
    Collaborator,
    #[embed(name = "OWNER")]
    Owner,
}

/// `comment` of `deliveries`.
// 3 kinds of documents, told by `commit_id`: (missing) (13): no fields of its own;
// 6113728f27ae82c7b1a177c8d03f9e96e0adf246 (5): always `position`, `line`, `path`, `commit_id`;
// ec26c3e57ca3a959ca5aad62de7213c562f8c821 (5): always `position`, `path`, `commit_id`,
// `pull_request_review_id`, `original_position`, `original_commit_id`. An enum with `tag` would
// have a variant for each.
// Documents have these fields in several orders: they are written in this one where the whole
// document is written anew.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryComment {
    // Missing in 18 of 23.
    #[field(skip_none)]
    pub pull_request_review_id: Option<i32>,
    pub id: i32,
    pub user: DeliveryAppOwner,
    // Missing in 13 of 23, null in 4.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub position: OrNull<i32>,
    // Missing in 14 of 23, null in 4.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub line: OrNull<i32>,
    // Missing in 13 of 23, null in 4.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub path: OrNull<DeliveryPath>,
    // Missing in 19 of 23, null in 4.
    // Nothing but null was found, so that the type of its values is a guess.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub parent_id: OrNull<String>,
    // Missing in 19 of 23.
    #[field(skip_none)]
    pub child_comment_count: Option<i32>,
    // Missing in 19 of 23.
    #[field(skip_none)]
    pub discussion_id: Option<i32>,
    // Missing in 18 of 23.
    #[field(skip_none)]
    pub original_position: Option<i32>,
    // Missing in 13 of 23.
    #[field(skip_none)]
    pub commit_id: Option<DeliveryCommitId>,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
    pub author_association: DeliveryCommentAuthorAssociation,
    // Missing in 8 of 23.
    #[field(skip_none)]
    pub reactions: Option<DeliveryReaction>,
    // Missing in 18 of 23.
    #[field(skip_none)]
    pub original_commit_id: Option<DeliverySha3>,
    // Missing in 19 of 23, null in 4.
    // Nothing but null was found, so that the type of its values is a guess.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub start_line: OrNull<String>,
    // Missing in 19 of 23, null in 4.
    // Nothing but null was found, so that the type of its values is a guess.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub original_start_line: OrNull<String>,
    // Missing in 19 of 23, null in 4.
    // Nothing but null was found, so that the type of its values is a guess.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub start_side: OrNull<String>,
    // Missing in 19 of 23.
    #[field(skip_none)]
    pub original_line: Option<i32>,
    // Missing in 19 of 23.
    #[field(skip_none)]
    pub side: Option<String>,
}

/// `discussion.category` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryCategory {
    pub id: i32,
    pub repository_id: i32,
    pub emoji: String,
    pub name: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
    pub slug: String,
    pub is_answerable: bool,
}

/// `discussion.state` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryDiscussionState {
    #[embed(name = "converting")]
    Converting,
    #[embed(name = "locked")]
    Locked,
    #[embed(name = "open")]
    Open,
}

/// `discussion` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryDiscussion {
    pub category: DeliveryCategory,
    // Null in 18 of 19.
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub answer_chosen_at: Option<String>,
    // Null in 18 of 19.
    pub answer_chosen_by: Option<DeliveryAppOwner>,
    pub id: i32,
    pub number: i32,
    pub user: DeliveryUser,
    pub state: DeliveryDiscussionState,
    pub locked: bool,
    pub comments: i32,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
    pub author_association: DeliveryCommentAuthorAssociation,
    // Null in 15 of 19.
    pub active_lock_reason: Option<String>,
    // Missing in 16 of 19.
    #[field(skip_none)]
    pub reactions: Option<DeliveryReaction>,
}

/// `answer` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryAnswer {
    pub id: i32,
    // Null in 1 of 1.
    // Nothing but null was found, so that the type of its values is a guess.
    pub parent_id: Option<String>,
    pub child_comment_count: i32,
    pub discussion_id: i32,
    pub author_association: String,
    pub user: DeliveryAppOwner,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
}

/// `scope` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryScope {
    #[embed(name = "team")]
    Team,
}

/// `team` of `deliveries`.
// 2 kinds of documents, told by `slug`: (missing) (1): always `deleted`; github (13): always
// `slug`, `privacy`, `permission`. An enum with `tag` would have a variant for each.
// Documents have these fields in several orders: they are written in this one where the whole
// document is written anew.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryTeam {
    pub name: String,
    pub id: i32,
    // Missing in 1 of 14.
    #[field(skip_none)]
    pub slug: Option<String>,
    // Missing in 1 of 14.
    #[field(skip_none)]
    pub privacy: Option<String>,
    // Missing in 13 of 14.
    #[field(skip_none)]
    pub deleted: Option<bool>,
    // Missing in 9 of 14.
    #[field(skip_none)]
    pub notification_setting: Option<String>,
    // Missing in 1 of 14.
    #[field(skip_none)]
    pub permission: Option<String>,
    // Null in 1 of 1.
    // Nothing but null was found, so that the type of its values is a guess.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub parent: OrNull<String>,
}

/// `merge_group.head_commit.author` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryHeadCommitAuthor {
    pub name: String,
}

/// `merge_group.head_commit.committer` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryCommitter {
    pub name: String,
}

/// `merge_group.head_commit` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryMergeGroupHeadCommit {
    pub id: String,
    pub tree_id: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub timestamp: String,
    pub author: DeliveryHeadCommitAuthor,
    pub committer: DeliveryCommitter,
}

/// `merge_group` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryMergeGroup {
    pub head_sha: String,
    pub head_ref: String,
    pub base_sha: String,
    pub base_ref: String,
    pub head_commit: DeliveryMergeGroupHeadCommit,
}

/// `hook.type` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryType {
    Organization,
    Repository,
}

/// `hook.name` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryHookName {
    #[embed(name = "web")]
    Web,
}

/// `hook.config.content_type` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryConfigContentType {
    #[embed(name = "json")]
    Json,
}

/// `hook.config` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryConfig {
    pub content_type: DeliveryConfigContentType,
    // Its texts are `0` and `1` as text: `retype` in a migration makes each a bool.
    pub insecure_ssl: String,
    // Missing in 4 of 6.
    #[field(skip_none)]
    pub secret: Option<String>,
}

/// `hook.last_response` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryLastResponse {
    // Null in 3 of 3.
    // Nothing but null was found, so that the type of its values is a guess.
    pub code: Option<String>,
    pub status: String,
}

/// `hook` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryHook {
    #[field(name = "type")]
    pub type_: DeliveryType,
    pub id: i32,
    pub name: DeliveryHookName,
    pub active: bool,
    // Missing in 5 of 6.
    #[field(skip_none)]
    pub app_id: Option<i32>,
    pub config: DeliveryConfig,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Missing in 3 of 6.
    #[field(skip_none)]
    pub last_response: Option<DeliveryLastResponse>,
}

/// `membership` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryMembership {
    pub state: String,
    pub role: String,
    pub user: DeliveryAppOwner,
}

/// `invitation` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryInvitation {
    pub id: i32,
    pub login: String,
    pub role: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Null in 1 of 1.
    // Nothing but null was found, so that the type of its values is a guess.
    pub failed_at: Option<String>,
    // Null in 1 of 1.
    // Nothing but null was found, so that the type of its values is a guess.
    pub failed_reason: Option<String>,
    pub inviter: DeliveryAppOwner,
    pub team_count: i32,
}

/// `package.package_version.release` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryRelease {
    pub id: i32,
    pub tag_name: String,
    pub target_commitish: String,
    pub name: Option<String>,
    pub draft: bool,
    pub author: DeliveryAppOwner,
    pub prerelease: bool,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub published_at: String,
    // Only empty arrays were found.
    // Items: always 0.
    #[field(opaque, skip_none)]
    pub assets: Option<Vec<Bson>>,
    // Missing in 11 of 13.
    #[field(skip_none)]
    pub reactions: Option<DeliveryReaction>,
}

/// `package.package_version.container_metadata.tag` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryTag {
    pub name: String,
    pub digest: String,
}

/// `package.package_version.container_metadata.labels` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryContainerMetadataLabel {
    pub source: String,
    pub revision: String,
    pub licenses: String,
    // A map: 8 of its 8 keys are no names of fields. Entries: always 8.
    #[field(opaque)]
    pub all_labels: odm::bson::Document,
}

/// `package.package_version.container_metadata` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryContainerMetadata {
    pub tag: DeliveryTag,
    pub labels: DeliveryContainerMetadataLabel,
}

/// `package.package_version.package_files[]` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryPackageFile {
    pub id: i32,
    pub name: String,
    pub sha256: String,
    pub sha1: String,
    pub md5: String,
    pub content_type: String,
    pub state: String,
    pub size: i32,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
}

/// `package.package_version` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryPackageVersion {
    pub id: i32,
    pub version: String,
    pub name: String,
    // Missing in 1 of 3.
    #[field(skip_none)]
    pub release: Option<DeliveryRelease>,
    // Missing in 1 of 3.
    #[field(skip_none)]
    pub tag_name: Option<String>,
    pub target_commitish: String,
    pub target_oid: String,
    // Missing in 1 of 3.
    #[field(skip_none)]
    pub draft: Option<bool>,
    // Missing in 1 of 3.
    #[field(skip_none)]
    pub prerelease: Option<bool>,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
    // Only empty arrays were found.
    // Items: always 0.
    #[field(opaque)]
    pub metadata: Vec<Bson>,
    // Missing in 2 of 3.
    #[field(skip_none)]
    pub container_metadata: Option<DeliveryContainerMetadata>,
    // Items: at most 1; half have up to 1, 99 of 100 up to 1.
    #[embed(max = 10)]
    pub package_files: Vec<DeliveryPackageFile>,
    // Missing in 1 of 3.
    #[field(skip_none)]
    pub author: Option<DeliveryAppOwner>,
}

/// `package.registry` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryRegistry {
    pub name: String,
    #[field(name = "type")]
    pub type_: String,
    pub vendor: String,
}

/// `package` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryPackage {
    pub id: i32,
    pub name: String,
    pub namespace: String,
    pub ecosystem: String,
    pub package_type: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
    pub owner: DeliveryAppOwner,
    pub package_version: DeliveryPackageVersion,
    pub registry: DeliveryRegistry,
}

/// `build` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryBuild {
    pub status: String,
    // Only documents without fields that can be declared were found.
    #[field(opaque)]
    pub error: odm::bson::Document,
    pub pusher: DeliveryAppOwner,
    pub commit: String,
    pub duration: i32,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
}

/// `project` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryProject {
    pub id: i32,
    pub name: String,
    pub number: i32,
    pub state: String,
    pub creator: DeliveryAppOwner,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
}

/// `projects_v2_item.content_type` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryContentType {
    DraftIssue,
    Issue,
}

/// `projects_v2_item` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryProjectsV2Item {
    pub id: i32,
    pub project_node_id: String,
    pub content_node_id: String,
    pub content_type: DeliveryContentType,
    pub creator: DeliveryAppOwner,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
    // Null in 6 of 7.
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub archived_at: Option<String>,
}

/// `review` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryReview {
    pub id: i32,
    pub user: DeliveryAppOwner,
    pub commit_id: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub submitted_at: String,
    pub state: String,
    pub author_association: String,
}

/// `pull_request.merge_commit_sha` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryMergeCommitSha {
    #[embed(name = "c4295bd74fb0f4fda03689c3df3f2803b658fd85")]
    C4295bd74fb0f4fda03689c3df3f2803b658fd85,
    #[embed(name = "c72e2aa60425a50d9785a50793dd6c22b9c5cce1")]
    C72e2aa60425a50d9785a50793dd6c22b9c5cce1,
}

/// `pull_request.head.label` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryHeadLabel {
    #[embed(name = "Codertocat:changes")]
    CodertocatChanges,
    #[embed(name = "Codertocat:master")]
    CodertocatMaster,
    #[embed(name = "octo-org:issue-comment")]
    OctoOrgIssueComment,
    #[embed(name = "octo-org:master")]
    OctoOrgMaster,
}

/// `pull_request.head.ref` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryHeadRef {
    #[embed(name = "changes")]
    Changes,
    #[embed(name = "issue-comment")]
    IssueComment,
    #[embed(name = "master")]
    Master,
}

/// `pull_request.head.sha` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliverySha2 {
    #[embed(name = "14ae1f988d344e6b4f97f6153fb0287dcda335bf")]
    N14ae1f988d344e6b4f97f6153fb0287dcda335bf,
    #[embed(name = "ec26c3e57ca3a959ca5aad62de7213c562f8c821")]
    Ec26c3e57ca3a959ca5aad62de7213c562f8c821,
    #[embed(name = "f95f852bd8fca8fcc58a9a2d6c842781e32a215e")]
    F95f852bd8fca8fcc58a9a2d6c842781e32a215e,
    #[embed(name = "fcaaddec44575a657bf81b049208b2ce139da3ca")]
    Fcaaddec44575a657bf81b049208b2ce139da3ca,
}

/// `pull_request.head.repo.name` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryRepoName {
    #[embed(name = "Hello-World")]
    HelloWorld,
    #[embed(name = "octo-repo")]
    OctoRepo,
}

/// `pull_request.head.repo.language` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryRepoLanguage {
    Ruby,
}

/// `pull_request.head.repo.visibility` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    #[embed(name = "private")]
    Private,
    #[embed(name = "public")]
    Public,
}

/// `pull_request.head.repo` of `deliveries`.
// 3 kinds of documents, told by `visibility`: (missing) (3): always `allow_squash_merge`,
// `allow_merge_commit`, `allow_rebase_merge`, `delete_branch_on_merge`; private (1): always
// `is_template`, `visibility`, `allow_forking`; public (37): always `is_template`, `visibility`,
// `web_commit_signoff_required`, `custom_properties`. An enum with `tag` would have a variant for
// each.
// Documents have these fields in several orders: they are written in this one where the whole
// document is written anew.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryRepo {
    // Refers to `repositories._id`: 41 of 41 were found. 2 of 2 distinct values were found, and the
    // name says it.
    #[reference(index = false)]
    pub id: Ref<Repository>,
    // Perhaps a copy: 41 equal `repositories.name`. The values are too few to tell a copy from chance.
    // 41 of 41 are equal; 2 distinct values, the commonest has 98 %.
    pub name: DeliveryRepoName,
    // Its values: "Codertocat/Hello-World" (40), "octo-org/octo-repo" (1).
    // Perhaps a copy: 41 equal `repositories.full_name`. The values are too few to tell a copy from
    // chance. 41 of 41 are equal; 2 distinct values, the commonest has 98 %.
    pub full_name: String,
    // Perhaps a copy: 41 equal `repositories.private`. The values are too few to tell a copy from
    // chance. 41 of 41 are equal; 2 distinct values, the commonest has 98 %.
    pub private: bool,
    pub owner: DeliveryUser,
    // Perhaps a copy: 41 equal `repositories.fork`. The values are too few to tell a copy from chance.
    // 41 of 41 are equal; 1 distinct values, the commonest has 100 %.
    pub fork: bool,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    // Perhaps a copy: 41 equal `repositories.created_at`. The values are too few to tell a copy from
    // chance. 41 of 41 are equal; 2 distinct values, the commonest has 98 %.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    // Perhaps a copy: 10 equal `repositories.updated_at`, 31 differ from it. The values are too few to
    // tell a copy from chance. 10 of 41 are equal; 4 distinct values, the commonest has 56 %.
    pub updated_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    // Perhaps a copy: 10 equal `repositories.pushed_at`, 31 differ from it. The values are too few to
    // tell a copy from chance. 10 of 41 are equal; 4 distinct values, the commonest has 56 %.
    pub pushed_at: String,
    // Null in 40 of 41.
    // Perhaps a copy: 41 equal `repositories.homepage`. The values are too few to tell a copy from
    // chance. 41 of 41 are equal; 2 distinct values, the commonest has 98 %.
    pub homepage: Option<String>,
    // Perhaps a copy: 41 equal `repositories.size`. The values are too few to tell a copy from chance.
    // 41 of 41 are equal; 2 distinct values, the commonest has 98 %.
    pub size: i32,
    // Perhaps a copy: 41 equal `repositories.stargazers_count`. The values are too few to tell a copy
    // from chance. 41 of 41 are equal; 2 distinct values, the commonest has 98 %.
    pub stargazers_count: i32,
    // Perhaps a copy: 41 equal `repositories.watchers_count`. The values are too few to tell a copy
    // from chance. 41 of 41 are equal; 2 distinct values, the commonest has 98 %.
    pub watchers_count: i32,
    // Null in 9 of 41.
    // Perhaps a copy: 10 equal `repositories.language`, 31 differ from it. The values are too few to
    // tell a copy from chance. 10 of 41 are equal; 2 distinct values, the commonest has 78 %.
    pub language: Option<DeliveryRepoLanguage>,
    // Perhaps a copy: 41 equal `repositories.has_issues`. The values are too few to tell a copy from
    // chance. 41 of 41 are equal; 1 distinct values, the commonest has 100 %.
    pub has_issues: bool,
    // Perhaps a copy: 41 equal `repositories.has_projects`. The values are too few to tell a copy from
    // chance. 41 of 41 are equal; 1 distinct values, the commonest has 100 %.
    pub has_projects: bool,
    // Perhaps a copy: 41 equal `repositories.has_downloads`. The values are too few to tell a copy from
    // chance. 41 of 41 are equal; 1 distinct values, the commonest has 100 %.
    pub has_downloads: bool,
    // Perhaps a copy: 41 equal `repositories.has_wiki`. The values are too few to tell a copy from
    // chance. 41 of 41 are equal; 1 distinct values, the commonest has 100 %.
    pub has_wiki: bool,
    // Perhaps a copy: 41 equal `repositories.has_pages`. The values are too few to tell a copy from
    // chance. 41 of 41 are equal; 2 distinct values, the commonest has 98 %.
    pub has_pages: bool,
    // Perhaps a copy: 41 equal `repositories.forks_count`. The values are too few to tell a copy from
    // chance. 41 of 41 are equal; 1 distinct values, the commonest has 100 %.
    pub forks_count: i32,
    // Perhaps a copy: 41 equal `repositories.archived`. The values are too few to tell a copy from
    // chance. 41 of 41 are equal; 1 distinct values, the commonest has 100 %.
    pub archived: bool,
    // Perhaps a copy: 41 equal `repositories.disabled`. The values are too few to tell a copy from
    // chance. 41 of 41 are equal; 1 distinct values, the commonest has 100 %.
    pub disabled: bool,
    // Perhaps a copy: 33 equal `repositories.open_issues_count`, 8 differ from it. The values are too
    // few to tell a copy from chance. 33 of 41 are equal; 3 distinct values, the commonest has 78 %.
    pub open_issues_count: i32,
    // Perhaps a copy: 41 equal `repositories.forks`. The values are too few to tell a copy from chance.
    // 41 of 41 are equal; 1 distinct values, the commonest has 100 %.
    pub forks: i32,
    // Perhaps a copy: 33 equal `repositories.open_issues`, 8 differ from it. The values are too few to
    // tell a copy from chance. 33 of 41 are equal; 3 distinct values, the commonest has 78 %.
    // Equal to the value of `pull_request.head.repo.open_issues_count`: 41 are, 0 are not.
    pub open_issues: i32,
    // Perhaps a copy: 41 equal `repositories.watchers`. The values are too few to tell a copy from
    // chance. 41 of 41 are equal; 2 distinct values, the commonest has 98 %.
    pub watchers: i32,
    // Perhaps a copy: 41 equal `repositories.default_branch`. The values are too few to tell a copy
    // from chance. 41 of 41 are equal; 1 distinct values, the commonest has 100 %.
    pub default_branch: DeliveryBaseRef,
    // Missing in 38 of 41.
    #[field(skip_none)]
    pub allow_squash_merge: Option<bool>,
    // Missing in 38 of 41.
    #[field(skip_none)]
    pub allow_merge_commit: Option<bool>,
    // Missing in 38 of 41.
    #[field(skip_none)]
    pub allow_rebase_merge: Option<bool>,
    // Missing in 38 of 41.
    #[field(skip_none)]
    pub delete_branch_on_merge: Option<bool>,
    // Missing in 40 of 41.
    // Perhaps a copy: 1 equal `repositories.allow_forking`. The values are too few to tell a copy from
    // chance. 1 of 1 are equal; 1 distinct values, the commonest has 100 %.
    #[field(skip_none)]
    pub allow_forking: Option<bool>,
    // Missing in 3 of 41.
    // Perhaps a copy: 38 equal `repositories.is_template`. The values are too few to tell a copy from
    // chance. 38 of 38 are equal; 1 distinct values, the commonest has 100 %.
    #[field(skip_none)]
    pub is_template: Option<bool>,
    // Missing in 3 of 41.
    // Perhaps a copy: 38 equal `repositories.visibility`. The values are too few to tell a copy from
    // chance. 38 of 38 are equal; 2 distinct values, the commonest has 97 %.
    #[field(skip_none)]
    pub visibility: Option<Visibility>,
    // Missing in 4 of 41.
    // Perhaps a copy: 37 equal `repositories.web_commit_signoff_required`. The values are too few to
    // tell a copy from chance. 37 of 37 are equal; 1 distinct values, the commonest has 100 %.
    #[field(skip_none)]
    pub web_commit_signoff_required: Option<bool>,
    // Missing in 4 of 41.
    // Only documents without fields that can be declared were found.
    #[field(opaque, skip_none)]
    pub custom_properties: Option<odm::bson::Document>,
}

/// `pull_request.head` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryHead {
    pub label: DeliveryHeadLabel,
    #[field(name = "ref")]
    pub ref_: DeliveryHeadRef,
    pub sha: DeliverySha2,
    pub user: DeliveryUser,
    pub repo: DeliveryRepo,
}

/// `pull_request.author_association` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryPullRequestAuthorAssociation {
    #[embed(name = "CONTRIBUTOR")]
    Contributor,
    #[embed(name = "OWNER")]
    Owner,
}

/// `pull_request.mergeable_state` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryMergeableState {
    #[embed(name = "clean")]
    Clean,
    #[embed(name = "unknown")]
    Unknown,
}

/// `pull_request` of `deliveries`.
// 3 kinds of documents, told by `mergeable_state`: (missing) (12): no fields of its own; clean
// (20): always `draft`, `merged`, `mergeable`, `rebaseable`, `mergeable_state`, `merged_by`,
// `comments`, `review_comments`, `maintainer_can_modify`, `commits`, `additions`, `deletions`;
// unknown (9): always `draft`, `merged`, `mergeable`, `rebaseable`, `mergeable_state`, `merged_by`,
// `comments`, `review_comments`, `maintainer_can_modify`, `commits`, `additions`, `deletions`. An
// enum with `tag` would have a variant for each.
// Documents have these fields in several orders: they are written in this one where the whole
// document is written anew.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryPullRequest {
    pub id: i32,
    pub number: i32,
    pub state: DeliveryIssueState,
    pub locked: bool,
    pub user: DeliveryAppOwner,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
    // Null in 39 of 41.
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub closed_at: Option<String>,
    // Null in 41 of 41.
    // Nothing but null was found, so that the type of its values is a guess.
    pub merged_at: Option<String>,
    // Null in 15 of 41.
    pub merge_commit_sha: Option<DeliveryMergeCommitSha>,
    // Null in 37 of 41.
    pub assignee: Option<DeliveryAppOwner>,
    // Items: at most 1; half have up to 1, 99 of 100 up to 1.
    #[embed(max = 10)]
    pub assignees: Vec<DeliveryAppOwner>,
    // Items: at most 1; half have up to 1, 99 of 100 up to 1.
    #[embed(max = 10)]
    pub requested_reviewers: Vec<DeliveryAppOwner>,
    // Only empty arrays were found.
    // Items: always 0.
    #[field(opaque)]
    pub requested_teams: Vec<Bson>,
    // Items: at most 1; half have up to 1, 99 of 100 up to 1.
    #[embed(max = 10)]
    pub labels: Vec<DeliveryLabel>,
    // Null in 37 of 41.
    pub milestone: Option<DeliveryMilestone>,
    pub head: DeliveryHead,
    pub base: DeliveryHead,
    pub author_association: DeliveryPullRequestAuthorAssociation,
    // Missing in 7 of 41, null in 34.
    // Nothing but null was found, so that the type of its values is a guess.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub auto_merge: OrNull<String>,
    // Missing in 3 of 41, null in 36.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub active_lock_reason: OrNull<String>,
    // Missing in 6 of 41.
    #[field(skip_none)]
    pub draft: Option<bool>,
    // Missing in 12 of 41.
    #[field(skip_none)]
    pub merged: Option<bool>,
    // Missing in 12 of 41, null in 9.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub mergeable: OrNull<bool>,
    // Missing in 12 of 41, null in 9.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub rebaseable: OrNull<bool>,
    // Missing in 12 of 41.
    #[field(skip_none)]
    pub mergeable_state: Option<DeliveryMergeableState>,
    // Missing in 12 of 41, null in 29.
    // Nothing but null was found, so that the type of its values is a guess.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub merged_by: OrNull<String>,
    // Missing in 12 of 41.
    #[field(skip_none)]
    pub comments: Option<i32>,
    // Missing in 12 of 41.
    #[field(skip_none)]
    pub review_comments: Option<i32>,
    // Missing in 12 of 41.
    #[field(skip_none)]
    pub maintainer_can_modify: Option<bool>,
    // Missing in 12 of 41.
    #[field(skip_none)]
    pub commits: Option<i32>,
    // Missing in 12 of 41.
    #[field(skip_none)]
    pub additions: Option<i32>,
    // Missing in 12 of 41.
    #[field(skip_none)]
    pub deletions: Option<i32>,
    // Missing in 12 of 41.
    #[field(skip_none)]
    pub changed_files: Option<i32>,
}

/// `thread.comments[]` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryThreadComment {
    pub pull_request_review_id: i32,
    pub id: i32,
    pub path: String,
    pub position: i32,
    pub original_position: i32,
    pub commit_id: String,
    pub original_commit_id: String,
    pub user: DeliveryAppOwner,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
    pub author_association: String,
    pub reactions: DeliveryReaction,
    // Null in 3 of 3.
    // Nothing but null was found, so that the type of its values is a guess.
    pub start_line: Option<String>,
    // Null in 3 of 3.
    // Nothing but null was found, so that the type of its values is a guess.
    pub original_start_line: Option<String>,
    // Null in 3 of 3.
    // Nothing but null was found, so that the type of its values is a guess.
    pub start_side: Option<String>,
    pub line: i32,
    pub original_line: i32,
    pub side: String,
}

/// `thread` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryThread {
    // Items: always 1.
    #[embed(max = 10)]
    pub comments: Vec<DeliveryThreadComment>,
}

/// `security_advisory.vulnerabilities[].severity` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryVulnerabilitieSeverity {
    #[embed(name = "critical")]
    Critical,
    #[embed(name = "moderate")]
    Moderate,
}

/// `security_advisory.vulnerabilities[].first_patched_version` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryVulnerabilitieFirstPatchedVersion {
    pub identifier: String,
}

/// `security_advisory.vulnerabilities[]` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryVulnerabilitie {
    pub package: DeliveryDependencyPackage,
    pub severity: DeliveryVulnerabilitieSeverity,
    pub vulnerable_version_range: String,
    // Null in 2 of 6.
    pub first_patched_version: Option<DeliveryVulnerabilitieFirstPatchedVersion>,
}

/// `security_advisory` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliverySecurityAdvisory {
    pub ghsa_id: String,
    pub severity: String,
    // Items: always 2.
    #[embed(max = 10)]
    pub identifiers: Vec<DeliveryIdentifier>,
    // Items: at most 2; half have up to 1, 99 of 100 up to 2.
    #[field(opaque)]
    pub references: Vec<Bson>,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub published_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
    // Null in 3 of 4.
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub withdrawn_at: Option<String>,
    // Items: at most 2; half have up to 1, 99 of 100 up to 2.
    #[embed(max = 10)]
    pub vulnerabilities: Vec<DeliveryVulnerabilitie>,
    // Missing in 1 of 4.
    #[field(skip_none)]
    pub cvss: Option<DeliveryCvss>,
    // Missing in 1 of 4.
    // Items: always 1.
    #[embed(max = 10)]
    #[field(skip_none)]
    pub cwes: Option<Vec<DeliveryCwe>>,
    // Missing in 1 of 4, null in 1.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub cve_id: OrNull<String>,
}

/// `sponsorship.tier` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryTier {
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    pub monthly_price_in_cents: i32,
    pub monthly_price_in_dollars: i32,
    pub name: String,
    #[field(skip_none)]
    pub is_one_time: Option<bool>,
    #[field(skip_none)]
    pub is_custom_amount: Option<bool>,
}

/// `sponsorship` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliverySponsorship {
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    pub sponsorable: DeliveryAppOwner,
    pub sponsor: DeliveryAppOwner,
    pub privacy_level: String,
    pub tier: DeliveryTier,
}

/// `changes.authorized_actors_only` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryAuthorizedActorsOnly {
    pub from: bool,
}

/// `changes.authorized_actor_names` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryAuthorizedActorName {
    // Only empty arrays were found.
    // Items: always 0.
    #[field(opaque)]
    pub from: Vec<Bson>,
}

/// `changes.authorized_dismissal_actors_only` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryAuthorizedDismissalActorsOnly {
    // Null in 1 of 1.
    // Nothing but null was found, so that the type of its values is a guess.
    pub from: Option<String>,
}

/// `changes.linear_history_requirement_enforcement_level` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryLinearHistoryRequirementEnforcementLevel {
    pub from: String,
}

/// `changes.required_approving_review_count` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryRequiredApprovingReviewCount {
    pub from: i32,
}

/// `changes.dismiss_stale_reviews_on_push` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryDismissStaleReviewsOnPush {
    pub from: bool,
}

/// `changes.require_code_owner_review` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryRequireCodeOwnerReview {
    pub from: bool,
}

/// `changes.allow_force_pushes_enforcement_level` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryAllowForcePushesEnforcementLevel {
    pub from: String,
}

/// `changes.required_deployments_enforcement_level` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryRequiredDeploymentsEnforcementLevel {
    pub from: String,
}

/// `changes.pull_request_reviews_enforcement_level` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryChangePullRequestReviewsEnforcementLevel {
    pub from: String,
}

/// `changes.required_status_checks_enforcement_level` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryChangeRequiredStatusChecksEnforcementLevel {
    pub from: String,
}

/// `changes.signature_requirement_enforcement_level` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryChangeSignatureRequirementEnforcementLevel {
    pub from: String,
}

/// `changes.admin_enforced` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryAdminEnforced {
    pub from: bool,
}

/// `changes.allow_deletions_enforcement_level` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryAllowDeletionsEnforcementLevel {
    pub from: String,
}

/// `changes.required_conversation_resolution_level` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryRequiredConversationResolutionLevel {
    pub from: String,
}

/// `changes.category` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryChangeCategory {
    pub from: DeliveryCategory,
}

/// `changes.new_discussion` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryNewDiscussion {
    pub category: DeliveryCategory,
    // Null in 1 of 1.
    // Nothing but null was found, so that the type of its values is a guess.
    pub answer_chosen_at: Option<String>,
    // Null in 1 of 1.
    // Nothing but null was found, so that the type of its values is a guess.
    pub answer_chosen_by: Option<String>,
    pub id: i32,
    pub number: i32,
    pub user: DeliveryAppOwner,
    pub state: String,
    pub locked: bool,
    pub comments: i32,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
    pub author_association: String,
    // Null in 1 of 1.
    // Nothing but null was found, so that the type of its values is a guess.
    pub active_lock_reason: Option<String>,
}

/// `changes.old_issue` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryOldIssue {
    pub id: i32,
    pub number: i32,
    pub user: DeliveryAppOwner,
    // Only empty arrays were found.
    // Items: always 0.
    #[embed(max = 10)]
    pub labels: Vec<DeliveryLabel>,
    pub state: String,
    pub locked: bool,
    // Null in 1 of 1.
    // Nothing but null was found, so that the type of its values is a guess.
    pub assignee: Option<DeliveryAppOwner>,
    // Only empty arrays were found.
    // Items: always 0.
    #[embed(max = 10)]
    pub assignees: Vec<DeliveryAppOwner>,
    // Null in 1 of 1.
    // Nothing but null was found, so that the type of its values is a guess.
    pub milestone: Option<DeliveryMilestone>,
    pub comments: i32,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
    // Null in 1 of 1.
    // Nothing but null was found, so that the type of its values is a guess.
    pub closed_at: Option<String>,
    pub author_association: String,
    // Null in 1 of 1.
    // Nothing but null was found, so that the type of its values is a guess.
    pub active_lock_reason: Option<String>,
    pub draft: bool,
    pub reactions: DeliveryReaction,
}

/// `changes.color` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryColor {
    pub from: String,
}

/// `changes.old_permission` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryOldPermission {
    pub from: String,
}

/// `changes.login` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryLogin {
    pub from: String,
}

/// `changes.column_id` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryColumnId {
    pub from: i32,
}

/// `changes.name` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryChangeName {
    pub from: String,
}

/// `changes.archived_at` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryArchivedAt {
    // Null in 1 of 2.
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub from: Option<String>,
    // Null in 1 of 2.
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub to: Option<String>,
}

/// `changes.field_value` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryFieldValue {
    pub field_node_id: String,
    pub field_type: String,
}

/// `changes.default_branch` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryDefaultBranch {
    pub from: String,
}

/// `changes.repository.name` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryName2 {
    pub from: String,
}

/// `changes.repository` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryChangeRepository {
    pub name: DeliveryName2,
}

/// `changes.owner.from` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryFrom {
    pub user: DeliveryAppOwner,
}

/// `changes.owner` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryOwner {
    pub from: DeliveryFrom,
}

/// `changes.tier` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryChangeTier {
    pub from: DeliveryTier,
}

/// `changes` of `deliveries`.
// 2 kinds of documents, told by which of `required_conversation_resolution_level` is there: none
// (35): no fields of its own; required_conversation_resolution_level (1): always
// `authorized_actors_only`, `authorized_actor_names`, `authorized_dismissal_actors_only`,
// `linear_history_requirement_enforcement_level`, `required_approving_review_count`,
// `dismiss_stale_reviews_on_push`, `require_code_owner_review`,
// `allow_force_pushes_enforcement_level`, `required_deployments_enforcement_level`,
// `pull_request_reviews_enforcement_level`, `required_status_checks_enforcement_level`,
// `signature_requirement_enforcement_level`. An enum with `tag` would have a variant for each.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryChange {
    // Missing in 34 of 36.
    #[field(skip_none)]
    pub authorized_actors_only: Option<DeliveryAuthorizedActorsOnly>,
    // Missing in 34 of 36.
    #[field(skip_none)]
    pub authorized_actor_names: Option<DeliveryAuthorizedActorName>,
    // Missing in 35 of 36.
    #[field(skip_none)]
    pub authorized_dismissal_actors_only: Option<DeliveryAuthorizedDismissalActorsOnly>,
    // Missing in 35 of 36.
    #[field(skip_none)]
    pub linear_history_requirement_enforcement_level: Option<DeliveryLinearHistoryRequirementEnforcementLevel>,
    // Missing in 35 of 36.
    #[field(skip_none)]
    pub required_approving_review_count: Option<DeliveryRequiredApprovingReviewCount>,
    // Missing in 35 of 36.
    #[field(skip_none)]
    pub dismiss_stale_reviews_on_push: Option<DeliveryDismissStaleReviewsOnPush>,
    // Missing in 35 of 36.
    #[field(skip_none)]
    pub require_code_owner_review: Option<DeliveryRequireCodeOwnerReview>,
    // Missing in 35 of 36.
    #[field(skip_none)]
    pub allow_force_pushes_enforcement_level: Option<DeliveryAllowForcePushesEnforcementLevel>,
    // Missing in 35 of 36.
    #[field(skip_none)]
    pub required_deployments_enforcement_level: Option<DeliveryRequiredDeploymentsEnforcementLevel>,
    // Missing in 35 of 36.
    #[field(skip_none)]
    pub pull_request_reviews_enforcement_level: Option<DeliveryChangePullRequestReviewsEnforcementLevel>,
    // Missing in 35 of 36.
    #[field(skip_none)]
    pub required_status_checks_enforcement_level: Option<DeliveryChangeRequiredStatusChecksEnforcementLevel>,
    // Missing in 35 of 36.
    #[field(skip_none)]
    pub signature_requirement_enforcement_level: Option<DeliveryChangeSignatureRequirementEnforcementLevel>,
    // Missing in 35 of 36.
    #[field(skip_none)]
    pub admin_enforced: Option<DeliveryAdminEnforced>,
    // Missing in 35 of 36.
    #[field(skip_none)]
    pub allow_deletions_enforcement_level: Option<DeliveryAllowDeletionsEnforcementLevel>,
    // Missing in 35 of 36.
    #[field(skip_none)]
    pub required_conversation_resolution_level: Option<DeliveryRequiredConversationResolutionLevel>,
    // Missing in 35 of 36.
    #[field(skip_none)]
    pub category: Option<DeliveryChangeCategory>,
    // Missing in 35 of 36.
    #[field(skip_none)]
    pub new_discussion: Option<DeliveryNewDiscussion>,
    // Missing in 35 of 36.
    #[field(skip_none)]
    pub old_issue: Option<DeliveryOldIssue>,
    // Missing in 35 of 36.
    #[field(skip_none)]
    pub old_repository: Option<DeliveryForkee>,
    // Missing in 35 of 36.
    #[field(skip_none)]
    pub new_issue: Option<DeliveryOldIssue>,
    // Missing in 34 of 36.
    #[field(skip_none)]
    pub new_repository: Option<DeliveryForkee>,
    // Missing in 35 of 36.
    #[field(skip_none)]
    pub color: Option<DeliveryColor>,
    // Missing in 35 of 36.
    #[field(skip_none)]
    pub old_permission: Option<DeliveryOldPermission>,
    // Missing in 35 of 36.
    #[field(skip_none)]
    pub login: Option<DeliveryLogin>,
    // Missing in 35 of 36.
    #[field(skip_none)]
    pub column_id: Option<DeliveryColumnId>,
    // Missing in 33 of 36.
    #[field(skip_none)]
    pub name: Option<DeliveryChangeName>,
    // Missing in 34 of 36.
    #[field(skip_none)]
    pub archived_at: Option<DeliveryArchivedAt>,
    // Missing in 35 of 36.
    #[field(skip_none)]
    pub content_type: Option<DeliveryArchivedAt>,
    // Missing in 35 of 36.
    #[field(skip_none)]
    pub field_value: Option<DeliveryFieldValue>,
    // Missing in 35 of 36.
    #[field(skip_none)]
    pub previous_projects_v2_item_node_id: Option<DeliveryArchivedAt>,
    // Missing in 35 of 36.
    #[field(skip_none)]
    pub default_branch: Option<DeliveryDefaultBranch>,
    // Missing in 35 of 36.
    #[field(skip_none)]
    pub repository: Option<DeliveryChangeRepository>,
    // Missing in 33 of 36.
    #[field(skip_none)]
    pub owner: Option<DeliveryOwner>,
    // Missing in 34 of 36.
    #[field(skip_none)]
    pub tier: Option<DeliveryChangeTier>,
}

/// `project_card.note` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryNote {
    #[embed(name = "Work that can be completed in one hour or less.")]
    WorkThatCanBeCompletedInOneHourOrLess,
}

/// `project_card` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryProjectCard {
    pub column_id: i32,
    pub id: i32,
    // Null in 1 of 9.
    pub note: Option<DeliveryNote>,
    pub archived: bool,
    pub creator: DeliveryAppOwner,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
    // Missing in 8 of 9, null in 1.
    // Nothing but null was found, so that the type of its values is a guess.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub after_id: OrNull<String>,
}

/// `project_column` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryProjectColumn {
    pub id: i32,
    pub name: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
}

/// `commit.commit.author` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryCommitAuthor {
    pub name: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub date: String,
}

/// `commit.commit.tree` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryTree {
    pub sha: String,
}

/// `commit.commit` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryCommitCommit {
    pub author: DeliveryCommitAuthor,
    pub committer: DeliveryCommitAuthor,
    pub tree: DeliveryTree,
    pub comment_count: i32,
}

/// `commit.parents[]` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryParent {
    pub sha: String,
}

/// `commit` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryCommit {
    pub sha: String,
    pub commit: DeliveryCommitCommit,
    // Null in 1 of 4.
    pub author: Option<DeliveryAppOwner>,
    // Null in 1 of 4.
    pub committer: Option<DeliveryAppOwner>,
    // Items: at most 1; half have up to 0, 99 of 100 up to 1.
    #[embed(max = 10)]
    pub parents: Vec<DeliveryParent>,
}

/// `branches[].name` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryBranchName {
    #[embed(name = "changes")]
    Changes,
    #[embed(name = "gh-pages")]
    GhPages,
    #[embed(name = "master")]
    Master,
}

/// `branches[].commit.sha` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryCommitSha {
    #[embed(name = "507fc9acd0d04ac4a9db87d12cb228c052cd813a")]
    N507fc9acd0d04ac4a9db87d12cb228c052cd813a,
    #[embed(name = "ec26c3e57ca3a959ca5aad62de7213c562f8c821")]
    Ec26c3e57ca3a959ca5aad62de7213c562f8c821,
    #[embed(name = "f95f852bd8fca8fcc58a9a2d6c842781e32a215e")]
    F95f852bd8fca8fcc58a9a2d6c842781e32a215e,
}

/// `branches[].commit` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryBranchCommit {
    pub sha: DeliveryCommitSha,
}

/// `branches[]` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryBranch {
    pub name: DeliveryBranchName,
    pub commit: DeliveryBranchCommit,
    pub protected: bool,
}

/// `ref_type` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryRefType {
    #[embed(name = "tag")]
    Tag,
}

/// `pusher_type` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryPusherType {
    #[embed(name = "user")]
    User,
}

/// `before` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryBefore {
    #[embed(name = "0000000000000000000000000000000000000000")]
    N0000000000000000000000000000000000000000,
    #[embed(name = "6113728f27ae82c7b1a177c8d03f9e96e0adf246")]
    N6113728f27ae82c7b1a177c8d03f9e96e0adf246,
    #[embed(name = "f95f852bd8fca8fcc58a9a2d6c842781e32a215e")]
    F95f852bd8fca8fcc58a9a2d6c842781e32a215e,
}

/// `after` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryAfter {
    #[embed(name = "0000000000000000000000000000000000000000")]
    N0000000000000000000000000000000000000000,
    #[embed(name = "6113728f27ae82c7b1a177c8d03f9e96e0adf246")]
    N6113728f27ae82c7b1a177c8d03f9e96e0adf246,
    #[embed(name = "ec26c3e57ca3a959ca5aad62de7213c562f8c821")]
    Ec26c3e57ca3a959ca5aad62de7213c562f8c821,
}

/// `commits[]` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryCommit2 {
    pub id: String,
    pub tree_id: String,
    pub distinct: bool,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub timestamp: String,
    pub author: DeliveryAuthor,
    pub committer: DeliveryAuthor,
    // Items: always 1.
    #[embed(max = 10)]
    pub added: Vec<String>,
    // Only empty arrays were found.
    // Items: always 0.
    #[field(opaque)]
    pub removed: Vec<Bson>,
    // Only empty arrays were found.
    // Items: always 0.
    #[field(opaque)]
    pub modified: Vec<Bson>,
}

/// `workflow_job.steps[].conclusion` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryStepConclusion {
    #[embed(name = "failure")]
    Failure,
    #[embed(name = "skipped")]
    Skipped,
    #[embed(name = "success")]
    Success,
}

/// `workflow_job.steps[]` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryStep {
    pub name: String,
    pub status: DeliveryStatus,
    // Null in 9 of 31.
    pub conclusion: Option<DeliveryStepConclusion>,
    pub number: i32,
    // Null in 6 of 31.
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub started_at: Option<String>,
    // Null in 9 of 31.
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub completed_at: Option<String>,
}

/// `workflow_job.runner_group_name` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryRunnerGroupName {
    #[embed(name = "GitHub Actions")]
    GitHubActions,
    #[embed(name = "my runner group")]
    MyRunnerGroup,
}

/// `workflow_job` of `deliveries`.
// 3 kinds of documents, told by `runner_group_name`: (missing) (2): always `run_attempt`,
// `head_branch`, `created_at`, `workflow_name`; GitHub Actions (5): always `run_attempt`,
// `head_branch`, `created_at`, `workflow_name`; my runner group (1): no fields of its own. An enum
// with `tag` would have a variant for each.
// 3 kinds of documents, told by `head_branch`: (missing) (1): no fields of its own; main (6):
// always `run_attempt`, `head_branch`, `created_at`, `workflow_name`; renovate/got-13.x (1): always
// `run_attempt`, `head_branch`, `created_at`, `workflow_name`. An enum with `tag` would have a
// variant for each.
// Documents have these fields in several orders: they are written in this one where the whole
// document is written anew.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryWorkflowJob {
    // Its types differ: 4 int, 4 long. `retype` in a migration makes them one.
    pub id: Integer,
    // Its types differ: 1 int, 7 long. `retype` in a migration makes them one.
    pub run_id: Integer,
    // Missing in 1 of 8.
    #[field(skip_none)]
    pub run_attempt: Option<i32>,
    pub head_sha: String,
    // Missing in 1 of 8.
    // Its values: "main" (6), "renovate/got-13.x" (1).
    #[field(skip_none)]
    pub head_branch: Option<String>,
    pub status: String,
    // Null in 6 of 8.
    pub conclusion: Option<String>,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub started_at: String,
    // Missing in 1 of 8.
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    #[field(skip_none)]
    pub created_at: Option<String>,
    // Null in 6 of 8.
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub completed_at: Option<String>,
    pub name: String,
    // Items: at most 12; half have up to 1, 99 of 100 up to 12.
    #[embed(max = 20)]
    pub steps: Vec<DeliveryStep>,
    // Items: at most 3; half have up to 1, 99 of 100 up to 3.
    #[embed(max = 10)]
    pub labels: Vec<String>,
    // Null in 2 of 8.
    pub runner_id: Option<i32>,
    // Null in 2 of 8.
    pub runner_name: Option<String>,
    // Null in 2 of 8.
    pub runner_group_id: Option<i32>,
    // Null in 2 of 8.
    pub runner_group_name: Option<DeliveryRunnerGroupName>,
    // Missing in 1 of 8.
    #[field(skip_none)]
    pub workflow_name: Option<String>,
}

/// `deployment.sha` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliverySha {
    #[embed(name = "16c5286e8d9a0629956a28938386b36608707a71")]
    N16c5286e8d9a0629956a28938386b36608707a71,
    #[embed(name = "f95f852bd8fca8fcc58a9a2d6c842781e32a215e")]
    F95f852bd8fca8fcc58a9a2d6c842781e32a215e,
}

/// `deployment.ref` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryRef {
    #[embed(name = "gh-pages")]
    GhPages,
    #[embed(name = "main")]
    Main,
    #[embed(name = "master")]
    Master,
}

/// `deployment.task` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryTask {
    #[embed(name = "deploy")]
    Deploy,
}

/// `deployment.original_environment` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryOriginalEnvironment {
    Test,
    #[embed(name = "github-pages")]
    GithubPages,
    #[embed(name = "production")]
    Production,
}

/// `deployment` of `deliveries`.
// 3 kinds of documents, told by `original_environment`: Test (1): always `transient_environment`,
// `production_environment`; github-pages (2): always `transient_environment`,
// `production_environment`; production (6): no fields of its own. An enum with `tag` would have a
// variant for each.
// Documents have these fields in several orders: they are written in this one where the whole
// document is written anew.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryDeployment {
    pub id: i32,
    pub sha: DeliverySha,
    #[field(name = "ref")]
    pub ref_: DeliveryRef,
    pub task: DeliveryTask,
    // Only documents without fields that can be declared were found.
    #[field(opaque)]
    pub payload: odm::bson::Document,
    pub original_environment: DeliveryOriginalEnvironment,
    pub environment: DeliveryOriginalEnvironment,
    pub creator: AccountEntry,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
    // Missing in 6 of 9.
    #[field(skip_none)]
    pub transient_environment: Option<bool>,
    // Missing in 6 of 9.
    #[field(skip_none)]
    pub production_environment: Option<bool>,
}

/// `repository.name` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryRepositoryName {
    #[embed(name = "Hello-World")]
    HelloWorld,
    #[embed(name = "elastic-machines-testing")]
    ElasticMachinesTesting,
    #[embed(name = "electron")]
    Electron,
    #[embed(name = "example-workflow")]
    ExampleWorkflow,
    #[embed(name = "github-events-schemas")]
    GithubEventsSchemas,
    #[embed(name = "hello-world")]
    HelloWorld2,
    #[embed(name = "hello-world-npm")]
    HelloWorldNpm,
    #[embed(name = "octo-repo")]
    OctoRepo,
    #[embed(name = "octoherd-script-replace-pika-with-esbuild")]
    OctoherdScriptReplacePikaWithEsbuild,
    #[embed(name = "pika-pack")]
    PikaPack,
    #[embed(name = "sample-app")]
    SampleApp,
}

/// `repository.owner.login` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryOwnerLogin {
    Codertocat,
    Octocoders,
    #[embed(name = "electron")]
    Electron,
    #[embed(name = "github")]
    Github,
    #[embed(name = "lineville")]
    Lineville,
    #[embed(name = "octo-org")]
    OctoOrg,
    #[embed(name = "octocat")]
    Octocat,
    #[embed(name = "terraform-test-github")]
    TerraformTestGithub,
    #[embed(name = "wolfy1339")]
    Wolfy1339,
}

/// `repository.owner` of `deliveries`.
// Documents have these fields in several orders: they are written in this one where the whole
// document is written anew.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryRepositoryOwner {
    // Missing in 273 of 280.
    #[field(skip_none)]
    pub name: Option<DeliveryAssigneeLogin>,
    // Perhaps a copy: 280 equal `accounts.login`. The values are too few to tell a copy from chance.
    // 280 of 280 are equal; 9 distinct values, the commonest has 80 %.
    pub login: DeliveryOwnerLogin,
    // Refers to `accounts._id`: 280 of 280 were found. 15 of 15 distinct values were found.
    // Perhaps a copy: 68 equal `repositories.owner.id`, 212 differ from it. Most of them differ. 68 of
    // 280 are equal; 15 distinct values, the commonest has 80 %.
    #[reference(index = false)]
    pub id: Ref<Account>,
    // Perhaps a copy: 279 equal `accounts.type`, 1 differ from it. The values are too few to tell a
    // copy from chance. 279 of 280 are equal; 2 distinct values, the commonest has 82 %.
    #[field(name = "type")]
    pub type_: DeliveryUserType,
    // Perhaps a copy: 278 equal `accounts.site_admin`, 2 differ from it. The values are too few to tell
    // a copy from chance. 278 of 280 are equal; 2 distinct values, the commonest has 99 %.
    pub site_admin: bool,
}

/// `repository.created_at` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(untagged)]
pub enum DeliveryCreatedAtValue {
    Integer(i32),
    Text(String),
}

/// `repository.language` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryLanguage {
    #[embed(name = "C++")]
    C,
    Java,
    JavaScript,
    Python,
    Ruby,
    Twig,
    TypeScript,
}

/// `repository.default_branch` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultBranch {
    #[embed(name = "main")]
    Main,
    #[embed(name = "master")]
    Master,
}

/// `repository` of `deliveries`.
// 3 kinds of documents, told by `visibility`: (missing) (44): no fields of its own; private (1):
// always `disabled`, `allow_forking`, `is_template`, `visibility`; public (235): always
// `is_template`, `visibility`. An enum with `tag` would have a variant for each.
// Documents have these fields in several orders: they are written in this one where the whole
// document is written anew.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryRepository {
    // Refers to `repositories._id`: 280 of 280 were found. 19 of 19 distinct values were found, and the
    // name says it.
    #[reference(index = false)]
    pub id: Ref<Repository>,
    // Perhaps a copy: 280 equal `repositories.name`. The values are too few to tell a copy from chance.
    // 280 of 280 are equal; 11 distinct values, the commonest has 88 %.
    pub name: DeliveryRepositoryName,
    // Its values: "Codertocat/Hello-World" (230), "octo-org/octo-repo" (18), "Octocoders/Hello-World"
    // (17), "Codertocat/hello-world-npm" (3), "github/hello-world" (2),
    // "lineville/elastic-machines-testing" (2), "octocat/hello-world" (2), "electron/electron" (1),
    // "octo-org/example-workflow" (1), "terraform-test-github/sample-app" (1),
    // "wolfy1339/github-events-schemas" (1), "wolfy1339/octoherd-script-replace-pika-with-esbuild" (1),
    // and 1 more.
    // Perhaps a copy: 280 equal `repositories.full_name`. The values are too few to tell a copy from
    // chance. 280 of 280 are equal; 13 distinct values, the commonest has 82 %.
    // The texts in one of `repository.owner.login`, `repository.name`: 272 are, 8 are not.
    pub full_name: String,
    // Perhaps a copy: 278 equal `repositories.private`, 2 differ from it. The values are too few to
    // tell a copy from chance. 278 of 280 are equal; 2 distinct values, the commonest has 92 %.
    pub private: bool,
    pub owner: DeliveryRepositoryOwner,
    // Perhaps a copy: 271 equal `repositories.fork`, 9 differ from it. The values are too few to tell a
    // copy from chance. 271 of 280 are equal; 2 distinct values, the commonest has 90 %.
    pub fork: bool,
    // Its types differ: 7 int, 273 string. `retype` in a migration makes them one.
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    // Perhaps a copy: 264 equal `repositories.created_at`, 16 differ from it. The types of the two
    // fields differ. 264 of 280 are equal; 21 distinct values, the commonest has 72 %.
    pub created_at: DeliveryCreatedAtValue,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    // Perhaps a copy: 102 equal `repositories.updated_at`, 178 differ from it. Most of them differ. 102
    // of 280 are equal; 29 distinct values, the commonest has 23 %.
    pub updated_at: String,
    // Its types differ: 7 int, 273 string. `retype` in a migration makes them one.
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    // Perhaps a copy: 73 equal `repositories.pushed_at`, 207 differ from it. Most of them differ. 73 of
    // 280 are equal; 29 distinct values, the commonest has 22 %.
    pub pushed_at: DeliveryCreatedAtValue,
    // Null in 252 of 280.
    // Perhaps a copy: 260 equal `repositories.homepage`, 20 differ from it. The values are too few to
    // tell a copy from chance. 260 of 280 are equal; 4 distinct values, the commonest has 90 %.
    pub homepage: Option<String>,
    // Perhaps a copy: 268 equal `repositories.size`, 12 differ from it. The values are too few to tell
    // a copy from chance. 268 of 280 are equal; 14 distinct values, the commonest has 90 %.
    pub size: i32,
    // Perhaps a copy: 275 equal `repositories.stargazers_count`, 5 differ from it. The values are too
    // few to tell a copy from chance. 275 of 280 are equal; 3 distinct values, the commonest has 96 %.
    pub stargazers_count: i32,
    // Perhaps a copy: 275 equal `repositories.watchers_count`, 5 differ from it. The values are too few
    // to tell a copy from chance. 275 of 280 are equal; 3 distinct values, the commonest has 96 %.
    // Equal to the value of `repository.stargazers_count`: 280 are, 0 are not.
    pub watchers_count: i32,
    // Null in 87 of 280.
    // Perhaps a copy: 116 equal `repositories.language`, 164 differ from it. Most of them differ. 116
    // of 280 are equal; 8 distinct values, the commonest has 59 %.
    pub language: Option<DeliveryLanguage>,
    // Perhaps a copy: 280 equal `repositories.has_issues`. The values are too few to tell a copy from
    // chance. 280 of 280 are equal; 2 distinct values, the commonest has 94 %.
    pub has_issues: bool,
    // Perhaps a copy: 271 equal `repositories.has_projects`, 9 differ from it. The values are too few
    // to tell a copy from chance. 271 of 280 are equal; 2 distinct values, the commonest has 94 %.
    pub has_projects: bool,
    // Perhaps a copy: 280 equal `repositories.has_downloads`. The values are too few to tell a copy
    // from chance. 280 of 280 are equal; 2 distinct values, the commonest has 99 %.
    pub has_downloads: bool,
    // Perhaps a copy: 271 equal `repositories.has_wiki`, 9 differ from it. The values are too few to
    // tell a copy from chance. 271 of 280 are equal; 2 distinct values, the commonest has 94 %.
    pub has_wiki: bool,
    // Perhaps a copy: 268 equal `repositories.has_pages`, 12 differ from it. The values are too few to
    // tell a copy from chance. 268 of 280 are equal; 2 distinct values, the commonest has 84 %.
    pub has_pages: bool,
    // Missing in 274 of 280.
    // Perhaps a copy: 6 equal `repositories.has_discussions`. The values are too few to tell a copy
    // from chance. 6 of 6 are equal; 1 distinct values, the commonest has 100 %.
    #[field(skip_none)]
    pub has_discussions: Option<bool>,
    // A copy: 183 equal `repositories.forks_count`, 97 differ from it. 183 of 280 are equal; 3 distinct
    // values, the commonest has 67 %.
    #[denormalize(from = id.forks_count)]
    pub forks_count: i32,
    // Perhaps a copy: 280 equal `repositories.archived`. The values are too few to tell a copy from
    // chance. 280 of 280 are equal; 1 distinct values, the commonest has 100 %.
    pub archived: bool,
    // Missing in 12 of 280.
    // Perhaps a copy: 259 equal `repositories.disabled`. The values are too few to tell a copy from
    // chance. 259 of 259 are equal; 1 distinct values, the commonest has 100 %.
    #[field(skip_none)]
    pub disabled: Option<bool>,
    // A copy: 214 equal `repositories.open_issues_count`, 66 differ from it. 214 of 280 are equal; 13
    // distinct values, the commonest has 61 %.
    #[denormalize(from = id.open_issues_count)]
    pub open_issues_count: i32,
    // A copy: 175 equal `repositories.forks`, 105 differ from it. 175 of 280 are equal; 3 distinct
    // values, the commonest has 64 %.
    // Equal to the value of `repository.forks_count`: 270 are, 10 are not.
    #[denormalize(from = id.forks)]
    pub forks: i32,
    // A copy: 214 equal `repositories.open_issues`, 66 differ from it. 214 of 280 are equal; 13
    // distinct values, the commonest has 61 %.
    // Equal to the value of `repository.open_issues_count`: 280 are, 0 are not.
    #[denormalize(from = id.open_issues)]
    pub open_issues: i32,
    // Perhaps a copy: 275 equal `repositories.watchers`, 5 differ from it. The values are too few to
    // tell a copy from chance. 275 of 280 are equal; 3 distinct values, the commonest has 96 %.
    // Equal to the value of `repository.watchers_count`: 280 are, 0 are not.
    pub watchers: i32,
    // Perhaps a copy: 269 equal `repositories.default_branch`, 11 differ from it. The values are too
    // few to tell a copy from chance. 269 of 280 are equal; 2 distinct values, the commonest has 92 %.
    pub default_branch: DefaultBranch,
    // Missing in 270 of 280.
    // Perhaps a copy: 10 equal `repositories.allow_forking`. The values are too few to tell a copy from
    // chance. 10 of 10 are equal; 2 distinct values, the commonest has 90 %.
    #[field(skip_none)]
    pub allow_forking: Option<bool>,
    // Missing in 273 of 280.
    #[field(skip_none)]
    pub stargazers: Option<i32>,
    // Missing in 273 of 280.
    #[field(skip_none)]
    pub master_branch: Option<DeliveryBaseRef>,
    // Missing in 279 of 280.
    #[field(skip_none)]
    pub organization: Option<String>,
    // Missing in 44 of 280.
    // Perhaps a copy: 236 equal `repositories.is_template`. The values are too few to tell a copy from
    // chance. 236 of 236 are equal; 1 distinct values, the commonest has 100 %.
    #[field(skip_none)]
    pub is_template: Option<bool>,
    // Missing in 44 of 280.
    // Perhaps a copy: 236 equal `repositories.visibility`. The values are too few to tell a copy from
    // chance. 236 of 236 are equal; 2 distinct values, the commonest has 100 %.
    #[field(skip_none)]
    pub visibility: Option<Visibility>,
    // Missing in 46 of 280.
    // Perhaps a copy: 234 equal `repositories.web_commit_signoff_required`. The values are too few to
    // tell a copy from chance. 234 of 234 are equal; 1 distinct values, the commonest has 100 %.
    #[field(skip_none)]
    pub web_commit_signoff_required: Option<bool>,
    // Missing in 47 of 280.
    // Only documents without fields that can be declared were found.
    #[field(opaque, skip_none)]
    pub custom_properties: Option<odm::bson::Document>,
}

/// `organization.login` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryOrganizationLogin {
    Codertocat,
    Octocoders,
    #[embed(name = "electron")]
    Electron,
    #[embed(name = "github")]
    Github,
    #[embed(name = "hellomouse")]
    Hellomouse,
    #[embed(name = "octo-org")]
    OctoOrg,
    #[embed(name = "terraform-test-github")]
    TerraformTestGithub,
}

/// `organization` of `deliveries`.
// Documents have these fields in several orders: they are written in this one where the whole
// document is written anew.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryOrganization {
    // Perhaps a copy: 113 equal `accounts.login`. `organization.id` is not declared as a reference. 113
    // of 113 are equal; 6 distinct values, the commonest has 79 %.
    pub login: DeliveryOrganizationLogin,
    // Perhaps refers to `accounts._id`: 113 of 120 were found, 7 refer to nothing. The data alone do
    // not prove it. 11 of 14 distinct values were found.
    pub id: i32,
}

/// `pusher` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryPusher {
    pub name: DeliveryAssigneeLogin,
}

/// `installation.repository_selection` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryRepositorySelection {
    #[embed(name = "all")]
    All,
    #[embed(name = "selected")]
    Selected,
}

/// `installation.target_type` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryTargetType {
    Organization,
    User,
}

/// `installation` of `deliveries`.
// 3 kinds of documents, told by `repository_selection`: (missing) (123): no fields of its own; all
// (3): always `account`, `repository_selection`, `app_id`, `target_id`, `target_type`,
// `created_at`, `updated_at`, `single_file_name`, `suspended_at`, `suspended_by`, `app_slug`,
// `has_multiple_single_files`; selected (7): always `account`, `repository_selection`, `app_id`,
// `target_id`, `target_type`, `created_at`, `updated_at`, `single_file_name`. An enum with `tag`
// would have a variant for each.
// Documents have these fields in several orders: they are written in this one where the whole
// document is written anew.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryInstallation {
    pub id: i32,
    // Missing in 123 of 133.
    #[field(skip_none)]
    pub account: Option<DeliveryAppOwner>,
    // Missing in 123 of 133.
    #[field(skip_none)]
    pub repository_selection: Option<DeliveryRepositorySelection>,
    // Missing in 123 of 133.
    #[field(skip_none)]
    pub app_id: Option<i32>,
    // Missing in 130 of 133.
    #[field(skip_none)]
    pub app_slug: Option<String>,
    // Missing in 123 of 133.
    #[field(skip_none)]
    pub target_id: Option<i32>,
    // Missing in 123 of 133.
    #[field(skip_none)]
    pub target_type: Option<DeliveryTargetType>,
    // Missing in 123 of 133.
    // Its types differ: 8 int, 2 string. `retype` in a migration makes them one.
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    #[field(skip_none)]
    pub created_at: Option<DeliveryCreatedAtValue>,
    // Missing in 123 of 133.
    // Its types differ: 8 int, 2 string. `retype` in a migration makes them one.
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    // Equal to the value of `installation.created_at`: 8 are, 0 are not.
    #[field(skip_none)]
    pub updated_at: Option<DeliveryCreatedAtValue>,
    // Missing in 123 of 133, null in 5.
    // Its values: "config.yml" (3), ".github/ffo.yml" (2).
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub single_file_name: OrNull<String>,
    // Missing in 125 of 133, null in 7.
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub suspended_at: OrNull<String>,
    // Missing in 130 of 133.
    #[field(skip_none)]
    pub has_multiple_single_files: Option<bool>,
    // Missing in 130 of 133.
    // Items: at most 1; half have up to 1, 99 of 100 up to 1.
    #[embed(max = 10)]
    #[field(skip_none)]
    pub single_file_paths: Option<Vec<String>>,
    // Missing in 125 of 133, null in 7.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub suspended_by: OrNull<DeliveryAppOwner>,
}

/// `workflow.state` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryWorkflowState {
    #[embed(name = "active")]
    Active,
}

/// `workflow` of `deliveries`.
// Documents have these fields in several orders: they are written in this one where the whole
// document is written anew.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryWorkflow {
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    pub id: i32,
    pub name: String,
    pub path: String,
    pub state: DeliveryWorkflowState,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
}

/// `workflow` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(untagged)]
pub enum DeliveryWorkflowValue {
    Text(String),
    Document(DeliveryWorkflow),
}

/// `workflow_run.repository.name` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryName3 {
    #[embed(name = "octo-repo")]
    OctoRepo,
    #[embed(name = "sample-app")]
    SampleApp,
}

/// `workflow_run.repository` of `deliveries`.
// Documents have these fields in several orders: they are written in this one where the whole
// document is written anew.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryWorkflowRunRepository {
    pub fork: bool,
    // Its values: "octo-org/octo-repo" (5), "terraform-test-github/sample-app" (1).
    pub full_name: String,
    pub id: i32,
    pub name: DeliveryName3,
    pub owner: DeliveryAppOwner,
    pub private: bool,
}

/// `workflow_run.head_commit.author` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryAuthor2 {
    pub name: String,
}

/// `workflow_run.head_commit.committer.name` of `deliveries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryCommitterName {
    GitHub,
}

/// `workflow_run.head_commit.committer` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryHeadCommitCommitter {
    pub name: DeliveryCommitterName,
}

/// `workflow_run.head_commit` of `deliveries`.
// Documents have these fields in several orders: they are written in this one where the whole
// document is written anew.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryWorkflowRunHeadCommit {
    pub author: DeliveryAuthor2,
    pub committer: DeliveryHeadCommitCommitter,
    pub id: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub timestamp: String,
    pub tree_id: String,
}

/// `workflow_run` of `deliveries`.
// 3 kinds of documents, told by `path`: (missing) (3): no fields of its own;
// .github/workflows/pr.yaml (1): always `actor`, `triggering_actor`, `path`, `display_title`,
// `referenced_workflows`, `head_commit`, `repository`, `head_repository`;
// .github/workflows/test.yml (4): always `actor`, `triggering_actor`, `path`, `display_title`,
// `head_commit`, `repository`, `head_repository`. An enum with `tag` would have a variant for each.
// Documents have these fields in several orders: they are written in this one where the whole
// document is written anew.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryWorkflowRun {
    // Its types differ: 7 int, 1 long. `retype` in a migration makes them one.
    pub id: Integer,
    pub name: String,
    // Its types differ: 4 int, 4 long. `retype` in a migration makes them one.
    pub check_suite_id: Integer,
    pub check_suite_node_id: String,
    // Null in 5 of 8.
    pub conclusion: Option<String>,
    // Items: at most 1; half have up to 0, 99 of 100 up to 1.
    #[embed(max = 10)]
    pub pull_requests: Vec<DeliveryCheckSuitePullRequest>,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Missing in 2 of 8.
    #[field(skip_none)]
    pub repository: Option<DeliveryWorkflowRunRepository>,
    pub run_number: i32,
    pub event: String,
    pub head_branch: String,
    pub run_attempt: i32,
    // Missing in 7 of 8.
    // Only empty arrays were found.
    // Items: always 0.
    #[field(opaque, skip_none)]
    pub referenced_workflows: Option<Vec<Bson>>,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub run_started_at: String,
    pub status: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
    pub workflow_id: i32,
    // Missing in 1 of 8.
    #[field(skip_none)]
    pub actor: Option<DeliveryAppOwner>,
    // Missing in 1 of 8.
    #[field(skip_none)]
    pub triggering_actor: Option<DeliveryAppOwner>,
    // Missing in 2 of 8.
    #[field(skip_none)]
    pub head_commit: Option<DeliveryWorkflowRunHeadCommit>,
    // Missing in 2 of 8.
    #[field(skip_none)]
    pub head_repository: Option<DeliveryWorkflowRunRepository>,
    pub head_sha: String,
    // Missing in 3 of 8.
    // Its values: ".github/workflows/test.yml" (4), ".github/workflows/pr.yaml" (1).
    #[field(skip_none)]
    pub path: Option<String>,
    // Missing in 3 of 8.
    // Its values: "ci(action): update actions/setup-node digest to 8c91899" (4), "Build pull_request 3
    // by @ilmax" (1).
    #[field(skip_none)]
    pub display_title: Option<String>,
}

/// `workflow_job_run` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryWorkflowJobRun {
    pub id: i64,
    pub name: String,
    pub status: String,
    // Null in 1 of 1.
    // Nothing but null was found, so that the type of its values is a guess.
    pub conclusion: Option<String>,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub created_at: String,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub updated_at: String,
    pub environment: String,
}

/// `reviewers[]` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryReviewer {
    #[field(name = "type")]
    pub type_: String,
    pub reviewer: DeliveryTeam,
}

/// `repositories[]` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryRepository2 {
    pub id: i32,
    pub name: String,
    // Its values: "Codertocat/Hello-World" (3), "octocat/Hello-World" (2).
    pub full_name: String,
    pub private: bool,
}

/// `marketplace_purchase.account` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryAccount {
    #[field(name = "type")]
    pub type_: String,
    pub id: i32,
    pub login: String,
}

/// `marketplace_purchase.plan` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryPlan {
    pub id: i32,
    pub name: String,
    pub monthly_price_in_cents: i32,
    pub yearly_price_in_cents: i32,
    pub price_model: String,
    pub has_free_trial: bool,
    // Null in 1 of 4.
    pub unit_name: Option<String>,
    // Items: always 2.
    #[embed(max = 10)]
    pub bullets: Vec<String>,
}

/// `marketplace_purchase` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryMarketplacePurchase {
    pub account: DeliveryAccount,
    pub billing_cycle: String,
    pub unit_count: i32,
    pub on_free_trial: bool,
    // Null in 4 of 4.
    // Nothing but null was found, so that the type of its values is a guess.
    pub free_trial_ends_on: Option<String>,
    // Its texts are dates with times as text: `retype` in a migration makes each a date.
    pub next_billing_date: String,
    pub plan: DeliveryPlan,
}

/// `previous_marketplace_purchase` of `deliveries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DeliveryPreviousMarketplacePurchase {
    pub account: DeliveryAccount,
    pub billing_cycle: String,
    pub on_free_trial: bool,
    // Null in 1 of 1.
    // Nothing but null was found, so that the type of its values is a guess.
    pub free_trial_ends_on: Option<String>,
    pub unit_count: i32,
    pub plan: DeliveryPlan,
}
