//! Classes of expressions with the same element type: union-find, with the facts known about each class.

use rml_base::Span;
use rml_ir::DType;

use crate::hir::{Element, SourceId};

/// An element type. An enumeration is a type of its own, although its cases are ints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Elem {
    Plain(DType),
    Case(SourceId),
}

impl Elem {
    pub(super) const INT: Elem = Elem::Plain(DType::Int);

    /// The type of the values.
    pub(super) fn dtype(self) -> DType {
        match self {
            Elem::Plain(dtype) => dtype,
            Elem::Case(_) => DType::Int,
        }
    }

    /// The element type that is written.
    pub(super) fn declared(element: Element) -> Option<Self> {
        match element {
            Element::Plain(dtype) => Some(Elem::Plain(dtype)),
            Element::Case(of) => Some(Elem::Case(of)),
            // Copies have no records.
            Element::Record(_) => None,
        }
    }
}

/// The id of a class. Ids below the number of variables belong to the variables.
pub(super) type Class = usize;

/// The facts known about a class.
#[derive(Clone, Copy, Default, Debug)]
struct Known {
    /// The element type of the class, and the place from which the type comes.
    elem: Option<(Elem, Span)>,
    /// A literal without a point in the class: then the class is int or num, and int if nothing else decides.
    literal: Option<Span>,
    /// A place that needs an int at compile time. A literal in the class is then an int.
    sized: Option<Span>,
    /// Whether the class contains an input of the root about which nothing is known.
    open: bool,
    /// Whether the class is in error; such a class fits every other one.
    lost: bool,
}

impl Known {
    fn elem(&self) -> Option<(Elem, Span)> {
        self.elem.or_else(|| self.literal.and(self.sized).map(|span| (Elem::INT, span)))
    }

    /// The facts about the union of two classes; `Err` with their element types if these differ.
    fn with(&self, other: &Known) -> Result<Known, [(Elem, Span); 2]> {
        let (a, b) = (self.elem(), other.elem());
        let both = Known {
            elem: a.or(b),
            literal: self.literal.or(other.literal),
            sized: self.sized.or(other.sized),
            open: self.open || other.open,
            lost: false,
        };
        if let (Some(a), Some(b)) = (a, b)
            && a.0 != b.0
        {
            return Err([a, b]);
        }
        // A literal cannot be a bool or a case; it cannot be a num if an int is needed.
        let int = match both.elem {
            Some((Elem::Plain(DType::Bool) | Elem::Case(_), _)) => both.literal,
            Some((Elem::Plain(DType::Num), _)) => both.literal.and(both.sized),
            Some((Elem::Plain(DType::Int), _)) | None => None,
        };
        match (both.elem, int.map(|span| (Elem::INT, span))) {
            (Some(known), Some(int)) => Err(if a.is_some() { [known, int] } else { [int, known] }),
            _ => Ok(both),
        }
    }
}

/// The classes of a program.
pub(super) struct Classes {
    parent: Vec<Class>,
    known: Vec<Known>,
}

impl Classes {
    /// Creates one class per variable.
    pub(super) fn new(variables: usize) -> Self {
        Self { parent: (0..variables).collect(), known: vec![Known::default(); variables] }
    }

    fn push(&mut self, known: Known) -> Class {
        self.parent.push(self.parent.len());
        self.known.push(known);
        self.parent.len() - 1
    }

    /// Adds a class.
    pub(super) fn fresh(&mut self, dtype: Option<(DType, Span)>) -> Class {
        self.push(Known { elem: dtype.map(|(d, span)| (Elem::Plain(d), span)), ..Known::default() })
    }

    /// Adds a class for a case of an enumeration.
    pub(super) fn case(&mut self, of: SourceId, span: Span) -> Class {
        self.push(Known { elem: Some((Elem::Case(of), span)), ..Known::default() })
    }

    /// Adds a class for a literal without a point.
    pub(super) fn literal(&mut self, span: Span) -> Class {
        self.push(Known { literal: Some(span), ..Known::default() })
    }

    /// Adds a class in error.
    pub(super) fn error(&mut self) -> Class {
        self.push(Known { lost: true, ..Known::default() })
    }

    fn find(&mut self, class: Class) -> Class {
        let mut root = class;
        while self.parent[root] != root {
            root = self.parent[root];
        }
        let mut at = class;
        while self.parent[at] != root {
            at = std::mem::replace(&mut self.parent[at], root);
        }
        root
    }

    fn of(&mut self, class: Class) -> &mut Known {
        let root = self.find(class);
        &mut self.known[root]
    }

    /// The element type of a class, and the place from which the type comes.
    pub(super) fn get(&mut self, class: Class) -> Option<(DType, Span)> {
        self.elem(class).map(|(elem, span)| (elem.dtype(), span))
    }

    /// The element type of a class, with enumerations distinguished from int, and the place from which the type comes.
    pub(super) fn elem(&mut self, class: Class) -> Option<(Elem, Span)> {
        self.of(class).elem()
    }

    /// The final element type of a class, once all facts are known.
    pub(super) fn settled(&mut self, class: Class) -> DType {
        let known = *self.of(class);
        let other = if known.literal.is_some() { DType::Int } else { DType::Num };
        known.elem().map_or(other, |(elem, _)| elem.dtype())
    }

    /// Whether literals without a point are the only facts about a class.
    pub(super) fn is_literal(&mut self, class: Class) -> bool {
        let known = self.of(class);
        known.elem().is_none() && known.literal.is_some() && !known.lost
    }

    /// Whether a class contains an input of the root about which nothing else is known.
    pub(super) fn is_open(&mut self, class: Class) -> bool {
        self.of(class).open
    }

    /// Whether a class is in error.
    pub(super) fn is_lost(&mut self, class: Class) -> bool {
        self.of(class).lost
    }

    /// Marks a class as in error.
    pub(super) fn lose(&mut self, class: Class) {
        self.of(class).lost = true;
    }

    /// Marks a class as in error unless its type is known.
    pub(super) fn lose_unknown(&mut self, class: Class) {
        let known = self.of(class);
        known.lost |= known.elem().is_none();
    }

    /// Sets the type of a class that has none.
    pub(super) fn set(&mut self, class: Class, dtype: DType, span: Span) {
        self.set_elem(class, Elem::Plain(dtype), span);
    }

    /// The same for any element type.
    pub(super) fn set_elem(&mut self, class: Class, elem: Elem, span: Span) {
        let known = self.of(class);
        if known.elem().is_none() {
            known.elem = Some((elem, span));
        }
    }

    /// Notes that a class is used where an int is needed at compile time.
    pub(super) fn size(&mut self, class: Class, span: Span) {
        self.of(class).sized.get_or_insert(span);
    }

    /// Notes that a class contains a literal given from outside.
    pub(super) fn given(&mut self, class: Class, span: Span) {
        self.of(class).literal.get_or_insert(span);
    }

    /// Notes that a class contains an input of the root about which nothing is known.
    pub(super) fn open(&mut self, class: Class) {
        self.of(class).open = true;
    }

    /// Unites two classes; `Err` with their element types if these differ. A class in error is not united with others.
    pub(super) fn union(&mut self, a: Class, b: Class) -> Result<(), [(Elem, Span); 2]> {
        let (a, b) = (self.find(a), self.find(b));
        if a == b || self.known[a].lost || self.known[b].lost {
            return Ok(());
        }
        self.known[a] = self.known[a].with(&self.known[b])?;
        self.parent[b] = a;
        Ok(())
    }
}
