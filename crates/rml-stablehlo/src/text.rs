//! Text of StableHLO, written operation by operation in MLIR's generic form.

use std::fmt::{self, Write};

use rml_ir::{DType, Data, Precision, Shape, Type, Value};

/// An element type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Elem {
    I1,
    I64,
    U32,
    U64,
    F32,
    F64,
    /// Pairs of two numbers of single precision.
    C64,
    /// Pairs of two numbers of double precision.
    C128,
}

impl Elem {
    /// The element type of numbers.
    pub(crate) fn num(precision: Precision) -> Self {
        match precision {
            Precision::F32 => Elem::F32,
            Precision::F64 => Elem::F64,
        }
    }

    /// The element type of a type in a program.
    pub(crate) fn of(dtype: DType, precision: Precision) -> Self {
        match dtype {
            DType::Bool => Elem::I1,
            DType::Int => Elem::I64,
            DType::Num => Self::num(precision),
        }
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Elem::F32 | Elem::F64)
    }

    /// The bits of `x` as an MLIR literal.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rounding to the element type is meant"
    )]
    fn literal(self, x: f64) -> String {
        match self {
            Elem::I1 => (x != 0.0).to_string(),
            Elem::I64 => (x as i64).to_string(),
            Elem::U32 => (x as u32).to_string(),
            Elem::U64 => (x as u64).to_string(),
            Elem::C64 | Elem::C128 => unreachable!("no literal is complex"),
            Elem::F32 => format!("0x{:08X}", (x as f32).to_bits()),
            Elem::F64 => format!("0x{:016X}", x.to_bits()),
        }
    }
}

impl fmt::Display for Elem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Elem::I1 => "i1",
            Elem::I64 => "i64",
            Elem::U32 => "ui32",
            Elem::U64 => "ui64",
            Elem::F32 => "f32",
            Elem::F64 => "f64",
            Elem::C64 => "complex<f32>",
            Elem::C128 => "complex<f64>",
        })
    }
}

/// The type of a value; prints as `tensor<2x3xf32>`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Ty {
    pub(crate) elem: Elem,
    pub(crate) shape: Shape,
}

impl Ty {
    pub(crate) fn new(elem: Elem, dims: &[usize]) -> Self {
        Self { elem, shape: Shape::new(dims) }
    }

    pub(crate) fn scalar(elem: Elem) -> Self {
        Self { elem, shape: Shape::scalar() }
    }

    pub(crate) fn of(ty: &Type, precision: Precision) -> Self {
        Self { elem: Elem::of(ty.dtype, precision), shape: ty.shape.clone() }
    }

    /// The same shape with another element type.
    pub(crate) fn with(&self, elem: Elem) -> Self {
        Self { elem, shape: self.shape.clone() }
    }

    pub(crate) fn dims(&self) -> &[usize] {
        self.shape.dims()
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tensor<")?;
        self.dims().iter().try_for_each(|d| write!(f, "{d}x"))?;
        write!(f, "{}>", self.elem)
    }
}

/// A value of the text; prints as `%7`.
#[derive(Clone, Debug)]
pub(crate) struct Ssa {
    id: usize,
    pub(crate) ty: Ty,
}

impl Ssa {
    pub(crate) fn dims(&self) -> &[usize] {
        self.ty.dims()
    }

    /// Whether it has no elements.
    pub(crate) fn is_empty(&self) -> bool {
        self.ty.shape.is_empty()
    }
}

impl fmt::Display for Ssa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.id)
    }
}

/// Items with `, ` between them.
pub(crate) fn list<T: fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|x| x.to_string()).collect();
    items.join(", ")
}

/// An array attribute: `array<i64: 1, 2>`.
pub(crate) fn array<T: fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    let items = list(items);
    if items.is_empty() { "array<i64>".to_owned() } else { format!("array<i64: {items}>") }
}

/// Pairs of edges: `dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>`.
pub(crate) fn edges(pairs: &[(i64, i64)]) -> String {
    let rows = list(pairs.iter().map(|(lo, hi)| format!("[{lo}, {hi}]")));
    match pairs.len() {
        0 => "dense<> : tensor<0x2xi64>".to_owned(),
        n => format!("dense<[{rows}]> : tensor<{n}x2xi64>"),
    }
}

/// A text that is being written; every value in it has its own number.
#[derive(Debug, Default)]
pub(crate) struct Text {
    out: String,
    next: usize,
}

impl Text {
    /// The text that was written.
    pub(crate) fn finish(self) -> String {
        self.out
    }

    /// A new value that no operation defines: an argument.
    pub(crate) fn fresh(&mut self, ty: Ty) -> Ssa {
        self.next += 1;
        Ssa { id: self.next - 1, ty }
    }

    /// Applies the operation `stablehlo.<name>`.
    pub(crate) fn op(&mut self, name: &str, args: &[&Ssa], ty: Ty) -> Ssa {
        self.op_with(name, args, "", "", ty)
    }

    /// The same with attributes (`a = 1 : i64, b = ..`).
    pub(crate) fn op_attr(&mut self, name: &str, args: &[&Ssa], attributes: &str, ty: Ty) -> Ssa {
        self.op_with(name, args, "", attributes, ty)
    }

