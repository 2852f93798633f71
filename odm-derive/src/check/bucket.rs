//! The rules of `#[bucket(…)]`, and the names that follow from it.

use crate::ast::{Container, Data, Field, Style};
use crate::attr::Count;
use crate::attr::bucket::{Bucket, Per, Rename};
use crate::attr::reference::{GREATEST_MAX, OnDelete};
use crate::attr::shard_key::ShardKey;
use crate::case::Case;
use crate::ctxt::Ctxt;
use crate::ty;
use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Ident, LitStr, Path, Type};

/// How many items a bucket takes where nothing is said: a page, and a period.
const PAGE: u64 = 50;
const PERIOD: u64 = 200;

/// A bucket with all of its names.
pub struct Plan<'a> {
    /// The item.
    pub item: String,
    pub of: Path,
    pub name: Ident,
    pub collection: LitStr,
    pub parent: Ident,
    pub items: Ident,
    pub page: Ident,
    pub count: Ident,
    pub size: Count,
    pub period: Option<(Per, Ident)>,
    pub time: Option<Time<'a>>,
    pub sums: Vec<Sum<'a>>,
    /// The fields of scopes.
    pub scopes: Vec<syn::Field>,
    pub shard_key: Option<ShardKey>,
    pub on_delete: &'static str,
    pub check: bool,
}

/// The time of an item, and where the bucket keeps the least and the greatest.
pub struct Time<'a> {
    pub stored: &'a str,
    pub ty: &'a Type,
    pub first: Ident,
    pub last: Ident,
}

pub struct Sum<'a> {
    pub stored: &'a str,
    pub ty: &'a Type,
    /// What `rename` calls its field.
    pub part: String,
    pub name: Ident,
}

impl Plan<'_> {
    /// The fields of the unique index of the pages, which begins with the shard key.
    pub fn pages(&self) -> Vec<&Ident> {
        let of_key = self.shard_key.iter().flat_map(|declared| &declared.keys);
        let mut fields: Vec<&Ident> = of_key.filter_map(|key| key.path.first()).collect();
        let start = self.period.as_ref().map(|(_, start)| start);
        for name in [&self.parent].into_iter().chain(start).chain([&self.page]) {
            if !fields.contains(&name) {
                fields.push(name);
            }
        }
        fields
    }

    /// The fields that have a name which `rename` can change, by what they hold.
    fn parts(&self) -> Vec<(&str, &Ident)> {
        let mut parts = vec![
            ("parent", &self.parent),
            ("page", &self.page),
            ("count", &self.count),
            ("items", &self.items),
        ];
        if let Some((_, start)) = &self.period {
            parts.push(("start", start));
        }
        if let Some(time) = &self.time {
            parts.extend([("first", &time.first), ("last", &time.last)]);
        }
        parts.extend(self.sums.iter().map(|sum| (sum.part.as_str(), &sum.name)));
        parts
    }
}

