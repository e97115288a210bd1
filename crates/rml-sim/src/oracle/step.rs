//! The rule of each equation: what it adds to the cells of its variables in one cycle, given the whole table.

use rml_ir::Value;
use rml_ir::flat::{ConstId, Eq, Init, Rhs, Var, Window};
use rml_ir::op::{Op, eval};

use super::Oracle;
use rml_engine::Status;

/// The cells of one equation in one cycle, while its rule is applied. A variable that occurs twice has one cell.
pub(super) struct Cells(Vec<(Var, Status)>);

impl Cells {
    fn get(&self, v: Var) -> &Status {
        self.0.iter().find(|(w, _)| *w == v).map_or(&Status::Bottom, |(_, s)| s)
    }

    fn raise(&mut self, v: Var, status: &Status) {
        if let Some((_, s)) = self.0.iter_mut().find(|(w, _)| *w == v) {
            *s = s.join(status);
        }
    }

    fn raise_all(&mut self, status: &Status) {
        for (_, s) in &mut self.0 {
            *s = s.join(status);
        }
    }

    fn presence(&self) -> Status {
        self.0.iter().fold(Status::Bottom, |s, (_, x)| s.join(&x.presence()))
    }

    /// If one variable of the equation is an error, all of them are (ERROR-2).
    fn spread_errors(mut self) -> Cells {
        if self.0.iter().any(|(_, s)| matches!(s, Status::Error)) {
            self.raise_all(&Status::Error);
        }
        self
    }

    pub(super) fn into_cells(self) -> Vec<(Var, Status)> {
        self.0
    }
}

/// The result of a delay's walk along its clock.
enum Found {
    /// The neighbouring cycle in which the delay is present (or may be).
    Cycle(usize),
    /// No such cycle: the trace or the window begins or ends here.
    Boundary,
    /// Not known yet.
    Wait,
    /// A window end on the way is an error.
    Error,
}

