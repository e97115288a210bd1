//! The library for reinforcement learning, compared with sums and frequencies computed in this test.

mod support;

use serde_json::{Value, json};
use support::Folder;

const PROGRAM: &str = "
import std.environments (episodes);
import std.learning;
import std.layers (lstm_from, gru_from);
import std.normalisation (running_norm);
import std.schedules (linear);
import std.time (last);

node ahead(r: num [2], t: bool [2], e: bool [2], v: num [2], n: num [2], end: bool []) -> (g, a, s, next)
  g = discounted_returns(0.9, r, t, e, n) every end;
  a = generalised_advantages(0.9, 0.5, r, t, e, v, n) every end;
  next = next_values(v, e, n) every end;
  s = standardised(v);

node critic(seen: num [n]) -> (value: num [n])
  value = zeros([n]) * seen + param(0.0);

node returns(reward: num [n], terminated: bool [n], ended: bool [n], value: num [n]) -> (g: num [n])
  g = discounted_returns(0.9, reward, terminated, ended, next_values(value, ended, value));

node worth() -> (value: num [])
  t = 0 fby mod(t + 1, 8);
  end = t == 7;
  reward = ones([2]);
  terminated = broadcast([2], false);
  _, ended, _, _ = episodes(10.0, reward, terminated);
  values, _ = diff_critic(reward, true, 0.02 * (g - values)) every end;
  g = returns(reward, terminated, ended, values) every end;
  value = mean(values);

node draws() -> (a0, a1, greedy, mean, square)
  k = broadcast([500, 3], 0.0) + log([0.2, 0.3, 0.5]);
  action = categorical(k);
  a0 = mean(to_num(action == 0));
  a1 = mean(to_num(action == 1));
  greedy = mean(to_num(epsilon_greedy(0.3, k) == 2));
  x = gaussian(zeros([500, 3]) + 2.0, zeros([500, 3]) - 1.0);
  mean = mean(x);
  square = mean((x - 2.0) * (x - 2.0));

node scaled() -> (y, x)
  t = 0 fby t + 1;
  end = mod(t, 8) == 7;
  x = 5.0 + 3.0 * random_normal([4, 3]);
  y, _ = diff_net(x, end, true, zeros([4, 3])) every end;

node net(x: num [4, 3], end: bool []) -> (y)
  y = running_norm(0.9, x, end);

node squares(x: num [4, 3], end: bool []) -> (loss: num [])
  y = net(x, end);
  loss = sum(y * y * y);

node rollout() -> (y, old, drawn)
  t = 0 fby t + 1;
  fresh = mod(t, 6) < 2;
  y = again(2, fresh, [to_num(t)] when fresh);
  old = held(mod(t, 4) == 1, t);
  drawn = replayed(3, 50, [[to_num(t)], [to_num(t) + 0.5]]);

enum side = Left, Right;

node kinds() -> (i, b, e: side, rows, held, lasting)
  t = 0 fby t + 1;
  fresh = mod(t, 4) < 2;
  i = again(2, fresh, [t, 2 * t] when fresh);
  b = again(2, fresh, (mod(t, 2) == 0) when fresh);
  e = again(2, fresh, (if t > 4 then Right else Left) when fresh);
  rows = replayed(2, 20, [t > 0, t > 0]);
  held = held(t == 1, t == 1);
  lasting = last(2, t);

node falling() -> (epsilon)
  t = 0 fby t + 1;
  epsilon = linear(1.0, 0.2, 4, t);

node policies(logits: num [1, 3], a: int [1], m: num [1, 2], s: num [1, 2], x: num [1, 2]) -> (lp, h, glp, gh, loss, near, q)
  lp = categorical_log(logits, a)[0];
  h = categorical_entropy(logits)[0];
  glp = gaussian_log(m, s, x)[0];
  gh = gaussian_entropy(s)[0];
  loss = policy_loss(0.1, [1.0, 2.0], [3.0, 4.0], [5.0, 6.0]);
  near = proximal_loss(0.2, 0.0, [1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [2.0, 2.0]);
  q = q_target(0.5, [1.0], [false], [[2.0, 4.0]])[0];

node from(x: num [2, 3], starts: bool [2]) -> (h, g)
  h, c = lstm_from(4, zeros([2, 4]), zeros([2, 4]), starts, x);
  g = gru_from(4, zeros([2, 4]), starts, x);

node alone(x: num [1, 3]) -> (h, g)
  h, c = lstm_from(4, zeros([1, 4]), zeros([1, 4]), [false], x);
  g = gru_from(4, zeros([1, 4]), [false], x);

node carried(x: num [2, 3], starts: bool [2], end: bool []) -> (h)
  h, c = lstm_from(4, zeros([2, 4]) fby h, zeros([2, 4]) fby c, starts, x) every end;
";

fn folder() -> Folder {
    Folder::new().file("l.rml", PROGRAM)
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(all) => all.iter().flat_map(numbers).collect(),
        value => vec![value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))],
    }
}

