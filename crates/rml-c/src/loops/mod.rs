//! A nest as loops in C.
//!
//! A nest does not determine the order of its loops. Here, values that need the same loop next share it, unless one of
//! them needs a fold over this loop. Values that are computed in one loop and used in another one are kept in an array
//! over the remaining dimensions. Loads are written where they are used. A fold with only its own dimension left
//! collects its terms in a row and folds the row; other folds keep a partial result for each point of the inner loops.

use std::collections::BTreeMap;
use std::fmt::Write;

use rml_base::{EntityId, IndexVec};
use rml_ir::DType;
use rml_ir::op::{Binary, Op, Unary};
use rml_nest::{Def, Dim, Fold, Val};

mod folds;
mod form;
mod place;
mod text;
mod turned;

pub use form::LoopForm;
pub use place::{Base, CDialect, LoadElements, Place, WrapAround};
pub use turned::{TurnedMatrix, turn, turnable};

/// A value to compute, or a store.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Item {
    Val(Val),
    Store(usize),
}

/// An array with an element for each point of some dimensions.
#[derive(Clone, Debug)]
struct Array {
    name: String,
    dims: Vec<Dim>,
}

/// Names in scope.
#[derive(Clone, Default)]
struct Scope {
    vars: BTreeMap<Val, String>,
    arrays: BTreeMap<Val, Array>,
    /// Folds whose loop is open.
    open: BTreeMap<Val, Array>,
}

/// Prints the loops of one nest.
#[derive(Debug)]
pub struct Loops<'a, D> {
    form: &'a LoopForm,
    places: &'a IndexVec<Val, Option<Place>>,
    stores: &'a [Option<Base>],
    dialect: &'a mut D,
    text: String,
    depth: usize,
}

impl<'a, D: CDialect> Loops<'a, D> {
    /// Loops for a nest whose loads read `places` and whose stores go to `stores`. A store to nowhere is still
    /// computed. The text is indented by `depth`.
    pub fn new(
        form: &'a LoopForm,
        places: &'a IndexVec<Val, Option<Place>>,
        stores: &'a [Option<Base>],
        dialect: &'a mut D,
        depth: usize,
    ) -> Self {
        Self { form, places, stores, dialect, text: String::new(), depth }
    }

    /// The loops as text.
    pub fn print(mut self) -> String {
        let nest = &self.form.nest;
        let is_computed = |def: &Def| !matches!(def, Def::Load(_));
        let vals = nest.body.iter_enumerated().filter(|(_, def)| is_computed(def)).map(|(v, _)| Item::Val(v));
        let items = vals.chain((0..nest.stores.len()).map(Item::Store)).collect();
        self.block(items, &[], &mut Scope::default());
        self.text
    }

    fn line(&mut self, text: impl AsRef<str>) {
        let _ = writeln!(self.text, "{:1$}{2}", "", 4 * self.depth, text.as_ref());
    }

    fn deps(&self, item: Item) -> Vec<Val> {
        match item {
            Item::Store(i) => vec![self.form.nest.stores[i].1],
            Item::Val(val) => self.form.nest.body[val].operands(),
        }
    }

    /// The dimensions that an item still needs loops for, outermost first.
    fn rest(&self, item: Item, fixed: &[Dim], scope: &Scope) -> Vec<Dim> {
        let span = match item {
            Item::Store(i) => self.form.span_of_store(i),
            Item::Val(val) => match &self.form.nest.body[val] {
                // A loaded row is folded where it is stored.
                Def::Fold(by, dim, of)
                    if !scope.open.contains_key(&val) && self.is_load(*of) && self.dialect.has_row(*by) =>
                {
                    let span = &self.form.spans[*of];
                    let rest = span.iter().filter(|d| *d != dim && !fixed.contains(d));
                    if rest.clone().next().is_none() { Vec::new() } else { span.clone() }
                }
                Def::Fold(_, dim, of) => [&self.form.spans[*of][..], &[*dim]].concat(),
                Def::Chain { .. } if self.is_aside(val) => {
                    let side = self.side(val);
                    self.form.spans[val].iter().filter(|dim| Some(**dim) != side).copied().collect()
                }
                Def::Chain { .. } => [&self.form.spans[val][..], self.folded(val).as_slice()].concat(),
                Def::Load(_) | Def::Take { .. } | Def::Apply(..) => self.form.spans[val].clone(),
            },
        };
        let is_left = |dim: &&Dim| span.contains(dim) && !fixed.contains(dim);
        self.form.order.iter().filter(is_left).copied().collect()
    }

