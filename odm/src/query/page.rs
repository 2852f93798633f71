//! Keyset pages: each begins after the last document of the page before, found by the index instead of by counting.

mod behind;
mod order;
pub(super) mod position;
mod resume;

use crate::model::stored::Row;
pub(crate) use crate::model::types::{holds_text, is_compared_alike};
use crate::query::join::{Join, Work};
use crate::query::untyped::Query;
use crate::store::batches::Take;
use crate::{Document, Error, Filter, Find, Result, store::decode};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use behind::{KeysetKey, behind};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{self, Bson, RawDocument, doc};
use order::{keep_keys, refuse_several, total_order, twins};
use position::{is_compared_with, unfit, value_at};
pub use resume::ResumableFind;
use serde::{Deserialize, Serialize};

/// Where a page ends: an opaque text, safe in a URL, that a client may keep and send back. It holds the values by which
/// the last document was sorted, so it is no secret to whom may read them; and it can only ever be compared with.
///
/// ```
/// let token = odm::query::PageToken::from("c29tZSB0ZXh0");
/// assert_eq!(token.to_string(), "c29tZSB0ZXh0");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PageToken(String);

impl PageToken {
    /// As text.
    ///
    /// ```
    /// assert_eq!(odm::query::PageToken::from("c29tZSB0ZXh0").as_str(), "c29tZSB0ZXh0");
    /// ```
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it may be one that this library made: of which order, only the query can tell.
    pub(crate) fn is_well_formed(&self) -> bool {
        decode(self).is_ok()
    }
}

impl std::fmt::Display for PageToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<String> for PageToken {
    fn from(text: String) -> PageToken {
        PageToken(text)
    }
}

impl From<&str> for PageToken {
    fn from(text: &str) -> PageToken {
        PageToken(text.to_owned())
    }
}

/// A page of a query.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// let page = people.find_all().page(50).await?;
/// for person in &page.items {
///     println!("{}", person.name);
/// }
/// if let Some(token) = page.next {
///     println!("more behind {token}");
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Page<Out> {
    /// The documents, in the order of the query.
    pub items: Vec<Out>,
    /// The token of the next page, for [`Paged::after`]; `None` after the last page.
    pub next: Option<PageToken>,
    /// The token of the previous page, for [`Paged::before`]; `None` before the first page, and where the page is empty. A page that
    /// was reached by [`after`](Paged::after) has one, whose documents may have been deleted since.
    pub previous: Option<PageToken>,
    /// How many documents match the query, on all pages: where [`Paged::total`] asked for it.
    pub total: Option<u64>,
}

/// The content of a token.
#[derive(Serialize)]
struct PagePosition {
    /// The order that it belongs to, such as `year:-1,_id:1`.
    s: String,
    /// The last document's values.
    v: Vec<Bson>,
}

/// A query for one page. `.await` executes it.
///
/// # Errors
/// [`Error::PageToken`] for a token of another query, or a text that is not a token. [`Error::Query`] for a query with `skip`
/// or `limit`; for one that is sorted by an array or a path through one; where a document holds an array, a regular
/// expression or `undefined` in a sort field; and for a collation by which two ids may be equal (strings, where upper and lower case are
/// equal), or are equal where the page begins. [`Error::Decode`] for the first document that can't be decoded.
///
/// # Cost
/// One round trip for every 16 MB of documents, one before with [`total`](Paged::total), and one before for a page behind a token
/// where strings are ids and a collation compares them. An index that has the sort order, with `_id` at its end, finds the beginning of the page. Where
/// the field may hold anything (`#[field(opaque)]`), every page looks through it for arrays.
///
/// # Example
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// let page = people.find(|p| p.age.gte(18)).sort(|p| p.name.asc()).page(50).await?;
/// # Ok(()) }
/// ```
#[must_use = "a query does nothing until it is awaited"]
pub struct Paged<T, Out, J = ()> {
    find: Find<T, Out, J>,
    size: u32,
    from: Start,
    total: bool,
}

/// Where a page begins.
#[derive(Debug)]
enum Start {
    First,
    After(PageToken),
    Before(PageToken),
}

