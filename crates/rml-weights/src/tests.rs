//! For every mapping, exported parameters are imported again with the same bits.

use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::{EntityId as _, FileId, Span};
use rml_ir::{DType, Data, Precision, Type, Value};

use crate::expand::{Expanded, Made, WantedParameter};
use crate::export::export;
use crate::expr::{Cut, Expr, PartSizes, Source, Step};
use crate::import::import;
use crate::rearrange::{Rearrange, Sizes};
use rml_data::tree::TreeName as Name;

/// A small generator of random numbers (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).unwrap()
    }

    /// Random bits; often those of zeros and of numbers that are not finite.
    fn number(&mut self) -> f32 {
        let strange =
            [0.0, -0.0, f32::NAN, f32::INFINITY, f32::from_bits(0xffc1_2345), f32::MIN_POSITIVE / 2.0];
        match self.below(4) {
            0 => strange[self.below(strange.len())],
            _ => f32::from_bits(u32::try_from(self.next() & 0xffff_ffff).unwrap()),
        }
    }

    fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            all.swap(i, self.below(i + 1));
        }
        all
    }
}

fn span() -> Span {
    Span::new(FileId::from_index(0), 0, 0)
}

/// Generates expressions; each tensor that they name is new.
struct Maker {
    random: Random,
    tensors: usize,
}

impl Maker {
    fn tensor(&mut self) -> Name {
        self.tensors += 1;
        Name { text: format!("t{}", self.tensors), span: span() }
    }

    fn expr(&mut self, shape: &[usize], depth: usize) -> Expr {
        let mut shape = shape.to_vec();
        let mut steps = Vec::new();
        for _ in 0..self.random.below(3) {
            steps.extend(self.step(&mut shape));
        }
        steps.reverse();
        Expr { source: self.source(&shape, depth), steps, span: span() }
    }

    /// A step with result `shape`, which is changed to the shape of its operand.
    fn step(&mut self, shape: &mut Vec<usize>) -> Option<Step> {
        if shape.is_empty() {
            return None;
        }
        let axis = self.random.below(shape.len());
        match self.random.below(3) {
            0 => Some(Step::Flip { axis }),
            1 => {
                let blocks: Vec<usize> = (1..=4).filter(|n| shape[axis].is_multiple_of(*n)).collect();
                let n = blocks[self.random.below(blocks.len())];
                Some(Step::Reorder { axis, order: self.random.permutation(n) })
            }
            _ => {
                let order = self.random.permutation(shape.len());
                let name = |axis: &usize| format!("a{axis}");
                let to: Vec<String> = (0..shape.len()).map(|axis| name(&axis)).collect();
                let mut from: Vec<String> = order.iter().map(name).collect();
                let mut before: Vec<usize> = order.iter().map(|axis| shape[*axis]).collect();
                if before.len() > 1 && self.random.below(2) == 0 {
                    let (a, b) = (from.remove(0), from.remove(0));
                    from.insert(0, format!("({a} {b})"));
                    let (a, b) = (before.remove(0), before.remove(0));
                    before.insert(0, a * b);
                }
                let text = format!("{} -> {}", from.join(" "), to.join(" "));
                *shape = before;
                Some(Step::Rearrange(Rearrange::parse(&text, Sizes::new()).unwrap()))
            }
        }
    }

    fn source(&mut self, shape: &[usize], depth: usize) -> Source {
        let kind = if depth == 0 || shape.is_empty() { 0 } else { self.random.below(5) };
        let axis = if shape.is_empty() { 0 } else { self.random.below(shape.len()) };
        let n = shape.get(axis).copied().unwrap_or(0);
        let with = |n: usize| {
            let mut part = shape.to_vec();
            part[axis] = n;
            part
        };
        match kind {
            1 => Source::Sum(vec![self.expr(shape, depth - 1), self.expr(shape, depth - 1)]),
            2 => {
                let first = self.random.below(n + 1);
                let parts = vec![self.expr(&with(first), depth - 1), self.expr(&with(n - first), depth - 1)];
                Source::Concat { axis, parts, sizes: PartSizes::Given(vec![first, n - first]) }
            }
            3 if n > 0 => {
                let mut part = shape.to_vec();
                part.remove(axis);
                Source::Stack { axis, parts: (0..n).map(|_| self.expr(&part, depth - 1)).collect() }
            }
            4 if n > 0 && n.is_multiple_of(2) => {
                let tensor = self.tensor();
                let part = |block: usize| {
                    let cut = Some(Cut::Block { axis, block, of: 2 });
                    let source = Source::Tensor { name: tensor.clone(), cut, absent: None };
                    Expr { source, steps: Vec::new(), span: span() }
                };
                Source::Concat { axis, parts: vec![part(1), part(0)], sizes: PartSizes::Equal }
            }
            _ => Source::Tensor { name: self.tensor(), cut: None, absent: None },
        }
    }
}

#[test]
fn what_is_exported_imports_to_the_same_bits() {
    let mut maker = Maker { random: Random(0x5eed), tensors: 0 };
    for case in 0..1000 {
        let rank = maker.random.below(4);
        let shape: Vec<usize> = (0..rank).map(|_| 1 + maker.random.below(6)).collect();
        let ty = Type::new(DType::Num, &shape);
        let wanted = WantedParameter { key: Arc::from("p"), ty: ty.clone(), span: span(), needed: true };
        let expr = maker.expr(&shape, 3);
        let expanded = Expanded {
            made: vec![Made { wanted: &wanted, expr, entry: span() }],
            fixed: Vec::new(),
            ignore: Vec::new(),
        };
        let data = Data::F32((0..ty.shape.len()).map(|_| maker.random.number()).collect());
        let params: IndexMap<Arc<str>, Value> = [(Arc::from("p"), Value::new(ty.shape.clone(), data))].into();
        let tensors = export(&expanded, &params, None, None).unwrap_or_else(|e| panic!("{case}: {e}"));
        let (back, rounded) =
            import(&expanded, &tensors, Precision::F32).unwrap_or_else(|e| panic!("{case}: {e}"));
        let bits = |v: &Value| match v.to_data() {
            Data::F32(v) => v.iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };
        assert_eq!(bits(&back["p"]), bits(&params["p"]), "{case}: {:?}", expanded.made[0].expr);
        assert_eq!(rounded, 0);
        let again = export(&expanded, &back, Some(&tensors), None).unwrap_or_else(|e| panic!("{case}: {e}"));
        assert!(again.tensors.iter().all(|(name, t)| t.same(&tensors.tensors[name])), "{case}");
    }
}
