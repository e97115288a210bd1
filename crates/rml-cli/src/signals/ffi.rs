//! The inherited disposition of a signal, which only the C library reports.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

/// Whether the signal is ignored.
pub(super) fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the new action is null, so the disposition does not change; the old one is written to `action`, which is
    // large enough for it.
    let asked = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: zeros are a valid `sigaction` (numbers and an optional function), whether the call wrote it or not.
    let action = unsafe { action.assume_init() };
    asked == 0 && action.sa_sigaction == libc::SIG_IGN
}
