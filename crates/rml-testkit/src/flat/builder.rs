//! Flat programs built by hand.

use std::sync::Arc;

use rml_base::{FileId, IndexVec, Span};
use rml_ir::flat::{
    ConstKind, Constant, Drawn, Eq, Equation, Flat, Init, Input as Formal, Rhs, State, Var, VarData, Window,
    WindowData,
};
use rml_ir::op::{Op, result_type};
use rml_ir::{DType, Precision, Shape, Type, Value};

/// A flat program under construction.
#[derive(Debug)]
pub struct Builder {
    /// The program so far.
    pub flat: Flat,
}

/// Truth values.
pub const BOOL: DType = DType::Bool;
/// Integers.
pub const INT: DType = DType::Int;
/// Floating point numbers.
pub const NUM: DType = DType::Num;

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}

impl Builder {
    /// An empty program, in double precision.
    pub fn new() -> Builder {
        let flat = Flat {
            name: "main".into(),
            precision: Precision::F64,
            inputs: Vec::new(),
            outputs: Vec::new(),
            claims: Vec::new(),
            vars: IndexVec::new(),
            consts: IndexVec::new(),
            random_keys: indexmap::IndexMap::new(),
            windows: IndexVec::new(),
            equations: IndexVec::new(),
            states: indexmap::IndexMap::new(),
        };
        Builder { flat }
    }

    /// A variable that must be defined later.
    pub fn var(&mut self, name: &str, ty: Type) -> Var {
        let name = (!name.is_empty()).then(|| Arc::from(name));
        let at = 1000 + self.flat.vars.len() * 10;
        self.flat.vars.push(VarData {
            name,
            ty,
            span: Span::new(FileId(0), at, at + 5),
            asserts: None,
            cases: None,
        })
    }

    /// A scalar that must be defined later.
    pub fn scalar(&mut self, name: &str, dtype: DType) -> Var {
        self.var(name, Type::scalar(dtype))
    }

    /// A scalar input on the base clock.
    pub fn input(&mut self, name: &str, dtype: DType) -> Var {
        let var = self.scalar(name, dtype);
        self.flat.inputs.push(Formal { var, clock: None });
        var
    }

    /// Makes a variable an output.
    pub fn output(&mut self, v: Var) {
        self.flat.outputs.push(v);
    }

    /// Names a variable.
    pub fn name(&mut self, v: Var, name: &str) {
        self.flat.vars[v].name = Some(name.into());
    }

    /// A new constant of the given value.
    pub fn constant(&mut self, value: impl Into<Scalar>) -> Constant {
        let value = value.into().0;
        Constant { ty: value.ty(), kind: ConstKind::Value(value), text: None }
    }

    /// An initial value.
    pub fn init(&mut self, value: impl Into<Scalar>) -> Init {
        let constant = self.constant(value);
        Init::Const(self.flat.consts.push(constant))
    }

    /// Defines a variable.
    pub fn define(&mut self, lhs: Var, rhs: Rhs) -> Eq {
        let at = self.flat.equations.len() * 10;
        self.flat.equations.push(Equation { lhs, rhs, span: Span::new(FileId(0), at, at + 5) })
    }

    fn fresh(&mut self, ty: Type, rhs: Rhs) -> Var {
        let v = self.var("", ty);
        self.define(v, rhs);
        v
    }

    /// A variable's type.
    pub fn ty(&self, v: Var) -> Type {
        self.flat.vars[v].ty.clone()
    }

    /// A variable with a constant value.
    pub fn lit(&mut self, value: impl Into<Scalar>) -> Var {
        let constant = self.constant(value);
        let ty = constant.ty.clone();
        let k = self.flat.consts.push(constant);
        self.fresh(ty, Rhs::Const(k))
    }

    /// An operator applied to variables.
    ///
    /// # Panics
    /// The operator does not accept operands of these types.
    pub fn apply(&mut self, op: Op, args: &[Var]) -> Var {
        let types: Vec<Type> = args.iter().map(|&a| self.ty(a)).collect();
        let ty = result_type(&op, &types).expect("operands of the right types");
        self.fresh(ty, Rhs::Apply { op, args: args.to_vec() })
    }

