//! Type rules: results, refusals, and what a refusal says.

use rml_ir::op::{AxisIndex, Op, Reduction, result_type, samples};
use rml_ir::{DType, Shape, Type};

fn ty(text: &str) -> Type {
    let (name, dims) = text.split_once(' ').expect("a type");
    let dtype = [DType::Bool, DType::Int, DType::Num].into_iter().find(|d| d.to_string() == name);
    let dims = dims.trim_matches(['[', ']']).split(", ").filter(|d| !d.is_empty());
    let dims: Vec<usize> = dims.map(|d| d.parse().expect("a dimension")).collect();
    Type::new(dtype.expect("an element type"), &dims)
}

fn types(texts: &[&str]) -> Vec<Type> {
    texts.iter().map(|t| ty(t)).collect()
}

#[track_caller]
fn gives(op: &str, args: &[&str], result: &str) {
    let op = Op::parse(op).expect("an operator");
    assert_eq!(result_type(&op, &types(args)), Ok(ty(result)), "{op} of {args:?}");
}

#[track_caller]
fn refuses(op: &str, args: &[&str], operand: Option<usize>, message: &str) {
    let op = Op::parse(op).expect("an operator");
    let error = result_type(&op, &types(args)).expect_err("a refusal");
    assert_eq!(error.to_string(), message, "{op} of {args:?}");
    assert_eq!(error.operand, operand, "{op} of {args:?}");
}

#[test]
fn results() {
    gives("add", &["num [2, 3]", "num [3]"], "num [2, 3]");
    gives("sub", &["int []", "int [4, 1]"], "int [4, 1]");
    gives("mul", &["num [4, 1]", "num [1, 5]"], "num [4, 5]");
    gives("div", &["num [0, 3]", "num [1]"], "num [0, 3]");
    gives("eq", &["bool [2]", "bool []"], "bool [2]");
    gives("lt", &["int [2]", "int [2]"], "bool [2]");
    gives("and", &["bool []", "bool [3]"], "bool [3]");
    gives("matmul", &["num [3]", "num [3]"], "num []");
    gives("matmul", &["num [3]", "num [3, 5]"], "num [5]");
    gives("matmul", &["num [4, 3]", "num [3]"], "num [4]");
    gives("matmul", &["num [7, 4, 3]", "num [3, 5]"], "num [7, 4, 5]");
    gives("matmul", &["num [7, 4, 3]", "num [3]"], "num [7, 4]");
    gives("matmul", &["num [2]", "num [7, 2, 3]"], "num [7, 3]");
    gives("matmul", &["num [5, 1, 4, 2]", "num [7, 2, 3]"], "num [5, 7, 4, 3]");
    gives("matmul", &["num [0, 4, 2]", "num [1, 2, 3]"], "num [0, 4, 3]");
    gives("transpose{2, 0, 1}", &["int [2, 3, 4]"], "int [4, 2, 3]");
    gives("reshape{[6]}", &["bool [2, 3]"], "bool [6]");
    gives("reshape{[0, 9]}", &["num [0]"], "num [0, 9]");
    gives("broadcast{[2, 3]}", &["bool [1]"], "bool [2, 3]");
    gives("sum_to{[1]}", &["num [2, 3]"], "num [1]");
    gives("concat{axis=1}", &["num [2, 3]", "num [2, 0]", "num [2, 1]"], "num [2, 4]");
    gives("stack{axis=0}", &["bool []", "bool []"], "bool [2]");
    gives("index{1, 0:2:2, 4:0:1}", &["num [2, 3, 4]"], "num [2, 0]");
    gives("unindex{[2, 3]; 1, 0:2:2}", &["num [2]"], "num [2, 3]");
    gives("sum{axis=1}", &["int [2, 3, 4]"], "int [2, 4]");
    gives("mean", &["num [2, 3]"], "num []");
    gives("max{axis=0}", &["num [2, 0]"], "num [0]");
    gives("argmax{axis=1}", &["num [2, 3]"], "int [2]");
    gives("softmax", &["num [2, 3]"], "num [2, 3]");
    gives("one_hot{4}", &["int [2]"], "num [2, 4]");
    gives("to_int", &["num [2]"], "int [2]");
    gives("stop_gradient", &["bool [2]"], "bool [2]");
}

