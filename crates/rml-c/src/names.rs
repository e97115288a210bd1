//! Names in C.

use std::collections::BTreeSet;

/// Words that cannot be names of fields in C or C++: keywords, and macros of compilers and common headers.
const WORDS: &[&str] = &[
    // C, up to C23 and with the words of GNU.
    "alignas alignof asm auto bool break case char const constexpr continue default do double else enum extern",
    "false float for fortran goto if inline int long nullptr register restrict return short signed sizeof static",
    "static_assert struct switch thread_local true typedef typeof typeof_unqual union unsigned void volatile while",
    // C++.
    "and and_eq bitand bitor catch char8_t char16_t char32_t class co_await co_return co_yield compl concept",
    "const_cast consteval constinit decltype delete dynamic_cast explicit export friend mutable namespace new",
    "noexcept not not_eq operator or or_eq private protected public reinterpret_cast requires static_cast template",
    "this throw try typeid typename using virtual wchar_t xor xor_eq",
    // Macros of compilers for some machine, of math.h, and of other headers that callers often include.
    "arm avr far hpux i386 interrupt linux m68k mips near pdp11 sparc sun unix vax",
    "fpclassify iscanonical iseqsig isfinite isgreater isgreaterequal isinf isless islessequal islessgreater isnan",
    "isnormal issignaling issubnormal isunordered iszero math_errhandling signbit",
    "assert errno offsetof stderr stdin stdout",
];

/// Headers of C, which a header of the program with the same name would hide.
const HEADERS: &[&str] = &[
    "assert",
    "complex",
    "ctype",
    "errno",
    "fenv",
    "float",
    "inttypes",
    "iso646",
    "limits",
    "locale",
    "math",
    "setjmp",
    "signal",
    "stdalign",
    "stdarg",
    "stdatomic",
    "stdbit",
    "stdbool",
    "stdckdint",
    "stddef",
    "stdint",
    "stdio",
    "stdlib",
    "stdnoreturn",
    "string",
    "tgmath",
    "threads",
    "time",
    "uchar",
    "wchar",
    "wctype",
];

/// The C field for an input, an output or a state. Different names get different fields:
///
/// - A name that C or C++ does not allow gets a suffix `_`: a keyword, a macro, or a name of two or more characters
///   without a lower-case letter, since macros look like this. So does a name that ends in `_present`, since fields for
///   the presence of outputs have such names. Names that are such a name followed by `_` are renamed, too: `int`
///   becomes `int_`, and `int_` becomes `int__`.
/// - A name that begins with `_` gets the prefix `rml`; so does a name that begins with `rml_` or `rmlrml_` and so on.
/// - All other names are unchanged.
pub(crate) fn field(name: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut text: String = name.chars().map(fits).collect();
    let stem = text.trim_start_matches("rml");
    if stem.starts_with(|c: char| c.is_ascii_digit() || c == '_') || text.is_empty() {
        text.insert_str(0, "rml");
    }
    let stem = text.trim_end_matches('_');
    if is_taken(stem) || stem.ends_with("_present") {
        text.push('_');
    }
    text
}

/// Whether a name, which does not end with `_`, may have a meaning in C or C++.
fn is_taken(name: &str) -> bool {
    let is_capital = name.len() > 1 && !name.contains(|c: char| c.is_ascii_lowercase());
    let is_integer = (name.starts_with("int") || name.starts_with("uint")) && name.ends_with("_t");
    // M_PIf, HUGE_VALf128
    let is_of_math = name.starts_with("M_") || name.starts_with("HUGE_VAL");
    is_capital
        || is_integer
        || is_of_math
        || WORDS.iter().any(|line| line.split(' ').any(|word| word == name))
}

/// A set of names that differ from each other.
#[derive(Debug, Default)]
pub(crate) struct Names(BTreeSet<String>);

impl Names {
    /// Starts with these names as used.
    pub(crate) fn without(taken: &[&str]) -> Self {
        Self(taken.iter().map(|name| (*name).to_owned()).collect())
    }

    /// An unused name like `base`; the name followed by any of the suffixes is unused, too.
    pub(crate) fn fresh(&mut self, base: String, suffixes: &[&str]) -> String {
        let mut name = base.clone();
        let mut n = 2;
        let all = |name: &str| {
            suffixes.iter().map(|suffix| format!("{name}{suffix}")).chain([name.to_owned()]).collect()
        };
        let mut own: Vec<String> = all(&name);
        while own.iter().any(|name| self.0.contains(name)) {
            name = format!("{base}_{n}");
            own = all(&name);
            n += 1;
        }
        self.0.extend(own);
        name
    }
}

/// Why names in C cannot begin with this text, if they cannot.
pub fn refuses(name: &str) -> Option<&'static str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(is_part) {
        return Some("expected a letter, then letters, digits and `_`");
    }
    HEADERS.contains(&name).then_some("its header would hide the one of C that is called so")
}

#[cfg(test)]
mod tests {
    use super::{Names, field, refuses};

    #[test]
    fn names_that_differ_have_fields_that_differ() {
        let words = [
            "int",
            "x",
            "class",
            "unix",
            "INT64_MAX",
            "int64_t",
            "NET_H",
            "y_present",
            "_x",
            "rml_x",
            "isnan",
            "rml",
        ];
        let all: Vec<String> = words
            .iter()
            .flat_map(|word| ["", "_", "__", "_2", "_present", "_present_"].map(|end| format!("{word}{end}")))
            .flat_map(|word| {
                [word.clone(), format!("_{word}"), format!("rml_{word}"), format!("rmlrml_{word}")]
            })
            .collect();
        let names: std::collections::BTreeSet<&String> = all.iter().collect();
        let fields: std::collections::BTreeSet<String> = names.iter().map(|name| field(name)).collect();
        assert_eq!(names.len(), fields.len());
        // No field looks like one for the presence of an output, and renaming a field again changes nothing.
        assert!(fields.iter().all(|field| !field.ends_with("_present") && !field.starts_with('_')));
    }

    #[test]
    fn names_that_mean_nothing_in_c_stay() {
        for name in
            ["last", "last_2", "in", "out", "state", "work", "num", "t", "i0", "present", "v_x", "x_", "X"]
        {
            assert_eq!(field(name), name);
        }
        assert_eq!(["int", "int_", "_x", "NET_LONG"].map(field), ["int_", "int__", "rml_x", "NET_LONG_"]);
    }

    #[test]
    fn what_is_behind_a_name_is_its_own() {
        let mut names = Names::without(&["nums"]);
        let mut fresh = |name: &str| names.fresh(name.to_owned(), &["_set"]);
        assert_eq!(
            ["nums", "x", "x_set", "y_set", "y"].map(&mut fresh),
            ["nums_2", "x", "x_set_2", "y_set", "y_2"]
        );
    }

    #[test]
    fn programs_may_have_names_that_are_words_of_c() {
        assert!(refuses("main").is_none() && refuses("while").is_none());
        assert!(["", "4x", "_x", "a-b", "math"].iter().all(|name| refuses(name).is_some()));
    }
}
