//! Inputs and outputs of a run: one cycle as a row of entries, or several cycles as a block of columns.
//!
//! A column stores the values of one variable over the cycles of a block in one contiguous tensor. If data is already
//! contiguous or on a device, an engine that computes whole windows receives it without a split into cycles.

use rml_backend::{Failure, Held};
use rml_ir::{Data, Shape, Value};

use crate::status::{InputCell, Status};

/// The cycles of a block in which a variable is present.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Present {
    /// All cycles.
    Always,
    /// No cycle.
    Never,
    /// The marked cycles; there is one mark for each cycle.
    In(Vec<bool>),
}

impl Present {
    /// Whether the variable is present in cycle `t` of the block.
    pub fn at(&self, t: usize) -> bool {
        match self {
            Present::Always => true,
            Present::Never => false,
            Present::In(marks) => marks.get(t) == Some(&true),
        }
    }

    /// The number of cycles in which the variable is present, for a block of `cycles` cycles.
    pub fn count(&self, cycles: usize) -> usize {
        match self {
            Present::Always => cycles,
            Present::Never => 0,
            Present::In(marks) => marks.iter().filter(|m| **m).count(),
        }
    }
}

impl FromIterator<bool> for Present {
    fn from_iter<I: IntoIterator<Item = bool>>(marks: I) -> Self {
        let marks: Vec<bool> = marks.into_iter().collect();
        match (marks.contains(&true), marks.contains(&false)) {
            (false, _) => Present::Never,
            (true, false) => Present::Always,
            (true, true) => Present::In(marks),
        }
    }
}

/// One variable over the cycles of a block.
#[derive(Clone, Debug)]
pub struct BlockColumn {
    present: Present,
    on_demand: bool,
    values: Option<Held>,
}

impl BlockColumn {
    /// A variable that is absent throughout.
    pub fn absent() -> Self {
        Self { present: Present::Never, on_demand: false, values: None }
    }

    /// A variable that is present in the given cycles. Its values are of shape `[n, ..]`: one row for each cycle in
    /// which it is present, in order.
    pub fn new(present: Present, values: impl Into<Held>) -> Self {
        let values = (present != Present::Never).then(|| values.into());
        Self { present, on_demand: false, values }
    }

    /// Makes the program decide the presence of the variable. In the cycles given, the column offers a value, which is
    /// used if the program finds the variable present. In all other cycles the variable is absent.
    #[must_use]
    pub fn on_demand(mut self) -> Self {
        self.on_demand = true;
        self
    }

    /// The cycles in which the variable is present, or may be present if the program decides.
    pub fn present(&self) -> &Present {
        &self.present
    }

    /// Whether the program decides the presence of the variable.
    pub fn is_on_demand(&self) -> bool {
        self.on_demand
    }

    /// The values, of shape `[n, ..]`; `None` if the variable is absent in all cycles.
    pub fn values(&self) -> Option<&Held> {
        self.values.as_ref()
    }

    /// The values, on the host.
    fn to_host(&self) -> Result<Option<Value>, Failure> {
        self.values.as_ref().map(Held::to_host).transpose()
    }

    /// Whether the values have a row for each cycle in which the variable is present.
    fn fits(&self, cycles: usize) -> bool {
        let rows = self.values.as_ref().map_or(Some(0), |v| v.ty().shape.dims().first().copied());
        let marks = if let Present::In(marks) = &self.present { marks.len() } else { cycles };
        marks == cycles && rows == Some(self.present.count(cycles))
    }
}

/// Several cycles: one column for each input or output of a program, in order.
#[derive(Clone, Debug)]
pub struct Block {
    cycles: usize,
    columns: Vec<BlockColumn>,
}

impl Block {
    /// A block of `cycles` cycles.
    ///
    /// # Panics
    /// A column does not have one mark for each cycle, or not one row of values for each cycle in which its variable is
    /// present.
    pub fn new(cycles: usize, columns: Vec<BlockColumn>) -> Self {
        assert!(columns.iter().all(|c| c.fits(cycles)), "columns fit the cycles of their block");
        Self { cycles, columns }
    }

    /// The number of cycles.
    pub fn cycles(&self) -> usize {
        self.cycles
    }

