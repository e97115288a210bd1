//! normal → flat: every call becomes the equations of its node (NODE-1, NODE-2), with the instance path before the
//! names; every `every` becomes a window; every state gets its checkpoint key. Nothing is simplified.

mod draws;
mod group;
mod initial;
mod paths;
mod size;
mod states;
mod statics;
mod update;

use indexmap::{IndexMap, IndexSet};
use rml_base::{Diagnostic, Diagnostics, EntityId, IndexVec, Span};
use std::rc::Rc;
use std::sync::Arc;

pub(super) use self::group::{Clocks, Step};
use self::group::{Part, Sum, Within};
use self::initial::Start;
use self::paths::{InstancePath, Labels, stripped};
use self::states::{Named, Update};
pub(super) use self::states::{constant_expression, definitions};
use crate::check::checked;
use crate::flat::{ClockClaim, Equation, Flat, Rhs, Var, VarData, Window, WindowData};
use crate::normal::{self, Callee, ConstId, ConstKind, Differentiated, Eq, Formal, Init, NodeId};
use crate::op::Op;
use crate::types::Type;

/// A node of this name that a program defines stands for the primitive: its output is a parameter.
const PARAM: &str = "param";

/// Inlines everything into the root.
///
/// - The inputs and outputs of an instance become copies under its path, `<node>_<k>.<var>`, its static
///   formals constants.
/// - `call f(..) every end` opens a window around the instance, inside the window around the call.
/// - A parameter with an optimiser ticks every cycle outside windows, and once for each outermost window
///   inside one (`update`). `group_sum` in an update is a sum over updates (`group`).
/// - A random stream gets its tick, a count of its cycles that windows do not restart (`draws`).
/// - A parameter whose condition is constantly false is one without an optimiser (PARAM-6).
/// - Checkpoint keys and the keys of random constants are instance paths without `diff_`; where two would
///   agree, the later one in textual order keeps its path as it is.
///
/// Ensures: `flat::verify`.
///
/// # Errors
/// If the program is too large when inlined, an optimiser keeps its parameter in no `fby`, the initial value of a
/// parameter changes from cycle to cycle, or there is no memory for the program's constants.
pub fn inline(module: &Differentiated) -> Result<Flat, Diagnostics> {
    inline_open(module, &|_| false)
}

/// As [`inline`], where the inputs in `open` may be constants, since the node may be called or set up so: parameters
/// may begin with them.
///
/// # Errors
/// As [`inline`].
pub fn inline_open(module: &Differentiated, open: &dyn Fn(&str) -> bool) -> Result<Flat, Diagnostics> {
    Ok(inlined(module, false, open)?.flat)
}

/// A flat program, and where the gradients of its parameters are in it.
#[derive(Clone, Debug)]
pub struct WithGradients {
    /// The program.
    pub flat: Flat,
    /// By checkpoint key, the gradient of each parameter that differentiation made trainable: what its optimiser is
    /// given, or would be, present in the cycles where it is.
    pub gradients: IndexMap<Arc<str>, Var>,
    /// The instances that update its parameters; none where these are held.
    pub updates: Updates,
}

/// The instances in an inlined program that update parameters (PARAM-3, PARAM-9).
#[derive(Clone, Debug, Default)]
pub struct Updates {
    /// The equations of these instances: what their arguments are computed from is not among them.
    pub inside: IndexSet<Eq>,
    /// The equations between instances of a group, which add what `sums` says.
    pub between: IndexSet<Eq>,
    /// The sums over groups (PARAM-10): what is added, in the order of the text, and as what each has the sum.
    pub sums: Vec<Vec<(Var, Var)>>,
    /// The instances, but for those inside another one.
    pub instances: Vec<UpdateInstance>,
}

/// An instance that updates a parameter.
#[derive(Clone, Debug)]
pub struct UpdateInstance {
    /// The parameter's checkpoint key; `None` where a call of an optimiser keeps no parameter.
    pub key: Option<Arc<str>>,
    /// The value that it gives.
    pub output: Var,
    /// Its arguments: the initial value, whether there is a gradient, and the gradient.
    pub args: [Var; 3],
    /// The parameter or the call.
    pub span: Span,
}

