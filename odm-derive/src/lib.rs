//! Derives of the [`odm`](https://docs.rs/odm) crate; use them through it.
#![warn(missing_docs)]

// The way of a type through this crate: `ast` reads what was written, with the attributes of `attr`; `check` holds
// the rules across fields and attributes; `expand` writes the code, which is thin: it names constants and calls
// functions of `odm::__private`. Errors are collected in a `ctxt::Ctxt`, so that one compilation shows all of them, and
// `fallback` stands in for the code of a type with errors, so that nothing else is reported.

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

mod ast;
mod attr;
mod case;
mod check;
mod ctxt;
mod expand;
mod fallback;
mod receiver;
mod ty;

#[cfg(test)]
mod tests;

/// Makes a struct a document of a MongoDB collection, or an enum the documents of [several types](#several-types-in-one-collection) in one.
///
/// It implements `odm::Document`, and makes the struct of its typed paths (`PersonFields` for a `Person`) and the struct
/// that inserts one (`NewPerson`): the fields that the application supplies, which leaves out an `ObjectId` in `_id`, the
/// timestamps and the version. The struct needs no other derive. Its field `id` is stored as `_id`.
///
/// # Attributes of the struct
///
/// | `#[document(…)]` | meaning |
/// | --- | --- |
/// | `collection = "people"` | the collection's name; required |
/// | `variant_of = Event` | in its place: the struct is a variant of this enum, and stands in its collection; see below |
/// | `common(at: DateTime)`, `tag = "type"` | of an enum of documents: see below |
/// | `timestamps` | `created_at` is set at the insert and `updated_at` at every write, as far as the struct has them; fields of the type `DateTime` |
/// | `timestamps(created = born, updated = changed)` | the same with other fields, or one of them |
/// | `version`, `version(revision)` | optimistic locking by the field `version`, or another, of the type `i64`: 1 at the insert, one more at every write |
/// | `validation(level = strict, action = error)` | how the server validates: level `off`, `moderate` or `strict`, action `warn` or `error`; `strict` and `error` where nothing is said |
/// | `shared(field)` | the documents lack this field, by its stored name, and all scopes of it share them: `odm.scoped(…)` |
/// | `soft_delete`, `soft_delete(field)` | a deletion keeps the document: it stores the time in `deleted_at: Option<DateTime>`, and `restore` takes it back |
/// | `append_only` | its documents are inserted and deleted, and never changed: an update or a replacement does not compile |
/// | `capped(size = BYTES, max = N)` | a collection of a fixed size, which loses its oldest documents to new ones |
/// | `time_series(time = at, meta = sensor, granularity = minutes, expire_after = SECONDS)` | a time series, whose documents are inserted, and never changed or deleted |
/// | `view(of = Order, pipeline = f)` | a view of the documents that `f` makes of an `Aggregate<Order>`, which are only read |
/// | `sole_writer` | this program alone writes the collection: an `_id` that is a struct needs no validator that demands the order of its fields |
/// | `pre_and_post_images` | the server keeps the document before and after each change, for `Watch::pre_images`: MongoDB 6.0 and later |
/// | `shard_key(hashed(tenant))`, `shard_key(tenant, hashed(id))`, `shard_key(address.country, id)` | the fields by which a sharded cluster distributes the documents; see below |
/// | `index(fields(a, -b, c.d), …)` | an index of several fields, or of an embedded one; options below. May be repeated |
/// | `search_index(dynamic)`, `search_index(name = "default", analyzer = "lucene.english", fields(string(title), token(genre), …))` | a search index of Atlas; see below. May be repeated |
/// | `vector_index(name = "by_meaning", path = embedding, dimensions = 1536, similarity = cosine)` | a vector index of Atlas; see below. May be repeated |
/// | `collation(locale = "en", strength = 2)` | how the collection compares strings; its finds, updates, deletions, counts and indexes inherit it |
/// | `expire = field`, `expire(field = created_at, after = 3600)` | documents are deleted at the time in the field, or `after` seconds later, by `Odm::worker` and `Odm::delete_expired`, which apply the rules of all references to them. The field is a `DateTime` |
/// | `before_write = f` | each write calls the function `f` in its transaction with the document before and after it, an `odm::hooks::InTransaction`; an error of `f` refuses the write |
/// | `after_write(in_transaction) = f` | the same when nothing has refused the write: what `f` writes is committed with it |
/// | `after_write = f` | `f` is called after the commit, with an `odm::hooks::Committed` |
/// | `check = \|d\| expr(d.ends).gt(expr(d.starts))` | a comparison of fields that every document satisfies: checked before a write, in the validator, and in the condition of updates that change one of them. May be repeated |
/// | `check_with = f` | the function `fn(&Self) -> Result<(), E>` that accepts or refuses whole documents, which updates do not have |
/// | `derive(PartialEq, Eq, Hash)` | derives of all structs that are made for the document: `New…`, and those of `fields(…)`, which are `Clone`, `Debug`, `PartialEq`, `Serialize` and `Deserialize` without it |
/// | `new(derive(Clone, Debug))` | derives of the `New…` struct alone |
/// | `builder` | the `New…` struct has a builder: `NewPerson::builder().name("Kate").build()` |
/// | `patch`, `patch(derive(Clone, Debug))` | makes the struct `PersonPatch` of the fields that a request may change, for `Change::apply`; with derives |
/// | `crate = "path"` | where `odm` is, if it is not `::odm` |
///
/// # Shard keys
///
/// `shard_key(…)` names the fields by whose values a sharded cluster distributes the documents: by ranges of them, or one of them by
/// a hash, `hashed(field)`, from MongoDB 4.4 on also beside others. `sync` shards the collection; on a replica set it makes the index that
/// the key needs, and checks the same.
///
/// Each document has one value in each field, and keeps it: a field of the key is no array, no `Option`, no computed field, no copy of a
/// field that changes, and no text under a collation. Unique indexes begin with the key. An `_id` outside of the key is made by the library
/// where others refer to it. What a derive does not see, `Odm::new` refuses.
///
/// # Several types in one collection
///
/// On an enum, `#[document(collection = "events")] enum Event { Login(Login), Purchase(Purchase) }` lists the documents of
/// a collection, each a struct that derives `Document` with `variant_of = Event`. The collection of the enum holds all of
/// them; that of a variant reads and writes documents with its name in `type`. `models![Event]` brings the variants. `NewEvent` is an
/// enum of the `New…` structs.
///
/// `common(at: DateTime)` declares fields that all variants have, which have paths from the enum, `e.at`, and may be indexed for all.
/// `e.login.user` is the path of a field of one variant, and `e.is_login()` the condition that a document has it. An index of a variant
/// holds its documents alone. `tag = "kind"` names another field than `type`.
///
/// A variant has references and bounds, and nothing that is derived from other documents: no `#[denormalize]`, `#[subset]`,
/// `#[computed]`, `#[parent_ref]` or `inverse`. Neither it nor the enum has `soft_delete`, `expire` or functions that writes call.
///
/// # Attributes of a field
///
/// A field of the type `Deferred<T>` is read only where a query asks for it, such as a long text.
///
/// Each `N` is a literal or a constant: `#[embed(max = limits::TAGS)]`.
///
/// | attribute | meaning |
/// | --- | --- |
/// | `#[embed]` | an embedded struct or enum |
/// | `#[embed(max = N)]` | an array, a set or a map of at most `N` items; without it such a field does not compile |
/// | `#[embed(max = N, large = "reason")]` | more than 200 embedded documents, on purpose |
/// | `#[embed(patch)]` | a patch of the document sets the fields of the embedded struct one by one, instead of all of it: the struct has `#[embed(patch)]` too |
/// | `#[embed(max = N, key_len = N)]` | a map whose keys have at most this number of characters: checked before a write, the validator has no such rule |
/// | `#[embed(depth = N)]` | a type that contains itself: at most `N` levels below the field |
/// | `#[field(sensitive)]` | no error, log or trace of the library shows the value: a hash of a password, a token. A copy of the field is declared sensitive too |
/// | `#[field(scope)]` | new documents have the value of the handle's scope: `odm.scoped(…)`. The `New…` struct is without the field |
/// | `#[field(max_len = N, min_len = N)]` | the length of a string in characters (code points), of binary data in bytes (which the validator does not check); of an array, of each item |
/// | `#[field(pattern = "…")]`, `#[field(email)]`, `#[field(url)]` | the expression that a string matches as a whole, in the syntax that the server and Rust understand alike; of an array, each item |
/// | `#[field(one_of("a", "b"))]`, `#[field(one_of(1, 2))]` | the strings or integers that are valid |
/// | `#[field(multiple_of = N)]` | the number that divides an integer |
/// | `#[field(unique_items)]` | no item of the array equals another one |
/// | `#[field(normalize(trim, lowercase))]` | how a string is changed before it is stored and compared |
/// | `#[field(check_with = f)]` | the function of the application, `fn(&T) -> Result<(), E>`, that accepts or refuses a value |
/// | `#[field(min = N, max = N)]` | the range of a number |
/// | `#[field(opaque)]` | a value that is stored as it is, and not looked into |
/// | `#[field(default = value)]` | what a missing field is read as and a new document gets, made by the function `Type::default_field`, which the derive adds |
/// | `#[field(default)]` | a missing field is read as its type's `Default` |
/// | `#[field(generate = function)]` | of an `_id`: the function makes that of a new document, `generate = Uuid::new`; an `ObjectId` needs none |
/// | `#[field(json = text)]` | integers that may lie beyond 2⁵³, which JavaScript rounds: texts in JSON |
/// | `#[field(private)]` | a value that never goes out by JSON and never comes in: no parameter of a request names it |
/// | `#[field(read_only)]` | JSON shows the value and does not set it. A field that the library writes is read-only without the word |
/// | `#[field(write_only)]` | JSON sets the value and never shows it: no parameter of a request names it |
/// | `#[field(stored)]` | every document has the field, though it has a default: the validator requires it |
/// | `#[field(name = "…")]`, `#[field(alias = "…")]` | the stored name, and another one that is read |
/// | `#[field(skip)]`, `#[field(skip_none)]`, `#[field(flatten)]` | not stored; not stored while it is `None`; its fields stand in the parent |
/// | `#[field(with = "module")]` | functions of serde that write and read the field, beside `stored` or `opaque` |
/// | `#[field(stored = Type)]` | the type whose stored form serde or such functions write |
/// | `#[reference]` | a reference to another document: `Ref<T>`, or an `Option` of it |
/// | `#[reference(many, max = N)]` | an array or a set of at most `N` references: 2,000 where nothing is said, and 5,000 at most |
/// | `#[parent_ref]` | a reference to the document that this one belongs to, of which any number can belong to one: `.children::<This>()` and `.of(&parent)` find them |
/// | `#[parent_ref(one)]` | the same where one at most belongs to each: a unique index. It may stand on the field that is stored as `_id` |
/// | `#[parent_ref(order(-time, name))]` | the same with an order of the documents of one parent, by an index; a minus sorts from the greatest to the least |
/// | `#[index]`, `#[index(…)]` | an index on the field. May be repeated |
/// | `#[denormalize(from = host.name)]` | a copy of the field `name` of the document that the reference `host` of the same struct names; see below |
/// | `#[denormalize(from = Part, fields(…))]` | beside `#[reference]` or `#[parent_ref]`: a reference with copies of fields of its document |
/// | `#[subset(of = Review, …)]` | the newest, the greatest or the least of the children |
/// | `#[computed(count = Review)]`, … | a number of the children, or a field of the first or last of them |
/// | `#[volatile]` | the field changes often: a copy of it does not compile |
///
/// # References
///
/// A reference is stored as nothing but the id of the other document. Each declares the index by which the documents with
/// it are found; a `#[index]` is not needed. Both attributes take these options, but where something else is said:
///
/// | option | meaning |
/// | --- | --- |
/// | `by = field` | the reference holds the value of this field of the other document instead of its `_id`: `Ref<Account, i32>`. The field is unique there: `#[index(unique)]` |
/// | `same(field)` | the other document has the same value in its field of this name: a document with another value counts as missing, in every write. No update changes such a field. The shard key of the other document is known by it |
/// | `inverse = field` | a two-way reference: this field of the other document refers back, and says so by its own `inverse`. Writes keep both sides equal. Not of a `parent_ref`, and not in an embedded type |
/// | `expected = N` | how many references are to be expected in an array. Of a two-way reference it decides whether both sides can hold the other |
/// | `on_delete = restrict` | the other document can't be deleted while a reference names it; where nothing is said, but of a two-way reference |
/// | `on_delete = cascade` | with the other document, this one is deleted too |
/// | `on_delete = nullify` | the reference is removed, where it is an `Option`; of a two-way reference where nothing is said |
/// | `on_delete = pull` | the reference is taken out of its array; of a two-way one where nothing is said |
/// | `on_delete = keep` | the reference stays, and names a document that is not there |
/// | `any(Photo, Video)` | a reference to one of several documents; see below |
/// | `check = false` | writes don't check that the other document exists |
/// | `index = false` | without the index that the reference declares |
///
/// `#[reference(any(Photo, Video))] media: MediaRef` makes the type of the field, `enum MediaRef { Photo(Ref<Photo>),
/// Video(Ref<Video>) }`, which is stored as `{ type: "Photo", id: … }`, and the enum that a join gives for it, `enum Media {
/// Photo(Photo), Video(Video) }`. The name of the type ends in `Ref`; the field may be an `Option` or (with `many`) an array
/// of it. The documents are `Clone`; both enums are what their parts are of `Debug`, `PartialEq`, `Eq` and `Hash` (the
/// references always the first two). A second field of the type takes the list over: `any` alone.
///
/// # Copies
///
/// Only the library writes derived fields: an update of one does not compile, and `New…` has no field for it; it can be queried
/// like any other. The type of a copy is that of its source, or it does not compile; a source that is `#[volatile]`, a version
/// or the time of the last update is refused.
///
/// `#[denormalize(from = host.name)]` copies a field through a `#[reference]` or `#[parent_ref]` of the same struct, which is a
/// single one to one type of document. The copy has the field's type, or is an `Option` of it, as it must be where the reference
/// is one.
///
/// `#[reference(many, max = N)] #[denormalize(from = Part, fields(name: String, color: String))] parts: Vec<PartEntry>` makes the
/// struct `PartEntry { id: Ref<Part>, name: String, color: String }` by the name that stands in the field's type; `#[reference]`
/// with a `PartEntry` or an `Option<PartEntry>` is the same for one. The options of the reference are `on_delete`, `check`,
/// `index` and `expected`. `NewProduct` takes a `Vec<Ref<Part>>`, and a `Ref<Part>` is what is pushed, pulled, set and looked
/// for: two entries are the same if they refer to the same document. A field in `fields(…)` may have a comment of its own.
/// Instead of `fields(…)` the type may be a struct of the application's own, with `#[denormalize(from = Part)]`; see
/// [`Embed`](macro@Embed). Two documents of one module make two structs, which need two names; or one lists `fields(…)`, and
/// the other one takes that struct, without `fields(…)`. What the compiler calls `PartEntryOfProduct` is the struct that
/// `PartEntry` is a name of.
///
/// `#[parent_ref(order(-time))] #[denormalize(from = Host, fields(name: String))] host: HostEntry` is the same for the document
/// that this one belongs to, with `one` and `order(…)` as without copies. The reference is stored at `host.id`.
///
/// `#[subset(of = Review, limit = 10, order(-published_date))] reviews: Vec<RecentReview>` keeps at most `limit` (up to 5,000)
/// of the documents that name this one as their parent. It declares the index `{ parent: 1, published_date: -1, _id: -1 }` on
/// them.
///
/// The child names its parent by a `#[parent_ref]`, with or without copies. `by` selects another single reference, such as the
/// single side of a two-way one. Where the type is neither made by `fields(…)` nor a struct of the application's own, the
/// compiler can't find it. Children are compared as their collection compares strings. An insert compares by the collation of the
/// parent's collection in one case: where the fields of the order are equal, so that the `_id` decides, and the `_id` is a
/// string.
///
/// | option of `subset` | meaning |
/// | --- | --- |
/// | `of = Review` | the children; required |
/// | `limit = N` | how many; required |
/// | `order(-time, name)` | their order; required. Of a descending order the first are kept, of an ascending one the last, so always the greatest; equal ones are in the order of their ids |
/// | `keep = first`, `keep = last` | which end of the order is kept instead |
/// | `fields(time: DateTime, …)` | makes the struct of the elements, as above; without it, it is one of the application's own |
/// | `filter = \|r\| r.stars.gte(3)` | only the children that match |
/// | `by = field` | the child's reference to this document, where there are several |
///
/// Neither the order nor the filter of a subset may use a `#[volatile]` field: every write would change the parent.
///
/// `#[computed(count = Review)]` is a number (`i32`, `i64`, `u32`, `u64`), `sum = Review.stars` one of the field's type, an `i64` for
/// whole numbers or an `f64` for others, `avg = Review.stars` an `odm::types::Average`, `min = Review.stars` and `max = Review.stars` an
/// `Option` of the field's type. `first = Review.text, order(-time)` is the field `text` of the first child in this order: of the
/// newest, since a minus sorts from the greatest to the least. `last` is that of the last child. Both are an `Option` of the
/// field's type too: `None` without children, and where the child has no such value. Equal children are in the order of their ids,
/// and the index is that of a subset. `filter` and `by` are those of a subset.
///
/// All of them take `consistency`, the consistency mode: `atomic`, always updated in one transaction with the source; `eventual`,
/// updated after it; `snapshot`, never updated (not for a subset or a computed field). By default they are updated in one
/// transaction if the deployment has transactions and the write touches few documents, else after it. Copies are also updated
/// after it where its transaction has met those of other processes three times.
///
/// # Indexes
///
/// On a field the kind is one of `desc`, `text`, `text(weight = N)` (from 1 to 99999), `geo`, `hashed` and `wildcard`
/// (every field below this one); ascending where nothing is said. In `fields(…)` it is `name`, `-name`, `text(name)`, `text(name, weight = N)`, `geo(name)`,
/// `hashed(name)` or `wildcard(name)`; a field of an embedded struct is reached by a dot, and
/// the tag of an enum of documents by its name. `index(wildcard)` is on all fields of the
/// document, with `include(name, address)` on these alone, with `exclude(notes)` on all but these.
///
/// | option | meaning |
/// | --- | --- |
/// | `unique` | no two documents have the same values |
/// | `unique(global)` | the same over all shards and shard keys: each write claims the values in a collection of the library, in its transaction. `None` claims nothing, and neither does a document that is deleted and kept |
/// | `sparse` | without the documents that lack the fields |
/// | `name = "by_city"` | its name; MongoDB's default where nothing is said, such as `city_1` |
/// | `expire_after = SECONDS` | documents are deleted this number of seconds after the time in the field |
/// | `partial = \|p\| p.active.eq(true)` | only the documents that match this filter |
/// | `collation(locale = "en", strength = 2, numeric_ordering)` | compares strings by the rules of a language. The strength is from 1 (base letters) to 5 (identical), 3 where nothing is said; 2 ignores case |
/// |  | A unique index compares as its collection does: `#[document(collation(…))]` |
/// | `default_language = "german"` | of texts: the language of a text whose document names none; `english` where nothing is said |
/// | `language_override = "lang"` | of texts: the field in which a document names the language of its texts. To be said where the struct has a field `language`, which MongoDB takes where nothing is said |
///
/// An index that can't work does not compile, or `Odm::new` refuses it:
///
/// - Over two arrays that every document has: MongoDB refuses all of these documents.
/// - `hashed` over an array, `geo` over a value that is not geospatial: the server would create the index, and then refuse
///   every document with the field.
/// - Of `_id` alone, descending or with an option: MongoDB has that index, ascending and unique.
/// - `partial` with `ne`, `not_in`, `!`, `exists(false)`, a pattern, `size`, `elem` or `near`, which no server accepts. The
///   filter consists of `eq`, `in_`, `all`, `gt`, `gte`, `lt`, `lte` and `exists(true)`, joined by `&` and `|`.
/// - Of texts, in a struct with a field `language`, without `language_override`: MongoDB takes the language of the texts from
///   that field, and refuses the document if it holds something else. Name the field that holds a language (`english`,
///   `de`), or one that no document has.
/// - `expire_after` on documents that others refer to, copy or count: MongoDB would delete them without applying the
///   library's rules. Use `expire`.
/// - `wildcard` that is `unique` or `sparse`, has `expire_after`, or is below a single value: no server accepts it, or a plain
///   index serves the same queries.
///
/// # Search indexes
///
/// They need the feature `atlas` of the package `mongodb-odm`, of which no test ran on Atlas; without it a declaration does not compile.
/// A kind of `fields(…)` is `string(title)`, `autocomplete(title)`, `token(genre)`, `number(year)`, `date(at)`, `boolean(sold)`,
/// `object_id(shop)` or `uuid(code)`, and the first two take `analyzer = "…"`. A field may stand there with several kinds.
///
/// | option | meaning |
/// | --- | --- |
/// | `name = "default"` | the name of a search index; `default` where nothing is said. A vector index always has one |
/// | `dynamic` | Atlas also indexes all fields whose type it knows |
/// | `analyzer = "lucene.english"` | how texts are cut into words; `lucene.standard` where nothing is said |
/// | `path = embedding` | of a vector index: the field, a list of numbers or a `bson::Binary` |
/// | `dimensions = N` | how many numbers each vector has, from 1 to 8192 |
/// | `similarity = cosine`, `dot_product`, `euclidean` | how vectors are compared |
/// | `quantization = scalar`, `binary` | how the index makes vectors smaller; it does not where nothing is said |
/// | `filter(genre, year)` | the fields by which a search for vectors can be restricted |
///
/// # The stored form
///
/// An attribute of serde concerns JSON and the database; one of `field`, `document` or `embed` concerns the database, and wins.
/// `#[document(serde = json)]` leaves serde's attributes to JSON. The attributes of the left column are those of `field`,
/// `document` or `embed` first, and serde's after them.
///
/// | attribute | |
/// | --- | --- |
/// | `name`; `rename`, `rename_all`, `rename_all_fields` | the stored name; one that differs between the two directions is refused, since reads would not find what writes stored |
/// | `alias` | is read, from JSON too. `set` and `unset` of the field remove the old name; `inc`, `push` and the like are refused on a document with the old name, which could not be read with both. Queries use the stored name alone. Refused on fields that the library writes, on references, and on embedded values that contain one. A change within a struct that is stored under an old name is not refused: `set` the struct first |
/// | `default` | see below; serde's may stand on the struct too. serde's `default = "…"` on a reference is refused, since the reference that it creates is not stored |
/// | `skip` | the field is not stored, has no path and is not in `New…` |
/// | `skip_none`; `skip_serializing_if` | with `default` or an `Option`, and refused otherwise, since the document could not be read back. With `skip_none` a `set` of `None` removes the field, unless a missing field would be read as another `default`. A value that another function would leave out is stored by a `set` |
/// | `skip_serializing`, `skip_deserializing` alone | refused, since the value would be lost or never read; allowed with `serde = json` |
/// | `with`, `serialize_with`, `deserialize_with` | functions in the way of serde write and read the whole field, in filters and updates too: one item of such an array (`push`, `contains`, `elem`) or entry of such a map (`set_key`) is refused. `stored = Type` or `opaque` declares the stored form. On an `Option` they convert the `Option`, so `stored` is an `Option` too, and a missing field is an error without `default` |
/// | `stored = Type` | without a function: the type that serde makes of the value in BSON, which may differ from JSON; for types that odm does not know |
/// | `flatten` | on a struct that derives `Embed`, also in an `Option`, which is `None` where a field that the struct needs is missing (never, where it needs none). Its fields have paths (`p.place.city`), it has none itself |
/// | `tag`, `content`, `untagged` | on an enum; `tag` on a struct is refused, since it stores a field that the struct does not declare |
/// | `repr = i32`, `repr = i64` | of an enum: the number of each variant is stored. Rust's `#[repr(i32)]` has no effect on storage |
/// | `transparent` | on an embedded struct; refused on a document, since a collection holds documents |
/// | `deny_unknown_fields` | the validator refuses other fields. Refused with copies, in their sources and with two-way references, where the library stores fields of its own, and on a `Projection`, since a join and a page read other fields too |
/// | `rename` of a type, `bound`, `crate`, `expecting` | no effect on the stored form |
/// | `from`, `try_from`, `into`, `remote` | refused: the stored form would be that of a type that odm can't see |
/// | `borrow`, lifetimes | refused: a stored type owns its values |
/// | `other`, `with`, `skip_serializing`, `skip_deserializing`, `untagged` on a variant | refused: one direction would fail, or lose what was stored |
/// | `alias` on a variant | refused: conditions, groups and indexes know one name. `name` keeps the stored name of a renamed variant |
///
/// # Defaults of missing fields
///
/// Reads fill in the default of a field that a document lacks, and conditions, changes, copies, subsets, computed fields and
/// sums use it. `Odm::new` evaluates each default twice: where the results differ (a time, an id), or the field's type is a
/// parameter of the struct, conditions and changes use the stored value alone.
///
/// - `eq` and `in_` with the default become `{ $in: [d, null] }`, which uses an index and allows a sort; a range that
///   contains the default becomes an `$or`. For an `Option` with a default of its own, `null` is `None` and a missing field
///   is the default. Through an array, the whole condition applies to one item (`$elemMatch`).
/// - `starts_with` and a plain text take the default into account; a regular expression uses the stored value, and so does an
///   `elem` on the items of a missing array.
/// - `inc`, `push` and other changes start from the default. Where it differs from what the server assumes (0, an empty
///   array), the update is a pipeline in one statement. Changes of array items, `pull_where` and `raw` send a statement
///   before them that stores the default; in a bulk and an upsert they are `Error::Query`.
/// - `exists`, sorts, pages, joins, unique indexes, `expire_after` and the filter of a partial index use the stored value.
///
/// # Errors
/// A declaration that can't be kept does not compile; the message says which one and what to write.
#[proc_macro_derive(
    Document,
    attributes(
        document,
        field,
        embed,
        index,
        reference,
        parent_ref,
        denormalize,
        subset,
        computed,
        volatile,
        bucket,
        serde
    )
)]
pub fn document(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand::document::derive(&input).into()
}

