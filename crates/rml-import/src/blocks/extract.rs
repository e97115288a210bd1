//! A block as a node, and calls of it in place of its runs.

use std::collections::BTreeMap;

use super::alike::Alike;
use super::shape::{Block, Operand, reads};
use super::steps::Steps;
use super::words;
use crate::names::short;
use crate::program::{Equation, Node, Program, Rhs, Var};

/// Makes a node of a block of node `id`, and calls it there.
pub(super) fn extract(program: &mut Program, id: usize, block: &Block, alike: &mut Alike) {
    let steps = Steps::of(&program.nodes[id], alike);
    let mut made = Making::of(&steps, block);
    made.fill();
    let Making { mut node, owned, .. } = made;
    node.name = short(&rename(&mut node));
    node.number_slots();
    let equations = replaced(&steps, block, &owned);
    let node = alike.add(&mut program.nodes, node);
    let caller = &mut program.nodes[id];
    caller.equations = equations
        .into_iter()
        .map(|equation| match equation {
            Made::Kept(k) => caller.equations[k].clone(),
            Made::Call { lhs, args, slots } => {
                Equation { lhs, rhs: Rhs::Call { node, args, along: None, slots } }
            }
        })
        .collect();
    caller.prune();
}

/// An equation of the node that calls.
enum Made {
    /// One that it had.
    Kept(usize),
    Call {
        lhs: Vec<Var>,
        args: Vec<Var>,
        slots: Vec<usize>,
    },
}

/// The node of a block while it is made.
struct Making<'b, 'n> {
    steps: &'b Steps<'n>,
    block: &'b Block,
    /// The variables that the runs read, run by run.
    read: Vec<Vec<Var>>,
    node: Node,
    inputs: Vec<Var>,
    /// The variables of the node for the results of steps.
    results: Vec<Vec<Var>>,
    own: Vec<Option<Var>>,
    /// The constants of the first run.
    constants: BTreeMap<Var, Var>,
    /// What has slots, in the order of the equations of the node.
    owned: Vec<Owned>,
}

/// What has slots in a node.
enum Owned {
    /// The parameter that is read at that operand.
    Param(usize),
    /// The call that is that step.
    Call(usize),
}

impl<'b, 'n> Making<'b, 'n> {
    fn of(steps: &'b Steps<'n>, block: &'b Block) -> Self {
        let read = block.starts.iter().map(|&start| reads(steps, start, block.len)).collect();
        let mut making = Self {
            steps,
            block,
            read,
            node: Node::default(),
            inputs: Vec::new(),
            results: Vec::new(),
            own: Vec::new(),
            constants: BTreeMap::new(),
            owned: Vec::new(),
        };
        for vars in &block.inputs {
            let var = making.variable(vars);
            making.inputs.push(var);
        }
        making.node.inputs.clone_from(&making.inputs);
        making
    }

    /// A variable for those of the runs.
    fn variable(&mut self, vars: &[Var]) -> Var {
        let of = &self.steps.node.vars;
        let names: Vec<&str> = vars.iter().filter_map(|v| of[v.0].name.as_deref()).collect();
        self.node.var(of[vars[0].0].ty.clone(), words::common(&names))
    }

    fn fill(&mut self) {
        let mut at = 0;
        for step in 0..self.block.len {
            let equation = self.equation(self.block.starts[0] + step);
            let count = equation.rhs.operands().len();
            let args: Vec<Var> = (at..at + count).map(|i| self.operand(i)).collect();
            at += count;
            let mut args = args.into_iter();
            let mut rhs = equation.rhs.clone();
            rhs.operands_mut().into_iter().zip(&mut args).for_each(|(old, new)| *old = new);
            if let Rhs::Call { .. } = rhs {
                self.owned.push(Owned::Call(step));
            }
            let lhs: Vec<Var> = (0..equation.lhs.len())
                .map(|place| {
                    let var = |&start: &usize| self.equation(start + step).lhs[place];
                    self.variable(&self.block.starts.iter().map(var).collect::<Vec<_>>())
                })
                .collect();
            self.results.push(lhs.clone());
            self.node.equations.push(Equation { lhs, rhs });
        }
        self.node.outputs =
            self.block.outputs.iter().map(|&(step, place)| self.results[step][place]).collect();
    }

