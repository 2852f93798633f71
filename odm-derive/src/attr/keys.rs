//! The options of every attribute, in one list. The parsers take no other ones, the messages about unknown options are made of
//! it, and a test of the guide compares it with the page of the attributes.

/// An attribute in one place, with its options.
pub struct Attribute {
    /// As a message shows it: `#[document(…)]`.
    pub shown: &'static str,
    pub options: &'static [Key],
    /// The end of the list in a message: where to declare what is often looked for here.
    pub advice: &'static str,
}

/// One option.
pub struct Key {
    pub name: &'static str,
    /// As it is written, in each of its forms.
    pub syntax: &'static [&'static str],
    /// In a message behind the syntax.
    pub note: &'static str,
}

impl Attribute {
    const fn new(shown: &'static str, options: &'static [Key]) -> Attribute {
        Attribute {
            shown,
            options,
            advice: "",
        }
    }

    const fn advised(self, advice: &'static str) -> Attribute {
        Attribute { advice, ..self }
    }

    pub fn get(&self, name: &str) -> Option<&Key> {
        self.options.iter().find(|key| key.name == name)
    }

    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The option that was meant, where another word is written.
    pub fn near(&self, written: &str) -> Option<&Key> {
        let names = self.options.iter().map(|key| key.name);
        self.get(near(written, names)?)
    }
}

/// The word that was meant: one in three of its characters may differ, or it ends early.
pub fn near<'a>(written: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (written.chars().count() / 3).max(1);
    let distances = known.map(|name| match name.strip_prefix(written) {
        // `uniq` of `unique`, and not the `rename` of `rename_all`.
        Some(rest) if written.len() > 2 && !rest.starts_with('_') => (1, name),
        _ => (distance(written, name), name),
    });
    let (distance, nearest) = distances.min_by_key(|(distance, _)| *distance)?;
    (distance <= allowed).then_some(nearest)
}

/// How many characters are put in, left out, replaced or exchanged with the next one to make one word of the other.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    // Of each beginning of one word to each beginning of the other.
    let mut table = vec![vec![0; other.len() + 1]; one.len() + 1];
    for i in 0..=one.len() {
        for j in 0..=other.len() {
            table[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = table[i - 1][j - 1] + usize::from(one[i - 1] != other[j - 1]);
                let is_exchanged = i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
                let exchanged = if is_exchanged {
                    table[i - 2][j - 2] + 1
                } else {
                    replaced
                };
                replaced
                    .min(exchanged)
                    .min(table[i - 1][j] + 1)
                    .min(table[i][j - 1] + 1)
            };
        }
    }
    table[one.len()][other.len()]
}

