//! All diagnostic codes, grouped by the stage that reports them. A code is data: its name is stable and never reused.

/// Declares the codes of one stage, and a list `ALL` of them.
macro_rules! codes {
    ($($ident:ident = $name:literal, $summary:literal;)*) => {
        $(
            #[doc = $summary]
            pub const $ident: $crate::Code = $crate::Code { name: $name, summary: $summary };
        )*
        /// The codes of this stage.
        pub const ALL: &[$crate::Code] = &[$($ident),*];
    };
}

pub mod analysis;
pub mod autodiff;
pub mod backend;
pub mod elab;
pub mod run;
pub mod sim;
pub mod syntax;

/// All codes by topic, in the order in which a program passes the stages.
pub const TOPICS: &[(&str, &[crate::Code])] = &[
    ("Text", syntax::ALL),
    ("Names, static values, types and shapes", elab::ALL),
    ("Gradients", autodiff::ALL),
    ("Clocks and causality", analysis::ALL),
    ("Runs", sim::ALL),
    ("Files, data, checkpoints and flags", run::ALL),
    ("Backends", backend::ALL),
];

/// The codes of all stages.
pub fn all() -> impl Iterator<Item = crate::Code> {
    TOPICS.iter().flat_map(|(_, codes)| codes.iter()).copied()
}

/// The code with that name.
pub fn find(name: &str) -> Option<crate::Code> {
    all().find(|c| c.name == name)
}
