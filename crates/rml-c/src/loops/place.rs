//! The addresses of elements in loops, and the parts of a dialect that the rest of the program defines.

use rml_ir::DType;
use rml_nest::Fold;

use crate::Scalars;

/// The differences between the C programs that contain loops.
pub trait CDialect {
    /// The operators of scalars.
    fn scalars(&self) -> &Scalars;
    /// The type of elements in memory.
    fn element(&self, dtype: DType) -> &'static str;
    /// The type of variables.
    fn variable(&self, dtype: DType) -> &'static str;
    /// Declares an array of `n` elements.
    fn array(&mut self, name: &str, dtype: DType, n: usize) -> String;
    /// Whether a function folds a row of terms, so that the terms have to be collected first; otherwise each term is
    /// folded in the loop that computes it.
    fn has_row(&self, by: Fold) -> bool;
    /// The fold of a row of `n` terms from the address `x` on, with stride `apart`, as an expression.
    fn row(&self, by: Fold, dtype: DType, x: &str, n: usize, apart: isize) -> String;
    /// Whether there is a function `chains`, which computes adjacent chains of elements in memory.
    fn has_chains(&self) -> bool;
    /// The C text for the address of the flag to set where a position is outside of its axis.
    fn outside(&self) -> &'static str;
}

/// A place in memory: an element of an array, and the elements after it.
#[derive(Clone, PartialEq, Debug)]
pub struct Base {
    /// The array, or the variable.
    pub name: String,
    /// The index of the first element, as a sum; empty if it is 0.
    pub first: String,
    /// Whether it is a variable with a single element.
    pub is_variable: bool,
    /// Where elements wrap around, if they do. Then they have no address that others are a distance from.
    pub around: Option<WrapAround>,
}

/// An array whose first element follows its last one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WrapAround {
    /// How many elements it has.
    pub len: usize,
    /// How many elements a row has. Rows are not divided by the end of the array.
    pub row: usize,
}

/// The elements that a load reads in one of its variants.
#[derive(Clone, PartialEq, Debug)]
pub enum LoadElements {
    /// The same number everywhere.
    Same(String),
    /// The numbers 0, 1, 2 and so on.
    Counted,
    /// Elements in memory.
    At(Base),
}

/// The elements that a load reads: its variants with their conditions. The last one has no condition.
pub type Place = Vec<(String, LoadElements)>;

impl Base {
    /// From the first element of an array on.
    pub fn array(name: impl Into<String>) -> Base {
        Base { name: name.into(), first: String::new(), is_variable: false, around: None }
    }

    /// The same, `more` elements further on.
    #[must_use]
    pub fn after(&self, more: usize) -> Base {
        Base {
            first: if more == 0 { self.first.clone() } else { self.sum(&more.to_string()) },
            ..self.clone()
        }
    }

    /// The element at an index, which is a sum.
    pub fn at(&self, index: &str) -> String {
        match self.around {
            _ if self.is_variable => self.name.clone(),
            Some(_) => self.in_row(index, "0"),
            None => format!("{}[{}]", self.name, self.sum(index)),
        }
    }

    /// The element at an index of the row at another index, in an array that wraps around.
    pub(super) fn in_row(&self, row: &str, index: &str) -> String {
        let len = self.around.map_or(0, |around| around.len);
        let index = if index == "0" { String::new() } else { format!(" + {index}") };
        format!("{}[rml_around({}, {len}){index}]", self.name, self.sum(row))
    }

    /// The address of the element at an index, if others follow it.
    pub fn pointer(&self, index: &str) -> String {
        let index = self.sum(index);
        match index.as_str() {
            _ if self.is_variable => format!("&{}", self.name),
            "0" => self.name.clone(),
            _ => format!("{} + ({index})", self.name),
        }
    }

    fn sum(&self, index: &str) -> String {
        match (&*self.first, index) {
            ("", _) => index.to_owned(),
            (first, "0") => first.to_owned(),
            (first, _) => format!("{first} + {index}"),
        }
    }
}
