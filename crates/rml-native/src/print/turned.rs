//! Matrices that stay the same while a node runs its ticks, and whose columns chains need side by side: they are turned
//! once, before the ticks.

use std::collections::BTreeMap;
use std::fmt::Write;

use rml_base::EntityId;
use rml_nest::{Access, Def, Dim, Home, Nest, Node, Order, Program, Slot, Tick, Val};

use super::Printer;

/// The most elements of such a matrix.
const MOST: usize = 1 << 16;

/// The matrices of a node.
#[derive(Default)]
pub(super) struct Turned {
    /// What may change while the node runs: what it fills or writes. None if the node runs stage by stage.
    changing: Option<Vec<Slot>>,
    /// Where a matrix is, how many rows and columns it has, and how far its rows are apart.
    matrices: Vec<(String, [usize; 3])>,
}

impl Turned {
    /// None so far, of a node.
    pub(super) fn of(node: &Node) -> Turned {
        let changing = || {
            let filled = node.stages.iter().flat_map(|stage| stage.fills());
            filled.chain(node.writes.iter().map(|write| write.register)).collect()
        };
        Turned { changing: (node.order != Order::Over).then(changing), matrices: Vec::new() }
    }

    /// Whether elements are the same at all ticks of the node.
    fn keeps(&self, program: &Program, access: &Access) -> bool {
        let is_one = match program.slots[access.slot].home {
            Home::Const(_) | Home::Register { .. } => true,
            Home::Input | Home::Tick { .. } => matches!(access.tick, Tick::First | Tick::Last),
        };
        is_one && self.changing.as_ref().is_some_and(|changing| !changing.contains(&access.slot))
    }

    /// The name of a matrix that is turned.
    fn name(&mut self, address: String, size: [usize; 3]) -> String {
        let matrix = (address, size);
        let at = self.matrices.iter().position(|known| *known == matrix).unwrap_or_else(|| {
            self.matrices.push(matrix);
            self.matrices.len() - 1
        });
        format!("turned_{at}")
    }

    /// What turns them.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (at, (address, [rows, columns, stride])) in self.matrices.iter().enumerate() {
            let _ = writeln!(text, "    static _Thread_local num turned_{at}[{}];", rows * columns);
            let _ = writeln!(text, "    turn(turned_{at}, {address}, {rows}, {columns}, {stride});");
        }
        text
    }
}

/// The rows and the columns of a matrix that a load reads row by row, if it reads nothing else: the dimension that
/// chains fold is that of the elements of a row.
fn matrix(nest: &Nest, access: &Access, folded: Dim) -> Option<(Dim, [usize; 3])> {
    let moving: Vec<Dim> = nest.dims.ids().filter(|dim| access.strides[dim.index()] != 0).collect();
    let rows = match moving[..] {
        [a, b] if b == folded => a,
        [a, b] if a == folded => b,
        _ => return None,
    };
    let stride = usize::try_from(access.strides[rows.index()]).ok()?;
    let (n, k) = (nest.dims[rows], nest.dims[folded]);
    (access.strides[folded.index()] == 1 && stride > 1 && n * k <= MOST).then_some((rows, [n, k, stride]))
}

impl Printer<'_> {
    /// Lets chains read matrices that are turned; which values those are, and the name of each.
    pub(super) fn turn(&mut self, nest: &mut Nest) -> BTreeMap<Val, String> {
        let mut turned = BTreeMap::new();
        let chains: Vec<(Dim, [Val; 2])> = nest
            .body
            .iter()
            .filter_map(|def| if let Def::Chain { dim, of, .. } = def { Some((*dim, *of)) } else { None })
            .collect();
        for (folded, factors) in chains {
            for val in factors {
                let users = nest.body.iter().filter(|def| def.operands().contains(&val)).count();
                let Def::Load(source) = &nest.body[val] else { continue };
                let is_kept = rml_nest::accesses(source)
                    .iter()
                    .all(|(_, access)| self.turned.keeps(self.program, access));
                if users != 1 || !is_kept {
                    continue;
                }
                let Some((rows, size)) = matrix(nest, &source[0].access, folded) else { continue };
                turned.insert(val, self.turned.name(self.choice(source), size));
                let Some(source) = nest.body[val].source_mut() else { continue };
                source.truncate(1);
                source[0].any.clear();
                source[0].access.offset = 0;
                source[0].access.strides[rows.index()] = 1;
                source[0].access.strides[folded.index()] = size[0].cast_signed();
            }
        }
        turned
    }
}
