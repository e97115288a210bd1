//! Checks N1 to N11.

use rml_base::IndexVec;
use rml_ir::op::{Op, result_type};
use rml_ir::{DType, Type};

use crate::{
    Access, Call, Def, Dim, Guard, Home, Nest, NestProgram, NestStage, Operand, Positions, Slot, Test, Tick,
    Variants, Work, Write, moves,
};

mod ends;
mod fills;
mod order;
mod types;

pub use types::dtypes;
pub(crate) use types::may_fail;

/// Checks a program.
///
/// # Errors
/// Every violation, as text that begins with the invariant.
pub fn verify(program: &NestProgram) -> Result<(), Vec<String>> {
    let mut verifier = Verifier { program, found: Vec::new() };
    verifier.slots();
    if verifier.found.is_empty() {
        verifier.stages();
        verifier.ports();
    }
    // The remaining checks index elements, so they need what was checked before.
    if verifier.found.is_empty() {
        fills::check(program, &mut verifier.found);
        order::check(program, &mut verifier.found);
        ends::check(program, &mut verifier.found);
    }
    if verifier.found.is_empty() { Ok(()) } else { Err(verifier.found) }
}

struct Verifier<'a> {
    program: &'a NestProgram,
    found: Vec<String>,
}

impl Verifier<'_> {
    fn fail(&mut self, what: String) {
        self.found.push(what);
    }

    fn name(&self, slot: Slot) -> &str {
        &self.program.slots[slot].name
    }

    /// N5 of constants.
    fn slots(&mut self) {
        for data in self.program.slots.iter() {
            if let Home::Const(value) = &data.home
                && value.ty() != data.ty
            {
                self.fail(format!("N5: {} holds {}, not {}", data.name, value.ty(), data.ty));
            }
        }
    }

    fn stages(&mut self) {
        for node in &self.program.nodes {
            node.by.iter().for_each(|cond| self.condition(cond));
            for stage in &node.stages {
                self.guards(&stage.when);
                match &stage.work {
                    Work::Nest(nest) => self.nest(stage, nest),
                    Work::Call(call) => self.call(stage, call),
                }
                if stage.may_fail != may_fail(self.program, &stage.work) {
                    self.fail(format!(
                        "N8: {} does not say what its operators say: whether it may fail",
                        self.who(stage)
                    ));
                }
            }
            node.writes.iter().for_each(|write| self.write(write));
        }
    }

    /// What is written and put out.
    fn ports(&mut self) {
        self.program.commits.iter().for_each(|write| self.write(write));
        for output in &self.program.outputs {
            for (at, when, source) in &output.cases {
                self.guards(when);
                self.tensor(*at, output.ty.shape.dims(), source, &output.name);
                self.elements(&output.ty, source, &output.name);
            }
        }
    }

    fn who(&self, stage: &NestStage) -> String {
        stage.fills().next().map_or("a stage".to_owned(), |slot| self.name(slot).to_owned())
    }

    fn nest(&mut self, stage: &NestStage, nest: &Nest) {
        let who = self.who(stage);
        for source in stage.sources() {
            self.tensor(stage.at, nest.dims.as_slice(), source, &who);
        }
        for (access, _) in &nest.stores {
            self.access(access, nest.dims.as_slice(), &who);
        }
        for def in nest.body.iter() {
            if let Def::Take { source, size, stride, .. } = def {
                // The positions are one more dimension.
                let dims: Vec<usize> = nest.dims.iter().copied().chain([*size]).collect();
                for variant in source {
                    let mut access = variant.access.clone();
                    access.strides.push(*stride);
                    self.access(&access, &dims, &who);
                }
            }
        }
        let types = match types::dtypes(self.program, nest) {
            Ok(types) => types,
            Err(why) => return self.fail(format!("N5: {who}: {why}")),
        };
        let spans = nest.spans();
        for (access, val) in &nest.stores {
            let Some(dtype) = types.get(*val) else {
                return self.fail(format!("N5: {who} stores {val}, which is no value"));
            };
            if *dtype != self.program.slots[access.slot].ty.dtype {
                self.fail(format!("N5: {who} stores {dtype:?}"));
            }
            if let Some(dim) = spans[*val].iter().find(|dim| !moves(access, **dim) && nest.dims[**dim] != 1) {
                self.fail(format!("N5: {who} stores {val} without {dim}, on which it depends"));
            }
        }
    }

    fn call(&mut self, stage: &NestStage, call: &Call) {
        let who = self.who(stage);
        let mut types = Vec::new();
        for operand in call.operands.iter().chain(&call.start) {
            let Operand { dims, source } = operand;
            self.tensor(stage.at, dims, source, &who);
            match types::operand(self.program, operand) {
                Some(ty) => types.push(ty),
                None => return self.fail(format!("N9: {who} has an operand of several types")),
            }
            if source.iter().any(|v| v.access.slot == call.out && v.access.tick == Tick::Now) {
                self.fail(format!("N9: {who} is read by the call that fills it"));
            }
        }
        let ty = &self.program.slots[call.out].ty;
        let start = call.start.as_ref().and_then(|_| types.pop());
        let continues = |start: &Type| {
            let is_product = call.op == Op::MatMul && types.get(1).is_some_and(|b| b.shape.rank() <= 2);
            start == ty && (is_product || matches!(call.op, Op::ScatterAdd { .. }) && ty.is_num())
        };
        if !start.as_ref().is_none_or(continues) {
            self.fail(format!("N9: {who} starts from what it does not continue"));
        }
        match result_type(&call.op, &types) {
            Ok(found) if found == *ty => {}
            Ok(found) => self.fail(format!("N9: {who} is {found} by `{}`, not {ty}", call.op)),
            Err(why) => self.fail(format!("N9: {who}: {}: {why:?}", call.op)),
        }
    }

    fn write(&mut self, write: &Write) {
        self.guards(&write.when);
        write.unless.iter().for_each(|cond| self.condition(cond));
        let data = &self.program.slots[write.register];
        let name = data.name.to_string();
        if !matches!(data.home, Home::Register { .. }) {
            return self.fail(format!("N7: {name} is written, but is no register"));
        }
        self.tensor(write.at, data.ty.shape.dims(), &write.value, &name);
        self.elements(&data.ty, &write.value, &name);
    }

    /// The type of the elements of a register or an output.
    fn elements(&mut self, ty: &Type, source: &Variants, who: &str) {
        if source.iter().any(|variant| self.program.slots[variant.access.slot].ty.dtype != ty.dtype) {
            self.fail(format!("N5: {who} is not {ty}"));
        }
    }

    fn guards(&mut self, guards: &[Guard]) {
        guards.iter().for_each(|guard| self.condition(&guard.cond));
    }

    fn condition(&mut self, cond: &Access) {
        let who = self.name(cond.slot).to_owned();
        self.access(cond, &[], &who);
        if self.program.slots[cond.slot].ty.dtype != DType::Bool {
            self.fail(format!("N5: {who} is read as a condition"));
        }
    }

    /// N4, and N2 of the variants.
    fn tensor(&mut self, at: Positions, dims: &[usize], source: &Variants, who: &str) {
        for variant in source {
            self.access(&variant.access, dims, who);
            for test in &variant.any {
                match test {
                    Test::Is(guard) => self.condition(&guard.cond),
                    Test::IsSet(slot) if matches!(self.program.slots[*slot].home, Home::Register { .. }) => {}
                    Test::IsSet(slot) => {
                        let name = self.name(*slot).to_owned();
                        self.fail(format!("N7: {who} asks whether {name} is set, which is no register"));
                    }
                }
            }
        }
        for p in at.iter() {
            let mut here = source.iter().filter(|variant| variant.at.contains(p));
            if here.by_ref().position(|variant| variant.any.is_empty()).is_none() {
                self.fail(format!("N4: {who} reads nothing at {p} where no condition holds"));
            } else if here.next().is_some() {
                self.fail(format!("N4: {who} never reads a variant at {p}"));
            }
        }
    }

    /// N2.
    fn access(&mut self, access: &Access, dims: &[usize], who: &str) {
        let data = &self.program.slots[access.slot];
        if access.strides.len() != dims.len() {
            return self.fail(format!(
                "N2: {who} has {} strides for {} dimensions",
                access.strides.len(),
                dims.len()
            ));
        }
        let width = data.ty.shape.len();
        let moving = || dims.iter().zip(&access.strides).filter(|(_, stride)| **stride != 0);
        if moving().any(|(n, _)| *n == 0) || dims.contains(&0) && width == 0 {
            return;
        }
        let reach = |n: usize, stride: isize| i128::try_from(n).map_or(0, |n| (n - 1) * stride as i128);
        let reaches = || moving().map(|(n, stride)| reach(*n, *stride));
        let last = access.offset as i128 + reaches().filter(|r| *r > 0).sum::<i128>();
        let first = access.offset as i128 + reaches().filter(|r| *r < 0).sum::<i128>();
        if first < 0 || last >= width as i128 {
            let name = &data.name;
            self.fail(format!("N2: {who} reaches elements {first} to {last} of {name}, which has {width}"));
        }
    }
}

/// The dimensions along which an access moves, with their strides.
fn moving(nest: &Nest, access: &Access) -> Vec<(usize, isize)> {
    let of = |dim: Dim| (nest.dims[dim], access.strides[dim.0 as usize]);
    nest.dims.ids().map(of).filter(|(_, stride)| *stride != 0).collect()
}

/// For each slot, the positions at which something holds.
type Places = IndexVec<Slot, Positions>;
