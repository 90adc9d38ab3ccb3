"""Every source gives what it says, and says what is wrong with what it was given."""

import os
import pathlib
import subprocess
import sys
from unittest import mock

import numpy as np
import requests
import tensorflow as tf
import tensorflow_datasets as tfds
from absl.testing import parameterized
from PIL import Image

from la_tf.data import sources
from la_tf.data.sources import shards, streams, subsets
from la_tf.errors import UserError
from tests import helper


def arrays(labels):
    """A split whose image i has the value i, so that it can be told."""
    labels = np.asarray(labels, np.int32)
    values = np.arange(len(labels), dtype=np.uint8)
    images = np.broadcast_to(values[:, None, None, None], [len(labels), 8, 8, 1])
    return sources.Arrays(images.copy(), labels)


def members(split):
    return set(split.images[:, 0, 0, 0].tolist())


def labels_of(records, threads=None):
    if threads:
        options = tf.data.Options()
        options.threading.private_threadpool_size = threads
        records = records.with_options(options)
    return [int(label) for _, label in records]


class LoadTest(parameterized.TestCase):
    def test_names_are_known_without_tensorflow(self):
        program = (
            "import sys; from la_tf.data import sources; print(len(sources.NAMES));"
            "assert 'tensorflow' not in sys.modules"
        )
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=helper.ROOT, capture_output=True
        )
        self.assertEqual((done.stdout.strip(), done.returncode), (b"10", 0))

    def test_unknown_name(self):
        with self.assertRaisesRegex(UserError, "--dataset=cifar is not one of digits"):
            sources.load("cifar")

    def test_small_images_are_not_to_be_had_encoded(self):
        with self.assertRaisesRegex(UserError, "--dataset=digits holds small images"):
            sources.load("digits", encoded=True)


class DigitsTest(parameterized.TestCase):
    def test_split_and_statistics(self):
        source = sources.load("digits")
        self.assertEqual(source.train.images.shape, (1437, 16, 16, 1))
        self.assertEqual(source.test.images.shape, (360, 16, 16, 1))
        self.assertEqual(source.image_shape, (16, 16, 1))
        self.assertEqual(source.class_names, tuple("0123456789"))
        self.assertEqual(source.train.images.dtype, np.uint8)
        self.assertEqual(source.train.labels.dtype, np.int32)
        self.assertEqual(source.train.images.max(), 255)
        pixels = source.train.images / 255
        self.assertAlmostEqual(source.mean[0], pixels.mean(), places=4)
        self.assertAlmostEqual(source.std[0], pixels.std(), places=4)
        shares = np.bincount(source.test.labels) / np.bincount(source.train.labels)
        np.testing.assert_allclose(shares, 360 / 1437, atol=0.01)

    def test_seed_does_not_change_the_split(self):
        first, second = sources.load("digits", seed=1), sources.load("digits", seed=2)
        np.testing.assert_array_equal(first.test.images, second.test.images)

    def test_enlarged_as_pillow_does(self):
        from sklearn import datasets

        from la_tf.data.sources import digits

        original = datasets.load_digits().images[:20]
        ours = digits.enlarged(original.astype(np.int64))
        for small, large in zip(original, ours):
            plane = Image.fromarray((small * (255 / 16)).astype(np.float32))
            pillow = np.asarray(plane.resize((16, 16), Image.Resampling.BILINEAR))
            np.testing.assert_allclose(large, pillow, atol=0.51)

    def test_image_size(self):
        source = sources.load("digits", image_size=32)
        self.assertEqual(source.image_shape, (32, 32, 1))
        self.assertEqual(source.test.images.shape, (360, 32, 32, 1))


