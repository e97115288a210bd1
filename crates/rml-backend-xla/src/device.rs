//! What all functions on a device share.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use xla::PjRtClient;

use crate::compile::Compiled;

/// One device.
pub(crate) struct Device {
    pub(crate) client: PjRtClient,
    pub(crate) name: String,
    /// Functions by their text.
    pub(crate) functions: Mutex<BTreeMap<String, Arc<Compiled>>>,
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Device {
    pub(crate) fn new(client: PjRtClient, name: String) -> Self {
        Self { client, name, functions: Mutex::default() }
    }
}
