//! Ways to damage a plan.

use rml_ir::op::{AxisIndex, Op};
use rml_ir::{Type, Value};
use rml_plan::{
    Atom, Case, Ends, Guard, Lifetime, Part, Plan, Region, Rule, Tape, TapeData, Term, Tick, Write,
};
use rml_testkit::Lcg;

mod places;

use places::*;

/// Damages a plan; nothing if it has no such place.
pub(crate) type Damage = fn(&mut Plan, &mut Lcg) -> Option<()>;

/// All ways.
pub(crate) const KINDS: &[(&str, Damage)] = &[
    ("a tape that is filled less far or farther", |plan, r| {
        let farther = r.chance(0.5);
        let mut places: Vec<&mut u32> = plan.tapes.iter_mut().map(|tape| &mut tape.ahead).collect();
        places.retain(|ahead| farther || **ahead > 0);
        let ahead = pick(&mut places, r)?;
        **ahead = if farther { **ahead + 1 } else { **ahead - 1 };
        Some(())
    }),
    ("a block that waits or does not", |plan, _| {
        plan.waits = !plan.waits;
        Some(())
    }),
    ("another operator", |plan, r| {
        let mut places: Vec<&mut Op> =
            operators(plan).into_iter().filter(|op| other_op(op).is_some()).collect();
        let op = pick(&mut places, r)?;
        **op = other_op(op)?;
        Some(())
    }),
    ("operands swapped", |plan, r| {
        let mut places: Vec<&mut [Atom]> = Vec::new();
        for rule in rules(plan) {
            match rule {
                Rule::Apply { args, .. } if args.len() > 1 && args[0] != args[1] => places.push(args),
                Rule::Product { args, .. } => places.push(args),
                Rule::Sum { terms, .. } => {
                    places.extend(terms.iter_mut().filter(|t| t.args.len() > 1).map(|t| &mut t.args[..]));
                }
                _ => {}
            }
        }
        pick(&mut places, r)?.swap(0, 1);
        Some(())
    }),
    ("branches swapped", |plan, r| {
        let mut places: Vec<_> = rules(plan)
            .filter_map(|rule| match rule {
                Rule::Select { then, other, .. } => Some((then, other)),
                Rule::Restart { init, next, .. } => Some((init, next)),
                _ => None,
            })
            .collect();
        let (a, b) = pick(&mut places, r)?;
        std::mem::swap(*a, *b);
        Some(())
    }),
    ("a slice elsewhere", |plan, r| {
        let starts = operators(plan).into_iter().filter_map(|op| match op {
            Op::Index { items } => items.iter_mut().find_map(|item| match item {
                AxisIndex::Slice { start, .. } if *start > 0 => Some(start),
                _ => None,
            }),
            _ => None,
        });
        **pick(&mut starts.collect::<Vec<_>>(), r)? -= 1;
        Some(())
    }),
    ("a product that does not continue", |plan, r| {
        let mut places: Vec<&mut Rule> =
            rules(plan).filter(|rule| matches!(rule, Rule::Product { .. })).collect();
        let rule = pick(&mut places, r)?;
        if let Rule::Product { args, .. } = &**rule {
            **rule = Rule::Apply { op: Op::MatMul, args: args.to_vec() };
        }
        Some(())
    }),
    ("another operand", |plan, r| change_atom(plan, r, |_| true, |a, old, r| other(old, a, r))),
    ("values of one operator, or of choices, made one", |plan, r| {
        let made = |tape: Tape, plan: &Plan| {
            let op = match &plan.tapes[tape].cases.first()?.rule {
                Rule::Apply { op, .. } => Some(op.clone()),
                Rule::Select { .. } => None,
                _ => return None,
            };
            Some((op, plan.tapes[tape].ty.clone()))
        };
        let mut tapes: Vec<Tape> = plan.tapes.iter_enumerated().map(|(tape, _)| tape).collect();
        let gone = *pick(&mut tapes, r)?;
        let what = made(gone, plan)?;
        let mut alike = tapes;
        alike.retain(|tape| *tape != gone && made(*tape, plan).as_ref() == Some(&what));
        let left = *pick(&mut alike, r)?;
        for operand in operands(plan) {
            if let Atom::Tape(tape, _) = operand
                && *tape == gone
            {
                *tape = left;
            }
        }
        Some(())
    }),
    ("an edge dropped", |plan, r| {
        let zero = |a: Atom, plan: &mut Plan| {
            Atom::Const(plan.consts.push(value_of(&ty(plan, a)).to_precision(plan.precision)))
        };
        let mut copy = plan.clone();
        let zeros: Vec<(Atom, Atom)> =
            operands(&mut plan.clone()).into_iter().map(|a| (*a, zero(*a, &mut copy))).collect();
        plan.consts = copy.consts;
        let mut places: Vec<&mut Atom> =
            operands(plan).into_iter().filter(|a| matches!(a, Atom::Tape(..))).collect();
        let place = pick(&mut places, r)?;
        **place = zeros.iter().find(|(a, _)| a == *place)?.1;
        Some(())
    }),
    ("before for after, or after for before", |plan, r| {
        tick(plan, r, |t| match t {
            Tick::Before => Some(Tick::After),
            Tick::After => Some(Tick::Before),
            _ => None,
        })
    }),
    ("first for last, or last for first", |plan, r| {
        tick(plan, r, |t| match t {
            Tick::First => Some(Tick::Last),
            Tick::Last => Some(Tick::First),
            _ => None,
        })
    }),
    ("read at the first tick", |plan, r| tick(plan, r, |t| (t != Tick::First).then_some(Tick::First))),
    ("read at the last tick", |plan, r| tick(plan, r, |t| (t != Tick::Last).then_some(Tick::Last))),
    ("one tick early", |plan, r| {
        tick(plan, r, |t| match t {
            Tick::Now => Some(Tick::Before),
            Tick::After => Some(Tick::Now),
            _ => None,
        })
    }),
    ("one tick late", |plan, r| {
        tick(plan, r, |t| match t {
            Tick::Now => Some(Tick::After),
            Tick::Before | Tick::First | Tick::Last => Some(Tick::Now),
            Tick::After => None,
        })
    }),
    ("a loop the other way", |plan, r| {
        let loops = plan.regions.iter_mut().filter_map(|region| match region {
            Region::Loop { backward, .. } => Some(backward),
            Region::Over(_) => None,
        });
        let mut loops: Vec<&mut bool> = loops.collect();
        let way = pick(&mut loops, r)?;
        **way = !**way;
        Some(())
    }),
    ("sequences that end with another condition", |plan, r| {
        let conds: Vec<_> =
            plan.tapes.iter_enumerated().filter(|(_, t)| t.ty == Type::condition()).map(|(t, _)| t).collect();
        let loops = plan.regions.iter_mut().filter_map(|region| match region {
            Region::Loop { by, .. } => Some(by),
            Region::Over(_) => None,
        });
        let mut loops: Vec<_> = loops.collect();
        **pick(&mut loops, r)? = vec![*pick(&mut conds.clone(), r)?];
        Some(())
    }),
    ("a delay that continues after the end of a sequence", |plan, r| {
        let by: Vec<_> = plan
            .regions
            .iter()
            .flat_map(|region| if let Region::Loop { by, .. } = region { &by[..] } else { &[] })
            .copied()
            .collect();
        let is_by = |end: &Atom| matches!(end, Atom::Tape(tape, _) if by.contains(tape));
        let ends = rules(plan).filter_map(|rule| match rule {
            Rule::Restart { ends, .. } if ends.iter().any(is_by) => Some(ends),
            _ => None,
        });
        let mut ends: Vec<_> = ends.collect();
        pick(&mut ends, r)?.retain(|end| !is_by(end));
        Some(())
    }),
    ("a sum the other way", |plan, r| {
        let sums = rules(plan).filter_map(|rule| match rule {
            Rule::Sum { backward, .. } => Some(backward),
            _ => None,
        });
        let mut sums: Vec<&mut bool> = sums.collect();
        let way = pick(&mut sums, r)?;
        **way = !**way;
        Some(())
    }),
    ("a term of a sum", |plan, r| {
        let mut sums: Vec<&mut Vec<Term>> = sums(plan);
        let terms = pick(&mut sums, r)?;
        let i = r.below(terms.len());
        if r.chance(0.5) {
            terms.remove(i);
        } else {
            terms[i].at = toggled(terms[i].at, r);
        }
        Some(())
    }),
    ("a restart dropped", |plan, r| {
        let mut places: Vec<&mut Rule> =
            rules(plan).filter(|rule| matches!(rule, Rule::Restart { .. })).collect();
        let rule = pick(&mut places, r)?;
        let Rule::Restart { ends, next, .. } = rule else { return None };
        if ends.len() > 1 {
            ends.remove(r.below(ends.len()));
        } else {
            **rule = Rule::Copy(*next);
        }
        Some(())
    }),
    ("a register not unset", |plan, r| {
        let mut places: Vec<&mut Write> = writes(plan).into_iter().filter(|w| !w.unless.is_empty()).collect();
        pick(&mut places, r)?.unless.pop();
        Some(())
    }),
    ("another end of a register", |plan, r| {
        let mut conds: Vec<Atom> = plan
            .tapes
            .iter_enumerated()
            .filter(|(_, t)| t.ty == Type::condition())
            .map(|(t, _)| Atom::Tape(t, Tick::Now))
            .collect();
        let mut places: Vec<&mut Atom> = writes(plan).into_iter().flat_map(|w| &mut w.unless).collect();
        let end = pick(&mut places, r)?;
        let other = match **end {
            Atom::Tape(tape, Tick::Now) if r.chance(0.5) => Atom::Tape(tape, Tick::Before),
            Atom::Tape(tape, Tick::Before) if r.chance(0.5) => Atom::Tape(tape, Tick::Now),
            _ => *pick(&mut conds, r)?,
        };
        (other != **end).then(|| **end = other)
    }),
    ("a guard dropped", |plan, r| {
        let mut places: Vec<&mut Vec<Guard>> = guards(plan).into_iter().filter(|g| !g.is_empty()).collect();
        let guards = pick(&mut places, r)?;
        guards.remove(r.below(guards.len()));
        Some(())
    }),
    ("a guard negated", |plan, r| {
        let mut places: Vec<&mut Guard> = guards(plan).into_iter().flatten().collect();
        let guard = pick(&mut places, r)?;
        guard.value = !guard.value;
        Some(())
    }),
    ("a guard added", |plan, r| {
        let conds: Vec<_> =
            plan.tapes.iter_enumerated().filter(|(_, t)| t.ty == Type::condition()).map(|(t, _)| t).collect();
        let cond = Atom::Tape(*pick(&mut conds.clone(), r)?, Tick::Now);
        let value = r.chance(0.5);
        pick(&mut guards(plan), r)?.push(Guard { cond, value });
        Some(())
    }),
    ("another initial value", |plan, r| {
        let old = plan.clone();
        let mut places: Vec<&mut Atom> = rules(plan)
            .filter_map(|rule| match rule {
                Rule::Restart { init, .. } => Some(init),
                Rule::Read { init, .. } | Rule::Sum { init, .. } => init.as_mut(),
                _ => None,
            })
            .collect();
        let place = pick(&mut places, r)?;
        **place = other(&old, **place, r)?;
        Some(())
    }),
    ("another constant", |plan, r| {
        let mut consts: Vec<&mut Value> = plan.consts.iter_mut().collect();
        let value = pick(&mut consts, r)?;
        **value = changed(value);
        Some(())
    }),
    ("positions of a case", |plan, r| {
        let mut places: Vec<&mut Case> = plan.tapes.iter_mut().flat_map(|t| &mut t.cases).collect();
        let case = pick(&mut places, r)?;
        case.at = toggled(case.at, r);
        Some(())
    }),
    ("a position given to another case", |plan, r| {
        let mut places: Vec<&mut Vec<Case>> =
            plan.tapes.iter_mut().map(|t| &mut t.cases).filter(|c| c.len() > 1).collect();
        let cases = pick(&mut places, r)?;
        let p = cases[0].at.iter().next()?;
        cases[0].at = cases[0].at.without(p);
        cases[1].at = cases[1].at.with(p);
        Some(())
    }),
    ("a case removed", |plan, r| {
        let mut places: Vec<&mut Vec<Case>> = plan.tapes.iter_mut().map(|t| &mut t.cases).collect();
        let cases = pick(&mut places, r)?;
        (!cases.is_empty()).then(|| cases.remove(r.below(cases.len())))?;
        Some(())
    }),
    ("a write dropped", |plan, r| {
        let mut places: Vec<&mut Vec<Write>> =
            lists_of_writes(plan).into_iter().filter(|w| !w.is_empty()).collect();
        let writes = pick(&mut places, r)?;
        writes.remove(r.below(writes.len()));
        Some(())
    }),
    ("another value written", |plan, r| {
        let old = plan.clone();
        let write = pick(&mut writes(plan), r)?.value;
        let value = other(&old, write, r)?;
        writes(plan).into_iter().filter(|w| w.value == write).for_each(|w| w.value = value);
        Some(())
    }),
    ("positions of a write", |plan, r| {
        let mut places = writes(plan);
        let write = pick(&mut places, r)?;
        write.at = toggled(write.at, r);
        Some(())
    }),
    ("another register", |plan, r| {
        let types: Vec<Type> = plan.registers.iter().map(|r| r.ty.clone()).collect();
        let mut places: Vec<_> = rules(plan)
            .filter_map(|rule| match rule {
                Rule::Read { register, .. } => Some(register),
                _ => None,
            })
            .collect();
        let place = pick(&mut places, r)?;
        let same =
            (0..types.len()).filter(|i| types[*i] == types[place.0 as usize] && *i != place.0 as usize);
        place.0 = u32::try_from(*pick(&mut same.collect::<Vec<_>>(), r)?).ok()?;
        Some(())
    }),
    ("another kind of register", |plan, r| {
        let i = r.below(plan.registers.len());
        let register = plan.registers.iter_mut().nth(i)?;
        register.kind = match register.kind {
            Lifetime::Local => Lifetime::Hidden,
            Lifetime::Hidden => Lifetime::Local,
            Lifetime::State { parameter, .. } => Lifetime::State { key: "another".into(), parameter },
        };
        Some(())
    }),
    ("outputs swapped", |plan, r| {
        let n = plan.outputs.len();
        let (i, j) = (r.below(n), r.below(n));
        let same = i != j && plan.outputs[i].ty == plan.outputs[j].ty;
        same.then(|| {
            let cases = plan.outputs[i].cases.clone();
            plan.outputs[i].cases = std::mem::replace(&mut plan.outputs[j].cases, cases);
        })
    }),
    ("positions of an output", |plan, r| {
        let mut places: Vec<_> = plan.outputs.iter_mut().flat_map(|o| &mut o.cases).collect();
        let (at, ..) = pick(&mut places, r)?;
        *at = toggled(*at, r);
        Some(())
    }),
    ("another output", |plan, r| {
        let old = plan.clone();
        let mut places: Vec<_> = plan.outputs.iter_mut().flat_map(|o| &mut o.cases).collect();
        let (.., atom) = pick(&mut places, r)?;
        *atom = other(&old, *atom, r)?;
        Some(())
    }),
    ("another input", |plan, r| {
        let types: Vec<Type> = plan.inputs.iter().map(|(_, ty)| ty.clone()).collect();
        let mut places: Vec<&mut u32> =
            rules(plan).filter_map(|rule| if let Rule::Input(i) = rule { Some(i) } else { None }).collect();
        let place = pick(&mut places, r)?;
        let same =
            (0..types.len()).filter(|i| types[*i] == types[**place as usize] && *i != **place as usize);
        **place = u32::try_from(*pick(&mut same.collect::<Vec<_>>(), r)?).ok()?;
        Some(())
    }),
    ("order of parts", |plan, r| {
        let mut places: Vec<&mut Vec<Part>> = parts(plan).into_iter().filter(|p| p.len() > 1).collect();
        let parts = pick(&mut places, r)?;
        let i = r.below(parts.len() - 1);
        let j = i + 1 + r.below(parts.len() - 1 - i);
        parts.swap(i, j);
        Some(())
    }),
    ("order of regions", |plan, r| {
        let n = plan.regions.len();
        (n > 1).then(|| plan.regions.swap(r.below(n - 1), n - 1))
    }),
    ("a part dropped", |plan, r| {
        let mut places: Vec<&mut Vec<Part>> = parts(plan).into_iter().filter(|p| !p.is_empty()).collect();
        let parts = pick(&mut places, r)?;
        parts.remove(r.below(parts.len()));
        Some(())
    }),
    ("what may fail left out at a position", |plan, r| {
        let may_fail = |data: &TapeData| data.cases.iter().any(|case| plan.may_fail(case));
        let mut tapes: Vec<Tape> =
            plan.tapes.iter_enumerated().filter(|(_, data)| may_fail(data)).map(|(tape, _)| tape).collect();
        let tape = *pick(&mut tapes, r)?;
        let p = *pick(&mut plan.tapes[tape].place().iter().collect::<Vec<_>>(), r)?;
        for case in &mut plan.tapes[tape].cases {
            case.at = case.at.without(p);
        }
        plan.tapes[tape].cases.retain(|case| !case.at.is_empty());
        for parts in parts(plan) {
            parts.iter_mut().filter(|part| part.tape == tape).for_each(|part| part.at = part.at.without(p));
            parts.retain(|part| !part.at.is_empty());
        }
        plan.regions.retain(|region| !region.parts().is_empty());
        Some(())
    }),
    ("another end of windows", |plan, _| {
        match &mut plan.ends {
            Ends::Nothing => return None,
            Ends::Given(ends) => ends.iter_mut().for_each(|(_, value)| *value = !*value),
            Ends::Found { conds, .. } => conds.iter_mut().for_each(|g| g.value = !g.value),
        }
        Some(())
    }),
];
