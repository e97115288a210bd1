//! Registers that slide: where their values are at a tick.

use rml_nest::{NestStage, Slot, Tick};

use super::Printer;
use crate::layout::InSlide;

impl Printer<'_> {
    /// The C text for the address of a value of a register that slides.
    pub(super) fn in_slide(&self, slot: Slot, tick: Tick, InSlide { slide, later }: InSlide) -> String {
        let (own, register) = (&self.layout.slides[slide], self.layout.place(slot));
        let t = match tick {
            Tick::Now => "t",
            Tick::Before => "t - 1",
            Tick::After => "t + 1",
            Tick::First => "0",
            Tick::Last => "w->ticks - 1",
        };
        let t = if later { format!("{t} + 1") } else { t.to_owned() };
        match own.is_guarded() {
            true => format!("({register} + moved_{slide}[{t}])"),
            false => format!("({register} + ({t}) * ({}))", own.step),
        }
    }

    /// The tables of positions, as variables.
    pub(super) fn tables(&self) -> String {
        let guarded = self.layout.slides.iter().enumerate().filter(|(_, own)| own.is_guarded());
        let table = |(i, _)| {
            let at = self.layout.table(i);
            format!("    int64_t *const moved_{i} = w->ints + w->at[{at}]; (void)moved_{i};\n")
        };
        guarded.map(table).collect()
    }

    /// Moves the registers that a stage is the first to fill, if conditions decide whether they move.
    pub(super) fn moves(&self, stage: &NestStage) -> String {
        let opened = self.layout.slides.iter().enumerate();
        let opened = opened.filter(|(_, own)| own.is_guarded() && own.slide.opens(self.program, stage));
        let one = |(i, own): (usize, &crate::layout::Sliding)| {
            let holds: Vec<String> = own.slide.when.iter().map(|guard| self.guard(guard)).collect();
            let holds = match self.short(stage) {
                0 => holds.join(" && "),
                short => format!("t < w->ticks - {short} && {}", holds.join(" && ")),
            };
            format!("        moved_{i}[t + 1] = moved_{i}[t] + ({holds} ? {} : 0);\n", own.step)
        };
        opened.map(one).collect()
    }
}
