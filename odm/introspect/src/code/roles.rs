//! Which sides of links and which values of children can be declared, and why the others are comments.

use super::bounds;
use super::indexes;
use super::links::{Links, first, key, sibling, value_key, written};
use super::model::{Children, Key, Plain, Role};
use crate::design::{Computed, ComputedKind, Design, Field, Reference, Subset, TwoWay};
use crate::kind::Kind;
use std::collections::{BTreeMap, BTreeSet};

/// A field of a collection: its name and the path.
type Place = (String, String);

impl Links {
    pub(super) fn two_way(&mut self, design: &Design, two: &TwoWay) {
        let (Some(a), Some(b)) = (design.reference(two.a), design.reference(two.b)) else {
            return;
        };
        let differ = match two.only_a + two.only_b {
            0 => format!("{} pairs agree", two.agree),
            _ => format!(
                "{} pairs agree, {} are on this side alone and {} on the other",
                two.agree, two.only_a, two.only_b
            ),
        };
        let is = if two.a == two.b {
            "A link in both directions".to_owned()
        } else {
            format!("The other side of `{}`", written(&b.from))
        };
        match self.sides(design, a, b, two) {
            Ok((of_a, of_b)) => {
                self.remark(&a.from.collection, first(&a.from), format!("{is}: {differ}."));
                if two.a != two.b {
                    let is = format!(
                        "The other side of `{}`: {} pairs agree.",
                        written(&a.from),
                        two.agree
                    );
                    self.remark(&b.from.collection, first(&b.from), is);
                }
                self.roles
                    .insert(key(&a.from.collection, &of_a), Role::TwoWay(of_b.clone()));
                self.roles
                    .insert(key(&b.from.collection, &of_b), Role::TwoWay(of_a));
            }
            Err(why) => self.remark(
                &a.from.collection,
                first(&a.from),
                format!("{is}: {differ}. {why} `inverse = …` would keep both sides equal."),
            ),
        }
    }

    /// The fields of both sides, where they can be declared as a two-way reference.
    fn sides(
        &self,
        design: &Design,
        a: &Reference,
        b: &Reference,
        two: &TwoWay,
    ) -> Result<(String, String), String> {
        if two.agree <= two.only_a + two.only_b {
            return Err("Most pairs are on one side alone.".to_owned());
        }
        let (of_a, a_needs) = self.side(design, a)?;
        let (of_b, b_needs) = self.side(design, b)?;
        if a_needs && b_needs && two.a != two.b {
            return Err(
                "Each document needs one of the other side that is there already: one of them has to be an `Option`."
                    .to_owned(),
            );
        }
        Ok((of_a, of_b))
    }

    /// The field of one side, and whether a document needs one of the other side.
    fn side(&self, design: &Design, reference: &Reference) -> Result<(String, bool), String> {
        let path = first(&reference.from);
        let collection = &reference.from.collection;
        let target = self
            .target(collection, path)
            .filter(|_| self.number(collection, path) == Some(reference.id))
            .ok_or("Both sides have to be declared as references.")?;
        if target.by.is_some() {
            return Err("The sides of a two-way reference hold the `_id` of each other.".to_owned());
        }
        let field = path.strip_suffix("[]").unwrap_or(path);
        if field.contains(['.', '[', '{']) {
            return Err(
                "The sides of a two-way reference are fields of the documents themselves.".to_owned(),
            );
        }
        let found = design
            .collection(collection)
            .and_then(|collection| collection.root.at(field))
            .ok_or("One side is not among the models.")?;
        if field == path {
            return Ok((field.to_owned(), !found.is_optional()));
        }
        let greatest = found.lengths.as_ref().map_or(0, |lengths| lengths.greatest);
        if found.is_optional() || found.only_kind() != Some(Kind::Array) {
            return Err("An array of one side is missing or null in some documents.".to_owned());
        }
        if greatest > bounds::REFERENCES {
            return Err(format!(
                "An array has {greatest} references, and holds at most {}.",
                bounds::REFERENCES
            ));
        }
        Ok((field.to_owned(), false))
    }

