//! From a graph to a program: operators of the model become operators of the language, constants are folded, shapes are
//! found on the way.

use std::collections::BTreeMap;

use rml_ir::{Precision, Type, Value};

use crate::elem::Elem;
use crate::model::{Function, Opsets};
use crate::names;
use crate::program::{Node, Program, Rhs, Var};
use crate::refuse::{Refusal, Res};

mod apply;
mod call;
mod graph;
mod params;
mod root;
mod shapes;
mod value;

pub(crate) use call::{Call, axis_of};
pub(crate) use root::{Built, build};
pub(crate) use value::{Const, Held, Origin, Val, View, inverse, is_identity};

/// The most equations of a program.
const EQUATIONS: usize = 200_000;

/// How many nodes of a model are run, those of functions each time that they are called.
const VISITS: usize = 1_000_000;

/// The longest array of positions.
const POSITIONS: usize = 1 << 22;

/// How many elements are computed at import in all.
const FOLDED: usize = 1 << 27;

/// A program while it is made.
pub(crate) struct Builder<'m> {
    pub(crate) precision: Precision,
    functions: &'m BTreeMap<(String, String), Function>,
    program: Program,
    frames: Vec<Frame>,
    weights: params::Weights,
    /// How many elements may still be folded.
    budget: usize,
    /// How many equations there are.
    equations: usize,
    /// The versions of operators where the importer is.
    opsets: Opsets,
    /// Functions that are being inlined.
    depth: usize,
    /// How many nodes of the model were run, those of functions and bodies each time.
    visited: usize,
    /// The node of the model that is run.
    place: Place,
    nodes: names::Taken,
    /// Which nodes of the program are alike.
    alike: crate::blocks::Alike,
}

/// A node of the model, for the names of what it reads.
#[derive(Default)]
struct Place {
    /// Its name without the operator.
    scope: String,
    operands: Vec<String>,
}

/// A node of the program while it is made.
#[derive(Default)]
struct Frame {
    node: Node,
    /// Values by name, innermost scope last.
    scopes: Vec<BTreeMap<String, Val>>,
    /// Variables of the node around this one that it reads, each with its own input.
    captures: Vec<(Var, Var)>,
    /// Constants and weights that are variables here.
    constants: Vec<(Value, Var)>,
    weights: BTreeMap<usize, (Var, Vec<Option<usize>>)>,
    /// Transposed variables.
    transposed: BTreeMap<(Var, Vec<usize>), Var>,
}

impl<'m> Builder<'m> {
    fn new(
        precision: Precision,
        functions: &'m BTreeMap<(String, String), Function>,
        opsets: &Opsets,
    ) -> Self {
        Self {
            precision,
            functions,
            program: Program::default(),
            frames: vec![Frame::new("main")],
            weights: params::Weights::default(),
            budget: FOLDED,
            equations: 0,
            opsets: opsets.clone(),
            depth: 0,
            visited: 0,
            place: Place::default(),
            nodes: names::Taken::default(),
            alike: crate::blocks::Alike::default(),
        }
    }

    fn frame(&mut self) -> &mut Frame {
        if self.frames.is_empty() {
            self.frames.push(Frame::new("main"));
        }
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    /// A new variable with its equation.
    ///
    /// # Errors
    /// The program has too many equations.
    pub(crate) fn define(&mut self, ty: Type, rhs: Rhs) -> Res<Var> {
        self.equations += 1;
        if self.equations > EQUATIONS {
            return Err(Refusal::new(format!("the program would have more than {EQUATIONS} equations"))
                .help(
                    "a loop that runs many times is a program that runs for as many cycles: import its body",
                ));
        }
        Ok(self.frame().node.define(ty, rhs))
    }

    /// A new variable with its equation, as a value.
    pub(crate) fn defined(&mut self, elem: Elem, ty: Type, rhs: Rhs) -> Res<Val> {
        let var = self.define(ty.clone(), rhs)?;
        Ok(Val::variable(elem, var, ty))
    }

    /// A number.
    pub(crate) fn num(&self, x: f64) -> Val {
        Val::constant(Elem::F32, Value::num(x, self.precision))
    }

    /// The integers 0, 1, .. below `n`.
    ///
    /// # Errors
    /// They are too many.
    pub(crate) fn ticks(&self, n: usize) -> Res<Val> {
        match i64::try_from(n) {
            Ok(end) if n <= POSITIONS => Ok(self.int_array((0..end).collect())),
            _ => Err(Refusal::new(format!("an axis of {n} entries is too long"))),
        }
    }

    /// An integer.
    pub(crate) fn int(&self, x: i64) -> Val {
        Val::constant(Elem::I64, Value::Int(x))
    }

    /// Suggests a name for a value that has none.
    pub(crate) fn suggest(&mut self, val: &Val, name: &str) {
        if let Held::View(view) = &val.held
            && let Some(data) = self.frame().node.vars.get_mut(view.var.0)
            && data.name.is_none()
        {
            data.name = names::words(name);
        }
    }
}

impl Frame {
    fn new(name: &str) -> Self {
        Self {
            node: Node { name: name.to_owned(), ..Node::default() },
            scopes: vec![BTreeMap::new()],
            ..Self::default()
        }
    }
}
