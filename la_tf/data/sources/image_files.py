"""Reading many image files, and telling which of them cannot be read."""

from __future__ import annotations

import concurrent.futures
import functools
import io
import os
import pathlib
import stat

import numpy as np
from absl import logging

from la_tf import console
from la_tf.errors import UserError

MIXED_SIZES = (
    "{path} differs in size from the images before it; pass --image_size, for example "
    "--image_size=64, to bring all of them to one size."
)

_KINDS = {
    b"\xff\xd8\xff": "JPEG",
    b"\x89PNG\r\n\x1a\n": "PNG",
    b"GIF8": "GIF",
    b"BM": "BMP",
    b"RIFF": "WebP",
}
SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".webp")
_HEAD = 12

# The last bytes of a whole file. BMP has no such mark.
_ENDS = {"JPEG": b"\xff\xd9", "PNG": b"IEND\xaeB`\x82", "GIF": b";"}


class BadImageError(Exception):
    """Why a file is no readable image."""


def decoded(paths, image_size, skip_bad_images):
    """Return `(images uint8 [N, H, W, 3], indices [N] of the paths that were read)`.

    Args:
        paths: image files.
        image_size: the side of the square images wanted; None if all have one size.
        skip_bad_images: leave out unreadable files instead of raising a UserError.
    """
    import tensorflow as tf

    pixels = _decoder(image_size)

    def read(path):
        encoded = decodable_bytes(path)
        try:
            return pixels(encoded).numpy()
        except tf.errors.OpError as error:
            raise BadImageError(error.message.splitlines()[0]) from error

    images, good = [], []
    for index, image in _each(read, paths, skip_bad_images, "Reading images"):
        if images and image.shape != images[0].shape:
            raise UserError(MIXED_SIZES.format(path=paths[index]))
        images.append(image)
        good.append(index)
    if not images:
        return np.empty((0, 1, 1, 3), np.uint8), np.empty(0, np.int64)
    return np.stack(images), np.asarray(good)


@functools.cache
def _decoder(image_size):
    """Return the function from a file's bytes to its pixels, traced once for a size."""
    import tensorflow as tf

    from la_tf.data.sources import decoding

    @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
    def pixels(encoded):
        image = decoding.decode(encoded)
        if image_size is None:
            return image
        return decoding.central_part(image, image_size, image_size)

    return pixels


def readable(paths, skip_bad_images):
    """Return the indices of the paths that hold whole images.

    Without `skip_bad_images` they are looked at, but not decoded.
    """
    # Who wants bad images left out gets every one decoded: damage in the middle of a
    # file would otherwise end the training.
    check = decode_once if skip_bad_images else _check_ends
    checked = _each(check, paths, skip_bad_images, "Checking images")
    return np.asarray([index for index, _ in checked], np.int64)


def _each(function, paths, skip_bad_images, what):
    """Yield `(index, function(path))` in order, of the files that can be read."""

    def attempt(path):
        try:
            return function(path), None
        except (BadImageError, OSError) as error:
            return None, error

    counter = console.Counter(what, len(paths))
    workers = min(os.cpu_count() or 1, 32)
    with counter, concurrent.futures.ThreadPoolExecutor(workers) as pool:
        try:
            for index, (result, error) in enumerate(pool.map(attempt, paths)):
                counter.advance()
                if error is None:
                    yield index, result
                elif skip_bad_images:
                    logging.info("Skipped %s: %s", paths[index], error)
                else:
                    raise UserError(
                        f"{paths[index]} cannot be read as an image ({error}): mend or "
                        "remove it, or pass --skip_bad_images to leave out such files."
                    )
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _kind(path, head):
    """Return the format that a file's first bytes tell, if its suffix is an image's."""
    if pathlib.Path(path).suffix.lower() not in SUFFIXES:
        raise BadImageError(f"the name does not end in one of {', '.join(SUFFIXES)}")
    for magic, kind in _KINDS.items():
        # Sound and film begin with RIFF as well.
        if head.startswith(magic) and (kind != "WebP" or head[8:] == b"WEBP"):
            return kind
    raise BadImageError("the content is not JPEG, PNG, BMP, GIF or WebP")


def _checked_bytes(path):
    """Return the file's format and bytes, if they begin as an image does."""
    _check_regular(path)
    encoded = pathlib.Path(path).read_bytes()
    return _kind(path, encoded[:_HEAD]), encoded


def decodable_bytes(path):
    """Return the bytes of an image file, of a format that every TensorFlow decodes."""
    kind, encoded = _checked_bytes(path)
    return _webp_to_bmp(encoded) if kind == "WebP" else encoded


def _webp_to_bmp(encoded):
    """Return the bytes of a BMP, which every TensorFlow decodes, with a WebP's pixels.

    TensorFlow 2.15 decodes no WebP, later ones none that is in part transparent.
    """
    from PIL import Image

    file = io.BytesIO()
    with Image.open(io.BytesIO(encoded)) as image:
        image.convert("RGB").save(file, "BMP")
    return file.getvalue()


def _check_regular(path):
    """Raise for what cannot be read from end to end, as a pipe."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise BadImageError("it is not a regular file")


def _check_ends(path):
    """Raise unless the file begins and ends as a whole image, or can be decoded."""
    _check_regular(path)
    with open(path, "rb") as file:
        kind = _kind(path, file.read(_HEAD))
        file.seek(-min(8, os.fstat(file.fileno()).st_size), os.SEEK_END)
        tail = file.read()
    # Some cameras write more after the end; only then is it worth decoding the file.
    if kind not in _ENDS or not tail.endswith(_ENDS[kind]):
        decode_once(path)


def decode_once(path):
    """Raise unless TensorFlow can decode the file."""
    import tensorflow as tf

    from la_tf.data.sources import decoding

    kind, encoded = _checked_bytes(path)
    try:
        decoding.decode(encoded)
    except tf.errors.OpError as error:
        if kind == "WebP":
            raise BadImageError(
                "this TensorFlow cannot decode this WebP; convert it to "
                "PNG or JPEG, or let --preprocessing=crop keep the images in memory"
            ) from error
        raise BadImageError(error.message.splitlines()[0]) from error
