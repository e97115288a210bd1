//! Calls: operators of whole tensors, and the addresses of their operands.

use rml_ir::op::Op;
use rml_ir::{DType, Positions, Shape};
use rml_nest::{Access, Call, Variant, Variants, dense};

use crate::function::Function;
use crate::loops::{Base, LoadElements, Place};
use crate::operand::Operand;
use crate::tensor;
use crate::want::{Want, fits, wants};

impl Function<'_> {
    /// Computes an operator of whole tensors at these positions.
    pub(crate) fn call(&mut self, call: &Call, at: Positions) {
        let data = &self.scope.program.slots[call.out];
        let (ty, to) = (data.ty.clone(), self.scope.slot(call.out, self.ticks.now));
        let wants = wants(call);
        let operands: Vec<Operand> = call
            .operands
            .iter()
            .zip(wants)
            .enumerate()
            .map(|(i, (operand, want))| self.operand(i, operand, (at, want)))
            .collect();
        if ty.shape.is_empty() && !matches!(call.op, Op::Gather { .. } | Op::Pick) {
            return;
        }
        if let Some(start) = &call.start {
            self.start(&start.source, &ty.shape, at, &to);
        }
        let out = Operand::array(to, ty.dtype, ty.shape);
        tensor::apply(self, &call.op, &operands, &out, call.start.is_some());
    }

    /// Copies the start values of a chain to its result, unless they are stored there already.
    fn start(&mut self, source: &Variants, shape: &Shape, at: Positions, to: &Base) {
        let mut source = source.clone();
        let place = self.chosen(&mut source, at);
        let is_there = |variant: &Variant, elements: &LoadElements| {
            variant.access.offset == 0
                && variant.access.strides == dense(shape.dims())
                && *elements == LoadElements::At(to.clone())
        };
        let all: Vec<(&Variant, &(String, LoadElements))> = source.iter().zip(&place).collect();
        if !all.iter().any(|(variant, (_, elements))| is_there(variant, elements)) {
            return self.copy_source(&source, shape, at, to);
        }
        let there: Vec<bool> =
            all.into_iter().map(|(variant, (_, elements))| is_there(variant, elements)).collect();
        self.unless_there(&source, &place, &there, &|f, one| f.copy_source(&one, shape, Positions::ALL, to));
    }

    /// Copies the elements that the variants of a load read, except for the variants that are marked in `there`.
    pub(crate) fn unless_there(
        &mut self,
        source: &Variants,
        place: &Place,
        there: &[bool],
        copy: &dyn Fn(&mut Self, Variants),
    ) {
        let mut before: Vec<String> = Vec::new();
        for ((variant, (cond, _)), is_there) in source.iter().zip(place).zip(there) {
            if !is_there {
                let own = before.iter().chain((!cond.is_empty()).then_some(cond));
                let own: Vec<&str> = own.map(String::as_str).collect();
                let condition = (!own.is_empty()).then(|| format!("if ({})", own.join(" && ")));
                let one = Variant { at: Positions::ALL, any: Vec::new(), ..variant.clone() };
                let lines = self.aside(|f| copy(f, vec![one]));
                self.enclose(lines, condition);
            }
            before.push(format!("!({cond})"));
        }
    }

    /// An operand of a call: read in place if its strides suit the call, or else copied.
    fn operand(
        &mut self,
        number: usize,
        operand: &rml_nest::Operand,
        (at, want): (Positions, Want),
    ) -> Operand {
        let mut source = operand.source.clone();
        let shape = Shape::new(&operand.dims);
        let dtype = self.scope.program.slots[source[0].access.slot].ty.dtype;
        let mut place = self.chosen(&mut source, at);
        if shape.is_empty() {
            return Operand::alike("0", dtype, shape);
        }
        let name = format!("a{number}");
        let is_fit = fits(&source[0].access.strides, &operand.dims, want);
        if is_fit {
            self.pointer(&name, false, &mut source, &mut place);
        }
        match &place[..] {
            [(_, LoadElements::Same(text))] => return Operand::alike(text.clone(), dtype, shape),
            [(_, LoadElements::At(base))] if base.is_variable => {
                return Operand::alike(base.name.clone(), dtype, shape);
            }
            [(_, LoadElements::At(base))]
                if base.around.is_none() && (is_fit || self.is_copy_vain(&source[0].access, want)) =>
            {
                let access = &source[0].access;
                let base = base.after(access.offset);
                let own = operand.dims.iter().zip(&access.strides);
                let own = own.map(|(n, stride)| if *n == 1 { 0 } else { stride.unsigned_abs() }).collect();
                return match want {
                    Want::Dense => Operand::array(base, dtype, shape),
                    Want::Any | Want::Ordered(_) => Operand::strided(base, dtype, shape, own),
                };
            }
            _ => {}
        }
        let is_kept = source.len() == 1 && dtype == DType::Num && self.is_kept(&source[0].access);
        let name = if is_kept {
            self.copied(&format!("{source:?} {shape}"), shape.len(), |f, name| {
                f.copy_source(&source, &shape, at, &Base::array(name));
            })
        } else {
            let declared = self.array(&name, dtype, shape.len());
            self.lines.line(declared);
            self.copy_source(&operand.source, &shape, at, &Base::array(&*name));
            name
        };
        Operand::array(Base::array(name), dtype, shape)
    }

    /// Whether reading an operand in place is cheaper than copying it, because each tick uses it only once.
    fn is_copy_vain(&self, access: &Access, want: Want) -> bool {
        matches!(want, Want::Ordered(0 | 1))
            && access.strides.iter().all(|stride| *stride >= 0)
            && !self.is_kept(access)
    }

    /// The C text of `to += value`.
    pub(crate) fn plus(&self, dtype: DType, to: &str, value: &str) -> String {
        match dtype {
            DType::Int => format!("{to} = {}({value}, {to}, &bad);", self.scope.scalars.function("rml_add")),
            DType::Num | DType::Bool => format!("{to} += {value};"),
        }
    }

    /// Copies all elements of a dense operand.
    pub(crate) fn copy_all(&mut self, from: &Operand, to: &Operand) {
        let looped = self.lines.over("i", to.len());
        let i = if looped { "i" } else { "0" };
        self.lines.line(format!("{} = {};", to.at(i), from.at(i)));
        self.lines.close_all(usize::from(looped));
    }

    /// Sets all elements to one value.
    pub(crate) fn fill_all(&mut self, value: &str, to: &Operand) {
        let from = Operand::alike(value, to.dtype, to.shape.clone());
        self.copy_all(&from, to);
    }

    /// Loops over some axes around a line.
    pub(crate) fn each(&mut self, dims: &[usize], line: &str) {
        let sizes: Vec<(String, usize)> =
            dims.iter().enumerate().map(|(i, n)| (format!("i{i}"), *n)).collect();
        let depth = self.lines.nest(&sizes);
        self.lines.line(line);
        self.lines.close_all(depth);
        self.check(line);
    }

    /// A temporary array of nums.
    pub(crate) fn beside(&mut self, name: &str, shape: Shape) -> Operand {
        let declared = self.array(name, DType::Num, shape.len());
        self.lines.line(declared);
        Operand::array(Base::array(name), DType::Num, shape)
    }
}
