//! Generated code of the derives, written by hand: the contract between the two crates, and a test of it.
#![allow(dead_code, missing_docs)]

use crate::__private as odm;
use mongodb::bson::oid::ObjectId;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Person {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub name: String,
    pub addresses: Vec<Address>,
    pub home: Option<Address>,
    pub boss: Option<odm::Ref<Person>>, // #[parent_ref(order(name))]
}

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Address {
    pub street: String,
    pub city: String,
}

// derive(Embed) for Address

pub struct AddressFields<R = Address, P = odm::Root> {
    pub street: odm::Path<R, String, odm::At<P, Address, 0>>,
    pub city: odm::Path<R, String, odm::At<P, Address, 1>>,
}

/// A document with nothing declared but its fields, to begin with.
pub(crate) const fn document(
    name: &'static str,
    collection: &'static str,
    shape: odm::ShapeFn,
) -> odm::DocumentMeta {
    odm::DocumentMeta {
        name,
        collection,
        shape,
        indexes: &[],
        validation: odm::Validation::STRICT,
        collation: None,
        expiry: None,
        kind: odm::CollectionKind::Plain,
        append_only: false,
        soft_delete: None,
        shared: &[],
        pre_and_post_images: false,
        bucket: None,
        extra: || false,
        hooks: &[],
        search_indexes: &[],
        shard_key: None,
        generated_id: false,
        claims: None,
        several: odm::Several::No,
        checks: &[],
        decode: |_| Ok(()),
    }
}

/// A field without any declaration, to begin with.
pub(crate) const FIELD: odm::FieldMeta = odm::FieldMeta {
    rust: "x",
    name: "x",
    aliases: &[],
    ty: "X",
    shape: || odm::Shape::String,
    bounds: odm::Bounds::NONE,
    required: true,
    flatten: false,
    managed: odm::Managed::No,
    size: None,
    unique: false,
    reference: None,
    entry: None,
    copied: None,
    volatile: false,
    skips_none: false,
    set: false,
    default: None,
    left_out: false,
    inserted: false,
    stored: false,
    shows_more: false,
    cut: false,
    access: odm::Access::Open,
    sensitive: false,
    deferred: false,
    json_text: false,
    json: None,
    beside: false,
};

impl<R, P> Clone for AddressFields<R, P> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R, P> Copy for AddressFields<R, P> {}

impl odm::Fielded for Address {
    const FIELDS: &'static [odm::FieldMeta] = &[
        odm::FieldMeta {
            rust: "street",
            name: "street",
            aliases: &[],
            ty: "String",
            shape: <String as odm::Value>::shape,
            bounds: odm::Bounds::NONE,
            required: true,
            flatten: false,
            managed: odm::Managed::No,
            size: <String as odm::Value>::SIZE.with(None),
            unique: false,
            reference: None,
            entry: None,
            copied: None,
            volatile: false,
            skips_none: false,
            set: false,
            default: None,
            left_out: false,
            inserted: false,
            stored: false,
            shows_more: false,
            cut: false,
            access: odm::Access::Open,
            sensitive: false,
            deferred: false,
            json_text: false,
            json: None,
            beside: false,
        },
        odm::FieldMeta {
            rust: "city",
            name: "city",
            aliases: &[],
            ty: "String",
            shape: <String as odm::Value>::shape,
            bounds: odm::Bounds {
                max_len: Some(50),
                ..odm::Bounds::NONE
            },
            required: true,
            flatten: false,
            managed: odm::Managed::No,
            size: <String as odm::Value>::SIZE.with(Some(50)),
            unique: false,
            reference: None,
            entry: None,
            copied: None,
            volatile: false,
            skips_none: false,
            set: false,
            default: None,
            left_out: false,
            inserted: false,
            stored: false,
            shows_more: false,
            cut: false,
            access: odm::Access::Open,
            sensitive: false,
            deferred: false,
            json_text: false,
            json: None,
            beside: false,
        },
    ];
}

impl odm::Value for Address {
    const SIZE: odm::Size = odm::Size::known(odm::size::document(<Address as odm::Fielded>::FIELDS));
    const DOCUMENT: bool = true;
    fn shape() -> odm::Shape {
        odm::Shape::Struct(
            const {
                &odm::StructShape {
                    ty: None,
                    name: "Address",
                    fields: <Address as odm::Fielded>::FIELDS,
                    deny_unknown: false,
                }
            },
        )
    }
}

