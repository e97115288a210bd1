//! A plan as code: operands as offsets, operators as kernels.

use rml_ir::op::Op;
use rml_ir::{DType, Position, Shape, Type};
use rml_plan::{Atom, Ends, Part, Plan, Region, Rule, Tick, Write};

/// An operand.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Arg {
    Const(usize),
    Tape { id: usize, tick: Tick, width: usize, once: bool },
}

impl Arg {
    /// Whether it moves on with the tick.
    pub(super) fn moves(self) -> bool {
        matches!(self, Arg::Tape { tick: Tick::Now | Tick::Before | Tick::After, once: false, .. })
    }
}

/// How a value is computed.
#[derive(Clone, Debug)]
pub(super) enum Kernel {
    Input,
    Copy(Arg),
    Unary(Op, Arg),
    /// A shorter operand is repeated.
    Binary(Op, [Arg; 2]),
    /// `a x b` for `(m, k, n)`.
    Product([usize; 3], [Arg; 2]),
    /// `len` columns from `start` on.
    Columns {
        x: Arg,
        columns: usize,
        start: usize,
        len: usize,
    },
    /// Columns side by side, so many of each operand.
    Join {
        parts: Vec<(Arg, usize)>,
    },
    /// Zeros, but for the columns from `start` on.
    Widen {
        x: Arg,
        columns: usize,
        start: usize,
        len: usize,
    },
    Select([Arg; 3]),
    Restart {
        ends: Vec<Arg>,
        init: Arg,
        next: Arg,
    },
    Read {
        register: usize,
        init: Option<Arg>,
    },
    Sum {
        init: Option<Arg>,
        backward: bool,
        terms: Vec<(rml_ir::Positions, Added)>,
    },
    General {
        op: Op,
        args: Vec<(Arg, Shape)>,
    },
}

/// What a sum adds at a tick.
#[derive(Clone, Debug)]
pub(super) enum Added {
    Copy(Arg),
    /// The sum of rows.
    Rows(Arg),
    /// `aᵀ x b` for `(m, k, n)`.
    Outer([usize; 3], [Arg; 2]),
    General {
        op: Op,
        args: Vec<(Arg, Shape)>,
    },
}

/// How a tape comes about at some positions.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) at: rml_ir::Positions,
    pub(super) when: Vec<(Arg, bool)>,
    pub(super) kernel: Kernel,
    /// Whether it reads the tape that it fills.
    pub(super) reads_itself: bool,
}

/// What a region fills in one step.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) tape: usize,
    pub(super) cases: Vec<Case>,
    /// The case at each position.
    pub(super) at: [Option<usize>; 4],
}

#[derive(Clone, Debug)]
pub(super) struct Put {
    pub(super) register: usize,
    pub(super) at: rml_ir::Positions,
    pub(super) when: Vec<(Arg, bool)>,
    pub(super) unless: Vec<Arg>,
    pub(super) value: Arg,
}

#[derive(Clone, Debug)]
pub(super) enum Pass {
    Over(Vec<Step>),
    Loop { backward: bool, steps: Vec<Step>, puts: Vec<Put> },
}

/// A tape's elements: how many a tick, and whether there is one tick only.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) dtype: DType,
    pub(super) width: usize,
    pub(super) once: bool,
    /// The input that it is.
    pub(super) input: Option<usize>,
}

/// What an output is at some positions, where all conditions hold.
pub(super) type Taken = (rml_ir::Positions, Vec<(Arg, bool)>, Arg);

#[derive(Clone, Debug)]
pub(super) struct Code {
    pub(super) tapes: Vec<Layout>,
    /// What ends a window, and how many steps of the first loop find it.
    pub(super) ends: Option<(Vec<(Arg, bool)>, usize)>,
    pub(super) passes: Vec<Pass>,
    pub(super) commits: Vec<Put>,
    /// The cases of each output.
    pub(super) outputs: Vec<Vec<Taken>>,
}

pub(super) fn code(plan: &Plan) -> Code {
    let compiler = Compiler { plan };
    let tapes = plan.tapes.iter().map(layout).collect();
    let passes = plan.regions.iter().map(|region| match region {
        Region::Over(parts) => Pass::Over(parts.iter().map(|p| compiler.step(p)).collect()),
        Region::Loop { backward, parts, writes } => Pass::Loop {
            backward: *backward,
            steps: parts.iter().map(|p| compiler.step(p)).collect(),
            puts: writes.iter().map(|w| compiler.put(w)).collect(),
        },
    });
    let outputs = plan.outputs.iter().map(|output| {
        let case = |(at, when, atom): &(rml_ir::Positions, Vec<rml_plan::Guard>, Atom)| {
            (*at, when.iter().map(|g| (compiler.arg(g.cond), g.value)).collect(), compiler.arg(*atom))
        };
        output.cases.iter().map(case).collect()
    });
    let ends = match &plan.ends {
        Ends::Found { conds, head } => Some((compiler.guards(conds), *head)),
        Ends::Nothing | Ends::Given(_) => None,
    };
    Code {
        tapes,
        ends,
        passes: passes.collect(),
        commits: plan.commits.iter().map(|w| compiler.put(w)).collect(),
        outputs: outputs.collect(),
    }
}

