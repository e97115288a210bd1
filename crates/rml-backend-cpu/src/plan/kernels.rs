//! Kernels: how values are computed, for one tick or for many at once.

use rml_ir::op::{Number, Op, eval};
use rml_ir::{Positions, Shape, Value};

use super::Suspect;
use super::buffer::Buffer;
use super::code::{Added, Arg, Kernel};
use super::store::{Store, ranges};

/// Where a kernel puts its values: from an offset of a buffer on, that many elements for each of the ticks `from..to`.
pub(super) struct Out<'a, N> {
    pub(super) buffer: &'a mut Buffer<N>,
    pub(super) at: usize,
    pub(super) width: usize,
    pub(super) from: usize,
    pub(super) to: usize,
}

impl<N: Number> Out<'_, N> {
    fn nums(&mut self) -> &mut [N] {
        let len = self.width * (self.to - self.from);
        &mut self.buffer.nums_mut()[self.at..self.at + len]
    }

    fn copy(&mut self, (buffer, offset): (&Buffer<N>, usize)) {
        self.buffer.copy(self.at, buffer, offset, self.width * (self.to - self.from));
    }
}

impl<N: Number> Store<N> {
    /// Computes a kernel.
    pub(super) fn run(&self, kernel: &Kernel, out: &mut Out<'_, N>) -> Result<(), Suspect> {
        if let Kernel::Sum { init, backward, terms } = kernel {
            return self.sum(*init, *backward, terms, out.nums());
        }
        if self.at_once(kernel, out) {
            return Ok(());
        }
        let Out { at, width, from, to, .. } = *out;
        for t in from..to {
            let at = at + (t - from) * width;
            let mut out = Out { buffer: &mut *out.buffer, at, width, from: t, to: t + 1 };
            if !self.at_once(kernel, &mut out) {
                self.tick(kernel, &mut out, t)?;
            }
        }
        Ok(())
    }

    /// Computes a kernel for all ticks at once; false if it cannot.
    fn at_once(&self, kernel: &Kernel, out: &mut Out<'_, N>) -> bool {
        let (from, to, width) = (out.from, out.to, out.width);
        let one = to - from == 1;
        let even =
            |arg: &Arg| one || !arg.moves() || matches!(arg, Arg::Tape { width: w, .. } if *w == width);
        match kernel {
            Kernel::Unary(op, x) if one || x.moves() => {
                N::unary(op, self.nums(*x, from, to), out.nums());
            }
            Kernel::Binary(op, [a, b]) if even(a) && even(b) => {
                N::binary(op, self.nums(*a, from, to), self.nums(*b, from, to), out.nums());
            }
            Kernel::Product([m, k, n], [a, b]) if one || a.moves() && !b.moves() => {
                let size = (m * (to - from), *k, *n);
                N::product(size, self.nums(*a, from, to), false, self.nums(*b, from, to), false, out.nums());
            }
            Kernel::Copy(x) if one || x.moves() => out.copy(self.at(*x, from)),
            Kernel::Columns { x, columns, start, len } if one || x.moves() => {
                let rows = self.nums(*x, from, to).chunks_exact(*columns);
                let out = out.nums().chunks_exact_mut(*len);
                out.zip(rows).for_each(|(out, row)| out.copy_from_slice(&row[*start..*start + *len]));
            }
            Kernel::Join { parts } if one || parts.iter().all(|(x, _)| x.moves()) => {
                let columns: usize = parts.iter().map(|(_, len)| len).sum();
                let out = out.nums();
                let mut start = 0;
                for (x, len) in parts {
                    let rows = self.nums(*x, from, to).chunks_exact(*len);
                    let out = out.chunks_exact_mut(columns);
                    out.zip(rows).for_each(|(out, row)| out[start..start + len].copy_from_slice(row));
                    start += len;
                }
            }
            Kernel::Widen { x, columns, start, len } if one || x.moves() => {
                let rows = self.nums(*x, from, to).chunks_exact(*len);
                let out = out.nums();
                out.fill(N::default());
                let out = out.chunks_exact_mut(*columns);
                out.zip(rows).for_each(|(out, row)| out[*start..*start + *len].copy_from_slice(row));
            }
            _ => return false,
        }
        true
    }

