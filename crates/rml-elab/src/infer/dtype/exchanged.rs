//! Calls whose arguments have the element types of the inputs, but in another order: `cross_entropy(label, logits)`.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};
use rml_ir::DType;

use super::Infer;
use super::classes::Class;
use crate::builtins::Builtin;
use crate::context;
use crate::hir::{Call, ExprId};
use crate::instance::InstanceId;
use crate::lower::{MAX_ARGUMENTS, first_order};
use crate::text;

/// The class of an argument that is a stream; none for a static argument.
pub(super) type Argument = Option<(Class, Span)>;

impl Infer<'_, '_, '_> {
    /// Reports a call whose arguments do not fit as written but do fit in another order. Returns that order.
    pub(super) fn exchanged(
        &mut self,
        (id, expr): (InstanceId, ExprId),
        call: &Call,
        child: InstanceId,
        args: &[Argument],
    ) -> Option<Vec<usize>> {
        let callee = self.tree.node(child);
        let own = callee.formals.iter().map(|formal| {
            let class = self.tree.is_stream(child, *formal).then(|| self.tree.slot(child, *formal));
            class.and_then(|class| self.classes.get(class)).map(|(dtype, _)| dtype)
        });
        let own: Vec<Option<DType>> = own.collect();
        let wanted: Vec<Option<DType>> = (0..args.len())
            .map(|i| match own.get(i) {
                Some(own) => *own,
                None => Some(if i == own.len() { DType::Bool } else { DType::Num }),
            })
            .collect();
        let mut known = vec![vec![false; args.len()]; args.len()];
        for (i, wanted) in wanted.iter().enumerate() {
            for (j, arg) in args.iter().enumerate() {
                known[i][j] = match (arg, wanted) {
                    // Arguments that are static or of unknown type keep their positions.
                    (Some((class, _)), Some(wanted)) => {
                        args[i].is_some() && self.has_type(*class, *wanted, i != j)
                    }
                    _ => i == j,
                };
            }
        }
        let misplaced = (0..args.len()).find(|i| !known[*i][*i])?;
        if args.len() > MAX_ARGUMENTS {
            return None;
        }
        let order = first_order(args.len(), &|order: &[usize]| {
            order.iter().enumerate().all(|(i, arg)| known[i][*arg])
        })?;
        let wanted = wanted[misplaced]?;
        self.report_order((id, expr), (call, child), (misplaced, args[misplaced]?, wanted), &order);
        Some(order)
    }

    /// Reports that the arguments of a call fit in that order. The misplaced argument has another type than its
    /// position needs.
    fn report_order(
        &mut self,
        (id, expr): (InstanceId, ExprId),
        (call, child): (&Call, InstanceId),
        (misplaced, (class, at), wanted): (usize, (Class, Span), DType),
        order: &[usize],
    ) {
        let (node, callee) = (self.tree.node(id), self.tree.node(child));
        let name = format!("{}{}", call.order.prefix(), callee.name);
        let input = callee.formals.get(misplaced).map_or("bp", |formal| callee.name_of(*formal).as_ref());
        let found = self.classes.settled(class);
        let text = |i: &usize| text::short(node, call.args[*i]).unwrap_or_else(|| "..".to_owned());
        let written = format!("{name}({})", order.iter().map(text).collect::<Vec<_>>().join(", "));
        let moved = order.iter().enumerate().filter(|(i, arg)| i != *arg).count();
        let what = if moved == 2 { "exchange the two" } else { "the order is" };
        let d = Diagnostic::error(
            codes::TYPE_MISMATCH,
            format!("the arguments of `{name}` are in another order than its inputs"),
        )
        .label(at, format!("this is {found}, but `{input}` is {wanted}"))
        .label(callee.span, "its interface")
        .help(format!("{what}: `{written}`"));
        self.broken.insert((id, expr));
        self.report.push(context::add(self.tree, id, Some(expr), d));
    }

    /// Reports positions that come before the operand that they index, as in `gather(i, table)`. Returns whether it
    /// did.
    pub(super) fn exchanged_operands(
        &mut self,
        (id, of): (InstanceId, ExprId),
        which: Builtin,
        args: &[ExprId],
        operands: &[(Class, Span)],
    ) -> bool {
        let &[(first, _), (second, at), ..] = operands else { return false };
        let type_of = |class| self.classes.get(class).map(|(dtype, _)| dtype);
        if [first, second].map(type_of) != [Some(DType::Int), Some(DType::Num)] {
            return false;
        }
        let node = self.tree.node(id);
        let text = |arg: &ExprId| text::short(node, *arg).unwrap_or_else(|| "..".to_owned());
        let mut texts: Vec<String> = args.iter().map(text).collect();
        texts.swap(0, 1);
        let name = which.name();
        let message = format!("the arguments of `{name}` are in another order than it takes them");
        let d = Diagnostic::error(codes::TYPE_MISMATCH, message)
            .label(at, "this is num, but the positions are int")
            .note(format!("expected {name}{}", which.arity().2))
            .help(format!("exchange the two: `{name}({})`", texts.join(", ")));
        self.broken.insert((id, of));
        self.report.push(context::add(self.tree, id, Some(of), d));
        true
    }

    /// Whether a class has that type, as far as it is known. An argument of unknown type that would be moved counts as
    /// a num, which is its type if nothing else determines it: it must not be mistaken for a label.
    fn has_type(&mut self, class: Class, dtype: DType, moved: bool) -> bool {
        match self.classes.get(class) {
            _ if self.classes.is_lost(class) => true,
            Some((known, _)) => known == dtype,
            None if self.classes.is_literal(class) => dtype != DType::Bool,
            None => !moved || dtype == DType::Num,
        }
    }
}