#[test]
fn element_types_are_never_converted() {
    refuses(
        "add",
        &["int []", "num []"],
        Some(1),
        "expected operands of one element type (here int), found int and num",
    );
    refuses("add", &["bool []", "num []"], Some(0), "expected int or num, found bool []");
    refuses("mul", &["num []", "bool []"], Some(1), "expected int or num, found bool []");
    refuses("and", &["bool []", "int []"], Some(1), "expected bool, found int []");
    refuses(
        "eq",
        &["bool []", "int []"],
        Some(1),
        "expected operands of one element type (here bool), found bool and int",
    );
    refuses("not", &["int [2]"], Some(0), "expected bool, found int [2]");
    refuses("exp", &["int []"], Some(0), "expected num, found int []");
    refuses("neg", &["bool []"], Some(0), "expected int or num, found bool []");
    refuses("matmul", &["num [2]", "int [2]"], Some(1), "expected num, found int [2]");
    refuses("sum", &["bool [2]"], Some(0), "expected int or num, found bool [2]");
    refuses("mean", &["int [2]"], Some(0), "expected num, found int [2]");
    refuses("one_hot{3}", &["num []"], Some(0), "expected int, found num []");
    refuses("to_num", &["num []"], Some(0), "expected bool or int, found num []");
    refuses("to_int", &["int []"], Some(0), "expected bool or num, found int []");
    refuses("to_bool", &["bool []"], Some(0), "expected int or num, found bool []");
    refuses(
        "stack{axis=0}",
        &["num []", "int []"],
        Some(1),
        "expected num [], the type of the first element, found int []",
    );
}

#[test]
fn shapes_must_fit() {
    let broadcast = "expected shapes whose dimensions, aligned on the right, are equal, 1 or missing, found";
    refuses("add", &["num [2, 3]", "num [2]"], None, &format!("{broadcast} [2, 3] and [2]"));
    refuses("lt", &["num [0]", "num [2]"], None, &format!("{broadcast} [0] and [2]"));
    refuses(
        "matmul",
        &["num [2, 3]", "num [4, 5]"],
        Some(1),
        "expected a first dimension of 3 on the right, the last one on the left, found [2, 3] and [4, 5]",
    );
    refuses(
        "matmul",
        &["num []", "num [2]"],
        Some(0),
        "expected a vector, a matrix or a stack of matrices on the left, found num []",
    );
    refuses(
        "matmul",
        &["num [2, 4]", "num [1, 2, 3]"],
        Some(1),
        "expected a last dimension but one of 4 on the right, the last one on the left, found [2, 4] and [1, 2, 3]",
    );
    refuses("transpose{0, 0}", &["num [2, 2]"], None, "expected a permutation of 0..2, found [0, 0]");
    refuses("transpose{1, 0}", &["num [2]"], Some(0), "expected 2 dimensions, found num [2]");
    refuses("reshape{[4]}", &["num [3]"], Some(0), "expected as many elements as [4] has, found num [3]");
    refuses("broadcast{[2]}", &["num [3]"], Some(0), "expected a shape that broadcasts to [2], found [3]");
    refuses(
        "broadcast{[2]}",
        &["num [1, 2]"],
        Some(0),
        "expected a shape that broadcasts to [2], found [1, 2]",
    );
    refuses("sum_to{[3]}", &["num [2]"], Some(0), "expected a shape that [3] broadcasts to, found [2]");
    refuses(
        "concat{axis=0}",
        &["num []", "num []"],
        Some(0),
        "expected an operand with an axis 0, found num []",
    );
    refuses(
        "concat{axis=0}",
        &["num [2, 3]", "num [2, 4]"],
        Some(1),
        "expected num [2, 3], except for the length of axis 0, found num [2, 4]",
    );
    refuses("sum{axis=2}", &["num [2, 3]"], Some(0), "expected an operand with an axis 2, found num [2, 3]");
    refuses(
        "softmax",
        &["num []"],
        Some(0),
        "expected at least one dimension (the last axis is normalised), found num []",
    );
}

