//! The options of the driver that hold for all commands of a handle, or of one operation.

use crate::store::routes::Routes;
use mongodb::bson::{Bson, Document, RawBson};
use mongodb::options::{Acknowledgment, ReadConcern, ReadPreference, SelectionCriteria, WriteConcern};
use std::sync::Arc;
use std::time::Duration;

/// Options of reads and writes: of all operations of an [`Odm`](crate::Odm::with_options) or of a
/// [`Collection`](crate::Collection::with_options), or of one operation, by the methods of [`ReadOptions`] and [`WriteOptions`].
/// An option that is not set is as the client has it.
///
/// The library's own statements (checks of references, copies, links) have the comment, and no other of these options: they are
/// read from the primary and written to a majority, which the correctness of copies and references depends on.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(odm: Odm) -> odm::Result<()> {
/// use odm::mongodb::options::ReadPreference;
/// use odm::options::Options;
/// use std::time::Duration;
///
/// let reports = odm.with_options(
///     Options::new()
///         .comment("nightly report")
///         .max_time(Duration::from_secs(30))
///         .read_preference(ReadPreference::SecondaryPreferred { options: None }),
/// );
/// let people = reports.collection::<Person>().find_all().count().await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    pub(crate) comment: Option<Bson>,
    pub(crate) max_time: Option<Duration>,
    pub(crate) selection_criteria: Option<SelectionCriteria>,
    pub(crate) read_concern: Option<ReadConcern>,
    pub(crate) write_concern: Option<WriteConcern>,
    /// The option that one operation of a transaction was given, which has it for all.
    misplaced: Option<&'static str>,
    /// The deferred fields that reads ask for, each with its collection.
    deferred: Vec<(&'static str, &'static str)>,
    /// The shard keys that an operation knows before it begins.
    pub(crate) routes: KnownRoutes,
    /// The condition of the values of the shard key that an operation is given.
    pub(crate) at: GivenKey,
}

/// A condition on the document that one operation names, or why it is none. It is no option of a command, so any two are equal.
#[derive(Clone, Debug, Default)]
pub(crate) struct GivenKey(pub(crate) Option<Arc<Result<Document, String>>>);

impl PartialEq for GivenKey {
    fn eq(&self, _: &GivenKey) -> bool {
        true
    }
}

/// Shard keys that several operations share, or none. They are no option of a command, so any two are equal.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownRoutes(pub(crate) Option<Arc<Routes>>);

impl PartialEq for KnownRoutes {
    fn eq(&self, _: &KnownRoutes) -> bool {
        true
    }
}

impl Options {
    /// Without any option.
    pub fn new() -> Options {
        Options::default()
    }

    /// A comment, which the server shows in its log, its profiler and `$currentOp`.
    pub fn comment(mut self, comment: impl Into<Bson>) -> Options {
        self.comment = Some(comment.into());
        self
    }

    /// The server ends a command that takes longer. It holds for reads, for updates that return a document, and for the commit of a
    /// transaction: the driver has this option for no other write.
    pub fn max_time(mut self, time: Duration) -> Options {
        self.max_time = Some(time);
        self
    }

    /// The servers that are read from. A transaction reads from the primary all the same.
    pub fn read_preference(mut self, preference: ReadPreference) -> Options {
        self.selection_criteria = Some(SelectionCriteria::ReadPreference(preference));
        self
    }

    /// The read concern. That of a transaction is `snapshot` all the same.
    pub fn read_concern(mut self, concern: ReadConcern) -> Options {
        self.read_concern = Some(concern);
        self
    }

    /// The write concern. Its `w` is raised to `majority` for documents that copies or links depend on, and for transactions: what
    /// they rely on may not be lost when another server becomes the primary.
    ///
    /// `w: 0` is refused with [`Error::Query`](crate::Error::Query): the library needs the server's reply.
    pub fn write_concern(mut self, concern: WriteConcern) -> Options {
        self.write_concern = Some(concern);
        self
    }

