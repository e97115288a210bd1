//! Matrices that chains read row by row although adjacent chains need their columns.

use rml_base::EntityId;
use rml_nest::{Access, Def, Dim, Nest, Val};

/// A matrix that is read by a single load.
#[derive(Debug)]
pub struct TurnedMatrix {
    /// The load.
    pub val: Val,
    /// The number of rows and columns of the matrix, and its row stride.
    pub size: [usize; 3],
    rows: Dim,
    folded: Dim,
}

/// The matrices of a nest that chains fold row by row. Each is read by a single chain. The variants of a load must have
/// equal strides, since only the first one is examined.
pub fn turnable(nest: &Nest) -> Vec<TurnedMatrix> {
    let mut found = Vec::new();
    for def in nest.body.iter() {
        let Def::Chain { dim, of, .. } = def else { continue };
        for val in of {
            let users = nest.body.iter().filter(|def| def.operands().contains(val)).count();
            let Def::Load(source) = &nest.body[*val] else { continue };
            if users == 1
                && let Some((rows, size)) = matrix(nest, &source[0].access, *dim)
            {
                found.push(TurnedMatrix { val: *val, size, rows, folded: *dim });
            }
        }
    }
    found
}

/// The dimension of the rows of a matrix, and its size, if a load reads it row by row: `folded`, the dimension that
/// chains fold, runs along the rows.
fn matrix(nest: &Nest, access: &Access, folded: Dim) -> Option<(Dim, [usize; 3])> {
    let moving: Vec<Dim> = nest.dims.ids().filter(|dim| access.strides[dim.index()] != 0).collect();
    let rows = match moving[..] {
        [a, b] if b == folded => a,
        [a, b] if a == folded => b,
        _ => return None,
    };
    let stride = usize::try_from(access.strides[rows.index()]).ok()?;
    let (n, k) = (nest.dims[rows], nest.dims[folded]);
    (access.strides[folded.index()] == 1 && stride > 1).then_some((rows, [n, k, stride]))
}

/// Makes a load read the transposed matrix: its columns are stored one after the other, from the first element on.
pub fn turn(nest: &mut Nest, matrix: &TurnedMatrix) {
    let Some(source) = nest.body[matrix.val].source_mut() else { return };
    source.truncate(1);
    source[0].any.clear();
    source[0].access.offset = 0;
    source[0].access.strides[matrix.rows.index()] = 1;
    source[0].access.strides[matrix.folded.index()] = matrix.size[0].cast_signed();
}
