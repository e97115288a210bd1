//! The tapes of a window, in pieces.

use rml_base::EntityId;
use rml_ir::Type;
use rml_ir::op::Op;
use rml_plan::Tape;

use crate::batch::Val;
use crate::graph::{Graph, Node};

/// A tape at some ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) value: Val,
    /// Its value at the last tick that a loop went through, which a carried value is too.
    pub(crate) edge: Option<(usize, Node)>,
}

/// All tapes, as far as they are filled.
#[derive(Debug)]
pub(crate) struct Tapes(Vec<Vec<Piece>>);

impl Tapes {
    pub(crate) fn new(tapes: usize) -> Self {
        Self(vec![Vec::new(); tapes])
    }

    pub(crate) fn put(&mut self, tape: Tape, piece: Piece) {
        let pieces = &mut self.0[tape.index()];
        pieces.push(piece);
        pieces.sort_by_key(|piece| piece.from);
    }

    /// Its value at a tick.
    pub(crate) fn element(&self, g: &mut Graph, tape: Tape, t: usize) -> Option<Val> {
        let piece = self.0[tape.index()].iter().find(|p| p.from <= t && t < p.to)?;
        Some(Val::same(match (piece.value, piece.edge) {
            (Val { node, stacked: false }, _) => node,
            (_, Some((at, node))) if at == t => node,
            (Val { node, .. }, _) => g.element(node, t - piece.from),
        }))
    }

    /// Its values at several ticks; zeros where it is not filled. None if it is filled at none of them.
    pub(crate) fn slice(&self, g: &mut Graph, tape: Tape, from: usize, to: usize, ty: &Type) -> Option<Val> {
        if to == from + 1 {
            return self.element(g, tape, from);
        }
        let pieces: Vec<Piece> =
            self.0[tape.index()].iter().copied().filter(|p| p.from < to && from < p.to).collect();
        let first = pieces.first()?;
        // What is read where it is not filled does not count.
        if !first.value.stacked && pieces.iter().all(|p| p.value == first.value) {
            return Some(first.value);
        }
        if pieces.len() == 1 && first.from <= from && to <= first.to {
            return Some(Val::stack(g.slice(first.value.node, from - first.from, to - first.from)));
        }
        let own = |piece: &Piece, g: &mut Graph| {
            let (start, end) = (piece.from.max(from), piece.to.min(to));
            let value = match piece.value {
                Val { node, stacked: true } => {
                    Val::stack(g.slice(node, start - piece.from, end - piece.from))
                }
                same => same,
            };
            (start, end, value)
        };
        let pieces: Vec<(usize, usize, Val)> = pieces.iter().map(|piece| own(piece, g)).collect();
        Some(Val::stack(stack(g, &pieces, from, to, ty)))
    }

    /// The row of the open body in values at all its ticks.
    pub(crate) fn row(&self, g: &mut Graph, stack: Node) -> Node {
        g.row(stack, 0)
    }
}

/// Values at ticks `from..to`, in pieces, as one stack; zeros elsewhere.
pub(crate) fn stack(
    g: &mut Graph,
    pieces: &[(usize, usize, Val)],
    from: usize,
    to: usize,
    ty: &Type,
) -> Node {
    let (mut parts, mut done) = (Vec::new(), from);
    let gap = |g: &mut Graph, parts: &mut Vec<Node>, n: usize| {
        if n > 0 {
            let zeros = g.zeros(ty);
            parts.push(g.repeat(zeros, n));
        }
    };
    for (start, end, value) in pieces {
        gap(g, &mut parts, start - done);
        parts.push(match value {
            Val { node, stacked: false } => g.repeat(*node, end - start),
            Val { node, .. } => *node,
        });
        done = *end;
    }
    gap(g, &mut parts, to - done);
    g.apply(Op::Concat { axis: 0 }, &parts, rml_backend::Function::nowhere())
}
