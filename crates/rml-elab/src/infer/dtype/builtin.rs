//! The element types of the operands and results of builtins.

use rml_base::Span;
use rml_base::codes::elab as codes;
use rml_ir::DType;
use rml_ir::op::{binary_takes, unary_takes};

use super::Infer;
use super::cases::takes_cases;
use super::classes::Class;
use crate::builtins::Builtin;
use crate::hir::ExprId;
use crate::instance::InstanceId;
use crate::text;

impl Infer<'_, '_, '_> {
    /// The class of the result of a builtin.
    pub(super) fn builtin(&mut self, id: InstanceId, of: ExprId, which: Builtin, args: &[ExprId]) -> Class {
        let span = self.tree.node(id).exprs[of].span;
        let streams = args.iter().enumerate().filter(|(i, _)| !which.is_static(*i));
        let operands: Vec<(Class, Span)> = match which {
            Builtin::Shape => Vec::new(),
            Builtin::ZerosLike => args.iter().take(1).map(|arg| self.expr(id, *arg)).collect(),
            _ => streams.map(|(_, a)| self.expr(id, *a)).collect(),
        };
        for (_, arg) in args.iter().enumerate().filter(|(i, _)| which.is_static(*i) && which.is_num(*i)) {
            let (class, span) = self.expr(id, *arg);
            self.classes.set(class, DType::Num, span);
        }
        self.at = (id, of);
        let what = format!("`{}`", which.name());
        let all = |infer: &mut Self, dtype: DType| {
            for operand in &operands {
                infer.expect(dtype, *operand, codes::TYPE_MISMATCH, &what);
            }
        };
        // If several types are allowed, the operand may have any of them; the check of shapes reports types that do not
        // fit.
        let only = |infer: &mut Self, takes: &[DType]| match takes {
            [dtype] => {
                all(infer, *dtype);
                Some(*dtype)
            }
            _ => None,
        };
        if !takes_cases(which) {
            operands.iter().for_each(|operand| self.number((id, of), *operand, &what));
        }
        let result = match which {
            Builtin::Unary(f) => only(self, unary_takes(f)),
            Builtin::Softmax { .. }
            | Builtin::MatMul
            | Builtin::Cholesky
            | Builtin::Rfft
            | Builtin::Irfft
            | Builtin::Solve
            | Builtin::Conv(..)
            | Builtin::Einsum
            | Builtin::Pool(..)
            | Builtin::Param => {
                all(self, DType::Num);
                Some(DType::Num)
            }
            Builtin::OneHot => {
                all(self, DType::Int);
                Some(DType::Num)
            }
            Builtin::Assert => {
                all(self, DType::Bool);
                Some(DType::Int)
            }
            Builtin::Convert(to) => Some(to),
            Builtin::RandomUniform
            | Builtin::RandomNormal
            | Builtin::Zeros
            | Builtin::Ones
            | Builtin::GlorotUniform
            | Builtin::Orthogonal
            | Builtin::Uniform
            | Builtin::Normal => Some(DType::Num),
            Builtin::Reduce(by) => {
                let of = only(self, by.takes());
                of.or_else(|| (by.gives(DType::Num) != DType::Num).then_some(by.gives(DType::Num)))
            }
            Builtin::Shape | Builtin::Range | Builtin::ArgSort => Some(DType::Int),
            Builtin::SortBy => return operands[1].0,
            Builtin::Binary(f) if binary_takes(f).len() == 1 => only(self, binary_takes(f)),
            Builtin::Binary(_) | Builtin::Clip | Builtin::Where | Builtin::Concat | Builtin::Stack => {
                let mut alike = &operands[..];
                if which == Builtin::Where
                    && let [cond, rest @ ..] = alike
                {
                    let first = "the first operand of `where`";
                    if let Some(help) = self.condition_first(id, args, &operands) {
                        self.expect_or(DType::Bool, *cond, codes::TYPE_MISMATCH, first, Some(help));
                        return self.classes.error();
                    }
                    self.expect(DType::Bool, *cond, codes::TYPE_MISMATCH, first);
                    alike = rest;
                }
                if let [first, rest @ ..] = alike {
                    let what = format!("the operands of {what}");
                    return rest.iter().fold(first.0, |class, x| self.unify((class, first.1), *x, &what));
                }
                None
            }
            Builtin::Gather | Builtin::Pick if self.exchanged_operands((id, of), which, args, &operands) => {
                return self.classes.error();
            }
            Builtin::Gather | Builtin::Pick => {
                let i = operands[1];
                self.expect(DType::Int, i, codes::TYPE_MISMATCH, &format!("the second operand of {what}"));
                None
            }
            Builtin::ScatterAdd => {
                let (i, d) = (operands[0], operands[1]);
                self.expect(DType::Int, i, codes::TYPE_MISMATCH, &format!("the second argument of {what}"));
                return d.0;
            }
            Builtin::StopGradient
            | Builtin::CumSum
            | Builtin::Sort
            | Builtin::Transpose
            | Builtin::Split { .. }
            | Builtin::Reshape
            | Builtin::ExpandDims
            | Builtin::Broadcast
            | Builtin::SumTo
            | Builtin::Unindex
            | Builtin::ZerosLike => None,
        };
        match (result, operands.first()) {
            (Some(dtype), _) => self.classes.fresh(Some((dtype, span))),
            (None, Some((class, _))) => *class,
            (None, None) => self.classes.fresh(None),
        }
    }

    /// The call of `where` with the condition first, if a later operand is the only bool.
    fn condition_first(
        &mut self,
        id: InstanceId,
        args: &[ExprId],
        operands: &[(Class, Span)],
    ) -> Option<String> {
        let bools: Vec<bool> = operands
            .iter()
            .map(|(class, _)| matches!(self.classes.get(*class), Some((DType::Bool, _))))
            .collect();
        let at = bools.iter().position(|is_bool| *is_bool).filter(|at| *at > 0)?;
        if bools.iter().filter(|is_bool| **is_bool).count() > 1 {
            return None;
        }
        let node = self.tree.node(id);
        let mut texts: Vec<String> = args.iter().map(|arg| text::short(node, *arg)).collect::<Option<_>>()?;
        let cond = texts.remove(at);
        texts.insert(0, cond);
        Some(format!("the condition comes first: `where({})`", texts.join(", ")))
    }
}
