//! Stages of a tick: nests as loops, and what their loads read.

use rml_base::{EntityId, IndexVec};
use rml_ir::{DType, Positions, Shape};
use rml_nest::{
    Access, Def, Dim, Fold, Home, Nest, NestStage, Slot, Test, Tick, Val, Variant, Variants, Work, dense,
};

use crate::Scalars;
use crate::function::{Function, num};
use crate::header::comment;
use crate::lines::Lines;
use crate::loops::{Base, CDialect, LoadElements, LoopForm, Loops, Place, turn, turnable};
use crate::scope::ONCE;

/// The number of values from which loops count as long.
const LONG: usize = 16;

/// Loops in C99, with arrays in the memory of the function that they are part of.
impl CDialect for Function<'_> {
    fn scalars(&self) -> &Scalars {
        &self.scope.scalars
    }

    fn element(&self, dtype: DType) -> &'static str {
        num(dtype)
    }

    fn variable(&self, dtype: DType) -> &'static str {
        num(dtype)
    }

    fn array(&mut self, name: &str, dtype: DType, n: usize) -> String {
        Function::array(self, name, dtype, n)
    }

    fn has_row(&self, by: Fold) -> bool {
        by == Fold::Lanes
    }

    fn row(&self, _: Fold, _: DType, x: &str, n: usize, apart: isize) -> String {
        if n == 0 {
            return format!("((void)({x}), (num)0)");
        }
        format!("{}({x}, {n}, {apart})", self.scope.scalars.function("rml_sum"))
    }

    fn has_chains(&self) -> bool {
        false
    }

    fn outside(&self) -> &'static str {
        "&outside"
    }
}

