//! Matrices that are laid out for products once, and used at many ticks.

use rml_ir::op::Number;
use rml_kernels::Packed;

use super::code::{At, Code, Slot};
use super::listed::{Listed, Pack};
use super::operand::Arg;
use super::rows;

/// The matrices that products share since they stay the same while the pass runs that they are in. Each product says
/// which one is its own.
pub(super) fn choose(code: &mut Code) -> Vec<Pack> {
    let mut packs: Vec<Pack> = Vec::new();
    for pass in &code.passes {
        let (units, pass_is_over) = (&code.units[pass.units.clone()], pass.over);
        let instrs = || units.iter().flat_map(|unit| unit.instrs.clone());
        let outs: Vec<usize> = instrs().map(|i| code.refs[code.instrs[i].out].slot.0).collect();
        for i in instrs() {
            let columns = |arg: Arg| code.slots[code.refs[arg].slot.0].width;
            for (right, size, pack) in rows::matrices(&mut code.instrs[i], columns) {
                let of = code.refs[right];
                let slot = &code.slots[of.slot.0];
                let stays = !slot.per_tick || !matches!(of.at, At::Here(_));
                if !stays || !slot.kept && (pass_is_over || outs.contains(&of.slot.0)) {
                    debug_assert!(!of.transposed, "what is transposed is laid out");
                    continue;
                }
                let same = packs.iter().position(|pack| pack.of == of);
                *pack = Some(same.unwrap_or(packs.len()));
                if same.is_none() {
                    packs.push(Pack { of, size, fresh: !slot.kept });
                }
            }
        }
    }
    packs
}

/// How far a matrix is laid out.
#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    /// It has changed since it was used.
    Changed,
    /// It was used once.
    Used,
    Packed,
}

/// A matrix laid out.
#[derive(Debug)]
pub(super) struct Layout<N: Number> {
    /// Whether it is laid out from a matrix that is transposed.
    transposed: bool,
    packed: Option<Packed<N>>,
    state: State,
}

/// That many rows are worth the work.
const WORTH: usize = 8;

impl<N: Number> Layout<N> {
    pub(super) fn new(pack: &Pack) -> Self {
        Self { transposed: pack.of.transposed, packed: None, state: State::Changed }
    }

    pub(super) fn change(&mut self) {
        self.state = State::Changed;
    }

    /// Lays the matrix out, if that pays for a product with that many rows.
    #[inline]
    pub(super) fn prepare<'a>(&mut self, rows: usize, size: (usize, usize), b: impl Fn() -> &'a [N]) {
        if self.state == State::Changed && rows < WORTH && !self.transposed {
            self.state = State::Used;
        } else if self.state != State::Packed {
            N::pack(size, self.transposed, b(), &mut self.packed);
            self.state = State::Packed;
        }
    }

    /// The matrix, if it is laid out.
    #[inline]
    pub(super) fn packed(&self) -> Option<&Packed<N>> {
        self.packed.as_ref().filter(|_| self.state == State::Packed)
    }
}

/// The matrices of a machine: its own, or those that threads share, of which only what is laid out is used.
#[derive(Debug)]
pub(super) enum Packs<'a, N: Number> {
    Own(&'a mut [Layout<N>]),
    Shared(&'a [Layout<N>]),
}

impl<N: Number> Packs<'_, N> {
    /// The matrix of that number, if it pays to lay it out for a product with that many rows.
    pub(super) fn ready(
        &mut self,
        pack: usize,
        rows: usize,
        size: (usize, usize),
        b: &[N],
    ) -> Option<&Packed<N>> {
        self.prepare(pack, rows, size, || b);
        self.packed(pack)
    }

    /// As [`Layout::prepare`].
    #[inline]
    pub(super) fn prepare<'a>(
        &mut self,
        pack: usize,
        rows: usize,
        size: (usize, usize),
        b: impl Fn() -> &'a [N],
    ) {
        if let Packs::Own(layouts) = self {
            layouts[pack].prepare(rows, size, b);
        }
    }

    /// As [`Layout::packed`].
    ///
    /// # Panics
    /// If the matrix is transposed, and threads that share it have not been given it laid out.
    #[inline]
    pub(super) fn packed(&self, pack: usize) -> Option<&Packed<N>> {
        let layout = &self.all()[pack];
        let packed = layout.packed();
        assert!(
            packed.is_some() || !layout.transposed,
            "a matrix that is transposed is laid out before it is shared"
        );
        packed
    }

    /// The matrices in a place are others now.
    pub(super) fn change(&mut self, code: &Listed, slot: Slot) {
        if let Packs::Own(layouts) = self {
            for (_, layout) in code.packs.iter().zip(&mut **layouts).filter(|(pack, _)| pack.of.slot == slot)
            {
                layout.change();
            }
        }
    }

    /// All of them, to be shared.
    pub(super) fn all(&self) -> &[Layout<N>] {
        match self {
            Packs::Own(layouts) => layouts,
            Packs::Shared(layouts) => layouts,
        }
    }
}
