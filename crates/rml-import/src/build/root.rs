//! The node that runs: inputs and outputs of the graph, dimensions from flags, states.

use std::collections::BTreeMap;

use rml_ir::{Precision, Shape, Type, Value};

use super::params::Weight;
use super::{Builder, Val};
use crate::elem::Elem;
use crate::model::{Dim, Info, Model};
use crate::names;
use crate::program::{Program, Rhs, Var};
use crate::refuse::{Refusal, Res, refuse};
use crate::states;
use crate::{Fixed, Options, StateOption};

/// What was built.
pub(crate) struct Built {
    pub(crate) program: Program,
    pub(crate) weights: Vec<Weight>,
    /// Names of the model and variables of the node that runs.
    pub(crate) inputs: Vec<(String, Var)>,
    pub(crate) outputs: Vec<(String, Var)>,
    pub(crate) states: Vec<BuiltState>,
}

/// A state of the node that runs.
pub(crate) struct BuiltState {
    /// The input of the model.
    pub(crate) input: String,
    pub(crate) var: Var,
    /// The output of the model that it keeps.
    pub(crate) output: String,
}

/// Builds the program of a model.
///
/// # Errors
/// Something that cannot be imported.
pub(crate) fn build(model: &Model, options: &Options) -> Res<Built> {
    let precision = if options.f64 { Precision::F64 } else { Precision::F32 };
    let mut builder = Builder::new(precision, &model.functions, &model.opsets);
    builder.frame().node.name = builder.nodes.fresh(&options.node);
    // A node hides the function of its name.
    rml_ir::op::names().chain(["frozen"]).for_each(|name| drop(builder.nodes.fresh(name)));
    let types = input_types(model, options)?;
    let pairs = states::pairs(model, &types, &options.states)?;
    let mut inputs = Vec::new();
    let mut delays = Vec::new();
    for (name, elem, dims) in &types {
        let ty = Type::new(elem.dtype(), dims);
        let suggested = Some(names::words(name).unwrap_or_else(|| "x".to_owned()));
        let var = builder.frame().node.var(ty.clone(), suggested);
        let output = pairs.iter().find(|(input, _)| input == name).map(|(_, output)| output.clone());
        match output {
            Some(output) => {
                delays.push((name.clone(), var, output, model.graph.initializers.get(name.as_str())))
            }
            None => {
                builder.frame().node.inputs.push(var);
                inputs.push((name.clone(), var));
            }
        }
        builder.bind(name, Val::variable(*elem, var, ty));
    }
    for (name, value) in &options.fixed {
        let val = fixed(model, name, value, precision, options)?;
        builder.bind(name, val);
    }
    let given: Vec<&str> = types.iter().map(|(name, ..)| name.as_str()).collect();
    let vals = builder.outer(model, &given)?;
    let mut outputs = Vec::new();
    for (name, val) in model.graph.outputs.iter().zip(&vals) {
        let var = builder.output(name, val)?;
        outputs.push((name.clone(), var));
    }
    let mut states = Vec::new();
    for (name, var, output, initializer) in delays {
        let next = outputs.iter().find(|(name, _)| *name == output).map(|(_, var)| *var);
        let Some(next) = next else { return refuse(format!("there is no output `{output}`")) };
        let node = &builder.frame().node;
        if node.ty(var) != node.ty(next) && options.states == StateOption::Found {
            // Only the names resemble each other.
            inputs.push((name, var));
            continue;
        }
        builder.delay(var, next, initializer.map(|t| t.value.to_precision(precision)))?;
        states.push(BuiltState { input: name, var, output });
    }
    inputs.sort_by_key(|(_, var)| *var);
    builder.frame().node.inputs = inputs.iter().map(|(_, var)| *var).collect();
    Ok(builder.finish(inputs, outputs, states))
}

impl Builder<'_> {
    /// The graph itself; inputs that are given hide initializers of their name.
    fn outer(&mut self, model: &Model, given: &[&str]) -> Res<Vec<Val>> {
        self.frame().scopes.push(BTreeMap::new());
        for (name, tensor) in &model.graph.initializers {
            if !given.contains(&name.as_str()) {
                let val = self.tensor(name, tensor.elem, tensor.value.clone(), 2);
                self.bind(name, val);
            }
        }
        let rest = crate::model::Graph {
            inputs: Vec::new(),
            outputs: model.graph.outputs.clone(),
            initializers: indexmap::IndexMap::new(),
            nodes: model.graph.nodes.clone(),
        };
        self.body(&rest)
    }

    /// A variable of its own for an output, which bears its name.
    fn output(&mut self, name: &str, val: &Val) -> Res<Var> {
        let mut var = self.var(val)?;
        let ty = val.ty();
        let taken = self.frame().node.inputs.contains(&var) || self.frame().node.outputs.contains(&var);
        let constant = val.known().is_some();
        let is_defined = self.frame().node.equations.iter().any(|e| e.lhs.contains(&var));
        if taken || constant || !is_defined {
            var = self.define(ty, Rhs::Apply(rml_ir::op::Op::Copy, vec![var]))?;
        }
        let suggested = names::words(name).unwrap_or_else(|| "y".to_owned());
        self.frame().node.vars[var.0].name = Some(suggested);
        self.frame().node.outputs.push(var);
        Ok(var)
    }

    /// The equation of a state: its initial value, then what an output was in the cycle before.
    fn delay(&mut self, state: Var, next: Var, initial: Option<Value>) -> Res<()> {
        let ty = self.frame().node.ty(state).clone();
        let found = self.frame().node.ty(next).clone();
        if ty != found {
            return refuse(format!("a state is {ty}, and the output that it keeps is {found}"));
        }
        let initial = initial.unwrap_or_else(|| Value::zeros(&ty, self.precision));
        let init = self.define(ty, Rhs::Const(initial))?;
        let rhs = Rhs::Fby { init, next };
        self.frame().node.equations.push(crate::program::Equation { lhs: vec![state], rhs });
        Ok(())
    }

    fn finish(
        mut self,
        inputs: Vec<(String, Var)>,
        outputs: Vec<(String, Var)>,
        states: Vec<BuiltState>,
    ) -> Built {
        let mut root = std::mem::take(&mut self.frame().node);
        root.prune();
        self.program.nodes.push(root);
        crate::blocks::outline(&mut self.program, &mut self.alike, &mut self.nodes);
        Built { program: self.program, weights: self.weights.all, inputs, outputs, states }
    }
}