class SubsetsTest(parameterized.TestCase):
    def test_holdout_is_stratified_and_disjoint(self):
        whole = arrays([0] * 40 + [1] * 20 + [2] * 20)
        rest, held = subsets.hold_out(whole, 0.25, seed=3)
        self.assertEqual(np.bincount(held.labels).tolist(), [10, 5, 5])
        self.assertEqual(np.bincount(rest.labels).tolist(), [30, 15, 15])
        self.assertEqual(members(rest) | members(held), set(range(80)))
        again = subsets.hold_out(whole, 20, seed=3)[1]
        np.testing.assert_array_equal(held.images, again.images)
        self.assertNotEqual(members(subsets.hold_out(whole, 20, 4)[1]), members(held))

    def test_proportional_counts(self):
        # Six of eleven: 2.73, 1.64, 0.55 and 1.09, rounded down 2, 1, 0 and 1. The two
        # left over go to the largest remainders, .73 and .64. The class of one image
        # keeps it for training.
        counts = subsets.proportional_counts(np.array([5, 3, 1, 2]), 6)
        self.assertEqual(counts.tolist(), [3, 2, 0, 1])

    def test_limit_is_balanced_where_classes_are_not(self):
        whole = arrays([0] * 50 + [1] * 3 + [2] * 20)
        self.assertEqual(
            np.bincount(subsets.limit(whole, 24, seed=0).labels).tolist(), [11, 3, 10]
        )

    def test_limit_depends_on_the_seed_alone_and_grows(self):
        whole = arrays(np.arange(200) % 4)
        small, large = (subsets.limit(whole, count, seed=5) for count in (20, 60))
        self.assertTrue(members(small) < members(large))
        self.assertNotEqual(members(small), members(subsets.limit(whole, 20, seed=6)))
        self.assertIs(subsets.limit(whole, 200, seed=5), whole)

    def test_choice_is_the_same_for_ever(self):
        chosen = subsets.limit(arrays(np.arange(40) % 4), 8, seed=1)
        self.assertEqual(sorted(members(chosen)), [1, 6, 8, 13, 26, 28, 35, 39])

    @parameterized.parameters(1.5, -0.1, 80, float("nan"))
    def test_impossible_holdout(self, amount):
        with self.assertRaisesRegex(UserError, "--holdout"):
            subsets.hold_out(arrays([0] * 40 + [1] * 40), amount, seed=0)

    def test_a_tenth_is_set_aside_in_the_classes_proportions(self):
        rest, aside = subsets.set_aside(arrays([0] * 40 + [1] * 20 + [2] * 20), seed=3)
        self.assertEqual(np.bincount(aside.labels).tolist(), [4, 2, 2])
        self.assertEqual(members(rest) | members(aside), set(range(80)))
        self.assertEqual(rest.size, 72)

    def test_too_few_images_to_set_some_aside(self):
        with self.assertRaisesRegex(UserError, "aside, for which 9 are too few"):
            subsets.set_aside(arrays([0] * 9), seed=0)

    def test_limit_below_one_a_class(self):
        with self.assertRaisesRegex(UserError, "--limit_train=3 is less than one"):
            subsets.limit(arrays(np.arange(40) % 4), 3, seed=0)


