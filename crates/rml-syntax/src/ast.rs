//! The syntax tree, allocated in a [`bumpalo::Bump`]; names are interned with [`lasso`].
//!
//! The tree says what was written and nothing more: whether `f(x)` calls a node, whether a formal is static and
//! what type a name has is decided by elaboration.

mod operators;
mod parts;

use rml_base::Span;

pub use operators::{BinaryOp, UnaryOp};

/// An interned name.
pub type Symbol = lasso::Spur;

/// A name and where it stands. A callee may be the node of an import that has a name, written `cell.step`: then the
/// name is the two with a dot between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ident {
    /// The name.
    pub name: Symbol,
    /// Where.
    pub span: Span,
}

/// One source text.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    /// Imports and nodes, in textual order.
    pub items: &'a [Item<'a>],
    /// All comments, in textual order (their spans include the delimiters).
    pub comments: &'a [Span],
    /// Names that may be defined by what did not parse and is left out here. Empty for a text without errors.
    pub lost: &'a [Symbol],
    /// Whether an import is left out, so that nothing says which nodes it brings.
    pub lost_import: bool,
    /// The whole text.
    pub span: Span,
}

impl<'a> File<'a> {
    /// The nodes, in textual order.
    pub fn nodes(&self) -> impl Iterator<Item = &'a Node<'a>> + use<'a> {
        self.items.iter().filter_map(|i| if let Item::Node(n) = i { Some(n) } else { None })
    }

    /// What the text defines, in textual order; an enumeration stands before its cases.
    pub fn definitions(&self) -> impl Iterator<Item = Definition<'a>> + use<'a> {
        self.items.iter().flat_map(|item| {
            let (node, form, cases): (_, _, &'a [Node<'a>]) = match item {
                Item::Import(_) => (None, Form::Node, &[]),
                Item::Node(node) => (Some(node), Form::Node, &[]),
                Item::Const(node) => (Some(node), Form::Constant, &[]),
                Item::Record(node) => (Some(node), Form::Record, &[]),
                Item::Enum(of) => (Some(&of.node), Form::Enum, of.cases),
            };
            let first = node.map(|node| Definition { node, form });
            first.into_iter().chain(cases.iter().map(|node| Definition { node, form: Form::Case }))
        })
    }

    /// The imports, in textual order.
    pub fn imports(&self) -> impl Iterator<Item = &'a Import<'a>> + use<'a> {
        self.items.iter().filter_map(|i| if let Item::Import(n) = i { Some(n) } else { None })
    }
}

/// A top-level item.
#[derive(Clone, Copy, Debug)]
pub enum Item<'a> {
    /// `import ..;`
    Import(Import<'a>),
    /// `node ..`
    Node(Node<'a>),
    /// `const rate = 0.001;`: a node without inputs, whose only output is the value.
    Const(Node<'a>),
    /// `enum phase = Idle, Heat, Cool;`
    Enum(Enum<'a>),
    /// `record state = (h: num [n], c: num [n]);`: a node whose outputs are its inputs, the fields.
    Record(Node<'a>),
}

/// `[private] enum phase = Idle, Heat, Cool;`
#[derive(Clone, Copy, Debug)]
pub struct Enum<'a> {
    /// Its name, and where it stands: a node without inputs and outputs.
    pub node: Node<'a>,
    /// The cases, in order: constants with the values 0, 1, ..
    pub cases: &'a [Node<'a>],
}

/// What a text defines.
#[derive(Clone, Copy, Debug)]
pub struct Definition<'a> {
    /// The node.
    pub node: &'a Node<'a>,
    /// What it is.
    pub form: Form,
}

/// What a definition is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// A node.
    Node,
    /// A constant.
    Constant,
    /// An enumeration. Its cases follow it.
    Enum,
    /// A case of the enumeration before it.
    Case,
    /// A record.
    Record,
}

impl Form {
    /// Whether it is a value that is known when the program is compiled.
    pub fn is_constant(self) -> bool {
        match self {
            Form::Constant | Form::Case => true,
            Form::Node | Form::Enum | Form::Record => false,
        }
    }
}

/// `import std.layers;`, `import std.layers (lstm, gru as memory);`, `import "cells.rml" as cells;`
#[derive(Clone, Copy, Debug)]
pub struct Import<'a> {
    /// What is imported.
    pub path: ImportPath<'a>,
    /// What its nodes are reached by.
    pub kind: ImportKind<'a>,
    /// The whole item.
    pub span: Span,
}

