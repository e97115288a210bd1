//! One change to a program, of which most verify.

use rml_nest::{
    Access, Def, Fold, Guard, Home, Nest, NestProgram, NestStage, Positions, Tick, Variants, Work,
};
use rml_testkit::Lcg;

/// Changes one thing, and says what.
pub(crate) fn change(program: &mut NestProgram, r: &mut Lcg) -> String {
    let nodes: Vec<usize> =
        (0..program.nodes.len()).filter(|n| !program.nodes[*n].stages.is_empty()).collect();
    if nodes.is_empty() {
        return "nothing".to_owned();
    }
    let moves: Vec<bool> =
        program.slots.iter().map(|slot| matches!(slot.home, Home::Input | Home::Tick { .. })).collect();
    let node = &mut program.nodes[*r.pick(&nodes)];
    let at = r.below(node.stages.len());
    if r.chance(0.05) && node.stages.len() > 1 {
        let other = (at + 1) % node.stages.len();
        node.stages.swap(at, other);
        return format!("stages {at} and {other} are swapped");
    }
    let stage = &mut node.stages[at];
    let name = stage.fills().next().map_or(0, |slot| slot.0);
    let what = match r.below(10) {
        0 => {
            stage.at = *r.pick(&PLACES);
            "place of the stage"
        }
        1 if !stage.when.is_empty() => guards(&mut stage.when, r),
        2 | 3 => body(stage, r),
        4 => store(stage, r),
        _ => source(stage, &moves, r),
    };
    format!("{what} of s{name}")
}

const PLACES: [Positions; 6] = [
    Positions::ALL,
    Positions::STARTS,
    Positions::ENDS,
    Positions::AFTER_START,
    Positions::BEFORE_END,
    Positions::NONE,
];

fn guards(when: &mut Vec<Guard>, r: &mut Lcg) -> &'static str {
    let at = r.below(when.len());
    if r.chance(0.5) {
        when[at].value = !when[at].value;
        return "value of a guard";
    }
    when.remove(at);
    "guard"
}

fn body(stage: &mut NestStage, r: &mut Lcg) -> &'static str {
    let Work::Nest(Nest { body, .. }) = &mut stage.work else { return "nothing" };
    let ids: Vec<_> = body.ids().collect();
    let at = *r.pick(&ids);
    match &mut body[at] {
        Def::Fold(by, ..) => {
            *by = *r.pick(&Fold::ALL);
            "fold"
        }
        Def::Apply(_, args) if args.len() > 1 => {
            args.rotate_left(1);
            "operands"
        }
        Def::Apply(op, _) => {
            use rml_ir::op::{Op, Unary};
            if matches!(op, Op::Unary(_)) {
                *op = Op::Unary(*r.pick(&[Unary::Neg, Unary::Exp, Unary::Tanh]));
            }
            "operator"
        }
        Def::Take { stride, .. } => {
            *stride = r.below(4) as isize;
            "stride of a position"
        }
        Def::Chain { of, .. } => {
            of[r.below(2)] = *r.pick(&ids);
            "factor"
        }
        Def::Load(_) => "nothing",
    }
}

fn store(stage: &mut NestStage, r: &mut Lcg) -> &'static str {
    let Work::Nest(Nest { stores, body, .. }) = &mut stage.work else { return "nothing" };
    let at = r.below(stores.len());
    if r.chance(0.5) {
        let ids: Vec<_> = body.ids().collect();
        stores[at].1 = *r.pick(&ids);
        return "value that is stored";
    }
    access(&mut stores[at].0, r)
}

fn source(stage: &mut NestStage, moves: &[bool], r: &mut Lcg) -> &'static str {
    let mut sources: Vec<&mut Variants> = match &mut stage.work {
        Work::Nest(nest) => nest.body.iter_mut().filter_map(Def::source_mut).collect(),
        Work::Call(call) => call.start.iter_mut().chain(&mut call.operands).map(|o| &mut o.source).collect(),
    };
    if sources.is_empty() {
        return "nothing";
    }
    let at = r.below(sources.len());
    let source = &mut *sources[at];
    let n = r.below(source.len());
    match r.below(4) {
        0 if source.len() > 1 => {
            let other = (n + 1) % source.len();
            let kept = source[n].access.clone();
            source[n].access = std::mem::replace(&mut source[other].access, kept);
            "variants"
        }
        1 if source.len() > 1 => {
            source[n].at = *r.pick(&PLACES);
            "place of a variant"
        }
        2 if moves[source[n].access.slot.0 as usize] => {
            source[n].access.tick = *r.pick(&[Tick::Now, Tick::Before, Tick::After, Tick::First, Tick::Last]);
            "tick"
        }
        _ => access(&mut source[n].access, r),
    }
}

fn access(access: &mut Access, r: &mut Lcg) -> &'static str {
    if access.strides.is_empty() || r.chance(0.3) {
        access.offset = r.below(4);
        return "offset";
    }
    let at = r.below(access.strides.len());
    if r.chance(0.5) {
        access.strides[at] = r.below(5) as isize;
        return "stride";
    }
    let other = r.below(access.strides.len());
    access.strides.swap(at, other);
    "strides"
}
