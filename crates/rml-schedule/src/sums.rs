//! Turns loops that only add into sums over the ticks of a window. The terms are computed in the sum, so the sum of the
//! outer products of a window is one product.

use rml_base::IndexVec;
use rml_ir::Data;
use rml_ir::op::{Binary, Op};
use rml_plan::{
    Atom, Case, Ends, Guard, Part, Plan, Positions, Region, Rule, Tape, Term, Tick, outer_product,
};

/// How often a tape is read, and where.
#[derive(Clone, Copy, Default)]
struct Reads {
    count: usize,
    /// Whether it is read only at its first tick, or only at its last.
    first_only: bool,
    last_only: bool,
    by: By,
}

/// Which tapes read a tape, itself among them.
#[derive(Clone, Copy, PartialEq, Default)]
enum By {
    #[default]
    Nothing,
    One(Tape),
    Several,
}

/// The plan with sums.
///
/// Requires, ensures: P1 to P8.
pub(crate) fn sums(mut plan: Plan) -> Plan {
    // The loop that finds the end of a window cannot become a sum.
    let reads = reads(&plan);
    for i in usize::from(matches!(plan.ends, Ends::Found { .. }))..plan.regions.len() {
        let Some((tape, backward)) = single(&plan.regions[i]) else { continue };
        let at_edge = if backward { reads[tape].first_only } else { reads[tape].last_only };
        let Some(rule) = at_edge.then(|| sum(&plan, tape, backward)).flatten() else { continue };
        let at = if backward { Positions::STARTS } else { Positions::ENDS };
        plan.tapes[tape].cases = vec![Case { at, when: Vec::new(), rule }];
        plan.regions[i] = Region::Over(vec![Part { tape, at }]);
    }
    // The reads counted above still apply: a sum reads the same tapes as its loop did.
    let ids: Vec<Tape> = plan.tapes.ids().collect();
    for tape in ids {
        let Some(Case { rule: Rule::Sum { init, backward, terms }, at, .. }) = plan.tapes[tape].cases.first()
        else {
            continue;
        };
        let (init, backward, at) = (*init, *backward, *at);
        let given = init.is_some_and(|init| !starts_from_negative_zero(&plan, init));
        let terms = terms.iter().flat_map(|term| {
            let given = given.then(|| given_where(&plan, &reads, term)).flatten();
            given.unwrap_or_else(|| vec![term.clone()])
        });
        let terms: Vec<Term> = terms.collect();
        let terms = joined(terms.iter().flat_map(|term| opened(&plan, &reads, term, &terms)));
        let rule = Rule::Sum { init, backward, terms };
        plan.tapes[tape].cases = vec![Case { at, when: Vec::new(), rule }];
    }
    drop_moved(&mut plan, &reads);
    merged(&mut plan);
    plan
}

/// Removes tapes of operators that may fail, if sums compute these operators now. `before` tells who read the tapes.
fn drop_moved(plan: &mut Plan, before: &IndexVec<Tape, Reads>) {
    let may_move = |tape: &Tape| {
        matches!(before[*tape].by, By::One(by) if plan.tapes[by].is_sum())
            && plan.tapes[*tape].cases.iter().any(|case| plan.may_fail(case))
    };
    let mut moved: Vec<Tape> = plan.tapes.ids().filter(may_move).collect();
    if moved.is_empty() {
        return;
    }
    let after = reads(plan);
    moved.retain(|tape| after[*tape].count == 0);
    for region in &mut plan.regions {
        region.parts_mut().retain(|part| !moved.contains(&part.tape));
    }
    moved.into_iter().for_each(|tape| plan.tapes[tape].cases.clear());
    plan.regions.retain(|region| !region.parts().is_empty());
}

fn single(region: &Region) -> Option<(Tape, bool)> {
    match region {
        Region::Loop { backward, parts, writes, .. } => match parts[..] {
            [part] if writes.is_empty() => Some((part.tape, *backward)),
            _ => None,
        },
        Region::Over(_) => None,
    }
}

