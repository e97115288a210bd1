//! Every node of the library is proved synchronous, and is accepted by all analyses, in all ways of calling it:
//! plainly, in windows, sampled, trained in every cycle, and trained on a condition.

use rml_analysis::Verdict;
use rml_driver::doc::library;
use rml_driver::{Options, Source};

/// A call of nodes of the library.
struct Call {
    module: &'static str,
    /// The inputs of the calling node; those of type num are differentiated.
    inputs: &'static str,
    /// Its equations, which define `y`.
    body: &'static str,
}

const fn call(module: &'static str, inputs: &'static str, body: &'static str) -> Call {
    Call { module, inputs, body }
}

const CALLS: &[Call] = &[
    call("attention", "x: num [2, 4]", "y = sliding_attention(4, 2, 3, x);"),
    call("attention", "x: num [3, 4]", "y = self_attention(4, 2, x);"),
    call("attention", "x: num [2, 4]", "y = attention_pool(x);"),
    call("environments", "r: num [2], t: bool [2]", "c, e, l, y = episodes(9.0, r, t);"),
    call("environments", "x: num [2], t: bool [2]", "y = episode_mean(0.9, 1.0, x, t);"),
    call("environments", "x: num [2], t: bool [2]", "y, _ = first_episodes(x, t);"),
    call("environments", "s: num [2, 4], a: int [2]", "y, r, t = cart_pole_step(s, a);"),
    call("environments", "a: int [2]", "y, r, t, u, s = cart_pole(9.0, a);"),
    call("environments", "a: int [2]", "y, r, t, u, s = cart_pole_hidden(9.0, a);"),
    call("environments", "s: num [2, 2], a: int [2]", "y, r, t = mountain_car_step(s, a);"),
    call("environments", "a: int [2]", "y, r, t, u, s = mountain_car(9.0, a);"),
    call("environments", "s: num [2, 2], a: num [2]", "y, r = pendulum_step(s, a);"),
    call("environments", "a: num [2]", "y, r, t, u, s = pendulum(9.0, a);"),
    call("environments", "s: num [2, 4], a: int [2]", "y, r, t = acrobot_step(s, a);"),
    call("environments", "a: int [2]", "y, r, t, u, s = acrobot(9.0, a);"),
    call("environments", "a: int [2]", "y, r, t, u, s = catch(a);"),
    call("environments", "a: int [2]", "y, r, t, u, s = t_maze(3.0, 9.0, a);"),
    call("experts", "x: num [3]", "y = mixture_of_experts(4, 2, 0.2, x);"),
    call("experts", "x: num [3]", "y = mixture_of_memories(2, 0.2, x);"),
    call("experts", "x: num [3]", "y = mixture(dense(2, _), 3, 0.2, x);"),
    call("layers", "x: num [2, 3]", "y = dense(2, x);"),
    call("layers", "x: num [2, 3]", "y = perceptron([4, 4, 3, 2], x);"),
    call("structure", "x: num [2, 3]", "y = repeat(gru(3, _), 3, x);"),
    call("structure", "x: num [2, 3]", "y = skip(dense(3, _), x);"),
    call("structure", "x: num [2, 3]", "y = ensemble(dense(2, _), 4, x);"),
    call("layers", "x: num [2, 3]", "y = mlp([4, 3, 2], x);"),
    call("layers", "x: num [2, 3]", "y = residual(4, x);"),
    call("layers", "x: num [2, 3]", "y = rnn(2, x);"),
    call("layers", "x: num [2, 3]", "y = lstm(2, x);"),
    call("layers", "x: num [2, 3]", "y = lstm_back(2, x);"),
    call("layers", "x: num [2, 3]", "y = bi_lstm(2, x);"),
    call("layers", "x: num [2, 3]", "y = gru(2, x);"),
    call("layers", "x: num [2, 3]", "y = gru_back(2, x);"),
    call("layers", "x: num [2, 3]", "y = bi_gru(2, x);"),
    call("layers", "x: num [2, 3], h: num [2, 2]", "y, c = lstm_cell(2, h, zeros([2, 2]) fby c, x);"),
    call("layers", "x: num [2, 3]", "y = causal_conv1d(2, 3, x);"),
    call("layers", "x: num [4, 4, 2]", "y = convolution(2, 3, 1, 0, x);"),
    call("layers", "i: int [2]", "y = embedding(5, 3, i);"),
    call("layers", "x: num [2, 3], on: bool []", "y = dropout(0.5, x, on);"),
    call("layers", "x: num [2, 3], on: bool [2], h0: num [2, 2]", "y, c = lstm_from(2, h0, h0, on, x);"),
    call("layers", "x: num [2, 3], on: bool [2], h0: num [2, 2]", "y = gru_from(2, h0, on, x);"),
    call("learning", "x: num [2], e: bool [2], v: num [2]", "y = next_values(x, e, v);"),
    call(
        "learning",
        "r: num [2], t: bool [2], e: bool [2], x: num [2]",
        "y = discounted_returns(0.9, r, t, e, x);",
    ),
    call(
        "learning",
        "r: num [2], t: bool [2], e: bool [2], v: num [2], x: num [2]",
        "y = generalised_advantages(0.9, 0.9, r, t, e, v, x);",
    ),
    call("learning", "x: num [2]", "y = standardised(x);"),
    call("learning", "x: num [2, 3]", "y = to_num(categorical(x));"),
    call("learning", "x: num [2, 3], a: int [2]", "y = categorical_log(x, a);"),
    call("learning", "x: num [2, 3]", "y = categorical_entropy(x);"),
    call("learning", "x: num [2, 3], s: num [2, 3]", "y = gaussian(x, s);"),
    call("learning", "x: num [2, 3], s: num [2, 3], a: num [2, 3]", "y = gaussian_log(x, s, a);"),
    call("learning", "x: num [2, 3]", "y = gaussian_entropy(x);"),
    call("learning", "x: num [2, 3]", "y = to_num(epsilon_greedy(0.1, x));"),
    call("learning", "p: num [2], h: num [2], w: num [2]", "y = policy_loss(0.1, p, h, w);"),
    call(
        "learning",
        "p: num [2], b: num [2], h: num [2], w: num [2]",
        "y = proximal_loss(0.2, 0.1, p, b, h, w);",
    ),
    call("learning", "r: num [2], t: bool [2], q: num [2, 3]", "y = q_target(0.9, r, t, q);"),
    call("learning", "x: num [3], c: bool []", "y = again(2, c, x when c);"),
    call("learning", "x: num [3], c: bool []", "y = held(c, x);"),
    call("learning", "x: num [2, 3]", "y = replayed(4, 5, x);"),
    call("losses", "x: num [3], t: num [3]", "y = mse(x, t);"),
    call("losses", "x: num [3], t: num [3]", "y = mae(x, t);"),
    call("losses", "x: num [3], t: num [3]", "y = huber(1.0, x, t);"),
    call("losses", "x: num [2, 3], t: int [2]", "y = cross_entropy(x, t);"),
    call("losses", "x: num [3], t: bool [3]", "y = bce_with_logits(x, t);"),
    call("losses", "x: num [3], t: bool [3]", "y = hinge(x, t);"),
    call("losses", "w: num [3], x: num [2, 3], t: int [2]", "y = weighted_cross_entropy(w, x, t);"),
    call("losses", "x: num [3]", "y = class_weights(x);"),
    call("losses", "x: num [2, 3], t: int [2]", "y = smoothed_cross_entropy(0.1, x, t);"),
    call("losses", "x: num [2, 3], t: int [2]", "y = focal_loss(2.0, x, t);"),
    call("losses", "x: num [3], t: bool [3]", "y = weighted_bce_with_logits(2.0, x, t);"),
    call("losses", "a: num [2, 3], b: num [2, 3], d: num [2, 3]", "y = triplet(1.0, a, b, d);"),
    call("losses", "a: num [2, 3], b: num [2, 3], t: bool [2]", "y = contrastive(1.0, a, b, t);"),
    call("losses", "a: num [2, 3], b: num [2, 3]", "y = info_nce(0.1, a, b);"),
    call("losses", "x: num [2, 3], t: int [2, 4], e: bool []", "y = merge e ctc(x, t, e) 0.0;"),
    call("losses", "x: num [2, 3], t: int [2]", "y = accuracy(x, t) + top_k_accuracy(2, x, t);"),
    call("losses", "x: num [3], t: bool [3]", "y = binary_accuracy(x, t);"),
    call(
        "metrics",
        "x: num [2, 3], t: int [2], e: bool []",
        "y = total_accuracy(confusion(3, argmax(x, -1), t, e));",
    ),
    call("metrics", "c: int [3, 3]", "y = precision(c) + recall(c) + f1(c) + macro_f1(c);"),
    call("metrics", "x: num [3], t: bool [3], e: bool []", "y = auc(9, x, t, e);"),
    call("normalisation", "x: num [2, 3]", "y = batch_norm(0.9, x, true);"),
    call("normalisation", "x: num [2, 3], last: bool []", "y = batch_norm(0.9, x, last);"),
    call("normalisation", "x: num [2, 3]", "y = batch_norm_eps(0.00001, 0.9, x, true);"),
    call("normalisation", "x: num [2, 3], last: bool []", "y = batch_norm_eps(0.00001, 0.9, x, last);"),
    call("normalisation", "x: num [2, 3]", "y = running_norm(0.9, x, true);"),
    call("normalisation", "x: num [2, 3], last: bool []", "y = running_norm(0.9, x, last);"),
    call("normalisation", "x: num [2, 3]", "y = batch_norm_rows(0.9, x);"),
    call("normalisation", "x: num [2, 3]", "y = layer_norm(x);"),
    call("normalisation", "x: num [2, 3]", "y = layer_norm_eps(0.00001, x);"),
    call("optimisers", "x: num [3]", "y = clip_value(1.0, x);"),
    call("optimisers", "x: num [3]", "y = clip_norm(1.0, x);"),
    call("optimisers", "x: num [3]", "y = group_sum(sum(x)) * x;"),
    call("optimisers", "x: num [3]", "y = adam_step(0.1, 0.9, 0.99, 0.001, x);"),
    call("optimisers", "x: num [3]", "y = averaged(0.9, x);"),
    call("schedules", "on: bool []", "y = step_decay(0.1, 0.5, 10, ticks(on));"),
    call("schedules", "on: bool []", "y = exponential_decay(0.1, 0.99, ticks(on));"),
    call("schedules", "on: bool []", "y = linear(1.0, 0.1, 100, ticks(on));"),
    call("schedules", "on: bool []", "y = cosine(0.1, 100, ticks(on)) * warm_up(10, ticks(on));"),
    call("schedules", "on: bool []", "y = warm_up_cosine(0.1, 10, 100, ticks(on));"),
    call("statistics", "x: num [3]", "y = running_mean(x);"),
    call("statistics", "x: num [3]", "m, v = running_var(x);\n  y = m + v;"),
    call("statistics", "x: num [2, 3]", "v, i = top_k(2, x);\n  y = v + to_num(i);"),
    call("statistics", "x: num [3]", "y = ema(0.9, x);"),
    call("statistics", "x: num [3, 3]", "y = logmatmulexp(x, x);"),
    call("time", "x: num [3]", "y = window(x);"),
    call("time", "x: num [3]", "y = last(3, x);"),
    call("time", "x: num [3]", "y = delay(3, x);"),
    call("time", "x: num [3], stop: bool []", "y = fby_end([3], stop, zeros([3]), x);"),
    call("time", "x: num [3], stop: bool []", "y = post_end([3], stop, zeros([3]), x);"),
    call("time", "x: num [3], stop: bool []", "y = backfill(x, stop);"),
    call("time", "x: num []", "y = over_time(x, true);"),
];

