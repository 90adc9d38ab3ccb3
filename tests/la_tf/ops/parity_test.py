"""Every operation at every level of every space against Pillow, pixel by pixel.

The references call Pillow 9 or later on one image at a time; MixUp, Cutout and
SamplePairing, which Pillow lacks, have NumPy references in `ops_mixing_test.py`.
"""

import functools
import itertools
import math

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from PIL import Image, ImageEnhance, ImageOps

from la_tf import ops
from la_tf.ops import compiled, families, spaces, words
from tests import helper

GREY = 128


def _transformed(image, matrix):
    fill = GREY if image.mode == "L" else (GREY,) * 3
    return image.transform(
        image.size, Image.AFFINE, matrix, Image.NEAREST, fillcolor=fill
    )


def _rotated(image, degrees):
    fill = GREY if image.mode == "L" else (GREY,) * 3
    return image.rotate(degrees, resample=Image.NEAREST, fillcolor=fill)


# What Pillow does for an operation's argument: slopes, shares of the side, degrees,
# factors, bits and thresholds.
_PILLOW = {
    "ShearX": lambda image, slope: _transformed(image, (1, slope, 0, 0, 1, 0)),
    "ShearY": lambda image, slope: _transformed(image, (1, 0, 0, slope, 1, 0)),
    "TranslateX": lambda image, share: _transformed(
        image, (1, 0, share * image.size[0], 0, 1, 0)
    ),
    "TranslateY": lambda image, share: _transformed(
        image, (1, 0, 0, 0, 1, share * image.size[1])
    ),
    "Rotate": _rotated,
    "Color": lambda image, factor: ImageEnhance.Color(image).enhance(factor),
    "Posterize": ImageOps.posterize,
    "Solarize": ImageOps.solarize,
    "Contrast": lambda image, factor: ImageEnhance.Contrast(image).enhance(factor),
    "Sharpness": lambda image, factor: ImageEnhance.Sharpness(image).enhance(factor),
    "Brightness": lambda image, factor: ImageEnhance.Brightness(image).enhance(factor),
    "AutoContrast": lambda image, _: ImageOps.autocontrast(image),
    "Equalize": lambda image, _: ImageOps.equalize(image),
    "Invert": lambda image, _: ImageOps.invert(image),
    "Identity": lambda image, _: image,
}


def _arguments(shear, shift, degrees, factor, bits, threshold):
    """An operation's argument from level and sign, as its method's paper has it."""
    return {
        "ShearX": shear,
        "ShearY": shear,
        "TranslateX": shift,
        "TranslateY": shift,
        "Rotate": degrees,
        **dict.fromkeys(("Color", "Contrast", "Sharpness", "Brightness"), factor),
        "Posterize": bits,
        "Solarize": threshold,
    }


def _in_ninths(degrees):
    return _arguments(
        shear=lambda level, sign: sign * 0.3 * level / 9,
        shift=lambda level, sign: sign * 150 / 331 * level / 9,
        degrees=degrees,
        factor=lambda level, sign: 0.1 + 1.8 * level / 9,
        bits=lambda level, sign: (8, 8, 7, 7, 6, 6, 5, 5, 4, 4)[level],
        threshold=lambda level, sign: 256 - 256 * level / 9,
    )


