//! Makes the handle that everything starts from: checks the models, and builds their graph.

use crate::graph::Graph;
use crate::model::meta::Several;
use crate::model::several;
use crate::store::transaction;
use crate::{Error, Model, Odm, Result};
use mongodb::Database;

impl Odm {
    /// A handle on `db` for these documents. Nothing is sent to the server.
    ///
    /// # Errors
    /// [`Error::Models`] where two documents share a collection, but as variants of an enum, which stands for them; where one refers to a document that is not among these; where
    /// the two sides of a two-way reference contradict each other; where a reference is in a map, in a type that contains
    /// itself, or in a field that is also read from a previous name (an `alias`); and where an index can't work: over two
    /// arrays, hashed over one, on `_id` with options, with a filter that no server accepts, or on texts whose language would
    /// be taken from a field that holds something else; and where a cluster can't keep a shard key, or a unique index beside it. All
    /// problems are listed.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(client: odm::mongodb::Client) -> odm::Result<()> {
    /// let odm = Odm::new(client.database("app"), models![Person, Account])?;
    /// # Ok(()) }
    /// ```
    pub fn new(db: Database, models: impl IntoIterator<Item = Model>) -> Result<Odm> {
        let mut all: Vec<Model> = Vec::new();
        for model in models {
            // A variant stands for its enum, which may be listed too.
            let enum_of = match model.meta.several {
                Several::Variant { of, .. } => Some(of()),
                Several::Enum { .. } => Some(model.meta),
                Several::No => None,
            };
            match enum_of {
                Some(meta) if all.iter().any(|other| crate::graph::is_itself(other.meta, meta)) => {}
                Some(meta) => all.push(Model { meta }),
                None => all.push(model),
            }
        }
        Odm::of(db, all)
    }

    fn of(db: Database, models: Vec<Model>) -> Result<Odm> {
        let mut problems = Vec::new();
        for (i, model) in models.iter().enumerate() {
            if let Some(other) = models[..i]
                .iter()
                .find(|other| other.meta.collection == model.meta.collection)
            {
                problems.push(format!(
                    "`{}` and `{}` are both stored in the collection `{}`: give one of them another name in \
                     `#[document(collection = \"…\")]`",
                    other.meta.name, model.meta.name, model.meta.collection
                ));
            }
        }
        let documents = || {
            let models = models.iter().map(|model| model.meta);
            models.flat_map(|meta| std::iter::once(meta).chain(meta.variants()))
        };
        problems.extend(documents().flat_map(crate::schema::parallel));
        problems.extend(documents().flat_map(crate::schema::problems));
        problems.extend(documents().flat_map(crate::model::default::in_unique_indexes));
        problems.extend(models.iter().flat_map(|model| several::problems(model.meta)));
        crate::model::default::evaluate_all(models.iter().map(|model| model.meta.whole()));
        let graph = match Graph::of(&models) {
            Ok(graph) if problems.is_empty() => graph,
            Ok(_) => return Err(Error::Models { problems }),
            Err(more) => {
                problems.extend(more);
                return Err(Error::Models { problems });
            }
        };
        Ok(Odm::with_graph(db, models, graph))
    }

    /// Shuts the driver's client down, at the end of a program. Transactions whose futures were dropped are rolled back, or
    /// committed if their commit was sent; workers and reconcilers end; and then the driver ends its sessions, its tasks and
    /// its connections. Without it, a program that ends right after a dropped write leaves the transaction to the server, which
    /// ends it by itself after `transactionLifetimeLimitSeconds`, a minute by default; and the driver, which ends its sessions in
    /// a task when the last handle is dropped, may panic there while the runtime ends.
    ///
    /// It waits for the operations that run and those that begin meanwhile, and for streams until they are dropped. So end first
    /// what begins operations, and the workers and reconcilers of another [`Odm::new`] of the same client; and put a timeout around
    /// it where one may hang. Within the closure of a transaction, and in a hook, which it would wait for, it returns at once, and
    /// the client is shut down after the transaction.
    ///
    /// The client belongs to all clones of this handle, to those of other databases, and to whatever else the application made of
    /// it. Once it is shut down, operations of theirs fail with [`Error::Driver`].
    ///
    /// # Cost
    /// One round trip, which ends the sessions; and those of the transactions that are rolled back.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm, serve: impl Future<Output = ()>) {
    /// serve.await;
    /// odm.shutdown().await;
    /// # }
    /// ```
    pub async fn shutdown(self) {
        self.tasks().shut_down();
        let shutdown = async move {
            self.tasks().ended().await;
            self.database().client().clone().shutdown().await;
        };
        if transaction::is_within() {
            tokio::spawn(shutdown);
        } else {
            shutdown.await;
        }
    }

    /// The same models and options in another database, or by way of another client.
    pub(crate) fn in_database(&self, db: Database) -> Result<Odm> {
        let odm = Odm::new(db, self.models().iter().copied())?;
        Ok(self.clone().with_inner_of(odm))
    }
}
