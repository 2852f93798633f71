//! The output of `--json`.

use crate::advice::Advice;
use crate::design::Design;
use serde::Serialize;

/// The number that a change of the shape below increases.
pub const FORMAT: u32 = 1;

#[derive(Serialize)]
struct Output<'a> {
    format: u32,
    version: &'static str,
    design: &'a Design,
    advice: &'a [Advice],
}

/// One document, indented, with a line break at its end:
///
/// | field | holds |
/// | --- | --- |
/// | `format` | [`FORMAT`] |
/// | `version` | the version of the program |
/// | `design` | the [`Design`]: `database`, `collections` with their `root` field, `indexes` and `sizes`, `references`, `two_way`, `copies`, `computed`, `subsets`, `buckets`, `trees`, `notes` |
/// | `advice` | each [`Advice`]: `rule`, `severity` (`fault`, `risk`, `hint`), `collection`, `path`, `also`, `finding`, `cost`, `remedy` (`words`, and `code` with its `language`: `rust`, `shell`, `terminal`), `evidence` (figures by name), `examples` |
///
/// The worst advice comes first, and the surest reference. Paths are written as in [`crate::design`].
///
/// # Errors
/// Where a design has what JSON can't say: there is nothing of the kind.
pub fn write(design: &Design, advice: &[Advice]) -> serde_json::Result<String> {
    let output = Output {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION"),
        design,
        advice,
    };
    let mut text = serde_json::to_string_pretty(&output)?;
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::{advise, fixtures::faulty};
    use serde_json::Value;

    #[test]
    fn the_output_has_the_documented_shape() -> serde_json::Result<()> {
        let design = faulty();
        let advice = advise(&design);
        let text = write(&design, &advice)?;
        let json: Value = serde_json::from_str(&text)?;
        let names = |value: &Value| -> Vec<String> {
            value
                .as_object()
                .map(|object| object.keys().cloned().collect())
                .unwrap_or_default()
        };
        assert_eq!(names(&json), ["advice", "design", "format", "version"]);
        assert_eq!(json["format"], FORMAT);
        assert_eq!(json["design"]["database"], "shop");
        assert_eq!(json["design"]["references"][0]["from"]["collection"], "orders");
        let first = &json["advice"][0];
        assert_eq!(first["rule"], "dangling-reference");
        assert_eq!(first["severity"], "fault");
        assert_eq!(
            names(first),
            [
                "also",
                "collection",
                "cost",
                "evidence",
                "examples",
                "finding",
                "path",
                "remedy",
                "rule",
                "severity"
            ]
        );
        assert_eq!(first["evidence"]["dangling"], 12.0);
        assert_eq!(first["remedy"]["code"][0]["language"], "rust");
        for advice in &advice {
            let rule = serde_json::to_value(advice.rule)?;
            assert_eq!(rule, advice.rule.name());
        }
        Ok(())
    }
}
