"""Cutout, MixUp and SamplePairing: part of an image, or a share, is replaced."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from scipy import special
from tensorflow import keras

from la_tf.ops import checks, operation

ONE = 1 << 16

CUTOUT_COLOUR = (125, 123, 114)
CUTOUT_GREY = 123  # that colour's luma

NUM_QUANTILES = 4096


@keras.utils.register_keras_serializable(package="la_tf")
class Cutout(operation.Operation):
    """Images with a square painted over, by default up to 20/32 of the shorter side.

    The square's centre is anywhere in the image, so that part of it may fall outside.
    """

    def parameters(self, level, noise, height, width):
        side = tf.cast(tf.minimum(height, width), tf.int64)
        tops, bottom = self.whole_arguments()
        share = self.entries(tops, level, noise)
        size = (2 * share * side + bottom) // (2 * bottom)
        top = operation.below(noise[:, 0], height) - size // 2
        left = operation.below(noise[:, 1], width) - size // 2
        return operation.pack(top, top + size, left, left + size)

    def transform(self, images, parameters, partners=None):
        shape = tf.shape(images)
        top, bottom, left, right = (
            tf.cast(operation.each_image(parameters, column), tf.int32)
            for column in range(4)
        )
        row = tf.range(shape[1])[:, tf.newaxis, tf.newaxis]
        column = tf.range(shape[2])[:, tf.newaxis]
        inside = (row >= top) & (row < bottom) & (column >= left) & (column < right)
        fill = tf.constant(cutout_colour(images.shape[-1]), tf.uint8)
        return tf.where(inside, fill, images)

    def transform_one(self, image, size, parameters, partner=None):
        height, width, channels = size
        top, bottom, left, right = tf.unstack(tf.cast(parameters[0, :4], tf.int32))
        row = tf.range(height)[:, tf.newaxis]
        column, _ = operation.places_of_bytes(width, channels)
        inside = (row >= top) & (row < bottom) & (column >= left) & (column < right)
        fill = tf.tile(tf.constant(cutout_colour(channels), tf.uint8), [width])
        rows = tf.reshape(image, tf.shape(inside))
        return tf.reshape(tf.where(inside, fill, rows), [-1])

    def square(self, parameters, height, width):
        """Tell whether each pixel is painted over, bool [B, H, W]."""
        top, bottom, left, right = (
            operation.each_image(parameters, column)[..., 0] for column in range(4)
        )
        row = tf.range(height, dtype=tf.int64)[:, tf.newaxis]
        column = tf.range(width, dtype=tf.int64)
        rows = (row >= top) & (row < bottom)
        return rows & (column >= left) & (column < right)


def cutout_colour(channels):
    """Return what Cutout fills with, a value for each channel."""
    return [CUTOUT_GREY] if channels == 1 else CUTOUT_COLOUR


def share_of_partner(images, partners, share):
    """Return images mixed with partners: share [B] in 65536ths is their own part."""
    share = tf.reshape(tf.cast(share, tf.int32), [-1, 1, 1, 1])
    mixed = share * tf.cast(images, tf.int32) + (ONE - share) * tf.cast(
        partners, tf.int32
    )
    return tf.cast(tf.bitwise.right_shift(mixed, 16), tf.uint8)


def draw_partners(noise):
    """Return for each image the index of another one; itself where it is alone.

    From noise [B, 2] int64 [B], or from noise [B, K, 2] for K views each, [B, K].
    """
    count = tf.shape(noise, tf.int64)[0]
    own = tf.reshape(tf.range(count), [-1] + [1] * (noise.shape.rank - 2))
    step = 1 + operation.below(noise[..., 1], tf.maximum(count - 1, 1))
    return (own + step) % count


class Mixing(operation.Operation):
    """An operation that mixes an image with another."""

    has_level = False
    needs_partner = True
    by_value = True

    def factor(self, parameters):
        """Return the image's own part, float64 [B, 1, 1, 1]."""
        # Pixels mixed by 65536ths are exact in float32: the blend is no other than
        # `share_of_partner`.
        return tf.cast(operation.each_image(parameters, 0), tf.float64) / ONE

    def transform(self, images, parameters, partners=None):
        return share_of_partner(images, partners, parameters[:, 0])

    def _changed(self, pixels, level, noise):
        shape = tf.shape(pixels)
        parameters = self.parameters(level, noise, shape[1], shape[2])
        partners = tf.gather(pixels, draw_partners(noise))
        return self.transform(pixels, parameters, partners)


@keras.utils.register_keras_serializable(package="la_tf")
class SamplePairing(Mixing):
    """Images averaged with another image of the batch; labels stay as they are."""

    def parameters(self, level, noise, height, width):
        return operation.pack(tf.zeros_like(level) + ONE // 2)


@keras.utils.register_keras_serializable(package="la_tf")
class MixUp(Mixing):
    """Images mixed with another image of the batch by a Beta(alpha, alpha) share.

    Labels, where given, are mixed by the same share. With alpha 0 nothing changes.
    The share is one of 4,096 equally likely quantiles, held as a whole number of
    65536ths, so that pixels and labels agree to the last bit on every device.
    """

    def __init__(self, alpha=1.0, **kwargs):
        super().__init__(**kwargs)
        if not 0 <= alpha < float("inf"):
            raise ValueError(f"alpha is {alpha}; give a number from 0 up")
        self.alpha = alpha
        self._quantiles = _beta_quantiles(alpha)

    def parameters(self, level, noise, height, width):
        draw = operation.below(noise[:, 0], NUM_QUANTILES)
        return operation.pack(tf.gather(self._quantiles, draw))

    def apply(self, images, level, seed, labels=None):
        """Return the mixed images, and with labels [B, classes] also mixed labels."""
        mixed = super().apply(images, level, seed)
        if labels is None:
            return mixed
        return mixed, self._mixed_labels(tf.convert_to_tensor(labels), level, seed)

    def augment_labels(self, labels, transformations, **unused):
        return self._mixed_labels(
            labels, transformations["level"], transformations["seed"]
        )

    def _mixed_labels(self, labels, level, seed):
        if labels.shape.rank != 2 or not labels.dtype.is_floating:
            raise ValueError(
                "MixUp mixes labels: give floats [batch, classes], one-hot or soft, "
                f"not {labels.dtype.name} {labels.shape}"
            )
        count = tf.shape(labels)[0]
        noise = operation.draw_noise([count], seed)
        level = checks.to_levels(level, count, self._space.num_levels)
        share = self.parameters(level, noise, None, None)[:, 0]
        return mix_labels(labels, tf.gather(labels, draw_partners(noise)), share)

    def get_config(self):
        return {**super().get_config(), "alpha": self.alpha}


def mix_labels(labels, partners, share):
    """Return labels [B, classes] mixed with their partners' by the own share [B]."""
    share = tf.cast(share, labels.dtype)[:, tf.newaxis] / ONE
    return share * labels + (1 - share) * partners


def _beta_quantiles(alpha):
    """Return 4,096 equally likely values of Beta(alpha, alpha) in 65536ths, int64."""
    if alpha == 0:
        return np.full(NUM_QUANTILES, ONE, np.int64)
    middles = (np.arange(NUM_QUANTILES) + 0.5) / NUM_QUANTILES
    quantiles = special.betaincinv(alpha, alpha, middles)
    return np.round(quantiles * ONE).astype(np.int64)
