//! Programs as C: a function for each node, which runs all ticks of a window.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::ops::Range;

use rml_base::EntityId;
use rml_c::Scalars;
use rml_ir::{DType, Position, Precision};
use rml_nest::{
    Access, Def, Dim, Guard, Nest, NestNode, NestProgram, NestStage, Order, Slot, Test, Tick, Val, Work,
};

use crate::layout::{Layout, Room};
use crate::parts::{Phase, Shared};

mod chains;
mod ends;
mod folds;
mod nests;
mod slides;
mod turned;

/// The declarations that the C code and the executor share.
const HEAD: &str = "
typedef struct {
    num *nums;
    int64_t *ints;
    uint8_t *bools;
    uint8_t *set;
    const long *at;
    long ticks;
    void *context;
    int (*call)(void *context, long id, long tick, long ticks, long block);
    long from, to, part, parts, shard;
} window;
#define ROWS(n) (n) * w->part / w->parts, (n) * (w->part + 1) / w->parts
#define KEEP INT32_MIN
#define LOOPS static __attribute__((noinline))
";

/// Functions of `math.h` whose bits are defined by the kernels; the loader of the code has to provide them.
const MATH: &str = "
num (*math_sin)(num), (*math_cos)(num), (*math_pow)(num, num), (*math_atan2)(num, num);
#define sinf math_sin
#define sin math_sin
#define cosf math_cos
#define cos math_cos
#define powf math_pow
#define pow math_pow
#define atan2f math_atan2
#define atan2 math_atan2
";

/// The stages that are calls, by node and stage: C calls them by their numbers here.
pub(crate) fn calls(program: &NestProgram) -> Vec<(usize, usize)> {
    let of = |(k, node): (usize, &'_ NestNode)| {
        let calls = node.stages.iter().enumerate().filter(|(_, stage)| matches!(stage.work, Work::Call(_)));
        calls.map(move |(s, _)| (k, s)).collect::<Vec<_>>()
    };
    program.nodes.iter().enumerate().flat_map(of).collect()
}

/// The type of an element in memory.
fn c_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Num => "num",
        DType::Int => "int64_t",
        DType::Bool => "uint8_t",
    }
}

/// The C type of a variable. Truth values that select a value are ints, since compilers vectorise these better.
fn var_type(dtype: DType) -> &'static str {
    if dtype == DType::Bool { "int" } else { c_type(dtype) }
}

/// A program as C, with its work divided as `shared` says.
pub(crate) fn print(program: &NestProgram, layout: &Layout, shared: &Shared) -> String {
    let scalars = Scalars::new(program.precision);
    let mut printer = Printer {
        program,
        layout,
        shared,
        parted: None,
        scalars: &scalars,
        registers: program.registers().collect(),
        functions: BTreeMap::new(),
        body: String::new(),
        calls: calls(program),
        turned: turned::Turned::default(),
        holds_sets: false,
    };
    for (k, node) in program.nodes.iter().enumerate() {
        printer.node(k, node);
    }
    for (number, (k, phase)) in shared.phases().enumerate() {
        printer.phase(number, (k, &program.nodes[k]), phase);
    }
    printer.search();
    let Printer { body, .. } = printer;
    let num = if program.precision == Precision::F32 { "float" } else { "double" };
    let mut text = "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n".to_owned();
    let word = if program.precision == Precision::F32 { "int32_t" } else { "int64_t" };
    let _ = writeln!(text, "typedef {num} num;\ntypedef {word} word;");
    text += "#define RML_NAN ((num)(0.0 / 0.0))\n#define RML_INFINITY ((num)(1.0 / 0.0))\n";
    text += MATH;
    let fma = scalars.function("rml_fma");
    text += &scalars.text();
    text += folds::ROWS;
    text += &chains::text(if program.precision == Precision::F32 { 4 } else { 8 }).replace("rml_fma", fma);
    text += HEAD;
    text + &body
}

struct Printer<'a> {
    program: &'a NestProgram,
    layout: &'a Layout,
    shared: &'a Shared,
    /// The dimension that is divided among threads.
    parted: Option<Dim>,
    scalars: &'a Scalars,
    registers: Vec<Slot>,
    /// The functions of nests, by their text.
    functions: BTreeMap<String, String>,
    body: String,
    calls: Vec<(usize, usize)>,
    /// Matrices that are transposed before the ticks of the node.
    turned: turned::Turned,
    /// Whether variables hold which registers were set before the writes of a tick.
    holds_sets: bool,
}

