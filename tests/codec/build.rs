//! Writes models with derives of odm and serde, from a fixed seed: structs and enums of every tagging, nested in each other, with fields of
//! all types, and for each a function that makes values.

use std::fmt::Write as _;
use std::path::Path;

const MODELS: usize = 200;

/// A sequence of numbers that is the same in each build.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.next(n) == 0
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.next(all.len())]
    }
}

/// Types that serde reads from its own buffer as it has written them: below a flattened struct and a tag.
const BUFFERED: [(&str, &str); 9] = [
    ("bool", "any.bool()"),
    ("i32", "any.int()"),
    ("u16", "any.int::<u16>()"),
    ("i64", "any.int()"),
    ("f64", "any.float()"),
    ("String", "any.text()"),
    ("ObjectId", "any.object_id()"),
    ("DateTime", "any.date()"),
    ("char", "any.char()"),
];

const OTHERS: [(&str, &str); 11] = [
    ("i8", "any.int()"),
    ("u8", "any.int()"),
    ("i16", "any.int()"),
    ("u32", "any.int()"),
    ("u64", "any.int::<u32>().into()"),
    ("f32", "any.float() as f32"),
    ("Box<str>", "any.text().into()"),
    ("Decimal128", "any.decimal()"),
    (
        "odm::bson::Uuid",
        "odm::bson::Uuid::from_bytes(any.uuid().into_bytes())",
    ),
    ("Binary", "any.binary()"),
    ("()", "()"),
];

/// Types that say `with = "odm::native"`.
const NATIVE: [(&str, &str); 6] = [
    ("chrono::DateTime<chrono::Utc>", "any.chrono()"),
    (
        "chrono::TimeDelta",
        "chrono::TimeDelta::milliseconds(any.int::<i32>().into())",
    ),
    ("uuid::Uuid", "any.uuid()"),
    (
        "rust_decimal::Decimal",
        "rust_decimal::Decimal::new(any.int(), any.small())",
    ),
    (
        "std::time::Duration",
        "std::time::Duration::from_millis(any.int::<u32>().into())",
    ),
    (
        "std::net::IpAddr",
        "std::net::IpAddr::from([any.int::<u8>(), 1, 2, 3])",
    ),
];

struct Model {
    /// How many structs stand in each other below it.
    depth: usize,
    /// Whether it can be flattened: a struct of buffered fields.
    is_flat: bool,
    /// Whether it is or holds an enum without tags.
    is_untagged: bool,
}

struct Field {
    attributes: Vec<String>,
    name: String,
    ty: String,
    value: String,
}

fn leaf(numbers: &mut Numbers, is_buffered: bool) -> (String, String) {
    let all = if is_buffered || numbers.one_in(2) {
        &BUFFERED[..]
    } else {
        &OTHERS[..]
    };
    let (ty, value) = all[numbers.next(all.len())];
    (ty.to_owned(), value.to_owned())
}

fn field(numbers: &mut Numbers, model: usize, at: usize, models: &[Model], is_buffered: bool) -> Field {
    let name = format!("f{model}_part_{at}");
    let mut attributes = Vec::new();
    let deep = |model: &Model| model.depth < 4;
    let nested: Vec<usize> = (0..models.len()).filter(|i| deep(&models[*i])).collect();
    let (mut ty, mut value) = if !is_buffered && !nested.is_empty() && numbers.one_in(4) {
        let i = nested[numbers.next(nested.len())];
        (format!("M{i}"), format!("M{i}::sample(any)"))
    } else if !is_buffered && numbers.one_in(6) {
        attributes.push("#[serde(with = \"odm::native\")]".to_owned());
        let (ty, value) = NATIVE[numbers.next(NATIVE.len())];
        (ty.to_owned(), value.to_owned())
    } else {
        leaf(numbers, is_buffered)
    };
    let is_native = !attributes.is_empty();
    let is_model = ty.starts_with('M');
    match numbers.next(8) {
        0 => {
            (ty, value) = (format!("Option<{ty}>"), format!("any.maybe(|any| {value})"));
            if is_native {
                attributes = vec!["#[serde(default, with = \"odm::native\")]".to_owned()];
            } else if ty != "Option<()>" && numbers.one_in(3) {
                attributes.push("#[serde(default, skip_serializing_if = \"Option::is_none\")]".to_owned());
            }
            if ty == "Option<()>" {
                (ty, value) = ("Option<i32>".to_owned(), "any.maybe(|any| any.int())".to_owned());
            }
        }
        1 => {
            attributes.push("#[embed(max = 9)]".to_owned());
            (ty, value) = (format!("Vec<{ty}>"), format!("any.list(|any| {value})"));
        }
        2 if !is_model => {
            attributes.push("#[embed(max = 9)]".to_owned());
            (ty, value) = (
                format!("std::collections::BTreeMap<String, {ty}>"),
                format!("any.map(|any| {value})"),
            );
        }
        3 if !is_native && !is_buffered => {
            (ty, value) = (format!("[{ty}; 2]"), format!("[{value}, {value}]"));
        }
        4 if !is_native && !is_buffered && !is_model => {
            let (other, made) = leaf(numbers, false);
            (ty, value) = (format!("({ty}, {other})"), format!("({value}, {made})"));
        }
        5 if !is_native => {
            (ty, value) = (format!("Box<{ty}>"), format!("Box::new({value})"));
        }
        _ => {}
    }
    if numbers.one_in(8) {
        attributes.push(format!("#[serde(rename = \"r{model}_{at}\")]"));
    }
    if numbers.one_in(10) {
        attributes.push(format!("#[serde(alias = \"a{model}_{at}\")]"));
    }
    Field {
        attributes,
        name,
        ty,
        value,
    }
}

