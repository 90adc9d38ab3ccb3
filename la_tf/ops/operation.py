"""The base of all operations: first draw whole numbers, then move pixels by them."""

from __future__ import annotations

import math

import keras_cv
import numpy as np
import tensorflow as tf

from la_tf import draws
from la_tf.ops import checks, spaces

NUM_PARAMETERS = 6
NUM_NOISE = 2
FILL = 128


def draw_noise(shape, seed):
    """Return numbers int64 [*shape, 2] in 0..2^31-2, the same on every device."""
    noise = draws.below(tf.concat([shape, [NUM_NOISE]], 0), seed, 2**31 - 1)
    # TensorFlow takes int32 for shapes and computes with it on the host, even where the
    # numbers are on a GPU. With int64 it stays there.
    return tf.cast(noise, tf.int64)


def below(noise, bound):
    """Return whole numbers 0..bound-1, evenly, from random numbers in 0..2^31-2.

    Int64.
    """
    product = tf.cast(noise, tf.int64) * tf.cast(bound, tf.int64)
    return tf.bitwise.right_shift(product, tf.constant(31, tf.int64))


class Operation(keras_cv.layers.VectorizedBaseImageAugmentationLayer):
    """An image operation whose result is Pillow's, for a batch with a level per image.

    Called as a layer it draws a level, and whatever else is random, for each image.
    `apply` does the same with given levels and a given seed, and keeps no state.

    Work is in two parts. `parameters` turns levels and random numbers into six whole
    numbers an image; it is cheap. `transform` moves the pixels by them in integer
    arithmetic alone, so that every device and compiler gives the same bytes.

    Args:
        level: 0..9 for all images, or None to draw a level for each image.
        seed: whole number for the layer's own random numbers, or None.
        space: name of the magnitude space that says what a level stands for, and how
            many there are; see `la_tf.ops.spaces`.
    """

    has_level = True
    needs_partner = False
    # Whether a value becomes the same wherever in an image it stands.
    by_value = False

    def __init__(self, level=None, seed=None, space="latentaugment", **kwargs):
        # Whole numbers up to 255 and labels must survive a mixed-precision policy.
        kwargs.setdefault("dtype", "float32")
        super().__init__(**kwargs)
        self._space = spaces.get(space)
        last = self._space.num_levels - 1
        if level is not None and level not in range(last + 1):
            raise ValueError(
                f"level is {level!r}; give 0 to {last}, or None to draw it"
            )
        self.level = level
        self.seed = seed
        if seed is not None:  # the base class takes 0 for no seed
            self._random_generator = tf.random.Generator.from_seed(seed)

    def parameters(self, level, noise, height, width):
        """Return six whole numbers an image, int64 [B, 6], for `transform`.

        Args:
            level: int64 [B], one of the space's.
            noise: int64 [B, 2], random numbers from `draw_noise`.
            height, width: of the images; numbers or scalar tensors.
        """
        raise NotImplementedError

    def arguments(self, kind=float):
        """Return what the levels stand for, for both signs [2, levels]."""
        table = self._space.table(type(self).__name__)
        return np.array([[kind(argument) for argument in row] for row in table])

    def entries(self, table, level, noise):
        """Return the levels' entries of a table [2, levels], a random bit its row."""
        row = tf.bitwise.bitwise_and(noise[:, 0], 1)
        return tf.gather(tf.reshape(table, [-1]), row * table.shape[1] + level)

    def whole_arguments(self):
        """Return whole numbers int64 [2, levels] and what to divide them by."""
        exact = self.arguments(kind=lambda argument: argument)
        bottom = math.lcm(*(argument.denominator for argument in exact.flat))
        return (exact * bottom).astype(np.int64), bottom

    def transform(self, images, parameters, partners=None):
        """Return the changed images, uint8 [B, H, W, C].

        Args:
            images: uint8 [B, H, W, C].
            parameters: int64 [B, 6] from `parameters`.
            partners: uint8 [B, H, W, C], the images to mix with where one is needed.
        """
        raise NotImplementedError

    def transform_one(self, image, size, parameters, partner=None):
        """Return what `transform` does, for one flat image inside compiled code.

        XLA vectorizes loops over the last axis, and three channels are too few for one:
        what goes by bytes, or by rows of bytes, is up to five times as fast.

        Args:
            image: uint8 [H * W * C].
            size: its H, W and C.
            parameters: int64 [1, 6].
            partner: uint8 [H * W * C], where one is needed.
        """
        size = [1, 1, 1, -1] if self.by_value else [1, *size]
        images = [image] if partner is None else [image, partner]
        first, *second = (tf.reshape(one, size) for one in images)
        return tf.reshape(self.transform(first, parameters, *second), [-1])

    @tf.autograph.experimental.do_not_convert
    def apply(self, images, level, seed):
        """Return the changed images, in the type they came in.

        The same seed, the same images.

        Args:
            images: uint8 or float [B, H, W, C] in 0..255, C 1 or 3.
            level: whole numbers, by default 0..9, [B] or one for all.
            seed: two whole numbers, as for `tf.random.stateless_uniform`.
        """
        images = tf.convert_to_tensor(images)
        pixels = checks.to_bytes(images)
        shape = tf.shape(pixels)
        level = checks.to_levels(level, shape[0], self._space.num_levels)
        noise = draw_noise(shape[:1], seed)
        changed = self._changed(pixels, level, noise)
        return tf.cast(changed, images.dtype)

    def _changed(self, pixels, level, noise):
        """Return the changed pixels; operations that mix images give partners here."""
        shape = tf.shape(pixels)
        return self.transform(pixels, self.parameters(level, noise, shape[1], shape[2]))

    # What keras-cv calls: a draw for the batch, then its use on images and labels.

    def get_random_transformation_batch(self, batch_size, **unused):
        seeds = tf.transpose(self._random_generator.make_seeds(2))
        if self.level is None:
            noise = draw_noise([batch_size], seeds[0])[:, 0]
            level = below(noise, self._space.num_levels)
        else:
            level = tf.fill([batch_size], tf.constant(self.level, tf.int64))
        return {"level": level, "seed": seeds[1]}

    def augment_images(self, images, transformations, **unused):
        return self.apply(images, transformations["level"], transformations["seed"])

    def augment_labels(self, labels, transformations, **unused):
        return labels

    def _ensure_inputs_are_compute_dtype(self, inputs):
        """Return the inputs as tensors.

        Images keep their type, labels become floats.
        """
        if not isinstance(inputs, dict):
            return tf.convert_to_tensor(inputs)
        inputs = {key: tf.convert_to_tensor(value) for key, value in inputs.items()}
        for key in ("labels", "targets"):
            if key in inputs:
                inputs[key] = tf.cast(inputs[key], self.compute_dtype)
        return inputs

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        own = {"level": self.level, "seed": self.seed, "space": self._space.name}
        return {**super().get_config(), **own}


