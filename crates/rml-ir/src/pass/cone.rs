//! x
use crate::flat::Flat;
/// x
pub fn cone(flat: Flat) -> Flat {
    flat
}