/// The plan, or nothing and the errors.
pub fn plan<'a>(cx: &Ctxt, container: &'a Container, bucket: &Bucket) -> Option<Plan<'a>> {
    let span = bucket.span.unwrap_or_else(|| container.ident.span());
    if !is_plain_struct(cx, container, span) {
        return None;
    }
    let item = container.name();
    let Some(of) = bucket.of.clone() else {
        if !cx.is_read("bucket") {
            return None;
        }
        cx.push(syn::Error::new(
            span,
            format!(
                "The bucket of `{item}` does not say which document the items belong to. Write `#[bucket(of = Post, size = 50)]` \
                 with the type of that document"
            ),
        ));
        return None;
    };
    size_is_sensible(cx, bucket);
    rule_of_deletion_fits(cx, bucket);
    time_fits(cx, bucket, &item);
    let here = container.ident.span();
    let lower = Case::Snake.of_variant(&item);
    let made = |default: &str| Ident::new_raw_if_needed(default, here);
    let field = |part: &str, default: &str| {
        let renamed = bucket.renames.iter().find(|rename| rename.part == part);
        renamed.map_or_else(|| made(default), |rename| rename.name.clone())
    };
    let parent = of
        .segments
        .last()
        .map(|last| Case::Snake.of_variant(&last.ident.unraw().to_string()))
        .unwrap_or_default();
    let time = bucket.time.as_ref().and_then(|name| {
        let of_item = of_item(cx, container, name, "time")?;
        Some(Time {
            stored: &of_item.name,
            ty: of_item.ty,
            first: field("first", "first"),
            last: field("last", "last"),
        })
    });
    let sums = bucket.sums.iter().filter_map(|sum| {
        let of_item = of_item(cx, container, sum, "sum")?;
        if is_no_number(of_item.ty) {
            cx.error(
                sum,
                format!(
                    "`{}.{}` is no number that can be summed. `sum` adds up fields of the integer types, `f32` and `f64`, and \
                     `Option`s of them: name such a field, or leave out `sum`",
                    container.ident,
                    of_item.label()
                ),
            );
            return None;
        }
        let part = sum_part(sum);
        Some(Sum {
            stored: &of_item.name,
            ty: of_item.ty,
            name: field(&part, &part),
            part,
        })
    });
    let plan = Plan {
        name: bucket
            .name
            .clone()
            .unwrap_or_else(|| made(&format!("{item}Bucket"))),
        collection: bucket
            .collection
            .clone()
            .unwrap_or_else(|| LitStr::new(&format!("{lower}_buckets"), here)),
        parent: field("parent", &parent),
        items: field("items", &format!("{lower}s")),
        page: field("page", "page"),
        count: field("count", "count"),
        size: match &bucket.size {
            // Another one has been refused, and the rest is checked with what may be.
            Some(size) if size.known().is_none_or(|size| (1..=GREATEST_MAX).contains(&size)) => size.clone(),
            None if bucket.per.is_some() => Count::Literal(PERIOD, span),
            _ => Count::Literal(PAGE, span),
        },
        period: bucket
            .per
            .as_ref()
            .map(|per| (per.value, field("start", "start"))),
        sums: sums.collect(),
        scopes: bucket.scopes.clone(),
        shard_key: bucket.shard_key.clone(),
        on_delete: match bucket.on_delete.as_ref().map(|at| at.value) {
            Some(OnDelete::Restrict) => "restrict",
            Some(OnDelete::Keep) => "keep",
            _ => "cascade",
        },
        check: bucket.check.as_ref().is_none_or(|check| check.value),
        time,
        of,
        item,
    };
    renames_fit(cx, bucket, &plan);
    pages_are_on_one_shard(cx, &plan);
    names_differ(cx, &plan).then_some(plan)
}

/// The name of a sum's field, where nothing else is said.
fn sum_part(field: &Ident) -> String {
    format!("sum_{}", field.unraw())
}

trait NewRaw {
    fn new_raw_if_needed(name: &str, span: Span) -> Ident;
}

impl NewRaw for Ident {
    /// A name that is made of others may be a keyword: `type` of a document `Type`.
    fn new_raw_if_needed(name: &str, span: Span) -> Ident {
        let mut ident =
            syn::parse_str::<Ident>(name).unwrap_or_else(|_| Ident::new(&format!("{name}_"), span));
        ident.set_span(span);
        ident
    }
}

/// The items are structs with named fields: what is counted and summed has a name.
fn is_plain_struct(cx: &Ctxt, container: &Container, span: Span) -> bool {
    let named = matches!(container.data, Data::Struct(Style::Named, _)) && !container.serde.transparent;
    if !named {
        cx.push(syn::Error::new(
            span,
            format!(
                "`{0}` is not stored as a struct with named fields, and a bucket holds an array of those. Put it into one: \
                 `#[derive(Embed, …)] #[bucket(…)] struct {0}Item {{ value: {0} }}`",
                container.ident
            ),
        ));
    } else if !container.generics.params.is_empty() {
        cx.push(syn::Error::new(
            span,
            format!(
                "`{0}` has parameters, and a bucket is one collection with one type. Write a struct without parameters for \
                 each: `struct {0}OfText {{ … }}`",
                container.ident
            ),
        ));
    }
    named && container.generics.params.is_empty()
}