impl<T: Document, Out, J> std::fmt::Debug for Paged<T, Out, J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Paged")
            .field("find", &self.find)
            .field("size", &self.size)
            .field("from", &self.from)
            .finish()
    }
}

impl<T: Document, Out: Row + Send + 'static, J: Join<T>> Find<T, Out, J> {
    /// The first `size` documents, and where to go on. Sorted as the query says, and by `_id` where that leaves a tie;
    /// inserts and deletes between two pages neither repeat nor skip any other document.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, token: Option<String>) -> odm::Result<()> {
    /// let mut query = people.find_all().sort(|p| p.age.desc()).page(50);
    /// if let Some(token) = token {
    ///     query = query.after(token);
    /// }
    /// let page = query.await?;
    /// # Ok(()) }
    /// ```
    pub fn page(self, size: u32) -> Paged<T, Out, J> {
        Paged {
            find: self,
            size,
            from: Start::First,
            total: false,
        }
    }
}

impl<T: Document, Out: Row + Send + 'static, J: Join<T>> Paged<T, Out, J> {
    /// The page that this token names, from [`Page::next`] of the same query.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let first = people.find_all().page(50).await?;
    /// if let Some(token) = first.next {
    ///     let second = people.find_all().page(50).after(token).await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub fn after(mut self, token: impl Into<PageToken>) -> Self {
        self.from = Start::After(token.into());
        self
    }

    /// The page before the one that this token names, from [`Page::previous`] of the same query: its last documents, in the order of
    /// the query.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, token: String) -> odm::Result<()> {
    /// let page = people.find_all().page(50).after(token).await?;
    /// if let Some(token) = page.previous {
    ///     let previous = people.find_all().page(50).before(token).await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub fn before(mut self, token: impl Into<PageToken>) -> Self {
        self.from = Start::Before(token.into());
        self
    }

    /// Counts the documents of all pages, in [`Page::total`]: one round trip more, in which the server looks at each of them.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let page = people.find_all().page(50).total().await?;
    /// println!("{} of {}", page.items.len(), page.total.unwrap_or_default());
    /// # Ok(()) }
    /// ```
    pub fn total(mut self) -> Self {
        self.total = true;
        self
    }
}

impl<T: Document, Out: Row + Send + 'static, J: Join<T>> IntoFuture for Paged<T, Out, J> {
    type Output = Result<Page<J::Row<Out>>>;
    type IntoFuture = BoxFuture<'static, Result<Page<J::Row<Out>>>>;

    fn into_future(self) -> Self::IntoFuture {
        let page = async move {
            let Paged {
                find,
                size,
                from: start,
                total,
            } = self;
            let (query, join) = find.into_query();
            let from = query.source();
            let mut work = Work::of_query(&join, query.is_projected());
            let mut items = Vec::new();
            let mut take = |document: &RawDocument| {
                items.push(decode::decode(T::META, document)?);
                work.parent(document)
            };
            let backwards = matches!(start, Start::Before(_));
            let ends = page(query, size, (start, total), &mut take).await?;
            work.run(&from).await?;
            let mut items = work.rows(items)?;
            if backwards {
                items.reverse();
            }
            Ok(Page {
                items,
                next: ends.next,
                previous: ends.previous,
                total: ends.total,
            })
        };
        Box::into_pin(Box::new(page))
    }
}

/// What surrounds a page.
#[derive(Default)]
struct Ends {
    next: Option<PageToken>,
    previous: Option<PageToken>,
    total: Option<u64>,
}

