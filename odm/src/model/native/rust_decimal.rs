//! `rust_decimal::Decimal`: a decimal of 128 bits, which holds each of its values exactly.

use super::{OneNative, native};
use crate::model::shape::Shape;
use crate::model::size::Size;
use mongodb::bson::Decimal128;
use rust_decimal::Decimal;

impl OneNative for Decimal {
    type Stored = Decimal128;

    fn store(&self) -> Result<Decimal128, String> {
        Ok(Decimal128::from_bytes(bytes(self)))
    }
    fn load(stored: Decimal128) -> Result<Decimal, String> {
        if let Some(decimal) = short(stored.bytes()) {
            return Ok(decimal);
        }
        let text = stored.to_string();
        exactly(&text).ok_or_else(|| format!("{text} is not exactly a `rust_decimal::Decimal`"))
    }
}

/// The exponent of a decimal of the server is stored with this number added.
const BIAS: u32 = 6_176;

/// The bits in front of the exponent, behind the sign, of numbers whose digits need all others.
const LONG: u128 = 0b11 << 125;

/// A number as the server's decimal: the sign, the exponent, and the digits as an integer.
fn bytes(decimal: &Decimal) -> [u8; 16] {
    let digits = decimal.mantissa();
    let is_negative = decimal.is_sign_negative();
    let exponent = u128::from(BIAS.saturating_sub(decimal.scale()));
    ((u128::from(is_negative) << 127) | (exponent << 113) | digits.unsigned_abs()).to_le_bytes()
}

/// The number, if it has no more digits and no other exponent than most have.
fn short(bytes: [u8; 16]) -> Option<Decimal> {
    let bits = u128::from_le_bytes(bytes);
    let scale = BIAS.checked_sub((bits >> 113) as u32 & 0x3fff)?;
    let digits = (bits & ((1 << 113) - 1)) as i128;
    if bits & LONG == LONG || scale > Decimal::MAX_SCALE {
        return None;
    }
    // Zero has no sign here.
    let is_negative = bits >> 127 == 1;
    Decimal::try_from_i128_with_scale(if is_negative { -digits } else { digits }, scale).ok()
}

/// The number of a text such as `-1.50` or `15E+3`, with the zeros behind its point so far as it can hold them. `None` for NaN, an
/// infinite one, and one that it can't hold exactly.
fn exactly(text: &str) -> Option<Decimal> {
    let (number, exponent) = match text.split_once(['E', 'e']) {
        Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mut digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let mut scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    if digits == 0 {
        return Some(Decimal::new(
            0,
            u32::try_from(scale).unwrap_or(0).min(Decimal::MAX_SCALE),
        ));
    }
    while scale < 0 {
        (digits, scale) = (digits.checked_mul(10)?, scale + 1);
    }
    loop {
        let scaled = u32::try_from(scale).ok()?;
        match Decimal::try_from_i128_with_scale(digits, scaled) {
            Ok(decimal) => return Some(decimal),
            Err(_) if scale > 0 && digits % 10 == 0 => (digits, scale) = (digits / 10, scale - 1),
            Err(_) => return None,
        }
    }
}

native! {
    Decimal as Decimal128: Size::fixed(16), Shape::Decimal, cut false;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Option<String> {
        let stored: Decimal128 = text.parse().expect("a decimal");
        Decimal::load(stored).ok().map(|decimal| decimal.to_string())
    }

    #[test]
    fn what_it_can_hold_is_read_exactly() {
        for (stored, expected) in [
            ("0", "0"),
            ("-0.00", "0.00"),
            ("0E+10", "0"),
            ("0E-60", "0.0000000000000000000000000000"),
            ("1.50", "1.50"),
            ("-15E+3", "-15000"),
            ("1E-28", "0.0000000000000000000000000001"),
            ("10E-29", "0.0000000000000000000000000001"),
            (
                "1.000000000000000000000000000000000",
                "1.0000000000000000000000000000",
            ),
            ("79228162514264337593543950335", "79228162514264337593543950335"),
        ] {
            assert_eq!(read(stored).as_deref(), Some(expected), "{stored}");
        }
        for stored in [
            "NaN",
            "Infinity",
            "-Infinity",
            "1E-29",
            "79228162514264337593543950336",
            "1E+6000",
            "1E-6000",
        ] {
            assert_eq!(read(stored), None, "{stored}");
        }
    }

    #[test]
    fn zeros_are_stored_as_their_texts() {
        for text in ["0", "0.00", "-0", "-0.0", "1.50", "-7"] {
            let decimal: Decimal = text.parse().expect("a decimal");
            let by_text: Decimal128 = decimal.to_string().parse().expect("a decimal");
            assert_eq!(decimal.store(), Ok(by_text), "{text}");
        }
        for exponent in -40..=10 {
            for digits in ["0", "-0", "10", "-100"] {
                let stored: Decimal128 = format!("{digits}E{exponent}").parse().expect("a decimal");
                let by_text =
                    exactly(&stored.to_string()).map(|decimal| (decimal.to_string(), decimal.scale()));
                let by_bits = Decimal::load(stored)
                    .ok()
                    .map(|decimal| (decimal.to_string(), decimal.scale()));
                assert_eq!(by_bits, by_text, "{stored}");
            }
        }
    }

    proptest! {
        #[test]
        fn bits_say_what_the_text_says(digits in -(1_i128 << 96) + 1..1_i128 << 96, scale in 0_u32..=28, bits in any::<[u8; 16]>()) {
            let decimal = Decimal::from_i128_with_scale(digits, scale);
            let by_text: Decimal128 = decimal.to_string().parse().expect("has at most 29 digits");
            prop_assert_eq!(decimal.store(), Ok(by_text));
            for stored in [by_text, Decimal128::from_bytes(bits)] {
                let by_text = exactly(&stored.to_string()).map(|decimal| (decimal, decimal.scale()));
                let by_bits = Decimal::load(stored).ok().map(|decimal| (decimal, decimal.scale()));
                prop_assert_eq!(by_text, by_bits);
            }
        }

        #[test]
        fn every_value_is_stored_exactly(digits in -(1_i128 << 96) + 1..1_i128 << 96, scale in 0_u32..=28) {
            let decimal = Decimal::from_i128_with_scale(digits, scale);
            let back = Decimal::load(decimal.store().expect("has at most 29 digits")).expect("is one");
            prop_assert_eq!((back, back.scale()), (decimal, decimal.scale()));
        }
    }
}
