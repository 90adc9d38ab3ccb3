"""Whole runs on the embedded digits: results, resuming, and what can go wrong."""

import dataclasses
import errno
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
from unittest import mock

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from tensorflow import keras
from tensorflow.python.framework import config as tensorflow_config

from la_tf import keras_generation, methods
from la_tf.config import TrainConfig
from la_tf.errors import UserError
from la_tf.run import build, checkpoints, provenance, restore
from la_tf.run import folder as run_folder
from la_tf.step.health import NonFiniteError
from la_tf.train import __main__ as train_command
from la_tf.train import loop
from tests import helper

# Columns of metrics.csv that tell the time, which no two runs share.
CLOCK = ("seconds", "evaluation_seconds", "saving_seconds", "images_per_second")

SMALL = TrainConfig(
    dataset="digits",
    model="wrn_10_1",
    limit_train=80,
    batch_size=16,
    num_views=3,
    epochs=4,
    learning_rate=0.1,
    final="cutmix",
    strategy="none",
    deterministic=True,
    verbosity=-1,
)
# 80 images in batches of 16: five steps an epoch, twenty in all.

# Without policies a run begins sooner, and does the same in all else.
PLAIN = {"method": "baseline", **methods.get("baseline").constants}


def configuration(run_dir, **changes):
    return dataclasses.replace(SMALL, run_dir=str(run_dir), **changes)


def start(config):
    """The summary of a new run."""
    return loop.train_and_evaluate(config, run_folder.fresh(config))


def resume(config):
    """The summary of a run that goes on."""
    folder, config = run_folder.resumed({"run_dir": config.run_dir, "resume": True})
    return loop.train_and_evaluate(config, folder)


def rows(run_dir):
    """The rows of metrics.csv as text, without the clock."""
    lines = (pathlib.Path(run_dir) / "metrics.csv").read_text().splitlines()
    names = lines[0].split(",")
    return [
        {name: cell for name, cell in zip(names, line.split(",")) if name not in CLOCK}
        for line in lines[1:]
    ]


def variables(run_dir):
    """Every variable of the last checkpoint by name, without clock and counter."""
    path = tf.train.latest_checkpoint(str(pathlib.Path(run_dir) / "checkpoints"))
    reader = tf.train.load_checkpoint(path)
    return {
        name: reader.get_tensor(name)
        for name in reader.get_variable_to_dtype_map()
        if not name.startswith(("_CHECKPOINT", "epoch_seconds", "history"))
    }


def tearDownModule():  # noqa: N802
    # The runs made all of TensorFlow deterministic; other tests may share the process.
    tensorflow_config.disable_op_determinism()


class StopAfter(keras.callbacks.Callback):
    """Asks the run to stop after a number of steps, as Ctrl-C would."""

    def __init__(self, steps):
        super().__init__()
        self._left = steps

    def on_train_batch_begin(self, batch, logs=None):
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGINT)