#[test]
fn indices_must_be_inside() {
    refuses(
        "index{0}",
        &["num [2, 3]"],
        Some(0),
        "expected an operand that the index [0] fits, found 1 indices for the shape [2, 3]",
    );
    refuses(
        "index{2}",
        &["num [2]"],
        Some(0),
        "expected an operand that the index [2] fits, found index 2 on axis 0 of size 2",
    );
    let forwards = ["1:2:1", "0:2:2", "3:0:1", "0:1:0", "1:18446744073709551615:2"];
    let backwards = ["0:2:-1", "1:2:-2", "2:1:-1", "3:2:-2", "1:2:-9223372036854775808"];
    for slice in forwards.iter().chain(&backwards) {
        let op = Op::parse(&format!("index{{{slice}}}")).expect("an operator");
        assert!(result_type(&op, &types(&["num [2]"])).is_err(), "{slice}");
    }
    refuses(
        "unindex{[2]; 2}",
        &["num []"],
        Some(0),
        "expected an index that fits the shape [2], found index 2 on axis 0 of size 2",
    );
    refuses(
        "unindex{[2]; 1}",
        &["num [1]"],
        Some(0),
        "expected the shape [] that the index picks, found [1]",
    );
}

#[test]
fn the_largest_of_nothing_is_refused() {
    for op in ["max", "argmax", "max{axis=1}", "argmax{axis=1}"] {
        refuses(
            op,
            &["num [2, 0]"],
            Some(0),
            "expected at least one element to choose from, found num [2, 0]",
        );
    }
}

#[test]
fn operands_are_counted() {
    refuses("exp", &[], None, "expected 1 operand, found 0");
    refuses("add", &["num []"], None, "expected 2 operands, found 1");
    refuses("not", &["bool []", "bool []"], None, "expected 1 operand, found 2");
    refuses("stack{axis=0}", &[], None, "expected at least one element, found none");
    refuses("concat{axis=0}", &[], None, "expected at least one operand, found none");
}

#[test]
fn results_are_bounded() {
    let most = "expected a result of at most 2147483648 elements, found";
    gives("broadcast{[2147483648]}", &["num []"], "num [2147483648]");
    refuses("broadcast{[2147483649]}", &["num []"], None, &format!("{most} num [2147483649]"));
    refuses("mul", &["num [65536, 1]", "num [1, 65536]"], None, &format!("{most} num [65536, 65536]"));
    refuses("one_hot{2147483648}", &["int [2]"], None, &format!("{most} num [2, 2147483648]"));
    let huge = Op::Broadcast { shape: Shape::new(&[usize::MAX, 2]) };
    assert!(result_type(&huge, &types(&["num []"])).is_err());
    let huge = usize::MAX.to_string();
    let pair = format!("num [{huge}]");
    assert!(result_type(&Op::Concat { axis: 0 }, &types(&[&pair, &pair])).is_err());
}

/// No operator panics on operands of any number, element type and (small) rank, nor on attributes that do not
/// fit them.
#[test]
fn odd_operands_are_refused_not_fatal() {
    let shapes: [&[usize]; 5] = [&[], &[0], &[2], &[2, 3], &[1, 2, 3]];
    let all: Vec<Type> = [DType::Bool, DType::Int, DType::Num]
        .into_iter()
        .flat_map(|dtype| shapes.iter().map(move |dims| Type::new(dtype, dims)))
        .collect();
    let odd = [
        Op::Index { items: vec![AxisIndex::Slice { start: usize::MAX, len: 2, step: isize::MAX }] },
        Op::Reduce(Reduction::Sum, Some(usize::MAX)),
        Op::Concat { axis: usize::MAX },
        Op::Transpose { perm: vec![usize::MAX, 0] },
    ];
    for op in samples().into_iter().map(|(op, _)| op).chain(odd) {
        let _ = result_type(&op, &[]);
        for a in &all {
            let _ = result_type(&op, std::slice::from_ref(a));
            for b in &all {
                let _ = result_type(&op, &[a.clone(), b.clone()]);
                let _ = result_type(&op, &[a.clone(), b.clone(), b.clone()]);
            }
        }
    }
}

