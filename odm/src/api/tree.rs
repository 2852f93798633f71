//! A document with the documents that refer to it, inserted in one transaction.

use crate::api::documents::{Stored, insert};
use crate::api::encoded::encoded;
use crate::api::insert_many::insert_encoded;
use crate::model::document::{DocumentMeta, Fresh};
use crate::model::encode::owned;
use crate::store::core::Core;
use crate::store::decode::single_value;
use crate::store::options::configured;
use crate::store::packed::DocumentBuffer;
use crate::store::transaction::transaction;
use crate::{Collection, Document, Error, Insert, Insertable, Ref, Result};
use futures::future::BoxFuture;
use mongodb::bson::{Bson, RawDocument, RawDocumentBuf};
use std::future::IntoFuture;

/// Maximum number of documents of a tree: a transaction has to end within a minute.
const MOST: usize = 1_000;

/// A document with the documents that refer to it, and those that refer to these, to insert together.
///
/// ```no_run
/// # use samples::model::*;
/// use odm::write::Tree;
///
/// # fn example(user: NewUser, comments: fn(Ref<Post>) -> Vec<NewComment>) -> Tree<User> {
/// Tree::new(user).with_trees(|author| {
///     let post = NewPost { title: "Hello".into(), author, tags: vec![] };
///     [Tree::<Post>::new(post).with(comments)]
/// })
/// # }
/// ```
#[derive(Debug)]
pub struct Tree<T: Document> {
    /// The document where it is whole, and as it is stored.
    root: Result<(Option<T>, RawDocumentBuf)>,
    below: Vec<Generation>,
}

/// Documents of one type, as far below the root as each other.
#[derive(Clone, Debug)]
struct Generation {
    depth: usize,
    meta: &'static DocumentMeta,
    documents: Vec<RawDocumentBuf>,
}

impl<T: Document> Tree<T> {
    /// A document without others.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # fn example(user: NewUser) {
    /// let alone = odm::write::Tree::<User>::new(user);
    /// # }
    /// ```
    pub fn new(document: impl Insertable<T>) -> Tree<T> {
        Tree::of(document.fresh(crate::now()))
    }

    fn of(document: Fresh<T>) -> Tree<T> {
        Tree {
            root: encoded(document),
            below: Vec::new(),
        }
    }

    /// With these documents, which are made with the reference to it.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # fn example(user: NewUser, posts: fn(Ref<User>) -> Vec<NewPost>) {
    /// let tree = odm::write::Tree::<User>::new(user).with(posts);
    /// # }
    /// ```
    pub fn with<C, I>(self, documents: impl FnOnce(Ref<T>) -> I) -> Tree<T>
    where
        C: Document,
        I: IntoIterator<Item: Insertable<C>>,
    {
        self.with_trees(|root| documents(root).into_iter().map(Tree::<C>::new))
    }

    /// With these documents, each of which has documents below it.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # use odm::write::Tree;
    /// # fn example(user: NewUser, posts: fn(Ref<User>) -> Vec<Tree<Post>>) {
    /// let tree = Tree::<User>::new(user).with_trees(posts);
    /// # }
    /// ```
    pub fn with_trees<C, I>(mut self, trees: impl FnOnce(Ref<T>) -> I) -> Tree<T>
    where
        C: Document,
        I: IntoIterator<Item = Tree<C>>,
    {
        let id = self.root.as_ref().ok().map(|(_, raw)| id::<T>(raw));
        match id {
            Some(Ok(id)) => {
                for tree in trees(Ref::new(id)) {
                    self.add(tree);
                }
            }
            Some(Err(error)) => self.root = Err(error),
            None => {}
        }
        self
    }

    /// Adds a tree below the root. Its first error takes the place of the root: nothing is sent then.
    fn add<C: Document>(&mut self, tree: Tree<C>) {
        match tree.root {
            Ok((_, document)) => self.add_generation(Generation {
                depth: 1,
                meta: C::META,
                documents: vec![document],
            }),
            Err(error) if self.root.is_ok() => self.root = Err(error),
            Err(_) => {}
        }
        for mut generation in tree.below {
            generation.depth += 1;
            self.add_generation(generation);
        }
    }

