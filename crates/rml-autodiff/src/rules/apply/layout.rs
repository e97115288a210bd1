//! Operators that move elements.

use std::sync::Arc;

use rml_ir::Shape;
use rml_ir::normal::Var;
use rml_ir::op::{AxisIndex, Binary, Op};

use super::{Dim, Transposer};
use crate::build::Placed;

impl Transposer<'_, '_> {
    /// Transposes operators that change shapes, and those that select or join parts.
    pub(super) fn layout(&mut self, op: &Op) -> Var {
        let d = self.site.d;
        let shape = self.shape(self.x);
        match op {
            Op::Transpose { perm } => {
                let mut inverse = vec![0; perm.len()];
                perm.iter().enumerate().for_each(|(i, &p)| inverse[p] = i);
                self.apply(Op::Transpose { perm: inverse }, &[d])
            }
            Op::Reshape { .. } => self.apply_shaped(Op::Reshape { shape }, d),
            Op::Broadcast { .. } => self.apply_shaped(Op::SumTo { shape }, d),
            Op::SumTo { .. } => self.apply_shaped(Op::Broadcast { shape }, d),
            Op::Concat { axis } => self.part(*axis),
            Op::Stack { axis } => {
                let mut items: Vec<AxisIndex> = shape.dims().iter().map(|&n| AxisIndex::whole(n)).collect();
                items.insert(*axis, AxisIndex::At(self.site.position));
                self.apply(Op::Index { items }, &[d])
            }
            // Whole slices select everything.
            Op::Index { items }
                if items.iter().copied().eq(shape.dims().iter().map(|&n| AxisIndex::whole(n))) =>
            {
                d
            }
            Op::Index { items } => self.unindex(shape, items),
            Op::Unindex { items, .. } => self.apply(Op::Index { items: items.clone() }, &[d]),
            Op::Gather { axis } => {
                let i = self.arg_when(1);
                let name = self.b.name(self.x).map(|name| Arc::from(format!("shape({name})")));
                let statics = name.into_iter().chain(self.site.statics.iter().cloned()).collect::<Vec<_>>();
                let statics = if self.b.name(self.x).is_some() { statics } else { Vec::new() };
                self.b.apply_written(Op::ScatterAdd { shape, axis: *axis }, &[i, d], statics)
            }
            Op::ScatterAdd { axis, .. } => {
                let i = self.arg_when(0);
                let statics = self.site.statics.get(1..).unwrap_or_default().to_vec();
                self.b.apply_written(Op::Gather { axis: *axis }, &[d, i], statics)
            }
            Op::Pick => {
                let i = self.arg_when(1);
                let dims = self.dims(self.x);
                let (classes, text) = dims.last().map_or((0, None), |dim| (dim.size, dim.text.clone()));
                let statics = text.map(Arc::from).into_iter().collect();
                let at = self.b.apply_written(Op::OneHot { classes }, &[i], statics);
                let rows: Vec<Dim> = dims[..dims.len() - 1].iter().cloned().chain([Dim::one()]).collect();
                let d = self.reshape(d, &rows);
                self.apply(Op::Binary(Binary::Mul), &[d, at])
            }
            Op::Copy => d,
            other => unreachable!("{other} moves no elements"),
        }
    }

    /// Zeros, with the gradient at the selected entries. The entries are printed as in the source.
    fn unindex(&mut self, shape: Shape, items: &[AxisIndex]) -> Var {
        let d = self.site.d;
        let name = self.b.name(self.x).map(|name| Arc::from(format!("shape({name})")));
        let statics = name.into_iter().chain(self.site.statics.iter().cloned());
        let statics = if self.b.name(self.x).is_some() { statics.collect() } else { Vec::new() };
        let result = self.b.apply_written(Op::Unindex { shape, items: items.to_vec() }, &[d], statics);
        let from_the_end = self.site.statics.first().is_some_and(|text| **text == *"..");
        self.b.placed.insert(result, Placed { part: d, items: items.to_vec(), from_the_end });
        result
    }

    /// The part of the gradient of a concatenation that belongs to the operand.
    fn part(&mut self, axis: usize) -> Var {
        let before: Vec<Dim> = self.site.args[..self.site.position]
            .iter()
            .filter_map(|&v| self.dims(v).into_iter().nth(axis))
            .collect();
        let start = Dim::sum(&before);
        let own = self.dims(self.x);
        let mut statics: Option<Vec<Arc<str>>> = Some(Vec::new());
        let mut items = Vec::new();
        for (i, dim) in own.iter().enumerate().filter(|&(i, _)| i <= axis) {
            let start = if i == axis { start.size } else { 0 };
            items.push(AxisIndex::Slice { start, len: dim.size, step: 1 });
            let text = if i == axis { self.part_text(&before, dim) } else { Some(":".to_owned()) };
            statics = statics.zip(text).map(|(mut all, text)| {
                all.push(Arc::from(text));
                all
            });
        }
        let whole = own.iter().skip(axis + 1);
        items.extend(whole.map(|dim| AxisIndex::whole(dim.size)));
        self.b.apply_written(Op::Index { items }, &[self.site.d], statics.unwrap_or_default())
    }

    /// The text `start:end` of a part along the axis of a concatenation.
    fn part_text(&self, before: &[Dim], own: &Dim) -> Option<String> {
        let end: Vec<Dim> = before.iter().chain([own]).cloned().collect();
        if self.site.position + 1 == self.site.args.len() {
            return Some(format!("{}:", Dim::sum(before).text?));
        }
        let start = if before.is_empty() { String::new() } else { Dim::sum(before).text? };
        Some(format!("{start}:{}", Dim::sum(&end).text?))
    }
}
