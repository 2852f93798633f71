//! `#[odm_tests::test]`: registers a function as a test with the harness of `odm_tests`.

use proc_macro::{TokenStream, TokenTree};

/// Makes a function a test.
///
/// It stands in the place of `#[test]`, whose harness can't report at run time that a test was skipped.
#[proc_macro_attribute]
pub fn test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    if !arguments.is_empty() {
        return error(
            "`#[odm_tests::test]` takes no arguments; a test that needs transactions is run by `with_transactions`",
        );
    }
    let mut tokens = item.clone().into_iter();
    let is_fn = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word.to_string() == "fn");
    // The name follows the keyword, which nothing in front of it (attributes, visibility) holds outside of a group.
    let name = tokens.find(is_fn).and_then(|_| tokens.next());
    let Some(TokenTree::Ident(name)) = name else {
        return error("`#[odm_tests::test]` stands before a function");
    };
    let registration = format!(
        "::odm_tests::harness::inventory::submit! {{
            ::odm_tests::harness::Case {{ path: ::core::concat!(::core::module_path!(), \"::\", \"{name}\"), run: {name} }}
        }}"
    );
    match registration.parse::<TokenStream>() {
        Ok(registration) => item.into_iter().chain(registration).collect(),
        Err(_) => error("the test could not be registered"),
    }
}

fn error(message: &str) -> TokenStream {
    format!("::core::compile_error! {{ {message:?} }}")
        .parse()
        .unwrap_or_default()
}
