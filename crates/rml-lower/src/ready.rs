//! Routines of windows that are ready to run.

use rml_backend::{Backend, Executable, Failure, Held};
use rml_base::EntityId;
use rml_ir::Data;
use rml_plan::{Lifetime, Plan, Reg};

use crate::again::{Role, again};
use crate::batch::Val;
use crate::emit::routine;
use crate::graph::Node;
use crate::lower::{Begin, Set, Source, State};
use crate::window::{Cells, Window, search, window};

/// The windows that a routine is made for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Key {
    pub(crate) ticks: usize,
    /// How many windows run in one call.
    pub(crate) count: usize,
    pub(crate) set: Vec<bool>,
    pub(crate) searches: bool,
}

/// A window that is ready to run.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) executable: Box<dyn Executable>,
    pub(crate) ticks: usize,
    pub(crate) count: usize,
    /// Whether it leaves the registers as it finds them, set or not, so that it may run in a loop.
    pub(crate) repeats: bool,
    pub(crate) sources: Vec<Source>,
    /// Registers that change, in the order of the first results; the second number is the result that tells whether it
    /// is set.
    pub(crate) changed: Vec<(usize, Change)>,
    /// For each output, its cells; values and presence are results.
    pub(crate) outputs: Vec<Vec<Shown>>,
    pub(crate) results: usize,
    /// The result that says where the window ends, if the program finds that.
    pub(crate) ended: Option<usize>,
}

#[derive(Debug)]
pub(crate) enum Change {
    Unset,
    Set(usize),
    Told(usize, usize),
}

#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) value: (usize, bool),
    pub(crate) present: Option<(usize, bool)>,
}

impl Ready {
    /// Has a backend prepare the routine of a window.
    pub(crate) fn new(plan: &Plan, backend: &dyn Backend, key: &Key) -> Result<Self, Failure> {
        let of = if key.searches { search } else { window };
        let begin = |set: &bool| if *set { Begin::Set } else { Begin::Unset };
        let begins: Vec<Begin> = key.set.iter().map(begin).collect();
        let Window { graph, sources, registers, outputs, ended } = of(plan, key.ticks, &begins);
        let mut wanted: Vec<Node> = Vec::new();
        let mut changed = Vec::new();
        let result = |node: Node, wanted: &mut Vec<Node>| {
            wanted.push(node);
            wanted.len() - 1
        };
        for (i, state) in registers.into_iter().enumerate().filter(|_| !key.searches) {
            let is_same = |node: Node| sources.contains(&(Source::Register(i), node));
            if plan.registers[Reg::from_index(i)].kind == Lifetime::Local {
                continue;
            }
            match state {
                State { set: Set::No, .. } | State { value: None, .. } => {
                    if key.set[i] {
                        changed.push((i, Change::Unset));
                    }
                }
                State { value: Some(value), set: Set::Yes } if is_same(value) => {}
                State { value: Some(value), set: Set::Yes } => {
                    changed.push((i, Change::Set(result(value, &mut wanted))));
                }
                State { value: Some(value), set: Set::Told(set) } => {
                    let (value, set) = (result(value, &mut wanted), result(set, &mut wanted));
                    changed.push((i, Change::Told(value, set)));
                }
            }
        }
        let results = wanted.len();
        let shown = |val: Val, wanted: &mut Vec<Node>| (result(val.node, wanted) - results, val.stacked);
        let mut cells = |c: &Cells| Shown {
            from: c.from,
            to: c.to,
            value: shown(c.value, &mut wanted),
            present: c.present.map(|p| shown(p, &mut wanted)),
        };
        let outputs: Vec<Vec<Shown>> = outputs.iter().map(|o| o.iter().map(&mut cells).collect()).collect();
        let ended = ended.map(|ended| result(ended.node, &mut wanted));
        let carried: Vec<usize> = changed.iter().map(|(register, _)| *register).collect();
        let mut sources: Vec<(Role, Source, Node)> =
            sources.into_iter().map(|(source, node)| (Role::of(source, &carried), source, node)).collect();
        sources.sort_by_key(|(role, ..)| *role);
        let inputs: Vec<Node> = sources.iter().map(|(.., node)| *node).collect();
        // A search also computes ticks after the end of the window; no error is due there.
        let failing = if key.searches { Vec::new() } else { graph.failing() };
        let (mut routine, taken) = routine(&plan.name, &graph, &inputs, &wanted, &failing);
        // A missing result would shift all later ones.
        debug_assert_eq!(routine.results.len(), wanted.len());
        let roles: Vec<Role> = taken.iter().map(|i| sources[*i].0).collect();
        let read = roles.iter().filter(|role| matches!(role, Role::Carried(_))).count();
        let stays = |(i, change): &(usize, Change)| key.set[*i] && matches!(change, Change::Set(_));
        let repeats = changed.iter().all(stays) && read == changed.len();
        if key.count > 1 {
            routine = again(routine, &roles, key.count);
        }
        if let Err(found) = rml_backend::routine::verify(&routine) {
            return Err(Failure::call(format!("a window was lowered to no routine: {}", found.join("; "))));
        }
        Ok(Self {
            executable: backend.prepare_routine(&routine)?,
            ticks: key.ticks,
            count: key.count,
            repeats,
            sources: taken.into_iter().map(|i| sources[i].1).collect(),
            changed,
            outputs,
            results,
            ended,
        })
    }

    /// Where each window ends first.
    pub(crate) fn ends(&self, results: &[Held]) -> Result<Vec<Option<usize>>, Failure> {
        let Some(ended) = self.ended else { return Ok(Vec::new()) };
        let Data::Bool(ended) = results[ended].to_host()?.to_data() else { return Ok(Vec::new()) };
        let each = ended.chunks((ended.len() / self.count).max(1));
        Ok(each.map(|ended| ended.iter().position(|ended| *ended).map(|t| t + 1)).collect())
    }
}
