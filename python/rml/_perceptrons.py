"""The default programs of `rml.sklearn`, as text."""

_HEAD = """\
const units = 32;
const rate = 0.01;

node diff_param(init, bp, do) -> (o)
  o = adam(rate, 0.9, 0.999, 0.00000001, init, bp, do);
"""

CLASSIFIER = f"""(* The default program of `rml.sklearn.Classifier`: a perceptron with one hidden layer. *)

import std.layers;
import std.losses;
import std.optimisers;

{_HEAD}
node net(classes, x: num [batch, features]) -> (logits: num [batch, classes])
  h = relu(dense(units, x));
  logits = dense(classes, h);

(* Cross entropy; each row counts as much as its weight, whose mean is 1. *)
node weighted(logits: num [batch, classes], y: int [batch], w: num [batch]) -> (loss: num [])
  loss = -mean(w * pick(log_softmax(logits), y));

node train(classes, x: num [batch, features], y: int [batch], w: num [batch])
    -> (loss: num [], accuracy: num [])
  logits, _ = diff_net(classes, x, true, dlogits);
  loss, dlogits, _ = diff_weighted(logits, y, w, true, -1.0);
  accuracy = accuracy(logits, y);

node infer(classes, x: num [batch, features], y: int [batch], w: num [batch])
    -> (logits: num [batch, classes], loss: num [], accuracy: num [])
  logits = net(classes, x);
  loss = weighted(logits, y, w);
  accuracy = accuracy(logits, y);
"""
"""The default program of `Classifier`, a perceptron with one hidden layer."""

REGRESSOR = f"""(* The default program of `rml.sklearn.Regressor`: a perceptron with one hidden layer. *)

import std.layers;
import std.optimisers;

{_HEAD}
(* The scale of the targets, set from the data. *)
const y_mean = 0.0;
const y_deviation = 1.0;

node net(outputs, x: num [batch, features]) -> (z: num [batch, outputs])
  h = relu(dense(units, x));
  z = dense(outputs, h);

(* Squared error, in units of the deviation; each row counts as much as its weight, whose mean is 1. *)
node weighted(z: num [batch, outputs], y: num [batch, outputs], w: num [batch]) -> (loss: num [])
  error = z - (y - y_mean) / y_deviation;
  loss = mean(expand_dims(w, -1) * error * error);

node train(outputs, x: num [batch, features], y: num [batch, outputs], w: num [batch])
    -> (loss: num [])
  z, _ = diff_net(outputs, x, true, dz);
  loss, dz, _, _ = diff_weighted(z, y, w, true, -0.5);

node infer(outputs, x: num [batch, features], y: num [batch, outputs], w: num [batch])
    -> (o: num [batch, outputs], loss: num [])
  z = net(outputs, x);
  o = y_mean + y_deviation * z;
  loss = weighted(z, y, w);
"""
"""The default program of `Regressor`, a perceptron with one hidden layer."""