fn fields(numbers: &mut Numbers, model: usize, models: &[Model], is_buffered: bool) -> Vec<Field> {
    let count = 1 + numbers.next(8);
    (0..count)
        .map(|at| field(numbers, model, at, models, is_buffered))
        .collect()
}

fn declared(fields: &[Field]) -> String {
    let mut text = String::new();
    for field in fields {
        for attribute in &field.attributes {
            let _ = writeln!(text, "    {attribute}");
        }
        let _ = writeln!(text, "    pub {}: {},", field.name, field.ty);
    }
    text
}

fn made(fields: &[Field]) -> String {
    let values = fields
        .iter()
        .map(|field| format!("{}: {}", field.name, field.value));
    values.collect::<Vec<_>>().join(", ")
}

/// The models that fields name.
fn named<'m>(fields: &[Field], models: &'m [Model]) -> Vec<&'m Model> {
    let named = |field: &Field| {
        let digits: String = field
            .ty
            .split('M')
            .nth(1)
            .unwrap_or_default()
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        digits
            .parse::<usize>()
            .ok()
            .filter(|_| field.value.contains("::sample"))
    };
    fields.iter().filter_map(named).map(|i| &models[i]).collect()
}

/// The greatest depth of the models that fields name.
fn depth(fields: &[Field], models: &[Model]) -> usize {
    let depths = named(fields, models).into_iter().map(|model| model.depth);
    depths.max().unwrap_or(0) + 1
}

fn is_untagged(fields: &[Field], models: &[Model]) -> bool {
    named(fields, models).iter().any(|model| model.is_untagged)
}

const CASES: [&str; 3] = ["camelCase", "PascalCase", "SCREAMING_SNAKE_CASE"];
const DERIVES: &str = "Serialize, Deserialize, Clone, Debug, PartialEq";

fn a_struct(numbers: &mut Numbers, model: usize, models: &[Model], is_document: bool) -> (String, Model) {
    let is_flat = !is_document && numbers.one_in(5);
    let mut fields = fields(numbers, model, models, is_flat);
    let flat: Vec<usize> = (0..models.len()).filter(|i| models[*i].is_flat).collect();
    let mut is_strict = numbers.one_in(8);
    if !is_flat && !flat.is_empty() && numbers.one_in(3) {
        let i = flat[numbers.next(flat.len())];
        is_strict = false;
        fields.push(Field {
            attributes: vec!["#[serde(flatten)]".to_owned()],
            name: format!("f{model}_flat"),
            ty: format!("M{i}"),
            value: format!("M{i}::sample(any)"),
        });
    }
    let case = numbers.one_in(3).then(|| numbers.of(&CASES));
    let case = case.map(|case| format!("#[serde(rename_all = \"{case}\")]\n"));
    let strict = (is_strict && !is_flat).then_some("#[serde(deny_unknown_fields)]\n");
    let (derive, attribute, id, value) = if is_document {
        (
            "Document",
            format!("#[document(collection = \"m{model}\")]\n"),
            "    #[serde(rename = \"_id\")]\n    pub id: i64,\n",
            "id: any.int(), ",
        )
    } else {
        ("Embed", String::new(), "", "")
    };
    let is_untagged = is_untagged(&fields, models);
    let text = format!(
        "#[derive({derive}, {DERIVES})]\n{attribute}{}{}pub struct M{model} {{\n{id}{}}}\n\nimpl Sample for M{model} {{\n    const \
         UNTAGGED: bool = {is_untagged};\n    fn sample(any: &mut Any) -> Self {{\n        M{model} {{ {value}{} }}\n    }}\n}}\n\n",
        case.unwrap_or_default(),
        strict.unwrap_or_default(),
        declared(&fields),
        made(&fields),
    );
    let depth = depth(&fields, models);
    (
        text,
        Model {
            depth,
            is_flat,
            is_untagged,
        },
    )
}

