//! Operators that work element by element.

use rml_ir::DType;
use rml_ir::normal::Var;
use rml_ir::op::{Binary, Compare, Op, Unary};

use super::Transposer;

impl Transposer<'_, '_> {
    /// Transposes functions of one number.
    pub(super) fn elementary(&mut self, f: Unary) -> Option<Var> {
        let d = self.site.d;
        let derivative = match f {
            Unary::Neg => return Some(self.apply(Op::Unary(Unary::Neg), &[d])),
            // The result differs from the operand by less than the rounding of a normal number.
            Unary::Flush => return Some(d),
            Unary::Sign | Unary::Floor | Unary::Ceil | Unary::Round => return None,
            Unary::Log => {
                let x = self.x_when();
                return Some(self.apply(Op::Binary(Binary::Div), &[d, x]));
            }
            Unary::Log1p => {
                let (one, x) = (self.literal(1.0), self.x_when());
                let divisor = self.apply(Op::Binary(Binary::Add), &[one, x]);
                return Some(self.apply(Op::Binary(Binary::Div), &[d, divisor]));
            }
            Unary::Sqrt => {
                let (half, o) = (self.literal(0.5), self.out_when());
                let d = self.apply(Op::Binary(Binary::Mul), &[d, half]);
                return Some(self.apply(Op::Binary(Binary::Div), &[d, o]));
            }
            Unary::Sigmoid => {
                let (o, one) = (self.out_when(), self.literal(1.0));
                let d = self.apply(Op::Binary(Binary::Mul), &[d, o]);
                let rest = self.apply(Op::Binary(Binary::Sub), &[one, o]);
                return Some(self.apply(Op::Binary(Binary::Mul), &[d, rest]));
            }
            Unary::Cos => {
                let x = self.x_when();
                let sine = self.apply(Op::Unary(Unary::Sin), &[x]);
                let d = self.apply(Op::Unary(Unary::Neg), &[d]);
                return Some(self.apply(Op::Binary(Binary::Mul), &[d, sine]));
            }
            Unary::Abs => self.of_x(Unary::Sign),
            Unary::Sin => self.of_x(Unary::Cos),
            Unary::Softplus => self.of_x(Unary::Sigmoid),
            Unary::Exp => self.out_when(),
            Unary::Expm1 => {
                let (o, one) = (self.out_when(), self.literal(1.0));
                self.apply(Op::Binary(Binary::Add), &[o, one])
            }
            Unary::Tanh => {
                let (o, one) = (self.out_when(), self.literal(1.0));
                let square = self.apply(Op::Binary(Binary::Mul), &[o, o]);
                self.apply(Op::Binary(Binary::Sub), &[one, square])
            }
            Unary::Relu => {
                let (x, zero) = (self.x_when(), self.literal(0.0));
                let positive = self.apply(Op::Compare(Compare::Gt), &[x, zero]);
                self.apply(Op::Convert(DType::Num), &[positive])
            }
            Unary::Erf => {
                let bell = self.bell(-1.0);
                let scale = self.literal(std::f64::consts::FRAC_2_SQRT_PI);
                self.apply(Op::Binary(Binary::Mul), &[scale, bell])
            }
            Unary::Gelu => self.gelu(),
        };
        Some(self.apply(Op::Binary(Binary::Mul), &[d, derivative]))
    }

    /// Applies a function to the operand.
    fn of_x(&mut self, f: Unary) -> Var {
        let x = self.x_when();
        self.apply(Op::Unary(f), &[x])
    }

    /// `exp(scale * x * x)`.
    fn bell(&mut self, scale: f64) -> Var {
        let x = self.x_when();
        let square = self.apply(Op::Binary(Binary::Mul), &[x, x]);
        let exponent = if scale == -1.0 {
            self.apply(Op::Unary(Unary::Neg), &[square])
        } else {
            let scale = self.literal(scale);
            self.apply(Op::Binary(Binary::Mul), &[scale, square])
        };
        self.apply(Op::Unary(Unary::Exp), &[exponent])
    }

