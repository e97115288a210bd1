//! x
use crate::flat::Flat;
/// x
pub fn fold(flat: Flat) -> Flat {
    flat
}
