"""What a run's checkpoints survive: damage, kills, full disks, wrong numbers."""

import errno
import json
import os
import pathlib
import shutil
from unittest import mock

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from la_tf.data import batches
from la_tf.errors import UserError
from la_tf.run import checkpoints, recorder, restore, store
from la_tf.run import folder as run_folder
from tests import runs


def tearDownModule():  # noqa: N802
    runs.disable_determinism()


class StoreTest(tf.test.TestCase):
    def setUp(self):
        super().setUp()
        self.directory = pathlib.Path(self.create_tempdir().full_path) / "checkpoints"
        self.value = tf.Variable(0)
        self.store = store.Store(
            tf.train.Checkpoint(value=self.value), self.directory, keep=2
        )

    def save(self, *numbers):
        for number in numbers:
            self.value.assign(number)
            self.store.save(number)

    def numbers(self):
        return [number for number, _ in store.found(self.directory)]

    def test_the_newest_are_kept_in_the_order_of_their_numbers(self):
        self.save(8, 9, 10, 11)
        self.assertEqual(self.numbers(), [10, 11])
        names = {path.name.split(".")[0] for path in self.directory.iterdir()}
        self.assertEqual(names, {"step-10", "step-11", "checkpoint"})
        # TensorFlow's own functions find them too.
        latest = tf.train.latest_checkpoint(str(self.directory))
        self.assertEqual(latest, str(self.directory / "step-11"))

    def test_what_was_saved_is_read(self):
        self.save(1, 2)
        self.store.read(self.directory / "step-1")
        self.assertEqual(self.value.numpy(), 1)

    def test_a_kill_before_the_index_leaves_no_checkpoint_and_no_rubbish(self):
        self.save(1)
        replace = os.replace

        def killed(source, target):
            if str(target).endswith("step-2.index"):
                raise KeyboardInterrupt
            replace(source, target)

        with (
            mock.patch.object(os, "replace", killed),
            self.assertRaises(KeyboardInterrupt),
        ):
            self.save(2)
        self.assertEqual(self.numbers(), [1])
        self.save(3)
        self.assertEmpty(list(self.directory.glob("step-2*")))

    def test_a_full_disk_changes_nothing(self):
        self.save(1)
        before = sorted(self.directory.iterdir())
        full = OSError(errno.ENOSPC, "No space left on device")
        with (
            mock.patch.object(os, "replace", side_effect=full),
            self.assertRaisesRegex(UserError, "No space left.*--resume"),
        ):
            self.save(2)
        self.assertEqual(sorted(self.directory.iterdir()), before)

    def test_every_damage_is_noticed_when_it_is_read(self):
        self.save(1)
        for name in ("step-1.index", "step-1.data-00000-of-00001"):
            path = self.directory / name
            data = path.read_bytes()
            middle = len(data) // 2
            flipped = bytes([data[middle] ^ 1])
            for damage in (
                b"",
                bytes(len(data)),
                data[:middle],
                data[:middle] + flipped + data[middle + 1 :],
            ):
                path.write_bytes(damage)
                with self.assertRaises(store.UNREADABLE):
                    self.store.read(self.directory / "step-1")
            path.write_bytes(data)
        self.store.read(self.directory / "step-1")