impl Printer<'_> {
    fn node(&mut self, k: usize, node: &NestNode) {
        self.turned = turned::Turned::of(node);
        let mut text = String::new();
        if node.order == Order::Over {
            let block = self.layout.blocks[k];
            text += &format!("    for (long begin = w->from; begin < w->to; begin += {block}) {{\n");
            text += &format!("    const long block = begin - w->shard * {block}; (void)block;\n");
            text += &format!("    const long end = begin + {block} < w->to ? begin + {block} : w->to;\n");
            text += &self.stages((k, node), 0..node.stages.len());
            text += "    }\n";
        } else if self.program.ahead == 0 && is_sum(node, self.layout) {
            text += &self.sum(k, node);
        } else {
            let all = Position::ALL.map(|p| Some(self.tick(k, node, 0, p)));
            let head = match node.order {
                Order::Backward => "for (long t = w->ticks - 1; t >= 0; t--)",
                Order::Forward | Order::Over => "for (long t = 0; t < w->ticks; t++)",
            };
            text += &format!(
                "    const long block = 0;\n    (void)block;\n    {head} {{\n{}{}    }}\n",
                by_position(&all),
                self.keeps(k, node),
            );
        }
        let head = format!("int node_{k}(const window *w)");
        self.function(&head, node, &format!("{text}    return bad;\n"));
    }

    /// Some stages of a node over all ticks.
    fn stages(&mut self, (k, node): (usize, &NestNode), some: Range<usize>) -> String {
        let mut text = String::new();
        for s in some {
            let texts = Position::ALL.map(|p| self.stage((k, s), &node.stages[s], p));
            text += &self.over((k, s), &node.stages[s], &texts);
        }
        text
    }

    /// A phase of a node as a function: its stages at all ticks, or at the only one; the last phase writes registers.
    fn phase(&mut self, number: usize, (k, node): (usize, &NestNode), phase: &Phase) {
        self.turned = turned::Turned::of(node);
        let some = phase.stages.clone();
        let (begin, text) = if node.order == Order::Over {
            ("begin = 0, end = w->ticks", self.stages((k, node), some))
        } else {
            let only = Position::Only;
            let mut text: String =
                some.clone().filter_map(|s| self.stage((k, s), &node.stages[s], only)).collect();
            if some.start == node.stages.len() {
                text += &self.writes(node, only);
            }
            ("t = 0", text)
        };
        let begin = format!("    const long block = 0, {begin};\n    (void)block;\n");
        let unused =
            if node.order == Order::Over { "    (void)begin, (void)end;\n" } else { "    (void)t;\n" };
        let head = format!("int phase_{number}(const window *w)");
        self.function(&head, node, &format!("{begin}{unused}{text}    return bad;\n"));
    }

    /// The text of a node at a tick of this position, from stage `first` on.
    fn tick(&mut self, k: usize, node: &NestNode, first: usize, p: Position) -> String {
        let mut text = String::new();
        for (s, stage) in node.stages.iter().enumerate().skip(first) {
            text += &self.stage((k, s), stage, p).unwrap_or_default();
        }
        text + &self.writes(node, p)
    }

    /// A function that runs ticks of a node; it begins by computing the addresses that it uses.
    fn function(&mut self, head: &str, node: &NestNode, text: &str) {
        let mut used: Vec<Slot> = Vec::new();
        for stage in &node.stages {
            used.extend(stage.reads().iter().map(|(_, access)| access.slot));
            used.extend(stage.fills());
        }
        for write in &node.writes {
            used.push(write.register);
            used.extend(rml_nest::rooms::write_reads(write).iter().map(|access| access.slot));
        }
        used.extend(rml_nest::rooms::end_reads(self.program).iter().map(|access| access.slot));
        used.iter_mut().for_each(|slot| *slot = self.layout.place(*slot));
        used.sort_unstable();
        used.dedup();
        let mut all = format!("\n{head} {{\n    int bad = 0;\n");
        for slot in used {
            let dtype = self.layout.dtype(slot);
            let array = ["nums", "ints", "bools"][crate::layout::kind(dtype)];
            let _ = writeln!(
                all,
                "    {} *const {slot} = w->{array} + w->at[{}]; (void){slot};",
                c_type(dtype),
                slot.index()
            );
        }
        self.body += &(all + &self.tables() + &self.turned.text());
        self.body += text;
        self.body += "}\n";
    }

    /// The calls of a sum over ticks, in the order of the ticks. Consecutive ticks are one call.
    fn sum(&self, k: usize, node: &NestNode) -> String {
        let at = |p: Position| -> Vec<usize> {
            let is_call = |stage: &NestStage| matches!(stage.work, Work::Call(_)) && stage.at.contains(p);
            let stages = node.stages.iter().enumerate().filter(|(_, stage)| is_call(stage));
            stages.filter_map(|(s, _)| self.calls.iter().position(|known| *known == (k, s))).collect()
        };
        let call = |calls: &[usize], ticks: &str| -> String {
            let one = |call: &usize| {
                format!("        if (w->call(w->context, {call}, {ticks}, 0)) {{ return 1; }}\n")
            };
            calls.iter().map(one).collect()
        };
        let [first, middle, last] = [Position::First, Position::Middle, Position::Last].map(at);
        // In the order of a forward loop.
        let mut parts = match (first == middle, middle == last) {
            (true, true) => vec![call(&middle, "0, w->ticks")],
            (true, false) => vec![call(&middle, "0, w->ticks - 1"), call(&last, "w->ticks - 1, 1")],
            (false, true) => vec![call(&first, "0, 1"), call(&middle, "1, w->ticks - 1")],
            (false, false) => {
                let middle =
                    format!("        if (w->ticks > 2) {{\n{}        }}\n", call(&middle, "1, w->ticks - 2"));
                vec![call(&first, "0, 1"), middle, call(&last, "w->ticks - 1, 1")]
            }
        };
        if node.order == Order::Backward {
            parts.reverse();
        }
        let only = call(&at(Position::Only), "0, 1");
        format!("    if (w->ticks == 1) {{\n{only}    }} else {{\n{}    }}\n", parts.concat())
    }

    /// A stage at all ticks of a block.
    fn over(&self, id: (usize, usize), stage: &NestStage, texts: &[Option<String>; 4]) -> String {
        let mut text = String::new();
        // A call tests its conditions itself, and computes many ticks at once if it can.
        let is_call = matches!(stage.work, Work::Call(_));
        if is_call && self.short(stage) > 0 {
            let call = self.calls.iter().position(|known| *known == id).expect("it was numbered");
            let _ = writeln!(text, "    {{ const long all = w->ticks - {};", self.short(stage));
            let _ = writeln!(text, "    const long to = end < all ? end : all;");
            let _ = writeln!(
                text,
                "    if (begin < to && w->call(w->context, {call}, begin, to - begin, block)) {{ return 1; }} }}"
            );
            return text;
        }
        if is_call && stage.at.contains(Position::Middle) {
            let call = self.calls.iter().position(|known| *known == id).expect("it was numbered");
            let _ = writeln!(text, "    {{ long from = begin, to = end;");
            for (p, cond, skip) in [
                (Position::Only, "w->ticks == 1", "to = from"),
                (Position::First, "w->ticks > 1 && from == 0", "from = 1"),
                (Position::Last, "w->ticks > 1 && to == w->ticks", "to--"),
            ] {
                if !stage.at.contains(p) {
                    let _ = writeln!(text, "    if ({cond}) {{ {skip}; }}");
                }
            }
            let _ = writeln!(
                text,
                "    if (from < to && w->call(w->context, {call}, from, to - from, block)) {{ return 1; }} }}"
            );
            return text;
        }
        if texts[Position::Middle.index()].is_some() {
            text += "    for (long t = begin; t < end; t++) {\n";
            text += &by_position(texts);
            text += "    }\n";
            return text;
        }
        let edge = |p: Position| texts[p.index()].clone().unwrap_or_default();
        let (only, first, last) = (edge(Position::Only), edge(Position::First), edge(Position::Last));
        if only == first && !only.is_empty() {
            let _ = writeln!(text, "    if (begin == 0) {{ const long t = 0; (void)t;\n{only}    }}");
        } else if !only.is_empty() || !first.is_empty() {
            let _ = writeln!(text, "    if (begin == 0) {{ const long t = 0; (void)t;");
            let _ = writeln!(text, "    if (w->ticks == 1) {{\n{only}    }} else {{\n{first}    }} }}");
        }
        if !last.is_empty() {
            let _ = writeln!(
                text,
                "    if (end == w->ticks && w->ticks > 1) {{ const long t = w->ticks - 1; (void)t;"
            );
            let _ = writeln!(text, "{last}    }}");
        }
        text
    }

    /// A stage at a tick of this position; none if it does not run there.
    fn stage(&mut self, id: (usize, usize), stage: &NestStage, p: Position) -> Option<String> {
        if !stage.at.contains(p) {
            return None;
        }
        let text = match &stage.work {
            Work::Call(_) => {
                let call = self.calls.iter().position(|known| *known == id).expect("it was numbered");
                format!("        if (w->call(w->context, {call}, t, 1, block)) {{ return 1; }}\n")
            }
            Work::Nest(nest) => {
                let (k, s) = id;
                self.parted = self.shared.divided[k][s].as_ref().and_then(|divided| divided.dim);
                let text = self.nest(nest, p);
                self.parted = None;
                text
            }
        };
        let limit = (self.short(stage) > 0).then(|| format!("t < w->ticks - {}", self.short(stage)));
        let conds: Vec<String> =
            limit.into_iter().chain(stage.when.iter().map(|guard| self.guard(guard))).collect();
        let moves = self.moves(stage);
        if conds.is_empty() {
            return Some(moves + &text);
        }
        Some(format!("{moves}        if ({}) {{\n{text}        }}\n", conds.join(" && ")))
    }

    /// At how many of the last ticks of a window a stage does not run, because its slots are filled less far ahead than
    /// the program looks.
    fn short(&self, stage: &NestStage) -> u32 {
        let ahead = stage.fills().map(|slot| self.program.slots[slot].ahead()).max().unwrap_or(0);
        self.program.ahead.saturating_sub(ahead)
    }

    fn guard(&self, guard: &Guard) -> String {
        let not = if guard.value { "" } else { "!" };
        format!("{not}{}[{}]", self.address(&guard.cond), guard.cond.offset)
    }

    fn tests(&self, tests: &[Test]) -> String {
        let one = |test: &Test| match test {
            Test::Is(guard) => self.guard(guard),
            Test::IsSet(register) if self.holds_sets => format!("set_{}", self.number(*register)),
            Test::IsSet(register) => format!("w->set[{}]", self.number(*register)),
        };
        tests.iter().map(one).collect::<Vec<_>>().join(" || ")
    }

    fn number(&self, register: Slot) -> usize {
        self.registers.iter().position(|own| *own == register).expect("it is a register")
    }

    /// The C text for the address of a slot's elements at a tick.
    fn address(&self, access: &Access) -> String {
        let (slot, width) = (access.slot, self.layout.width(access.slot));
        let tick = match (self.layout.rooms[slot], access.tick) {
            (Room::One, _) => return self.layout.place(slot).to_string(),
            (Room::Ticks, Tick::First) => return slot.to_string(),
            (Room::Block, _) => "(t - block)",
            (Room::Ticks, Tick::Now) => "t",
            (Room::Ticks, Tick::Before) => "(t - 1)",
            (Room::Ticks, Tick::After) => "(t + 1)",
            (Room::Ticks, Tick::Last) => "(w->ticks - 1)",
            (Room::Slides(at), tick) => return self.in_slide(slot, tick, at),
        };
        format!("({slot} + {tick} * {width})")
    }

    /// The writes of a tick: they see which registers were set before it.
    fn writes(&mut self, node: &NestNode, p: Position) -> String {
        let tests = node.writes.iter().flat_map(|write| &write.value).flat_map(|variant| &variant.any);
        let tested = tests.filter_map(|test| match test {
            Test::IsSet(register) => Some(self.number(*register)),
            Test::Is(_) => None,
        });
        let tested: BTreeSet<usize> = tested.collect();
        let one = |n: &usize| format!("        const int set_{n} = w->set[{n}]; (void)set_{n};\n");
        let mut text: String = tested.iter().map(one).collect();
        self.holds_sets = true;
        let reaches = self.program.reaches();
        for write in &node.writes {
            let own = self.write(write, p);
            let short = self.program.ahead - reaches[write.register];
            text += &match short {
                _ if own.is_empty() => continue,
                0 => own,
                _ => format!("        if (t < w->ticks - {short}) {{\n{own}        }}\n"),
            };
        }
        self.holds_sets = false;
        text
    }

    /// If ticks ahead write registers of a node, saves these registers after the last finished tick.
    fn keeps(&self, k: usize, node: &NestNode) -> String {
        if self.program.ahead == 0 || node.writes.is_empty() {
            return String::new();
        }
        format!(
            "        if (t == w->ticks - {}) {{ w->call(w->context, KEEP, t, 1, {k}); }}\n",
            self.program.ahead + 1
        )
    }

    fn write(&mut self, write: &rml_nest::Write, p: Position) -> String {
        if !write.at.contains(p) {
            return String::new();
        }
        let (register, n) = (write.register, self.number(write.register));
        let shape = self.program.slots[register].ty.shape.clone();
        let dims: Vec<usize> = shape.dims().to_vec();
        let access = Access::whole(register, Tick::Now, &shape);
        let nest = Nest {
            dims: dims.iter().copied().collect(),
            body: [Def::Load(Self::variants(&write.value, p))].into_iter().collect(),
            stores: vec![(access, Val(0))],
        };
        // A slot that uses the memory of the register needs no copy.
        let is_there = write.value.iter().all(|v| self.layout.place(v.access.slot) == register);
        let copy = if is_there { String::new() } else { self.chosen(nest) };
        let holds: Vec<String> = write.when.iter().map(|guard| self.guard(guard)).collect();
        let holds = if holds.is_empty() { "1".to_owned() } else { holds.join(" && ") };
        let put = format!("if ({holds}) {{\n{copy}        w->set[{n}] = 1;\n        }}\n");
        let unless: Vec<String> =
            write.unless.iter().map(|cond| format!("{}[{}]", self.address(cond), cond.offset)).collect();
        if unless.is_empty() {
            return format!("        {put}");
        }
        let unset = format!("if (w->call(w->context, -1 - {n}, t, 1, block)) {{ return 1; }}");
        format!("        if ({}) {{ {unset} }} else {put}", unless.join(" || "))
    }
}

