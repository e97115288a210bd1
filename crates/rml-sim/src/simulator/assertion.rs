//! Explains which property is violated, and the values that decide it.

use rml_base::{Diagnostic, codes};
use rml_engine::Status;
use rml_ir::flat::{Eq, Var};
use rml_ir::text::ValueText;
use rml_ir::{Data, Shape, Value};

use super::Simulator;

/// The maximum number of elements of a value to show.
const MAX_SHOWN: usize = 16;

impl Simulator {
    /// The report of an equation that checks a property; `None` for other equations.
    pub(super) fn assertion_report(&self, cycle: u64, id: Eq) -> Option<Diagnostic> {
        let flat = &self.program.flat;
        let (position, deciding) = flat.decided_by(id)?;
        let equation = &flat.equations[id];
        let name = flat.vars[equation.lhs].asserts.as_ref()?;
        let message = format!("the assertion \"{name}\" does not hold in cycle {cycle}");
        let mut report = Diagnostic::error(codes::sim::ASSERTION_FAILED, message)
            .label(equation.span, "its condition is false in this cycle");
        let at = self.first_failure(cycle, position);
        let shape = &flat.vars[position].ty.shape;
        if let Some(at) = at.filter(|_| !shape.is_scalar()) {
            report = report.note(format!("it is false at {}", place(shape, at)));
        }
        let notes = deciding.into_iter().filter_map(|v| self.deciding(cycle, v, shape, at));
        report.notes.extend(notes);
        Some(report.help("correct what gives these values, or the condition if they are right"))
    }

    /// The first element at which a property is violated.
    fn first_failure(&self, cycle: u64, position: Var) -> Option<usize> {
        let Ok(Status::Value(value)) = self.open_status(cycle, position) else { return None };
        let Data::Int(all) = value.to_data() else { return None };
        all.iter().position(|i| *i != 0)
    }

    /// The status of a variable in a cycle, as a note.
    fn deciding(&self, cycle: u64, v: Var, shape: &Shape, at: Option<usize>) -> Option<String> {
        let flat = &self.program.flat;
        // A state has the same name as in checkpoints, whatever node trains it.
        let state = flat.states.iter().find(|(_, state)| flat.equations[state.equation].lhs == v);
        let name = state.map(|(key, _)| key).or(flat.vars[v].name.as_ref())?;
        let value = match self.open_status(cycle, v).ok()? {
            Status::Value(value) => value,
            Status::Absent => return Some(format!("`{name}` is absent")),
            Status::Bottom | Status::Unknown | Status::Error => return None,
        };
        let text = |value: &Value| {
            let case = |i: i64| flat.vars[v].cases.as_ref()?.get(usize::try_from(i).ok()?);
            let case = if let Value::Int(i) = value { case(*i) } else { None };
            case.map_or_else(|| ValueText(value).to_string(), ToString::to_string)
        };
        Some(match (&value, at) {
            (Value::Tensor(tensor), Some(at)) if tensor.shape() == shape => {
                format!("`{name}{}` is {}", place(shape, at), text(&tensor.data().get(at)))
            }
            (Value::Tensor(tensor), _) if tensor.data().len() > MAX_SHOWN => {
                format!("`{name}` is {}, too large to be shown", value.ty())
            }
            (Value::Tensor(tensor), _) if tensor.shape().rank() > 1 => {
                format!("`{name}` is {} with the elements {}", value.ty(), ValueText(&value))
            }
            (Value::Bool(_) | Value::Int(_) | Value::F32(_) | Value::F64(_) | Value::Tensor(_), _) => {
                format!("`{name}` is {}", text(&value))
            }
        })
    }
}

/// An element as an index: `[1, 0]`.
fn place(shape: &Shape, at: usize) -> String {
    let mut rest = at;
    let mut all: Vec<String> = Vec::new();
    for n in shape.dims().iter().rev() {
        all.insert(0, (rest % n.max(&1)).to_string());
        rest /= n.max(&1);
    }
    format!("[{}]", all.join(", "))
}
