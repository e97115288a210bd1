//! Values that are computed in one loop over elements.

use std::collections::BTreeSet;

use rml_ir::op::Op;
use rml_plan::{Case, Rule, Tape};

use crate::exprs::pointwise;
use crate::function::{Function, is_part, num};
use crate::store::Home;

/// Fills tapes of so many elements, one element of each after the other.
pub(crate) fn block(f: &mut Function<'_>, fills: &[(Tape, Vec<usize>)], len: usize, t: &str) {
    if len == 0 {
        return;
    }
    let (mut lines, mut read) = (Vec::new(), BTreeSet::new());
    // From the last to the first, so that it is known which variables are read: at the only tick of a call, some are not.
    for (tape, cases) in fills.iter().rev() {
        if !f.scope.homes[*tape].is_made() {
            continue;
        }
        let i = if len == 1 { "0" } else { "i" };
        let data = &f.scope.plan.tapes[*tape];
        let cases: Vec<&Case> = cases.iter().map(|i| &data.cases[*i]).collect();
        let value = chosen(f, &cases, t, i);
        let line = match f.scope.homes[*tape] {
            Home::Local if !read.contains(f.scope.tapes[*tape].as_str()) => {
                format!("(void)({value});")
            }
            Home::Local => format!("const {} {} = {value};", num(data.ty.dtype), f.scope.tapes[*tape]),
            _ => format!("{} = {value};", f.scope.tape(*tape, t, &f.used).at(i)),
        };
        read.extend(value.split(|c| !is_part(c)).map(str::to_owned));
        lines.push(line);
    }
    lines.reverse();
    let looped = f.lines.over("i", len);
    // Variables of one element live no longer than they are needed.
    let braced = !looped && lines.iter().any(|line| line.starts_with("const"));
    if braced {
        f.lines.open("");
    }
    for line in &lines {
        f.lines.line(line);
    }
    if looped || braced {
        f.lines.close();
    }
    f.check(&lines.concat());
}

/// The value by the case that the position chooses.
fn chosen(f: &Function<'_>, cases: &[&Case], t: &str, i: &str) -> String {
    let Some((case, rest)) = cases.split_first() else { return "0".to_owned() };
    match f.scope.position(case.at) {
        _ if rest.is_empty() => value(f, &case.rule, t, i),
        None => value(f, &case.rule, t, i),
        Some(never) if never == "false" => chosen(f, rest, t, i),
        Some(condition) => {
            format!("({condition} ? {} : {})", value(f, &case.rule, t, i), chosen(f, rest, t, i))
        }
    }
}

/// The value of a rule at an element.
fn value(f: &Function<'_>, rule: &Rule, t: &str, i: &str) -> String {
    let element = |atom: rml_plan::Atom| f.atom(atom, t).each(i);
    match rule {
        Rule::Apply { op: Op::Reshape { .. }, args } => element(args[0]),
        Rule::Apply { op, args } => {
            let dtype = args.last().map(|arg| f.atom(*arg, t).dtype);
            let args: Vec<String> = args.iter().map(|arg| element(*arg)).collect();
            pointwise(op, dtype.unwrap_or(rml_ir::DType::Num), &args, &f.scope.prelude)
        }
        Rule::Copy(a) => element(*a),
        Rule::Select { cond, then, other } => {
            format!("({} ? {} : {})", element(*cond), element(*then), element(*other))
        }
        Rule::Restart { ends, init, next } if ends.is_empty() => {
            let _ = init;
            element(*next)
        }
        Rule::Restart { ends, init, next } => {
            let ends: Vec<String> = ends.iter().map(|end| element(*end)).collect();
            format!("({} ? {} : {})", ends.join(" || "), element(*init), element(*next))
        }
        Rule::Input(input) => {
            let (_, ty) = &f.scope.plan.inputs[*input as usize];
            let at = if f.scope.cycles == 1 { "0" } else { t };
            let field = format!("in[{at}].{}", f.scope.inputs[*input as usize]);
            crate::scope::scalar_or_array(field, ty.dtype, &ty.shape).each(i)
        }
        Rule::Read { register, init } => {
            let own = f.scope.register(*register, "").each(i);
            match init {
                Some(init) if f.scope.registers[*register].flagged => {
                    format!("({} ? {own} : {})", f.scope.flag(*register, ""), element(*init))
                }
                _ => own,
            }
        }
        Rule::Sum { .. } | Rule::Product { .. } => unreachable!("it has loops of its own"),
    }
}
