"""Views a second, by operation and by stage, beside a lean Pillow pipeline."""

from __future__ import annotations

import statistics
import time

from la_tf.benchmark import pillow, processes
from la_tf.run import provenance

NUM_VIEWS = pillow.NUM_VIEWS
# Side of the images, and images in a batch.
SIZES = ((32, 128), (224, 32))
HOST = "la_tf.make_views"


def run(sizes=SIZES, seconds=4.0):
    """Print the tables of each size.

    Args:
        sizes: pairs of image side and batch size.
        seconds: how long each pipeline is measured; the device's forms half of it.
    """
    print(f"{NUM_VIEWS} views an image: crop, flip, two operations, CutMix\n")
    for side, batch_size in sizes:
        print(f"{side} x {side}, batches of {batch_size} images")
        for cores in sorted({1, provenance.machine()["cores"]}):
            with processes.on_cores(cores):
                _report(side, batch_size, seconds, cores)
        _report_parts(_images(batch_size, side), seconds)


def _report(side, batch_size, seconds, cores):
    """Print how fast each form makes views on so many cores."""
    images = _images(2 * batch_size, side)
    opponent = pillow.measure(images, batch_size, seconds, workers=cores)
    # A process of its own: TensorFlow counts the cores when it starts.
    found = processes.measure(__name__, side, batch_size, seconds)
    print(f"{'on one core' if cores == 1 else f'on {cores} cores'}")
    print(f"  {'lean Pillow pipeline':22}{opponent:>10,.0f} views/s")
    host = found["speeds"][HOST]
    for name, speed in found["speeds"].items():
        beside = f"{speed / opponent:.1f} of Pillow's, {speed / host:.2f} of the host's"
        print(f"  {name:22}{speed:>10,.0f} views/s, {beside}")
    print(f"  {'first batch after':22}{found['start_up']:>10.1f} s", flush=True)
    print(f"  {'memory it adds':22}{found['megabytes']:>10,.0f} MB\n", flush=True)


def measure(side, batch_size, seconds):
    """Return views a second by form, start-up seconds and the host form's memory."""
    images = _images(2 * batch_size, side)
    idle = processes.peak_megabytes()
    start_up, host = _pipeline(images, batch_size, seconds)
    megabytes = processes.peak_megabytes() - idle
    forms = _device_forms(images[:batch_size], seconds / 2)
    speeds = {HOST: host, **forms}
    return {"speeds": speeds, "start_up": start_up, "megabytes": megabytes}


def _report_parts(images, seconds):
    for name, microseconds in _stages(images).items():
        print(f"{name:24}{microseconds:>10.1f} us a view", flush=True)
    print()
    speeds = _operations(images, seconds / 16)
    for name, speed in speeds.items():
        print(f"{name:24}{speed:>10,.0f} operations/s", flush=True)
    slowest = min(speeds.values()) / statistics.median(speeds.values())
    print(f"{'slowest of median':24}{slowest:>10.2f}\n")


def _images(count, side):
    """Return pieces of two real photographs, uint8 [count, side, side, 3]."""
    import numpy as np
    from sklearn import datasets

    photographs = datasets.load_sample_images().images
    generator = np.random.default_rng(0)
    pieces = []
    for index in range(count):
        photograph = photographs[index % len(photographs)]
        top = generator.integers(photograph.shape[0] - side + 1)
        left = generator.integers(photograph.shape[1] - side + 1)
        pieces.append(photograph[top : top + side, left : left + side])
    return np.stack(pieces)


def _pipeline(images, batch_size, seconds):
    """Return seconds to the first batch, and views a second from then on."""
    import tensorflow as tf

    import la_tf

    labels = tf.range(len(images)) % 10
    source = tf.data.Dataset.from_tensor_slices((images, labels))
    source = source.batch(batch_size, drop_remainder=True).cache().repeat()
    start = time.perf_counter()
    batches = iter(la_tf.make_views(source, 10, NUM_VIEWS))
    next(batches)
    start_up = time.perf_counter() - start
    # What was prefetched while the first batch was waited for does not count.
    _rate(batches, seconds / 6)
    return start_up, _rate(batches, seconds) * batch_size * NUM_VIEWS


def _device_forms(images, seconds):
    """Return views a second of what runs in a step with --augment_on=device, by name.

    Here it runs on the CPU, as many batches at a time as there are cores.
    """
    import tensorflow as tf

    from la_tf.data.views import ViewMaker

    maker = ViewMaker(10, NUM_VIEWS, on_host=False)
    images, labels = tf.constant(images), tf.range(len(images)) % 10
    cores = provenance.machine()["cores"]
    speeds = {}
    for name, form in {
        "device, compiled": maker.compiled,
        "device": maker.on_device,
    }.items():

        def batch(step, form=form):
            return form(images, labels, [[step, 1]])[0]

        steps = tf.data.Dataset.range(tf.int64.max)
        batches = iter(steps.map(batch, num_parallel_calls=cores).prefetch(1))
        for _ in range(cores + 1):
            next(batches)
        speeds[name] = _rate(batches, seconds) * len(labels) * NUM_VIEWS
    return speeds


def _rate(iterator, seconds):
    """Return elements a second."""
    count, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        next(iterator)
        count += 1
    return count / (time.perf_counter() - start)


def _stages(images):
    """Return microseconds a view of each stage, alone and called from Python."""
    import tensorflow as tf

    from la_tf import policy, rules
    from la_tf.data import final, pad_and_crop

    batch_size, seed = len(images), tf.constant([1, 2])
    policies = policy.Policies()
    images = tf.constant(images)
    views = pad_and_crop.pad_crop_flip(images, NUM_VIEWS, seed)
    labels = tf.ones([batch_size, NUM_VIEWS, 10]) / 10
    rule = rules.DistinctPairs()
    drawn = rule.draw(batch_size, NUM_VIEWS, seed)
    stages = {
        "crop and flip": lambda: pad_and_crop.pad_crop_flip(images, NUM_VIEWS, seed),
        "draw": lambda: rule.draw(batch_size, NUM_VIEWS, seed),
        "two operations": lambda: policies.apply(views, labels, drawn, seed),
        "CutMix, every batch": lambda: final.cutmix(views, labels, seed, 1.0),
    }
    return {
        name: _best(tf.function(stage)) * 1e6 / batch_size / NUM_VIEWS
        for name, stage in stages.items()
    }


def _best(function, times=5):
    """Return the seconds of the fastest of a few calls."""
    function()
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def _operations(images, seconds):
    """Return operations a second on all cores, each policy being one of them twice."""
    import tensorflow as tf

    from la_tf import policy, rules

    count = len(images) * NUM_VIEWS
    policies = policy.Policies()
    views = tf.repeat(images[:, tf.newaxis], NUM_VIEWS, axis=1)
    labels = tf.ones([len(images), NUM_VIEWS, 10]) / 10
    drawn = rules.DistinctPairs().draw(len(images), NUM_VIEWS, [1, 2])
    speeds = {}
    for index, name in enumerate(policies.names):
        twice = drawn._replace(operations=tf.zeros_like(drawn.operations) + index)
        data = (views, labels, twice, [3, 4])
        batches = tf.data.Dataset.from_tensors(data).repeat()
        batches = batches.map(policies.apply, num_parallel_calls=tf.data.AUTOTUNE)
        batches = iter(batches.prefetch(2))
        _rate(batches, seconds / 2)
        speeds[name] = 2 * count * _rate(batches, seconds)
    return speeds
