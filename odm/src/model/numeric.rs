//! Numbers as texts, as a client writes them.

use mongodb::bson::Decimal128;

/// Whether a text is a finite number in decimal digits: a sign, digits with a point among them, an exponent.
pub(crate) fn is_number(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, Some(exponent)),
        None => (text, None),
    };
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_exponent = |exponent: &str| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && is_digits(digits)
    };
    !(whole.is_empty() && fraction.is_empty())
        && is_digits(whole)
        && is_digits(fraction)
        && exponent.is_none_or(is_exponent)
}

/// The finite number that a text says.
pub(crate) fn double(text: &str) -> Option<f64> {
    let read = is_number(text).then(|| text.parse().ok()).flatten();
    read.filter(|n: &f64| n.is_finite())
}

/// The finite decimal number that a text says, if a decimal of 128 bits holds it.
pub(crate) fn decimal(text: &str) -> Option<Decimal128> {
    is_number(text).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_has_digits() {
        let numbers = [
            "0", "-0", "+5", "5.", ".5", "0.10", "1e5", "1E+5", "-2.5e-3", "007",
        ];
        for text in numbers {
            assert!(is_number(text), "{text}");
            assert!(double(text).is_some() && decimal(text).is_some(), "{text}");
        }
        let others = [
            "", "-", "+", ".", "-.", "e5", "E5", ".e5", "-e5", "5e", "5e+", "5e-", "1.2.3", "1e5e5", "--5",
            "-+5", "5-", "1_000", "1,5", " 5", "5 ", "0x10", "inf", "Infinity", "nan", "NaN", "٣", "5é",
            "1e1.5",
        ];
        for text in others {
            assert!(!is_number(text), "{text}");
            assert_eq!((double(text), decimal(text)), (None, None), "{text}");
        }
        // Beyond what the type holds.
        assert_eq!(double("1e999"), None);
        assert_eq!(decimal("1e9999"), None);
        assert_eq!(decimal("1e99999999999999999999999999999999999999999"), None);
    }

    proptest! {
        #[test]
        fn a_number_is_read_as_it_is_written(n in any::<f64>().prop_filter("finite", |n| n.is_finite())) {
            prop_assert_eq!(double(&n.to_string()), Some(n));
        }

        #[test]
        fn no_text_is_too_much(text in "[-+.eE0-9é]{0,60}") {
            let is_number = is_number(&text);
            prop_assert!(is_number || decimal(&text).is_none());
            prop_assert!(!is_number || text.parse::<f64>().is_ok());
        }
    }
}
