"""Train with policies drawn by a prior instead of evenly, and compare.

python studies/drawn.py RUNS SEED [SEED ...]

RUNS holds finished runs of studies/digits.json. For each seed the last prior of its run
of LatentAugment with a window of 40 steps says how often each policy is drawn, and all
else stays as in that run. So does a second run, with the prior to the fourth power.
Accuracies go to studies/drawn/results.csv, and a drawing of them beside it; what is
there is not run again.
"""

from __future__ import annotations

import csv
import dataclasses
import pathlib
import sys
from unittest import mock

import numpy as np

from la_tf import environment

environment.settle()

import tensorflow as tf  # noqa: E402

from la_tf import drawing, draws, methods, policy, rules  # noqa: E402
from la_tf.compare import charts, statistics, study, worker  # noqa: E402
from la_tf.run import folder  # noqa: E402

HERE = pathlib.Path(__file__).parent
OUTPUT = HERE / "drawn" / "results.csv"
SETTING = "latent, prior_window=40"
POWERS = {f"by the prior to the power of {power}": power for power in (1, 4)}


class FromPrior(rules.DistinctPairs):
    """K distinct policies an image, drawn one after another by their probabilities."""

    def __init__(self, probabilities):
        super().__init__()
        self._logarithms = tf.constant(np.log(probabilities), tf.float32)

    def draw(self, batch_size, num_views, seed):
        key_seed, level_seed = draws.split(seed, 2)
        # The largest of such keys are a draw without replacement (Gumbel).
        uniform = draws.uniform([batch_size, self.num_policies], key_seed, 1e-7)
        keys = self._logarithms - tf.math.log(-tf.math.log(uniform))
        policies = tf.math.top_k(keys, num_views).indices
        levels = draws.below([batch_size, num_views, 2], level_seed, 10)
        return policy.Choice(
            policies, policy.pairs(policies), tf.cast(levels, tf.int64)
        )


def main(runs, seeds):
    """Train what is missing and print the differences."""
    plan = study.read(HERE / "digits.json")
    setting = next(one for one in plan.settings if one.name == SETTING)
    found = _read()
    for seed in seeds:
        even = folder.RunFolder(setting.run(seed, runs).run_dir)
        found["evenly", seed] = even.summary()["last_accuracy"]
        for name, power in POWERS.items():
            if (name, seed) not in found:
                weights = even.policies()[-1] ** power
                run_dir = pathlib.Path(runs) / f"drawn-{power}" / f"seed-{seed}"
                found[name, seed] = _train(setting, seed, run_dir, weights)
                _write(found)
    for name in POWERS:
        print(name, statistics.paired(_of(found, name), _of(found, "evenly")))
    _draw(found)


def _draw(found):
    rows = [(name, [*_of(found, name).values()]) for name in ("evenly", *POWERS)]
    figure = charts.accuracies("Test accuracy by how policies are drawn", rows, {})
    OUTPUT.with_name("accuracy.png").write_bytes(drawing.png(figure))


def _train(setting, seed, run_dir, weights):
    """Return the accuracy of a run whose policies are drawn by these weights."""
    config = dataclasses.replace(setting.config, seed=seed, run_dir=str(run_dir))
    rule = FromPrior(weights / weights.sum())
    with mock.patch.object(methods, "rule", lambda config: rule):
        worker.train(config)
    return folder.RunFolder(run_dir).summary()["last_accuracy"]


def _of(found, name):
    return {seed: 100 * value for (one, seed), value in found.items() if one == name}


def _read():
    if not OUTPUT.exists():
        return {}
    with open(OUTPUT, newline="", encoding="utf-8") as file:
        return {
            (row["drawn"], int(row["seed"])): float(row["accuracy"])
            for row in csv.DictReader(file)
        }


def _write(found):
    OUTPUT.parent.mkdir(exist_ok=True)
    with open(OUTPUT, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["drawn", "seed", "accuracy"])
        writer.writerows([*key, value] for key, value in found.items())


if __name__ == "__main__":
    main(sys.argv[1], [int(seed) for seed in sys.argv[2:]])
