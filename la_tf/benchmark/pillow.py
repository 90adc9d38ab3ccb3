"""A lean Pillow pipeline of the same policies, one image at a time: the opponent.

NumPy crops and flips, Pillow does the operations, uint8 comes out; two processes, and
no other library. Batches stay in the process that made them, so that nothing is lost
by sending them.
"""

from __future__ import annotations

import multiprocessing
import random
import time

import numpy as np
from PIL import Image, ImageEnhance, ImageOps

NUM_VIEWS = 6
GREY = (128, 128, 128)
COLOUR = (125, 123, 114)


def measure(images, batch_size, seconds, workers=2):
    """Return views a second of all workers together.

    Args:
        images: uint8 [N, H, W, 3] to draw batches from.
        batch_size: of the batches.
        seconds: how long to work.
        workers: the number of processes.
    """
    context = multiprocessing.get_context("spawn")
    with context.Pool(workers) as pool:
        work = [(images, batch_size, seconds, seed) for seed in range(workers)]
        return sum(pool.starmap(_work, work))


def _work(images, batch_size, seconds, seed):
    generator = random.Random(seed)
    _batch(images[:batch_size], generator)
    batches, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        first = generator.randrange(len(images) - batch_size + 1)
        _batch(images[first : first + batch_size], generator)
        batches += 1
    return batches * batch_size * NUM_VIEWS / (time.perf_counter() - start)


def _batch(images, generator):
    """Return views uint8 [B, K, H, W, C] of a batch, half of the time with CutMix."""
    padded = np.pad(images, [(0, 0), (4, 4), (4, 4), (0, 0)])
    count, height, width, channels = images.shape
    views = np.empty((count, NUM_VIEWS, height, width, channels), np.uint8)
    for index in range(count):
        for view, policy in enumerate(generator.sample(range(256), NUM_VIEWS)):
            image = Image.fromarray(_crop(padded, index, generator))
            for operation in divmod(policy, 16):
                level = generator.randrange(10)
                if OPERATIONS[operation] is _mix_up:
                    other = (index + generator.randrange(1, count)) % count
                    partner = Image.fromarray(_crop(padded, other, generator))
                    image = Image.blend(partner, image, generator.random())
                else:
                    image = OPERATIONS[operation](image, level, generator)
            views[index, view] = image
    if generator.random() < 0.5:
        top, left = generator.randrange(height), generator.randrange(width)
        box = views[:, :, top : top + height // 2, left : left + width // 2]
        box[:] = box[np.random.permutation(count)]
    return views


def _crop(padded, index, generator):
    height, width = padded.shape[1] - 8, padded.shape[2] - 8
    top, left = generator.randrange(9), generator.randrange(9)
    crop = padded[index, top : top + height, left : left + width]
    if generator.random() < 0.5:
        crop = crop[:, ::-1]
    return np.ascontiguousarray(crop)


def _sign(generator):
    return 1 if generator.random() < 0.5 else -1


def _affine(image, matrix):
    return image.transform(
        image.size, Image.AFFINE, matrix, Image.NEAREST, fillcolor=GREY
    )


def _shear_x(image, level, generator):
    return _affine(image, (1, _sign(generator) * level / 30, 0, 0, 1, 0))


def _shear_y(image, level, generator):
    return _affine(image, (1, 0, 0, _sign(generator) * level / 30, 1, 0))


def _translate_x(image, level, generator):
    shift = _sign(generator) * 150 / 331 * image.size[0] * level / 9
    return _affine(image, (1, 0, shift, 0, 1, 0))


def _translate_y(image, level, generator):
    shift = _sign(generator) * 150 / 331 * image.size[1] * level / 9
    return _affine(image, (1, 0, 0, 0, 1, shift))


def _rotate(image, level, generator):
    return image.rotate(-30 + 60 * level / 9, fillcolor=GREY)


def _enhance(enhancer):
    return lambda image, level, _: enhancer(image).enhance(0.1 + 0.2 * level)


def _cutout(image, level, generator):
    side = round(20 / 32 * min(image.size) * level / 9)
    left = generator.randrange(image.size[0]) - side // 2
    top = generator.randrange(image.size[1]) - side // 2
    image.paste(COLOUR, (left, top, left + side, top + side))
    return image


def _mix_up():
    """Stand for MixUp, which needs a second image."""


OPERATIONS = (
    _shear_x,
    _shear_y,
    _translate_x,
    _translate_y,
    _rotate,
    _enhance(ImageEnhance.Color),
    lambda image, level, _: ImageOps.posterize(image, 8 - level // 2),
    lambda image, level, _: ImageOps.solarize(image, 256 - 256 * level / 9),
    _enhance(ImageEnhance.Contrast),
    _enhance(ImageEnhance.Sharpness),
    _enhance(ImageEnhance.Brightness),
    lambda image, level, _: ImageOps.autocontrast(image),
    lambda image, level, _: ImageOps.equalize(image),
    lambda image, level, _: ImageOps.invert(image),
    _cutout,
    _mix_up,
)
