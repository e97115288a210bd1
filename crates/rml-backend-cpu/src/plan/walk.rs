//! Walks over operands of several shapes at once, row by row.

/// A loop, and how far the result and each operand move on in it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Dim {
    pub(super) n: usize,
    pub(super) step: Steps,
}

/// Distances in elements: of the result, and of three operands. They wrap, so that a walk may go backwards.
pub(super) type Steps = [usize; 4];

/// How an operand of rows is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Laid {
    /// Row after row.
    Whole,
    /// The same row, for all.
    Row,
    /// One element for each row.
    Column,
}

/// Loops around rows.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Walk {
    pub(super) outer: Vec<Dim>,
    /// The innermost loop.
    pub(super) row: Dim,
}

impl Walk {
    /// The walk over `dims`, with the strides of the result and its operands. In a row of a `plain` walk, the result
    /// moves on by one element, and an operand by one or not at all.
    pub(super) fn new(dims: &[usize], strides: [&[usize]; 4], plain: bool) -> Self {
        let one = Dim { n: 1, step: [0; 4] };
        if dims.contains(&0) {
            return Self { outer: Vec::new(), row: Dim { n: 0, ..one } };
        }
        let mut loops: Vec<Dim> = Vec::new();
        for (axis, n) in dims.iter().enumerate().filter(|(_, n)| **n > 1) {
            let dim = Dim { n: *n, step: strides.map(|s| s.get(axis).copied().unwrap_or(0)) };
            match loops.last_mut() {
                Some(last) if (0..4).all(|i| last.step[i] == dim.n.wrapping_mul(dim.step[i])) => {
                    *last = Dim { n: last.n * dim.n, step: dim.step };
                }
                _ => loops.push(dim),
            }
        }
        let fits = |d: &Dim| d.step[0] == 1 && d.step[1..].iter().all(|s| *s <= 1);
        match loops.pop() {
            Some(row) if !plain || fits(&row) => Self { outer: loops, row },
            Some(row) => {
                loops.push(row);
                Self { outer: loops, row: one }
            }
            None => Self { outer: loops, row: one },
        }
    }

    /// Whether there is one element only.
    pub(super) fn is_scalar(&self) -> bool {
        self.outer.is_empty() && self.row.n == 1
    }

    /// How the result (0) or an operand is stored, if that is the same at all of `ticks` ticks, which are `tick` apart.
    pub(super) fn laid(&self, i: usize, ticks: usize, tick: Steps) -> Option<Laid> {
        let ([rows], row) = (&self.outer[..], &self.row) else { return None };
        let is = |step: usize, far: usize| {
            row.step[i] == step && rows.step[i] == far && (ticks == 1 || tick[i] == far * rows.n)
        };
        let all = [(Laid::Whole, is(1, row.n)), (Laid::Row, is(1, 0)), (Laid::Column, is(0, 1))];
        all.into_iter().find_map(|(laid, is)| is.then_some(laid))
    }

    /// Calls `f` with the places of each row, for `ticks` ticks from `base` on that are `tick` apart.
    #[inline]
    pub(super) fn each<E>(
        &self,
        ticks: usize,
        base: Steps,
        tick: Steps,
        f: &mut impl FnMut(Steps, Dim) -> Result<(), E>,
    ) -> Result<(), E> {
        if ticks == 1 {
            return rows(&self.outer, self.row, base, f);
        }
        let joins = |d: Dim| (0..4).all(|i| tick[i] == d.n.wrapping_mul(d.step[i]));
        match self.outer.split_first() {
            None if self.row.n == 1 && tick[0] == 1 && tick[1..].iter().all(|s| *s <= 1) => {
                f(base, Dim { n: ticks, step: tick })
            }
            None if joins(self.row) => f(base, Dim { n: self.row.n * ticks, ..self.row }),
            Some((first, rest)) if joins(*first) => {
                steps(Dim { n: first.n * ticks, ..*first }, base, &mut |at| rows(rest, self.row, at, f))
            }
            _ => steps(Dim { n: ticks, step: tick }, base, &mut |at| rows(&self.outer, self.row, at, f)),
        }
    }
}

fn rows<E>(
    outer: &[Dim],
    row: Dim,
    at: Steps,
    f: &mut impl FnMut(Steps, Dim) -> Result<(), E>,
) -> Result<(), E> {
    match outer {
        [] => f(at, row),
        [dim] => steps(*dim, at, &mut |at| f(at, row)),
        [dim, inner @ ..] => steps(*dim, at, &mut |at| rows_dyn(inner, row, at, f)),
    }
}

/// Keeps the recursion out of the instances of closures.
fn rows_dyn<E>(
    outer: &[Dim],
    row: Dim,
    at: Steps,
    f: &mut dyn FnMut(Steps, Dim) -> Result<(), E>,
) -> Result<(), E> {
    match outer {
        [] => f(at, row),
        [dim, inner @ ..] => steps(*dim, at, &mut |at| rows_dyn(inner, row, at, f)),
    }
}

fn steps<E>(dim: Dim, mut at: Steps, f: &mut impl FnMut(Steps) -> Result<(), E>) -> Result<(), E> {
    for _ in 0..dim.n {
        f(at)?;
        for (at, step) in at.iter_mut().zip(dim.step) {
            *at = at.wrapping_add(step);
        }
    }
    Ok(())
}

/// The strides of dense data.
pub(super) fn dense(dims: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; dims.len()];
    for axis in (1..dims.len()).rev() {
        strides[axis - 1] = strides[axis] * dims[axis];
    }
    strides
}

/// The strides that repeat what has shape `dims` to the shape `wide`, to which it broadcasts.
pub(super) fn stretched(dims: &[usize], strides: &[usize], wide: &[usize]) -> Vec<usize> {
    let missing = wide.len().saturating_sub(dims.len());
    let own = dims.iter().zip(strides).map(|(d, stride)| if *d == 1 { 0 } else { *stride });
    std::iter::repeat_n(0, missing).chain(own).collect()
}