fn is_once(tape: &rml_plan::TapeData) -> bool {
    let place = tape.place();
    place.is_within(rml_ir::Positions::STARTS) || place.is_within(rml_ir::Positions::ENDS)
}

fn layout(tape: &rml_plan::TapeData) -> Layout {
    let input =
        tape.cases.iter().find_map(|c| if let Rule::Input(i) = c.rule { Some(i as usize) } else { None });
    Layout { dtype: tape.ty.dtype, width: tape.ty.shape.len(), once: is_once(tape), input }
}

struct Compiler<'a> {
    plan: &'a Plan,
}

impl Compiler<'_> {
    fn arg(&self, atom: Atom) -> Arg {
        match atom {
            Atom::Const(k) => Arg::Const(k.0 as usize),
            Atom::Tape(tape, tick) => {
                let data = &self.plan.tapes[tape];
                Arg::Tape { id: tape.0 as usize, tick, width: data.ty.shape.len(), once: is_once(data) }
            }
        }
    }

    fn ty(&self, atom: Atom) -> Type {
        match atom {
            Atom::Const(k) => self.plan.consts[k].ty(),
            Atom::Tape(tape, _) => self.plan.tapes[tape].ty.clone(),
        }
    }

    fn guards(&self, when: &[rml_plan::Guard]) -> Vec<(Arg, bool)> {
        when.iter().map(|g| (self.arg(g.cond), g.value)).collect()
    }

    fn put(&self, write: &Write) -> Put {
        Put {
            register: write.register.0 as usize,
            at: write.at,
            when: self.guards(&write.when),
            unless: write.unless.iter().map(|a| self.arg(*a)).collect(),
            value: self.arg(write.value),
        }
    }

    fn step(&self, part: &Part) -> Step {
        let data = &self.plan.tapes[part.tape];
        let cases: Vec<Case> = data
            .cases
            .iter()
            .filter(|case| !case.at.and(part.at).is_empty())
            .map(|case| Case {
                at: case.at.and(part.at),
                when: self.guards(&case.when),
                kernel: self.kernel(&case.rule, &data.ty),
                reads_itself: case
                    .rule
                    .operands()
                    .iter()
                    .any(|a| matches!(a, Atom::Tape(t, _) if *t == part.tape)),
            })
            .collect();
        let at = Position::ALL.map(|p| cases.iter().position(|c| c.at.contains(p)));
        Step { tape: part.tape.0 as usize, cases, at }
    }

    fn kernel(&self, rule: &Rule, ty: &Type) -> Kernel {
        match rule {
            Rule::Apply { op, args } => self.apply(op, args, ty),
            Rule::Copy(a) => Kernel::Copy(self.arg(*a)),
            Rule::Select { cond, then, other } => {
                Kernel::Select([self.arg(*cond), self.arg(*then), self.arg(*other)])
            }
            Rule::Restart { ends, init, next } => Kernel::Restart {
                ends: ends.iter().map(|a| self.arg(*a)).collect(),
                init: self.arg(*init),
                next: self.arg(*next),
            },
            Rule::Sum { init, backward, terms } => Kernel::Sum {
                init: init.map(|a| self.arg(a)),
                backward: *backward,
                terms: terms.iter().map(|t| (t.at, self.added(&t.op, &t.args, ty))).collect(),
            },
            Rule::Input(_) => Kernel::Input,
            Rule::Read { register, init } => {
                Kernel::Read { register: register.0 as usize, init: init.map(|a| self.arg(a)) }
            }
        }
    }

    fn general(&self, args: &[Atom]) -> Vec<(Arg, Shape)> {
        args.iter().map(|a| (self.arg(*a), self.ty(*a).shape)).collect()
    }

    fn apply(&self, op: &Op, args: &[Atom], ty: &Type) -> Kernel {
        let types: Vec<Type> = args.iter().map(|a| self.ty(*a)).collect();
        let nums = ty.is_num() && types.iter().all(Type::is_num);
        let out = ty.shape.dims();
        match (op, args) {
            (Op::Reshape { .. }, [x]) => Kernel::Copy(self.arg(*x)),
            (Op::MatMul, [a, b]) if nums => match (types[0].shape.dims(), types[1].shape.dims()) {
                ([m, k], [_, n]) => Kernel::Product([*m, *k, *n], [self.arg(*a), self.arg(*b)]),
                ([k], [_, n]) => Kernel::Product([1, *k, *n], [self.arg(*a), self.arg(*b)]),
                _ => Kernel::General { op: op.clone(), args: self.general(args) },
            },
            (Op::Index { items }, [x]) if nums => match columns(items, types[0].shape.dims()) {
                Some((columns, start, len)) => Kernel::Columns { x: self.arg(*x), columns, start, len },
                None => Kernel::General { op: op.clone(), args: self.general(args) },
            },
            (Op::Unindex { items, shape }, [x]) if nums => match columns(items, shape.dims()) {
                Some((columns, start, len)) => Kernel::Widen { x: self.arg(*x), columns, start, len },
                None => Kernel::General { op: op.clone(), args: self.general(args) },
            },
            (Op::Concat { axis }, _) if nums && axis + 1 == out.len() && !out.contains(&0) => {
                let width = |ty: &Type| ty.shape.dims().last().copied().unwrap_or(1);
                let parts = args.iter().zip(&types).filter(|(_, ty)| width(ty) > 0);
                Kernel::Join { parts: parts.map(|(a, ty)| (self.arg(*a), width(ty))).collect() }
            }
            (_, [x]) if nums && is_unary(op) => Kernel::Unary(op.clone(), self.arg(*x)),
            (_, [a, b]) if nums && is_binary(op) && types.iter().all(|t| repeats(t.shape.dims(), out)) => {
                Kernel::Binary(op.clone(), [self.arg(*a), self.arg(*b)])
            }
            _ => Kernel::General { op: op.clone(), args: self.general(args) },
        }
    }

    fn added(&self, op: &Op, args: &[Atom], ty: &Type) -> Added {
        let types: Vec<Type> = args.iter().map(|a| self.ty(*a)).collect();
        let nums = ty.is_num() && types.iter().all(Type::is_num);
        match (op, args) {
            (Op::Copy, [x]) if nums => Added::Copy(self.arg(*x)),
            (Op::SumTo { shape }, [x]) if nums && types[0].shape.dims().ends_with(shape.dims()) => {
                Added::Rows(self.arg(*x))
            }
            (Op::Einsum(e), [a, b])
                if nums && e.operands() == [['b', 'i'], ['b', 'j']] && e.result() == ['i', 'j'] =>
            {
                let ([k, m], [_, n]) = (types[0].shape.dims(), types[1].shape.dims()) else {
                    return Added::General { op: op.clone(), args: self.general(args) };
                };
                Added::Outer([*m, *k, *n], [self.arg(*a), self.arg(*b)])
            }
            _ => Added::General { op: op.clone(), args: self.general(args) },
        }
    }
}

