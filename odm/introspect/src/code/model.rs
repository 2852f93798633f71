//! The types that are to be written: structs, enums and their fields, without their text.

use crate::kind::Kind;
use std::collections::BTreeSet;

/// All types of a database.
#[derive(Clone, Debug, Default)]
pub struct Models {
    /// The name of the database.
    pub database: String,
    /// The collections, with their structs.
    pub collections: Vec<Model>,
    /// Structs and enums, those of the collections too.
    pub types: Vec<Named>,
    /// The types that `mod.rs` declares for all files.
    pub helpers: BTreeSet<Helper>,
    /// The collections and paths of integers of both widths, which are all written in 64 bits.
    pub wide: BTreeSet<(String, String)>,
    /// What `mod.rs` says before all.
    pub notes: Vec<String>,
}

/// A collection.
#[derive(Clone, Debug)]
pub struct Model {
    /// Its name.
    pub collection: String,
    /// The file, without its ending.
    pub module: String,
    /// The struct, as an index of [`Models::types`].
    pub root: usize,
}

/// A type with a name.
#[derive(Clone, Debug)]
pub struct Named {
    /// Its name in Rust.
    pub name: String,
    /// The path at which it was found first; empty of a document.
    pub path: String,
    /// The file in which it stands, as an index of [`Models::collections`].
    pub file: usize,
    /// The comment above it, by lines of any length.
    pub docs: Vec<String>,
    /// Remarks between the comment and the type.
    pub comments: Vec<String>,
    /// The options of `#[document(…)]`, or of `#[embed(…)]`.
    pub options: Vec<String>,
    /// The collection whose documents its fields are copies of: it is the element of a subset.
    pub copies: Option<usize>,
    /// Its form.
    pub is: Is,
}

/// The form of a type.
#[derive(Clone, Debug, PartialEq)]
pub enum Is {
    /// A struct of named fields.
    Struct {
        /// Its fields.
        fields: Vec<Member>,
        /// The field for those whose names can't be declared, and for `others`.
        extra: Option<String>,
        /// The number of fields that hardly a document has: they are not declared.
        others: u64,
        /// Whether documents have the fields in several orders.
        reordered: bool,
    },
    /// An enum without content: the names in Rust and in the database.
    Enum(Vec<(String, String)>),
    /// An enum without names of variants: one for each type of value.
    Union(Vec<(String, Type)>),
    /// An enum of documents, whose first field names the variant.
    Tagged {
        /// The stored name of that field.
        tag: String,
        /// The variants.
        variants: Vec<Variant>,
    },
    /// A struct around an array or a map, which stands in another array.
    Around(Box<Member>),
}

/// A variant of an enum with a tag.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// Its name in Rust.
    pub rust: String,
    /// The value of the tag.
    pub stored: String,
    /// Its fields.
    pub fields: Vec<Member>,
}

/// A field.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its path within the collection, the first of several.
    pub path: String,
    /// The stored name.
    pub stored: String,
    /// The name in Rust.
    pub rust: String,
    /// Its type, without what [`Presence`] adds.
    pub ty: Type,
    /// Whether it may be missing or null.
    pub presence: Presence,
    /// Attributes in whole: `#[index(unique)]`.
    pub attributes: Vec<String>,
    /// Remarks above it.
    pub comments: Vec<String>,
    /// Its declaration beside its type.
    pub role: Role,
}

/// The declaration of a field beside its type. Names of fields are stored names.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Role {
    /// Nothing.
    #[default]
    Plain,
    /// A copy.
    Copy {
        /// The reference beside it.
        by: String,
        /// The field of the document that it names.
        from: String,
    },
    /// The id of the document that the other fields of the struct are copies of.
    CopiedId,
    /// One side of a two-way reference: the field of the other side.
    TwoWay(String),
    /// A reference to the document that this one belongs to.
    Parent {
        /// Whether a document has one such child at most.
        one: bool,
        /// The fields that its children are sorted by, and whether the greatest comes first.
        order: Vec<(String, bool)>,
    },
    /// The number of children.
    Count(Children),
    /// The sum of a field of the children.
    Sum(Children, String),
    /// The first of the children.
    Subset {
        /// The children.
        children: Children,
        /// The field of an element that names its child.
        id: String,
        /// The greatest number of them.
        limit: u64,
        /// The field of theirs that the order follows.
        order: String,
        /// Whether the greatest stands first.
        descending: bool,
    },
}

/// The documents that refer to another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Children {
    /// Their collection, as an index of [`Models::collections`].
    pub collection: usize,
    /// The collection of the other one.
    pub parent: usize,
    /// The reference.
    pub by: String,
}

impl Role {
    /// A reference to a parent whose index has no further field.
    pub const PARENT: Self = Self::Parent {
        one: false,
        order: Vec::new(),
    };

    /// The children that a value follows from.
    pub fn children(&self) -> Option<&Children> {
        match self {
            Self::Count(children) | Self::Sum(children, _) | Self::Subset { children, .. } => Some(children),
            _ => None,
        }
    }
}

