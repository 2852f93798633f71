//! The fields, references and derived values that a write touches: read from the operators of an update once, after the front ends have
//! stated them and before the library adds its own. Operators that would change what the library writes itself are refused.

use crate::graph::Graph;
use crate::graph::edge::{Derived, Edge, EdgeId, ReferenceTarget};
use crate::graph::sync::{is_atomic, kept_in_sync};
use crate::model::copy::Consistency;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::meta::names::{meet, plain_name};
use crate::model::own_fields::ALL;
use crate::plan::operators::guard::Guard;
use crate::plan::operators::implied::demanded;
use crate::plan::operators::{Built, Raw};
use crate::store::batch::stored_value;
use crate::{Error, Result};
use mongodb::bson::{Bson, Document, RawBsonRef, RawDocumentBuf, doc};

/// The fields, references and derived values that an update touches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touches {
    /// The fields that it changes, without positions in arrays.
    pub(crate) fields: Vec<String>,
    /// The copies beside the references among them: they change with these, and others may copy them in turn.
    pub(crate) copies: Vec<String>,
    /// The references of the document that it changes, or may change.
    pub(crate) references: Vec<TouchedReference>,
    /// The derived values that it affects.
    pub(crate) affected: Affected,
    /// Whether it changes a field that others copy, so that the version of the document is raised.
    pub(crate) is_of_source: bool,
    /// Whether it may take documents away from parents in which something is derived of them, also by programs with other models.
    pub(crate) moves_children: bool,
}

/// A reference that an update touches.
#[derive(Clone, Debug)]
pub(crate) struct TouchedReference {
    pub(crate) edge: EdgeId,
    /// Whether an operator does; else a new document has it in the id that the condition of an upsert gives.
    is_changed: bool,
    /// The operands that hold the reference, or a struct or an array around it.
    pub(crate) operands: Vec<UpdateOperand>,
    pub(crate) how: ArrayEffect,
    /// The references that are added: the target and the key in it.
    added: Vec<(ReferenceTarget, Key, Bson)>,
    /// Whether it has another value afterwards, whatever it was.
    pub(crate) is_replaced: bool,
    /// Whether the update takes values out, and puts none there.
    is_only_removed: bool,
    /// Of a two-way reference: the steps from its values before to those after; `None` where they can't be told.
    steps: Option<Vec<LinkStep>>,
}

/// The operand that an operator gives to a field.
#[derive(Clone, Debug)]
pub(crate) struct UpdateOperand {
    pub(crate) operator: String,
    pub(crate) name: String,
    pub(crate) holds: OperandPlace,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OperandPlace {
    /// The reference; `prefix` leads to the struct in which it stands.
    Itself { prefix: String },
    /// A value around it, which stands `depth` segments into its path; `item` says that the value is an item of the array there.
    Around { depth: usize, item: bool },
}

/// The effect of a write on an edge's references, at their outermost array if there is one. Of several the last counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ArrayEffect {
    /// Items are added to the array.
    Adds,
    /// Items that are there are changed, or replaced, each at its place.
    Edits,
    /// There may be anything.
    Replaces,
}

/// A change of the values of a two-way reference, which stand in the array's order.
#[derive(Clone, Debug)]
enum LinkStep {
    Set(Vec<Bson>),
    Add(Vec<Bson>),
    Remove(Vec<Bson>),
    /// Every item that equals the first gets the second value.
    Exchange(Bson, Bson),
    RemoveFirst,
    RemoveLast,
    /// Only in a document that the update inserts: what can't be told is `None`.
    OnInsert(Option<Vec<Bson>>),
}

/// The relation of a changed field's name to the path of a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PathPosition {
    /// It ends `depth` segments into the path; `item` says that it means an item of the array there. The prefix is what stands before
    /// the last segment of the path.
    Within {
        depth: usize,
        item: bool,
        prefix: String,
    },
    /// It leads into the reference.
    Beyond,
}

