"""Runs a batch of views through their operations, all views at once.

For accelerators. Shapes are static and nothing is grouped: an operation belongs to one
of four families, and a family takes the whole batch with numbers of its own for each
view, which leave a view of another family as it is.

    moving     a gather by an affine map           shears, translations, Rotate
    tone       a table of 256 entries a channel    Posterize, Equalize, ...
    blending   a blend with another image          Color, Sharpness, MixUp, ...
    painting   a square of one colour              Cutout

XLA makes one loop over the pixels of a stage's families. Without it each is plain
TensorFlow with kernels for a GPU.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from la_tf.ops import blend, geometry, mixing, operation, tone, words

# One operation in sixteen: a twelfth of the batch mostly holds the views that take it.
_PART = 12
# Views of so many pixels together go through all stages at once. It is enough to keep
# an accelerator busy, and bounds the memory for what lies between the stages.
_PIXELS = 1 << 21


class Stage(NamedTuple):
    """What happens to each of N views in one of its policy's places."""

    index: tf.Tensor  # int64 [N], which operation
    parameters: tf.Tensor  # int64 [N, 6], that operation's
    partners: tf.Tensor  # int64 [N], the view to mix with, where it mixes


class Families:
    """The operations of every view, for a batch as a whole.

    Args:
        layers: the operations, in the order of their indices.
    """

    def __init__(self, layers):
        self._layers = layers

    def run(self, base, stages, channels):
        """Return the views, float32 words [N, H, W], each after its operations.

        Args:
            base: float32 words [N, H, W], the views, and the partners to mix with.
            stages: the `Stage`s, in order; any number of them.
            channels: of the images, 1 or 3.
        """
        count, height, width = base.shape
        at_once = max(1, _PIXELS // (height * width))
        if count is not None and count <= at_once:
            return self._all_stages(base, base, stages, channels)

        def changed(places):
            part = [Stage(*(tf.gather(x, places) for x in stage)) for stage in stages]
            return self._all_stages(tf.gather(base, places), base, part, channels)

        everyone = tf.ones(tf.shape(base)[:1], tf.bool)
        return _for_some(everyone, base, changed, at_once)

    def _all_stages(self, views, base, stages, channels):
        for stage in stages:
            views = self._one_stage(views, base, stage, channels)
        return views

    def _one_stage(self, views, base, stage, channels):
        # A view takes one operation, so that the families may come in any order; what
        # a blend begins with is therefore taken from the views as they were.
        views = self._sharpened(views, stage, channels)
        moved = self._moved(views, stage, channels)
        tables = self._tables(views, stage, channels)
        toned = _looked_up(moved, tables, channels)
        blended = self._blended(toned, base, stage)
        return self._painted(words.join(blended), stage, channels)

    def _of_kind(self, kind):
        return [
            (index, layer)
            for index, layer in enumerate(self._layers)
            if isinstance(layer, kind)
        ]

    def _takes(self, index, wanted):
        """Return whether each view's operation is one that `wanted` says yes to."""
        wanted = tf.constant([bool(wanted(layer)) for layer in self._layers])
        return tf.gather(wanted, index)

    def _moved(self, views, stage, channels):
        moves = self._takes(stage.index, lambda one: isinstance(one, geometry.Affine))
        coefficients = tf.where(
            moves[:, tf.newaxis], stage.parameters, tf.constant(geometry.IDENTITY)
        )
        fill = words.colour(operation.FILL, channels)
        return geometry.sample(views, coefficients, fill)

    def _tables(self, views, stage, channels):
        """Return each view's tables, float32 [N, C, 256]."""
        count = tf.shape(views)[0]
        tables = tf.tile(tf.range(256.0)[tf.newaxis, tf.newaxis], [count, 1, 1])
        layers = self._of_kind(tone.Tone)
        for index, layer in layers:
            if not layer.needs_pixels:
                takes = _by_view(stage.index == index)
                tables = tf.where(takes, layer.tables(stage.parameters), tables)
        tables = tf.tile(tables, [1, channels, 1])
        for index, layer in layers:
            if layer.needs_pixels:

                def made(places, layer=layer):
                    pixels = words.split(tf.gather(views, places), channels)
                    parameters = tf.gather(stage.parameters, places)
                    return layer.tables(parameters, pixels)

                tables = _for_some(stage.index == index, tables, made)
        return tables

    def _sharpened(self, views, stage, channels):
        """Return the views after Sharpness, which looks at a pixel's neighbours."""
        for index, layer in self._of_kind(blend.Sharpness):

            def sharpened(places, layer=layer, views=views):
                ends = words.split(tf.gather(views, places), channels)
                factor = layer.factor(tf.gather(stage.parameters, places))[..., 0]
                return words.join(_blend(layer.start(ends), ends, factor))

            views = _for_some(stage.index == index, views, sharpened)
        return views

    def _blended(self, ends, base, stage):
        """Return the channels blended with others of each view's operation, if any."""
        starts, factor = ends, tf.ones([1, 1, 1], tf.float64)
        for index, layer in self._of_kind((blend.Color, mixing.Mixing)):
            takes = _by_view(stage.index == index)
            if layer.needs_partner:
                others = words.split(tf.gather(base, stage.partners), len(ends))
            else:
                others = layer.start(ends)
            starts = [tf.where(takes, *pair) for pair in zip(others, starts)]
            own = layer.factor(stage.parameters)[..., 0]
            factor = tf.where(takes, own, factor)
        return _blend(starts, ends, factor)

    def _painted(self, views, stage, channels):
        grey = channels == 1
        colour = mixing.CUTOUT_GREY if grey else mixing.CUTOUT_COLOUR
        colour = tf.constant(words.colour(colour, channels), tf.float32)
        for index, layer in self._of_kind(mixing.Cutout):
            takes = _by_view(stage.index == index)
            square = layer.square(stage.parameters, *views.shape[1:])
            views = tf.where(takes & square, colour, views)
        return views


def _by_view(values):
    """Return values [N] as [N, 1, 1]."""
    return values[:, tf.newaxis, tf.newaxis]


def _blend(starts, ends, factor):
    return [
        tf.floor(blend.blend(start, end, factor)) for start, end in zip(starts, ends)
    ]


def _for_some(takes, values, change, at_once=None):
    """Return the values [N, ...], those that `takes` [N] says yes to changed.

    For changes that are dear, or look at a whole image: only these views go through
    them, in parts of one size until all have had their turn.

    Args:
        takes: bool [N].
        values: [N, ...].
        change: gives the changed values at some places [M].
        at_once: M; a twelfth of N for None.
    """
    count = tf.shape(values, tf.int64)[0]
    size = (count + _PART - 1) // _PART
    if at_once is not None:
        size = tf.minimum(count, at_once)
    first = tf.math.top_k(tf.cast(takes, tf.float32), tf.shape(values)[0]).indices
    order = tf.cast(first, tf.int64)
    taken = tf.reduce_sum(tf.cast(takes, tf.int64))

    def one_part(start, values):
        places = tf.gather(order, tf.minimum(start + tf.range(size), count - 1))
        mask = tf.reshape(
            tf.gather(takes, places), [-1] + [1] * (values.shape.rank - 1)
        )
        changed = tf.where(mask, change(places), tf.gather(values, places))
        places = places[:, tf.newaxis]
        return start + size, tf.tensor_scatter_nd_update(values, places, changed)

    start = tf.constant(0, tf.int64)
    _, values = tf.while_loop(lambda start, _: start < taken, one_part, (start, values))
    return values


def _looked_up(views, tables, channels):
    """Return the channels of words [N, H, W], by entries of tables [N, C, 256]."""
    first = tf.range(tf.shape(tables, tf.int64)[0]) * (256 * channels)
    first = _by_view(tf.cast(first, tf.uint32))
    flat = tf.reshape(tables, [-1])
    return [
        tf.gather(flat, tf.cast(first + (byte + 256 * number), tf.int32))
        for number, byte in enumerate(words.bytes_of(views, channels))
    ]