    fn equation(&self, step: usize) -> &'n Equation {
        &self.steps.node.equations[self.steps.equations[step]]
    }

    /// The variable of the node that an operand is.
    fn operand(&mut self, i: usize) -> Var {
        if let Some(argument) = self.block.arguments[i] {
            return self.inputs[argument];
        }
        match self.block.operands[i] {
            Operand::Inside(step, place) => self.results[step][place],
            Operand::Own(k) => {
                if let Some(Some(var)) = self.own.get(k) {
                    return *var;
                }
                self.owned.push(Owned::Param(i));
                let var = self.leaf(i);
                self.own.resize(k + 1, None);
                self.own[k] = Some(var);
                var
            }
            Operand::Constant | Operand::Outside => {
                let key = self.read[0][i];
                if let Some(var) = self.constants.get(&key) {
                    return *var;
                }
                let var = self.leaf(i);
                self.constants.insert(key, var);
                var
            }
        }
    }

    /// A constant or parameter in the node.
    fn leaf(&mut self, i: usize) -> Var {
        let vars: Vec<Var> = self.read.iter().map(|vars| vars[i]).collect();
        let var = self.variable(&vars);
        if let Some((k, _)) = self.steps.definition[vars[0].0] {
            let rhs = self.steps.node.equations[k].rhs.clone();
            self.node.equations.push(Equation { lhs: vec![var], rhs });
        }
        var
    }
}

/// Leaves the scope of the node out of the names of its variables; gives the name of the node.
fn rename(node: &mut Node) -> String {
    let names = |only_params: bool| {
        let equations = node
            .equations
            .iter()
            .filter(move |e| matches!(e.rhs, Rhs::Param { frozen: false, .. }) || !only_params);
        let vars = equations.flat_map(|e| &e.lhs);
        vars.filter_map(|v| node.vars[v.0].name.as_deref()).collect::<Vec<&str>>()
    };
    let mut scope: Vec<&str> = Vec::new();
    for names in [names(true), names(false)] {
        if scope.is_empty() && names.len() > 1 {
            scope = words::common_start(&names);
        }
    }
    let scope: Vec<String> = scope.into_iter().map(str::to_owned).collect();
    let scope: Vec<&str> = scope.iter().map(String::as_str).collect();
    for data in &mut node.vars {
        data.name = data.name.as_deref().map(|name| words::within(name, &scope));
    }
    words::of_block(&scope)
}

/// The equations of the node that calls: a call where the last step of each run was.
fn replaced(steps: &Steps<'_>, block: &Block, owned: &[Owned]) -> Vec<Made> {
    let mut inside = vec![false; steps.node.equations.len()];
    let mut calls: Vec<Option<Made>> = Vec::new();
    calls.resize_with(steps.node.equations.len(), || None);
    for (run, &start) in block.starts.iter().enumerate() {
        let read = reads(steps, start, block.len);
        for step in start..start + block.len {
            inside[steps.equations[step]] = true;
        }
        let having = owned.iter().filter_map(|owned| match owned {
            Owned::Param(i) => steps.definition[read[*i].0].map(|(k, _)| k),
            Owned::Call(step) => Some(steps.equations[start + step]),
        });
        let mut slots = Vec::new();
        for k in having {
            inside[k] = true;
            slots.extend(steps.node.equations[k].rhs.clone().slots_mut().into_iter().map(|slot| *slot));
        }
        let lhs = block
            .outputs
            .iter()
            .map(|&(step, place)| steps.node.equations[steps.equations[start + step]].lhs[place]);
        let args = block.inputs.iter().map(|vars| vars[run]).collect();
        let made = Made::Call { lhs: lhs.collect(), args, slots };
        calls[steps.equations[start + block.len - 1]] = Some(made);
    }
    let kept = |(k, call): (usize, Option<Made>)| call.or((!inside[k]).then_some(Made::Kept(k)));
    calls.into_iter().enumerate().filter_map(kept).collect()
}