/// What the nodes of an imported text are reached by.
#[derive(Clone, Copy, Debug)]
pub enum ImportKind<'a> {
    /// All by their own names.
    Whole,
    /// Those in the list: `(lstm, gru as memory)`.
    Names(&'a [ImportName]),
    /// All by a name before theirs, `cells.step`: `as cells`.
    Qualified(Ident),
}

/// `lstm`, `gru as memory`.
#[derive(Clone, Copy, Debug)]
pub struct ImportName {
    /// The node's name where it is defined.
    pub name: Ident,
    /// Its name here, if it is another.
    pub alias: Option<Ident>,
}

impl ImportName {
    /// Its name in the importing text.
    pub fn here(&self) -> Ident {
        self.alias.unwrap_or(self.name)
    }

    /// The whole entry.
    pub fn span(&self) -> Span {
        self.name.span.to(self.here().span)
    }
}

/// Where an import comes from.
#[derive(Clone, Copy, Debug)]
pub enum ImportPath<'a> {
    /// `std.layers`: dotted names, looked up in the embedded library.
    Library(&'a [Ident]),
    /// `"cells.rml"`: a file, relative to the importing one.
    File {
        /// The text between the quotes.
        path: &'a str,
        /// With the quotes.
        span: Span,
    },
}

/// `[private] node name(inputs) -> (outputs) equations`. No equation and some output: an extern node.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    /// The word `private`, which keeps the node from importing texts.
    pub private: Option<Span>,
    /// Its name.
    pub name: Ident,
    /// Formal inputs.
    pub inputs: &'a [Decl<'a>],
    /// Outputs.
    pub outputs: &'a [Decl<'a>],
    /// Equations, in textual order (the order has no meaning).
    pub equations: &'a [Equation<'a>],
    /// From `private` or `node` to the end of the interface.
    pub header_span: Span,
    /// The whole node.
    pub span: Span,
}

/// `name`, `name: num [batch, 8]`, `name: int [] when end`, `name: node`, and on the left of an equation `name[k + 1]`.
#[derive(Clone, Copy, Debug)]
pub struct Decl<'a> {
    /// The variable.
    pub name: Ident,
    /// Which variable of a family of that name it is.
    pub member: Option<&'a Expr<'a>>,
    /// The word `node` in place of a type: the input is a node.
    pub node: Option<Span>,
    /// Its type, if written.
    pub ty: Option<TypeExpr<'a>>,
    /// Its clock, if written.
    pub clock: Option<ClockExpr>,
    /// The whole declaration.
    pub span: Span,
}

/// `num [batch.., 8]`.
#[derive(Clone, Copy, Debug)]
pub struct TypeExpr<'a> {
    /// The element type.
    pub dtype: DTypeName,
    /// The dimensions; empty for a scalar.
    pub dims: &'a [Dim<'a>],
    /// The whole type.
    pub span: Span,
}

/// Element types as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DTypeName {
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `num`
    Num,
    /// The name of an enumeration or record.
    Named(Ident),
}

/// One entry of a shape.
#[derive(Clone, Copy, Debug)]
pub enum Dim<'a> {
    /// A static expression; a lone name that is not a static name yet is bound by the argument's shape.
    Expr(&'a Expr<'a>),
    /// `name..`: any number of dimensions, bound to (or taken from) a static array.
    Splice(Ident),
}

/// `when end`, `when not end` after a declaration.
#[derive(Clone, Copy, Debug)]
pub struct ClockExpr {
    /// The condition: another variable of the interface.
    pub cond: Ident,
    /// False for `when not`.
    pub positive: bool,
    /// From `when`.
    pub span: Span,
}

/// `lhs, lhs = expr;`
#[derive(Clone, Copy, Debug)]
pub struct Equation<'a> {
    /// The variables defined.
    pub lhs: &'a [Lhs<'a>],
    /// The right side.
    pub rhs: &'a Expr<'a>,
    /// `for k < n`: the indices for which the equation stands.
    pub range: Option<Range<'a>>,
    /// With the semicolon.
    pub span: Span,
}

/// `for k < n`, `for 1 <= k < n`.
#[derive(Clone, Copy, Debug)]
pub struct Range<'a> {
    /// `k`
    pub index: Ident,
    /// The first index, 0 if missing.
    pub first: Option<&'a Expr<'a>>,
    /// One past the last.
    pub end: &'a Expr<'a>,
    /// From `for`.
    pub span: Span,
}

/// A left side.
#[derive(Clone, Copy, Debug)]
pub enum Lhs<'a> {
    /// `name` or `name: num [2]`.
    Var(Decl<'a>),
    /// `_`
    Discard(Span),
}

/// An expression.
#[derive(Clone, Copy, Debug)]
pub struct Expr<'a> {
    /// Which form.
    pub kind: ExprKind<'a>,
    /// Where; parentheses around it are not included.
    pub span: Span,
}

