//! Device copies of host tensors that are arguments of many calls, such as parameters that are not trained.

use std::sync::{Arc, Weak};

use indexmap::IndexMap;
use rml_backend::{Backend, Buffer, Failure};
use rml_ir::{Tensor, Value};

/// The number of copies that are kept before copies of dropped tensors are removed.
const FEW: usize = 64;

/// Device copies, by the address of their tensor. The weak reference prevents the address from being used for another
/// tensor.
#[derive(Debug)]
pub(super) struct Uploads {
    copies: IndexMap<usize, (Weak<Tensor>, Arc<dyn Buffer>)>,
    limit: usize,
}

impl Default for Uploads {
    fn default() -> Self {
        Self { copies: IndexMap::new(), limit: FEW }
    }
}

impl Uploads {
    /// The copy of a tensor; made at the first call.
    pub(super) fn get(
        &mut self,
        tensor: &Arc<Tensor>,
        backend: &dyn Backend,
    ) -> Result<Arc<dyn Buffer>, Failure> {
        let address = Arc::as_ptr(tensor).addr();
        if let Some((_, buffer)) = self.copies.get(&address) {
            return Ok(Arc::clone(buffer));
        }
        if self.copies.len() >= self.limit {
            self.copies.retain(|_, (tensor, _)| tensor.strong_count() > 0);
            self.limit = FEW.max(2 * self.copies.len());
        }
        let buffer = backend.upload(&Value::Tensor(Arc::clone(tensor)))?;
        self.copies.insert(address, (Arc::downgrade(tensor), Arc::clone(&buffer)));
        Ok(buffer)
    }
}
