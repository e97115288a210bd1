//! Memories of what a stream was, in C beside their plans: only what is new is stored, in a ring.

mod support;

use rml::{Options as Compile, Program, Source};
use rml_c::{Exported, Math, Options, export};
use rml_plan::Plan;
use rml_schedule::{Fed, schedule};
use rml_testkit::Lcg;
use rml_testkit::samples::columns;
use support::Close;

/// Memories that are read in different ways, on the clock of the node and on a sampled one.
const PROGRAMS: &str = "
import std.learning;
import std.time;

node lasts(x: num [3], b: bool [2]) -> (y: num [5, 3], z: bool [4, 2]) y = last(5, x); z = last(4, b);
node sums(x: num [3]) -> (y: num [3], z: num [])
  w = last(7, x);
  y = sum(w, 0);
  z = sum(sum(w[2:5] * 2.0, 0), 0);
node products(x: num [3]) -> (y: num [2]) y = matmul(reshape([18], last(6, x)), reshape([18, 2], to_num(range(36))));
node pooled(x: num [3]) -> (y: num [3, 3]) y = sort(last(6, x), 0)[1:4];
node delayed(x: num [3], n: int []) -> (y: num [3], m: int []) y = delay(4, x); m = delay(9, n);
node twice(x: num [3]) -> (y: num [3]) y = delay(4, delay(3, x) + x);
node drawn(x: num [2, 3]) -> (y: num [4, 3]) y = replayed(5, 4, x);
node oldest(x: num [2, 3]) -> (y: num [8, 3], z: num [3])
  before = ones([8, 3]) fby y;
  y = concat(before[2:8], x, 0);
  z = before[0] + y[7];
node rollout(fresh: bool [], x: num [3]) -> (y: num [3]) y = again(4, fresh, x when fresh);
node picked(x: num [3], i: int []) -> (y: num [3]) y = gather(last(6, x), mod(i, 6));
node outside(x: num [3], i: int []) -> (y: num [3]) y = gather(last(6, x), mod(i, 60));
node sampled(x: num [3], c: bool []) -> (y: num [5, 3]) y = merge c (last(5, x when c)) (zeros([5, 3]));
node collected(x: num [2, 3], c: bool []) -> (y: num [4, 3], z: num [3])
  y = merge c (replayed(5, 4, x when c)) (zeros([4, 3]));
  z = merge c (sum(last(4, x[0] when c), 0)) (x[1] when not c);
node nested(x: num [3], c: bool [], d: bool []) -> (y: num [3])
  inner = d when c;
  y = merge c (merge inner (delay(3, (x when c) when inner)) (zeros([3]))) (ones([3]));
node learned(x: num [3]) -> (loss: num [])
  w = param(ones([4, 3]));
  y = sum(last(4, x) * w);
  loss = y * y;
";

fn program(node: &str) -> Program {
    let options = Compile { node: Some(node.to_owned()), ..Compile::default() };
    rml::compile(&Source::text("rings.rml", PROGRAMS), &options).unwrap_or_else(|why| panic!("{node}: {why}"))
}

fn plan(node: &str) -> Plan {
    schedule(program(node).flat(), Fed::Blocks).expect("it has a plan")
}

fn exported(plan: &Plan, cycles: usize) -> Exported {
    let options = Options { name: "p".to_owned(), cycles, math: Math::Own, note: "A test.".to_owned() };
    export(plan, &|_| None, &options).expect("it has a place in C")
}

/// How many rings the state has.
fn rings(exported: &Exported) -> usize {
    exported.header.matches("from the position below on").count()
}

/// The nodes, and how many rings they have in calls of one cycle.
const NODES: &[(&str, usize)] = &[
    ("lasts", 2),
    ("sums", 1),
    ("products", 1),
    ("pooled", 1),
    ("delayed", 2),
    ("twice", 2),
    ("drawn", 1),
    ("oldest", 1),
    ("rollout", 1),
    ("picked", 1),
    ("outside", 1),
    ("sampled", 1),
    ("collected", 2),
    ("nested", 1),
    ("learned", 1),
];

#[test]
fn rings_have_the_bits_of_the_reference() {
    let builds = support::builds();
    for (node, expected) in NODES {
        let (program, plan) = (program(node), plan(node));
        assert_eq!(rings(&exported(&plan, 1)), *expected, "{node}");
        let columns = columns(program.flat(), 40, &mut Lcg(5));
        for most in [1, 3, 16] {
            let cycles = support::compare_in(&builds, &plan, &columns, (40, most), Close::Bits);
            let cycles = cycles.unwrap_or_else(|why| panic!("{node}, {most} cycles a call: {why}"));
            assert!(cycles > 0, "{node}");
        }
    }
}

/// A memory of a thousand rows of four numbers takes their room, that of one more row for each cycle of a call, and a
/// position; on a sampled clock, also a position before and after each cycle.
#[test]
fn a_memory_takes_the_room_of_its_rows() {
    let plain = "y = replayed(1000, 8, x);";
    let sampled = "y = merge c (replayed(1000, 8, x when c)) (zeros([8, 4]));";
    for (line, cycles, positions) in [(plain, 1, 0), (plain, 5, 0), (sampled, 1, 2), (sampled, 5, 6)] {
        let text =
            format!("import std.learning; node main(c: bool [], x: num [1, 4]) -> (y: num [8, 4]) {line}");
        let program =
            rml::compile(&Source::text("replay.rml", text), &Compile::default()).expect("it is right");
        let plan = schedule(program.flat(), Fed::Blocks).expect("it has a plan");
        let exported = exported(&plan, cycles);
        // Beside it are two counters.
        let rows = 1000 + cycles as u64;
        assert_eq!(exported.memory.state, rows * 16 + 4 + 2 * 8);
        assert!(exported.memory.work < 400 * cycles as u64 + 4 * positions, "{:?}", exported.memory);
        assert_eq!(exported.header.matches("_at[").count(), usize::from(positions > 0));
        // Only the start and checkpoints go through all rows.
        let run = &exported.source[..exported.source.find("void p_start(").expect("a start")];
        assert!(!run.contains("< 3996") && !run.contains("< 4000"), "{run}");
    }
}
