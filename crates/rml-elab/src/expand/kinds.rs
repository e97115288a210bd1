//! Kinds: records, their gradients, and stacks of them.

use std::sync::Arc;

use indexmap::IndexMap;
use rml_ir::DType;

use crate::hir::{Element, Item, Local, LocalKind, Node, SourceId, TypeDecl};
use crate::scope::Program;

/// A record, or its gradient, which has only the num fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    pub(super) record: SourceId,
    pub(super) gradient: bool,
    /// Whether this is a stack of several records: the fields then have an axis that the record does not declare.
    pub(super) stacked: bool,
}

/// A stack is equal to its elements, because it has the same fields.
impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        (self.record, self.gradient) == (other.record, other.gradient)
    }
}

/// A single item, or one item for each field of a record.
#[derive(Clone, Debug)]
pub(super) enum Value<T> {
    One(T),
    Record(Kind, Vec<(Arc<str>, Value<T>)>),
}

impl<T: Clone> Value<T> {
    /// All items, in the order of the fields.
    pub(super) fn leaves(&self) -> Vec<T> {
        match self {
            Value::One(one) => vec![one.clone()],
            Value::Record(_, fields) => fields.iter().flat_map(|(_, value)| value.leaves()).collect(),
        }
    }

    /// Replaces an item by another one.
    pub(super) fn replace(&mut self, one: T, by: T)
    where
        T: PartialEq + Copy,
    {
        match self {
            Value::One(here) => *here = if *here == one { by } else { *here },
            Value::Record(_, fields) => fields.iter_mut().for_each(|(_, value)| value.replace(one, by)),
        }
    }

    pub(super) fn kind(&self) -> Option<Kind> {
        match self {
            Value::One(_) => None,
            Value::Record(kind, _) => Some(*kind),
        }
    }
}

impl Kind {
    /// The record itself.
    pub(super) fn of(record: SourceId) -> Self {
        Kind { record, gradient: false, stacked: false }
    }

    /// A stack of such records.
    pub(super) fn stack(self) -> Self {
        Kind { stacked: true, ..self }
    }

    /// The kind of the record's gradient; `None` if no field is a num.
    pub(super) fn gradient(self, program: &Program) -> Option<Self> {
        let all = Kind { gradient: true, ..self };
        let fields = |kind: Kind| kind.fields(program).len();
        match (fields(all), self.is_num(program)) {
            (0, _) => None,
            (_, true) => Some(self),
            _ => Some(all),
        }
    }

    /// Whether all fields are nums.
    fn is_num(self, program: &Program) -> bool {
        self.fields(program).iter().all(|(field, kind)| match kind {
            Some(kind) => kind.is_num(program),
            None => is_num(&program.nodes[self.record], *field) == Some(true),
        })
    }

    /// The fields, as inputs of the record, each with a kind if the field is itself a record.
    pub(super) fn fields(self, program: &Program) -> Vec<(Local, Option<Kind>)> {
        let node = &program.nodes[self.record];
        let fields = node.formals.iter().filter_map(|&field| match declared(node, field) {
            Some(kind) => {
                let kind = Kind { stacked: self.stacked, ..kind };
                match self.gradient {
                    true => kind.gradient(program).map(|kind| (field, Some(kind))),
                    false => Some((field, Some(kind))),
                }
            }
            None if self.gradient && is_num(node, field) != Some(true) => None,
            None => Some((field, None)),
        });
        fields.collect()
    }

    /// The number of variables for such a record.
    pub(super) fn size(self, program: &Program) -> usize {
        self.fields(program).iter().map(|(_, kind)| kind.map_or(1, |kind| kind.size(program))).sum()
    }
}

/// The record that a name is declared as.
pub(super) fn declared(node: &Node, local: Local) -> Option<Kind> {
    let kind = |ty: &TypeDecl| match ty.element {
        Element::Record(record) => Some(Kind::of(record)),
        Element::Plain(_) | Element::Case(_) => None,
    };
    node.locals[local].types.iter().find_map(kind)
}

/// Whether a name is a num, if its type is written.
pub(super) fn is_num(node: &Node, local: Local) -> Option<bool> {
    Some(node.locals[local].types.first()?.element.dtype() == Some(DType::Num))
}

/// The variables of records among the names of a node that runs, with the named dimensions of each.
pub(crate) fn dimensions(program: &Program, node: &Node, local: Local) -> IndexMap<String, bool> {
    let mut found = IndexMap::new();
    if let Some(kind) = declared(node, local) {
        collect(program, kind, node.name_of(local), &mut found);
    }
    found
}

fn collect(program: &Program, kind: Kind, name: &str, found: &mut IndexMap<String, bool>) {
    let record = &program.nodes[kind.record];
    for data in record.locals.iter().filter(|data| data.kind == LocalKind::Dim) {
        let splices = |item: &Item| match item {
            Item::Splice(local, _) => *record.name_of(*local) == data.name,
            Item::Expr(_) => false,
        };
        let spliced = record.locals.iter().flat_map(|l| &l.types).flat_map(|ty| &ty.dims).any(splices);
        found.insert(format!("{name}.{}", data.name), spliced);
    }
    for (field, inner) in kind.fields(program) {
        if let Some(inner) = inner {
            collect(program, inner, &format!("{name}.{}", record.name_of(field)), found);
        }
    }
}