/// Whether repeating the elements of one shape gives those of the other, to which it broadcasts.
fn repeats(dims: &[usize], out: &[usize]) -> bool {
    let own = dims.iter().position(|d| *d != 1).map_or(&[][..], |i| &dims[i..]);
    out.ends_with(own) && !out.contains(&0)
}

/// The number of columns, the first one and how many, if all rows are taken and columns follow each other.
fn columns(items: &[rml_ir::op::AxisIndex], dims: &[usize]) -> Option<(usize, usize, usize)> {
    use rml_ir::op::AxisIndex::Slice;
    let ([rows @ .., last], [outer @ .., columns]) = (items, dims) else { return None };
    let whole = rows.iter().zip(outer).all(|(item, d)| *item == rml_ir::op::AxisIndex::whole(*d));
    match last {
        Slice { start, len, step: 1 } if whole && *len > 0 => Some((*columns, *start, *len)),
        _ => None,
    }
}

fn is_unary(op: &Op) -> bool {
    matches!(
        op,
        Op::Neg
            | Op::Abs
            | Op::Sign
            | Op::Sqrt
            | Op::Relu
            | Op::Sigmoid
            | Op::Tanh
            | Op::Exp
            | Op::Log
            | Op::Expm1
            | Op::Log1p
            | Op::Sin
            | Op::Cos
            | Op::Erf
            | Op::Gelu
            | Op::Softplus
            | Op::Floor
            | Op::Ceil
            | Op::Round
    )
}

fn is_binary(op: &Op) -> bool {
    matches!(op, Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Pow | Op::Minimum | Op::Maximum)
}
