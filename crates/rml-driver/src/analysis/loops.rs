//! The path of a loop without a delay through the user's own calls, and the delay that breaks it.

use rml_analysis::{CausalLoop, LoopStep, LoopText};
use rml_base::{Diagnostic, Sources, Span};
use rml_ir::flat::{Flat, Rhs, Var, VarData, around};
use rml_ir::op::Op;

use super::calls::Calls;
use crate::library::is_library;

/// The error about a loop of the program `run`, with the calls in the user's own text that are on the loop, and the
/// value to delay. `flat` is the same program with all variables.
pub(super) fn diagnostic(
    sources: &Sources,
    (flat, calls): (&Flat, &Calls),
    run: &Flat,
    found: &CausalLoop,
) -> Diagnostic {
    let name = |v: Var| run.vars[v].name.as_deref();
    let named = |step: &LoopStep| Some((name(step.of)?, name(step.needs)?));
    let steps: Vec<(&str, &str)> = found.steps().iter().filter_map(named).collect();
    let path = level(steps.iter().flat_map(|(of, needs)| [*of, *needs]));
    let level = Level { sources, flat, calls, path };
    let mut through: Vec<Span> = Vec::new();
    for call in steps.iter().filter_map(|(of, _)| level.call(of)) {
        if !through.contains(&call) && !found.steps().iter().any(|step| contains(step.span, call)) {
            through.push(call);
        }
    }
    let after_gradient = found.steps().iter().zip(&steps).find_map(|(step, (of, needs))| {
        let forward = !level.is_gradient(of) && level.is_gradient(needs);
        forward.then(|| level.read_at(level.call(of).unwrap_or(step.span), needs)).flatten()
    });
    let read = || steps.iter().rev().find_map(|(of, needs)| level.read(of, needs));
    let read = after_gradient.or_else(read);
    found.diagnostic(run, &LoopText { calls: through, read, flat, shape: &|path| level.shape(path) })
}

/// Whether a place is within another one.
fn contains(outer: Span, inner: Span) -> bool {
    outer.file == inner.file && outer.start <= inner.start && inner.end <= outer.end
}

/// The innermost instance that contains all of these variables.
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
    /// The instance called from this one that contains a variable; none for its own variables.
    fn callee<'n>(&self, name: &'n str) -> Option<&'n str> {
        let rest = match &*self.path {
            "" => around(name),
            path => around(name).strip_prefix(path)?.strip_prefix('.')?,
        };
        rest.split('.').next().filter(|part| !part.is_empty())
    }

    /// The place in the user's own text where the instance is called.
    fn call(&self, name: &str) -> Option<Span> {
        let callee = self.callee(name)?;
        let path = if self.path.is_empty() { callee.to_owned() } else { format!("{}.{callee}", self.path) };
        self.calls.get(&*path).copied().filter(|span| !is_library(self.sources, *span))
    }

    /// The variable of this level that a call reads and needs for `of`, and the line of the call.
    fn read(&self, of: &str, needs: &str) -> Option<(Var, usize)> {
        let call = self.call(of).filter(|_| self.callee(of) != self.callee(needs))?;
        self.read_at(call, needs)
    }

    /// The variable of this level that is a copy of `needs` and that an equation or call reads, and its line.
    fn read_at(&self, place: Span, needs: &str) -> Option<(Var, usize)> {
        let own = self.own(needs)?;
        let name = self.flat.vars[own].name.as_deref()?.rsplit('.').next()?;
        let text = self.sources.snippet(place);
        // Exclude the left side of the equation, where it is defined.
        let right = match text.split_once('=') {
            Some((left, right)) if !left.contains('(') => right,
            Some(_) | None => text,
        };
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let (line, _) = self.sources.line_column(place.file, place.start);
        right.split(|c| !is_part(c)).any(|word| word == name).then_some((own, line))
    }

    /// Whether a variable is the gradient of another one in an adjoint. A loop through a network and its gradient has a
    /// delay in the right place if it delays a gradient that enters the network as a value: any other delay pairs the
    /// values of a cycle with gradients of another cycle.
    fn is_gradient(&self, name: &str) -> bool {
        let (path, last) = name.rsplit_once('.').unwrap_or(("", name));
        let is_adjoint = path.rsplit('.').next().is_some_and(|part| part.starts_with("diff_"));
        let of = last.strip_prefix('d').map(|of| format!("{path}.{}", of.trim_end_matches(char::is_numeric)));
        is_adjoint && of.is_some_and(|of| self.named(&of).is_some())
    }

    fn named(&self, name: &str) -> Option<Var> {
        self.flat.vars.ids().find(|v| self.flat.vars[*v].name.as_deref() == Some(name))
    }

    /// The variable of this level that is a copy of a variable.
    fn own(&self, name: &str) -> Option<Var> {
        let mut v = self.named(name)?;
        for _ in 0..self.flat.vars.len() {
            if self.flat.instance(v) == Some(&*self.path) {
                return Some(v);
            }
            let is_copy =
                |rhs: &Rhs| matches!(rhs, Rhs::Apply { op: Op::Copy, args } if args.first() == Some(&v));
            let inner = self.flat.instance(v)?;
            // Exclude the inputs of other instances, which are copies, too.
            let leaves = |v: Var| self.flat.instance(v).is_some_and(|outer| inner.starts_with(outer));
            v = self.flat.equations.iter().find(|e| is_copy(&e.rhs) && leaves(e.lhs))?.lhs;
        }
        None
    }

    /// The declared shape of a variable of this level in the head of its node, or that of `x` for its gradient `dx`.
    fn shape(&self, path: &str) -> Option<&str> {
        let v = self.named(path)?;
        let name = path.rsplit('.').next().filter(|_| self.flat.instance(v) == Some(&*self.path))?;
        let data = &self.flat.vars[v];
        let names = std::iter::once(name).chain(name.strip_prefix('d'));
        names.filter_map(|name| self.declared(data, name)).next()
    }

    /// The shape after `name: num` in the head of the variable's node.
    fn declared(&self, data: &VarData, name: &str) -> Option<&str> {
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