/// Definitions of `diff_param` with the optimisers.
const OPTIMISERS: &[&str] = &[
    "sgd(init, bp, do)",
    "momentum(0.9, init, bp, do)",
    "adam(0.01, 0.9, 0.999, 0.00000001, init, bp, do)",
    "adam(warm_up(10, ticks(bp when bp)), 0.9, 0.999, 0.00000001, init, bp, clip_norm(1.0, do))",
    "adamw(0.01, 0.9, 0.999, 0.00000001, 0.1, init, bp, do)",
    "rmsprop(0.01, 0.9, 0.00000001, init, bp, clip_value(1.0, do))",
    "adamw(0.01, 0.9, 0.999, 0.00000001, matrix_decay(0.1, init), init, bp, clip_global(1.0, bp, do))",
    "frozen(init, bp, do)",
    "sgd(init, due, d);\n  due, d = accumulated(2, bp, do)",
];

/// The names of the inputs, and whether they are differentiated.
fn inputs(list: &str) -> Vec<(&str, bool)> {
    let declared = list.split(", ").filter_map(|part| part.split_once(": "));
    declared.map(|(name, ty)| (name, ty.starts_with("num"))).collect()
}

/// Nodes that call `net`, one for each way of calling.
fn callers(list: &str) -> [(&'static str, String); 6] {
    let names = inputs(list);
    let args = |ending: &str| names.iter().map(|(n, _)| format!("{n}{ending}, ")).collect::<String>();
    let plain = args("");
    let plain = plain.trim_end_matches(", ");
    let sampled = args(" when on_c");
    let sampled = sampled.trim_end_matches(", ");
    let gradients = |pairs: bool| -> String {
        let one = |n: &str| if pairs { format!(", bp{n}, d{n}") } else { format!(", d{n}") };
        names.iter().filter(|(_, num)| *num).map(|(n, _)| one(n)).collect()
    };
    let (dx, bpdx) = (gradients(false), gradients(true));
    let main = |more: &str, outputs: &str, equations: &str| {
        format!("node main({list}{more}) -> ({outputs})\n{equations}")
    };
    [
        ("plain", main("", "y", &format!("  y = net({plain});\n"))),
        ("windowed", main(", end: bool []", "y", &format!("  y = net({plain}) every end;\n"))),
        ("sampled", main(", on_c: bool []", "y", &format!("  y = net({sampled});\n"))),
        (
            "trained",
            main(
                ", end: bool []",
                &format!("y{dx}"),
                &format!("  y{dx} = diff_net({plain}, true, y) every end;\n"),
            ),
        ),
        (
            "gated",
            main(
                ", end: bool [], bp: bool []",
                &format!("y{bpdx}"),
                &format!("  y{bpdx} = diff_net({plain}, bp, y when bp) every end;\n"),
            ),
        ),
        (
            "trained where sampled",
            main(
                ", on_c: bool [], end: bool [], bp: bool []",
                "y",
                &format!(
                    "  bpc = bp when on_c;\n  y{bpdx} = diff_net({sampled}, bpc, y when bpc) every (end when on_c);\n"
                ),
            ),
        ),
    ]
}

/// The errors of a program.
fn problem(text: &str) -> Option<String> {
    let options = Options { node: Some("main".into()), ..Options::default() };
    match rml_driver::analyse(&Source::text("test", text), &options) {
        Err(e) => Some(e.to_string()),
        Ok(analysis) => match &analysis.clocks.verdict {
            Verdict::Synchronous => analysis.findings().find(|d| d.is_error()).map(ToString::to_string),
            Verdict::Rejected(found) => Some(format!("rejected: {found}")),
            Verdict::Dynamic(found) => Some(format!("dynamic: {found}")),
        },
    }
}

#[test]
fn every_node_is_synchronous_however_it_is_called() {
    let mut problems = Vec::new();
    for Call { module, inputs, body } in CALLS {
        for (way, main) in callers(inputs) {
            let layers = "import std.layers (dense, gru, perceptron);";
            let text = format!("import std.{module};\n{layers}\nnode net({inputs}) -> (y)\n  {body}\n{main}");
            problems.extend(problem(&text).map(|p| format!("{way}: {p}\n{text}")));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_optimiser_is_synchronous_in_cycles_and_in_windows() {
    let mut problems = Vec::new();
    for optimiser in OPTIMISERS {
        for (way, main) in callers("x: num [2, 3]") {
            let text = format!(
                "import std.layers;\nimport std.optimisers;\nimport std.schedules;\nnode net(x: num [2, 3]) -> (y)\n  \
                 y = dense(2, x);\nnode diff_param(init, bp, do) -> (o)\n  o = {optimiser};\n{main}"
            );
            problems.extend(problem(&text).map(|p| format!("{way}: {p}\n{text}")));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn no_node_is_left_out() {
    let bodies = CALLS.iter().map(|c| c.body).chain(OPTIMISERS.iter().copied()).collect::<Vec<_>>().join(" ");
    let called: Vec<&str> = bodies.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    for module in library() {
        for node in module.nodes.iter().filter(|n| !n.private) {
            let name = node.name.strip_prefix("diff_").unwrap_or(&node.name);
            assert!(
                name == "param" || called.contains(&name),
                "{}.{} is not called here",
                module.name,
                node.name
            );
        }
    }
}
