//! The case conventions of `#[serde(rename_all = "…")]`, exactly as serde applies them.

/// One convention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Case {
    #[default]
    Unchanged,
    Lower,
    Upper,
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Kebab,
    ScreamingKebab,
}

impl Case {
    pub const NAMES: [(&'static str, Case); 8] = [
        ("lowercase", Case::Lower),
        ("UPPERCASE", Case::Upper),
        ("PascalCase", Case::Pascal),
        ("camelCase", Case::Camel),
        ("snake_case", Case::Snake),
        ("SCREAMING_SNAKE_CASE", Case::ScreamingSnake),
        ("kebab-case", Case::Kebab),
        ("SCREAMING-KEBAB-CASE", Case::ScreamingKebab),
    ];

    pub fn parse(text: &str) -> Option<Case> {
        Case::NAMES
            .iter()
            .find(|(name, _)| *name == text)
            .map(|(_, case)| *case)
    }

    /// A variant's name, which is in Pascal case in Rust.
    pub fn of_variant(self, name: &str) -> String {
        match self {
            Case::Unchanged | Case::Pascal => name.to_owned(),
            Case::Lower => name.to_ascii_lowercase(),
            Case::Upper => name.to_ascii_uppercase(),
            Case::Camel => first(name, char::to_ascii_lowercase),
            Case::Snake => {
                let mut snake = String::new();
                for (i, c) in name.char_indices() {
                    if i > 0 && c.is_uppercase() {
                        snake.push('_');
                    }
                    snake.push(c.to_ascii_lowercase());
                }
                snake
            }
            Case::ScreamingSnake => Case::Snake.of_variant(name).to_ascii_uppercase(),
            Case::Kebab => Case::Snake.of_variant(name).replace('_', "-"),
            Case::ScreamingKebab => Case::ScreamingSnake.of_variant(name).replace('_', "-"),
        }
    }

    /// A field's name, which is in snake case in Rust.
    pub fn of_field(self, name: &str) -> String {
        match self {
            Case::Unchanged | Case::Lower | Case::Snake => name.to_owned(),
            Case::Upper | Case::ScreamingSnake => name.to_ascii_uppercase(),
            Case::Pascal => name
                .split('_')
                .map(|word| first(word, char::to_ascii_uppercase))
                .collect(),
            Case::Camel => first(&Case::Pascal.of_field(name), char::to_ascii_lowercase),
            Case::Kebab => name.replace('_', "-"),
            Case::ScreamingKebab => Case::ScreamingSnake.of_field(name).replace('_', "-"),
        }
    }
}

fn first(text: &str, change: fn(&char) -> char) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(c) => std::iter::once(change(&c)).chain(chars).collect(),
        None => String::new(),
    }
}
