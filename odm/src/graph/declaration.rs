//! A declared edge as it is stored: all that decides what its copies are.

use crate::model::copy::Consistency;
use crate::model::meta::names::escaped;
use crate::model::reference::OnDelete;
use mongodb::bson::{Bson, Document};

/// The declaration of an edge.
#[derive(Debug)]
pub(crate) struct Declaration {
    /// Its name in the database.
    pub(crate) id: String,
    /// The collection that it is taken from.
    pub(crate) from: &'static str,
    pub(crate) holder: &'static str,
    /// Everything that decides what the copies are.
    pub(crate) is: Document,
    /// Whether documents that were there before it are to be filled.
    pub(crate) fills: bool,
    /// Of a reference: what its target's deletion does.
    pub(crate) rule: Option<OnDelete>,
}

impl Declaration {
    /// The collection whose documents a backfill goes through.
    pub(crate) fn through(&self) -> &'static str {
        if is_two_way(&self.is) {
            self.from
        } else {
            self.holder
        }
    }

    /// The collection that the reference leads to.
    pub(crate) fn target(&self) -> &'static str {
        if is_two_way(&self.is) {
            self.holder
        } else {
            self.from
        }
    }
}

/// Whether a declaration is that of one side of a two-way reference.
pub(crate) fn is_two_way(declaration: &Document) -> bool {
    declaration.contains_key("inverse")
}

/// The field of a declaration that deletions keep the documents of a collection: the name of the field with their times.
pub(crate) const SOFT_DELETE: &str = "soft_delete";

/// The field of the declaration of a key that is unique over all shards: its fields.
pub(crate) const UNIQUE: &str = "unique";

/// The field of the declaration that documents have claims: their collection.
pub(crate) const CLAIMS: &str = "claims";

/// Whether a declaration is that of a key that is unique over all shards, or of the claims of its documents.
pub(crate) fn is_of_claims(declaration: &Document) -> bool {
    [UNIQUE, CLAIMS].iter().any(|name| declaration.contains_key(name))
}

/// The field of a stored reference with its rule, and of a declaration that is nothing but the rule.
pub(crate) const RULE: &str = "on_delete";

/// The field of a stored reference with its earlier rules.
pub(crate) const EARLIER_RULES: &str = "earlier_on_delete";

/// Whether a declaration is that of a reference without copies.
pub(crate) fn is_rule(declaration: &Document) -> bool {
    declaration.contains_key(RULE)
}

/// The rule of a stored reference.
pub(crate) fn rule(edge: &Document) -> Option<&str> {
    // Programs of earlier versions stored it only in the declaration of a reference without copies.
    let alone = || edge.get_document("declaration").ok()?.get_str(RULE).ok();
    edge.get_str(RULE).ok().or_else(alone)
}

/// Whether a stored reference had this rule once, and has another one since.
pub(crate) fn had_rule(edge: &Document, own: &Declaration) -> bool {
    let (Some(now), Some(own)) = (rule(edge), own.rule.map(|rule| rule.to_string())) else {
        return false;
    };
    let mut earlier = edge.get_array(EARLIER_RULES).into_iter().flatten();
    now != own && earlier.any(|rule| rule.as_str() == Some(&own))
}

/// The collection from which nothing may be deleted without regard to this reference, where it has no copies.
pub(crate) fn restricted(declaration: &Document) -> Option<&str> {
    let rule = declaration.get_str(RULE).ok()?;
    let asks = rule != OnDelete::Keep.to_string();
    asks.then(|| declaration.get_str("to").ok()).flatten()
}

/// The copies in a stored declaration, with the fields that they are taken from.
pub(crate) fn copies(declaration: &Document) -> impl Iterator<Item = (&str, &str)> {
    // A snapshot follows nothing.
    let snapshot = Consistency::Snapshot.to_string();
    listed(declaration).filter_map(move |copy| {
        let copy = copy.as_document()?;
        let follows = copy.get_str("sync").ok() != Some(snapshot.as_str());
        follows.then_some((copy.get_str("field").ok()?, copy.get_str("of").ok()?))
    })
}

/// The lists of a declaration: what is copied beside a reference or of a bucket's items, what a subset holds of a child, and
/// which sums are doubles.
const LISTS: [&str; 3] = ["copies", "fields", "floats"];

/// The entries of a declaration, snapshots too.
fn listed(declaration: &Document) -> impl Iterator<Item = &Bson> {
    let lists = LISTS.map(|name| declaration.get_array(name));
    lists.into_iter().filter_map(|list| list.ok()).flatten()
}

/// Whether a stored declaration has all copies of this one, and others, and says the same of everything else.
pub(crate) fn is_more(stored: &Document, own: &Document) -> bool {
    let rest = |declaration: &Document| {
        let fields = declaration.iter();
        let rest = fields.filter(|(name, _)| !LISTS.contains(&name.as_str()));
        rest.map(|(name, value)| (name.clone(), value.clone()))
            .collect::<Document>()
    };
    let has = |copy: &Bson| listed(stored).any(|other| other == copy);
    rest(stored) == rest(own) && listed(own).all(has) && listed(stored).count() > listed(own).count()
}

/// The field of a stored edge with its earlier declarations.
pub(crate) const EARLIER: &str = "earlier";