/// Hands the documents of a page to `take`, from the token on: of a page before one, the last document comes first. Gives where the
/// next and the previous page begin.
fn page(
    mut query: Query,
    size: u32,
    (start, counts): (Start, bool),
    take: Take<'_>,
) -> BoxFuture<'_, Result<Ends>> {
    async move {
        let meta = query.meta();
        let collection = meta.collection;
        let refuse = |message: &str| Error::Query {
            collection,
            message: message.to_owned(),
        };
        refuse_several(meta, &query.sort)?;
        if query.options.skip.is_some() || query.options.limit.is_some() {
            return Err(refuse(
                "a page has its size instead of `limit`, and its token instead of `skip`",
            ));
        }
        query.resolve_joined().await?;
        let mut keys = total_order(&query)?;
        let order: Vec<String> = keys
            .iter()
            .map(|key| format!("{}:{}", key.name, key.direction()))
            .collect();
        let order = order.join(",");
        let backwards = matches!(start, Start::Before(_));
        let position = match &start {
            Start::First => None,
            Start::After(token) | Start::Before(token) => {
                let position = read(token, &order);
                Some(position.map_err(|reason| Error::PageToken { collection, reason })?)
            }
        };
        let mut ends = Ends::default();
        if counts {
            let filter = std::mem::replace(&mut query.filter, Filter::always()).into_document()?;
            let mut all = Query::new(query.core.clone(), Filter::raw(filter.clone()));
            all.options.collation = query.options.collation.clone();
            all.options.hint = query.options.hint.clone();
            ends.total = Some(all.count().await?);
            query.filter = Filter::raw(filter);
        }
        if size == 0 {
            return Ok(ends);
        }
        if backwards {
            keys.iter_mut().for_each(KeysetKey::turn);
        }
        let is_first = position.is_none();
        if let Some(position) = position {
            let filter = std::mem::replace(&mut query.filter, Filter::always()).into_document()?;
            if holds_text((meta.shape)(), "_id")
                && let Some((one, other)) =
                    twins(&query.core, &filter, &query.options, &keys, &position).await?
            {
                return Err(refuse(&format!(
                    "the page begins at two documents that this collation takes for equal, with the ids {one} and \
                     {other}, so neither comes before the other: use no collation, or give them other ids"
                )));
            }
            query.filter = Filter::raw(filter) & Filter::raw(behind(&keys, &position));
        }
        query.options.limit = Some(i64::from(size) + 1);
        let sort = keys
            .iter()
            .map(|key| (key.name.to_owned(), Bson::Int32(key.direction())))
            .collect();
        query.sort.clear();
        query.options.sort = Some(sort);
        if let Some(fields) = &mut query.fields {
            keep_keys(fields, &keys);
        }
        query.prepare_projection();
        // One of several values stands for an array, another one in each direction: such a document would come
        // twice.
        let may_be_refused = keys.iter().any(KeysetKey::may_be_refused);
        let again = on_disk(&mut query).await?;
        let (mut taken, mut more) = (0, false);
        let (mut first, mut last) = (None, None);
        let mut take = |document: &RawDocument| {
            if taken == size {
                more = true;
                return Ok(());
            }
            take(document)?;
            taken += 1;
            let is_end = taken == 1 || taken == size;
            if is_end || may_be_refused {
                let values: Option<Vec<Bson>> = keys.iter().map(|key| value_at(document, key.name)).collect();
                if values.is_none() {
                    return Err(refuse(&unfit(keys.iter().map(|key| key.name), document)));
                }
                if taken == 1 {
                    first = values.clone();
                }
                if taken == size {
                    last = values;
                }
            }
            Ok(())
        };
        match (query.each("page", &mut take).await, again) {
            // The server has sorted nothing yet, so it has given nothing.
            (Err(Error::Memory { .. }), Some(again)) => again.each("page", &mut take).await?,
            (done, _) => done?,
        }
        let token = |values: Vec<Bson>| {
            let position = PagePosition {
                s: order.clone(),
                v: values,
            };
            write(position).map_err(|source| Error::Encode {
                field: "page token".to_owned(),
                source: Box::new(source),
            })
        };
        // In the direction of the page there are more where one more was found; behind its beginning, where it began at a token.
        let onward = last.filter(|_| more).map(token).transpose()?;
        let back = first.filter(|_| !is_first).map(token).transpose()?;
        (ends.next, ends.previous) = if backwards { (back, onward) } else { (onward, back) };
        Ok(ends)
    }
    .boxed()
}

