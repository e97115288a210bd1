//! Equations that check a property: `assert "name" c;`

use std::collections::BTreeSet;

use super::{Eq, Equation, Flat, Rhs, Var};

/// How many equations are followed to see what decides a property.
const MAX_PARTS: usize = 64;

impl Flat {
    /// The equations that check a property, but for those that are known to hold in every cycle.
    pub fn assertions(&self) -> impl Iterator<Item = &Equation> {
        let is_checked = |e: &&Equation| !matches!(e.rhs, Rhs::Const(_));
        self.equations.iter().filter(|e| self.vars[e.lhs].asserts.is_some()).filter(is_checked)
    }

    /// Of an equation that checks a property: the variable that is 1 where the property does not hold, and the
    /// variables that the text names and that decide it, in the order in which they are read. `None` of other
    /// equations.
    ///
    /// The compiler names variables too: what a `match` or the state of an automaton samples, and the conditions that
    /// it samples by. What these are computed from stands in their place. The state of an automaton counts as named.
    pub fn decided_by(&self, eq: Eq) -> Option<(Var, Vec<Var>)> {
        let Equation { lhs, rhs: Rhs::Apply { args, .. }, .. } = &self.equations[eq] else { return None };
        self.vars[*lhs].asserts.as_ref()?;
        let position = *args.get(1)?;
        let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
        let mut todo = vec![position];
        while let Some(var) = todo.pop().filter(|_| seen.len() < MAX_PARTS) {
            if !seen.insert(var) {
                continue;
            }
            let of = self.equations.iter().find(|e| e.lhs == var);
            if self.vars[var].name.is_some() {
                match of.filter(|e| e.span == self.vars[var].span).map(|e| &e.rhs) {
                    None => found.push(var),
                    Some(Rhs::When { value, .. }) => todo.push(*value),
                    Some(Rhs::Apply { args, .. }) => todo.extend(args.iter().rev()),
                    Some(_) if self.is_flag(var) => {}
                    Some(_) => found.push(var),
                }
                continue;
            }
            let mut parts = Vec::new();
            of.into_iter().for_each(|e| e.rhs.for_each_operand(|v| parts.push(v)));
            todo.extend(parts.into_iter().rev());
        }
        Some((position, found))
    }

    /// Whether a variable that the compiler names belongs to an automaton, and is not its state: it says what restarts.
    fn is_flag(&self, var: Var) -> bool {
        let data = &self.vars[var];
        let mut parts = data.name.iter().flat_map(|name| name.split('.'));
        data.cases.is_none() && parts.any(|part| part.starts_with("automaton"))
    }
}
