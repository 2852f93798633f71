//! Collects errors, so that a user sees all mistakes of a type at once.

use quote::ToTokens;
use std::cell::RefCell;
use std::fmt::Display;
use syn::{Attribute, Ident};

/// The errors of one derive.
///
/// Its owner has to call [`Ctxt::check`], or the errors would be lost.
pub struct Ctxt {
    errors: RefCell<Option<Vec<syn::Error>>>,
    /// The names of the attributes that could not be read as a whole.
    unreadable: RefCell<Vec<String>>,
}

impl Ctxt {
    pub fn new() -> Ctxt {
        Ctxt {
            errors: RefCell::new(Some(Vec::new())),
            unreadable: RefCell::new(Vec::new()),
        }
    }

    /// An error in an attribute, of which other options may be missing for it.
    pub fn unreadable(&self, attribute: &Attribute, error: syn::Error) {
        let name = attribute.path().get_ident().map(Ident::to_string);
        self.unreadable.borrow_mut().push(name.unwrap_or_default());
        self.push(error);
    }

    /// Whether all attributes of this name could be read, so that what they lack is an error of its own.
    pub fn is_read(&self, attribute: &str) -> bool {
        !self.unreadable.borrow().iter().any(|name| name == attribute)
    }

    /// How many attributes could not be read so far.
    pub fn count_unreadable(&self) -> usize {
        self.unreadable.borrow().len()
    }

    /// An error with its caret on `tokens`.
    pub fn error(&self, tokens: impl ToTokens, message: impl Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    /// An error as it came from a parser.
    pub fn push(&self, error: syn::Error) {
        if let Some(errors) = self.errors.borrow_mut().as_mut() {
            errors.push(error);
        }
    }

    /// The value that was read of an attribute, or nothing and its error kept.
    pub fn keep<T>(&self, attribute: &Attribute, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.unreadable(attribute, error)).ok()
    }

    /// All errors as one, if there are any.
    pub fn check(self) -> syn::Result<()> {
        let mut errors = self.errors.borrow_mut().take().unwrap_or_default().into_iter();
        let Some(mut all) = errors.next() else {
            return Ok(());
        };
        for error in errors {
            all.combine(error);
        }
        Err(all)
    }
}

impl Drop for Ctxt {
    fn drop(&mut self) {
        if !std::thread::panicking() && self.errors.borrow().is_some() {
            panic!("the errors of a derive were not asked for");
        }
    }
}