impl PathPosition {
    fn new(edge: &Edge, name: &str) -> Option<PathPosition> {
        let (mut depth, mut item) = (0_usize, false);
        let mut prefix = String::new();
        for part in name.split('.') {
            let array = depth
                .checked_sub(1)
                .and_then(|at| edge.segments.get(at))
                .is_some_and(|before| before.array);
            let is_position = part.starts_with('$') || part.bytes().all(|b| b.is_ascii_digit());
            if array && is_position && !item {
                item = true;
                prefix.push_str(part);
                prefix.push('.');
                continue;
            }
            match edge.segments.get(depth) {
                None => return Some(PathPosition::Beyond),
                Some(segment) if segment.name == part => (depth, item) = (depth + 1, false),
                Some(_) => return None,
            }
            if depth < edge.segments.len() {
                prefix.push_str(part);
                prefix.push('.');
            }
        }
        Some(PathPosition::Within { depth, item, prefix })
    }
}

impl Touches {
    /// Reads the operators of an update of documents of this type. `inserts` is the condition of an upsert.
    ///
    /// # Errors
    /// [`Error::Encode`] for a value that can't be stored.
    pub(crate) fn read(
        graph: &Graph,
        meta: &'static DocumentMeta,
        built: &Built,
        inserts: Option<&Document>,
    ) -> Result<Touches> {
        let mut touches = Touches::default();
        if !graph.takes_part(meta) && graph.outgoing(meta).next().is_none() {
            return Ok(touches);
        }
        let mut references: Vec<(&Edge, Option<TouchedReference>)> =
            graph.outgoing(meta).map(|edge| (edge, None)).collect();
        for (operator, operands) in &built.update {
            let Bson::Document(operands) = operands else {
                // The server refuses it, or knows more of it than is known here.
                for (edge, touched) in &mut references {
                    touched
                        .get_or_insert_with(|| TouchedReference::new(edge))
                        .may_be_anything();
                }
                continue;
            };
            for (name, value) in names(operator, operands) {
                touches.fields.push(plain_name(name));
                for (edge, touched) in &mut references {
                    if let Some(position) = PathPosition::new(edge, name) {
                        let touched = touched.get_or_insert_with(|| TouchedReference::new(edge));
                        touched.add(edge, operator, (name, value), position, built)?;
                    }
                }
            }
        }
        for (edge, touched) in &mut references {
            // A new document may refer to another one by its id.
            if let Some(id) = inserts
                .filter(|_| edge.is_in_id())
                .and_then(|filter| demanded(filter, "_id"))
            {
                let document = raw(edge, doc! { "_id": id })?;
                let touched = touched.get_or_insert_with(|| TouchedReference::new(edge));
                for value in edge.values(&document) {
                    touched.adds(edge, value)?;
                }
            }
        }
        touches.references = references
            .into_iter()
            .filter_map(|(_, touched)| touched)
            .collect();
        touches.affect(graph, meta);
        Ok(touches)
    }

    /// Reads the operators of a statement of the library.
    ///
    /// # Errors
    /// As [`Touches::read`].
    pub(crate) fn of_statement(
        graph: &Graph,
        meta: &'static DocumentMeta,
        update: &Document,
    ) -> Result<Touches> {
        let built = Built {
            update: update.clone(),
            ..Built::nothing()
        };
        Touches::read(graph, meta, &built, None)
    }

    /// Works out what depends on the fields.
    fn affect(&mut self, graph: &Graph, meta: &'static DocumentMeta) {
        let changes = |field: &str| self.fields.iter().any(|name| meet(name, field));
        let referring = graph.copying(meta).filter(|edge| changes(&edge.path));
        self.copies = referring
            .flat_map(|edge| edge.copies.iter().map(|copy| edge.copy_path(copy)))
            .collect();
        let names: Vec<&str> = self.names().collect();
        let takes = |edge: &Edge| {
            !self
                .reference(edge)
                .is_some_and(|touched| touched.is_only_removed)
        };
        let (is_of_source, affected) = (
            Affected::changes_source(graph, meta, &names),
            Affected::by_change(graph, meta, &names, takes),
        );
        (self.is_of_source, self.affected) = (is_of_source, affected);
        self.moves_children = graph
            .derived_from(meta)
            .map(|derived| graph.parent_edge(derived))
            .any(|edge| self.reference(edge).is_some())
            || graph.moves_for_others(meta, self.fields.iter().map(String::as_str));
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().chain(&self.copies).map(String::as_str)
    }