def pack(*columns):
    """Return up to six int64 [B] columns side by side, zeros up to [B, 6]."""
    columns = [tf.cast(column, tf.int64) for column in columns]
    empty = [tf.zeros_like(columns[0])] * (NUM_PARAMETERS - len(columns))
    return tf.stack(columns + empty, axis=1)


def shape_of(images):
    """Return the images' shape: numbers, and tensors where they are not known yet."""
    pairs = zip(images.shape, tf.unstack(tf.shape(images)))
    return [later if now is None else now for now, later in pairs]


def kept(values):
    """Return the values as they are, computed once in compiled code.

    XLA would fuse them into what reads them and compute them again for each reader. It
    does not fuse through a loop.
    """
    return tf.map_fn(tf.identity, values[tf.newaxis])[0]


def places_of_bytes(width, channels):
    """Return the column and the channel of each byte in a row, int32 [W * C]."""
    count = width * channels
    # A constant if it can be one: XLA would compute it anew for every row.
    known = not tf.is_tensor(count)
    places = np.arange(count, dtype=np.int32) if known else tf.range(count)
    return places // channels, places % channels


def each_image(parameters, column):
    """Return one column of the parameters, shaped [B, 1, 1, 1] to meet images."""
    # Not by new axes in the slice: TensorFlow's graph optimizer replaces a slice of
    # `pack` by the column itself and loses them.
    return tf.reshape(parameters[:, column], [-1, 1, 1, 1])
