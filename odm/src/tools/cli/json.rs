//! The results as JSON, in the shapes that the module's documentation lists.

use crate::migrate::{Migrated, MigrationStatus, StepState};
use crate::schema::{
    Applied, Change, IndexReport, Plan, ReplaceWay, ReportedIndex, RetireStep, SharedValues, Violations,
};
use crate::tools::edges::{CopyKind, Edges, ReferenceKind};
use crate::{
    Audit, AuditedCopies, AuditedReference, Backfilled, DuplicateIds, Findings, Recovered, RepairKind,
    Repaired,
};
use mongodb::bson::{Bson, DateTime};
use serde_json::{Map, Value, json};

/// The fields that every result has, and its own.
pub(super) fn framed(command: &str, database: &str, exit: u8, result: Value) -> Value {
    let mut framed = Map::new();
    framed.insert("command".into(), command.into());
    framed.insert("database".into(), database.into());
    framed.insert("exit".into(), exit.into());
    if let Value::Object(result) = result {
        framed.extend(result);
    }
    Value::Object(framed)
}

pub(super) fn error(message: &str) -> Value {
    json!({ "error": message })
}

/// As MongoDB's extended JSON.
fn bson(value: &Bson) -> Value {
    // A value that JSON can't hold, such as an infinite number, is shown as the library shows it in messages.
    serde_json::to_value(value).unwrap_or_else(|_| value.to_string().into())
}

pub(super) fn plan(plan: &Plan) -> Value {
    json!({
        "empty": plan.is_empty(),
        "changes": plan.changes().iter().map(change).collect::<Vec<_>>(),
        "notes": plan.notes(),
        "backfills": plan.backfills(),
        "shared": plan.shared().iter().map(shared).collect::<Vec<_>>(),
        "unknown": plan.unknown(),
        "warning": plan.warning(),
    })
}

/// A plan, and the indexes with their uses.
pub(super) fn plan_with(plan: &Plan, report: &IndexReport) -> Value {
    let mut value = self::plan(plan);
    let index = |one: &ReportedIndex| {
        json!({
            "collection": one.collection,
            "index": one.index,
            "fields": one.fields,
            "bytes": one.bytes,
            "uses": one.uses,
            "since": one.since.and_then(|since| since.try_to_rfc3339_string().ok()),
            "served_by": one.served_by,
            "duplicate": one.duplicate,
        })
    };
    let unknown = report.unknown.iter();
    let unknown = unknown.map(|(collection, why)| json!({ "collection": collection, "why": why }));
    if let Value::Object(object) = &mut value {
        object.insert("indexes".into(), report.indexes.iter().map(index).collect());
        object.insert("unknown_uses".into(), unknown.collect());
    }
    value
}

pub(super) fn applied(applied: &Applied) -> Value {
    json!({
        "changes": applied.changes().iter().map(change).collect::<Vec<_>>(),
        "backfills": applied.backfills(),
    })
}

fn change(change: &Change) -> Value {
    let (kind, index) = match change {
        Change::CreateCollection { .. } => ("create_collection", None),
        Change::SetPreAndPostImages { .. } => ("set_pre_and_post_images", None),
        Change::ModifyCollection { .. } => ("modify_collection", None),
        Change::SetValidator { .. } => ("set_validator", None),
        Change::CreateIndex { index, .. } => ("create_index", Some(index)),
        Change::ChangeTtl { index, .. } => ("change_ttl", Some(index)),
        Change::CreateSearchIndex { index, .. } => ("create_search_index", Some(index)),
        Change::UpdateSearchIndex { index, .. } => ("update_search_index", Some(index)),
        Change::ShardCollection { .. } => ("shard_collection", None),
        Change::ReplaceIndex { index, .. } => ("replace_index", Some(index)),
        Change::RetireIndex { index, .. } => ("retire_index", Some(index)),
        Change::Conflict { .. } => ("conflict", None),
    };
    let words = change.to_string();
    let mut object = Map::new();
    object.insert("kind".into(), kind.into());
    object.insert("collection".into(), change.collection().into());
    object.insert("words".into(), words.lines().collect::<Vec<_>>().into());
    if let Some(index) = index {
        object.insert("index".into(), index.as_str().into());
    }
    match change {
        Change::ReplaceIndex { way, .. } => {
            let way = match way {
                ReplaceWay::InPlace => "in_place",
                ReplaceWay::Beside => "beside",
                ReplaceWay::BesideThenDropped => "beside_then_dropped",
                ReplaceWay::Window => "window",
            };
            object.insert("way".into(), way.into());
        }
        Change::RetireIndex { by, step, .. } => {
            let step = match step {
                RetireStep::Watch => "watch",
                RetireStep::Hide => "hide",
                RetireStep::Drop => "drop",
                RetireStep::Unhide => "unhide",
            };
            object.insert("by".into(), by.clone().into());
            object.insert("step".into(), step.into());
        }
        _ => {}
    }
    if let Some(violations) = change.violations() {
        object.insert("violations".into(), violations_of(violations));
    }
    Value::Object(object)
}

