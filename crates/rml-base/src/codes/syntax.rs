//! Codes of the lexer and parser.

codes! {
    SYNTAX = "syntax", "The text is not a program: something else was expected at this place.";
    UNEXPECTED_CHARACTER = "unexpected-character", "No token of the language begins with this character.";
    UNTERMINATED_COMMENT = "unterminated-comment", "A comment `(*` has no matching `*)`.";
    UNTERMINATED_STRING = "unterminated-string", "A string has no closing quote on its line.";
    MALFORMED_NUMBER = "malformed-number", "A number is followed by letters or digits that do not belong to it.";
    NUMBER_OUT_OF_RANGE = "number-out-of-range", "A literal does not fit its type.";
    KEYWORD_AS_NAME = "keyword-as-name", "A keyword is used where a name is expected.";
    MISSING_SEMICOLON = "missing-semicolon", "An equation or import does not end with a semicolon.";
    MERGE_OPERANDS = "merge-operands", "The operands of `merge` cannot be grouped into exactly three.";
    NESTING_LIMIT = "nesting-limit", "An expression is nested more deeply than the language allows.";
    FILE_TOO_LARGE = "file-too-large", "A source text is larger than the limit.";
    TOO_MANY_ERRORS = "too-many-errors", "The text has more errors than are shown.";
}
