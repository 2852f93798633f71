//! Fields that are read only where they are asked for.

use crate::Document;
use crate::model::meta::{DocumentMeta, FieldMeta, Shape};
use crate::model::path::{Path, Step};
use crate::model::stored::{Bound, Done, Input, Name, Out, Read, Stored};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A field of a document that a query reads only where it is asked for, such as a long text or a file: `body: Deferred<String>`.
///
/// [`Collection::with_deferred`](crate::Collection::with_deferred) asks for it. Every other read of the collection, alone or in a join,
/// gives [`not_read`](Deferred::not_read). `replace`, `save` and hooks keep the stored value of a field that was not read, and store the
/// value of any other one. Conditions, updates, indexes and rules treat the field as a `T`.
///
/// It stands alone, as the type of a field in a struct that derives `Document`. Its value is no copy's source, and no field in a `check`.
///
/// A change stream, a join by [`lookup`](crate::Find::lookup), a hook, an aggregation and a write that returns the document may give the
/// value without being asked.
///
/// ```
/// # mod app {
/// use odm::prelude::*;
/// use odm::Deferred;
///
/// #[derive(Document, Clone, Debug)]
/// #[document(collection = "articles")]
/// pub struct Article {
///     pub id: ObjectId,
///     pub title: String,
///     pub body: Deferred<String>,
/// }
///
/// async fn example(articles: Collection<Article>, id: ObjectId) -> odm::Result<()> {
///     articles.insert(NewArticle { title: "Waves".into(), body: "…".into() }).await?;
///     let titles = articles.find_all().all().await?;
///     assert!(titles.iter().all(|article| article.body.get().is_none()));
///     let whole = articles.with_deferred(|a| a.body).get(id).await?;
/// #   let _ = whole;
/// #   Ok(())
/// }
/// # }
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Deferred<T>(Option<T>);

impl<T> Deferred<T> {
    /// A value, which a write of the document stores.
    ///
    /// ```
    /// assert_eq!(odm::Deferred::new(7).get(), Some(&7));
    /// ```
    pub const fn new(value: T) -> Deferred<T> {
        Deferred(Some(value))
    }

    /// A value that was not read, or that the stored document lacks. A write of the document keeps what is stored.
    ///
    /// ```
    /// assert_eq!(odm::Deferred::<i32>::not_read().get(), None);
    /// ```
    pub const fn not_read() -> Deferred<T> {
        Deferred(None)
    }

    /// Whether it was not read.
    ///
    /// ```
    /// assert!(odm::Deferred::<i32>::not_read().is_not_read());
    /// ```
    pub const fn is_not_read(&self) -> bool {
        self.0.is_none()
    }

    /// The value, if it was read.
    ///
    /// ```
    /// assert_eq!(odm::Deferred::new("text").get(), Some(&"text"));
    /// ```
    pub const fn get(&self) -> Option<&T> {
        self.0.as_ref()
    }

    /// The value itself, if it was read.
    ///
    /// ```
    /// assert_eq!(odm::Deferred::new("text").into_inner(), Some("text"));
    /// ```
    pub fn into_inner(self) -> Option<T> {
        self.0
    }

    /// Sets the value, which a write of the document stores.
    ///
    /// ```
    /// let mut body = odm::Deferred::not_read();
    /// body.set("text");
    /// assert_eq!(body.get(), Some(&"text"));
    /// ```
    pub fn set(&mut self, value: T) {
        self.0 = Some(value);
    }
}

impl<T> Default for Deferred<T> {
    fn default() -> Self {
        Deferred::not_read()
    }
}

impl<T> From<T> for Deferred<T> {
    fn from(value: T) -> Self {
        Deferred::new(value)
    }
}

impl<T: fmt::Debug> fmt::Debug for Deferred<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(value) => value.fmt(f),
            None => f.write_str("(not read)"),
        }
    }
}

/// The value as it is, and `null` for one that was not read.
impl<T: Serialize> Serialize for Deferred<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Deferred<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Deferred::new)
    }
}

impl<T: Stored> Stored for Deferred<T> {
    fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
        match &self.0 {
            Some(value) => value.write(name, bound, out),
            None => Ok(()),
        }
    }

    fn read(kind: u8, input: &mut Input<'_>) -> Read<Self> {
        T::read(kind, input).map(Deferred::new)
    }

    fn missing() -> Read<Self> {
        Ok(Deferred::not_read())
    }
}

/// The deferred fields of a document.
fn fields(meta: &DocumentMeta) -> impl Iterator<Item = &'static FieldMeta> {
    let fields: &'static [FieldMeta] = match (meta.shape)() {
        Shape::Struct(of) => of.fields,
        _ => &[],
    };
    fields.iter().filter(|field| field.deferred)
}

/// Whether one of these fields is deferred.
pub(crate) const fn holds_deferred(fields: &[FieldMeta]) -> bool {
    let mut i = 0;
    while i < fields.len() {
        if fields[i].deferred {
            return true;
        }
        i += 1;
    }
    false
}

/// The stored names of the deferred fields.
pub(crate) fn names(meta: &DocumentMeta) -> impl Iterator<Item = &'static str> {
    fields(meta).map(|field| field.name)
}

/// Deferred fields that a read asks for: one path, or a tuple of them.
pub trait DeferredFields<T> {
    /// Adds their stored names.
    #[doc(hidden)]
    fn names(self, names: &mut Vec<&'static str>);
}

impl<T: Document, V: 'static, P: Step, C> DeferredFields<T> for Path<T, V, P, C> {
    fn names(self, names: &mut Vec<&'static str>) {
        const {
            assert!(
                matches!(P::FIELD, Some(field) if field.deferred),
                "the field is no `Deferred<…>`, so every read has it: leave `with_deferred` out, or name a deferred field"
            );
        }
        names.push(P::PATH);
    }
}

macro_rules! several {
    ($($one:ident)*) => {
        impl<T, $($one: DeferredFields<T>),*> DeferredFields<T> for ($($one,)*) {
            fn names(self, names: &mut Vec<&'static str>) {
                #[allow(non_snake_case, unused_variables)]
                let ($($one,)*) = self;
                $($one.names(names);)*
            }
        }
    };
}
several!(A B);
several!(A B C);
several!(A B C D);
