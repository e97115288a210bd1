//! Recurrent layers and states.

use rml_import::{Options, StateOption};

use super::support::{Attr, Net, Running, close, nums, ramp};

/// A layer of one unit with one input; weights of all gates are 1, biases 0.
fn layer(op: &str, gates: i64, attrs: &[(&str, Attr<'_>)], time: &str) -> Net {
    let ones = vec![1.0; usize::try_from(gates).unwrap()];
    Net::new(14)
        .input("x", &[time, "1", "1"])
        .tensor("w", &[1, gates, 1], &ones)
        .tensor("r", &[1, gates, 1], &ones)
        .node(op, "x w r", "y h", attrs)
        .output("y")
        .output("h")
}

#[test]
fn an_rnn_goes_over_time() {
    let net = layer("RNN", 1, &[("hidden_size", Attr::Int(1))], "3");
    let made = net.run(&[("x", nums(&[3, 1, 1], &[1.0, 0.0, -1.0]))]);
    let first = 1.0_f64.tanh();
    let second = first.tanh();
    let third = (second - 1.0).tanh();
    close(&made["y"], &[first, second, third]);
    close(&made["h"], &[third]);
    assert!(net.program().program.contains("along (0, _)"), "{}", net.program().program);
}

#[test]
fn a_reverse_layer_begins_at_the_end() {
    let attrs = || [("hidden_size", Attr::Int(1)), ("direction", Attr::Text("reverse"))];
    let made = layer("RNN", 1, &attrs(), "2").run(&[("x", nums(&[2, 1, 1], &[1.0, 0.5]))]);
    let last = 0.5_f64.tanh();
    close(&made["y"], &[(1.0 + last).tanh(), last]);
    close(&made["h"], &[(1.0 + last).tanh()]);
}

#[test]
fn an_lstm_of_one_step_is_a_cell() {
    let net = layer("LSTM", 4, &[("hidden_size", Attr::Int(1))], "1");
    let made = net.run(&[("x", nums(&[1, 1, 1], &[0.5]))]);
    let gate = 1.0 / (1.0 + (-0.5_f64).exp());
    let cell = gate * 0.5_f64.tanh();
    close(&made["y"], &[gate * cell.tanh()]);
    assert!(!net.program().program.contains("along"), "{}", net.program().program);
}

#[test]
fn the_reset_of_a_gru_acts_before_or_after_the_product() {
    for reset in [0, 1] {
        let net =
            layer("GRU", 3, &[("hidden_size", Attr::Int(1)), ("linear_before_reset", Attr::Int(reset))], "2");
        let made = net.run(&[("x", nums(&[2, 1, 1], &[1.0, 1.0]))]);
        // With one unit, and no bias, both are r h.
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let step = |x: f64, h: f64| {
            let gate = sigmoid(x + h);
            (1.0 - gate) * (x + gate * h).tanh() + gate * h
        };
        let first = step(1.0, 0.0);
        close(&made["y"], &[first, step(1.0, first)]);
    }
}

/// `hn = tanh(x + h)`, as exporters write a layer that runs frame by frame.
fn frame(state: (&str, &str)) -> Net {
    Net::new(14)
        .input("x", &["2"])
        .input(state.0, &["2"])
        .node("Add", &format!("x {}", state.0), "sum", &[])
        .node("Tanh", "sum", state.1, &[])
        .node("Neg", state.1, "y", &[])
        .output("y")
        .output(state.1)
}

#[test]
fn an_input_and_its_next_value_are_a_state() {
    let model = frame(("h", "hn")).program();
    assert_eq!(model.states, [("h".to_owned(), "hn".to_owned())]);
    assert!(model.program.contains("h = zeros([2]) fby hn;"), "{}", model.program);
    let mut running = Running::of(&model);
    let first = running.step(&[("x", ramp(&[2], 1.0))]);
    close(&first["y"], &[0.0, -(1.0_f64.tanh())]);
    let second = running.step(&[("x", ramp(&[2], 1.0))]);
    close(&second["y"], &[0.0, -((1.0 + 1.0_f64.tanh()).tanh())]);
}

#[test]
fn states_are_paired_by_flags_too() {
    let net = frame(("memory", "result"));
    assert!(net.program().states.is_empty());
    let pairs = vec![("memory".to_owned(), "result".to_owned())];
    let given = Options { states: StateOption::Given(pairs), ..Options::default() };
    assert_eq!(net.import(&given).unwrap().inputs.len(), 1);
    let unknown = vec![("memory".to_owned(), "nothing".to_owned())];
    let given = Options { states: StateOption::Given(unknown), ..Options::default() };
    let error = net.import(&given).unwrap_err().to_string();
    assert!(error.contains("no output `nothing`") && error.contains("y, result"), "{error}");
    let none = Options { states: StateOption::None, ..Options::default() };
    assert_eq!(frame(("h", "hn")).import(&none).unwrap().inputs.len(), 2);
}

#[test]
fn names_of_different_shapes_are_no_state() {
    let net = Net::new(14)
        .input("x", &["2"])
        .input("h", &["2"])
        .node("Concat", "h x", "hn", &[("axis", Attr::Int(0))])
        .output("hn");
    let model = net.program();
    assert!(model.states.is_empty() && model.inputs.len() == 2, "{}", model.program);
}

#[test]
fn the_only_input_is_no_state() {
    let net =
        Net::new(14).input("data_in", &["2"]).node("Neg", "data_in", "data_out", &[]).output("data_out");
    assert!(net.program().states.is_empty());
}