/// The forms of expressions.
#[derive(Clone, Copy, Debug)]
pub enum ExprKind<'a> {
    /// A number or truth value.
    Literal(Literal),
    /// `"ij,jk->ik"`, with its quotes left out: the labels of `einsum`.
    Text(Symbol),
    /// A name.
    Var(Symbol),
    /// `f(args)`: a node, a function or a synthesised `diff_` node.
    Call {
        /// `f`
        callee: Ident,
        /// The arguments.
        args: &'a [Expr<'a>],
    },
    /// `[a, b]`, `[batch.., n]`; `[]` is the empty static array.
    Array(&'a [Dim<'a>]),
    /// `a[0]`, `a[1:3, :]`, `a[.., 0]`.
    Index {
        /// `a`
        base: &'a Expr<'a>,
        /// One entry an axis.
        indices: &'a [IndexExpr<'a>],
    },
    /// `s.h`: a field of a record, or what an import defines.
    Field {
        /// `s`
        base: &'a Expr<'a>,
        /// `h`
        field: Ident,
    },
    /// `1:3` or `..` as an argument of `unindex`. Stands nowhere else.
    Entry(&'a IndexExpr<'a>),
    /// `- a`, `not a`
    Unary(UnaryOp, &'a Expr<'a>),
    /// `a + b` and the like.
    Binary(BinaryOp, &'a Expr<'a>, &'a Expr<'a>),
    /// `if c then a else b`
    If {
        /// The condition.
        cond: &'a Expr<'a>,
        /// Where it is true.
        then: &'a Expr<'a>,
        /// Where it is false.
        other: &'a Expr<'a>,
    },
    /// `init fby next`
    Fby {
        /// First value.
        init: &'a Expr<'a>,
        /// What is delayed.
        next: &'a Expr<'a>,
    },
    /// `init fby back next`
    FbyBack {
        /// Last value.
        init: &'a Expr<'a>,
        /// What is anticipated.
        next: &'a Expr<'a>,
    },
    /// `post a`
    Post(&'a Expr<'a>),
    /// `value when cond`
    When {
        /// What is sampled.
        value: &'a Expr<'a>,
        /// The condition.
        cond: &'a Expr<'a>,
    },
    /// `merge cond a b`
    Merge {
        /// The condition.
        cond: &'a Expr<'a>,
        /// Where it is true.
        on_true: &'a Expr<'a>,
        /// Where it is false.
        on_false: &'a Expr<'a>,
    },
    /// `call every end`: runs the call window by window.
    Every {
        /// The call (elaboration rejects anything else).
        call: &'a Expr<'a>,
        /// True in the last cycle of each window.
        end: &'a Expr<'a>,
    },
    /// `call restart cond`: the delays in the call restart where the condition is true.
    Restart {
        /// The call (elaboration rejects anything else).
        call: &'a Expr<'a>,
        /// True where the delays take their first values.
        cond: &'a Expr<'a>,
    },
    /// `call by rule`: the node `rule` updates the parameters in the call.
    By {
        /// The call, or the node of a shared instance (elaboration rejects anything else).
        call: &'a Expr<'a>,
        /// The node, or a call of one with open inputs.
        rule: &'a Expr<'a>,
    },
    /// `call along axis`, `call along back axis`, `call along (0, _)`: runs the call over the entries of an axis.
    Along {
        /// The call (elaboration rejects anything else).
        call: &'a Expr<'a>,
        /// From the last entry to the first one.
        back: bool,
        /// One axis for all arguments, or one for each; [`ExprKind::Hole`] for an argument that all entries take as it
        /// is.
        axes: &'a [Expr<'a>],
    },
    /// `match p (Idle -> a, Heat -> b)`
    Match {
        /// `p`
        value: &'a Expr<'a>,
        /// The cases, in textual order.
        cases: &'a [MatchCase<'a>],
    },
    /// `f (a)` as an operand of `merge`: whether this is a call of `f` (then one operand) or two operands `f` and `(a)`
    /// is decided when names are resolved. Stands only inside [`ExprKind::MergeOperands`].
    Juxtaposed {
        /// `f`
        name: Ident,
        /// The parenthesised list after it.
        args: &'a [Expr<'a>],
        /// What follows the parentheses, outermost last.
        suffixes: &'a [Suffix<'a>],
        /// The parenthesised list with its parentheses.
        args_span: Span,
    },
    /// A `merge` that its number of operands alone does not group (`merge c (x) f(y)`): a list that holds
    /// [`ExprKind::Juxtaposed`], to be grouped into exactly three operands once names are resolved
    /// ([`group_merge`](crate::operands::group_merge)). Where the count decides (`merge c f(x) g(y)`, `merge c (x) y`)
    /// the tree has a plain [`ExprKind::Merge`].
    MergeOperands(&'a [Expr<'a>]),
    /// `net` in `share u = net;`, `dense(8, _)`: the node that `u` is an instance of. Stands nowhere but as the right
    /// side of such an equation.
    Share(&'a Expr<'a>),
    /// `automaton state A .. end`: the right side of an equation without a left one. Stands nowhere else.
    Automaton(&'a [State<'a>]),
    /// `assert "name" c`: the right side of an equation that drops its result. Stands nowhere else.
    Assert {
        /// The name of the property, without its quotes; the span is that with them.
        name: Ident,
        /// `c`
        cond: &'a Expr<'a>,
    },
    /// `_` as an argument, as in `dense(64, _)`: an input that is left open.
    Hole,
    /// A part that did not parse; its error is already reported.
    Error,
}

