//! Families of models. Each is a folder of `benches/breadth` with a program, the same computation in JAX and PyTorch,
//! and a table of its data and sizes.

use std::path::{Path, PathBuf};

use rml::{Column, Columns, Elements, Shape, Source, StaticValue};
use serde_json::Value;

/// A family.
pub(crate) struct Family {
    folder: PathBuf,
    table: Value,
}

/// A column of the data of one step: its name, its shape and its values.
pub(crate) struct Made {
    pub(crate) name: String,
    /// Whether the first dimension counts stacked windows.
    stacked: bool,
    dims: Vec<usize>,
    pub(crate) values: Vec<f32>,
    integers: bool,
}

/// The folder of all families.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/breadth")
}

impl Family {
    /// Reads the table of a family.
    pub(crate) fn read(name: &str) -> Result<Self, String> {
        let folder = folder().join(name);
        let path = folder.join("family.json");
        let text =
            std::fs::read_to_string(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        let table = serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Self { folder, table })
    }

    /// The program of the family.
    pub(crate) fn source(&self) -> Source {
        Source::file(self.folder.join("program.rml"))
    }

    /// The name of the smallest size: `small` if it exists, otherwise the first.
    #[allow(dead_code, reason = "the benchmark is told a size")]
    pub(crate) fn smallest(&self) -> String {
        let mut names = self.table["sizes"].as_object().into_iter().flat_map(|sizes| sizes.keys());
        let small = names.clone().find(|name| *name == "small");
        small.or_else(|| names.next()).cloned().unwrap_or_default()
    }

    /// A number from the table, for one size or for all sizes.
    fn number(&self, size: &str, name: &str) -> Option<&Value> {
        self.table["sizes"][size].get(name).or_else(|| self.table.get(name))
    }

    fn integer(&self, size: &str, name: &str) -> Result<usize, String> {
        let found = self.number(size, name).and_then(Value::as_u64);
        found.map(|n| n as usize).ok_or_else(|| format!("the size `{size}` has no integer `{name}`"))
    }

    /// The number of stacked windows, if the program stacks windows.
    pub(crate) fn batch(&self, size: &str) -> Option<usize> {
        self.integer(size, "batch").ok()
    }

    /// The number of steps before the first turn.
    #[allow(dead_code, reason = "the test takes one step")]
    pub(crate) fn warm(&self, size: &str) -> usize {
        self.integer(size, "warm").unwrap_or(8)
    }

    /// The static parameters that `--set` would set on the command line.
    pub(crate) fn set(&self, size: &str) -> Result<Vec<(String, StaticValue)>, String> {
        let names = self.table["set"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let value = |name: &str| {
            let found =
                self.number(size, name).ok_or_else(|| format!("the size `{size}` has no `{name}`"))?;
            let value = match found.as_i64() {
                Some(n) => StaticValue::Int(n),
                None => StaticValue::Num(found.as_f64().ok_or_else(|| format!("`{name}` is no number"))?),
            };
            Ok((name.to_owned(), value))
        };
        names.map(value).collect()
    }

    /// The data of one step: numbers between -1 and 1, or integers from 0.
    pub(crate) fn made(&self, size: &str) -> Result<Vec<Made>, String> {
        let columns = self.table["columns"].as_object().ok_or("the table has no columns")?;
        let mut state = 1;
        let mut made = Vec::new();
        for (name, column) in columns {
            let shape: Vec<&Value> = column["shape"].as_array().into_iter().flatten().collect();
            let dim = |entry: &&Value| match (entry.as_u64(), entry.as_str()) {
                (Some(n), _) => Ok(n as usize),
                (None, Some(name)) => self.integer(size, name),
                _ => Err(format!("`{entry}` is no dimension")),
            };
            let dims = shape.iter().map(dim).collect::<Result<Vec<_>, _>>()?;
            let below = match &column["below"] {
                Value::Null => None,
                below => Some(dim(&below)?),
            };
            let stacked = shape.first().is_some_and(|entry| entry.as_str() == Some("batch"));
            let n = dims.iter().product();
            let values =
                draws(&mut state, n).map(|u| below.map_or(u * 2.0 - 1.0, |n| (u * n as f32).floor()));
            let values = values.collect();
            made.push(Made { name: name.clone(), stacked, dims, values, integers: below.is_some() });
        }
        Ok(made)
    }
}

/// Numbers from 0 (included) to 1 (excluded).
fn draws(state: &mut u64, n: usize) -> impl Iterator<Item = f32> {
    (0..n).map(|_| {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 40) as f32 / (1_u64 << 24) as f32
    })
}

/// The data of `steps` steps, which are all equal.
pub(crate) fn columns(made: &[Made], steps: usize) -> Columns {
    let mut columns = Columns::default();
    for column in made {
        let values = column.values.repeat(steps);
        let elements = if column.integers {
            Elements::Int(values.iter().map(|x| *x as i64).collect())
        } else {
            Elements::F32(values)
        };
        let mut dims = column.dims.clone();
        match dims.first_mut() {
            Some(windows) if column.stacked => *windows *= steps,
            _ => dims.insert(0, steps),
        }
        columns
            .columns
            .insert(column.name.clone(), Column { shape: Shape::new(&dims), elements, present: None });
    }
    columns
}
