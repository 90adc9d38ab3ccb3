"""Photographs stand upright, as Pillow turns them, wherever they are decoded."""

import io
import pathlib

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from PIL import ExifTags, Image, ImageOps

from la_tf.data import inception, sources
from la_tf.data.sources import decoding, orientation
from tests import helper

ALL = tuple(range(1, 9))


def jpeg(number, before=b"", **options):
    """The bytes of a photograph that was taken in this orientation.

    Args:
        number: from 1 to 8, or None to note none.
        before: segments to put in front of all others.
        **options: of Pillow's writer.
    """
    exif = Image.Exif()
    exif[ExifTags.Base.Make] = "A camera"
    exif[ExifTags.Base.Model] = "A longer text, which is kept behind the directory"
    if number is not None:
        exif[ExifTags.Base.Orientation] = number
    file = io.BytesIO()
    photograph = Image.fromarray(helper.photographs()[0][100:190, 200:331])
    photograph.save(file, "JPEG", exif=exif, quality=90, **options)
    whole = file.getvalue()
    return whole[:2] + before + whole[2:]


def segment(marker, content):
    return bytes([0xFF, marker]) + (len(content) + 2).to_bytes(2, "big") + content


def pillow(encoded):
    return np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(encoded))))


class OrientationTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters(*ALL, None, 0, 9)
    def test_decoded_as_pillow_does(self, number):
        encoded = jpeg(number)
        image = tf.function(decoding.decode)(tf.constant(encoded))
        self.assertAllEqual(image, pillow(encoded))
        self.assertEqual(image.shape[0] > image.shape[1], number in (5, 6, 7, 8))

    def test_both_orders_of_bytes(self):
        small = jpeg(6)
        tiff = small.index(b"Exif\0\0") + 6
        order = small[tiff : tiff + 2]
        self.assertIn(order, (b"II", b"MM"))
        # The other order: one entry is enough.
        name, word = (b"MM", "big") if order == b"II" else (b"II", "little")
        head = name + (42).to_bytes(2, word) + (8).to_bytes(4, word)
        entry = b"".join(
            value.to_bytes(size, word)
            for value, size in ((0x0112, 2), (3, 2), (1, 4), (6, 2), (0, 2))
        )
        directory = (1).to_bytes(2, word) + entry + bytes(4)
        other = jpeg(None, segment(0xE1, b"Exif\0\0" + head + directory))
        for encoded in (small, other):
            self.assertEqual(int(orientation.of_jpeg(encoded)), 6)

    def test_other_segments_may_come_first(self):
        before = segment(0xE0, b"JFIF\0" + bytes(9)) + segment(0xE1, b"http://ns\0 xmp")
        before += segment(0xFE, b"a comment") + b"\xff\xff"
        encoded = jpeg(8, before)
        self.assertEqual(int(orientation.of_jpeg(encoded)), 8)
        self.assertAllEqual(decoding.decode(encoded), pillow(encoded))

    def test_damaged_exif_is_no_fault(self):
        find = tf.function(orientation.of_jpeg)
        whole = jpeg(6)
        start = whole.index(b"Exif\0\0") + 6
        for end in (2, 3, 12, start, start + 1, start + 9, start + 20):
            self.assertEqual(int(find(tf.constant(whole[:end]))), 1)
        for place in (start + 4, start + 7, start + 8, start + 9):
            broken = bytearray(whole)
            broken[place] = 0xFE
            self.assertIn(int(find(tf.constant(bytes(broken)))), ALL)

    @parameterized.parameters(*ALL)
    def test_a_crop_by_itself_is_the_crop_of_the_upright_image(self, number):
        # Coarser colours are smoothed across the crop's border if all is decoded.
        encoded, seed = tf.constant(jpeg(number, subsampling="4:4:4")), [3, number]
        alone = inception.training_views(encoded, 1, 24, seed)
        image = decoding.decode(encoded)
        self.assertAllEqual(alone, inception.training_views(image, 1, 24, seed))

    @parameterized.parameters(False, True)
    def test_training_evaluation_and_serving_see_the_same(self, encoded):
        root = pathlib.Path(self.create_tempdir().full_path)
        files = {part: jpeg(number) for part, number in (("train", 6), ("test", 5))}
        for part, content in files.items():
            for name in ("a", "b"):
                path = root / part / name / "1.jpg"
                path.parent.mkdir(parents=True)
                path.write_bytes(content)
        source = sources.load("folder", data_dir=root, image_size=32, encoded=encoded)
        prepare = tf.function(sources.preparation(source.image_shape, encoded))
        for part, split in (("train", source.train), ("test", source.test)):
            upright = Image.fromarray(pillow(files[part]))
            file = io.BytesIO()
            upright.save(file, "PNG")
            expected = prepare(tf.constant(file.getvalue()))
            image, _ = next(iter(split.evaluation_examples()))
            self.assertAllEqual(image, expected)
            self.assertAllEqual(prepare(tf.constant(files[part])), expected)


if __name__ == "__main__":
    tf.test.main()
