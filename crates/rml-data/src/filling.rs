//! Values for gaps, as messages propose them.

/// How the gaps of an input may be filled.
#[derive(Clone, Debug)]
pub(crate) struct Filling {
    pub(crate) input: String,
    /// Whether its values have a mean.
    pub(crate) has_mean: bool,
}