    /// Computed fields, subsets and buckets.
    pub(super) fn derived(&mut self, design: &Design) {
        for computed in &design.computed {
            self.computed(design, computed);
        }
        for subset in &design.subsets {
            self.subset(design, subset);
        }
        for bucket in &design.buckets {
            self.remark(
                &bucket.collection,
                &bucket.items,
                format!(
                    "The items of a bucket, at most {} of each `{}`. `#[bucket(…)]` on the struct of an item keeps such collections, whose \
                     documents also have `page`, `room` and `version`.",
                    bucket.limit, bucket.key
                ),
            );
        }
    }

    /// Materialised paths, which no attribute keeps.
    pub(super) fn trees(&mut self, design: &Design) {
        for tree in &design.trees {
            let last = if tree.own { ", the last is its own" } else { "" };
            let others = match tree.different {
                0 => String::new(),
                others => format!(", {others} have others"),
            };
            self.remark(
                &tree.collection,
                &tree.path,
                format!(
                    "A materialised path: `{}` of each ancestor, with `{}` between them{last}; {} texts have such keys alone{others}. An \
                     array of references to the ancestors says the same, and is checked.",
                    tree.key, tree.separator, tree.equal
                ),
            );
        }
    }

    fn computed(&mut self, design: &Design, computed: &Computed) {
        let of = computed.of.join("`, `");
        let by = computed.by.and_then(|by| design.reference(by));
        let is = match by {
            Some(by) => format!(
                "of the `{}` that refer to it by `{}`",
                by.from.collection,
                first(&by.from)
            ),
            None => format!("of `{of}`"),
        };
        let how = match computed.kind {
            ComputedKind::Same => "Equal to the value",
            ComputedKind::Sum => "The sum",
            ComputedKind::Product => "The product",
            ComputedKind::Length => "The length",
            ComputedKind::Concat => "The texts in one",
            ComputedKind::Base100 => "Hour and minute",
            ComputedKind::CountOfReferrers => "The number",
            ComputedKind::SumOfReferrers => "The sum",
            ComputedKind::AverageOfReferrers => "The average",
        };
        let figures = format!("{} are, {} are not.", computed.equal, computed.different);
        let declared = by.map(|by| self.computed_of(design, computed, by));
        let text = match declared {
            None => format!("{how} {is}: {figures}"),
            Some(Ok(role)) => {
                self.declare(&computed.collection, &computed.path, role);
                format!("{how} {is}: {figures}")
            }
            Some(Err(why)) => format!("{how} {is}: {figures} {why}"),
        };
        self.remark(&computed.collection, &computed.path, text);
    }

    /// Declares a value of children, and their reference as one to their parent.
    fn declare(&mut self, collection: &str, path: &str, role: Role) {
        self.repeat(collection, path);
        self.roles.insert(key(collection, path), role);
    }

    fn computed_of(&mut self, design: &Design, computed: &Computed, by: &Reference) -> Result<Role, String> {
        if computed.kind == ComputedKind::AverageOfReferrers {
            return Err(
                "An average is kept as sum and count: as an `odm::types::Average`, `#[computed(avg = …)]` would keep it so.".to_owned(),
            );
        }
        if computed.different >= computed.equal {
            return Err("Most of them differ.".to_owned());
        }
        let field = self.of_parent(design, &computed.collection, &computed.path)?;
        let held = value_key(field).filter(|_| !field.is_optional());
        let children = self.children(design, by, &computed.collection)?;
        let role = match computed.kind {
            ComputedKind::CountOfReferrers if matches!(held, Some(Key::Plain(Plain::I32 | Plain::I64))) => {
                Role::Count(children)
            }
            ComputedKind::SumOfReferrers => {
                let of = computed.of.first().map_or("", String::as_str);
                let child = design
                    .collection(&by.from.collection)
                    .and_then(|collection| collection.root.at(of))
                    .filter(|_| !of.contains(['.', '[', '{']))
                    .filter(|field| !(field.present < field.of && field.kinds.contains_key(&Kind::Null)))
                    .ok_or("A sum is one of a field of the documents themselves.")?;
                match (value_key(child), held) {
                    (Some(Key::Plain(Plain::I32)), Some(Key::Plain(Plain::I32 | Plain::I64)))
                    | (Some(Key::Plain(Plain::I64)), Some(Key::Plain(Plain::I64)))
                    | (Some(Key::Plain(Plain::F64)), Some(Key::Plain(Plain::F64)))
                    | (Some(Key::Plain(Plain::Decimal)), Some(Key::Plain(Plain::Decimal))) => {
                        Role::Sum(children, of.to_owned())
                    }
                    _ => return Err("The types of the two fields differ.".to_owned()),
                }
            }
            _ => return Err("Not every document has an integer there.".to_owned()),
        };
        self.parent(&by.from.collection, first(&by.from));
        Ok(role)
    }

