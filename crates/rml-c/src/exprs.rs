//! Operators element by element, as C expressions.

use rml_ir::DType;
use rml_ir::op::Op;

use crate::prelude::Prelude;

/// Whether each element of the result depends on the elements at its own place alone.
pub(crate) fn is_pointwise(op: &Op) -> bool {
    use Op::*;
    matches!(
        op,
        Copy | StopGradient
            | Neg
            | Not
            | Abs
            | Sign
            | Exp
            | Expm1
            | Log
            | Log1p
            | Sqrt
            | Sin
            | Cos
            | Erf
            | Sigmoid
            | Tanh
            | Relu
            | Flush
            | Gelu
            | Softplus
            | Floor
            | Ceil
            | Round
            | ToNum
            | ToInt
            | ToBool
            | Add
            | Sub
            | Mul
            | Div
            | Mod
            | Pow
            | Minimum
            | Maximum
            | Clip
            | Where
            | And
            | Or
            | Eq
            | Ne
            | Lt
            | Le
            | Gt
            | Ge
            | Broadcast { .. }
    )
}

/// The value of a pointwise operator, given those of its operands, whose type is that of the last one.
pub(crate) fn pointwise(op: &Op, dtype: DType, args: &[String], prelude: &Prelude) -> String {
    let infix = |symbol: &str| format!("({} {symbol} {})", args[0], args[1]);
    let call = |function: &str| format!("{function}({})", args.join(", "));
    let helper = |name: &str| call(prelude.helper(name));
    let checked = |name: &str| format!("{}({}, &bad)", prelude.helper(name), args.join(", "));
    let math = |name: &str| call(&prelude.math(name));
    let int = dtype == DType::Int;
    // What is exact compares in one way with itself, and compilers warn of it.
    let compared = |symbol: &str, with_itself: bool| match args[0] == args[1] && dtype != DType::Num {
        true => format!("((void){}, {with_itself})", args[0]),
        false => infix(symbol),
    };
    match op {
        Op::Not => format!("(!{})", args[0]),
        Op::Neg if int => checked("rml_neg"),
        Op::Neg => format!("(-{})", args[0]),
        Op::Abs if int => checked("rml_abs"),
        Op::Abs => math("fabs"),
        Op::Sign if int => helper("rml_sign_int"),
        Op::Sign => helper("rml_sign"),
        Op::Exp | Op::Expm1 | Op::Log | Op::Log1p | Op::Sqrt | Op::Sin | Op::Cos | Op::Erf => math(op.name()),
        Op::Tanh | Op::Floor | Op::Ceil | Op::Pow => math(op.name()),
        Op::Round => math("rint"),
        Op::Sigmoid => helper("rml_sigmoid"),
        Op::Relu => helper("rml_relu"),
        Op::Flush => helper("rml_flush"),
        Op::Gelu => helper("rml_gelu"),
        Op::Softplus => helper("rml_softplus"),
        Op::ToNum => format!("(num){}", args[0]),
        Op::ToInt if dtype == DType::Num => checked("rml_to_int"),
        Op::ToInt => format!("(int64_t){}", args[0]),
        Op::ToBool => format!("({} != 0)", args[0]),
        Op::Add if int => checked("rml_add"),
        Op::Sub if int => checked("rml_sub"),
        Op::Mul if int => checked("rml_mul"),
        Op::Div if int => checked("rml_div"),
        Op::Mod => helper("rml_mod"),
        Op::Minimum if int => helper("rml_min_int"),
        Op::Maximum if int => helper("rml_max_int"),
        Op::Minimum => helper("rml_min"),
        Op::Maximum => helper("rml_max"),
        Op::Clip => {
            let (max, min) = if int { ("rml_max_int", "rml_min_int") } else { ("rml_max", "rml_min") };
            let (max, min) = (prelude.helper(max), prelude.helper(min));
            format!("{min}({max}({}, {}), {})", args[0], args[1], args[2])
        }
        Op::Where => format!("({} ? {} : {})", args[0], args[1], args[2]),
        Op::Add => infix("+"),
        Op::Sub => infix("-"),
        Op::Mul => infix("*"),
        Op::Div => infix("/"),
        Op::And => infix("&&"),
        Op::Or => infix("||"),
        Op::Eq => compared("==", true),
        Op::Ne => compared("!=", false),
        Op::Lt => compared("<", false),
        Op::Le => compared("<=", true),
        Op::Gt => compared(">", false),
        Op::Ge => compared(">=", true),
        // The operand itself, in another shape at most.
        _ => args[0].clone(),
    }
}
