"""Every method trains in two replicas as in one."""

import os
import sys

import tensorflow as tf
from absl.testing import parameterized
from tensorflow import keras

from la_tf.config import TrainConfig
from la_tf.data import batches
from la_tf.run import build
from tests.conformance import methods_test
from tests.la_tf.step import step_test
from tests.long import replicas_test

# Three steps: a controller has decided anew by the last.
SMALL = {
    "dataset": "digits",
    "limit_train": 24,
    "batch_size": 8,
    "epochs": 1,
    "controller_interval": 1,
}


def _classifier():
    """A network without BatchNorm, whose moments would be of a replica's own images."""
    initializer = keras.initializers.HeNormal(seed=0)
    return keras.Sequential(
        [
            keras.Input([16, 16, 1]),
            keras.layers.Rescaling(1 / 255),
            keras.layers.AveragePooling2D(4),
            step_test.Noisy(),
            keras.layers.Flatten(),
            keras.layers.Dense(10, kernel_initializer=initializer),
        ]
    )


def train(strategy, chosen):
    """What a run's epoch leaves, by name; made of the parts of `la_tf.train`."""
    config = TrainConfig(**SMALL, augment_on="device", **chosen)
    source = build.load_source(config)
    replicas = strategy.num_replicas_in_sync
    plan = batches.plan(
        source.train, seed=config.seed, batch_size=config.batch_size, epochs=1
    )
    with strategy.scope():
        maker = build.view_maker(config, source)
        # The program itself; to compile it for every run would take minutes.
        maker.compiled = maker.on_device
        model = build.make_model(config, _classifier(), source, maker, 0.1)
        # One replica alone spares itself the tracing.
        model.compile(model.optimizer, run_eagerly=replicas == 1)
    training = batches.training(source.train, maker, plan, on_device=True)
    if source.aside is not None:
        training = batches.with_aside(training, source.aside, plan)
    dataset = batches.distribute(strategy, training, on_device=True)
    model.fit(dataset, steps_per_epoch=plan.steps_per_epoch, verbose=0)
    history = model.history.history
    results = {f"log_{name}": values for name, values in history.items()}
    results["prior"] = model.prior.probabilities.numpy()
    variables = [*model.classifier.variables, *model.learner.variables]
    for number, variable in enumerate(variables):
        results[f"learned_{number}"] = variable.numpy()
    return results


def _run_all(path):
    mirrored = replicas_test.two_replicas()
    runs = {}
    for name, chosen in methods_test.RUNS.items():
        runs[f"{name}, one"] = train(tf.distribute.get_strategy(), chosen)
        runs[f"{name}, two"] = train(mirrored, chosen)
    replicas_test.save(path, runs)


class ReplicasTest(replicas_test.SameTestCase, parameterized.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.runs = replicas_test.runs_of(__file__)

    @parameterized.parameters(*methods_test.RUNS)
    def test_two_replicas_as_one(self, name):
        self.assert_same(self.runs[f"{name}, one"], self.runs[f"{name}, two"])


if __name__ == "__main__":
    if replicas_test.PROGRAM in os.environ:
        _run_all(sys.argv[1])
    else:
        tf.test.main()
