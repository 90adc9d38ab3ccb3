"""How large an encoded image claims to be, in the graph and without decoding it.

A file of 700 bytes may claim 170 million pixels, and a decoder believes it.
"""

from __future__ import annotations

import tensorflow as tf

# The first bytes of each kind, as TensorFlow's decoder knows them.
_PNG, _GIF, _BMP = b"\x89PNG\r\n\x1a\n", b"GIF8", b"BM"
_HEADER = 32


def pixels(encoded):
    """Return the number of pixels that a JPEG, PNG, GIF or BMP claims, an int64 scalar.

    Of what is none of them -1. Of a GIF that of its first frame.
    """
    return tf.cond(
        tf.io.is_jpeg(encoded),
        lambda: _product(tf.io.extract_jpeg_shape(encoded)[:2]),
        lambda: _from_header(encoded),
    )


def first_frame(encoded):
    """Return a GIF cut after its first frame; all else as it is.

    The decoder unpacks every frame, though only the first is wanted: a small file may
    hold thousands.
    """
    return tf.cond(_is(encoded, _GIF), lambda: _cut(encoded), lambda: encoded)


def _from_header(encoded):
    header = tf.io.decode_raw(encoded, tf.uint8, fixed_length=_HEADER)
    header = tf.cast(header, tf.int64)
    return tf.case(
        [
            (_is(encoded, _PNG), lambda: _product(_numbers(header[16:24], 4, -1))),
            (_is(encoded, _BMP), lambda: _product(_numbers(header[18:26], 4, 1))),
            (_is(encoded, _GIF), lambda: _pixels_of_frame(encoded)),
        ],
        default=lambda: tf.constant(-1, tf.int64),
    )


def _is(encoded, magic):
    return tf.strings.substr(encoded, 0, len(magic)) == magic


def _numbers(content, size, step):
    """Return two whole numbers of so many bytes; step -1: the highest byte first."""
    places = tf.constant([256**place for place in range(size)][::step], tf.int64)
    return tf.reduce_sum(tf.reshape(content, [2, size]) * places, axis=1)


def _product(sides):
    sides = tf.cast(sides, tf.int64)
    # A BMP's height is negative if its rows go down; 2³² - n is that in 32 bits.
    sides = tf.minimum(sides, tf.abs(2**32 - sides))
    # In floating point, so that no two sides overflow.
    return tf.cast(tf.reduce_prod(tf.cast(sides, tf.float64)), tf.int64)


def _pixels_of_frame(encoded):
    content = _content(encoded)
    place = _first_descriptor(content)
    return _product(_numbers(content[place + 5 : place + 9], 2, 1))


def _cut(encoded):
    content = _content(encoded)
    place = _first_descriptor(content) + 9
    place += 1 + _table(content[place])
    # A byte that tells the size of codes, then the frame's data.
    end = _after_blocks(content, place + 1)
    end = tf.minimum(end, tf.strings.length(encoded))
    return tf.strings.join([tf.strings.substr(encoded, 0, end), b";"])


def _content(encoded):
    # Zeros behind the end, so that a file that is cut short ends every search.
    content = tf.cast(tf.io.decode_raw(encoded, tf.uint8), tf.int64)
    return tf.pad(content, [[0, 1024]])


def _first_descriptor(content):
    """Return the place of a GIF's first image descriptor, or of what is there."""
    _, place = tf.while_loop(
        lambda content, place: _at(content, place) == 0x21,
        lambda content, place: (content, _after_blocks(content, place + 2)),
        (content, 13 + _table(content[10])),
    )
    return tf.minimum(place, tf.size(content) - 1024)


def _after_blocks(content, place):
    """Return the place after a chain of blocks, each led by its length."""
    _, place = tf.while_loop(
        lambda content, place: _at(content, place) > 0,
        lambda content, place: (
            content,
            place + 1 + tf.cast(_at(content, place), tf.int32),
        ),
        (content, place),
    )
    return place + 1


def _at(content, place):
    return content[tf.minimum(place, tf.size(content) - 1)]


def _table(flags):
    """Return the bytes of the colour table that a GIF's flags announce."""
    has_table = tf.bitwise.bitwise_and(flags, 0x80) > 0
    colours = tf.bitwise.left_shift(
        2, tf.cast(tf.bitwise.bitwise_and(flags, 7), tf.int32)
    )
    return tf.where(has_table, 3 * colours, 0)