/// Lets a server sort the page on disk where that is not its default: from MongoDB 6.0 on it is. Where the server is not known
/// yet, the same query with that option is given back, for the case that the server refuses the first.
async fn on_disk(query: &mut Query) -> Result<Option<Query>> {
    if query.options.allow_disk_use.is_some() {
        return Ok(None);
    }
    let odm = query.core.odm();
    let known = match query.core.session() {
        // A transaction has asked already.
        Some(_) => Some(odm.server().await?),
        None => odm.known_server(),
    };
    if let Some(server) = known {
        if server.max_wire_version() < SORTS_ON_DISK {
            query.options.allow_disk_use = Some(true);
        }
        return Ok(None);
    }
    let filter = std::mem::replace(&mut query.filter, Filter::always()).into_document()?;
    let mut again = Query::new(query.core.clone(), Filter::raw(filter.clone()));
    again.options = query.options.clone();
    again.options.allow_disk_use = Some(true);
    query.filter = Filter::raw(filter);
    Ok(Some(again))
}

/// The wire version of MongoDB 6.0, whose sorts may use the disk by default.
const SORTS_ON_DISK: i32 = 17;

fn write(position: PagePosition) -> Result<PageToken, bson::error::Error> {
    Ok(PageToken(
        URL_SAFE_NO_PAD.encode(bson::serialize_to_vec(&position)?),
    ))
}

fn read(token: &PageToken, order: &str) -> Result<Vec<Bson>, &'static str> {
    let (sorted, values) = decode(token)?;
    if sorted != order || values.len() != order.split(',').count() {
        return Err("belongs to a query with another order");
    }
    if !values.iter().all(is_compared_with) {
        return Err("holds a value that no document is sorted by");
    }
    Ok(values)
}

/// The order and the values of a token.
fn decode(token: &PageToken) -> Result<(String, Vec<Bson>), &'static str> {
    let foreign = "is not one that this library made";
    let bytes = URL_SAFE_NO_PAD.decode(token.as_str()).map_err(|_| foreign)?;
    let token = RawDocument::from_bytes(&bytes).map_err(|_| foreign)?;
    // Reading goes as deep as the values are nested; a document that MongoDB stores is nested no deeper than this.
    if !is_shallow(token, MOST_LEVELS) {
        return Err(foreign);
    }
    let sorted = token.get_str("s").map_err(|_| foreign)?;
    let values: Vec<Bson> = token
        .get_array("v")
        .map_err(|_| foreign)?
        .into_iter()
        .map(|value| value.and_then(Bson::try_from))
        .collect::<Result<_, _>>()
        .map_err(|_| foreign)?;
    Ok((sorted.to_owned(), values))
}

/// MongoDB's 100 levels, the token's own document and its array.
const MOST_LEVELS: u32 = 102;

fn is_shallow(document: &RawDocument, levels: u32) -> bool {
    levels > 0
        && document.iter_elements().all(|element| {
            // What can't be read here can't be read later either.
            let Ok(Ok(value)) = element.map(|element| element.value()) else {
                return false;
            };
            match value {
                bson::RawBsonRef::Document(inner) => is_shallow(inner, levels - 1),
                bson::RawBsonRef::Array(inner) => {
                    RawDocument::from_bytes(inner.as_bytes()).is_ok_and(|inner| is_shallow(inner, levels - 1))
                }
                bson::RawBsonRef::JavaScriptCodeWithScope(code) => is_shallow(code.scope, levels - 1),
                _ => true,
            }
        })
}

#[cfg(test)]
mod tests {
    use super::order::takes_ids_for_equal;
    use super::*;
    use crate::model::shape::Shape;
    use mongodb::options::{Collation, CollationStrength};

    fn id() -> KeysetKey {
        let mut id = KeysetKey::of(Shape::ObjectId, "", false);
        id.name = "_id";
        id
    }

    #[test]
    fn a_collation_by_which_ids_may_be_equal() {
        let en = |strength| Collation::builder().locale("en").strength(strength).build();
        assert!(takes_ids_for_equal(&en(CollationStrength::Primary)));
        assert!(takes_ids_for_equal(&en(CollationStrength::Secondary)));
        assert!(!takes_ids_for_equal(&en(CollationStrength::Tertiary)));
        let numeric = Collation::builder().locale("en").numeric_ordering(true).build();
        assert!(takes_ids_for_equal(&numeric));
        assert!(!takes_ids_for_equal(
            &Collation::builder().locale("simple").build()
        ));
    }

