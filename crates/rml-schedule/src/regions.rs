//! Which tapes need each other, and the order in which they are filled.

use std::collections::BTreeMap;

use rml_analysis::{Position, Positions};
use rml_base::{EntityId, Graph, IndexVec, components};
use rml_ir::flat::Var;
use rml_plan as plan;
use rml_plan::{Atom, Ends, Guard, Part, Plan, Region, Tape, TapeData, Tick};

use crate::Declined;
use crate::demand::{Case, Demanded, Rule, Write};
use crate::resolve::Source;
use crate::window::Window;

/// A variable, at all or some of its positions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Node {
    v: Var,
    at: Positions,
}

/// A dependence: the node that is needed, and at which tick relative to the reader.
#[derive(Clone, Copy, Debug)]
struct Need {
    to: usize,
    tick: Tick,
}

pub(crate) fn plan(window: &Window<'_>, demanded: Demanded) -> Result<Plan, Declined> {
    let mut nodes: Vec<Node> = demanded
        .cases
        .iter()
        .map(|(v, cases)| Node { v: *v, at: cases.iter().fold(Positions::NONE, |all, c| all.or(c.at)) })
        .collect();
    loop {
        let graph = graph(&nodes, &demanded);
        let mut found = components(nodes.len(), |v, i| graph.of(v).get(i).map(|need| Some(need.to))).members;
        let search = search(&nodes, &graph, &demanded);
        if !search.is_empty() {
            found.retain(|members| search.binary_search(&members[0]).is_err());
            found.insert(0, search.clone());
        }
        let mut split = vec![false; nodes.len()];
        let mut loops = Vec::new();
        for (i, members) in found.iter().enumerate() {
            let staggered = || window.waits.then(|| staggered(members, &graph, &demanded, &nodes)).flatten();
            let way = match direction(members, &nodes, &graph, &demanded).or_else(staggered) {
                Some(Way::Over) if i == 0 && !search.is_empty() => {
                    Some(Way::Loop { backward: false, order: members.clone() })
                }
                Some(Way::Loop { backward: true, .. }) if i == 0 && !search.is_empty() => None,
                way => way,
            };
            match way {
                Some(way) => loops.push(way),
                None => members.iter().for_each(|m| split[*m] = true),
            }
        }
        if !split.contains(&true) {
            if let (Some(Way::Loop { order, .. }), false) = (loops.first_mut(), search.is_empty()) {
                // The tapes that find the end come first in each tick; they need no other tapes of that tick.
                order.sort_by_key(|m| !demanded.head.contains(&nodes[*m].v));
            }
            let regions = found.iter().zip(loops).collect::<Vec<_>>();
            return Ok(Builder::new(window, &demanded).plan(&nodes, &regions));
        }
        let parts: Vec<Node> = nodes
            .iter()
            .zip(&split)
            .flat_map(|(node, split)| {
                if *split {
                    node.at.iter().map(|p| Node { v: node.v, at: Positions::NONE.with(p) }).collect()
                } else {
                    vec![*node]
                }
            })
            .collect();
        // In a plan that waits, variables cannot be split by positions: how far a tape is filled is known only for all
        // of them together.
        if parts.len() == nodes.len() || window.waits {
            return Err(circular(window, &nodes, &split, &graph));
        }
        nodes = parts;
    }
}

/// Why values have no order in which they can be computed: those that were to be split.
fn circular(window: &Window<'_>, nodes: &[Node], split: &[bool], graph: &Graph<Need>) -> Declined {
    let members: Vec<usize> = (0..nodes.len()).filter(|i| split[*i]).collect();
    let now = members.iter().enumerate().flat_map(|(k, m)| {
        let needs = graph.of(*m).iter().filter(|need| need.tick == Tick::Now);
        needs.filter_map(|need| Some((k, members.binary_search(&need.to).ok()?))).collect::<Vec<_>>()
    });
    let now = Graph::new(members.len(), now.collect());
    let order = components(members.len(), |v, i| now.of(v).get(i).map(|to| Some(*to))).members;
    let circle = order.iter().find(|c| c.len() > 1 || now.of(c[0]).contains(&c[0]));
    let span = |i: usize| window.line(nodes[i].v);
    let Some(circle) = circle else {
        let why = "values need both the tick before and the tick after";
        let help = "end the outer windows where the value that looks ahead is read again: call that node, or its gradient, with `every` and that condition";
        return Declined::at(why, span(members.first().copied().unwrap_or(0))).help(help);
    };
    let named = circle.iter().map(|k| members[*k]).find(|i| window.name(nodes[*i].v).is_some());
    let why = "the order in which values of a tick need each other depends on the data";
    let help = "first name the values that need no other value, then choose: `first = x; second = first + 1.0; a = if c then second else first`";
    Declined::at(why, span(named.unwrap_or(members[circle[0]]))).help(help)
}

