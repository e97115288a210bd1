//! Inputs and outputs as slices.

use rml_ir::op::Number;
use rml_ir::{DType, Value};

use super::arena::Arena;
use super::{Machine, only};

/// A type of elements in slices.
pub trait Element<N>: Copy + 'static {
    /// The corresponding type in programs.
    const DTYPE: DType;
    /// The elements of that type.
    #[doc(hidden)]
    fn all(arena: &Arena<N>) -> &[Self];
    /// The same, to be written.
    #[doc(hidden)]
    fn all_mut(arena: &mut Arena<N>) -> &mut [Self];
}

macro_rules! element {
    ($t:ty, $n:ty, $dtype:ident, $field:ident $(, $generic:ident)?) => {
        impl$(<$generic: Number>)? Element<$n> for $t {
            const DTYPE: DType = DType::$dtype;
            fn all(arena: &Arena<$n>) -> &[Self] {
                arena.$field.all()
            }
            fn all_mut(arena: &mut Arena<$n>) -> &mut [Self] {
                arena.$field.all_mut()
            }
        }
    };
}
element!(f32, f32, Num, nums);
element!(f64, f64, Num, nums);
element!(i64, N, Int, ints, N);
element!(bool, N, Bool, bools, N);

impl<N: Number> Machine<N> {
    /// Prepares for a window of that many ticks.
    pub fn begin_window(&mut self, ticks: usize) {
        self.bind(ticks);
    }

    /// Sets an input at successive ticks, from tick `t` on.
    ///
    /// # Panics
    /// If the input is of another type, or there are too many elements.
    pub fn write<T: Element<N>>(&mut self, input: usize, t: usize, elements: &[T]) {
        let ticks = self.bound.ticks;
        for given in self.code.inputs.iter().filter(|given| given.input == input) {
            let slot = self.code.slot(given.slot);
            assert!(slot.dtype == T::DTYPE, "an input of another type");
            let width = slot.width;
            assert!(elements.len() <= (ticks - t) * width, "elements of more ticks than the window has");
            if slot.per_tick {
                let at = self.bound.at(&self.code, given.slot, t);
                T::all_mut(&mut self.arena)[at..][..elements.len()].copy_from_slice(elements);
            } else if let Some(own) = only(given.place, ticks).checked_sub(t)
                && let Some(own) = elements.get(own * width..(own + 1) * width)
            {
                let at = self.bound.base(given.slot);
                T::all_mut(&mut self.arena)[at..][..width].copy_from_slice(own);
            }
        }
    }

    /// The value of an input at a tick of the window; none if nothing reads it there.
    pub fn input(&self, input: usize, t: usize) -> Option<Value> {
        let mut all = self.code.inputs.iter().filter(|given| given.input == input);
        let given = all
            .find(|given| self.code.slot(given.slot).per_tick || t == only(given.place, self.bound.ticks))?;
        let ty = &self.plan.inputs[input].1;
        Some(self.arena.value(ty.dtype, &ty.shape, self.bound.at(&self.code, given.slot, t)))
    }

    /// The elements of an output at a tick of the window that was run; none if it is absent.
    ///
    /// # Panics
    /// If the output is of another type.
    pub fn read<T: Element<N>>(&self, output: usize, t: usize) -> Option<&[T]> {
        let ty = &self.plan.outputs[output].ty;
        assert!(ty.dtype == T::DTYPE, "an output of another type");
        let (_, at) = self.taken(output, t)?;
        Some(&T::all(&self.arena)[at..][..ty.shape.len()])
    }
}
