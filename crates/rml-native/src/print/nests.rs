//! Nests as C functions: the variants of loads that apply at a position, and the parameters of the loops.

use std::collections::BTreeMap;
use std::fmt::Write;

use rml_base::{EntityId, IndexVec};
use rml_c::Scalars;
use rml_c::loops::{Base, CDialect, LoadElements, LoopForm, Loops, Place};
use rml_ir::{DType, Data, Position, Positions, Value};
use rml_nest::{Access, Def, Fold, Home, Nest, Slot, Val, Variant, Variants};

use super::{Printer, c_type, folds, var_type};

/// The most bytes of an array on the stack.
const STACK: usize = 16 << 10;

/// The dialect of loops of this executor: with vectors, and with large arrays outside of the stack.
struct Native<'a>(&'a Scalars);

impl CDialect for Native<'_> {
    fn scalars(&self) -> &Scalars {
        self.0
    }

    fn element(&self, dtype: DType) -> &'static str {
        c_type(dtype)
    }

    fn variable(&self, dtype: DType) -> &'static str {
        var_type(dtype)
    }

    fn array(&mut self, name: &str, dtype: DType, n: usize) -> String {
        let place = if n * 8 > STACK { "static _Thread_local " } else { "" };
        format!("{place}{} {name}[{n}];", c_type(dtype))
    }

    fn has_row(&self, _: Fold) -> bool {
        true
    }

    fn row(&self, by: Fold, dtype: DType, x: &str, n: usize, apart: isize) -> String {
        folds::row(by, dtype, x, n, apart)
    }

    fn has_chains(&self) -> bool {
        true
    }

    fn outside(&self) -> &'static str {
        "&bad"
    }
}

/// The elements from the address in parameter `at` on.
fn param(at: usize) -> Base {
    Base::array(format!("p{at}"))
}

impl Printer<'_> {
    /// The variants of a load that may apply at a position.
    pub(super) fn variants(source: &Variants, p: Position) -> Vec<Variant> {
        let mut variants = Vec::new();
        for variant in source.iter().filter(|variant| variant.at.contains(p)) {
            variants.push(Variant { at: Positions::ALL, ..variant.clone() });
            if variant.any.is_empty() {
                break;
            }
        }
        variants
    }

    pub(super) fn nest(&mut self, nest: &Nest, p: Position) -> String {
        let mut nest = nest.clone();
        for def in nest.body.iter_mut() {
            if let Def::Load(source) | Def::Take { source, .. } = def {
                *source = Self::variants(source, p);
            }
        }
        self.chosen(nest)
    }

    /// A nest whose loads may still have several variants. Variants with the same strides differ only in their address;
    /// other variants get their own loops.
    pub(super) fn chosen(&mut self, nest: Nest) -> String {
        let several = nest.body.iter_enumerated().find_map(|(val, def)| match def {
            Def::Load(source) | Def::Take { source, .. } if !alike(source) => Some((val, source.clone())),
            _ => None,
        });
        let Some((val, source)) = several else { return self.call(&nest) };
        let with = |one: &[Variant]| {
            let mut nest = nest.clone();
            if let Def::Load(source) | Def::Take { source, .. } = &mut nest.body[val] {
                *source = one.to_vec();
            }
            nest
        };
        let cond = self.tests(&source[0].any);
        let first = Variant { any: Vec::new(), ..source[0].clone() };
        let (then, other) = (self.chosen(with(&[first])), self.chosen(with(&source[1..])));
        format!("        if ({cond}) {{\n{then}        }} else {{\n{other}        }}\n")
    }

    /// The call of the function that has the loops of a nest.
    fn call(&mut self, nest: &Nest) -> String {
        let mut nest = nest.clone();
        let mut params = Params::default();
        let turned = self.turn(&mut nest);
        let places = self.places(&mut nest, &turned, &mut params);
        let store = |(access, _): &(Access, Val)| {
            let known = params.find(&self.address(access));
            known.map(param)
        };
        let stores: Vec<Option<Base>> = nest.stores.iter().map(store).collect();
        let types = rml_nest::dtypes(self.program, &nest).expect("N5: values have types");
        let rows = self.parted.map(|dim| nest.dims[dim]);
        let form = LoopForm::new(nest, types, self.parted);
        let loops = Loops::new(&form, &places, &stores, &mut Native(self.scalars), 1).print();
        let (mut list, mut addresses) = (params.declared(), params.addresses());
        if let Some(n) = rows {
            list.push("const long lo, const long hi".to_owned());
            addresses.push(format!("ROWS({n})"));
        }
        let list = list.join(", ");
        let function = format!("({list}) {{\n    bool bad = false;\n{loops}    return bad;\n}}\n");
        let name = match self.functions.get(&function) {
            Some(name) => name.clone(),
            None => {
                let name = format!("loops_{}", self.functions.len());
                let _ = write!(self.body, "\nLOOPS int {name}{function}");
                self.functions.insert(function, name.clone());
                name
            }
        };
        format!("        bad |= {name}({});\n", addresses.join(", "))
    }

    /// The addresses at which the loads of a nest find their elements. All addresses become parameters.
    fn places(
        &self,
        nest: &mut Nest,
        turned: &BTreeMap<Val, String>,
        params: &mut Params,
    ) -> IndexVec<Val, Option<Place>> {
        let stored: Vec<Slot> = nest.stores.iter().map(|(access, _)| access.slot).collect();
        let mut chosen: Vec<Slot> = Vec::new();
        let mut places: IndexVec<Val, Option<Place>> = IndexVec::filled(None, nest.body.len());
        for (val, def) in nest.body.iter_mut().enumerate() {
            let (Def::Load(source) | Def::Take { source, .. }) = def else { continue };
            let dtype = self.layout.dtype(source[0].access.slot);
            let own = turned.get(&Val::from_index(val));
            let address = |at| LoadElements::At(param(at));
            let place = match self.literal(source) {
                _ if own.is_some() => address(params.add(own.cloned().unwrap_or_default(), dtype)),
                Some(text) => LoadElements::Same(text),
                None if source.len() == 1 => address(params.add(self.address(&source[0].access), dtype)),
                None => {
                    let at = params.add(self.choice(source), dtype);
                    let own = source.iter().map(|v| v.access.slot).filter(|slot| stored.contains(slot));
                    chosen.extend(own);
                    params.0[at].shared |= source.iter().any(|v| stored.contains(&v.access.slot));
                    source.truncate(1);
                    source[0].access.offset = 0;
                    address(at)
                }
            };
            places[Val::from_index(val)] = Some(vec![(String::new(), place)]);
        }
        for (access, _) in &nest.stores {
            let at = params.add(self.address(access), self.layout.dtype(access.slot));
            params.0[at].stored = true;
            params.0[at].shared |= chosen.contains(&access.slot);
        }
        places
    }

    /// The address of the first variant that applies.
    pub(super) fn choice(&self, source: &Variants) -> String {
        let (last, others) = source.split_last().expect("a source has a variant");
        let at = |variant: &Variant| format!("{} + {}", self.address(&variant.access), variant.access.offset);
        let mut text = at(last);
        for variant in others.iter().rev() {
            text = format!("({}) ? {} : {text}", self.tests(&variant.any), at(variant));
        }
        format!("({text})")
    }

    /// The literal of all elements if they are equal.
    fn literal(&self, source: &Variants) -> Option<String> {
        let [variant] = &source[..] else { return None };
        let Home::Const(value) = &self.program.slots[variant.access.slot].home else { return None };
        uniform(value)
    }
}