/// The inputs of a model that stay inputs: name, element type and dimensions.
fn input_types(model: &Model, options: &Options) -> Res<Vec<(String, Elem, Vec<usize>)>> {
    let mut types = Vec::new();
    let mut unknown = Vec::new();
    let stateful = |name: &str| match &options.states {
        StateOption::Given(pairs) => pairs.iter().any(|(input, _)| input == name),
        // The models that `rml export` writes have the first value of a state as its initializer.
        StateOption::Found => states::has_next(model, name),
        StateOption::None => false,
    };
    for info in &model.graph.inputs {
        let is_fixed = options.fixed.contains_key(&info.name);
        if is_fixed || (model.graph.initializers.contains_key(&info.name) && !stateful(&info.name)) {
            continue;
        }
        let what = |what: &str| Refusal::new(format!("input `{}` is {what}", info.name));
        let elem = match &info.elem {
            Some(Ok(elem)) => *elem,
            Some(Err(kind)) => return Err(what(&format!("one of {kind}"))),
            None => return Err(Refusal::malformed(format!("input `{}` has no type", info.name))),
        };
        let Some(dims) = &info.dims else {
            return Err(what("of unknown rank").help("export the model with dimensions for its inputs"));
        };
        let sizes: Vec<Result<usize, String>> =
            dims.iter().enumerate().map(|(i, d)| size(info, i, d, options)).collect();
        unknown.extend(sizes.iter().filter_map(|s| s.clone().err()));
        let sizes: Vec<usize> = sizes.into_iter().map(|s| s.unwrap_or(1)).collect();
        if Shape::new(&sizes).extent().is_none_or(|n| n > rml_ir::op::MAX_ELEMENTS) {
            return Err(what(&format!("too large: {}", Shape::new(&sizes))));
        }
        types.push((info.name.clone(), elem, sizes));
    }
    if unknown.is_empty() {
        return Ok(types);
    }
    unknown.dedup();
    let flags: Vec<String> = unknown.iter().map(|name| format!("--dim {name}=1")).collect();
    let names: Vec<String> = unknown.iter().map(|name| format!("`{name}`")).collect();
    Err(Refusal::new(format!("dimensions of its inputs are not known: {}", names.join(", ")))
        .help(format!("give each a size, such as `{}`", flags.join(" "))))
}

/// The size of a dimension; without one, the name under which it may be given.
fn size(info: &Info, axis: usize, dim: &Dim, options: &Options) -> Result<usize, String> {
    let position = format!("{}.{axis}", info.name);
    let given = |name: &str| options.dims.get(name).copied();
    match dim {
        Dim::Size(size) => Ok(given(&position).unwrap_or(*size)),
        Dim::Named(name) => given(&position).or_else(|| given(name)).ok_or_else(|| name.clone()),
        Dim::Unknown => given(&position).ok_or(position),
    }
}

/// The value of an input that a flag fixes.
fn fixed(model: &Model, name: &str, value: &Fixed, precision: Precision, options: &Options) -> Res<Val> {
    let Some(info) = model.graph.inputs.iter().find(|i| i.name == *name) else {
        let names: Vec<&str> = model.graph.inputs.iter().map(|i| i.name.as_str()).collect();
        return Err(Refusal::new(format!("`--set {name}` names no input of the model"))
            .note(format!("its inputs are {}", names.join(", "))));
    };
    let elem = match &info.elem {
        Some(Ok(elem)) => *elem,
        Some(Err(_)) | None => Elem::F32,
    };
    let dims = info.dims.clone().unwrap_or_default();
    let mut shape: Vec<usize> =
        (0..dims.len()).map(|i| size(info, i, &dims[i], options).unwrap_or(1)).collect();
    if Shape::new(&shape).checked_len() != Some(value.0.len()) {
        if value.0.len() != 1 {
            shape = vec![value.0.len()];
        } else if Shape::new(&shape).checked_len().is_none_or(|n| n > 1 << 22) {
            return refuse(format!("`--set {name}` fills too large a tensor"));
        }
    }
    let len = Shape::new(&shape).len();
    let all: Vec<f64> = if value.0.len() == len { value.0.clone() } else { vec![value.0[0]; len] };
    let of = crate::tensor::of_nums(&shape, all, Precision::F64);
    let converted = match elem.dtype() {
        rml_ir::DType::Num => of.to_precision(precision),
        dtype => rml_ir::op::eval(&rml_ir::op::Op::Convert(dtype), &[&of], Precision::F64)
            .map_err(|e| Refusal::new(format!("`--set {name}`: {e}")))?,
    };
    Ok(Val::constant(elem, converted))
}