/// The nodes that the end of a window depends on, in order; none if the data give the end.
fn search(nodes: &[Node], graph: &Graph<Need>, demanded: &Demanded) -> Vec<usize> {
    let mut found = vec![false; nodes.len()];
    let mut pending: Vec<usize> = (0..nodes.len()).filter(|i| demanded.head.contains(&nodes[*i].v)).collect();
    while let Some(i) = pending.pop() {
        if std::mem::replace(&mut found[i], true) {
            continue;
        }
        pending.extend(graph.of(i).iter().map(|need| need.to));
        // A register that is read and written at each tick belongs to one loop.
        let v = nodes[i].v;
        if demanded.registers.get(&v).is_some_and(|r| r.in_turn) {
            pending.extend((0..nodes.len()).filter(|j| nodes[*j].v == v));
        }
    }
    (0..nodes.len()).filter(|i| found[*i]).collect()
}

/// The nodes that each node needs.
fn graph(nodes: &[Node], demanded: &Demanded) -> Graph<Need> {
    let mut of: BTreeMap<Var, Vec<usize>> = BTreeMap::new();
    for (i, node) in nodes.iter().enumerate() {
        of.entry(node.v).or_default().push(i);
    }
    let mut edges = Vec::new();
    for (i, node) in nodes.iter().enumerate() {
        let mut add = |source: Source, p: Position| {
            let Source::Kept(u, tick) = source else { return };
            let at = tick.seen_from(p);
            let tick = match tick {
                Tick::First if p.is_start() => Tick::Now,
                Tick::Last if p.is_end() => Tick::Now,
                Tick::First => Tick::Before,
                Tick::Last => Tick::After,
                tick => tick,
            };
            let of = of.get(&u).map_or(&[][..], Vec::as_slice);
            for to in of.iter().filter(|to| !nodes[**to].at.and(at).is_empty()) {
                edges.push((i, Need { to: *to, tick }));
            }
        };
        for (p, case) in cases(node, demanded) {
            case.when.iter().for_each(|(cond, _)| add(*cond, p));
            case.rule.operands().into_iter().for_each(|a| add(a, p));
        }
        let Some(register) = demanded.registers.get(&node.v).filter(|r| r.in_turn) else { continue };
        let tick = if register.backward { Tick::After } else { Tick::Before };
        for write in &register.writes {
            for source in values(write) {
                let Source::Kept(u, at) = source else { continue };
                let of = of.get(&u).map_or(&[][..], Vec::as_slice);
                // The written value may itself be read at another tick.
                let own = matches!(at, Tick::Before | Tick::After).then_some(at);
                for tick in std::iter::once(tick).chain(own) {
                    edges.extend(of.iter().map(|to| (i, Need { to: *to, tick })));
                }
            }
        }
    }
    Graph::new(nodes.len(), edges)
}

fn values(write: &Write) -> impl Iterator<Item = Source> + '_ {
    write.when.iter().map(|(cond, _)| *cond).chain(write.unless.iter().copied()).chain([write.value])
}

fn cases<'a>(node: &'a Node, demanded: &'a Demanded) -> impl Iterator<Item = (Position, &'a Case)> {
    let cases = demanded.cases.get(&node.v).map_or(&[][..], Vec::as_slice);
    node.at.iter().filter_map(|p| cases.iter().find(|c| c.at.contains(p)).map(|c| (p, c)))
}

/// How nodes that need each other are computed.
#[derive(Clone, Debug)]
enum Way {
    Over,
    Loop { backward: bool, order: Vec<usize> },
}

/// The way to compute the members of a component; none if they need each other in both directions, or within a tick.
fn direction(members: &[usize], nodes: &[Node], graph: &Graph<Need>, demanded: &Demanded) -> Option<Way> {
    let inside = |i: usize| members.binary_search(&i).ok();
    let (mut now, mut before, mut after) = (Vec::new(), false, false);
    for (k, m) in members.iter().enumerate() {
        for need in graph.of(*m) {
            let Some(to) = inside(need.to) else { continue };
            match need.tick {
                Tick::Now => now.push((k, to)),
                Tick::Before | Tick::First => before = true,
                Tick::After | Tick::Last => after = true,
            }
        }
        if let Some(register) = demanded.registers.get(&nodes[*m].v).filter(|r| r.in_turn) {
            if register.backward { after = true } else { before = true }
        }
    }
    if members.len() == 1 && now.is_empty() && !before && !after {
        return Some(Way::Over);
    }
    if before && after {
        return None;
    }
    let graph = Graph::new(members.len(), now);
    let order = components(members.len(), |v, i| graph.of(v).get(i).map(|to| Some(*to)));
    let acyclic =
        order.members.iter().all(|c| c.len() == 1) && (0..members.len()).all(|v| !graph.of(v).contains(&v));
    acyclic
        .then(|| Way::Loop { backward: after, order: order.members.iter().map(|c| members[c[0]]).collect() })
}

