//! Cuts a program that trains between the gradients of its parameters and their updates, so that gradients of several
//! traces can be added before an update (SHARD-1).
//!
//! `group_sum` is a sum over the updates of the step (PARAM-10), in the order of the text.
//!
//! For each parameter, with `p = diff_param(init, bp, do)`:
//!
//! ```text
//! gradients:  p = param(init)                  (* read, and never changed *)
//!             outputs: those of the program, then bp, do
//! update:     inputs: present; bp when present; do when bp
//!             p = diff_param(init, bp, do)     (* with the states inside it *)
//! ```
//!
//! Invariants, checked by [`verify`]:
//! - **X1** both programs verify as flat programs.
//! - **X2** the program of gradients has the inputs of the whole program, its outputs, and after them `bp` and `do` of
//!   each parameter; every parameter in it is a `Param`.
//! - **X3** the program of updates has no inputs but a condition for each clock of updates, and `bp` and `do` of each
//!   parameter on that clock; it has no outputs.
//! - **X4** each state of the whole program is in one of them, with its type; in both are exactly the parameters that
//!   are updated.
//! - **X5** each of these is present where its `bp` is, in both programs.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rml_base::codes::run::CANNOT_SHARD;
use rml_base::{Diagnostic, Diagnostics, EntityId, Span};

use super::cone::restrict;
use super::inline::{UpdateInstance, Updates, constant_expression, definitions};
use super::{WithGradients, show_norms};
use crate::check::checked;
use crate::flat::{self, ClassId, ClockClasses, Equation, Flat, Input, Rhs, State, Var, VarData};
use crate::normal::Eq;
use crate::types::Type;

mod sums;

/// A program that trains, in two parts.
#[derive(Clone, Debug)]
pub struct Cut {
    /// Computes gradients; parameters keep their values.
    pub gradients: Flat,
    /// Updates the parameters.
    pub update: Flat,
    /// What goes from one to the other, in the order of inputs and outputs.
    pub exchanged: Vec<Exchanged>,
    /// On how many clocks parameters are updated.
    pub clocks: usize,
    /// The keys of the states in `gradients` that count the draws of a random stream.
    pub ticks: IndexSet<Arc<str>>,
}

/// A parameter that is updated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exchanged {
    /// Its checkpoint key.
    pub key: Arc<str>,
    /// The type of its value and its gradient.
    pub ty: Type,
    /// The clock of its updates, which is the place of a condition among the inputs of the update.
    pub clock: usize,
}

impl Cut {
    /// The variable of the update that is the gradient of the parameter at that place.
    fn gradient(&self, place: usize) -> Var {
        self.update.inputs[self.clocks + 2 * place + 1].var
    }

    /// Makes the squared norms of gradients outputs of the update, as [`show_norms`](super::show_norms) does: those of
    /// the parameters that `is_shown` accepts. Says by checkpoint key where they stand.
    pub fn show_norms(&mut self, is_shown: impl Fn(&str) -> bool) -> IndexMap<Arc<str>, usize> {
        let shown = self.exchanged.iter().enumerate().filter(|(_, e)| is_shown(&e.key));
        let gradients = shown.map(|(place, e)| (Arc::clone(&e.key), self.gradient(place))).collect();
        let places = show_norms::show(&mut self.update, gradients);
        checked("show_norms", || flat::verify(&self.update));
        places
    }
}

