//! Hints in messages about windows that failed.

use rml_base::Diagnostic;
use rml_ir::{DType, Data, Type};

use super::{Role, Windows};

/// The most windows that are examined for common properties.
const LOOKED_AT: usize = 1000;

impl Windows {
    /// An input whose column is false in the last cycle of these windows, so that they do not end; none if they do.
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
            if !is_end || matches!(bound.role, Role::End | Role::Begin | Role::EpochEnd | Role::Present(_)) {
                continue;
            }
            let value = self.values(i, windows, &[last])?.map(|value| value.to_data());
            if value.is_some_and(|data| matches!(data, Data::Bool(v) if v == [false])) {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// The empty cells of these windows, for inputs that no clock makes absent: the name of the column, the row, and
    /// the name of the data.
    pub fn gaps(&self, windows: &[usize]) -> Vec<(&str, usize, &str)> {
        let gap = |bound: &'_ super::Bound, window: usize| match &bound.role {
            _ if bound.steps.fill.is_some() => None,
            Role::Cycle(cells) | Role::Window(cells) => cells.place(window).is_none().then_some(window),
            Role::Row(cells) => {
                let layout = self.layout.as_ref()?;
                let mut rows = (0..self.length(window)).map(|cycle| layout.row(window, cycle));
                rows.find(|row| cells.place(*row).is_none())
            }
            Role::Sequence(..) | Role::End | Role::Begin | Role::EpochEnd | Role::Present(_) => None,
        };
        let unclocked = self.inputs.iter().filter(|bound| bound.clock.is_none());
        unclocked
            .filter_map(|bound| {
                let row = windows.iter().find_map(|window| gap(bound, *window))?;
                Some((&*bound.info.name, row, &*self.origin))
            })
            .collect()
    }

    /// An input whose column has a number in these windows that is not finite, the window, and the name of the data.
    pub fn not_finite(&self, windows: &[usize]) -> Option<(&str, usize, &str)> {
        let is_num = |(_, bound): &(usize, &super::Bound)| bound.info.ty.dtype == DType::Num;
        self.inputs.iter().enumerate().filter(is_num).find_map(|(i, bound)| {
            let window = windows.iter().copied().find(|window| {
                let cycles: Vec<usize> = (0..self.length(*window)).collect();
                let values = self.values(i, &[*window], &cycles).ok().flatten();
                match values.map(|value| value.to_data()) {
                    Some(Data::F32(v)) => v.iter().any(|x| !x.is_finite()),
                    Some(Data::F64(v)) => v.iter().any(|x| !x.is_finite()),
                    _ => false,
                }
            })?;
            Some((&*bound.info.name, window, &*self.origin))
        })
    }

    /// An integer input whose rows are read as cycles although they look one-hot (zeros and a single one), while no
    /// other input has a value per cycle; and the number of these cycles.
    pub fn one_hot(&self) -> Option<(&str, usize)> {
        let by_cycle = |bound: &super::Bound| matches!(bound.role, Role::Cycle(_) | Role::Sequence(..));
        let mut sequences = self.inputs.iter().enumerate().filter(|(_, bound)| by_cycle(bound));
        let (i, bound) = sequences.next().filter(|_| self.inputs.len() > 1 && self.cycles > 1)?;
        if sequences.next().is_some() || bound.info.ty.dtype != DType::Int || self.lengths.is_some() {
            return None;
        }
        let cycles: Vec<usize> = (0..self.cycles).collect();
        let is_one_hot = |window: usize| {
            let values = self.values(i, &[window], &cycles).ok().flatten().map(|value| value.to_data());
            let Some(Data::Int(v)) = values else { return false };
            v.iter().all(|x| matches!(x, 0 | 1)) && v.iter().sum::<i64>() == 1
        };
        let stacked = bound.info.batched && bound.info.ty.shape.rank() != 1;
        let scalar = !stacked && (bound.info.batched || bound.info.ty.shape.is_scalar());
        (scalar && (0..self.count.min(LOOKED_AT)).all(is_one_hot)).then(|| (&*bound.info.name, self.cycles))
    }