class NpzTest(parameterized.TestCase):
    def setUp(self):
        super().setUp()
        self.path = pathlib.Path(self.create_tempdir().full_path) / "mine.npz"
        images = helper.small_images(30)
        self.arrays = {
            "x_train": images[:20],
            "y_train": np.arange(20) % 5,
            "x_test": images[20:],
            "y_test": np.arange(10) % 5,
        }

    def load(self, data_dir=None, **options):
        np.savez(self.path, **self.arrays)
        return sources.load("npz", data_dir=data_dir or self.path, **options)

    def test_arrays_come_back(self):
        source = self.load()
        np.testing.assert_array_equal(source.train.images, self.arrays["x_train"])
        np.testing.assert_array_equal(source.test.labels, self.arrays["y_test"])
        self.assertEqual(source.test.labels.dtype, np.int32)
        self.assertEqual(source.class_names, tuple("01234"))
        channels = self.arrays["x_train"].reshape(-1, 3) / 255
        np.testing.assert_allclose(source.mean, channels.mean(0), atol=1e-4)
        np.testing.assert_allclose(source.std, channels.std(0), atol=1e-4)

    def test_grey_images_column_labels_names_and_folder(self):
        self.arrays["x_train"] = self.arrays["x_train"][..., 0]
        self.arrays["x_test"] = self.arrays["x_test"][..., 0]
        self.arrays["y_train"] = self.arrays["y_train"][:, None]
        self.arrays["class_names"] = np.array(["a", "b", "c", "d", "e"])
        source = self.load(self.path.parent)
        self.assertEqual(source.image_shape, (32, 32, 1))
        self.assertEqual(source.train.labels.shape, (20,))
        self.assertEqual(source.class_names, tuple("abcde"))

    def test_holdout_replaces_the_test_part(self):
        del self.arrays["x_test"], self.arrays["y_test"]
        with self.assertRaisesRegex(UserError, "has no test part.*--holdout"):
            self.load()
        source = self.load(holdout=5, limit_train=10, image_size=16)
        self.assertEqual(source.test.images.shape, (5, 16, 16, 3))
        self.assertEqual(np.bincount(source.train.labels).tolist(), [2] * 5)

    @parameterized.named_parameters(
        ("negative", "y_train", np.full(20, -1), "y_train"),
        (
            "too_large",
            "y_test",
            np.full(10, 5),
            r"y_test\[0\] is 5, out of range for 5",
        ),
        ("gap", "y_train", np.arange(20) % 5 + 1, "has label 0"),
        ("fraction", "y_train", np.arange(20) / 5, "must be whole numbers"),
        ("one_hot", "y_train", np.eye(20, dtype=int), "must be whole numbers"),
        ("fewer", "y_train", np.arange(19) % 5, "20 images and y_train 19 labels"),
        ("float", "x_train", np.zeros([20, 8, 8, 3]), "x_train is float64"),
        ("flat", "x_train", np.zeros([20, 64], np.uint8), r"shape \[20, 64\]"),
        ("channels", "x_test", np.zeros([10, 8, 8, 2], np.uint8), "1 or 3 channels"),
        ("size", "x_test", np.zeros([10, 8, 8, 3], np.uint8), "of one shape"),
        ("empty", "x_test", np.zeros([0, 8, 8, 3], np.uint8), "at least one image"),
        ("objects", "y_test", np.array([{}] * 10), "not an npz file of plain arrays"),
    )
    def test_bad_arrays(self, key, value, sentence):
        self.arrays[key] = value
        with self.assertRaisesRegex(UserError, sentence) as raised:
            self.load()
        self.assertIn(str(self.path), str(raised.exception))

    def test_missing_array(self):
        del self.arrays["y_train"]
        with self.assertRaisesRegex(
            UserError, "has no array y_train; it holds x_train"
        ):
            self.load()

    def test_bad_files(self):
        with self.assertRaisesRegex(UserError, "needs --data_dir"):
            sources.load("npz")
        with self.assertRaisesRegex(UserError, "does not exist"):
            sources.load("npz", data_dir=self.path)
        with self.assertRaisesRegex(UserError, "holds 0 .npz files"):
            sources.load("npz", data_dir=self.path.parent)
        self.path.write_bytes(b"PK not an archive")
        with self.assertRaisesRegex(UserError, "not an npz file"):
            sources.load("npz", data_dir=self.path)