const _: () = {
    #[allow(unused_imports)]
    use odm::stored::Otherwise as _;
    struct __Code(::core::marker::PhantomData<fn() -> Address>);
    impl __Code {
        const F0: odm::stored::Field<String> =
            odm::stored::Field::new("street\0", None, odm::stored::ByType::<String>::FUNCTIONS);
        const F1: odm::stored::Field<String> = odm::stored::Field::new(
            "city\0",
            Some(
                const {
                    &odm::stored::Limit::of(
                        const {
                            &odm::Bounds {
                                max_len: Some(50),
                                ..odm::Bounds::NONE
                            }
                        },
                    )
                },
            ),
            odm::stored::ByType::<String>::FUNCTIONS,
        );
    }
    impl odm::stored::Fields for Address {
        fn write_fields(&self, out: &mut odm::stored::Out) -> odm::stored::Done {
            out.by(&self.street, const { &__Code::F0 })?;
            out.by(&self.city, const { &__Code::F1 })?;
            Ok(())
        }
    }
    impl odm::stored::Row for Address {
        const ORACLE: Option<odm::stored::Oracle<Address>> = odm::stored::ByType::<Address>::ORACLE;

        fn read_row(fields: &mut odm::stored::Reader<'_>) -> odm::stored::Read<Self> {
            Ok(Address {
                street: fields.by(const { &__Code::F0 })?,
                city: fields.by(const { &__Code::F1 })?,
            })
        }
    }
    impl odm::stored::Stored for Address {
        fn write(
            &self,
            name: &odm::stored::Name<'_>,
            bound: odm::stored::Bound<'_>,
            out: &mut odm::stored::Out,
        ) -> odm::stored::Done {
            odm::stored::embedded(self, name, bound, out)
        }
        fn read(kind: u8, input: &mut odm::stored::Input<'_>) -> odm::stored::Read<Self> {
            odm::stored::document(kind, input)
        }
    }
};

impl odm::Compared for Address {
    type As = odm::ByParts;
}

impl crate::Embed for Address {}

impl odm::Nested for Address {
    type Form = odm::OfFields;
    type Fields<R: 'static, P: 'static> = AddressFields<R, P>;
    fn fields<R: 'static, P: 'static>() -> &'static AddressFields<R, P> {
        const {
            &AddressFields {
                street: odm::Path::NEW,
                city: odm::Path::NEW,
            }
        }
    }
}

// derive(Document) for Person

pub struct PersonFields<R = Person, P = odm::Root> {
    pub id: odm::Path<R, ObjectId, odm::At<P, Person, 0>, odm::ReadOnly>,
    pub name: odm::Path<R, String, odm::At<P, Person, 1>>,
    pub addresses: odm::Path<R, Vec<Address>, odm::At<P, Person, 2>>,
    pub home: odm::Path<R, Option<Address>, odm::At<P, Person, 3>>,
    pub boss: odm::Path<R, Option<odm::Ref<Person>>, odm::At<P, Person, 4>>,
}

impl<R, P> Clone for PersonFields<R, P> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R, P> Copy for PersonFields<R, P> {}

pub struct NewPerson {
    pub name: String,
    pub addresses: Vec<Address>,
    pub home: Option<Address>,
    pub boss: Option<odm::Ref<Person>>,
}

