//! Parameters under another root than in the checkpoint. `FILE:PREFIX` says which prefix to replace, and a checkpoint
//! whose names differ from those of the program by one prefix is recognised.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error};
use rml_data::Preparation;
use rml_driver::Program;
use rml_files::contents;
use rml_ir::Value;
use rml_ir::flat::State;

use super::{Checkpoint, Policy, TrainingPosition, fits};

/// How many prefixes a message lists.
const LISTED: usize = 4;

/// The request that the names of a checkpoint have another prefix than those of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Root {
    /// `FILE:PREFIX`: the side that has the prefix has it in addition.
    Added(String),
    /// `FILE:THERE=HERE`.
    Replaced(Prefixes),
}

/// A prefix of the checkpoint, and the prefix of the program that corresponds to it. Either may be empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Prefixes {
    there: String,
    here: String,
}

/// The file in a text `FILE` or `FILE:PREFIX`. A text that is the name of a file has no prefix.
pub fn params_file(path: &Path) -> PathBuf {
    split(path).0
}

/// The file and the prefix in a text `FILE` or `FILE:PREFIX`.
pub(super) fn split(path: &Path) -> (PathBuf, Option<Root>) {
    let whole = || (path.to_owned(), None);
    if contents::exists(path) {
        return whole();
    }
    let Some((file, prefix)) = path.to_str().and_then(|text| text.rsplit_once(':')) else { return whole() };
    let root = match prefix.split_once('=') {
        None if is_path(prefix) => Root::Added(prefix.to_owned()),
        Some((there, here)) if [there, here].iter().all(|side| side.is_empty() || is_path(side)) => {
            Root::Replaced(Prefixes { there: there.to_owned(), here: here.to_owned() })
        }
        None | Some(_) => return whole(),
    };
    (file.into(), Some(root))
}

/// Whether a text can be an instance path.
fn is_path(text: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '[' | ']' | '#'))
    };
    text.split('.').all(is_name)
}

/// The rest of a path after a prefix.
fn under<'k>(prefix: &str, key: &'k str) -> Option<&'k str> {
    if prefix.is_empty() { Some(key) } else { key.strip_prefix(prefix)?.strip_prefix('.') }
}

fn join(prefix: &str, rest: &str) -> String {
    if prefix.is_empty() { rest.to_owned() } else { format!("{prefix}.{rest}") }
}

impl Prefixes {
    /// The names in the program of a state of the checkpoint: with the other prefix, and its own name unless that
    /// stands for another state, or is not in the program.
    fn names(&self, key: &str, is_here: &dyn Fn(&str) -> bool) -> Vec<String> {
        let moved = under(&self.there, key).map(|rest| join(&self.here, rest));
        let is_own = under(&self.here, key).is_none() && (moved.is_none() || is_here(key));
        let own = is_own.then(|| key.to_owned());
        moved.into_iter().chain(own).collect()
    }

    /// The text after the name of the file, and a colon, that stands for these prefixes.
    fn text(&self, checkpoint: &Checkpoint) -> String {
        match (&*self.there, &*self.here) {
            (there, "") => there.to_owned(),
            ("", here) if !checkpoint.has_under(here) => here.to_owned(),
            (there, here) => format!("{there}={here}"),
        }
    }
}

impl Checkpoint {
    /// Whether a state of the checkpoint is under a prefix.
    fn has_under(&self, prefix: &str) -> bool {
        self.states.keys().any(|key| under(prefix, key).is_some())
    }

