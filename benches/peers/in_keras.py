"""The jobs in Keras on JAX: `train_on_batch` of a model of two layers."""

import keras
import numpy as np


def gates(value, order):
    parts = np.split(value, len(order), -1)
    return np.concatenate([parts[i] for i in order], -1)


def network(name, h, parameters, x, y):
    layers, dense = parameters
    weights = []
    for p in layers:
        # Keras has input, forget, candidate, output; for a GRU the same order as here.
        order = [0, 1, 2] if name == "gru" else [1, 0, 3, 2]
        bias = np.stack([p["bias"], p["recurrent_bias"]]) if name == "gru" else gates(p["bias"], order)
        weights += [gates(p["kernel"], order), gates(p["recurrent"], order), bias]
    if name == "bi_lstm":
        layer = keras.layers.Bidirectional(keras.layers.LSTM(h, return_sequences=True))
    else:
        layer = (keras.layers.GRU if name == "gru" else keras.layers.LSTM)(h)
    model = keras.Sequential([keras.Input(x.shape[1:]), layer, keras.layers.Dense(10)])
    model.set_weights([*weights, dense["kernel"], dense["bias"]])
    rate = 0.05 * x.shape[1] / 32 if name == "bi_lstm" else 0.05
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=keras.optimizers.SGD(rate), loss=loss)
    # Keras gives the mean of the losses since it was asked to forget them.
    return lambda: (model.reset_metrics(), model.train_on_batch(x, y))[1]
