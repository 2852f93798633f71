//! Parts of a page: escaped text, code, bars.

use crate::advice::words::count;
use crate::sketch::Spread;
use std::fmt::Write;

/// Text of the database in HTML: as itself, whatever it holds.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(letter),
            // Characters that no page may have, and those that turn the direction of text.
            letter
                if letter.is_control()
                    || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') =>
            {
                safe.push('\u{fffd}');
            }
            letter => safe.push(letter),
        }
    }
    safe
}

/// A name as code; a path may be broken behind its dots.
pub fn code(text: &str) -> String {
    format!("<code>{}</code>", escaped(text).replace('.', ".<wbr>"))
}

/// A sentence, in which what stands between backticks is code.
pub fn sentence(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    // A backtick without another is one.
    if parts.len().is_multiple_of(2) {
        return escaped(text);
    }
    let mut html = String::new();
    for (at, part) in parts.iter().enumerate() {
        if at % 2 == 1 {
            html.push_str(&code(part));
        } else {
            html.push_str(&escaped(part));
        }
    }
    html
}

/// More bars are not told apart.
const BARS: usize = 24;
const WIDTH: usize = 6;
const HEIGHT: f64 = 28.0;

/// The bars of a distribution, the values from left to right; `unit` makes words of a value.
pub fn histogram(spread: &Spread, unit: &dyn Fn(u64) -> String) -> String {
    if spread.number == 0 || spread.histogram.len() < 2 {
        return String::new();
    }
    let each = spread.histogram.len().div_ceil(BARS);
    let bars: Vec<(u64, u64)> = spread
        .histogram
        .chunks(each)
        .filter_map(|chunk| {
            let upper = chunk.last()?.0.min(spread.greatest);
            Some((upper, chunk.iter().map(|(_, number)| number).sum()))
        })
        .collect();
    let most = bars.iter().map(|bar| bar.1).max().unwrap_or(1).max(1) as f64;
    let label = format!(
        "from {} to {}, the median {}",
        unit(spread.least),
        unit(spread.greatest),
        unit(spread.median)
    );
    let mut svg = format!(
        "<svg class=\"bars\" role=\"img\" width=\"{}\" height=\"{HEIGHT}\" viewBox=\"0 0 {} {HEIGHT}\" aria-label=\"{}\">",
        bars.len() * WIDTH,
        bars.len() * WIDTH,
        escaped(&label),
    );
    for (at, (upper, number)) in bars.iter().enumerate() {
        // Few beside many are still seen.
        let height = if *number == 0 {
            0.0
        } else {
            (*number as f64 / most * HEIGHT).max(1.5)
        };
        let _ = write!(
            svg,
            "<rect x=\"{}\" y=\"{:.1}\" width=\"{}\" height=\"{height:.1}\"><title>{}: up to {}</title></rect>",
            at * WIDTH,
            HEIGHT - height,
            WIDTH - 1,
            count(*number),
            escaped(&unit(*upper)),
        );
    }
    svg.push_str("</svg>");
    svg
}

/// A share as a bar with its figure.
pub fn share(part: f64) -> String {
    let part = if part.is_finite() {
        part.clamp(0.0, 1.0)
    } else {
        0.0
    };
    format!(
        "<span class=\"share\"><svg class=\"bars\" aria-hidden=\"true\" width=\"40\" height=\"8\"><rect width=\"{:.1}\" \
         height=\"8\"/></svg> {:.0} %</span>",
        part * 40.0,
        part * 100.0
    )
}

/// A table that scrolls in a box of its own where it is wider than the screen.
pub fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let mut html = "<div class=\"scroll\"><table><thead><tr>".to_owned();
    for head in heads {
        let _ = write!(html, "<th scope=\"col\">{}</th>", escaped(head));
    }
    html.push_str("</tr></thead><tbody>");
    for row in rows {
        html.push_str("<tr>");
        for cell in row {
            let _ = write!(html, "<td>{cell}</td>");
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>\n");
    html
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::fixtures::spread;

    #[test]
    fn text_is_escaped() {
        assert_eq!(
            escaped("<b a='\"'>&\u{1b}\u{202e}"),
            "&lt;b a=&#39;&quot;&#39;&gt;&amp;\u{fffd}\u{fffd}"
        );
        assert_eq!(sentence("`a<b` is > 1"), "<code>a&lt;b</code> is &gt; 1");
        assert_eq!(sentence("a ` b"), "a ` b");
    }

    #[test]
    fn bars_are_drawn_for_several_values() {
        let bars = histogram(&spread(&[(1, 3), (2, 1), (900, 1)]), &count);
        assert_eq!(bars.matches("<rect").count(), 3);
        assert!(
            bars.contains("aria-label=\"from 1 to 900, the median 1\""),
            "{bars}"
        );
        assert!(histogram(&spread(&[(1, 3)]), &count).is_empty());
        let many: Vec<(u64, u64)> = (0..200).map(|value| (value * 37, 1)).collect();
        assert!(histogram(&spread(&many), &count).matches("<rect").count() <= BARS);
    }
}