    /// This checkpoint with the names of a program: by the requested prefix, and with the current names of parameters
    /// that were named in another way before.
    ///
    /// # Errors
    /// Neither side has the requested prefix.
    pub(crate) fn of_program(&self, program: &Program) -> Result<Cow<'_, Self>, Diagnostic> {
        let states = &program.flat().states;
        let mut found = match self.prefixes(Some(states))? {
            Some(prefixes) => Cow::Owned(self.with_prefixes(&prefixes, &|key| states.contains_key(key))),
            None => Cow::Borrowed(self),
        };
        let renamed: Vec<(String, &str)> =
            states.iter().filter_map(|(key, state)| found.old_name(key, state, states)).collect();
        for (there, here) in renamed {
            found = Cow::Owned(found.renamed(&|key| {
                let rest = key.strip_prefix(&*there).filter(|rest| rest.is_empty() || rest.starts_with('.'));
                vec![rest.map_or_else(|| key.to_owned(), |rest| format!("{here}{rest}"))]
            }));
        }
        Ok(found)
    }

    /// The same, with the error among the texts of the program.
    ///
    /// # Errors
    /// As [`of_program`](Self::of_program).
    pub(crate) fn fitted(&self, program: &Program) -> Result<Self, Error> {
        self.of_program(program).map(Cow::into_owned).map_err(|d| program.error(d))
    }

    /// The parameters that a training begins with, and the names of those that are new. With `FILE:THERE=HERE`,
    /// parameters elsewhere than under `HERE` may be new: if the checkpoint lacks them, or has them with another type,
    /// they have their values in `fresh`.
    ///
    /// # Errors
    /// As [`parameters`](Self::parameters).
    pub(crate) fn beginning_with(
        &self,
        program: &Program,
        fresh: &IndexMap<Arc<str>, Value>,
    ) -> Result<(Self, Vec<Arc<str>>), Diagnostic> {
        let here = match &self.root {
            Some(Root::Replaced(prefixes)) if !prefixes.here.is_empty() => &prefixes.here,
            Some(_) | None => return Ok((self.parameters(program)?, Vec::new())),
        };
        let mut all = self.of_program(program)?.into_owned();
        let flat = program.flat();
        let is_new = |(key, state): &(&Arc<str>, &State)| {
            let ty = &flat.vars[flat.equations[state.equation].lhs].ty;
            let has = all.states.get(*key).is_some_and(|value| fits(value, ty, program));
            state.parameter && under(here, key).is_none() && !has
        };
        let new: Vec<Arc<str>> = flat.states.iter().filter(is_new).map(|(key, _)| Arc::clone(key)).collect();
        let values = new.iter().filter_map(|key| Some((Arc::clone(key), fresh.get(key)?.clone())));
        all.states.extend(values);
        Ok((Self { root: None, ..all }.parameters(program)?, new))
    }

    /// This checkpoint with names by the requested prefix, without a program.
    ///
    /// # Errors
    /// The checkpoint does not have the prefix.
    pub fn by_prefix(self) -> Result<Self, Diagnostic> {
        Ok(match self.prefixes(None)? {
            Some(prefixes) => self.with_prefixes(&prefixes, &|_| false),
            None => self,
        })
    }

    /// The name in the file of a state that has this name in the program.
    pub(crate) fn name_in_file<'k>(&'k self, key: &'k str) -> &'k str {
        self.moved.get(key).map_or(key, |name| name)
    }

    /// The former name of a parameter, if the checkpoint has it: a parameter inside an equation had a number, even if
    /// it was the only one there.
    fn old_name<'k>(
        &self,
        key: &'k Arc<str>,
        state: &State,
        states: &IndexMap<Arc<str>, State>,
    ) -> Option<(String, &'k str)> {
        let numbered = |n: usize| format!("{key}.param{n}");
        let is_free =
            state.parameter && !self.states.contains_key(key) && !states.contains_key(&*numbered(0));
        let has = |n: usize| self.states.contains_key(&*numbered(n));
        (is_free && has(0) && !has(1)).then(|| (numbered(0), &**key))
    }

    /// The requested prefixes.
    fn prefixes(&self, states: Option<&IndexMap<Arc<str>, State>>) -> Result<Option<Prefixes>, Diagnostic> {
        let is_here = |prefix: &str| {
            states.is_none_or(|states| {
                let mut parameters = states.iter().filter(|(_, state)| state.parameter);
                parameters.any(|(key, _)| under(prefix, key).is_some())
            })
        };
        let prefixes =
            |there: &str, here: &str| Ok(Some(Prefixes { there: there.to_owned(), here: here.to_owned() }));
        match &self.root {
            None => Ok(None),
            Some(Root::Added(prefix)) if self.has_under(prefix) => prefixes(prefix, ""),
            Some(Root::Added(prefix)) if states.is_some() && is_here(prefix) => prefixes("", prefix),
            Some(Root::Added(prefix)) => Err(self.no_prefix(prefix, states.is_some())),
            Some(Root::Replaced(Prefixes { there, .. })) if !self.has_under(there) => {
                Err(self.no_prefix(there, false))
            }
            Some(Root::Replaced(Prefixes { here, .. })) if !is_here(here) => {
                let what = format!("the program has no parameter under `{here}`");
                let d = Diagnostic::error(codes::CHECKPOINT_MISMATCH, what);
                Err(d
                    .note("in `FILE:THERE=HERE`, `HERE` is a prefix of parameters of the program")
                    .help("`rml params list FILE.rml` lists the parameters of a program"))
            }
            Some(Root::Replaced(Prefixes { there, here })) => prefixes(there, here),
        }
    }

    /// The error that no state has a prefix.
    fn no_prefix(&self, prefix: &str, either: bool) -> Diagnostic {
        let origin = self.shown_origin();
        let what = if either {
            format!("neither {origin} nor the program has parameters under `{prefix}`")
        } else {
            format!("{origin} has no parameters under `{prefix}`")
        };
        let roots: IndexSet<&str> =
            self.states.keys().filter_map(|key| key.split_once('.')).map(|(root, _)| root).collect();
        let d = Diagnostic::error(codes::CHECKPOINT_MISMATCH, what);
        let names: Vec<String> = roots.iter().map(|root| format!("`{root}`")).collect();
        let d = if names.is_empty() {
            d.note(format!("no state of {origin} is under a prefix"))
        } else {
            d.note(format!("the states of {origin} are under {}", names.join(", ")))
        };
        d.help("a prefix consists of whole names, as in `FILE:classify_0` or `FILE:model_0.classify_0`")
    }

    fn with_prefixes(&self, prefixes: &Prefixes, is_here: &dyn Fn(&str) -> bool) -> Self {
        Self { root: None, ..self.renamed(&|key| prefixes.names(key, is_here)) }
    }

    /// This checkpoint with other names, by the names that each state gets.
    fn renamed(&self, names: &dyn Fn(&str) -> Vec<String>) -> Self {
        let mut moved = IndexMap::new();
        for key in self.states.keys() {
            let own = self.moved.get(key).unwrap_or(key);
            let others = names(key).into_iter().filter(|name| **name != **own);
            moved.extend(others.map(|name| (Arc::from(name), Arc::clone(own))));
        }
        let of_states = |states: &IndexMap<Arc<str>, Value>| {
            let named = |(key, value): (&Arc<str>, &Value)| {
                let value = value.clone();
                names(key).into_iter().map(move |name| (Arc::from(name), value.clone())).collect::<Vec<_>>()
            };
            let mut states: Vec<(Arc<str>, Value)> = states.iter().flat_map(named).collect();
            states.sort_by(|a, b| a.0.cmp(&b.0));
            states.into_iter().collect::<IndexMap<_, _>>()
        };
        let prepared = |preparation: &Preparation| {
            let named = |(key, axes): (&String, &Vec<Option<String>>)| {
                names(key).into_iter().map(|name| (name, axes.clone())).collect::<Vec<_>>()
            };
            let mut prepared = preparation.clone();
            prepared.axes = preparation.axes.iter().flat_map(named).collect();
            prepared
        };
        Self {
            origin: self.origin.clone(),
            states: of_states(&self.states),
            position: self.position.clone().map(|position| TrainingPosition {
                preparation: prepared(&position.preparation),
                ..position
            }),
            shards: self.shards.iter().map(|(shard, states)| (*shard, of_states(states))).collect(),
            preparation: prepared(&self.preparation),
            root: self.root.clone(),
            moved,
        }
    }

    /// Help for a checkpoint that has all states that the program needs, under another prefix; none if no replacement
    /// of one prefix gives them.
    pub(super) fn other_roots(&self, program: &Program, policy: Policy) -> Option<String> {
        let found = self.fitting(program, policy);
        let named = |prefixes: &Prefixes| {
            let (flag, origin) = (if policy == Policy::Exact { "resume" } else { "params" }, &self.origin);
            format!("`--{flag} {origin}:{}`", prefixes.text(self))
        };
        let under = |prefix: &str| match prefix {
            "" => "without a prefix".to_owned(),
            prefix => format!("under `{prefix}`"),
        };
        let [first, ..] = &found[..] else { return None };
        if self.origin.is_empty() {
            let (there, here) = (under(&first.there), under(&first.here));
            return Some(format!(
                "the same parameters are there {there}: name them {here}, as in the program"
            ));
        }
        if let [only] = &found[..] {
            let (there, here) = (under(&only.there), under(&only.here));
            return Some(format!(
                "the same parameters are there {there}, and in the program {here}: {}",
                named(only)
            ));
        }
        let flags: Vec<String> = found.iter().take(LISTED).map(named).collect();
        let more = if found.len() > LISTED { ", .." } else { "" };
        Some(format!(
            "{} prefixes of the file have such parameters; choose one: {}{more}",
            found.len(),
            flags.join(", ")
        ))
    }

    /// The replacements of one prefix with which the checkpoint has all states that a program needs.
    fn fitting(&self, program: &Program, policy: Policy) -> Vec<Prefixes> {
        let flat = program.flat();
        let ty = |state: &State| &flat.vars[flat.equations[state.equation].lhs].ty;
        let lacking = |(key, state): &(&Arc<str>, &State)| {
            state.parameter && !self.states.get(*key).is_some_and(|value| fits(value, ty(state), program))
        };
        let Some((key, state)) = flat.states.iter().find(lacking) else { return Vec::new() };
        let mut found: Vec<Prefixes> = Vec::new();
        for (there, value) in &self.states {
            let Some((there, here)) = apart(there, key).filter(|_| fits(value, ty(state), program)) else {
                continue;
            };
            let prefixes = Prefixes { there: there.to_owned(), here: here.to_owned() };
            if found.contains(&prefixes) {
                continue;
            }
            let moved = self.with_prefixes(&prefixes, &|key| flat.states.contains_key(key));
            if moved.compared(program, policy).1.is_empty() {
                found.push(prefixes);
            }
        }
        found
    }
}

/// The prefixes of two paths before the names that are equal from the end; none if not even the last names are equal.
fn apart<'p>(there: &'p str, here: &'p str) -> Option<(&'p str, &'p str)> {
    let ends = there.rsplit('.').zip(here.rsplit('.')).take_while(|(a, b)| a == b);
    let end = ends.map(|(name, _)| name.len() + 1).sum::<usize>();
    let part = |path: &'p str| &path[..path.len().saturating_sub(end)];
    (end > 0).then(|| (part(there), part(here)))
}
