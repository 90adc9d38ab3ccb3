"""Data that change, or cannot be read, under a run."""

import os
import pathlib
import shutil
import types
from unittest import mock

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from PIL import Image

from la_tf.data import batches, integrity, sources
from la_tf.errors import UserError
from la_tf.run import data_check, recorder
from la_tf.run import folder as run_folder


def write_images(root):
    """Three class folders of four small noisy PNGs each, to train and to test."""
    generator = np.random.default_rng(0)
    for part in ("train", "test"):
        for name in ("ant", "bee", "cow"):
            folder = root / part / name
            folder.mkdir(parents=True)
            for number in range(4):
                pixels = generator.integers(0, 256, [20, 20, 3], np.uint8)
                Image.fromarray(pixels).save(folder / f"{number}.png")


def load(root, encoded=True, **options):
    return sources.load(
        "folder", data_dir=str(root), image_size=8, encoded=encoded, **options
    )


def break_middle(path):
    """Flip a bit of a PNG's pixels: its first and last bytes stay as they were."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


class ChangedTest(parameterized.TestCase, tf.test.TestCase):
    def setUp(self):
        super().setUp()
        self.root = pathlib.Path(self.create_tempdir().full_path) / "images"
        write_images(self.root)

    def record(self, source):
        data = {
            "class_names": list(source.class_names),
            "train_images": source.train.size,
            "test_images": source.test.size,
        }
        return {**data, **data_check.fingerprint(source)}

    def rename_class(self):
        for part in ("train", "test"):
            (self.root / part / "ant").rename(self.root / part / "zebra")

    def add(self):
        image = self.root / "train" / "bee" / "0.png"
        shutil.copy(image, image.with_name("new.png"))

    def remove(self):
        (self.root / "test" / "cow" / "3.png").unlink()

    def exchange(self):
        Image.new("RGB", [20, 20]).save(self.root / "train" / "cow" / "1.png")

    @parameterized.product(
        change=(
            ("rename_class", "that are gone: ant; that are new: zebra"),
            ("add", "12 train images have become 13"),
            ("remove", "12 test images have become 11"),
            ("exchange", "as many train images as before, but others"),
        ),
        encoded=(False, True),
    )
    def test_a_change_is_told(self, change, encoded):
        name, words = change
        record = self.record(load(self.root, encoded))
        getattr(self, name)()
        with self.assertRaisesRegex(UserError, f"{words}.*--run_dir"):
            data_check.check(record, load(self.root, encoded), "run")

    @parameterized.parameters(False, True)
    def test_the_same_images_elsewhere_are_the_same(self, encoded):
        record = self.record(load(self.root, encoded))
        moved = self.root.rename(self.root.with_name("moved"))
        data_check.check(record, load(moved, encoded), "run")


class UnreadableTest(tf.test.TestCase):
    def setUp(self):
        super().setUp()
        self.root = pathlib.Path(self.create_tempdir().full_path)
        write_images(self.root)
        self.bad = self.root / "test" / "bee" / "2.png"

    def read(self, source):
        with integrity.told(source):
            examples = batches.evaluation(source.test, 4)
            return sum(len(labels) for _, labels in examples)

    def test_damage_in_the_middle_of_a_file_is_named(self):
        break_middle(self.bad)
        with self.assertRaisesRegex(UserError, f"{self.bad} can no longer be read"):
            self.read(load(self.root))

    def test_and_left_out_when_asked(self):
        break_middle(self.bad)
        source = load(self.root, skip_bad_images=True)
        self.assertEqual((self.read(source), source.skipped), (11, 1))

    def test_a_file_that_vanishes_is_named(self):
        source = load(self.root)
        self.bad.unlink()
        with self.assertRaisesRegex(UserError, f"{self.bad}.*No such file"):
            self.read(source)

    def test_a_pipe_is_no_image(self):
        self.bad.unlink()
        os.mkfifo(self.bad)
        for encoded in (False, True):
            with self.assertRaisesRegex(UserError, f"{self.bad}.*not a regular file"):
                load(self.root, encoded)
            self.assertEqual(load(self.root, encoded, skip_bad_images=True).skipped, 1)


class SkippedTest(tf.test.TestCase):
    def test_an_epoch_without_a_good_step_ends_the_run(self):
        folder = run_folder.RunFolder(self.create_tempdir().full_path)
        plan = batches.Plan(seed=0, batch_size=1, epochs=3, steps_per_epoch=5)
        history = recorder.Recorder(folder, plan, lambda step: 0.1, ())
        prior = types.SimpleNamespace(probabilities=tf.fill([256], 1 / 256))
        history.set_model(mock.Mock(prior=prior))
        logs = dict.fromkeys(recorder.COLUMNS.values(), 0.0)
        # The count is of the whole run: four of five, then five of five.
        history.on_epoch_begin(0)
        history.on_epoch_end(0, {**logs, "skipped_steps": 4})
        history.on_epoch_begin(1)
        with self.assertRaisesRegex(UserError, "every step of epoch 2 was skipped"):
            history.on_epoch_end(1, {**logs, "skipped_steps": 9})
        self.assertLen(folder.rows(), 1)


if __name__ == "__main__":
    tf.test.main()
