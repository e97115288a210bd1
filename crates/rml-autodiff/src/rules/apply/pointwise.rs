//! Operators that work element by element.

use rml_ir::normal::Var;
use rml_ir::op::Op;

use super::Transposer;

impl Transposer<'_, '_> {
    /// Functions of one number.
    pub(super) fn elementary(&mut self, op: &Op) -> Var {
        let d = self.site.d;
        let derivative = match op {
            Op::Neg => return self.apply(Op::Neg, &[d]),
            Op::Log => {
                let x = self.x_when();
                return self.apply(Op::Div, &[d, x]);
            }
            Op::Log1p => {
                let (one, x) = (self.literal(1.0), self.x_when());
                let divisor = self.apply(Op::Add, &[one, x]);
                return self.apply(Op::Div, &[d, divisor]);
            }
            Op::Sqrt => {
                let (half, o) = (self.literal(0.5), self.out_when());
                let d = self.apply(Op::Mul, &[d, half]);
                return self.apply(Op::Div, &[d, o]);
            }
            Op::Sigmoid => {
                let (o, one) = (self.out_when(), self.literal(1.0));
                let d = self.apply(Op::Mul, &[d, o]);
                let rest = self.apply(Op::Sub, &[one, o]);
                return self.apply(Op::Mul, &[d, rest]);
            }
            Op::Cos => {
                let x = self.x_when();
                let (sine, d) = (self.apply(Op::Sin, &[x]), self.apply(Op::Neg, &[d]));
                return self.apply(Op::Mul, &[d, sine]);
            }
            Op::Abs => self.of_x(Op::Sign),
            Op::Sin => self.of_x(Op::Cos),
            Op::Softplus => self.of_x(Op::Sigmoid),
            Op::Exp => self.out_when(),
            Op::Expm1 => {
                let (o, one) = (self.out_when(), self.literal(1.0));
                self.apply(Op::Add, &[o, one])
            }
            Op::Tanh => {
                let (o, one) = (self.out_when(), self.literal(1.0));
                let square = self.apply(Op::Mul, &[o, o]);
                self.apply(Op::Sub, &[one, square])
            }
            Op::Relu => {
                let (x, zero) = (self.x_when(), self.literal(0.0));
                let positive = self.apply(Op::Gt, &[x, zero]);
                self.apply(Op::ToNum, &[positive])
            }
            Op::Erf => {
                let bell = self.bell(-1.0);
                let scale = self.literal(std::f64::consts::FRAC_2_SQRT_PI);
                self.apply(Op::Mul, &[scale, bell])
            }
            Op::Gelu => self.gelu(),
            _ => return d,
        };
        self.apply(Op::Mul, &[d, derivative])
    }

    /// An operator on the operand.
    fn of_x(&mut self, op: Op) -> Var {
        let x = self.x_when();
        self.apply(op, &[x])
    }

    /// `exp(scale * x * x)`.
    fn bell(&mut self, scale: f64) -> Var {
        let x = self.x_when();
        let square = self.apply(Op::Mul, &[x, x]);
        let exponent = if scale == -1.0 {
            self.apply(Op::Neg, &[square])
        } else {
            let scale = self.literal(scale);
            self.apply(Op::Mul, &[scale, square])
        };
        self.apply(Op::Exp, &[exponent])
    }

    /// `0.5 (1 + erf(x / sqrt 2)) + x exp(-x x / 2) / sqrt(2 pi)`.
    fn gelu(&mut self) -> Var {
        let root = self.literal(std::f64::consts::FRAC_1_SQRT_2);
        let (x, one, half) = (self.x_when(), self.literal(1.0), self.literal(0.5));
        let scaled = self.apply(Op::Mul, &[x, root]);
        let erf = self.apply(Op::Erf, &[scaled]);
        let sum = self.apply(Op::Add, &[one, erf]);
        let below = self.apply(Op::Mul, &[half, sum]);
        let bell = self.bell(-0.5);
        let weighted = self.apply(Op::Mul, &[x, bell]);
        let scale = self.literal(0.5 * std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2);
        let rest = self.apply(Op::Mul, &[weighted, scale]);
        self.apply(Op::Add, &[below, rest])
    }

    /// Infix operators and powers.
    pub(super) fn arithmetic(&mut self, op: &Op) -> Var {
        let d = self.site.d;
        match op {
            Op::Mul => self.product(),
            Op::Div => self.quotient(),
            Op::Pow => self.power(),
            Op::Sub if self.site.position == 1 => {
                let sum = self.sum_to_operand(d);
                self.apply(Op::Neg, &[sum])
            }
            _ => self.sum_to_operand(d),
        }
    }

