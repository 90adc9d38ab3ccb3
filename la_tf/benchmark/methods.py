"""Seconds of a training step of every method, relative to RandAugment's.

A step is all that an image costs: its views, made where the method makes them, the
passes, the update and the callback that moves the prior. All methods take turns in one
process, so that a busy moment of the machine meets all of them.
"""

from __future__ import annotations

import statistics
import time

import numpy as np

from la_tf import methods
from la_tf.config import TrainConfig

MODEL = "wrn_16_1"
SIDE = 32
BATCH = 32
ROUNDS = 21
SECONDS = 0.25  # the least that a turn takes

REFERENCE = "randaugment"
# What is chosen beside the defaults.
CASES = {
    REFERENCE: {"method": "randaugment"},
    "baseline": {"method": "baseline"},
    "policy": {"method": "policy"},
    "autoaugment": {"method": "autoaugment"},
    "trivialaugment": {"method": "trivialaugment"},
    "latent, K = 2": {"method": "latent", "num_views": 2},
    "latent, K = 4": {"method": "latent", "num_views": 4},
    "latent, K = 6": {"method": "latent"},
    "latent, K = 6, backward_views = 1": {"method": "latent", "backward_views": 1},
    "equal, K = 6": {"method": "equal"},
    "ubs, K = 6, backward_views = 1": {"method": "ubs", "backward_views": 1},
    "adversarial, K = 8": {"method": "adversarial"},
    "metaaugment": {"method": "metaaugment"},
}


def run():
    """Print a table of all cases."""
    cases = {name: Case(chosen) for name, chosen in CASES.items()}
    rounds = [
        {name: case.seconds() for name, case in cases.items()} for _ in range(ROUNDS)
    ]
    print(
        f"{MODEL}, {BATCH} images of {SIDE}x{SIDE}, views included; median of {ROUNDS} "
        f"rounds (lowest-highest)\n"
    )
    print(f"{'':36}{'ms a step':>22}{'of ' + REFERENCE:>24}")
    for name in cases:
        seconds = [1000 * one[name] for one in rounds]
        ratios = [one[name] / one[REFERENCE] for one in rounds]
        print(f"{name:36}{_spread(seconds, 0):>22}{_spread(ratios, 2):>24}")


class Case:
    """A method's model with its batches, ready to take steps.

    Args:
        chosen: fields of TrainConfig by name.
    """

    def __init__(self, chosen):
        import tensorflow as tf

        from la_tf.data import batches
        from la_tf.run import build

        config = TrainConfig(
            dataset="cifar10", model=MODEL, batch_size=BATCH, epochs=10**6, **chosen
        )
        source = _source(methods.get(config.method).sets_aside)
        plan = batches.plan(
            source.train, seed=0, batch_size=BATCH, epochs=config.epochs
        )
        maker = build.view_maker(config, source)
        schedule = build.learning_rate(config, plan)
        classifier = build.classifier_for(config, source)
        self._model = build.make_model(config, classifier, source, maker, schedule)
        training = source.train.training_batches(maker, plan)
        if config.augment_on != "device":
            # One after the other, so that no thread works while others take their turn.
            training = training.map(source.train.view_function(maker))
        if source.aside is not None:
            training = batches.with_aside(training, source.aside, plan)
        options = tf.data.Options()
        options.autotune.enabled = False
        self._batches = iter(training.with_options(options))
        self._model.make_train_function()
        self._step()

    def seconds(self):
        """Return the seconds of a step, the mean over a turn of one at least."""
        start, steps, taken = time.perf_counter(), 0, 0.0
        while not steps or taken < SECONDS:
            self._step()
            steps += 1
            taken = time.perf_counter() - start
        return taken / steps

    def _step(self):
        logs = self._model.train_function(self._batches)
        self._model.prior.advance()
        float(np.ravel(logs["loss"])[0])


def _source(set_aside):
    """Return made-up images."""
    from la_tf.data import sources

    generator = np.random.default_rng(0)
    images = generator.integers(0, 256, [8 * BATCH, SIDE, SIDE, 3], np.uint8)
    labels = np.arange(len(images), dtype=np.int32) % 10
    train = sources.Arrays(images, labels)
    names = tuple(map(str, range(10)))
    aside = train if set_aside else None
    grey = (0.5,) * 3
    return sources.Source(
        "made up", train, train, names, (SIDE, SIDE, 3), grey, grey, aside=aside
    )


def _spread(values, digits):
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:.{digits}f} ({low:.{digits}f}-{high:.{digits}f})"
