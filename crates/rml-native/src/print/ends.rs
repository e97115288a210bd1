//! Windows whose end the program finds: one function runs the first node until the end is found, another one runs the
//! rest of its last tick.

use rml_ir::Position;
use rml_nest::{Ends, Guard};

use super::{Printer, turned};

impl Printer<'_> {
    /// Prints both functions, if the program finds the ends of its windows.
    pub(super) fn search(&mut self) {
        let (Ends::Found { conds, head }, [first, ..]) = (&self.program.ends, &self.program.nodes[..]) else {
            return;
        };
        self.turned = turned::Turned::of(first);
        let ended: Vec<String> = conds.iter().map(|guard: &Guard| self.guard(guard)).collect();
        let end = format!(
            "        if (bad) {{ return 1; }}\n        if ({}) {{ *found = t + 1; return 0; }}\n",
            ended.join(" || ")
        );
        // As long as the end is not found, no tick is the last one.
        let tick = [Position::First, Position::Middle].map(|p| {
            let mut text = String::new();
            for (s, stage) in first.stages[..*head].iter().enumerate() {
                text += &self.stage((0, s), stage, p).unwrap_or_default();
            }
            text + &end + &self.tick(0, first, *head, p)
        });
        let [at_first, later] = tick;
        let text = format!(
            "    const long block = 0;\n    (void)block;\n    for (long t = from; t < to; t++) {{\n        \
             if (t == 0) {{\n{at_first}        }} else {{\n{later}        }}\n    }}\n    return bad;\n"
        );
        self.function("int find(const window *w, const long from, const long to, long *found)", first, &text);
        self.turned = turned::Turned::default();
        let [only, last] = [Position::Only, Position::Last].map(|p| self.tick(0, first, *head, p));
        let text = format!(
            "    const long block = 0, t = w->ticks - 1;\n    (void)block;\n    if (t == 0) {{\n{only}    }} else \
             {{\n{last}    }}\n    return bad;\n"
        );
        self.function("int rest(const window *w)", first, &text);
    }
}