    fn product(&mut self) -> Var {
        let d = self.site.d;
        if self.site.args[0] == self.site.args[1] {
            let (two, x) = (self.literal(2.0), self.x_when());
            let d = self.apply(Op::Mul, &[d, two]);
            return self.apply(Op::Mul, &[d, x]);
        }
        let other = self.arg_when(1 - self.site.position);
        let product = self.apply(Op::Mul, &[other, d]);
        self.sum_to_operand(product)
    }

    /// What is the same for all elements that broadcasting makes of one is done after the sum.
    fn quotient(&mut self) -> Var {
        let d = self.site.d;
        let divisor = self.arg_when(1);
        if self.site.position == 0 {
            let quotient = self.apply(Op::Div, &[d, divisor]);
            return self.sum_to_operand(quotient);
        }
        let o = self.out_when();
        let product = self.apply(Op::Mul, &[d, o]);
        let sum = self.sum_to_operand(product);
        let sum = self.apply(Op::Neg, &[sum]);
        self.apply(Op::Div, &[sum, divisor])
    }

    /// `b pow(a, b - 1)` where `b` is not 0, and `o log(a)` where `a` is not 0. Where `b` is 0, the result is 1 for
    /// every `a`, infinite ones too: then `pow(a, 0)` stands for the factor that may be infinite.
    fn power(&mut self) -> Var {
        let (d, zero, one) = (self.site.d, self.literal(0.0), self.literal(1.0));
        let (base, exponent) = (self.arg_when(0), self.arg_when(1));
        let (factor, derivative) = if self.site.position == 0 {
            let nothing = self.apply(Op::Eq, &[exponent, zero]);
            let less = self.apply(Op::Sub, &[exponent, one]);
            let less = self.apply(Op::Where, &[nothing, zero, less]);
            (exponent, self.apply(Op::Pow, &[base, less]))
        } else {
            let nothing = self.apply(Op::Eq, &[base, zero]);
            let inside = self.apply(Op::Where, &[nothing, one, base]);
            (self.out_when(), self.apply(Op::Log, &[inside]))
        };
        let d = self.apply(Op::Mul, &[d, factor]);
        let product = self.apply(Op::Mul, &[d, derivative]);
        self.sum_to_operand(product)
    }

    /// Operators that choose between operands.
    pub(super) fn choice(&mut self, op: &Op) -> Var {
        let (d, position) = (self.site.d, self.site.position);
        let result = match op {
            Op::Where => {
                let (cond, zero) = (self.arg_when(0), self.literal(0.0));
                let branches = if position == 1 { [cond, d, zero] } else { [cond, zero, d] };
                self.apply(Op::Where, &branches)
            }
            Op::Clip => {
                let mask = self.clip_mask();
                let zero = self.literal(0.0);
                self.apply(Op::Where, &[mask, d, zero])
            }
            _ => {
                // Equals get one half each.
                let (own, other) = (self.x_when(), self.arg_when(1 - position));
                let (weak, strict) = if *op == Op::Minimum { (Op::Le, Op::Lt) } else { (Op::Ge, Op::Gt) };
                let [weak, strict] = [weak, strict].map(|op| {
                    let holds = self.apply(op, &[own, other]);
                    self.apply(Op::ToNum, &[holds])
                });
                let (half, share) = (self.literal(0.5), self.apply(Op::Add, &[weak, strict]));
                let d = self.apply(Op::Mul, &[d, half]);
                self.apply(Op::Mul, &[d, share])
            }
        };
        self.sum_to_operand(result)
    }

    /// Where `clip(x, lo, hi)` gives the operand.
    fn clip_mask(&mut self) -> Var {
        let [x, lo, hi] = [0, 1, 2].map(|i| self.arg_when(i));
        let (one, two, both) = match self.site.position {
            0 => ((Op::Ge, [x, lo]), (Op::Le, [x, hi]), Op::And),
            1 => ((Op::Lt, [x, lo]), (Op::Le, [lo, hi]), Op::And),
            _ => ((Op::Gt, [x, hi]), (Op::Gt, [lo, hi]), Op::Or),
        };
        let (one, two) = (self.apply(one.0, &one.1), self.apply(two.0, &two.1));
        self.apply(both, &[one, two])
    }
}