/// Cuts a program.
///
/// Requires: `flat::verify`, and what inlining says about its updates. Ensures: X1 to X5; with `do` and `bp` handed
/// over at once, both parts together are the program.
///
/// # Errors
/// An update that keeps no parameter, or whose parameter begins with more than constants.
pub fn cut(program: &WithGradients) -> Result<Cut, Diagnostics> {
    let cutter = Cutter::new(program)?;
    let (mut gradients, mut update) = (cutter.gradients(), cutter.update());
    let keys: Vec<&Arc<str>> = cutter.instances().map(|(key, _)| key).collect();
    let first = program.flat.outputs.len();
    let own = |(place, key): (usize, &&Arc<str>)| {
        let parameter = gradients.equations[gradients.states[*key].equation].lhs;
        (gradients.outputs[first + 2 * place], parameter)
    };
    let pairs: Vec<_> = keys.iter().enumerate().map(own).collect();
    tie(&mut gradients, &pairs);
    let outputs = std::mem::take(&mut update.outputs);
    let given = |place: usize| update.inputs[cutter.clocks.len() + 2 * place].var;
    let pairs: Vec<_> =
        outputs.into_iter().enumerate().map(|(place, output)| (given(place), output)).collect();
    tie(&mut update, &pairs);
    let exchanged = cutter.instances().map(|(key, instance)| Exchanged {
        key: Arc::clone(key),
        ty: program.flat.vars[instance.output].ty.clone(),
        clock: cutter.clock(instance),
    });
    let (exchanged, clocks) = (exchanged.collect(), cutter.clocks.len());
    let ticks = gradients.ticks();
    let cut = Cut { gradients, update, exchanged, clocks, ticks };
    checked("cut", || verify(&program.flat, &cut));
    Ok(cut)
}

/// A program that is being cut.
struct Cutter<'p> {
    program: &'p WithGradients,
    /// What defines each variable.
    defs: Vec<Option<Eq>>,
    /// The equations that initial values are computed by, which both parts have.
    shared: IndexSet<Eq>,
    classes: ClockClasses,
    /// The clocks of updates.
    clocks: IndexSet<ClassId>,
}

impl<'p> Cutter<'p> {
    fn new(program: &'p WithGradients) -> Result<Self, Diagnostics> {
        let (flat, updates) = (&program.flat, &program.updates);
        let defs = definitions(flat);
        let (mut found, mut shared) = (Diagnostics::new(), IndexSet::new());
        for instance in &updates.instances {
            let holds = |key: &Arc<str>| updates.inside.contains(&flat.states[key].equation);
            if !instance.key.as_ref().is_some_and(holds) {
                found.push(keeps_nothing(instance));
            }
            match constant_expression(flat, &defs, instance.args[0]) {
                Some(equations) => shared.extend(equations),
                None => found.push(begins_anywhere(instance)),
            }
        }
        let classes = ClockClasses::new(flat);
        let clocks = updates.instances.iter().map(|instance| classes.of(instance.args[1])).collect();
        let cutter = Self { program, defs, shared, classes, clocks };
        if found.is_empty() { Ok(cutter) } else { Err(found) }
    }

    fn instances(&self) -> impl Iterator<Item = (&'p Arc<str>, &'p UpdateInstance)> {
        let instances = &self.program.updates.instances;
        instances.iter().filter_map(|instance| Some((instance.key.as_ref()?, instance)))
    }

    fn clock(&self, instance: &UpdateInstance) -> usize {
        self.clocks.get_index_of(&self.classes.of(instance.args[1])).unwrap_or_default()
    }

    /// The program without the updates; `bp` and `do` are outputs.
    fn gradients(&self) -> Flat {
        let Updates { inside, between, .. } = &self.program.updates;
        let mut flat = self.program.flat.clone();
        let is_kept = |eq: &Option<Eq>| eq.is_none_or(|eq| !inside.contains(&eq) && !between.contains(&eq));
        let mut live: Vec<bool> = self.defs.iter().map(is_kept).collect();
        let mut read = IndexMap::new();
        for (key, UpdateInstance { output, args: [init, bp, gradient], span, .. }) in self.instances() {
            let Some(eq) = self.defs[output.index()] else { continue };
            flat.equations[eq] = Equation { lhs: *output, rhs: Rhs::Param { init: *init }, span: *span };
            live[output.index()] = true;
            read.insert(Arc::clone(key), State { equation: eq, parameter: true });
            flat.outputs.extend([bp, gradient]);
        }
        for (key, state) in &mut flat.states {
            *state = read.get(key).copied().unwrap_or(*state);
        }
        restrict(flat, &live)
    }

