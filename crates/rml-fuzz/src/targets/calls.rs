//! Programs with one call of an operator: most have operands that it accepts, some have others.

use rml_testkit::Lcg;

mod layout;
mod sliding;

/// A call under construction.
struct Call<'r> {
    r: &'r mut Lcg,
    inputs: Vec<String>,
    /// Equations before the equation of the result.
    before: String,
}

type Dims = Vec<usize>;

const UNARY: &[&str] = &[
    "exp",
    "expm1",
    "log",
    "log1p",
    "sqrt",
    "sin",
    "cos",
    "erf",
    "abs",
    "sign",
    "floor",
    "ceil",
    "round",
    "sigmoid",
    "tanh",
    "relu",
    "flush",
    "gelu",
    "softplus",
    "to_int",
    "to_bool",
    "softmax",
    "log_softmax",
    "stop_gradient",
    "-",
];
const INFIX: &[&str] = &["+", "-", "*", "/", "==", "!=", "<", "<=", ">", ">="];
const REDUCTIONS: &[&str] = &["sum", "mean", "prod", "logsumexp", "max", "min", "argmax", "argmin"];
/// Functions along an axis, which keep this axis. Each also accepts a flag.
const ALONG: &[&str] = &["cumsum", "sort", "argsort", "sort_by"];
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "-1",
    "-2",
    "7",
    "100",
    "2147483648",
    "1000000000",
    "4294967296",
    "9223372036854775807",
    "1.5",
    "true",
    "[]",
    "[1]",
    "[0, 0]",
    "[1, 2, 3]",
];

/// A program with a random call.
pub(super) fn program(r: &mut Lcg) -> String {
    let wild = r.chance(0.15);
    let mut call = Call { r, inputs: Vec::new(), before: String::new() };
    let mut expression = call.expression();
    if wild {
        expression = other_number(&expression, call.r);
    }
    let (inputs, before) = (call.inputs.join(", "), call.before);
    format!("node main({inputs}) -> (o)\n{before}  o = {expression};\n")
}

/// The expression with one number replaced.
fn other_number(text: &str, r: &mut Lcg) -> String {
    let is_number = |i: usize| {
        let before = text[..i].chars().next_back().unwrap_or(' ');
        text[i..].starts_with(|c: char| c.is_ascii_digit())
            && !before.is_alphanumeric()
            && before != '_'
            && before != '.'
    };
    let starts: Vec<usize> = text.char_indices().map(|(i, _)| i).filter(|&i| is_number(i)).collect();
    if starts.is_empty() {
        return text.to_owned();
    }
    let start = *r.pick(&starts);
    let end = text[start..].find(|c: char| !c.is_ascii_digit() && c != '.').map_or(text.len(), |n| start + n);
    format!("{}{}{}", &text[..start], r.pick(NUMBERS), &text[end..])
}

fn list(dims: &[usize]) -> String {
    format!("[{}]", dims.iter().map(usize::to_string).collect::<Vec<_>>().join(", "))
}

