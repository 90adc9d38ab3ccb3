"""The policy space: 256 ordered pairs of operations, drawn and applied in batches."""

from __future__ import annotations

import tensorflow as tf

from la_tf import draws, ops
from la_tf.ops import compiled, families, mixing, operation, words

NUM_OPERATIONS = len(ops.OPERATIONS)
NUM_POLICIES = NUM_OPERATIONS**2
# So many views of an image are drawn one by one, more by sorting.
_FEW = 16

# The operations of each set, by its name; the place in the list is the index.
TRANSFORMS = {
    "latentaugment": ops.OPERATIONS,
    "autoaugment": ops.OPERATIONS[:-1] + ("SamplePairing",),
}


def operations_of(transforms):
    """Return the sixteen names of a set of operations, by the set's name."""
    if transforms not in TRANSFORMS:
        raise ValueError(f"transforms is {transforms!r}; give one of {[*TRANSFORMS]}")
    return TRANSFORMS[transforms]


def make_layers(transforms, mixup_alpha):
    """Return the sixteen layers of a set of operations by their names, in order."""
    return {
        name: ops.make(name, **({"alpha": mixup_alpha} if name == "MixUp" else {}))
        for name in operations_of(transforms)
    }


def name_of(index, transforms="latentaugment"):
    """The policy's name, as "ShearX>Invert": first the operation that runs first."""
    if not 0 <= index < NUM_POLICIES:
        raise ValueError(f"policy {index} is outside 0..{NUM_POLICIES - 1}")
    names = operations_of(transforms)
    first, second = divmod(int(index), NUM_OPERATIONS)
    return f"{names[first]}>{names[second]}"


def index_of(name, transforms="latentaugment"):
    """The policy's index, `first * 16 + second`, from its name as "ShearX>Invert"."""
    names = operations_of(transforms)
    parts = name.split(">")
    if len(parts) != 2 or not set(parts) <= set(names):
        raise ValueError(
            f"{name!r} is no policy; give two of {', '.join(names)} as 'ShearX>Invert'"
        )
    return names.index(parts[0]) * NUM_OPERATIONS + names.index(parts[1])


def check_num_views(num_views):
    """Return the number of views, if there are as many distinct policies."""
    if not 1 <= num_views <= NUM_POLICIES:
        raise ValueError(
            f"num_views is {num_views}; give 1 to {NUM_POLICIES}: "
            "the views of an image have distinct policies"
        )
    return num_views


def draw(batch_size, num_views, seed):
    """Policies int32 [B, K], distinct for each image, and levels int64 [B, K, 2].

    Every set of K policies is equally likely, in every order; levels are 0..9 evenly.
    """
    check_num_views(num_views)
    key_seed, level_seed = draws.split(seed, 2)
    keys = operation.draw_noise([batch_size, NUM_POLICIES], key_seed)[..., 0]
    # The policy's own number in the lowest bits leaves no ties, which devices might
    # break differently.
    numbers = tf.range(NUM_POLICIES, dtype=tf.int64)
    keys = tf.bitwise.bitwise_and(keys, ~(NUM_POLICIES - 1)) + numbers
    policies = _places_of_largest(keys, num_views)
    levels = operation.draw_noise([batch_size, num_views], level_seed)
    return policies, operation.below(levels, operation.NUM_LEVELS)


def _places_of_largest(keys, count):
    """The places int32 [B, count] of the largest keys [B, S], no two alike, in order.

    The lowest bits of a key are its place.
    """
    if count > _FEW:
        return tf.math.top_k(keys, count).indices
    # A few maxima, each below the one before, are a third of the work of sorting. In
    # float64, which holds the keys exactly and which a GPU has kernels for.
    keys = tf.cast(keys, tf.float64)
    largest = [tf.reduce_max(keys, axis=1)]
    for _ in range(count - 1):
        smaller = keys < largest[-1][:, tf.newaxis]
        largest.append(tf.reduce_max(tf.where(smaller, keys, -1.0), axis=1))
    largest = tf.cast(tf.stack(largest, axis=1), tf.int64)
    places = tf.bitwise.bitwise_and(largest, NUM_POLICIES - 1)
    return tf.cast(places, tf.int32)


