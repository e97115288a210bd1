//! The driver compiles the text of a program, with the library that it imports, to a runnable form, and analyses it.
//!
//! A [`Source`] and [`Options`] go through the column of passes: [`compile`](compile()) gives the [`Program`] that
//! runs, a [`Unit`] both that and the analysis of a node, [`differentiable`] that of a gradient, [`differentiate`] an
//! adjoint as text, [`dump`](dump()) each stage as text. [`analyse`] and [`check_report`] say what is known without a
//! run, [`doc`] what nodes say about themselves. Nothing here runs a program over data.

mod adjoint;
mod analyse;
mod analysis;
mod batch;
mod check;
mod compile;
pub mod doc;
mod dump;
mod format;
mod front;
mod gradient;
mod inspect;
mod inspector;
mod interface;
mod kept;
mod library;
mod load;
mod lower;
mod names;
mod options;
mod origin;
mod probe;
mod program;
mod reach;
mod reduce;
mod report;
mod source;
mod stacked;
mod unit;

pub use adjoint::{Adjoint, adjoint, differentiate};
pub use analyse::{Unchecked, analyse, analyse_all, analyse_any_batch};
pub use analysis::{Analysis, RunFacts};
pub use compile::compile;
pub use dump::{Stage, dump};
pub use format::format;
pub use gradient::{Differentiable, differentiable};
pub use inspect::{Inspection, Survey, VariableName, survey};
pub use inspector::{Inspector, inspect};
pub use interface::{BATCH, Interface};
pub use library::{LIBRARY, PRELUDE};
pub use lower::{declared_parameters, unlearned, written_parameters};
pub use names::{ClassAxes, InputClasses, ValueNames};
pub use options::Options;
pub use program::Program;
pub use reduce::{keep_inputs, show_ends};
pub use report::{CheckReport, check, check_report};
pub use rml_analysis::Bounded;
pub use rml_elab::{Index, Meaning, NamePlace, NodePlace, Variable, VariableKind};
pub use rml_syntax::{is_keyword, keywords};
pub use source::{Source, enumerated_inputs, input_names, integer_inputs, interface, list_inputs};
pub use stacked::Stacked;
pub use unit::Unit;