    /// All fields that it changes.
    pub(crate) fn changed_fields(&self) -> WrittenFields {
        WrittenFields::Of(self.names().map(str::to_owned).collect())
    }

    /// The change of a reference by an operator, if there is one.
    pub(crate) fn reference(&self, edge: &Edge) -> Option<&TouchedReference> {
        let mut touched = self.references.iter();
        touched.find(|touched| touched.edge == edge.id && touched.is_changed)
    }

    /// The references of an edge that are added: the target and the key in it.
    pub(crate) fn added(&self, edge: &Edge) -> &[(ReferenceTarget, Key, Bson)] {
        let mut touched = self.references.iter();
        touched
            .find(|touched| touched.edge == edge.id)
            .map_or(&[], |touched| &touched.added)
    }

    /// Whether it may link or unlink documents.
    pub(crate) fn links(&self, graph: &Graph) -> bool {
        let changed = self.references.iter().filter(|touched| touched.is_changed);
        let mut edges = changed.map(|touched| &graph[touched.edge]);
        edges.any(Edge::is_two_way)
    }

    /// The values of a two-way reference after the update, if they can be told from those before. `insert` says that the update
    /// inserts the document.
    pub(crate) fn after(&self, edge: &Edge, before: &[Bson], insert: bool) -> Option<Vec<Bson>> {
        match self.reference(edge) {
            None => Some(before.to_vec()),
            Some(touched) => touched.after(before, insert),
        }
    }
}

impl TouchedReference {
    fn new(edge: &Edge) -> TouchedReference {
        TouchedReference {
            edge: edge.id,
            is_changed: false,
            operands: Vec::new(),
            how: ArrayEffect::Adds,
            added: Vec::new(),
            is_replaced: false,
            is_only_removed: true,
            steps: edge.is_two_way().then(Vec::new),
        }
    }

    fn may_be_anything(&mut self) {
        self.is_changed = true;
        self.is_only_removed = false;
        self.how = ArrayEffect::Replaces;
        self.steps = None;
    }

    /// Adds the operand of a field in whose value the reference is, or that leads into it.
    fn add(
        &mut self,
        edge: &Edge,
        operator: &str,
        (name, value): (&str, &Bson),
        position: PathPosition,
        built: &Built,
    ) -> Result<()> {
        self.is_changed = true;
        self.is_only_removed &= match operator {
            "$unset" | "$pull" | "$pullAll" | "$pop" => true,
            "$set" => *value == Bson::Null && name == edge.path,
            _ => false,
        };
        self.how = self.how.max(how(edge, operator, &position));
        self.is_replaced |= matches!(operator, "$set" | "$unset")
            && edge
                .path
                .strip_prefix(name)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        self.steps = match (
            self.steps.take(),
            step(edge, operator, (name, value), &position, built),
        ) {
            (Some(mut steps), Some(step)) => {
                steps.push(step);
                Some(steps)
            }
            _ => None,
        };
        let PathPosition::Within { depth, item, prefix } = position else {
            return Ok(());
        };
        self.adds_of(edge, operator, value, (depth, item))?;
        let is_operand = built
            .update
            .get(operator)
            .and_then(Bson::as_document)
            .is_some_and(|operands| operands.contains_key(name));
        if is_operand {
            self.operands.push(UpdateOperand {
                operator: operator.to_owned(),
                name: name.to_owned(),
                holds: if depth == edge.segments.len() {
                    OperandPlace::Itself { prefix }
                } else {
                    OperandPlace::Around { depth, item }
                },
            });
        }
        Ok(())
    }