    #[test]
    fn tokens_are_read_back_and_nothing_else_is() {
        let token = write(PagePosition {
            s: "a:1,_id:1".into(),
            v: vec![Bson::Null, Bson::Int32(7)],
        })
        .unwrap();
        assert_eq!(read(&token, "a:1,_id:1").unwrap(), [Bson::Null, Bson::Int32(7)]);
        assert_eq!(
            read(&token, "a:-1,_id:1"),
            Err("belongs to a query with another order")
        );
        for wrong in [
            "",
            "x",
            "!!",
            "e30",
            token.as_str().split_at(9).0,
            "{\"$gt\":\"\"}",
        ] {
            assert!(read(&wrong.into(), "a:1,_id:1").is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_deeply_nested_token_is_refused() {
        let nested = |levels: usize| {
            // From the inside: the length, a type, an empty name, the inner document and the end.
            let mut inner = vec![5, 0, 0, 0, 0];
            for _ in 0..levels {
                let mut outer = ((inner.len() + 7) as i32).to_le_bytes().to_vec();
                outer.extend([3, 0]);
                outer.append(&mut inner);
                outer.push(0);
                inner = outer;
            }
            let mut list = ((inner.len() + 8) as i32).to_le_bytes().to_vec();
            list.extend(b"\x030\0");
            list.append(&mut inner);
            list.push(0);
            let mut token = bson::RawDocumentBuf::new();
            token.append(bson::cstr!("s"), "_id:1");
            // The same for the token: a string, an array and the end.
            let mut token = token.into_bytes();
            token.pop();
            token.extend(b"\x04v\0");
            token.append(&mut list);
            token.push(0);
            let length = (token.len() as i32).to_le_bytes();
            token[..4].copy_from_slice(&length);
            PageToken(URL_SAFE_NO_PAD.encode(token))
        };
        let values = read(&nested(99), "_id:1").unwrap();
        let filter = behind(&[id()], &values);
        assert!(bson::RawDocumentBuf::try_from(&filter).is_ok());
        assert!(read(&nested(20_000), "_id:1").is_err());
    }

    #[test]
    fn an_operator_in_a_token_stays_a_value() {
        let forged = write(PagePosition {
            s: "_id:1".into(),
            v: vec![Bson::Document(doc! { "$ne": 1 })],
        })
        .unwrap();
        let values = read(&forged, "_id:1").unwrap();
        assert_eq!(
            behind(&[id()], &values),
            doc! { "$or": [{ "_id": { "$gt": { "$ne": 1 } } }] }
        );
    }

    #[test]
    fn missing_values_sort_first() {
        let raw = bson::RawDocumentBuf::try_from(&doc! { "a": { "b": 1 }, "c": [1] }).unwrap();
        assert_eq!(value_at(&raw, "a.b"), Some(Bson::Int32(1)));
        assert_eq!(value_at(&raw, "a.x"), Some(Bson::Null));
        assert_eq!(value_at(&raw, "a.b.c"), Some(Bson::Null));
        assert_eq!(value_at(&raw, "c"), None);
    }

    #[test]
    fn no_page_ends_at_what_nothing_is_compared_with() {
        let regex = bson::Regex {
            pattern: bson::cstr!("x").into(),
            options: bson::cstr!("").into(),
        };
        let any = KeysetKey::of(Shape::Any, "", false);
        assert!(any.may_be_refused() && !id().may_be_refused());
        let all: [(Bson, &str); 3] = [
            (regex.into(), "a regular expression"),
            (Bson::Undefined, "`undefined`"),
            (vec![1, 2].into(), "an array"),
        ];
        for (value, words) in all {
            let raw =
                bson::RawDocumentBuf::try_from(&doc! { "a": &value, "n": 1, "b": { "c": &value } }).unwrap();
            for name in ["a", "b.c"] {
                assert_eq!(value_at(&raw, name), None, "{value}");
                let why = unfit(["n", name], &raw);
                let expected = format!("a document holds {words}");
                assert!(
                    why.starts_with(&expected) && why.contains(&format!("in `{name}`")),
                    "{why}"
                );
            }
        }
        let items = bson::RawDocumentBuf::try_from(&doc! { "a": [{ "b": 1 }] }).unwrap();
        assert!(unfit(["a.b"], &items).starts_with("a document holds an array in `a.b`"));
    }
}
