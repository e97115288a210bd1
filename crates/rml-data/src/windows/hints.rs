//! Hints in messages about windows that failed.

use rml_base::Diagnostic;
use rml_ir::{DType, Data, Type};

use super::{Role, Windows};

impl Windows {
    /// The input of which a column says that those windows do not end with their last cycle; `None` = they end there.
    ///
    /// # Errors
    /// The column cannot be read.
    pub fn not_ended(&self, windows: &[usize]) -> Result<Option<&str>, Diagnostic> {
        let last = self.length_of(windows).saturating_sub(1);
        for (i, bound) in self.inputs.iter().enumerate() {
            let name = &bound.info.name;
            let is_clock =
                self.inputs.iter().any(|other| other.info.clock.as_ref().is_some_and(|(c, _)| c == name));
            let is_end = bound.info.ty == Type::scalar(DType::Bool) && (&**name == "end" || is_clock);
            if !is_end || matches!(bound.role, Role::End) {
                continue;
            }
            let value = self.values(i, windows, &[last])?.map(|value| value.to_data());
            if value.is_some_and(|data| matches!(data, Data::Bool(v) if v == [false])) {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// The inputs that take integers, with the least and the greatest one that each takes in those windows.
    ///
    /// # Errors
    /// A column cannot be read.
    pub fn integers(&self, windows: &[usize]) -> Result<Vec<(&str, i64, i64)>, Diagnostic> {
        let cycles: Vec<usize> = (0..self.length_of(windows)).collect();
        let mut all = Vec::new();
        for (i, bound) in self.inputs.iter().enumerate().filter(|(_, b)| b.info.ty.dtype == DType::Int) {
            if let Some(Data::Int(v)) = self.values(i, windows, &cycles)?.map(|value| value.to_data())
                && let (Some(least), Some(most)) = (v.iter().min(), v.iter().max())
            {
                all.push((&*bound.info.name, *least, *most));
            }
        }
        Ok(all)
    }
}