impl Oracle<'_> {
    /// Applies the rule of an equation in cycle `n`.
    pub(super) fn step(&self, id: Eq, n: usize) -> Cells {
        let eq = &self.flat.equations[id];
        let o = eq.lhs;
        match &eq.rhs {
            Rhs::Const(k) => self.constant(o, *k, n),
            Rhs::Apply { op, args } => self.apply(o, op, args, n),
            Rhs::If { cond, then, other } => self.choice(o, [*cond, *then, *other], n),
            Rhs::When { value, cond } => self.when(o, *value, *cond, n),
            Rhs::Merge { cond, on_true, on_false } => self.merge(o, [*cond, *on_true, *on_false], n),
            Rhs::Fby { init, next, window } => {
                let found = self.walk_down(o, *window, n);
                let loaded = self.options.states.get(&id).cloned().map(Status::Value);
                self.delay(o, *next, Some(init), loaded, found, n)
            }
            Rhs::FbyBack { init, next, window } => {
                let found = self.walk_up(o, *window, n);
                self.delay(o, *next, Some(init), None, found, n)
            }
            Rhs::Post { next, window } => {
                let found = self.walk_up(o, *window, n);
                self.delay(o, *next, None, None, found, n)
            }
            Rhs::Param { init } => self.param(id, o, *init, n),
        }
    }

    fn cells(&self, n: usize, vars: impl IntoIterator<Item = Var>) -> Cells {
        let mut cells = Vec::new();
        for v in vars {
            if cells.iter().all(|(w, _)| *w != v) {
                cells.push((v, self.table[n][v].clone()));
            }
        }
        Cells(cells)
    }

    fn constant_value(&self, k: ConstId) -> Status {
        Status::Value(self.flat.value(k).clone())
    }

    /// CONST-1.
    fn constant(&self, o: Var, k: ConstId, n: usize) -> Cells {
        let mut d = self.cells(n, [o]);
        if d.get(o).is_present() || matches!(d.get(o), Status::Error) {
            d.raise(o, &self.constant_value(k));
        }
        d
    }

    /// APPLY-1 to APPLY-3.
    fn apply(&self, o: Var, op: &Op, args: &[Var], n: usize) -> Cells {
        let mut d = self.cells(n, args.iter().copied().chain([o]));
        let s = d.presence();
        let values: Option<Vec<Value>> = args.iter().map(|&x| d.get(x).value().cloned()).collect();
        if let (Status::Unknown, Some(values)) = (&s, values) {
            let operands: Vec<&Value> = values.iter().collect();
            let result = eval(op, &operands, self.flat.precision);
            d.raise(o, &result.map_or(Status::Unknown, Status::Value));
            return d.spread_errors();
        }
        d.raise_all(&s);
        d
    }

    /// IF-1, IF-2.
    fn choice(&self, o: Var, [cond, then, other]: [Var; 3], n: usize) -> Cells {
        let mut d = self.cells(n, [o, cond, then, other]);
        let s = d.presence();
        if let (Status::Unknown, Some(Value::Bool(c))) = (&s, d.get(cond).value()) {
            let selected = d.get(if *c { then } else { other }).clone();
            if selected.value().is_some() {
                d.raise(o, &selected);
                d.raise_all(&Status::Unknown);
                return d.spread_errors();
            }
        }
        d.raise_all(&s);
        d
    }

    /// WHEN-1 to WHEN-3.
    fn when(&self, o: Var, y: Var, c: Var, n: usize) -> Cells {
        let mut d = self.cells(n, [o, y, c]);
        match d.get(c).clone() {
            Status::Absent => d.raise_all(&Status::Absent),
            Status::Unknown => d.raise(y, &Status::Unknown),
            Status::Value(Value::Bool(true)) => {
                let value = d.get(y).join(&Status::Unknown);
                d.raise(o, &value);
                d.raise(y, &Status::Unknown);
            }
            Status::Value(_) => {
                d.raise(o, &Status::Absent);
                d.raise(y, &Status::Unknown);
            }
            Status::Bottom | Status::Error => {}
        }
        match d.get(y).clone() {
            Status::Absent => d.raise_all(&Status::Absent),
            Status::Unknown | Status::Value(_) => d.raise(c, &Status::Unknown),
            Status::Bottom | Status::Error => {}
        }
        if d.get(o).is_present() {
            d.raise_all(&Status::Unknown);
        }
        d.spread_errors()
    }

    /// MERGE-1 to MERGE-3.
    fn merge(&self, o: Var, [c, y, z]: [Var; 3], n: usize) -> Cells {
        let mut d = self.cells(n, [o, c, y, z]);
        match d.get(c).clone() {
            Status::Absent => d.raise_all(&Status::Absent),
            Status::Unknown => d.raise(o, &Status::Unknown),
            Status::Value(v) => {
                let (taken, left) = if matches!(v, Value::Bool(true)) { (y, z) } else { (z, y) };
                let value = d.get(taken).join(&Status::Unknown);
                d.raise(o, &value);
                d.raise(taken, &Status::Unknown);
                d.raise(left, &Status::Absent);
            }
            Status::Bottom | Status::Error => {}
        }
        if d.get(y).is_present() || d.get(z).is_present() {
            d.raise(c, &Status::Unknown);
        }
        match d.get(o).clone() {
            Status::Absent => d.raise_all(&Status::Absent),
            Status::Unknown | Status::Value(_) => d.raise(c, &Status::Unknown),
            Status::Bottom | Status::Error => {}
        }
        d.spread_errors()
    }

    /// PARAM-1.
    fn param(&self, id: Eq, o: Var, init: Var, n: usize) -> Cells {
        let mut d = self.cells(n, [o, init]);
        d.raise_all(&d.presence());
        if d.get(o).is_present() {
            let value = match self.options.states.get(&id) {
                Some(loaded) => Status::Value(loaded.clone()),
                None => d.get(init).clone(),
            };
            d.raise(o, &value);
        }
        d.spread_errors()
    }

    /// The common part of the delays: they share presence with their operand (DELAY-1), and the value comes from the
    /// neighbouring cycle (FBY-1 to FBY-3, BACK-1, BACK-2, POST-1).
    fn delay(
        &self,
        o: Var,
        y: Var,
        init: Option<&Init>,
        loaded: Option<Status>,
        found: Found,
        n: usize,
    ) -> Cells {
        let stream = if let Some(Init::Stream(i)) = init { Some(*i) } else { None };
        let mut d = self.cells(n, [o, y].into_iter().chain(stream));
        d.raise_all(&d.presence());
        if d.get(o).is_present() {
            let value = match found {
                Found::Cycle(m) => self.table[m][y].clone(),
                Found::Boundary => match (loaded, init) {
                    (Some(value), _) => value,
                    (None, Some(Init::Const(k))) => self.constant_value(*k),
                    (None, Some(Init::Stream(i))) => d.get(*i).clone(),
                    (None, None) => Status::Bottom,
                },
                Found::Wait => Status::Bottom,
                Found::Error => Status::Error,
            };
            if !matches!(value, Status::Absent) {
                d.raise(o, &value);
            }
        }
        d.spread_errors()
    }

    /// The latest cycle before `n` in which `o` is not absent, within the window (DELAY-2, WINDOW-3).
    fn walk_down(&self, o: Var, window: Option<Window>, n: usize) -> Found {
        for m in (0..n).rev() {
            match self.boundary_after(window, m) {
                Status::Value(Value::Bool(true)) => return Found::Boundary,
                Status::Error => return Found::Error,
                Status::Bottom => return Found::Wait,
                _ => {}
            }
            if !matches!(self.table[m][o], Status::Absent) {
                return Found::Cycle(m);
            }
        }
        Found::Boundary
    }

    /// The earliest cycle after `n` in which `o` is not absent, within the window (DELAY-2, WINDOW-3).
    fn walk_up(&self, o: Var, window: Option<Window>, n: usize) -> Found {
        for m in n..self.table.len() {
            match self.boundary_after(window, m) {
                Status::Value(Value::Bool(true)) => return Found::Boundary,
                Status::Error => return Found::Error,
                Status::Bottom => return Found::Wait,
                _ => {}
            }
            if m + 1 < self.table.len() && !matches!(self.table[m + 1][o], Status::Absent) {
                return Found::Cycle(m + 1);
            }
        }
        if self.options.closed { Found::Boundary } else { Found::Wait }
    }

    /// Whether there is a boundary after cycle `m`: a truth value, bottom while unknown, or an error (WINDOW-1,
    /// WINDOW-4).
    fn boundary_after(&self, window: Option<Window>, m: usize) -> Status {
        let (mut unknown, mut boundary, mut error) = (false, false, false);
        let mut at = window;
        while let Some(w) = at {
            match &self.table[m][self.flat.windows[w].end] {
                Status::Value(Value::Bool(true)) => boundary = true,
                Status::Value(_) | Status::Absent => {}
                Status::Bottom | Status::Unknown => unknown = true,
                Status::Error => error = true,
            }
            at = self.flat.windows[w].parent;
        }
        match (error, boundary, unknown) {
            (true, _, _) => Status::Error,
            (_, true, _) => Status::Value(Value::Bool(true)),
            (_, _, true) => Status::Bottom,
            _ => Status::Value(Value::Bool(false)),
        }
    }
}