#[track_caller]
fn close(a: &[f64], b: &[f64], within: f64) {
    assert!(a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= within), "{a:?} and {b:?}");
}

/// Episodes of rows end in different cycles: by falling, by a limit, or not before the end of the window.
#[test]
fn what_is_to_come_is_summed_up_by_rows() {
    let reward = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0], [9.0, 10.0]];
    let terminated = [[false, false], [true, false], [false, false], [false, true], [false, false]];
    let ended = [[false, true], [true, false], [false, false], [false, true], [false, false]];
    let value = [[0.5, 1.5], [2.5, 3.5], [4.5, 5.5], [6.5, 7.5], [8.5, 9.5]];
    let next = [[10.0, 20.0], [30.0, 40.0], [50.0, 60.0], [70.0, 80.0], [90.0, 100.0]];
    let end = [false, false, true, false, true];
    let inputs = json!({"r": reward, "t": terminated, "e": ended, "v": value, "n": next, "end": end});
    let folder = folder().file("i.json", inputs.to_string());
    let values = folder.rml("run l.rml --node ahead --inputs i.json --f64").json()["values"].clone();
    let (mut g, mut a, mut shifted) = ([[0.0_f64; 2]; 5], [[0.0_f64; 2]; 5], [[0.0_f64; 2]; 5]);
    for t in (0..5).rev() {
        for i in 0..2 {
            let last = end[t];
            let behind = if ended[t][i] || last { next[t][i] } else { g[t + 1][i] };
            g[t][i] = reward[t][i] + if terminated[t][i] { 0.0 } else { 0.9 * behind };
            let said = if terminated[t][i] { 0.0 } else { next[t][i] };
            let more = if ended[t][i] || last { 0.0 } else { a[t + 1][i] };
            a[t][i] = reward[t][i] + 0.9 * said - value[t][i] + 0.9 * 0.5 * more;
            shifted[t][i] = if ended[t][i] || last { next[t][i] } else { value[t + 1][i] };
        }
    }
    close(&numbers(&values["g"]), g.as_flattened(), 1e-12);
    close(&numbers(&values["a"]), a.as_flattened(), 1e-12);
    close(&numbers(&values["next"]), shifted.as_flattened(), 0.0);
    close(&numbers(&values["s"]), [[-1.0, 1.0]; 5].as_flattened(), 1e-6);
}

/// A limit of ten steps truncates episodes, but is not the end of an episode: with a reward of 1 per step the value of
/// a state is 1 / (1 - 0.9).
#[test]
fn a_limit_of_steps_does_not_end_what_is_to_come() {
    let values = folder().rml("run l.rml --node worth --cycles 4000").json()["values"].clone();
    let values = numbers(&values["value"]);
    close(&values[3992..], &[10.0; 8], 0.01);
}

/// Of 50,000 draws a share of 0.2 is within 0.01 of 0.2, which is more than five standard deviations.
#[test]
fn draws_have_their_frequencies() {
    let values = folder().rml("run l.rml --node draws --cycles 100 --seed 1").json()["values"].clone();
    let mean = |key: &str| numbers(&values[key]).iter().sum::<f64>() / 100.0;
    let all = ["a0", "a1", "greedy", "mean", "square"].map(mean);
    close(&all, &[0.2, 0.3, 0.7 + 0.1, 2.0, (-2.0_f64).exp()], 0.012);
}

/// Two cycles are repeated three times, weights stay constant for four cycles, and draws come from the last three
/// cycles, each of which occurs.
#[test]
fn what_was_comes_again() {
    let values = folder().rml("run l.rml --node rollout --cycles 12 --seed 1").json()["values"].clone();
    close(&numbers(&values["y"]), &[0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 6.0, 7.0, 6.0, 7.0, 6.0, 7.0], 0.0);
    close(&numbers(&values["old"]), &[0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 5.0, 5.0, 5.0, 5.0, 9.0, 9.0], 0.0);
    for (t, drawn) in values["drawn"].as_array().expect("cycles").iter().enumerate() {
        let mut seen = numbers(drawn);
        seen.sort_by(f64::total_cmp);
        seen.dedup();
        let all: Vec<f64> = (2 * t.saturating_sub(2)..2 * t + 2).map(|i| i as f64 / 2.0).collect();
        assert_eq!(seen, all, "cycle {t}");
    }
}

/// Values of every type are stored unchanged; before the first value there are 0 and false.
#[test]
fn values_of_every_type_come_again() {
    let values = folder().rml("run l.rml --node kinds --cycles 6 --seed 1").json()["values"].clone();
    assert_eq!(values["i"], json!([[0, 0], [1, 2], [0, 0], [1, 2], [4, 8], [5, 10]]));
    assert_eq!(values["b"], json!([true, false, true, false, true, false]));
    assert_eq!(values["e"], json!(["Left", "Left", "Left", "Left", "Left", "Right"]));
    assert_eq!(values["held"], json!([false, false, true, true, true, true]));
    assert_eq!(values["lasting"], json!([[0, 0], [1, 0], [2, 1], [3, 2], [4, 3], [5, 4]]));
    let rows = |t: usize| values["rows"][t].as_array().expect("rows").clone();
    let drawn = |t: usize, of: bool| rows(t).contains(&json!(of));
    assert_eq!(
        [drawn(0, true), drawn(1, true), drawn(1, false), drawn(2, false)],
        [false, true, true, false]
    );
}