#[test]
fn windows_follow_strides_paddings_and_dilations() {
    gives("conv1d{1 0:0 1; 1}", &["num [9, 2]", "num [3, 2, 5]"], "num [7, 5]");
    gives("conv1d{2 1:2 3; 1}", &["num [4, 9, 2]", "num [3, 2, 5]"], "num [4, 3, 5]");
    gives("conv1d{1 0:0 1; 3}", &["num [9, 6]", "num [3, 2, 9]"], "num [7, 9]");
    gives("conv2d{1 0:0 1, 2 1:1 1; 1}", &["num [0, 5, 6, 1]", "num [2, 3, 1, 4]"], "num [0, 4, 3, 4]");
    gives("conv1d_transpose{[9, 2]; 2 1:2 3; 1}", &["num [3, 5]", "num [3, 2, 5]"], "num [9, 2]");
    gives("conv1d_kernel{[3, 2, 5]; 2 1:2 3; 1}", &["num [9, 2]", "num [3, 5]"], "num [3, 2, 5]");
    gives("max_pool1d{2 2 0:0}", &["num [5, 3]"], "num [2, 3]");
    gives("avg_pool2d{2 2 1:0, 3 1 0:2}", &["num [4, 5, 3, 1]"], "num [4, 3, 3, 1]");
    gives("patches2d{2 1 0:0, 3 1 0:0}", &["num [5, 4, 1]"], "num [4, 2, 2, 3, 1]");
    gives("unpatches1d{[5, 1]; 2 1 0:0}", &["num [4, 2, 1]"], "num [5, 1]");
}

#[test]
fn windows_must_fit() {
    let error = |op: &str, args: &[&str]| {
        result_type(&Op::parse(op).expect("an operator"), &types(args)).expect_err("a refusal")
    };
    for (op, args, operand) in [
        ("conv1d{1 0:0 1; 1}", ["num [2, 1]", "num [3, 1, 1]"], 1),
        ("conv1d{0 0:0 1; 1}", ["num [9, 1]", "num [3, 1, 1]"], 1),
        ("conv1d{1 0:0 0; 1}", ["num [9, 1]", "num [3, 1, 1]"], 1),
        ("conv1d{1 0:0 1; 0}", ["num [9, 1]", "num [3, 1, 1]"], 1),
        ("conv1d{1 0:0 1; 2}", ["num [9, 4]", "num [3, 2, 5]"], 1),
        ("conv1d{1 0:0 1; 1}", ["num [9, 4]", "num [3, 2, 4]"], 1),
        ("conv1d{1 0:0 1; 1}", ["num [9, 4]", "num [0, 4, 4]"], 1),
        ("conv1d{1 0:0 1; 1}", ["num [9]", "num [3, 1, 1]"], 0),
        ("conv1d{1 0:0 1; 1}", ["int [9, 1]", "num [3, 1, 1]"], 0),
        ("conv1d{1 18446744073709551615:9 1; 1}", ["num [9, 1]", "num [3, 1, 1]"], 1),
        ("conv1d{1 0:0 18446744073709551615; 1}", ["num [9, 1]", "num [3, 1, 1]"], 1),
        ("conv1d_transpose{[9, 1]; 1 0:0 1; 1}", ["num [6, 1]", "num [3, 1, 1]"], 0),
        ("conv1d_kernel{[3, 1, 1]; 1 0:0 1; 1}", ["num [9, 1]", "num [6, 1]"], 1),
    ] {
        assert_eq!(error(op, &args).operand, Some(operand), "{op} of {args:?}");
    }
    for op in ["max_pool1d{3 1 0:0}", "max_pool1d{2 0 0:0}", "max_pool1d{2 1 2:0}", "max_pool1d{0 1 0:0}"] {
        assert_eq!(error(op, &["num [2, 1]"]).operand, Some(0), "{op}");
    }
    assert_eq!(error("avg_pool1d{2 1 1:1}", &["num [0, 1]"]).operand, Some(0));
}

