//! The dimensions of a nest in the form in which they become loops: joined if their elements are contiguous, split if a
//! row of partial sums would be too long, and in the order of the loops.

use rml_base::{EntityId, IndexVec};
use rml_ir::DType;
use rml_nest::{Access, Def, Dim, Nest, Slot, Val};

/// The most points of the innermost loop if outer loops fold.
const ROW: usize = 256;

/// A nest, with the types of its values and the dimensions on which they depend.
#[derive(Debug)]
pub struct LoopForm {
    pub(super) nest: Nest,
    pub(super) types: IndexVec<Val, DType>,
    pub(super) spans: IndexVec<Val, Vec<Dim>>,
    /// The dimension along which the most accesses are contiguous.
    pub(super) vector: Option<Dim>,
    /// All dimensions, from the outermost loop to the innermost.
    pub(super) order: Vec<Dim>,
    /// The dimension that is divided: its loops run from `lo` to `hi`.
    pub(super) parted: Option<Dim>,
}

impl LoopForm {
    /// The form of a nest whose loads all have a single variant. A dimension that is `parted` is not joined with
    /// others; its bounds `lo` and `hi` are variables of the surrounding text.
    pub fn new(nest: Nest, types: IndexVec<Val, DType>, parted: Option<Dim>) -> LoopForm {
        LoopForm::by_rows(nest, types, parted, &|_| None)
    }

    /// The same, where rows of some slots, of that many elements, are not joined.
    pub(crate) fn by_rows(
        mut nest: Nest,
        types: IndexVec<Val, DType>,
        mut parted: Option<Dim>,
        rows: &dyn Fn(Slot) -> Option<usize>,
    ) -> LoopForm {
        while let Some(dim) = nest.dims.ids().find(|dim| joins(&nest, *dim, parted, rows)) {
            join(&mut nest, dim);
            parted = parted.map(|own| if own > dim { Dim::from_index(own.index() - 1) } else { own });
        }
        if let Some((dim, parts)) = cut(&nest).filter(|(dim, _)| Some(*dim) != parted) {
            split(&mut nest, dim, parts);
            parted = parted.map(|own| if own > dim { Dim::from_index(own.index() + 1) } else { own });
        }
        for dim in nest.dims.ids().filter(|dim| nest.dims[*dim] == 1).collect::<Vec<_>>() {
            accesses(&mut nest).for_each(|access| access.strides[dim.index()] = 0);
        }
        let vector = vector(&nest);
        let is_folded = |dim: &Dim| folds(&nest).any(|folded| folded == *dim);
        let (folded, kept): (Vec<Dim>, Vec<Dim>) =
            nest.dims.ids().filter(|dim| Some(*dim) != vector).partition(is_folded);
        let order = kept.into_iter().chain(folded).chain(vector).collect();
        let spans = nest.spans();
        LoopForm { nest, types, spans, vector, order, parted }
    }

    /// The dimensions over which a store loops.
    pub(super) fn span_of_store(&self, store: usize) -> Vec<Dim> {
        let (access, val) = &self.nest.stores[store];
        let moves = |dim: &Dim| access.strides[dim.index()] != 0 || self.spans[*val].contains(dim);
        self.nest.dims.ids().filter(moves).collect()
    }
}

fn folds(nest: &Nest) -> impl Iterator<Item = Dim> + '_ {
    nest.body.iter().filter_map(Def::folded)
}

/// All accesses of a nest.
fn accesses(nest: &mut Nest) -> impl Iterator<Item = &mut Access> {
    let loads = nest.body.iter_mut().filter_map(Def::source_mut).flatten();
    loads.map(|variant| &mut variant.access).chain(nest.stores.iter_mut().map(|(access, _)| access))
}

fn strides(nest: &Nest) -> Vec<Vec<isize>> {
    accesses(&mut nest.clone()).map(|access| access.strides.clone()).collect()
}

/// Whether a dimension and the next one are contiguous in all accesses, and neither is folded.
fn joins(nest: &Nest, dim: Dim, parted: Option<Dim>, rows: &dyn Fn(Slot) -> Option<usize>) -> bool {
    let next = Dim::from_index(dim.index() + 1);
    if [Some(dim), Some(next)].contains(&parted) {
        return false;
    }
    let Some(n) = nest.dims.get(next) else { return false };
    let is_row = |s: &Vec<isize>| s[dim.index()] == s[next.index()] * n.cast_signed();
    let is_across = |access: &Access| {
        let is_row = |dim: Dim, row: usize| access.strides[dim.index()] % row.cast_signed() == 0;
        rows(access.slot).is_some_and(|row| is_row(dim, row) && !is_row(next, row))
    };
    let is_across = accesses(&mut nest.clone()).any(|access| is_across(access));
    !is_across
        && folds(nest).all(|folded| folded != dim && folded != next)
        && strides(nest).iter().all(is_row)
}

fn renumber(nest: &mut Nest, to: impl Fn(usize) -> usize) {
    nest.body.iter_mut().filter_map(Def::folded_mut).for_each(|dim| *dim = Dim::from_index(to(dim.index())));
}

fn join(nest: &mut Nest, dim: Dim) {
    let at = dim.index();
    for access in accesses(nest) {
        access.strides.remove(at);
    }
    let mut dims: Vec<usize> = nest.dims.iter().copied().collect();
    let outer = dims.remove(at);
    dims[at] *= outer;
    nest.dims = dims.into_iter().collect();
    renumber(nest, |own| if own > at { own - 1 } else { own });
}

/// The dimension to split, if there are too many partial sums, and the number of parts.
fn cut(nest: &Nest) -> Option<(Dim, usize)> {
    let dim = vector(nest)?;
    let n = nest.dims[dim];
    if folds(nest).next().is_none() || folds(nest).any(|folded| folded == dim) || n <= ROW {
        return None;
    }
    let parts = (2..=n).find(|parts| n.is_multiple_of(*parts) && n / parts <= ROW)?;
    (n / parts >= 16).then_some((dim, parts))
}

fn split(nest: &mut Nest, dim: Dim, parts: usize) {
    let at = dim.index();
    let n = nest.dims[dim] / parts;
    for access in accesses(nest) {
        let stride = access.strides[at];
        access.strides.insert(at, stride * n.cast_signed());
    }
    let mut dims: Vec<usize> = nest.dims.iter().copied().collect();
    dims[at] = n;
    dims.insert(at, parts);
    nest.dims = dims.into_iter().collect();
    renumber(nest, |own| if own > at { own + 1 } else { own });
}

/// The dimension along which the most loaded or stored elements are contiguous.
fn vector(nest: &Nest) -> Option<Dim> {
    let strides = strides(nest);
    let gain = |dim: &Dim| {
        let of = |s: &Vec<isize>| {
            let points: usize =
                nest.dims.iter_enumerated().filter(|(d, _)| s[d.index()] != 0).map(|(_, n)| *n).product();
            match s[dim.index()] {
                0 => 0,
                1 => points.cast_signed(),
                _ => -points.cast_signed(),
            }
        };
        strides.iter().map(of).sum::<isize>()
    };
    nest.dims
        .ids()
        .filter(|dim| nest.dims[*dim] > 1)
        .max_by_key(|dim| (gain(dim), dim.index()))
        .or(nest.dims.ids().last())
}
