//! The settings of a dialect, as a user writes them.

use super::Dialect;

impl Dialect {
    /// Parses a character that separates cells, or `tab`; a space means one or more blanks.
    ///
    /// # Errors
    /// What is expected.
    pub fn parse_separator(text: &str) -> Result<char, String> {
        let mut chars = text.chars();
        match (text, chars.next(), chars.next()) {
            ("tab" | "\\t", _, _) => Ok('\t'),
            (_, Some(c), None)
                if c != '"' && !c.is_alphanumeric() && !matches!(c, '\n' | '\r' | '.' | '-' | '+') =>
            {
                Ok(c)
            }
            _ => Err("expected one character that is in no number or name, such as ';', '|' or ' ', or tab"
                .to_owned()),
        }
    }

    /// Parses the decimal mark.
    ///
    /// # Errors
    /// What is expected.
    pub fn parse_decimal(text: &str) -> Result<char, String> {
        match text {
            "." => Ok('.'),
            "," => Ok(','),
            _ => Err("expected a point (.) or a comma (,)".to_owned()),
        }
    }

    /// Parses the character between groups of three digits.
    ///
    /// # Errors
    /// What is expected.
    pub fn parse_thousands(text: &str) -> Result<char, String> {
        let mut chars = text.chars();
        match (chars.next(), chars.next()) {
            (Some(c), None)
                if matches!(c, ',' | '.' | '\'' | '_' | ' ' | '\u{a0}' | '\u{202f}' | '\u{2019}') =>
            {
                Ok(c)
            }
            _ => Err("expected one of , . ' _ or a space".to_owned()),
        }
    }

    /// Parses the text that begins a comment.
    ///
    /// # Errors
    /// What is expected.
    pub fn parse_comment(text: &str) -> Result<String, String> {
        match text.trim() {
            "" => Err("expected the beginning of a comment, such as '#' or '%'".to_owned()),
            text => Ok(text.to_owned()),
        }
    }
}