    fn add_generation(&mut self, mut new: Generation) {
        let same = |there: &&mut Generation| there.depth == new.depth && std::ptr::eq(there.meta, new.meta);
        match self.below.iter_mut().find(same) {
            Some(there) => there.documents.append(&mut new.documents),
            None => self.below.push(new),
        }
    }
}

/// The id of a document that is encoded.
fn id<T: Document>(document: &RawDocument) -> Result<T::Id> {
    let refused = |message: String| Error::Decode {
        collection: T::META.collection.to_owned(),
        id: None,
        ty: T::META.name,
        path: "_id".to_owned(),
        message,
    };
    let id = document
        .get("_id")
        .map_err(|source| refused(source.to_string()))?;
    let id = id
        .map(owned)
        .transpose()
        .map_err(|source| refused(source.to_string()))?;
    single_value(id.unwrap_or(Bson::Null)).map_err(|fault| refused(fault.message()))
}

impl<T: Document> Insert<T> {
    /// Inserts documents that refer to this one with it, in one transaction: the application's, where there is one. The closure gets
    /// the reference to the document, whose id is known before anything is sent.
    ///
    /// The document is inserted first, then the others, those of one type together; of [`Tree`]s level by level. It is returned as
    /// it is stored with all of them: with the counts, subsets and links that they bring.
    ///
    /// # Errors
    /// Those of [`Insert`] and of [`InsertMany`](crate::write::InsertMany). [`Error::Query`] for more than 1,000 documents, before anything
    /// is sent. [`Error::Unsupported`] where the deployment has no transactions.
    ///
    /// # Cost
    /// Those of [`Insert`], those of an [`insert_many`](Collection::insert_many) for each type (and level), and one for the commit; one
    /// more to read the document where it counts, copies or links those below it.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(users: Collection<User>, user: NewUser, titles: Vec<String>) -> odm::Result<()> {
    /// let user = users
    ///     .insert(user)
    ///     .with(|author| titles.into_iter().map(move |title| NewPost { title, author, tags: vec![] }))
    ///     .await?;
    /// # Ok(()) }
    /// ```
    pub fn with<C, I>(self, documents: impl FnOnce(Ref<T>) -> I) -> InsertTree<T>
    where
        C: Document,
        I: IntoIterator<Item: Insertable<C>>,
    {
        InsertTree {
            core: self.core,
            tree: Tree::of(self.document).with(documents),
        }
    }
}

impl<T: Document> Collection<T> {
    /// Inserts a document with those below it, as [`Insert::with`] does, of several levels.
    ///
    /// # Errors
    /// Those of [`Insert::with`].
    ///
    /// # Cost
    /// Those of [`Insert::with`].
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # use odm::write::Tree;
    /// # async fn example(users: Collection<User>, tree: Tree<User>) -> odm::Result<()> {
    /// let user = users.insert_tree(tree).await?;
    /// # Ok(()) }
    /// ```
    pub fn insert_tree(&self, tree: Tree<T>) -> InsertTree<T> {
        InsertTree {
            core: self.core().clone(),
            tree,
        }
    }
}

/// A document to insert with the documents that refer to it: [`Insert::with`]. `.await` executes the insert and returns the document as
/// it is stored.
///
/// # Errors
/// Those of [`Insert::with`].
///
/// # Cost
/// Those of [`Insert::with`].
///
/// # Example
/// ```no_run
/// # use samples::model::*;
/// # async fn example(users: Collection<User>, user: NewUser, posts: fn(Ref<User>) -> Vec<NewPost>) -> odm::Result<()> {
/// let user: User = users.insert(user).with(posts).await?;
/// # Ok(()) }
/// ```
#[must_use = "an insert does nothing until it is awaited"]
#[derive(Debug)]
pub struct InsertTree<T: Document> {
    core: Core,
    tree: Tree<T>,
}

