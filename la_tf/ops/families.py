"""Runs a batch of views through their operations, all views at once.

For accelerators. Shapes are static: the operations are put together into families, and
a family takes as many views at once as mostly want one of its operations, with numbers
of its own for each view.

    moving     a gather by an affine map           shears, translations, Rotate
    tone       a table of 256 entries a channel    Posterize, Equalize, ...
    blending   a blend with another image          Color, Sharpness, MixUp, ...
    painting   a square of one colour              Cutout

Where more views want it than it takes at once, it takes them in several turns. All of
it is plain TensorFlow with kernels for a GPU, whether XLA compiles it or not.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import tensorflow as tf

from la_tf.ops import blend, geometry, mixing, operation, tone, words

# Views of so many pixels together go through all stages at once. It is enough to keep
# an accelerator busy, and bounds the memory for what lies between the stages.
_PIXELS = 1 << 21


class Stage(NamedTuple):
    """What happens to each of N views in one of its policy's places."""

    index: tf.Tensor  # int64 [N], which operation
    parameters: tf.Tensor  # int64 [N, 6], that operation's
    partners: tf.Tensor  # int64 [N], the view to mix with, where it mixes

    def at(self, places):
        """Return what happens to the views at some places [M]."""
        return Stage(*(tf.gather(part, places) for part in self))


