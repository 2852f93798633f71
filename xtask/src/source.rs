//! The sources of the library's two crates, parsed: their modules, without what is compiled for tests alone.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, Item, Meta, UseTree, Visibility};

use crate::workspace::root;

/// A crate, as the modules that its `lib.rs` names.
#[derive(Debug)]
pub struct Source {
    /// The crate's own module comes first, and each module before those in it.
    pub modules: Vec<Module>,
}

/// A module, in a file of its own or within another one.
#[derive(Debug)]
pub struct Module {
    /// The file that holds it, below `src`, with `/` between folders.
    pub file: String,
    /// The names that lead to it from the root of the crate.
    pub path: Vec<String>,
    /// Its content. Modules are not among its items.
    pub items: Vec<Item>,
    /// Whether other crates can name it, and its documentation is shown.
    pub is_public: bool,
}

impl Source {
    /// Reads a crate of the workspace: `odm`, `odm-derive`.
    pub fn of(package: &str) -> Result<Self> {
        let src = root().join(package).join("src");
        let mut source = Source { modules: Vec::new() };
        source.file(&src, "lib.rs", Vec::new(), &src, true)?;
        Ok(source)
    }

    /// Reads a module from its file. The files of the modules in it are below `dir`.
    fn file(&mut self, src: &Path, file: &str, path: Vec<String>, dir: &Path, is_public: bool) -> Result<()> {
        let at = src.join(file);
        let text = std::fs::read_to_string(&at).with_context(|| format!("{} can't be read", at.display()))?;
        let parsed = syn::parse_file(&text).with_context(|| format!("{} can't be parsed", at.display()))?;
        self.module(src, file, path, dir, is_public, parsed.items)
    }

    fn module(
        &mut self,
        src: &Path,
        file: &str,
        path: Vec<String>,
        dir: &Path,
        is_public: bool,
        items: Vec<Item>,
    ) -> Result<()> {
        let (modules, items): (Vec<Item>, Vec<Item>) = items
            .into_iter()
            .filter(|item| !is_for_tests(attributes(item)))
            .partition(|item| matches!(item, Item::Mod(_)));
        self.modules.push(Module {
            file: file.to_owned(),
            path: path.clone(),
            items,
            is_public,
        });
        for item in modules {
            let Item::Mod(module) = item else { continue };
            let name = module.ident.to_string();
            let mut path = path.clone();
            path.push(name.clone());
            let dir = dir.join(&name);
            let is_public = is_public && is_shown(&module.vis, &module.attrs);
            if let Some((_, items)) = module.content {
                self.module(src, file, path, &dir, is_public, items)?;
                continue;
            }
            let beside = dir.with_extension("rs");
            let found = [beside, dir.join("mod.rs")]
                .into_iter()
                .find(|file| file.is_file());
            let Some(found) = found else {
                bail!("{file}: the module `{name}` has no file");
            };
            self.file(src, &below(src, &found)?, path, &dir, is_public)?;
        }
        Ok(())
    }
}

/// The name of a file below the sources of a crate.
fn below(src: &Path, file: &Path) -> Result<String> {
    let names: Option<Vec<&str>> = file
        .strip_prefix(src)?
        .components()
        .map(|name| name.as_os_str().to_str())
        .collect();
    let names = names.with_context(|| format!("{} is not a name in Unicode", file.display()))?;
    Ok(names.join("/"))
}

/// The lines of a source file that hold code, outside of the tests in it. A test module ends a file.
pub fn lines_of_code(package: &str, file: &str) -> Result<usize> {
    let at: PathBuf = root().join(package).join("src").join(file);
    let text = std::fs::read_to_string(&at).with_context(|| format!("{} can't be read", at.display()))?;
    let before_tests = text.lines().take_while(|line| *line != "#[cfg(test)]");
    Ok(before_tests
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .count())
}

/// The attributes of an item.
pub fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Whether it is compiled for tests alone.
pub fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && matches!(&attribute.meta, Meta::List(list) if list.tokens.to_string() == "test")
    })
}

/// Whether it can be named by other crates, and is shown in the documentation.
pub fn is_shown(visibility: &Visibility, attributes: &[Attribute]) -> bool {
    let is_hidden = attributes.iter().any(|attribute| {
        attribute.path().is_ident("doc")
            && matches!(&attribute.meta, Meta::List(list) if list.tokens.to_string() == "hidden")
    });
    matches!(visibility, Visibility::Public(_)) && !is_hidden
}