configured!(WriteOptions for core of [T: Document] InsertTree<T>;);

impl<T: Document> InsertTree<T> {
    /// With these documents too, of the same or of another type.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(
    /// #     users: Collection<User>, user: NewUser, posts: fn(Ref<User>) -> Vec<NewPost>, profile: fn(Ref<User>) -> [NewProfile; 1],
    /// # ) -> odm::Result<()> {
    /// let user = users.insert(user).with(posts).with(profile).await?;
    /// # Ok(()) }
    /// ```
    pub fn with<C, I>(self, documents: impl FnOnce(Ref<T>) -> I) -> InsertTree<T>
    where
        C: Document,
        I: IntoIterator<Item: Insertable<C>>,
    {
        InsertTree {
            core: self.core,
            tree: self.tree.with(documents),
        }
    }
}

impl<T: Document> IntoFuture for InsertTree<T> {
    type Output = Result<T>;
    type IntoFuture = BoxFuture<'static, Result<T>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::into_pin(Box::new(async move {
            let InsertTree { core, tree } = self;
            let (given, root) = tree.root?;
            let mut below = tree.below;
            below.sort_by_key(|generation| generation.depth);
            let documents = 1 + below
                .iter()
                .map(|generation| generation.documents.len())
                .sum::<usize>();
            if documents > MOST {
                return Err(Error::Query {
                    collection: core.meta().collection,
                    message: format!(
                        "the tree has {documents} documents, and one transaction inserts at most {MOST}: insert the document first, and \
                         those that refer to it by `insert_many`"
                    ),
                });
            }
            let id = id::<T>(&root)?;
            let (again, stored) = match core.session() {
                Some(session) => {
                    let unfinished = session.unfinished();
                    let made = insert_all(&core, root, &below, &id).await;
                    unfinished.complete();
                    made?
                }
                None => {
                    // Its span counts the commit and what follows it, those of the inserts count what is theirs.
                    let trace = core.trace("insert_tree");
                    let work = transaction(core.odm(), Some(&trace), |session| {
                        let (core, root, below, id) = (core.within(Some(session)), root.clone(), &below, &id);
                        async move { insert_all(&core, root, below, id).await }
                    });
                    trace.run(work).await?
                }
            };
            match again {
                Some(document) => Ok(document),
                None => stored.read(given),
            }
        }))
    }
}

/// Inserts the documents, from the root downwards, in the transaction of the handle. Gives the root as it is afterwards where the others
/// have changed it, and as it was inserted.
async fn insert_all<T: Document>(
    core: &Core,
    root: RawDocumentBuf,
    below: &[Generation],
    id: &T::Id,
) -> Result<(Option<T>, Stored)> {
    let stored = insert(core.clone(), root).await?;
    let others = insert_below(core, below, id).await;
    if let (Err(error), Some(session)) = (&others, core.session()) {
        // The root alone is not committed, whatever the caller does with the error.
        session.spoil(error);
    }
    Ok((others?, stored))
}

/// Inserts the documents below the root. Gives the root as it is afterwards where they have changed it.
async fn insert_below<T: Document>(core: &Core, below: &[Generation], id: &T::Id) -> Result<Option<T>> {
    for generation in below {
        let mut documents = DocumentBuffer::default();
        for (at, document) in generation.documents.iter().enumerate() {
            documents.add(at, |bytes| {
                bytes.extend_from_slice(document.as_bytes());
                Ok(())
            });
        }
        let others = Core::new(core.odm(), generation.meta, core.session().cloned());
        insert_encoded(&others, vec![documents], true, true).await?;
    }
    let graph = core.odm().graph();
    let is_changed = graph.derived_in(core.meta()).next().is_some() || graph.is_linked(core.meta());
    if !is_changed {
        return Ok(None);
    }
    let all = Collection::<T>::new(core.odm(), core.session().cloned());
    all.get(Ref::<T>::new(id.clone())).required().await.map(Some)
}
