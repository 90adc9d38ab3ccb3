"""Batches that depend on (seed, epoch, step) and the worker alone.

Nothing here keeps a state: the images of a step are found by a stateless shuffle of
their indices, and every draw starts from a seed that is folded from the run's seed, the
epoch and the step. So a run may stop anywhere and go on with the very batches it would
have had, whatever the number of threads.
"""

from __future__ import annotations

import dataclasses

import tensorflow as tf

from la_tf import draws
from la_tf.data import tuning
from la_tf.errors import UserError

# Keeps these draws apart from those of the order of the images.
_DRAWS = 2
_ASIDE = 6
# Parts that views are made from: examples, labels and seeds.
_EXAMPLE = 3


@dataclasses.dataclass(frozen=True)
class Plan:
    """The size of a run and this worker's share of each batch."""

    seed: int
    batch_size: int
    epochs: int
    steps_per_epoch: int
    worker: int = 0
    workers: int = 1

    @property
    def total_steps(self):
        """Steps of the whole run."""
        return self.epochs * self.steps_per_epoch

    @property
    def share(self):
        """Images of each batch that this worker takes."""
        return self.batch_size // self.workers

    def seeds(self, epoch, step):
        """Return a seed for each image of this worker's share, int32 [share, 2]."""
        seed = draws.fold([self.seed, _DRAWS], epoch, step, self.worker)
        return draws.bits([self.share, 2], seed, tf.int32)


def plan(train, *, seed, batch_size, epochs, worker=0, workers=1, replicas=1):
    """Return the Plan of a run over the training split, without a smaller last batch.

    Each epoch leaves out other images, as each has its own order.
    """
    size = train.size
    if batch_size > size:
        raise UserError(
            f"--batch_size={batch_size} is larger than the training set of {size} "
            f"images; use --batch_size={size} or less."
        )
    if batch_size % replicas:
        raise UserError(
            f"--batch_size={batch_size} cannot be divided among {replicas} replicas; "
            f"choose a multiple of {replicas}."
        )
    return Plan(seed, batch_size, epochs, size // batch_size, worker, workers)


def training(train, maker, plan, *, first_step=0, on_device=False, service=None):
    """Return a dataset of training batches from step `first_step` to the run's last.

    Args:
        train: the training split.
        maker: the ViewMaker.
        plan: the Plan.
        first_step: the global step to start with.
        on_device: leave the views to the step, by `train.view_function(maker)`: the
            dataset then gives `(examples, labels, seeds)`.
        service: address of a tf.data service whose workers make the batches.
    """
    batches = train.training_batches(maker, plan, first_step)
    if on_device:
        return tuning.without_tuner(batches.prefetch(tf.data.AUTOTUNE))
    # No Python of a view depends on a tensor: a run begins seconds sooner unconverted.
    views = tf.autograph.experimental.do_not_convert(train.view_function(maker))
    batches = batches.map(views, tf.data.AUTOTUNE, deterministic=True)
    if service is not None:
        # Each step is made once, by whichever worker is free.
        batches = batches.apply(
            tf.data.experimental.service.distribute(
                tf.data.experimental.service.ShardingPolicy.DYNAMIC, service
            )
        )
    return tuning.without_tuner(batches.prefetch(tf.data.AUTOTUNE))


def with_aside(training, aside, plan, first_step=0):
    """Return training batches with plain images and labels behind them.

    As many as the batch has images, drawn with replacement by (seed, step, worker).

    Args:
        training: the dataset of training batches.
        aside: the split of images that are set aside; it is kept in memory.
        plan: the Plan.
        first_step: the global step to start with.
    """
    with tf.device("/cpu:0"):
        whole = aside.evaluation_examples().batch(aside.size)
        images, labels = next(iter(whole))

    def batch(step):
        seed = draws.fold([plan.seed, _ASIDE], step, plan.worker)
        indices = draws.below([plan.share], seed, aside.size)
        return tf.gather(images, indices), tf.gather(labels, indices)

    steps = tf.data.Dataset.range(first_step, plan.total_steps)
    plain = steps.map(batch, tf.data.AUTOTUNE, deterministic=True)
    both = tf.data.Dataset.zip((training, plain))
    return both.map(lambda examples, plain: (*examples, *plain)).prefetch(1)


def evaluation(split, batch_size):
    """Return a dataset of `(uint8 images, int32 labels)` batches, in stored order."""
    # Several workers take turns at the batches, not at files.
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = (
        tf.data.experimental.AutoShardPolicy.DATA
    )
    batches = split.evaluation_examples().batch(batch_size).with_options(options)
    return tuning.without_tuner(batches.prefetch(tf.data.AUTOTUNE))


def distribute(strategy, dataset, on_device=False):
    """Return the dataset as `fit` wants it under a strategy.

    A dataset gives the worker's share of each global batch; it is cut into one piece a
    local replica. Under one replica it is the dataset itself.

    Args:
        strategy: the strategy.
        dataset: of `training`.
        on_device: whether its views are left to the step. A view may be mixed with one
            of any other image, so that a replica gets all examples, labels and seeds,
            and after them the places of its own images.
    """
    if strategy.num_replicas_in_sync == 1:
        return dataset
    return strategy.distribute_datasets_from_function(
        lambda context: _cut(
            dataset,
            context.num_replicas_in_sync // context.num_input_pipelines,
            _EXAMPLE if on_device else 0,
        )
    )


def _cut(dataset, pieces, whole=0):
    """Return a dataset that gives each batch in so many equal pieces, in order.

    The first `whole` parts of a batch are not cut; every piece has them, and after them
    the places that the piece has in the batch.
    """

    def cut(part):
        return tf.reshape(part, tf.concat([[pieces, -1], tf.shape(part)[1:]], 0))

    def in_pieces(*batch):
        parts = [tf.stack([part] * pieces) for part in batch[:whole]]
        if whole:
            parts.append(cut(tf.range(tf.shape(batch[0], tf.int64)[0])))
        return (*parts, *map(cut, batch[whole:]))

    return dataset.map(in_pieces).unbatch() if pieces > 1 else dataset