    /// `assert "name" cond;`
    pub fn assertion(&mut self, name: &str, cond: Var) {
        let not = self.apply(Op::Not, &[cond]);
        let position = self.apply(Op::Convert(DType::Int), &[not]);
        let zero = self.lit(0);
        let zero = self.apply(Op::Reshape { shape: Shape::new(&[1]) }, &[zero]);
        let checked = self.apply(Op::Gather { axis: 0 }, &[zero, position]);
        self.flat.vars[checked].asserts = Some(name.into());
    }

    /// `if cond then then else other`.
    pub fn choice(&mut self, cond: Var, then: Var, other: Var) -> Var {
        self.fresh(self.ty(then), Rhs::If { cond, then, other })
    }

    /// `value when cond`.
    pub fn when(&mut self, value: Var, cond: Var) -> Var {
        self.fresh(self.ty(value), Rhs::When { value, cond })
    }

    /// `value when not cond`.
    pub fn when_not(&mut self, value: Var, cond: Var) -> Var {
        let not = self.apply(Op::Not, &[cond]);
        self.when(value, not)
    }

    /// `merge cond on_true on_false`.
    pub fn merge(&mut self, cond: Var, on_true: Var, on_false: Var) -> Var {
        self.fresh(self.ty(on_true), Rhs::Merge { cond, on_true, on_false })
    }

    /// `init fby next`.
    pub fn fby(&mut self, init: impl Into<Scalar>, next: Var) -> Var {
        let init = self.init(init);
        self.fresh(self.ty(next), Rhs::Fby { init, next, window: None })
    }

    /// `init fby next`, which restarts in each window.
    pub fn fby_in(&mut self, init: impl Into<Scalar>, next: Var, window: Window) -> Var {
        let init = self.init(init);
        self.fresh(self.ty(next), Rhs::Fby { init, next, window: Some(window) })
    }

    /// `init fby back next`.
    pub fn back(&mut self, init: impl Into<Scalar>, next: Var) -> Var {
        let init = self.init(init);
        self.fresh(self.ty(next), Rhs::FbyBack { init, next, window: None })
    }

    /// `init fby back next`, which restarts in each window.
    pub fn back_in(&mut self, init: impl Into<Scalar>, next: Var, window: Window) -> Var {
        let init = self.init(init);
        self.fresh(self.ty(next), Rhs::FbyBack { init, next, window: Some(window) })
    }

    /// `post next`.
    pub fn post(&mut self, next: Var) -> Var {
        self.fresh(self.ty(next), Rhs::Post { next, window: None })
    }

    /// Windows that end in cycles in which `end` is true.
    pub fn window(&mut self, end: Var, parent: Option<Window>) -> Window {
        self.flat.windows.push(WindowData { end, parent })
    }

    /// The program, with a state for each `fby` outside windows and each parameter.
    ///
    /// # Panics
    /// The program is not valid.
    pub fn build(mut self) -> Arc<Drawn> {
        for (equation, eq) in self.flat.equations.iter_enumerated() {
            let parameter = matches!(eq.rhs, Rhs::Param { .. });
            if parameter || matches!(eq.rhs, Rhs::Fby { window: None, .. }) {
                self.flat.states.insert(format!("state.{}", eq.lhs).into(), State { equation, parameter });
            }
        }
        let fail = |found: Vec<String>| panic!("{}\n{}", found.join("\n"), rml_ir::flat::print(&self.flat));
        Arc::new(Drawn::new(self.flat.clone()).unwrap_or_else(fail))
    }
}

/// A value given as a literal of Rust.
#[derive(Debug)]
pub struct Scalar(pub Value);

impl From<bool> for Scalar {
    fn from(b: bool) -> Scalar {
        Scalar(Value::Bool(b))
    }
}

impl From<i64> for Scalar {
    fn from(i: i64) -> Scalar {
        Scalar(Value::Int(i))
    }
}

impl From<f64> for Scalar {
    fn from(x: f64) -> Scalar {
        Scalar(Value::F64(x))
    }
}

impl From<Value> for Scalar {
    fn from(v: Value) -> Scalar {
        Scalar(v)
    }
}
