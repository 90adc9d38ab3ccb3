"""A process that trains one run after another: python -m la_tf.compare.worker CORES.

It reads a task from each line of its input and answers each with a line, both JSON. One
start saves the import of TensorFlow for all runs but the first. Between two runs all
that Keras has gathered is thrown away, and a run gives the same bits as in a process of
its own.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
import traceback

from la_tf import cli
from la_tf.config import TrainConfig
from la_tf.errors import UserError
from la_tf.run import folder as run_folder

# Of a measurement: images a pass, and its least length.
_IMAGES, _SECONDS = 16, 3.0


def main():
    """Do what the input asks for, until it ends."""
    answers = _take_output()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, json.loads(sys.argv[1]))
    for line in sys.stdin:
        answers.write(json.dumps(_answer(json.loads(line))) + "\n")
        answers.flush()


def train(config):
    """Train a run, or go on with one that was stopped; return the answer."""
    from tensorflow import keras

    from la_tf.run import checkpoints
    from la_tf.train import loop

    folder = run_folder.RunFolder(config.run_dir)
    if folder.config_path.exists():
        # The data may have moved since.
        moved = {"data_dir": config.data_dir} if config.data_dir else {}
        folder, config = run_folder.resumed({"run_dir": config.run_dir, **moved})
    try:
        loop.train_and_evaluate(config, folder)
    except checkpoints.RunStopped:
        return {"stopped": True}
    finally:
        keras.backend.clear_session()
        gc.collect()
    return {}


def measure(config, image_shape):
    """Measure a network's forward and backward pass; return images a second."""
    import tensorflow as tf
    from tensorflow import keras

    from la_tf.run import build

    black, white = [0.0] * image_shape[-1], [1.0] * image_shape[-1]
    network = build.build_classifier(config, image_shape, 10, black, white)
    images = tf.zeros([_IMAGES, *image_shape], tf.uint8)

    @tf.function
    def passes():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(network(images, training=True) ** 2)
        gradients = tape.gradient(loss, network.trainable_variables)
        return tf.add_n([tf.reduce_sum(gradient) for gradient in gradients])

    passes()
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < _SECONDS:
        passes().numpy()
        count += 1
    rate = count * _IMAGES / (time.perf_counter() - start)
    keras.backend.clear_session()
    return {"rate": rate}


def _take_output():
    """Return a file for the answers.

    What anything else prints goes to the error stream.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def _answer(task):
    config = TrainConfig.from_values(task["config"], task["origins"])
    try:
        cli.load_tensorflow()
        if "image_shape" in task:
            return measure(config, tuple(task["image_shape"]))
        print(f"--- {config.run_dir}", file=sys.stderr, flush=True)
        return train(config)
    except UserError as error:
        return {"error": str(error)}
    except Exception as error:
        # Whatever it is, the other runs go on; the log has all of it.
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    main()
