//! The environments of the library: their steps equal those of Gymnasium (`tests/environments/generate.py`), and
//! episodes begin, end and restart as their comments say.
//!
//! `RML_ENVIRONMENTS` names a folder with other steps, such as those that `cargo xtask environments` generates again.

mod support;

use std::path::{Path, PathBuf};

use serde_json::Value;
use support::Folder;

/// The differences of states and rewards from Gymnasium's, and whether the episode ends in the same step.
const STEPS: &str = "
import std.environments;

node cart_pole(state: num [4], action: int [], next: num [4], reward: num [], terminated: bool []) -> (far, off, same)
  n, r, t = cart_pole_step(reshape([1, 4], state), reshape([1], action));
  far = max(abs(n[0] - next));
  off = abs(r[0] - reward);
  same = t[0] == terminated;

node mountain_car(state: num [2], action: int [], next: num [2], reward: num [], terminated: bool []) -> (far, off, same)
  n, r, t = mountain_car_step(reshape([1, 2], state), reshape([1], action));
  far = max(abs(n[0] - next));
  off = abs(r[0] - reward);
  same = t[0] == terminated;

node pendulum(state: num [2], action: num [], next: num [2], reward: num [], terminated: bool []) -> (far, off, same)
  n, r = pendulum_step(reshape([1, 2], state), reshape([1], action));
  far = max(abs(n[0] - next));
  off = abs(r[0] - reward);
  same = not terminated;

node acrobot(state: num [4], action: int [], next: num [4], reward: num [], terminated: bool []) -> (far, off, same)
  n, r, t = acrobot_step(reshape([1, 4], state), reshape([1], action));
  far = max(abs(n[0] - next));
  off = abs(r[0] - reward);
  same = t[0] == terminated;
";

#[test]
fn steps_are_those_of_gymnasium() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/environments");
    let made = std::env::var_os("RML_ENVIRONMENTS").map_or(fixtures, PathBuf::from);
    for name in ["cart_pole", "mountain_car", "pendulum", "acrobot"] {
        let steps = std::fs::read(made.join(format!("{name}.npz"))).expect("the steps");
        let folder = Folder::new().file("steps.rml", STEPS).file("steps.npz", steps);
        let run = folder.rml(&format!("run steps.rml --node {name} --inputs steps.npz --f64")).json();
        let column = |key: &str| run["values"][key].as_array().expect("a column").clone();
        assert!(column("far").len() >= 1000, "{name}");
        for key in ["far", "off"] {
            let most = column(key).iter().map(|x| x.as_f64().expect("a number")).fold(0.0, f64::max);
            assert!(most < 1e-5, "{name}: {key} {most}");
        }
        assert!(column("same").iter().all(|same| *same == Value::Bool(true)), "{name}: the end");
    }
}

/// Agents with a fixed good policy, and the condition that has to hold in each cycle.
const EPISODES: &str = "
import std.environments;

node cart_poles() -> (ok, lengths)
  action: int [3] = to_int(random_uniform([3]) < 0.5);
  seen, reward, terminated, truncated, after = cart_pole(12.0, action);
  cut, ended, length, total = episodes(12.0, reward, terminated);
  begins = broadcast([3], true) fby ended;
  fresh = max(abs(seen), 1) <= 0.05;
  goes_on = min(to_num(seen == (seen fby after)), 1) == 1.0;
  rule = where(begins, fresh, goes_on) and (truncated == cut) and length == total and length <= 12.0;
  ok = min(to_num(rule)) == 1.0;
  lengths = where(ended, length, 0.0);

node hidden() -> (ok)
  action: int [2] = to_int(random_uniform([2]) < 0.5);
  seen, _, _, _, after = cart_pole_hidden(500.0, action);
  x = seen[.., 0];
  angle = seen[.., 1];
  ok = min(to_num(abs(after[.., 0] - x) < 0.1 and abs(after[.., 1] - angle) < 0.2)) == 1.0;

node mountain_cars() -> (ok)
  action: int [3] = where(seen[.., 1] < 0.0, 0, 2);
  seen, reward, terminated, truncated, _ = mountain_car(200.0, action);
  _, ended, length, total = episodes(200.0, reward, terminated);
  ok = max(to_num(truncated)) == 0.0 and max(total) < 0.0 and min(total) > -200.0;