    /// Computes a kernel for one tick.
    fn tick(&self, kernel: &Kernel, out: &mut Out<'_, N>, t: usize) -> Result<(), Suspect> {
        match kernel {
            Kernel::Select([cond, then, other]) => {
                out.copy(self.at(if self.truth(*cond, t) { *then } else { *other }, t));
            }
            Kernel::Restart { ends, init, next } => {
                let ended = ends.iter().any(|e| self.truth(*e, t));
                out.copy(self.at(if ended { *init } else { *next }, t));
            }
            Kernel::Read { register, init } => match init {
                Some(init) if !self.set[*register] => out.copy(self.at(*init, t)),
                _ => out.copy((&self.registers[*register], 0)),
            },
            Kernel::General { op, args } => out.buffer.set(out.at, &self.general(op, args, t)?),
            _ => {}
        }
        Ok(())
    }

    fn general(&self, op: &Op, args: &[(Arg, Shape)], t: usize) -> Result<Value, Suspect> {
        match args {
            [(x, shape)] => Ok(eval(op, &[&self.value(*x, shape, t)], self.precision)?),
            [(a, left), (b, right)] => {
                let (a, b) = (self.value(*a, left, t), self.value(*b, right, t));
                Ok(eval(op, &[&a, &b], self.precision)?)
            }
            _ => {
                let args: Vec<Value> = args.iter().map(|(a, shape)| self.value(*a, shape, t)).collect();
                Ok(eval(op, &args.iter().collect::<Vec<_>>(), self.precision)?)
            }
        }
    }

    fn sum(
        &self,
        init: Option<Arg>,
        backward: bool,
        terms: &[(Positions, Added)],
        out: &mut [N],
    ) -> Result<(), Suspect> {
        match init {
            Some(init) => out.copy_from_slice(self.nums(init, 0, 1)),
            None => out.fill(N::default()),
        }
        let mut runs: Vec<(usize, usize, &Added)> = Vec::new();
        for (at, added) in terms {
            runs.extend(ranges(*at, self.ticks).map(|(from, to)| (from, to, added)));
        }
        runs.sort_unstable_by_key(|(from, ..)| *from);
        if backward {
            runs.reverse();
        }
        for (from, to, added) in runs {
            match added {
                Added::Outer([m, k, n], [a, b]) if a.moves() && b.moves() => {
                    let size = (*m, k * (to - from), *n);
                    N::product(size, self.nums(*a, from, to), true, self.nums(*b, from, to), true, out);
                }
                Added::Rows(x) | Added::Copy(x) if x.moves() => {
                    for row in self.nums(*x, from, to).chunks_exact(out.len().max(1)) {
                        out.iter_mut().zip(row).for_each(|(sum, x)| *sum += *x);
                    }
                }
                _ => {
                    for i in from..to {
                        let t = if backward { to - 1 - (i - from) } else { i };
                        self.add(added, t, out)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn add(&self, added: &Added, t: usize, out: &mut [N]) -> Result<(), Suspect> {
        match added {
            Added::Outer([m, k, n], [a, b]) => {
                N::product((*m, *k, *n), self.nums(*a, t, t + 1), true, self.nums(*b, t, t + 1), true, out);
            }
            Added::Copy(x) | Added::Rows(x) => {
                for row in self.nums(*x, t, t + 1).chunks_exact(out.len().max(1)) {
                    out.iter_mut().zip(row).for_each(|(sum, x)| *sum += *x);
                }
            }
            Added::General { op, args } => {
                let data = self.general(op, args, t)?.to_data();
                if let Some(x) = N::of(&data) {
                    out.iter_mut().zip(x).for_each(|(sum, x)| *sum += *x);
                }
            }
        }
        Ok(())
    }
}
