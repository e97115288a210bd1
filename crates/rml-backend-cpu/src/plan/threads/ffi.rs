//! One arena for several threads.
#![allow(unsafe_code)]

use rml_ir::op::Number;

use super::super::Suspect;
use super::super::arena::Arena;
use super::super::packs::Packs;
use super::super::reached::Reached;
use super::super::run::Run;
use super::{Shard, Team};

impl Team {
    /// Has each thread compute its part: with its code for its rows if it `is_cut`, else with the code that runs.
    ///
    /// The parts are those that [`Work`](super::Work) knows: rows, ticks or elements of what they compute.
    pub(super) fn together<N: Number>(
        &mut self,
        run: &Run<'_, N>,
        is_cut: bool,
        part: &(impl Fn(&mut Run<'_, N>, usize) -> Result<(), Suspect> + Sync),
    ) -> Result<(), Suspect> {
        let Run { code, bound, precision, part: ticks, begins, .. } = *run;
        let (arena, all_set, layouts) = (&*run.arena, &*run.set, run.packs.all());
        let Some(pool) = &mut self.pool else { return Ok(()) };
        pool.run(&mut self.shards, &|i, shard: &mut Shard| {
            let Shard { code: own, bound: its, set, ran, .. } = shard;
            set.copy_from_slice(all_set);
            // SAFETY: the arena is borrowed until all parts have ended, and used by none but them. A part writes its
            // own rows, ticks or elements, and reads these and what no part writes: `rows` finds instructions of which
            // that applies to rows; at a tick, a unit over all ticks writes its own tape alone, and reads others; at a
            // tick of a loop, a single instruction writes what it does not read; a sum writes a place that its terms do
            // not read. Places that are written share no memory with others that are used at the same time: those of a
            // loop live as long as it does, or are the thread's own.
            let mut arena = unsafe { shared(arena) };
            let (code, bound) = if is_cut { (&*own, &*its) } else { (code, bound) };
            *ran = part(
                &mut Run {
                    code,
                    bound,
                    arena: &mut arena,
                    set,
                    done: &mut [],
                    moved: &mut [],
                    reached: &mut Reached::default(),
                    precision,
                    packs: Packs::Shared(layouts),
                    team: None,
                    part: ticks,
                    begins,
                },
                i,
            );
        });
        self.shards.iter().try_for_each(|shard| shard.ran)
    }
}

/// The same arena for another thread.
///
/// # Safety
/// As for [`Cells::share`](super::super::cells::Cells::share).
unsafe fn shared<N: Number>(arena: &Arena<N>) -> Arena<N> {
    // SAFETY: the caller promises it.
    unsafe { Arena { nums: arena.nums.share(), ints: arena.ints.share(), bools: arena.bools.share() } }
}
