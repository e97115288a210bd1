//! Operators element by element, as C expressions.

use rml_ir::DType;
use rml_ir::op::{Binary, Compare, Op, Unary};

use crate::prelude::Prelude;

/// The value of a pointwise operator, from the values of its operands, the last of which has the type `dtype`.
pub(crate) fn pointwise(op: &Op, dtype: DType, args: &[String], prelude: &Prelude) -> String {
    let infix = |symbol: &str| format!("({} {symbol} {})", args[0], args[1]);
    let call = |function: &str| format!("{function}({})", args.join(", "));
    let helper = |name: &str| call(prelude.helper(name));
    let checked = |name: &str| format!("{}({}, &bad)", prelude.helper(name), args.join(", "));
    let math = |name: &str| call(&prelude.math(name));
    let int = dtype == DType::Int;
    // Comparing an exact value with itself has a constant result, and compilers warn about it.
    let compared = |symbol: &str, with_itself: bool| match args[0] == args[1] && dtype != DType::Num {
        true => format!("((void){}, {with_itself})", args[0]),
        false => infix(symbol),
    };
    match op {
        // The operand itself; broadcasting does not change single elements.
        Op::Copy | Op::StopGradient | Op::Broadcast { .. } => args[0].clone(),
        Op::Not => format!("(!{})", args[0]),
        Op::Unary(f) => match f {
            Unary::Neg if int => checked("rml_neg"),
            Unary::Neg => format!("(-{})", args[0]),
            Unary::Abs if int => checked("rml_abs"),
            Unary::Abs => math("fabs"),
            Unary::Sign if int => helper("rml_sign_int"),
            Unary::Sign => helper("rml_sign"),
            Unary::Exp | Unary::Expm1 | Unary::Log | Unary::Log1p | Unary::Sqrt | Unary::Sin => {
                math(f.name())
            }
            Unary::Cos | Unary::Erf | Unary::Tanh | Unary::Floor | Unary::Ceil => math(f.name()),
            Unary::Round => math("rint"),
            Unary::Sigmoid => helper("rml_sigmoid"),
            Unary::Relu => helper("rml_relu"),
            Unary::Flush => helper("rml_flush"),
            Unary::Gelu => helper("rml_gelu"),
            Unary::Softplus => helper("rml_softplus"),
        },
        Op::Convert(DType::Num) => format!("(num){}", args[0]),
        Op::Convert(DType::Int) if dtype == DType::Num => checked("rml_to_int"),
        Op::Convert(DType::Int) => format!("(int64_t){}", args[0]),
        Op::Convert(DType::Bool) => format!("({} != 0)", args[0]),
        Op::Binary(f) => match f {
            Binary::Add if int => checked("rml_add"),
            Binary::Sub if int => checked("rml_sub"),
            Binary::Mul if int => checked("rml_mul"),
            Binary::Div if int => checked("rml_div"),
            Binary::Mod if int => helper("rml_mod"),
            Binary::Minimum if int => helper("rml_min_int"),
            Binary::Maximum if int => helper("rml_max_int"),
            Binary::Add => infix("+"),
            Binary::Sub => infix("-"),
            Binary::Mul => infix("*"),
            Binary::Div => infix("/"),
            Binary::Mod => helper("rml_mod_num"),
            Binary::Pow | Binary::Atan2 => math(f.name()),
            Binary::LogAddExp => helper("rml_logaddexp"),
            Binary::Minimum => helper("rml_min"),
            Binary::Maximum => helper("rml_max"),
        },
        Op::Clip => {
            let (max, min) = if int { ("rml_max_int", "rml_min_int") } else { ("rml_max", "rml_min") };
            let (max, min) = (prelude.helper(max), prelude.helper(min));
            format!("{min}({max}({}, {}), {})", args[0], args[1], args[2])
        }
        Op::Where => format!("({} ? {} : {})", args[0], args[1], args[2]),
        Op::And => infix("&&"),
        Op::Or => infix("||"),
        Op::Compare(how @ (Compare::Eq | Compare::Le | Compare::Ge)) => compared(how.symbol(), true),
        Op::Compare(how @ (Compare::Ne | Compare::Lt | Compare::Gt)) => compared(how.symbol(), false),
        other => unreachable!("{other} is not computed element by element"),
    }
}