/// A forward loop in which members that read the next tick of others lag some ticks behind these; none if a circle of
/// reads does not lead to earlier ticks.
fn staggered(members: &[usize], graph: &Graph<Need>, demanded: &Demanded, nodes: &[Node]) -> Option<Way> {
    let inside = |i: usize| members.binary_search(&i).ok();
    if members.iter().any(|m| demanded.registers.get(&nodes[*m].v).is_some_and(|r| r.in_turn)) {
        return None;
    }
    let mut needs: Vec<(usize, usize, i64)> = Vec::new();
    for (k, m) in members.iter().enumerate() {
        for need in graph.of(*m) {
            let far = match need.tick {
                Tick::Before | Tick::First => -1,
                Tick::Now => 0,
                Tick::After | Tick::Last => 1,
            };
            needs.extend(inside(need.to).map(|to| (k, to, far)));
        }
    }
    let mut lags = vec![0_i64; members.len()];
    while let Some(lag) = {
        let mut most = None;
        for (k, to, far) in &needs {
            if lags[*to] + far > lags[*k] {
                lags[*k] = lags[*to] + far;
                most = most.max(Some(lags[*k]));
            }
        }
        most
    } {
        if lag.unsigned_abs() > members.len() as u64 {
            return None;
        }
    }
    // A value that is read in the step in which it becomes available has to come before its reader.
    let tight = needs.iter().filter(|(k, to, far)| lags[*to] + far == lags[*k]);
    let graph = Graph::new(members.len(), tight.map(|(k, to, _)| (*k, *to)).collect());
    let order = components(members.len(), |v, i| graph.of(v).get(i).map(|to| Some(*to)));
    let acyclic =
        order.members.iter().all(|c| c.len() == 1) && (0..members.len()).all(|v| !graph.of(v).contains(&v));
    acyclic
        .then(|| Way::Loop { backward: false, order: order.members.iter().map(|c| members[c[0]]).collect() })
}

struct Builder<'a> {
    window: &'a Window<'a>,
    demanded: &'a Demanded,
    tapes: BTreeMap<Var, Tape>,
    registers: BTreeMap<Var, plan::Reg>,
    consts: BTreeMap<rml_ir::flat::ConstId, plan::Const>,
    never: Option<plan::Const>,
    values: IndexVec<plan::Const, rml_ir::Value>,
}

impl<'a> Builder<'a> {
    fn new(window: &'a Window<'a>, demanded: &'a Demanded) -> Self {
        let tapes = demanded.cases.keys().enumerate().map(|(i, v)| (*v, Tape::from_index(i))).collect();
        let registers =
            demanded.registers.keys().enumerate().map(|(i, v)| (*v, plan::Reg::from_index(i))).collect();
        Self {
            window,
            demanded,
            tapes,
            registers,
            consts: BTreeMap::new(),
            never: None,
            values: IndexVec::new(),
        }
    }

