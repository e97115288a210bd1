//! Instances of every operator with operand types that fit: the ground of gradient checks, round trips and
//! backend suites.

use super::{AxisIndex, Op};
use crate::types::{DType, Shape, Type};

const BOOL: DType = DType::Bool;
const INT: DType = DType::Int;
const NUM: DType = DType::Num;

const fn at(i: usize) -> AxisIndex {
    AxisIndex::At(i)
}

const fn slice(start: usize, len: usize, step: usize) -> AxisIndex {
    AxisIndex::Slice { start, len, step }
}

fn shape(dims: &[usize]) -> Shape {
    Shape::new(dims)
}

/// Defines `samples` from one section for each operator, `Op => (instance, operand dtype and dims..);..`. The
/// match in `section` is exhaustive, so that a new operator does not compile before it has a section, and a
/// section holds at least one instance.
macro_rules! samples {
    ($($name:ident => $(($op:expr $(, $dtype:ident $dims:expr)+);)+)+) => {
        /// Every operator at least once, each with the types of its operands.
        pub fn samples() -> Vec<(Op, Vec<Type>)> {
            vec![$($(($op, vec![$(Type::new($dtype, &$dims)),+]),)+)+]
        }

        /// The section that an operator's instances must stand in.
        #[cfg(test)]
        fn section(op: &Op) -> &'static str {
            match op {
                $(Op::$name { .. } => stringify!($name),)+
            }
        }

        /// The section of each sample, in the order of `samples`.
        #[cfg(test)]
        fn sections() -> Vec<&'static str> {
            vec![$($({ let _ = $op; stringify!($name) },)+)+]
        }
    };
}

