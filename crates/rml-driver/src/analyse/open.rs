//! Warnings about a node whose named dimensions have no value, limited to those that appear with every size.

use rml_base::codes::analysis::{ACTIVE_DROPOUT, LINEAR_LAYERS};
use rml_base::{Diagnostic, Diagnostics};
use rml_elab::{FormalKind, NodeSignature};

use crate::batch::{self, Wide};
use crate::check::{Forms, MAIN};
use crate::front::Front;
use crate::interface::BATCH;
use crate::options::{Options, root};

/// The warnings about a node that appear with two sets of sizes: the sizes of `options`, with which `forms` is
/// elaborated, and other sizes. A dimension is open if `known` gives it no value.
///
/// Static parameters that are not sizes, such as a rate, have an arbitrary value, too, so a node with such a parameter
/// gets no warnings.
pub(super) fn warnings(
    front: &Front,
    node: &NodeSignature,
    options: &Options,
    (known, forms): (&Forms<'_>, &Forms<'_>),
) -> Vec<Diagnostic> {
    let is_open = |name: &String| !known.gives(name);
    let mut statics = node.formals.iter().filter(|formal| formal.kind == FormalKind::Static);
    if statics.any(|formal| is_open(&formal.name)) || !node.dimensions.iter().any(is_open) {
        return Vec::new();
    }
    let is_wide = |name: &&String| is_open(name) || **name == *BATCH && known.is_batch_open();
    let wide = Wide::of(node.dimensions.iter().filter(is_wide).map(String::as_str), &front.sources);
    let others = wide.options(options);
    let Ok(module) = front.elaborate_alone(&others, root(&others)) else { return Vec::new() };
    let twice = batch::twice(&module, &front.sources, &wide);
    let here = forms.findings_of(&node.name, &|_| true);
    let there = Forms::new(front, &others, [module]).findings_of(&node.name, &|_| true);
    let both = |d: &Diagnostic| !d.is_error() && there.iter().any(|other| other == d);
    // A node other than `main` is a layer; whether it trains depends on the programs that call it.
    let is_layer = |d: &Diagnostic| d.code == ACTIVE_DROPOUT && node.name != MAIN;
    // With two orders of three sizes, any of the three may be the least in both.
    let are_many = node.dimensions.iter().filter(|name| is_open(name)).count() > 2;
    let is_narrow = |d: &Diagnostic| d.code == LINEAR_LAYERS && are_many;
    let Diagnostics(here) = here;
    here.into_iter().filter(|d| both(d) && !is_layer(d) && !is_narrow(d)).chain(twice).collect()
}