    /// `0.5 (1 + erf(x / sqrt 2)) + x exp(-x x / 2) / sqrt(2 pi)`.
    fn gelu(&mut self) -> Var {
        let root = self.literal(std::f64::consts::FRAC_1_SQRT_2);
        let (x, one, half) = (self.x_when(), self.literal(1.0), self.literal(0.5));
        let scaled = self.apply(Op::Binary(Binary::Mul), &[x, root]);
        let erf = self.apply(Op::Unary(Unary::Erf), &[scaled]);
        let sum = self.apply(Op::Binary(Binary::Add), &[one, erf]);
        let below = self.apply(Op::Binary(Binary::Mul), &[half, sum]);
        let bell = self.bell(-0.5);
        let weighted = self.apply(Op::Binary(Binary::Mul), &[x, bell]);
        let scale = self.literal(0.5 * std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2);
        let rest = self.apply(Op::Binary(Binary::Mul), &[weighted, scale]);
        self.apply(Op::Binary(Binary::Add), &[below, rest])
    }

    /// Transposes functions of two numbers.
    pub(super) fn arithmetic(&mut self, f: Binary) -> Var {
        let d = self.site.d;
        match f {
            Binary::Mul => self.product(),
            Binary::Div => self.quotient(),
            Binary::Pow => self.power(),
            Binary::Atan2 => self.angle(),
            Binary::LogAddExp => self.logaddexp(),
            Binary::Minimum => self.extreme_of_two(Compare::Le, Compare::Lt),
            Binary::Maximum => self.extreme_of_two(Compare::Ge, Compare::Gt),
            Binary::Sub if self.site.position == 1 => {
                let sum = self.sum_to_operand(d);
                self.apply(Op::Unary(Unary::Neg), &[sum])
            }
            Binary::Mod if self.site.position == 1 => self.remainder(),
            Binary::Add | Binary::Sub | Binary::Mod => self.sum_to_operand(d),
        }
    }

    /// `x / (x x + y y)` and `-y / (x x + y y)`. Both numbers are first divided by the larger magnitude, so that no
    /// square overflows; the result is 0 at the origin.
    fn angle(&mut self) -> Var {
        let (y, x) = (self.arg_when(0), self.arg_when(1));
        let (zero, one) = (self.literal(0.0), self.literal(1.0));
        let [high, wide] = [y, x].map(|x| self.apply(Op::Unary(Unary::Abs), &[x]));
        let most = self.apply(Op::Binary(Binary::Maximum), &[high, wide]);
        let origin = self.apply(Op::Compare(Compare::Eq), &[most, zero]);
        let most = self.apply(Op::Where, &[origin, one, most]);
        let [v, u] = [y, x].map(|x| self.apply(Op::Binary(Binary::Div), &[x, most]));
        let [high, wide] = [v, u].map(|x| self.apply(Op::Binary(Binary::Mul), &[x, x]));
        let squares = self.apply(Op::Binary(Binary::Add), &[wide, high]);
        let squares = self.apply(Op::Binary(Binary::Maximum), &[squares, one]);
        let other = if self.site.position == 0 { u } else { v };
        let product = self.apply(Op::Binary(Binary::Mul), &[self.site.d, other]);
        let quotient = self.apply(Op::Binary(Binary::Div), &[product, squares]);
        let quotient = self.apply(Op::Binary(Binary::Div), &[quotient, most]);
        let sum = self.sum_to_operand(quotient);
        if self.site.position == 0 { sum } else { self.apply(Op::Unary(Unary::Neg), &[sum]) }
    }

    /// The share of the operand, `sigmoid(a - b)`. For equal operands, even infinite ones, the difference is taken as
    /// zero.
    fn logaddexp(&mut self) -> Var {
        let (own, other) = (self.x_when(), self.arg_when(1 - self.site.position));
        let zero = self.literal(0.0);
        let same = self.apply(Op::Compare(Compare::Eq), &[own, other]);
        let difference = self.apply(Op::Binary(Binary::Sub), &[own, other]);
        let difference = self.apply(Op::Where, &[same, zero, difference]);
        let share = self.apply(Op::Unary(Unary::Sigmoid), &[difference]);
        let product = self.apply(Op::Binary(Binary::Mul), &[self.site.d, share]);
        self.sum_to_operand(product)
    }

    /// A remainder is `a - floor(a / b) b`, and the floor is piecewise constant.
    fn remainder(&mut self) -> Var {
        let (a, b) = (self.arg_when(0), self.arg_when(1));
        let quotient = self.apply(Op::Binary(Binary::Div), &[a, b]);
        let whole = self.apply(Op::Unary(Unary::Floor), &[quotient]);
        let product = self.apply(Op::Binary(Binary::Mul), &[self.site.d, whole]);
        let sum = self.sum_to_operand(product);
        self.apply(Op::Unary(Unary::Neg), &[sum])
    }

