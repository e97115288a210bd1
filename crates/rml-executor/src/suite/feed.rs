//! Inputs that are the same in every run.

use rml_base::EntityId;
use rml_ir::{DType, Data, Precision, Type, Value};
use rml_plan::Ends;

use super::cases::Case;
use crate::contract::Running;

/// Pseudo-random numbers that are the same in every run.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// Random elements: numbers between -1 and 1 whose sums are rounded, ints from 0 to 3, and truth values.
    pub(super) fn elements(&mut self, dtype: DType, len: usize, precision: Precision) -> Data {
        match dtype {
            DType::Bool => Data::Bool((0..len).map(|_| self.next().is_multiple_of(3)).collect()),
            DType::Int => Data::Int((0..len).map(|_| (self.next() % 4).cast_signed()).collect()),
            DType::Num => {
                let number = |dice: &mut Self| dice.next() as f64 / f64::from(1_u32 << 30) - 1.0;
                let all = Data::F64((0..len).map(|_| number(self)).collect());
                let value = Value::new(rml_ir::Shape::new(&[len]), all);
                value.to_precision(precision).to_data()
            }
        }
    }

    /// A random value of type `ty`.
    pub(super) fn value(&mut self, ty: &Type, precision: Precision) -> Value {
        Value::new(ty.shape.clone(), self.elements(ty.dtype, ty.shape.len(), precision))
    }
}

/// The inputs of all cycles of a case.
pub(super) struct Feed {
    columns: Vec<(Vec<bool>, Data)>,
}

impl Feed {
    pub(super) fn new(case: &Case) -> Self {
        let (mut dice, cycles) = (Dice(7), case.cycles);
        let mut columns: Vec<(Vec<bool>, Data)> = Vec::new();
        for (i, (_, ty)) in case.plan.inputs.iter().enumerate() {
            let present = match columns.first() {
                Some((_, Data::Bool(holds))) if case.clocked == Some(i) => holds.clone(),
                _ => vec![true; cycles],
            };
            let rows = present.iter().filter(|there| **there).count();
            let data = dice.elements(ty.dtype, rows * ty.shape.len(), case.plan.precision);
            columns.push((present, data));
        }
        // The last cycle ends a window.
        if let Ends::Given(ends) = &case.plan.ends {
            for (input, value) in ends {
                if let Data::Bool(holds) = &mut columns[*input as usize].1 {
                    holds[cycles - 1] = *value;
                }
            }
        }
        Self { columns }
    }

    /// Puts an int into the first input at `cycle` and returns the previous one.
    pub(super) fn put(&mut self, cycle: usize, value: i64) -> Option<i64> {
        match &mut self.columns[0].1 {
            Data::Int(all) => Some(std::mem::replace(&mut all[cycle], value)),
            _ => None,
        }
    }

    /// The number of cycles of the window that begins at cycle `from`, if the inputs determine its end.
    pub(super) fn length(&self, ends: &[(u32, bool)], from: usize) -> Option<usize> {
        let is = |t: usize, (input, value): &(u32, bool)| match &self.columns[*input as usize].1 {
            Data::Bool(holds) => holds[t] == *value,
            _ => false,
        };
        let cycles = self.columns.first().map_or(0, |(present, _)| present.len());
        (from..cycles).find(|t| ends.iter().any(|end| is(*t, end))).map(|t| t + 1 - from)
    }

    /// Sets the inputs of `ticks` cycles, starting at cycle `from`.
    pub(super) fn set(&self, run: &mut dyn Running, from: usize, ticks: usize) -> Result<(), String> {
        for (i, (present, data)) in self.columns.iter().enumerate() {
            let count = |cycles: &[bool]| cycles.iter().filter(|there| **there).count();
            let row = count(&present[..from]);
            let after = run.set_rows(i, ticks, &|t| present[from + t], data, row);
            let wanted = row + count(&present[from..from + ticks]);
            if after != wanted {
                return Err(format!("the row after input {i} is {after}, not {wanted}"));
            }
        }
        Ok(())
    }
}

/// The register with number `at`.
pub(super) fn register(at: usize) -> rml_plan::Reg {
    rml_plan::Reg::from_index(at)
}
