//! What `cargo xtask peers` measures: groups of cases, each a job at a number of threads, and the sides that do it.

/// How a group is measured and shown.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Kind {
    /// Milliseconds of a step.
    Step,
    /// Median and 99th percentile of a short step, in microseconds.
    Latency,
    /// Millions of steps of carts in a second.
    Carts,
    /// Nanoseconds of a cycle, by the length of the window.
    Cycle,
    /// Seconds of whole processes.
    Process,
}

/// What must hold of the loss that sides state.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Check {
    /// It is that of the first side, but for that part of it.
    Same(f64),
    /// It is at least that.
    AtLeast(f64),
    /// The side compares its outputs by itself, or there are none.
    Nothing,
}

/// A group of cases, chosen by its name; its table stands in the page between marks.
pub(super) struct Group {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) check: Check,
    pub(super) cases: Vec<Case>,
}

/// A job on some threads, and who does it.
#[derive(Clone)]
pub(super) struct Case {
    pub(super) job: &'static str,
    /// What a row calls it.
    pub(super) title: &'static str,
    pub(super) threads: usize,
    pub(super) sides: &'static [&'static str],
}

const SAME: Check = Check::Same(super::TOLERANCE);

/// This project, on each of its backends; the first makes what the others take.
const OWN: &str = "rml";
const ALL: &[&str] = &[OWN, "rml xla", "rml torch", "jax", "torch", "torch cells", "keras"];
const CELLS: &[&str] = &[OWN, "jax", "torch", "torch cells"];
const NOT_FUSED: &[&str] = &[OWN, "jax", "torch cells"];
const TWO_THREADS: &[&str] = &[OWN, "jax", "torch"];
const LSTM_TWO_THREADS: &[&str] = &[OWN, "rml xla", "rml torch", "jax", "torch"];
const BESIDE_JAX: &[&str] = &[OWN, "jax"];
const CARTS: &[&str] = &[OWN, "rml xla", "rml torch", "jax"];

const LSTM: [(&str, &str); 4] = [
    ("lstm:32,28,28,128", "LSTM of 128 units, 32 sequences of 28 vectors of 28"),
    ("lstm:1,64,16,64", "LSTM of 64 units, 1 sequence of 64 vectors of 16"),
    ("lstm:32,128,64,256", "LSTM of 256 units, 32 sequences of 128 vectors of 64"),
    ("lstm:64,8,8,64", "LSTM of 64 units, 64 sequences of 8 vectors of 8"),
];
const OTHERS: [(&str, &str); 6] = [
    ("gru:32,28,28,128", "GRU of 128 units, 32 sequences of 28 vectors of 28"),
    ("gru:1,64,16,64", "GRU of 64 units, 1 sequence of 64 vectors of 16"),
    ("bi_lstm:32,28,28,128", "bidirectional LSTM of 2 x 128 units, 32 sequences of 28 vectors of 28"),
    ("bi_lstm:1,64,16,64", "bidirectional LSTM of 2 x 64 units, 1 sequence of 64 vectors of 16"),
    (
        "peephole:32,28,28,128",
        "LSTM with peepholes and layer normalisation, 128 units, 32 sequences of 28 vectors of 28",
    ),
    (
        "peephole:1,64,16,64",
        "LSTM with peepholes and layer normalisation, 64 units, 1 sequence of 64 vectors of 16",
    ),
];
const LENGTHS: [(&str, &str); 5] = [
    ("lstm:1,100,4,8", "100"),
    ("lstm:1,1000,4,8", "1,000"),
    ("lstm:1,10000,4,8", "10,000"),
    ("lstm:1,100000,4,8", "100,000"),
    ("lstm:1,1000000,4,8", "1,000,000"),
];