    /// The minimum or maximum of two numbers; equal operands get half of the gradient each.
    fn extreme_of_two(&mut self, weak: Compare, strict: Compare) -> Var {
        let (d, own, other) = (self.site.d, self.x_when(), self.arg_when(1 - self.site.position));
        let [weak, strict] = [weak, strict].map(|how| {
            let holds = self.apply(Op::Compare(how), &[own, other]);
            self.apply(Op::Convert(DType::Num), &[holds])
        });
        let (half, share) = (self.literal(0.5), self.apply(Op::Binary(Binary::Add), &[weak, strict]));
        let d = self.apply(Op::Binary(Binary::Mul), &[d, half]);
        let result = self.apply(Op::Binary(Binary::Mul), &[d, share]);
        self.sum_to_operand(result)
    }

    fn product(&mut self) -> Var {
        let d = self.site.d;
        if self.site.args[0] == self.site.args[1] {
            let (two, x) = (self.literal(2.0), self.x_when());
            let d = self.apply(Op::Binary(Binary::Mul), &[d, two]);
            return self.apply(Op::Binary(Binary::Mul), &[d, x]);
        }
        let other = self.arg_when(1 - self.site.position);
        let product = self.apply(Op::Binary(Binary::Mul), &[other, d]);
        self.sum_to_operand(product)
    }

    /// Factors that are constant along broadcast axes are applied after the sum over these axes.
    fn quotient(&mut self) -> Var {
        let d = self.site.d;
        let divisor = self.arg_when(1);
        if self.site.position == 0 {
            let quotient = self.apply(Op::Binary(Binary::Div), &[d, divisor]);
            return self.sum_to_operand(quotient);
        }
        let o = self.out_when();
        let product = self.apply(Op::Binary(Binary::Mul), &[d, o]);
        let sum = self.sum_to_operand(product);
        let sum = self.apply(Op::Unary(Unary::Neg), &[sum]);
        self.apply(Op::Binary(Binary::Div), &[sum, divisor])
    }

    /// `b pow(a, b - 1)` where `b` is not 0, and `o log(a)` where `a` is not 0. Where `b` is 0, the result is 1 for
    /// every `a`, including infinite ones; there, `pow(a, 0)` replaces the factor that could be infinite.
    fn power(&mut self) -> Var {
        let (d, zero, one) = (self.site.d, self.literal(0.0), self.literal(1.0));
        let (base, exponent) = (self.arg_when(0), self.arg_when(1));
        let (factor, derivative) = if self.site.position == 0 {
            let nothing = self.apply(Op::Compare(Compare::Eq), &[exponent, zero]);
            let less = self.apply(Op::Binary(Binary::Sub), &[exponent, one]);
            let less = self.apply(Op::Where, &[nothing, zero, less]);
            (exponent, self.apply(Op::Binary(Binary::Pow), &[base, less]))
        } else {
            let nothing = self.apply(Op::Compare(Compare::Eq), &[base, zero]);
            let inside = self.apply(Op::Where, &[nothing, one, base]);
            (self.out_when(), self.apply(Op::Unary(Unary::Log), &[inside]))
        };
        let d = self.apply(Op::Binary(Binary::Mul), &[d, factor]);
        let product = self.apply(Op::Binary(Binary::Mul), &[d, derivative]);
        self.sum_to_operand(product)
    }

    /// Transposes operators of three operands that select one of them.
    pub(super) fn choice(&mut self, op: &Op) -> Var {
        let cond = if *op == Op::Clip { self.clip_mask() } else { self.arg_when(0) };
        let (d, zero) = (self.site.d, self.literal(0.0));
        let branches =
            if *op == Op::Where && self.site.position == 2 { [cond, zero, d] } else { [cond, d, zero] };
        let result = self.apply(Op::Where, &branches);
        self.sum_to_operand(result)
    }

    /// The condition under which `clip(x, lo, hi)` returns the operand.
    fn clip_mask(&mut self) -> Var {
        let [x, lo, hi] = [0, 1, 2].map(|i| self.arg_when(i));
        let (one, two, both) = match self.site.position {
            0 => ((Op::Compare(Compare::Ge), [x, lo]), (Op::Compare(Compare::Le), [x, hi]), Op::And),
            1 => ((Op::Compare(Compare::Lt), [x, lo]), (Op::Compare(Compare::Le), [lo, hi]), Op::And),
            _ => ((Op::Compare(Compare::Gt), [x, hi]), (Op::Compare(Compare::Gt), [lo, hi]), Op::Or),
        };
        let (one, two) = (self.apply(one.0, &one.1), self.apply(two.0, &two.1));
        self.apply(both, &[one, two])
    }
}
