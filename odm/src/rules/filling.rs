//! Documents and updates before they are sent: the rules fill in what the library keeps in them.

use crate::model::document::DocumentMeta;
use crate::own_fields::{CHILDREN, OWN, PENDING, Token, name_of};
use crate::plan::touches::Touches;
use crate::rules::pending::{all_fields, has_entry, mark};
use crate::{Error, Result};
use mongodb::bson::{self, Bson, Document, RawDocumentBuf};

/// Documents that an operation inserts into one collection, with what the library has in them.
pub(crate) type Inserts = (&'static DocumentMeta, Vec<RawDocumentBuf>);

/// New documents of one collection.
pub(crate) struct NewDocuments<'d> {
    /// As the application gave them.
    pub(crate) given: &'d [RawDocumentBuf],
    /// The inserts of the same operation into other collections.
    pub(crate) beside: &'d [Inserts],
    /// The library's fields in each of them.
    pub(crate) own: Document,
    /// The pending work of each of them, by name.
    pub(crate) pending: Document,
    decoded: Option<Vec<Bson>>,
}

impl<'d> NewDocuments<'d> {
    pub(crate) fn new(given: &'d [RawDocumentBuf], beside: &'d [Inserts], pending: Document) -> Self {
        NewDocuments {
            given,
            beside,
            own: Document::new(),
            pending,
            decoded: None,
        }
    }

    /// The documents to fill in.
    pub(crate) fn decoded(&mut self) -> Result<&mut [Bson]> {
        if self.decoded.is_none() {
            let decoded = self.given.iter().map(|raw| decoded(raw).map(Bson::Document));
            self.decoded = Some(decoded.collect::<Result<_>>()?);
        }
        Ok(self.decoded.as_deref_mut().unwrap_or_default())
    }

    /// The documents as they are to be stored: those that were filled in, or those that were given, with the library's fields.
    pub(crate) fn filled(mut self, token: Option<Token>) -> Result<Filled> {
        let mut own = std::mem::take(&mut self.own);
        if let Some(token) = token {
            own.insert(name_of(PENDING), mark(token, std::mem::take(&mut self.pending)));
        }
        match self.decoded {
            None if own.is_empty() => Ok(Filled::AsGiven),
            None => Ok(Filled::With(
                RawDocumentBuf::try_from(&bson::doc! { OWN: own }).map_err(encoding)?,
            )),
            Some(documents) => {
                let with_own = documents.into_iter().map(|document| {
                    let Bson::Document(mut document) = document else {
                        return Ok(RawDocumentBuf::new());
                    };
                    document.remove(OWN);
                    if !own.is_empty() {
                        document.insert(OWN, own.clone());
                    }
                    encoded(&document)
                });
                Ok(Filled::Whole(with_own.collect::<Result<_>>()?))
            }
        }
    }
}

/// What becomes of new documents.
pub(crate) enum Filled {
    AsGiven,
    /// They get these fields, in the place of their own ones of that name.
    With(RawDocumentBuf),
    /// These are stored in their place.
    Whole(Vec<RawDocumentBuf>),
}

impl Filled {
    pub(crate) fn put_into(self, documents: &mut [RawDocumentBuf]) -> Result<()> {
        match self {
            Filled::AsGiven => {}
            Filled::With(fields) => {
                for raw in documents {
                    add(raw, &fields)?;
                }
            }
            Filled::Whole(filled) => {
                for (raw, filled) in documents.iter_mut().zip(filled) {
                    *raw = filled;
                }
            }
        }
        Ok(())
    }
}

/// Adds fields to a document, in the place of those that it has.
fn add(raw: &mut RawDocumentBuf, fields: &RawDocumentBuf) -> Result<()> {
    if raw.get(OWN).map_err(encoding)?.is_some() {
        let mut document = decoded(raw)?;
        document.extend(decoded(fields)?);
        *raw = encoded(&document)?;
        return Ok(());
    }
    for field in fields {
        let (name, value) = field.map_err(encoding)?;
        raw.append(name, value);
    }
    Ok(())
}

/// An update before it is sent.
pub(crate) struct Updating<'u> {
    /// The id of the document, if it is an update of one.
    pub(crate) one: Option<&'u Bson>,
    pub(crate) upsert: bool,
    pub(crate) update: &'u mut Document,
    pub(crate) touches: &'u Touches,
    /// The inserts of the same operation.
    pub(crate) beside: &'u [Inserts],
    /// The pending work of a document that it inserts, by name.
    pub(crate) pending: Document,
}

/// A replacement before it is sent.
pub(crate) struct Replacing<'r> {
    /// As the application gave it.
    pub(crate) given: &'r RawDocumentBuf,
    /// The same, decoded, with what rules have filled in.
    pub(crate) document: Bson,
    /// The inserts of the same operation.
    pub(crate) beside: &'r [Inserts],
    /// The fields that the server computes from the stored document: expressions.
    pub(crate) computed: Document,
    /// The library's fields that the server computes: expressions.
    pub(crate) own: Document,
    /// The pending work of the document, by name.
    pub(crate) pending: Document,
}

pub(crate) fn decoded(raw: &RawDocumentBuf) -> Result<Document> {
    Document::try_from(raw).map_err(encoding)
}

pub(crate) fn encoded(document: &Document) -> Result<RawDocumentBuf> {
    RawDocumentBuf::try_from(document).map_err(encoding)
}

fn encoding(source: bson::error::Error) -> Error {
    Error::Encode {
        field: "document".to_owned(),
        source: Box::new(source),
    }
}

/// A new document with pending work for everything that is derived from it, and in it.
pub(crate) fn with_all_pending(raw: &RawDocumentBuf, token: Token) -> Result<RawDocumentBuf> {
    let mut document = decoded(raw)?;
    let mut fields = all_fields();
    if has_entry(raw, CHILDREN) {
        fields.insert(CHILDREN, Token::new());
    }
    if let Bson::Document(own) = document
        .entry(OWN.to_owned())
        .or_insert_with(|| Document::new().into())
    {
        own.insert(name_of(PENDING), mark(token, fields));
    }
    encoded(&document)
}
