//! Derived gradients: for every instance of an operator with a num operand and a num result, differentiation makes a
//! function from `sum(op(x..) * w)`. The backend must compute the same results for it as the reference.

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;
use rml_autodiff::gradient;
use rml_backend::suite::{Report, check_function, random_operands};
use rml_backend::{Backend, Function, Val};
use rml_base::{FileId, IndexVec, Span};
use rml_ir::flat::{ConstKind, Flat, Rhs};
use rml_ir::normal::{self, Equation, Formal, Input, Module, Node, NodeId, Var, VarData};
use rml_ir::op::{Binary, Op, OpInfo, Reduction, info, result_type, samples};
use rml_ir::{DType, Precision, Type, Value, pass};

use super::Case;

/// One check for each operator that has a gradient.
pub(crate) fn cases() -> Vec<Case> {
    let mut names: Vec<&'static str> = Vec::new();
    for sample in samples().iter().filter(|s| has_gradient(s)) {
        if !names.contains(&sample.0.name()) {
            names.push(sample.0.name());
        }
    }
    names.into_iter().map(|name| Case::new(format!("gradients::{name}"), move |b| run(b, name))).collect()
}

fn has_gradient((op, types): &(Op, Vec<Type>)) -> bool {
    let num = |ty: &Type| ty.dtype == DType::Num;
    types.iter().any(num) && result_type(op, types).is_ok_and(|ty| num(&ty))
}

/// Whether the operator table contains an adjoint of the operator.
fn is_differentiable(op: &Op) -> bool {
    op.surface().and_then(info).is_some_and(OpInfo::is_differentiable)
}

fn run(backend: &Arc<dyn Backend>, name: &str) -> Report {
    let mut report = Report::default();
    for (op, types) in samples().into_iter().filter(|s| s.0.name() == name && has_gradient(s)) {
        let what = format!("the gradient of `{op}` of {types:?}");
        match derived(&op, &types) {
            Ok(function) if function.results.len() < 2 && is_differentiable(&op) => {
                report.record(Err(format!("{what} has no result")));
            }
            Ok(function) => {
                let mut args = random_operands(&op, &types, Precision::F32, &what);
                let weights: Vec<Type> =
                    function.inputs().skip(args.len()).map(|(_, d)| d.ty.clone()).collect();
                args.extend(random_operands(&Op::MatMul, &weights, Precision::F32, &what));
                for precision in [Precision::F32, Precision::F64] {
                    let outcome = check_function(&**backend, &function, &args, precision);
                    report.record(outcome.map_err(|why| format!("{what} in {precision}: {why}")));
                }
            }
            Err(why) => report.record(Err(format!("{what}: {why}"))),
        }
    }
    report
}

/// A function of the operands and the weights that computes the sum and its gradient in each operand.
fn derived(op: &Op, types: &[Type]) -> Result<Function, String> {
    let module = weighted(op, types).map_err(|e| e.to_string())?;
    let gradient = gradient(module, 0).map_err(|e| e.to_string())?;
    let flat = pass::inline(&gradient.module).map_err(|e| e.to_string())?;
    let flat = pass::draw(pass::lower(flat, pass::Keep::Needed), 1).expect("memory for the draws");
    Straight::new(&flat).function(op.name())
}

/// A node `(x.., w) -> sum(op(x..) * w)`.
fn weighted(op: &Op, types: &[Type]) -> Result<Module, rml_ir::op::TypeError> {
    let span = Span::new(FileId(0), 0, 0);
    let mut vars: IndexVec<Var, VarData> = IndexVec::new();
    let mut var = |ty: Type| vars.push(VarData { name: None, ty, span, asserts: None, cases: None });
    let result = result_type(op, types)?;
    let inputs: Vec<Var> = types.iter().cloned().chain([result.clone()]).map(&mut var).collect();
    let (applied, product, total) = (var(result.clone()), var(result), var(Type::scalar(DType::Num)));
    let weights = inputs[types.len()];
    let equation = |lhs: Var, op: Op, args: &[Var]| Equation {
        lhs: vec![lhs],
        rhs: normal::Rhs::Apply { op, args: args.to_vec(), statics: Vec::new() },
        span,
    };
    let equations = [
        equation(applied, op.clone(), &inputs[..types.len()]),
        equation(product, Op::Binary(Binary::Mul), &[applied, weights]),
        equation(total, Op::Reduce(Reduction::Sum, None), &[product]),
    ];
    let node = Node {
        name: Arc::from("f"),
        formals: inputs.iter().map(|&var| Formal::Stream(Input { var, clock: None })).collect(),
        outputs: vec![total],
        claims: Vec::new(),
        statics: Vec::new(),
        vars,
        consts: IndexVec::new(),
        equations: equations.into_iter().collect(),
        held: 0,
        span,
    };
    let nodes: IndexVec<NodeId, Node> = [node].into_iter().collect();
    let root = NodeId(0);
    Ok(Module {
        precision: Precision::F32,
        nodes,
        root,
        overrides: IndexMap::new(),
        optimisers: IndexMap::new(),
    })
}

/// Converts a flat program without delays to a function.
struct Straight<'a> {
    flat: &'a Flat,
    equations: BTreeMap<Var, &'a Rhs>,
}

impl<'a> Straight<'a> {
    fn new(flat: &'a Flat) -> Self {
        Self { flat, equations: flat.equations.iter().map(|e| (e.lhs, &e.rhs)).collect() }
    }

    fn function(&self, name: &str) -> Result<Function, String> {
        let mut f = Function::new(name, self.flat.precision);
        let mut made = BTreeMap::new();
        for input in &self.flat.inputs {
            let ty = self.flat.vars[input.var].ty.clone();
            made.insert(input.var, f.input(ty, Function::nowhere()));
        }
        for &output in &self.flat.outputs {
            let result = self.make(output, &mut f, &mut made)?;
            f.results.push(result);
        }
        Ok(f)
    }

    fn make(&self, v: Var, f: &mut Function, made: &mut BTreeMap<Var, Val>) -> Result<Val, String> {
        if let Some(&val) = made.get(&v) {
            return Ok(val);
        }
        let val = match self.equations.get(&v) {
            Some(Rhs::Const(k)) => match &self.flat.consts[*k].kind {
                ConstKind::Value(value) => {
                    f.constant(&Value::to_precision(value, f.precision), Function::nowhere())
                }
                other => return Err(format!("the constant {other:?}")),
            },
            Some(Rhs::Apply { op, args }) => {
                let args: Vec<Val> = args.iter().map(|&a| self.make(a, f, made)).collect::<Result<_, _>>()?;
                f.apply(op.clone(), args, Function::nowhere()).map_err(|e| e.to_string())?
            }
            // The gradient is needed in every cycle, so the clock has no effect.
            Some(Rhs::When { value, .. }) => self.make(*value, f, made)?,
            other => return Err(format!("{v} is no operator: {other:?}")),
        };
        made.insert(v, val);
        Ok(val)
    }
}