node pendulums() -> (ok)
  torque: num [3] = zeros([3]);
  seen, reward, terminated, truncated, _ = pendulum(5.0, torque);
  t = 0 fby mod(t + 1, 5);
  unit = abs(seen[.., 0] * seen[.., 0] + seen[.., 1] * seen[.., 1] - 1.0) < 0.00001;
  rule = unit and not terminated and truncated == broadcast([3], t == 4) and reward <= 0.0;
  ok = min(to_num(rule)) == 1.0;

node acrobots() -> (ok)
  action: int [2] = where(seen[.., 5] < 0.0, 0, 2);
  seen, reward, terminated, truncated, after = acrobot(500.0, action);
  begins = broadcast([2], true) fby (terminated or truncated);
  hangs = seen[.., 0] > 0.99 and seen[.., 2] > 0.99;
  up = -after[.., 0] - (after[.., 0] * after[.., 2] - after[.., 1] * after[.., 3]) > 1.0;
  rule = where(begins, hangs, true) and up == terminated and (reward == 0.0) == terminated;
  ok = min(to_num(rule)) == 1.0;

node catchers() -> (ok, caught)
  away = seen[.., 1] - seen[.., 2];
  action: int [4] = to_int(sign(away)) + 1;
  seen, reward, terminated, truncated, _ = catch(action);
  t = 0 fby mod(t + 1, 9);
  rule = terminated == broadcast([4], t == 8) and not truncated and reward == where(terminated, 1.0, 0.0);
  ok = min(to_num(rule)) == 1.0;
  caught = sum(reward);

node mazes() -> (ok, rewards)
  side = where(seen[.., 1] == 1.0, seen[.., 0], zeros([3]) fby side);
  action: int [3] = where(seen[.., 2] == 1.0, where(side == 1.0, 1, 0), 2);
  seen, reward, terminated, truncated, _ = t_maze(6.0, 20.0, action);
  t = 0 fby mod(t + 1, 7);
  rule = terminated == broadcast([3], t == 6) and not truncated and reward == where(terminated, 4.0, -0.1);
  ok = min(to_num(rule)) == 1.0;
  rewards = sum(reward);

node lost() -> (ok)
  action: int [2] = broadcast([2], 2);
  _, reward, terminated, truncated, _ = t_maze(3.0, 5.0, action);
  t = 0 fby mod(t + 1, 5);
  ok = min(to_num(not terminated and truncated == broadcast([2], t == 4) and reward == -0.1)) == 1.0;

node averages() -> (mean)
  t = 1.0 fby t + 1.0;
  mean = episode_mean(0.5, 8.0, stack(0, t, 10.0 * t), stack(0, t == 2.0, t >= 2.0));
";

#[test]
fn episodes_begin_and_end_as_they_should() {
    let folder = Folder::new().file("e.rml", EPISODES);
    let run = |node: &str, cycles| {
        folder.rml(&format!("run e.rml --node {node} --cycles {cycles} --seed 3")).json()["values"].clone()
    };
    for (node, cycles) in [
        ("cart_poles", 200),
        ("hidden", 200),
        ("mountain_cars", 600),
        ("pendulums", 23),
        ("acrobots", 600),
        ("catchers", 90),
        ("mazes", 70),
        ("lost", 20),
    ] {
        let values = run(node, cycles);
        let wrong = values["ok"].as_array().expect("a column").iter().position(|ok| *ok != Value::Bool(true));
        assert_eq!(wrong, None, "{node}: the cycle where a rule is broken");
    }
    let lengths = run("cart_poles", 200)["lengths"].to_string();
    assert!(
        lengths.contains("12.0") && (8..12).any(|n| lengths.contains(&format!("{n}.0"))),
        "both kinds of ends: {lengths}"
    );
    let mean = run("averages", 3)["mean"].clone();
    assert_eq!(mean, serde_json::json!([8.0, 0.25 * 8.0 + 0.75 * 11.0, 0.5 * 10.25 + 0.5 * 30.0]));
}
