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
from la_tf.model import LatentAugment
from la_tf.run import store, strategies

POLICIES, BATCH, STEPS = 16, 8, 6
strategy = strategies.make("mirrored", logical_cpus=2)
tf.config.experimental.enable_op_determinism()
generator = np.random.default_rng(0)
views = generator.normal(size=[BATCH * STEPS, 3, 4]).astype(np.float32)
labels = np.eye(5, dtype=np.float32)[generator.integers(0, 5, [BATCH * STEPS, 3])]
policies = generator.integers(0, POLICIES, [BATCH * STEPS, 3]).astype(np.int32)
batches = tf.data.Dataset.from_tensor_slices((views, labels, policies)).batch(BATCH)

def new_model():
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
        model = LatentAugment(classifier, num_policies=POLICIES)
        model.compile(keras.optimizers.SGD(0.1, momentum=0.9))
        model.optimizer.build(model.trainable_variables)
    return model

def store_of(model):
    checkpoint = tf.train.Checkpoint(model=model)
    return store.Store(checkpoint, pathlib.Path(sys.argv[1]), keep=9)

def state_of(model):
    state = [*model.classifier.variables, *model.optimizer.variables]
    return [*state, model.prior.probabilities]

def metrics_of(model):
    variables = [each for metric in model.metrics for each in metric.variables]
    variables = list(map(keras_generation.tensorflow_variable, variables))
    return strategies.ReplicaValues(strategy, variables)

class GoOn(keras.callbacks.Callback):
    # fit has just reset the metrics.
    def on_epoch_begin(self, epoch, logs=None):
        metrics_of(second).assign(metrics)

def evaluated(model):
    return model.evaluate(views[:, 0], labels[:, 0], batch_size=BATCH, verbose=0)

whole = new_model()
whole.fit(batches, verbose=0)
first = new_model()
first.fit(batches.take(STEPS // 2), verbose=0)
store_of(first).save(1)
metrics = metrics_of(first).read()
second = new_model()
store_of(second).read(pathlib.Path(sys.argv[1]) / "step-1")
second.fit(batches.skip(STEPS // 2), callbacks=[GoOn()], verbose=0)
same = [
    np.array_equal(one.numpy(), other.numpy())
    for one, other in zip(state_of(whole), state_of(second))
]
# Each replica's own metrics go on, and their sum is as it would have been.
metrics = metrics_of(whole).read()
same.append(metrics.shape[0] == 2 and not np.array_equal(*metrics))
same.append(np.array_equal(metrics_of(second).read(), metrics))
metrics_of(second).assign(np.concatenate([metrics, metrics]))
same.append(np.allclose(metrics_of(second).read().sum(0), 2 * metrics.sum(0)))
# What is evaluated is what is saved: each replica has the same averages.
store_of(second).save(2)
store_of(first).read(pathlib.Path(sys.argv[1]) / "step-2")
print(all(same), evaluated(whole) == evaluated(second) == evaluated(first))
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
        self.assertEqual(ended.stdout.splitlines()[-1], "True True")


if __name__ == "__main__":
    absltest.main()
