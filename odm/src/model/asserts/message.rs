//! The beginnings of messages.

use crate::model::size::Message;

/// The field, as messages name it.
pub(super) const fn about(owner: &str, field: &str, ty: &str) -> Message {
    Message::new()
        .text("`")
        .text(owner)
        .text(".")
        .text(field)
        .text(": ")
        .text(ty)
        .text("`")
}

/// An `Option` around a value that may be `null` itself: two of its values would be one in the database.
pub const fn one_null(twice: bool, owner: &str, field: &str, ty: &str) -> Option<Message> {
    if !twice {
        return None;
    }
    Some(
        about(owner, field, ty)
            .text(
                " holds an `Option` of a value that may be `null` itself: `Some(None)` and `None` are both stored as `null`, and \
                 read as `None`. Write one `Option`, or an enum that names the cases: `#[derive(Embed)] enum Change { Unknown, \
                 None, Some(",
            )
            .text("T) }`"),
    )
}
