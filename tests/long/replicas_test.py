"""One replica and two replicas give the same training.

Two processes do so too: see `tests/long/processes_test.py`.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from tensorflow import keras

from la_tf import keras_generation
from la_tf.learners.adversarial import Adversarial
from la_tf.learners.sampler import Sampler
from la_tf.meta_model import MetaAugment
from la_tf.model import LatentAugment
from la_tf.policy import Choice
from la_tf.step.health import NonFiniteError
from tests import helper

POLICIES = 16
# Uneven on purpose: the last batch of each epoch has 5 images, so 3 and 2 a replica.
IMAGES, BATCH = 21, 8
# What a program of this file is to do; a strategy needs processes of its own.
PROGRAM = "LA_TF_STRATEGY_TEST"

OPTIONS = {
    "plain": {"weight_decay": 1e-3, "clip_norm": 0.5, "evaluates": True},
    "corrected_chunks": {"prior": "corrected", "view_chunk": 2},
    # Images that weigh nothing, in one replica more than in the other.
    "weighted": {"weighted": True, "backbone_rate": 0.5, "ema": 0.9},
    "normalized": {"normalized": True, "ema": 0.9},
    "half_skip": {"half": True, "broken": True, "on_nonfinite": "skip"},
    "stop": {"broken": True},
    "adversarial": {"learns": "adversarial"},
    "metaaugment": {"learns": "metaaugment"},
}


def _data(broken=False):
    generator = np.random.default_rng(0)
    views = generator.normal(size=[IMAGES, 3, 4]).astype(np.float32)
    labels = np.eye(5, dtype=np.float32)[generator.integers(0, 5, IMAGES)]
    policies = generator.integers(0, POLICIES, [IMAGES, 3]).astype(np.int32)
    if broken:
        # In the second batch, in the half that the second replica gets.
        views[2 * BATCH - 1, 1, 0] = np.nan
    return views, np.repeat(labels[:, None], 3, 1), policies


def _classifier(normalized):
    make = keras.initializers.HeNormal
    layers = [
        keras.Input([4]),
        keras.layers.Dense(6, kernel_initializer=make(1)),
        # Not ReLU, of which a fused kernel makes 0 where the input is not a number.
        keras.layers.BatchNormalization() if normalized else keras.layers.ELU(),
        keras.layers.Dense(5, kernel_initializer=make(2)),
    ]
    return keras.Sequential(layers)


def _model(classifier, learns, options):
    if learns == "metaaugment":
        # α is long, so that the look-ahead shows.
        return MetaAugment(
            classifier,
            Sampler(),
            augment=lambda views, labels, policies, _: (views, labels, policies),
            choice=lambda *parts: Choice(None, parts[-1] % 14, parts[-1]),
            meta_alpha=1.0,
        )
    learner = Adversarial(3, interval=2) if learns else None
    return LatentAugment(classifier, POLICIES, learner=learner, **options)


def _with_aside(views, labels, policies):
    """What MetaAugment trains on: one view, how it was made, and plain images."""
    made = np.stack([policies[:, :1], policies[:, 1:2]], -1).astype(np.int64)
    parts = views[:, :1], labels[:, :1], policies[:, :1], made
    return *parts, views[:, 1], np.argmax(labels[::-1, 0], -1)


def train(
    strategy,
    normalized=False,
    half=False,
    broken=False,
    evaluates=False,
    weighted=False,
    learns=None,
    **options,
):
    """What two epochs of training leave, by name."""
    keras.mixed_precision.set_global_policy("mixed_float16" if half else "float32")
    with strategy.scope():
        if "ema" in options:
            options["averaged"] = _classifier(normalized)
        model = _model(_classifier(normalized), learns, options)
        # One replica alone spares itself the tracing.
        eager = strategy.num_replicas_in_sync == 1
        optimizer = keras.optimizers.SGD(0.2, momentum=0.9, nesterov=True)
        top_2 = keras.metrics.TopKCategoricalAccuracy(2, name="top_2")
        model.compile(optimizer, metrics=[top_2], run_eagerly=eager)
    views, labels, policies = _data(broken)
    parts = views, labels, policies
    if weighted:
        parts += (np.arange(IMAGES, dtype=np.float32) % 4,)
    if learns == "metaaugment":
        parts = _with_aside(*parts)
    training = _batches(strategy, parts)
    # Keras must be told how long the epochs of a worker's own dataset are.
    steps = 3 if strategy.cluster_resolver is not None else None
    failure = ""
    try:
        model.fit(training, epochs=2, steps_per_epoch=steps, verbose=0)
    except NonFiniteError as error:
        failure = str(error)
    results = {
        f"weight_{number}": variable.numpy()
        for number, variable in enumerate(model.classifier.variables)
    }
    if "ema" in options:
        results.update(
            {
                f"average_{number}": variable.numpy()
                for number, variable in enumerate(model.averaged.variables)
            }
        )
    history = model.history.history
    results.update({f"log_{name}": values for name, values in history.items()})
    if evaluates:
        testing = _batches(strategy, (views[:, 0], labels[:, 0]))
        logs = model.evaluate(testing, steps=steps, verbose=0, return_dict=True)
        results.update({f"test_{name}": value for name, value in logs.items()})
    learned = [*model.learner.variables]
    if learns == "metaaugment":
        learned += model.policy_network.variables
    for number, variable in enumerate(learned):
        results[f"learned_{number}"] = variable.read_value().numpy()
    results["prior"] = model.prior.probabilities.numpy()
    results["copies"] = [
        copy.numpy()
        for copy in strategy.experimental_local_results(model.prior.probabilities)
    ]
    results["failure"] = failure
    if normalized:
        # Each replica by itself, as it evaluates.
        results["averages"] = [
            [copy.numpy() for copy in strategy.experimental_local_results(variable)]
            for variable in map(
                keras_generation.tensorflow_variable,
                model.classifier.non_trainable_variables,
            )
        ]
    return results


def _batches(strategy, arrays):
    """The same global batches under every strategy."""
    dataset = tf.data.Dataset.from_tensor_slices(arrays).batch(BATCH)
    if strategy.cluster_resolver is None:
        options = tf.data.Options()
        off = tf.data.experimental.AutoShardPolicy.OFF
        options.experimental_distribute.auto_shard_policy = off
        return dataset.with_options(options)
    # Each of two workers takes its half of every batch.
    worker = strategy.cluster_resolver.task_id

    def halved(*parts):
        middle = (tf.shape(parts[0])[0] + 1) // 2
        return tuple(part[middle:] if worker else part[:middle] for part in parts)

    dataset = dataset.map(halved).repeat()
    return strategy.distribute_datasets_from_function(lambda _: dataset)


def save(path, runs):
    """Write what runs left, by the run and the name."""
    arrays = {
        f"{run}/{name}": np.asarray(value)
        for run, results in runs.items()
        for name, value in results.items()
    }
    np.savez(path, **arrays)


def load(path):
    """What `save` has written."""
    runs = {}
    with np.load(path) as arrays:
        for key in arrays:
            run, name = key.split("/")
            runs.setdefault(run, {})[name] = arrays[key]
    return runs


def two_replicas():
    """A strategy of two halves of the CPU, for a process that has used none yet."""
    cpu = tf.config.list_physical_devices("CPU")[0]
    halves = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(cpu, halves)
    return tf.distribute.MirroredStrategy(
        ["/cpu:0", "/cpu:1"], tf.distribute.HierarchicalCopyAllReduce()
    )


def _run_mirrored(path):
    mirrored = two_replicas()
    runs = {}
    for name, options in OPTIONS.items():
        runs[f"{name}_one"] = train(tf.distribute.get_strategy(), **options)
        runs[f"{name}_two"] = train(mirrored, **options)
    outside = _classifier(False)
    with mirrored.scope():
        try:
            LatentAugment(outside)
        except ValueError as error:
            runs["scope"] = {"failure": str(error)}
        model = LatentAugment(_classifier(False))
        try:
            model.compile("sgd", jit_compile=True)
        except ValueError as error:
            runs["jit"] = {"failure": str(error)}
    save(path, runs)


def start(program, path, **environment):
    """The process of a test file that trains, and saves what it has at the end."""
    environment = helper.environment(
        **{PROGRAM: "yes", "CUDA_VISIBLE_DEVICES": "-1", **environment}
    )
    return subprocess.Popen(
        [sys.executable, program, path],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def runs_of(program):
    """What the runs of a test file have at their ends."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "runs.npz")
        process = start(program, path)
        try:
            helper.finish(process)
        finally:
            process.kill()
        return load(path)


