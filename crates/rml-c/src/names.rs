//! Names in C.

use std::collections::BTreeSet;

/// Words that mean something in C99, and names that the text uses for itself.
const TAKEN: &[&str] = &[
    "auto",
    "bool",
    "break",
    "case",
    "char",
    "const",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extern",
    "false",
    "float",
    "for",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "true",
    "typedef",
    "union",
    "unsigned",
    "void",
    "volatile",
    "while",
    "asm",
    "fortran",
    "errno",
    "main",
    "num",
    "state",
    "work",
    "in",
    "out",
    "ticks",
    "done",
    "last",
    "bad",
    "NAN",
    "INFINITY",
    "RML_NAN",
    "RML_INFINITY",
];

/// Names that differ from each other.
#[derive(Debug, Default)]
pub(crate) struct Names(BTreeSet<String>);

impl Names {
    /// A name like `text`, which nothing else has.
    pub(crate) fn fresh(&mut self, text: &str) -> String {
        let base = identifier(text);
        let mut name = base.clone();
        let mut n = 2;
        while TAKEN.contains(&name.as_str()) || !self.0.insert(name.clone()) {
            name = format!("{base}_{n}");
            n += 1;
        }
        name
    }
}

/// A text with everything replaced that no identifier has.
pub(crate) fn identifier(text: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = text.chars().map(fits).collect();
    // Names that begin so belong to the compiler, and one letter and a number may be a variable of a loop.
    let is_odd = name.starts_with(|c: char| c.is_ascii_digit() || c == '_');
    if is_odd || name.is_empty() { format!("v{name}") } else { name }
}

/// Whether a text is an identifier that C takes as it is.
pub fn is_identifier(text: &str) -> bool {
    identifier(text) == text && !TAKEN.contains(&text)
}