fn size_is_sensible(cx: &Ctxt, bucket: &Bucket) {
    let Some(size) = &bucket.size else { return };
    if size.known() == Some(0) {
        cx.push(syn::Error::new(
            size.span(),
            "A bucket of no items takes none. Write how many one takes at most: `size = 50`",
        ));
    } else if let Some(items) = size.known().filter(|items| *items > GREATEST_MAX) {
        cx.push(syn::Error::new(
            size.span(),
            format!(
                "A bucket of {items} items is read and rewritten as a whole; one takes {GREATEST_MAX} at most (rule three). What belongs to \
                 the same parent or time goes on in a next bucket by itself, so write a smaller size: `size = 200`"
            ),
        ));
    }
}

fn rule_of_deletion_fits(cx: &Ctxt, bucket: &Bucket) {
    let Some(rule) = &bucket.on_delete else { return };
    if matches!(rule.value, OnDelete::Nullify | OnDelete::Pull) {
        cx.push(syn::Error::new(
            rule.span,
            "A bucket always has its parent. With the parent its items are deleted too (`on_delete = cascade`, where nothing is \
             said), hold it back (`restrict`), or stay (`keep`)",
        ));
    }
}

/// The options that are about time need the item's time.
fn time_fits(cx: &Ctxt, bucket: &Bucket, item: &str) {
    if let (Some(per), None) = (&bucket.per, &bucket.time) {
        cx.push(syn::Error::new(
            per.span,
            format!(
                "`per` sorts the items by their time, and `time` does not say which field of `{item}` that is. Write `time = at` \
                 with a field of the type `DateTime`"
            ),
        ));
    }
}

/// The pages of a parent are numbered by a unique index, which holds for one shard: the shard key is of fields that all of them share.
fn pages_are_on_one_shard(cx: &Ctxt, plan: &Plan) {
    let Some(declared) = &plan.shard_key else { return };
    let scopes: Vec<&Ident> = plan
        .scopes
        .iter()
        .filter_map(|field| field.ident.as_ref())
        .collect();
    let start = plan.period.as_ref().map(|(_, start)| start);
    for key in &declared.keys {
        let Some(name) = key.path.first() else { continue };
        let is_whole = key.path.len() == 1;
        let is_of_scope = is_whole && scopes.contains(&name);
        if is_of_scope && !plan.check {
            cx.error(
                name,
                format!(
                    "With `check = false` a bucket may be of another scope than its parent, so that two shards would number its pages. Leave \
                     out `check = false`, or write `shard_key(hashed({}))`",
                    plan.parent
                ),
            );
        } else if !is_of_scope && !(is_whole && (*name == plan.parent || Some(name) == start)) {
            let all = scopes.iter().copied().chain([&plan.parent]).chain(start);
            let all: Vec<String> = all.map(|name| format!("`{name}`")).collect();
            cx.error(
                name,
                format!(
                    "`{}` is distributed by a field that all pages of a parent share, since a unique index numbers them and holds for one \
                     shard: {}. Write `shard_key(hashed({}))`, or a field of `scope(…)` in front of it",
                    plan.name,
                    all.join(", "),
                    plan.parent
                ),
            );
        }
    }
}

/// `rename` names fields that the bucket has, each once.
fn renames_fit(cx: &Ctxt, bucket: &Bucket, plan: &Plan) {
    let parts = plan.parts();
    for (i, Rename { part, .. }) in bucket.renames.iter().enumerate() {
        let text = part.to_string();
        let is_sum = bucket.sums.iter().any(|sum| sum_part(sum) == text);
        let problem = if bucket.renames[..i].iter().any(|other| other.part == text) {
            format!("`rename` gives `{text}` two names. Keep one of them")
        } else if parts.iter().any(|(known, _)| *known == text) || is_sum {
            continue;
        } else if text == "start" {
            "`start` is the beginning of a bucket's period, and without `per` there is none. Write `per = day`, or leave `start` \
             out of `rename`"
                .to_owned()
        } else if text == "first" || text == "last" {
            // Of a `time` that is wrong, another error says so.
            if bucket.time.is_some() {
                continue;
            }
            format!(
                "`{text}` is the {text} time of the items, and without `time` no field of `{}` says which that is. Write `time = at` \
                 with such a field, or leave `{text}` out of `rename`",
                plan.item
            )
        } else {
            let parts: Vec<String> = parts.iter().map(|(part, _)| format!("`{part}`")).collect();
            format!(
                "`rename` names a field of `{}` by what it holds, and `{text}` is none of them. They are {}",
                plan.name,
                parts.join(", ")
            )
        };
        cx.error(part, problem);
    }
}