    /// Adds the references that an operand adds.
    fn adds_of(
        &mut self,
        edge: &Edge,
        operator: &str,
        value: &Bson,
        (depth, item): (usize, bool),
    ) -> Result<()> {
        let (values, item) = match operator {
            "$set" | "$setOnInsert" | "$min" | "$max" => (std::slice::from_ref(value), item),
            "$push" | "$addToSet" => (pushed_items(value), true),
            _ => return Ok(()),
        };
        for value in values {
            let value = raw(edge, doc! { "v": value })?;
            if let Some(value) = value.get("v").ok().flatten() {
                for value in edge.values_below(depth, item, value) {
                    self.adds(edge, value)?;
                }
            }
        }
        Ok(())
    }

    fn adds(&mut self, edge: &Edge, value: RawBsonRef<'_>) -> Result<()> {
        if let Some((target, key)) = edge.points(value) {
            let value = stored_value(edge.holder, &edge.path, key)?;
            self.added.push((target, Key::of(key), value));
        }
        Ok(())
    }

    fn after(&self, before: &[Bson], insert: bool) -> Option<Vec<Bson>> {
        let mut values = before.to_vec();
        for step in self.steps.as_ref()? {
            match step {
                LinkStep::OnInsert(_) if !insert => {}
                LinkStep::OnInsert(new) => values = new.clone()?,
                LinkStep::Set(new) => values = new.clone(),
                LinkStep::Add(new) => {
                    for new in new {
                        if !values.iter().any(|there| same(there, new)) {
                            values.push(new.clone());
                        }
                    }
                }
                LinkStep::Remove(gone) => values.retain(|there| !gone.iter().any(|gone| same(there, gone))),
                LinkStep::Exchange(old, new) => {
                    for item in values.iter_mut().filter(|item| same(item, old)) {
                        *item = new.clone();
                    }
                }
                LinkStep::RemoveFirst if values.is_empty() => {}
                LinkStep::RemoveFirst => drop(values.remove(0)),
                LinkStep::RemoveLast => drop(values.pop()),
            }
        }
        Some(values)
    }
}

/// A document of an operand in which the reference may stand.
fn raw(edge: &Edge, document: Document) -> Result<RawDocumentBuf> {
    RawDocumentBuf::try_from(&document).map_err(|source| Error::Encode {
        field: edge.path.clone(),
        source: Box::new(source),
    })
}

fn how(edge: &Edge, operator: &str, position: &PathPosition) -> ArrayEffect {
    let in_item = edge.array().is_some_and(|array| match position {
        PathPosition::Within { depth, item, .. } => *depth > array || *depth == array && *item,
        PathPosition::Beyond => true,
    });
    match operator {
        _ if in_item => ArrayEffect::Edits,
        "$push" | "$addToSet" => ArrayEffect::Adds,
        _ => ArrayEffect::Replaces,
    }
}

/// The step of an operand, if it can be told.
fn step(
    edge: &Edge,
    operator: &str,
    (name, value): (&str, &Bson),
    position: &PathPosition,
    built: &Built,
) -> Option<LinkStep> {
    let whole = || match value {
        Bson::Null => Vec::new(),
        Bson::Array(items) if edge.list => items.clone(),
        one => vec![one.clone()],
    };
    let is_item = match position {
        PathPosition::Within { item, .. } => Some(*item),
        PathPosition::Beyond => None,
    };
    Some(match (operator, is_item) {
        ("$setOnInsert", Some(false)) => LinkStep::OnInsert(Some(whole())),
        ("$setOnInsert", _) => LinkStep::OnInsert(None),
        ("$set", Some(false)) => LinkStep::Set(whole()),
        ("$set", Some(true)) => {
            let is_array_there =
                |guard: &Guard| matches!(guard, Guard::There { name, .. } if *name == edge.path);
            match (
                replaced_item(name, built)?,
                built.guards.iter().any(is_array_there),
            ) {
                (old, true) => LinkStep::Exchange(old, value.clone()),
                // Where there is no array, nothing is changed.
                (_, false) => LinkStep::Add(Vec::new()),
            }
        }
        ("$unset", Some(false)) => LinkStep::Set(Vec::new()),
        ("$addToSet", Some(false)) => LinkStep::Add(pushed_items(value).to_vec()),
        ("$pullAll", Some(false)) => LinkStep::Remove(value.as_array()?.clone()),
        ("$pop", Some(false)) => match value {
            Bson::Int32(1) => LinkStep::RemoveLast,
            Bson::Int32(-1) => LinkStep::RemoveFirst,
            _ => return None,
        },
        _ => return None,
    })
}

