"""Whole, tiny runs on the embedded digits, in the test's own process."""

import dataclasses

from tensorflow.python.framework import config as tensorflow_config

from la_tf.config import TrainConfig
from la_tf.run import folder as run_folder
from la_tf.train import loop

# Columns of metrics.csv that tell the time, which no two runs share.
CLOCK = ("seconds", "evaluation_seconds", "saving_seconds", "images_per_second")

# 80 images in batches of 16: five steps an epoch, twenty in all.
SMALL = TrainConfig(
    dataset="digits",
    model="wrn_10_1",
    limit_train=80,
    batch_size=16,
    num_views=2,
    epochs=4,
    padding=2,
    flip=False,
    strategy="none",
    deterministic=True,
    verbosity=-1,
)


def configuration(run_dir, **changes):
    """The TrainConfig of a tiny run."""
    return dataclasses.replace(SMALL, run_dir=str(run_dir), **changes)


def start(config):
    """The summary of a new run."""
    return loop.train_and_evaluate(config, run_folder.fresh(config))


def resume(run_dir, **changes):
    """The summary of a run that goes on, with flags given anew."""
    origins = dict.fromkeys(("resume", "run_dir", *changes), "flag")
    asked = TrainConfig(run_dir=str(run_dir), resume=True, origins=origins, **changes)
    folder, config = run_folder.resumed(asked)
    return loop.train_and_evaluate(config, folder)


def disable_determinism():
    """Undo what a deterministic run does to all of TensorFlow in this process."""
    tensorflow_config.disable_op_determinism()