const _: () = {
    const fn field(
        rust: &'static str,
        name: &'static str,
        ty: &'static str,
        shape: odm::ShapeFn,
        bounds: odm::Bounds,
        size: Option<u64>,
    ) -> odm::FieldMeta {
        odm::FieldMeta {
            rust,
            name,
            aliases: &[],
            ty,
            shape,
            bounds,
            required: true,
            flatten: false,
            managed: odm::Managed::No,
            size,
            unique: false,
            reference: None,
            entry: None,
            copied: None,
            volatile: false,
            skips_none: false,
            set: false,
            default: None,
            left_out: false,
            inserted: false,
            stored: false,
            shows_more: false,
            cut: false,
            access: odm::Access::Open,
            sensitive: false,
            deferred: false,
            json_text: false,
            json: None,
            beside: false,
        }
    }

    impl odm::Fielded for Person {
        const FIELDS: &'static [odm::FieldMeta] = &[
            odm::FieldMeta {
                managed: odm::Managed::Id,
                unique: true,
                ..field(
                    "id",
                    "_id",
                    "ObjectId",
                    <ObjectId as odm::Value>::shape,
                    odm::Bounds::NONE,
                    <ObjectId as odm::Value>::SIZE.with(None),
                )
            },
            field(
                "name",
                "name",
                "String",
                <String as odm::Value>::shape,
                odm::Bounds::NONE,
                <String as odm::Value>::SIZE.with(None),
            ),
            field(
                "addresses",
                "addresses",
                "Vec<Address>",
                <Vec<Address> as odm::Array>::shape,
                odm::Bounds {
                    max_items: Some(10),
                    ..odm::Bounds::NONE
                },
                odm::size::array(
                    <<Vec<Address> as odm::Array>::Item as odm::Value>::SIZE.with(None),
                    10,
                ),
            ),
            field(
                "home",
                "home",
                "Option<Address>",
                <Option<Address> as odm::Value>::shape,
                odm::Bounds::NONE,
                <Option<Address> as odm::Value>::SIZE.with(None),
            ),
            odm::FieldMeta {
                required: false,
                ..odm::FieldMeta::refers::<Option<odm::Ref<Person>>>(
                    "boss",
                    "boss",
                    "Option<Ref<Person>>",
                    odm::Bounds::NONE,
                    const {
                        &odm::ReferenceMeta {
                            order: &[odm::IndexKey {
                                path: || <Person as crate::Document>::paths().name.name(),
                                kind: odm::IndexKind::Ascending,
                            }],
                            ..odm::ReferenceMeta::of::<Option<odm::Ref<Person>>>(
                                odm::ReferenceKind::Parent,
                                None,
                            )
                        }
                    },
                )
            },
        ];
    }
};

// The bound that never holds, with the message of rule two where a Person is embedded.
impl<'a> odm::Value for Person
where
    odm::Application<'a>: odm::Embeds<Person>,
{
    const SIZE: odm::Size = odm::Size::UNBOUNDED;
    fn shape() -> odm::Shape {
        odm::Shape::Any
    }
}

const _: () = {
    #[allow(unused_imports)]
    use odm::stored::Otherwise as _;
    struct __Code(::core::marker::PhantomData<fn() -> Person>);
    impl __Code {
        const F0: odm::stored::Field<ObjectId> =
            odm::stored::Field::new("_id\0", None, odm::stored::ByType::<ObjectId>::FUNCTIONS);
        const F1: odm::stored::Field<String> =
            odm::stored::Field::new("name\0", None, odm::stored::ByType::<String>::FUNCTIONS);
        const F2: odm::stored::Field<Vec<Address>> = odm::stored::Field::new(
            "addresses\0",
            Some(
                const {
                    &odm::stored::Limit::of(
                        const {
                            &odm::Bounds {
                                max_items: Some(10),
                                ..odm::Bounds::NONE
                            }
                        },
                    )
                },
            ),
            odm::stored::ByType::<Vec<Address>>::FUNCTIONS,
        );
        const F3: odm::stored::Field<Option<Address>> =
            odm::stored::Field::new("home\0", None, odm::stored::ByType::<Option<Address>>::FUNCTIONS);
        const F4: odm::stored::Field<Option<odm::Ref<Person>>> = odm::stored::Field::new(
            "boss\0",
            None,
            odm::stored::ByType::<Option<odm::Ref<Person>>>::FUNCTIONS,
        );
    }
    impl odm::stored::Fields for Person {
        fn write_fields(&self, out: &mut odm::stored::Out) -> odm::stored::Done {
            out.by(&self.id, const { &__Code::F0 })?;
            out.by(&self.name, const { &__Code::F1 })?;
            out.by(&self.addresses, const { &__Code::F2 })?;
            out.by(&self.home, const { &__Code::F3 })?;
            out.by(&self.boss, const { &__Code::F4 })?;
            Ok(())
        }
    }
    impl odm::stored::Row for Person {
        const ORACLE: Option<odm::stored::Oracle<Person>> = odm::stored::ByType::<Person>::ORACLE;

        fn read_row(fields: &mut odm::stored::Reader<'_>) -> odm::stored::Read<Self> {
            Ok(Person {
                id: fields.by(const { &__Code::F0 })?,
                name: fields.by(const { &__Code::F1 })?,
                addresses: fields.by(const { &__Code::F2 })?,
                home: fields.by(const { &__Code::F3 })?,
                boss: fields.by(const { &__Code::F4 })?,
            })
        }
    }
};

