//! Codes of the lexer and parser.

codes! {
    SYNTAX = "syntax", "The text is not a program: something else was expected here.";
}
