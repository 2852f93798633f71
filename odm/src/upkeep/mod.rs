//! Keeps references and copies right: audits and repairs them, backfills new ones, applies pending work.
//!
//! Each is begun by a method of [`Odm`](crate::Odm): [`audit`](crate::Odm::audit), [`repair`](crate::Odm::repair), [`backfill`](crate::Odm::backfill),
//! [`recover`](crate::Odm::recover), [`worker`](crate::Odm::worker), [`reconciler`](crate::Odm::reconciler). Beside them are the
//! [change streams](crate::watch) of applications.

pub(crate) mod audit;
pub(crate) mod backfill;
pub(crate) mod copies;
pub(crate) mod expiry;
pub(crate) mod follow;
pub(crate) mod inspect;
pub(crate) mod orphans;
pub(crate) mod position;
pub(crate) mod reconcile;
pub(crate) mod recover;
pub(crate) mod repair;
pub(crate) mod snapshots;
pub(crate) mod stored;
pub(crate) mod watch;

pub use audit::{Audit, AuditedCopies, AuditedReference, Auditing, DuplicateIds, FieldOf, Findings};
pub use backfill::{Backfilled, Backfilling};
pub use reconcile::{Reconciler, Reconciling};
pub use recover::{Recovered, Recovering, Worker};
pub use repair::{Repair, RepairKind, Repaired, Repairing};