/// As [`inline`], with the gradients that optimisers are given. A call of an optimiser in the source has none: what
/// such a call is given may be something else.
///
/// # Errors
/// As [`inline`].
pub fn inline_with_gradients(module: &Differentiated) -> Result<WithGradients, Diagnostics> {
    inlined(module, false, &|_| false)
}

/// As [`inline`], but parameters with an optimiser are held: they keep their value, whatever the optimiser. A
/// parameter's gradient over a trace is the sum of those that its optimiser would be given.
///
/// # Errors
/// If the program is too large when inlined, or the initial value of a parameter changes from cycle to cycle.
pub fn inline_held(module: &Differentiated) -> Result<WithGradients, Diagnostics> {
    inlined(module, true, &|_| false)
}

fn inlined(
    module: &Differentiated,
    hold: bool,
    open: &dyn Fn(&str) -> bool,
) -> Result<WithGradients, Diagnostics> {
    let _span = tracing::debug_span!("inline", nodes = module.nodes.len()).entered();
    size::check(module, hold)?;
    let mut inliner = Inliner::of(module, hold, IndexSet::new());
    // Under a condition that is false throughout nothing is trained.
    let idle = if hold { IndexSet::new() } else { inliner.idle_parameters() };
    if !idle.is_empty() {
        inliner = Inliner::of(module, hold, idle);
    }
    if let Some(refused) = inliner.refused.take() {
        return Err(refused.into());
    }
    let changing = initial::check(&inliner.flat, &inliner.starts, open);
    if changing.has_errors() {
        return Err(changing);
    }
    let made = inliner.finish()?;
    checked("inline", || crate::flat::verify(&made.flat));
    Ok(made)
}

struct Inliner<'m> {
    module: &'m Differentiated,
    flat: Flat,
    /// The names of each node's equations in keys, made when the node is first entered.
    labels: IndexVec<NodeId, Option<Rc<Labels>>>,
    /// Values, shared by all instances of a node.
    values: IndexMap<(NodeId, ConstId), ConstId>,
    random_keys: IndexSet<Arc<str>>,
    frames: Vec<Frame>,
    /// The states so far, in the order of their equations.
    states: IndexMap<Eq, Named>,
    /// The parameters with an optimiser so far.
    updates: Vec<Update>,
    /// The equations of their updates so far.
    inside: IndexSet<Eq>,
    /// Whether an equation that is emitted now is one of these.
    is_inside: bool,
    /// The equations of sums over groups, and these sums.
    between: IndexSet<Eq>,
    added: Vec<Vec<(Var, Var)>>,
    /// The calls of `group_sum` in their updates so far.
    sums: IndexMap<Sum, Vec<Part>>,
    /// The initial values of the parameters so far.
    starts: Vec<Start>,
    /// Whether parameters are held.
    hold: bool,
    /// The gradients of the parameters so far, by the equations that hold these.
    gradients: IndexMap<Eq, Var>,
    /// Equations `x = init when first`, which need not sample where `init` is constant.
    samples: Vec<Eq>,
    /// The parameters that are never updated, by instance path.
    idle: IndexSet<Arc<str>>,
    /// A constant that there is no memory for.
    refused: Option<Diagnostic>,
}

/// An instance that is being inlined.
struct Frame {
    node: NodeId,
    path: InstancePath,
    window: Option<Window>,
    /// The flat variable of each of the node's variables.
    vars: IndexVec<normal::Var, Var>,
    /// The random constants drawn so far.
    randoms: IndexMap<ConstId, ConstId>,
    labels: Rc<Labels>,
    /// The next equation to go through.
    next: usize,
    /// What the caller calls the outputs.
    results: Vec<Var>,
    /// The name of the parameter that the output is, where the node stands for the primitive.
    parameter: Option<InstancePath>,
    /// The update of a parameter that it is in.
    within: Option<Within>,
    /// The call.
    span: Span,
}

impl Frame {
    /// Where the state that an equation holds stands.
    fn named(&self, eq: Eq) -> InstancePath {
        let label = self.labels.result(eq);
        self.path.child(label, label)
    }
}

/// A call to be inlined.
struct Instance<'a> {
    node: NodeId,
    path: InstancePath,
    window: Option<Window>,
    args: &'a [Var],
    results: Vec<Var>,
    parameter: Option<InstancePath>,
    within: Option<Within>,
    span: Span,
}

