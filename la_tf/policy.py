"""What is done to views: a choice of operations and levels, applied in batches."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import tensorflow as tf

from la_tf import draws, ops
from la_tf.ops import compiled, families, mixing, operation, spaces, words

NUM_OPERATIONS = len(ops.OPERATIONS)
NUM_POLICIES = NUM_OPERATIONS**2

# LatentAugment's spaces by the name of their set of operations.
TRANSFORMS = {
    "latentaugment": spaces.LATENTAUGMENT,
    "autoaugment": spaces.SAMPLE_PAIRING,
}


class Choice(NamedTuple):
    """What a drawing rule has drawn for K views each of B images, in S stages."""

    policies: Any  # int32 [B, K], numbers for the prior; 0 where a rule has none
    operations: Any  # int64 [B, K, S], indices into the space's operations
    levels: Any  # int64 [B, K, S]


def space_of(transforms):
    """Return LatentAugment's space, by the name of its set of operations."""
    if transforms not in TRANSFORMS:
        raise ValueError(f"transforms is {transforms!r}; give one of {[*TRANSFORMS]}")
    return TRANSFORMS[transforms]


def operations_of(transforms):
    """Return the sixteen names of a set of operations, by the set's name."""
    return space_of(transforms).operations


def make_layers(space, mixup_alpha):
    """Return the layers of a space's operations by their names, in order."""
    return {
        name: ops.make(
            name,
            space=space.name,
            **({"alpha": mixup_alpha} if name == "MixUp" else {}),
        )
        for name in space.operations
    }


def name_of(index, transforms="latentaugment"):
    """Return the policy's name, as "ShearX>Invert": first what runs first."""
    if not 0 <= index < NUM_POLICIES:
        raise ValueError(f"policy {index} is outside 0..{NUM_POLICIES - 1}")
    names = operations_of(transforms)
    first, second = divmod(int(index), NUM_OPERATIONS)
    return f"{names[first]}>{names[second]}"


def index_of(name, transforms="latentaugment"):
    """Return the policy's index, `first * 16 + second`, from its name."""
    names = operations_of(transforms)
    parts = name.split(">")
    if len(parts) != 2 or not set(parts) <= set(names):
        raise ValueError(
            f"{name!r} is no policy; give two of {', '.join(names)} as 'ShearX>Invert'"
        )
    return names.index(parts[0]) * NUM_OPERATIONS + names.index(parts[1])


