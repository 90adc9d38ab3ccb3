"""What a run's checkpoints survive: damage, kills, full disks, wrong numbers."""

import errno
import gc
import json
import os
import pathlib
import shutil
import sys
from unittest import mock

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from la_tf.data import batches
from la_tf.errors import UserError
from la_tf.run import checkpoints, recorder, restore, store
from la_tf.run import folder as run_folder
from tests import runs


class StoreTest(tf.test.TestCase):
    def setUp(self):
        super().setUp()
        self.directory = pathlib.Path(self.create_tempdir().full_path) / "checkpoints"
        self.value = tf.Variable(0)
        self.checkpoint = tf.train.Checkpoint(value=self.value)
        self.store = store.Store(self.checkpoint, self.directory, keep=2)

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

    def test_what_came_later_is_saved_too(self):
        self.save(1)
        self.checkpoint.later = tf.Variable(5)
        self.save(2)
        self.checkpoint.later.assign(6)
        self.store.read(self.directory / "step-2")
        self.assertEqual(self.checkpoint.later.numpy(), 5)

    def test_saving_often_loses_no_memory(self):
        self.checkpoint.others = [tf.Variable(0) for _ in range(50)]
        self.save(1, 2, 3)
        gc.collect()
        before = sys.getallocatedblocks()
        self.save(*range(4, 14))
        gc.collect()
        # Two or three blocks of every variable and save, outside of a function.
        self.assertLess(sys.getallocatedblocks() - before, 10 * 50)

    def test_a_full_disk_is_told_in_its_own_words(self):
        message = (
            "Graph execution error:\n\nDetected at node SaveV2 defined at (most recent "
            'call last):\n  File "x.py", line 6, in <module>\n\n/runs/x; No space left '
            "on device\n\t [[{{node SaveV2}}]]\nHint: If you want ... [Op:__inference]"
        )
        error = tf.errors.ResourceExhaustedError(None, None, message)
        self.assertEqual(store.reason(error), "No space left on device")

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


class RunTestCase(tf.test.TestCase):
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


class RunTest(RunTestCase, parameterized.TestCase):
    """Lost files that a resumed run writes anew: `tests/long/checkpoints_test.py`."""

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
        self.assertLen(store.found(run_dir / "checkpoints"), runs.SMALL.keep)

    def test_an_older_checkpoint_is_not_taken_for_the_last_of_a_finished_run(self):
        folder = run_folder.RunFolder(self.copy())
        steps = {"last": 20, "best": folder.summary()["best_step"]}
        for checkpoint, step in steps.items():
            restored = restore.load(folder, checkpoint).checkpoint
            self.assertEqual(pathlib.Path(restored).name, f"step-{step}")
        (folder.checkpoints / "step-20.index").unlink()
        with self.assertRaisesRegex(UserError, "step-20 .* is lost.*/step-15 is the"):
            restore.load(folder)

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


def _checkpointer(folder, is_stopped=False):
    """The Checkpointer of two epochs of two steps, whose network is two numbers."""
    model = tf.Module()
    model.classifier, model.averaged = tf.Module(), None
    model.classifier.variance = tf.Variable([1.0, 2.0], name="moving_variance")
    model.health = mock.Mock(failed_step=lambda: -1)
    model.distribute_strategy = tf.distribute.get_strategy()
    model.metrics = []
    model.optimizer = mock.Mock(variables=[])
    plan = batches.Plan(seed=0, batch_size=1, epochs=2, steps_per_epoch=2)
    return checkpoints.Checkpointer(
        model,
        folder,
        plan,
        recorder.Recorder(folder, plan, None, ()),
        mock.Mock(is_set=is_stopped),
        keep=2,
        minutes=1,
    )


def _end_epoch(checkpointer, epoch, accuracy):
    checkpointer.global_step = 2 * (epoch + 1)
    row = {"epoch": epoch + 1, "step": checkpointer.global_step}
    history = checkpointer._recorder.history
    history.rows.append({**row, "test_accuracy": accuracy})
    history.priors.append([1.0])
    checkpointer.on_epoch_end(epoch)


class EpochsTest(tf.test.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = run_folder.RunFolder(self.create_tempdir().full_path)

    def saved(self):
        """The steps of the checkpoints, and of the best."""
        folders = self.folder.checkpoints, self.folder.best_checkpoints
        return [[number for number, _ in store.found(path)] for path in folders]

    def test_a_run_that_is_asked_to_stop_saves_first(self):
        with self.assertRaises(checkpoints.RunStopped) as stopped:
            _checkpointer(self.folder, is_stopped=True).on_train_batch_end(0)
        self.assertEqual(stopped.exception.step, 1)
        self.assertEqual(self.saved(), [[1], []])

    def test_a_kill_before_the_best_weights_are_saved(self):
        whole = _checkpointer(self.folder)
        _end_epoch(whole, 0, accuracy=0.5)
        whole._model.classifier.variance.assign([3.0, 4.0])
        _end_epoch(whole, 1, accuracy=0.6)
        self.assertEqual(self.saved(), [[2, 4], [4]])
        shutil.rmtree(self.folder.best_checkpoints)
        resumed = _checkpointer(self.folder)
        self.assertEqual(resumed.restore(), 4)
        self.assertEqual(self.saved(), [[2, 4], [4]])
        (_, best) = store.found(self.folder.best_checkpoints)[0]
        values = [
            tf.train.load_checkpoint(str(best)).get_tensor(name)
            for name, shape in tf.train.list_variables(str(best))
            if shape == [2]
        ]
        self.assertAllEqual(values, [[3.0, 4.0]])

    def test_averages_that_overflow_are_never_saved(self):
        checkpointer = _checkpointer(self.folder)
        _end_epoch(checkpointer, 0, accuracy=0.5)
        self.assertEqual(self.saved(), [[2], [2]])
        checkpointer._model.classifier.variance.assign([1.0, float("inf")])
        with self.assertRaisesRegex(UserError, "moving_variance:0 is no longer finite"):
            _end_epoch(checkpointer, 1, accuracy=0.6)
        self.assertEqual(self.saved(), [[2], [2]])


if __name__ == "__main__":
    tf.test.main()
