//! Runs one case: a panic is a finding and does not end the process.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use crate::{FailureKind, Finding, FuzzInput, Target};

thread_local! {
    /// The place of the last panic of this thread.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

static HOOK: Once = Once::new();

/// Stores the place of a panic instead of printing it.
fn keep_places() {
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            let place = info.location().map_or(String::new(), |l| format!("{}:{}", l.file(), l.line()));
            PLACE.with(|p| *p.borrow_mut() = place);
        }));
    });
}

/// The failure of a case, if any.
pub fn checked(target: &Target, case: &FuzzInput) -> Option<Finding> {
    keep_places();
    let found = match catch_unwind(AssertUnwindSafe(|| (target.check)(case))) {
        Ok(Ok(())) => return None,
        Ok(Err(message)) => (FailureKind::Wrong, message),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
            (FailureKind::Panic, format!("{}: {text}", PLACE.with(|p| p.borrow().clone())))
        }
    };
    Some(Finding { target: target.name.to_owned(), kind: found.0, message: found.1 })
}
