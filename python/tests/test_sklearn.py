"""Estimators of scikit-learn: its own checks, searches, copies, windows, checkpoints."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.estimator_checks import parametrize_with_checks

import rml
from rml.sklearn import CLASSIFIER, REGRESSOR, Classifier, Regressor

GRU = """
import std.layers;
import std.losses;
import std.optimisers;

const units = 8;

node diff_param(init, bp, do) -> (o)
  o = adam(0.02, 0.9, 0.999, 0.00000001, init, bp, do);

node classify(x: num [batch, features], end: bool []) -> (logits: num [batch, 2] when end)
  h = gru(units, x) every end;
  logits = dense(2, h when end);

node train(x: num [batch, features], end: bool [], y: int [batch] when end) -> (loss: num [] when end)
  logits, _ = diff_classify(x, end, true, dlogits);
  loss, dlogits = diff_cross_entropy(logits, y, true, -1.0);

node infer(x: num [batch, features], end: bool [])
    -> (logits: num [batch, 2] when end, kind: int [batch] when end, each: num [batch, units])
  logits = classify(x, end);
  kind = argmax(logits, -1);
  each = zeros([batch, units]);
"""

LINE = """
node line(x: num []) -> (o)
  k = param(0.0);
  o = k * x;

node train(x: num [], y: num []) -> (loss)
  o, _ = diff_line(x, true, -0.1 * error);
  error = o - y;
  loss = error * error;

node infer(x: num []) -> (o)
  o = line(x);
