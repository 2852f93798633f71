//! The declarations of search and vector indexes of Atlas.

/// A declared search or vector index.
#[derive(Clone, Copy, Debug)]
pub struct SearchIndexMeta {
    /// Its name.
    pub name: &'static str,
    /// Its content, and its options.
    pub kind: SearchIndexKind,
}

/// The content of a search index.
#[derive(Clone, Copy, Debug)]
pub enum SearchIndexKind {
    /// Words and values, for `$search`: `search_index(…)`.
    Search(SearchMeta),
    /// Vectors, for `$vectorSearch`: `vector_index(…)`.
    Vector(VectorMeta),
}

/// `#[document(search_index(…))]`.
#[derive(Clone, Copy, Debug)]
pub struct SearchMeta {
    /// How texts are cut into words; the default of Atlas is `lucene.standard`.
    pub analyzer: Option<&'static str>,
    /// Whether Atlas also indexes every field of a type that it knows.
    pub dynamic: bool,
    /// The declared fields; a field with several kinds stands there once for each.
    pub fields: &'static [SearchFieldMeta],
}

/// A field of a search index.
#[derive(Clone, Copy, Debug)]
pub struct SearchFieldMeta {
    /// Gives the dotted name.
    pub path: fn() -> &'static str,
    /// In which way it is indexed, in MongoDB's words: `string`, `objectId`.
    pub kind: &'static str,
    /// How its texts are cut into words, where that differs from the index.
    pub analyzer: Option<&'static str>,
}

/// `#[document(vector_index(…))]`.
#[derive(Clone, Copy, Debug)]
pub struct VectorMeta {
    /// Gives the dotted name of the field with the vectors.
    pub path: fn() -> &'static str,
    /// The number of numbers in each vector.
    pub dimensions: u32,
    /// How vectors are compared, in MongoDB's words: `cosine`, `dotProduct`, `euclidean`.
    pub similarity: &'static str,
    /// How vectors are made smaller, where that is declared: `scalar`, `binary`.
    pub quantization: Option<&'static str>,
    /// Give the dotted names of the fields by which a search can be restricted.
    pub filter: &'static [fn() -> &'static str],
}
