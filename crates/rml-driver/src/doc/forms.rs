//! The forms of the language that are written as words.

/// A form of the language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FormDoc {
    /// The word.
    pub name: &'static str,
    /// How it is written.
    pub form: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// An equation with it.
    pub example: &'static str,
}

pub(super) const FORMS: &[FormDoc] = &[
    FormDoc {
        name: "fby",
        form: "a fby x, and backward: a fby back x",
        meaning: "A delay: in the first cycle `a`, then the `x` of the cycle before. With `back`, the `x` of the next cycle, and `a` in the last one.\n\
                  It counts the cycles in which its operands are present, and starts again in each window of `every`.",
        example: "s = (0.0 fby s) + x;    -- 1, 2, 4 gives 1, 3, 7",
    },
    FormDoc {
        name: "post",
        form: "post x",
        meaning: "A look ahead: the `x` of the next cycle. The last cycle has none, and `post` does not stop at the end of a window.",
        example: "change = post x - x;    -- 1, 2, 4 gives 1, 2 and nothing",
    },
    FormDoc {
        name: "when",
        form: "x when c, and x when not c",
        meaning: "Sampling: present with the value of `x` in the cycles where `c` is true, absent in the others. In an interface it declares a clock:\n\
                  `y: int [] when end`.",
        example: "last = x when end;    -- 1, 2, 4 with end = false, false, true gives 4 in the third cycle only",
    },
    FormDoc {
        name: "merge",
        form: "merge c a b",
        meaning: "The opposite of `when`: `a`, which is present where `c` is true, and `b`, which is present where it is false. An operand that is more than\n\
                  a name stands in parentheses.",
        example: "y = merge c (x when c) (0.0 when not c);",
    },
    FormDoc {
        name: "every",
        form: "f(x) every end",
        meaning: "Runs a node window by window: a window ends with each cycle where `end` is true. Then all delays in the node start again.\n\
                  A parameter in the node is read once a window, and updated once with the sum of the gradients.",
        example: "h = lstm(16, x) every end;",
    },
    FormDoc {
        name: "if",
        form: "if c then a else b",
        meaning: "One of two values, by a scalar condition. `where(c, a, b)` chooses element by element.",
        example: "y = if x > 0.0 then x else 0.0;",
    },
    FormDoc {
        name: "node",
        form: "node f(x, y: num [n]) -> (o)  equations",
        meaning: "Defines a node: its inputs, its outputs, and an equation for each output and variable. `private node` keeps it to its file.",
        example: "node mean2(x, y) -> (m)  m = 0.5 * (x + y);",
    },
    FormDoc {
        name: "import",
        form: "import std.layers;, of some names: import std.layers (dense, lstm);, under a name: import \"cells.rml\" as cells;",
        meaning: "Makes the nodes of another text known: a module of the library, or a file.",
        example: "import std.losses (mse);",
    },
];