fn violations_of(violations: &Violations) -> Value {
    json!({
        "count": violations.count,
        "sample": violations.sample.iter().map(bson).collect::<Vec<_>>(),
    })
}

fn shared(shared: &SharedValues) -> Value {
    json!({
        "collection": shared.collection,
        "fields": shared.fields,
        "documents": violations_of(&shared.documents),
    })
}

pub(super) fn audit(audit: &Audit) -> Value {
    json!({
        "documents": audit.documents,
        "checked": audit.checked(),
        "right": audit.right(),
        "wrong": audit.wrong(),
        "references": audit.references.iter().map(reference).collect::<Vec<_>>(),
        "copies": audit.copies.iter().map(copies).collect::<Vec<_>>(),
        "duplicate_ids": audit.duplicate_ids.iter().map(duplicate_ids).collect::<Vec<_>>(),
    })
}

fn duplicate_ids(duplicates: &DuplicateIds) -> Value {
    json!({
        "collection": duplicates.collection,
        "shard_key": duplicates.shard_key,
        "found": findings(&duplicates.found),
    })
}

fn copies(copies: &AuditedCopies) -> Value {
    json!({
        "collection": copies.collection,
        "fields": copies.fields,
        "source": copies.source,
        "checked": copies.checked,
        "wrong": copies.wrong,
        "share": copies.share(),
        "stale": {
            "count": copies.stale.count,
            "sample": copies.stale.sample.iter().map(|(id, _)| bson(id)).collect::<Vec<_>>(),
        },
    })
}

pub(super) fn recovered(recovered: &Recovered) -> Value {
    let oldest = recovered.oldest.map(|oldest| oldest.as_secs());
    json!({ "documents": recovered.documents, "copies": recovered.copies, "oldest_s": oldest })
}

pub(super) fn backfilled(filled: &Backfilled) -> Value {
    json!({ "edges": filled.edges, "documents": filled.documents })
}

pub(super) fn forgotten(names: &[String]) -> Value {
    json!({ "forgotten": names })
}

fn reference(reference: &AuditedReference) -> Value {
    json!({
        "collection": reference.collection,
        "field": reference.field,
        "targets": reference.targets,
        "checked": reference.checked,
        "right": reference.right(),
        "kept": reference.kept,
        "dangling": findings(&reference.dangling),
        "one_sided": findings(&reference.one_sided),
        "repeated": findings(&reference.repeated),
        "over_bound": findings(&reference.over_bound),
        "several_children": findings(&reference.several_children),
        "below_deleted": findings(&reference.below_deleted),
        "interrupted": findings(&reference.interrupted),
    })
}

fn findings(findings: &Findings) -> Value {
    let sample = findings.sample.iter().map(|(id, what)| [bson(id), bson(what)]);
    json!({ "count": findings.count, "sample": sample.collect::<Vec<_>>() })
}

pub(super) fn repaired(repaired: &Repaired) -> Value {
    let repairs = repaired.repairs.iter().map(|repair| {
        json!({
            "collection": repair.collection,
            "field": repair.field,
            "what": match repair.what {
                RepairKind::Nullified => "nullified",
                RepairKind::Pulled => "pulled",
                RepairKind::Linked => "linked",
                RepairKind::Unlinked => "unlinked",
                RepairKind::Deduplicated => "deduplicated",
                RepairKind::Copied => "copied",
                RepairKind::Summed => "summed",
                RepairKind::Restored => "restored",
                RepairKind::Claimed => "claimed",
                RepairKind::Freed => "freed",
            },
            "count": repair.count,
        })
    });
    json!({
        "repairs": repairs.collect::<Vec<_>>(),
        "repaired": repaired.repaired,
        "left": audit(&repaired.left),
    })
}

