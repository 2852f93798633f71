//! Fields that are copied through a reference: they are filled in before a write of a holder, and updated after a write of the source.

pub(crate) mod deliver;
pub(crate) mod fill;
pub(crate) mod rule;
pub(crate) mod value;