class FolderTest(parameterized.TestCase):
    """Two classes, images of four formats and sizes in train/, two in test/."""

    def setUp(self):
        super().setUp()
        self.root = pathlib.Path(self.create_tempdir().full_path)
        photograph = Image.fromarray(helper.photographs()[0])
        for part, names in (
            ("train", ("a.jpg", "b.PNG", "c.bmp", "d.gif")),
            ("test", ("e.jpeg",)),
        ):
            for kind in ("cat", "dog"):
                for index, name in enumerate(names):
                    path = self.root / part / kind / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    left = 40 * index + (200 if kind == "dog" else 0)
                    box = (left, 30, left + 60 + 10 * index, 100)
                    photograph.crop(box).save(path)
        (self.root / "train" / "cat" / ".DS_Store").write_bytes(b"x")

    def load(self, **options):
        options = {"data_dir": self.root, "image_size": 24, **options}
        return sources.load("folder", **options)

    def test_all_formats(self):
        source = self.load()
        self.assertEqual(source.train.images.shape, (8, 24, 24, 3))
        self.assertEqual(source.train.labels.tolist(), [0, 0, 0, 0, 1, 1, 1, 1])
        self.assertEqual(source.test.labels.tolist(), [0, 1])
        self.assertEqual(source.class_names, ("cat", "dog"))
        self.assertEqual((source.mean[0], source.skipped), (0.485, 0))
        # Pillow's area-aware bilinear resize of the central square is the reference.
        image = Image.open(self.root / "train" / "cat" / "b.PNG")
        width, height = image.size
        side = min(width, height)
        left, top = (width - side) // 2, (height - side) // 2
        square = image.crop((left, top, left + side, top + side))
        pillow = square.resize((24, 24), Image.Resampling.BILINEAR)
        difference = np.asarray(pillow, int) - source.train.images[1]
        self.assertLessEqual(np.abs(difference).max(), 1)

    def test_one_size_needs_no_image_size(self):
        for path in self.root.glob("*/*/*.*"):
            if not path.name.startswith("."):
                Image.open(path).convert("RGB").resize((20, 12)).save(path)
        source = self.load(image_size=None)
        self.assertEqual(source.image_shape, (12, 20, 3))

    def test_mixed_sizes_need_image_size(self):
        with self.assertRaisesRegex(UserError, "b.PNG differs in size.*--image_size"):
            self.load(image_size=None)

    def test_one_tree_needs_holdout(self):
        with self.assertRaisesRegex(UserError, "has no test part.*--holdout"):
            self.load(data_dir=self.root / "train")
        source = self.load(data_dir=self.root / "train", holdout=0.25)
        self.assertEqual(source.test.labels.tolist(), [0, 1])
        self.assertEqual(source.train.size, 6)

    @parameterized.parameters(False, True)
    def test_bad_images(self, encoded):
        whole = (self.root / "train" / "dog" / "a.jpg").read_bytes()
        bad = {
            "cut.jpg": whole[: len(whole) // 2],
            "text.png": b"not an image at all",
            "empty.gif": b"",
            "scan.tiff": b"the suffix of no image",
            "sound.webp": b"RIFF....WAVE and so on",
        }
        for name, content in bad.items():
            path = self.root / "train" / "dog" / name
            path.write_bytes(content)
            with self.assertRaisesRegex(UserError, f"{path}.*--skip_bad_images"):
                self.load(encoded=encoded)
            path.rename(self.root / name)
        for name in bad:
            (self.root / name).rename(self.root / "train" / "dog" / name)
        source = self.load(encoded=encoded, skip_bad_images=True)
        self.assertEqual((source.train.size, source.skipped), (8, len(bad)))

    def test_bytes_after_the_end_are_no_fault(self):
        path = self.root / "train" / "dog" / "a.jpg"
        path.write_bytes(path.read_bytes() + b"\0" * 100)
        self.assertEqual(self.load(encoded=True).train.size, 8)

    def test_class_without_a_readable_image(self):
        for path in (self.root / "test" / "cat").iterdir():
            path.write_bytes(b"nothing")
        with self.assertRaisesRegex(UserError, "No image of the class 'cat' in .*test"):
            self.load(skip_bad_images=True)

    def test_a_table(self):
        table = self.root / "mine.csv"
        table.write_text("file,label\ntrain/cat/a.jpg,x\ntrain/dog/b.PNG,y\n")
        with self.assertRaisesRegex(UserError, "mine.csv has no test part.*--holdout"):
            self.load(data_dir=table)
        table.write_text(
            "file,label,split\ntrain/cat/a.jpg,x,train\ntrain/dog/b.PNG,y,train\n"
            "test/dog/e.jpeg,y,val\n"
        )
        source, folders = self.load(data_dir=table), self.load()
        self.assertEqual(source.class_names, ("x", "y"))
        self.assertEqual(source.test.labels.tolist(), [1])
        np.testing.assert_array_equal(source.train.images, folders.train.images[[0, 5]])
        np.testing.assert_array_equal(source.test.images, folders.test.images[[1]])

    def test_webp(self):
        photograph = Image.fromarray(helper.photographs()[0]).crop((0, 0, 90, 70))
        clear = photograph.copy()
        clear.putalpha(100)
        folder = self.root / "train" / "cat"
        photograph.save(folder / "e.webp", quality=90)
        clear.save(folder / "f.webp", lossless=True)
        stored = Image.open(folder / "e.webp").convert("RGB")
        stored.save(folder / "g.png")
        photograph.save(folder / "h.png")
        images = self.load().train.images
        np.testing.assert_array_equal(images[4], images[6])
        # What is seen through is not blended with anything.
        np.testing.assert_array_equal(images[5], images[7])
        # Left on disk they are decoded in the graph, which not every TensorFlow can.
        with self.assertRaisesRegex(UserError, "cannot decode this WebP; convert it"):
            self.load(encoded=True)
        (folder / "f.webp").unlink()
        if hasattr(tf.io, "decode_webp"):
            source = self.load(encoded=True)
            shown = [image for image, _ in source.train.evaluation_examples().take(6)]
            np.testing.assert_array_equal(shown[4], shown[5])
        else:
            with self.assertRaisesRegex(UserError, "e.webp.*cannot decode this WebP"):
                self.load(encoded=True)

    def test_stream(self):
        source = self.load(encoded=True, image_size=None)
        self.assertEqual(source.image_shape, (224, 224, 3))
        self.assertLen(source.train, 8)
        files = sorted((self.root / "train").glob("*/*.*"), key=str)
        files = [path for path in files if not path.name.startswith(".")]
        stored = [record.numpy() for record, _ in source.train.records()]
        self.assertEqual(stored, [path.read_bytes() for path in files])


class StreamsTest(parameterized.TestCase):
    """Both kinds of streams, with small groups and blocks."""

    LENGTHS = (5, 9, 4, 11, 6, 1, 8)

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.create_tempdir().full_path)
        for name, value in (("_GROUP", 3), ("_BLOCK", 7)):
            self.enter_context(mock.patch.object(shards, name, value))

    def files(self):
        """44 files; the label of each is its number."""
        paths = []
        for number in range(sum(self.LENGTHS)):
            paths.append(str(self.folder / f"{number:02}"))
            pathlib.Path(paths[-1]).write_text(str(number))
        return streams.Files(paths, range(len(paths)))

    def shards(self):
        """The same in seven tfrecord files; their records are of different length."""
        paths, number = [], 0
        for shard, length in enumerate(self.LENGTHS):
            paths.append(str(self.folder / f"shard-{shard}"))
            with tf.io.TFRecordWriter(paths[-1]) as writer:
                for _ in range(length):
                    content = str(number).encode() + b" " * (number % 5)
                    image = tf.train.BytesList(value=[content])
                    label = tf.train.Int64List(value=[number])
                    features = {
                        "image": tf.train.Feature(bytes_list=image),
                        "label": tf.train.Feature(int64_list=label),
                    }
                    example = tf.train.Example(
                        features=tf.train.Features(feature=features)
                    )
                    writer.write(example.SerializeToString())
                    number += 1
        return shards.Shards(paths, self.LENGTHS)

    def stream(self, kind):
        if kind == "records":
            return self.shards().take(np.arange(44))
        return getattr(self, kind)()

    @parameterized.parameters("files", "shards", "records")
    def test_order(self, kind):
        stream = self.stream(kind)
        everything = list(range(44))
        self.assertEqual(labels_of(stream.records()), everything)
        self.assertEqual(labels_of(stream.records(first=40)), everything[40:])
        order = labels_of(stream.records(seed=0, epoch=0), threads=1)
        self.assertEqual(sorted(order), everything)
        tf.random.set_seed(5)
        self.assertEqual(labels_of(stream.records(0, 0), threads=2), order)
        self.assertNotEqual(labels_of(stream.records(0, 1)), order)
        self.assertNotEqual(labels_of(stream.records(1, 0)), order)
        for first in (0, 1, 13, 30, 43, 44):
            self.assertEqual(labels_of(stream.records(0, 0, first)), order[first:])

    @parameterized.parameters("files", "shards", "records")
    def test_inside_a_dataset_of_epochs(self, kind):
        stream = self.stream(kind)
        start = tf.constant(10, tf.int64)
        epochs = tf.data.Dataset.range(2, 4).flat_map(
            lambda epoch: stream.records(7, epoch, tf.where(epoch == 2, start, 0))
        )
        expected = labels_of(stream.records(7, 2, 10)) + labels_of(stream.records(7, 3))
        self.assertEqual(labels_of(epochs), expected)

    @parameterized.parameters("files", "shards")
    def test_subset(self, kind):
        stream = self.stream(kind)
        np.testing.assert_array_equal(stream.labels, np.arange(44))
        chosen = [0, 4, 5, 20, 43]
        subset = stream.take(np.array(chosen))
        contents = [record.numpy().strip() for record, _ in subset.records()]
        self.assertEqual(contents, [str(number).encode() for number in chosen])
        self.assertEqual(sorted(labels_of(subset.records(1, 1))), chosen)

    def test_seed_needs_an_epoch(self):
        with self.assertRaisesRegex(ValueError, "needs an epoch"):
            self.files().records(seed=1)

    def test_neighbours_are_independent(self):
        # The mean distance of neighbours in a random order of n is (n + 1) / 3, with a
        # standard deviation of about n * sqrt(2 / 45 / n) (some 21 here).
        order = streams.permutation(10_000, seed=0, epoch=0).numpy()
        distance = np.abs(np.diff(order)).mean()
        self.assertAlmostEqual(distance, 10_001 / 3, delta=5 * 21)