samples! {
    Copy => (Op::Copy, NUM []); (Op::Copy, BOOL [2]); (Op::Copy, INT [2, 3]);
    StopGradient => (Op::StopGradient, NUM [2, 3]);
    Neg => (Op::Neg, NUM []); (Op::Neg, NUM [2, 3]); (Op::Neg, INT []); (Op::Neg, INT [4]);
    Not => (Op::Not, BOOL []); (Op::Not, BOOL [3]);
    Abs => (Op::Abs, NUM []); (Op::Abs, NUM [5]); (Op::Abs, INT [3]);
    Sign => (Op::Sign, NUM []); (Op::Sign, NUM [5]); (Op::Sign, INT [3]);
    Exp => (Op::Exp, NUM []); (Op::Exp, NUM [2, 3]);
    Log => (Op::Log, NUM []); (Op::Log, NUM [2, 3]);
    Sqrt => (Op::Sqrt, NUM []); (Op::Sqrt, NUM [2, 3]);
    Sigmoid => (Op::Sigmoid, NUM []); (Op::Sigmoid, NUM [2, 3]);
    Tanh => (Op::Tanh, NUM []); (Op::Tanh, NUM [2, 3]);
    Relu => (Op::Relu, NUM []); (Op::Relu, NUM [2, 3]);
    ToNum => (Op::ToNum, BOOL []); (Op::ToNum, INT []); (Op::ToNum, BOOL [3]); (Op::ToNum, INT [3]);
    ToInt => (Op::ToInt, BOOL []); (Op::ToInt, NUM []); (Op::ToInt, BOOL [3]); (Op::ToInt, NUM [3]);
    ToBool => (Op::ToBool, INT []); (Op::ToBool, NUM []); (Op::ToBool, INT [3]); (Op::ToBool, NUM [3]);
    Add =>
        (Op::Add, NUM [], NUM []); (Op::Add, NUM [2, 3], NUM [2, 3]); (Op::Add, NUM [2, 3], NUM [3]);
        (Op::Add, NUM [2, 1], NUM [1, 3]); (Op::Add, NUM [], NUM [2, 3]); (Op::Add, INT [], INT []);
        (Op::Add, INT [2, 3], INT []); (Op::Add, NUM [0, 3], NUM [3]);
    Sub =>
        (Op::Sub, NUM [], NUM []); (Op::Sub, NUM [2, 3], NUM [2, 3]); (Op::Sub, NUM [3], NUM [2, 3]);
        (Op::Sub, NUM [2, 3], NUM [2, 1]); (Op::Sub, INT [4], INT [4]);
    Mul =>
        (Op::Mul, NUM [], NUM []); (Op::Mul, NUM [2, 3], NUM [2, 3]); (Op::Mul, NUM [2, 3], NUM []);
        (Op::Mul, NUM [4, 1, 3], NUM [2, 1]); (Op::Mul, INT [4], INT [4]);
    Div =>
        (Op::Div, NUM [], NUM []); (Op::Div, NUM [2, 3], NUM [2, 3]); (Op::Div, NUM [2, 3], NUM [3]);
        (Op::Div, NUM [2, 3], NUM [2, 1]); (Op::Div, INT [4], INT [4]);
    And => (Op::And, BOOL [], BOOL []); (Op::And, BOOL [2, 3], BOOL [3]);
    Or => (Op::Or, BOOL [], BOOL []); (Op::Or, BOOL [2, 3], BOOL [3]);
    Eq => (Op::Eq, NUM [], NUM []); (Op::Eq, INT [3], INT []); (Op::Eq, BOOL [3], BOOL [3]);
    Ne => (Op::Ne, NUM [], NUM []); (Op::Ne, INT [3], INT []); (Op::Ne, BOOL [3], BOOL [3]);
    Lt => (Op::Lt, NUM [], NUM []); (Op::Lt, INT [3], INT []); (Op::Lt, NUM [2, 3], NUM [3]);
    Le => (Op::Le, NUM [], NUM []); (Op::Le, INT [3], INT []); (Op::Le, NUM [2, 3], NUM [3]);
    Gt => (Op::Gt, NUM [], NUM []); (Op::Gt, INT [3], INT []); (Op::Gt, NUM [2, 3], NUM [3]);
    Ge => (Op::Ge, NUM [], NUM []); (Op::Ge, INT [3], INT []); (Op::Ge, NUM [2, 3], NUM [3]);
    MatMul =>
        (Op::MatMul, NUM [3], NUM [3]); (Op::MatMul, NUM [3], NUM [3, 4]); (Op::MatMul, NUM [2, 3], NUM [3]);
        (Op::MatMul, NUM [2, 3], NUM [3, 4]); (Op::MatMul, NUM [2, 5, 3], NUM [3, 4]);
        (Op::MatMul, NUM [2, 5, 3], NUM [3]); (Op::MatMul, NUM [1, 1], NUM [1, 1]);
        (Op::MatMul, NUM [2, 0], NUM [0, 3]);
    Transpose =>
        (Op::Transpose { perm: vec![1, 0] }, NUM [2, 3]);
        (Op::Transpose { perm: vec![2, 0, 1] }, NUM [2, 3, 4]);
        (Op::Transpose { perm: vec![0] }, INT [3]); (Op::Transpose { perm: vec![] }, NUM []);
    Reshape =>
        (Op::Reshape { shape: shape(&[3, 2]) }, NUM [2, 3]); (Op::Reshape { shape: shape(&[]) }, NUM [1, 1]);
        (Op::Reshape { shape: shape(&[1, 1]) }, NUM []); (Op::Reshape { shape: shape(&[6]) }, INT [2, 3]);
    Broadcast =>
        (Op::Broadcast { shape: shape(&[2, 3]) }, NUM []); (Op::Broadcast { shape: shape(&[2, 3]) }, NUM [3]);
        (Op::Broadcast { shape: shape(&[2, 3]) }, NUM [2, 1]);
        (Op::Broadcast { shape: shape(&[4, 2, 3]) }, NUM [1, 2, 1]);
        (Op::Broadcast { shape: shape(&[2, 3]) }, NUM [2, 3]);
        (Op::Broadcast { shape: shape(&[4]) }, BOOL []);
    SumTo =>
        (Op::SumTo { shape: shape(&[]) }, NUM [2, 3]); (Op::SumTo { shape: shape(&[3]) }, NUM [2, 3]);
        (Op::SumTo { shape: shape(&[2, 1]) }, NUM [2, 3]);
        (Op::SumTo { shape: shape(&[1, 2, 1]) }, NUM [4, 2, 3]);
        (Op::SumTo { shape: shape(&[2, 3]) }, NUM [2, 3]); (Op::SumTo { shape: shape(&[3]) }, INT [2, 3]);
    Concat =>
        (Op::Concat { axis: 0 }, NUM [2], NUM [3]);
        (Op::Concat { axis: 1 }, NUM [2, 3], NUM [2, 1], NUM [2, 2]);
        (Op::Concat { axis: 0 }, NUM [2, 3], NUM [1, 3]); (Op::Concat { axis: 0 }, NUM [2]);
        (Op::Concat { axis: 0 }, INT [0], INT [2]);
    Stack => (Op::Stack, NUM [], NUM [], NUM []); (Op::Stack, NUM [2, 3], NUM [2, 3]); (Op::Stack, INT []);
    Index =>
        (Op::Index { items: vec![at(1)] }, NUM [3]);
        (Op::Index { items: vec![at(1), slice(0, 3, 1)] }, NUM [2, 3]);
        (Op::Index { items: vec![slice(0, 2, 2), at(1)] }, NUM [4, 3]);
        (Op::Index { items: vec![slice(1, 2, 1), slice(0, 3, 1)] }, NUM [4, 3]);
        (Op::Index { items: vec![slice(0, 2, 1), slice(1, 2, 2)] }, NUM [2, 4]);
        (Op::Index { items: vec![slice(2, 0, 1)] }, INT [2]); (Op::Index { items: vec![] }, NUM []);
    Unindex =>
        (Op::Unindex { shape: shape(&[3]), items: vec![at(1)] }, NUM []);
        (Op::Unindex { shape: shape(&[4, 3]), items: vec![slice(0, 2, 2), at(1)] }, NUM [2]);
        (Op::Unindex { shape: shape(&[2, 4]), items: vec![slice(0, 2, 1), slice(1, 2, 2)] }, NUM [2, 2]);
        (Op::Unindex { shape: shape(&[2]), items: vec![slice(2, 0, 1)] }, INT [0]);
    Sum =>
        (Op::Sum { axis: None }, NUM [2, 3]);
        (Op::Sum { axis: None }, NUM []);
        (Op::Sum { axis: Some(0) }, NUM [2, 3]);
        (Op::Sum { axis: Some(1) }, NUM [2, 3, 4]); (Op::Sum { axis: Some(2) }, NUM [2, 3, 4]);
        (Op::Sum { axis: Some(0) }, INT [2, 3]); (Op::Sum { axis: Some(0) }, NUM [0, 3]);
    Mean =>
        (Op::Mean { axis: None }, NUM [2, 3]); (Op::Mean { axis: Some(0) }, NUM [2, 3]);
        (Op::Mean { axis: Some(1) }, NUM [2, 3, 4]);
    Max =>
        (Op::Max { axis: None }, NUM [2, 3]); (Op::Max { axis: Some(0) }, NUM [2, 3]);
        (Op::Max { axis: Some(1) }, NUM [2, 3, 4]); (Op::Max { axis: None }, INT [4]);
    ArgMax =>
        (Op::ArgMax { axis: None }, NUM [2, 3]); (Op::ArgMax { axis: Some(0) }, NUM [2, 3]);
        (Op::ArgMax { axis: Some(1) }, NUM [2, 3, 4]); (Op::ArgMax { axis: None }, INT [4]);
    Softmax => (Op::Softmax, NUM [4]); (Op::Softmax, NUM [2, 3]); (Op::Softmax, NUM [2, 2, 3]);
    LogSoftmax => (Op::LogSoftmax, NUM [4]); (Op::LogSoftmax, NUM [2, 3]); (Op::LogSoftmax, NUM [2, 2, 3]);
    OneHot => (Op::OneHot { classes: 4 }, INT []); (Op::OneHot { classes: 3 }, INT [2]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::result_type;

    #[test]
    fn every_sample_stands_in_its_section_and_has_a_type() {
        let samples = samples();
        assert_eq!(samples.len(), sections().len());
        for ((op, args), name) in samples.iter().zip(sections()) {
            assert_eq!(section(op), name, "{op} stands in a wrong section");
            if let Err(e) = result_type(op, args) {
                panic!("{op} of {args:?}: {e}");
            }
        }
    }

    #[test]
    fn every_sample_reads_back() {
        for (op, _) in samples() {
            assert_eq!(Op::parse(&op.to_string()), Ok(op.clone()), "{op}");
            assert!(!op.to_string().contains(['(', ')', '\n']), "{op}");
        }
    }
}
