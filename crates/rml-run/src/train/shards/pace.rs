//! How long steps take, and whether they are long enough to be divided among processes.

use std::time::Duration;

/// How many steps are measured.
const STEPS: u32 = 100;

/// The times of the first steps.
#[derive(Debug, Default)]
pub(super) struct Pace {
    steps: u32,
    computing: Duration,
    exchanging: Duration,
}

impl Pace {
    /// Adds a step: when its gradients were computed, and when they were exchanged, after its beginning.
    pub(super) fn add(&mut self, computed: Duration, exchanged: Duration) {
        self.steps = self.steps.saturating_add(1);
        if self.steps <= STEPS {
            self.computing += computed;
            self.exchanging += exchanged.saturating_sub(computed);
        }
    }

    /// After the measured steps: a note, if exchanges took longer than computing.
    pub(super) fn note(&self) -> Option<String> {
        if self.steps != STEPS || self.exchanging <= self.computing {
            return None;
        }
        let per_step = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3 / f64::from(STEPS));
        Some(format!(
            "a step waits longer for the other processes ({}) than it computes ({}): a larger batch, fewer processes, or several runs side by side (`--runs`) use the machines better",
            per_step(self.exchanging),
            per_step(self.computing),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_waits_more_than_it_computes_is_noted_once() {
        let noted = |computed, exchanged| {
            let mut pace = Pace::default();
            let add = |_| {
                pace.add(Duration::from_micros(computed), Duration::from_micros(exchanged));
                pace.note()
            };
            (0..3 * STEPS).filter_map(add).collect::<Vec<_>>()
        };
        assert_eq!(noted(30, 60), Vec::<String>::new());
        let [note] = &noted(30, 2030)[..] else { panic!("one note") };
        assert!(note.contains("(2.00 ms)") && note.contains("(0.03 ms)"), "{note}");
    }
}
