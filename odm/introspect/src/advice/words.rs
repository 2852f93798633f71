//! Figures and places in words.

/// `1,318`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 document`, `1,318 documents`.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// `1 document`, `1,318 documents`.
pub fn documents(number: u64) -> String {
    counted(number, "document", "documents")
}

/// `812 bytes`, `1.2 MiB`.
pub fn bytes(number: f64) -> String {
    let number = number.max(0.0);
    let mut value = number;
    for unit in ["bytes", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            return if unit == "bytes" || value >= 100.0 {
                format!("{value:.0} {unit}")
            } else {
                format!("{value:.1} {unit}")
            };
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
}

/// `9.5 %`.
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "0 %".to_owned();
    }
    let share = 100.0 * part as f64 / whole as f64;
    if share > 0.0 && share < 0.1 {
        "less than 0.1 %".to_owned()
    } else if share >= 10.0 || share.fract() == 0.0 {
        format!("{share:.0} %")
    } else {
        format!("{share:.1} %")
    }
}

/// The share of a part.
pub fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

/// `orders.customer.name`; the collection alone where there is no path.
pub fn place(collection: &str, path: &str) -> String {
    if path.is_empty() {
        collection.to_owned()
    } else {
        format!("{collection}.{path}")
    }
}

/// `a`, `a and b`, `a, b and c`, each as code; from some number on `a, b and 3 more`.
pub fn list(names: &[String]) -> String {
    const NAMED: usize = 4;
    let code = |name: &String| format!("`{name}`");
    match names {
        [] => String::new(),
        [name] => code(name),
        [names @ .., last] if names.len() < NAMED => {
            let names: Vec<String> = names.iter().map(code).collect();
            format!("{} and {}", names.join(", "), code(last))
        }
        names => {
            let named: Vec<String> = names.iter().take(NAMED).map(code).collect();
            format!(
                "{} and {} more",
                named.join(", "),
                count((names.len() - NAMED) as u64)
            )
        }
    }
}

/// The sentence with a capital letter at its begin; text in quotes stays.
pub fn capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        assert_eq!(count(1_318), "1,318");
        assert_eq!(count(12), "12");
        assert_eq!(count(1_000_000), "1,000,000");
        assert_eq!(bytes(812.0), "812 bytes");
        assert_eq!(bytes(1_258_291.2), "1.2 MiB");
        assert_eq!(percent(22, 232), "9.5 %");
        assert_eq!(percent(1, 2), "50 %");
        assert_eq!(percent(1, 100_000), "less than 0.1 %");
        assert_eq!(percent(0, 0), "0 %");
        assert_eq!(documents(1), "1 document");
        let names: Vec<String> = ["a", "b", "c", "d", "e", "f"].map(str::to_owned).to_vec();
        assert_eq!(list(&names[..2]), "`a` and `b`");
        assert_eq!(list(&names[..4]), "`a`, `b`, `c` and `d`");
        assert_eq!(list(&names), "`a`, `b`, `c`, `d` and 2 more");
    }
}
