//! Matrices that do not change while a node runs, and whose columns chains read side by side: they are transposed once,
//! before the ticks.

use std::collections::BTreeMap;
use std::fmt::Write;

use rml_c::loops::{turn, turnable};
use rml_nest::{Access, Home, Nest, NestNode, NestProgram, Order, Slot, Tick, Val};

use super::Printer;

/// The most elements of such a matrix.
const MOST: usize = 1 << 16;

/// The matrices that a node transposes.
#[derive(Default)]
pub(super) struct Turned {
    /// The slots that may change while the node runs: those that it fills or writes. None if the node is over all
    /// ticks.
    changing: Option<Vec<Slot>>,
    /// The address of each matrix, its numbers of rows and columns, and its row stride.
    matrices: Vec<(String, [usize; 3])>,
}

impl Turned {
    /// No matrices yet, for a node.
    pub(super) fn of(node: &NestNode) -> Turned {
        let changing = || {
            let filled = node.stages.iter().flat_map(|stage| stage.fills());
            filled.chain(node.writes.iter().map(|write| write.register)).collect()
        };
        Turned { changing: (node.order != Order::Over).then(changing), matrices: Vec::new() }
    }

    /// Whether elements are the same at all ticks of the node.
    fn keeps(&self, program: &NestProgram, access: &Access) -> bool {
        let is_one = match program.slots[access.slot].home {
            Home::Const(_) | Home::Register { .. } => true,
            Home::Input | Home::Tick { .. } => matches!(access.tick, Tick::First | Tick::Last),
        };
        is_one && self.changing.as_ref().is_some_and(|changing| !changing.contains(&access.slot))
    }

    /// The name of a transposed matrix.
    fn name(&mut self, address: String, size: [usize; 3]) -> String {
        let matrix = (address, size);
        let at = self.matrices.iter().position(|known| *known == matrix).unwrap_or_else(|| {
            self.matrices.push(matrix);
            self.matrices.len() - 1
        });
        format!("turned_{at}")
    }

    /// The C text that transposes them.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (at, (address, [rows, columns, stride])) in self.matrices.iter().enumerate() {
            let _ = writeln!(text, "    static _Thread_local num turned_{at}[{}];", rows * columns);
            let _ = writeln!(text, "    turn(turned_{at}, {address}, {rows}, {columns}, {stride});");
        }
        text
    }
}

impl Printer<'_> {
    /// Lets chains read transposed matrices. Returns the values concerned, with the names of these matrices.
    pub(super) fn turn(&mut self, nest: &mut Nest) -> BTreeMap<Val, String> {
        let mut turned = BTreeMap::new();
        for matrix in turnable(nest) {
            let Some(source) = nest.body[matrix.val].source() else { continue };
            let is_kept = rml_nest::accesses(source).iter().all(|(_, access)| {
                let is_still = self.layout.far(access.slot, access.tick) == Some(0);
                is_still && self.turned.keeps(self.program, access)
            });
            if is_kept && matrix.size[0] * matrix.size[1] <= MOST {
                turned.insert(matrix.val, self.turned.name(self.choice(source), matrix.size));
                turn(nest, &matrix);
            }
        }
        turned
    }
}
