"""Runs a batch of views through their operations, each operation on its whole group.

Plain TensorFlow: it runs on any device, under any distribution strategy.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf


class Stage(NamedTuple):
    """What happens to each of N views in one of a policy's two places."""

    index: tf.Tensor  # int32 [N], which operation
    parameters: tf.Tensor  # int32 [N, 6], that operation's
    partners: tf.Tensor  # int32 [N], the view to mix with, where it mixes


def run(layers, images, base, stage):
    """The images, uint8 [N, H, W, C], each after its operation.

    Args:
        layers: the operations, in the order of their indices.
        images: uint8 [N, H, W, C].
        base: uint8 [N, H, W, C], where partners are taken from.
        stage: the `Stage`.
    """
    places = tf.range(tf.shape(images)[0])
    groups = tf.dynamic_partition(places, stage.index, len(layers))
    changed = []
    for layer, group in zip(layers, groups):
        partners = None
        if layer.needs_partner:
            partners = tf.gather(base, tf.gather(stage.partners, group))
        parameters = tf.gather(stage.parameters, group)
        changed.append(layer.transform(tf.gather(images, group), parameters, partners))
    # A gather rather than tf.dynamic_stitch, which has no GPU kernel for uint8.
    inverse = tf.math.invert_permutation(tf.concat(groups, axis=0))
    return tf.gather(tf.concat(changed, axis=0), inverse)
