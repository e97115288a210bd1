//! What all functions on a device share.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rml_backend::Failure;
use xla::{PjRtBuffer, PjRtClient, PjRtLoadedExecutable};

use crate::compile::{Compiled, compile_text};
use crate::error::failure;
use crate::lower;

/// One device.
pub(crate) struct Device {
    pub(crate) client: PjRtClient,
    pub(crate) name: String,
    /// Functions by their text.
    pub(crate) functions: Mutex<BTreeMap<String, Arc<Compiled>>>,
    /// The function that copies a tensor, by its type.
    copies: Mutex<BTreeMap<String, Arc<PjRtLoadedExecutable>>>,
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Device {
    pub(crate) fn new(client: PjRtClient, name: String) -> Self {
        Self { client, name, functions: Mutex::default(), copies: Mutex::default() }
    }

    /// A copy of a tensor of that type (as the text writes it).
    pub(crate) fn copy(&self, ty: &str, buffer: &PjRtBuffer) -> Result<PjRtBuffer, Failure> {
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        let program = match copies.get(ty) {
            Some(program) => program.clone(),
            None => {
                let program = Arc::new(compile_text(&self.client, &lower::identity(ty))?);
                copies.insert(ty.to_owned(), program.clone());
                program
            }
        };
        let mut results = program.execute_b(&[buffer]).map_err(|e| failure(&e))?;
        let copy = results.pop().and_then(|mut of_device| of_device.pop());
        copy.ok_or_else(|| Failure::call("XLA: a copy has no result"))
    }
}