    fn subset(&mut self, design: &Design, subset: &Subset) {
        let Some(by) = design.reference(subset.by) else {
            return;
        };
        let figures = format!(
            "The first {} of `{}` by `{}`: {} arrays are, {} are not.",
            subset.limit, by.from.collection, subset.order, subset.equal, subset.different
        );
        let text = match self.subset_of(design, subset, by) {
            Ok(role) => {
                self.parent(&by.from.collection, first(&by.from));
                self.declare(&subset.collection, &subset.path, role);
                figures
            }
            Err(why) => format!("{figures} {why} `#[subset(…)]` would keep it so."),
        };
        self.remark(&subset.collection, &subset.path, text);
    }

    fn subset_of(&mut self, design: &Design, subset: &Subset, by: &Reference) -> Result<Role, String> {
        if subset.different >= subset.equal {
            return Err("Most of them differ.".to_owned());
        }
        let array = self.of_parent(design, &subset.collection, &subset.path)?;
        let children = self.children(design, by, &subset.collection)?;
        let child = &design
            .collections
            .get(children.collection)
            .ok_or("Its collection is not among the models.")?
            .root;
        let items = array.items.as_deref();
        let items = items.filter(|items| items.only_kind() == Some(Kind::Object) && items.map.is_none());
        let items = items.filter(|items| !items.kinds.contains_key(&Kind::Null) && items.others == 0);
        let (Some(items), false) = (items, array.is_optional()) else {
            return Err("Not every document has an array of documents there.".to_owned());
        };
        let id = self
            .copied_id(&subset.collection, items, children.collection)
            .ok_or("Its elements have no reference, by which the element of a changed document is found.")?;
        if subset.order.contains(['.', '[', '{']) {
            return Err("Its order follows a field of an embedded document.".to_owned());
        }
        let both = |field: &Field| field.present < field.of && field.kinds.contains_key(&Kind::Null);
        let is_id = |field: &Field| field.name == id;
        for field in &items.fields {
            let source = child
                .fields
                .iter()
                .find(|source| {
                    source.name == field.name && !is_id(field) || source.name == "_id" && is_id(field)
                })
                .ok_or_else(|| format!("`{}` of its elements is no field of the documents.", field.name))?;
            let is_same = value_key(field).is_some() && value_key(field) == value_key(source);
            let is_lost = source.is_optional() && !field.is_optional();
            if !is_same || is_lost || both(field) || both(source) {
                return Err(format!("The types of `{}` differ.", field.name));
            }
        }
        for field in &items.fields {
            self.repeat(&subset.collection, &field.path);
            self.repeat(&by.from.collection, &field.name);
        }
        let id = id.to_owned();
        Ok(Role::Subset {
            children,
            id,
            limit: subset.limit,
            order: subset.order.clone(),
            descending: subset.descending,
        })
    }

