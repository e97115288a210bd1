//! x
use crate::flat::Flat;
/// x
pub fn initialise(flat: Flat, _seed: u64) -> Flat {
    flat
}