    /// The updates; their outputs are the parameters.
    fn update(&self) -> Flat {
        let Updates { inside, sums, .. } = &self.program.updates;
        let mut flat = self.program.flat.clone();
        let mut live = vec![false; flat.vars.len()];
        inside.iter().chain(&self.shared).for_each(|eq| live[flat.equations[*eq].lhs.index()] = true);
        let instead = self.inputs(&mut flat);
        live.resize(flat.vars.len(), true);
        for eq in inside {
            flat.equations[*eq].rhs.for_each_operand_mut(|v| *v = instead.get(&*v).copied().unwrap_or(*v));
        }
        sums::add(&mut flat, &mut live, &self.defs, sums);
        flat.outputs = self.instances().map(|(_, instance)| instance.output).collect();
        restrict(flat, &live)
    }

    /// Gives a program the inputs of the updates in place of its own. Says which of them stands for an argument.
    fn inputs(&self, flat: &mut Flat) -> IndexMap<Var, Var> {
        flat.inputs.clear();
        let mut input = |name: String, ty: Type, span: Span, clock| {
            let data = VarData { name: Some(name.into()), ty, span, asserts: None, cases: None };
            let var = flat.vars.push(data);
            flat.inputs.push(Input { var, clock });
            var
        };
        let mut clocks = Vec::new();
        for clock in 0..self.clocks.len() {
            let first = self.instances().find(|(_, instance)| self.clock(instance) == clock);
            let spans = first.map(|(_, instance)| instance.span);
            clocks.extend(spans.map(|span| input(format!("present_{clock}"), Type::condition(), span, None)));
        }
        let mut instead = IndexMap::new();
        for (key, instance) in self.instances() {
            let ([_, bp, gradient], span) = (instance.args, instance.span);
            let clock = Some((clocks[self.clock(instance)], true));
            let some = input(format!("{key}.bp"), Type::condition(), span, clock);
            let ty = self.program.flat.vars[gradient].ty.clone();
            let sum = input(format!("{key}.do"), ty, span, Some((some, true)));
            instead.entry(bp).or_insert(some);
            instead.entry(gradient).or_insert(sum);
        }
        instead
    }
}

/// Sees to it that the second of two variables is present where the first is, by an equation that ties both.
fn tie(flat: &mut Flat, pairs: &[(Var, Var)]) {
    let classes = ClockClasses::new(flat);
    for (cond, value) in pairs.iter().filter(|(cond, value)| classes.of(*cond) != classes.of(*value)) {
        let VarData { ty, span, .. } = flat.vars[*value].clone();
        let lhs = flat.vars.push(VarData { name: None, ty, span, asserts: None, cases: None });
        let rhs = Rhs::If { cond: *cond, then: *value, other: *value };
        flat.equations.push(Equation { lhs, rhs, span });
    }
}

/// Checks X1 to X5 of the parts of a program; one line for each violation.
pub fn verify(whole: &Flat, cut: &Cut) -> Result<(), Vec<String>> {
    let mut found = Vec::new();
    for part in [&cut.gradients, &cut.update] {
        found.extend(flat::verify(part).err().into_iter().flatten().map(|why| format!("X1: {why}")));
    }
    if found.is_empty() {
        found.extend(interface(whole, cut));
        found.extend(states(whole, cut));
        found.extend(clocks(whole, cut));
    }
    if found.is_empty() { Ok(()) } else { Err(found) }
}

fn ty(flat: &Flat, v: Var) -> &Type {
    &flat.vars[v].ty
}

