//! Maps the dimensions of a nest to those of another nest that reads what it stores.

use crate::{Access, Def, Dim, Nest, Val, Variants};

/// For each dimension of a nest, its index as a function of other dimensions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Map {
    indices: Vec<Index>,
}

/// A start, and steps along dimensions.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Index {
    start: usize,
    steps: Vec<(Dim, usize)>,
}

impl Map {
    /// Maps each element that nest `b` loads to the point at which nest `a` stores it; none if `a` does not store all
    /// of them. A dimension along which the store does not move becomes one of `b` with the same number of points, or a
    /// new one, which is added to `dims`.
    pub(super) fn new(
        a: &Nest,
        store: &Access,
        b: &Nest,
        load: &Access,
        dims: &mut Vec<usize>,
    ) -> Option<Map> {
        let mut indices = vec![Index::default(); a.dims.len()];
        let size = |dim: Dim| a.dims[dim];
        let mut moving: Vec<Dim> = a.dims.ids().filter(|d| size(*d) > 1 && crate::moves(store, *d)).collect();
        let stride = |dim: Dim| store.strides[dim.0 as usize];
        moving.sort_by_key(|dim| std::cmp::Reverse(stride(*dim)));
        // Each stride is positive and greater than the span of all inner dimensions, so each element belongs to one
        // point.
        let mut reach = 0;
        for dim in moving.iter().rev() {
            let stride = usize::try_from(stride(*dim)).ok().filter(|stride| *stride > reach)?;
            reach += stride * (size(*dim) - 1);
        }
        let strides: Vec<(Dim, usize)> = moving.iter().map(|d| (*d, stride(*d).unsigned_abs())).collect();
        let mut rest = load.offset.checked_sub(store.offset)?;
        for (dim, stride) in &strides {
            indices[dim.0 as usize].start = rest / stride;
            rest %= stride;
        }
        if rest != 0 {
            return None;
        }
        for e in b.dims.ids().filter(|e| b.dims[*e] > 1 && crate::moves(load, *e)) {
            let wide = usize::try_from(load.strides[e.0 as usize]).ok()?;
            let (dim, stride) = strides.iter().find(|(_, stride)| wide % stride == 0)?;
            indices[dim.0 as usize].steps.push((e, wide / stride));
        }
        for (dim, _) in &strides {
            let index = &indices[dim.0 as usize];
            let last = index.steps.iter().map(|(e, step)| step * (b.dims[*e] - 1)).sum::<usize>();
            if index.start + last >= size(*dim) {
                return None;
            }
        }
        let mut map = Map { indices };
        map.unify(a, &moving, b, dims);
        let is_one = |dim: Dim| matches!(map.indices[dim.0 as usize].steps[..], [(_, 1)]);
        let whole = |dim: Dim| is_one(dim) && map.covers(a, dim, dims);
        folded(a).all(whole).then_some(map)
    }

    /// Assigns dimensions to those along which a store does not move.
    fn unify(&mut self, a: &Nest, moving: &[Dim], b: &Nest, dims: &mut Vec<usize>) {
        for dim in a.dims.ids().filter(|dim| !moving.contains(dim)) {
            let used = |e: Dim| self.indices.iter().any(|index| index.steps.iter().any(|(x, _)| *x == e));
            let free: Vec<Dim> = (0..dims.len() as u32)
                .map(Dim)
                .filter(|e| dims[e.0 as usize] == a.dims[dim] && !used(*e))
                .collect();
            let shared = |e: Dim| {
                let mut map = self.clone();
                map.indices[dim.0 as usize].steps = vec![(e, 1)];
                let is_load = |def: &&Def| matches!(def, Def::Load(_));
                let own: Vec<Def> =
                    b.body.iter().filter(is_load).map(|def| widened(def, dims.len(), &[])).collect();
                let loads = a.body.iter().filter(is_load).map(|def| map.def(def, dims.len(), &[]));
                loads.filter(|def| own.contains(def)).count()
            };
            let best = free.into_iter().map(|e| (shared(e), std::cmp::Reverse(e))).max();
            let e = best.map_or_else(
                || {
                    dims.push(a.dims[dim]);
                    Dim(dims.len() as u32 - 1)
                },
                |(_, e)| e.0,
            );
            self.indices[dim.0 as usize].steps = vec![(e, 1)];
        }
    }

    /// Whether a dimension takes each of its indices exactly once.
    fn covers(&self, a: &Nest, dim: Dim, dims: &[usize]) -> bool {
        let Index { start, steps } = &self.indices[dim.0 as usize];
        let mut steps = steps.clone();
        steps.sort_by_key(|(_, step)| *step);
        let mut next = 1;
        let packed = steps.iter().all(|(e, step)| {
            let is_next = *step == next;
            next *= dims[e.0 as usize];
            is_next
        });
        *start == 0 && packed && next == a.dims[dim]
    }

    /// Whether the points of these dimensions visit each point of the nest exactly once.
    pub(super) fn is_whole(&self, a: &Nest, dims: &[usize]) -> bool {
        a.dims.ids().all(|dim| self.covers(a, dim, dims))
    }

    /// An access, translated to the new dimensions.
    pub(super) fn access(&self, access: &Access, dims: usize) -> Access {
        let mut mapped = Access { strides: vec![0; dims], ..access.clone() };
        for (index, stride) in self.indices.iter().zip(&access.strides) {
            mapped.offset = mapped.offset.wrapping_add_signed(stride * index.start.cast_signed());
            for (e, step) in &index.steps {
                mapped.strides[e.0 as usize] += stride * step.cast_signed();
            }
        }
        mapped
    }

    fn source(&self, source: &Variants, dims: usize) -> Variants {
        let of = |variant: &crate::Variant| crate::Variant {
            access: self.access(&variant.access, dims),
            ..variant.clone()
        };
        source.iter().map(of).collect()
    }

    /// The definition of a value, translated to the new dimensions and values.
    pub(super) fn def(&self, def: &Def, dims: usize, vals: &[Val]) -> Def {
        let mut def = def.renamed(|val| vals.get(val.0 as usize).copied().unwrap_or(val));
        if let Some(source) = def.source_mut() {
            *source = self.source(source, dims);
        }
        if let Some(dim) = def.folded_mut()
            && let Some((e, _)) = self.indices[dim.0 as usize].steps.first()
        {
            *dim = *e;
        }
        def
    }
}

/// The dimensions that a nest folds.
fn folded(nest: &Nest) -> impl Iterator<Item = Dim> {
    nest.body.iter().filter_map(Def::folded)
}

/// An access in a nest with more dimensions, along which it does not move.
pub(super) fn wide(access: &Access, dims: usize) -> Access {
    let mut access = access.clone();
    access.strides.resize(dims, 0);
    access
}

/// A value of a nest with more dimensions, of other values.
pub(super) fn widened(def: &Def, dims: usize, vals: &[Val]) -> Def {
    let mut def = def.renamed(|val| vals[val.0 as usize]);
    def.source_mut().into_iter().flatten().for_each(|v| v.access = wide(&v.access, dims));
    def
}