class SameTestCase(tf.test.TestCase):
    def assert_same(self, one, other, tolerance=1e-5):
        self.assertEqual(set(one), set(other))
        for name in one:
            if name not in ("copies", "failure"):
                self.assertAllClose(
                    one[name], other[name], rtol=tolerance, atol=tolerance, msg=name
                )


class StrategyTest(SameTestCase, parameterized.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.mirrored = runs_of(__file__)

    @parameterized.parameters(
        ("plain", 1e-5),
        ("corrected_chunks", 1e-5),
        ("weighted", 1e-5),
        ("half_skip", 2e-3),
        ("adversarial", 1e-5),
        ("metaaugment", 1e-5),
    )
    def test_two_replicas_train_as_one(self, name, tolerance):
        runs = self.mirrored
        self.assert_same(runs[f"{name}_one"], runs[f"{name}_two"], tolerance)

    @parameterized.parameters(*OPTIONS)
    def test_prior_is_the_same_in_all_replicas(self, name):
        first, second = self.mirrored[f"{name}_two"]["copies"]
        self.assertAllEqual(first, second)
        self.assertAllClose(first.sum(), 1.0)

    def test_batch_normalization_by_replica_stays_near(self):
        # Each replica normalises by the moments of its own half of the views.
        one, two = (self.mirrored[f"normalized_{count}"] for count in ("one", "two"))
        self.assertAllClose(one["prior"], two["prior"], atol=0.01)
        self.assertAllClose(one["log_loss"], two["log_loss"], rtol=0.15)

    def test_moving_averages_are_the_same_in_all_replicas(self):
        # Else each would evaluate with its own, and none with those that are saved.
        averages = self.mirrored["normalized_two"]["averages"]
        self.assertEqual(averages.shape[:2], (2, 2))
        self.assertAllEqual(averages[:, 0], averages[:, 1])

    def test_broken_view_of_one_replica_is_skipped_by_both(self):
        run = self.mirrored["half_skip_two"]
        # One of three steps in each of two epochs.
        self.assertAllEqual(run["log_skipped_steps"], [1, 2])
        for name in set(run) - {"failure"}:
            self.assertAllInRange(run[name], -1e3, 1e3)

    def test_broken_view_of_one_replica_stops_both(self):
        runs = self.mirrored
        policy = _data()[2][2 * BATCH - 1, 1]
        for run in runs["stop_one"], runs["stop_two"]:
            self.assertIn("not finite at step 1", str(run["failure"]))
            self.assertIn(f"question: {policy} (1).", str(run["failure"]))
        self.assert_same(runs["stop_one"], runs["stop_two"])

    def test_a_classifier_from_outside_of_the_scope_is_refused(self):
        message = str(self.mirrored["scope"]["failure"])
        self.assertIn("inside the same strategy.scope()", message)

    def test_compilation_under_a_strategy_is_refused(self):
        message = str(self.mirrored["jit"]["failure"])
        self.assertIn("under MirroredStrategy: leave out jit_compile", message)


if __name__ == "__main__":
    if PROGRAM in os.environ:
        _run_mirrored(sys.argv[1])
    else:
        tf.test.main()
