//! Whether an input has a value in a cycle, as the value of another input: `present(y)`.

use rml_base::Diagnostic;
use rml_ir::{Data, Shape, Value};

use super::{Windows, cell_type, disagree};
use crate::presence::are_whole;

impl Windows {
    /// The values of input `i` in these cycles: whether input `of` has a value there, before gaps are filled.
    pub(super) fn presence(
        &self,
        (i, of): (usize, usize),
        windows: &[usize],
        cycles: &[usize],
    ) -> Result<Option<Value>, Diagnostic> {
        if cycles.is_empty() || windows.is_empty() {
            return Ok(None);
        }
        let at: Vec<Option<usize>> = cycles
            .iter()
            .flat_map(|t| windows.iter().map(move |window| self.cell(of, *window, *t)))
            .collect();
        let known: Vec<usize> = at.iter().flatten().copied().collect();
        let cell = cell_type(&self.inputs[of].info).shape;
        let whole = match known.is_empty() {
            true => Vec::new(),
            false => {
                let dims = std::iter::once(known.len()).chain(cell.dims().iter().copied()).collect();
                are_whole(&self.gathered(of, &known, dims)?.to_data(), cell.len())
            }
        };
        let mut whole = whole.into_iter();
        let there: Vec<bool> = at.iter().map(|cell| cell.is_some() && whole.next() == Some(true)).collect();
        let info = &self.inputs[i].info;
        if info.batched {
            let shape = Shape::new(&[cycles.len(), windows.len()]);
            return Ok(Some(Value::new(shape, Data::Bool(there))));
        }
        let rows = there.chunks(windows.len());
        if rows.clone().any(|row| row.iter().any(|there| *there != row[0])) {
            let how = format!("true where input `{}` has a value", self.inputs[of].info.name);
            return Err(disagree(info, windows, &how));
        }
        let first = rows.map(|row| row[0]).collect();
        Ok(Some(Value::new(Shape::new(&[cycles.len()]), Data::Bool(first))))
    }
}
