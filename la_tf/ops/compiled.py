"""Runs a batch of views through their policies in one compiled program.

For the host: XLA compiles the whole of it, and it takes the views one by one through
both of their operations, so that what is in between never leaves the cache and nothing
is grouped, padded or put back in order. Two cores work on two batches.
"""

from __future__ import annotations

import tensorflow as tf

from la_tf.ops import operation


class Program:
    """Both operations of every view, as one function that XLA compiles for the CPU.

    It is compiled once for each shape of batch, which takes two or three seconds.

    Args:
        layers: the operations, in the order of their indices.
    """

    def __init__(self, layers):
        self._layers = layers
        self._run = tf.function(self._each_view, jit_compile=True, autograph=False)

    def run(self, base, stages):
        """Return the views, uint8 [N, H, W, C], each after its operations.

        Args:
            base: uint8 [N, H, W, C], the views, and the partners to mix with.
            stages: the `Stage`s, in order.
        """
        columns = [tf.stack(column, axis=1) for column in zip(*stages)]
        with tf.device("/CPU:0"):
            return tf.ensure_shape(self._run(base, *columns), base.shape)

    def _each_view(self, images, index, parameters, partners):
        count = tf.shape(images)[0]
        size = operation.shape_of(images)[1:]
        base = tf.reshape(images, [count, -1])

        def one_view(view, changed):
            image = _row(base, view)

            def one_stage(stage, image):
                row = parameters[view, stage][tf.newaxis]
                partner = partners[view, stage]
                branches = [
                    _branch(layer, image, size, row, base, partner)
                    for layer in self._layers
                ]
                chosen = tf.cast(index[view, stage], tf.int32)
                return stage + 1, tf.switch_case(chosen, branches)

            # A loop, not two copies of the code: they would take ten times as long to
            # compile.
            _, image = tf.while_loop(
                lambda stage, _: stage < index.shape[1], one_stage, (0, image)
            )
            return view + 1, changed.write(view, image)

        changed = tf.TensorArray(base.dtype, count, element_shape=base.shape[1:])
        _, changed = tf.while_loop(lambda view, _: view < count, one_view, (0, changed))
        return tf.reshape(changed.stack(), tf.shape(images))


def _branch(layer, image, size, parameters, base, partner):
    if layer.needs_partner:
        return lambda: layer.transform_one(image, size, parameters, _row(base, partner))
    return lambda: layer.transform_one(image, size, parameters)


def _row(images, place):
    """Return one image of a batch."""
    # Not a slice: XLA takes where a slice begins for part of the program, and would
    # compile it anew for every other value.
    return tf.gather(images, place)
