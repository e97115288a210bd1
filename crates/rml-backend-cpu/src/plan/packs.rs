//! Matrices that are laid out for products once, and used at many ticks.

use rml_ir::op::Number;

use super::code::{At, Code, Kernel, Pack, Slot};

/// Says which products share matrices that stay the same while the pass runs in which they stand.
pub(super) fn choose(code: &mut Code) {
    for pass in &code.passes {
        let units = &code.units[pass.units.clone()];
        let instrs = || units.iter().flat_map(|unit| unit.instrs.clone());
        let outs: Vec<usize> = instrs().map(|i| code.refs[code.instrs[i].out].slot.0).collect();
        for i in instrs() {
            let instr = &mut code.instrs[i];
            let (Kernel::Product([_, rows, columns], pack) | Kernel::Further([_, rows, columns], pack)) =
                &mut instr.kernel
            else {
                continue;
            };
            let of = code.refs[instr.args[1]];
            let slot = &code.slots[of.slot.0];
            let stays = !slot.per_tick || !matches!(of.at, At::Here(_));
            if !stays || !slot.kept && (pass.over || outs.contains(&of.slot.0)) {
                continue;
            }
            let same = code.packs.iter().position(|pack| pack.of == of);
            *pack = Some(same.unwrap_or(code.packs.len()));
            if same.is_none() {
                code.packs.push(Pack { of, size: [*rows, *columns], fresh: !slot.kept });
            }
        }
    }
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
    packed: Option<N::Packed>,
    state: State,
}

/// So many rows are worth the work.
const WORTH: usize = 8;

impl<N: Number> Layout<N> {
    pub(super) fn new() -> Self {
        Self { packed: None, state: State::Changed }
    }

    pub(super) fn change(&mut self) {
        self.state = State::Changed;
    }

    /// The matrix, if it pays to lay it out for a product with so many rows.
    pub(super) fn ready(&mut self, rows: usize, size: (usize, usize), b: &[N]) -> Option<&N::Packed> {
        if self.state == State::Changed && rows < WORTH {
            self.state = State::Used;
            return None;
        }
        if self.state != State::Packed {
            N::pack(size, b, &mut self.packed);
            self.state = State::Packed;
        }
        self.packed.as_ref()
    }
}

/// The matrices of a machine: its own, or those that threads share, of which only what is laid out is used.
#[derive(Debug)]
pub(super) enum Packs<'a, N: Number> {
    Own(&'a mut [Layout<N>]),
    Shared(&'a [Layout<N>]),
}

impl<N: Number> Packs<'_, N> {
    /// The matrix of that number, as [`Layout::ready`].
    pub(super) fn ready(
        &mut self,
        pack: usize,
        rows: usize,
        size: (usize, usize),
        b: &[N],
    ) -> Option<&N::Packed> {
        match self {
            Packs::Own(layouts) => layouts[pack].ready(rows, size, b),
            Packs::Shared(layouts) => {
                layouts[pack].packed.as_ref().filter(|_| layouts[pack].state == State::Packed)
            }
        }
    }

    /// The matrices in a place are others now.
    pub(super) fn change(&mut self, code: &Code, slot: Slot) {
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