class TrainingTest(parameterized.TestCase, tf.test.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.whole = pathlib.Path(tempfile.mkdtemp()) / "whole"
        cls.addClassCleanup(shutil.rmtree, cls.whole.parent)
        cls.summary = start(configuration(cls.whole))

    def folder(self, name="run"):
        return pathlib.Path(self.create_tempdir().full_path) / name

    def stop_after(self, step, config):
        asking = mock.patch("la_tf.train.loop._display", return_value=[StopAfter(step)])
        with asking, self.assertRaises(checkpoints.RunStopped) as stopped:
            start(config)
        self.assertEqual(stopped.exception.step, step)

    def assert_same_run(self, run_dir):
        self.assertEqual(rows(run_dir), rows(self.whole))
        expected, found = variables(self.whole), variables(run_dir)
        self.assertCountEqual(found, expected)
        for name, value in expected.items():
            np.testing.assert_array_equal(found[name], value, name)
        np.testing.assert_array_equal(
            run_folder.RunFolder(run_dir).policies(),
            run_folder.RunFolder(self.whole).policies(),
        )

    def test_the_run_folder_holds_the_run(self):
        folder = run_folder.RunFolder(self.whole)
        self.assertEqual(folder.config().values()["limit_train"], 80)
        record = folder.record()
        self.assertLen(record["data"]["class_names"], 10)
        self.assertEqual(record["versions"]["tensorflow"], tf.__version__)
        self.assertEqual(record["machine"], provenance.machine())
        self.assertLen(folder.rows(), SMALL.epochs)
        self.assertEqual(folder.policies().shape, (SMALL.epochs, 256))
        self.assertAllClose(folder.policies().sum(1), np.ones(SMALL.epochs))
        self.assertEqual([row["step"] for row in folder.rows()], [5, 10, 15, 20])
        self.assertEqual(
            self.summary["last_accuracy"], folder.rows()[-1]["test_accuracy"]
        )
        best = max(row["test_accuracy"] for row in folder.rows())
        self.assertEqual(self.summary["best_accuracy"], best)
        steps = [int(row["step"]) for row in folder.rows()]
        saved = [path.stem for path in folder.best_checkpoints.glob("*.index")]
        self.assertEqual(saved, [f"step-{steps[self.summary['best_epoch'] - 1]}"])

    def test_the_learning_rate_warms_up_and_falls(self):
        rates = [
            row["learning_rate"] for row in run_folder.RunFolder(self.whole).rows()
        ]
        # A fifth of 20 steps is warm-up: step 4 is the first of the 16 that fall, and
        # an epoch's row shows the rate of its last step: 4, 9, 14 and 19.
        expected = [
            0.05 * (1 + np.cos(np.pi * (step - 4) / 16)) for step in (4, 9, 14, 19)
        ]
        self.assertAllClose(rates, expected, rtol=1e-5)

    def test_the_losses_are_those_they_were(self):
        # Recorded; means over five steps each. Other processors, numbers of cores and
        # kernels round otherwise, which grows from step to step: they were up to 1e-4
        # apart in the first epoch, 1e-3 in the second and 6e-3 in the third. Keras 3
        # makes the weights of a block in another order, and so draws others.
        first, second = {2: (2.36808, 2.34513), 3: (2.35913, 2.35515)}[
            keras_generation.NUMBER
        ]
        losses = [row["loss"] for row in run_folder.RunFolder(self.whole).rows()]
        self.assertAllClose(losses[0], first, rtol=1e-3)
        self.assertAllClose(losses[1], second, rtol=5e-3)

    def test_a_run_goes_on_as_if_nothing_had_happened(self):
        run_dir = self.folder()
        config = configuration(run_dir)
        # It is stopped in the middle of an epoch.
        with helper.without_pictures():
            self.stop_after(7, config)
        self.assertLen(run_folder.RunFolder(run_dir).rows(), 1)
        # It goes on in a process that is killed in the middle of another.
        flags = [f"--run_dir={run_dir}", "--resume", "--verbosity=-1"]
        killed = subprocess.run(
            # Where steps are slow, checkpoints lie between the epochs' as well.
            [*helper.killed_training(12), *flags, "--checkpoint_minutes=0.01"],
            env=helper.environment(),
            timeout=helper.PATIENCE,
        )
        self.assertEqual(killed.returncode, -signal.SIGKILL)
        self.assertLen(run_folder.RunFolder(run_dir).rows(), 2)
        # Its last checkpoint is damaged, and the one before taken.
        latest = tf.train.latest_checkpoint(str(run_dir / "checkpoints"))
        self.assertIn(latest.rsplit("-")[-1], ("10", "11", "12"))
        os.truncate(f"{latest}.data-00000-of-00001", 100)
        with helper.without_pictures():
            resume(config)
        self.assert_same_run(run_dir)

    def test_a_run_is_stopped_in_the_last_step_of_an_epoch(self):
        run_dir = self.folder()
        self.stop_after(5, configuration(run_dir, **PLAIN))
        self.assertLen(run_folder.RunFolder(run_dir).rows(), 1)
        latest = tf.train.latest_checkpoint(str(run_dir / "checkpoints"))
        self.assertEndsWith(latest, "step-5")

    def test_a_resumed_run_keeps_its_values(self):
        chosen = {"run_dir": str(self.whole), "resume": True, "sigma": 0.5}
        with self.assertRaisesRegex(UserError, "--sigma=0.5 differs from the 1.0"):
            run_folder.resumed(chosen)

    def test_views_made_on_the_device_give_the_same_run(self):
        run_dir = self.folder()
        with helper.without_pictures():
            start(configuration(run_dir, augment_on="device"))
        self.assert_same_run(run_dir)

    def test_another_run_s_prior_is_taken_over(self):
        # That a fixed prior stays as it is, prior_test shows.
        config = configuration("unused", prior="fixed", prior_from=str(self.whole))
        source = build.load_source(config)
        maker = build.view_maker(config, source)
        model = build.make_model(config, source, maker, 0.1)
        expected = run_folder.RunFolder(self.whole).policies()[-1]
        self.assertAllClose(model.prior.probabilities, expected, rtol=1e-6)

    def test_a_loss_that_is_not_finite_stops_the_run(self):
        run_dir = self.folder()
        config = configuration(run_dir)
        # Larger than anybody may choose.
        object.__setattr__(config, "learning_rate", 1e38)
        told = self.assertRaisesRegex(NonFiniteError, "at step .*learning rate.*>")
        with helper.without_pictures(), told:
            start(config)
        # Not one good epoch was there to be saved.
        checkpoint = tf.train.latest_checkpoint(str(run_dir / "checkpoints"))
        self.assertIsNone(checkpoint)


class BadInputTest(parameterized.TestCase, tf.test.TestCase):
    def test_a_folder_with_a_run_is_left_alone(self):
        run_dir = pathlib.Path(self.create_tempdir().full_path)
        (run_dir / "config.json").write_text("{}")
        with self.assertRaisesRegex(UserError, "--resume.*another --run_dir"):
            start(configuration(run_dir))
        self.assertEqual(os.listdir(run_dir), ["config.json"])

    def test_a_folder_that_cannot_be_made(self):
        file = self.create_tempfile().full_path
        with self.assertRaisesRegex(UserError, "--run_dir=.* cannot be written"):
            start(configuration(pathlib.Path(file) / "run"))

    def test_a_full_disk_at_the_first_file(self):
        full = OSError(errno.ENOSPC, "No space left on device")
        run_dir = pathlib.Path(self.create_tempdir().full_path) / "run"
        writing = mock.patch.object(pathlib.Path, "write_bytes", side_effect=full)
        with writing, self.assertRaisesRegex(UserError, "No space left on device"):
            start(configuration(run_dir))

    def test_a_full_disk_at_a_checkpoint(self):
        full = tf.errors.ResourceExhaustedError(
            None, None, "x; No space left on device"
        )
        run_dir = pathlib.Path(self.create_tempdir().full_path) / "run"
        saving = mock.patch.object(tf.train.Checkpoint, "write", side_effect=full)
        with saving, self.assertRaisesRegex(UserError, "No space left.*--resume"):
            start(configuration(run_dir, **PLAIN))

    def test_nothing_to_resume(self):
        run_dir = self.create_tempdir().full_path
        with self.assertRaisesRegex(UserError, "holds no run"):
            resume(configuration(run_dir))

    def test_a_run_of_another_generation_of_keras(self):
        folder = run_folder.RunFolder(self.create_tempdir().full_path)
        config = configuration(folder.path)
        versions = {"keras": "1.2.2"}
        folder.write_record({"config": config.values(), "versions": versions})
        with self.assertRaisesRegex(UserError, "trained on Keras 1.2.2.*export"):
            resume(config)
        with self.assertRaisesRegex(UserError, "trained on Keras 1.2.2.*export"):
            restore.load(folder)

    def test_a_batch_larger_than_the_set_writes_nothing(self):
        run_dir = pathlib.Path(self.create_tempdir().full_path) / "run"
        with self.assertRaisesRegex(UserError, "--batch_size=100 is larger"):
            start(configuration(run_dir, batch_size=100))
        self.assertFalse(run_dir.exists())

    def test_a_prior_that_is_none(self):
        file = self.create_tempfile(content="no arrays").full_path
        with self.assertRaisesRegex(UserError, "--prior_from"):
            start(configuration("unused", prior_from=file))


class WordsTest(tf.test.TestCase):
    def test_closing_lines_tell_what_a_user_wants_to_know(self):
        summary = {
            "last_accuracy": 0.9832,
            "best_accuracy": 0.9861,
            "best_epoch": 27,
            "best_chosen_on": "test images",
            "seconds": 61.2,
            "epochs": 30,
            "parameters": 174778,
        }
        text = "\n".join(
            train_command.closing(summary, run_folder.RunFolder("runs/one"))
        )
        for words in ("98.32%", "98.61%", "61 s", "runs/one", "try next"):
            self.assertIn(words, text)
        summary["warning"] = "The run has diverged."
        lines = train_command.closing(summary, run_folder.RunFolder("runs/one"))
        self.assertEqual(lines[1], "The run has diverged.")

    def test_another_type_of_machine_is_told_in_one_line(self):
        config = configuration("unused", resume=True)
        folder = mock.Mock(path="unused")
        here = provenance.machine()
        lines = []
        for record in ({"machine": here}, {}, {"machine": {**here, "cpu": "Z80"}}):
            folder.record.return_value = record
            lines.append(train_command.opening(config, folder))
        self.assertEqual(lines[0], lines[1])
        [note] = set(lines[2]) - set(lines[0])
        self.assertRegex(note, r"\(cpu Z80 is now .*\): results .*last bits")

    def test_the_type_of_a_cpu(self):
        text = "processor : 0\ncpu family\t: 6\nmodel\t\t: 207\nmodel name\t: Xeon: X\n"
        file = pathlib.Path(self.create_tempfile(content=text).full_path)
        self.assertEqual(provenance.cpu_type(file), "Xeon: X (family 6, model 207)")
        self.assertNotEmpty(provenance.cpu_type(file / "nowhere"))

    def test_the_command_repeats_the_run(self):
        config = TrainConfig(sigma=0.5, run_dir="x", seed=3)
        expected = "python -m la_tf.train --sigma=0.5 --seed=3"
        self.assertEqual(provenance.command(config), expected)


if __name__ == "__main__":
    tf.test.main()