impl Call<'_> {
    /// A dimension: small, rarely 0.
    fn dim(&mut self) -> usize {
        *self.r.pick(&[1, 1, 2, 2, 3, 3, 4, 5, 0])
    }

    fn dims(&mut self, least: usize, most: usize) -> Dims {
        let rank = least + self.r.below(most - least + 1);
        (0..rank).map(|_| self.dim()).collect()
    }

    /// Adds an input, and returns its name.
    fn input(&mut self, kind: &str, dims: &[usize]) -> String {
        let name = format!("x{}", self.inputs.len());
        self.inputs.push(format!("{name}: {kind} {}", list(dims)));
        name
    }

    /// Dimensions that broadcast to the given ones.
    fn narrower(&mut self, dims: &[usize]) -> Dims {
        let from = if self.r.chance(0.3) { self.r.below(dims.len() + 1) } else { 0 };
        dims[from..].iter().map(|d| if self.r.chance(0.25) { 1 } else { *d }).collect()
    }

    /// Positions within an axis, as an int array of the given shape.
    fn positions(&mut self, dims: &[usize], size: usize) -> String {
        let Some((first, rest)) = dims.split_first() else {
            return self.r.below(size).to_string();
        };
        let entries: Vec<String> = (0..*first).map(|_| self.positions(rest, size)).collect();
        format!("[{}]", entries.join(", "))
    }

    fn axis(&mut self, rank: usize) -> String {
        let axis = self.r.below(rank) as i64;
        let axis = if self.r.chance(0.3) { axis - rank as i64 } else { axis };
        axis.to_string()
    }

    fn expression(&mut self) -> String {
        match self.r.below(24) {
            0 | 1 => {
                let dims = self.dims(0, 3);
                let x = self.input("num", &dims);
                format!("{}({x})", self.r.pick(UNARY))
            }
            2 | 3 => self.pointwise(),
            4 => {
                let dims = self.dims(0, 3);
                let (a, b) = (self.narrower(&dims), self.narrower(&dims));
                let (a, b) = (self.input("bool", &a), self.input("bool", &b));
                let op = *self.r.pick(&["and", "or", "==", "!="]);
                if self.r.chance(0.2) { format!("not {a} {op} {b}") } else { format!("{a} {op} {b}") }
            }
            5 => self.reduction(),
            6 => self.layout(),
            7 | 8 => self.parts(),
            9 => self.index(),
            10 => self.gather(),
            11 => self.matmul(),
            12 => self.einsum(),
            13..=15 => self.convolution(),
            16..=18 => self.pooling(),
            19 | 20 => self.along(),
            21 => self.square(),
            22 => self.transform(),
            _ => self.constant(),
        }
    }

    fn pointwise(&mut self) -> String {
        let dims = self.dims(0, 3);
        let kind = *self.r.pick(&["num", "num", "int"]);
        let shapes = [self.narrower(&dims), self.narrower(&dims), self.narrower(&dims)];
        let mut operand = |i: usize| self.input(kind, &shapes[i]);
        let (a, b) = (operand(0), operand(1));
        match self.r.below(10) {
            0 => format!("minimum({a}, {b})"),
            1 => format!("maximum({a}, {b})"),
            2 => {
                let c = self.input(kind, &shapes[2]);
                format!("clip({a}, {b}, {c})")
            }
            3 => {
                let c = self.input("bool", &shapes[2]);
                format!("where({c}, {a}, {b})")
            }
            4 => format!("mod({a}, {b})"),
            5 | 6 if kind == "num" => format!("{}({a}, {b})", self.r.pick(&["pow", "atan2", "logaddexp"])),
            5 if kind == "int" => format!("to_num({a}) + to_num(to_bool({b}))"),
            _ => format!("{a} {} {b}", self.r.pick(INFIX)),
        }
    }

    fn reduction(&mut self) -> String {
        let dims = self.dims(1, 3);
        let axes = self.axes(dims.len());
        if self.r.chance(0.15) {
            let x = self.input("bool", &dims);
            let name = *self.r.pick(&["any", "all"]);
            return format!("{name}({x}{axes})");
        }
        let kind = *self.r.pick(&["num", "num", "int"]);
        let (x, name) = (self.input(kind, &dims), *self.r.pick(REDUCTIONS));
        format!("{name}({x}{axes})")
    }

    /// The arguments for the axes of a reduction, and sometimes for whether the axes are kept.
    fn axes(&mut self, rank: usize) -> String {
        let axes = match self.r.below(3) {
            0 => return String::new(),
            1 => self.axis(rank),
            _ => {
                let some: Vec<usize> = (0..rank).filter(|_| self.r.chance(0.7)).collect();
                list(&some)
            }
        };
        if self.r.chance(0.4) { format!(", {axes}, {}", self.r.chance(0.7)) } else { format!(", {axes}") }
    }

    fn along(&mut self) -> String {
        let dims = self.dims(1, 3);
        let kind = *self.r.pick(&["num", "num", "int"]);
        let (x, name) = (self.input(kind, &dims), *self.r.pick(ALONG));
        let keys = if name == "sort_by" { format!("{}, ", self.input("num", &dims)) } else { String::new() };
        let axis = match self.r.below(3) {
            0 => String::new(),
            1 => format!(", {}", self.axis(dims.len())),
            _ => format!(", {}, {}", self.axis(dims.len()), self.r.chance(0.5)),
        };
        format!("{name}({keys}{x}{axis})")
    }

    /// Functions of a square matrix with a large diagonal.
    fn square(&mut self) -> String {
        let n = 1 + self.r.below(3);
        let (stack, row) = (self.dims(0, 1), self.r.below(n));
        let swapped = self.r.chance(0.5);
        let line = |i: usize| {
            let i = if swapped { (i + row) % n } else { i };
            let entries: Vec<&str> = (0..n).map(|j| if i == j { "5.0" } else { "0.0" }).collect();
            format!("[{}]", entries.join(", "))
        };
        let large: Vec<String> = (0..n).map(line).collect();
        let x = self.input("num", &[&stack[..], &[n, n]].concat());
        let a = format!("[{}] + tanh({x})", large.join(", "));
        if !swapped && self.r.chance(0.5) {
            return format!("cholesky({a})");
        }
        let columns = self.dims(0, 1);
        let b = self.input("num", &[&stack[..], &[n], &columns].concat());
        format!("solve({a}, {b})")
    }

    fn transform(&mut self) -> String {
        let (rows, n) = (self.dims(0, 2), 1 + self.r.below(9));
        if self.r.chance(0.5) {
            let x = self.input("num", &[&rows[..], &[n]].concat());
            return format!("rfft({x})");
        }
        let y = self.input("num", &[&rows[..], &[n / 2 + 1, 2]].concat());
        format!("irfft({n}, {y})")
    }

    fn matmul(&mut self) -> String {
        let (m, k, n) = (self.dim(), self.dim(), self.dim());
        let stack = self.dims(0, 2);
        let (mut a, mut b) = (self.narrower(&stack), self.narrower(&stack));
        a.extend([m, k]);
        b.extend([k, n]);
        match self.r.below(4) {
            0 => a = vec![k],
            1 => b = vec![k],
            _ => {}
        }
        let (a, b) = (self.input("num", &a), self.input("num", &b));
        format!("matmul({a}, {b})")
    }

    fn einsum(&mut self) -> String {
        let sizes: Vec<(char, usize)> = "ijkl".chars().map(|c| (c, self.dim())).collect();
        let count = 1 + self.r.below(4);
        let mut some = |share: f64| -> Vec<(char, usize)> {
            let mut kept: Vec<_> = sizes.iter().copied().filter(|_| self.r.chance(share)).collect();
            if kept.len() > 1 && self.r.chance(0.5) {
                kept.reverse();
            }
            kept
        };
        let operands: Vec<Vec<(char, usize)>> = (0..count).map(|_| some(0.5)).collect();
        let result: String =
            some(0.5).iter().map(|l| l.0).filter(|c| operands.iter().flatten().any(|l| l.0 == *c)).collect();
        let (rest, dots) = (self.dims(0, 2), self.r.chance(0.3));
        let (mut labels, mut args) = (Vec::new(), Vec::new());
        for own in operands {
            let word: String = own.iter().map(|l| l.0).collect();
            let mut dims: Dims = own.iter().map(|l| l.1).collect();
            if dots && self.r.chance(0.7) {
                let at = self.r.below(own.len() + 1);
                let few = &rest[self.r.below(rest.len() + 1)..];
                dims.splice(at..at, few.iter().copied());
                labels.push(format!("{}..{}", &word[..at], &word[at..]));
            } else {
                labels.push(word);
            }
            args.push(self.input("num", &dims));
        }
        let dots =
            if labels.iter().any(|word| word.contains("..")) && self.r.chance(0.8) { ".." } else { "" };
        format!("einsum(\"{}->{dots}{result}\", {})", labels.join(","), args.join(", "))
    }

    fn constant(&mut self) -> String {
        let dims = self.dims(0, 3);
        let shape = list(&dims);
        match self.r.below(8) {
            0 => format!("zeros({shape})"),
            1 => format!("ones({shape})"),
            2 => format!("range({})", self.dim()),
            3 => format!("param(orthogonal({shape}))"),
            4 => format!("param(glorot_uniform({shape}))"),
            5 => format!("uniform({shape}, -1.0, 2.0)"),
            6 => format!("random_uniform({shape})"),
            _ => format!("random_normal({shape})"),
        }
    }
}
