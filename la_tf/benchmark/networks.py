"""Images a second and memory of every network, forward and with the backward pass.

Each case runs in a process of its own, since the memory that matters is the highest a
process has ever had.
"""

from __future__ import annotations

import statistics
import time

import models
from la_tf.benchmark import processes

RUNS = 3
SECONDS = 3.0  # the least that a run takes
SMALL_NETWORKS = ("wrn_40_2", "shake_shake_26_2x32d")


def run():
    """Print a table of all networks, the large ones also with recomputation."""
    print(
        f"Images a second, median of {RUNS} runs of at least {SECONDS:.0f} s "
        "(slowest-fastest); memory above\nthat of the process before the first pass. "
        "Forward in evaluation mode; backward in training mode.\n"
    )
    print(f"{'':30}{'batch':>6}{'forward':>22}{'forward+backward':>24}{'memory':>10}")
    for name, remat in cases():
        print(_row(name, remat, processes.measure(__name__, name, remat)), flush=True)


def cases():
    """Return pairs of a network's name and whether it recomputes activations."""
    plain = [(name, False) for name in models.NAMES]
    return plain + [(name, True) for name in models.NAMES if name not in SMALL_NETWORKS]


def measure(name, remat=False):
    """Return images a second of a network's passes, `RUNS` each, and megabytes."""
    import tensorflow as tf

    batch = _batch_size(name)
    side, classes = (224, 1000) if name.startswith("resnet") else (32, 10)
    model = models.build(name, (side, side, 3), classes, remat=remat)
    images = tf.random.stateless_uniform(
        [batch, side, side, 3], [0, 1], 0, 256, tf.int32
    )
    images = tf.cast(images, tf.uint8)
    labels = tf.random.stateless_uniform([batch], [0, 2], 0, classes, tf.int32)
    forward = tf.function(lambda: tf.reduce_sum(model(images, training=False)))
    backward = tf.function(lambda: _gradient_sums(model, images, labels))
    before = processes.peak_megabytes()
    backward()
    megabytes = processes.peak_megabytes() - before
    return {
        "forward": _rates(forward, batch),
        "backward": _rates(backward, batch),
        "megabytes": megabytes,
    }


def _gradient_sums(model, images, labels):
    """Return one number a weight, enough that no gradient is optimised away."""
    import tensorflow as tf

    with tf.GradientTape() as tape:
        logits = model(images, training=True)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        loss = tf.reduce_mean(losses)
    gradients = tape.gradient(loss, model.trainable_variables)
    return tf.stack([tf.reduce_sum(gradient) for gradient in gradients])


def _rates(function, batch):
    """Return images a second of `RUNS` runs, after a pass that does not count."""
    function()
    rates = []
    for _ in range(RUNS):
        start, passes = time.perf_counter(), 0
        while time.perf_counter() - start < SECONDS:
            function().numpy()
            passes += 1
        rates.append(passes * batch / (time.perf_counter() - start))
    return rates


def _batch_size(name):
    return 64 if name in SMALL_NETWORKS else 8


def _row(name, remat, result):
    title = f"{name}, remat" if remat else name
    forward, backward = _spread(result["forward"]), _spread(result["backward"])
    return (
        f"{title:30}{_batch_size(name):>6}{forward:>22}{backward:>24}"
        f"{result['megabytes']:>7.0f} MB"
    )


def _spread(rates):
    return f"{statistics.median(rates):.1f} ({min(rates):.1f}-{max(rates):.1f})"
