"""A run that fine-tunes: its head first, then all of it, and to the bit."""

import pathlib

import numpy as np
import tensorflow as tf
from absl.testing import absltest

import models
from la_tf import keras_generation
from la_tf.run import folder as run_folder
from la_tf.run import restore
from tests import runs

OPTIONS = {
    "epochs": 2,
    "head_epochs": 1,
    "backbone_rate": 0.5,
    "optimizer": "adamw",
    "learning_rate": 0.01,
    "label_smoothing": 0.1,
    "ema": 0.9,
}


def values(network):
    """All weights of a network; those of the head come last."""
    return [each.numpy() for each in keras_generation.all_variables(network)]


def trained(checkpoint):
    """The weights that a checkpoint has of the network in training."""
    network = models.build(runs.SMALL.model, (16, 16, 1), 10)
    tree = tf.train.Checkpoint(model=tf.train.Checkpoint(classifier=network))
    tree.read(str(checkpoint)).expect_partial().assert_existing_objects_matched()
    return values(network)


def used(run_dir):
    """The weights with which a run is evaluated and exported."""
    return values(restore.load(run_folder.RunFolder(run_dir)).classifier)


class FineTuningTest(absltest.TestCase):
    def assert_same(self, one, other, expected):
        same = [np.array_equal(*pair) for pair in zip(one, other)]
        self.assertEqual(same, expected)

    def test_a_run(self):
        folder = pathlib.Path(self.create_tempdir().full_path)
        base, whole, stopped = (folder / name for name in ("base", "whole", "stopped"))
        runs.start(runs.configuration(base, epochs=1))
        options = {"init_from": str(base), **OPTIONS}
        runs.start(runs.configuration(whole, **options))
        # In the second epoch, in which all layers learn.
        runs.stop(runs.configuration(stopped, **options), 7)
        runs.resume(stopped)
        self.assertEmpty(runs.differences(whole, stopped))

        begun = used(base)
        head = trained(whole / "checkpoints" / "step-5")
        rest = trained(whole / "checkpoints" / "step-10")
        # After the head's epoch the backbone is what it was, BatchNorm's averages too.
        backbone = len(begun) - 2
        self.assert_same(begun, head, [True] * backbone + [False] * 2)
        self.assert_same(head, rest, [False] * len(begun))
        # What is used of it is the average.
        self.assert_same(used(whole), rest, [False] * len(begun))
        for one, other in zip(used(whole), rest):
            np.testing.assert_allclose(one, other, atol=0.1)


if __name__ == "__main__":
    absltest.main()
