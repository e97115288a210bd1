//! Functions that C lacks; a program contains those that it uses.
//!
//! Each table has for each function its name, the functions that it calls, and its text: `@` ends the name of a
//! function of `math.h`, and `{exp}` is the program's own function.

use std::cell::RefCell;
use std::collections::BTreeSet;

use rml_ir::Precision;

use crate::Math;
use crate::functions::{self, Entry};

mod arrays;
mod bits;
mod random;
mod scalars;

/// The functions that a program uses.
#[derive(Debug)]
pub(crate) struct Prelude {
    precision: Precision,
    math: Math,
    used: RefCell<BTreeSet<&'static str>>,
}

impl Prelude {
    pub(crate) fn new(precision: Precision, math: Math) -> Self {
        Self { precision, math, used: RefCell::default() }
    }

    /// An elementary function.
    pub(crate) fn math(&self, name: &str) -> String {
        let own = format!("rml_{name}");
        if self.math == Math::Own && self.find(&own).is_some() {
            return self.helper(&own).to_owned();
        }
        self.used.borrow_mut().insert(LIBRARY);
        match self.precision {
            Precision::F32 => format!("{name}f"),
            Precision::F64 => name.to_owned(),
        }
    }

    /// All tables, each function after those that it calls.
    fn tables(&self) -> impl Iterator<Item = &'static Entry> {
        let own = match self.math {
            Math::Own => functions::TABLE,
            Math::Library => functions::FROM_LIBRARY,
        };
        [bits::TABLE, own, scalars::TABLE, arrays::TABLE, random::TABLE].into_iter().flatten()
    }

    fn find(&self, name: &str) -> Option<&'static Entry> {
        self.tables().find(|(known, ..)| *known == name)
    }

    /// Marks a function of the table, and all functions that it calls, as used.
    pub(crate) fn helper(&self, name: &str) -> &'static str {
        let Some((name, needs, _)) = self.find(name) else {
            unreachable!("no helper is called {name}");
        };
        for need in *needs {
            match *need {
                LIBRARY => drop(self.used.borrow_mut().insert(LIBRARY)),
                own if own.starts_with("rml_") => drop(self.helper(own)),
                function => drop(self.math(function)),
            }
        }
        if (self.math, self.precision, *name) == (Math::Own, Precision::F64, "rml_fma") {
            self.used.borrow_mut().insert(LIBRARY);
        }
        self.used.borrow_mut().insert(name);
        name
    }

    /// The text of all used functions, after the type of numbers.
    pub(crate) fn text(&self) -> String {
        let used = self.used.borrow();
        let mut texts = String::new();
        for (name, _, text) in self.tables().filter(|(name, ..)| used.contains(name)) {
            let text = match (*name, self.math, self.precision) {
                ("rml_fma", Math::Own, Precision::F64) => functions::FMA_DOUBLE,
                _ => text,
            };
            let text = ["exp", "log", "sqrt", "sin", "cos"].iter().fold((*text).to_owned(), |text, name| {
                let own = if self.math == Math::Own { format!("rml_{name}") } else { format!("{name}@") };
                text.replace(&format!("{{{name}}}"), &own)
            });
            texts += &functions::in_precision(&text, self.precision);
            texts.push('\n');
        }
        texts
    }

    /// Whether `math.h` is needed.
    pub(crate) fn needs_library(&self) -> bool {
        self.used.borrow().contains(LIBRARY)
    }
}

/// The entry that marks a use of `math.h`.
const LIBRARY: &str = "math.h";
