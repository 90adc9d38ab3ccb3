"""Images that claim more than they hold are refused before they are decoded."""

import io
import pathlib
import struct
import zlib

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from PIL import Image
from tensorflow import keras

from la_tf.data import sources
from la_tf.export import claims, serving


def encoded(kind, width=6, height=4, **options):
    file = io.BytesIO()
    pixels = np.random.default_rng(0).integers(0, 256, [height, width, 3], np.uint8)
    Image.fromarray(pixels).save(file, kind, **options)
    return file.getvalue()


def animation(frames, width=6, height=4):
    """A GIF of several frames, with a comment before the first."""
    file, generator = io.BytesIO(), np.random.default_rng(0)
    images = [
        Image.fromarray(generator.integers(0, 256, [height, width], np.uint8))
        for _ in range(frames)
    ]
    images[0].save(
        file, "GIF", save_all=True, append_images=images[1:], comment=b"x" * 600
    )
    return file.getvalue()


def bomb(kind, width=13_000, height=13_000):
    """A small file that claims to be a large image."""
    data = bytearray(encoded(kind))
    if kind == "PNG":
        data[16:24] = struct.pack(">II", width, height)
        data[29:33] = struct.pack(">I", zlib.crc32(bytes(data[12:29])))
    elif kind == "BMP":
        data[18:26] = struct.pack("<ii", width, -height)
    elif kind == "JPEG":
        place = data.index(b"\xff\xc0")
        data[place + 5 : place + 9] = struct.pack(">HH", height, width)
    else:
        place = data.index(b"\x2c\0\0\0\0")
        data[place + 5 : place + 9] = struct.pack("<HH", width, height)
    return bytes(data)


KINDS = ("JPEG", "PNG", "BMP", "GIF")


class ClaimsTest(parameterized.TestCase, tf.test.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        bytes_ = tf.TensorSpec([], tf.string)
        cls.pixels = staticmethod(tf.function(claims.pixels, input_signature=[bytes_]))
        cls.first_frame = staticmethod(
            tf.function(claims.first_frame, input_signature=[bytes_])
        )

    @parameterized.parameters(*KINDS)
    def test_what_an_image_claims(self, kind):
        self.assertEqual(self.pixels(encoded(kind)).numpy(), 24)
        self.assertEqual(self.pixels(bomb(kind)).numpy(), 169_000_000)

    def test_the_largest_claims_do_not_overflow(self):
        claim = self.pixels(bomb("PNG", 2**31 - 1, 2**31 - 1)).numpy()
        self.assertAllClose(float(claim), float(2**62))

    @parameterized.parameters(b"", b"B", b"RIFF....WEBP", b"\x89PNG", b"no image")
    def test_what_is_no_image_claims_nothing(self, content):
        self.assertEqual(self.pixels(content).numpy(), -1)

    def test_only_the_first_frame_of_many_is_left(self):
        many = animation(300)
        cut = self.first_frame(many).numpy()
        self.assertLess(len(cut), len(many) / 10)
        with Image.open(io.BytesIO(cut)) as image:
            self.assertEqual((image.n_frames, image.size), (1, (6, 4)))
        decode = tf.io.decode_image
        self.assertAllEqual(decode(cut)[0], decode(many, expand_animations=False))
        self.assertEqual(self.pixels(many).numpy(), 24)

    @parameterized.parameters(*KINDS)
    def test_files_that_are_cut_short_end_every_search(self, kind):
        whole = animation(3) if kind == "GIF" else encoded(kind)
        for length in range(0, len(whole), max(1, len(whole) // 40)):
            try:
                self.pixels(self.first_frame(whole[:length]))
            except tf.errors.InvalidArgumentError:
                # libjpeg reads its own header.
                self.assertEqual(kind, "JPEG")


class ServerTest(tf.test.TestCase):
    def test_a_bomb_harms_no_other_image_of_its_batch(self):
        classifier = keras.Sequential(
            [keras.Input([8, 8, 3]), keras.layers.Flatten(), keras.layers.Dense(3)]
        )
        names = pathlib.Path(self.create_tempdir().full_path) / "names.txt"
        names.write_text("a\nb\nc\n")
        server = serving.Server(
            classifier, "abc", names, sources.preparation((8, 8, 3), encoded=False), 1.5
        )
        good = [encoded(kind, 20, 10) for kind in KINDS]
        alone = server.from_bytes(tf.constant(good))
        mixed = [file for pair in zip(good, map(bomb, KINDS)) for file in pair]
        answers = server.from_bytes(tf.constant(mixed))
        for name in ("label", "name", "error"):
            self.assertAllEqual(answers[name][::2], alone[name])
        # Kernels may round otherwise for another size of batch.
        self.assertAllClose(answers["probabilities"][::2], alone["probabilities"])
        for error in answers["error"][1::2].numpy():
            self.assertEqual(
                error,
                b"the image claims 169000000 pixels, which is above the limit of "
                b"1500000",
            )
        self.assertAllEqual(answers["label"][1::2], [-1] * 4)
        self.assertAllEqual(answers["name"][1::2], [b""] * 4)
        self.assertAllEqual(answers["probabilities"][1::2], np.zeros([4, 3]))
        self.assertAllEqual(alone["error"], [b""] * 4)
        with self.assertRaises(tf.errors.InvalidArgumentError):
            server.from_bytes(tf.constant([good[0], b"no image"]))


if __name__ == "__main__":
    tf.test.main()