/// Whether a loop only adds up the results of calls, which read slots of other nodes; then its accumulator stays in
/// place.
fn is_sum(node: &NestNode, layout: &Layout) -> bool {
    let fills = |slot: Slot| node.stages.iter().any(|stage| stage.fills().any(|own| own == slot));
    node.writes.is_empty()
        && node.stages.iter().all(|stage| match &stage.work {
            Work::Nest(nest) => stage.when.is_empty() && is_same(nest, layout),
            Work::Call(call) => {
                let reads = |operand: &rml_nest::Operand| {
                    rml_nest::accesses(&operand.source).iter().any(|(_, access)| fills(access.slot))
                };
                stage.when.is_empty() && call.start.is_some() && !call.operands.iter().any(reads)
            }
        })
}

/// Whether a nest copies elements onto themselves.
fn is_same(nest: &Nest, layout: &Layout) -> bool {
    let ([Def::Load(source)], [(to, _)]) = (nest.body.as_slice(), &nest.stores[..]) else { return false };
    let is_there = |from: &Access| {
        layout.rooms[from.slot] == Room::One
            && layout.rooms[to.slot] == Room::One
            && layout.place(from.slot) == layout.place(to.slot)
            && (from.offset, &from.strides) == (to.offset, &to.strides)
    };
    source.iter().all(|variant| is_there(&variant.access))
}

/// Code that depends on the position of the tick.
fn by_position(texts: &[Option<String>; 4]) -> String {
    let at = |p: Position| texts[p.index()].as_deref().unwrap_or_default();
    let [middle, first, last, only] = Position::ALL.map(at);
    if [only, first, last].iter().all(|text| *text == middle) {
        return middle.to_owned();
    }
    let cases = [
        ("w->ticks == 1", only),
        ("t == 0 && w->ticks > 1", first),
        ("t == w->ticks - 1 && w->ticks > 1", last),
    ];
    let cases = cases.iter().filter(|(_, body)| *body != middle);
    let cases: Vec<String> = cases.map(|(cond, body)| format!("if ({cond}) {{\n{body}        }}")).collect();
    format!("        {} else {{\n{middle}        }}\n", cases.join(" else "))
}