impl<'m> Inliner<'m> {
    /// Inlines everything; `idle` are the parameters that are never updated.
    fn of(module: &'m Differentiated, hold: bool, idle: IndexSet<Arc<str>>) -> Self {
        let mut inliner = Self::new(module, idle);
        inliner.hold = hold;
        inliner.enter_root();
        inliner.run();
        inliner.close_sums();
        inliner
    }

    fn new(module: &'m Differentiated, idle: IndexSet<Arc<str>>) -> Self {
        let flat = Flat {
            name: module.nodes[module.root].name.clone(),
            precision: module.precision,
            inputs: Vec::new(),
            outputs: Vec::new(),
            claims: Vec::new(),
            vars: IndexVec::new(),
            consts: IndexVec::new(),
            random_keys: IndexMap::new(),
            windows: IndexVec::new(),
            equations: IndexVec::new(),
            states: IndexMap::new(),
        };
        Self {
            module,
            flat,
            labels: IndexVec::filled(None, module.nodes.len()),
            values: IndexMap::new(),
            random_keys: IndexSet::new(),
            frames: Vec::new(),
            states: IndexMap::new(),
            updates: Vec::new(),
            inside: IndexSet::new(),
            is_inside: false,
            between: IndexSet::new(),
            added: Vec::new(),
            sums: IndexMap::new(),
            starts: Vec::new(),
            hold: false,
            gradients: IndexMap::new(),
            samples: Vec::new(),
            idle,
            refused: None,
        }
    }

    fn enter_root(&mut self) {
        let node = &self.module.nodes[self.module.root];
        self.enter(Instance {
            node: self.module.root,
            path: InstancePath::root(),
            window: None,
            args: &[],
            results: Vec::new(),
            parameter: None,
            within: None,
            span: node.span,
        });
        // The root's variables are the first of the flat form, in the same order.
        self.flat.inputs = node.inputs().cloned().collect();
        self.flat.outputs.clone_from(&node.outputs);
    }

    /// Goes through all equations of all instances, an instance where it is called. The calls wait on a stack
    /// of their own, so that no program is too deep.
    fn run(&mut self) {
        while let Some(frame) = self.frames.last_mut() {
            let node = &self.module.nodes[frame.node];
            let eq = Eq::from_index(frame.next);
            frame.next += 1;
            match node.equations.get(eq) {
                Some(equation) => self.equation(eq, equation),
                None => self.leave(),
            }
        }
    }

    /// What a node declares about the clocks of its interface. Those of the root's inputs are no claims.
    fn claims(&mut self, node: &normal::Node, vars: &IndexVec<normal::Var, Var>, call: Span) {
        let is_root = self.frames.is_empty();
        let inputs = node.inputs().filter(|_| !is_root).filter_map(|input| {
            let (cond, positive) = input.clock?;
            let span = node.vars[input.var].span;
            Some(ClockClaim { var: input.var, cond, positive, span, call: Some(call) })
        });
        let placed = |c: ClockClaim| ClockClaim { var: vars[c.var], cond: vars[c.cond], ..c };
        self.flat.claims.extend(inputs.chain(node.claims.iter().copied()).map(placed));
    }

    /// Makes the variables of an instance and the copies of its inputs.
    fn enter(&mut self, instance: Instance<'_>) {
        let module = self.module;
        let node = &module.nodes[instance.node];
        let labels = self.labels[instance.node].get_or_insert_with(|| Rc::new(Labels::new(module, node)));
        let labels = Rc::clone(labels);
        let mut vars = IndexVec::new();
        for data in &node.vars {
            let name = data.name.as_ref().map(|name| instance.path.join(name));
            vars.push(self.flat.vars.push(VarData { name, ..data.clone() }));
        }
        let is_inside = std::mem::replace(&mut self.is_inside, instance.within.is_some());
        for (input, arg) in node.inputs().zip(instance.args) {
            self.copy(vars[input.var], *arg, instance.span);
        }
        self.claims(node, &vars, instance.span);
        if !self.frames.is_empty() {
            self.static_formals(node, &instance.path, instance.span);
        }
        self.is_inside = is_inside;
        self.frames.push(Frame {
            node: instance.node,
            path: instance.path,
            window: instance.window,
            vars,
            randoms: IndexMap::new(),
            labels,
            next: 0,
            results: instance.results,
            parameter: instance.parameter,
            within: instance.within,
            span: instance.span,
        });
    }

