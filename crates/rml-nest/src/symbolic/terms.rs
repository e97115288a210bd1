//! Terms: elements written as operators applied to the inputs and registers of a window.

use indexmap::IndexSet;
use rml_ir::op::Op;
use rml_ir::text::Commas;
use rml_ir::{DType, Value};

use crate::Fold;

/// A term. Equal terms have equal numbers, and equal terms have equal bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Term(u32);

/// What a term is made of.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Form {
    /// An element of an input at a tick.
    Input { input: usize, tick: usize, element: usize },
    /// An element of a register at the start of the window.
    Register { register: usize, element: usize },
    /// Whether a register is set at the start of the window.
    IsSet(usize),
    /// A constant, by its bits.
    Const(DType, u64),
    /// An operator of scalars.
    Apply(Op, Vec<Term>),
    /// A fold of terms of that type, in their order.
    Fold(Fold, DType, Vec<Term>),
    /// The sum of products of pairs of factors; if true, the last term is the value that they are added to.
    Chain(bool, Vec<Term>),
    /// A tensor of that type and shape.
    Tensor(DType, Vec<usize>, Vec<Term>),
    /// The element of a tensor of one axis at a position that is a term.
    Take(Term, Term),
    /// A call on tensors; if true, the last one is the start of a product.
    Call(Op, bool, Vec<Term>),
    /// An element of the result of a call.
    Element(Term, usize),
}

/// All terms so far, each of them once.
#[derive(Default)]
pub(super) struct Terms {
    forms: IndexSet<Form>,
}

/// How deep the text of a term goes.
const DEPTH: usize = 4;

impl Terms {
    /// The term of that form.
    pub(super) fn of(&mut self, form: Form) -> Term {
        let (index, _) = self.forms.insert_full(form);
        Term(u32::try_from(index).expect("fewer terms than elements that are allowed"))
    }

    /// An element of a constant.
    pub(super) fn constant(&mut self, value: &Value) -> Term {
        self.of(match value {
            Value::F32(x) => Form::Const(DType::Num, u64::from(x.to_bits())),
            Value::F64(x) => Form::Const(DType::Num, x.to_bits()),
            Value::Int(x) => Form::Const(DType::Int, x.cast_unsigned()),
            Value::Bool(x) => Form::Const(DType::Bool, u64::from(*x)),
            Value::Tensor(..) => unreachable!("an element is a scalar"),
        })
    }

    pub(super) fn form(&self, term: Term) -> &Form {
        self.forms.get_index(term.0 as usize).expect("a term of this table")
    }

    /// The innermost terms at which two terms differ.
    pub(super) fn difference(&self, mut a: Term, mut b: Term) -> (Term, Term) {
        while let Some((x, y)) = self.step(a, b) {
            (a, b) = (x, y);
        }
        (a, b)
    }

    /// The operands in which two terms differ, if they have the same operator and differ in only one operand.
    fn step(&self, a: Term, b: Term) -> Option<(Term, Term)> {
        let (a, b) = (self.form(a), self.form(b));
        if a.head() != b.head() {
            return None;
        }
        let (a, b) = (a.operands(), b.operands());
        let mut differ = a.iter().zip(&b).filter(|(x, y)| x != y);
        let found = differ.next().map(|(x, y)| (*x, *y));
        found.filter(|_| a.len() == b.len() && differ.next().is_none())
    }

    /// The text of a term, down to some depth.
    pub(super) fn text(&self, term: Term, ports: &Ports) -> String {
        self.deep(term, ports, DEPTH)
    }

    fn deep(&self, term: Term, ports: &Ports, depth: usize) -> String {
        let list = |terms: &[Term]| {
            if depth == 0 {
                return "..".to_owned();
            }
            let mut all: Vec<String> =
                terms.iter().take(6).map(|term| self.deep(*term, ports, depth - 1)).collect();
            all.extend((terms.len() > 6).then(|| "..".to_owned()));
            all.join(", ")
        };
        match self.form(term) {
            Form::Input { input, tick, element } => format!("{}@{tick}[{element}]", ports.inputs[*input]),
            Form::Register { register, element } => format!("{}[{element}]", ports.registers[*register]),
            Form::IsSet(register) => format!("{} is set", ports.registers[*register]),
            Form::Const(DType::Num, bits) => ports.number(*bits),
            Form::Const(DType::Int, bits) => bits.cast_signed().to_string(),
            Form::Const(DType::Bool, bits) => (*bits == 1).to_string(),
            Form::Apply(op, args) => format!("{op}({})", list(args)),
            Form::Fold(by, _, terms) => format!("{}({})", by.name(), list(terms)),
            Form::Chain(_, terms) => format!("chain({})", list(terms)),
            Form::Tensor(_, dims, elements) => format!("[{}] ({})", Commas(dims), list(elements)),
            Form::Take(at, of) => format!("take({})", list(&[*at, *of])),
            Form::Call(op, _, operands) => format!("{op}({})", list(operands)),
            Form::Element(call, i) => format!("{}[{i}]", self.deep(*call, ports, depth)),
        }
    }
}

impl Form {
    /// The form without its operands.
    fn head(&self) -> Form {
        let mut head = self.clone();
        match &mut head {
            Form::Apply(_, of)
            | Form::Fold(.., of)
            | Form::Chain(_, of)
            | Form::Tensor(.., of)
            | Form::Call(.., of) => of.clear(),
            Form::Take(at, of) => (*at, *of) = (Term(0), Term(0)),
            Form::Element(of, _) => *of = Term(0),
            Form::Input { .. } | Form::Register { .. } | Form::IsSet(_) | Form::Const(..) => {}
        }
        head
    }

    fn operands(&self) -> Vec<Term> {
        match self {
            Form::Apply(_, of)
            | Form::Fold(.., of)
            | Form::Chain(_, of)
            | Form::Tensor(.., of)
            | Form::Call(.., of) => of.clone(),
            Form::Take(at, of) => vec![*at, *of],
            Form::Element(of, _) => vec![*of],
            Form::Input { .. } | Form::Register { .. } | Form::IsSet(_) | Form::Const(..) => Vec::new(),
        }
    }
}

/// The names of the inputs and registers of a window.
pub(super) struct Ports {
    pub(super) inputs: Vec<std::sync::Arc<str>>,
    pub(super) registers: Vec<std::sync::Arc<str>>,
    pub(super) precision: rml_ir::Precision,
}

impl Ports {
    fn number(&self, bits: u64) -> String {
        match self.precision {
            rml_ir::Precision::F32 => {
                format!("{:?}", f32::from_bits(u32::try_from(bits).unwrap_or_default()))
            }
            rml_ir::Precision::F64 => format!("{:?}", f64::from_bits(bits)),
        }
    }
}