    /// Asks for deferred fields of a collection.
    pub(crate) fn deferred(mut self, collection: &'static str, names: Vec<&'static str>) -> Options {
        self.deferred
            .extend(names.into_iter().map(|name| (collection, name)));
        self
    }

    /// Knows these shard keys.
    pub(crate) fn knowing(routes: Arc<Routes>) -> Options {
        Options {
            routes: KnownRoutes(Some(routes)),
            ..Options::default()
        }
    }

    /// Has these values of the shard key.
    pub(crate) fn at(condition: Result<Document, String>) -> Options {
        Options {
            at: GivenKey(Some(Arc::new(condition))),
            ..Options::default()
        }
    }

    /// Whether reads ask for this deferred field.
    pub(crate) fn asks_for(&self, collection: &str, name: &str) -> bool {
        self.deferred.contains(&(collection, name))
    }

    /// Whether commands have the same options: the fields that reads ask for are no option of a command.
    fn is_same(&self, other: &Options) -> bool {
        let of_commands = |options: &Options| Options {
            deferred: Vec::new(),
            ..options.clone()
        };
        self == other || of_commands(self) == of_commands(other)
    }

    /// These options, and of `others` those that are not set here.
    pub(crate) fn or(mut self, others: &Options) -> Options {
        self.deferred.extend(&others.deferred);
        Options {
            deferred: self.deferred,
            comment: self.comment.or_else(|| others.comment.clone()),
            max_time: self.max_time.or(others.max_time),
            selection_criteria: self
                .selection_criteria
                .or_else(|| others.selection_criteria.clone()),
            read_concern: self.read_concern.or_else(|| others.read_concern.clone()),
            write_concern: self.write_concern.or_else(|| others.write_concern.clone()),
            misplaced: self.misplaced.or(others.misplaced),
            routes: KnownRoutes(self.routes.0.or_else(|| others.routes.0.clone())),
            at: GivenKey(self.at.0.or_else(|| others.at.0.clone())),
        }
    }

    /// Those that an operation of a transaction can have.
    pub(crate) fn within_transaction(&self) -> Options {
        Options {
            selection_criteria: None,
            read_concern: None,
            write_concern: None,
            ..self.clone()
        }
    }

    /// Notes an option that this operation of a transaction can't have.
    pub(crate) fn note_misplaced(&mut self) {
        self.misplaced = if self.selection_criteria.is_some() {
            Some("read_preference")
        } else if self.read_concern.is_some() {
            Some("read_concern")
        } else {
            self.write_concern.as_ref().map(|_| "write_concern")
        };
    }

    /// Why an operation can't have these options, if it can't.
    pub(crate) fn refused(&self) -> Option<String> {
        if let Some(option) = self.misplaced {
            return Some(format!(
                "an operation of a transaction has the `{option}` of the transaction: take the option off, or begin the transaction on \
                 an `Odm` that has it"
            ));
        }
        if let Some(comment) = &self.comment
            && let Err(error) = RawBson::try_from(comment.clone())
        {
            return Some(format!("the comment can't be encoded as BSON: {error}"));
        }
        let concern = self.write_concern.as_ref()?;
        matches!(concern.w, Some(Acknowledgment::Nodes(0))).then(|| {
            "the write concern `w: 0` asks for no reply, and this library needs one: write with `w: 1`, or by the driver's own \
             collection (`driver()`)"
                .to_owned()
        })
    }
}

/// A write concern whose `w` is `majority`.
pub(crate) fn raised(concern: &WriteConcern) -> WriteConcern {
    let mut raised = concern.clone();
    raised.w = Some(Acknowledgment::Majority);
    raised
}

/// The options of a handle; nothing where there are none.
#[derive(Clone, Debug, Default)]
pub(crate) struct HandleOptions(Option<Arc<Options>>);

impl HandleOptions {
    pub(crate) fn get(&self) -> Option<&Options> {
        self.0.as_deref()
    }

