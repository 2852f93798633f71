//! The handle that everything starts from: a database, and the models that are stored in it.

use crate::{Document, Error, Result, document::DocumentMeta, server::Server};
use mongodb::Database;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// A database and the documents that are stored in it. Cheap to clone.
#[derive(Clone)]
pub struct Odm {
    inner: Arc<Inner>,
}

struct Inner {
    db: Database,
    models: Vec<Model>,
    server: OnceCell<Server>,
}

/// A document type, as `models![]` hands it to [`Odm::new`].
#[derive(Clone, Copy, Debug)]
pub struct Model {
    pub(crate) meta: &'static DocumentMeta,
}

impl Model {
    /// The model of a document type.
    pub const fn of<T: Document>() -> Model {
        Model { meta: T::META }
    }
}

/// The list of document types that a database holds: `models![Person, Movie]`.
#[macro_export]
macro_rules! models {
    ($($document:ty),* $(,)?) => {
        [$($crate::Model::of::<$document>()),*]
    };
}

impl std::fmt::Debug for Odm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Odm")
            .field("database", &self.inner.db.name())
            .field("models", &self.inner.models)
            .finish()
    }
}

impl Odm {
    /// A handle on `db` for these documents. Nothing is sent to the server.
    ///
    /// # Errors
    /// [`Error::Models`] where two documents share a collection.
    pub fn new(db: Database, models: impl IntoIterator<Item = Model>) -> Result<Odm> {
        let models: Vec<Model> = models.into_iter().collect();
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
        if !problems.is_empty() {
            return Err(Error::Models { problems });
        }
        Ok(Odm {
            inner: Arc::new(Inner {
                db,
                models,
                server: OnceCell::new(),
            }),
        })
    }

    /// The driver's database.
    pub fn database(&self) -> &Database {
        &self.inner.db
    }

    /// The registered documents.
    pub(crate) fn models(&self) -> &[Model] {
        &self.inner.models
    }

    /// What the deployment is and can do: asked once (one round trip), then remembered.
    pub async fn server(&self) -> Result<&Server> {
        self.inner
            .server
            .get_or_try_init(|| Server::ask(&self.inner.db))
            .await
    }
}