    fn plan(mut self, nodes: &[Node], regions: &[(&Vec<usize>, Way)]) -> Plan {
        let (window, demanded) = (self.window, self.demanded);
        let flat = window.flat;
        let mut tapes = IndexVec::new();
        for (v, cases) in &demanded.cases {
            let cases = cases.iter().map(|c| plan::Case {
                at: c.at,
                when: self.guards(&c.when),
                rule: self.rule(&c.rule),
            });
            let cases = cases.collect();
            let (name, ty) = (window.name(*v).cloned(), window.ty(*v).clone());
            let (span, asserts) = (window.span(*v), window.asserts(*v).cloned());
            tapes.push(TapeData { name, ty, span, asserts, ahead: 0, cases });
        }
        let mut registers = IndexVec::new();
        let mut commits = Vec::new();
        for (v, register) in &demanded.registers {
            let (ty, kind) = (flat.vars[*v].ty.clone(), register.kind.clone());
            registers.push(plan::Register { ty, kind, known: window.truth_at_start(*v) });
            // A register that nothing reads need not be written in the loop.
            if !register.in_turn || !demanded.cases.contains_key(v) {
                commits.extend(register.writes.iter().map(|w| self.write(*v, w)));
            }
        }
        let mut done: Vec<Region> = Vec::new();
        for (members, way) in regions {
            let part = |i: usize| Part { tape: self.tapes[&nodes[i].v], at: nodes[i].at };
            match way {
                Way::Over => {
                    let parts = members.iter().map(|m| part(*m));
                    match done.last_mut() {
                        Some(Region::Over(known)) => known.extend(parts),
                        _ => done.push(Region::Over(parts.collect())),
                    }
                }
                Way::Loop { backward, order } => {
                    let parts = order.iter().map(|m| part(*m)).collect();
                    let mut writes = Vec::new();
                    for m in order {
                        let v = nodes[*m].v;
                        let Some(register) = demanded.registers.get(&v).filter(|r| r.in_turn) else {
                            continue;
                        };
                        writes.extend(register.writes.iter().map(|w| self.write(v, w)));
                    }
                    done.push(Region::Loop { backward: *backward, by: Vec::new(), parts, writes });
                }
            }
        }
        let mut outputs = Vec::new();
        for (v, cases) in flat.outputs.iter().zip(&demanded.outputs) {
            let data = &flat.vars[*v];
            let cases = cases.iter().map(|(at, when, s)| (*at, self.guards(when), self.atom(*s))).collect();
            let name = data.name.clone().unwrap_or_else(|| v.to_string().into());
            outputs.push(plan::Output { name, ty: data.ty.clone(), cases });
        }
        let ends = self.ends(nodes, regions);
        let name = |v: Var| flat.vars[v].name.clone().unwrap_or_else(|| v.to_string().into());
        Plan {
            name: flat.name.clone(),
            precision: flat.precision,
            ends,
            waits: window.waits,
            inputs: flat.inputs.iter().map(|i| (name(i.var), flat.vars[i.var].ty.clone())).collect(),
            consts: self.values,
            tapes,
            registers,
            regions: done,
            commits,
            outputs,
        }
    }

    fn ends(&mut self, nodes: &[Node], regions: &[(&Vec<usize>, Way)]) -> Ends {
        let window = self.window;
        match window.given_ends() {
            Some(ends) if ends.is_empty() => Ends::Nothing,
            Some(ends) => Ends::Given(ends),
            None => {
                let cond = |end: &rml_analysis::Guard| Guard {
                    cond: self.atom(Source::Kept(end.cond, Tick::Now)),
                    value: end.value,
                };
                let conds = window.ends.iter().map(cond).collect();
                let is_head = |m: &&usize| self.demanded.head.contains(&nodes[**m].v);
                let head = regions.first().map_or(0, |(members, _)| members.iter().filter(is_head).count());
                Ends::Found { conds, head }
            }
        }
    }

    fn atom(&mut self, source: Source) -> Atom {
        match source {
            Source::Kept(v, tick) => Atom::Tape(self.tapes[&v], tick),
            Source::Const(k) => {
                let (values, flat) = (&mut self.values, self.window.flat);
                Atom::Const(*self.consts.entry(k).or_insert_with(|| values.push(flat.value(k).clone())))
            }
            Source::Never => {
                let values = &mut self.values;
                Atom::Const(*self.never.get_or_insert_with(|| values.push(rml_ir::Value::Bool(false))))
            }
        }
    }

    fn guards(&mut self, when: &[(Source, bool)]) -> Vec<Guard> {
        when.iter().map(|(cond, value)| Guard { cond: self.atom(*cond), value: *value }).collect()
    }

    fn rule(&mut self, rule: &Rule) -> plan::Rule {
        match rule {
            Rule::Apply { op, args } => {
                plan::Rule::Apply { op: op.clone(), args: args.iter().map(|a| self.atom(*a)).collect() }
            }
            Rule::Copy(a) => plan::Rule::Copy(self.atom(*a)),
            Rule::Select { cond, then, other } => plan::Rule::Select {
                cond: self.atom(*cond),
                then: self.atom(*then),
                other: self.atom(*other),
            },
            Rule::Restart { ends, init, next } => plan::Rule::Restart {
                ends: ends.iter().map(|a| self.atom(*a)).collect(),
                init: self.atom(*init),
                next: self.atom(*next),
            },
            Rule::Input(i) => plan::Rule::Input(*i),
            Rule::Read { of, init } => {
                plan::Rule::Read { register: self.registers[of], init: init.map(|a| self.atom(a)) }
            }
        }
    }

    fn write(&mut self, v: Var, write: &Write) -> plan::Write {
        plan::Write {
            register: self.registers[&v],
            at: write.at,
            when: self.guards(&write.when),
            unless: write.unless.iter().map(|a| self.atom(*a)).collect(),
            value: self.atom(write.value),
        }
    }
}