/// The items that a `$push` or an `$addToSet` adds.
fn pushed_items(value: &Bson) -> &[Bson] {
    match value.as_document().map(|document| document.get_array("$each")) {
        Some(Ok(items)) => items,
        _ => std::slice::from_ref(value),
    }
}

/// The value of an item `name.$[e0]`: the one that `replace_item` looks for.
fn replaced_item(name: &str, built: &Built) -> Option<Bson> {
    let identifier = name.split_once(".$[")?.1.strip_suffix(']')?;
    let mut filters = built.array_filters.iter();
    let filter = filters.find_map(|filter| filter.get_document(identifier).ok())?;
    (filter.len() == 1).then(|| filter.get("$eq").cloned())?
}

fn same(a: &Bson, b: &Bson) -> bool {
    Key::of_bson(a) == Key::of_bson(b)
}

/// Whether a write affects derived values and claims, by the time at which they are updated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Affected {
    /// Some in the write's transaction, where the deployment has transactions.
    pub(crate) atomic: bool,
    /// Some after the write.
    pub(crate) eventual: bool,
}

impl Affected {
    fn add(&mut self, consistency: Consistency) {
        if is_atomic(consistency, true) {
            self.atomic = true
        } else {
            self.eventual = true
        }
    }

    fn add_copies(&mut self, edge: &Edge) {
        self.add(edge.consistency().unwrap_or(Consistency::Auto));
    }

    pub(crate) fn or(self, other: Affected) -> Affected {
        Affected {
            atomic: self.atomic || other.atomic,
            eventual: self.eventual || other.eventual,
        }
    }

    pub(crate) fn is_any(self) -> bool {
        self.atomic || self.eventual
    }

    /// Whether work is pending after the write.
    pub(crate) fn leaves_work(self, transactions: bool) -> bool {
        self.eventual || self.atomic && !transactions
    }

    /// By a new document.
    pub(crate) fn by_insert(graph: &Graph, meta: &DocumentMeta) -> Affected {
        let mut affected = Affected::default();
        graph.copying(meta).for_each(|edge| affected.add_copies(edge));
        graph
            .derived_from(meta)
            .for_each(|derived| affected.add(derived.consistency));
        // Something may have copied from a document with this id that was there before.
        graph
            .copied(meta)
            .filter(|edge| edge.may_name_missing())
            .for_each(|edge| affected.add_copies(edge));
        affected.atomic |= graph.is_claimed(meta);
        affected.eventual |= graph.is_for_others(meta);
        affected
    }

    /// By any change of a document.
    pub(crate) fn by_replacement(graph: &Graph, meta: &DocumentMeta) -> Affected {
        let mut affected = Affected::by_insert(graph, meta);
        graph.copied(meta).for_each(|edge| affected.add_copies(edge));
        affected
    }

    /// By the deletion of a document.
    pub(crate) fn by_delete(graph: &Graph, meta: &DocumentMeta) -> Affected {
        let mut affected = Affected::default();
        graph
            .derived_from(meta)
            .for_each(|derived| affected.add(derived.consistency));
        affected.atomic |= graph.is_claimed(meta);
        affected.eventual |= graph.is_child_of_others(meta);
        affected
    }