    /// The columns.
    pub fn columns(&self) -> &[BlockColumn] {
        &self.columns
    }

    /// The cycles one by one, for an engine that runs one cycle at a time.
    ///
    /// # Errors
    /// A column cannot be copied from its device.
    pub fn rows(&self) -> Result<CycleRows<'_>, Failure> {
        let cells = |column| Ok(Cells { column, values: BlockColumn::to_host(column)?, taken: 0 });
        Ok(CycleRows {
            at: 0,
            cycles: self.cycles,
            cells: self.columns.iter().map(cells).collect::<Result<_, _>>()?,
        })
    }
}

/// The cycles of a block, one by one.
#[derive(Debug)]
pub struct CycleRows<'a> {
    at: usize,
    cycles: usize,
    cells: Vec<Cells<'a>>,
}

/// The remaining cells of a column.
#[derive(Debug)]
struct Cells<'a> {
    column: &'a BlockColumn,
    values: Option<Value>,
    taken: usize,
}

impl Cells<'_> {
    fn next(&mut self, t: usize) -> Option<Value> {
        let values = self.values.as_ref().filter(|_| self.column.present.at(t))?;
        self.taken += 1;
        Some(row(values, self.taken - 1))
    }
}

impl CycleRows<'_> {
    /// Puts the next cycle into `row`, one entry for each column; returns `false` if no cycle remains.
    pub fn next_inputs(&mut self, row: &mut Vec<InputCell>) -> bool {
        row.clear();
        let t = self.at;
        if t == self.cycles {
            return false;
        }
        self.at += 1;
        row.extend(self.cells.iter_mut().map(|cells| match cells.next(t) {
            None => InputCell::Absent,
            Some(value) if cells.column.on_demand => InputCell::OnDemand(Some(value)),
            Some(value) => InputCell::Given(value),
        }));
        true
    }

    /// Skips the next `cycles` cycles.
    pub fn skip(&mut self, cycles: usize) {
        let from = self.at;
        self.at = (from + cycles).min(self.cycles);
        for cells in &mut self.cells {
            cells.taken += (from..self.at).filter(|t| cells.column.present.at(*t)).count();
        }
    }

    fn next_statuses(&mut self) -> Vec<Status> {
        let t = self.at;
        self.at += 1;
        self.cells.iter_mut().map(|cells| cells.next(t).map_or(Status::Absent, Status::Value)).collect()
    }
}

/// Row `i` of a tensor.
fn row(values: &Value, i: usize) -> Value {
    let Value::Tensor(tensor) = values else { return values.clone() };
    let shape = Shape::new(tensor.shape().dims().get(1..).unwrap_or_default());
    let range = i * shape.len()..(i + 1) * shape.len();
    let data = match tensor.data() {
        data if shape.is_scalar() => return data.get(i),
        Data::Bool(v) => Data::Bool(v[range].to_vec()),
        Data::Int(v) => Data::Int(v[range].to_vec()),
        Data::F32(v) => Data::F32(v[range].to_vec()),
        Data::F64(v) => Data::F64(v[range].to_vec()),
    };
    Value::new(shape, data)
}

/// The inputs of a run.
#[derive(Clone, Copy, Debug)]
pub enum Inputs<'a> {
    /// One cycle: one entry for each input of the program, in order.
    Cycle(&'a [InputCell]),
    /// Several cycles: one column for each input of the program, in order.
    Block(&'a Block),
}

impl Inputs<'_> {
    /// The number of cycles.
    pub fn cycles(&self) -> usize {
        match self {
            Inputs::Cycle(_) => 1,
            Inputs::Block(block) => block.cycles(),
        }
    }
}

/// The outputs of one cycle.
#[derive(Clone, Debug)]
pub struct CycleRow {
    /// The number of the cycle.
    pub cycle: u64,
    /// The statuses of the program's outputs, in their order. Each status is absent or a value; only rows that are
    /// returned after the end may contain others.
    pub values: Vec<Status>,
}

/// Known outputs.
#[derive(Clone, Debug)]
pub enum KnownOutputs {
    /// The outputs of one cycle.
    Cycle(CycleRow),
    /// The outputs of several cycles, one column for each output of the program, in order. Every cell is known.
    Block {
        /// The number of the first cycle.
        first: u64,
        /// The outputs of the cycles.
        block: Block,
    },
}

