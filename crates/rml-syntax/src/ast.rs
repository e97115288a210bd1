//! The syntax tree, allocated in a [`bumpalo::Bump`]; names are interned with [`lasso`].
//!
//! The tree records only the text as written. Elaboration decides whether `f(x)` calls a node, whether a formal is
//! static, and what type a name has.

mod columns;
mod operators;
mod parts;

use rml_base::Span;

pub use columns::{ColumnList, ColumnPart};
pub use operators::{BinaryOp, UnaryOp};

/// An interned name.
pub type Symbol = lasso::Spur;

/// A name and its place. A callee may be a node of a qualified import, written `cell.step`; then the name consists of
/// both parts and the dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ident {
    /// The name.
    pub name: Symbol,
    /// The place in the source.
    pub span: Span,
}

/// One source text.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    /// Imports and nodes, in textual order.
    pub items: &'a [Item<'a>],
    /// All comments, in textual order (their spans include the delimiters).
    pub comments: &'a [Span],
    /// Names that may be defined by parts that did not parse and are omitted here. Empty for a text without errors.
    pub lost: &'a [Symbol],
    /// Whether an import is omitted because of an error; then it is unknown which nodes it brings.
    pub lost_import: bool,
    /// The whole text.
    pub span: Span,
}

impl<'a> File<'a> {
    /// The nodes, in textual order.
    pub fn nodes(&self) -> impl Iterator<Item = &'a Node<'a>> + use<'a> {
        self.items.iter().filter_map(|i| if let Item::Node(n) = i { Some(n) } else { None })
    }

    /// The definitions in the text, in textual order; an enumeration comes before its cases.
    pub fn definitions(&self) -> impl Iterator<Item = Definition<'a>> + use<'a> {
        self.items.iter().flat_map(|item| {
            let (node, form, cases): (_, _, &'a [Node<'a>]) = match item {
                Item::Import(_) | Item::Columns(_) => (None, DefinitionForm::Node, &[]),
                Item::Node(node) => (Some(node), DefinitionForm::Node, &[]),
                Item::Const(node) => (Some(node), DefinitionForm::Constant, &[]),
                Item::Record(node) => (Some(node), DefinitionForm::Record, &[]),
                Item::Enum(of) => (Some(&of.node), DefinitionForm::Enum, of.cases),
            };
            let first = node.map(|node| Definition { node, form });
            first.into_iter().chain(cases.iter().map(|node| Definition { node, form: DefinitionForm::Case }))
        })
    }

    /// The lists of columns, in textual order.
    pub fn columns(&self) -> impl Iterator<Item = &'a ColumnList<'a>> + use<'a> {
        self.items.iter().filter_map(|i| if let Item::Columns(c) = i { Some(c) } else { None })
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
    /// `columns x = open, low..high;`
    Columns(ColumnList<'a>),
}

/// `[private] enum phase = Idle, Heat, Cool;`
#[derive(Clone, Copy, Debug)]
pub struct Enum<'a> {
    /// The name and place of the enumeration, as a node without inputs and outputs.
    pub node: Node<'a>,
    /// The cases, in order: constants with the values 0, 1, ..
    pub cases: &'a [Node<'a>],
}

/// A definition in a text.
#[derive(Clone, Copy, Debug)]
pub struct Definition<'a> {
    /// The node.
    pub node: &'a Node<'a>,
    /// The kind of definition.
    pub form: DefinitionForm,
}

/// The kinds of definitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DefinitionForm {
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

impl DefinitionForm {
    /// Whether the definition is a value that is known at compile time.
    pub fn is_constant(self) -> bool {
        match self {
            DefinitionForm::Constant | DefinitionForm::Case => true,
            DefinitionForm::Node | DefinitionForm::Enum | DefinitionForm::Record => false,
        }
    }
}

/// `import std.layers;`, `import std.layers (lstm, gru as memory);`, `import "cells.rml" as cells;`
#[derive(Clone, Copy, Debug)]
pub struct Import<'a> {
    /// The imported text.
    pub path: ImportPath<'a>,
    /// The names under which the nodes of the imported text are available.
    pub kind: ImportKind<'a>,
    /// The whole item.
    pub span: Span,
}

/// The names under which the nodes of an imported text are available.
#[derive(Clone, Copy, Debug)]
pub enum ImportKind<'a> {
    /// All nodes, under their own names.
    Whole,
    /// Only the nodes in the list: `(lstm, gru as memory)`.
    Names(&'a [ImportName]),
    /// All nodes, qualified by a name as in `cells.step`: `as cells`.
    Qualified(Ident),
}

/// `lstm`, `gru as memory`.
#[derive(Clone, Copy, Debug)]
pub struct ImportName {
    /// The name of the node in the imported text.
    pub name: Ident,
    /// The name in the importing text, if it is different.
    pub alias: Option<Ident>,
}

impl ImportName {
    /// The name of the node in the importing text.
    pub fn here(&self) -> Ident {
        self.alias.unwrap_or(self.name)
    }

