//! From what was written to the error, or to a fact of the expansion.

use crate::attr::keys;
use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, parse_quote};

/// Without white space, in which token printers differ.
fn code(tokens: TokenStream) -> String {
    tokens.to_string().split_whitespace().collect()
}

fn document(input: DeriveInput) -> String {
    code(crate::expand::document::derive(&input))
}

fn embed(input: DeriveInput) -> String {
    code(crate::expand::embed::derive(&input))
}

fn has(code: &str, part: &str) -> bool {
    code.contains(&part.split_whitespace().collect::<String>())
}

#[track_caller]
fn refused(code: &str, message: &str) {
    assert!(has(code, "compile_error!"), "accepted: {code}");
    assert!(has(code, message), "not said: {message}\n{code}");
}

#[test]
fn an_object_id_is_made_by_the_library() {
    let code = document(parse_quote! {
        #[document(collection = "things")]
        pub struct Thing { #[serde(rename = "_id")] pub id: ObjectId, pub name: String }
    });
    assert!(!has(&code, "compile_error"), "{code}");
    assert!(has(&code, "pub struct NewThing { pub name: String, }"), "{code}");
    assert!(has(&code, "managed: ::odm::__private::Managed::Id"), "{code}");
}

#[test]
fn another_id_is_supplied() {
    let code = document(parse_quote! {
        #[document(collection = "things", crate = "renamed::odm")]
        struct Thing { _id: i32 }
    });
    assert!(has(&code, "struct NewThing { _id: i32, }"), "{code}");
    assert!(has(&code, "impl renamed::odm::Document for Thing"), "{code}");
}

#[test]
fn the_paths_of_variants_are_in_snake_case() {
    let code = embed(parse_quote! {
        enum Status { HTTPError { code: i32 }, Type(String), PaidBack(i32, i32), V2Sent, Crate(i32) }
    });
    assert!(!has(&code, "compile_error"), "{code}");
    for part in [
        "http_error: StatusHTTPErrorFields<__R, ::odm::__private::In<__P, Status, 0usize>>",
        "r#type: ::odm::__private::Path<__R, String, ::odm::__private::In<__P, Status, 1usize>",
        "crate_: ::odm::__private::Path<__R, i32,",
        "fn is_type(self)",
        "fn is_paid_back(self)",
        "fn is_v2_sent(self)",
    ] {
        assert!(has(&code, part), "{part}: {code}");
    }
    // An array has no names.
    assert!(!has(&code, "paid_back: ::odm"), "{code}");
    let code = embed(parse_quote! {
        enum Failure { HttpError, HTTPError }
    });
    refused(
        &code,
        "have the path `http_error` and the question `is_http_error`",
    );
}

#[test]
fn an_id_is_made_by_the_function_that_is_named() {
    let code = document(parse_quote! {
        #[document(collection = "things")]
        struct Thing { #[field(generate = ids::next)] _id: i32, name: String }
    });
    assert!(has(&code, "struct NewThing { name: String, }"), "{code}");
    assert!(
        has(&code, "Thing { _id: ids::next(), name: new.name, }"),
        "{code}"
    );
}

#[test]
fn a_builder_is_made_where_it_is_asked_for() {
    let code = document(parse_quote! {
        #[document(collection = "things", builder)]
        struct Thing { _id: ObjectId, name: String, note: Option<String>, #[serde(default)] stars: i32 }
    });
    for part in [
        "struct NewThingBuilder<__F0 = ::odm::__private::Missing> { name: __F0, note: Option<String>, stars: i32, }",
        "fn name(self, value: impl ::odm::__private::IntoText<String>)",
        "fn build(self) -> NewThing where __F0: __Given0,",
        "note: ::core::option::Option::None, stars: ::core::default::Default::default(),",
    ] {
        assert!(has(&code, part), "{part}: {code}");
    }
    let code = document(parse_quote! {
        #[document(collection = "things")]
        struct Thing { _id: ObjectId, name: String }
    });
    assert!(!has(&code, "Builder"), "{code}");
}

#[test]
fn all_errors_are_reported_at_once() {
    let code = document(parse_quote! {
        struct Thing { key: ObjectId, tags: Vec<String>, #[field(min = 3, max = 2)] age: i32 }
    });
    for message in [
        "does not name its collection",
        "is stored as `_id`",
        "without a declared bound",
        "`min` is greater",
    ] {
        refused(&code, message);
    }
}

#[test]
fn bounds_are_written_down() {
    let code = embed(parse_quote! {
        struct Part {
            #[field(min = -5, max = 1.5)] number: f64,
            #[embed(max = 3, key_len = 4)] #[field(max_len = 7)] map: HashMap<String, String>,
        }
    });
    for part in [
        "Number::Int(-5i64)",
        "Number::Float(1.5f64)",
        "Some(3u64)",
        "key_len",
        "Some(7u64)",
    ] {
        assert!(has(&code, part), "{part}: {code}");
    }
}

#[test]
fn attributes_say_what_to_write() {
    for (field, message) in [
        (
            parse_quote!(#[embed(max = -1)] a: Vec<i32>),
            "`max` takes a whole number",
        ),
        (
            parse_quote!(#[embed(max)] a: Vec<i32>),
            "`max` takes a whole number",
        ),
        (
            parse_quote!(#[embed(max = 1, max = 2)] a: Vec<i32>),
            "is given twice",
        ),
        (
            parse_quote!(#[embed(min = 1)] a: Vec<i32>),
            "is not an option of `#[embed(…)]`",
        ),
        (
            parse_quote!(#[embed(max = 3, large = 7)] a: Vec<i32>),
            "`large` takes a string",
        ),
        (parse_quote!(#[field(min = "a")] a: i32), "`min` takes a number"),
        (parse_quote!(#[field(max = 9223372036854775808)] a: i64), "64-bit"),
        (
            parse_quote!(#[field(length = 7)] a: String),
            "is not an option of `#[field(…)]`",
        ),
        (parse_quote!(#[index] a: i32), "declare the index on the document"),
        (parse_quote!(#[serde(borrow)] a: i32), "owns its values"),
        (
            parse_quote!(#[serde(getter = "x")] a: i32),
            "odm does not know what",
        ),
        (
            parse_quote!(#[serde(rename = 7)] a: i32),
            "`rename` is written `rename",
        ),
        (parse_quote!(a: Option<Arc<[u8]>>), "has no declared bound"),
        (parse_quote!(a: serde_json::Value), "can hold anything"),
        (
            parse_quote!(#[embed(depth = 0)] a: Option<Box<Part>>),
            "from 1 to 100",
        ),
    ] {
        let field: Field = field;
        let field = field.0;
        let code = embed(parse_quote!(struct Part { #field }));
        refused(&code.to_lowercase(), &message.to_lowercase());
    }
}

#[test]
fn hooks_are_called_with_the_type_of_the_document() {
    let code = document(parse_quote! {
        #[document(collection = "things", before_write = checks::all, after_write(in_transaction) = audit, after_write = tell)]
        struct Thing { _id: i32 }
    });
    for (name, at, call) in [
        (
            "checks::all",
            "BeforeWrite",
            "in_transaction::<Thing, _, _, _>(call, checks::all)",
        ),
        (
            "audit",
            "InTransaction",
            "in_transaction::<Thing, _, _, _>(call, audit)",
        ),
        (
            "tell",
            "AfterCommit",
            "after_commit::<Thing, _, _, _>(call, tell)",
        ),
    ] {
        let hook = format!(
            "::odm::__private::hooks::HookMeta {{ name: {name:?}, at: ::odm::__private::hooks::HookTime::{at}, call: |call| \
             ::odm::__private::hooks::{call}, }}"
        );
        assert!(has(&code, &hook), "{hook}\n{code}");
    }
    let plain = document(parse_quote! {
        #[document(collection = "things")]
        struct Thing { _id: i32 }
    });
    assert!(has(&plain, "hooks: &[]"), "{plain}");
}

#[test]
fn search_indexes_are_written_down_where_they_are_declared() {
    let code = document(parse_quote! {
        #[document(
            collection = "things",
            search_index(fields(token(kind, ), object_id(_id)), dynamic),
            vector_index(name = "near", path = vector, dimensions = 3, similarity = dot_product, filter(kind))
        )]
        struct Thing {
            _id: ObjectId,
            kind: String,
            #[embed(max = 3)]
            vector: Vec<f32>,
        }
    });
    for part in [
        "const _: () = ::odm::__private::check::search_indexes_are_enabled();",
        "::odm::__private::check::searched_text(<Thing as ::odm::Document>::paths().kind).name(), kind: \"token\"",
        "<Thing as ::odm::Document>::paths()._id.name(), kind: \"objectId\"",
        "dynamic: true",
        "::odm::__private::check::vector(<Thing as ::odm::Document>::paths().vector).name(), dimensions: 3u32, similarity: \"dotProduct\"",
        "filter: &[|| <Thing as ::odm::Document>::paths().kind.name()]",
    ] {
        assert!(has(&code, part), "{part}\n{code}");
    }
    let plain = document(parse_quote! {
        #[document(collection = "things")]
        struct Thing { _id: i32 }
    });
    assert!(
        has(&plain, "search_indexes: &[]") && !has(&plain, "search_indexes_are_enabled"),
        "{plain}"
    );
}

#[test]
fn references_are_written_down() {
    let code = document(parse_quote! {
        #[document(collection = "things", index(fields(code), unique), index(fields(a, code), unique))]
        struct Thing {
            #[serde(rename = "_id")] id: ObjectId,
            code: i32,
            #[parent_ref(order(-code), on_delete = cascade)] host: Ref<Host>,
            #[reference(many, max = 7, inverse = things, expected = 3)] r#all: Vec<Ref<Host>>,
            #[reference(many)] more: Vec<Ref<Host>>,
            #[reference(by = number, check = false, index = false)] a: Option<Ref<Host, i32>>,
        }
    });
    assert!(!has(&code, "compile_error"), "{code}");
    for part in [
        "impl ::odm::__private::ChildOf<Host> for Thing",
        "order: &[::odm::__private::IndexKey { path: || <Thing as ::odm::Document>::paths().code.indexed_name(), kind: ::odm::__private::IndexKind::Descending }]",
        "on_delete: ::odm::__private::OnDelete::Cascade,",
        "ReferenceKind::Many, ::core::option::Option::Some(\"things\")",
        "max_items: ::core::option::Option::Some(7u64)",
        "max_items: ::core::option::Option::Some(2000u64)",
        "::paths().number",
        "check: false, index: false,",
        "::odm::__private::check::two_way::<Thing, Vec<Ref<Host>>>(\"things\", ::core::option::Option::Some(7u64), ::core::option::Option::Some(3u64)",
        "managed: ::odm::__private::Managed::Id, unique: true,",
        "FieldMeta { unique: true, ..::odm::__private::FieldMeta::value::<i32>(\"code\"",
    ] {
        assert!(has(&code, part), "{part}: {code}");
    }
    assert!(!has(&code, "OnlyChildOf"), "{code}");
    assert!(
        !has(
            &code,
            "FieldMeta { unique: true, ..::odm::__private::FieldMeta::refers"
        ),
        "unique together with another field only: {code}"
    );
}

#[test]
fn a_parent_with_copies_is_written_down() {
    let code = document(parse_quote! {
        #[document(collection = "logmsg")]
        struct LogMsg {
            #[serde(rename = "_id")] id: ObjectId,
            time: DateTime,
            #[parent_ref(order(-time), on_delete = cascade, check = false)]
            #[denormalize(from = Host, fields(name: String))]
            host: HostEntry,
            #[parent_ref(one)] #[denormalize(from = User)] user: Option<OwnUser>,
            #[reference] #[denormalize(from = Rack)] rack: OwnRack,
            #[reference(many)] #[denormalize(from = Tag)] tags: Vec<OwnTag>,
        }
    });
    assert!(!has(&code, "compile_error"), "{code}");
    for part in [
        "impl ::odm::__private::ChildOf<Host> for LogMsg",
        "impl ::odm::__private::OnlyChildOf<User> for LogMsg",
        "entry: ::core::option::Option::Some(const { &::odm::__private::EntryMeta::of::<HostEntry, Host>(false).parent(false, \
         &[::odm::__private::IndexKey { path: || <LogMsg as ::odm::Document>::paths().time.indexed_name(), kind: \
         ::odm::__private::IndexKind::Descending }]) })",
        "EntryMeta::of::<OwnUser, User>(true).parent(true, &[])",
        "EntryMeta::of::<OwnRack, Rack>(false) })",
        "EntryMeta::of::<OwnTag, Tag>(false) })",
        // The attributes of the reference itself go into the struct.
        "#[reference(on_delete = cascade, check = false,)] #[serde(with = \"::odm::__private::if_serde\")] pub id: ::odm::Ref<Host>",
        "host: ::odm::__private::Ref<Host>, user: ::core::option::Option< ::odm::__private::Ref<User>>,",
    ] {
        assert!(has(&code, part), "{part}: {code}");
    }
}

#[test]
fn one_struct_of_copies_is_made_in_one_way() {
    let code = |first: TokenStream, second: TokenStream| {
        document(parse_quote! {
            #[document(collection = "journeys")]
            struct Journey {
                #[serde(rename = "_id")] id: ObjectId,
                #first from: TownEntry,
                #second to: Option<TownEntry>,
            }
        })
    };
    let plain = || quote!(#[reference] #[denormalize(from = Town, fields(name: String))]);
    for alike in [
        plain(),
        quote!(#[parent_ref(on_delete = restrict, check = true, index = true)] #[denormalize(from = Town, fields(name: String))]),
    ] {
        let code = code(alike, plain());
        assert!(!has(&code, "compile_error"), "{code}");
    }
    let said = "`Journey.from: TownEntry` and `Journey.to: Option<TownEntry>` hold one struct, `TownEntry`";
    for other in [
        quote!(#[parent_ref(on_delete = cascade)] #[denormalize(from = Town, fields(name: String))]),
        quote!(#[reference(check = false)] #[denormalize(from = Town, fields(name: String))]),
        quote!(#[reference(index = false)] #[denormalize(from = Town, fields(name: String))]),
        quote!(#[reference] #[denormalize(from = City, fields(name: String))]),
        quote!(#[reference] #[denormalize(from = Town, fields(name: String, state: String))]),
        quote!(#[reference] #[denormalize(from = Town, fields(name: String), consistency = eventual)]),
    ] {
        refused(&code(other.clone(), plain()), said);
        refused(&code(plain(), other), said);
    }
}

#[test]
fn parents_of_one_type_are_none() {
    let parents = |fields: TokenStream| -> Vec<String> {
        let code = document(parse_quote! {
            #[document(collection = "things")]
            struct Thing { #[serde(rename = "_id")] id: ObjectId, #fields }
        });
        assert!(!has(&code, "compile_error"), "{code}");
        let found = code.split("::odm::__private::ChildOf<").skip(1);
        found
            .map(|rest| rest.split('>').next().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(
        parents(parse_quote!(#[parent_ref] a: Ref<Host>, #[parent_ref] b: Box<Ref<User>>)),
        ["Host", "User"]
    );
    assert_eq!(
        parents(parse_quote!(#[parent_ref] a: Ref<Host>, #[parent_ref] b: Option<Ref<Host>>)),
        [""; 0]
    );
    assert_eq!(parents(parse_quote!(#[parent_ref] a: HostRef)), ["__Parent"]);
    assert_eq!(
        parents(parse_quote!(#[parent_ref] a: HostRef, #[parent_ref] b: Ref<User>)),
        ["User"]
    );
    assert_eq!(
        parents(parse_quote!(#[parent_ref(any(A, b::B))] a: AnyRef, #[parent_ref] b: Ref<A>)),
        ["b::B"]
    );
    assert_eq!(parents(parse_quote!(#[reference] a: Ref<Host>)), [""; 0]);
    // With copies beside it, the attribute names the parent.
    let with_copies = quote!(#[parent_ref] #[denormalize(from = a::Host)] a: Option<OwnHost>);
    assert_eq!(parents(with_copies.clone()), ["a::Host"]);
    assert_eq!(parents(quote!(#with_copies, #[parent_ref] b: Ref<Host>)), [""; 0]);
    assert_eq!(
        parents(quote!(#with_copies, #[parent_ref] b: Ref<User>)),
        ["a::Host", "User"]
    );
    assert_eq!(
        parents(parse_quote!(#[reference] #[denormalize(from = Host)] a: OwnHost)),
        [""; 0]
    );
    assert_eq!(
        parents(parse_quote!(#[parent_ref] a: Ref<crate::Host>, #[parent_ref] b: Ref<Host>)),
        [""; 0]
    );
    assert_eq!(
        parents(parse_quote!(#[parent_ref] a: Ref<Tag<Host>>, #[parent_ref] b: Ref<Tag<a::Host>>)),
        [""; 0]
    );
    assert_eq!(
        parents(parse_quote!(#[parent_ref] a: Ref<Tag<Host>>, #[parent_ref] b: Ref<Tag<User>>)),
        ["Tag<Host", "Tag<User"]
    );
}

#[test]
fn a_parent_that_a_parameter_may_be_is_none() {
    let code = |fields: TokenStream| {
        document(parse_quote! {
            #[document(collection = "things")]
            struct Thing<T: Document> { #[serde(rename = "_id")] id: ObjectId, #fields }
        })
    };
    for fields in [
        parse_quote!(#[parent_ref] a: Ref<T>, #[parent_ref] b: Ref<Host>),
        parse_quote!(#[parent_ref] a: Ref<Tag<T>>, #[parent_ref] b: Ref<Tag<Host>>),
        parse_quote!(#[parent_ref] a: Ref<Tag<T>>, #[parent_ref] b: Owner),
        parse_quote!(#[parent_ref] a: Owner<T>, #[parent_ref] b: Ref<Host>),
    ] {
        let code = code(fields);
        assert!(!has(&code, "compile_error"), "{code}");
        assert!(!has(&code, "ChildOf<"), "{code}");
    }
    let several = code(parse_quote!(#[parent_ref] a: Ref<Tag<T>>, #[parent_ref] b: Ref<Host>));
    assert!(
        has(&several, "ChildOf<Tag<T>>") && has(&several, "ChildOf<Host>"),
        "{several}"
    );
}

#[test]
fn unions_are_made_once() {
    let code = document(parse_quote! {
        #[document(collection = "things", crate = "other::odm")]
        pub struct Thing {
            #[serde(rename = "_id")] id: ObjectId,
            #[reference(any(a::Photo, Video))] one: Option<MediaRef>,
            #[reference(many, any(a::Photo, Video))] two: Vec<MediaRef>,
            #[reference(any)] three: MediaRef,
        }
    });
    assert!(!has(&code, "compile_error"), "{code}");
    assert_eq!(code.matches("enumMediaRef{").count(), 1, "{code}");
    assert_eq!(code.matches("pubenumMedia{").count(), 1, "{code}");
    for part in [
        "#[serde(crate = \"other::odm::__private::serde\", tag = \"type\", content = \"id\")] #[serde(bound(",
        "other::odm::__private::Ref<a::Photo>)",
        "tag: \"Photo\", document: || <a::Photo as other::odm::__private::NamedDocument>::META",
    ] {
        assert!(has(&code, part), "{part}: {code}");
    }
}

#[test]
fn references_say_what_to_write() {
    for (field, message) in [
        (
            parse_quote!(#[reference(max = -1)] a: Ref<T>),
            "`max` takes a whole number",
        ),
        (
            parse_quote!(#[reference(many, max = 5001)] a: Vec<Ref<T>>),
            "could hold 5,001 references",
        ),
        (
            parse_quote!(#[reference(many, max = 5001)] a: Vec<Ref<LogMsg>>),
            "`.children::<LogMsg>()`",
        ),
        (
            parse_quote!(#[reference(inverse)] a: Ref<T>),
            "`inverse` names a field",
        ),
        (parse_quote!(#[reference(by = 7)] a: Ref<T>), "`by` names a field"),
        (
            parse_quote!(#[reference(on_delete)] a: Ref<T>),
            "`on_delete` is one of",
        ),
        (parse_quote!(#[reference(check)] a: Ref<T>), "`check = false`"),
        (
            parse_quote!(#[parent_ref(order())] a: Ref<T>),
            "`order` names the fields",
        ),
        (
            parse_quote!(#[parent_ref(order("-time"))] a: Ref<T>),
            "without quotes: `time`",
        ),
        (parse_quote!(#[parent_ref(max = 3)] a: Ref<T>), "takes no `max`"),
        (
            parse_quote!(#[reference(any(A, A))] a: ThingRef),
            "are called `A`",
        ),
        (parse_quote!(#[reference(any(A, B))] a: Vec<A>), "`a: ARef`"),
        (
            parse_quote!(#[reference] #[reference] a: Ref<T>),
            "one relationship",
        ),
        (parse_quote!(a: Vec<Ref<T>>), "`#[reference(many, max = 2000)]`"),
        (parse_quote!(a: Option<(Ref<T>, i32)>), "at fixed positions"),
        (
            parse_quote!(#[reference(many)] a: HashMap<String, Ref<T>>),
            "is a map",
        ),
    ] {
        let field: Field = field;
        let field = field.0;
        let code = embed(parse_quote!(struct Part { #field }));
        refused(&code.to_lowercase(), &message.to_lowercase());
    }
}

struct Field(syn::Field);
impl syn::parse::Parse for Field {
    fn parse(input: syn::parse::ParseStream) -> syn::Result<Field> {
        syn::Field::parse_named(input).map(Field)
    }
}

#[test]
fn indexes_say_what_to_write() {
    for (index, message) in [
        (parse_quote!(index), "An index names its fields"),
        (parse_quote!(index()), "An index names its fields"),
        (parse_quote!(index(fields())), "An index names its fields"),
        (parse_quote!(index(fields(a, a))), "has each field once"),
        (parse_quote!(index(fields("-a"))), "without quotes: `a`"),
        (
            parse_quote!(index(fields(text(a, weight = 0)))),
            "from 1 to 99999",
        ),
        (parse_quote!(index(fields(words(a)))), "is not a kind of index"),
        (parse_quote!(index(fields(a), partial = 1)), "takes a closure"),
        (
            parse_quote!(index(fields(a), collation(strength = 2))),
            "names its language",
        ),
        (
            parse_quote!(index(fields(a), expire_after = 3000000000)),
            "68 years",
        ),
        (
            parse_quote!(index(fields(hashed(a), hashed(b)))),
            "at most one hashed",
        ),
        (parse_quote!(index(fields(a), name = "")), "is not empty"),
        (parse_quote!(version = 1), "in parentheses"),
        (parse_quote!(timestamps(at = a)), "is not an option"),
        (parse_quote!(validation(level = "strict")), "without quotes"),
        (parse_quote!(new(Clone)), "takes derives"),
    ] {
        let option: TokenStream = index;
        let code = document(parse_quote! {
            #[document(collection = "things", #option)]
            struct Thing { #[serde(rename = "_id")] id: ObjectId, a: i32, b: i32 }
        });
        refused(&code, message);
    }
}

#[test]
fn odd_input_is_refused_or_accepted_without_a_panic() {
    let inputs: Vec<DeriveInput> = vec![
        parse_quote!(
            struct A;
        ),
        parse_quote!(
            struct A();
        ),
        parse_quote!(
            struct A {}
        ),
        parse_quote!(
            enum A {}
        ),
        parse_quote!(union A { a: i32 }),
        parse_quote!(
            struct A(#[serde(skip)] i32);
        ),
        parse_quote!(
            enum A {
                B(#[serde(skip)] i32),
            }
        ),
        parse_quote!(
            #[serde(transparent)]
            struct A {}
        ),
        parse_quote!(
            struct r#type {
                r#fn: i32,
            }
        ),
        parse_quote!(
            struct A {
                a: fn(i32) -> [(); 3],
            }
        ),
        parse_quote!(
            struct A {
                a: <Vec<i32> as IntoIterator>::Item,
            }
        ),
        parse_quote!(
            struct A {
                a: impl Sized,
                b: _,
                c: !,
                d: dyn Send,
                e: &'static str,
            }
        ),
        parse_quote!(
            struct A<'a, T: 'a, const N: usize = 3>
            where
                T: Copy,
            {
                a: &'a [T; N],
            }
        ),
        parse_quote!(
            #[document]
            #[embed]
            #[projection]
            struct A {
                #[embed()]
                a: Vec,
                #[index()]
                b: Option,
                #[field()]
                c: (),
            }
        ),
        parse_quote!(
            #[document = "x"]
            #[embed = 1]
            #[serde = ""]
            #[projection = A]
            struct A {
                #[index = 1]
                #[serde(rename_all)]
                a: i32,
            }
        ),
        parse_quote!(
            #[projection(of = A)]
            struct A(
                Vec<A>,
                #[index]
                #[serde(flatten)]
                B,
            );
        ),
        parse_quote!(
            #[request(of = A, max_limit = -1)]
            struct A {
                #[request(path = a.any_item().b.c(), sort)]
                a: Sort,
                #[request(sort(), name = 1)]
                r#type: (),
                #[request(path, sort(a b))]
                b: Page,
            }
        ),
        parse_quote!(
            struct A(#[reference] Ref, #[parent_ref(one, order(a.b), any(A, B))] Vec<A>);
        ),
        parse_quote!(
            #[document(collection = "a")]
            struct A {
                #[serde(rename = "_id")]
                #[parent_ref(any(A, A::B))]
                a: Ref,
                #[reference = 1]
                b: Ref<Self, Self, Self>,
                #[reference(any(A, B), many, inverse = r#fn, by = r#type)]
                r#fn: [ABRef; 3],
                #[reference(any(A, B))]
                #[embed(max = 3)]
                c: <A as B>::CRef,
                #[parent_ref()]
                d: fn(Ref<A>) -> Ref<B>,
            }
        ),
        parse_quote!(
            enum A {
                B(#[reference(any(A, B))] BRef),
                C {
                    #[parent_ref(any)]
                    c: Option<Vec<CRef>>,
                },
            }
        ),
    ];
    for input in &inputs {
        let _ = document(input.clone());
        let _ = embed(input.clone());
        let _ = code(crate::expand::projection::derive(input));
        let _ = code(crate::expand::request::derive(input));
    }
}

#[test]
fn types_are_written_as_people_do() {
    for text in [
        "Vec<Address>",
        "HashMap<String, Option<i32>>",
        "[u8; 3]",
        "std::sync::Arc<dyn Any + Send>",
        "&'a str",
        "(i32, String)",
    ] {
        let ty: syn::Type = syn::parse_str(text).expect("a type");
        assert_eq!(crate::ty::text(&ty), text);
    }
}

#[test]
fn types_are_named_without_the_paths_of_generated_code() {
    for (written, name) in [
        ("::odm::__private::Ref<blog::Post>", "Ref<blog::Post>"),
        ("::std::vec::Vec<::odm::__private::DateTime>", "Vec<DateTime>"),
        ("(i32, ::std::string::String)", "(i32, String)"),
        ("<T as Identified>::Id", "<T as Identified>::Id"),
        ("std::sync::Arc<str>", "std::sync::Arc<str>"),
    ] {
        let ty: syn::Type = syn::parse_str(written).expect("a type");
        assert_eq!(crate::ty::name(&ty), name);
    }
}

#[test]
fn a_bucket_has_names_of_its_own_making() {
    let code = embed(parse_quote! {
        #[bucket(of = blog::BlogPost)]
        pub(crate) struct Comment { text: String }
    });
    assert!(!has(&code, "compile_error"), "{code}");
    for part in [
        "pub(crate) struct CommentBucket",
        "collection = \"comment_buckets\"",
        "pub blog_post: ::odm::__private::Ref<blog::BlogPost>",
        "on_delete = cascade",
        "#[embed(max = 50,",
        "pub comments: ::std::vec::Vec<Comment>",
        "index(fields(blog_post, page), unique)",
        "impl ::odm::__private::ByCount for Comment",
    ] {
        assert!(has(&code, part), "{part}: {code}");
    }
    assert!(!has(&code, "Timed for Comment"), "{code}");
}

#[test]
fn a_bucket_by_time_has_its_period() {
    let code = embed(parse_quote! {
        #[bucket(of = Post, per = day, time = at, sum(stars, weight), rename(sum_weight = total))]
        struct Comment { #[serde(rename = "time")] at: DateTime, stars: u8, weight: f32 }
    });
    assert!(!has(&code, "compile_error"), "{code}");
    for part in [
        "index(fields(post, start, page), unique)",
        "#[embed(max = 200,",
        "BucketTime { field: \"time\", first: \"first\", last: \"last\" }",
        "pub sum_stars: i64",
        "pub total: f64",
        "impl ::odm::__private::ByTime for Comment",
        "impl ::odm::__private::Timed for Comment",
    ] {
        assert!(has(&code, part), "{part}: {code}");
    }
}

#[test]
fn a_bucket_names_the_attributes_that_it_lacks() {
    let refused_as = |attribute: proc_macro2::TokenStream, message: &str| {
        let code = embed(parse_quote! {
            #[bucket(#attribute)]
            struct Comment { name: String, at: DateTime, #[serde(skip)] gone: DateTime }
        });
        refused(&code, message);
    };
    use quote::quote;
    refused_as(quote!(size = 5), "does not say which document");
    refused_as(quote!(of = "Post"), "without quotes");
    refused_as(quote!(of = Post, size = 0), "takes none");
    refused_as(quote!(of = Post, size = 5001), "5000 at most");
    refused_as(quote!(of = Post, per = day), "`time` does not say which field");
    refused_as(
        quote!(of = Post, per = week, time = at),
        "is one of `hour`, `day`, `month`",
    );
    refused_as(quote!(of = Post, time = when), "has no field `when`");
    refused_as(quote!(of = Post, time = gone), "is not always stored");
    refused_as(
        quote!(of = Post, rename(start = begin)),
        "without `per` there is none",
    );
    refused_as(
        quote!(of = Post, rename(last = end)),
        "the last time of the items",
    );
    refused_as(quote!(of = Post, sum()), "names the fields of the item");
    refused_as(quote!(of = Post, sum(stars)), "has no field `stars`");
    refused_as(
        quote!(of = Post, sum(name = total)),
        "names the fields of the item",
    );
    refused_as(
        quote!(of = Post, rename(items = page)),
        "Give this one another name: `rename(items = other)`",
    );
    refused_as(quote!(of = Post, rename(post = about)), "`post` is none of them");
    refused_as(
        quote!(of = Post, rename(items = notes, items = list)),
        "gives `items` two names",
    );
    refused_as(quote!(of = Post, rename()), "by what they hold");
    refused_as(quote!(of = Post, rename(items: notes)), "by what they hold");
    refused_as(quote!(of = Post, on_delete = pull), "always has its parent");
    refused_as(quote!(of = Post, sise = 5), "is not an option of `#[bucket(…)]`");
    let code = embed(parse_quote!(
        #[bucket(of = Post)]
        enum Comment {
            Good,
            Bad,
        }
    ));
    refused(&code, "not stored as a struct with named fields");
    let code = embed(parse_quote!(
        #[bucket(of = Post)]
        struct Comment<T> {
            value: T,
        }
    ));
    refused(&code, "has parameters");
    let code = document(parse_quote! {
        #[document(collection = "comments")] #[bucket(of = Post)]
        struct Comment { #[serde(rename = "_id")] id: ObjectId }
    });
    refused(&code, "is a document with a collection of its own");
}

#[test]
fn the_case_is_copied_from_an_attribute_with_other_entries() {
    let code = document(parse_quote! {
        #[document(collection = "labels", new(derive(Serialize)))]
        #[serde(default, rename_all = "camelCase", crate = "serde", bound(serialize = ""))]
        struct Label {
            #[serde(rename = "_id")] id: i32,
            #[reference] by: Option<Ref<User>>,
            #[denormalize(from = by.name)] by_name: Option<String>,
        }
    });
    assert!(!has(&code, "compile_error"), "{code}");
    let case = r#"#[serde(rename_all = "camelCase")]"#;
    let code = code.replace(&case.split_whitespace().collect::<String>(), "CASE");
    assert_eq!(code.matches("CASE").count(), 1, "{code}");
    assert!(!has(&code, "serde(default"), "{code}");
}

/// odm knows the stored form of some types by their names; of others the field says it.
#[test]
fn the_stored_form_of_a_foreign_type_is_declared_without_a_function() {
    for (ty, is_known) in [
        ("i32", true),
        ("Option<Box<str>>", true),
        ("(i32, std::string::String)", true),
        ("[f64; 2]", true),
        ("bson::DateTime", true),
        ("Decimal128", true),
        ("bson::Bson", true),
        ("chrono::DateTime<Utc>", false),
        ("jiff::civil::DateTime", false),
        ("NaiveDate", false),
        ("(i32, NaiveDate)", false),
        ("url::Url", false),
    ] {
        let ty: syn::Type = syn::parse_str(ty).unwrap();
        let code = document(parse_quote! {
            #[document(collection = "things")]
            struct Thing { _id: i32, #[field(stored = String)] field: #ty }
        });
        if is_known {
            refused(&code, "is stored as its own type says, without `#[serde(with)]`");
        } else {
            assert!(!has(&code, "compile_error!"), "{code}");
        }
    }
}

#[test]
fn a_constant_is_written_where_a_literal_is() {
    let code = embed(parse_quote! {
        struct Part {
            #[embed(max = limits::TAGS, key_len = KEY)] #[field(max_len = 2 * KEY)] tags: HashMap<String, String>,
            #[field(min = -LEAST, max = 7)] number: i32,
        }
    });
    assert!(!has(&code, "compile_error!"), "{code}");
    for part in [
        "max_items: ::core::option::Option::Some(::odm::__private::check::unsigned(::odm::__private::check::whole(limits::TAGS) as i128))",
        "check::counted(&::odm::__private::check::Takes::KEY_LEN, ::odm::__private::check::whole(KEY) as i128",
        "check::whole(2 * KEY)",
        "check::is_float(-LEAST)",
        "check::range_in_order(",
    ] {
        assert!(has(&code, part), "{part}: {code}");
    }
    let code = embed(parse_quote! {
        struct Part { #[embed(max = 3)] #[field(min = 1, max = 7)] numbers: Vec<i32> }
    });
    assert!(
        !has(&code, "check::counted"),
        "a literal is checked already: {code}"
    );
    refused(
        &embed(parse_quote!(
            struct Part {
                #[embed(max = |n| n)]
                a: Vec<i32>,
            }
        )),
        "or a constant",
    );
}

#[test]
fn generated_items_keep_the_documentation_of_their_field() {
    let code = document(parse_quote! {
        #[document(collection = "products", derive(PartialEq, Eq), new(derive(Clone)))]
        struct Product {
            #[serde(rename = "_id")] id: ObjectId,
            /// Its name.
            name: String,
            #[reference] #[denormalize(from = Part, fields(
                /// Its name in the catalogue.
                name: String,
                color: String,
            ))]
            part: PartEntry,
        }
    });
    for part in [
        r#"#[doc = r" Its name."] #[doc = ""] #[doc = "`name`"]"#,
        r#"#[doc = r" Its name in the catalogue."] pub name: String"#,
        r#"#[doc = "A copy of `Part.color`."] #[serde(with = "::odm::__private::if_serde")] pub color: String"#,
        "type PartEntry = PartEntryOfProduct;",
        "#[derive(Clone, PartialEq, Eq)]",
        "serde::Deserialize, Eq,",
    ] {
        assert!(has(&code, part), "{part}: {code}");
    }
}

/// A document whose attribute has these options.
fn with_options(options: TokenStream) -> String {
    document(parse_quote! {
        #[document(collection = "things", #options)]
        struct Thing { #[serde(rename = "_id")] id: ObjectId, a: DateTime }
    })
}

/// A document with a field that has this attribute.
fn with_field(attribute: TokenStream) -> String {
    document(parse_quote! {
        #[document(collection = "things")]
        struct Thing { #[serde(rename = "_id")] id: ObjectId, #attribute a: i32 }
    })
}

/// An embedded struct with this attribute.
fn with_attribute(attribute: TokenStream) -> String {
    embed(parse_quote!(#attribute struct Thing { a: i32 }))
}

#[test]
fn parsers_take_every_listed_option_and_no_other_one() {
    type Written = fn(TokenStream) -> String;
    let places: [(&keys::Attribute, Written); 28] = [
        (&keys::DOCUMENT, |option| with_options(option)),
        (&keys::CAPPED, |option| with_options(quote!(capped(#option)))),
        (&keys::TIME_SERIES, |option| {
            with_options(quote!(time_series(#option)))
        }),
        (&keys::VIEW, |option| with_options(quote!(view(#option)))),
        (&keys::EXPIRE, |option| with_options(quote!(expire(#option)))),
        (&keys::VALIDATION, |option| {
            with_options(quote!(validation(#option)))
        }),
        (&keys::TIMESTAMPS, |option| {
            with_options(quote!(timestamps(#option)))
        }),
        (&keys::DOCUMENT_INDEX, |option| {
            with_options(quote!(index(#option)))
        }),
        (&keys::SEARCH_INDEX, |option| {
            with_options(quote!(search_index(#option)))
        }),
        (&keys::VECTOR_INDEX, |option| {
            with_options(quote!(vector_index(#option)))
        }),
        (&keys::COLLATION, |option| {
            with_options(quote!(collation(#option)))
        }),
        (&keys::UNIQUENESS, |option| {
            with_field(quote!(#[index(unique(#option))]))
        }),
        (&keys::INDEX, |option| with_field(quote!(#[index(#option)]))),
        (&keys::EMBED, |option| with_field(quote!(#[embed(#option)]))),
        (&keys::EMBED_TYPE, |option| {
            with_attribute(quote!(#[embed(#option)]))
        }),
        (&keys::FIELD, |option| with_field(quote!(#[field(#option)]))),
        (&keys::REFERENCE, |option| {
            with_field(quote!(#[reference(#option)]))
        }),
        (&keys::PARENT_REF, |option| {
            with_field(quote!(#[parent_ref(#option)]))
        }),
        (&keys::DENORMALIZE, |option| {
            with_field(quote!(#[denormalize(#option)]))
        }),
        (&keys::DENORMALIZE_TYPE, |option| {
            with_attribute(quote!(#[denormalize(#option)]))
        }),
        (&keys::SUBSET, |option| with_field(quote!(#[subset(#option)]))),
        (&keys::COMPUTED, |option| with_field(quote!(#[computed(#option)]))),
        (&keys::BUCKET, |option| with_attribute(quote!(#[bucket(#option)]))),
        (&keys::REQUEST, |option| {
            code(crate::expand::request::derive(&parse_quote!(
                #[request(#option)]
                struct Thing {
                    a: i32,
                }
            )))
        }),
        (&keys::REQUEST_FIELD, |option| {
            code(crate::expand::request::derive(&parse_quote!(
                struct Thing {
                    #[request(#option)]
                    a: i32,
                }
            )))
        }),
        (&keys::ROW, |option| {
            code(crate::expand::row::derive(&parse_quote!(
                #[row(#option)]
                struct Thing {
                    a: i32,
                }
            )))
        }),
        (&keys::VARIANT, |option| {
            embed(parse_quote!(
                enum Thing {
                    #[embed(#option)]
                    A,
                }
            ))
        }),
        (&keys::PROJECTION, |option| {
            code(crate::expand::projection::derive(&parse_quote!(
                #[projection(#option)]
                struct Thing {
                    a: i32,
                }
            )))
        }),
    ];
    assert_eq!(places.len(), keys::ALL.len());
    for (attribute, written) in places {
        assert!(
            keys::ALL.iter().any(|one| std::ptr::eq(*one, attribute)),
            "{}",
            attribute.shown
        );
        for key in attribute.options {
            let option: TokenStream = key.name.parse().expect("a name");
            let code = written(option);
            assert!(
                !has(&code, "is not an option"),
                "{} refuses `{}`: {code}",
                attribute.shown,
                key.name
            );
            assert!(
                !key.syntax.is_empty(),
                "{} does not show `{}`",
                attribute.shown,
                key.name
            );
        }
        let code = written(quote!(undeclared));
        assert!(
            has(
                &code,
                &format!("`undeclared` is not an option of `{}`", attribute.shown)
            ),
            "{code}"
        );
    }
}

#[test]
fn the_patterns_of_formats_are_those_of_the_library() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../odm/src/error/violation.rs");
    // Beside a published package there is no library to compare with.
    let Ok(library) = std::fs::read_to_string(path) else {
        return;
    };
    for (name, pattern) in [
        ("EMAIL", crate::attr::pattern::EMAIL),
        ("URL", crate::attr::pattern::URL),
    ] {
        let line = format!("const {name}: &str = {pattern:?};").replace("\\'", "'");
        assert!(library.contains(&line), "{line}");
    }
}
