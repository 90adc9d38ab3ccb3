"""Batches that depend on (seed, epoch, step) and the worker alone.

Nothing here keeps a state: the images of a step are found by a stateless shuffle of
their indices, and every draw starts from a seed that is folded from the run's seed, the
epoch and the step. So a run may stop anywhere and go on with the very batches it would
have had, whatever the number of threads.
"""

from __future__ import annotations

import dataclasses

import tensorflow as tf

from la_tf.data import inception
from la_tf.data.sources import Arrays
from la_tf.errors import UserError

# One constant for each use of the run's seed, so that no two share their draws.
_ORDER, _DRAWS = 1, 2


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


def plan(train, *, seed, batch_size, epochs, worker=0, workers=1, replicas=1):
    """The Plan of a run over the training split; the last, smaller batch is left out.

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


def training(
    train,
    maker,
    plan,
    *,
    first_step=0,
    image_size=None,
    on_device=False,
    service=None,
):
    """A dataset of training batches from step `first_step` to the run's last.

    Args:
        train: the training split, Arrays or Stream.
        maker: the ViewMaker.
        plan: the Plan.
        first_step: the global step to start with.
        image_size: side of the crops of encoded photographs.
        on_device: leave the views to the step: `(images, labels, seeds)` comes out.
        service: address of a tf.data service whose workers make the batches.
    """
    if isinstance(train, Arrays):
        batches = _gathered(train, plan, first_step)
    else:
        batches = _streamed(train, plan, first_step, maker.num_views, image_size)
    if on_device:
        return batches.prefetch(tf.data.AUTOTUNE)
    views = view_function(train, maker)
    batches = batches.map(views, tf.data.AUTOTUNE, deterministic=True)
    if service is not None:
        # Each step is made once, by whichever worker is free.
        batches = batches.apply(
            tf.data.experimental.service.distribute(
                tf.data.experimental.service.ShardingPolicy.DYNAMIC, service
            )
        )
    return batches.prefetch(tf.data.AUTOTUNE)


def view_function(train, maker):
    """The function from a batch of this split, with its seeds, to a training batch."""
    if isinstance(train, Arrays):
        return maker.from_images
    return maker.from_base_views


def evaluation(split, batch_size, image_size=None):
    """A dataset of `(uint8 images, int32 labels)` batches of a split, in order."""
    if isinstance(split, Arrays):
        with tf.device("/cpu:0"):
            examples = tf.data.Dataset.from_tensor_slices((split.images, split.labels))
    else:
        examples = split.records().map(
            lambda encoded, label: (
                inception.evaluation_image(encoded, image_size),
                label,
            ),
            tf.data.AUTOTUNE,
        )
    # Several workers take turns at the batches, not at files.
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = (
        tf.data.experimental.AutoShardPolicy.DATA
    )
    batches = examples.batch(batch_size).with_options(options)
    return batches.prefetch(tf.data.AUTOTUNE)


def distribute(strategy, dataset):
    """The dataset as `fit` wants it under a strategy.

    A dataset gives the worker's share of each global batch; it is cut into one piece a
    local replica. Under one replica it is the dataset itself.
    """
    if strategy.num_replicas_in_sync == 1:
        return dataset
    return strategy.distribute_datasets_from_function(
        lambda context: _cut(
            dataset, context.num_replicas_in_sync // context.num_input_pipelines
        )
    )


def _cut(dataset, pieces):
    def reshape(*batch):
        return tuple(
            tf.reshape(part, tf.concat([[pieces, -1], tf.shape(part)[1:]], 0))
            for part in batch
        )

    return dataset.map(reshape).unbatch() if pieces > 1 else dataset


def _folded(seed, *values):
    seed = tf.constant(seed, tf.int64)
    for value in values:
        seed = tf.random.experimental.stateless_fold_in(seed, tf.cast(value, tf.int64))
    return seed


def _step_seed(plan, epoch, step):
    return _folded([plan.seed, _DRAWS], epoch, step, plan.worker)


def _row_seeds(seed, count):
    return tf.random.stateless_uniform(
        [count, 2], seed, minval=None, maxval=None, dtype=tf.int32
    )


def _shuffled(places, seed, epoch, last):
    """The images at these places of the epoch's order, a permutation of 0..last."""
    # Not tf.random.experimental.index_shuffle, which is this with four rounds: too few,
    # neighbours are then further apart than chance has them.
    return tf.raw_ops.RandomIndexShuffle(
        index=places,
        seed=tf.stack([tf.constant(seed, tf.int64), epoch, _ORDER]),
        max_index=tf.constant(last, tf.int64),
        rounds=16,
    )


def _gathered(train, plan, first_step):
    """Batches `(images, labels, seeds)` of images that are kept in memory."""
    # Pinned to the host: a captured tensor would otherwise sit on the GPU and be copied
    # back for every batch.
    with tf.device("/cpu:0"):
        images, labels = tf.constant(train.images), tf.constant(train.labels)
    last = train.size - 1

    def batch(global_step):
        epoch = global_step // plan.steps_per_epoch
        step = global_step % plan.steps_per_epoch
        start = step * plan.batch_size + plan.worker * plan.share
        indices = _shuffled(tf.range(start, start + plan.share), plan.seed, epoch, last)
        seeds = _row_seeds(_step_seed(plan, epoch, step), plan.share)
        return tf.gather(images, indices), tf.gather(labels, indices), seeds

    steps = tf.data.Dataset.range(first_step, plan.total_steps)
    return steps.map(batch, tf.data.AUTOTUNE, deterministic=True)


def _streamed(train, plan, first_step, num_views, image_size):
    """Batches `(base views, labels, seeds)` of photographs that are read on the way."""
    first_epoch, skipped = divmod(first_step, plan.steps_per_epoch)

    def epoch_examples(epoch):
        first = tf.where(epoch == first_epoch, skipped * plan.batch_size, 0)
        first = tf.cast(first, tf.int64)
        used = plan.steps_per_epoch * plan.batch_size - first
        records = train.records(seed=plan.seed, epoch=epoch, first=first).take(used)
        return records.enumerate(first).map(
            lambda index, record: (epoch, index, *record)
        )

    def is_ours(epoch, index, encoded, label):
        del epoch, encoded, label
        return index % plan.batch_size // plan.share == plan.worker

    def views(epoch, index, encoded, label):
        step, row = index // plan.batch_size, index % plan.share
        seed = _row_seeds(_step_seed(plan, epoch, step), plan.share)[row]
        base_views = inception.training_views(encoded, num_views, image_size, seed)
        return base_views, label, seed

    examples = tf.data.Dataset.range(first_epoch, plan.epochs).flat_map(epoch_examples)
    if plan.workers > 1:
        examples = examples.filter(is_ours)
    examples = examples.map(views, tf.data.AUTOTUNE, deterministic=True)
    return examples.batch(plan.share, drop_remainder=True)
