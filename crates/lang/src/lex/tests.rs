use proptest::prelude::*;

use super::{Tok, tokenize};

fn kinds(text: &str) -> Vec<Tok<'_>> {
    let mut tokens: Vec<Tok<'_>> = tokenize(text).unwrap().into_iter().map(|token| token.tok).collect();
    assert_eq!(tokens.pop(), Some(Tok::End));
    tokens
}

#[test]
fn numbers_ranges_and_arrows_are_told_apart() {
    assert_eq!(kinds("0..60"), [Tok::Int("0"), Tok::Punct(".."), Tok::Int("60")]);
    assert_eq!(kinds("-0.5..1e-3"), [Tok::Float("-0.5"), Tok::Punct(".."), Tok::Float("1e-3")]);
    assert_eq!(kinds("A->B"), [Tok::Upper("A"), Tok::Punct("->"), Tok::Upper("B")]);
    assert_eq!(kinds("=-5"), [Tok::Punct("="), Tok::Int("-5")]);
    assert_eq!(kinds("1. .5"), [Tok::Int("1"), Tok::Punct("."), Tok::Punct("."), Tok::Int("5")]);
    assert_eq!(kinds("5x 1e 2_"), [Tok::Junk("5x"), Tok::Junk("1e"), Tok::Junk("2_")]);
}

#[test]
fn words_variables_and_comments_are_read() {
    assert_eq!(
        kinds("limit5 Port $_a // x\n/* y **/ $_"),
        [Tok::Lower("limit5"), Tok::Upper("Port"), Tok::Var("_a"), Tok::Var("_")]
    );
}

#[test]
fn strings_keep_raw_newlines_and_resolve_the_five_escapes() {
    assert_eq!(kinds("\"a\nb\\\"\\\\\\n\\r\\té\""), [Tok::Str("a\nb\"\\\n\r\té".into())]);
    assert_eq!(kinds("\"\" \"\\n\""), [Tok::Str("".into()), Tok::Str("\n".into())]);
}

#[test]
fn illegal_characters_are_refused_at_their_place() {
    for (text, start) in
        [("a é", 2), ("\"a", 0), ("\"\\x\"", 1), ("$ a", 0), ("$A", 0), ("a #", 2), ("/* *", 0), ("a ;", 2)]
    {
        assert_eq!(tokenize(text).unwrap_err().at.start, start, "{text:?}");
    }
}

proptest! {
    #[test]
    fn tokens_cover_the_text_in_order(text in ".{0,200}") {
        if let Ok(tokens) = tokenize(&text) {
            let mut end = 0;
            for token in tokens {
                prop_assert!(token.at.start >= end && text.is_char_boundary(token.at.end));
                end = token.at.end;
            }
            prop_assert_eq!(end, text.len());
        }
    }
}
