//! The syntactic forms that are written as words.

/// A form of the language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FormDoc {
    /// The word.
    pub name: &'static str,
    /// Its syntax.
    pub form: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
    /// An example equation.
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
        name: "restart",
        form: "f(x) restart r",
        meaning: "Restarts the delays in a call in the cycle where `r` is true: `fby` takes its initial value there. Backward delays and\n\
                  parameters do not restart.",
        example: "n = count(x) restart (x == 0.0);",
    },
    FormDoc {
        name: "by",
        form: "f(x) by g",
        meaning: "Says which node updates the parameters in a call, in place of `diff_param`: a node with the inputs `init, bp, do`, or a call of\n\
                  one that leaves these open. `param(k) by g` says it of one parameter.",
        example: "h, _ = diff_net(x, true, dh) by adam(0.01, 0.9, 0.999, 1e-8, _, _, _);",
    },
    FormDoc {
        name: "along",
        form: "f(x) along 0, and f(x, c) along back (0, _)",
        meaning: "Runs a node over the entries of an axis within one cycle: a delay has the value of the entry before, and its first value at the\n\
                  first entry. Results are stacked along the axis; parameters are the same for all entries. With `back`, from the last entry.",
        example: "h = lstm(16, rows) along 0;    -- h[-1] is what the last row leaves",
    },
    FormDoc {
        name: "match",
        form: "match p (Idle -> a, Heat -> b, Cool -> c)",
        meaning: "The value of the case of an enumeration that `p` is. Each case runs only in the cycles where it applies, and all cases are\n\
                  named.",
        example: "power = match p (Idle -> 0.0, Heat -> 1.0, Cool -> -1.0);",
    },
    FormDoc {
        name: "automaton",
        form: "automaton  state A  equations  until c then B;  state B  equations  unless d continue A;  end;",
        meaning: "In each cycle, one of the states: its equations run. `until` leads to the next state after the equations of a cycle, `unless`\n\
                  before them. `then B` restarts the delays of `B`, `continue B` does not. What every state defines can be read outside.",
        example: "automaton  state Up  y = 1 + (0 fby y);  until y >= 3 then Down;  state Down  y = 0;  until true then Up;  end;",
    },
    FormDoc {
        name: "share",
        form: "share u = f;, and then u(x), u(y)",
        meaning: "One instance of a node for several calls: its parameters are those of all of them, and are updated once by the sum of the\n\
                  gradients. `u.params` is the vector of its parameters.",
        example: "d = u(x) - u(y);    -- after share u = net;",
    },
    FormDoc {
        name: "assert",
        form: "assert \"name\" c;",
        meaning: "States that `c` is true in each cycle in which it is present. A cycle in which it is false ends the run with an error that has\n\
                  the name and the values that decide it.",
        example: "assert \"the speed is bounded\" abs(speed) < 30.0;",
    },
    FormDoc {
        name: "enum",
        form: "enum phase = Idle, Heat, Cool;",
        meaning: "Defines a type by its cases, which are constants. In data, a case is its number, from 0.",
        example: "p = if t < 18.0 then Heat else Idle;",
    },
    FormDoc {
        name: "record",
        form: "record state = (h: num [n], c: num [n]);",
        meaning: "Gives several variables one name: `state(h, c)` makes a record, `s.h` is a field, and `s: state` declares an input or output.",
        example: "s = state(zeros([4]), zeros([4])) fby state(h, c);",
    },
    FormDoc {
        name: "columns",
        form: "columns x = open, low..high, hour(date), \"wind speed\";",
        meaning: "Names the columns of data that feed an input; several make a vector. `--columns` and mapping files have priority.",
        example: "columns y = label;",
    },
    FormDoc {
        name: "const",
        form: "const rate = 0.001;",
        meaning: "Gives a value that is known when the program is compiled a name, which `--set` can give another value.",
        example: "const sizes = [64, 64, 10];",
    },
    FormDoc {
        name: "for",
        form: "h[k + 1] = f(h[k]) for k < n;, and for 1 <= k < n",
        meaning: "Stands for one equation for each index `k`: for the variables `h[1]`, .. `h[n]`, each with instances and parameters of its own.",
        example: "h[k + 1] = tanh(dense(64, h[k])) for k < 3;",
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
