//! How much memory a plan takes.

use rml_base::memory::bytes_of;
use rml_executor::Footprint;
use rml_ir::DType;

use super::listed::Listed;
use super::place::{Placement, Room, TYPES};

/// The memory of code that computes with numbers of type `N`.
pub(super) fn footprint<N>(code: &Listed, placement: &Placement) -> Footprint {
    let sum = |room: fn(&Room) -> usize| {
        let sizes = TYPES.iter().zip(&placement.sizes);
        sizes.fold(0_u64, |sum, (dtype, size)| sum.saturating_add(bytes_of(room(size), bytes::<N>(*dtype))))
    };
    let fixed = sum(|room| room.fixed).saturating_add(packs::<N>(code));
    Footprint { fixed, per_tick: sum(|room| room.per_tick) }
}

/// The bytes of the matrices laid out for products.
pub(super) fn packs<N>(code: &Listed) -> u64 {
    code.packs.iter().map(|pack| packed::<N>(pack.size)).fold(0, u64::saturating_add)
}

/// The bytes of an element.
pub(super) fn bytes<N>(dtype: DType) -> usize {
    match dtype {
        DType::Num => size_of::<N>(),
        DType::Int => size_of::<i64>(),
        DType::Bool => size_of::<bool>(),
    }
}

/// The bytes of a matrix laid out for products: its rows in panels as wide as a line of the cache.
fn packed<N>([rows, columns]: [usize; 2]) -> u64 {
    const LINE: usize = 64;
    bytes_of(rows, columns.saturating_mul(size_of::<N>()).next_multiple_of(LINE))
}