/// The product whose speed the others are compared with, and who computes it.
pub(super) const PRODUCT: &str = "product:1024,1024,1024";
pub(super) const PRODUCT_SIDES: [&str; 3] = [OWN, "jax", "torch"];
/// The job of which memory is stated.
pub(super) const MEMORY: &str = "lstm:32,128,64,256";
/// The seeds of whole processes.
pub(super) const SEEDS: usize = 5;
/// Updates of a step, steps of an update and carts, as the programs have them.
pub(super) const CART_STEPS: f64 = 100.0 * 32.0 * 16.0;

/// All groups, in the order of the page.
pub(super) fn groups() -> Vec<Group> {
    let case = |(job, title), threads, sides| Case { job, title, threads, sides };
    let others = |threads, fused, not_fused| {
        OTHERS.map(|c| case(c, threads, if c.0.starts_with("peephole") { not_fused } else { fused }))
    };
    let lstm = LSTM.map(|c| case(c, 1, ALL)).into_iter().chain(LSTM.map(|c| case(c, 2, LSTM_TWO_THREADS)));
    let cells = others(1, CELLS, NOT_FUSED).into_iter();
    let cells = cells.chain(others(2, TWO_THREADS, NOT_FUSED).into_iter().step_by(2));
    let group = |name, kind, check, cases| Group { name, kind, check, cases };
    let single = |job, title, sides| vec![case((job, title), 1, sides)];
    let scalars = single("scalars:60,614", "gradient through 60 scalar states, 614 cycles", BESIDE_JAX);
    let stream = single("stream:16,64", "", &[OWN, "c", "jax", "torch"]);
    let lengths = LENGTHS.map(|c| case(c, 1, BESIDE_JAX)).to_vec();
    vec![
        group("lstm", Kind::Step, SAME, lstm.collect()),
        group("cells", Kind::Step, SAME, cells.collect()),
        group("scalars", Kind::Step, SAME, scalars),
        group(
            "windows",
            Kind::Latency,
            SAME,
            single("scalars:1,1", "", &[OWN, "rml xla", "rml torch", "jax"]),
        ),
        group("stream", Kind::Latency, Check::Nothing, stream),
        group("cartpole", Kind::Carts, Check::AtLeast(60.0), single("cartpole:16", "", CARTS)),
        group("digits", Kind::Process, Check::Nothing, single("digits", "", TWO_THREADS)),
        group("length", Kind::Cycle, SAME, lengths),
    ]
}

/// The sizes of a job.
pub(super) fn sizes(job: &str) -> Vec<f64> {
    let sizes = job.split_once(':').map_or("", |(_, sizes)| sizes);
    sizes.split(',').filter_map(|n| n.parse().ok()).collect()
}

/// The multiplications and additions of a step, where products are most of it: forward, backward to states and weights,
/// and the classes.
pub(super) fn operations(job: &str) -> Option<f64> {
    let gates = match job.split(':').next()? {
        "lstm" | "peephole" => 4.0,
        "gru" => 3.0,
        // both directions
        "bi_lstm" => 8.0,
        "product" => return sizes(job).into_iter().reduce(|a, b| a * b).map(|n| 2.0 * n),
        _ => return None,
    };
    let [b, t, d, h] = sizes(job)[..] else { return None };
    let (ticks, width) = if job.starts_with("bi_lstm") { (t, 2.0 * h) } else { (1.0, h) };
    Some(b * t * 2.0 * gates * h * (2.0 * (d + h) + h) + 6.0 * b * ticks * width * 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_lstm_has_four_gates() {
        let lstm = 32.0 * 28.0 * 8.0 * 128.0 * (2.0 * (28.0 + 128.0) + 128.0) + 6.0 * 32.0 * 128.0 * 10.0;
        assert_eq!(operations("lstm:32,28,28,128"), Some(lstm));
        assert_eq!(operations("product:2,3,4"), Some(48.0));
        assert_eq!(operations("scalars:60,614"), None);
        assert_eq!(operations("lstm:32"), None);
    }

    #[test]
    fn the_first_side_makes_what_the_others_take() {
        for group in groups() {
            for case in group.cases {
                assert_eq!(case.sides[0], OWN, "{}", case.job);
            }
        }
    }
}
