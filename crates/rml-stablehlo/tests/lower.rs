//! The text of lowered functions.

use rml_backend::routine::{Port, PortRole, RoutineInput as Input, WindowModel};
use rml_backend::{Function, parse};
use rml_ir::op::samples;
use rml_ir::{Precision, Value};
use rml_stablehlo::{Arg, FunctionResult, RoutineResult, export, lower, lower_routine};

const FUNCTION: &str = "function f32 \"f\"
x0 input num [2]
x1 input int []
x2 input num [0]
x3 const num [] = 0.5
x4 num [2] = mul (x0, x3)
x5 int [] = neg (x1)
x6 num [2] = random_normal{[2]} (x1, x5)
x7 num [2] = add (x4, x6)
result x7
result x3
result x2
";

const MODULE: &str = r#"module @rml {
func.func public @main(%0: tensor<2xf32>, %1: tensor<i64>, %2: tensor<2xf32>) -> (tensor<2xf32>, tensor<i1>) {
  %3 = "stablehlo.constant"() {value = dense<> : tensor<0xf32>} : () -> (tensor<0xf32>)
  %4 = "stablehlo.constant"() {value = dense<0x3F000000> : tensor<f32>} : () -> (tensor<f32>)
  %5 = "stablehlo.broadcast_in_dim"(%4) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> (tensor<2xf32>)
  %6 = "stablehlo.multiply"(%0, %5) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>)
  %7 = "stablehlo.constant"() {value = dense<-9223372036854775808> : tensor<i64>} : () -> (tensor<i64>)
  %8 = "stablehlo.compare"(%1, %7) {comparison_direction = #stablehlo<comparison_direction EQ>} : (tensor<i64>, tensor<i64>) -> (tensor<i1>)
  %9 = "stablehlo.negate"(%1) : (tensor<i64>) -> (tensor<i64>)
  %10 = "stablehlo.add"(%6, %2) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>)
  "func.return"(%10, %8) : (tensor<2xf32>, tensor<i1>) -> ()
}
}
"#;

#[test]
fn a_function_becomes_a_module() {
    let function = parse(FUNCTION).unwrap();
    let lowered = lower(&function);
    assert_eq!(lowered.text, MODULE);
    assert!(matches!(lowered.args[..], [Arg::Input(_), Arg::Input(_), Arg::Drawn(_)]));
    assert!(matches!(
        lowered.outputs[..],
        [FunctionResult::Computed(0), FunctionResult::Known(_), FunctionResult::Known(_)]
    ));
    assert_eq!((lowered.computed, lowered.tested), (1, true));
}

#[test]
fn every_operator_has_a_text() {
    for precision in [Precision::F32, Precision::F64] {
        for (op, types) in samples() {
            let mut f = Function::new("f", precision);
            let args: Vec<_> = types.into_iter().map(|ty| f.input(ty, Function::nowhere())).collect();
            let x = f.apply(op.clone(), args, Function::nowhere()).unwrap();
            f.results.push(x);
            let lowered = lower(&f);
            let is_empty = f.values[x].ty.shape.is_empty();
            assert_eq!(lowered.computed == 1, !is_empty, "{op}");
            assert!(f.may_stop() || !lowered.tested, "{op}");
        }
    }
}

/// The module of one operator.
fn text_of(operator: &str) -> String {
    lower(&parse(&format!("function f32 \"f\"\n{operator}")).unwrap()).text
}

#[test]
fn products_over_few_elements_are_sums_of_outer_products() {
    let product = |n: usize| {
        text_of(&format!(
            "x0 input num [3, {n}]\nx1 input num [{n}, 5]\nx2 num [3, 5] = matmul (x0, x1)\nresult x2\n"
        ))
    };
    let (few, more) = (product(4), product(5));
    assert_eq!((few.matches("stablehlo.multiply").count(), few.contains("dot_general")), (4, false), "{few}");
    assert_eq!(
        (more.matches("stablehlo.multiply").count(), more.contains("dot_general")),
        (0, true),
        "{more}"
    );
}

#[test]
fn long_sums_of_rows_are_products_with_ones() {
    let sum = |rows: usize, axis: usize, to: usize| {
        text_of(&format!("x0 input num [{rows}, 64]\nx1 num [{to}] = sum{{axis={axis}}} (x0)\nresult x1\n"))
    };
    assert!(sum(64, 0, 64).contains("tensor<2x64xf32>, tensor<64x64xf32>) -> (tensor<2x64xf32>"));
    for text in [sum(63, 0, 64), sum(64, 1, 64)] {
        assert!(text.contains("stablehlo.reduce") && !text.contains("dot_general"), "{text}");
    }
}

#[test]
fn the_smaller_operand_of_a_sum_of_outer_products_stands_left() {
    let sum = |i: usize, j: usize| {
        text_of(&format!(
            "x0 input num [5, 2, {i}]\nx1 input num [5, 2, {j}]\nx2 num [{i}, {j}] = einsum{{tki,tkj->ij}} (x0, x1)\nresult x2\n"
        ))
    };
    assert!(sum(3, 7).contains("(tensor<5x2x3xf32>, tensor<5x2x7xf32>)"));
    assert!(sum(7, 3).contains("(tensor<5x2x3xf32>, tensor<5x2x7xf32>)"));
}

