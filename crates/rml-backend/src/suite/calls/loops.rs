//! Routines: values that a loop carries, reads and keeps, forward and backward, and a suspicion in one of many passes.

use rml_ir::{Data, Precision, Shape, Value};

use crate::contract::{Backend, Held, Outcome};
use crate::routine::{parse, verify};

/// A loop that carries a vector and a count. Each pass subtracts a row from the vector, adds an int to the count, and
/// keeps the vector times a factor.
fn routine(precision: Precision, direction: &str) -> String {
    format!(
        "routine {precision} \"loops\"
s0 input num [4, 2]
s1 input num [2]
s2 input num [2]
s3 input int []
s4 input int [3]
loop 3 {direction} carried (s1, s3) rows (s0 at 1, s4 at 0) whole (s2) {{
function {precision} \"body\"
x0 input num [2]
x1 input int []
x2 input num [2]
x3 input int []
x4 input num [2]
x5 num [2] = sub (x0, x2)
x6 int [] = add (x1, x3)
x7 num [2] = mul (x5, x4)
result x5
result x6
result x7
}}
call (s7) {{
function {precision} \"behind\"
x0 input num [3, 2]
x1 num [2] = sum{{axis=0}} (x0)
result x1
}}
result s5
result s6
result s7
result s8
result s2
"
    )
}

pub(super) fn loops(backend: &dyn Backend, precision: Precision) -> Result<(), String> {
    for (direction, kept) in [
        // The start is 10, 20; rows 1 to 3 are 2, 3; 4, 5; 6, 7; the factor is 2, -1.
        ("forward", [16.0, -17.0, 8.0, -12.0, -4.0, -5.0]),
        ("backward", [-4.0, -5.0, 0.0, -8.0, 8.0, -13.0]),
    ] {
        let text = routine(precision, direction);
        let routine = parse(&text)?;
        verify(&routine).map_err(|found| found.join("; "))?;
        let executable = backend.prepare_routine(&routine).map_err(|f| f.message)?;
        let num = |dims: &[usize], x: &[f64]| {
            Value::new(Shape::new(dims), Data::F64(x.to_vec())).to_precision(precision)
        };
        let args = |first: i64| {
            let values = [
                num(&[4, 2], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]),
                num(&[2], &[10.0, 20.0]),
                num(&[2], &[2.0, -1.0]),
                Value::Int(first),
                Value::new(Shape::new(&[3]), Data::Int(vec![1, 10, 100])),
            ];
            values.into_iter().map(Held::Host).collect::<Vec<Held>>()
        };
        let sums = [kept[0] + kept[2] + kept[4], kept[1] + kept[3] + kept[5]];
        let wanted = [
            num(&[2], &[-2.0, 5.0]),
            Value::Int(118),
            num(&[3, 2], &kept),
            num(&[2], &sums),
            num(&[2], &[2.0, -1.0]),
        ];
        match executable.run(args(7)).map_err(|f| f.message)? {
            Outcome::Suspect => return Err(format!("{direction}: what is right is suspect")),
            Outcome::Done(results) => {
                for (i, (result, wanted)) in results.iter().zip(&wanted).enumerate() {
                    let found = result.to_host().map_err(|f| f.message)?;
                    if !found.same(wanted) {
                        return Err(format!("{direction}, result {i}: {found:?}, not {wanted:?}"));
                    }
                }
            }
        }
        // The count does not fit in one of the passes.
        if !matches!(executable.run(args(i64::MAX - 50)).map_err(|f| f.message)?, Outcome::Suspect) {
            return Err(format!("{direction}: an int that does not fit is not suspect"));
        }
    }
    Ok(())
}
