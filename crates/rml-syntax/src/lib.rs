//! From text to syntax tree: lexer, parser, [`ast`] and formatter. Knows nothing of what names mean.

pub mod ast;