    /// Whether both are the same options.
    pub(crate) fn is_same(&self, other: &HandleOptions) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other) || one.is_same(other),
            (Some(one), None) | (None, Some(one)) => one.is_same(&Options::default()),
        }
    }

    pub(crate) fn add(&mut self, options: Options) {
        let options = match &self.0 {
            Some(others) => options.or(others),
            None => options,
        };
        self.0 = Some(Arc::new(options));
    }

    pub(crate) fn set(&mut self, options: Options) {
        self.0 = Some(Arc::new(options));
    }
}

pub(crate) mod sealed {
    /// A builder or a handle that keeps options.
    pub trait Configure: Sized {
        fn add_options(&mut self, options: super::Options);
    }
}

/// A builder, or a handle, with options. It can't be implemented outside of this crate.
pub trait Configured: sealed::Configure {}

impl<T: sealed::Configure> Configured for T {}

/// Options of one query, before its final method: `people.find_all().max_time(…).all()`.
///
/// In a transaction, a read preference and a read concern are an [`Error::Query`](crate::Error::Query): the transaction has one for
/// all.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// use odm::mongodb::options::{ReadConcern, ReadPreference};
/// use std::time::Duration;
///
/// let adults = people
///     .find(|p| p.age.gte(18))
///     .comment("adults")
///     .max_time(Duration::from_secs(2))
///     .read_preference(ReadPreference::SecondaryPreferred { options: None })
///     .read_concern(ReadConcern::majority())
///     .all()
///     .await?;
/// # Ok(()) }
/// ```
pub trait ReadOptions: Configured {
    /// These options; those that are not among them stay as they are.
    fn options(mut self, options: Options) -> Self {
        self.add_options(options);
        self
    }

    /// As [`Options::comment`].
    fn comment(self, comment: impl Into<Bson>) -> Self {
        self.options(Options::new().comment(comment))
    }

    /// As [`Options::max_time`].
    fn max_time(self, time: Duration) -> Self {
        self.options(Options::new().max_time(time))
    }

    /// As [`Options::read_preference`].
    fn read_preference(self, preference: ReadPreference) -> Self {
        self.options(Options::new().read_preference(preference))
    }

    /// As [`Options::read_concern`].
    fn read_concern(self, concern: ReadConcern) -> Self {
        self.options(Options::new().read_concern(concern))
    }
}

/// Options of one write: `people.insert(…).comment(…).await`.
///
/// In a transaction, a write concern is an [`Error::Query`](crate::Error::Query): the transaction has one for all.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
/// use odm::mongodb::options::WriteConcern;
///
/// people.update(kate.id).inc(|p| p.age, 1).comment("birthday").write_concern(WriteConcern::majority()).await?;
/// # Ok(()) }
/// ```
pub trait WriteOptions: Configured {
    /// These options; those that are not among them stay as they are.
    fn options(mut self, options: Options) -> Self {
        self.add_options(options);
        self
    }

    /// As [`Options::comment`].
    fn comment(self, comment: impl Into<Bson>) -> Self {
        self.options(Options::new().comment(comment))
    }

    /// As [`Options::write_concern`].
    fn write_concern(self, concern: WriteConcern) -> Self {
        self.options(Options::new().write_concern(concern))
    }
}

/// The options of the handle or the operation that a command within a session belongs to. The command owns them.
pub(crate) struct CommandOptions {
    pub(crate) options: HandleOptions,
    pub(crate) concern: Option<WriteConcern>,
}

impl CommandOptions {
    pub(crate) fn options(&self) -> Option<&Options> {
        self.options.get()
    }

    pub(crate) fn concern(&self) -> Option<WriteConcern> {
        self.concern.clone()
    }
}

