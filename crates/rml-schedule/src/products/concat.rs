//! Products over concatenations whose leading parts do not depend on the loop.

use std::collections::BTreeSet;

use rml_ir::flat::Var;
use rml_ir::op::Op;
use rml_plan::{Atom, Case, Position, Positions, Rule, Tape, Tick};
use rml_validate::{AxisRange, Claim};

use super::edit::Edit;

/// The deepest nesting of concatenations that is searched.
const DEEPEST: usize = 16;

/// A product in a loop, of a concatenation that the loop computes and a matrix that does not change in it.
struct Found {
    product: (Tape, Var),
    joined: (Tape, Var),
    /// Which factor the concatenation is.
    side: usize,
    matrix: (Tape, Var),
    /// The tick at which the matrix is read.
    tick: Tick,
    /// The operands of the concatenation, by position.
    pieces: Vec<(Positions, Vec<Piece>)>,
    /// How many of the `inner` elements of the concatenated axis do not come from the loop; and which axis that is in
    /// each of the two factors.
    upto: usize,
    inner: usize,
    axes: [usize; 2],
}

/// An operand of a concatenation, and where it ends.
#[derive(Clone, Copy, PartialEq)]
struct Piece {
    atom: Atom,
    end: usize,
}

/// Moves the leading parts of products over concatenations out of a loop, if they do not depend on it.
pub(super) fn concatenations(edit: &mut Edit, region: usize) {
    let Some(parts) = edit.looped(region) else { return };
    let mut is_split = false;
    for part in &parts {
        if let Some(found) = find(edit, part.tape, region) {
            split(edit, &found, region);
            is_split = true;
        }
    }
    if !is_split {
        return;
    }
    // A concatenation that nothing in the loop reads any more is computed after it.
    let mut left = BTreeSet::new();
    for part in parts.iter().rev() {
        let readers = &edit.readers[part.tape];
        let is_free = |reader: &Tape| {
            edit.region(*reader) != Some(region) || left.contains(reader) || !reads(edit, *reader, part.tape)
        };
        let is_concat = edit.plan.tapes[part.tape].cases.iter().all(|case| joins(case).is_some());
        if is_concat && !readers.others && readers.tapes.iter().all(is_free) {
            left.insert(part.tape);
        }
    }
    edit.fill_behind(&left, region);
}

fn reads(edit: &Edit, reader: Tape, tape: Tape) -> bool {
    let operands = edit.plan.tapes[reader].cases.iter().flat_map(|case| case.rule.operands());
    operands.into_iter().any(|atom| matches!(atom, Atom::Tape(of, _) if of == tape))
}

/// The axis and the operands of a concatenation.
fn joins(case: &Case) -> Option<(usize, &[Atom])> {
    match &case.rule {
        Rule::Apply { op: Op::Concat { axis }, args } => Some((*axis, args)),
        _ => None,
    }
}

fn find(edit: &Edit, product: Tape, region: usize) -> Option<Found> {
    let data = &edit.plan.tapes[product];
    if edit.region(product) != Some(region) {
        return None;
    }
    let mut factors = data.cases.iter().map(|case| match &case.rule {
        Rule::Apply { op: Op::MatMul, args } if case.when.is_empty() => Some([args[0], args[1]]),
        _ => None,
    });
    let args = factors.next()??;
    if !factors.all(|other| other == Some(args)) {
        return None;
    }
    let side = args.iter().position(|atom| !edit.is_before(*atom, region))?;
    let (Atom::Tape(joined, Tick::Now), Atom::Tape(matrix, tick)) = (args[side], args[1 - side]) else {
        return None;
    };
    let dims = args.map(|atom| edit.plan.ty(atom).shape.dims().to_vec());
    if edit.region(joined) != Some(region) || !edit.is_before(args[1 - side], region) || dims[1].len() > 2 {
        return None;
    }
    let axes = [dims[0].len() - 1, 0];
    let mut pieces: Vec<(Positions, Vec<Piece>)> = Vec::new();
    for p in data.place().iter() {
        let mut found = Vec::new();
        leaves(edit, joined, (axes[side], p, region), DEEPEST, &mut found)?;
        match pieces.iter_mut().find(|(_, known)| *known == found) {
            Some((at, _)) => *at = at.with(p),
            None => pieces.push((Positions::NONE.with(p), found)),
        }
    }
    let front = |(_, pieces): &(Positions, Vec<Piece>)| {
        pieces
            .iter()
            .take_while(|piece| edit.is_before(piece.atom, region))
            .last()
            .map_or(0, |piece| piece.end)
    };
    let (upto, inner) = (pieces.iter().map(front).min()?, dims[1][0]);
    let ends_there = |(_, pieces): &(Positions, Vec<Piece>)| pieces.iter().any(|piece| piece.end == upto);
    let of = |tape: Tape| edit.witness.tapes[tape].whole().map(|v| (tape, v));
    let found = Found {
        product: of(product)?,
        joined: of(joined)?,
        side,
        matrix: of(matrix)?,
        tick,
        upto,
        inner,
        axes,
        pieces,
    };
    (0 < upto && upto < inner && found.pieces.iter().all(ends_there)).then_some(found)
}