    fn is_load(&self, val: Val) -> bool {
        matches!(self.form.nest.body[val], Def::Load(_)) && self.base(val).is_some()
    }

    /// Where all elements of a load are, so far apart as its access says.
    fn base(&self, val: Val) -> Option<&'a Base> {
        match self.places[val].as_deref() {
            Some([(_, LoadElements::At(base))]) if base.around.is_none() => Some(base),
            _ => None,
        }
    }

    /// The dimension that a value folds in a loop; a chain of a single product needs no loop.
    fn folded(&self, val: Val) -> Option<Dim> {
        match self.form.nest.body[val] {
            Def::Chain { dim, .. } if self.form.nest.dims[dim] == 1 || self.is_aside(val) => None,
            Def::Chain { dim, .. } | Def::Fold(_, dim, _) => Some(dim),
            Def::Load(_) | Def::Take { .. } | Def::Apply(..) => None,
        }
    }

    /// Whether a chain is computed separately from other loops, directly from memory: because its terms are contiguous,
    /// or because both of its factors are loaded.
    fn is_aside(&self, val: Val) -> bool {
        let Def::Chain { dim, of, .. } = self.form.nest.body[val] else { return false };
        let is_loaded = || of.iter().all(|factor| self.is_load(*factor));
        self.form.nest.dims[dim] > 1
            && (self.form.vector == Some(dim) || self.dialect.has_chains() && is_loaded())
    }

    /// The dimension along which separate chains are adjacent.
    fn side(&self, val: Val) -> Option<Dim> {
        let span = &self.form.spans[val];
        let is_own = |dim: &&Dim| {
            span.contains(dim) && self.form.nest.dims[**dim] > 1 && self.form.parted != Some(**dim)
        };
        self.form.order.iter().rev().find(is_own).copied()
    }

    fn folds_over(&self, item: Item, dim: Dim) -> Option<Val> {
        match item {
            Item::Val(val) => (self.folded(val) == Some(dim)).then_some(val),
            Item::Store(_) => None,
        }
    }

    fn block(&mut self, mut pending: Vec<Item>, fixed: &[Dim], scope: &mut Scope) {
        while let Some(first) = pending.first().copied() {
            let Some(dim) = self.rest(first, fixed, scope).first().copied() else {
                pending.remove(0);
                self.compute(first, scope);
                continue;
            };
            let (group, rest) = self.group(&pending, dim, fixed, scope);
            self.keep(&group, &rest, dim, fixed, scope);
            let folded: Vec<Val> = group.iter().filter_map(|item| self.folds_over(*item, dim)).collect();
            let mut inner = scope.clone();
            for val in &folded {
                let array = self.open(*val, dim, fixed, scope);
                inner.open.insert(*val, array);
            }
            let head = self.head(dim);
            self.line(format!("{head} {{"));
            self.depth += 1;
            self.block(group, &[fixed, &[dim]].concat(), &mut inner);
            self.depth -= 1;
            self.line("}");
            for val in folded {
                let array = inner.open.remove(&val).expect("it was opened");
                self.close(val, array, scope);
            }
            pending = rest;
        }
    }

    /// Divides items into those that share the next loop over a dimension, and the rest. Costly operators that need no
    /// other loop get their own loop, which compilers can vectorise.
    fn group(&self, pending: &[Item], dim: Dim, fixed: &[Dim], scope: &Scope) -> (Vec<Item>, Vec<Item>) {
        let (group, rest) = self.shared(pending, dim, fixed, scope);
        let is_inner = |item: &Item| self.rest(*item, fixed, scope).len() > 1;
        if !group.iter().any(is_inner) {
            return (group, rest);
        }
        // The items that depend on inner loops, and the items on which they depend.
        let (mut after, mut before): (Vec<Item>, Vec<Item>) = (Vec::new(), Vec::new());
        for item in &group {
            let depends = self.deps(*item).iter().any(|val| after.contains(&Item::Val(*val)));
            if depends || is_inner(item) {
                after.push(*item);
            }
        }
        for item in group.iter().rev() {
            let Item::Val(val) = item else {
                before.extend(is_inner(item).then_some(*item));
                continue;
            };
            let is_needed = before.iter().any(|other| self.deps(*other).contains(val));
            if is_needed || is_inner(item) {
                before.push(*item);
            }
        }
        let is_costly = |items: &[Item]| items.iter().any(|item| self.is_costly(*item));
        let heads: Vec<Item> = group.iter().filter(|item| !after.contains(item)).copied().collect();
        let tails: Vec<Item> =
            group.iter().filter(|item| after.contains(item) && !before.contains(item)).copied().collect();
        let own = if is_costly(&heads) {
            heads
        } else if is_costly(&tails) {
            group.into_iter().filter(|item| !tails.contains(item)).collect()
        } else {
            group
        };
        let rest = pending.iter().filter(|item| !own.contains(item)).copied().collect();
        (own, rest)
    }

    fn is_costly(&self, item: Item) -> bool {
        let Item::Val(val) = item else { return false };
        matches!(&self.form.nest.body[val], Def::Apply(Op::Unary(f), _) if is_function(*f))
            || matches!(&self.form.nest.body[val], Def::Apply(Op::Binary(Binary::Div | Binary::LogAddExp), _))
    }

    fn shared(&self, pending: &[Item], dim: Dim, fixed: &[Dim], scope: &Scope) -> (Vec<Item>, Vec<Item>) {
        let (mut group, mut rest, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        for item in pending {
            let fits = self.rest(*item, fixed, scope).first() == Some(&dim)
                && self.deps(*item).iter().all(|val| !missing.contains(val));
            if fits {
                group.push(*item);
                missing.extend(self.folds_over(*item, dim));
            } else {
                rest.push(*item);
                if let Item::Val(val) = item {
                    missing.push(*val);
                }
            }
        }
        (group, rest)
    }

    /// Declares arrays for the values of a loop that are used after it.
    fn keep(&mut self, group: &[Item], rest: &[Item], dim: Dim, fixed: &[Dim], scope: &mut Scope) {
        for item in group {
            let Item::Val(val) = *item else { continue };
            let is_used = rest.iter().any(|other| self.deps(*other).contains(&val));
            if self.folds_over(*item, dim).is_none() && is_used && !scope.arrays.contains_key(&val) {
                let dims = self.left(&self.form.spans[val], fixed);
                let name = format!("b{}", val.index());
                self.declare(&name, self.form.types[val], self.points(&dims));
                scope.arrays.insert(val, Array { name, dims });
            }
        }
    }

    fn left(&self, span: &[Dim], fixed: &[Dim]) -> Vec<Dim> {
        let is_left = |dim: &&Dim| span.contains(dim) && !fixed.contains(dim);
        self.form.order.iter().filter(is_left).copied().collect()
    }

    fn points(&self, dims: &[Dim]) -> usize {
        dims.iter().map(|dim| self.form.nest.dims[*dim]).product()
    }

    fn declare(&mut self, name: &str, dtype: DType, n: usize) {
        let text = self.dialect.array(name, dtype, n.max(1));
        self.line(text);
    }

    /// Opens a fold before its loop: an array of terms if one dimension is left, otherwise an array of partial results.
    fn open(&mut self, val: Val, dim: Dim, fixed: &[Dim], scope: &Scope) -> Array {
        let dims = self.left(&self.form.spans[val], fixed);
        let (name, n) = (format!("f{}", val.index()), self.form.nest.dims[dim]);
        let Def::Fold(by, _, of) = self.form.nest.body[val] else {
            self.open_chain(val, &name, &dims, scope);
            return Array { name, dims };
        };
        if dims.is_empty() && self.dialect.has_row(by) {
            self.declare(&name, self.form.types[of], n);
        } else {
            let points = self.points(&dims);
            let parts = folds::parts(by, n);
            self.declare(&name, self.form.types[val], parts * points);
            if matches!(by, Fold::LargestAt | Fold::SmallestAt) {
                self.declare(&format!("{name}_best"), self.form.types[of], points);
            }
            for line in folds::begin(by, self.form.types[of], &name, parts * points, n) {
                self.line(line);
            }
        }
        Array { name, dims }
    }

    /// Declares the sums of a chain, one for each remaining point, with their start values.
    fn open_chain(&mut self, val: Val, name: &str, dims: &[Dim], scope: &Scope) {
        let Def::Chain { start, .. } = self.form.nest.body[val] else { unreachable!("it is a chain") };
        self.declare(name, DType::Num, self.points(dims));
        self.points_of(dims);
        let first = start.map_or_else(|| "0".to_owned(), |start| self.value(start, scope));
        self.line(format!("    {name}[{}] = {first};", self.index(dims)));
    }

    /// Adds a term in the loop of a fold.
    fn term(&mut self, val: Val, array: &Array, scope: &Scope) {
        if let Def::Chain { of: [a, b], .. } = self.form.nest.body[val] {
            let (a, b) = (self.value(a, scope), self.value(b, scope));
            let sum = format!("{}[{}]", array.name, self.index(&array.dims));
            let added = self.dialect.scalars().added([&a, &b], &sum);
            self.line(format!("{sum} = {added};"));
            return;
        }
        let Def::Fold(by, dim, of) = self.form.nest.body[val] else { unreachable!("it is a fold") };
        let x = self.value(of, scope);
        let name = &array.name;
        if array.dims.is_empty() && self.dialect.has_row(by) {
            self.line(format!("{name}[{dim}] = {x};"));
            return;
        }
        let (at, points, n) = (self.index(&array.dims), self.points(&array.dims), self.form.nest.dims[dim]);
        for line in folds::term(by, self.form.types[of], name, &at, points, (dim, n), &x, self.dialect) {
            self.line(line);
        }
    }

    /// The result of a fold after its loop.
    fn close(&mut self, val: Val, array: Array, scope: &mut Scope) {
        match self.form.nest.body[val] {
            Def::Fold(by, dim, of) => {
                let n = self.form.nest.dims[dim];
                if array.dims.is_empty() && self.dialect.has_row(by) {
                    let row = self.dialect.row(by, self.form.types[of], &array.name, n, 1);
                    self.define(val, &row, scope);
                    return;
                }
                let points = self.points(&array.dims);
                for line in folds::end(by, &array.name, points, n) {
                    self.line(line);
                }
                if array.dims.is_empty() {
                    self.define(val, &format!("{}[0]", array.name), scope);
                    return;
                }
            }
            Def::Chain { .. } if array.dims.is_empty() => {
                self.define(val, &format!("{}[0]", array.name), scope);
                return;
            }
            Def::Chain { .. } => {}
            Def::Load(_) | Def::Take { .. } | Def::Apply(..) => unreachable!("it is a fold"),
        }
        self.kept(val, array, scope);
    }

    /// Binds a value to an array. If an outer loop keeps the value for more points, copies it there.
    fn kept(&mut self, val: Val, array: Array, scope: &mut Scope) {
        match scope.arrays.get(&val).cloned() {
            // An outer loop keeps it for all of its points.
            Some(outer) if outer.dims != array.dims => {
                self.points_of(&array.dims);
                let (to, from) = (self.index(&outer.dims), self.index(&array.dims));
                self.line(format!("    {}[{to}] = {}[{from}];", outer.name, array.name));
            }
            _ => {}
        }
        scope.vars.remove(&val);
        scope.arrays.insert(val, array);
    }

    /// The head of the loop over a dimension.
    fn head(&self, dim: Dim) -> String {
        let n = self.form.nest.dims[dim];
        match self.form.parted == Some(dim) {
            true => format!("for (long {dim} = lo; {dim} < hi; {dim}++)"),
            false => format!("for (long {dim} = 0; {dim} < {n}; {dim}++)"),
        }
    }

    /// Opens loops over all points of some dimensions.
    fn points_of(&mut self, dims: &[Dim]) {
        for dim in dims {
            let head = self.head(*dim);
            self.line(head);
        }
    }

    /// All chains along one dimension, computed side by side.
    fn chains(&mut self, val: Val, scope: &mut Scope) {
        let Def::Chain { dim, of, .. } = self.form.nest.body[val] else { unreachable!("it is a chain") };
        let side = self.side(val);
        let array = Array { name: format!("f{}", val.index()), dims: side.into_iter().collect() };
        self.open_chain(val, &array.name, &array.dims, scope);
        let (n, k) = (self.points(&array.dims), self.form.nest.dims[dim]);
        if self.dialect.has_chains() {
            let factors = of.map(|factor| self.row(factor, side, dim, scope));
            self.line(format!("chains({}, {n}, {k}, {}, {});", array.name, factors[0], factors[1]));
        } else {
            self.points_of(&array.dims);
            self.points_of(&[dim]);
            self.term(val, &array, scope);
        }
        if array.dims.is_empty() {
            self.define(val, &format!("{}[0]", array.name), scope);
        } else {
            self.kept(val, array, scope);
        }
    }

    /// The address of a value in memory, and its strides along two dimensions.
    fn row(&mut self, val: Val, side: Option<Dim>, dim: Dim, scope: &Scope) -> String {
        let own = |of: Dim| Some(of) != side && of != dim;
        match (&self.form.nest.body[val], self.base(val)) {
            (Def::Load(source), Some(base)) => {
                let access = &source[0].access;
                let mut first = access.clone();
                self.form.nest.dims.ids().filter(|d| !own(*d)).for_each(|d| first.strides[d.index()] = 0);
                let along = side.map_or(0, |side| access.strides[side.index()]);
                format!(
                    "{}, {along}, {}",
                    base.pointer(&self.element(&first, "")),
                    access.strides[dim.index()]
                )
            }
            _ if scope.arrays.contains_key(&val) && !scope.vars.contains_key(&val) => {
                let Array { name, dims } = &scope.arrays[&val];
                let stride =
                    |of: Dim| dims.iter().position(|d| *d == of).map_or(0, |at| self.points(&dims[at + 1..]));
                let first: Vec<String> =
                    dims.iter().filter(|d| own(**d)).map(|d| format!(" + {d} * {}", stride(*d))).collect();
                format!("{name}{}, {}, {}", first.concat(), side.map_or(0, stride), stride(dim))
            }
            _ => {
                let (name, x) = (format!("x{}_{}", val.index(), self.text.len()), self.value(val, scope));
                self.line(format!("const num {name} = {x};"));
                format!("&{name}, 0, 0")
            }
        }
    }

    fn define(&mut self, val: Val, text: &str, scope: &mut Scope) {
        let name = format!("v{}", val.index());
        self.line(format!("const {} {name} = {text};", self.dialect.variable(self.form.types[val])));
        if let Some(array) = scope.arrays.get(&val).cloned() {
            let at = self.index(&array.dims);
            self.line(format!("{}[{at}] = {name};", array.name));
        }
        scope.vars.insert(val, name);
    }

    /// Computes an item at a point of all loops that it needs.
    fn compute(&mut self, item: Item, scope: &mut Scope) {
        let val = match item {
            Item::Store(i) => {
                let (access, val) = &self.form.nest.stores[i];
                let x = self.value(*val, scope);
                self.line(match &self.stores[i] {
                    Some(base) => format!("{} = {x};", self.at(base, access, (*val, ""))),
                    None => format!("(void){x};"),
                });
                return;
            }
            Item::Val(val) => val,
        };
        let text = match &self.form.nest.body[val] {
            Def::Load(_) => return,
            Def::Take { source, at, size, stride } => {
                let i = self.value(*at, scope);
                let position = self.dialect.scalars().function("rml_position");
                let flag = self.dialect.outside();
                let picked = format!("{position}({i}, {size}, {flag}) * {stride}");
                self.load(val, source, &picked)
            }
            Def::Apply(op, args) => {
                let dtype = args.last().map_or(DType::Num, |arg| self.form.types[*arg]);
                let args: Vec<String> = args.iter().map(|arg| self.value(*arg, scope)).collect();
                self.dialect.scalars().apply(op, dtype, &args)
            }
            Def::Fold(by, dim, of) => {
                if let Some(array) = scope.open.get(&val).cloned() {
                    self.term(val, &array, scope);
                    return;
                }
                self.loaded_row(*by, *dim, *of)
            }
            Def::Chain { of: [a, b], start, .. } => {
                if let Some(array) = scope.open.get(&val).cloned() {
                    self.term(val, &array, scope);
                    return;
                }
                if self.is_aside(val) {
                    self.chains(val, scope);
                    return;
                }
                let first = start.map_or_else(|| "0".to_owned(), |start| self.value(start, scope));
                let fma = self.dialect.scalars().function("rml_fma");
                format!("{fma}({}, {}, {first})", self.value(*a, scope), self.value(*b, scope))
            }
        };
        self.define(val, &text, scope);
    }

    /// The fold of a loaded row.
    fn loaded_row(&mut self, by: Fold, dim: Dim, of: Val) -> String {
        let (Def::Load(source), Some(base)) = (&self.form.nest.body[of], self.base(of)) else {
            unreachable!("such a fold is of a load")
        };
        let access = &source[0].access;
        let mut first = access.clone();
        let stride = std::mem::replace(&mut first.strides[dim.index()], 0);
        let row = base.pointer(&self.element(&first, ""));
        self.dialect.row(by, self.form.types[of], &row, self.form.nest.dims[dim], stride)
    }
}

/// Whether a unary operator takes many instructions.
fn is_function(f: Unary) -> bool {
    match f {
        Unary::Neg | Unary::Abs | Unary::Sign | Unary::Relu | Unary::Flush => false,
        Unary::Floor | Unary::Ceil | Unary::Round => false,
        Unary::Exp | Unary::Expm1 | Unary::Log | Unary::Log1p | Unary::Sqrt | Unary::Sin | Unary::Cos => true,
        Unary::Erf | Unary::Tanh | Unary::Sigmoid | Unary::Gelu | Unary::Softplus => true,
    }
}