    /// The whole entry.
    pub fn span(&self) -> Span {
        self.name.span.to(self.here().span)
    }
}

/// The source of an import.
#[derive(Clone, Copy, Debug)]
pub enum ImportPath<'a> {
    /// `std.layers`: dotted names, looked up in the embedded library.
    Library(&'a [Ident]),
    /// `"cells.rml"`: a file, relative to the importing one.
    File {
        /// The text between the quotes.
        path: &'a str,
        /// The place of the path, with the quotes.
        span: Span,
    },
}

/// `[private] node name(inputs) -> (outputs) equations`. A node with outputs and without equations is an extern node.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    /// The word `private`, which hides the node from importing texts.
    pub private: Option<Span>,
    /// The name of the node.
    pub name: Ident,
    /// Formal inputs.
    pub inputs: &'a [Decl<'a>],
    /// Outputs.
    pub outputs: &'a [Decl<'a>],
    /// Equations, in textual order (their order has no meaning).
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
    /// The index, if the variable is a member of a family.
    pub member: Option<&'a Expr<'a>>,
    /// The word `node` in place of a type: the input is a node.
    pub node: Option<Span>,
    /// The type, if written.
    pub ty: Option<TypeExpr<'a>>,
    /// The clock, if written.
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
    /// A static expression. A name by itself that is not yet a static name is bound by the argument's shape.
    Expr(&'a Expr<'a>),
    /// `name..`: any number of dimensions, bound to (or read from) a static array.
    Splice(Ident),
}

/// `when end`, `when not end` after a declaration.
#[derive(Clone, Copy, Debug)]
pub struct ClockExpr {
    /// The condition: another variable of the interface.
    pub cond: Ident,
    /// False for `when not`.
    pub positive: bool,
    /// The range that begins with `when`.
    pub span: Span,
}

/// `lhs, lhs = expr;`
#[derive(Clone, Copy, Debug)]
pub struct Equation<'a> {
    /// The defined variables.
    pub lhs: &'a [Lhs<'a>],
    /// The right side.
    pub rhs: &'a Expr<'a>,
    /// `for k < n`: the indices for which the equation is repeated.
    pub range: Option<Range<'a>>,
    /// The whole equation, with the semicolon.
    pub span: Span,
}

/// `for k < n`, `for 1 <= k < n`.
#[derive(Clone, Copy, Debug)]
pub struct Range<'a> {
    /// `k`
    pub index: Ident,
    /// The first index, 0 if missing.
    pub first: Option<&'a Expr<'a>>,
    /// The position after the last index.
    pub end: &'a Expr<'a>,
    /// The range that begins with `for`.
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
    /// The form of the expression.
    pub kind: ExprKind<'a>,
    /// The place in the source, without parentheses around the expression.
    pub span: Span,
}

