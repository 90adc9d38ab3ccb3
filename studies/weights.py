"""Measure what decides LatentAugment's weights, in runs that kept all checkpoints.

python studies/weights.py RUN [RUN ...]

A run is LatentAugment of studies/digits.json with a window of 40 steps: python -m
la_tf.train --dataset=digits --model=wrn_16_1 --limit_train=200 --test_on_rest
--batch_size=32 --epochs=50 --evaluate_every=0 --learning_rate=0.1 --weight_decay=0.005
--prior_window=40 --keep=50 --seed=SEED --run_dir=RUN

Every training image is changed by each of the 256 policies once, without crop and
final step. Of each policy this gives, after several epochs, its weight h̃ among views
drawn as in training, the same after the epoch that follows, and its use: how fast the
loss on the test images would fall, to first order, if the network followed the gradient
of that policy's views. The network is normalised by its batch throughout, as in
training: at a high learning rate the averages of BatchNorm are those of other weights.
One row a run and epoch goes to studies/weights/results.csv, and a drawing of the last
epoch of the first run beside it.
"""

from __future__ import annotations

import csv
import pathlib
import sys

import numpy as np
from scipy import stats

from la_tf import environment

environment.settle()

import tensorflow as tf  # noqa: E402

from la_tf import drawing, draws, em, policy  # noqa: E402
from la_tf.run import build, checkpoints, folder, store  # noqa: E402

EPOCHS = (1, 5, 10, 25, 49)
VIEWS = 6
OUTPUT = pathlib.Path(__file__).parent / "weights"
# Relative to the weights' norm: far enough for float32, near enough for a slope.
STEP = 1e-3
# Policies in one batch, together with all images: any of them, as in training.
CHUNK = 16
ORDER = np.random.default_rng(0).permutation(policy.NUM_POLICIES)
# Which of the policies have MixUp in them.
MIXES = np.array(
    ["MixUp" in policy.name_of(number) for number in range(policy.NUM_POLICIES)]
)


