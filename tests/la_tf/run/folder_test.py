"""The small files of a run: damage is told in a sentence that names the file."""

import json
import os
import pathlib
from unittest import mock

import numpy as np
from absl.testing import absltest, parameterized

from la_tf import files
from la_tf.config import TrainConfig
from la_tf.errors import UserError
from la_tf.run.folder import RunFolder

ROWS = [
    {"epoch": epoch, "step": 5 * epoch, "loss": 2.5 / epoch, "test_accuracy": 0.25}
    for epoch in (1, 2, 3)
]
PRIORS = np.random.default_rng(0).dirichlet(np.ones(256), 3).astype(np.float32)
OPERATIONS = tuple(f"operation {index}" for index in range(16))
RECORD = {
    "config": TrainConfig().values(),
    "data": {
        "class_names": ["a", "b"],
        "image_shape": [8, 8, 1],
        "mean": [0.5],
        "std": [0.25],
    },
}


def written(path):
    """A RunFolder with all of its small files."""
    folder = RunFolder(path)
    folder.write_record(RECORD)
    folder.write_history(ROWS, PRIORS, OPERATIONS)
    folder.write_summary({"last_accuracy": 0.25})
    return folder


def all_of(folder):
    """All that the small files tell."""
    return (
        folder.record(),
        folder.config().values(),
        folder.data(),
        folder.rows(),
        folder.policies().tolist(),
        folder.summary(),
    )


class WritingTest(absltest.TestCase):
    def test_what_was_written_is_read(self):
        folder = written(self.create_tempdir().full_path)
        record, config, data, rows, priors, summary = all_of(folder)
        self.assertEqual(record, RECORD)
        self.assertEqual((config, data), (RECORD["config"], RECORD["data"]))
        self.assertEqual(rows, ROWS)
        self.assertEqual(priors, PRIORS.tolist())
        self.assertEqual(summary, {"last_accuracy": 0.25})

    def test_bytes_are_on_the_disk_before_a_name_points_to_them(self):
        path = pathlib.Path(self.create_tempdir().full_path) / "file"
        calls = []
        real = {name: getattr(os, name) for name in ("fsync", "replace")}

        def noted(name):
            def call(*arguments):
                calls.append(name)
                return real[name](*arguments)

            return call

        with (
            mock.patch.object(os, "fsync", noted("fsync")),
            mock.patch.object(os, "replace", noted("replace")),
        ):
            files.write(path, b"whole")
        # The file's bytes, its new name, and the folder that holds the name.
        self.assertEqual(calls, ["fsync", "replace", "fsync"])
        self.assertEqual(path.read_bytes(), b"whole")

    def test_a_full_disk_leaves_the_old_file_and_nothing_else(self):
        path = pathlib.Path(self.create_tempdir().full_path) / "file"
        files.write(path, b"old")
        full = OSError(28, "No space left on device")
        with (
            mock.patch.object(os, "fsync", side_effect=full),
            self.assertRaises(OSError),
        ):
            files.write(path, b"new")
        self.assertEqual(os.listdir(path.parent), ["file"])
        self.assertEqual(path.read_bytes(), b"old")

    def test_a_run_without_a_finished_epoch(self):
        folder = RunFolder(self.create_tempdir().full_path)
        self.assertEqual((folder.rows(), len(folder.policies())), ([], 0))
        folder.write_history([], [], OPERATIONS)
        self.assertEqual((folder.rows(), len(folder.policies())), ([], 0))

    def test_a_kill_between_the_two_files_of_an_epoch_is_no_damage(self):
        path = pathlib.Path(self.create_tempdir().full_path)
        folder = written(path)
        earlier = folder.metrics_path.read_bytes()
        folder.write_history(
            [*ROWS, {**ROWS[0], "epoch": 4}], [*PRIORS, PRIORS[0]], OPERATIONS
        )
        folder.metrics_path.write_bytes(earlier)
        self.assertEqual(folder.rows(), ROWS)