"""


@parametrize_with_checks([Classifier(), Regressor()])
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "estimator, data, least",
    [
        (Classifier(random_state=0), load_iris, 0.93),
        (Classifier(random_state=0, scale=True), load_breast_cancer, 0.95),
        (Regressor(random_state=0), load_diabetes, 0.45),
    ],
)
def test_scores(estimator, data, least):
    X, y = data(return_X_y=True)
    assert cross_val_score(estimator, X, y, cv=3, error_score="raise").mean() > least


def test_a_search_over_settings_in_a_pipeline():
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), Classifier(set={"rate": 0.02}, epochs=40, random_state=0))
    grid = {"classifier__set__units": [1, 16], "classifier__batch": [32, 64]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(X, y)
    assert search.best_params_["classifier__set__units"] == 16 and search.best_score_ > 0.9
    best = search.best_estimator_[-1]
    assert best.set == {"rate": 0.02, "units": 16}
    assert best.set_ == {"rate": 0.02, "units": 16, "features": 4, "classes": 3}
    assert best.params_["net_0.dense_0.kernel"].shape == (4, 16)


def test_settings_are_parameters():
    found = Classifier(set={"units": 8})
    assert found.get_params()["set__units"] == 8 and "set__units" not in found.get_params(deep=False)
    given = found.set
    assert found.set_params(set__rate=0.1, epochs=3) is found
    assert found.set == {"units": 8, "rate": 0.1} and found.epochs == 3 and given == {"units": 8}
    assert Classifier().set_params(set__units=4).set == {"units": 4}
    assert clone(found).set == found.set
    with pytest.raises(ValueError, match="Invalid parameter"):
        found.set_params(units=8)


@pytest.mark.parametrize("estimator", [Classifier(epochs=5), Regressor(epochs=5)])
def test_a_seed_decides_all_bits(estimator):
    X, y = load_iris(return_X_y=True)
    first, again, other = (clone(estimator).set_params(random_state=seed).fit(X, y) for seed in (7, 7, 8))
    assert first.checkpoint_ == again.checkpoint_ != other.checkpoint_
    assert first.predict(X).tobytes() == again.predict(X).tobytes()
    assert first.seed_ == 7 and first.loss_curve_ == again.loss_curve_ and len(first.loss_curve_) == first.n_iter_ == 5
    drawn = [clone(estimator).set_params(random_state=np.random.RandomState(1)).fit(X, y) for _ in range(2)]
    assert drawn[0].checkpoint_ == drawn[1].checkpoint_ != first.checkpoint_
    data = {"x": X, "y": y if isinstance(first, Classifier) else y[:, None], "w": np.ones(150)}
    same = rml.train(
        first.program_, data, set=first.set_, epochs=5, seed=7, batch=150, test=0, precision="f64"
    ).run()
    for path, value in first.params_.items():
        assert value.tobytes() == same.states[path].tobytes()


def test_copies_predict_the_same():
    X, y = load_iris(return_X_y=True)
    found = Classifier(epochs=5, random_state=0, scale=True).fit(X, y)
    for same in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert same.predict_proba(X).tobytes() == found.predict_proba(X).tobytes()
    with pytest.raises(NotFittedError):
        clone(found).predict(X)


def test_programs_can_be_pickled_and_cloned(tmp_path):
    program = rml.compile(GRU, node="train", set={"features": 3, "units": 4}, batch=2)
    same = pickle.loads(pickle.dumps(program))
    assert same.inputs == program.inputs and same.text == program.text
    assert copy.deepcopy(program) is program is copy.copy(program)
    X, y = windows()
    found = pickle.loads(pickle.dumps(clone(Classifier(program, epochs=1)).fit(X, y)))
    assert found.set_["units"] == 4 and found.predict(X).shape == (60,)
    (tmp_path / "net.rml").write_text(GRU.split("node train")[0])
    (tmp_path / "main.rml").write_text('import std.losses;\nimport "net.rml";\nnode train' + GRU.split("node train")[1])
    (tmp_path / "alone.rml").write_text(GRU)
    for path in (tmp_path / "main.rml", tmp_path / "alone.rml", str(tmp_path / "alone.rml")):
        files = Classifier(path, epochs=1, set={"units": 4}).fit(X, y)
        assert files.predict(X).shape == (60,)
    (tmp_path / "alone.rml").unlink()
    assert pickle.loads(pickle.dumps(files)).predict(X).shape == (60,)


def windows():
    """Windows of six rows; the first row decides the class."""
    X = np.random.default_rng(0).normal(size=(60, 6, 3))
    return X, np.where(X[:, 0, 0] > 0, "up", "down")


def test_windows_of_a_recurrent_program():
    X, y = windows()
    found = Classifier(GRU, epochs=40, batch=20, random_state=0).fit(X, y)
    assert found.score(X, y) > 0.95 and found.n_features_in_ == 3
    assert found.predict_proba(X).shape == (60, 2) and found.predict(X[:, :4]).shape == (60,)
    classes = clone(found).set_params(output="kind").fit(X, y)
    assert (classes.predict(X) == found.predict(X)).all() and not hasattr(classes, "predict_proba")
    assert cross_val_score(found, X, y, cv=3, error_score="raise").mean() > 0.6
    with pytest.raises(ValueError, match="features"):
        found.predict(X[:, :, :2])
    with pytest.raises(ValueError, match="NaN"):
        found.predict(np.where(X > 1, np.nan, X))
    with pytest.raises(ValueError, match="one value of `each`"):
        clone(found).set_params(output="each", epochs=1).fit(X, y).predict(X)
    ragged = [window[: 3 + n % 3] for n, window in enumerate(X)]
    found = clone(found).fit(ragged, y)
    assert found.score(ragged, y) > 0.95
    one = found.predict_proba(X[:1, :3])
    assert one.tobytes() == found.predict_proba(ragged)[:1].tobytes() == found.predict_proba(ragged[:1]).tobytes()
    with pytest.raises(ValueError, match="different shapes"):
        found.fit([X[0], X[1][:, :2]], y[:2])
    with pytest.raises(ValueError, match="inconsistent numbers"):
        found.fit(ragged, y[:5])


def test_targets_as_the_program_declares_them():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 4, 4))
    images = """
    import std.layers;
    import std.losses;
    node net(x: num [batch, 4, 4]) -> (logits: num [batch])
      logits = dense(1, reshape([batch, 16], x))[.., 0];
    node train(x: num [batch, 4, 4], y: bool [batch]) -> (loss: num [])
      logits, _ = diff_net(x, true, d);
      loss, d = diff_bce_with_logits(logits, y, true, -0.5);
    node infer(x: num [batch, 4, 4]) -> (logits: num [batch])
      logits = net(x);
    """
    y = np.where(X[:, 1, 1] > 0, "in", "out")
    found = Classifier(images, random_state=0).fit(X, y)
    assert found.score(X, y) > 0.95
    np.testing.assert_allclose(found.predict_proba(X)[:, 1], 1 / (1 + np.exp(-found.decision_function(X))))
    with pytest.raises(ValueError, match="two classes, and y has 3"):
        found.fit(X, np.arange(60) % 3)
    pets = """
    import std.layers;
    import std.losses;
    enum pet = Cat, Dog, Ant;
    node net(x: num [batch, features]) -> (logits: num [batch, 3])
      logits = dense(3, x);
    node train(x: num [batch, features], y: pet [batch]) -> (loss: num [])
      logits, _ = diff_net(x, true, d);
      loss, d = diff_cross_entropy(logits, to_int(y), true, -0.5);
    node infer(x: num [batch, features]) -> (logits: num [batch, 3], found: int [batch])
      logits = net(x);
      found = argmax(logits, -1);
    """
    X = rng.normal(size=(60, 2))
    y = np.array(["Ant", "Dog"])[(X[:, 0] > 0).astype(int)]
    for output in ("logits", "found"):
        found = Classifier(pets, random_state=0, output=output).fit(X, y)
        assert found.classes_.tolist() == ["Ant", "Dog"] and found.score(X, y) > 0.95
    with pytest.raises(ValueError, match="no case for the classes DOG"):
        found.fit(X, np.where(y == "Dog", "DOG", y))
    with pytest.raises(rml.Error) as outside:
        found.fit(X, np.arange(60) % 4)
    assert outside.value.code == "position-outside"


def test_rows_of_one_number_each():
    x = np.linspace(-1, 1, 50)[:, None]
    for y in (3 * x[:, 0], 3 * x):
        found = Regressor(LINE, epochs=20).fit(x, y)
        assert found.predict(x).shape == y.shape and found.score(x, y) > 0.999
    y = np.hstack([1000 + 10 * x, -x])
    found = Regressor(random_state=0).fit(x, y)
    assert found.predict(x).shape == (50, 2) and found.score(x, y) > 0.99


def test_integers_feed_an_embedding():
    program = """
    import std.layers;
    import std.losses;
    node net(x: int [batch], end: bool []) -> (logits: num [batch, 2] when end)
      v = embedding(5, 4, x) every end;
      h = rnn(8, v) every end;
      logits = dense(2, h when end);
    node train(x: int [batch], end: bool [], y: int [batch] when end) -> (loss: num [] when end)
      logits = diff_net(x, end, true, d);
      loss, d = diff_cross_entropy(logits, y, true, -0.5);
    node infer(x: int [batch], end: bool []) -> (logits: num [batch, 2] when end)
      logits = net(x, end);
    """
    X = np.random.default_rng(0).integers(0, 5, size=(60, 4))
    y = (X[:, -1] > 2).astype(int)
    assert Classifier(program, random_state=0, batch=10, epochs=40).fit(X, y).score(X, y) > 0.95
    with pytest.raises(ValueError, match="takes integers"):
        Classifier(program).fit(X + 0.5, y)


def test_weights():
    X, y = load_iris(return_X_y=True)
    rare = np.flatnonzero((y != 2) | (np.arange(150) % 10 == 0))
    X, y = X[rare], y[rare]
    plain, balanced = (
        Classifier(random_state=0, epochs=20).fit(X, y, sample_weight=weight)
        for weight in (None, compute_sample_weight("balanced", y))
    )
    assert balanced.score(X[y == 2], y[y == 2]) > plain.score(X[y == 2], y[y == 2])
    scaled = Classifier(random_state=0, epochs=20).fit(X, y, sample_weight=np.full(len(y), 4.0))
    assert scaled.checkpoint_ == plain.checkpoint_
    with pytest.raises(ValueError, match="non-zero|all weights"):
        plain.fit(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(ValueError, match="[Nn]egative"):
        plain.fit(X, y, sample_weight=-np.ones(len(y)))
    X, y = windows()
    with pytest.raises(ValueError, match="no input `w`, so sample_weight"):
        Classifier(GRU).fit(X, y, sample_weight=np.ones(60))


def test_weights_of_classes():
    X, y = load_iris(return_X_y=True)
    rare = np.flatnonzero((y != 2) | (np.arange(150) % 10 == 0))
    X, names = X[rare], np.array(["a", "b", "c"])[y[rare]]
    found = Classifier(random_state=0, epochs=5, class_weight="balanced").fit(X, names)
    by_rows = Classifier(random_state=0, epochs=5).fit(X, names, sample_weight=compute_sample_weight("balanced", names))
    assert found.checkpoint_ == by_rows.checkpoint_
    rows = np.linspace(1, 2, len(X))
    found = Classifier(random_state=0, epochs=5, class_weight={"c": 10.0}).fit(X, names, sample_weight=rows)
    by_rows = Classifier(random_state=0, epochs=5).fit(X, names, sample_weight=rows * np.where(names == "c", 10.0, 1.0))
    assert found.checkpoint_ == by_rows.checkpoint_
    with pytest.raises(ValueError, match="class_weight"):
        Classifier(class_weight={"d": 2.0}).fit(X, names)
    with pytest.raises(ValueError, match="all rows have the weight 0"):
        Classifier(class_weight={"a": 0.0, "b": 0.0, "c": 0.0}).fit(X, names)
    X, y = windows()
    with pytest.raises(ValueError, match="class_weight cannot be used"):
        Classifier(GRU, class_weight="balanced").fit(X, y)


@pytest.mark.parametrize("estimator", [Classifier(shuffle=False), Regressor(shuffle=False)])
def test_parts_continue_with_the_bits_of_epochs(estimator):
    X, y = load_iris(return_X_y=True)
    options = {"classes": [0, 1, 2]} if isinstance(estimator, Classifier) else {}
    whole = clone(estimator).set_params(epochs=3, random_state=5).fit(X, y)
    parts = clone(estimator).set_params(random_state=5)
    for _ in range(3):
        assert parts.partial_fit(X, y, **options) is parts
    assert parts.n_iter_ == 3 and parts.loss_curve_ == whole.loss_curve_ and parts.set_ == whole.set_
    for path, value in whole.states_.items():
        assert value.tobytes() == parts.states_[path].tobytes(), path
    # `fit` is a first part, too, and another `fit` restarts
    longer = clone(estimator).set_params(epochs=2, random_state=5).fit(X, y).partial_fit(X, y)
    assert all(longer.states_[path].tobytes() == value.tobytes() for path, value in whole.states_.items())
    assert parts.set_params(epochs=3).fit(X, y).checkpoint_ == whole.checkpoint_
    weighted = clone(estimator).set_params(random_state=5)
    weighted.partial_fit(X, y, sample_weight=np.arange(1, 151), **options)
    assert weighted.checkpoint_ != clone(weighted).partial_fit(X, y, **options).checkpoint_


def test_parts_of_classes():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    found = Classifier(random_state=0)
    with pytest.raises(ValueError, match="first call"):
        found.partial_fit(X, names)
    order = np.random.default_rng(0).permutation(150)
    for _ in range(40):
        # the first rows have two classes
        for rows in (np.flatnonzero(y < 2), order[:75], order[75:]):
            found.partial_fit(X[rows], names[rows], classes=["virginica", "setosa", "versicolor"])
    assert found.score(X, names) > 0.93 and found.n_iter_ == 120
    assert pickle.loads(pickle.dumps(found)).partial_fit(X, names).n_iter_ == 121
    with pytest.raises(ValueError, match="labels .'rose'.*not among"):
        found.partial_fit(X[:1], ["rose"])
    with pytest.raises(ValueError, match="not the same as on last call"):
        found.partial_fit(X, names, classes=["setosa"])
    for wrong in ({"scale": True}, {"validate": 0.2}, {"patience": 3}, {"class_weight": "balanced"}):
        with pytest.raises(ValueError, match="partial_fit"):
            Classifier(**wrong).partial_fit(X, y, classes=[0, 1, 2])
    X, y = windows()
    recurrent = Classifier(GRU, batch=20, random_state=0)
    for _ in range(20):
        recurrent.partial_fit(X[:30], y[:30], classes=["down", "up"]).partial_fit(X[30:], y[30:])
    assert recurrent.score(X, y) > 0.9


def test_parts_of_a_regression():
    X, y = load_diabetes(return_X_y=True)
    found = Regressor(random_state=0)
    for _ in range(60):
        for rows in (slice(0, 221), slice(221, None)):
            found.partial_fit(X[rows], y[rows])
    assert found.score(X, y) > 0.45
    with pytest.raises(ValueError, match="2 targets for each row, and had 1"):
        found.partial_fit(X, np.stack([y, y], axis=1))
    with pytest.raises(ValueError, match="features"):
        found.partial_fit(X[:, :5], y)


def test_the_best_epoch_is_kept():
    X, y = load_diabetes(return_X_y=True)
    found = Regressor(scale=True, validate=0.2, patience=3, epochs=60, random_state=0).fit(X, y)
    curve = found.validation_curve_
    assert len(curve) == len(found.loss_curve_) == found.n_iter_ == found.best_epoch_ + 3 < 60
    assert np.argmin(curve) + 1 == found.best_epoch_
    alone = Regressor(scale=True, validate=0.2, epochs=found.best_epoch_, random_state=0).fit(X, y)
    assert alone.predict(X).tobytes() == found.predict(X).tobytes()
    found = Classifier(validate=15, patience=2, metric="accuracy:max", epochs=50).fit(*load_iris(return_X_y=True))
    assert np.argmax(found.validation_curve_) + 1 == found.best_epoch_


def test_a_checkpoint_is_read_elsewhere(tmp_path, command):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "virginica", "it's, so"])[y]
    train, infer = CLASSIFIER.split("node infer")
    infer = infer.replace("-> (logits", "-> (found: int [batch], logits")
    infer = infer.replace("\n  logits", "\n  found = argmax(logits, -1);\n  logits")
    program = f"{train}node infer{infer}"
    found = Classifier(program, scale=True, epochs=30, random_state=0, set={"units": 8}).fit(X, names)
    found.save(tmp_path / "net.safetensors")
    (tmp_path / "net.rml").write_text(found.program_)
    data = {"x": X, "y": names, "w": np.ones(150)}
    read = rml.infer(tmp_path / "net.rml", data, params=tmp_path / "net.safetensors")
    assert read.split == "all" and read.metrics["accuracy"] == pytest.approx(found.score(X, names))
    assert (np.array(read.names["found"])[read.outputs["found"]] == found.predict(X)).all()
    assert read.outputs["logits"].tobytes() == found.decision_function(X).tobytes()
    np.savez(tmp_path / "new.npz", x=X[:20])
    command("infer", "net.rml", "--params", "net.safetensors", "--data", "new.npz", "--out", "found.npz")
    written = np.load(tmp_path / "found.npz")
    assert (written["found.names"][written["found"]] == found.predict(X[:20])).all()
    assert written["logits"].tobytes() == read.outputs["logits"][:20].tobytes()


def test_a_regressor_is_read_elsewhere(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    found = Regressor(scale=True, epochs=5).fit(X, y)
    found.save(tmp_path / "net.safetensors")
    data = {"x": X, "y": y[:, None], "w": np.ones(len(y))}
    read = rml.infer(REGRESSOR, data, params=tmp_path / "net.safetensors")
    assert read.outputs["o"][:, 0].tobytes() == found.predict(X).tobytes()
    by_states = rml.infer(REGRESSOR, data, params=found.states_, set=found.set_, precision="f64")
    assert by_states.outputs["o"].tobytes() == read.outputs["o"].tobytes()


@pytest.mark.parametrize(
    "wrong, code",
    [
        ({"program": GRU.replace("dense(2", "denes(2")}, "unknown-name"),
        ({"set": {"unit": 3}}, "unused-setting"),
        ({"program": "none.rml"}, "unreadable-file"),
        ({"node": "trian"}, "root-node"),
        ({"infer": "infre"}, "root-node"),
        ({"backend": "tpu"}, "bad-option"),
    ],
)
def test_errors_of_programs_have_their_picture(wrong, code):
    with pytest.raises(rml.Error) as found:
        Classifier(**{"program": GRU, **wrong}).fit(*windows())
    assert found.value.code == code and str(found.value).startswith("error[")


@pytest.mark.parametrize(
    "wrong, says",
    [
        ({"input": "z"}, "no input `z`, only `x`, `end`, `y`"),
        ({"target": "z"}, "no input `z`"),
        ({"output": "z"}, "no output `z`, only `logits`, `kind`, `each`"),
        ({"epochs": 0}, "epochs is a number, at least 1, not 0"),
        ({"batch": 0.5}, "batch is a number"),
        ({"metric": "reward"}, "loss:min"),
        ({"precision": "f16"}, "precision"),
    ],
)
def test_wrong_requests(wrong, says):
    with pytest.raises(ValueError, match=says):
        Classifier(**{"program": GRU, **wrong}).fit(*windows())


def test_what_is_quiet_and_what_warns():
    X, y = load_iris(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Classifier(epochs=2, validate=0.2).fit(X, y).predict(X)
    with pytest.warns(rml.Warning, match="learning-rate"):
        Classifier(epochs=2).fit(1000 * X, y)


def test_columns_of_a_data_frame_have_names():
    pandas = pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True, as_frame=True)
    found = Classifier(epochs=2).fit(X, y)
    assert found.feature_names_in_.tolist() == list(X.columns)
    assert isinstance(X, pandas.DataFrame) and found.predict(X).shape == (150,)
    with pytest.raises(ValueError, match="feature names"):
        found.predict(X[X.columns[::-1]])