impl Is {
    /// The fields, of all variants.
    pub fn members(&self) -> Vec<&Member> {
        match self {
            Self::Struct { fields, .. } => fields.iter().collect(),
            Self::Tagged { variants, .. } => variants.iter().flat_map(|variant| &variant.fields).collect(),
            Self::Around(member) => vec![member],
            Self::Enum(_) | Self::Union(_) => Vec::new(),
        }
    }

    /// The types in it.
    pub fn types(&self) -> Vec<&Type> {
        match self {
            Self::Union(variants) => variants.iter().map(|(_, ty)| ty).collect(),
            _ => self.members().into_iter().map(|member| &member.ty).collect(),
        }
    }
}

/// Whether a field may be missing or null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Presence {
    /// Some documents lack it.
    pub missing: bool,
    /// It is null in some.
    pub null: bool,
}

/// Types without parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Plain {
    /// `bool`
    Bool,
    /// `i32`
    I32,
    /// `i64`
    I64,
    /// `f64`
    F64,
    /// `Decimal128`
    Decimal,
    /// `String`
    String,
    /// `ObjectId`
    ObjectId,
    /// `Uuid`
    Uuid,
    /// `Binary`
    Binary,
    /// `DateTime`
    Date,
    /// `Timestamp`
    Timestamp,
    /// `Regex`
    Regex,
}

/// The type of a field, an element or a value of a map.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// One without parts.
    Plain(Plain),
    /// Nothing but null was found.
    Unknown,
    /// `Bson`, which is not looked into.
    Any,
    /// `bson::Document`, which is not looked into.
    AnyDocument,
    /// `Vec<Bson>`, which is not looked into: only empty arrays were found.
    AnyList,
    /// A helper of `mod.rs`.
    Helper(Helper),
    /// A struct or an enum, by its index.
    Named(usize),
    /// A `Vec`.
    List(Many),
    /// A `BTreeMap` of texts.
    Map(Many),
    /// A reference.
    Ref(Target),
}

/// The content of an array or a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Many {
    /// The type of an item.
    pub item: Box<Type>,
    /// Whether some items are null.
    pub null: bool,
    /// The greatest number that was found.
    pub found: u64,
    /// The length of the longest key of a map, in characters.
    pub key: u64,
}

/// The target of a reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The collection, as an index of [`Models::collections`].
    pub collection: usize,
    /// The stored name of the field that it holds the value of, where it isn't `_id`.
    pub by: Option<String>,
    /// The type of the value.
    pub key: Key,
}

/// The type of a value that a reference holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// One without parts.
    Plain(Plain),
    /// A helper.
    Helper(Helper),
    /// One of several types: that of the `_id` of the target.
    Own,
}

/// Types that `mod.rs` declares for all files, where they are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Helper {
    /// `Integer`: stored in 32 bits where they are enough.
    Integer,
    /// `Number`: an integer or a floating-point number, as it was stored.
    Number,
    /// `OrNull<T>`: missing, null or a value.
    OrNull,
}

impl Helper {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Integer => "Integer",
            Self::Number => "Number",
            Self::OrNull => "OrNull",
        }
    }
}

impl Plain {
    /// The type of one kind of value.
    pub fn of(kind: Kind) -> Option<Self> {
        Some(match kind {
            Kind::Bool => Self::Bool,
            Kind::Int => Self::I32,
            Kind::Long => Self::I64,
            Kind::Double => Self::F64,
            Kind::Decimal => Self::Decimal,
            Kind::String => Self::String,
            Kind::ObjectId => Self::ObjectId,
            Kind::Uuid => Self::Uuid,
            Kind::BinData => Self::Binary,
            Kind::Date => Self::Date,
            Kind::Timestamp => Self::Timestamp,
            Kind::Regex => Self::Regex,
            Kind::Null | Kind::Object | Kind::Array | Kind::Other => return None,
        })
    }

    /// The kind of value that it is written as.
    pub fn kind(self) -> Kind {
        match self {
            Self::Bool => Kind::Bool,
            Self::I32 => Kind::Int,
            Self::I64 => Kind::Long,
            Self::F64 => Kind::Double,
            Self::Decimal => Kind::Decimal,
            Self::String => Kind::String,
            Self::ObjectId => Kind::ObjectId,
            Self::Uuid => Kind::Uuid,
            Self::Binary => Kind::BinData,
            Self::Date => Kind::Date,
            Self::Timestamp => Kind::Timestamp,
            Self::Regex => Kind::Regex,
        }
    }

    /// Its name in Rust.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::F64 => "f64",
            Self::Decimal => "Decimal128",
            Self::String => "String",
            Self::ObjectId => "ObjectId",
            Self::Uuid => "Uuid",
            Self::Binary => "Binary",
            Self::Date => "DateTime",
            Self::Timestamp => "Timestamp",
            Self::Regex => "Regex",
        }
    }
}

impl Presence {
    /// Whether there may be no value.
    pub fn is_optional(self) -> bool {
        self.missing || self.null
    }