impl odm::Paths for PersonFields {
    type Document = Person;
}

impl odm::Identified for Person {
    type Id = ObjectId;
    type New = NewPerson;
}

impl crate::Document for Person {
    type Paths = PersonFields;
    const META: &'static odm::DocumentMeta = &odm::DocumentMeta {
        name: "Person",
        collection: "people",
        shape: || {
            odm::Shape::Struct(
                const {
                    &odm::StructShape {
                        ty: None,
                        name: "Person",
                        fields: <Person as odm::Fielded>::FIELDS,
                        deny_unknown: false,
                    }
                },
            )
        },
        indexes: &[odm::IndexMeta {
            unique: true,
            ..odm::IndexMeta::on(&[odm::IndexKey {
                path: || <Person as crate::Document>::paths().home.city.name(),
                kind: odm::IndexKind::Ascending,
            }])
        }],
        validation: odm::Validation::STRICT,
        collation: None,
        expiry: None,
        kind: odm::CollectionKind::Plain,
        append_only: false,
        soft_delete: None,
        shared: &[],
        pre_and_post_images: false,
        bucket: None,
        extra: || false,
        hooks: &[],
        search_indexes: &[],
        shard_key: None,
        generated_id: true,
        claims: None,
        several: odm::Several::No,
        checks: &[],
        decode: odm::decodes::<Person>,
    };
    fn paths() -> PersonFields {
        PersonFields {
            id: odm::Path::NEW,
            name: odm::Path::NEW,
            addresses: odm::Path::NEW,
            home: odm::Path::NEW,
            boss: odm::Path::NEW,
        }
    }
    fn id(&self) -> &ObjectId {
        &self.id
    }
    fn fresh(new: NewPerson, now: odm::DateTime) -> odm::Fresh<Person> {
        odm::Fresh::Whole(<Person as crate::FromNew>::from_new(new, now))
    }
}

impl crate::FromNew for Person {
    fn from_new(new: NewPerson, _now: odm::DateTime) -> Person {
        Person {
            id: ObjectId::new(),
            name: new.name,
            addresses: new.addresses,
            home: new.home,
            boss: new.boss,
        }
    }
}

impl crate::Insertable<Person> for Person {
    fn fresh(self, _: odm::DateTime) -> odm::Fresh<Person> {
        odm::Fresh::Whole(self)
    }
}

impl crate::Replaceable for Person {}

impl crate::Insertable<Person> for NewPerson {
    fn fresh(self, now: odm::DateTime) -> odm::Fresh<Person> {
        <Person as crate::Document>::fresh(self, now)
    }
}

impl crate::Target<Person> for ObjectId {
    type By = odm::ById;
    fn target_id(&self) -> odm::Result<odm::Bson> {
        odm::id(self)
    }
}

impl crate::Target<Person> for &ObjectId {
    type By = odm::ById;
    fn target_id(&self) -> odm::Result<odm::Bson> {
        odm::id(*self)
    }
}

impl odm::ChildOf<Person> for Person {
    fn parent() -> odm::ParentField {
        const { odm::ParentField::of(&<Person as odm::Fielded>::FIELDS[4]) }
    }
}

// Refused before anything runs: here, since the constant of a struct without parameters is computed by `cargo check`.
const _: () = {
    if let Some(message) = odm::size::too_large("Person", <Person as odm::Fielded>::FIELDS) {
        panic!("{}", message.as_str());
    }
};

#[test]
fn paths_are_joined_through_arrays_and_options() {
    let p = <Person as crate::Document>::paths();
    assert_eq!(p.id.name(), "_id");
    assert_eq!(p.addresses.city.name(), "addresses.city");
    assert_eq!(p.home.street.name(), "home.street");
}

#[test]
fn a_reference_is_declared_by_its_type_and_attribute() {
    let parent = <Person as odm::ChildOf<Person>>::parent();
    assert_eq!((parent.name, (parent.reference.by)()), ("boss", "_id"));
    assert_eq!((parent.reference.order[0].path)(), "name");
    assert_eq!((parent.reference.targets[0].document)().collection, "people");
    assert!(parent.reference.optional && !parent.reference.union);
}