fn reads(plan: &Plan) -> IndexVec<Tape, Reads> {
    let unread = Reads { count: 0, first_only: true, last_only: true, by: By::Nothing };
    let mut reads = IndexVec::filled(unread, plan.tapes.len());
    for read in plan.reads() {
        let Atom::Tape(tape, tick) = read.atom else { continue };
        let (reads, by): (&mut Reads, Option<Tape>) = (&mut reads[tape], read.by.tape());
        if let Some(by) = by {
            reads.by = if matches!(reads.by, By::Nothing) || reads.by == By::One(by) {
                By::One(by)
            } else {
                By::Several
            };
        }
        if by == Some(tape) {
            continue;
        }
        reads.count += 1;
        reads.first_only &= tick == Tick::First || tick == Tick::Now && read.at.is_within(Positions::STARTS);
        reads.last_only &= tick == Tick::Last || tick == Tick::Now && read.at.is_within(Positions::ENDS);
    }
    reads
}

/// The sum that a loop computes, if it only adds up.
fn sum(plan: &Plan, tape: Tape, backward: bool) -> Option<Rule> {
    let data = &plan.tapes[tape];
    let (edge, tick) =
        if backward { (Positions::ENDS, Tick::After) } else { (Positions::STARTS, Tick::Before) };
    let (mut init, mut terms) = (None, Vec::new());
    // An overflow of integers has to be reported at the tick at which it happens.
    if data.place() != Positions::ALL || !data.ty.is_num() {
        return None;
    }
    for case in &data.cases {
        let Rule::Apply { op: Op::Binary(Binary::Add), args } = &case.rule else { return None };
        let [a, b] = args[..] else { return None };
        if !case.when.is_empty() {
            return None;
        }
        let own = Atom::Tape(tape, tick);
        let term = match (a == own, b == own) {
            (true, false) if case.at.and(edge).is_empty() => b,
            (false, true) if case.at.and(edge).is_empty() => a,
            (false, false) if case.at.is_within(edge) => {
                let (term, start) = match (a, b) {
                    (term, Atom::Const(_)) => (term, b),
                    (Atom::Const(_), term) => (term, a),
                    _ => return None,
                };
                if init.is_some_and(|known| known != start) {
                    return None;
                }
                init = Some(start);
                term
            }
            _ => return None,
        };
        let fits = |atom: Atom| plan.ty(atom) == data.ty;
        if !fits(term) || matches!(term, Atom::Tape(t, _) if t == tape) || !init.is_none_or(fits) {
            return None;
        }
        terms.push(Term { at: case.at, when: Vec::new(), op: Op::Copy, args: vec![term] });
    }
    Some(Rule::Sum { init, backward, terms })
}

/// Replaces a term that is zero where a condition does not hold by terms with that condition, if nothing else reads the
/// term.
fn given_where(plan: &Plan, reads: &IndexVec<Tape, Reads>, term: &Term) -> Option<Vec<Term>> {
    let cases = private(plan, reads, term)?;
    let terms = cases.iter().map(|case| {
        let Rule::Select { cond, then, other } = case.rule else { return None };
        let (arg, value) = match (is_zero(plan, then), is_zero(plan, other)) {
            (false, true) => (then, true),
            (true, false) => (other, false),
            _ => return None,
        };
        let when = vec![Guard { cond, value }];
        Some(Term { at: case.at.and(term.at), when, op: Op::Copy, args: vec![arg] })
    });
    let mut terms = terms.collect::<Option<Vec<Term>>>()?;
    terms.retain(|t| !t.at.is_empty());
    Some(terms)
}

fn is_zero(plan: &Plan, atom: Atom) -> bool {
    let Atom::Const(k) = atom else { return false };
    match plan.consts[k].to_data() {
        Data::F32(x) => x.iter().all(|x| *x == 0.0),
        Data::F64(x) => x.iter().all(|x| *x == 0.0),
        Data::Int(_) | Data::Bool(_) => false,
    }
}

/// Whether a sum may be -0: then zeros must not be left out.
fn starts_from_negative_zero(plan: &Plan, init: Atom) -> bool {
    let Atom::Const(k) = init else { return true };
    match plan.consts[k].to_data() {
        Data::F32(x) => x.iter().any(|x| x.is_sign_negative()),
        Data::F64(x) => x.iter().any(|x| x.is_sign_negative()),
        Data::Int(_) | Data::Bool(_) => true,
    }
}