/// Makes a struct or an enum a value that documents store inside them.
///
/// It implements `odm::Embed` and `odm::types::Value`, and for a struct makes the struct of its typed paths (`AddressFields` for
/// an `Address`). It needs no other derive.
///
/// A field that holds one such value needs no attribute: a bare `#[embed]` changes nothing. An array, a set or a map of them
/// needs `#[embed(max = N)]`, a type that contains itself `#[embed(depth = N)]`. An enum with `untagged` is read as the first
/// variant that fits the value: at first each by its own types alone, then with integers as doubles, whole doubles as
/// integers, and texts of 24 digits as ids.
///
/// # Attributes of the type
///
/// | `#[embed(…)]` | meaning |
/// | --- | --- |
/// | `id` | the type may stand in `_id`: a struct around one value, or an enum whose variants carry nothing |
/// | `repr = i32`, `repr = i64` | an enum whose variants carry nothing is stored as their numbers; it is `Copy`, and has serde's implementations by this derive |
/// | `patch` | makes the struct `AddressPatch` of some of its fields, for the fields with `#[embed(patch)]` |
/// | `derive(Eq, Hash)` | derives of the structs that `fields(…)` in it makes, and of its patch |
/// | `crate = "path"` | where `odm` is, if it is not `::odm` |
///
/// `#[denormalize(from = Part)]` makes the struct one of copies: each field has the name and the type of a field of `Part`, and one
/// may be a `Ref<Part>`, the reference to what they are of (with `#[reference(…)]` for its options). `consistency` is an option. The
/// names in Rust count; with `#[field(name = "…")]` a copy is stored by another name. It stands in a field with
/// `#[reference] #[denormalize(from = Part)]` or in a `#[subset(of = Part, …)]`. Without the reference it can be in a subset of
/// `append_only` documents alone.
///
/// # Attributes of a field
///
/// Each `N` is a literal or a constant: `#[embed(max = limits::TAGS)]`.
///
/// | attribute | meaning |
/// | --- | --- |
/// | `#[embed]` | an embedded struct or enum |
/// | `#[embed(max = N)]` | an array, a set or a map of at most `N` items; without it such a field does not compile |
/// | `#[embed(max = N, large = "reason")]` | more than 200 embedded documents, on purpose |
/// | `#[embed(patch)]` | a patch of the document sets the fields of the embedded struct one by one, instead of all of it: the struct has `#[embed(patch)]` too |
/// | `#[embed(max = N, key_len = N)]` | a map whose keys have at most this number of characters: checked before a write, the validator has no such rule |
/// | `#[embed(depth = N)]` | a type that contains itself: at most `N` levels below the field |
/// | `#[field(max_len = N, min_len = N)]` | the length of a string in characters (code points), of binary data in bytes (which the validator does not check); of an array, of each item |
/// | `#[field(pattern = "…")]`, `#[field(email)]`, `#[field(url)]` | the expression that a string matches as a whole, in the syntax that the server and Rust understand alike; of an array, each item |
/// | `#[field(one_of("a", "b"))]`, `#[field(one_of(1, 2))]` | the strings or integers that are valid |
/// | `#[field(multiple_of = N)]` | the number that divides an integer |
/// | `#[field(unique_items)]` | no item of the array equals another one |
/// | `#[field(normalize(trim, lowercase))]` | how a string is changed before it is stored and compared |
/// | `#[field(check_with = f)]` | the function of the application, `fn(&T) -> Result<(), E>`, that accepts or refuses a value |
/// | `#[field(min = N, max = N)]` | the range of a number |
/// | `#[field(opaque)]` | a value that is stored as it is, and not looked into |
/// | `#[field(default = value)]` | what a missing field is read as and a new document gets, made by the function `Type::default_field`, which the derive adds |
/// | `#[field(default)]` | a missing field is read as its type's `Default` |
/// | `#[field(stored)]` | every document has the field, though it has a default: the validator requires it |
/// | `#[field(name = "…")]`, `#[field(alias = "…")]` | the stored name, and another one that is read |
/// | `#[field(skip)]`, `#[field(skip_none)]`, `#[field(flatten)]` | not stored; not stored while it is `None`; its fields stand in the parent |
/// | `#[field(with = "module")]` | functions of serde that write and read the field, beside `stored` or `opaque` |
/// | `#[field(stored = Type)]` | the type whose stored form serde or such functions write |
/// | `#[denormalize(…)]`, `#[volatile]` | a copy, and what is not copied, as in a [document](macro@Document#copies); without `#[subset]` and `#[computed]`, which need the document itself |
/// | `#[reference]`, `#[reference(many, max = N)]`, `#[parent_ref]`, `#[parent_ref(one)]` | a reference to other documents, as in a [document](macro@Document); without `inverse` and `order`, which need the document itself. The field has a name: it is none of a tuple, and the type is not nested in itself |
///
/// An index on a field of an embedded struct is declared by the document: `#[document(index(fields(address.city)))]`.
///
/// # Buckets
///
/// `#[bucket(of = Post, size = 50)]` on a struct with named fields keeps its values in documents that hold at most `size` of
/// them each: it makes that document (`CommentBucket` of a `Comment`), with its collection and indexes, and
/// `odm.buckets::<Comment>()` writes and reads the items. The document stands in `models![]` like others, is queried and
/// deleted like others, and is `Clone`, `Debug` and `PartialEq` where the struct is. An update of
/// its fields does not compile, nor does an insertion, upsert or replacement: what it counts and sums would be wrong.
///
/// | `#[bucket(…)]` | meaning |
/// | --- | --- |
/// | `of = Post` | the document that the items belong to; required |
/// | `size = N` | how many items a bucket takes, up to 5,000: 50 where nothing is said, and 200 with `per` |
/// | `collection = "comment_buckets"`, `name = CommentBucket` | the collection, and the document that is made |
/// | `time = field` | the item's time, a `DateTime`: the bucket has the least and the greatest in `first` and `last` |
/// | `per = hour`, `per = day`, `per = month` | buckets for each, by UTC, whose beginning is in `start`; needs `time`. One with more than `size` items goes on in a next bucket |
/// | `sum(field, other)` | sums of the item's numbers, in `sum_field` and `sum_other` |
/// | `rename(items = notes, page = number)` | other names of the bucket's fields, by what they hold: `parent`, `items`, `page`, `count`, `start`, `first`, `last`, `sum_field` |
/// | `scope(name: Type)` | a field of the bucket with the value of the handle's scope, as the parent has it: `odm.scoped(…)` |
/// | `shard_key(hashed(post))`, `shard_key(tenant, hashed(post))` | the fields by which a sharded cluster distributes the buckets: the parent, fields of `scope(…)`, the beginning of a period. They begin the unique index of the pages |
/// | `on_delete = cascade` | what becomes of the buckets with their parent: `cascade` where nothing is said, `restrict` or `keep` |
/// | `check = false` | a new bucket does not ask whether the parent is there |
#[proc_macro_derive(
    Embed,
    attributes(
        document,
        embed,
        field,
        index,
        reference,
        parent_ref,
        denormalize,
        subset,
        computed,
        volatile,
        bucket,
        serde
    )
)]
pub fn embed(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand::embed::derive(&input).into()
}