/// The parameters of a function of loops: addresses.
#[derive(Default)]
struct Params(Vec<Param>);

struct Param {
    address: String,
    dtype: DType,
    stored: bool,
    /// Whether another parameter may have the same address.
    shared: bool,
}

impl Params {
    fn find(&self, address: &str) -> Option<usize> {
        self.0.iter().position(|own| own.address == address)
    }

    fn add(&mut self, address: String, dtype: DType) -> usize {
        self.find(&address).unwrap_or_else(|| {
            self.0.push(Param { address, dtype, stored: false, shared: false });
            self.0.len() - 1
        })
    }

    fn declared(&self) -> Vec<String> {
        let one = |(i, param): (usize, &Param)| {
            let of = if param.stored { "" } else { "const " };
            let alone = if param.shared { "" } else { "restrict " };
            format!("{of}{} *{alone}p{i}", c_type(param.dtype))
        };
        self.0.iter().enumerate().map(one).collect()
    }

    fn addresses(&self) -> Vec<String> {
        self.0.iter().map(|param| param.address.clone()).collect()
    }
}

/// Whether the variants of a load differ only in their start addresses.
fn alike(source: &Variants) -> bool {
    source.iter().all(|variant| variant.access.strides == source[0].access.strides)
}

/// The literal of all elements of a value if they are equal.
fn uniform(value: &Value) -> Option<String> {
    fn same<T: Copy, B: PartialEq>(all: &[T], bits: impl Fn(T) -> B) -> Option<T> {
        let first = *all.first()?;
        all.iter().all(|x| bits(*x) == bits(first)).then_some(first)
    }
    let number = |x: f64, text: String| match x {
        _ if x.is_nan() => None,
        f64::INFINITY => Some("RML_INFINITY".to_owned()),
        f64::NEG_INFINITY => Some("(-RML_INFINITY)".to_owned()),
        _ => Some(format!("({text})")),
    };
    match value.to_data() {
        Data::F32(all) => same(&all, f32::to_bits).and_then(|x| number(f64::from(x), format!("{x:?}f"))),
        Data::F64(all) => same(&all, f64::to_bits).and_then(|x| number(x, format!("{x:?}"))),
        Data::Int(all) => same(&all, |x| x).map(|x| match x {
            i64::MIN => "INT64_MIN".to_owned(),
            _ => format!("INT64_C({x})"),
        }),
        Data::Bool(all) => same(&all, |x| x).map(|x| u8::from(x).to_string()),
    }
}
