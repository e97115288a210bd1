//! Reduces a failing case: removes parts while the case fails in the same way.

use std::time::{Duration, Instant};

use rml_testkit::damage::tokens;

use crate::child::{Event, watch};
use crate::{FailureKind, Finding, FuzzInput, Target};

/// The maximum time for the reduction of a case.
const TIME: Duration = Duration::from_secs(20);
/// The maximum time of one run. A case that exceeds the limit of a campaign is not reduced, because every run would
/// take too long.
const ONE: Duration = Duration::from_secs(5);

/// A smaller case that fails in the same way, and its failure.
pub(crate) fn smallest(
    target: &Target,
    case: FuzzInput,
    finding: Finding,
) -> Result<(FuzzInput, Finding), String> {
    if finding.kind == FailureKind::Hang {
        return Ok((case, finding));
    }
    let mut now = Search { target, deadline: Instant::now() + TIME, case, finding };
    let mut before = usize::MAX;
    while now.case.bytes.len() < before && now.has_time() {
        before = now.case.bytes.len();
        now.by_target()?;
        if std::str::from_utf8(&now.case.bytes).is_ok() {
            now.without(|case| {
                case.as_text().split_inclusive('\n').map(|l| l.as_bytes().to_vec()).collect()
            })?;
            now.without(|case| tokens(&case.as_text()).into_iter().map(String::into_bytes).collect())?;
        } else {
            now.without(|case| case.bytes.iter().map(|b| vec![*b]).collect())?;
        }
    }
    Ok((now.case, now.finding))
}

struct Search<'t> {
    target: &'t Target,
    deadline: Instant,
    case: FuzzInput,
    finding: Finding,
}

impl Search<'_> {
    fn has_time(&self) -> bool {
        Instant::now() < self.deadline
    }

    /// Accepts the case if it fails in the same way; returns whether it does.
    fn takes(&mut self, case: FuzzInput) -> Result<bool, String> {
        let found = in_child(self.target, &case, ONE)?;
        let same = found.filter(|f| f.signature() == self.finding.signature());
        let taken = same.is_some();
        if let Some(finding) = same {
            (self.case, self.finding) = (case, finding);
        }
        Ok(taken)
    }

    /// Tries the smaller cases that the target suggests.
    fn by_target(&mut self) -> Result<(), String> {
        'again: while self.has_time() {
            for case in (self.target.smaller)(&self.case) {
                if self.has_time() && self.takes(case)? {
                    continue 'again;
                }
            }
            return Ok(());
        }
        Ok(())
    }

    /// Removes parts: first a half, then shorter and shorter sequences of parts.
    fn without(&mut self, parts: impl Fn(&FuzzInput) -> Vec<Vec<u8>>) -> Result<(), String> {
        let mut all = parts(&self.case);
        let mut size = all.len().div_ceil(2);
        while size > 0 && !all.is_empty() {
            let mut at = 0;
            while at < all.len() {
                if !self.has_time() {
                    return Ok(());
                }
                let mut fewer = all.clone();
                fewer.drain(at..(at + size).min(all.len()));
                if self.takes(FuzzInput::bytes(&self.case.extension, fewer.concat()))? {
                    all = fewer;
                } else {
                    at += size;
                }
            }
            size = if size == 1 { 0 } else { size.div_ceil(2) };
        }
        Ok(())
    }
}

/// The failure of a case, run in a separate process; `None` if it succeeds or takes longer than `time`.
pub(crate) fn in_child(target: &Target, case: &FuzzInput, time: Duration) -> Result<Option<Finding>, String> {
    let folder = tempfile::tempdir().map_err(|e| format!("cannot make a folder: {e}"))?;
    let path = folder.path().join(format!("case.{}", case.extension));
    std::fs::write(&path, &case.bytes).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    let args = ["check".to_owned(), target.name.to_owned(), path.display().to_string()];
    let mut found = None;
    watch(target, &args, Instant::now() + time, |event| {
        if let Event::Found(_, finding) = event {
            found = Some(finding);
        }
    })?;
    Ok(found)
}
