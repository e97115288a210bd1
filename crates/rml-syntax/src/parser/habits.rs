//! Forms of other languages, mostly of Python, and their equivalents in this language.
//!
//! This module does not decide whether a text is a program. It only improves the help line of an error that was found,
//! if the tokens around the error are such a form.

use super::{Parse, Parser};
use crate::ast::{Decl, Equation, Lhs};
use crate::token::{Kind, Token};
use rml_base::Diagnostic;
use rml_base::codes::syntax as codes;

/// Words with which constructs of other languages begin; they are ordinary names here.
const WORDS: &[(&str, &str)] = &[
    ("return", "a node returns its outputs: the equation of output `o` is `o = ..;`"),
    ("returns", "outputs follow an arrow: `node f(x) -> (o)`"),
    (
        "pre",
        "`a -> pre {x}` is written `a fby {x}`; alone, `pre {x}` needs a first value: `0.0 fby {x}` of a num, `0 fby {x}` of an int, `false fby {x}` of a bool",
    ),
    (
        "last",
        "`last {x}` needs a first value: `0.0 fby {x}` of a num, `0 fby {x}` of an int, `false fby {x}` of a bool",
    ),
    ("whenot", "`whenot` is two words: `when not {x}`"),
    ("assert", "name the property in quotes: `assert \"x is positive\" x > 0.0;`"),
    (
        "const",
        "a constant stands before or after nodes, `const n = 3;`; in a node it is an equation, `n = 3;`",
    ),
    ("def", "a node is written `node f(x) -> (o)`, with equations after it: `o = ..;`"),
    ("fn", "a node is written `node f(x) -> (o)`, with equations after it: `o = ..;`"),
    ("function", "a node is written `node f(x) -> (o)`, with equations after it: `o = ..;`"),
    ("class", "there are no classes; a node `node f(x) -> (o)` keeps its own state, `s = 0 fby ..;`"),
    ("lambda", "there are no nested functions; define a node, `node f(x) -> (o)`, and call it"),
    ("elif", "write `else if c then a else b`"),
    (
        "for",
        "equations hold in every cycle, and `0 fby x` is `x` of the cycle before; a range of equations ends with `for`: `h[k] = .. for k < n;`",
    ),
    ("while", "there are no loops: equations hold in every cycle, and `0 fby x` is `x` of the cycle before"),
    ("from", "an import is written `import std.layers;`, of some names `import std.layers (dense, lstm);`"),
    ("print", "a program cannot print: `rml run` shows the outputs, `rml trace` all variables"),
    ("is", "`==` compares"),
    ("reset", RESTART),
    ("let", LET),
];

/// The equivalent of `// a comment`, and of `a // b`.
const SLASHES: &str =
    "a comment is written `-- to the end of the line`; `/` of two ints is whole, `floor(a / b)` of nums";

/// The equivalent of `f(x) reset c`.
const RESTART: &str = "`f(x) restart c` restarts the delays of `f` in each cycle in which `c` is true, `f(x) every c` the node after it";

/// The equivalent of `let z = a in b`.
const LET: &str =
    "a value is named by an equation of its own: `y = let z = a in b;` is `z = a;` and `y = b;`";

/// The equivalent of `last x` in a state.
const LAST_OF_STATE: &str = "in a state, `0.0 fby {x}` is the `{x}` of the cycle before in this state; the one of any state is defined outside of the automaton, `last_{x} = 0.0 fby {x};`, and read here";

/// Words that enclose equations in other languages; they are ordinary names here.
const BLOCK: &[(&str, &str)] = &[
    (
        "let",
        "leave `let` out: an equation begins with a name, `x = ..;`, and equations follow the header of a node",
    ),
    ("tel", "leave `tel` out: a node ends where the next one begins, or the file"),
    ("begin", "leave `begin` out: the equations follow the header of a node"),
    ("end", "leave `end` out: a node ends where the next one begins, or the file"),
    ("var", "leave the declaration out: the equation `x = ..;` defines `x`, and its type is found"),
];

/// The number of tokens of an equation that are searched for a word.
const MAX_AHEAD: usize = 64;

