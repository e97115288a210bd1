"""Estimators of scikit-learn that train a program: `Classifier` and `Regressor`.

>>> from rml.sklearn import Classifier
>>> from sklearn.datasets import load_iris
>>> X, y = load_iris(return_X_y=True)
>>> found = Classifier(scale=True, random_state=0).fit(X, y)
>>> found.score(X, y) > 0.95, found.n_features_in_, found.loss_curve_[-1] < found.loss_curve_[0]
(True, 4, True)

scikit-learn is optional: only this module imports it. `pip install "rml[sklearn]"` installs both.
"""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path as _Path
from typing import Any, Iterator, Mapping

import numpy as np

try:
    from scipy.special import log_softmax, softmax  # type: ignore[import-untyped]
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin  # type: ignore[import-untyped]
    from sklearn.utils import check_random_state, check_X_y, column_or_1d  # type: ignore[import-untyped]
    from sklearn.utils.metaestimators import available_if  # type: ignore[import-untyped]
    from sklearn.utils.multiclass import check_classification_targets  # type: ignore[import-untyped]
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data  # type: ignore[import-untyped]
except ImportError as why:
    raise ImportError("rml.sklearn needs scikit-learn 1.6 or later: pip install scikit-learn") from why

from ._data import Path, States
from ._errors import Error, Warning
from ._program import Port, Program, compile
from ._train import Report, infer, train
from ._weights import load

__all__ = ["CLASSIFIER", "REGRESSOR", "Classifier", "Regressor"]

_Array = np.ndarray[Any, Any]

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
  logits = dense(classes, relu(dense(units, x)));

(* Cross entropy; each row counts as much as its weight, whose mean is 1. *)
node weighted(logits: num [batch, classes], y: int [batch], w: num [batch]) -> (loss: num [])
  loss = -mean(w * pick(log_softmax(logits), y));

node train(classes, x: num [batch, features], y: int [batch], w: num [batch]) -> (loss: num [], accuracy: num [])
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
  z = dense(outputs, relu(dense(units, x)));

(* Squared error, in units of the deviation; each row counts as much as its weight, whose mean is 1. *)
node weighted(z: num [batch, outputs], y: num [batch, outputs], w: num [batch]) -> (loss: num [])
  error = z - (y - y_mean) / y_deviation;
  loss = mean(expand_dims(w, -1) * error * error);

node train(outputs, x: num [batch, features], y: num [batch, outputs], w: num [batch]) -> (loss: num [])
  z, _ = diff_net(outputs, x, true, dz);
  loss, dz, _, _ = diff_weighted(z, y, w, true, -0.5);

node infer(outputs, x: num [batch, features], y: num [batch, outputs], w: num [batch])
    -> (o: num [batch, outputs], loss: num [])
  z = net(outputs, x);
  o = y_mean + y_deviation * z;
  loss = weighted(z, y, w);
