//! A type as an associated type of itself.

/// Every type, which names itself.
///
/// The compiler refuses a private type as an associated type of a public one, where the application wrote neither. The derives
/// write a parameter in its place, and the condition that it is this type:
/// `impl<T> Entry for Part where Comment: Itself<Type = T>, T: Document { type Of = T; … }`.
pub trait Itself {
    /// The type itself.
    type Type: ?Sized;
}

impl<T: ?Sized> Itself for T {
    type Type = T;
}
