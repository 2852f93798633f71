//! The languages that a text index knows.

/// Their names and codes.
const LANGUAGES: [(&str, &str); 16] = [
    ("danish", "da"),
    ("dutch", "nl"),
    ("english", "en"),
    ("finnish", "fi"),
    ("french", "fr"),
    ("german", "de"),
    ("hungarian", "hu"),
    ("italian", "it"),
    ("norwegian", "nb"),
    ("portuguese", "pt"),
    ("romanian", "ro"),
    ("russian", "ru"),
    ("spanish", "es"),
    ("swedish", "sv"),
    ("turkish", "tr"),
    ("none", "none"),
];

/// The name of a language, by its name or code in any case; as it is where it is none.
pub(super) fn name(language: &str) -> String {
    let lower = language.to_lowercase();
    let known = LANGUAGES
        .iter()
        .find(|(name, code)| *name == lower || *code == lower);
    known.map_or(lower.clone(), |(name, _)| (*name).to_owned())
}

/// Whether a text index knows it.
pub(super) fn is_known(language: &str) -> bool {
    let lower = language.to_lowercase();
    LANGUAGES
        .iter()
        .any(|(name, code)| *name == lower || *code == lower)
}

/// All names, for a message.
pub(super) fn all() -> String {
    LANGUAGES.map(|(name, _)| format!("`{name}`")).join(", ")
}