class DamageTest(parameterized.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = written(self.create_tempdir().full_path)
        self.whole = all_of(self.folder)

    def damaged(self, name, data):
        """Whether damage is told; else all that is read must be what it was."""
        path = self.folder.path / name
        before = path.read_bytes()
        path.write_bytes(data)
        try:
            told = all_of(self.folder)
        except UserError as error:
            self.assertIn(str(path), str(error))
            return True
        finally:
            path.write_bytes(before)
        self.assertEqual(told, self.whole)
        return False

    @parameterized.parameters("config.json", "metrics.csv", "policy.npz")
    def test_cut_emptied_and_zeroed(self, name):
        data = (self.folder.path / name).read_bytes()
        self.assertTrue(self.damaged(name, b""))
        self.assertTrue(self.damaged(name, bytes(len(data))))
        self.assertTrue(self.damaged(name, data[: len(data) // 2]))
        self.assertTrue(self.damaged(name, os.urandom(len(data))))

    @parameterized.parameters("config.json", "metrics.csv", "policy.npz")
    def test_every_flipped_bit_is_told_or_changes_nothing(self, name):
        data = (self.folder.path / name).read_bytes()
        generator = np.random.default_rng(0)
        told = 0
        for place in generator.choice(8 * len(data), 200, replace=False):
            flipped = bytearray(data)
            flipped[place // 8] ^= 1 << place % 8
            told += self.damaged(name, bytes(flipped))
        # White space of JSON and some fields of the zip format mean nothing.
        self.assertGreater(told, 100)

    def test_lost_files_are_told(self):
        self.folder.metrics_path.unlink()
        with self.assertRaisesRegex(UserError, "metrics.csv is damaged.*--resume"):
            self.folder.rows()
        self.folder.write_history(ROWS, PRIORS, OPERATIONS)
        self.folder.policy_path.unlink()
        with self.assertRaisesRegex(UserError, "policy.npz is damaged.*--resume"):
            self.folder.policies()

    def test_files_that_may_not_be_read(self):
        for path in (self.folder.config_path, self.folder.policy_path):
            path.unlink()
            path.mkdir()
        with self.assertRaisesRegex(UserError, "config.json cannot be read"):
            self.folder.config()
        with self.assertRaisesRegex(UserError, "policy.npz is damaged"):
            self.folder.policies()


class EditedTest(parameterized.TestCase):
    """config.json as a person may have left it, its checksum removed."""

    @parameterized.parameters(
        {"data": None},
        {"data": []},
        {"data": {"class_names": [1, 2]}},
        {"data": {"class_names": "ab"}},
        {"data": {"class_names": {"a": 1}}},
        {"data": {"class_names": []}},
        {"data": {"image_shape": [8, 8]}},
        {"data": {"image_shape": [8, 8, "1"]}},
        {"data": {"image_shape": [8, 8, -1]}},
        {"data": {"mean": "0.5"}},
        {"data": {"mean": ["0.5"]}},
        {"data": {"mean": [0.5, 0.5]}},
        {"data": {"std": [None]}},
        {"config": None},
        {"config": ["digits"]},
        {"config": {"sigma": "much"}},
        {"config": {"sigma": None}},
        {"config": {"epochs": "4"}},
        {"config": {"epochs": 4.5}},
        {"config": {"flip": 1}},
        {"config": {"model": 7}},
        {"config": {"no_such_value": 1}},
    )
    def test_wrong_types_and_unknown_names(self, **edit):
        folder = RunFolder(self.create_tempdir().full_path)
        record = json.loads(json.dumps(RECORD))
        for part, values in edit.items():
            if isinstance(values, dict):
                record[part].update(values)
            else:
                record[part] = values
        folder.config_path.write_text(json.dumps(record))
        with self.assertRaisesRegex(UserError, str(folder.config_path)):
            folder.config()
            folder.data()

    def test_an_edit_is_told_from_what_the_run_wrote(self):
        folder = written(self.create_tempdir().full_path)
        text = folder.config_path.read_text()
        folder.config_path.write_text(text.replace('"seed": 0', '"seed": 1'))
        with self.assertRaisesRegex(UserError, "damaged or was edited"):
            folder.config()


if __name__ == "__main__":
    absltest.main()