/// Maximum number of earlier declarations of an edge that are remembered.
pub(crate) const MOST_EARLIER: i32 = 20;

/// Whether an edge has been declared as here once, and in another way since.
pub(crate) fn was_declared(edge: &Document, own: &Document) -> bool {
    let is_now = |now: &Document| now == own || is_more(now, own);
    if is_rule(own) || edge.get_document("declaration").is_ok_and(is_now) {
        return false;
    }
    let earlier = edge.get_array(EARLIER).into_iter().flatten();
    earlier.filter_map(Bson::as_document).any(is_now)
}

/// A declaration with what another one copies besides.
pub(crate) fn with_those_of(own: &Document, other: Option<&Document>) -> Document {
    let mut all = own.clone();
    // A reference may have become a two-way one, which has no copies.
    let Some(other) = other.filter(|_| !is_two_way(own)) else {
        return all;
    };
    let lacks: Vec<String> = lacking(own, other).into_iter().map(|(name, _)| name).collect();
    for name in LISTS {
        if let (Ok(own), Ok(other)) = (all.get_array_mut(name), other.get_array(name)) {
            let is_lacking = |copy: &&Bson| {
                let field = match copy {
                    Bson::Document(copy) => copy.get_str("field").ok(),
                    field => field.as_str(),
                };
                field.is_some_and(|field| lacks.iter().any(|name| name == field))
            };
            own.extend(other.iter().filter(is_lacking).cloned());
        }
    }
    all
}

/// The copies of a stored declaration that this one lacks, with their source fields.
pub(crate) fn lacking(own: &Document, stored: &Document) -> Vec<(String, String)> {
    let lacks = |copy: &(&str, &str)| !copies(own).any(|other| other.0 == copy.0);
    let lacking = copies(stored).filter(lacks);
    lacking
        .map(|(name, source)| (name.to_owned(), source.to_owned()))
        .collect()
}

/// The fields of the source that a stored declaration reads: none for any.
pub(crate) fn sources(declaration: &Document) -> Vec<String> {
    match declaration.get_array("copies") {
        Ok(_) => copies(declaration).map(|(_, source)| source.to_owned()).collect(),
        Err(_) => Vec::new(),
    }
}

/// A condition as a value that every server stores.
pub(crate) fn storable(condition: &Bson) -> Bson {
    match condition {
        Bson::Document(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(name, value)| (escaped(name), storable(value)));
            Bson::Document(fields.collect())
        }
        Bson::Array(items) => Bson::Array(items.iter().map(storable).collect()),
        value => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use crate::graph::declaration::*;
    use mongodb::bson::doc;

    #[test]
    fn an_edge_was_declared_in_another_way_before() {
        let copies = |list: &[(&str, &str, &str)]| {
            let copies = list
                .iter()
                .map(|(field, of, sync)| Bson::from(doc! { "field": *field, "of": *of, "sync": *sync }));
            doc! { "through": "host", "by": "_id", "copies": copies.collect::<Vec<_>>() }
        };
        let ip = copies(&[("ip", "ip", "auto")]);
        let named = copies(&[("name", "name", "auto"), ("ip", "ip", "auto")]);
        let later = copies(&[("ip", "ip", "eventual")]);
        assert!(is_more(&named, &ip));
        assert!(!is_more(&ip, &named) && !is_more(&ip, &ip));
        // It copies more, and one of them in another way.
        assert!(!is_more(&named, &later));
        let priced = copies(&[("ip", "ip", "auto"), ("price", "price", "snapshot")]);
        assert!(is_more(&priced, &ip));

        let edge = doc! { "declaration": &later, EARLIER: [&ip] };
        assert!(was_declared(&edge, &ip));
        assert!(!was_declared(&edge, &later));
        // It was not declared before.
        assert!(!was_declared(&edge, &named));
        let edge = doc! { "declaration": &later, EARLIER: [&named] };
        assert!(was_declared(&edge, &ip), "it is a part of an earlier one");
        let edge = doc! { "declaration": &priced, EARLIER: [&named] };
        assert!(!was_declared(&edge, &ip), "it is a part of the present one");

        let first = |limit: i64, fields: &[&str]| {
            let fields = fields
                .iter()
                .map(|name| Bson::from(doc! { "field": *name, "of": *name }));
            doc! { "parent": "host", "limit": limit, "fields": fields.collect::<Vec<_>>() }
        };
        assert!(is_more(&first(3, &["a", "b"]), &first(3, &["a"])));
        assert!(!is_more(&first(5, &["a", "b"]), &first(3, &["a"])));
        let rule = doc! { RULE: "cascade", "to": "hosts" };
        let edge = doc! { "declaration": { RULE: "restrict", "to": "hosts" }, EARLIER: [&rule] };
        assert!(!was_declared(&edge, &rule));
    }

    #[test]
    fn a_condition_is_stored_under_names_that_every_server_takes() {
        let condition =
            doc! { "$or": [{ "items.name": { "$eq": "100% $wool" } }, { "n%": { "$in": [1, null] } }] };
        assert_eq!(
            storable(&condition.into()),
            doc! { "%24or": [{ "items%2ename": { "%24eq": "100% $wool" } }, { "n%25": { "%24in": [1, null] } }] }.into()
        );
    }
}