impl Function<'_> {
    /// Executes a stage at a tick, under its conditions.
    pub(crate) fn stage(&mut self, stage: &NestStage) {
        self.move_rings(stage);
        if self.scope.is_moved(stage) {
            return;
        }
        let ahead = stage.fills().map(|slot| self.scope.program.slots[slot].ahead()).max().unwrap_or(0);
        let condition = self.condition(stage.at, &stage.when, ahead);
        if condition.as_deref() == Some("false") {
            return;
        }
        self.begin_stage();
        self.asserts = stage.fills().find_map(|slot| self.scope.asserted(slot));
        let inner = self.aside(|f| match &stage.work {
            Work::Nest(nest) => {
                let store = |f: &Self, access: &Access| {
                    let is_needed = f.scope.is_stored(access.slot);
                    is_needed.then(|| f.scope.slot(access.slot, f.ticks.now))
                };
                let stores: Vec<_> = nest.stores.iter().map(|(access, _)| store(f, access)).collect();
                f.nest(nest, stage.at, &stores);
            }
            Work::Call(call) => f.call(call, stage.at),
        });
        self.asserts = None;
        if inner.is_empty() {
            return;
        }
        self.says(stage);
        self.enclose(inner, condition.map(|condition| format!("if ({condition})")));
    }

    /// Writes lines under a condition; in braces, if they declare something.
    pub(crate) fn enclose(&mut self, inner: Lines, condition: Option<String>) {
        let text = inner.into_text();
        let types = ["const ", "num ", "int64_t ", "bool ", "long "];
        let declares = text.lines().any(|line| types.iter().any(|ty| line.starts_with(ty)));
        let is_block = condition.is_some() || declares;
        if is_block {
            self.lines.open(condition.unwrap_or_default());
        }
        text.lines().for_each(|line| self.lines.line(line));
        self.lines.close_all(usize::from(is_block));
    }

    /// A comment with the names that a stage computes.
    fn says(&mut self, stage: &NestStage) {
        let named = |slot: Slot| self.scope.user_name(slot);
        let names: Vec<&str> = stage.fills().filter_map(named).collect();
        if names.is_empty() {
            return;
        }
        let what = match &stage.work {
            Work::Nest(_) => String::new(),
            Work::Call(call) => format!(" = {}", call.op.name()),
        };
        self.lines.line(comment(&format!("{}{what}", names.join(", "))));
    }

    /// The loops of a nest at these positions. A store without a base goes nowhere.
    pub(crate) fn nest(&mut self, nest: &Nest, at: Positions, stores: &[Option<Base>]) {
        let mut nest = nest.clone();
        let types = rml_nest::dtypes(&self.scope.program, &nest).expect("N5: values have types");
        let mut places: IndexVec<Val, Option<Place>> = IndexVec::filled(None, nest.body.len());
        let (dims, all, nest_len) = (nest.dims.clone(), nest.stores.clone(), nest.body.len());
        let stored: Vec<Slot> = nest.stores.iter().map(|(access, _)| access.slot).collect();
        for (val, def) in nest.body.iter_mut().enumerate() {
            let is_alone = matches!(def, Def::Load(_));
            let Some(source) = def.source_mut() else { continue };
            let mut place = self.chosen(source, at);
            if is_alone && !nest.dims.is_empty() {
                self.begin_sum(&dims, (&all, stores), source, &mut place);
                if nest_len > LONG && place.len() > 1 {
                    self.beside_loops(&format!("c{val}"), &dims, source, &mut place);
                }
                let is_apart = source.iter().all(|v| self.is_apart(&v.access, &stored));
                self.pointer(&format!("p{val}"), is_apart, source, &mut place);
            }
            places[Val::from_index(val)] = Some(place);
        }
        self.turn(&mut nest, &mut places);
        let form = LoopForm::by_rows(nest, types, None, &|slot| self.scope.row_of(slot));
        let text = Loops::new(&form, &places, stores, self, 0).print();
        text.lines().for_each(|line| self.lines.line(line));
        self.check(&text);
    }

    /// The elements that a load reads at ticks of these positions. Variants that cannot apply are removed from the
    /// source.
    pub(crate) fn chosen(&self, source: &mut Variants, at: Positions) -> Place {
        let (mut rest, mut place) = (at.and(self.scope.all()), Place::new());
        let mut kept = Variants::new();
        for variant in source.iter() {
            let own = variant.at.and(rest);
            if own.is_empty() {
                continue;
            }
            let tests = self.tests(&variant.any);
            let position = self.scope.position(own, rest);
            let condition = match (position, &tests) {
                (None, None) => String::new(),
                (Some(position), None) => position,
                (None, Some(tests)) => tests.clone(),
                (Some(position), Some(tests)) if tests.contains(" || ") => format!("{position} && ({tests})"),
                (Some(position), Some(tests)) => format!("{position} && {tests}"),
            };
            place.push((condition, self.elements(&variant.access)));
            kept.push(variant.clone());
            if tests.is_none() {
                rest = rest.iter().filter(|p| !own.contains(*p)).fold(Positions::NONE, Positions::with);
            }
        }
        *source = kept;
        place
    }

    /// The C condition that one of some tests holds; none if it always does.
    fn tests(&self, tests: &[Test]) -> Option<String> {
        let mut all = Vec::new();
        for test in tests {
            match test {
                Test::Is(guard) => all.push(self.holds(guard)),
                Test::IsSet(slot) => {
                    let register = self.scope.reg(*slot);
                    if !self.scope.registers[register].flagged {
                        return None;
                    }
                    all.push(self.set_flag(register));
                }
            }
        }
        (!all.is_empty()).then(|| all.join(" || "))
    }

    /// Copies the start value of an accumulator before the loops, so that the loops can add in place.
    fn begin_sum(
        &mut self,
        dims: &IndexVec<Dim, usize>,
        (stores, bases): (&[(Access, Val)], &[Option<Base>]),
        source: &mut Variants,
        place: &mut Place,
    ) {
        let is_kept = |access: &Access, store: &Access| {
            (access.slot, access.offset, &access.strides) == (store.slot, store.offset, &store.strides)
                && access.tick != Tick::Now
                && self.scope.layout.one[access.slot]
        };
        let known = |(v, (_, elements)): (&Variant, &(String, LoadElements))| {
            let is_there = |base: &Option<Base>| {
                base.as_ref().is_some_and(|to| *elements == LoadElements::At(to.clone()))
            };
            let mut all = stores.iter().zip(bases);
            all.position(|((store, _), base)| is_kept(&v.access, store) && is_there(base))
        };
        let found = source.iter().zip(&*place).enumerate().find_map(|(i, all)| Some((i, known(all)?)));
        let Some((at, store)) = found.filter(|_| source.len() > 1) else { return };
        let Some(to) = bases[store].clone() else { return };
        let there: Vec<bool> = (0..source.len()).map(|i| i == at).collect();
        let store = stores[store].0.clone();
        self.unless_there(source, place, &there, &|f, one| {
            let body = [Def::Load(one)].into_iter().collect();
            let nest = Nest { dims: dims.clone(), body, stores: vec![(store.clone(), Val(0))] };
            f.nest(&nest, Positions::ALL, &[Some(to.clone())]);
        });
        let (own, (_, elements)) = (source[at].clone(), place[at].clone());
        *source = vec![own];
        *place = vec![(String::new(), elements)];
    }

    /// Copies what a load reads to an array before long loops, unless all variants are in memory with the same strides:
    /// compilers do not vectorise loops that choose between variants at each element.
    fn beside_loops(
        &mut self,
        name: &str,
        dims: &IndexVec<Dim, usize>,
        source: &mut Variants,
        place: &mut Place,
    ) {
        let strides = &source[0].access.strides;
        let is_alike = source.iter().all(|v| v.access.strides == *strides);
        if is_alike && place.iter().all(|(_, elements)| matches!(elements, LoadElements::At(_))) {
            return;
        }
        let moves = |dim: &Dim| source.iter().any(|v| v.access.strides[dim.index()] != 0);
        let shape: Vec<usize> =
            dims.iter_enumerated().map(|(dim, n)| if moves(&dim) { *n } else { 1 }).collect();
        let own: Vec<isize> =
            shape.iter().zip(dense(&shape)).map(|(n, far)| if *n > 1 { far } else { 0 }).collect();
        let slot = source[0].access.slot;
        let declared = self.array(name, self.scope.program.slots[slot].ty.dtype, shape.iter().product());
        self.lines.line(declared);
        let access = Access { slot, tick: Tick::Now, offset: 0, strides: own };
        let body: IndexVec<Val, Def> = [Def::Load(source.clone())].into_iter().collect();
        let places = [Some(place.clone())].into_iter().collect();
        let nest = Nest { dims: dims.clone(), body, stores: vec![(access.clone(), Val(0))] };
        let types = rml_nest::dtypes(&self.scope.program, &nest).expect("N5: values have types");
        let form = LoopForm::by_rows(nest, types, None, &|slot| self.scope.row_of(slot));
        let text = Loops::new(&form, &places, &[Some(Base::array(name))], self, 0).print();
        text.lines().for_each(|line| self.lines.line(line));
        *source = vec![Variant { at: Positions::ALL, any: Vec::new(), access }];
        *place = vec![(String::new(), LoadElements::At(Base::array(name)))];
    }

    /// Whether an access reads none of the elements that are stored at this tick to some slots.
    fn is_apart(&self, access: &Access, stored: &[Slot]) -> bool {
        let is_other = access.tick != Tick::Now && !self.scope.layout.one[access.slot];
        is_other || !stored.contains(&access.slot)
    }

    /// Chooses between the variants of a load before its loops, by a pointer, if they differ only in their address.
    /// `is_apart`: the loops do not store what the load reads.
    pub(crate) fn pointer(&mut self, name: &str, is_apart: bool, source: &mut Variants, place: &mut Place) {
        let is_alike = source.iter().all(|v| v.access.strides == source[0].access.strides);
        let address = |(variant, (_, elements)): (&rml_nest::Variant, &(String, LoadElements))| match elements
        {
            LoadElements::At(base) if base.around.is_none() => {
                Some(base.pointer(&variant.access.offset.to_string()))
            }
            LoadElements::At(_) | LoadElements::Same(_) | LoadElements::Counted => None,
        };
        let all: Option<Vec<String>> = source.iter().zip(&*place).map(address).collect();
        let Some(all) = all.filter(|all| is_alike && all.len() > 1) else { return };
        let (last, others) = all.split_last().expect("there are several");
        let choose = |text, (address, (cond, _)): (&String, &(String, LoadElements))| {
            format!("{cond} ? {address} : {text}")
        };
        let text = others.iter().zip(&*place).rev().fold(last.clone(), choose);
        let dtype = self.scope.program.slots[source[0].access.slot].ty.dtype;
        let alone = if is_apart { "restrict " } else { "" };
        self.lines.line(format!("const {} *const {alone}{name} = {text};", num(dtype)));
        source.truncate(1);
        source[0].access.offset = 0;
        *place = vec![(String::new(), LoadElements::At(Base::array(name)))];
    }

    /// Copies a tensor to contiguous memory.
    pub(crate) fn copy_source(&mut self, source: &Variants, shape: &Shape, at: Positions, to: &Base) {
        if shape.is_empty() {
            return;
        }
        let dims = shape.dims();
        let store = Access { slot: source[0].access.slot, tick: Tick::Now, offset: 0, strides: dense(dims) };
        let body: IndexVec<Val, Def> = [Def::Load(source.clone())].into_iter().collect();
        let nest = Nest { dims: dims.iter().copied().collect(), body, stores: vec![(store, Val(0))] };
        let lines = self.aside(|f| f.nest(&nest, at, &[Some(to.clone())]));
        self.enclose(lines, None);
    }

    /// Whether a loop over ticks reads the same elements at all of them.
    pub(crate) fn is_kept(&self, access: &Access) -> bool {
        self.scope.cycles > 1
            && self.ticks.now != ONCE.now
            && match self.scope.program.slots[access.slot].home {
                Home::Const(_) => true,
                Home::Register { .. } => !self.scope.layout.in_turn.contains(&access.slot),
                Home::Input => false,
                Home::Tick { .. } => access.tick == Tick::Now && self.scope.layout.steady[access.slot],
            }
    }

    /// Lets chains read the columns of matrices that do not change and that the plan transposes anyway: these are
    /// transposed before the ticks.
    fn turn(&mut self, nest: &mut Nest, places: &mut IndexVec<Val, Option<Place>>) {
        for matrix in turnable(nest) {
            let Some(source) = nest.body[matrix.val].source() else { continue };
            let Some([(_, LoadElements::At(base))]) = places[matrix.val].as_deref() else { continue };
            if base.around.is_some() {
                continue;
            }
            let access = source[0].access.clone();
            let [rows, columns, stride] = matrix.size;
            let is_register = matches!(self.scope.program.slots[access.slot].home, Home::Register { .. });
            let is_transposed = is_register && self.scope.transposed.contains(&self.scope.reg(access.slot));
            if !is_transposed || !self.is_kept(&access) {
                continue;
            }
            let first = base.pointer(&access.offset.to_string());
            let name =
                self.copied(&format!("{first} {rows} {columns} {stride}"), rows * columns, |f, name| {
                    f.lines.open(format!("for (long i = 0; i < {rows}; i++)"));
                    f.lines.open(format!("for (long j = 0; j < {columns}; j++)"));
                    let from = base.at(&format!("{} + i * {stride} + j", access.offset));
                    f.lines.line(format!("{name}[j * {rows} + i] = {from};"));
                    f.lines.close_all(2);
                });
            turn(nest, &matrix);
            places[matrix.val] = Some(vec![(String::new(), LoadElements::At(Base::array(name)))]);
        }
    }

    /// The name of an array of nums that is filled before all ticks.
    pub(crate) fn copied(&mut self, of: &str, n: usize, fill: impl FnOnce(&mut Self, &str)) -> String {
        if let Some((_, name)) = self.copies.iter().find(|(known, _)| known == of) {
            return name.clone();
        }
        let name = format!("copy_{}", self.copies.len());
        self.copies.push((of.to_owned(), name.clone()));
        let declared = self.kept(&name, DType::Num, n);
        let ticks = std::mem::replace(&mut self.ticks, ONCE);
        let lines = self.aside(|f| fill(f, &name));
        self.ticks = ticks;
        self.once.line(declared);
        self.once.paste(&lines);
        name
    }
}
