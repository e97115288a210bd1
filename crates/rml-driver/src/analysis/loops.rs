//! Where a loop without a delay runs through the user's own calls, and which delay breaks it.

use rml_base::{Diagnostic, Label, Sources, Span};
use rml_ir::DType;
use rml_ir::flat::{Flat, Rhs, Var, VarData, around};
use rml_ir::op::Op;

use super::calls::Calls;
use crate::library::is_library;

/// The help of a finding for which nothing better is known.
const GENERAL: &str = "delay one of the values by `fby`";

/// Puts the calls in the user's own text through which a value needs itself first, and says which value to delay.
pub(super) fn show(sources: &Sources, flat: &Flat, calls: &Calls, finding: &mut Diagnostic) {
    let steps: Vec<(String, String)> =
        finding.labels.iter().filter_map(|label| step(&label.message)).collect();
    let level = level(steps.iter().flat_map(|(a, b)| [&**a, &**b]));
    let level = Level { sources, flat, calls, path: level };
    if finding.help.iter().any(|help| help.starts_with(GENERAL))
        && let Some(help) = steps.iter().rev().find_map(|(from, to)| level.delay(from, to))
    {
        finding.help = vec![help];
    }
    let mut spans: Vec<Span> = Vec::new();
    for span in steps.iter().filter_map(|(from, _)| level.call(from)) {
        if !spans.contains(&span) && !finding.labels.iter().any(|label| contains(label.span, span)) {
            spans.push(span);
        }
    }
    let labels =
        spans.into_iter().map(|span| Label { span, message: "the loop runs through this call".to_owned() });
    finding.labels.splice(0..0, labels);
    let helps = finding.help.iter().map(|help| level.with_names(help)).collect();
    finding.help = helps;
}

/// Whether a place is within another one.
fn contains(outer: Span, inner: Span) -> bool {
    outer.file == inner.file && outer.start <= inner.start && inner.end <= outer.end
}

/// What needs what, of the label of a step.
fn step(message: &str) -> Option<(String, String)> {
    let mut parts = message.split('`');
    let (from, between, to) = (parts.nth(1)?, parts.next()?, parts.next()?);
    between.contains("needs").then(|| (from.to_owned(), to.to_owned()))
}

/// The innermost instance that all of these variables are in.
fn level<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut found: Option<Vec<&str>> = None;
    for name in names {
        let path = around(name);
        let parts: Vec<&str> = path.split('.').filter(|part| !part.is_empty()).collect();
        found = Some(match found {
            None => parts,
            Some(all) => {
                let same = all.iter().zip(&parts).take_while(|(a, b)| a == b).count();
                all.into_iter().take(same).collect()
            }
        });
    }
    found.unwrap_or_default().join(".")
}

/// The instance in which a loop is closed.
struct Level<'a> {
    sources: &'a Sources,
    flat: &'a Flat,
    calls: &'a Calls,
    path: String,
}