/// The first windows are scaled by the initial averages; after many windows the mean is 0 and the mean square is 1.
#[test]
fn observations_come_to_a_common_scale() {
    let values = folder().rml("run l.rml --node scaled --cycles 800 --seed 1").json()["values"].clone();
    let (x, y) = (numbers(&values["x"]), numbers(&values["y"]));
    close(
        &y[..96],
        &x[..96].iter().map(|x| (x / (1.0_f64 + 1e-5).sqrt()).clamp(-10.0, 10.0)).collect::<Vec<_>>(),
        1e-5,
    );
    let late = &y[400 * 12..];
    let count = f64::from(400 * 12);
    let mean = late.iter().sum::<f64>() / count;
    let square = late.iter().map(|y| y * y).sum::<f64>() / count;
    close(&[mean, square], &[0.0, 1.0], 0.08);
    let epsilon =
        folder().rml("run l.rml --node falling --cycles 6 --f64").json()["values"]["epsilon"].clone();
    close(&numbers(&epsilon), &[1.0, 0.8, 0.6, 0.4, 0.2, 0.2], 1e-12);
}

#[test]
fn policies_have_their_likelihoods_and_losses() {
    let inputs = json!({"logits": [[[1.0, 2.0, 3.0]]], "a": [[1]], "m": [[[0.5, -1.0]]], "s": [[[0.2, -0.3]]], "x": [[[1.0, 1.0]]]});
    let folder = folder().file("i.json", inputs.to_string());
    let values = folder.rml("run l.rml --node policies --inputs i.json --f64").json()["values"].clone();
    let total: f64 = [1.0_f64, 2.0, 3.0].iter().map(|x| x.exp()).sum();
    let p = [1.0_f64, 2.0, 3.0].map(|x| x.exp() / total);
    let density = |m: f64, s: f64, x: f64| {
        let sigma = s.exp();
        -(x - m) * (x - m) / (2.0 * sigma * sigma) - (sigma * (2.0 * std::f64::consts::PI).sqrt()).ln()
    };
    let entropy = |s: f64| 0.5 * (2.0 * std::f64::consts::PI * std::f64::consts::E).ln() + s;
    let expected = [
        p[1].ln(),
        -p.iter().map(|p| p * p.ln()).sum::<f64>(),
        density(0.5, 0.2, 1.0) + density(-1.0, -0.3, 1.0),
        entropy(0.2) + entropy(-0.3),
        -(5.0 + 12.0) / 2.0 - 0.1 * 3.5,
        // The ratio e counts as 1.2; 1 / e does not count as 0.8, because this would overestimate the action.
        -(2.0 * 1.2 + 2.0 * (-1.0_f64).exp()) / 2.0,
        1.0 + 0.5 * 4.0,
    ];
    let found = ["lp", "h", "glp", "gh", "loss", "near", "q"].map(|key| numbers(&values[key])[0]);
    close(&found, &expected, 1e-9);
}

/// Each row computes the same as alone, started in the same cycle; and a window continues from the state that it is
/// given.
#[test]
fn rows_start_anew_one_by_one() {
    let number = |t: usize, i: usize, j: usize| ((t * 6 + i * 3 + j) as f64).sin();
    let x: Vec<[[f64; 3]; 2]> = (0..6).map(|t| [0, 1].map(|i| [0, 1, 2].map(|j| number(t, i, j)))).collect();
    let starts = [[true, false], [false, false], [false, true], [true, false], [false, false], [false, true]];
    let end = [false, true, false, false, false, true];
    let mut folder = folder().file("i.json", json!({"x": x, "starts": starts, "end": end}).to_string());
    let all = folder.rml("run l.rml --node from --inputs i.json --f64").json()["values"].clone();
    for (row, begin, until) in [(0, 0, 3), (0, 3, 6), (1, 0, 2), (1, 2, 5), (1, 5, 6)] {
        let own: Vec<[[f64; 3]; 1]> = x[begin..until].iter().map(|x| [x[row]]).collect();
        folder = folder.file("row.json", json!({"x": own}).to_string());
        let alone = folder.rml("run l.rml --node alone --inputs row.json --f64").json()["values"].clone();
        for key in ["h", "g"] {
            for t in begin..until {
                close(&numbers(&all[key][t][row]), &numbers(&alone[key][t - begin][0]), 1e-12);
            }
        }
    }
    let carried = folder.rml("run l.rml --node carried --inputs i.json --f64").json()["values"].clone();
    close(&numbers(&carried["h"]), &numbers(&all["h"]), 1e-12);
}