/// The forms of expressions.
#[derive(Clone, Copy, Debug)]
pub enum ExprKind<'a> {
    /// A number or truth value.
    Literal(Literal),
    /// `"ij,jk->ik"`, without its quotes: the labels of `einsum`.
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
        /// One entry per axis.
        indices: &'a [IndexExpr<'a>],
    },
    /// `s.h`: a field of a record, or a definition in an import.
    Field {
        /// `s`
        base: &'a Expr<'a>,
        /// `h`
        field: Ident,
    },
    /// `1:3` or `..` as an argument of `unindex`. It cannot occur elsewhere.
    Entry(&'a IndexExpr<'a>),
    /// `- a`, `not a`
    Unary(UnaryOp, &'a Expr<'a>),
    /// `a + b` and the like.
    Binary(BinaryOp, &'a Expr<'a>, &'a Expr<'a>),
    /// `if c then a else b`
    If {
        /// The condition.
        cond: &'a Expr<'a>,
        /// The value if the condition is true.
        then: &'a Expr<'a>,
        /// The value if the condition is false.
        other: &'a Expr<'a>,
    },
    /// `init fby next`
    Fby {
        /// The first value.
        init: &'a Expr<'a>,
        /// The delayed expression.
        next: &'a Expr<'a>,
    },
    /// `init fby back next`
    FbyBack {
        /// The last value.
        init: &'a Expr<'a>,
        /// The expression whose next value is read.
        next: &'a Expr<'a>,
    },
    /// `post a`
    Post(&'a Expr<'a>),
    /// `value when cond`
    When {
        /// The sampled expression.
        value: &'a Expr<'a>,
        /// The condition.
        cond: &'a Expr<'a>,
    },
    /// `merge cond a b`
    Merge {
        /// The condition.
        cond: &'a Expr<'a>,
        /// The value if the condition is true.
        on_true: &'a Expr<'a>,
        /// The value if the condition is false.
        on_false: &'a Expr<'a>,
    },
    /// `call every end`: runs the call window by window.
    Every {
        /// The call (elaboration rejects other expressions).
        call: &'a Expr<'a>,
        /// True in the last cycle of each window.
        end: &'a Expr<'a>,
    },
    /// `call restart cond`: the delays in the call restart where the condition is true.
    Restart {
        /// The call (elaboration rejects other expressions).
        call: &'a Expr<'a>,
        /// True in the cycles in which the delays have their first values.
        cond: &'a Expr<'a>,
    },
    /// `call by rule`: the node `rule` updates the parameters in the call.
    By {
        /// The call, or the node of a shared instance (elaboration rejects other expressions).
        call: &'a Expr<'a>,
        /// The node, or a call of one with open inputs.
        rule: &'a Expr<'a>,
    },
    /// `call along axis`, `call along back axis`, `call along (0, _)`: runs the call over the entries of an axis.
    Along {
        /// The call (elaboration rejects other expressions).
        call: &'a Expr<'a>,
        /// Whether the call runs from the last entry to the first one.
        back: bool,
        /// One axis for all arguments, or one axis per argument; [`ExprKind::Hole`] for an argument that is passed to
        /// all entries as a whole.
        axes: &'a [Expr<'a>],
    },
    /// `match p (Idle -> a, Heat -> b)`
    Match {
        /// `p`
        value: &'a Expr<'a>,
        /// The cases, in textual order.
        cases: &'a [MatchCase<'a>],
    },
    /// `f (a)` as an operand of `merge`. Name resolution decides whether this is a call of `f` (then one operand) or
    /// two operands `f` and `(a)`. It occurs only inside [`ExprKind::MergeOperands`].
    Juxtaposed {
        /// `f`
        name: Ident,
        /// The parenthesised list after the name.
        args: &'a [Expr<'a>],
        /// The suffixes after the parentheses, outermost last.
        suffixes: &'a [Suffix<'a>],
        /// The parenthesised list with its parentheses.
        args_span: Span,
    },
    /// A `merge` whose number of operands does not determine their grouping (`merge c (x) f(y)`): a list that contains
    /// [`ExprKind::Juxtaposed`]. Once names are resolved, it is grouped into exactly three operands
    /// ([`group_merge`](crate::operands::group_merge)). If the number does determine the grouping (`merge c f(x) g(y)`,
    /// `merge c (x) y`), the tree has a plain [`ExprKind::Merge`].
    MergeOperands(&'a [Expr<'a>]),
    /// `net` in `share u = net;`, `dense(8, _)`: the node that `u` is an instance of. It occurs only as the right side
    /// of such an equation.
    Share(&'a Expr<'a>),
    /// `automaton state A .. end`: the right side of an equation that has no left side. It cannot occur elsewhere.
    Automaton(&'a [StateDef<'a>]),
    /// `assert "name" c`: the right side of an equation that drops its result. It cannot occur elsewhere.
    Assert {
        /// The name of the property, without its quotes; its span includes them.
        name: Ident,
        /// `c`
        cond: &'a Expr<'a>,
    },
    /// `_` as an argument, as in `dense(64, _)`: an open input.
    Hole,
    /// A part that did not parse; its error has been reported.
    Error,
}

/// `state Hold(limit = 20.0) ..`
#[derive(Clone, Copy, Debug)]
pub struct StateDef<'a> {
    /// `Hold`
    pub name: Ident,
    /// The parameters of the state, each with its first value: `limit = 20.0`.
    pub params: &'a [StateParam<'a>],
    /// The equations and transitions of the state, in textual order.
    pub body: &'a [StateItem<'a>],
    /// From `state` to the end of the parameters.
    pub header_span: Span,
}

impl<'a> StateDef<'a> {
    /// The equations of the state.
    pub fn equations(&self) -> impl Iterator<Item = &'a Equation<'a>> + use<'a> {
        self.body.iter().filter_map(|item| if let StateItem::Equation(e) = item { Some(e) } else { None })
    }

    /// The strong or the weak transitions of the state, in the order in which they are tried.
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

/// A part of the body of a state.
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
    /// Whether the transition is taken before the equations of the state run: `unless`.
    pub strong: bool,
    /// `c`
    pub cond: &'a Expr<'a>,
    /// Whether the delays of the entered state continue: `continue`.
    pub resume: bool,
    /// `Hold`
    pub target: Ident,
    /// The values of the parameters; `None` if no parentheses follow the state.
    pub args: Option<&'a [Expr<'a>]>,
    /// The whole transition, with the semicolon.
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
    /// `k`: selects one entry and drops the axis; a negative index counts from the end.
    At(&'a Expr<'a>),
    /// `lo:hi`, `lo:hi:step`, each part optional.
    Slice {
        /// The first index; 0 if missing.
        lo: Option<&'a Expr<'a>>,
        /// The position after the last index; the size of the axis if missing.
        hi: Option<&'a Expr<'a>>,
        /// The step; 1 if missing.
        step: Option<&'a Expr<'a>>,
        /// The whole entry.
        span: Span,
    },
    /// `..`: all axes that are not mentioned.
    Ellipsis(Span),
}

/// A suffix of an operand: `[..]` or `.h`.
#[derive(Clone, Copy, Debug)]
pub enum Suffix<'a> {
    /// `[..]`
    Index(&'a [IndexExpr<'a>]),
    /// `.h`
    Field(Ident),
}
