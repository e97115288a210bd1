//! Values of a nest as expressions, at a point of the loops.

use rml_base::EntityId;
use rml_nest::{Access, Def, Dim, Source, Val, Variant};

use super::{Dialect, Elements, Loops, Scope};

impl<D: Dialect> Loops<'_, D> {
    /// The text of the element that a load reads at the point of the loops, or `more` elements after it.
    pub(super) fn load(&self, val: Val, source: &Source, more: &str) -> String {
        let place = self.places[val].as_deref().expect("what loads has a place");
        let one = |(variant, (_, elements)): (&Variant, &(String, Elements))| match elements {
            Elements::Same(x) if more.is_empty() => x.clone(),
            Elements::Same(x) => format!("((void)({more}), {x})"),
            Elements::Counted => format!("(int64_t)({})", self.element(&variant.access, more)),
            Elements::At(base) if base.is_variable && !more.is_empty() => {
                format!("((void)({more}), {})", base.name)
            }
            Elements::At(base) => base.at(&self.element(&variant.access, more)),
        };
        let mut variants = source.iter().zip(place).rev();
        let last = variants.next().map(one).expect("a source has a variant");
        variants.fold(last, |text, all| format!("({} ? {} : {text})", all.1.0, one(all)))
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