#[test]
fn positions_and_masks() {
    gives("gather{axis=0}", &["num [5, 2]", "int []"], "num [2]");
    gives("gather{axis=1}", &["bool [5, 2]", "int [3, 4]"], "bool [5, 3, 4]");
    gives("scatter_add{[5, 2]; axis=1}", &["int [3]", "num [5, 3]"], "num [5, 2]");
    gives("pick", &["num [4, 3]", "int [4]"], "num [4]");
    gives("where", &["bool [3]", "int [2, 1]", "int []"], "int [2, 3]");
    gives("clip", &["num [2, 1]", "num [3]", "num []"], "num [2, 3]");
    gives("stack{axis=1}", &["int [2]", "int [2]", "int [2]"], "int [2, 3]");
    gives("any{axis=1}", &["bool [2, 0]"], "bool [2]");
    refuses(
        "gather{axis=1}",
        &["num [5]", "int []"],
        Some(0),
        "expected an operand with an axis 1, found num [5]",
    );
    refuses("gather{axis=0}", &["num [5]", "num []"], Some(1), "expected int, found num []");
    refuses(
        "scatter_add{[5, 2]; axis=0}",
        &["int [3]", "num [3, 3]"],
        Some(1),
        "expected the shape [3, 2], of what the positions pick from [5, 2], found [3, 3]",
    );
    refuses(
        "pick",
        &["num [4, 3]", "int [3]"],
        Some(1),
        "expected a position for each row, int [4], found int [3]",
    );
    refuses("where", &["int []", "num []", "num []"], Some(0), "expected bool, found int []");
    refuses(
        "where",
        &["bool []", "num []", "int []"],
        Some(2),
        "expected operands of one element type (here num), found num and int",
    );
    refuses("mod", &["bool []", "bool []"], Some(0), "expected int or num, found bool []");
    refuses("pow", &["int []", "int []"], Some(0), "expected num, found int []");
    refuses("all", &["int [2]"], Some(0), "expected bool, found int [2]");
    refuses("sort{axis=0}", &["num []"], Some(0), "expected an operand with an axis 0, found num []");
    refuses("argsort{axis=0}", &["bool [2]"], Some(0), "expected int or num, found bool [2]");
    refuses(
        "sort_by{axis=0}",
        &["int [2]", "num [3]"],
        Some(1),
        "expected the shape [2] of the keys, found num [3]",
    );
    refuses(
        "sort_by{axis=1}",
        &["int [2]", "num [2]"],
        Some(0),
        "expected an operand with an axis 1, found int [2]",
    );
    refuses(
        "rfft",
        &["num [3, 0]"],
        Some(0),
        "expected at least one number along the last axis, found num [3, 0]",
    );
    let ends = "a shape that ends with 3, 2, as that of 4 numbers";
    refuses("irfft{4}", &["num [2, 2]"], Some(0), &format!("expected {ends}, found num [2, 2]"));
    refuses("irfft{0}", &["num [1, 2]"], None, "expected at least one number, found 0");
    let square = "a square matrix or a stack of square matrices";
    refuses("cholesky", &["num [2, 3]"], Some(0), &format!("expected {square}, found num [2, 3]"));
    refuses("solve", &["num [3]", "num [3]"], Some(0), &format!("expected {square}, found num [3]"));
    refuses("solve", &["int [3, 3]", "num [3]"], Some(0), "expected num, found int [3, 3]");
    let columns = "the shape [2, 3] of a column of each matrix, or one of columns";
    refuses("solve", &["num [2, 3, 3]", "num [3]"], Some(1), &format!("expected {columns}, found num [3]"));
    refuses("cumsum{axis=1}", &["num [2]"], Some(0), "expected an operand with an axis 1, found num [2]");
    refuses(
        "stack{axis=2}",
        &["num [2]"],
        Some(0),
        "expected an operand of at least 2 dimensions, found num [2]",
    );
}