/// A field of the item, which is stored as its type says.
fn of_item<'a>(cx: &Ctxt, container: &'a Container, name: &Ident, option: &str) -> Option<&'a Field<'a>> {
    let wanted = name.unraw().to_string();
    let Some(field) = container.fields().iter().find(|field| field.rust == wanted) else {
        let fields: Vec<_> = container
            .fields()
            .iter()
            .map(|field| format!("`{}`", field.rust))
            .collect();
        cx.error(
            name,
            format!(
                "`{}` has no field `{wanted}`, which `{option}` names. It has {}",
                container.ident,
                fields.join(", ")
            ),
        );
        return None;
    };
    let by_itself = !field.skipped()
        && !field.field.opaque
        && field.field.stored.is_none()
        && field.converted().is_none()
        && field.serde.flatten.is_none()
        && field.serde.skip_serializing_if.is_none();
    if !by_itself {
        cx.error(
            name,
            format!(
                "`{}` is not always stored as its type says, so `{option}` can't go by it. Leave out `skip`, `with`, `flatten` and \
                 `opaque` on it, or name another field",
                field.label()
            ),
        );
        return None;
    }
    Some(field)
}

/// No two fields of the bucket have one name.
fn names_differ(cx: &Ctxt, plan: &Plan) -> bool {
    let mut differ = true;
    let mut known: Vec<String> = ["id", "_id", "room", "version"].map(str::to_owned).into();
    let mut of = |name: &Ident, part: Option<&str>| {
        let text = name.unraw().to_string();
        if known.contains(&text) {
            differ = false;
            let taken = format!("`{}` would have two fields called `{text}`", plan.name);
            let is_twice = |part: &str| plan.sums.iter().filter(|sum| sum.part == part).count() > 1;
            cx.error(
                name,
                match part {
                    Some(part) if is_twice(part) => {
                        format!("{taken}: `sum` names the field of the item twice. Leave one out")
                    }
                    Some(part) => format!(
                        "{taken}. Give this one another name: `rename({part} = other)`; `id`, `room` and `version` are always there"
                    ),
                    None => format!(
                        "{taken}. `id`, `room` and `version` are always there; of the others, `rename(…)` names one anew"
                    ),
                },
            );
        }
        known.push(text);
    };
    for (part, name) in plan.parts() {
        of(name, Some(part));
    }
    for name in plan.scopes.iter().filter_map(|field| field.ident.as_ref()) {
        of(name, None);
    }
    differ
}

/// A type that everybody knows to be no number. Of others the compiler says so, in more words.
fn is_no_number(ty: &Type) -> bool {
    const KNOWN: [&str; 21] = [
        "String",
        "char",
        "bool",
        "DateTime",
        "Timestamp",
        "ObjectId",
        "Uuid",
        "Decimal128",
        "Decimal",
        "NaiveDate",
        "Url",
        "Ref",
        "Binary",
        "Bson",
        "Document",
        "Vec",
        "VecDeque",
        "HashMap",
        "BTreeMap",
        "HashSet",
        "BTreeSet",
    ];
    let ty = if ty::is_option(ty) { ty::inside(ty) } else { ty };
    KNOWN.iter().any(|name| ty::named(ty, name))
}

/// The type that a sum of these has, where everybody knows it.
pub fn sum_type(ty: &Type) -> Option<&'static str> {
    let whole = [
        "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "isize", "usize",
    ];
    if whole.iter().any(|name| ty::exactly(ty, name)) {
        return Some("i64");
    }
    (ty::exactly(ty, "f32") || ty::exactly(ty, "f64")).then_some("f64")
}

/// `#[bucket(…)]` on a document.
pub fn not_on_document(cx: &Ctxt, container: &Container) {
    if let Some(attr) = crate::attr::find(container.attrs, "bucket") {
        cx.push(syn::Error::new(
            attr.path().span(),
            format!(
                "`{0}` is a document with a collection of its own, and a bucket holds values that have none. Derive `Embed` for it \
                 instead of `Document`: `#[derive(Embed, …)] #[bucket(of = Post, size = 50)] struct {0}`",
                container.ident
            ),
        ));
    }
}
