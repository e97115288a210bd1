//! Classes of things that have one element type: union and find, with what is known about each class.

use rml_base::Span;
use rml_ir::DType;

use crate::hir::{Element, SourceId};

/// The type of an element: an enumeration is another type than int, although its cases are ints.
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

    /// The one that is written.
    pub(super) fn declared(element: Element) -> Option<Self> {
        match element {
            Element::Plain(dtype) => Some(Elem::Plain(dtype)),
            Element::Case(of) => Some(Elem::Case(of)),
            // copies have no records
            Element::Record(_) => None,
        }
    }
}

/// A class. Numbers below the number of variables stand for variables.
pub(super) type Class = usize;

/// What is known about a class.
#[derive(Clone, Copy, Default, Debug)]
struct Known {
    /// Its element type, and where that comes from.
    elem: Option<(Elem, Span)>,
    /// A literal without a point that is in it: the class is int or num, and int if nothing says which.
    literal: Option<Span>,
    /// A place that needs an int at compile time. A literal there is an int.
    sized: Option<Span>,
    /// Whether an input of the root is in it that nothing is known about.
    open: bool,
    /// Whether it is in error: it agrees with everything.
    lost: bool,
}

impl Known {
    fn elem(&self) -> Option<(Elem, Span)> {
        self.elem.or_else(|| self.literal.and(self.sized).map(|span| (Elem::INT, span)))
    }

    /// What is known about both; `Err` with their element types if these differ.
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
        // A literal is no bool, no case, and no num where an int is needed.
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

/// All classes.
pub(super) struct Classes {
    parent: Vec<Class>,
    known: Vec<Known>,
}

impl Classes {
    /// A class for each variable.
    pub(super) fn new(variables: usize) -> Self {
        Self { parent: (0..variables).collect(), known: vec![Known::default(); variables] }
    }

    fn push(&mut self, known: Known) -> Class {
        self.parent.push(self.parent.len());
        self.known.push(known);
        self.parent.len() - 1
    }

    /// A new class.
    pub(super) fn fresh(&mut self, dtype: Option<(DType, Span)>) -> Class {
        self.push(Known { elem: dtype.map(|(d, span)| (Elem::Plain(d), span)), ..Known::default() })
    }

    /// The class of a case.
    pub(super) fn case(&mut self, of: SourceId, span: Span) -> Class {
        self.push(Known { elem: Some((Elem::Case(of), span)), ..Known::default() })
    }

    /// The class of a literal without a point.
    pub(super) fn literal(&mut self, span: Span) -> Class {
        self.push(Known { literal: Some(span), ..Known::default() })
    }

    /// The class of something in error.
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

    /// The element type of a class, and where it comes from.
    pub(super) fn get(&mut self, class: Class) -> Option<(DType, Span)> {
        self.elem(class).map(|(elem, span)| (elem.dtype(), span))
    }

    /// The same; an enumeration is told from int.
    pub(super) fn elem(&mut self, class: Class) -> Option<(Elem, Span)> {
        self.of(class).elem()
    }

    /// The element type of a class that nothing more will be known about.
    pub(super) fn settled(&mut self, class: Class) -> DType {
        let known = *self.of(class);
        let other = if known.literal.is_some() { DType::Int } else { DType::Num };
        known.elem().map_or(other, |(elem, _)| elem.dtype())
    }

    /// Whether only literals without a point says anything of a class.
    pub(super) fn is_literal(&mut self, class: Class) -> bool {
        let known = self.of(class);
        known.elem().is_none() && known.literal.is_some() && !known.lost
    }

    /// Whether an input of the root is in it that nothing else is known about.
    pub(super) fn is_open(&mut self, class: Class) -> bool {
        self.of(class).open
    }

    /// Whether a class is in error.
    pub(super) fn is_lost(&mut self, class: Class) -> bool {
        self.of(class).lost
    }

    /// Puts a class in error.
    pub(super) fn lose(&mut self, class: Class) {
        self.of(class).lost = true;
    }

    /// Puts a class in error unless its type is known.
    pub(super) fn lose_unknown(&mut self, class: Class) {
        let known = self.of(class);
        known.lost |= known.elem().is_none();
    }

    /// Gives a class a type if it has none.
    pub(super) fn set(&mut self, class: Class, dtype: DType, span: Span) {
        self.set_elem(class, Elem::Plain(dtype), span);
    }

    /// The same for any type of an element.
    pub(super) fn set_elem(&mut self, class: Class, elem: Elem, span: Span) {
        let known = self.of(class);
        if known.elem().is_none() {
            known.elem = Some((elem, span));
        }
    }

    /// Says that a class is used where an int is needed at compile time.
    pub(super) fn size(&mut self, class: Class, span: Span) {
        self.of(class).sized.get_or_insert(span);
    }

    /// Says that a class holds a value given as a literal from outside.
    pub(super) fn given(&mut self, class: Class, span: Span) {
        self.of(class).literal.get_or_insert(span);
    }

    /// Says that a class holds an input of the root that nothing is known about.
    pub(super) fn open(&mut self, class: Class) {
        self.of(class).open = true;
    }

    /// Makes two classes one; `Err` with their element types if these differ. A class in error stays alone.
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