/// Makes a struct a part of a document's fields, which a query returns instead of the whole document.
///
/// It implements `odm::Projection`, which `Find::select` takes: only these fields cross the network. Each field has the
/// name and the type of one of the document's, and is read from where the document stores it; another does not
/// compile. Without a field for it, `_id` is left out.
///
/// # Attributes of the struct
///
/// | `#[projection(…)]` | meaning |
/// | --- | --- |
/// | `of = Movie` | the document; required |
/// | `crate = "path"` | where `odm` is, if it is not `::odm` |
#[proc_macro_derive(Projection, attributes(projection, field, serde))]
pub fn projection(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand::projection::derive(&input).into()
}

/// Makes a struct what the results of a pipeline are read as.
///
/// It implements `odm::Row`. Each field is read from the field of its name in the result, whatever stands beside it; names,
/// defaults and flattened fields are declared as in a document. A field is of any type that a document stores, and arrays need no bound. A
/// struct in a field derives `Row` or `Embed`, or is a document. What serde alone reads is `#[field(opaque)]`.
///
/// # Attributes of the struct
///
/// | `#[row(…)]` | meaning |
/// | --- | --- |
/// | `crate = "path"` | where `odm` is, if it is not `::odm` |
#[proc_macro_derive(Row, attributes(row, field, serde))]
pub fn row(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand::row::derive(&input).into()
}

