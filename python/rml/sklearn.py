"""Estimators of scikit-learn that train a program: `Classifier` and `Regressor`.

>>> from rml.sklearn import Classifier
>>> from sklearn.datasets import load_iris
>>> X, y = load_iris(return_X_y=True)
>>> found = Classifier(scale=True, random_state=0).fit(X, y)
>>> found.score(X, y) > 0.95, found.n_features_in_, found.loss_curve_[-1] < found.loss_curve_[0]
(True, 4, True)

scikit-learn is optional: only this module imports it.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

# first, since it says what to install
from ._estimator import _Array, _Estimator, _weights
from ._perceptrons import CLASSIFIER, REGRESSOR
from ._program import Port

from scipy.special import log_softmax, softmax  # type: ignore[import-untyped]
from sklearn.base import ClassifierMixin, RegressorMixin  # type: ignore[import-untyped]
from sklearn.utils import column_or_1d  # type: ignore[import-untyped]
from sklearn.utils.metaestimators import available_if  # type: ignore[import-untyped]
from sklearn.utils.multiclass import check_classification_targets  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

__all__ = ["CLASSIFIER", "REGRESSOR", "Classifier", "Regressor"]


def _has_logits(classifier: Any) -> bool:
    """Whether the output is logits, as far as is known."""
    return not getattr(classifier, "_finds_classes", False)


class Classifier(ClassifierMixin, _Estimator):  # type: ignore[misc]
    """A classifier that trains a program.

    `program` is a text, the path of a file, or a compiled `Program`, whose settings it takes along; without one, it is
    the perceptron `rml.sklearn.CLASSIFIER`. Its node `node` is trained and its node `infer` predicts. Rows of `X` feed
    the input `input`. Classes feed the input `target` as the numbers 0, 1, .., or as truth values or cases of an
    enumeration, as it is declared. `sample_weight`, divided by its mean, feeds the input `weight`; a program without
    this input takes no `sample_weight`. `output` names the output of `infer` that is used, `logits` by default: a logit
    for each class, a single logit where there are two classes, or the number of the class as an `int`.

    `set` gives static parameters and constants. If the program has them, `features` and `classes` are set from the
    data. `GridSearchCV` varies one of them as `set__units`.

    `epochs` is how many epochs are trained, `batch` how many rows are stacked. `random_state` is the seed; the same
    seed gives the same bits. `scale` standardises the input by the rows that are trained on. `validate` keeps rows
    apart, a share, a number or `"last:0.2"`; `patience` ends the training after that many epochs without a better one
    by `metric`, the loss by default. With one of both, the parameters are those of the best epoch. `shuffle`,
    `precision`, `backend`, `device` and `threads` are as for `rml.train`.

    `X` may be windows in place of rows, for recurrent programs: an array `[n, cycles, features]`, or a list of arrays
    `[cycles, features]` of different lengths.

    After `fit`, there are `classes_`, `n_features_in_`, `n_iter_`, `loss_curve_`, `validation_curve_`, `best_epoch_`,
    `params_` (parameters by path), `states_` (all states, for `rml.infer` and sessions), `set_` (all settings),
    `seed_` and `program_` (the text). `save` writes a checkpoint for the command line.

    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 60)[:, None]
    >>> y = np.where(X[:, 0] > 0, "right", "left")
    >>> found = Classifier(set={"units": 8}, random_state=0).fit(X, y)
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
                cases = ", ".join(port.cases)
                raise ValueError(f"`{port}` has no case for the classes {', '.join(unknown)}, only {cases}")
            self._numbers = np.array([port.cases.index(name) for name in names])
            return label.astype(str), None
        # the checkpoint holds the names, where they can be written
        named = all(name and not re.search(r'["\\\n]', name) for name in names)
        return (label.astype(str), {self.target: names}) if named else (y, None)


class Regressor(RegressorMixin, _Estimator):  # type: ignore[misc]
    """A regressor that trains a program.

    All is as for `Classifier`, but for the targets: `y` feeds the input `target` as numbers, one for each row, or
    several if `y` has two dimensions. `output` names the output of `infer` that is the prediction, `o` by default.
    Without `program`, it is the perceptron `rml.sklearn.REGRESSOR`.

    If the program has them, the static parameters `features`, `outputs` (how many targets a row has), `y_mean` and
    `y_deviation` are set from the data. The default program brings targets to the mean 0 and the deviation 1 by the
    last two: weighted by `sample_weight`, of all rows of `fit`, those for validation included.

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