"""
"""The default program of `Regressor`, a perceptron with one hidden layer."""


class _Estimator(BaseEstimator):  # type: ignore[misc]
    """What both estimators share: their parameters, training, and inference."""

    _default = ""
    _output = ""

    def __init__(
        self,
        program: str | os.PathLike[str] | Program | None = None,
        *,
        set: Mapping[str, Any] | None = None,
        epochs: int = 200,
        batch: int = 200,
        random_state: Any = None,
        scale: bool = False,
        validate: int | float | str | None = None,
        patience: int | None = None,
        metric: str | None = None,
        shuffle: bool = True,
        precision: str = "f64",
        node: str = "train",
        infer: str = "infer",
        input: str = "x",
        target: str = "y",
        weight: str = "w",
        output: str | None = None,
        backend: str = "cpu",
        device: str = "cpu",
        threads: int | None = None,
    ) -> None:
        self.program = program
        self.set = set
        self.epochs = epochs
        self.batch = batch
        self.random_state = random_state
        self.scale = scale
        self.validate = validate
        self.patience = patience
        self.metric = metric
        self.shuffle = shuffle
        self.precision = precision
        self.node = node
        self.infer = infer
        self.input = input
        self.target = target
        self.weight = weight
        self.output = output
        self.backend = backend
        self.device = device
        self.threads = threads

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with `deep`, also each setting in `set`, as `set__units`."""
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep and isinstance(self.set, Mapping):
            params.update({f"set__{name}": value for name, value in self.set.items()})
        return params

    def set_params(self, **params: Any) -> Any:
        """Sets parameters by name. `set__units=64` changes one setting in `set`, or adds it."""
        settings = {name[len("set__") :]: params.pop(name) for name in list(params) if name.startswith("set__")}
        super().set_params(**params)
        if settings:
            self.set = {**(self.set or {}), **settings}
        return self

    def save(self, path: Path) -> None:
        """Writes a checkpoint, which `rml infer --params` and `rml.infer(.., params=path)` read."""
        check_is_fitted(self)
        _Path(path).write_bytes(self.checkpoint_)

    def _fit(self, x: Any, y: _Array, label: _Array, weights: Any, offers: dict[str, Any]) -> None:
        """Trains. `y` is the targets as numbers, `label` as they were given; `offers` are static parameters for programs
        that have them."""
        for name in ("epochs", "batch"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < 1:
                raise ValueError(f"{name} is a number, at least 1, not {value!r}")
        source = self._source()
        offers = {"batch": min(int(self.batch), len(y)), "features": self.n_features_in_, **offers}
        program, settings = self._compiled(source, self.node, dict(self.set or {}), offers)
        ports = {port.name: port for port in program.inputs}
        for name in (self.input, self.target):
            if name not in ports:
                raise ValueError(f"node `{self.node}` has no input `{name}`, only {_names(program.inputs)}")
        data = {self.input: _fed(x, ports[self.input])}
        data[self.target], classes = self._targets(y, label, ports[self.target])
        if self.weight in ports:
            data[self.weight] = np.ones(len(y)) if weights is None else weights / weights.mean()
        elif weights is not None:
            raise ValueError(f"node `{self.node}` has no input `{self.weight}`, so sample_weight has no effect: {program!r}")
        inference, inferred = self._compiled(source, self.infer, {}, settings)
        scored = next((port for port in inference.outputs if port.name == self._scored), None)
        if scored is None:
            raise ValueError(f"node `{self.infer}` has no output `{self._scored}`, only {_names(inference.outputs)}")
        batch = settings.pop("batch", None)
        seed = self._seed()
        with tempfile.TemporaryDirectory() as folder, _without("missing-column", "bad-option.*: batches of"):
            last, best = os.path.join(folder, "last.safetensors"), os.path.join(folder, "best.safetensors")
            keeps_best = self.validate is not None or self.patience is not None
            report = train(
                source,
                data,
                name=self._name,
                node=self.node,
                evaluate=self.infer if self.validate is not None else False,
                set=settings,
                batch=batch,
                epochs=int(self.epochs),
                seed=seed,
                test=0,
                validate=self.validate,
                patience=self.patience,
                metric=self.metric,
                shuffle=None if self.shuffle else False,
                precision=self.precision,
                classes=classes,
                standardise=self.input if self.scale else (),
                save=last,
                save_every=0,
                best=best if keeps_best else None,
                backend=self.backend,
                device=self.device,
                threads=self.threads,
            ).run()
            path = best if keeps_best else last
            self.checkpoint_ = _Path(path).read_bytes()
            self.states_: States = load(path)
        self.params_ = {path: self.states_[path] for path in report.parameters}
        self.program_ = program.text
        # a text is enough for inference, unless it imports other files
        self._runs = source if re.search(r'^\s*import\s+"', program.text, re.MULTILINE) else program.text
        self._stacks = inferred.pop("batch", None) is not None
        self._port, self._finds_classes = ports[self.input], scored.dtype == "int"
        self.set_, self._infers, self.seed_ = settings, inferred, seed
        self._remember(report)

    def _remember(self, report: Report) -> None:
        self.n_iter_ = len(report.epochs)
        self.loss_curve_ = [epoch.train["loss"] for epoch in report.epochs if "loss" in epoch.train]
        self.best_epoch_ = None if report.best is None else report.best.epoch
        self.validation_curve_ = None
        if self.validate is not None:
            name = (self.metric or "loss").partition(":")[0].rpartition(".")[2]
            self.validation_curve_ = [epoch.validation.get(name, np.nan) for epoch in report.epochs]

    def _infer(self, X: Any) -> _Array:
        """The output for each row or window."""
        check_is_fitted(self)
        x, _ = self._checked(X, reset=False)
        rows = len(x)
        with _without("missing-column"):
            outputs = infer(
                self._runs,
                {self.input: _fed(x, self._port)},
                name=self._name,
                params=self.states_,
                node=self.infer,
                set=self._infers,
                batch=min(int(self.batch), rows) if self._stacks else None,
                precision=self.precision,
                split="all",
                backend=self.backend,
                device=self.device,
                threads=self.threads,
            ).outputs
        found = None if outputs is None else outputs.get(self._scored)
        if found is None or len(found) != rows or found.ndim > 2 or isinstance(found, np.ma.MaskedArray):
            raise ValueError(
                f"expected one value of `{self._scored}` for each of {rows} rows, such as num [batch, 3] when end; "
                f"found {'none' if found is None else f'shape {found.shape}'}"
            )
        return found

    def _compiled(
        self, source: Any, node: str, settings: dict[str, Any], offers: dict[str, Any]
    ) -> tuple[Program, dict[str, Any]]:
        """A node with its settings, and with the offers that it has static parameters for."""
        if isinstance(self.program, Program) and node == self.node:
            settings = {**self.program._options["set"], **settings}
        offers = {name: value for name, value in offers.items() if name not in settings}
        while True:
            try:
                with _without(".*"):
                    made = {**settings, **offers}
                    program = compile(source, node=node, set=made, precision=self.precision, name=self._name)
                return program, made
            except Error as error:
                unused = {name for name in offers for found in error.findings if _is_unused(found.message, name)}
                if error.code != "unused-setting" or not unused:
                    raise
                offers = {name: value for name, value in offers.items() if name not in unused}

    def _source(self) -> Any:
        if self.program is None:
            return self._default
        return self.program._source if isinstance(self.program, Program) else self.program

    @property
    def _name(self) -> str | None:
        return f"<rml.sklearn.{type(self).__name__}>" if self.program is None else None

    @property
    def _scored(self) -> str:
        return self._output if self.output is None else self.output

    def _seed(self) -> int:
        """An integer is the seed itself; a generator draws one."""
        state = check_random_state(self.random_state)
        return int(self.random_state if isinstance(self.random_state, Integral) else state.randint(2**31 - 1))

    def _checked(self, X: Any, y: Any = "no_validation", **options: Any) -> tuple[Any, Any]:
        """Rows, or windows of rows, and the targets."""
        if self.program is None or not _is_windows(X):
            found = validate_data(self, X, y, dtype="numeric", **options)
            return found if isinstance(found, tuple) else (found, None)
        windows = list(X)
        shapes = [np.shape(window) for window in windows]
        if len({(len(shape), shape[-1]) for shape in shapes}) > 1:
            raise ValueError(f"windows have rows of different shapes: {', '.join(map(str, sorted(set(shapes))))}")
        rows = np.concatenate([np.reshape(window, (-1, shape[-1])) for window, shape in zip(windows, shapes)])
        rows = validate_data(self, rows, dtype="numeric", reset=options.pop("reset", True))
        ends = np.cumsum([int(np.prod(shape[:-1])) for shape in shapes])[:-1]
        parts = [part.reshape(shape) for part, shape in zip(np.split(rows, ends), shapes)]
        if not isinstance(y, str):
            _, y = check_X_y(np.zeros((len(parts), 1)), y, estimator=self, **options)
        return (parts if len(set(shapes)) > 1 else np.stack(parts)), y


def _has_logits(classifier: Any) -> bool:
    """Whether the output is logits, as far as is known."""
    return not getattr(classifier, "_finds_classes", False)


class Classifier(ClassifierMixin, _Estimator):  # type: ignore[misc]
    """A classifier that trains a program.

    `program` is a text, the path of a file, or a compiled `Program`, whose settings it takes along; without one, it is
    the perceptron `rml.sklearn.CLASSIFIER`. Its node `node` is trained and its node `infer` predicts. Rows of `X` feed
    the input `input`, classes the input `target` as the numbers 0, 1, .. (or as truth values or cases of an enumeration,
    as it is declared), and `sample_weight`, divided by its mean, the input `weight`. `output` names the output of `infer`
    that is used, `logits` by default: a logit for each class, a single logit where there are two classes, or the number
    of the class as an `int`. A program without the input `weight` takes no `sample_weight`.

    `set` gives static parameters and constants. If the program has them, `features` and `classes` are set from the data.
    `GridSearchCV` varies one of them as `set__units`.

    `epochs` is how many epochs are trained, `batch` how many rows are stacked. `random_state` is the seed; the same seed
    gives the same bits. `scale` standardises the input by the rows that are trained on. `validate` keeps rows apart, a
    share, a number or `"last:0.2"`; `patience` ends the training after that many epochs without a better one by
    `metric`, the loss by default. With one of both, the parameters are those of the best epoch. `shuffle`, `precision`,
    `backend`, `device` and `threads` are as for `rml.train`.

    `X` may be windows in place of rows, for recurrent programs: an array `[n, cycles, features]`, or a list of arrays
    `[cycles, features]` of different lengths.

    After `fit`, there are `classes_`, `n_features_in_`, `n_iter_`, `loss_curve_`, `validation_curve_`, `best_epoch_`,
    `params_` (parameters by path), `states_` (all states, for `rml.infer` and sessions), `set_` (all settings),
    `seed_` and `program_` (the text). `save` writes a checkpoint for the command line.

    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 60)[:, None]
    >>> y = np.where(X[:, 0] > 0, "right", "left")
    >>> found = Classifier(set={"units": 8}, epochs=100, random_state=0).fit(X, y)
    >>> found.predict([[-0.9], [0.9]])
    array(['left', 'right'], dtype='<U5')
    """

    _default = CLASSIFIER
    _output = "logits"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Classifier:
        """Trains the program from its initial values."""
        x, y = self._checked(X, y)
        check_classification_targets(y)
        y = column_or_1d(y)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        weights = _weights(sample_weight, y)
        self._fit(x, numbers.astype(np.int64), y, weights, {"classes": len(self.classes_)})
        return self

    @available_if(_has_logits)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> _Array:
        """The logits, one column for each class; for two classes, how much larger that of the second class is."""
        logits = self._logits(X)
        return logits[:, 1] - logits[:, 0] if len(self.classes_) == 2 else logits

    @available_if(_has_logits)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> _Array:
        """The softmax of the logits: the probability of each class."""
        found: _Array = softmax(self._logits(X), axis=1)
        return found

    @available_if(_has_logits)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> _Array:
        """The logarithm of the probability of each class."""
        found: _Array = log_softmax(self._logits(X), axis=1)
        return found

    def predict(self, X: Any) -> _Array:
        """The class of each row or window."""
        check_is_fitted(self)
        if _has_logits(self):
            places = self._logits(X).argmax(axis=1)
        else:
            place = {int(number): n for n, number in enumerate(self._numbers)}
            places = np.array([place.get(int(number), -1) for number in self._infer(X).reshape(-1)])
            if (places < 0).any():
                raise ValueError(f"`{self._scored}` found a class that is not among those of fit")
        found: _Array = self.classes_[places]
        return found

    def _logits(self, X: Any) -> _Array:
        """A logit for each class of `classes_`."""
        found = self._infer(X)
        if found.ndim == 1 or found.shape[1] == 1:
            found = found.reshape(-1, 1)
            if len(self.classes_) == 2:
                # one logit decides between two classes
                return np.hstack([np.zeros_like(found), found])
        if found.shape[1] <= self._numbers.max():
            raise ValueError(f"`{self._scored}` has {found.shape[1]} logits, and y has {len(self.classes_)} classes")
        logits: _Array = found[:, self._numbers]
        return logits

    def _targets(self, y: _Array, label: _Array, port: Port) -> tuple[Any, dict[str, list[str]] | None]:
        self._numbers = np.arange(len(self.classes_))
        if port.dtype == "bool":
            if len(self.classes_) > 2:
                raise ValueError(f"`{port}` has two classes, and y has {len(self.classes_)}")
            return y.astype(bool), None
        if not all(isinstance(name, str) for name in self.classes_):
            return y, None
        names = self.classes_.tolist()
        if port.cases:
            unknown = sorted({*names} - {*port.cases})
            if unknown:
                raise ValueError(f"`{port}` has no case for the classes {', '.join(unknown)}, only {', '.join(port.cases)}")
            self._numbers = np.array([port.cases.index(name) for name in names])
            return label.astype(str), None
        # the checkpoint holds the names, where they can be written
        named = all(name and not re.search(r'["\\\n]', name) for name in names)
        return (label.astype(str), {self.target: names}) if named else (y, None)


class Regressor(RegressorMixin, _Estimator):  # type: ignore[misc]
    """A regressor that trains a program.

    All is as for `Classifier`, but for the targets: `y` feeds the input `target` as numbers, one for each row, or several
    if `y` has two dimensions. `output` names the output of `infer` that is the prediction, `o` by default. Without
    `program`, it is the perceptron `rml.sklearn.REGRESSOR`.

    If the program has them, the static parameters `features`, `outputs` (how many targets a row has), `y_mean` and
    `y_deviation` are set from the data. The default program brings targets to the mean 0 and the deviation 1 by the last
    two: weighted by `sample_weight`, of all rows of `fit`, those for validation included.

    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 60)[:, None]
    >>> found = Regressor(random_state=0).fit(X, 1000 + 50 * X[:, 0])
    >>> found.score(X, 1000 + 50 * X[:, 0]) > 0.99
    True
    """

    _default = REGRESSOR
    _output = "o"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Regressor:
        """Trains the program from its initial values."""
        x, y = self._checked(X, y, multi_output=True, y_numeric=True)
        y = y.astype(np.float64)
        weights = _weights(sample_weight, y)
        mean = np.average(y, axis=0, weights=weights)
        deviation = np.sqrt(np.average((y - mean) ** 2, axis=0, weights=weights))
        self._wide = y.ndim > 1
        offers = {
            "outputs": y.shape[1] if self._wide else 1,
            "y_mean": mean.tolist(),
            "y_deviation": np.where(deviation > 0, deviation, 1.0).tolist(),
        }
        self._fit(x, y, y, weights, offers)
        return self

    def predict(self, X: Any) -> _Array:
        """The prediction for each row or window."""
        found = self._infer(X)
        return found.reshape(len(found), -1) if self._wide else found.reshape(len(found))

    def _targets(self, y: _Array, label: _Array, port: Port) -> tuple[Any, dict[str, list[str]] | None]:
        wide = len(port.shape) - port.batched
        if wide == 0 and y.ndim == 2 and y.shape[1] == 1:
            return y[:, 0], None
        return (y[:, None] if wide == 1 and y.ndim == 1 else y), None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _weights(sample_weight: Any, y: _Array) -> _Array | None:
    """One weight for each row, not all zero."""
    if sample_weight is None:
        return None
    weights: _Array = _check_sample_weight(sample_weight, np.zeros((len(y), 1)), dtype=np.float64, ensure_non_negative=True)
    if not weights.any():
        raise ValueError("all weights in sample_weight are 0")
    return weights


def _is_windows(X: Any) -> bool:
    """Whether X has a sequence of rows in place of each row."""
    if getattr(X, "ndim", None) not in (None, 1):
        return bool(X.ndim > 2)
    ragged = isinstance(X, (list, tuple)) or (isinstance(X, np.ndarray) and X.dtype == object)
    return ragged and len(X) > 0 and all(hasattr(window, "__len__") and np.ndim(window) > 1 for window in X)


def _fed(x: Any, port: Port) -> Any:
    """Rows or windows in the type of an input."""
    if isinstance(x, list):
        return [_fed(window, port) for window in x]
    if port.dtype == "num":
        return x.astype(np.float64)
    numbers = x.astype(np.int64)
    if (numbers != x).any():
        raise ValueError(f"`{port}` takes integers, and X has other numbers")
    return numbers if port.dtype == "int" else numbers.astype(bool)


def _is_unused(message: str, name: str) -> bool:
    return f"`{name}`" in message


def _names(ports: tuple[Port, ...]) -> str:
    return ", ".join(f"`{port.name}`" for port in ports) or "none"


@contextmanager
def _without(*codes: str) -> Iterator[None]:
    """Keeps warnings of these codes to itself."""
    with warnings.catch_warnings():
        for code in codes:
            warnings.filterwarnings("ignore", rf"warning\[{code}", Warning)
        yield
