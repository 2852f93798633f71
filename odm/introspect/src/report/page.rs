//! The frame of a page: its style, for light and dark, for narrow and wide screens.

use super::marks::escaped;

/// Colours have a contrast of 4.5 at least to what is behind them.
const STYLE: &str = "\
:root{color-scheme:light dark;--ground:#fff;--text:#1f2328;--quiet:#57606a;--line:#d0d7de;--box:#f6f8fa;--link:#0550ae;\
--bar:#0969da;--fault:#b3141f;--risk:#7d4e00;--hint:#0550ae}\
@media(prefers-color-scheme:dark){:root{--ground:#0d1117;--text:#e6edf3;--quiet:#9da7b3;--line:#30363d;--box:#161b22;\
--link:#79c0ff;--bar:#58a6ff;--fault:#ff8d85;--risk:#e3b341;--hint:#79c0ff}}\
*{box-sizing:border-box}\
body{margin:0;background:var(--ground);color:var(--text);font:16px/1.5 system-ui,sans-serif}\
main{max-width:1200px;margin:0 auto;padding:1rem;overflow-wrap:break-word}\
h1{font-size:1.6rem;line-height:1.2;margin:.5rem 0}h2{margin:2rem 0 .5rem}h3{margin:1.5rem 0 .5rem}h4{margin:1rem 0 .25rem}\
p{margin:.5rem 0}a{color:var(--link)}nav a{display:inline-block;margin-right:1rem;padding:.25rem 0}\
code{font:.875em ui-monospace,Menlo,Consolas,monospace;overflow-wrap:anywhere}\
pre{margin:.5rem 0;padding:.75rem;background:var(--ground);border:1px solid var(--line);border-radius:6px;overflow-x:auto}\
pre code{overflow-wrap:normal}\
details{margin:.5rem 0;padding:.5rem .75rem;background:var(--box);border:1px solid var(--line);border-radius:6px}\
details.fault{border-left:4px solid var(--fault)}details.risk{border-left:4px solid var(--risk)}\
details.hint{border-left:4px solid var(--hint)}\
summary{cursor:pointer;font-weight:600;min-height:1.75rem}summary span{font-weight:400;color:var(--quiet)}\
summary .finding{display:block;color:var(--text)}\
b.fault{color:var(--fault)}b.risk{color:var(--risk)}b.hint{color:var(--hint)}\
.scroll{overflow-x:auto;margin:.5rem 0}\
table{border-collapse:collapse;font-size:.875rem}\
th,td{padding:.3rem .6rem;border:1px solid var(--line);text-align:left;vertical-align:top}\
th{background:var(--box)}td{min-width:4rem;max-width:26rem}td code{overflow-wrap:break-word}\
.bars{fill:var(--bar);vertical-align:middle}.share{white-space:nowrap}\
.quiet{color:var(--quiet)}\
@media print{details>*{display:block}}";

/// A page of this title with this content, which loads nothing.
pub fn page(title: &str, content: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src \
         'none'; style-src 'unsafe-inline'; img-src data:\">\n<meta name=\"robots\" content=\"noindex\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{content}</main>\n</body>\n</html>\n",
        escaped(title),
    )
}
