//! Shares values that would be computed twice.

use std::collections::{BTreeMap, BTreeSet};

use rml_ir::flat::Var;
use rml_ir::op::Op;
use rml_plan::Tick;

use crate::demand::{Case, Demanded, Rule};
use crate::resolve::Source;
use crate::window::Window;

/// Merges equal variables: variables on one clock that the same operators or choices compute from the same operands.
/// Recurrences over windows are merged, too, if they have the same form.
///
/// Ensures: no two variables on one clock have the same cases, if all their cases are operators or choices and neither
/// of them finds the end of a window. Readers of a merged variable read the remaining one.
pub(crate) fn common(window: &Window<'_>, mut demanded: Demanded) -> Demanded {
    let mut common = Common { window, demanded: &demanded, instead: BTreeMap::new() };
    common.merge();
    let instead = common.instead;
    let of = |source: Source| match source {
        Source::Kept(v, tick) => Source::Kept(find(&instead, v), tick),
        constant => constant,
    };
    demanded.cases.retain(|v, _| !instead.contains_key(v));
    for case in demanded.cases.values_mut().flatten() {
        case.when.iter_mut().for_each(|(cond, _)| *cond = of(*cond));
        case.rule = case.rule.map(of);
    }
    for write in demanded.registers.values_mut().flat_map(|r| &mut r.writes) {
        write.when.iter_mut().for_each(|(cond, _)| *cond = of(*cond));
        write.unless.iter_mut().chain([&mut write.value]).for_each(|s| *s = of(*s));
    }
    for (_, when, source) in demanded.outputs.iter_mut().flatten() {
        when.iter_mut().for_each(|(cond, _)| *cond = of(*cond));
        *source = of(*source);
    }
    demanded
}

/// The variable into which `v` was merged; `v` itself if it was not.
fn find(instead: &BTreeMap<Var, Var>, mut v: Var) -> Var {
    while let Some(other) = instead.get(&v) {
        v = *other;
    }
    v
}

struct Common<'a> {
    window: &'a Window<'a>,
    demanded: &'a Demanded,
    /// For each merged variable, an equal one.
    instead: BTreeMap<Var, Var>,
}

/// The operators and operands that equal variables have in common.
type Key<'a> = (Vec<Made<'a>>, Vec<Operand>);

/// How a value is computed from its operands: by an operator, or as a choice.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Made<'a> {
    Apply(&'a Op),
    Choice,
}

/// An operand: the variable itself at another tick, or another value.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Operand {
    Own(Tick),
    Of(Source),
}

impl<'a> Common<'a> {
    fn merge(&mut self) {
        let mut readers: BTreeMap<Var, Vec<Var>> = BTreeMap::new();
        for (v, cases) in &self.demanded.cases {
            for source in cases.iter().flat_map(operands) {
                if let Source::Kept(u, _) = source {
                    readers.entry(u).or_default().push(*v);
                }
            }
        }
        // Variables with a name in the source come first, so that these remain.
        let mut pending: Vec<Var> = self.demanded.cases.keys().copied().collect();
        pending.sort_by_key(|v| std::cmp::Reverse((self.window.name(*v).is_none(), *v)));
        let mut seen: BTreeMap<Key<'a>, BTreeSet<Var>> = BTreeMap::new();
        while let Some(v) = pending.pop() {
            if self.instead.contains_key(&v) || !self.is_pure(v) {
                continue;
            }
            let alike = seen.entry(self.key(v)).or_default();
            match alike.iter().find(|u| self.is_same(v, **u)) {
                Some(u) => {
                    self.instead.insert(v, *u);
                    // Readers of the two variables may have become equal.
                    let mine = readers.remove(&v).unwrap_or_default();
                    pending.extend(&mine);
                    readers.entry(*u).or_default().extend(mine);
                }
                None => {
                    alike.insert(v);
                }
            }
        }
    }

    /// Whether a variable has only operators and choices as rules, and may be merged with another one.
    fn is_pure(&self, v: Var) -> bool {
        let cases = &self.demanded.cases[&v];
        let recurs = || cases.iter().flat_map(operands).any(|s| matches!(s, Source::Kept(u, _) if u == v));
        self.window.as_told(v).is_none()
            && !self.demanded.head.contains(&v)
            && cases.iter().all(|case| made(case).is_some())
            // A recurrence in a block continues from an unknown value, so it equals no other one.
            && !(self.window.is_block && recurs())
    }

    /// The rules of a variable and its operands, after the merges so far.
    fn key(&self, v: Var) -> Key<'a> {
        let cases = &self.demanded.cases[&v];
        let of = |source: Source| match self.now(source) {
            Source::Kept(u, tick) if u == v => Operand::Own(tick),
            source => Operand::Of(source),
        };
        (cases.iter().filter_map(made).collect(), cases.iter().flat_map(operands).map(of).collect())
    }

    fn now(&self, source: Source) -> Source {
        match source {
            Source::Kept(v, tick) => Source::Kept(find(&self.instead, v), tick),
            constant => constant,
        }
    }

    fn is_same(&self, v: Var, u: Var) -> bool {
        let (a, b) = (&self.demanded.cases[&v], &self.demanded.cases[&u]);
        let (clocks, vars) = (&self.window.clocks.of, &self.window.flat.vars);
        v != u
            && !self.instead.contains_key(&u)
            && clocks[v] == clocks[u]
            && vars[v].ty == vars[u].ty
            && a.len() == b.len()
            && a.iter().zip(b).all(|(a, b)| {
                a.at == b.at
                    && a.when.len() == b.when.len()
                    && a.when.iter().zip(&b.when).all(|(a, b)| a.1 == b.1)
            })
            && self.key(v) == self.key(u)
    }
}

fn made(case: &Case) -> Option<Made<'_>> {
    match &case.rule {
        Rule::Apply { op, .. } => Some(Made::Apply(op)),
        Rule::Select { .. } => Some(Made::Choice),
        _ => None,
    }
}

fn operands(case: &Case) -> impl Iterator<Item = Source> + '_ {
    case.when.iter().map(|(cond, _)| *cond).chain(case.rule.operands())
}