const fn key(name: &'static str, syntax: &'static [&'static str]) -> Key {
    Key {
        name,
        syntax,
        note: "",
    }
}

const fn noted(name: &'static str, syntax: &'static [&'static str], note: &'static str) -> Key {
    Key { name, syntax, note }
}

const RENAME_ALL: Key = key("rename_all", &["rename_all = \"camelCase\""]);
const SERDE: Key = noted(
    "serde",
    &["serde = json"],
    " (serde's attributes concern JSON alone)",
);
const CRATE: Key = key("crate", &["crate = \"…\""]);
const DERIVE: Key = key("derive", &["derive(…)"]);

/// On a struct that derives `Document`.
pub static DOCUMENT: Attribute = Attribute::new(
    "#[document(…)]",
    &[
        key("collection", &["collection = \"…\""]),
        noted("tag", &["tag = \"…\""], " (of an enum)"),
        noted("common", &["common(name: Type, …)"], " (of an enum)"),
        noted("variant_of", &["variant_of = Enum"], " (of its variants)"),
        key("index", &["index(fields(…))"]),
        noted("search_index", &["search_index(…)"], " (of Atlas)"),
        noted("vector_index", &["vector_index(path = field, …)"], " (of Atlas)"),
        key("shard_key", &["shard_key(field, …)"]),
        key("collation", &["collation(locale = \"…\")"]),
        key("capped", &["capped(size = BYTES)"]),
        key("time_series", &["time_series(time = field)"]),
        key("view", &["view(of = Document, pipeline = function)"]),
        key(
            "timestamps",
            &["timestamps", "timestamps(created = …, updated = …)"],
        ),
        key("version", &["version", "version(field)"]),
        key("soft_delete", &["soft_delete", "soft_delete(field)"]),
        key(
            "expire",
            &["expire = field", "expire(field = …, after = SECONDS)"],
        ),
        key("shared", &["shared(field)"]),
        key("append_only", &["append_only"]),
        key("sole_writer", &["sole_writer"]),
        key("pre_and_post_images", &["pre_and_post_images"]),
        key("validation", &["validation(level = …, action = …)"]),
        key("before_write", &["before_write = function"]),
        key(
            "after_write",
            &["after_write = function", "after_write(in_transaction) = function"],
        ),
        key("check", &["check = |d| …"]),
        key("check_with", &["check_with = function"]),
        RENAME_ALL,
        SERDE,
        DERIVE,
        key("new", &["new(derive(…))"]),
        key("builder", &["builder"]),
        key("patch", &["patch", "patch(derive(…))"]),
        CRATE,
    ],
);

/// `capped(…)` of a document.
pub static CAPPED: Attribute = Attribute::new(
    "#[document(capped(…))]",
    &[key("size", &["size = BYTES"]), key("max", &["max = N"])],
);

/// `time_series(…)` of a document.
pub static TIME_SERIES: Attribute = Attribute::new(
    "#[document(time_series(…))]",
    &[
        key("time", &["time = field"]),
        key("meta", &["meta = field"]),
        key("granularity", &["granularity = seconds | minutes | hours"]),
        key("expire_after", &["expire_after = SECONDS"]),
    ],
);

/// `view(…)` of a document.
pub static VIEW: Attribute = Attribute::new(
    "#[document(view(…))]",
    &[
        key("of", &["of = Document"]),
        key("pipeline", &["pipeline = function"]),
    ],
);

/// `expire(…)` of a document.
pub static EXPIRE: Attribute = Attribute::new(
    "#[document(expire(…))]",
    &[
        key("field", &["field = created_at"]),
        key("after", &["after = SECONDS"]),
    ],
);

/// `validation(…)` of a document.
pub static VALIDATION: Attribute = Attribute::new(
    "#[document(validation(…))]",
    &[
        key("level", &["level = off | moderate | strict"]),
        key("action", &["action = warn | error"]),
    ],
);

/// `timestamps(…)` of a document.
pub static TIMESTAMPS: Attribute = Attribute::new(
    "#[document(timestamps(…))]",
    &[
        key("created", &["created = field"]),
        key("updated", &["updated = field"]),
    ],
);

/// `collation(…)` of a document or an index.
pub static COLLATION: Attribute = Attribute::new(
    "collation(…)",
    &[
        key("locale", &["locale = \"en\""]),
        key("strength", &["strength = N"]),
        key("numeric_ordering", &["numeric_ordering"]),
    ],
);

const UNIQUE: Key = key("unique", &["unique", "unique(global)"]);
const SPARSE: Key = key("sparse", &["sparse"]);
const NAME: Key = key("name", &["name = \"…\""]);
const EXPIRE_AFTER: Key = key("expire_after", &["expire_after = SECONDS"]);
const PARTIAL: Key = key("partial", &["partial = |p| …"]);
const INDEX_COLLATION: Key = key("collation", &["collation(locale = \"en\")"]);
const DEFAULT_LANGUAGE: Key = noted("default_language", &["default_language = \"…\""], " (of texts)");
const LANGUAGE_OVERRIDE: Key = noted("language_override", &["language_override = \"…\""], " (of texts)");

/// `unique(…)` of an index.
pub static UNIQUENESS: Attribute = Attribute::new("unique(…)", &[key("global", &["global"])]);

/// On a field: an index.
pub static INDEX: Attribute = Attribute::new(
    "#[index(…)]",
    &[
        key("desc", &["desc"]),
        key("text", &["text", "text(weight = N)"]),
        key("geo", &["geo"]),
        key("hashed", &["hashed"]),
        key("wildcard", &["wildcard"]),
        UNIQUE,
        SPARSE,
        NAME,
        EXPIRE_AFTER,
        PARTIAL,
        INDEX_COLLATION,
        DEFAULT_LANGUAGE,
        LANGUAGE_OVERRIDE,
    ],
);

/// `index(…)` of a document.
pub static DOCUMENT_INDEX: Attribute = Attribute::new(
    "#[document(index(…))]",
    &[
        key("fields", &["fields(…)"]),
        key("wildcard", &["wildcard"]),
        noted("include", &["include(…)"], " (of a wildcard)"),
        noted("exclude", &["exclude(…)"], " (of a wildcard)"),
        UNIQUE,
        SPARSE,
        NAME,
        EXPIRE_AFTER,
        PARTIAL,
        INDEX_COLLATION,
        DEFAULT_LANGUAGE,
        LANGUAGE_OVERRIDE,
    ],
);

/// `search_index(…)` of a document.
pub static SEARCH_INDEX: Attribute = Attribute::new(
    "#[document(search_index(…))]",
    &[
        NAME,
        key("dynamic", &["dynamic"]),
        key("analyzer", &["analyzer = \"…\""]),
        key("fields", &["fields(string(field), …)"]),
    ],
);

/// `vector_index(…)` of a document.
pub static VECTOR_INDEX: Attribute = Attribute::new(
    "#[document(vector_index(…))]",
    &[
        NAME,
        key("path", &["path = field"]),
        key("dimensions", &["dimensions = N"]),
        key("similarity", &["similarity = cosine | dot_product | euclidean"]),
        key("quantization", &["quantization = scalar | binary"]),
        key("filter", &["filter(field, …)"]),
    ],
);

/// On a field: what is embedded, and how much of it.
pub static EMBED: Attribute = Attribute::new(
    "#[embed(…)]",
    &[
        noted("max", &["max = N"], " (items)"),
        noted("key_len", &["key_len = N"], " (of a map's keys)"),
        noted("depth", &["depth = N"], " (of a type inside itself)"),
        key("large", &["large = \"reason\""]),
        noted("patch", &["patch"], " (a patch sets its fields one by one)"),
    ],
)
.advised(
    "; the length of a string and the range of a number are declared with `#[field(max_len = N)]` and `#[field(min = N, max = N)]`",
);

/// On a type that derives `Embed`.
pub static EMBED_TYPE: Attribute = Attribute::new(
    "#[embed(…)]",
    &[
        noted("id", &["id"], " (the type may stand in `_id`)"),
        noted("repr", &["repr = i32"], " (an enum is stored as integers)"),
        noted("patch", &["patch"], " (makes a struct of some of its fields)"),
        noted("derive", &["derive(…)"], " (of the structs that are made for it)"),
        RENAME_ALL,
        noted(
            "rename_all_fields",
            &["rename_all_fields = \"camelCase\""],
            " (of an enum's variants)",
        ),
        noted("tag", &["tag = \"…\""], " (of an enum)"),
        noted("content", &["content = \"…\""], " (of an enum with a tag)"),
        noted("untagged", &["untagged"], " (of an enum)"),
        noted("transparent", &["transparent"], " (of a struct around one value)"),
        SERDE,
        CRATE,
    ],
)
.advised(" for a whole type; a bound such as `max = N` is declared on the field with the array");

/// On a field: the bounds of a value, and how it is stored.
pub static FIELD: Attribute = Attribute::new(
    "#[field(…)]",
    &[
        key("max_len", &["max_len = N"]),
        key("min_len", &["min_len = N"]),
        key("min", &["min = N"]),
        key("max", &["max = N"]),
        key("pattern", &["pattern = \"…\""]),
        key("email", &["email"]),
        key("url", &["url"]),
        key("one_of", &["one_of(…)"]),
        key("multiple_of", &["multiple_of = N"]),
        noted("unique_items", &["unique_items"], " (of an array)"),
        key("normalize", &["normalize(trim, lowercase)"]),
        key("check_with", &["check_with = function"]),
        key("opaque", &["opaque"]),
        key("extra", &["extra"]),
        noted("name", &["name = \"…\""], " (as which it is stored)"),
        noted("alias", &["alias = \"…\""], " (a name that it had)"),
        key("default", &["default", "default = value"]),
        noted("skip", &["skip"], " (it is not stored)"),
        noted("skip_none", &["skip_none"], " (`None` stores nothing)"),
        noted("flatten", &["flatten"], " (its fields stand beside the others)"),
        noted(
            "with",
            &["with = \"module\""],
            " (functions of serde write and read it)",
        ),
        noted("generate", &["generate = function"], " (of an `_id`)"),
        key("stored", &["stored", "stored = Type"]),
        noted("scope", &["scope"], " (of a document)"),
        noted("sensitive", &["sensitive"], " (no error and no log shows it)"),
        noted("json", &["json = text"], " (of integers)"),
        noted("private", &["private"], " (not in JSON)"),
        noted(
            "read_only",
            &["read_only"],
            " (JSON shows it, and does not set it)",
        ),
        noted(
            "write_only",
            &["write_only"],
            " (JSON sets it, and does not show it)",
        ),
    ],
)
.advised("; the number of items of an array is declared with `#[embed(max = N)]`");

const BY: Key = key("by", &["by = field"]);
const ANY: Key = key("any", &["any(A, B)", "any"]);
const ON_DELETE: Key = key("on_delete", &["on_delete = …"]);
const CHECK: Key = key("check", &["check = false"]);
const SAME: Key = key("same", &["same(field)"]);

/// On a field: a reference.
pub static REFERENCE: Attribute = Attribute::new(
    "#[reference(…)]",
    &[
        key("many", &["many"]),
        key("max", &["max = N"]),
        key("expected", &["expected = N"]),
        key("inverse", &["inverse = field"]),
        BY,
        ANY,
        ON_DELETE,
        CHECK,
        SAME,
        key("index", &["index = false"]),
    ],
);

/// On a field: the reference to the document that this one belongs to.
pub static PARENT_REF: Attribute = Attribute::new(
    "#[parent_ref(…)]",
    &[
        key("one", &["one"]),
        key("order", &["order(-field)"]),
        BY,
        ANY,
        ON_DELETE,
        CHECK,
        SAME,
        key("index", &["index = false"]),
    ],
);

const OF_CHILDREN: Key = key("of", &["of = Child"]);
const FILTER: Key = key("filter", &["filter = |c| …"]);
const ORDER: Key = key("order", &["order(-field)"]);
const CONSISTENCY: Key = key("consistency", &["consistency = atomic | eventual"]);
const FIELDS: Key = key("fields", &["fields(name: Type, …)"]);
const CONSISTENCY_OF_COPIES: Key = key("consistency", &["consistency = atomic | eventual | snapshot"]);

/// On a field: a copy, or beside a reference several.
pub static DENORMALIZE: Attribute = Attribute::new(
    "#[denormalize(…)]",
    &[
        key("from", &["from = reference.field", "from = Document"]),
        FIELDS,
        CONSISTENCY_OF_COPIES,
    ],
);

/// On a struct: its fields are copies.
pub static DENORMALIZE_TYPE: Attribute = Attribute::new(
    "#[denormalize(…)]",
    &[key("from", &["from = Document"]), CONSISTENCY_OF_COPIES],
);

/// On a field: some of the children.
pub static SUBSET: Attribute = Attribute::new(
    "#[subset(…)]",
    &[
        OF_CHILDREN,
        key("limit", &["limit = N"]),
        ORDER,
        FIELDS,
        FILTER,
        BY,
        key("keep", &["keep = first | last"]),
        CONSISTENCY,
    ],
);

/// On a field: a number of the children, or a field of one of them.
pub static COMPUTED: Attribute = Attribute::new(
    "#[computed(…)]",
    &[
        key("count", &["count = Child"]),
        key("sum", &["sum = Child.field"]),
        key("avg", &["avg = Child.field"]),
        key("min", &["min = Child.field"]),
        key("max", &["max = Child.field"]),
        key("first", &["first = Child.field"]),
        key("last", &["last = Child.field"]),
        ORDER,
        FILTER,
        BY,
        CONSISTENCY,
    ],
);

/// On a struct that derives `Embed`: its values are kept in buckets.
pub static BUCKET: Attribute = Attribute::new(
    "#[bucket(…)]",
    &[
        key("of", &["of = Post"]),
        key("size", &["size = N"]),
        key("collection", &["collection = \"…\""]),
        key("name", &["name = CommentBucket"]),
        key("per", &["per = hour | day | month"]),
        key("time", &["time = field"]),
        key("sum", &["sum(field, …)"]),
        key("rename", &["rename(items = name, …)"]),
        key("scope", &["scope(name: Type)"]),
        key("shard_key", &["shard_key(field, …)"]),
        ON_DELETE,
        CHECK,
    ],
);

/// On a struct that derives `Projection`.
pub static PROJECTION: Attribute =
    Attribute::new("#[projection(…)]", &[key("of", &["of = Document"]), SERDE, CRATE]);

/// On a variant of an enum that derives `Embed` or `Document`.
pub static VARIANT: Attribute = Attribute::new(
    "#[embed(…)]",
    &[
        noted("name", &["name = \"…\""], " (as which it is stored)"),
        noted("alias", &["alias = \"…\""], " (a name that it had)"),
        noted("skip", &["skip"], " (it is not stored)"),
        noted("rename_all", &["rename_all = \"camelCase\""], " (of its fields)"),
    ],
);

/// On a struct that derives `Row`.
pub static ROW: Attribute = Attribute::new("#[row(…)]", &[RENAME_ALL, SERDE, CRATE]);

/// On a struct that derives `RequestQuery`.
pub static REQUEST: Attribute = Attribute::new(
    "#[request(…)]",
    &[
        key("of", &["of = Document"]),
        key("max_limit", &["max_limit = N"]),
        key("max_conditions", &["max_conditions = N"]),
        key("max_values", &["max_values = N"]),
        CRATE,
    ],
)
.advised(" for the whole struct; `path`, `name`, `scan` and `sort` stand on its fields");

/// On a field of a struct that derives `RequestQuery`.
pub static REQUEST_FIELD: Attribute = Attribute::new(
    "#[request(…)]",
    &[
        noted("path", &["path = address.city"], " (the field of the document)"),
        noted("name", &["name = \"…\""], " (in a request)"),
        noted("scan", &["scan"], " (no index serves it)"),
        noted("sort", &["sort(field, …)"], " (of a `Sort`)"),
    ],
)
.advised("; the document and the limits are declared above the struct");

/// On a type, a variant or a field: the options of serde, for messages.
pub static OF_SERDE: Attribute = Attribute::new(
    "#[serde(…)]",
    &[
        key("rename", &["rename = \"…\""]),
        key("rename_all", &["rename_all = \"camelCase\""]),
        key("rename_all_fields", &["rename_all_fields = \"camelCase\""]),
        key("tag", &["tag = \"…\""]),
        key("content", &["content = \"…\""]),
        key("untagged", &["untagged"]),
        key("transparent", &["transparent"]),
        key("deny_unknown_fields", &["deny_unknown_fields"]),
        key("alias", &["alias = \"…\""]),
        key("default", &["default", "default = \"function\""]),
        key("flatten", &["flatten"]),
        key("skip", &["skip"]),
        key("skip_serializing", &["skip_serializing"]),
        key("skip_deserializing", &["skip_deserializing"]),
        key("skip_serializing_if", &["skip_serializing_if = \"function\""]),
        key("with", &["with = \"module\""]),
        key("serialize_with", &["serialize_with = \"function\""]),
        key("deserialize_with", &["deserialize_with = \"function\""]),
    ],
);

/// All of them, for tests.
#[cfg(test)]
pub static ALL: &[&Attribute] = &[
    &DOCUMENT,
    &CAPPED,
    &TIME_SERIES,
    &VIEW,
    &EXPIRE,
    &VALIDATION,
    &TIMESTAMPS,
    &DOCUMENT_INDEX,
    &SEARCH_INDEX,
    &VECTOR_INDEX,
    &COLLATION,
    &UNIQUENESS,
    &INDEX,
    &EMBED,
    &EMBED_TYPE,
    &FIELD,
    &REFERENCE,
    &PARENT_REF,
    &DENORMALIZE,
    &DENORMALIZE_TYPE,
    &SUBSET,
    &COMPUTED,
    &BUCKET,
    &PROJECTION,
    &VARIANT,
    &ROW,
    &REQUEST,
    &REQUEST_FIELD,
];