/// Collects the operands of nested concatenations along an axis at a position, in order; none if there is no
/// concatenation.
fn leaves(
    edit: &Edit,
    joined: Tape,
    (axis, p, region): (usize, Position, usize),
    depth: usize,
    found: &mut Vec<Piece>,
) -> Option<()> {
    let case = edit.plan.tapes[joined].case(p).filter(|case| case.when.is_empty())?;
    let (_, args) = joins(case).filter(|(own, _)| *own == axis)?;
    for atom in args {
        if let Atom::Tape(inner, Tick::Now) = *atom
            && depth > 0
            && edit.region(inner) == Some(region)
            && leaves(edit, inner, (axis, p, region), depth - 1, found).is_some()
        {
            continue;
        }
        let start = found.last().map_or(0, |piece| piece.end);
        found.push(Piece { atom: *atom, end: start + edit.plan.ty(*atom).shape.dims()[axis] });
    }
    Some(())
}

/// Computes the product of the leading parts before the loop; the product in the loop continues from it with the
/// trailing parts.
fn split(edit: &mut Edit, found: &Found, region: usize) {
    let Found { product, side, matrix, tick, axes, .. } = *found;
    let place = edit.plan.tapes[product.0].place();
    let cut = |edit: &mut Edit, start: usize, len: usize| {
        let cut = AxisRange { axis: axes[1 - side], start, len };
        let (tape, is_new) = edit.cut(matrix, cut, tick, place);
        if is_new {
            edit.fill_before(tape, region);
        }
        Atom::Tape(tape, tick)
    };
    let front = cut(edit, 0, found.upto);
    let rear = cut(edit, found.upto, found.inner - found.upto);
    let factors = |matrix: Atom, other: Atom| if side == 0 { [other, matrix] } else { [matrix, other] };
    let cases = pieces(edit, found, true, region).into_iter().map(|(at, atom)| {
        let args = factors(front, atom).to_vec();
        Case { at, when: Vec::new(), rule: Rule::Apply { op: Op::MatMul, args } }
    });
    let begun = edit.tape(product.0, Claim::Begun(product.1, found.upto), cases.collect());
    edit.fill_before(begun, region);
    let start = Atom::Tape(begun, Tick::Now);
    let cases = pieces(edit, found, false, region).into_iter().map(|(at, atom)| Case {
        at,
        when: Vec::new(),
        rule: Rule::Product { start, args: factors(rear, atom) },
    });
    edit.refill(product.0, cases.collect());
}

/// The leading or trailing operands of a concatenation, by position.
fn pieces(edit: &mut Edit, found: &Found, is_front: bool, region: usize) -> Vec<(Positions, Atom)> {
    let mut lists: Vec<(Positions, Vec<Atom>)> = Vec::new();
    for (at, pieces) in &found.pieces {
        let own = pieces.iter().filter(|piece| (piece.end <= found.upto) == is_front);
        let own: Vec<Atom> = own.map(|piece| piece.atom).collect();
        match lists.iter_mut().find(|(_, known)| *known == own) {
            Some((known, _)) => *known = known.or(*at),
            None => lists.push((*at, own)),
        }
    }
    if lists.iter().all(|(_, atoms)| atoms.len() == 1) {
        return lists.into_iter().map(|(at, atoms)| (at, atoms[0])).collect();
    }
    let ((joined, v), axis) = (found.joined, found.axes[found.side]);
    let (start, end) = if is_front { (0, found.upto) } else { (found.upto, found.inner) };
    let cut = AxisRange { axis, start, len: end - start };
    let place = lists.iter().fold(Positions::NONE, |all, (at, _)| all.or(*at));
    let tape = edit.known(joined, place, cut).unwrap_or_else(|| {
        let join =
            |(at, args)| Case { at, when: Vec::new(), rule: Rule::Apply { op: Op::Concat { axis }, args } };
        let tape = edit.tape(joined, Claim::Part(v, cut), lists.into_iter().map(join).collect());
        if is_front {
            edit.fill_before(tape, region);
        } else {
            edit.fill_within(tape, found.product.0);
        }
        edit.note(joined, place, cut, tape);
        tape
    });
    vec![(place, Atom::Tape(tape, Tick::Now))]
}