def main(runs):
    """Measure these runs and write the table."""
    OUTPUT.mkdir(exist_ok=True)
    rows = []
    for run in runs:
        for measured in _measure_run(folder.RunFolder(run)):
            rows.append(_row(measured))
            print(f"{run}: epoch {measured['epoch']}", flush=True)
        if run == runs[0]:
            _draw(measured, OUTPUT / "usefulness.png")
    with open(OUTPUT / "results.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def _measure_run(run):
    config = run.config()
    source = build.load_source(config)
    classifier = build.classifier_for(config, source)
    views, labels = changed_images(config, source)
    epochs = {int(row["step"]): int(row["epoch"]) for row in run.rows()}
    paths = {epochs[step]: path for step, path in store.found(run.checkpoints)}

    def losses_after(epoch):
        checkpoints.restore_classifier(classifier, paths[epoch])
        return _losses(classifier, views, labels)

    for epoch in EPOCHS:
        next_losses = losses_after(epoch + 1)
        losses = losses_after(epoch)
        yield {
            "epoch": epoch,
            "seed": config.seed,
            "losses": losses,
            "weights": weights(losses, config.sigma),
            "next_weights": weights(next_losses, config.sigma),
            "use": usefulness(classifier, source.test, views, labels),
            "prior": run.policies()[epoch - 1],
        }


def changed_images(config, source):
    """Return every training image after every policy, and the labels: [B, 256, ...]."""
    images, labels = source.train.images, source.train.labels
    count = len(images)
    policies = tf.tile(tf.range(policy.NUM_POLICIES)[tf.newaxis], [count, 1])
    levels = draws.below([count, policy.NUM_POLICIES, 2], [1, 2], 10)
    choice = policy.Choice(policies, policy.pairs(policies), levels)
    views = tf.repeat(images[:, tf.newaxis], policy.NUM_POLICIES, axis=1)
    hot = tf.one_hot(labels, source.num_classes)[:, tf.newaxis]
    hot = tf.repeat(hot, policy.NUM_POLICIES, axis=1)
    changer = policy.Policies(mixup_alpha=config.mixup_alpha)
    return changer.apply(views, hot, choice, tf.constant([3, 4], tf.int64))


def weights(losses, sigma, seed=0):
    """Return h̃ of every view [B, 256], each among views as training would draw them.

    An image's 256 policies are dealt at random into groups of six; the four that are
    left over, and the prior, have no part in it.

    Args:
        losses: [B, 256].
        sigma: of eq. 3.
        seed: of the groups.
    """
    generator = np.random.default_rng(seed)
    count = losses.shape[1] // VIEWS * VIEWS
    order = np.tile(np.arange(losses.shape[1]), [len(losses), 1])
    order = generator.permuted(order, axis=1)[:, :count]
    grouped = np.take_along_axis(losses, order, 1).reshape(len(losses), -1, VIEWS)
    likelihood = np.exp(-grouped)
    uniform = np.full_like(likelihood, 1 / losses.shape[1])
    chosen = em.softmin(em.posterior(uniform, likelihood), sigma).numpy()
    result = np.full(losses.shape, np.nan, np.float32)
    np.put_along_axis(result, order, chosen.reshape(len(losses), -1), 1)
    return result


def usefulness(classifier, test, views, labels):
    """Return d(test loss)/d(learning rate) of a step on each view, negated: [B, 256].

    By central differences along the gradient of the test loss: two forward passes of
    each view tell its own gradient's part in that direction.
    """
    variables = classifier.trainable_variables
    with tf.GradientTape() as tape:
        hot = tf.one_hot(test.labels, labels.shape[-1])
        loss = -tf.reduce_mean(
            em.log_likelihood(classifier(test.images, training=True), hot)
        )
    direction = tape.gradient(loss, variables)
    length = STEP * tf.linalg.global_norm(variables) / tf.linalg.global_norm(direction)
    found = []
    for sign in (1.0, -1.0):
        _move(variables, direction, sign * length)
        found.append(_losses(classifier, views, labels))
        _move(variables, direction, -sign * length)
    return (found[0] - found[1]) / (2 * float(length))


def _move(variables, direction, length):
    for variable, slope in zip(variables, direction):
        variable.assign_add(length * slope)


def _losses(classifier, views, labels):
    """Return the loss of every view, [B, 256]."""
    losses = np.empty(views.shape[:2], np.float32)
    for chosen in ORDER.reshape(-1, CHUNK):
        some, hot = tf.gather(views, chosen, axis=1), tf.gather(labels, chosen, axis=1)
        logits = classifier(tf.reshape(some, [-1, *some.shape[2:]]), training=True)
        found = -em.log_likelihood(logits, tf.reshape(hot, [-1, hot.shape[-1]]))
        losses[:, chosen] = tf.reshape(found, [-1, CHUNK])
    return losses


def _row(measured):
    """Return the figures of one run and epoch."""
    of_view = measured["weights"]
    of_policy = np.nanmean(of_view, 0)
    use = measured["use"].mean(0)
    return {
        "seed": measured["seed"],
        "epoch": measured["epoch"],
        "loss": np.mean(measured["losses"]),
        "weight_5_percent": VIEWS * np.nanpercentile(of_view, 5),
        "weight_95_percent": VIEWS * np.nanpercentile(of_view, 95),
        "policy_weight_least": VIEWS * of_policy.min(),
        "policy_weight_most": VIEWS * of_policy.max(),
        "weight_between_halves": _halves(of_view),
        "use_between_halves": _halves(measured["use"]),
        "with_next_epoch": _rank_correlation(
            of_policy, np.nanmean(measured["next_weights"], 0)
        ),
        "prior_with_weight": _rank_correlation(measured["prior"], of_policy),
        "prior_with_use": _rank_correlation(measured["prior"], use),
        "weight_with_use": _rank_correlation(of_policy, use),
        "loss_with_use": _rank_correlation(measured["losses"].mean(0), use),
        # A mixed view is hard for every network, and its label is no plain image's.
        "mixup_weight": VIEWS * of_policy[MIXES].mean(),
        "mixup_use": use[MIXES].mean(),
        "other_use": use[~MIXES].mean(),
        "weight_with_use_without_mixup": _rank_correlation(
            of_policy[~MIXES], use[~MIXES]
        ),
        "prior_with_use_without_mixup": _rank_correlation(
            measured["prior"][~MIXES], use[~MIXES]
        ),
    }


def _halves(values):
    """Return how alike the policies' means over two halves of the images are."""
    return _rank_correlation(np.nanmean(values[::2], 0), np.nanmean(values[1::2], 0))


def _rank_correlation(first, second):
    return stats.spearmanr(first, second, nan_policy="omit").statistic


def _draw(measured, path):
    """Draw the policies' weights and uses at the last epoch."""
    with drawing.style():
        figure = drawing.new_figure(5, 4)
        axes = figure.add_subplot()
        of_policy = VIEWS * np.nanmean(measured["weights"], 0)
        use = measured["use"].mean(0)
        for name, members, colour in zip(
            ("with MixUp", "others"), (MIXES, ~MIXES), drawing.SERIES
        ):
            axes.scatter(
                of_policy[members], use[members], s=12, color=colour, label=name
            )
        axes.legend()
        axes.set_xlabel("mean weight of the policy, times K")
        axes.set_ylabel("use: fall of the test loss a unit of learning rate")
        path.write_bytes(drawing.png(figure))


if __name__ == "__main__":
    main(sys.argv[1:])