/// The names that a `use` brings in, each with the path that it stands for. A glob has the name `*`.
pub fn uses(tree: &UseTree) -> Vec<(String, Vec<String>)> {
    fn walk(tree: &UseTree, before: &[String], found: &mut Vec<(String, Vec<String>)>) {
        let with = |name: &syn::Ident| {
            let mut path = before.to_vec();
            if name != "self" || path.is_empty() {
                path.push(name.to_string());
            }
            path
        };
        match tree {
            UseTree::Path(part) => walk(&part.tree, &with(&part.ident), found),
            UseTree::Name(name) => {
                let path = with(&name.ident);
                found.push((path.last().cloned().unwrap_or_default(), path));
            }
            UseTree::Rename(name) => found.push((name.rename.to_string(), with(&name.ident))),
            UseTree::Glob(_) => found.push(("*".to_owned(), before.to_vec())),
            UseTree::Group(group) => group.items.iter().for_each(|tree| walk(tree, before, found)),
        }
    }
    let mut found = Vec::new();
    walk(tree, &[], &mut found);
    found
}

/// The tokens of a piece of code in the order in which they stand, without attributes. Groups are opened, and begin and end with a mark.
pub fn tokens(item: &impl ToTokens) -> Vec<Token> {
    let mut found = Vec::new();
    flatten(item.to_token_stream(), &mut found);
    found
}

/// A token, as far as anything here looks at it.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    /// A name or a keyword.
    Name(String),
    /// A string.
    Text(String),
    /// A sign: `.`, `:`, an opening or a closing bracket.
    Sign(char),
    /// Anything else.
    Other,
}

fn flatten(stream: TokenStream, found: &mut Vec<Token>) {
    let mut stream = stream.into_iter().peekable();
    while let Some(tree) = stream.next() {
        match tree {
            TokenTree::Punct(sign) if sign.as_char() == '#' => {
                if matches!(stream.peek(), Some(TokenTree::Punct(sign)) if sign.as_char() == '!') {
                    stream.next();
                }
                if matches!(stream.peek(), Some(TokenTree::Group(group)) if group.delimiter() == proc_macro2::Delimiter::Bracket)
                {
                    stream.next();
                }
            }
            TokenTree::Punct(sign) => found.push(Token::Sign(sign.as_char())),
            TokenTree::Ident(name) => found.push(Token::Name(name.to_string())),
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                // Most of the others are numbers, and parsing takes a while.
                let is_text = text.starts_with(['"', 'r']);
                let parsed = is_text
                    .then(|| syn::parse_str::<syn::LitStr>(&text).ok())
                    .flatten();
                found.push(parsed.map_or(Token::Other, |text| Token::Text(text.value())));
            }
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    proc_macro2::Delimiter::Parenthesis => ('(', ')'),
                    proc_macro2::Delimiter::Brace => ('{', '}'),
                    proc_macro2::Delimiter::Bracket => ('[', ']'),
                    proc_macro2::Delimiter::None => (' ', ' '),
                };
                found.push(Token::Sign(open));
                flatten(group.stream(), found);
                found.push(Token::Sign(close));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_is_its_modules_without_those_of_tests() -> Result<()> {
        let source = Source::of("odm")?;
        assert_eq!(
            source.modules.first().map(|module| module.file.as_str()),
            Some("lib.rs")
        );
        assert!(
            source
                .modules
                .iter()
                .any(|module| module.file == "api/insert_many.rs" && !module.is_public)
        );
        assert!(
            source
                .modules
                .iter()
                .any(|module| module.file == "error.rs" && module.is_public)
        );
        assert!(
            source
                .modules
                .iter()
                .all(|module| !module.path.iter().any(|name| name.ends_with("tests")))
        );
        Ok(())
    }

    #[test]
    fn a_use_is_its_leaves() -> Result<()> {
        let item: syn::ItemUse = syn::parse_str("use a::{self, b::{C, D as E}, *};")?;
        let path = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let expected = [
            ("a", path(&["a"])),
            ("C", path(&["a", "b", "C"])),
            ("E", path(&["a", "b", "D"])),
            ("*", path(&["a"])),
        ];
        let found = uses(&item.tree);
        assert_eq!(found, expected.map(|(name, path)| (name.to_owned(), path)));
        Ok(())
    }

    #[test]
    fn attributes_are_not_among_the_tokens() -> Result<()> {
        let item: Item = syn::parse_str("#[doc = \"a\"] const A: &str = f!(#[x] \"b\".c);")?;
        let found = tokens(&item);
        assert!(
            !found.contains(&Token::Text("a".to_owned())) && !found.contains(&Token::Name("x".to_owned()))
        );
        let called = [
            Token::Text("b".to_owned()),
            Token::Sign('.'),
            Token::Name("c".to_owned()),
        ];
        assert!(found.windows(3).any(|window| window == called), "{found:?}");
        Ok(())
    }
}