    /// Makes constants of an instance's static formals, so that traces show them; nothing reads them.
    fn static_formals(&mut self, node: &normal::Node, path: &InstancePath, span: Span) {
        for formal in &node.formals {
            let Formal::Static { name, value } = formal else { continue };
            let Some(value) = statics::value(value, self.flat.precision) else { continue };
            let ty = value.ty();
            let name = Some(path.join(name));
            let var = self.flat.vars.push(VarData {
                name,
                ty: ty.clone(),
                span: node.span,
                asserts: None,
                cases: None,
            });
            let k = self.flat.consts.push(value.into());
            self.emit(var, Rhs::Const(k), span);
        }
    }

    /// Makes the copies of an instance's outputs.
    fn leave(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        self.is_inside = frame.within.is_some();
        let outputs = &self.module.nodes[frame.node].outputs;
        for (result, output) in frame.results.iter().zip(outputs) {
            let output = frame.vars[*output];
            match &frame.parameter {
                Some(path) => {
                    let eq = self.emit(*result, Rhs::Param { init: output }, frame.span);
                    self.starts.push(Start { init: output, span: frame.span });
                    self.states.insert(eq, Named { path: path.clone(), parameter: true });
                }
                None => self.copy(*result, output, frame.span),
            }
        }
    }

    /// The instance that is being inlined.
    fn frame(&self) -> &Frame {
        self.frames.last().expect("an instance is being inlined")
    }

    fn emit(&mut self, lhs: Var, rhs: Rhs, span: Span) -> Eq {
        let eq = self.flat.equations.push(Equation { lhs, rhs, span });
        if self.is_inside {
            self.inside.insert(eq);
        }
        eq
    }

    fn copy(&mut self, lhs: Var, from: Var, span: Span) {
        self.emit(lhs, Rhs::Apply { op: Op::Copy, args: vec![from] }, span);
    }

    /// A variable without a name.
    fn temporary(&mut self, ty: Type, span: Span) -> Var {
        self.flat.vars.push(VarData { name: None, ty, span, asserts: None, cases: None })
    }