    /// A column that is ignored although its name suggests that it has the lengths of the windows, if all windows have
    /// the same number of cycles, more than one.
    pub fn misnamed_lengths(&self) -> Option<&str> {
        let may_be_filled_up = self.lengths.is_none() && self.cycles > 1;
        self.misnamed.as_deref().filter(|_| may_be_filled_up)
    }

    /// Whether an input is true in the last cycle of each window, without a column.
    pub fn is_end(&self, name: &str) -> bool {
        self.inputs.iter().any(|bound| &*bound.info.name == name && matches!(bound.role, Role::End))
    }

    /// Whether an input has no column, because it marks the ends of windows or epochs or the beginnings of series, or
    /// says whether another input has a value.
    pub fn is_mark(&self, name: &str) -> bool {
        let is_mark =
            |role: &Role| matches!(role, Role::Begin | Role::End | Role::EpochEnd | Role::Present(_));
        self.inputs.iter().any(|bound| &*bound.info.name == name && is_mark(&bound.role))
    }

    /// The root mean square of an input in the first windows; `None` if it is not a number.
    pub fn scale(&self, name: &str) -> Option<f64> {
        const WINDOWS: usize = 64;
        let input = self.inputs.iter().position(|bound| &*bound.info.name == name)?;
        let (mut sum, mut count) = (0.0, 0_usize);
        for window in 0..self.count.min(WINDOWS) {
            let cycles: Vec<usize> = (0..self.length_of(&[window]).min(LOOKED_AT)).collect();
            match self.values(input, &[window], &cycles).ok()??.to_data() {
                Data::F32(v) => {
                    sum += v.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>();
                    count += v.len();
                }
                Data::F64(v) => {
                    sum += v.iter().map(|x| x.powi(2)).sum::<f64>();
                    count += v.len();
                }
                Data::Bool(_) | Data::Int(_) => return None,
            }
        }
        #[allow(clippy::cast_precision_loss, reason = "a mean need not be exact")]
        let mean = sum / count.max(1) as f64;
        (count > 0).then(|| mean.sqrt())
    }

    /// The number of values of each class of an input, in the first windows.
    pub fn class_counts(&self, name: &str) -> Vec<usize> {
        const WINDOWS: usize = 100_000;
        let Some(i) = self.inputs.iter().position(|bound| &*bound.info.name == name) else {
            return Vec::new();
        };
        let classes = self.inputs[i].classes.as_ref().map_or(0, |classes| classes.names.len());
        let mut counts = vec![0; classes];
        for window in 0..self.count.min(WINDOWS) {
            let cycles: Vec<usize> = match self.inputs[i].role {
                Role::Window(_) => vec![0],
                _ => (0..self.length(window)).collect(),
            };
            let values = self.values(i, &[window], &cycles).ok().flatten();
            let Some(Data::Int(v)) = values.map(|values| values.to_data()) else { continue };
            for class in v {
                let count = usize::try_from(class).ok().and_then(|class| counts.get_mut(class));
                count.into_iter().for_each(|count| *count += 1);
            }
        }
        counts
    }

    /// Whether the values of an input are numbers, and not integers or truth values.
    pub fn takes_numbers(&self, name: &str) -> bool {
        self.inputs.iter().any(|bound| &*bound.info.name == name && bound.info.ty.is_num())
    }

    /// The numeric inputs that are not standardised, and the scale of each.
    pub fn scales(&self) -> Vec<(&str, f64)> {
        let is_raw = |bound: &&super::Bound| bound.info.ty.is_num() && bound.steps.scale.is_none();
        let names = self.inputs.iter().filter(is_raw).map(|bound| &*bound.info.name);
        names.filter_map(|name| Some((name, self.scale(name)?))).collect()
    }

    /// The integer inputs, with the least and the greatest value of each in these windows.
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