def pairs(policies):
    """Return both operations of each policy `first * 16 + second`, int64 [..., 2]."""
    policies = tf.cast(policies, tf.int64)
    return tf.stack([policies // NUM_OPERATIONS, policies % NUM_OPERATIONS], axis=-1)


@functools.cache
def _program(space_name):
    """Return the compiled program of a space's operations.

    It is one for all that run in this process, since tracing it takes seconds. What a
    layer draws comes to it as parameters, MixUp's share by its alpha too.
    """
    return compiled.Program(list(make_layers(spaces.get(space_name), 1.0).values()))


class Policies:
    """Applies chosen operations to views: the layers and how they are run.

    Args:
        space: the `la_tf.ops.spaces.Space` that the operations are from.
        mixup_alpha: of MixUp's Beta distribution.
        on_host: True to run as one compiled program for the CPU, view by view; False
            for whole batches on an accelerator. Both give the same.
    """

    def __init__(self, space=spaces.LATENTAUGMENT, mixup_alpha=1.0, on_host=True):
        self.names = space.operations
        self.layers = list(make_layers(space, mixup_alpha).values())
        self._on_host = on_host
        self._form = _program(space.name) if on_host else families.Families(self.layers)

    def apply(self, views, labels, choice, seed):
        """Return views and labels after each view's operations, in order.

        MixUp and SamplePairing mix a view with another image's view of the same number
        k, as it was before any operation.

        Args:
            views: uint8 [B, K, H, W, C].
            labels: float32 [B, K, classes].
            choice: the `Choice` of a drawing rule.
            seed: two whole numbers for signs, places, shares and partners.
        """
        if not self._on_host:
            *_, height, width, channels = views.shape
            view_at = families.by_places(_flat(words.pack(views)))
            views, labels = self.apply_to_words(
                view_at, [height, width], labels, choice, seed, channels
            )
            return words.unpack(views, channels), labels
        base = _flat(views)
        stages = self._plan(choice, seed, tf.shape(base))
        changed = self._form.run(base, stages)
        return _like(changed, views), self._mixed_labels(labels, stages)

    def apply_to_words(self, view_at, size, labels, choice, seed, channels):
        """Return what `apply` does, for views that are made when they are wanted.

        Args:
            view_at: gives from places int64 [M] among all views, b * K + k, the float32
                words [M, H, W] there.
            size: H and W.
            labels: float32 [B, K, classes].
            choice: the `Choice` of a drawing rule.
            seed: as for `apply`.
            channels: of the images.
        """
        stages = self._plan(choice, seed, [None, *size])
        changed = self._form.run(view_at, size, stages, channels)
        views = tf.reshape(changed, [-1, labels.shape[1], *size])
        return views, self._mixed_labels(labels, stages)

    def _plan(self, choice, seed, shape):
        """Return the `Stage` of the first operations, of the second, and so on."""
        operations = tf.cast(choice.operations, tf.int64)
        levels = tf.cast(choice.levels, tf.int64)
        seeds = draws.split(seed, operations.shape[-1])
        noises = [operation.draw_noise(tf.shape(levels)[:2], one) for one in seeds]
        # All stages are asked for at once, since each question is asked of every layer.
        indices = _by_stage(operations)
        parameters = self._parameters(
            tf.reshape(indices, [-1]),
            tf.reshape(_by_stage(levels), [-1]),
            tf.reshape(tf.stack(noises), [-1, operation.NUM_NOISE]),
            shape,
        )
        parameters = tf.reshape(parameters, [len(seeds), -1, operation.NUM_PARAMETERS])
        return [
            families.Stage(indices[place], parameters[place], _flat_partners(noise))
            for place, noise in enumerate(noises)
        ]

    def _parameters(self, index, level, noise, shape):
        """Return each view's parameters, int64 [N, 6], from the layer it goes to."""
        # Sixteen times too many are made, and still that is the cheapest way: they are
        # few numbers, and grouping them would take more steps than making them.
        choices = [
            layer.parameters(level, noise, shape[1], shape[2]) for layer in self.layers
        ]
        return tf.gather(tf.stack(choices, axis=1), index, batch_dims=1)

    def _mixed_labels(self, labels, stages):
        if "MixUp" not in self.names:
            return labels
        first = mixed = _flat(labels)
        for stage in stages:
            is_mixup = stage.index == self.names.index("MixUp")
            share = tf.where(is_mixup, stage.parameters[:, 0], mixing.ONE)
            partners = tf.gather(first, stage.partners)
            mixed = mixing.mix_labels(mixed, partners, share)
        return _like(mixed, labels)


def _flat(tensor):
    """Return [B, K, ...] as [B K, ...]."""
    shape = tf.concat([[-1], tf.shape(tensor)[2:]], axis=0)
    count = tensor.shape[:2].num_elements()
    return tf.ensure_shape(tf.reshape(tensor, shape), [count, *tensor.shape[2:]])


def _like(flat, tensor):
    """Return [B K, ...] as [B, K, ...] again."""
    return tf.ensure_shape(tf.reshape(flat, tf.shape(tensor)), tensor.shape)


def _by_stage(numbers):
    """Return [B, K, S] as [S, B K]."""
    return tf.transpose(tf.reshape(numbers, [-1, numbers.shape[-1]]))


def _flat_partners(noise):
    """Return for each view the place of its partner among all, int64 [B K]."""
    num_views = tf.shape(noise, tf.int64)[1]
    images = mixing.draw_partners(noise)
    return tf.reshape(images * num_views + tf.range(num_views), [-1])
