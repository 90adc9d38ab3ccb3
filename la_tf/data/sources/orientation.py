"""How a camera was held, as a JPEG notes it (EXIF), in the graph.

Eight orientations, by the numbers of the EXIF standard: from 5 on rows and columns
change places; then the image may be mirrored left to right, top to bottom, or both.
Pillow's `ImageOps.exif_transpose` is the reference.
"""

from __future__ import annotations

import tensorflow as tf

_EXCHANGED = (5, 6, 7, 8)
_LEFT_TO_RIGHT = (2, 3, 6, 7)
_TOP_TO_BOTTOM = (3, 4, 7, 8)

# A segment begins with FF, its marker, and two bytes that count all but the marker.
_APP_0, _APP_1, _APP_15, _COMMENT, _FILL = 0xE0, 0xE1, 0xEF, 0xFE, 0xFF
_HEADER = 4
_EXIF = b"Exif\0\0"

# A directory of tags: two bytes that count its entries of twelve bytes each.
_ENTRY = 12
_ORIENTATION = 0x0112


def of_jpeg(encoded):
    """Return the orientation, int32 from 1 to 8; 1 where a JPEG notes none.

    Args:
        encoded: the bytes of a JPEG, whole or damaged.
    """
    place, found = _find(encoded)
    return tf.cond(found, lambda: _noted(encoded, place), lambda: tf.constant(1))


def upright(image, orientation):
    """Return [H, W, C] as it is to be seen, from the stored pixels."""
    return tf.cond(orientation > 1, lambda: _turned(image, orientation), lambda: image)


def upright_shape(shape, orientation):
    """Return height and width, int32 [2], as they are to be seen."""
    exchanged = _is_one_of(orientation, _EXCHANGED)
    return tf.where(exchanged, tf.reverse(shape[:2], [0]), shape[:2])


def stored_box(box, shape, orientation):
    """Return where a box of the upright image lies among the stored pixels.

    Args:
        box: int32 [4]: top, left, height, width.
        shape: height and width of the upright image.
        orientation: from 1 to 8.
    """
    place, sides = box[:2], box[2:]
    mirrored = tf.stack(
        [
            _is_one_of(orientation, _TOP_TO_BOTTOM),
            _is_one_of(orientation, _LEFT_TO_RIGHT),
        ]
    )
    place = tf.where(mirrored, shape - place - sides, place)
    exchanged = _is_one_of(orientation, _EXCHANGED)
    pairs = tf.stack([place, sides])
    return tf.reshape(tf.where(exchanged, tf.reverse(pairs, [1]), pairs), [4])


def _turned(image, orientation):
    for numbers, change in (
        (_EXCHANGED, lambda image: tf.transpose(image, [1, 0, 2])),
        (_LEFT_TO_RIGHT, lambda image: tf.reverse(image, [1])),
        (_TOP_TO_BOTTOM, lambda image: tf.reverse(image, [0])),
    ):
        image = tf.cond(
            _is_one_of(orientation, numbers),
            lambda image=image, change=change: change(image),
            lambda image=image: image,
        )
    return image


def _is_one_of(orientation, numbers):
    return tf.reduce_any(orientation == tf.constant(numbers))


def _find(encoded):
    """Return the place behind `Exif` in the file, and whether there is one.

    EXIF stands in front of all that describes the pixels, so that one or two steps
    are enough for most files.
    """
    length = tf.strings.length(encoded)
    header = _HEADER + len(_EXIF)

    def is_open(place, found):
        return ~found & (place + header <= length)

    def step(place, found):
        del found
        text = tf.strings.substr(encoded, place, header)
        values = _values(text)
        marker = values[1]
        found = (marker == _APP_1) & (
            tf.strings.substr(text, _HEADER, len(_EXIF)) == _EXIF
        )
        known = ((marker >= _APP_0) & (marker <= _APP_15)) | (marker == _COMMENT)
        behind = place + 2 + _number(values[2:], 2, big=True)
        behind = tf.where(marker == _FILL, place + 1, tf.where(known, behind, length))
        return tf.where(found, place + header, behind), found

    return tf.while_loop(is_open, step, (tf.constant(2), tf.constant(False)))


def _noted(encoded, place):
    """Return the orientation in the directory of tags that begins at this place."""
    # The segment's own length is not needed: a tag's entry is near its beginning.
    size = tf.minimum(tf.strings.length(encoded) - place, 1 << 16)
    values = _values(tf.strings.substr(encoded, place, size))
    # Whatever a damaged file says, there are bytes to read.
    values = tf.concat([values, tf.zeros([_ENTRY], tf.int32)], 0)
    big = values[0] == ord("M")
    first = tf.clip_by_value(_number(values[4:], 4, big), 0, size)
    count = _number(values[first:], 2, big)
    entries = values[first + 2 : first + 2 + count * _ENTRY]
    entries = entries[: tf.size(entries) // _ENTRY * _ENTRY]
    entries = tf.reshape(entries, [-1, _ENTRY])
    tags, numbers = _number(entries, 2, big), _number(entries[:, 8:], 2, big)
    valid = (tags == _ORIENTATION) & (numbers >= 1) & (numbers <= 8)
    return tf.reduce_max(tf.concat([tf.where(valid, numbers, 1), [1]], 0))


def _values(text):
    return tf.cast(tf.io.decode_raw(text, tf.uint8), tf.int32)


def _number(values, width, big):
    """Return the whole numbers [...] that the first bytes of [..., N] stand for.

    Args:
        values: int32.
        width: how many bytes stand for a number.
        big: whether the byte of most weight comes first.
    """
    values = values[..., :width]
    ordered = tf.where(big, values, tf.reverse(values, [-1]))
    powers = [1 << 8 * place for place in reversed(range(width))]
    return tf.reduce_sum(ordered * tf.constant(powers), -1)