impl KnownOutputs {
    /// The number of cycles.
    pub fn cycles(&self) -> usize {
        match self {
            KnownOutputs::Cycle(_) => 1,
            KnownOutputs::Block { block, .. } => block.cycles(),
        }
    }

    /// Calls `f` with each value of output number `output`, in the order of cycles. The first argument of `f` is the
    /// position of the value's cycle among these cycles.
    ///
    /// # Errors
    /// The values cannot be copied from their device.
    pub fn for_each_value(&self, output: usize, mut f: impl FnMut(usize, &Value)) -> Result<(), Failure> {
        match self {
            KnownOutputs::Cycle(row) => {
                if let Some(Status::Value(value)) = row.values.get(output) {
                    f(0, value);
                }
            }
            KnownOutputs::Block { block, .. } => {
                let Some(column) = block.columns.get(output) else { return Ok(()) };
                let mut cells = Cells { column, values: column.to_host()?, taken: 0 };
                for t in 0..block.cycles {
                    if let Some(value) = cells.next(t) {
                        f(t, &value);
                    }
                }
            }
        }
        Ok(())
    }

    /// Appends the outputs to `rows`, one row for each cycle.
    ///
    /// # Errors
    /// The values cannot be copied from their device.
    pub fn append_to(self, rows: &mut Vec<CycleRow>) -> Result<(), Failure> {
        match self {
            KnownOutputs::Cycle(row) => rows.push(row),
            KnownOutputs::Block { first, block } => {
                let mut cells = block.rows()?;
                let row = |cycle| CycleRow { cycle, values: cells.next_statuses() };
                rows.extend((first..).take(block.cycles).map(row));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(shape: &[usize], elements: &[i64]) -> Value {
        Value::new(Shape::new(shape), Data::Int(elements.to_vec()))
    }

    #[test]
    fn columns_fall_into_the_cycles_where_they_are_present() {
        let marks: Present = [false, true, false, true].into_iter().collect();
        let some = BlockColumn::new(marks, ints(&[2, 2], &[1, 2, 3, 4])).on_demand();
        let all = BlockColumn::new(Present::Always, ints(&[4], &[5, 6, 7, 8]));
        let block = Block::new(4, vec![some, all, BlockColumn::absent()]);
        let (mut rows, mut row, mut texts) = (block.rows().unwrap(), Vec::new(), Vec::new());
        while rows.next_inputs(&mut row) {
            texts.push(match row.as_slice() {
                [InputCell::Absent, InputCell::Given(x), InputCell::Absent] => format!("{:?}", x.as_int()),
                [InputCell::OnDemand(Some(v)), InputCell::Given(x), InputCell::Absent] => {
                    format!("{:?} {:?}", v.to_data(), x.as_int())
                }
                other => panic!("{other:?}"),
            });
        }
        assert_eq!(texts, ["Some(5)", "Int([1, 2]) Some(6)", "Some(7)", "Int([3, 4]) Some(8)"]);
        let outputs = KnownOutputs::Block { first: 10, block };
        let mut seen = Vec::new();
        outputs.for_each_value(0, |t, v| seen.push((t, v.to_data().len()))).unwrap();
        assert_eq!(seen, [(1, 2), (3, 2)]);
        let mut rows = Vec::new();
        outputs.append_to(&mut rows).unwrap();
        assert_eq!(rows.iter().map(|r| r.cycle).collect::<Vec<_>>(), [10, 11, 12, 13]);
        assert!(
            rows[0].values[0].same(&Status::Absent)
                && rows[1].values[0].same(&Status::Value(ints(&[2], &[1, 2])))
        );
    }

    #[test]
    fn marks_that_are_all_alike_need_no_list() {
        assert_eq!([true, true].into_iter().collect::<Present>(), Present::Always);
        assert_eq!([false, false].into_iter().collect::<Present>(), Present::Never);
        assert_eq!(Present::In(vec![true, false, true]).count(3), 2);
    }

    #[test]
    #[should_panic(expected = "columns fit")]
    fn a_row_for_each_cycle_in_which_it_is_present() {
        let _ = Block::new(3, vec![BlockColumn::new(Present::Always, ints(&[2], &[1, 2]))]);
    }
}