/// A term that computes its operator itself, if nothing else reads that value. An operator that may fail must still be
/// computed at all of its ticks, by this term or by others of the sum.
fn opened(plan: &Plan, reads: &IndexVec<Tape, Reads>, term: &Term, all: &[Term]) -> Vec<Term> {
    let own = || vec![term.clone()];
    let Some(cases) = private(plan, reads, term) else { return own() };
    let alike = all.iter().filter(|t| t.args == term.args && t.op == term.op && t.when == term.when);
    let added = alike.fold(Positions::NONE, |all, t| all.or(t.at));
    if cases.iter().any(|case| plan.may_fail(case) && !case.at.is_within(added)) {
        return own();
    }
    let mut terms = Vec::new();
    for case in cases {
        let at = case.at.and(term.at);
        let Rule::Apply { op, args } = &case.rule else { return own() };
        if *op == Op::MatMul && args.len() == 2 {
            terms.extend(product(plan, at, &term.when, args));
        } else if matches!(op, Op::SumTo { .. }) || term.when.is_empty() {
            terms.push(Term { at, when: term.when.clone(), op: op.clone(), args: args.clone() });
        } else {
            return own();
        }
    }
    terms.retain(|t| !t.at.is_empty());
    terms
}

/// Merges terms that add the same value at several positions.
fn joined(terms: impl Iterator<Item = Term>) -> Vec<Term> {
    let mut joined: Vec<Term> = Vec::new();
    for term in terms {
        match joined.iter_mut().find(|t| t.op == term.op && t.args == term.args && t.when == term.when) {
            Some(known) => known.at = known.at.or(term.at),
            None => joined.push(term),
        }
    }
    joined
}

/// The cases of the tape that a term copies, if the tape is present wherever the term is added, and nothing else reads
/// it.
fn private<'a>(plan: &'a Plan, reads: &IndexVec<Tape, Reads>, term: &Term) -> Option<&'a [Case]> {
    let [Atom::Tape(tape, Tick::Now)] = term.args[..] else { return None };
    let (data, tape) = (&plan.tapes[tape], &tape);
    let is_there = data.cases.iter().all(|case| case.when.iter().all(|g| term.when.contains(g)));
    (term.op == Op::Copy
        && is_there
        && reads[*tape].count <= data.cases.len().max(2)
        && matches!(reads[*tape].by, By::One(_)))
    .then_some(&data.cases)
}

/// The terms for a product. If its first factor is a transposed matrix, the terms read the matrix itself.
fn product(plan: &Plan, at: Positions, when: &[Guard], args: &[Atom]) -> Vec<Term> {
    let plain = Term { at, when: when.to_vec(), op: Op::MatMul, args: args.to_vec() };
    let matrix = |atom: Atom| plan.ty(atom).shape.rank() == 2;
    let cases = match args[0] {
        Atom::Tape(tape, Tick::Now) if matrix(args[1]) => &plan.tapes[tape].cases,
        _ => return vec![plain],
    };
    if !cases.iter().all(|c| c.when.iter().all(|g| when.contains(g))) {
        return vec![plain];
    }
    let mut terms = Vec::new();
    for case in cases {
        let Rule::Apply { op: Op::Transpose { perm }, args: inner } = &case.rule else { return vec![plain] };
        if perm[..] != [1, 0] {
            return vec![plain];
        }
        let args = vec![inner[0], args[1]];
        terms.push(Term { at: case.at.and(at), when: when.to_vec(), op: outer_product(), args });
    }
    terms
}

/// Merges consecutive regions over all ticks.
fn merged(plan: &mut Plan) {
    let mut done: Vec<Region> = Vec::new();
    for region in plan.regions.drain(..) {
        match (done.last_mut(), region) {
            (Some(Region::Over(known)), Region::Over(parts)) => known.extend(parts),
            (_, region) => done.push(region),
        }
    }
    plan.regions = done;
}
