//! Every operation on every handle of a tenant, in a database of three tenants and in one without the others: nothing of the others
//! changes, and the result and the tenant's own documents are the same in both.

use crate::faults::{Faults, Table};
use crate::world::World;
use futures::future::join;
use odm::Odm;
use odm_tests::fixtures::operations::{
    At, Kind, Mode, On, Operation, Set, TENANTS, collated, plain, sharded,
};
use odm_tests::{TestDb, require_no_cluster, require_transactions, with_db};

/// How an operation gets the handle of its tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handle {
    Scoped,
    WithDeleted,
    InTransaction,
    Standalone,
}

/// Of the combinations of operators with ways of an update, this part is performed on the handles beside the plain one.
const OF_COMBINATIONS: usize = 6;

impl Handle {
    /// Whether the table has a cell of this row for this handle.
    fn takes(self, number: usize, operation: &Operation) -> bool {
        let is_in_sample =
            !operation.is_combination || (number + self as usize).is_multiple_of(OF_COMBINATIONS);
        match self {
            Handle::Scoped => true,
            Handle::InTransaction => operation.mode == Mode::Anywhere && is_in_sample,
            Handle::WithDeleted | Handle::Standalone => is_in_sample,
        }
    }
}

/// Performs an operation by the handle of a tenant.
async fn performed(operation: &Operation, handle: Handle, scoped: &Odm, at: At) -> odm::Result<String> {
    match handle {
        Handle::Scoped | Handle::Standalone => operation.run(On::Database(scoped.clone()), at).await,
        Handle::WithDeleted => operation.run(On::Database(scoped.with_deleted()), at).await,
        Handle::InTransaction => {
            let work = async |tx| operation.run(On::Transaction(scoped.clone(), tx), at).await;
            scoped.transaction(work).await
        }
    }
}

async fn check(t: &TestDb, set: &'static Set, handle: Handle) {
    if set.name == sharded::SET.name {
        // The rows insert the ids of other tenants, and a cluster keeps an `_id` unique within each shard alone.
        require_no_cluster(&Odm::new(t.db.clone(), []).unwrap()).await;
    }
    let own = TENANTS[0];
    let (all, alone) = join(
        World::of(t, set, &TENANTS, handle == Handle::Standalone, "all"),
        World::of(t, set, &TENANTS[..1], handle == Handle::Standalone, "alone"),
    )
    .await;
    if handle == Handle::InTransaction {
        require_transactions(&all.odm).await;
    }
    let (in_all, in_alone) = ((set.scoped)(&all.odm, own), (set.scoped)(&alone.odm, own));
    let mut faults = Faults::new(format!("{} {handle:?}", set.name));
    let mut table = Table::default();
    let operations = (set.operations)();
    let rows = operations.iter().enumerate();
    let rows = rows.filter(|(_, operation)| operation.kind != Kind::Upkeep);
    for (_, operation) in rows.filter(|(number, operation)| handle.takes(*number, operation)) {
        let before = faults.len();
        let (mut is_refused, mut is_taken) = (true, false);
        for target in TENANTS {
            let at = At { own, target };
            let (seen, expected) = join(
                performed(operation, handle, &in_all, at),
                performed(operation, handle, &in_alone, at),
            )
            .await;
            is_refused &= seen.is_err() || target == own;
            is_taken |= faults.compare(operation, at, all.masked(seen), alone.masked(expected));
        }
        if operation.kind == Kind::Write {
            let (now, expected) = join(all.documents(), alone.documents()).await;
            let can_be_same = (!is_taken).then_some(&expected);
            faults.compare_documents(operation, own, (all.first(), &now), can_be_same);
            join(all.reset(&now), alone.reset(&expected)).await;
        }
        table.add(operation, faults.len() == before, is_refused);
    }
    println!("{}: {handle:?}\n{table}", set.name);
    faults.compare_all(all.first(), &all.documents().await);
    join(all.drop(), alone.drop()).await;
    faults.finish();
}

macro_rules! checks {
    ($($name:ident $set:ident $handle:ident;)*) => {$(
        #[odm_tests::test]
        fn $name() {
            with_db(async |t| check(&t, &$set::SET, Handle::$handle).await);
        }
    )*};
}

checks! {
    a_handle_of_a_tenant_changes_and_sees_nothing_of_others plain Scoped;
    a_handle_with_deleted_documents_changes_and_sees_nothing_of_others plain WithDeleted;
    a_transaction_changes_and_sees_nothing_of_other_tenants plain InTransaction;
    a_handle_on_a_standalone_server_changes_and_sees_nothing_of_others plain Standalone;
    a_handle_of_a_tenant_of_collated_types_changes_and_sees_nothing_of_others collated Scoped;
    a_handle_with_deleted_documents_of_collated_types_changes_and_sees_nothing_of_others collated WithDeleted;
    a_transaction_on_collated_types_changes_and_sees_nothing_of_other_tenants collated InTransaction;
    a_handle_of_a_tenant_of_sharded_types_changes_and_sees_nothing_of_others sharded Scoped;
    a_transaction_on_sharded_types_changes_and_sees_nothing_of_other_tenants sharded InTransaction;
    a_handle_of_collated_types_on_a_standalone_server_changes_and_sees_nothing_of_others collated Standalone;
}