/// Implements the traits of options for builders that have a `core`.
macro_rules! configured {
    ($kind:ident for $($($path:ident).+ of [$($generics:tt)*] $of:ty;)*) => {$(
        impl<$($generics)*> $crate::store::options::sealed::Configure for $of {
            fn add_options(&mut self, options: $crate::options::Options) {
                self.$($path).+.add_options(options);
            }
        }

        impl<$($generics)*> $crate::options::$kind for $of {}
    )*};
}
pub(crate) use configured;

/// An action of the driver with the options of the operation that it is a part of: `read` what the application asks for, `answer` the same
/// of a read that has its concern and preference already, `own` a read of the library's, `comment` one of many batches, `write`, `modify` a
/// write that returns a document, `command` one that has none here.
macro_rules! with_options {
    ($on:expr, command, $action:expr) => {{
        let _ = &$on;
        $action
    }};
    ($on:expr, comment, $action:expr) => {
        $crate::store::options::set!($on.options(), $action, comment)
    };
    ($on:expr, own, $action:expr) => {
        $crate::store::options::set!($on.options(), $action, comment, max_time)
    };
    ($on:expr, answer, $action:expr) => {
        $crate::store::options::with_options!($on, own, $action)
    };
    ($on:expr, read, $action:expr) => {
        $crate::store::options::set!(
            $on.options(),
            $crate::store::options::with_options!($on, own, $action),
            read_concern,
            selection_criteria
        )
    };
    ($on:expr, write, $action:expr) => {
        $crate::store::options::with_options!(
            @concern $on,
            $crate::store::options::set!($on.options(), $action, comment)
        )
    };
    ($on:expr, modify, $action:expr) => {
        $crate::store::options::with_options!(
            @concern $on,
            $crate::store::options::with_options!($on, own, $action)
        )
    };
    (@concern $on:expr, $action:expr) => {{
        let action = $action;
        match $on.concern() {
            Some(concern) => action.write_concern(concern),
            None => action,
        }
    }};
}
pub(crate) use with_options;

macro_rules! set {
    ($options:expr, $action:expr, $($name:ident),*) => {
        match $options {
            None => $action,
            Some(options) => {
                let mut action = $action;
                $(
                    if let Some(value) = &options.$name {
                        action = action.$name(value.clone());
                    }
                )*
                action
            }
        }
    };
}
pub(crate) use set;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_has_its_own_options_and_those_of_its_handle() {
        let handle = Options::new().comment("handle").max_time(Duration::from_secs(1));
        let own = Options::new()
            .comment("own")
            .write_concern(WriteConcern::nodes(2));
        let both = own.or(&handle);
        assert_eq!(both.comment, Some("own".into()));
        assert_eq!(both.max_time, Some(Duration::from_secs(1)));
        assert_eq!(both.refused(), None);
        let within = both.within_transaction();
        assert_eq!(within.write_concern, None);
        assert_eq!(within.comment, both.comment);
    }

    #[test]
    fn options_that_no_operation_can_have_are_refused() {
        let unacknowledged = Options::new().write_concern(WriteConcern::nodes(0));
        assert!(unacknowledged.refused().is_some_and(|why| why.contains("w: 0")));
        let comment = Options::new().comment(mongodb::bson::doc! { "a\0b": 1 });
        assert!(comment.refused().is_some_and(|why| why.contains("comment")));
        let mut within = Options::new().read_concern(ReadConcern::majority());
        within.note_misplaced();
        assert!(
            within
                .refused()
                .is_some_and(|why| why.contains("`read_concern` of the transaction"))
        );
    }

    #[test]
    fn a_raised_concern_keeps_its_timeout_and_journal() {
        let concern = WriteConcern::builder()
            .w(Acknowledgment::Nodes(1))
            .journal(true)
            .w_timeout(Duration::from_secs(5))
            .build();
        let raised = raised(&concern);
        assert_eq!(raised.w, Some(Acknowledgment::Majority));
        assert_eq!(raised.journal, Some(true));
        assert_eq!(raised.w_timeout, Some(Duration::from_secs(5)));
    }
}
