//! Where the values of rings are at a tick, and what moves them.

use rml_nest::{NestStage, Slide, Slot};
use rml_plan::Reg;

use crate::function::Function;
use crate::loops::{Base, WrapAround};
use crate::operand::times;
use crate::rings::{Ring, guarded};
use crate::scope::{DONE, Scope};

/// Which value of a ring a slot is.
#[derive(Clone, Copy, Debug)]
enum Side {
    Before,
    After,
}

impl Scope<'_> {
    fn ring_of(&self, slot: Slot) -> Option<(Reg, &Ring, Side)> {
        self.rings.iter_enumerated().find_map(|(id, ring)| {
            let ring = ring.as_ref()?;
            let Slide { register, before, after, .. } = &ring.slide;
            let is_before = slot == *register || before.contains(&slot);
            let side = if is_before { Side::Before } else { Side::After };
            (is_before || slot == *after).then_some((id, ring, side))
        })
    }

    /// A value of a ring at a tick; none if a slot is not in a ring.
    pub(crate) fn in_ring(&self, slot: Slot, tick: &str) -> Option<Base> {
        let (id, ring, side) = self.ring_of(slot)?;
        let tick = if self.cycles == 1 { "0" } else { tick };
        let at = match side {
            Side::Before if !ring.slide.in_turn => format!("state->{}_at", self.registers[id].name),
            Side::Before => self.head(id, ring, (tick, 0)),
            Side::After => self.head(id, ring, (tick, 1)),
        };
        Some(self.ring(id, ring, at))
    }

    /// A ring from a position on.
    fn ring(&self, id: Reg, ring: &Ring, at: String) -> Base {
        let _: &str = self.scalars.function("rml_around");
        let around = Some(WrapAround { len: ring.room, row: ring.slide.row });
        Base { name: format!("state->{}", self.registers[id].name), first: at, is_variable: false, around }
    }

    /// The position of a ring before (0) or after (1) a tick.
    fn head(&self, id: Reg, ring: &Ring, (tick, later): (&str, usize)) -> String {
        let (name, fresh) = (&self.registers[id].name, ring.slide.fresh);
        let plus = |n: usize| if n == 0 { String::new() } else { format!(" + {n}") };
        if ring.is_guarded() {
            let at = if tick == "0" { later.to_string() } else { format!("{tick}{}", plus(later)) };
            return format!("work->{name}_at[{}]", at.replace(" - 1 + 1", ""));
        }
        let around = self.scalars.function("rml_around");
        let sign = if ring.slide.newest_first { '-' } else { '+' };
        let ticks = match tick {
            "0" => String::new(),
            _ => format!(" {sign} {}", times(&format!("({tick})"), fresh)),
        };
        let first = if ring.slide.newest_first { ring.room - later * fresh } else { later * fresh };
        format!("{around}(state->{name}_at{}{ticks}, {})", plus(first), ring.room)
    }

    /// How many elements a row of a ring has; none if a slot is not in a ring.
    pub(crate) fn row_of(&self, slot: Slot) -> Option<usize> {
        self.ring_of(slot).map(|(_, ring, _)| ring.slide.row)
    }

    /// What outlives windows of a register, in the order of the program.
    pub(crate) fn kept(&self, id: Reg) -> Base {
        match &self.rings[id] {
            Some(ring) => self.ring(id, ring, format!("state->{}_at", self.registers[id].name)),
            None => self.state(id),
        }
    }

    /// Whether a stage only moves the entries of a ring, so that no code is needed for it.
    pub(crate) fn is_moved(&self, stage: &NestStage) -> bool {
        self.rings.iter().flatten().any(|ring| ring.slide.is_moved(stage))
    }

    /// Whether values of a slot are stored somewhere.
    pub(crate) fn is_stored(&self, slot: Slot) -> bool {
        self.layout.spans[slot].is_some() || self.ring_of(slot).is_some()
    }
}

impl Function<'_> {
    /// Moves the positions of rings that a stage is the first to fill, if conditions decide whether they move.
    pub(crate) fn move_rings(&mut self, stage: &NestStage) {
        let scope = self.scope;
        for (id, ring) in scope.rings.iter_enumerated() {
            let Some(ring) = ring.as_ref().filter(|ring| ring.is_guarded()) else { continue };
            if !ring.slide.opens(&scope.program, stage) {
                continue;
            }
            let ahead = scope.program.slots[ring.slide.after].ahead();
            let now = if scope.cycles == 1 { "0" } else { self.ticks.now };
            let (from, to) = (scope.head(id, ring, (now, 0)), scope.head(id, ring, (now, 1)));
            let around = scope.scalars.function("rml_around");
            let moved = format!("(int32_t){around}({from} + {}, {})", ring.step(), ring.room);
            let text = match self.condition(stage.at, &ring.slide.when, ahead) {
                Some(condition) => format!("{condition} ? {moved} : {from}"),
                None => moved,
            };
            self.lines.line(format!("{to} = {text};"));
        }
    }

    /// Lets the positions of a call begin with those of the state.
    pub(crate) fn begin_rings(&mut self) {
        let scope = self.scope;
        for (id, _) in guarded(&scope.rings) {
            self.lines.line(format!("work->{0}_at[0] = state->{0}_at;", scope.registers[id].name));
        }
    }

    /// Moves all positions to where they are after a call.
    pub(crate) fn commit_rings(&mut self) {
        let scope = self.scope;
        let tick = if scope.cycles == 1 { "0" } else { DONE.last };
        for (id, ring) in scope.rings.iter_enumerated() {
            let Some(ring) = ring else { continue };
            let head = scope.head(id, ring, (tick, 1));
            let cast = if ring.is_guarded() { "" } else { "(int32_t)" };
            self.lines.line(format!("state->{}_at = {cast}{head};", scope.registers[id].name));
        }
    }
}
