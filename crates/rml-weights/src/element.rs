//! The elements of tensors of any type: gathers them into parameters and scatters them into tensors by tables of cells.

use rml_ir::Data;

use crate::cells::{Cell, Terms};

/// A type of elements.
pub(crate) trait Element: Copy + PartialEq {
    /// The elements of data of this type.
    fn view(data: &Data) -> Option<&[Self]>;
    /// The same, mutable.
    fn view_mut(data: &mut Data) -> Option<&mut Vec<Self>>;
    /// The element nearest to a number.
    fn of(number: f64) -> Self;
    /// The sum.
    fn plus(self, other: Self) -> Self;
    /// The difference.
    fn minus(self, other: Self) -> Self;
    /// Whether both have the same bits.
    fn same(self, other: Self) -> bool;
}

macro_rules! element {
    ($type:ty, $variant:ident, $of:expr, $plus:expr, $minus:expr, $same:expr) => {
        impl Element for $type {
            fn view(data: &Data) -> Option<&[Self]> {
                if let Data::$variant(v) = data { Some(v) } else { None }
            }
            fn view_mut(data: &mut Data) -> Option<&mut Vec<Self>> {
                if let Data::$variant(v) = data { Some(v) } else { None }
            }
            fn of(number: f64) -> Self {
                $of(number)
            }
            fn plus(self, other: Self) -> Self {
                $plus(self, other)
            }
            fn minus(self, other: Self) -> Self {
                $minus(self, other)
            }
            fn same(self, other: Self) -> bool {
                $same(self, other)
            }
        }
    };
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "a constant of a mapping is rounded to the type of the parameter"
)]
const _: () = {
    element!(f32, F32, |x| x as f32, |a, b| a + b, |a, b| a - b, |a: f32, b: f32| a.to_bits() == b.to_bits());
    element!(f64, F64, |x| x, |a, b| a + b, |a, b| a - b, |a: f64, b: f64| a.to_bits() == b.to_bits());
    element!(i64, Int, |x| x as i64, i64::saturating_add, i64::saturating_sub, |a, b| a == b);
    element!(bool, Bool, |x| x != 0.0, |a, b| a || b, |a: bool, b: bool| a && !b, |a, b| a == b);
};

/// The elements that the cells name: a single term is copied, several terms are added. Adding zero changes no bits, not
/// even the sign of a zero, so that gathering restores exactly what [`scatter`] divided.
pub(crate) fn gather<T: Element>(terms: &Terms, tensors: &[Option<Data>]) -> Vec<T> {
    let read = |cell: &Cell| match *cell {
        Cell::Nothing => None,
        Cell::Fill(value) | Cell::Into { value, .. } => Some(T::of(value)),
        Cell::At { tensor, element } => {
            let data = tensors.get(tensor as usize)?.as_ref()?;
            T::view(data)?.get(usize::try_from(element).ok()?).copied()
        }
    };
    let zero = T::of(0.0);
    let mut terms = terms.iter();
    let first = terms.next().map_or(&[][..], Vec::as_slice);
    let mut sums: Vec<Option<T>> = first.iter().map(read).collect();
    for term in terms {
        for (sum, cell) in sums.iter_mut().zip(term) {
            *sum = match (*sum, read(cell)) {
                (Some(a), Some(b)) if b == zero => Some(a),
                (Some(a), Some(b)) if a == zero => Some(b),
                (Some(a), Some(b)) => Some(a.plus(b)),
                (a, b) => a.or(b),
            };
        }
    }
    sums.into_iter().map(|s| s.unwrap_or(zero)).collect()
}

/// A tensor that is being written.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    /// The elements so far.
    pub(crate) data: Data,
    /// Which elements have been written.
    pub(crate) filled: Vec<bool>,
}

/// Why a parameter cannot be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    /// The mapping defines this element of the parameter as a constant, but it has another value.
    Constant(usize),
    /// This element of the parameter belongs in an element of this tensor that already has another value.
    Taken(usize, u32),
    /// This tensor has elements of another type.
    Type(u32),
}

/// Writes elements to the places in the cells. A sum is written to its first term; the other terms become zero.
pub(crate) fn scatter<T: Element>(
    elements: &[T],
    terms: &Terms,
    tensors: &mut [Written],
) -> Result<(), Refused> {
    for (i, &value) in elements.iter().enumerate() {
        let cells = terms.iter().map(|term| term[i]);
        let constant =
            cells.clone().filter_map(|cell| if let Cell::Fill(c) = cell { Some(T::of(c)) } else { None });
        let constant = constant.reduce(T::plus);
        let mut rest = constant.map_or(value, |c| value.minus(c));
        let mut given = false;
        for cell in cells {
            match cell {
                Cell::Nothing | Cell::Fill(_) => {}
                Cell::At { tensor, element } => {
                    put(&mut tensors[tensor as usize], element, rest, i, tensor)?;
                    (rest, given) = (T::of(0.0), true);
                }
                // added after everything else has been written
                Cell::Into { .. } => given = true,
            }
        }
        if !given && constant.is_some_and(|c| c != value) {
            return Err(Refused::Constant(i));
        }
    }
    Ok(())
}

fn put<T: Element>(
    tensor: &mut Written,
    element: u64,
    value: T,
    i: usize,
    number: u32,
) -> Result<(), Refused> {
    let at = usize::try_from(element).unwrap_or(usize::MAX);
    let data = T::view_mut(&mut tensor.data).ok_or(Refused::Type(number))?;
    if tensor.filled[at] && !data[at].same(value) {
        return Err(Refused::Taken(i, number));
    }
    data[at] = value;
    tensor.filled[at] = true;
    Ok(())
}

/// Adds the elements with [`Cell::Into`] to the tensors.
pub(crate) fn add<T: Element>(elements: &[T], terms: &Terms, tensors: &mut [Written]) -> Result<(), Refused> {
    for (i, &value) in elements.iter().enumerate() {
        for cell in terms.iter().map(|term| term[i]) {
            let Cell::Into { value: constant, tensor, element } = cell else { continue };
            let at = usize::try_from(element).unwrap_or(usize::MAX);
            let data = T::view_mut(&mut tensors[tensor as usize].data).ok_or(Refused::Type(tensor))?;
            data[at] = data[at].plus(value.minus(T::of(constant)));
        }
    }
    Ok(())
}
