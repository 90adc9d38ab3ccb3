"""K views of each image, each under its own policy: what a training step works on."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from la_tf import config, draws, policy, rules
from la_tf.data import final, inception, pad_and_crop, tuning, user_batches
from la_tf.ops import checks, families, mixing, words

# Keeps these draws apart from all others that start from the same seed.
_STEPS = 3

FINAL_STEPS = config.options("final")


class ViewMaker:
    """Turns images and labels into training batches, the same for the same seeds.

    A training batch is `(views uint8 [B, K, H, W, C], labels float32 [B, K, classes],
    policies int32 [B, K])`, a policy being its number in the drawing rule: by default
    `first * 16 + second`. It keeps no state: on the host in tf.data and on the
    accelerator in a step it gives the same bytes.

    Args:
        num_classes: of the labels.
        num_views: K, views of each image.
        transforms: "latentaugment"; "autoaugment" has SamplePairing in MixUp's place.
        drawing: the `la_tf.rules.Rule` by which operations and levels are drawn; None
            for LatentAugment's K distinct pairs of `transforms`.
        mixup_alpha: of MixUp's Beta distribution; 0 leaves images as they are.
        final: "cutmix", "cutout" or "none", after the operations.
        cutmix_probability: that a batch is cut and mixed.
        cutout_size: side of the final Cutout in pixels; None for half the image's side.
        fill: colour of the final Cutout, None for CIFAR's mean.
        padding: of the random crop.
        flip: whether half of the views are mirrored.
        operations: False leaves out the policies, which are then given as zeros.
        keep_early: also give the views and labels as they were before the final step.
        on_host: True for tf.data, where the policies run as one compiled program on the
            CPU; False for a step on an accelerator or under a distribution strategy,
            where all of it is one compiled program.
    """

    def __init__(
        self,
        num_classes,
        num_views=6,
        transforms="latentaugment",
        drawing=None,
        mixup_alpha=1.0,
        final="cutmix",
        cutmix_probability=0.5,
        cutout_size=None,
        fill=None,
        padding=4,
        flip=True,
        operations=True,
        keep_early=False,
        on_host=True,
    ):
        if num_classes < 1:
            raise ValueError(f"num_classes is {num_classes}; give 1 or more")
        if final not in FINAL_STEPS:
            raise ValueError(f"final is {final!r}; give one of {FINAL_STEPS}")
        self.num_classes = num_classes
        self.drawing = drawing or rules.DistinctPairs(transforms)
        self.num_views = self.drawing.check_num_views(num_views)
        self.policies = None
        if operations:
            self.policies = policy.Policies(self.drawing.space, mixup_alpha, on_host)
        self.final = final
        self.cutmix_probability = cutmix_probability
        self.cutout_size = cutout_size
        self.fill = fill
        self.padding = padding
        self.flip = flip
        self.keep_early = keep_early
        self._on_host = on_host
        # Compiled by itself: the step as a whole cannot be under a strategy.
        self.compiled = tf.function(self.on_device, jit_compile=True, autograph=False)

    def from_images(self, images, labels, seeds, places=None):
        """Return a training batch of whole images: crop and flip, policies, final step.

        Args:
            images: uint8 [B, H, W, C].
            labels: whole numbers [B], or float32 [B, classes] that add up to 1.
            seeds: whole numbers [B, 2]; the first row is used.
            places: int64 [M], the images whose views are wanted, for a replica that
                trains on a part of the batch; None for all.
        """
        images = checks.to_bytes(images)
        if not self._on_host:
            return self.compiled(images, labels, seeds, places)
        crop_seed, seed = draws.split(seeds[0], 2)
        base_views = pad_and_crop.pad_crop_flip(
            images, self.num_views, crop_seed, self.padding, self.flip
        )
        return self._finish(base_views, labels, seed, places)

    def crop_photograph(self, encoded, size, seed):
        """Return the base views of one photograph, uint8 [K, size, size, 3].

        Args:
            encoded: its bytes.
            size: side of the views in pixels.
            seed: whole numbers [2].
        """
        return inception.training_views(encoded, self.num_views, size, seed, self.flip)

    def from_base_views(self, base_views, labels, seeds, places=None):
        """Return a training batch of views [B, K, H, W, C] that are already cropped."""
        base_views = checks.to_bytes(base_views, rank=5)
        if base_views.shape[1] not in (None, self.num_views):
            raise ValueError(
                f"there are {base_views.shape[1]} views of each image; "
                f"num_views is {self.num_views}"
            )
        if not self._on_host:
            return self.compiled(base_views, labels, seeds, places)
        _, seed = draws.split(seeds[0], 2)
        return self._finish(base_views, labels, seed, places)

    def choice(self, images, labels, seeds, places=None):
        """Return the `Choice` that a training batch of these parts is made by."""
        del images
        _, seed = draws.split(seeds[0], 2)
        draw_seed, _, _ = draws.split(seed, 3)
        choice = self.drawing.draw(tf.shape(labels)[0], self.num_views, draw_seed)
        return policy.Choice(*_at(places, *choice))

    def on_device(self, images, labels, seeds, places=None):
        """Return what `from_images` and `from_base_views` give, made by words.

        Whole batches of static size in types that an accelerator has kernels for.

        Args:
            images: uint8 [B, H, W, C], or base views [B, K, H, W, C].
            labels: whole numbers [B].
            seeds: whole numbers [B, 2]; the first row is used.
            places: int64 [M], the images whose views are wanted; None for all.
        """
        *_, height, width, channels = images.shape
        packed, size = words.pack(images), [height, width]
        crop_seed, seed = draws.split(seeds[0], 2)
        if images.shape.rank == 4:
            view_at = pad_and_crop.crops_of_words(
                packed, self.num_views, crop_seed, self.padding, self.flip
            )
        else:
            view_at = families.by_places(tf.reshape(packed, [-1, *size]))
        draw_seed, apply_seed, final_seed = draws.split(seed, 3)
        labels = self._one_hot(labels)
        batch_size = tf.shape(labels)[0]
        if self.policies is None:
            policies = tf.zeros([batch_size, self.num_views], tf.int32)
            views = view_at(tf.range(tf.size(policies, tf.int64)))
            views = tf.reshape(views, [-1, self.num_views, *size])
        else:
            choice = self.drawing.draw(batch_size, self.num_views, draw_seed)
            policies = choice.policies
            views, labels = self.policies.apply_to_words(
                view_at, size, labels, choice, apply_seed, channels
            )
        last, last_labels = self._final_words(views, labels, final_seed, channels)
        last, *others = _at(places, last, last_labels, policies)
        batch = (words.unpack(last, channels), *others)
        if not self.keep_early:
            return batch
        views, labels = _at(places, views, labels)
        return (*batch, words.unpack(views, channels), labels)

    def _finish(self, views, labels, seed, places):
        draw_seed, apply_seed, final_seed = draws.split(seed, 3)
        batch_size = tf.shape(views)[0]
        labels = self._one_hot(labels)
        if self.policies is None:
            policies = tf.zeros([batch_size, self.num_views], tf.int32)
        else:
            choice = self.drawing.draw(batch_size, self.num_views, draw_seed)
            policies = choice.policies
            views, labels = self.policies.apply(views, labels, choice, apply_seed)
        last_views, last_labels = self._final_step(views, labels, final_seed)
        batch = (last_views, last_labels, policies)
        early = (views, labels) if self.keep_early else ()
        return tuple(_at(places, *batch, *early))

    def _one_hot(self, labels):
        """Return the labels as float32 [B, K, classes]."""
        if labels.shape.rank == 1 and labels.dtype.is_integer:
            hot = tf.one_hot(labels, self.num_classes)
        elif labels.shape.rank == 2 and labels.dtype == tf.float32:
            hot = tf.ensure_shape(labels, [None, self.num_classes])
        else:
            raise ValueError(
                f"labels are {labels.dtype.name} {labels.shape}; give whole numbers "
                f"[batch], or float32 [batch, {self.num_classes}]"
            )
        return tf.repeat(hot[:, tf.newaxis], self.num_views, axis=1)

    def _final_step(self, views, labels, seed):
        if self.final == "cutmix":
            return final.cutmix(views, labels, seed, self.cutmix_probability)
        if self.final == "cutout":
            fill = self._fill(views.shape[-1])
            return final.cutout(views, seed, self._cutout_side(views), fill), labels
        return views, labels

    def _final_words(self, views, labels, seed, channels):
        if self.final == "cutmix":
            return final.cutmix_words(views, labels, seed, self.cutmix_probability)
        if self.final == "cutout":
            word = words.colour(np.round(self._fill(channels)), channels)
            size = self._cutout_side(views)
            return final.cutout_words(views, seed, size, word), labels
        return views, labels

    def _fill(self, channels):
        return mixing.cutout_colour(channels) if self.fill is None else self.fill

    def _cutout_side(self, views):
        if self.cutout_size is not None:
            return self.cutout_size
        if None in views.shape[2:4]:
            raise ValueError(
                "the images' size is not known beforehand; give cutout_size"
            )
        return min(views.shape[2:4]) // 2


def _at(places, *parts):
    """Return the parts [B, ...] at some places [M] of a batch, or whole for None."""
    return parts if places is None else [tf.gather(part, places) for part in parts]


def make_views(
    dataset,
    num_classes,
    num_views=6,
    seed=0,
    first_step=None,
    value_range=None,
    class_weight=None,
    **options,
):
    """Return a dataset of training batches, from one of batches (images, labels).

    Every pass over it, so every epoch of `fit`, draws afresh; a whole run is the same
    again for the same seed. Up to sixteen cores the pipeline is not tuned by
    TensorFlow unless its options ask for it, see `la_tf.data.tuning`.

    A run that is to go on where it was stopped needs views that do not depend on what
    came before them. With `first_step` the dataset's n-th batch is step
    `first_step + n` of the run, counted through all epochs, and its views are a pure
    function of the seed and that step:

        batches = batches.repeat()  # one dataset for all epochs
        done = int(model.optimizer.iterations)  # 0, or what a checkpoint has restored
        model.fit(
            la_tf.make_views(batches.skip(done), num_classes=10, first_step=done),
            steps_per_epoch=steps,
            initial_epoch=done // steps,
            epochs=epochs,
        )

    Args:
        dataset: batches `(images, labels)`, `(images, labels, sample weights)` or
            `{"images": ..., "labels": ...}`. Images are uint8 or floats [B, H, W, C];
            labels are whole numbers [B] or [B, 1], or probabilities [B, classes] such
            as one-hot rows; weights are numbers [B] and come last in a training batch.
        num_classes: of the labels.
        num_views: K, views of each image.
        seed: whole number.
        first_step: the step that the dataset's first batch belongs to; None to draw
            afresh in every pass.
        value_range: the values of black and white, (0, 255) or (0, 1). Floats need it,
            for nothing in a batch could tell it for sure; a value outside is an error.
        class_weight: weights of classes by number, 1 for those left out, as `fit` of
            Keras takes them. An image weighs what its class does, or its classes by
            their probabilities, times its sample weight.
        **options: the further arguments of `ViewMaker`.
    """
    maker = ViewMaker(num_classes, num_views, **options)
    read = user_batches.reader(
        dataset.element_spec, num_classes, value_range, class_weight
    )

    @tf.autograph.experimental.do_not_convert
    def views(element, step_seed):
        images, labels, weights = read(element)
        batch = maker.from_images(images, labels, step_seed[tf.newaxis])
        return batch if weights is None else (*batch, weights)

    batches = (
        tf.data.Dataset.zip((dataset, _step_seeds(seed, first_step)))
        .map(views, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
        .prefetch(tf.data.AUTOTUNE)
    )
    return tuning.without_tuner(batches)


def _step_seeds(seed, first_step):
    """Return an endless dataset of seeds, int64 [2], one for each batch."""
    if first_step is None:
        return tf.data.Dataset.random(seed, rerandomize_each_iteration=True).batch(
            2, drop_remainder=True
        )
    steps = tf.data.Dataset.range(first_step, tf.int64.max)
    return steps.map(lambda step: draws.fold([seed, _STEPS], step))