class Policies:
    """Applies policies to views: the sixteen layers and how they are run.

    Args:
        transforms: the set of operations, a key of `TRANSFORMS`.
        mixup_alpha: of MixUp's Beta distribution.
        on_host: True to run as one compiled program for the CPU, view by view; False
            for whole batches on an accelerator. Both give the same.
    """

    def __init__(self, transforms="latentaugment", mixup_alpha=1.0, on_host=True):
        self.names = operations_of(transforms)
        self.layers = list(make_layers(transforms, mixup_alpha).values())
        self._on_host = on_host
        self._form = (compiled.Program if on_host else families.Families)(self.layers)

    def apply(self, views, labels, policies, levels, seed):
        """Views and labels after both operations of each view's policy, in order.

        MixUp and SamplePairing mix a view with another image's view of the same number
        k, as it was before any operation.

        Args:
            views: uint8 [B, K, H, W, C].
            labels: float32 [B, K, classes].
            policies, levels: from `draw`.
            seed: two whole numbers for signs, places, shares and partners.
        """
        if not self._on_host:
            channels, views = views.shape[-1], words.pack(views)
            views, labels = self.apply_to_words(
                views, labels, policies, levels, seed, channels
            )
            return words.unpack(views, channels), labels
        base = _flat(views)
        stages = self._plan(policies, levels, seed, tf.shape(base))
        changed = self._form.run(base, stages)
        return _like(changed, views), self._mixed_labels(labels, stages)

    def apply_to_words(self, views, labels, policies, levels, seed, channels):
        """As `apply`, for views float32 words [B, K, H, W], on an accelerator."""
        base = _flat(views)
        stages = self._plan(policies, levels, seed, tf.shape(base))
        changed = self._form.run(base, stages, channels)
        return _like(changed, views), self._mixed_labels(labels, stages)

    def _plan(self, policies, levels, seed, shape):
        """Return the `Stage` of the first and of the second operations."""
        policies = tf.cast(policies, tf.int64)
        indices = [policies // NUM_OPERATIONS, policies % NUM_OPERATIONS]
        indices = tf.reshape(tf.stack(indices), [2, -1])
        levels = tf.cast(levels, tf.int64)
        levels = tf.reshape(tf.transpose(levels, [2, 0, 1]), [2, -1])
        seeds = draws.split(seed, 2)
        stages = []
        for place, stage_seed in enumerate(seeds):
            index, level = indices[place], levels[place]
            noise = operation.draw_noise(tf.shape(policies), stage_seed)
            partners = _flat_partners(noise)
            noise = tf.reshape(noise, [-1, operation.NUM_NOISE])
            parameters = self._parameters(index, level, noise, shape)
            stages.append(families.Stage(index, parameters, partners))
        return stages

    def _parameters(self, index, level, noise, shape):
        """Return each view's parameters, int64 [N, 6], from the layer it goes to."""
        # Sixteen times too many are made, and still that is the cheapest way: they are
        # few numbers, and grouping them would take more steps than making them.
        choices = [
            layer.parameters(level, noise, shape[1], shape[2]) for layer in self.layers
        ]
        return tf.gather(tf.stack(choices, axis=1), index, batch_dims=1)

    def _mixed_labels(self, labels, stages):
        if self.names[-1] != "MixUp":
            return labels
        first = mixed = _flat(labels)
        for stage in stages:
            is_mixup = stage.index == NUM_OPERATIONS - 1
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


def _flat_partners(noise):
    """For each view the place of its partner among all B K views, int64 [B K]."""
    num_views = tf.shape(noise, tf.int64)[1]
    images = mixing.draw_partners(noise)
    return tf.reshape(images * num_views + tf.range(num_views), [-1])
