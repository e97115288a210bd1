//! The driver compiles the text of a program, with the parts of the library that it imports, to a runnable form, and
//! analyses it.
//!
//! A [`Source`] and [`Options`] go through the sequence of passes: [`compile`](compile()) returns the [`Program`] that
//! runs, a [`Unit`] both the program and the analysis of a node, [`differentiable`] the program of a gradient,
//! [`differentiate`] an adjoint as text, [`dump`](dump()) each stage as text. [`analyse`] and [`check_report`] return
//! the facts that are known without a run, [`doc`] the documentation of nodes. This crate does not run programs over
//! data.

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
pub use dump::{Stage, dump, dump_with};
pub use format::format;
pub use gradient::{Differentiable, differentiable};
pub use inspect::{Inspection, Survey, VariableName, survey};
pub use inspector::{Inspector, inspect};
pub use interface::{BATCH, DeclaredColumn, DeclaredColumns, Interface};
pub use library::{LIBRARY, PRELUDE};
pub use lower::{declared_parameters, unlearned, variables, written_parameters};
pub use names::{ClassAxes, InputClasses, ValueNames};
pub use options::Options;
pub use program::Program;
pub use reduce::{keep_inputs, prepare_inputs, show_ends};
pub use report::{CheckReport, check, check_report};
pub use rml_analysis::Bounded;
pub use rml_elab::{Index, Meaning, NamePlace, NodePlace, Variable, VariableKind};
pub use rml_syntax::{is_keyword, keywords};
pub use source::{
    Source, declared_columns, enumerated_inputs, input_names, integer_inputs, interface, list_inputs,
};
pub use stacked::Stacked;
pub use unit::{Sharded, Unit};
