//! Parameters with an optimiser.
//!
//! Outside windows the optimiser is an instance like any other: it ticks in every cycle of its clock (PARAM-4). Under
//! windows a parameter is read once, at the first cycle of the outermost window around it, and updated once a
//! window, with the sum of the window's gradients (PARAM-5). On the clock of the parameter `o`, with W the outermost
//! window:
//!
//! ```text
//! first  = true fby[W] false                        (* the first cycle of a window *)
//! p      = optimiser(init', bp', d')                (* on the clock `first`; its own state is not windowed *)
//! o      = merge first p ((0 fby[W] o) when not first)
//! some   = if bp then true else (false fby back[W] some)    (* whether a gradient comes in the rest of the window *)
//! total  = merge bp d 0 + (0 fby back[W] total)     (* the sum of those *)
//! init'  = init when first;   bp' = some when first;   d' = (total when some) when (first when some)
//! ```

use rml_base::Span;

use super::Inliner;
use super::Instance;
use super::group::Within;
use super::initial::Start;
use super::paths::InstancePath;
use super::states::{Named, Update};
use crate::flat::{Init, Rhs, Var, Window};
use crate::normal::{ConstId, NodeId};
use crate::op::{Binary, Op};
use crate::types::Type;
use crate::value::Value;

/// A parameter with an optimiser, in flat variables.
pub(super) struct ParamUpdate {
    pub(super) init: Var,
    pub(super) bp: Var,
    pub(super) d: Var,
    pub(super) result: Var,
    pub(super) optimiser: NodeId,
    /// The parameter's name.
    pub(super) parameter: InstancePath,
    /// The optimiser's instance path.
    pub(super) instance: InstancePath,
    /// Whether the source calls the optimiser.
    pub(super) is_called: bool,
    pub(super) span: Span,
}

impl Inliner<'_> {
    /// Inlines the optimiser of a parameter.
    pub(super) fn param_update(&mut self, update: ParamUpdate) {
        if !update.is_called {
            self.starts.push(Start { init: update.init, span: update.span });
        }
        if self.idle.contains(update.parameter.full()) {
            let eq = self.emit(update.result, Rhs::Param { init: update.init }, update.span);
            self.states.insert(eq, Named { path: update.parameter, parameter: true });
            return;
        }
        let window = self.frame().window;
        let (args, output) = match window {
            None => ([update.init, update.bp, update.d], update.result),
            Some(window) => self.once_a_window(&update, self.outermost(window)),
        };
        self.updates.push(Update {
            output,
            bp: update.bp,
            args,
            is_outermost: self.frame().within.is_none(),
            path: update.parameter,
            optimiser: update.optimiser,
            is_called: update.is_called,
            span: update.span,
        });
        let rule = self.module.nodes[update.optimiser].span;
        let (path, window) = (update.instance.full().len(), window.map(|window| self.outermost(window)));
        let within = Some(Within { rule, path, window, span: update.span });
        self.enter(Instance {
            node: update.optimiser,
            path: update.instance,
            window: None,
            args: &args,
            results: vec![output],
            parameter: None,
            within,
            span: update.span,
        });
    }

    fn outermost(&self, mut window: Window) -> Window {
        while let Some(parent) = self.flat.windows[window].parent {
            window = parent;
        }
        window
    }

    /// Defines the parameter from the optimiser's output on the slow clock; returns the optimiser's arguments
    /// and that output.
    fn once_a_window(&mut self, update: &ParamUpdate, window: Window) -> ([Var; 3], Var) {
        let ty = self.flat.vars[update.result].ty.clone();
        let zero = Value::filled_for(update.span, &ty, 0.0, self.flat.precision);
        let zero = zero.unwrap_or_else(|refused| {
            self.refused.get_or_insert(refused);
            Value::num(0.0, self.flat.precision)
        });
        let mut on = Emitter { ty, zero, span: update.span, window, inliner: self };
        let bool_ty = Type::condition();
        let no = on.literal(Value::Bool(false));
        let yes = on.value(Value::Bool(true));
        let first = on.fby(yes, no, &bool_ty);
        let not_first = on.apply(Op::Not, &[first], &bool_ty);

        let ty = on.ty.clone();
        let output = on.temporary(&ty);
        let zero = on.zero();
        let held = on.fby(zero, update.result, &ty);
        let held = on.when(held, not_first, &ty);
        let merged = Rhs::Merge { cond: first, on_true: output, on_false: held };
        on.inliner.emit(update.result, merged, update.span);

        let some = on.temporary(&bool_ty);
        let never = on.value(Value::Bool(false));
        let later = on.fby_back(never, some, &bool_ty);
        let certain = on.literal(Value::Bool(true));
        let either = Rhs::If { cond: update.bp, then: certain, other: later };
        on.inliner.emit(some, either, update.span);

        let nothing = on.zero_stream();
        let padded = on.temporary(&ty);
        let pad = Rhs::Merge { cond: update.bp, on_true: update.d, on_false: nothing };
        on.inliner.emit(padded, pad, update.span);
        let total = on.temporary(&ty);
        let zero = on.zero();
        let later = on.fby_back(zero, total, &ty);
        on.inliner.emit(
            total,
            Rhs::Apply { op: Op::Binary(Binary::Add), args: vec![padded, later] },
            update.span,
        );

        let init = on.temporary(&ty);
        let sample = on.inliner.emit(init, Rhs::When { value: update.init, cond: first }, update.span);
        on.inliner.samples.push(sample);
        let bp = on.when(some, first, &bool_ty);
        let sum = on.when(total, some, &ty);
        let first_of_some = on.when(first, some, &bool_ty);
        let d = on.when(sum, first_of_some, &ty);
        ([init, bp, d], output)
    }
}

/// Emits the equations of one parameter.
struct Emitter<'a, 'm> {
    inliner: &'a mut Inliner<'m>,
    /// The parameter's type.
    ty: Type,
    /// Zeros of that type.
    zero: Value,
    span: Span,
    window: Window,
}

impl Emitter<'_, '_> {
    fn temporary(&mut self, ty: &Type) -> Var {
        self.inliner.temporary(ty.clone(), self.span)
    }

    fn define(&mut self, ty: &Type, rhs: Rhs) -> Var {
        let var = self.temporary(ty);
        self.inliner.emit(var, rhs, self.span);
        var
    }

    fn value(&mut self, value: Value) -> ConstId {
        self.inliner.flat.consts.push(value.into())
    }

    fn zero(&mut self) -> ConstId {
        let zero = self.zero.clone();
        self.value(zero)
    }

    fn literal(&mut self, value: Value) -> Var {
        let ty = value.ty();
        let k = self.value(value);
        self.define(&ty, Rhs::Const(k))
    }

    fn zero_stream(&mut self) -> Var {
        let zero = self.zero.clone();
        self.literal(zero)
    }

    fn apply(&mut self, op: Op, args: &[Var], ty: &Type) -> Var {
        self.define(ty, Rhs::Apply { op, args: args.to_vec() })
    }

    fn when(&mut self, value: Var, cond: Var, ty: &Type) -> Var {
        self.define(ty, Rhs::When { value, cond })
    }

    fn fby(&mut self, init: ConstId, next: Var, ty: &Type) -> Var {
        self.define(ty, Rhs::Fby { init: Init::Const(init), next, window: Some(self.window) })
    }

    fn fby_back(&mut self, init: ConstId, next: Var, ty: &Type) -> Var {
        self.define(ty, Rhs::FbyBack { init: Init::Const(init), next, window: Some(self.window) })
    }
}