fn an_enum(numbers: &mut Numbers, model: usize, models: &[Model]) -> (String, Model) {
    let tagging = numbers.next(4);
    let is_buffered = tagging != 0;
    let attribute = match tagging {
        0 => String::new(),
        1 => "#[serde(tag = \"kind\")]\n".to_owned(),
        2 => "#[serde(tag = \"kind\", content = \"held\")]\n".to_owned(),
        _ => "#[serde(untagged)]\n".to_owned(),
    };
    let (mut variants, mut arms) = (String::new(), String::new());
    let count = 2 + numbers.next(3);
    let mut deepest = 1;
    let mut is_untagged_within = tagging == 3;
    let mut taken = Vec::new();
    for at in 0..count {
        let name = format!("V{at}");
        let mut fields = fields(numbers, model * 10 + at, models, is_buffered);
        deepest = deepest.max(depth(&fields, models));
        is_untagged_within |= is_untagged(&fields, models);
        match numbers.next(4) {
            0 if tagging != 3 => {
                let _ = writeln!(variants, "    {name},");
                let _ = writeln!(arms, "            {at} => M{model}::{name},");
            }
            1 if tagging != 1 => {
                let (mut ty, mut value) = leaf(numbers, is_buffered);
                while tagging == 3 && taken.contains(&ty) {
                    (ty, value) = (format!("({ty}, i32)"), format!("({value}, any.int())"));
                }
                taken.push(ty.clone());
                let _ = writeln!(variants, "    {name}({ty}),");
                let _ = writeln!(arms, "            {at} => M{model}::{name}({value}),");
            }
            _ => {
                if tagging == 3 {
                    // A variant without a needed field would be read from each document.
                    fields.push(Field {
                        attributes: Vec::new(),
                        name: format!("f{model}_{at}_needed"),
                        ty: "i32".to_owned(),
                        value: "any.int()".to_owned(),
                    });
                }
                let _ = writeln!(
                    variants,
                    "    {name} {{\n{}    }},",
                    declared(&fields).replace("pub ", "")
                );
                let _ = writeln!(
                    arms,
                    "            {at} => M{model}::{name} {{ {} }},",
                    made(&fields)
                );
            }
        }
    }
    let text = format!(
        "#[derive(Embed, {DERIVES})]\n{attribute}pub enum M{model} {{\n{variants}}}\n\nimpl Sample for M{model} {{\n    const \
         UNTAGGED: bool = {is_untagged_within};\n    fn sample(any: &mut Any) -> Self {{\n        match any.below({count}) {{\n{arms}            _ => unreachable!(),\n        }}\n    }}\n}}\n\n"
    );
    let model = Model {
        depth: deepest,
        is_flat: false,
        is_untagged: is_untagged_within,
    };
    (text, model)
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let mut numbers = Numbers(0x2026_1128_1841_0305);
    let (mut models, mut text) = (Vec::new(), String::new());
    let (mut rows, mut values) = (Vec::new(), Vec::new());
    for model in 0..MODELS {
        let is_document = model % 4 == 3;
        let is_enum = model % 4 == 1;
        let (one, of) = if is_enum {
            an_enum(&mut numbers, model, &models)
        } else {
            a_struct(&mut numbers, model, &models, is_document)
        };
        text.push_str(&one);
        if is_document {
            rows.push(model);
            // A document is no value of another one.
            models.push(Model {
                depth: usize::MAX,
                is_flat: false,
                is_untagged: of.is_untagged,
            });
        } else {
            values.push(model);
            models.push(of);
        }
    }
    let list = |all: &[usize]| all.iter().map(|i| format!("M{i}")).collect::<Vec<_>>().join(", ");
    let _ = writeln!(
        text,
        "each!(documents: {});\neach!(values: {});",
        list(&rows),
        list(&values)
    );
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&out).join("models.rs"), text).expect("the file is written");
}