/// `state Hold(limit = 20.0) ..`
#[derive(Clone, Copy, Debug)]
pub struct State<'a> {
    /// `Hold`
    pub name: Ident,
    /// Its parameters, each with its first value: `limit = 20.0`.
    pub params: &'a [StateParam<'a>],
    /// Its equations and transitions, in textual order.
    pub body: &'a [StateItem<'a>],
    /// From `state` to the end of the parameters.
    pub header_span: Span,
}

impl<'a> State<'a> {
    /// Its equations.
    pub fn equations(&self) -> impl Iterator<Item = &'a Equation<'a>> + use<'a> {
        self.body.iter().filter_map(|item| if let StateItem::Equation(e) = item { Some(e) } else { None })
    }

    /// Its strong or its weak transitions, in the order in which they are tried.
    pub fn transitions(&self, strong: bool) -> impl Iterator<Item = &'a Transition<'a>> + use<'a> {
        self.body.iter().filter_map(move |item| match item {
            StateItem::Transition(t) if t.strong == strong => Some(t),
            StateItem::Transition(_) | StateItem::Equation(_) => None,
        })
    }
}

/// `limit = 20.0`, `limit: num [] = 20.0`
#[derive(Clone, Copy, Debug)]
pub struct StateParam<'a> {
    /// `limit`
    pub decl: Decl<'a>,
    /// `20.0`
    pub first: &'a Expr<'a>,
}

/// What a state consists of.
#[derive(Clone, Copy, Debug)]
pub enum StateItem<'a> {
    /// `y = x;`
    Equation(Equation<'a>),
    /// `until c then Hold;`
    Transition(Transition<'a>),
}

/// `until c then Hold(x);`, `unless c continue Hold;`
#[derive(Clone, Copy, Debug)]
pub struct Transition<'a> {
    /// Whether it is taken before the equations of the state run: `unless`.
    pub strong: bool,
    /// `c`
    pub cond: &'a Expr<'a>,
    /// Whether the delays of the state that is entered continue: `continue`.
    pub resume: bool,
    /// `Hold`
    pub target: Ident,
    /// The values of the parameters; `None` without parentheses.
    pub args: Option<&'a [Expr<'a>]>,
    /// With the semicolon.
    pub span: Span,
}

/// `Idle -> a`
#[derive(Clone, Copy, Debug)]
pub struct MatchCase<'a> {
    /// `Idle`
    pub case: Ident,
    /// `a`
    pub value: Expr<'a>,
}

/// Literals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal {
    /// `true`, `false`
    Bool(bool),
    /// `12`
    Int(i64),
    /// `1.5`, `2e-3`
    Num(f64),
}

/// An entry of an index list.
#[derive(Clone, Copy, Debug)]
pub enum IndexExpr<'a> {
    /// `k`: picks one and drops the axis; negative counts from the end.
    At(&'a Expr<'a>),
    /// `lo:hi`, `lo:hi:step`, each part optional.
    Slice {
        /// First, 0 if missing.
        lo: Option<&'a Expr<'a>>,
        /// One past the last, the axis' size if missing.
        hi: Option<&'a Expr<'a>>,
        /// 1 if missing.
        step: Option<&'a Expr<'a>>,
        /// The whole entry.
        span: Span,
    },
    /// `..`: all axes not mentioned.
    Ellipsis(Span),
}

/// What may follow an operand: `[..]` or `.h`.
#[derive(Clone, Copy, Debug)]
pub enum Suffix<'a> {
    /// `[..]`
    Index(&'a [IndexExpr<'a>]),
    /// `.h`
    Field(Ident),
}