    /// The field of an element that names the document that it is a copy of.
    fn copied_id<'d>(&self, collection: &str, items: &'d Field, of: usize) -> Option<&'d str> {
        let is_reference = |field: &&Field| {
            let target = self.target(collection, &field.path);
            target.is_some_and(|target| target.collection == of && target.by.is_none())
        };
        let mut fields = items.fields.iter();
        let found = fields
            .clone()
            .find(|field| field.name == "_id")
            .or_else(|| fields.find(is_reference));
        found.map(|field| field.name.as_str())
    }

    /// A field of a document, which no other role has.
    fn of_parent<'d>(&self, design: &'d Design, collection: &str, path: &str) -> Result<&'d Field, String> {
        if path.contains(['.', '[', '{']) {
            return Err("What follows from other documents stands in the document itself.".to_owned());
        }
        if *self.role(collection, path) != Role::Plain {
            return Err("It is declared as something else.".to_owned());
        }
        let field = design
            .collection(collection)
            .and_then(|collection| collection.root.at(path));
        field.ok_or_else(|| "It is not among the models.".to_owned())
    }

    /// The documents that refer to another one, by a reference that is declared.
    fn children(&self, design: &Design, by: &Reference, parent: &str) -> Result<Children, String> {
        let path = first(&by.from);
        let number = |name: &str| {
            let mut all = design.collections.iter();
            all.position(|collection| collection.name == name)
        };
        let (Some(collection), Some(parent)) = (number(&by.from.collection), number(parent)) else {
            return Err("Its collection is not among the models.".to_owned());
        };
        if self.number(&by.from.collection, path) != Some(by.id) {
            return Err(format!("`{path}` has to be declared as a reference."));
        }
        if path.contains(['.', '[', '{']) {
            return Err(format!("`{path}` has to be a field of the document itself."));
        }
        Ok(Children {
            collection,
            parent,
            by: path.to_owned(),
        })
    }

    /// References whose index is that of children: a unique one, or one that goes on with the order of the children.
    pub(super) fn parents(&mut self, design: &Design) {
        for collection in &design.collections {
            for field in &collection.root.fields {
                let is_free = *self.role(&collection.name, &field.name) == Role::Plain;
                if !is_free || self.target(&collection.name, &field.name).is_none() {
                    continue;
                }
                let mut found = collection
                    .indexes
                    .iter()
                    .filter_map(|index| indexes::of_children(collection, field, index));
                if let Some(role) = found.next() {
                    self.roles.insert(key(&collection.name, &field.name), role);
                }
            }
        }
    }

    fn parent(&mut self, collection: &str, path: &str) {
        self.roles.entry(key(collection, path)).or_insert(Role::PARENT);
    }

    /// Leaves out what would follow from itself.
    pub(super) fn without_circles(&mut self, design: &Design) {
        let mut sources: BTreeMap<Place, Vec<Place>> = BTreeMap::new();
        for (at, role) in &self.roles {
            sources.insert(at.clone(), self.sources(design, at, role));
        }
        for start in sources.keys().cloned().collect::<Vec<_>>() {
            let mut seen = BTreeSet::new();
            let mut open = sources.get(&start).cloned().unwrap_or_default();
            while let Some(at) = open.pop() {
                if at == start {
                    sources.remove(&start);
                    self.roles.remove(&start);
                    break;
                }
                if let (Some(next), true) = (sources.get(&at), seen.insert(at.clone())) {
                    open.extend(next.iter().cloned());
                }
            }
        }
    }

    /// The fields that a role has its value from.
    fn sources(&self, design: &Design, at: &Place, role: &Role) -> Vec<Place> {
        let of = |children: &Children, field: &str| {
            let collection = design.collections.get(children.collection);
            collection.map(|collection| key(&collection.name, field))
        };
        match role {
            Role::Copy { by, from } => {
                let number = self.number(&at.0, &sibling(&at.1, by));
                let reference = number.and_then(|number| design.reference(number));
                reference
                    .map(|reference| key(&reference.to.collection, from))
                    .into_iter()
                    .collect()
            }
            Role::Sum(children, field) => of(children, field).into_iter().collect(),
            Role::Subset { children, order, .. } => {
                let items = design
                    .collection(&at.0)
                    .and_then(|collection| collection.root.at(&at.1))
                    .and_then(|array| array.items.as_deref());
                let fields = items.into_iter().flat_map(|items| &items.fields);
                let names = fields.map(|field| field.name.as_str()).chain([order.as_str()]);
                names.filter_map(|name| of(children, name)).collect()
            }
            Role::Plain | Role::CopiedId | Role::TwoWay(_) | Role::Parent { .. } | Role::Count(_) => {
                Vec::new()
            }
        }
    }
}