    /// The same with the text of [a region](Self::region).
    pub(crate) fn op_with(
        &mut self,
        name: &str,
        args: &[&Ssa],
        region: &str,
        attributes: &str,
        ty: Ty,
    ) -> Ssa {
        self.ops(name, args, region, attributes, &[ty]).remove(0)
    }

    /// Applies `chlo.<name>`, an operation that the compiler decomposes, to one operand.
    pub(crate) fn chlo(&mut self, name: &str, x: &Ssa) -> Ssa {
        let result = self.fresh(x.ty.clone());
        self.line(&format!("{result} = \"chlo.{name}\"({x}) : ({}) -> {}", x.ty, x.ty));
        result
    }

    /// An operation with several results.
    pub(crate) fn ops(
        &mut self,
        name: &str,
        args: &[&Ssa],
        region: &str,
        attributes: &str,
        types: &[Ty],
    ) -> Vec<Ssa> {
        let results: Vec<Ssa> = types.iter().map(|ty| self.fresh(ty.clone())).collect();
        let region = if region.is_empty() { String::new() } else { format!(" ({region})") };
        let attributes = if attributes.is_empty() { String::new() } else { format!(" {{{attributes}}}") };
        let (operands, from) = (list(args), list(args.iter().map(|x| &x.ty)));
        let line = format!(
            "{} = \"stablehlo.{name}\"({operands}){region}{attributes} : ({from}) -> ({})",
            list(&results),
            list(types)
        );
        self.line(&line);
        results
    }

    fn line(&mut self, line: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.out, "  {line}");
    }

    /// A region with these parameters that returns the results of `body`.
    pub(crate) fn region(
        &mut self,
        params: &[Ty],
        body: impl FnOnce(&mut Self, &[Ssa]) -> Vec<Ssa>,
    ) -> String {
        let outside = std::mem::take(&mut self.out);
        let params: Vec<Ssa> = params.iter().map(|ty| self.fresh(ty.clone())).collect();
        let head = list(params.iter().map(|p| format!("{p}: {}", p.ty)));
        let results = body(self, &params);
        self.line(&format!(
            "\"stablehlo.return\"({}) : ({}) -> ()",
            list(&results),
            list(results.iter().map(|r| &r.ty))
        ));
        let inside = std::mem::replace(&mut self.out, outside);
        format!("{{\n  ^bb0({head}):\n{inside}  }}")
    }

    /// The end of a function.
    pub(crate) fn ret(&mut self, results: &[&Ssa]) {
        self.line(&format!(
            "\"func.return\"({}) : ({}) -> ()",
            list(results),
            list(results.iter().map(|r| &r.ty))
        ));
    }

    /// A value whose elements are all `x`, rounded to the element type.
    pub(crate) fn splat(&mut self, x: f64, ty: &Ty) -> Ssa {
        let literal = if ty.shape.is_empty() { String::new() } else { ty.elem.literal(x) };
        self.op_attr("constant", &[], &format!("value = dense<{literal}> : {ty}"), ty.clone())
    }

    /// An int.
    pub(crate) fn int(&mut self, x: i64, ty: &Ty) -> Ssa {
        self.op_attr("constant", &[], &format!("value = dense<{x}> : {ty}"), ty.clone())
    }

    /// An unsigned int.
    pub(crate) fn unsigned(&mut self, x: u64, ty: &Ty) -> Ssa {
        self.op_attr("constant", &[], &format!("value = dense<{x}> : {ty}"), ty.clone())
    }

    /// A constant with exactly these bits.
    pub(crate) fn constant(&mut self, value: &Value, precision: Precision) -> Ssa {
        let ty = Ty::of(&value.ty(), precision);
        let literal = match value.to_data() {
            data if data.is_empty() => String::new(),
            Data::F32(v) if v.iter().all(|x| x.to_bits() == v[0].to_bits()) => {
                ty.elem.literal(f64::from(v[0]))
            }
            Data::F64(v) if v.iter().all(|x| x.to_bits() == v[0].to_bits()) => ty.elem.literal(v[0]),
            Data::Bool(v) => return self.truths(&v, ty),
            Data::Int(v) => hex(v.iter().flat_map(|x| x.to_le_bytes())),
            Data::F32(v) => hex(v.iter().flat_map(|x| x.to_le_bytes())),
            Data::F64(v) => hex(v.iter().flat_map(|x| x.to_le_bytes())),
        };
        self.op_attr("constant", &[], &format!("value = dense<{literal}> : {ty}"), ty)
    }

    fn truths(&mut self, items: &[bool], ty: Ty) -> Ssa {
        let flat = Ty::new(Elem::I1, &[items.len()]);
        let value =
            self.op_attr("constant", &[], &format!("value = dense<[{}]> : {flat}", list(items)), flat);
        self.op("reshape", &[&value], ty)
    }
}

/// Bytes as `"0x.."`.
fn hex(bytes: impl Iterator<Item = u8>) -> String {
    let mut out = String::from("\"0x");
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(out, "{byte:02X}");
    }
    out.push('"');
    out
}
