//! The state that all functions on a device share.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rml_backend::Failure;

use crate::compile::Compiled;
use crate::ffi::{Client, Program};
use crate::programs::Programs;

/// The most programs of routines that are kept; those that were used last are kept.
const KEPT: usize = 256;

/// One device.
pub(crate) struct Device {
    pub(crate) client: Arc<Client>,
    pub(crate) name: String,
    pub(crate) programs: Programs,
    /// Functions by their text.
    pub(crate) functions: Mutex<BTreeMap<String, Arc<Compiled>>>,
    /// The programs of routines by their text, in the order of their last use.
    routines: Mutex<Vec<(String, Arc<Program>)>>,
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Device {
    pub(crate) fn new(client: Arc<Client>, name: String, programs: Programs) -> Self {
        Self { client, name, programs, functions: Mutex::default(), routines: Mutex::default() }
    }

    /// The program for the text of a routine; it is loaded or compiled if it is not kept.
    pub(crate) fn routine(&self, text: &str) -> Result<Arc<Program>, Failure> {
        let mut routines = self.routines.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match routines.iter().position(|(known, _)| known == text) {
            Some(at) => routines.remove(at),
            None => (text.to_owned(), Arc::new(self.programs.window(text)?)),
        };
        if routines.len() == KEPT {
            routines.remove(0);
        }
        let compiled = Arc::clone(&found.1);
        routines.push(found);
        Ok(compiled)
    }
}
