"""Runs that are killed, or make their views on the device, end as any other."""

import os
import pathlib
import signal
import subprocess
from unittest import mock

import tensorflow as tf

from la_tf.data import batches
from la_tf.errors import UserError
from la_tf.run import folder as run_folder
from tests import helper, runs
from tests.la_tf.train import train_test


class RunsTest(tf.test.TestCase):
    def setUp(self):
        super().setUp()
        self.run_dir = pathlib.Path(self.create_tempdir().full_path) / "run"

    def assert_like_any_other(self):
        self.assertEmpty(runs.differences(self.run_dir, runs.whole()))

    def test_a_run_that_was_stopped_killed_and_damaged(self):
        # It is stopped in the middle of an epoch.
        runs.stop(runs.configuration(self.run_dir), 7)
        # It goes on in a process that is killed in the middle of another.
        flags = [f"--run_dir={self.run_dir}", "--resume", "--verbosity=-1"]
        killed = subprocess.run(
            # Where steps are slow, checkpoints lie between the epochs' as well.
            [*helper.killed_training(12), *flags, "--checkpoint_minutes=0.01"],
            env=helper.environment(),
            timeout=helper.PATIENCE,
        )
        self.assertEqual(killed.returncode, -signal.SIGKILL)
        self.assertLen(run_folder.RunFolder(self.run_dir).rows(), 2)
        # Its last checkpoint is damaged, and the one before taken.
        latest = tf.train.latest_checkpoint(str(self.run_dir / "checkpoints"))
        self.assertIn(latest.rsplit("-")[-1], ("10", "11", "12"))
        os.truncate(f"{latest}.data-00000-of-00001", 100)
        runs.resume(self.run_dir)
        self.assert_like_any_other()

    def test_a_full_disk_at_a_checkpoint(self):
        full = tf.errors.ResourceExhaustedError(
            None, None, "x; No space left on device"
        )
        saving = mock.patch.object(tf.train.Checkpoint, "write", side_effect=full)
        with saving, self.assertRaisesRegex(UserError, "No space left.*--resume"):
            runs.start(runs.configuration(self.run_dir, **train_test.PLAIN))

    def test_a_run_is_stopped_in_the_last_step_of_an_epoch(self):
        runs.stop(runs.configuration(self.run_dir, **train_test.PLAIN), 5)
        self.assertLen(run_folder.RunFolder(self.run_dir).rows(), 1)
        latest = tf.train.latest_checkpoint(str(self.run_dir / "checkpoints"))
        self.assertEndsWith(latest, "step-5")

    def test_views_made_on_the_device(self):
        runs.start(runs.configuration(self.run_dir, augment_on="device"))
        self.assert_like_any_other()

    def test_an_epoch_that_lost_a_batch_is_not_recorded(self):
        training = batches.training

        def short(*arguments, **options):
            return training(*arguments, **options).take(9)

        with (
            mock.patch.object(batches, "training", short),
            self.assertRaisesRegex(UserError, "ended after 4 of its 5 batches"),
        ):
            runs.start(runs.configuration(self.run_dir, evaluate_every=0))
        self.assertLen(runs.rows(self.run_dir), 1)
        runs.resume(self.run_dir)
        self.assertLen(runs.rows(self.run_dir), runs.SMALL.epochs)


if __name__ == "__main__":
    tf.test.main()
