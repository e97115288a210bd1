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

import os
import re
from typing import Any, Mapping

import numpy as np

# first, since it says what to install
from ._estimator import _Array, _Estimator, _weights
from ._perceptrons import CLASSIFIER, REGRESSOR
from ._program import Port, Program

from scipy.special import log_softmax, softmax  # type: ignore[import-untyped]
from sklearn.base import ClassifierMixin, RegressorMixin  # type: ignore[import-untyped]
from sklearn.utils import column_or_1d  # type: ignore[import-untyped]
from sklearn.utils.class_weight import compute_class_weight  # type: ignore[import-untyped]
from sklearn.utils.metaestimators import available_if  # type: ignore[import-untyped]
from sklearn.utils.multiclass import (  # type: ignore[import-untyped]
    _check_partial_fit_first_call,
    check_classification_targets,
)
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
    this input takes no `sample_weight`. `class_weight` gives the rows of a class a weight, which is multiplied with
    theirs: a dict by class, in which a class that is missing has 1, or `"balanced"`, by which all classes count alike.
    `output` names the output of `infer` that is used, `logits` by default: a logit
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

    def __init__(
        self,
        program: str | os.PathLike[str] | Program | None = None,
        *,
        set: Mapping[str, Any] | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        epochs: int = 100,
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
        super().__init__(
            program,
            set=set,
            epochs=epochs,
            batch=batch,
            random_state=random_state,
            scale=scale,
            validate=validate,
            patience=patience,
            metric=metric,
            shuffle=shuffle,
            precision=precision,
            node=node,
            infer=infer,
            input=input,
            target=target,
            weight=weight,
            output=output,
            backend=backend,
            device=device,
            threads=threads,
        )
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Classifier:
        """Trains the program from its initial values."""
        x, y = self._checked(X, y)
        check_classification_targets(y)
        y = column_or_1d(y)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        weights = self._weighted(sample_weight, y, numbers)
        self._fit(x, numbers.astype(np.int64), y, weights, {"classes": len(self.classes_)})
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Classifier:
        """Trains one epoch with these rows: from the initial values of the program at the first call, and else from
        what was learned before, also by `fit`. The first call needs all `classes` that will ever occur. The rows are
        shuffled and stacked as in `fit`; states of optimisers continue. `scale`, `validate` and `patience` are for
        `fit` alone.

        >>> import numpy as np
        >>> X = np.linspace(-1, 1, 60)[:, None]
        >>> y = (X[:, 0] > 0).astype(int)
        >>> found = Classifier(random_state=0)
        >>> for _ in range(40):
        ...     for part in (slice(0, 30), slice(30, 60)):
        ...         _ = found.partial_fit(X[part], y[part], classes=[0, 1])
        >>> found.score(X, y) > 0.95, found.n_iter_
        (True, 80)
        """
        self._check_parts()
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight 'balanced' needs all data, and partial_fit sees a part of it: "
                "pass the weights of compute_class_weight('balanced', classes=classes, y=y) as a dict"
            )
        _check_partial_fit_first_call(self, classes)
        x, y = self._checked(X, y, reset=not hasattr(self, "checkpoint_"))
        check_classification_targets(y)
        y = column_or_1d(y)
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"y has the labels {unknown.tolist()}, which are not among classes: {self.classes_.tolist()}")
        numbers = np.searchsorted(self.classes_, y)
        weights = self._weighted(sample_weight, y, numbers)
        self._fit(x, numbers.astype(np.int64), y, weights, {"classes": len(self.classes_)}, parts=True)
        return self

    def _weighted(self, sample_weight: Any, y: _Array, numbers: _Array) -> _Array | None:
        """The weight of each row, by itself and by its class."""
        weights = _weights(sample_weight, y)
        if self.class_weight is None:
            return weights
        of_class: _Array = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        product: _Array = of_class[numbers] if weights is None else of_class[numbers] * weights
        if not product.any():
            raise ValueError("all rows have the weight 0 by class_weight and sample_weight")
        return product

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
        self._wide, self._outputs = y.ndim > 1, y.shape[1] if y.ndim > 1 else 1
        self._fit(x, y, y, weights, self._scaled(y, weights))
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Regressor:
        """Trains one epoch with these rows: from the initial values of the program at the first call, and else from
        what was learned before, also by `fit`. `outputs`, `y_mean` and `y_deviation` stay those of the first rows.
        `scale`, `validate` and `patience` are for `fit` alone."""
        self._check_parts()
        is_first = not hasattr(self, "checkpoint_")
        x, y = self._checked(X, y, multi_output=True, y_numeric=True, reset=is_first)
        y = y.astype(np.float64)
        weights = _weights(sample_weight, y)
        offers = self._scaled(y, weights) if is_first else {}
        outputs = y.shape[1] if y.ndim > 1 else 1
        if is_first:
            self._wide, self._outputs = y.ndim > 1, outputs
        elif outputs != self._outputs:
            raise ValueError(f"y has {outputs} targets for each row, and had {self._outputs} before")
        self._fit(x, y, y, weights, offers, parts=True)
        return self

    def _scaled(self, y: _Array, weights: _Array | None) -> dict[str, Any]:
        """What programs can be told about the targets."""
        mean = np.average(y, axis=0, weights=weights)
        deviation = np.sqrt(np.average((y - mean) ** 2, axis=0, weights=weights))
        return {
            "outputs": y.shape[1] if y.ndim > 1 else 1,
            "y_mean": mean.tolist(),
            "y_deviation": np.where(deviation > 0, deviation, 1.0).tolist(),
        }

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