    /// Whether both are found, which an `Option` does not tell apart.
    pub fn is_both(self) -> bool {
        self.missing && self.null
    }

    /// The options of both.
    pub fn or(self, other: Self) -> Self {
        Self {
            missing: self.missing || other.missing,
            null: self.null || other.null,
        }
    }
}

impl Type {
    /// Whether odm does not look into it.
    pub fn is_opaque(&self) -> bool {
        matches!(self, Self::Any | Self::AnyDocument | Self::AnyList)
    }

    /// Whether it is an array or a map, which needs a bound.
    pub fn is_many(&self) -> bool {
        matches!(self, Self::List(_) | Self::Map(_))
    }
}

impl Models {
    /// The type at a path of a collection, as in the design.
    pub fn type_at(&self, collection: &str, path: &str) -> Option<Type> {
        let model = self
            .collections
            .iter()
            .find(|model| model.collection == collection)?;
        let mut at = Type::Named(model.root);
        let mut rest = path;
        while !rest.is_empty() {
            // A struct around an array is no part of the path, and a union leads to its document.
            if let Type::Named(number) = &at {
                match &self.types.get(*number)?.is {
                    Is::Around(member) => {
                        at = member.ty.clone();
                        continue;
                    }
                    Is::Union(variants) => {
                        at = variants
                            .iter()
                            .map(|(_, ty)| ty)
                            .find(|ty| matches!(ty, Type::Named(_)))?
                            .clone();
                        continue;
                    }
                    Is::Struct { .. } | Is::Enum(_) | Is::Tagged { .. } => {}
                }
            }
            if let Some(behind) = rest.strip_prefix("[]").or_else(|| rest.strip_prefix("{}")) {
                let (Type::List(many) | Type::Map(many)) = at else {
                    return None;
                };
                at = *many.item;
                rest = behind;
                continue;
            }
            let rest_of = rest.strip_prefix('.').unwrap_or(rest);
            let Type::Named(number) = at else { return None };
            // The longest name: one may be the beginning of another.
            let members = self.types.get(number)?.is.members();
            let field = members
                .into_iter()
                .filter(|field| {
                    rest_of.strip_prefix(field.stored.as_str()).is_some_and(|behind| {
                        behind.is_empty()
                            || behind.starts_with('.')
                            || behind.starts_with("[]")
                            || behind.starts_with("{}")
                    })
                })
                .max_by_key(|field| field.stored.len())?;
            at = field.ty.clone();
            rest = rest_of.get(field.stored.len()..)?;
        }
        Some(at)
    }

    /// The text of a type, as it stands in a field.
    pub fn text(&self, ty: &Type) -> String {
        match ty {
            Type::Plain(plain) => plain.name().to_owned(),
            Type::Unknown => "String".to_owned(),
            Type::Any => "Bson".to_owned(),
            Type::AnyDocument => "odm::bson::Document".to_owned(),
            Type::AnyList => "Vec<Bson>".to_owned(),
            Type::Helper(helper) => helper.name().to_owned(),
            Type::Named(at) => self.types.get(*at).map_or("", |named| &named.name).to_owned(),
            Type::List(many) => format!("Vec<{}>", self.item_text(many)),
            Type::Map(many) => format!("BTreeMap<String, {}>", self.item_text(many)),
            Type::Ref(target) => {
                let document = self.document(target.collection);
                match (&target.by, target.key) {
                    (None, _) | (Some(_), Key::Own) => format!("Ref<{document}>"),
                    (Some(_), Key::Plain(key)) => format!("Ref<{document}, {}>", key.name()),
                    (Some(_), Key::Helper(key)) => format!("Ref<{document}, {}>", key.name()),
                }
            }
        }
    }

    fn item_text(&self, many: &Many) -> String {
        let item = self.text(&many.item);
        if many.null {
            format!("Option<{item}>")
        } else {
            item
        }
    }

    /// The fields of the struct of a collection.
    pub fn root(&self, collection: usize) -> Option<&[Member]> {
        match &self.types.get(self.collections.get(collection)?.root)?.is {
            Is::Struct { fields, .. } => Some(fields),
            _ => None,
        }
    }

    /// A field of the struct of a collection.
    pub fn field(&self, collection: usize, stored: &str) -> Option<&Member> {
        self.root(collection)?
            .iter()
            .find(|member| member.stored == stored)
    }

    /// The name of the struct of a collection.
    pub fn document(&self, collection: usize) -> &str {
        let model = self.collections.get(collection);
        let named = model.and_then(|model| self.types.get(model.root));
        named.map_or("", |named| &named.name)
    }

    /// The text of a field's type.
    pub fn member_text(&self, member: &Member) -> String {
        let text = self.text(&member.ty);
        match member.presence {
            presence if presence.is_both() && !member.ty.is_opaque() => format!("OrNull<{text}>"),
            // `Bson` holds null itself.
            Presence { missing: false, .. } if member.ty == Type::Any => text,
            presence if presence.is_optional() => format!("Option<{text}>"),
            _ => text,
        }
    }
}
