//! The steps from one version of the documents to the next: `odm migrate new NAME` adds one.

/// All steps, in the order in which they are applied.
pub fn all() -> odm::Migrations {
    odm::migrations![]
}