    /// By a change of these fields of a document, which takes new copies by some of its references.
    fn by_change(
        graph: &Graph,
        meta: &DocumentMeta,
        names: &[&str],
        takes: impl Fn(&Edge) -> bool,
    ) -> Affected {
        let mut affected = Affected::default();
        if !graph.takes_part(meta) {
            return affected;
        }
        let changes = |field: &str| names.iter().any(|name| meet(name, field));
        let is_read_on =
            |edge: &Edge| kept_in_sync(edge).any(|copy| graph.is_read(meta, &edge.copy_path(copy)));
        let own = graph.copying(meta).filter(|edge| changes(&edge.path));
        own.filter(|edge| takes(edge) || is_read_on(edge))
            .for_each(|edge| affected.add_copies(edge));
        let elsewhere = graph
            .copied(meta)
            .filter(|edge| kept_in_sync(edge).any(|copy| changes(copy.source)));
        elsewhere.for_each(|edge| affected.add_copies(edge));
        let derived = graph
            .derived_from(meta)
            .filter(|derived| derived.reads(graph).iter().any(|name| changes(name)));
        derived.for_each(|derived| affected.add(derived.consistency));
        affected.atomic |= names.iter().any(|name| graph.is_claimed_by(meta, name));
        if graph.others().is_some() {
            let mut left = graph.outgoing(meta).filter(|edge| graph.is_left(edge));
            affected.eventual |= left.any(|edge| changes(&edge.path))
                || names.iter().any(|name| graph.is_read_by_others(meta, name, None));
        }
        affected
    }

    /// Whether a change of these fields changes what others copy.
    fn changes_source(graph: &Graph, meta: &DocumentMeta, names: &[&str]) -> bool {
        let mut copies = graph.copied(meta).flat_map(kept_in_sync);
        copies.any(|copy| names.iter().any(|name| meet(name, copy.source)))
            || names.iter().any(|name| graph.is_read_by_others(meta, name, None))
    }
}

/// The changed fields of a document from which something is derived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WrittenFields {
    All,
    /// These fields.
    Of(Vec<String>),
}

impl WrittenFields {
    pub(crate) fn and(self, other: Option<&WrittenFields>) -> WrittenFields {
        match (self, other) {
            (fields, None) => fields,
            (WrittenFields::Of(mut names), Some(WrittenFields::Of(others))) => {
                names.extend(others.iter().cloned());
                WrittenFields::Of(names)
            }
            _ => WrittenFields::All,
        }
    }

    /// The names of the fields; for all fields, the entry that means all.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let (all, names) = match self {
            WrittenFields::All => (Some(ALL), [].as_slice()),
            WrittenFields::Of(names) => (None, names.as_slice()),
        };
        all.into_iter().chain(names.iter().map(String::as_str))
    }

    pub(crate) fn is_of(&self, field: &str) -> bool {
        match self {
            WrittenFields::All => true,
            WrittenFields::Of(names) => names.iter().any(|name| meet(name, field)),
        }
    }

    /// Whether one of them is copied by this reference.
    pub(crate) fn is_copied(&self, edge: &Edge) -> bool {
        kept_in_sync(edge).any(|copy| self.is_of(copy.source))
    }

    /// Whether this field is derived from one of them.
    pub(crate) fn is_derived(&self, graph: &Graph, derived: &Derived) -> bool {
        *self == WrittenFields::All || derived.reads(graph).iter().any(|name| self.is_of(name))
    }
}

/// The names of the fields that an operator changes, with its operands: of a renamed field the new name, too.
fn names<'u>(operator: &str, operands: &'u Document) -> impl Iterator<Item = (&'u str, &'u Bson)> {
    let renames = operator == "$rename";
    operands.iter().flat_map(move |(name, value)| {
        let new = value.as_str().filter(|_| renames).map(|new| (new, value));
        [Some((name.as_str(), value)), new].into_iter().flatten()
    })
}

/// The fields that an update changes, without positions in arrays.
pub(crate) fn changed(update: &Document) -> Vec<String> {
    let operators = update
        .iter()
        .filter_map(|(operator, operands)| Some((operator, operands.as_document()?)));
    let names = operators.flat_map(|(operator, operands)| names(operator, operands));
    names.map(|(name, _)| plain_name(name)).collect()
}

/// A changed document, and the fields that may be new to what is derived of it.
pub(crate) type ChangedDocument = (RawDocumentBuf, WrittenFields);

