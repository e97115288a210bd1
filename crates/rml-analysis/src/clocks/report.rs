//! Explains a disagreement: which two clocks must be equal in an equation, where each of them comes from, and how to
//! correct the program.

use rml_base::codes::analysis::{CLOCK_DYNAMIC, CLOCK_MISMATCH};
use rml_base::{Diagnostic, Span};
use rml_ir::Sample;
use rml_ir::flat::{Flat, Rhs, Var, around};

use super::Clocks;
use super::constraint::Constraint;
use super::infer::{Inferred, Origin, Term, TermId};
use super::mismatch::{Kind, Mismatch};
use super::show::{Names, infix};

/// Writes the diagnostics of one program.
pub(super) struct Reporter<'a> {
    pub(super) flat: &'a Flat,
    pub(super) constraints: &'a [Constraint],
    pub(super) inferred: &'a Inferred,
    pub(super) clocks: &'a Clocks,
}

/// One of the two clocks of a disagreement.
struct Side {
    var: Var,
    term: TermId,
}

/// The label at the outermost call around an equation, if both clocks that disagree in the equation come from outside
/// that call.
pub const CALLED: &str = "called here with both clocks";

/// The origin of a clock.
struct Reason {
    span: Span,
    text: String,
    /// The path of the instance that contains the origin.
    instance: String,
}