impl Level<'_> {
    /// The instance called from this one in which a variable is; nothing for its own variables.
    fn callee<'n>(&self, name: &'n str) -> Option<&'n str> {
        let rest = match &*self.path {
            "" => around(name),
            path => around(name).strip_prefix(path)?.strip_prefix('.')?,
        };
        rest.split('.').next().filter(|part| !part.is_empty())
    }

    /// Where the instance is called, in the user's own text.
    fn call(&self, name: &str) -> Option<Span> {
        let callee = self.callee(name)?;
        let path = if self.path.is_empty() { callee.to_owned() } else { format!("{}.{callee}", self.path) };
        self.calls.get(&*path).copied().filter(|span| !is_library(self.sources, *span))
    }

    /// What to write for a value that a call of this level needs.
    fn delay(&self, from: &str, to: &str) -> Option<String> {
        let call = self.call(from).filter(|_| self.callee(from) != self.callee(to))?;
        let own = self.own(to)?;
        let data = &self.flat.vars[own];
        let name = data.name.as_deref()?.rsplit('.').next()?;
        let text = self.sources.snippet(call);
        // What stands on the left side of the equation does not count.
        let right = match text.split_once('=') {
            Some((left, right)) if !left.contains('(') => right,
            _ => text,
        };
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        if !right.split(|c| !is_part(c)).any(|word| word == name) {
            return None;
        }
        let first = match (data.ty.dtype, data.ty.shape.is_scalar()) {
            (DType::Num, true) => "0.0".to_owned(),
            (DType::Num, false) => format!("zeros({})", data.ty.shape),
            (DType::Int, true) => "0".to_owned(),
            (DType::Bool, true) => "false".to_owned(),
            (DType::Int | DType::Bool, false) => return None,
        };
        let (line, _) = self.sources.line_column(call.file, call.start);
        Some(format!(
            "for the value of the cycle before, write `({first} fby {name})` in place of `{name}` in line {line}"
        ))
    }

    /// The variable of this level that has the value of a variable.
    fn own(&self, name: &str) -> Option<Var> {
        let mut v = self.flat.vars.ids().find(|v| self.flat.vars[*v].name.as_deref() == Some(name))?;
        for _ in 0..self.flat.vars.len() {
            if self.flat.instance(v) == Some(&*self.path) {
                return Some(v);
            }
            let is_copy =
                |rhs: &Rhs| matches!(rhs, Rhs::Apply { op: Op::Copy, args } if args.first() == Some(&v));
            let inner = self.flat.instance(v)?;
            // Not the inputs of another instance, into which it is copied, too.
            let leaves = |v: Var| self.flat.instance(v).is_some_and(|outer| inner.starts_with(outer));
            v = self.flat.equations.iter().find(|e| is_copy(&e.rhs) && leaves(e.lhs))?.lhs;
        }
        None
    }

    /// A help with the declared shape of a variable in place of the numbers of this run.
    fn with_names(&self, help: &str) -> String {
        let own = |v: &Var| self.flat.instance(*v) == Some(&*self.path);
        for data in self.flat.vars.ids().filter(own).map(|v| &self.flat.vars[v]) {
            let Some(name) = data.name.as_deref().and_then(|name| name.rsplit('.').next()) else { continue };
            let written = format!("(zeros({}) fby {name})", data.ty.shape);
            if let Some(shape) = help.contains(&written).then(|| self.shape(data, name)).flatten() {
                return help.replace(&written, &format!("(zeros({shape}) fby {name})"));
            }
        }
        help.to_owned()
    }

    /// The shape that a variable is declared with in the head of its node.
    fn shape(&self, data: &VarData, name: &str) -> Option<&str> {
        let text = self.sources.text(data.span.file);
        let end = usize::try_from(data.span.end).ok()?;
        let head = text.get(..end)?.rfind("node ")?;
        let declared = format!("{name}: num [");
        let is_whole = |at: &usize| {
            let before = text.get(head..*at).and_then(|before| before.chars().next_back());
            before.is_some_and(|c| !c.is_alphanumeric() && c != '_')
        };
        let places = text.get(head..)?.match_indices(&declared).map(|(at, _)| head + at);
        let at = places
            .take_while(|at| !text.get(head + 1..*at).is_some_and(|t| t.contains("\nnode ")))
            .find(is_whole)?;
        let shape = text.get(at + declared.len() - 1..)?;
        let shape = shape.get(..=shape.find(']')?)?;
        let sizes: Vec<&str> = shape.trim_matches(['[', ']']).split(',').map(str::trim).collect();
        let fits = |(size, written): (&usize, &&str)| {
            written.parse().is_ok_and(|n: usize| n == *size) || written.parse::<usize>().is_err()
        };
        (sizes.len() == data.ty.shape.rank() && data.ty.shape.dims().iter().zip(&sizes).all(fits))
            .then_some(shape)
    }
}