# Whole numbers are cut off in integers, as floats would cut 2.9999 off.
def _trivial(shear, pixels, degrees, low, high, bits):
    """The table of TrivialAugment's reference: maxima at level 30."""
    return _arguments(
        shear=lambda level, sign: sign * shear * level / 30,
        shift=lambda level, sign: sign * (pixels * level // 30) / 32,
        degrees=lambda level, sign: sign * (degrees * level // 30),
        factor=lambda level, sign: low + (high - low) * level / 30,
        bits=lambda level, sign: 8 - bits * level // 30,
        threshold=lambda level, sign: 256 - 256 * level // 30,
    )


def _tenths():
    """AutoAugment's reference scale."""
    return _arguments(
        shear=lambda level, sign: sign * 0.03 * level,
        shift=lambda level, sign: sign * level / 32,
        degrees=lambda level, sign: sign * 3 * level,
        factor=lambda level, sign: 0.1 + 0.18 * level,
        bits=lambda level, sign: max(1, 8 - 4 * level // 10),
        threshold=lambda level, sign: max(0, 256 - 256 * level // 10),
    )


ARGUMENTS = {
    "latentaugment": _in_ninths(lambda level, sign: -30 + 60 * level / 9),
    "sample_pairing": _in_ninths(lambda level, sign: -30 + 60 * level / 9),
    "adversarial": _in_ninths(lambda level, sign: sign * 30 * level / 9),
    "autoaugment": _tenths(),
    "randaugment": _trivial(0.3, 10, 30, 0.1, 1.9, 4),
    "randaugment_of_10": _tenths(),
    "wide": _trivial(0.99, 32, 135, 0.01, 2.0, 6),
    "metaaugment": _arguments(
        shear=lambda level, sign: sign * 0.3 * level / 100,
        shift=lambda level, sign: sign * 10 / 32 * level / 100,
        degrees=lambda level, sign: sign * 30 * level / 100,
        factor=lambda level, sign: 1 + sign * 0.9 * level / 100,
        bits=lambda level, sign: 8 - 4 * level // 100,
        threshold=lambda level, sign: 256 - 256 * level / 100,
    ),
}


def pillow(space, name, image, level, sign):
    """What Pillow makes of one image [H, W, C] at a level of a space."""
    argument = ARGUMENTS[space].get(name, lambda level, sign: None)(level, sign)
    picture = Image.fromarray(image[..., 0] if image.shape[-1] == 1 else image)
    return np.asarray(_PILLOW[name](picture, argument)).reshape(image.shape)


REFERENCES = tuple(_PILLOW)
SIGNED = ("ShearX", "ShearY", "TranslateX", "TranslateY")

LEVELS = tuple(range(10))


def _tile(height, width, index=0):
    """A piece of a photograph, repeated where the photograph is too small."""
    photograph = helper.photographs()[index]
    reps = [-(-height // 427), -(-width // 640), 1]
    return np.tile(photograph, reps)[40 : 40 + height, 60 : 60 + width]


@functools.cache
def _families():
    """Images of many kinds, each entry uint8 [n, H, W, C] with n images."""
    generator = np.random.default_rng(7)
    flat = np.stack([np.full((16, 16, 3), value) for value in (0, 1, 77, 128, 255)])
    colour = np.tile(np.array([3, 200, 90]), [1, 12, 17, 1])
    stripes = np.indices((1, 9, 13, 3)).sum(axis=0) % 2 * 255
    step = np.where(np.arange(32) < 16, 120, 121) * np.ones((1, 24, 1), np.int64)
    families = {
        "small_colour": helper.small_images(16),
        "digits": helper.digits(8)[0],
        "flat": flat,
        "one_colour": colour,
        "black_and_white": stripes,
        "two_values": np.stack([step] * 3, axis=-1),
        "noise_with_few_pixels": generator.integers(0, 256, (4, 8, 8, 3)),
        "odd": np.stack([_tile(45, 37), _tile(45, 37, 1)]),
        "tiny": generator.integers(0, 256, (3, 2, 5, 3)),
        "grey_photograph": _tile(64, 50)[None, ..., :1],
        "large": np.stack([_tile(256, 256), _tile(256, 256, 1)]),
        "wide": _tile(33, 224)[None],
    }
    return {name: images.astype(np.uint8) for name, images in families.items()}


def _pillow(name, images, levels, sign):
    return np.stack(
        [
            pillow("latentaugment", name, image, int(level), sign)
            for image, level in zip(images, levels)
        ]
    )


class ParityTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters(*(n for n in REFERENCES if n != "Identity"))
    def test_every_pixel_is_pillows(self, name):
        layer = ops.make(name)
        signs = (1, -1) if name in SIGNED else (1,)
        for family, images in _families().items():
            # Each image at all ten levels, and again with other random signs.
            repeats = 2 if images.shape[1] < 100 else 1
            images = np.tile(np.repeat(images, 10, axis=0), [repeats, 1, 1, 1])
            levels = np.tile(np.arange(10), len(images) // 10)
            result = layer.apply(images, levels, seed=[3, 5]).numpy()
            expected = np.stack([_pillow(name, images, levels, s) for s in signs])
            same = np.all(result == expected, axis=(2, 3, 4)).any(axis=0)
            self.assertTrue(
                np.all(same),
                f"{name} on {family}: levels {sorted(set(levels[~same]))} differ",
            )

    @parameterized.parameters(*SIGNED)
    def test_both_signs_are_drawn_evenly(self, name):
        images = np.tile(_tile(16, 16)[None], [400, 1, 1, 1])
        levels = np.full(400, 9)
        result = ops.make(name).apply(images, levels, seed=[0, 0]).numpy()
        positive = _pillow(name, images[:1], levels[:1], 1)
        share = np.mean(np.all(result == positive, axis=(1, 2, 3)))
        # 400 fair coins: five standard deviations are 0.125.
        self.assertLess(abs(share - 0.5), 0.125)

    def test_levels_at_both_ends(self):
        image = _tile(32, 32)[None]
        for name in ("ShearX", "ShearY", "TranslateX", "TranslateY", "Posterize"):
            self.assertAllEqual(ops.make(name).apply(image, 0, [1, 2]), image)
        self.assertAllEqual(ops.make("Solarize").apply(image, 0, [1, 2]), image)
        self.assertAllEqual(ops.make("Solarize").apply(image, 9, [1, 2]), 255 - image)
        # 150/331 of 32 pixels is 14.5: the floor at the pixel centre moves 14 or 15.
        moved = ops.make("TranslateX").apply(image, 9, [1, 2]).numpy()
        self.assertIn(int(np.sum(np.all(moved == GREY, axis=(0, 1, 3)))), (14, 15))
        self.assertLess(math.fabs(150 / 331 * 32 - 14.5), 0.01)


# The operations that Pillow has, and the layers that all spaces share: what a level
# means is in their parameters alone.
@functools.cache
def _layers():
    return [ops.make(name) for name in REFERENCES]


def _every_level(space):
    """Operation, level and sign for all operations of a space that Pillow has."""
    for name in space.operations:
        if name in ARGUMENTS[space.name]:
            yield from itertools.product((name,), range(space.num_levels), (1, -1))
        elif name in REFERENCES:
            yield name, 0, 1


class SpacesTest(tf.test.TestCase):
    """Every operation of every space, at every level and with both signs."""

    def test_every_space_has_a_reference(self):
        self.assertEqual(set(ARGUMENTS), set(spaces.SPACES))

    def test_host_and_device_give_pillows_bytes(self):
        image = _tile(32, 32)
        cases, columns = [], []
        for space in spaces.SPACES.values():
            found = list(_every_level(space))
            cases += [(space.name, *case) for case in found]
            columns.append(_parameters(space, found, *image.shape[:2]))
        index = np.array([REFERENCES.index(name) for _, name, _, _ in cases])
        stage = families.Stage(
            tf.constant(index, tf.int64),
            tf.concat(columns, axis=0),
            tf.zeros(len(cases), tf.int64),
        )
        base = tf.constant(np.repeat(image[np.newaxis], len(cases), axis=0))
        view_at = families.by_places(words.pack(base))
        device = families.Families(_layers()).run(view_at, [32, 32], [stage], 3)
        forms = {
            "host": compiled.Program(_layers()).run(base, [stage]),
            "device": words.unpack(device, 3),
        }
        expected = np.stack([pillow(*case[:2], image, *case[2:]) for case in cases])
        for form, result in forms.items():
            same = np.all(result == expected, axis=(1, 2, 3))
            wrong = [case for case, right in zip(cases, same) if not right]
            self.assertEmpty(wrong, form)

    def test_layers_give_pillows_bytes_on_odd_shapes(self):
        image = _tile(45, 37, 1)
        for space in spaces.SPACES.values():
            cases = list(_every_level(space))
            parameters = _parameters(space, cases, *image.shape[:2])
            expected = [pillow(space.name, one[0], image, *one[1:]) for one in cases]
            for name, layer in zip(REFERENCES, _layers()):
                own = np.flatnonzero([case[0] == name for case in cases])
                images = tf.constant(np.repeat(image[np.newaxis], len(own), axis=0))
                changed = layer.transform(images, tf.gather(parameters, own))
                for place, result in zip(own, changed.numpy()):
                    same = np.array_equal(result, expected[place])
                    self.assertTrue(same, (space.name, *cases[place]))


def _parameters(space, cases, height, width):
    """Parameters [N, 6] of operations at given levels and signs."""
    names, levels, signs = zip(*cases)
    # The sign is the lowest bit of the first random number.
    noise = tf.constant([[int(sign < 0), 0] for sign in signs], tf.int64)
    layers = [
        ops.make(name, space=space.name)
        for name in REFERENCES
        if name in space.operations
    ]
    levels = tf.constant(levels, tf.int64)
    made = [layer.parameters(levels, noise, height, width) for layer in layers]
    own = [type(layer).__name__ for layer in layers]
    index = tf.constant([own.index(name) for name in names])
    return tf.gather(tf.stack(made, axis=1), index, batch_dims=1)


if __name__ == "__main__":
    tf.test.main()