    fn equation(&mut self, eq: Eq, equation: &'m normal::Equation) {
        self.is_inside = self.frame().within.is_some();
        let frame = self.frame();
        let lhs: Vec<Var> = equation.lhs.iter().map(|v| frame.vars[*v]).collect();
        match &equation.rhs {
            normal::Rhs::Call { callee, args, every, instance, .. } => {
                self.call(eq, lhs, *callee, args, *every, instance, equation.span);
            }
            normal::Rhs::ParamUpdate { init, d, instance, .. } if self.hold => {
                let (init, d, path) = (frame.vars[*init], frame.vars[*d], frame.named(eq));
                let held = self.emit(lhs[0], Rhs::Param { init }, equation.span);
                if instance.is_none() {
                    self.starts.push(Start { init, span: equation.span });
                }
                self.states.insert(held, Named { path, parameter: true });
                self.gradients.insert(held, d);
            }
            normal::Rhs::ParamUpdate { init, bp, d, optimiser, instance } => {
                let label = frame.labels.result(eq);
                let update = update::ParamUpdate {
                    init: frame.vars[*init],
                    bp: frame.vars[*bp],
                    d: frame.vars[*d],
                    result: lhs[0],
                    optimiser: *optimiser,
                    parameter: frame.named(eq),
                    instance: frame.path.child(instance.as_ref().unwrap_or(label), label),
                    is_called: instance.is_some(),
                    span: equation.span,
                };
                self.param_update(update);
            }
            normal::Rhs::Apply { op, args, .. } if draws::lacks_tick(op, args.len()) => {
                let keys = args.iter().map(|v| frame.vars[*v]).collect();
                self.draw(eq, lhs[0], op, keys, equation.span);
            }
            rhs => {
                let rhs = self.primitive(eq, rhs);
                let is_state = matches!(rhs, Rhs::Param { .. } | Rhs::Fby { window: None, .. });
                let parameter = matches!(rhs, Rhs::Param { .. });
                if let Rhs::Param { init } = rhs {
                    self.starts.push(Start { init, span: equation.span });
                }
                let new = self.emit(lhs[0], rhs, equation.span);
                if is_state {
                    let path = self.frame().named(eq);
                    self.states.insert(new, Named { path, parameter });
                }
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one call")]
    fn call(
        &mut self,
        eq: Eq,
        results: Vec<Var>,
        callee: Callee,
        args: &[normal::Var],
        every: Option<normal::Var>,
        instance: &Arc<str>,
        span: Span,
    ) {
        let node = self.module.callee(callee);
        let frame = self.frame();
        let args: Vec<Var> = args.iter().map(|v| frame.vars[*v]).collect();
        let path = frame.path.child(instance, stripped(instance));
        let target = &self.module.nodes[node];
        let within = frame.within;
        if let (Some(within), [x], [total], None) = (within, &args[..], &results[..], every)
            && group::is_sum(target)
        {
            return self.note_sum(within, &Arc::clone(path.full()), (*x, *total), span);
        }
        let is_param = &*target.name == PARAM && args.len() == 1 && results.len() == 1;
        let parameter = is_param.then(|| frame.named(eq));
        let window = match every {
            Some(end) => {
                let data = WindowData { end: frame.vars[end], parent: frame.window };
                Some(self.flat.windows.push(data))
            }
            None => frame.window,
        };
        self.enter(Instance { node, path, window, args: &args, results, parameter, within, span });
    }

    /// The flat form of a primitive of the current instance.
    fn primitive(&mut self, eq: Eq, rhs: &normal::Rhs) -> Rhs {
        use normal::Rhs as N;
        let constant = rhs.constant().map(|k| self.constant(eq, k));
        let frame = self.frame();
        let var = |v: &normal::Var| frame.vars[*v];
        let window = frame.window;
        let init = |i: &Init| match (i, constant) {
            (Init::Const(_), Some(k)) => Init::Const(k),
            (Init::Const(k), None) => Init::Const(*k),
            (Init::Stream(v), _) => Init::Stream(var(v)),
        };
        match rhs {
            N::Const(k) => Rhs::Const(constant.unwrap_or(*k)),
            N::Apply { op, args, .. } => Rhs::Apply { op: op.clone(), args: args.iter().map(var).collect() },
            N::If { cond, then, other } => Rhs::If { cond: var(cond), then: var(then), other: var(other) },
            N::When { value, cond } => Rhs::When { value: var(value), cond: var(cond) },
            N::Merge { cond, on_true, on_false } => {
                Rhs::Merge { cond: var(cond), on_true: var(on_true), on_false: var(on_false) }
            }
            N::Fby { init: i, next } => Rhs::Fby { init: init(i), next: var(next), window },
            N::FbyBack { init: i, next } => Rhs::FbyBack { init: init(i), next: var(next), window },
            N::Post { next } => Rhs::Post { next: var(next), window },
            N::Param { init, .. } => Rhs::Param { init: var(init) },
            N::ParamUpdate { .. } | N::Call { .. } => unreachable!("calls are inlined, not translated"),
        }
    }

    /// The flat constant for one of the current instance: values are shared, random ones belong to the
    /// instance.
    fn constant(&mut self, eq: Eq, id: ConstId) -> ConstId {
        let frame = self.frame();
        let constant = &self.module.nodes[frame.node].consts[id];
        let known = match constant.kind {
            ConstKind::Value(_) => self.values.get(&(frame.node, id)),
            ConstKind::Random(_) => frame.randoms.get(&id),
        };
        if let Some(known) = known {
            return *known;
        }
        let new = self.flat.consts.push(constant.clone().into());
        let frame = self.frames.last_mut().expect("an instance is being inlined");
        if !matches!(constant.kind, ConstKind::Random(_)) {
            self.values.insert((frame.node, id), new);
            return new;
        }
        frame.randoms.insert(id, new);
        let label = frame.labels.random(eq);
        let key = frame.path.child(label, label).unique(|key| self.random_keys.contains(key));
        self.random_keys.insert(key.clone());
        self.flat.random_keys.insert(new, key);
        new
    }
}