const ROUTINE: &str = "routine f32 \"r\"
s0 input num [3]
s1 input num [0]
s2 input num []
loop 3 backward carried (s2) rows (s0 at 0) whole () {
function f32 \"r\"
x0 input num []
x1 input num []
x2 num [] = add (x0, x1)
result x2
result x0
}
result s3
result s1
result s0
";

#[test]
fn a_loop_becomes_a_while_over_slices() {
    let module = lower_routine(&rml_backend::routine::parse(ROUTINE).unwrap()).unwrap();
    assert_eq!(module.args, [0, 2]);
    assert_eq!(module.outputs, [RoutineResult::Computed(0), RoutineResult::Empty, RoutineResult::Input(0)]);
    assert!(!module.tested);
    for part in [
        "\"stablehlo.while\"",
        "\"stablehlo.dynamic_slice\"",
        "\"stablehlo.dynamic_update_slice\"",
        "dense<3>",
    ] {
        assert!(module.text.contains(part), "{part} in\n{}", module.text);
    }
}

#[test]
fn a_routine_in_a_loop_stands_in_the_while() {
    let text = format!(
        "routine f32 \"again\"\ns0 input num [5, 3]\ns1 input num [0]\ns2 input num []\n\
         loop 5 forward carried (s2) rows (s0 at 0) whole (s1) {{\n{}}}\nresult s3\nresult s4\nresult s5\n",
        ROUTINE
            .replace(
                "s0 input num [3]\ns1 input num [0]\ns2 input num []",
                "s0 input num []\ns1 input num [3]\ns2 input num [0]"
            )
            .replace("carried (s2) rows (s0 at 0)", "carried (s0) rows (s1 at 0)")
            .replace("result s3\nresult s1\nresult s0", "result s3\nresult s2\nresult s1")
    );
    let routine = rml_backend::routine::parse(&text).unwrap();
    assert_eq!(rml_backend::routine::verify(&routine), Ok(()));
    let module = lower_routine(&routine).unwrap();
    assert_eq!(module.args, [0, 2]);
    assert_eq!(
        module.outputs,
        [RoutineResult::Computed(0), RoutineResult::Empty, RoutineResult::Computed(1)]
    );
    assert_eq!(module.text.matches("\"stablehlo.while\"").count(), 2);
}

#[test]
fn a_routine_with_normal_draws_is_no_module() {
    let text = "routine f32 \"r\"
s0 input int []
call (s0) {
function f32 \"r\"
x0 input int []
x1 num [2] = random_normal{[2]} (x0, x0)
result x1
}
result s1
";
    assert!(lower_routine(&rml_backend::routine::parse(text).unwrap()).is_none());
}

const COUNTED: &str = "routine f32 \"count\"
s0 input num [2]
s1 input num []
s2 input num [2]
call (s0, s1, s2) {
function f32 \"count\"
x0 input num [2]
x1 input num []
x2 input num [2]
x3 num [2] = mul (x0, x1)
x4 num [2] = add (x2, x3)
result x4
}
result s3
result s3
";

const EXPORTED: &str = r#"// A count.
//
// in  x: tensor<2xf32> (cycle 0)
// in  sum: tensor<2xf32> (state)
// out y: tensor<2xf32> (cycle 0)
// out sum.next: tensor<2xf32> (state)
module @count {
func.func public @main(%0: tensor<2xf32> {jax.arg_info = "x"}, %2: tensor<2xf32> {jax.arg_info = "sum"}) -> (tensor<2xf32> {jax.result_info = "y"}, tensor<2xf32> {jax.result_info = "sum.next"}) {
  %1 = "stablehlo.constant"() {value = dense<0x3F000000> : tensor<f32>} : () -> (tensor<f32>)
  %3 = "stablehlo.broadcast_in_dim"(%1) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> (tensor<2xf32>)
  %4 = "stablehlo.multiply"(%0, %3) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>)
  %5 = "stablehlo.add"(%2, %4) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>)
  "func.return"(%5, %5) : (tensor<2xf32>, tensor<2xf32>) -> ()
}
func.func public @start() -> (tensor<2xf32> {jax.result_info = "sum"}) {
  %0 = "stablehlo.constant"() {value = dense<0x00000000> : tensor<2xf32>} : () -> (tensor<2xf32>)
  "func.return"(%0) : (tensor<2xf32>) -> ()
}
}
"#;

#[test]
fn a_model_becomes_a_module_with_names() {
    let routine = rml_backend::routine::parse(COUNTED).unwrap();
    let zeros = Value::zeros(&routine.input_types()[2], Precision::F32);
    let port = |name: &str, role| Port { name: name.to_owned(), role, start: None };
    let state = Port { start: Some(zeros), ..port("sum", PortRole::State) };
    let inputs = vec![
        Input::Port(port("x", PortRole::Cycle(0))),
        Input::Fixed(Value::num(0.5, Precision::F32)),
        Input::Port(state),
    ];
    let outputs = vec![port("y", PortRole::Cycle(0)), port("sum.next", PortRole::State)];
    assert_eq!(export(&WindowModel { routine, inputs, outputs }, "A count."), EXPORTED);
}
