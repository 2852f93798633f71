//! What several who write at once may rely on: the version protects links too, upserts that race don't fail, and what a write says
//! of itself is what it did.

mod items_that_meet_nothing;
mod linked_versions;
mod upserts;