pub(super) fn edges(edges: &Edges) -> Value {
    let documents = edges.documents.iter().map(|document| {
        json!({
            "name": document.name,
            "collection": document.collection,
            "append_only": document.append_only,
            "bucket": document.bucket.as_ref().map(|bucket| {
                json!({ "items": bucket.items, "size": bucket.size, "per": bucket.per })
            }),
        })
    });
    let references = edges.references.iter().map(|edge| {
        json!({
            "holder": edge.holder,
            "field": edge.field,
            "kind": match edge.kind {
                ReferenceKind::One => "one",
                ReferenceKind::Many => "many",
                ReferenceKind::Parent => "parent",
            },
            "targets": edge.targets,
            "by": edge.by,
            "max": edge.max,
            "optional": edge.optional,
            "only": edge.only,
            "inverse": edge.inverse,
            "on_delete": edge.on_delete.to_string(),
        })
    });
    let copies = edges.copies.iter().map(|edge| {
        let mut object = Map::new();
        object.insert("holder".into(), edge.holder.into());
        object.insert("field".into(), edge.field.as_str().into());
        object.insert("source".into(), edge.source.into());
        object.insert("consistency".into(), edge.consistency.to_string().into());
        let kind = match &edge.kind {
            CopyKind::Field { source, through } => {
                json!({ "kind": "field", "source_field": source, "through": through })
            }
            CopyKind::Subset {
                parent,
                limit,
                last,
                order,
                fields,
                filtered,
            } => json!({
                "kind": "subset",
                "parent": parent,
                "limit": limit,
                "last": last,
                "order": order,
                "fields": fields,
                "filtered": filtered,
            }),
            CopyKind::Computed {
                operation,
                of,
                parent,
                filtered,
            } => json!({
                "kind": operation.to_string(),
                "of": of,
                "parent": parent,
                "filtered": filtered,
            }),
        };
        if let Value::Object(kind) = kind {
            object.extend(kind);
        }
        Value::Object(object)
    });
    json!({
        "documents": documents.collect::<Vec<_>>(),
        "references": references.collect::<Vec<_>>(),
        "copies": copies.collect::<Vec<_>>(),
    })
}

pub(super) fn migration_status(status: &MigrationStatus) -> Value {
    let steps = status.steps.iter().map(|step| {
        let changes = step.changes.iter().map(|change| {
            let samples = change.samples.iter().map(|sample| {
                let after = sample
                    .after
                    .clone()
                    .map_or(Value::Null, |after| bson(&after.into()));
                json!({ "before": bson(&sample.before.clone().into()), "after": after })
            });
            let impossible = change.impossible.as_ref();
            let impossible =
                impossible.map(|(documents, reason)| json!({ "documents": documents, "reason": reason }));
            json!({
                "collection": change.collection,
                "words": change.words,
                "documents": change.documents,
                "impossible": impossible,
                "samples": samples.collect::<Vec<_>>(),
            })
        });
        let time = |at: Option<DateTime>| at.and_then(|at| at.try_to_rfc3339_string().ok());
        json!({
            "name": step.name,
            "state": match step.state {
                StepState::Applied => "applied",
                StepState::Begun => "begun",
                StepState::Open => "open",
            },
            "has_down": step.has_down,
            "documents": step.documents,
            "begun": time(step.begun),
            "applied": time(step.applied),
            "changes": changes.collect::<Vec<_>>(),
        })
    });
    let running = status.running.as_ref().map(|running| {
        json!({
            "name": running.name,
            "down": running.down,
            "change": running.change,
            "pass": running.pass,
            "documents": running.documents,
            "total": running.total,
            "is_running": running.is_running,
        })
    });
    json!({
        "steps": steps.collect::<Vec<_>>(),
        "ahead": status.ahead,
        "problems": status.problems,
        "running": running,
        "rate": status.rate,
    })
}

pub(super) fn migrated(migrated: &Migrated) -> Value {
    json!({
        "applied": migrated.applied,
        "taken_back": migrated.taken_back,
        "for_models": migrated.for_models,
        "documents": migrated.documents,
    })
}