/// The key of the documents of a collection that a copied id holds.
pub(super) fn key_of(design: &Design, collection: usize) -> Key {
    let collection = design.collections.get(collection);
    let key = collection
        .and_then(|collection| collection.root.at("_id"))
        .and_then(value_key);
    key.unwrap_or(Key::Own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::write;
    use crate::design::{Collection, Place as At};

    fn field(path: &str, kind: Kind) -> Field {
        Field {
            path: path.to_owned(),
            name: path.rsplit('.').next().unwrap_or(path).to_owned(),
            present: 20,
            of: 20,
            kinds: BTreeMap::from([(kind, 20)]),
            distinct: 20,
            ..Field::default()
        }
    }

    fn collection(name: &str, fields: Vec<Field>) -> Collection {
        Collection {
            name: name.to_owned(),
            documents: 20,
            read: 20,
            root: Field {
                kinds: BTreeMap::from([(Kind::Object, 20)]),
                fields,
                ..Field::default()
            },
            ..Collection::default()
        }
    }

    fn reference(id: usize, from: (&str, &str), to: &str) -> Reference {
        let at = |collection: &str, path: &str| At {
            collection: collection.to_owned(),
            paths: vec![path.to_owned()],
        };
        Reference {
            id,
            from: at(from.0, from.1),
            to: at(to, "_id"),
            values: 20,
            found: 20,
            confidence: 1.0,
            ..Reference::default()
        }
    }

    /// Products with a count of their reviews, which may be of a maker, and of a box of their own.
    fn design(computed: Computed) -> Design {
        let id = || field("_id", Kind::ObjectId);
        let products = vec![id(), field("reviews", Kind::Int), field("box", Kind::ObjectId)];
        let reviews = vec![
            id(),
            field("product", Kind::ObjectId),
            field("stars", Kind::Double),
        ];
        Design {
            collections: vec![
                collection("products", products),
                collection("reviews", reviews),
                collection("boxes", vec![id(), field("product", Kind::ObjectId)]),
            ],
            references: vec![
                reference(0, ("reviews", "product"), "products"),
                reference(1, ("products", "box"), "boxes"),
                reference(2, ("boxes", "product"), "products"),
            ],
            computed: vec![Computed {
                collection: "products".to_owned(),
                path: "reviews".to_owned(),
                equal: 20,
                by: Some(0),
                ..computed
            }],
            ..Design::default()
        }
    }

    fn text(design: &Design, file: &str) -> String {
        let files = write(design);
        let file = files.iter().find(|of| of.path == file).unwrap();
        // Comments are broken by their width.
        file.text.replace("\n    // ", " ")
    }

    #[test]
    fn a_count_is_declared_with_the_reference_of_the_children() {
        let design = design(Computed {
            kind: ComputedKind::CountOfReferrers,
            ..Computed::default()
        });
        let products = text(&design, "products.rs");
        assert!(products.contains("#[computed(count = Review)]"), "{products}");
        let reviews = text(&design, "reviews.rs");
        assert!(reviews.contains("#[parent_ref(index = false)]"), "{reviews}");
    }

    #[test]
    fn what_has_no_attribute_says_why() {
        let of = |kind, different| Computed {
            kind,
            different,
            of: vec!["stars".to_owned()],
            ..Computed::default()
        };
        for (computed, why) in [
            (
                of(ComputedKind::AverageOfReferrers, 0),
                "An average is kept as sum and count",
            ),
            (
                of(ComputedKind::SumOfReferrers, 0),
                "The types of the two fields differ.",
            ),
            (of(ComputedKind::CountOfReferrers, 20), "Most of them differ."),
        ] {
            let products = text(&design(computed), "products.rs");
            assert!(products.contains(why), "{why} is not in {products}");
            let is_declared = |line: &str| line.trim_start().starts_with("#[computed");
            assert!(!products.lines().any(is_declared), "{products}");
        }
    }

    #[test]
    fn one_of_two_required_sides_would_have_to_be_an_option() {
        let mut design = design(Computed::default());
        design.computed.clear();
        design.two_way = vec![TwoWay {
            a: 1,
            b: 2,
            agree: 20,
            ..TwoWay::default()
        }];
        let products = text(&design, "products.rs");
        assert!(
            products.contains("one of them has to be an `Option`"),
            "{products}"
        );
        design.collections[0].root.fields[2].present = 19;
        let products = text(&design, "products.rs");
        assert!(products.contains("inverse = product)]"), "{products}");
    }
}