impl<'a> Parser<'_, 'a> {
    /// Skips a word that is written before or after equations in other languages, and reports it, if one is next and no
    /// equation defines it as a name.
    pub(super) fn block_word(&mut self) -> bool {
        let token = self.peek();
        let word = BLOCK.iter().find(|(word, _)| self.is_word(0, word));
        let defines = matches!(self.peek_at(1).kind, Kind::Eq | Kind::EqEq | Kind::Comma | Kind::Colon);
        let Some((word, help)) = word.filter(|_| !defines && token.kind == Kind::Ident) else { return false };
        let message = format!("expected an equation or the next node, found the name `{word}`");
        let diagnostic = Diagnostic::error(codes::SYNTAX, message)
            .label(self.span(token), "expected an equation or the next node")
            .help(*help);
        self.report(diagnostic);
        self.next();
        // A declaration has no value; a name with a value begins an equation.
        while *word == "var" && !self.at_item_end() && self.peek().kind != Kind::Eq {
            if self.peek().kind == Kind::Semi || self.at_equation_with_value() {
                break;
            }
            self.next();
        }
        if self.kind() == Kind::Semi {
            self.next();
        }
        true
    }

    /// Whether `return` before a value is next.
    pub(super) fn at_return(&self) -> bool {
        let defines = matches!(self.peek_at(1).kind, Kind::Eq | Kind::EqEq | Kind::Comma | Kind::Colon);
        self.is_word(0, "return") && !defines
    }

    /// Parses `return e;`, as the equation of the only output, and reports it.
    pub(super) fn returned(&mut self) -> Parse<Equation<'a>> {
        let outputs = self.outputs;
        let [output] = outputs else { return Err(self.unexpected("an equation", &[])) };
        let start = self.take();
        let name = output.name;
        let text = self.names.resolve(&name.name).to_owned();
        let (rhs, parsed) = self.right_side();
        let written = self.text.get(rhs.span.range()).filter(|text| !text.contains('\n')).unwrap_or("..");
        let diagnostic = Diagnostic::error(codes::SYNTAX, "expected an equation, found the name `return`")
            .label(start, "a node returns its outputs")
            .fix(format!("write `{text} = {written};`"), start, format!("{text} ="));
        self.report(diagnostic);
        let output = Decl { name, member: None, node: None, ty: None, clock: None, span: name.span };
        self.rest_of_equation(start, self.slice(&[Lhs::Var(output)]), rhs, parsed)
    }

    /// Whether `x =` is next, followed by a value.
    fn at_equation_with_value(&self) -> bool {
        self.kind() == Kind::Ident && self.peek_at(1).kind == Kind::Eq
    }

    /// The correct form in place of the foreign form to which the next token belongs.
    pub(super) fn habit(&self) -> Option<&'static str> {
        let (token, behind) = (self.peek(), self.peek_at(1));
        let Some(previous) = self.at.checked_sub(1).and_then(|i| self.tokens.get(i)).copied() else {
            let slashes = token.kind == Kind::Slash && behind.kind == Kind::Slash;
            return if slashes { Some(SLASHES) } else { self.word() };
        };
        let joined = previous.end == token.start;
        match token.kind {
            Kind::Gt if previous.kind == Kind::Lt && joined => Some("unequal is written `!=`"),
            Kind::Plus if previous.kind == Kind::Plus && joined => {
                Some("nothing is assigned; a count is an equation: `n = 0 fby (n + 1);`")
            }
            Kind::Star if previous.kind == Kind::Slash && joined => {
                Some("a comment is written `(* .. *)`, or `-- to the end of the line`")
            }
            Kind::Dot if matches!(behind.kind, Kind::Int | Kind::Num) && !previous.kind.ends_expr() => {
                Some("a number begins with a digit: `0.5`")
            }
            Kind::Star if previous.kind == Kind::Star && joined => {
                Some("a power is written `pow(a, b)`, of nums")
            }
            Kind::Plus | Kind::Minus | Kind::Star | Kind::Slash
                if behind.kind == Kind::Eq && token.end == behind.start =>
            {
                Some(
                    "an equation defines its variable in all cycles, and assigns nothing; a sum over the cycles is `s = (0 fby s) + x;`, in place of both lines",
                )
            }
            Kind::Eq if behind.kind == Kind::Gt && token.end == behind.start => {
                Some("a case has the arrow `->`: `match p (Idle -> 1.0, Heat -> 2.0)`")
            }
            Kind::Eq if previous.kind == Kind::Colon && joined => {
                Some("an equation is written with `=`: `x = ..;`")
            }
            Kind::Eq if self.in_header() => Some(
                "an input has no value of its own: give it in each call, by `--set rate=0.1`, or as a constant beside the node, `const rate = 0.1;`",
            ),
            Kind::Eq if previous.kind == Kind::Ident && self.text_of(previous) == "activation" => {
                Some("a layer has no activation: apply the function to its result, `relu(dense(64, x))`")
            }
            Kind::Eq if previous.kind == Kind::Ident && self.in_arguments() => {
                Some("arguments have no names; they follow the order of the inputs: `f(a, b)`")
            }
            Kind::If if previous.kind.ends_expr() => Some("the condition comes first: `if c then a else b`"),
            Kind::Dot if previous.kind == Kind::DotDot && joined => {
                Some("the axes that an index leaves out are written `..`")
            }
            Kind::Dot if behind.kind == Kind::Ident && self.peek_at(2).kind == Kind::Eq => {
                Some("the fields of a record are not defined one by one: `q = point(a, b);` makes all of it")
            }
            Kind::Dot => self.attribute(),
            Kind::LParen if previous.kind == Kind::RParen && joined => {
                Some("a layer is called once, with its sizes and its input: `dense(64, x)`")
            }
            Kind::Slash if joined && previous.kind == Kind::Slash || behind.kind == Kind::Slash => {
                Some(SLASHES)
            }
            Kind::Arrow if self.at > 1 && self.tokens[self.at - 2].kind == Kind::Node => {
                Some("a node without inputs is written `node f() -> (o)`")
            }
            Kind::Ident if previous.kind == Kind::Arrow => {
                Some("outputs stand in parentheses: `node f(x) -> (o)`, with or without types")
            }
            Kind::Arrow if matches!(previous.kind, Kind::True | Kind::False) => Some(
                "the branches of `merge` have no labels, the true one is first: `merge c (a when c) (b when not c)`",
            ),
            Kind::Arrow if previous.kind.ends_expr() && self.pre_in_expr() => Some(
                "`a -> e` is `if first then a else e`, with the equation `first = true fby false;`, and `pre {x}` is `(0.0 fby {x})` of a num, `(0 fby {x})` of an int",
            ),
            Kind::Arrow if previous.kind.ends_expr() => Some(
                "`a -> pre x` is written `a fby x`: `a` in the first cycle, then the `x` of the cycle before",
            ),
            Kind::Colon if previous.kind == Kind::RParen => {
                Some("the equations follow the header of a node directly")
            }
            _ => self.word(),
        }
    }

    /// The equivalent of a foreign word, if the next token or the one before it is such a word.
    fn word(&self) -> Option<&'static str> {
        if self.at_end_of_let() {
            return Some(LET);
        }
        let previous = self.at.checked_sub(1).and_then(|i| self.tokens.get(i)).copied();
        let tokens = [Some(self.peek()), previous];
        let mut names =
            tokens.into_iter().flatten().filter(|t| t.kind == Kind::Ident).map(|t| self.text_of(t));
        if self.in_state() && names.clone().any(|name| name == "last") {
            return Some(LAST_OF_STATE);
        }
        names.find_map(|name| WORDS.iter().find(|(word, _)| *word == name).map(|(_, help)| *help))
    }

    /// Whether the operand of the arrow that is next is more than `pre x`.
    fn pre_in_expr(&self) -> bool {
        let ends = matches!(self.peek_at(3).kind, Kind::Semi | Kind::RParen | Kind::Comma | Kind::Eof);
        let alone = self.is_word(1, "pre") && self.peek_at(2).kind == Kind::Ident && ends;
        !alone
    }

    /// Whether the next token is in an automaton.
    fn in_state(&self) -> bool {
        let begins = |token: &&Token| {
            token.kind == Kind::Node
                || token.kind == Kind::Ident && matches!(self.text_of(**token), "automaton" | "end")
        };
        let before = self.tokens[..self.at].iter().rev().find(begins);
        before.is_some_and(|token| token.kind == Kind::Ident && self.text_of(*token) == "automaton")
    }

    /// A help line about the next token or the word before it. The name that follows the word is inserted.
    pub(super) fn named(&self, help: &str) -> String {
        let is_name = |token: &Token| token.kind == Kind::Ident && !self.is_word_token(*token);
        let rest = (0..).map(|ahead| self.peek_at(ahead));
        let rest = rest.take_while(|token| !matches!(token.kind, Kind::Semi | Kind::Eof));
        let rest: Vec<Token> = rest.take(MAX_AHEAD).collect();
        let after_word = rest.windows(2).find(|pair| self.is_word_token(pair[0]) && is_name(&pair[1]));
        let name = after_word.map(|pair| pair[1]);
        let name = name.or_else(|| rest.iter().copied().take(3).find(is_name));
        help.replace("{x}", name.map_or("x", |name| self.text_of(name)))
    }

    /// Whether `in` is next, and `let` is before it in the same equation.
    pub(super) fn at_end_of_let(&self) -> bool {
        if !self.is_word(0, "in") {
            return false;
        }
        let before = self.tokens[..self.at].iter().rev().take_while(|token| token.kind != Kind::Semi);
        before.filter(|token| token.kind == Kind::Ident).any(|token| self.text_of(*token) == "let")
    }

    /// Whether the token at position `number` is a word of another language.
    pub(super) fn is_foreign(&self, number: usize) -> bool {
        self.tokens.get(number).is_some_and(|token| self.is_word_token(*token))
    }

    /// Whether a token is a word of another language.
    fn is_word_token(&self, token: Token) -> bool {
        token.kind == Kind::Ident && WORDS.iter().any(|(word, _)| *word == self.text_of(token))
    }

    /// The equivalent of `x.T`, with the dot next.
    fn attribute(&self) -> Option<&'static str> {
        let name = self.peek_at(1);
        (name.kind == Kind::Ident).then(|| match self.text_of(name) {
            "T" | "mT" | "H" => "the transpose is written `transpose(x)`",
            "shape" | "size" | "ndim" => "a shape is written `shape(x)`, its first dimension `shape(x)[0]`",
            "backward" | "step" | "zero_grad" | "grad" => {
                "no gradient is asked for and no step is called: `loss, d = diff_cross_entropy(o, y, true, -0.1);` gives the gradient of a loss, and `o, _ = diff_net(x, true, d);` updates the parameters of `net` by it"
            }
            _ => "values have no attributes or methods; `m.f(x)`, without blanks, calls node `f` of `import .. as m;`",
        })
    }

    /// Whether the name before the next token begins an argument: it follows `(` or `,` within a call.
    fn in_arguments(&self) -> bool {
        self.open_list().is_some()
    }

    /// Whether the next token is in a list of inputs.
    fn in_header(&self) -> bool {
        let node = self.open_list().and_then(|name| name.checked_sub(1));
        node.is_some_and(|i| self.tokens[i].kind == Kind::Node)
    }

    /// The position of the name before the open parenthesised list.
    fn open_list(&self) -> Option<usize> {
        let mut closed = 0;
        for i in (0..self.at.saturating_sub(1)).rev() {
            match self.tokens[i].kind {
                Kind::RParen | Kind::RBracket => closed += 1,
                Kind::LParen | Kind::LBracket if closed > 0 => closed -= 1,
                Kind::LParen => {
                    return i.checked_sub(1).filter(|name| self.tokens[*name].kind == Kind::Ident);
                }
                Kind::LBracket | Kind::Semi => return None,
                _ => {}
            }
        }
        None
    }
}
