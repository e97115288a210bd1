//! Facts about a flat program that are known without running it, in side tables keyed by its ids. This crate also warns
//! about the [learning] of a program in normal form.

mod analyses;
mod bounds;
mod causality;
mod clocks;
mod conditions;
mod counters;
mod domains;
mod facts;
mod learning;
mod sums;
mod units;

pub use analyses::Analyses;
pub use bounds::{Bound, Bounds, Bytes, WaitKind, bound, bounds, size};
pub use causality::{
    CausalLoop, Causality, Cut, CutData, Direction, Distance, LateUpdate, Latency, LoopStep, LoopText,
    Recurrence, UndecidedReason, Wait, causality,
};
pub use clocks::{
    CALLED, ClockData, ClockId, ClockReport, Clocks, Meeting, Seen, Verdict, blame, clocks, clocks_if_always,
    verify as verify_clocks,
};
pub use conditions::Guard;
pub use counters::few_windows;
pub use domains::{Domain, Domains, domains};
pub use facts::{
    Facts, Hold, MemberOrder, Position, Positions, Rec, RecData, Segments, SegmentsData, SlowState, Truths,
    VarFacts, facts, print as print_facts, verify as verify_facts,
};
pub use learning::{Bounded, RootRole, bounded, learning, learning_rates};
pub use units::{NumberUnit, lost, units};