class Families:
    """The operations of every view, for a batch as a whole.

    Args:
        layers: the operations, in the order of their indices.
    """

    def __init__(self, layers):
        self._layers = dict(enumerate(layers))
        self._moving = self._of_kind(geometry.Affine)
        self._tones = self._of_kind(tone.Tone)
        self._blends = self._of_kind((blend.Blend, mixing.Mixing))
        self._paints = self._of_kind(mixing.Cutout)

    def _of_kind(self, kind):
        layers = self._layers.items()
        return {index: layer for index, layer in layers if isinstance(layer, kind)}

    def run(self, view_at, size, stages, channels):
        """Return the views, float32 words [N, H, W], each after its operations.

        Args:
            view_at: gives from places int64 [M] the views there, before any operation:
                float32 words [M, H, W]. A view is made when its turn comes, and again
                as a partner to mix with, so that not all need memory at once.
            size: H and W.
            stages: the `Stage`s, in order; any number of them.
            channels: of the images, 1 or 3.
        """
        index = stages[0].index
        count = tf.shape(index, tf.int64)[0]
        at_once = max(1, _PIXELS // math.prod(size))
        if index.shape[0] is not None and index.shape[0] <= at_once:
            base = view_at(tf.range(count))
            return self._all_stages(base, by_places(base), stages, channels)

        def changed(views, places):
            del views
            part = [stage.at(places) for stage in stages]
            return self._all_stages(view_at(places), view_at, part, channels)

        blank = tf.zeros([count, *size])
        everyone = tf.ones_like(index, tf.bool)
        return _in_turns(everyone, blank, changed, tf.minimum(count, at_once))

    def _all_stages(self, views, view_at, stages, channels):
        for stage in stages:
            views = self._moved(views, stage, channels)
            views = self._toned(views, stage, channels)
            views = self._blended(views, view_at, stage, channels)
            views = self._painted(views, stage, channels)
        return views

    def _moved(self, views, stage, channels):
        fill = words.colour(operation.FILL, channels)

        def moved(views, places):
            coefficients = tf.gather(stage.parameters, places)
            return geometry.sample(views, coefficients, fill, places)

        return self._changed(self._moving, stage, views, moved)

    def _toned(self, views, stage, channels):
        tables = self._tables(views, stage, channels)

        def toned(views, places):
            return _looked_up(tf.gather(views, places), tf.gather(tables, places))

        return self._changed(self._tones, stage, views, toned)

    def _tables(self, views, stage, channels):
        """Return the tables of all views, float32 [N, C, 256]."""
        tables = tf.zeros([tf.shape(views)[0], 1, 256])
        for index, layer in self._tones.items():
            if not layer.needs_pixels:
                takes = _by_view(stage.index == index)
                tables = tf.where(takes, layer.tables(stage.parameters), tables)
        tables = tf.tile(tables, [1, channels, 1])
        for index, layer in self._tones.items():
            if layer.needs_pixels:

                def made(tables, places, layer=layer):
                    del tables
                    pixels = words.split(tf.gather(views, places), channels)
                    own = layer.tables(tf.gather(stage.parameters, places), pixels)
                    return tf.broadcast_to(own, [tf.shape(own)[0], channels, 256])

                tables = self._changed({index: layer}, stage, tables, made)
        return tables

    def _blended(self, views, view_at, stage, channels):
        for index, layer in self._blends.items():

            def blended(views, places, layer=layer):
                ends = words.split(tf.gather(views, places), channels)
                if layer.needs_partner:
                    others = view_at(tf.gather(stage.partners, places))
                    starts = words.split(others, channels)
                else:
                    starts = layer.start(ends)
                factor = layer.factor(tf.gather(stage.parameters, places))[..., 0]
                pairs = zip(starts, ends)
                return words.join([tf.floor(blend.blend(*p, factor)) for p in pairs])

            views = self._changed({index: layer}, stage, views, blended)
        return views

    def _painted(self, views, stage, channels):
        word = words.colour(mixing.cutout_colour(channels), channels)
        colour = tf.constant(word, tf.float32)
        for index, layer in self._paints.items():

            def painted(views, places, layer=layer):
                parameters = tf.gather(stage.parameters, places)
                square = layer.square(parameters, *views.shape[1:])
                return tf.where(square, colour, tf.gather(views, places))

            views = self._changed({index: layer}, stage, views, painted)
        return views

    def _changed(self, family, stage, values, change):
        """Return values [N, ...], those of the views that take an operation changed.

        Args:
            family: the operations by index.
            stage: the `Stage`.
            values: one for each view.
            change: as for `_in_turns`.
        """
        if not family:
            return values
        count = len(self._layers)
        member = tf.constant([index in family for index in range(count)])
        # A third more than there would be if all operations came up alike: a second
        # turn is then seldom needed.
        share = tf.shape(values, tf.int64)[0] * len(family)
        size = (4 * share + 3 * count - 1) // (3 * count)
        return _in_turns(tf.gather(member, stage.index), values, change, size)


def by_places(views):
    """Return what gives the views [M, H, W] at some places, out of all [N, H, W]."""
    return functools.partial(tf.gather, views)


def _by_view(values):
    """Return values [N] as [N, 1, 1]."""
    return values[:, tf.newaxis, tf.newaxis]


def _in_turns(takes, values, change, size):
    """Return the values [N, ...], those that `takes` [N] says yes to changed.

    Args:
        takes: bool [N].
        values: [N, ...].
        change: gives from all values and some places [M] the changed values there.
        size: M, how many are changed in a turn, int64.
    """
    first = tf.math.top_k(tf.cast(takes, tf.float32), tf.shape(values)[0]).indices
    order = tf.cast(first, tf.int64)
    taken = tf.reduce_sum(tf.cast(takes, tf.int64))

    def one_turn(start, values):
        # The last turn is filled up with its last place, which comes out the same.
        places = tf.gather(order, tf.minimum(start + tf.range(size), taken - 1))
        changed = change(values, places)
        places = places[:, tf.newaxis]
        return start + size, tf.tensor_scatter_nd_update(values, places, changed)

    start = tf.constant(0, tf.int64)
    _, values = tf.while_loop(lambda start, _: start < taken, one_turn, (start, values))
    return values


def _looked_up(views, tables):
    """Return words [M, H, W] by the entries of their tables [M, C, 256]."""
    _, height, width = views.shape
    channels = words.bytes_of(tf.reshape(views, [-1, height * width]), tables.shape[1])
    # By view, not out of all tables: XLA computes fewer places then.
    found = [
        tf.gather(tables[:, number], tf.cast(byte, tf.int32), batch_dims=1)
        for number, byte in enumerate(channels)
    ]
    return tf.reshape(words.join(found), [-1, height, width])