impl Reporter<'_> {
    /// How variables are named in the report of a disagreement.
    fn names(&self, mismatch: &Mismatch) -> Names<'_> {
        Names::within(self.flat, &self.instance(mismatch).unwrap_or_default())
    }

    pub(super) fn sampling(&self, names: &Names<'_>, cond: Var, positive: bool) -> String {
        let equal: Vec<Var> = self.flat.vars.ids().filter(|v| self.clocks.are_same(*v, cond)).collect();
        names.sampling(names.best(&equal).unwrap_or(cond), positive)
    }

    pub(super) fn error(&self, mismatch: &Mismatch) -> Diagnostic {
        let mut diagnostic = self.describe(mismatch, Diagnostic::error(CLOCK_MISMATCH, self.title(mismatch)));
        if let Some(witness) = mismatch.witness.as_ref().filter(|w| !w.is_empty()) {
            let names = self.names(mismatch);
            let values = witness.iter().map(|(v, value)| format!("`{}` is {value}", names.of(*v)));
            let values: Vec<String> = values.collect();
            diagnostic = diagnostic.note(format!("they differ where {}", values.join(" and ")));
        }
        diagnostic
    }

    pub(super) fn warning(&self, mismatch: &Mismatch) -> Diagnostic {
        let title = format!("it is not known before the run whether {}", self.question(mismatch));
        let note = match self.constraints[mismatch.constraint].claim {
            Some(_) => {
                "the simulator does not check declared clocks, only those of the inputs of the node that runs"
            }
            None => "the simulator checks it in every cycle",
        };
        self.describe(mismatch, Diagnostic::warning(CLOCK_DYNAMIC, title)).note(note)
    }

    fn sides(&self, mismatch: &Mismatch) -> [Side; 2] {
        match mismatch.kind {
            Kind::Together(a, b) => [a, b].map(|var| Side { var, term: self.inferred.of[var] }),
            Kind::Sample(s) => {
                let own = self.inferred.of[s.var];
                let asked = self.inferred.sampled(self.inferred.of[s.cond], s).unwrap_or(own);
                [Side { var: s.var, term: own }, Side { var: s.cond, term: asked }]
            }
        }
    }

    fn rhs(&self, mismatch: &Mismatch) -> Option<&Rhs> {
        self.constraints[mismatch.constraint].equation.map(|e| &self.flat.equations[e].rhs)
    }

    fn title(&self, mismatch: &Mismatch) -> String {
        let [a, b] = self.sides(mismatch);
        let target = self.constraints[mismatch.constraint].target;
        let names = self.names(mismatch);
        let name = |v: Var| format!("`{}`", names.of(v));
        match (mismatch.kind, self.rhs(mismatch)) {
            (Kind::Sample(s), Some(Rhs::Merge { .. })) => format!(
                "{} is not present exactly where {} is {}, as this `merge` asks",
                name(s.var),
                name(s.cond),
                s.positive
            ),
            (Kind::Sample(s), _) if self.constraints[mismatch.constraint].claim.is_some() => format!(
                "{} is declared `when {}`, but it is present on `{}`",
                name(s.var),
                names.sampling(s.cond, s.positive).replacen(" on ", "", 1),
                self.clock(&names, a.term)
            ),
            (Kind::Sample(s), _) => {
                format!("{} is not present exactly where {} is {}", name(s.var), name(s.cond), s.positive)
            }
            (_, Some(Rhs::Apply { op, .. })) if b.var != target => {
                let sign = infix(op).or(op.surface()).unwrap_or(op.name());
                format!("the operands of `{sign}` are on different clocks")
            }
            (_, Some(Rhs::If { .. })) => "the parts of this `if` are on different clocks".to_owned(),
            (_, Some(Rhs::When { .. })) => {
                format!("{} is sampled by {}, which is on another clock", name(b.var), name(a.var))
            }
            _ => format!("{} and {} are on different clocks", name(a.var), name(b.var)),
        }
    }

    fn question(&self, mismatch: &Mismatch) -> String {
        let names = self.names(mismatch);
        let name = |v: Var| format!("`{}`", names.of(v));
        match mismatch.kind {
            Kind::Together(a, b) => format!("{} and {} are always present together", name(a), name(b)),
            Kind::Sample(s) => {
                format!("{} is always present exactly where {} is {}", name(s.var), name(s.cond), s.positive)
            }
        }
    }

    fn describe(&self, mismatch: &Mismatch, diagnostic: Diagnostic) -> Diagnostic {
        let constraint = &self.constraints[mismatch.constraint];
        let sides = self.sides(mismatch);
        let names = self.names(mismatch);
        let remark = match mismatch.kind {
            Kind::Together(a, b) => format!(
                "`{}` is on `{}`, `{}` on `{}`",
                names.of(a),
                self.clock(&names, sides[0].term),
                names.of(b),
                self.clock(&names, sides[1].term)
            ),
            Kind::Sample(s) => format!(
                "expected `{}` on `{}`, found `{}`",
                names.of(s.var),
                self.clock(&names, sides[1].term),
                self.clock(&names, sides[0].term)
            ),
        };
        let reasons: Vec<Reason> = sides.iter().filter_map(|side| self.reason(&names, side)).collect();
        // For an argument, the call has a label already.
        let is_of_argument = constraint.claim.is_some_and(|span| span != constraint.span);
        let wrong_call = self.wrong_call(mismatch, &reasons).filter(|_| !is_of_argument);
        let mut diagnostic = diagnostic.label(constraint.span, remark);
        if let Some(span) = constraint.claim.filter(|span| *span != constraint.span) {
            diagnostic = diagnostic.label(span, "its clock is declared here");
        }
        if let Some(call) = wrong_call {
            diagnostic = diagnostic.label(call, CALLED);
        }
        for reason in reasons {
            if diagnostic.labels.iter().all(|l| l.span != reason.span) {
                diagnostic = diagnostic.label(reason.span, reason.text);
            }
        }
        if let Some(instance) = self.instance(mismatch) {
            let text = format!("in the instance `{instance}`");
            match self.flat.call(&instance).filter(|c| diagnostic.labels.iter().all(|l| l.span != *c)) {
                Some(call) => diagnostic = diagnostic.label(call, text),
                None => diagnostic = diagnostic.note(text),
            }
        }
        if let Some(help) = self.conditions_differ(&names, &sides) {
            diagnostic = diagnostic.help(help);
        }
        let fix = self.fix(mismatch, &sides);
        diagnostic.help(if wrong_call.is_some() { format!("{fix}, here or where it is called") } else { fix })
    }

    /// A clock as text.
    fn clock(&self, names: &Names<'_>, term: TermId) -> String {
        let (root, path) = self.inferred.path(term);
        let root = match self.inferred.terms[root] {
            Term::Unknown(v) => format!("the clock of {}", names.of(v)),
            Term::Base | Term::On { .. } => "base".to_owned(),
        };
        path.iter().fold(root, |text, (cond, positive)| text + &self.sampling(names, *cond, *positive))
    }

    /// The origin of a clock: the sampling that made it, or else the input from which it was derived, or else a
    /// variable without a driver.
    fn reason(&self, names: &Names<'_>, side: &Side) -> Option<Reason> {
        let clock = self.clock(names, side.term);
        if let Some(maker) = self.inferred.makers[side.term] {
            let constraint = &self.constraints[maker];
            let made = constraint.samples.iter().find(|s| self.inferred.of[s.var] == side.term);
            let made = made.map_or(side.var, |s| s.var);
            let how = match constraint.equation {
                None => "is declared to be",
                Some(_) => "is put",
            };
            let text = format!("here `{}` {how} on `{clock}`", names.of(made));
            return Some(Reason { span: constraint.span, text, instance: self.instance_of(constraint) });
        }
        let mut v = side.var;
        for _ in 0..self.flat.vars.len() {
            let is_input = self.flat.inputs.iter().any(|i| i.var == v && i.clock.is_none());
            let origin = if is_input { Origin::Input } else { self.inferred.origin[v] };
            let text = match origin {
                Origin::Constraint { from, .. } => {
                    v = from;
                    continue;
                }
                Origin::Input => format!("`{}` has no declared clock, so it is on `base`", names.of(v)),
                Origin::Nobody => {
                    format!("nothing decides when `{}` is present, so it is on `base`", names.of(v))
                }
                Origin::Itself => format!("when `{}` is present depends on itself alone", names.of(v)),
            };
            let name = self.flat.vars[v].name.as_deref().unwrap_or_default();
            return Some(Reason { span: self.flat.vars[v].span, text, instance: around(name).to_owned() });
        }
        None
    }

    /// The path of the instance that contains a constraint; empty in the root.
    fn instance_of(&self, constraint: &Constraint) -> String {
        let samples = constraint.samples.iter().map(|s| s.var);
        let mut vars = constraint.together.iter().copied().chain(samples).chain([constraint.target]);
        let name = vars.find_map(|v| self.flat.vars[v].name.as_deref());
        name.map_or("", around).to_owned()
    }

    /// The instance that contains an equation, unless it is the root.
    fn instance(&self, mismatch: &Mismatch) -> Option<String> {
        Some(self.instance_of(&self.constraints[mismatch.constraint])).filter(|path| !path.is_empty())
    }

    /// The outermost call around an equation inside which neither of the two clocks arises. That call is wrong.
    fn wrong_call(&self, mismatch: &Mismatch, reasons: &[Reason]) -> Option<Span> {
        let mut instance = self.instance(mismatch)?;
        let mut wrong = None;
        let arises_in = |r: &Reason, instance: &str| {
            r.instance.strip_prefix(instance).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        while !instance.is_empty() && !reasons.iter().any(|r| arises_in(r, &instance)) {
            wrong = self.flat.call(&instance).or(wrong);
            instance = around(&instance).to_owned();
        }
        wrong
    }

    /// The condition of an adjoint, if one side is on the clock of that condition.
    fn condition(&self, side: &Side) -> Option<Var> {
        let (_, path) = self.inferred.path(side.term);
        let is_bp = |v: &Var| self.flat.vars[*v].name.as_deref().is_some_and(|name| name.ends_with(".bp"));
        path.last().map(|(cond, _)| *cond).filter(is_bp)
    }

    /// The error that a call of an adjoint is given a gradient although its condition is `false`.
    pub(super) fn off(&self, mismatch: &Mismatch) -> Option<Diagnostic> {
        let sides = self.sides(mismatch);
        let conditions = [self.condition(&sides[0])?, self.condition(&sides[1])?];
        let truths = conditions.map(|condition| self.truth(condition));
        let off = match truths {
            [Some(false), Some(true)] => conditions[0],
            [Some(true), Some(false)] => conditions[1],
            _ => return None,
        };
        let call = self.flat.vars[off].name.as_deref()?.split('.').next()?;
        let (name, _) = call.rsplit_once('_').filter(|(name, _)| name.starts_with("diff_"))?;
        let what = format!("`{name}` takes no gradient, since its condition is `false`, and is given one");
        Some(
            Diagnostic::error(CLOCK_MISMATCH, what)
                .label(self.flat.call(call)?, "its gradient is present in every cycle, and taken in none")
                .help("write `true` in place of `false`: gradients are taken in the cycles in which the condition is true"),
        )
    }

    /// The help if the two sides are on the clocks of the conditions of two adjoints, and one of these conditions is a
    /// constant.
    fn conditions_differ(&self, names: &Names<'_>, sides: &[Side; 2]) -> Option<String> {
        let (a, b) = (self.condition(&sides[0])?, self.condition(&sides[1])?);
        let (first, second) = (self.truth(a), self.truth(b));
        if first == second {
            return None;
        }
        let value =
            |truth: Option<bool>| truth.map_or_else(|| "a condition".to_owned(), |t| format!("`{t}`"));
        let (first, second) = (value(first), value(second));
        // A gradient that another adjoint returns has a condition next to it.
        let adjoint = |v: Var, other: &str| {
            let name = self.flat.vars[v].name.as_deref()?;
            let (of, _) = name.split('.').next()?.strip_prefix("diff_")?.rsplit_once('_')?;
            Some(format!(
                "the gradient that comes from `diff_{of}` is there in some cycles only: name their condition, too, as in `o, bpx, dx = diff_{of}(..)`, and pass `bpx` in place of {other}"
            ))
        };
        let named = match (first.as_str(), second.as_str()) {
            ("`true`", "a condition") => adjoint(b, &first),
            ("a condition", "`true`") => adjoint(a, &second),
            _ => None,
        };
        named.or_else(|| Some(format!(
            "`{}` is {first}, and `{}` is {second}: pass the same `bp` to both calls, so that one propagates gradients where the other takes them",
            names.of(a),
            names.of(b)
        )))
    }

    /// The value of a condition that is the same in all cycles.
    pub(super) fn truth(&self, mut v: Var) -> Option<bool> {
        for _ in 0..self.flat.vars.len() {
            match &self.flat.equations.iter().find(|e| e.lhs == v)?.rhs {
                Rhs::Const(id) => return self.flat.consts[*id].value().and_then(rml_ir::Value::as_bool),
                Rhs::Apply { op: rml_ir::op::Op::Copy, args } => v = *args.first()?,
                _ => return None,
            }
        }
        None
    }

    fn fix(&self, mismatch: &Mismatch, sides: &[Side; 2]) -> String {
        let names = self.names(mismatch);
        if let Kind::Sample(Sample { var, cond, positive }) = mismatch.kind {
            let condition = names.sampling(cond, positive).replacen(" on ", "", 1);
            let constraint = &self.constraints[mismatch.constraint];
            return match self.rhs(mismatch) {
                _ if constraint.claim.is_some_and(|span| span != constraint.span) => {
                    format!("give an argument that is present `when {condition}`, or change the declaration")
                }
                _ if constraint.claim.is_some() => {
                    format!("define it by what is present `when {condition}`, or change the declaration")
                }
                Some(Rhs::Merge { .. }) if self.inferred.of[var] == self.inferred.of[cond] => {
                    format!("write `{} when {condition}`", names.operand_of(var))
                }
                Some(Rhs::Merge { .. }) => format!(
                    "bring this branch to the clock of `{}` and sample it by `{condition}`",
                    names.of(cond)
                ),
                _ => format!("use `{}` only where `{condition}`", names.of(var)),
            };
        }
        if let Some(merge) = self.merged(mismatch, &names) {
            return format!("`merge` chooses between values of different clocks: write `{merge}`");
        }
        if let Some(help) = self.sampled_already(mismatch, &names) {
            return help;
        }
        let ((root_a, a), (root_b, b)) =
            (self.inferred.path(sides[0].term), self.inferred.path(sides[1].term));
        if let (Some((cond, one)), Some((other_cond, other))) = (a.last(), b.last())
            && one != other
            && self.clocks.are_same(*cond, *other_cond)
            && let Some(merge) = self.unsampled(*cond, &names)
        {
            return merge;
        }
        if root_a == root_b {
            for (short, long, side) in [(&a, &b, &sides[0]), (&b, &a, &sides[1])] {
                if long.len() > short.len() && long.starts_with(short) {
                    return self.sample(&names, side.var, &long[short.len()..]);
                }
            }
        }
        "bring both to one clock, with `when` or `merge`".to_owned()
    }

    /// The help for a `when` whose value is already present only where its condition holds.
    fn sampled_already(&self, mismatch: &Mismatch, names: &Names<'_>) -> Option<String> {
        let Some(Rhs::When { value, cond, .. }) = self.rhs(mismatch) else { return None };
        let condition = self.sampling(names, *cond, true);
        let (_, path) = self.inferred.path(self.inferred.of[*value]);
        if !path.iter().any(|(c, positive)| self.sampling(names, *c, *positive) == condition) {
            return None;
        }
        let condition = condition.replacen(" on ", "", 1);
        let is_own = self.inferred.makers[self.inferred.of[*value]] == Some(mismatch.constraint);
        let literal = self.literal(*value, 4).map(|v| names.of(v));
        let value = names.of(*value);
        if is_own {
            let part = literal.map(|text| format!(", such as `{text} when {condition}` for `{text}`"));
            return Some(format!(
                "`{value}` is computed from what this `when` samples: leave out `when {condition}`, and sample a part of it{}",
                part.unwrap_or_default()
            ));
        }
        Some(format!("`{value}` is present only where `{condition}` is true: leave out `when {condition}`"))
    }

    /// A literal from which a value is computed, within its expression.
    fn literal(&self, v: Var, depth: usize) -> Option<Var> {
        let depth = depth.checked_sub(1)?;
        let equation = self.flat.equations.iter().find(|e| e.lhs == v)?;
        if let Rhs::Const(k) = &equation.rhs {
            return self.flat.consts[*k].text.is_some().then_some(v);
        }
        let mut operands = Vec::new();
        equation.rhs.for_each_operand(|v| operands.push(v));
        let mut unnamed = operands.into_iter().filter(|v| self.flat.vars[*v].name.is_none());
        unnamed.find_map(|v| self.literal(v, depth))
    }

    /// The `merge` that was meant by an `if`, if one of its branches is sampled by the condition.
    fn merged(&self, mismatch: &Mismatch, names: &Names<'_>) -> Option<String> {
        let Some(Rhs::If { cond, then, other }) = self.rhs(mismatch) else { return None };
        let is_constant =
            |v: Var| self.flat.equations.iter().any(|e| e.lhs == v && matches!(e.rhs, Rhs::Const(_)));
        let sampled = |var: Var, positive: bool| {
            let (root, own) = self.inferred.path(self.inferred.of[var]);
            let (of_cond, outer) = self.inferred.path(self.inferred.of[*cond]);
            let by_it = own.last().is_some_and(|(c, p)| self.clocks.are_same(*c, *cond) && *p == positive);
            root == of_cond && by_it && own[..own.len() - 1] == outer[..]
        };
        if !sampled(*then, true) && !sampled(*other, false) {
            return None;
        }
        let branch = |var: Var, positive: bool| {
            let text = names.operand_of(var);
            match sampled(var, positive) || is_constant(var) {
                true => text,
                false => format!("({text} when {})", names.sampling(*cond, positive).replacen(" on ", "", 1)),
            }
        };
        Some(format!("merge {} {} {}", names.operand_of(*cond), branch(*then, true), branch(*other, false)))
    }

    /// The help for a `merge` by a condition if one operand is computed instead of sampled.
    fn unsampled(&self, by: Var, names: &Names<'_>) -> Option<String> {
        let found = self.flat.equations.iter().find_map(|e| match &e.rhs {
            Rhs::Merge { cond, on_true, on_false } if self.clocks.are_same(*cond, by) => {
                let computed = |v: Var| {
                    let own = self.flat.equations.iter().find(|e| e.lhs == v);
                    own.is_some_and(|e| matches!(e.rhs, Rhs::Apply { .. }))
                };
                (computed(*on_true) && computed(*on_false)).then_some((*cond, *on_true, *on_false))
            }
            _ => None,
        });
        let (cond, a, b) = found?;
        let (c, a, b) = (names.operand_of(cond), names.operand_of(a), names.operand_of(b));
        Some(format!(
            "`merge` takes each operand only in its own cycles; of what is computed in all cycles, write `if {c} then {a} else {b}`, or `merge {c} ({a} when {c}) ({b} when not {c})`"
        ))
    }

    /// Whether the program samples a variable by a condition.
    fn samples(&self, v: Var, cond: Var) -> bool {
        let is_sample = |e: &rml_ir::flat::Equation| matches!(e.rhs, Rhs::When { value, cond: c, .. } if value == v && self.clocks.are_same(c, cond));
        self.flat.equations.iter().any(is_sample)
    }

    /// The help to bring a variable to a slower clock.
    fn sample(&self, names: &Names<'_>, v: Var, path: &[(Var, bool)]) -> String {
        let whens = path
            .iter()
            .map(|(cond, positive)| self.sampling(names, *cond, *positive).replacen(" on ", " when ", 1));
        let whens: String = whens.collect();
        let text = format!("sample `{}`: `{}{whens}`", names.of(v), names.operand_of(v));
        let is_constant = self.inferred.origin[v] != Origin::Input
            && self.flat.equations.iter().any(|e| e.lhs == v && matches!(e.rhs, Rhs::Const(_)));
        // The condition itself, and variables that it samples elsewhere, keep their clocks.
        let is_fixed = path.iter().any(|(cond, _)| self.clocks.are_same(*cond, v) || self.samples(v, *cond));
        match self.inferred.origin[v] {
            Origin::Input if is_fixed && path.iter().any(|(cond, _)| self.clocks.are_same(*cond, v)) => text,
            Origin::Input if !is_fixed => {
                format!("{text}, or declare it so, `{}: {}{whens}`", names.of(v), self.flat.vars[v].ty)
            }
            _ if is_constant && self.flat.vars[v].name.is_some() => {
                format!("{text}; a named constant has one clock, a literal has its own at each use")
            }
            _ => text,
        }
    }
}