class PreparedTest(parameterized.TestCase):
    """Flowers in tensorflow-datasets' layout, three images in each part."""

    def setUp(self):
        super().setUp()
        self.root = pathlib.Path(self.create_tempdir().full_path) / "data"

    def write_flowers(self):
        helper.write_flowers(self.root, self.create_tempdir().full_path)

    def test_flowers_both_ways(self):
        self.write_flowers()
        encoded = sources.load("oxford_flowers102", data_dir=self.root, encoded=True)
        self.assertEqual((encoded.train.size, encoded.test.size), (6, 3))
        self.assertEqual(encoded.image_shape, (224, 224, 3))
        self.assertLen(encoded.class_names, 102)
        record, label = next(iter(encoded.test.records()))
        self.assertTrue(tf.io.is_jpeg(record))
        self.assertEqual(label.dtype, tf.int32)
        decoded = sources.load("oxford_flowers102", data_dir=self.root, image_size=16)
        self.assertEqual(decoded.train.images.shape, (6, 16, 16, 3))
        np.testing.assert_array_equal(decoded.train.labels, encoded.train.labels)
        held = sources.load(
            "oxford_flowers102", data_dir=self.root, encoded=True, holdout=3
        )
        self.assertEqual(sorted(labels_of(held.test.records())), [0, 1, 2])
        with self.assertRaisesRegex(UserError, "--image_size"):
            sources.load("oxford_flowers102", data_dir=self.root)

    def test_a_part_of_the_files_is_not_taken_for_the_data(self):
        self.write_flowers()
        file = next(self.root.glob("oxford_flowers102/*/*-test.tfrecord*"))
        # An empty file is whole, as far as its own checksums tell.
        os.truncate(file, 0)
        for options in ({"encoded": True}, {"image_size": 16}):
            with self.assertRaisesRegex(UserError, f"{file.parent}.*damaged.*remove"):
                sources.load("oxford_flowers102", data_dir=self.root, **options)
        file.unlink()
        with self.assertRaisesRegex(UserError, f"only a part.*{file.name}.*remove"):
            sources.load("oxford_flowers102", data_dir=self.root, encoded=True)

    @parameterized.parameters("cifar10", "svhn", "imagenet2012")
    def test_not_prepared_and_host_unreachable(self, name):
        unreachable = requests.exceptions.ConnectionError("no network")
        head = mock.patch.object(requests, "head", side_effect=unreachable)
        with head, self.assertRaises(UserError) as raised:
            sources.load(name, data_dir=self.root)
        sentence = str(raised.exception)
        for way_out in ("python -m la_tf.prepare", "--data_dir", "--dataset=digits"):
            self.assertIn(way_out, sentence)
        self.assertNotIn("\n", sentence)
        self.assertFalse(self.root.exists())

    def test_interrupted_download(self):
        broken = requests.exceptions.ChunkedEncodingError("Connection broken")
        self.enter_context(mock.patch.object(requests, "head"))
        self.enter_context(
            mock.patch.object(
                tfds.download.DownloadManager,
                "download_and_extract",
                side_effect=broken,
            )
        )
        with self.assertRaisesRegex(UserError, "not finished .Connection broken"):
            sources.load("cifar10", data_dir=self.root)
        self.assertEmpty(list(self.root.glob("cifar10/*")))


if __name__ == "__main__":
    tf.test.main()
