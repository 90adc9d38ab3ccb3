"""Training over two replicas, saved in the middle, goes on to the bit."""

import os
import subprocess
import sys

from absl.testing import absltest

from tests import helper

# The CPU can be split only before TensorFlow is used: hence a process of its own.
PROGRAM = """
import pathlib, sys
import numpy as np
import tensorflow as tf
from tensorflow import keras
from la_tf import keras_generation
from la_tf.learners.adversarial import Adversarial
from la_tf.learners.sampler import Sampler
from la_tf.meta_model import MetaAugment
from la_tf.model import LatentAugment
from la_tf.run import store, strategies

POLICIES, BATCH, STEPS, STOP = 16, 8, 6, 3
strategy = strategies.make("mirrored", logical_cpus=2)
tf.config.experimental.enable_op_determinism()
generator = np.random.default_rng(0)
count = BATCH * STEPS
views = generator.normal(size=[count, 3, 4]).astype(np.float32)
labels = np.eye(5, dtype=np.float32)[generator.integers(0, 5, [count, 3])]
policies = generator.integers(0, POLICIES, [count, 3]).astype(np.int32)
seeds = generator.integers(0, 1000, [count, 2]).astype(np.int32)
PARTS = {
    "latent": (views, labels, policies),
    "adversarial": (views, labels, seeds),
    "metaaugment": (
        *(views[:, :1], labels[:, :1], seeds),
        *(views[:, 1], np.argmax(labels[:, 1], -1)),
    ),
}

class Stop(Exception):
    pass

class SaveAndStop(keras.callbacks.Callback):
    # In the middle of an epoch, whose end has not been seen then.
    def on_train_batch_end(self, batch, logs=None):
        if batch + 1 == STOP:
            store_of(self.model).save(1)
            raise Stop

def drawn_by(rule):
    def augment(views, labels, seeds):
        choice = rule.draw(tf.shape(views)[0], views.shape[1], seeds[0])
        shift = tf.cast(tf.reduce_sum(choice.levels, -1), tf.float32)
        return views + 0.1 * shift[..., None], labels, choice.policies
    return augment

def make(method, classifier):
    if method == "latent":
        return LatentAugment(classifier, num_policies=POLICIES)
    if method == "adversarial":
        learner = Adversarial(3, interval=2)
        options = {"augment": drawn_by(learner), "learner": learner}
        return LatentAugment(classifier, learner.num_policies, **options)
    rule = Sampler()
    choose = lambda views, _, seeds: rule.draw(tf.shape(views)[0], 1, seeds[0])
    return MetaAugment(classifier, rule, augment=drawn_by(rule), choice=choose)

def new_model(method):
    keras.utils.set_random_seed(0)
    with strategy.scope():
        classifier = keras.Sequential(
            [
                keras.Input([4]),
                keras.layers.Dense(6),
                keras.layers.BatchNormalization(momentum=0.5),
                keras.layers.Dense(5),
            ]
        )
        model = make(method, classifier)
        model.compile(keras.optimizers.SGD(0.1, momentum=0.9))
        model.optimizer.build(model.trainable_variables)
    return model

def folder(method):
    return pathlib.Path(sys.argv[1]) / method

def store_of(model):
    return store.Store(tf.train.Checkpoint(model=model), folder(model.method), keep=9)

def state_of(model):
    variables = [*model.classifier.variables, *model.optimizer.variables]
    modules = model.prior, model.learner, getattr(model, "policy_network", tf.Module())
    learned = [each.read_value() for module in modules for each in module.variables]
    return [value.numpy() for value in variables + learned]

def metrics_of(model):
    variables = [each for metric in model.metrics for each in metric.variables]
    variables = list(map(keras_generation.tensorflow_variable, variables))
    return strategies.ReplicaValues(strategy, variables)

class GoOn(keras.callbacks.Callback):
    def __init__(self, metrics):
        super().__init__()
        self._values = metrics

    # fit has just reset the metrics.
    def on_epoch_begin(self, epoch, logs=None):
        metrics_of(self.model).assign(self._values)

def evaluated(model):
    return model.evaluate(views[:, 0], labels[:, 0], batch_size=BATCH, verbose=0)

def check(method):
    batches = tf.data.Dataset.from_tensor_slices(PARTS[method]).batch(BATCH)
    # Two models only, for each is traced: the first is stopped, then starts again.
    whole, other = new_model(method), new_model(method)
    whole.method = other.method = method
    store_of(whole).save(0)
    try:
        whole.fit(batches, verbose=0, callbacks=[SaveAndStop()])
    except Stop:
        go_on = GoOn(metrics_of(whole).read())
        store_of(whole).read(folder(method) / "step-0")
    whole.fit(batches, verbose=0)
    store_of(other).read(folder(method) / "step-1")
    other.fit(batches.skip(STOP), callbacks=[go_on], verbose=0)
    same = [
        np.array_equal(one, two) for one, two in zip(state_of(whole), state_of(other))
    ]
    # Each replica's own metrics go on, and their sum is as it would have been.
    metrics = metrics_of(whole).read()
    same.append(metrics.shape[0] == 2 and not np.array_equal(*metrics))
    same.append(np.array_equal(metrics_of(other).read(), metrics))
    metrics_of(other).assign(np.concatenate([metrics, metrics]))
    same.append(np.allclose(metrics_of(other).read().sum(0), 2 * metrics.sum(0)))
    # What is evaluated is what is saved: each replica has the same averages.
    expected = evaluated(whole)
    store_of(other).save(2)
    store_of(whole).read(folder(method) / "step-2")
    same.append(expected == evaluated(other) == evaluated(whole))
    print(method, len(same) > 10, all(same))

for method in PARTS:
    check(method)
"""


class ReplicasTest(absltest.TestCase):
    def test_two_replicas(self):
        ended = subprocess.run(
            [sys.executable, "-c", PROGRAM, self.create_tempdir().full_path],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            cwd=helper.ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(
            ended.stdout.splitlines()[-3:],
            [
                "latent True True",
                "adversarial True True",
                "metaaugment True True",
            ],
        )


if __name__ == "__main__":
    absltest.main()
