//! Parameters and tensors as text.

use rml_data::text;
use rml_ir::{Shape, Type, Value};
use serde_json::{Value as Json, json};

use crate::list::{ParamInfo, ParamList};
use crate::summary::Summary;
use crate::tensors::{FileTensor, TensorFile};

impl ParamInfo {
    /// The place of its declaration: file, line and column.
    fn place(&self, list: &ParamList) -> (String, usize, usize) {
        let (line, column) = list.sources.line_column(self.span.file, self.span.start);
        (list.sources.name(self.span.file).to_owned(), line, column)
    }
}

impl ParamList {
    /// A table for people: one line per parameter, with its type, the place of its declaration, and a summary of its
    /// values if they are known. If a name in the checkpoint is another one, there is a column with these names.
    pub fn to_table(&self) -> String {
        let values = self.params.iter().any(|p| p.value.is_some());
        let moved = self.params.iter().any(|p| p.from.as_ref().is_some_and(|from| *from != p.path));
        let mut head = vec!["parameter", "type", "declared"];
        head.extend(moved.then_some("in the checkpoint"));
        head.extend(if values { &SUMMARY[..] } else { &[] });
        let mut rows = vec![head.into_iter().map(str::to_owned).collect::<Vec<_>>()];
        rows.extend(self.params.iter().map(|p| {
            let (file, line, column) = p.place(self);
            let mut row = vec![p.path.to_string(), p.ty.to_string(), format!("{file}:{line}:{column}")];
            row.extend(p.from.iter().filter(|_| moved).map(ToString::to_string));
            row.extend(p.value.iter().flat_map(|v| cells(Summary::of(&v.to_data()))));
            row
        }));
        let shapes: Vec<&Shape> = self.params.iter().map(|p| &p.ty.shape).collect();
        let left: &[usize] = if moved { &[0, 1, 2, 3] } else { &[0, 1, 2] };
        format!("{}{}", rml_base::table(&rows, left), total("parameter", &shapes))
    }

    /// `{"node": .., "params": [{"path", "type", "shape", "declared": {"file", "line", "column"}, "from", "values"}]}`;
    /// `from`, the name in the checkpoint, and `values` only if there is a checkpoint.
    pub fn to_json(&self) -> String {
        let param = |p: &ParamInfo| {
            let (file, line, column) = p.place(self);
            let mut object = object(&p.ty);
            object["path"] = json!(&*p.path);
            object["declared"] = json!({"file": file, "line": line, "column": column});
            if let Some(from) = &p.from {
                object["from"] = json!(&**from);
            }
            if let Some(value) = &p.value {
                object["values"] = summary(value);
            }
            object
        };
        let params: Vec<Json> = self.params.iter().map(param).collect();
        json!({"node": self.node, "params": params}).to_string()
    }
}

impl TensorFile {
    /// A table for people: one line per tensor, with the type of its elements, its shape, and a summary of its
    /// elements.
    pub fn to_table(&self) -> String {
        let mut rows = vec![
            ["tensor", "type", "shape"].iter().chain(&SUMMARY).map(|t| (*t).to_owned()).collect::<Vec<_>>(),
        ];
        rows.extend(self.tensors.iter().map(|(name, t)| {
            let mut row = vec![name.clone(), t.stored.to_string(), t.shape.to_string()];
            row.extend(cells(Summary::of(&t.data)));
            row
        }));
        rows.extend(self.unusable.iter().map(|(name, why)| vec![name.clone(), format!("unusable: {why}")]));
        let shapes: Vec<&Shape> = self.tensors.values().map(|t| &t.shape).collect();
        format!("{}{}", rml_base::table(&rows, &[0, 1, 2]), total("tensor", &shapes))
    }

    /// `{"file": .., "tensors": [{"name", "type", "shape", "values"}], "unusable": {"name": "why"}}`
    pub fn to_json(&self) -> String {
        let tensor = |(name, t): (&String, &FileTensor)| {
            let values = summary(&Value::new(t.shape.clone(), t.data.clone()));
            json!({"name": name, "type": t.stored.to_string(), "shape": t.shape.dims(), "values": values})
        };
        let tensors: Vec<Json> = self.tensors.iter().map(tensor).collect();
        let unusable: serde_json::Map<String, Json> =
            self.unusable.iter().map(|(name, why)| (name.clone(), json!(why))).collect();
        json!({"file": self.origin, "tensors": tensors, "unusable": unusable}).to_string()
    }
}

const SUMMARY: [&str; 5] = ["min", "max", "mean", "std", "not finite"];

/// The cells below [`SUMMARY`].
fn cells(s: Summary) -> impl Iterator<Item = String> {
    let numbers = [s.min, s.max, s.mean, s.std].map(|x| text::brief(&Value::F64(x), None));
    let strange = if s.not_finite == 0 { String::new() } else { s.not_finite.to_string() };
    numbers.into_iter().chain([strange])
}

fn total(what: &str, shapes: &[&Shape]) -> String {
    let elements: usize = shapes.iter().map(|s| s.len()).sum();
    let (s, t) = (if shapes.len() == 1 { "" } else { "s" }, if elements == 1 { "" } else { "s" });
    format!("{} {what}{s}, {elements} element{t}\n", shapes.len())
}

fn object(ty: &Type) -> Json {
    json!({"type": ty.dtype.to_string(), "shape": ty.shape.dims()})
}

fn summary(value: &Value) -> Json {
    let s = Summary::of(&value.to_data());
    json!({"min": s.min, "max": s.max, "mean": s.mean, "std": s.std, "not_finite": s.not_finite})
}
