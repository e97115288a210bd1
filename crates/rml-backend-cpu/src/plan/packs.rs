//! Matrices that are laid out for products once, and used at many ticks.

use rml_ir::op::Number;
use rml_kernels::Packed;

use super::code::{At, Code, Kernel, Slot};
use super::listed::{Listed, Pack};

/// Chooses the right-hand factors of products that do not change while their pass runs; products with the same factor
/// share a pack. Each product records the number of its pack.
pub(super) fn choose(code: &mut Code) -> Vec<Pack> {
    let mut packs: Vec<Pack> = Vec::new();
    for pass in &code.passes {
        let (units, pass_is_over) = (&code.units[pass.units.clone()], pass.over);
        let instrs = || units.iter().flat_map(|unit| unit.instrs.clone());
        let outs: Vec<usize> = instrs().map(|i| code.refs[code.instrs[i].out].slot.0).collect();
        for i in instrs() {
            let instr = &mut code.instrs[i];
            let (Kernel::Product([_, k, n], pack) | Kernel::Further([_, k, n], pack)) = &mut instr.kernel
            else {
                continue;
            };
            let of = code.refs[instr.args[1]];
            let slot = &code.slots[of.slot.0];
            let stays = !slot.moves() || !matches!(of.at, At::Here(_));
            if !stays || !slot.kept && (pass_is_over || outs.contains(&of.slot.0)) {
                continue;
            }
            let same = packs.iter().position(|pack| pack.of == of);
            *pack = Some(same.unwrap_or(packs.len()));
            if same.is_none() {
                packs.push(Pack { of, size: [*k, *n], fresh: !slot.kept });
            }
        }
    }
    packs
}

/// Whether a matrix is laid out.
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
    packed: Option<Packed<N>>,
    state: State,
}

/// A product with at least this many rows justifies laying out the matrix for it alone.
const WORTH: usize = 8;

impl<N: Number> Layout<N> {
    pub(super) fn new() -> Self {
        Self { packed: None, state: State::Changed }
    }

    pub(super) fn change(&mut self) {
        self.state = State::Changed;
    }

    /// Lays the matrix out if it was used before, or if this product has enough rows.
    fn prepare(&mut self, rows: usize, size: (usize, usize), b: &[N]) {
        if self.state == State::Changed && rows < WORTH {
            self.state = State::Used;
        } else if self.state != State::Packed {
            N::pack(size, false, b, &mut self.packed);
            self.state = State::Packed;
        }
    }

    /// The matrix, if it is laid out.
    fn packed(&self) -> Option<&Packed<N>> {
        self.packed.as_ref().filter(|_| self.state == State::Packed)
    }
}

/// The matrices of a machine: its own, which it lays out, or those shared among threads, which are only read.
#[derive(Debug)]
pub(super) enum Packs<'a, N: Number> {
    Own(&'a mut [Layout<N>]),
    Shared(&'a [Layout<N>]),
}

impl<N: Number> Packs<'_, N> {
    /// The laid-out matrix of a pack; none if that does not pay off for a product with `rows` rows.
    pub(super) fn ready(
        &mut self,
        pack: usize,
        rows: usize,
        size: (usize, usize),
        b: &[N],
    ) -> Option<&Packed<N>> {
        if let Packs::Own(layouts) = self {
            layouts[pack].prepare(rows, size, b);
        }
        self.all()[pack].packed()
    }

    /// The value in a place has changed: matrices laid out from it are out of date.
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