/// X2 and X3.
fn interface(whole: &Flat, cut: &Cut) -> Vec<String> {
    let mut found = Vec::new();
    let types = |flat: &Flat, vars: &mut dyn Iterator<Item = Var>| -> Vec<Type> {
        vars.map(|v| ty(flat, v).clone()).collect()
    };
    let inputs = |flat: &Flat| types(flat, &mut flat.inputs.iter().map(|i| i.var));
    let outputs = |flat: &Flat| types(flat, &mut flat.outputs.iter().copied());
    let handed: Vec<Type> = cut.exchanged.iter().flat_map(|e| [Type::condition(), e.ty.clone()]).collect();
    if inputs(&cut.gradients) != inputs(whole) {
        found.push("X2: the gradients have other inputs than the program".to_owned());
    }
    if outputs(&cut.gradients) != [outputs(whole), handed.clone()].concat() {
        found
            .push("X2: the gradients have other outputs than those of the program, `bp` and `do`".to_owned());
    }
    let held = |state: &State| matches!(cut.gradients.equations[state.equation].rhs, Rhs::Param { .. });
    let changed = cut.gradients.states.iter().filter(|(_, state)| state.parameter && !held(state));
    found.extend(changed.map(|(key, _)| format!("X2: the gradients change parameter {key:?}")));
    if inputs(&cut.update) != [vec![Type::condition(); cut.clocks], handed].concat() {
        found.push("X3: the update has other inputs than clocks, `bp` and `do`".to_owned());
        return found;
    }
    for (place, exchanged) in cut.exchanged.iter().enumerate() {
        let at = cut.clocks + 2 * place;
        let own = [at, at + 1].map(|i| cut.update.inputs[i].clock);
        let wanted = [exchanged.clock, at].map(|i| Some((cut.update.inputs[i].var, true)));
        if own != wanted {
            found.push(format!("X3: what is given for {:?} is on other clocks", exchanged.key));
        }
    }
    if !cut.update.outputs.is_empty() {
        found.push("X3: the update has outputs".to_owned());
    }
    found
}

/// X4.
fn states(whole: &Flat, cut: &Cut) -> Vec<String> {
    let ty = |flat: &Flat, key: &str| {
        flat.states.get(key).map(|state| ty(flat, flat.equations[state.equation].lhs).clone())
    };
    let exchanged: IndexSet<&str> = cut.exchanged.iter().map(|e| &*e.key).collect();
    let wrong = |key: &&Arc<str>| {
        let parts = [ty(&cut.gradients, key), ty(&cut.update, key)];
        let is_in_both = parts.iter().all(Option::is_some);
        is_in_both != exchanged.contains(&***key)
            || parts.into_iter().flatten().any(|t| Some(t) != ty(whole, key))
    };
    let all: IndexSet<&Arc<str>> =
        [whole, &cut.gradients, &cut.update].into_iter().flat_map(|flat| flat.states.keys()).collect();
    let is_lost = |key: &&Arc<str>| ty(&cut.gradients, key).or(ty(&cut.update, key)).is_none();
    let found = all.into_iter().filter(|key| wrong(key) || is_lost(key));
    found.map(|key| format!("X4: state {key:?} is not where it belongs")).collect()
}

/// X5.
fn clocks(whole: &Flat, cut: &Cut) -> Vec<String> {
    let [there, here] = [&cut.gradients, &cut.update].map(ClockClasses::new);
    let held = |flat: &Flat, key: &str| flat.equations[flat.states[key].equation].lhs;
    let mut found = Vec::new();
    for (place, Exchanged { key, .. }) in cut.exchanged.iter().enumerate() {
        let bp = cut.gradients.outputs[whole.outputs.len() + 2 * place];
        let given = cut.update.inputs[cut.clocks + 2 * place].var;
        if there.of(bp) != there.of(held(&cut.gradients, key))
            || here.of(given) != here.of(held(&cut.update, key))
        {
            found.push(format!("X5: {key:?} is on another clock than its `bp`"));
        }
    }
    found
}

/// An update that is no parameter.
fn keeps_nothing(instance: &UpdateInstance) -> Diagnostic {
    refused("a call of an optimiser keeps no parameter")
        .label(instance.span, "its result is not kept by a `fby` inside it")
        .note("with shards, a parameter keeps its value until the gradients of all shards are known")
        .help("let the node be `o = init fby o1`, with the update in `o1`")
}

/// A parameter whose initial value is computed from more than constants.
fn begins_anywhere(instance: &UpdateInstance) -> Diagnostic {
    refused("the initial value of a parameter is not computed from constants alone")
        .label(instance.span, "this parameter")
        .note("with shards, parameters are updated apart from the traces of the shards")
        .help("begin with a constant or a random initialiser")
}

fn refused(what: &str) -> Diagnostic {
    Diagnostic::error(CANNOT_SHARD, format!("the training cannot be divided into shards: {what}"))
}
