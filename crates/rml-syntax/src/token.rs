//! Tokens: their kinds and how messages name them.

/// A token: its kind and its range of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token {
    /// The kind.
    pub(crate) kind: Kind,
    /// The first byte.
    pub(crate) start: usize,
    /// The position after the last byte.
    pub(crate) end: usize,
}

/// Declares the kinds with a fixed spelling.
macro_rules! kinds {
    (keywords { $($kw:ident $kw_text:literal,)* } marks { $($mark:ident $mark_text:literal,)* }) => {
        /// The kinds of tokens. Words that are not keywords here are ordinary names: `do`, `end`, `init`, `back`,
        /// `every`, `import`, `int`, `num` and `bool` are special only in a few places.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum Kind {
            /// A name.
            Ident,
            /// An integer literal.
            Int,
            /// A literal with a fraction or an exponent.
            Num,
            /// A string, with its quotes.
            Str,
            $(#[doc = $kw_text] $kw,)*
            $(#[doc = $mark_text] $mark,)*
            /// Invalid text; its error has been reported.
            Invalid,
            /// The end of the text.
            Eof,
        }

        impl Kind {
            /// The spelling, for kinds that have a single one.
            pub(crate) fn spelling(self) -> Option<&'static str> {
                match self {
                    $(Kind::$kw => Some($kw_text),)*
                    $(Kind::$mark => Some($mark_text),)*
                    Kind::Ident | Kind::Int | Kind::Num | Kind::Str | Kind::Invalid | Kind::Eof => None,
                }
            }

            /// The keyword of that spelling.
            pub(crate) fn keyword(text: &str) -> Option<Kind> {
                match text {
                    $($kw_text => Some(Kind::$kw),)*
                    _ => None,
                }
            }

            /// All keywords.
            pub(crate) const KEYWORDS: &[&str] = &[$($kw_text),*];

            /// Whether the kind is a keyword.
            pub(crate) fn is_keyword(self) -> bool {
                matches!(self, $(Kind::$kw)|*)
            }
        }
    };
}

kinds! {
    keywords {
        Node "node", When "when", Merge "merge", Fby "fby", Post "post", If "if", Then "then", Else "else",
        Not "not", And "and", Or "or", True "true", False "false",
    }
    marks {
        Arrow "->", EqEq "==", Ne "!=", Le "<=", Ge ">=", DotDot "..",
        Plus "+", Minus "-", Star "*", Slash "/", Lt "<", Gt ">", Eq "=", LParen "(", RParen ")",
        Comma ",", Semi ";", Colon ":", LBracket "[", RBracket "]", Dot ".",
    }
}

impl Kind {
    /// Whether an operand of `merge` can begin with this kind.
    pub(crate) fn starts_operand(self) -> bool {
        matches!(
            self,
            Kind::Ident
                | Kind::Int
                | Kind::Num
                | Kind::True
                | Kind::False
                | Kind::LParen
                | Kind::LBracket
                | Kind::Merge
        )
    }

    /// Whether an operand of `when` can begin with this kind.
    pub(crate) fn starts_unary(self) -> bool {
        self.starts_operand() || matches!(self, Kind::Minus | Kind::Not | Kind::Post)
    }

    /// Whether an expression can end with this kind.
    pub(crate) fn ends_expr(self) -> bool {
        matches!(self, Kind::RParen | Kind::RBracket)
            || self.starts_operand() && !matches!(self, Kind::LParen | Kind::LBracket | Kind::Merge)
    }

    /// Whether an expression can begin with this kind.
    pub(crate) fn starts_expr(self) -> bool {
        self.starts_unary() || self == Kind::If
    }
}

/// All keywords.
pub fn keywords() -> impl Iterator<Item = &'static str> {
    Kind::KEYWORDS.iter().copied()
}

/// Whether `text` is a keyword, and therefore not a name.
pub fn is_keyword(text: &str) -> bool {
    Kind::keyword(text).is_some()
}
