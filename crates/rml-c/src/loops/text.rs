//! Values of a nest as expressions, at a point of the loops.

use rml_base::EntityId;
use rml_nest::{Access, Def, Dim, Val, Variant, Variants};

use super::{Base, CDialect, LoadElements, Loops, Scope};

impl<D: CDialect> Loops<'_, D> {
    /// The text of the element that a load reads at the point of the loops, or `more` elements after it.
    pub(super) fn load(&self, val: Val, source: &Variants, more: &str) -> String {
        let place = self.places[val].as_deref().expect("what loads has a place");
        let one = |(variant, (_, elements)): (&Variant, &(String, LoadElements))| match elements {
            LoadElements::Same(x) if more.is_empty() => x.clone(),
            LoadElements::Same(x) => format!("((void)({more}), {x})"),
            LoadElements::Counted => format!("(int64_t)({})", self.element(&variant.access, more)),
            LoadElements::At(base) if base.is_variable && !more.is_empty() => {
                format!("((void)({more}), {})", base.name)
            }
            LoadElements::At(base) => self.at(base, &variant.access, (val, more)),
        };
        let mut variants = source.iter().zip(place).rev();
        let last = variants.next().map(one).expect("a source has a variant");
        variants.fold(last, |text, all| format!("({} ? {} : {text})", all.1.0, one(all)))
    }

    /// The element of an access at the current point of the loops, or `more` elements after it. If elements wrap
    /// around, the row is located first: compilers do this once for all elements of the row.
    pub(super) fn at(&self, base: &Base, access: &Access, (val, more): (Val, &str)) -> String {
        let rows = base.around.and_then(|around| self.rows(access, (val, more), around.row));
        match rows {
            Some([row, index]) => base.in_row(&self.element(&row, more), &self.element(&index, "")),
            None => base.at(&self.element(access, more)),
        }
    }

    /// An access in two parts: the first element of a row, and the element within the row. `None` if the access touches
    /// several rows.
    fn rows(&self, access: &Access, (val, more): (Val, &str), len: usize) -> Option<[Access; 2]> {
        let is_row = |stride: isize| stride % len.cast_signed() == 0;
        let taken = match self.form.nest.body[val] {
            Def::Take { stride, .. } if !more.is_empty() => stride,
            Def::Take { .. } | Def::Load(_) | Def::Apply(..) | Def::Fold(..) | Def::Chain { .. } => 0,
        };
        let (mut row, mut index) = (access.clone(), access.clone());
        index.offset = access.offset % len;
        row.offset = access.offset - index.offset;
        let mut last = index.offset;
        for (dim, n) in self.form.nest.dims.iter_enumerated() {
            let (stride, d) = (access.strides[dim.index()], dim.index());
            let others = if is_row(stride) { &mut index } else { &mut row };
            others.strides[d] = 0;
            if !is_row(stride) {
                last += usize::try_from(stride).ok()? * n.saturating_sub(1);
            }
        }
        (last < len && is_row(taken)).then_some([row, index])
    }

    /// A value at the current point of the loops.
    pub(super) fn value(&self, val: Val, scope: &Scope) -> String {
        if let Def::Load(source) = &self.form.nest.body[val] {
            return self.load(val, source, "");
        }
        if let Some(name) = scope.vars.get(&val) {
            return name.clone();
        }
        let array = &scope.arrays[&val];
        format!("{}[{}]", array.name, self.index(&array.dims))
    }

    /// The index of an element in a slot.
    pub(super) fn element(&self, access: &Access, more: &str) -> String {
        let mut terms: Vec<String> = Vec::new();
        for dim in &self.form.order {
            match access.strides[dim.index()] {
                0 => {}
                1 => terms.push(dim.to_string()),
                stride => terms.push(format!("{dim} * {stride}")),
            }
        }
        if !more.is_empty() {
            terms.push(more.to_owned());
        }
        if access.offset != 0 || terms.is_empty() {
            terms.push(access.offset.to_string());
        }
        terms.join(" + ")
    }

    /// The index of the current point of the loops in an array.
    pub(super) fn index(&self, dims: &[Dim]) -> String {
        let mut terms = Vec::new();
        for (i, dim) in dims.iter().enumerate() {
            match self.points(&dims[i + 1..]) {
                1 => terms.push(dim.to_string()),
                stride => terms.push(format!("{dim} * {stride}")),
            }
        }
        if terms.is_empty() { "0".to_owned() } else { terms.join(" + ") }
    }
}
