"""Time and memory of a training step, by number of views, chunks and economy.

Each configuration runs in a process of its own, since the memory that matters is the
highest a process has ever had.
"""

from __future__ import annotations

import statistics
import time

from la_tf.benchmark import processes

MODEL = "wrn_16_2"
SIDE = 32
BATCH = 32
STEPS = 8

# Name, and the arguments of LatentAugment beside the number of views.
CASES = (
    ("K = 1", 1, {}),
    ("K = 2", 2, {}),
    ("K = 4", 4, {}),
    ("K = 6", 6, {}),
    ("K = 6, view_chunk = 1", 6, {"view_chunk": 1}),
    ("K = 6, view_chunk = 2", 6, {"view_chunk": 2}),
    ("K = 6, backward_views = 1", 6, {"backward_views": 1}),
    ("K = 6, backward_views = 2", 6, {"backward_views": 2}),
    ("K = 6, e_step = separate", 6, {"e_step": "separate"}),
)


def run():
    """Print a table of all cases."""
    print(
        f"{MODEL}, {BATCH} images of {SIDE}x{SIDE}, median of {STEPS} steps "
        "(fastest-slowest); memory above that of the process before the first step\n"
    )
    print(f"{'':28}{'ms a step':>22}{'of K = 1':>10}{'memory':>10}")
    single = None
    for name, num_views, options in CASES:
        result = processes.measure(__name__, num_views, options)
        single = single or result["median"]
        spread = f"({result['fastest']:.0f}-{result['slowest']:.0f})"
        print(
            f"{name:28}{result['median']:>10.0f} {spread:>11}"
            f"{result['median'] / single:>9.2f}x{result['megabytes']:>7.0f} MB",
            flush=True,
        )


def measure(num_views, options):
    """Return milliseconds and megabytes of the training step, by name."""
    import tensorflow as tf
    from tensorflow import keras

    import la_tf
    import models

    model = la_tf.LatentAugment(models.build(MODEL, (SIDE, SIDE, 3), 10), **options)
    model.compile(keras.optimizers.SGD(0.01, momentum=0.9, nesterov=True))
    model.make_train_function()
    step = model.train_function
    batch = _batch(num_views, options.get("e_step") == "separate")
    batches = iter(tf.data.Dataset.from_tensors(batch).repeat())
    before = processes.peak_megabytes()
    step(batches)
    milliseconds = []
    for _ in range(STEPS):
        start = time.perf_counter()
        float(step(batches)["loss"])
        milliseconds.append(1000 * (time.perf_counter() - start))
    return {
        "median": statistics.median(milliseconds),
        "fastest": min(milliseconds),
        "slowest": max(milliseconds),
        "megabytes": processes.peak_megabytes() - before,
    }


def _batch(num_views, with_early):
    import tensorflow as tf

    shape = [BATCH, num_views]
    views = tf.random.stateless_uniform(
        [*shape, SIDE, SIDE, 3], [0, 1], 0, 256, tf.int32
    )
    views = tf.cast(views, tf.uint8)
    classes = tf.random.stateless_uniform(shape, [0, 2], 0, 10, tf.int32)
    labels = tf.one_hot(classes, 10)
    policies = tf.random.stateless_uniform(shape, [0, 3], 0, 256, tf.int32)
    batch = (views, labels, policies)
    return (*batch, views, labels) if with_early else batch
