"""Every operation at every level against Pillow, pixel by pixel.

The references call Pillow 9 or later on one image at a time; MixUp, Cutout and
SamplePairing, which Pillow lacks, have NumPy references in `ops_mixing_test.py`.
"""

import functools
import math

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from PIL import Image, ImageEnhance, ImageOps

from la_tf import ops
from tests import helper

GREY = 128


def _transformed(image, matrix):
    fill = GREY if image.mode == "L" else (GREY,) * 3
    return image.transform(
        image.size, Image.AFFINE, matrix, Image.NEAREST, fillcolor=fill
    )


def _shear_x(image, level, sign):
    return _transformed(image, (1, sign * 0.3 * level / 9, 0, 0, 1, 0))


def _shear_y(image, level, sign):
    return _transformed(image, (1, 0, 0, sign * 0.3 * level / 9, 1, 0))


def _translate_x(image, level, sign):
    shift = sign * 150 / 331 * image.size[0] * level / 9
    return _transformed(image, (1, 0, shift, 0, 1, 0))


def _translate_y(image, level, sign):
    shift = sign * 150 / 331 * image.size[1] * level / 9
    return _transformed(image, (1, 0, 0, 0, 1, shift))


def _rotate(image, level, sign):
    fill = GREY if image.mode == "L" else (GREY,) * 3
    degrees = -30 + 60 * level / 9
    return image.rotate(degrees, resample=Image.NEAREST, fillcolor=fill)


def _enhance(enhancer, image, level, sign):
    return enhancer(image).enhance(0.1 + 1.8 * level / 9)


REFERENCES = {
    "ShearX": _shear_x,
    "ShearY": _shear_y,
    "TranslateX": _translate_x,
    "TranslateY": _translate_y,
    "Rotate": _rotate,
    "Color": functools.partial(_enhance, ImageEnhance.Color),
    "Posterize": lambda image, level, sign: ImageOps.posterize(image, 8 - level // 2),
    "Solarize": lambda image, level, sign: ImageOps.solarize(
        image, 256 - 256 * level / 9
    ),
    "Contrast": functools.partial(_enhance, ImageEnhance.Contrast),
    "Sharpness": functools.partial(_enhance, ImageEnhance.Sharpness),
    "Brightness": functools.partial(_enhance, ImageEnhance.Brightness),
    "AutoContrast": lambda image, level, sign: ImageOps.autocontrast(image),
    "Equalize": lambda image, level, sign: ImageOps.equalize(image),
    "Invert": lambda image, level, sign: ImageOps.invert(image),
}
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
    reference = REFERENCES[name]
    results = []
    for image, level in zip(images, levels):
        picture = Image.fromarray(image[..., 0] if image.shape[-1] == 1 else image)
        result = np.asarray(reference(picture, int(level), sign))
        results.append(result.reshape(image.shape))
    return np.stack(results)


class ParityTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters(*REFERENCES)
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


if __name__ == "__main__":
    tf.test.main()