class RunTest(parameterized.TestCase, tf.test.TestCase):
    """One finished run of four epochs of five steps, copied and damaged."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.whole = runs.whole()

    def copy(self, last_step=20):
        """The run as it was when this step had just been saved."""
        run_dir = pathlib.Path(self.create_tempdir().full_path) / "run"
        shutil.copytree(self.whole, run_dir)
        if last_step < 20:
            (run_dir / "summary.json").unlink()
            for number, path in store.found(run_dir / "checkpoints"):
                if number > last_step:
                    store._remove(path)
        return run_dir

    def resume(self, run_dir):
        return runs.resume(run_dir)

    def assert_like_the_whole(self, run_dir):
        self.assertEmpty(runs.differences(run_dir, self.whole))

    def test_lost_files_are_written_anew_from_the_last_whole_checkpoint(self):
        run_dir = self.copy(last_step=15)
        path = run_dir / "checkpoints" / "step-15.data-00000-of-00001"
        path.write_bytes(path.read_bytes()[:-9])
        (run_dir / "metrics.csv").unlink()
        (run_dir / "policy.npz").write_bytes(b"garbage")
        (run_dir / "checkpoints" / "checkpoint").write_bytes(b"\xff\0garbage")
        shutil.rmtree(run_dir / "checkpoints" / "best")
        with mock.patch("sys.stderr.write") as told:
            self.resume(run_dir)
        words = "".join(call.args[0] for call in told.call_args_list)
        self.assertRegex(words, "step-15 is damaged; going on from step-10")
        self.assert_like_the_whole(run_dir)

    def test_a_finished_run_is_never_trained_again(self):
        run_dir = self.copy()
        (run_dir / "checkpoints" / "checkpoint").unlink()
        (run_dir / "metrics.csv").write_text("")
        summary = self.resume(run_dir)
        self.assertEqual(summary, run_folder.RunFolder(self.whole).summary())
        # Not even the clock has changed.
        self.assertEqual(
            (run_dir / "metrics.csv").read_bytes(),
            (self.whole / "metrics.csv").read_bytes(),
        )
        with open(run_dir / "checkpoints" / "step-20.index", "r+b") as file:
            file.truncate(40)
        before = (run_dir / "metrics.csv").read_bytes()
        with self.assertRaisesRegex(UserError, "is finished.*is not trained again"):
            self.resume(run_dir)
        self.assertEqual((run_dir / "metrics.csv").read_bytes(), before)
        self.assertLen(store.found(run_dir / "checkpoints"), 4)

    def test_an_older_checkpoint_is_not_taken_for_the_last_of_a_finished_run(self):
        folder = run_folder.RunFolder(self.copy())
        steps = {"last": 20, "best": folder.summary()["best_step"]}
        for checkpoint, step in steps.items():
            restored = restore.load(folder, checkpoint).checkpoint
            self.assertEqual(pathlib.Path(restored).name, f"step-{step}")
        (folder.checkpoints / "step-20.index").unlink()
        with self.assertRaisesRegex(UserError, "step-20 .* is lost.*/step-15 is the"):
            restore.load(folder)

    def test_the_best_weights_are_those_that_the_summary_names(self):
        # A kill between the last epoch's checkpoint and that of its best weights.
        best = 5 * run_folder.RunFolder(self.whole).summary()["best_epoch"]
        run_dir = self.copy(last_step=best)
        for number, path in store.found(run_dir / "checkpoints" / "best"):
            self.assertEqual(number, best)
            store._remove(path)
        self.resume(run_dir)
        names = [n for n, _ in store.found(run_dir / "checkpoints" / "best")]
        self.assertEqual(names, [best])
        found, expected = (
            restore.load(run_folder.RunFolder(path), "best").classifier.get_weights()
            for path in (run_dir, self.whole)
        )
        self.assertAllEqual(found[0], expected[0])

    def test_weights_that_are_not_finite_are_refused(self):
        network = restore.load(run_folder.RunFolder(self.whole))
        network.classifier.variables[-1].assign_add([float("inf")] * 10)
        path = pathlib.Path(self.create_tempdir().full_path) / "step-1"
        checkpoints._classifier_checkpoint(network.classifier, False).write(str(path))
        with self.assertRaisesRegex(UserError, "not finite.*earlier one"):
            checkpoints.restore_classifier(network.classifier, path)


class HistoryTest(tf.test.TestCase):
    def test_it_is_kept_whole_in_as_many_bytes_as_it_has(self):
        history = recorder.History()
        history.rows = [{"epoch": n, "test_loss": float("nan")} for n in range(1000)]
        history.priors = [np.full(256, 1 / 256, np.float32)] * 1000
        kept, again = history.serialize(), recorder.History()
        again.deserialize(kept)
        self.assertEqual(json.dumps(again.rows), json.dumps(history.rows))
        self.assertAllEqual(again.priors, history.priors)
        size = len(json.dumps(history.rows)) + 4 * 256 * 1000
        self.assertLess(len(kept), 1.01 * size)


class NotFiniteTest(tf.test.TestCase):
    def test_averages_that_overflow_are_never_saved(self):
        folder = run_folder.RunFolder(self.create_tempdir().full_path)
        model = tf.Module()
        model.classifier, model.averaged = tf.Module(), None
        model.classifier.variance = tf.Variable([1.0, 2.0], name="moving_variance")
        model.health = mock.Mock(failed_step=lambda: -1)
        model.distribute_strategy = tf.distribute.get_strategy()
        model.metrics = []
        model.optimizer = mock.Mock(variables=[])
        plan = batches.Plan(seed=0, batch_size=1, epochs=2, steps_per_epoch=1)
        history = recorder.Recorder(folder, plan, None, ())
        history.history.rows = [{"epoch": 1, "step": 1, "test_accuracy": 0.5}]
        checkpointer = checkpoints.Checkpointer(
            model, folder, plan, history, mock.Mock(is_set=False), keep=2, minutes=1
        )
        checkpointer.global_step = 1
        checkpointer.on_epoch_end(0)
        saved = store.found(folder.checkpoints), store.found(folder.best_checkpoints)
        self.assertEqual([number for ((number, _),) in saved], [1, 1])
        model.classifier.variance.assign([1.0, float("inf")])
        checkpointer.global_step = 2
        with self.assertRaisesRegex(UserError, "moving_variance:0 is no longer finite"):
            checkpointer.on_epoch_end(1)
        self.assertEqual(
            (store.found(folder.checkpoints), store.found(folder.best_checkpoints)),
            saved,
        )


if __name__ == "__main__":
    tf.test.main()
