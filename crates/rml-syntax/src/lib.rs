//! Turns text into a syntax tree: lexer, parser, [`ast`] and formatter. Names are not resolved.

pub mod ast;
mod braces;
mod dump;
mod foreign;
mod format;
mod lexer;
pub mod operands;
mod parser;
pub mod precedence;
mod token;

pub use dump::{dump, dump_expr};
pub use format::format;
pub use parser::{MAX_DEPTH, MAX_NESTING, Parsed, parse};
pub use token::{is_keyword, keywords};