/// Prepares the changes of a document.
///
/// # Errors
/// [`Error::Query`] where an update in MongoDB's own words changes what the library writes itself.
pub(crate) fn prepare(graph: &Graph, meta: &'static DocumentMeta, built: &mut Built) -> Result<()> {
    refuse(graph, meta, &built.raw)?;
    as_sets(graph.outgoing(meta), built);
    built.guard_items(meta, graph.is_depended_on(meta));
    Ok(())
}

/// Makes every push onto an array of a two-way reference an `$addToSet`: the array is a set, since a link is there or is
/// not.
fn as_sets<'g>(edges: impl Iterator<Item = &'g Edge>, built: &mut Built) {
    for edge in edges.filter(|edge| edge.list && edge.is_two_way()) {
        let Some(Bson::Document(pushes)) = built.update.get_mut("$push") else {
            return;
        };
        let Some(values) = pushes.get(&edge.path).and_then(pushed) else {
            continue;
        };
        pushes.remove(&edge.path);
        if pushes.is_empty() {
            built.update.remove("$push");
        }
        let entry = built.update.entry("$addToSet".to_owned());
        if let Bson::Document(sets) = entry.or_insert_with(|| Document::new().into()) {
            sets.insert(&edge.path, doc! { "$each": values.clone() });
        }
        for guard in &mut built.guards {
            if let Guard::Room {
                name, unless_there, ..
            } = guard
                && *name == edge.path
            {
                unless_there.get_or_insert_with(|| values.clone());
            }
        }
    }
}

/// The values of a `$push` that only appends.
fn pushed(value: &Bson) -> Option<Vec<Bson>> {
    match value {
        Bson::Document(push) if push.keys().any(|key| key.starts_with('$')) => {
            let each = push.get_array("$each").ok()?;
            (push.len() == 1).then(|| each.clone())
        }
        one => Some(vec![one.clone()]),
    }
}

/// Refuses an update that changes a copy which follows its source, what is derived of children, or what a bucket says of its
/// items.
///
/// # Errors
/// [`Error::Query`].
fn refuse(graph: &Graph, meta: &DocumentMeta, raw: &[Raw]) -> Result<()> {
    let why = raw.iter().find_map(|raw| why_not(graph, meta, raw));
    match why {
        None => Ok(()),
        Some(why) => Err(Error::Query {
            collection: meta.collection,
            message: why,
        }),
    }
}

/// Whether a name is that of a field, or leads into it. One that leads to it sets the reference too, with its copies.
fn is_within(name: &str, field: &str) -> bool {
    meet(name, field) && name.len() >= field.len()
}

fn why_not(graph: &Graph, meta: &DocumentMeta, raw: &Raw) -> Option<String> {
    let name = plain_name(&raw.name);
    // The changes of an item go through what counts and sums them.
    let of_bucket = meta.bucket.filter(|_| !raw.of_item);
    if of_bucket.is_some_and(|bucket| bucket.is_kept(meta, &name)) {
        return Some(format!(
            "`{}` is written by the library, and a raw update of it would leave the bucket with a number, a sum or a time that is \
             not that of its items: change them by `push`, `edit` and `delete` of `odm.buckets`",
            raw.name
        ));
    }
    for edge in graph.outgoing(meta) {
        let copy = kept_in_sync(edge).find(|copy| is_within(&name, &edge.copy_path(copy)));
        if let Some(copy) = copy {
            let source = edge.targets.first().map_or("", |target| target.meta.collection);
            return Some(format!(
                "`{}` is written by the library, which copies it from `{source}.{}` through `{}`: change it there, and leave it \
                 out of the raw update",
                raw.name, copy.source, edge.path
            ));
        }
    }
    let derived = graph
        .derived_in(meta)
        .find(|derived| is_within(&name, derived.field.name))?;
    Some(format!(
        "`{}` is written by the library, which derives it from `{}`: leave it out of the raw update",
        raw.name, derived.child.collection
    ))
}

#[cfg(test)]
#[path = "touches_tests.rs"]
mod tests;