/// Makes a struct the declaration of the parameters that an endpoint takes in its URL: `?age[gte]=18&sort=-name&limit=20`.
///
/// It implements `odm::request::RequestQuery`: `parse` reads the parameters, or says of each that it can't take what it accepts, and
/// `Find::request` puts conditions, order and page into a query. A request reaches nothing that the struct does not declare.
///
/// Each field is one of `odm::request`: a condition `Eq<T>`, `OneOf<T>`, `Range<T>` or `Text` on the document's field of the same
/// name, the order `Sort`, or the page `Page` (the parameters `limit`, `after` and `before`). `T` is the type of the document's
/// field, or what is in its `Option`; a `Ref` for a reference. A field that no index begins with does not compile without `scan`.
///
/// # Attributes of the struct
///
/// | `#[request(…)]` | meaning |
/// | --- | --- |
/// | `of = User` | the document; required |
/// | `max_limit = N` | the greatest `limit`: 100 where nothing is said |
/// | `max_conditions = N` | how many conditions a request may have: 20 where nothing is said |
/// | `max_values = N` | how many values a list may have, `role[in]=a,b`: 100 where nothing is said |
/// | `crate = "path"` | where `odm` is, if it is not `::odm` |
///
/// # Attributes of a field
///
/// | `#[request(…)]` | meaning |
/// | --- | --- |
/// | `path = address.city` | the field of the document, as a closure of a query reaches it; `tags.any_item()` is an item of an array |
/// | `name = "city"` | the name in a request, where it is another one than that of the field |
/// | `scan` | the field that no index begins with may be asked for nevertheless; of a `Sort`, all of its fields |
/// | `sort(name, age)` | the fields that a `Sort` takes, each by the name of a condition of the struct, or of a field of the document |
#[proc_macro_derive(RequestQuery, attributes(request))]
pub fn request(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand::request::derive(&input).into()
}
