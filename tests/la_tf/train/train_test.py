"""Whole runs on the embedded digits: results, stops, and what can go wrong.

That a run goes on to the bit `run/checkpoints_test.py` shows; more of them, stopped,
killed or with views made on the device, are in `tests/long/runs_test.py`.
"""

import errno
import os
import pathlib
from unittest import mock

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from tensorflow import keras

from la_tf import keras_generation, methods, policy
from la_tf.config import TrainConfig
from la_tf.errors import UserError
from la_tf.run import build, provenance, restore
from la_tf.run import folder as run_folder
from la_tf.step.health import NonFiniteError
from la_tf.train import __main__ as train_command
from la_tf.train import loop
from tests import runs

# Without policies a run begins sooner, and does the same in all else.
PLAIN = {"method": "baseline", **methods.get("baseline").constants}


class _Huge(keras.optimizers.schedules.LearningRateSchedule):
    def __call__(self, step):
        return tf.constant(1e38)


class TrainingTest(parameterized.TestCase, tf.test.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.whole = runs.whole()

    def folder(self, name="run"):
        return pathlib.Path(self.create_tempdir().full_path) / name

    def test_the_run_folder_holds_the_run(self):
        folder = run_folder.RunFolder(self.whole)
        summary = folder.summary()
        self.assertEqual(folder.config().values()["limit_train"], 80)
        record = folder.record()
        self.assertLen(record["data"]["class_names"], 10)
        self.assertEqual(record["versions"]["tensorflow"], tf.__version__)
        self.assertEqual(record["machine"], provenance.machine())
        self.assertIn(record["config"]["augment_on"], ("host", "device"))
        self.assertStartsWith(record["origins"]["augment_on"], "auto: ")
        self.assertLen(folder.rows(), runs.SMALL.epochs)
        self.assertEqual(folder.policies().shape, (runs.SMALL.epochs, 256))
        self.assertAllClose(folder.policies().sum(1), np.ones(runs.SMALL.epochs))
        self.assertEqual([row["step"] for row in folder.rows()], [5, 10, 15, 20])
        self.assertEqual(summary["last_accuracy"], folder.rows()[-1]["test_accuracy"])
        best = max(row["test_accuracy"] for row in folder.rows())
        self.assertEqual(summary["best_accuracy"], best)
        steps = [int(row["step"]) for row in folder.rows()]
        saved = [path.stem for path in folder.best_checkpoints.glob("*.index")]
        self.assertEqual(saved, [f"step-{steps[summary['best_epoch'] - 1]}"])

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

    def test_a_resumed_run_keeps_its_values(self):
        chosen = {"run_dir": str(self.whole), "resume": True, "sigma": 0.5}
        with self.assertRaisesRegex(UserError, "--sigma=0.5 differs from the 1.0"):
            run_folder.resumed(chosen)

    def test_another_run_s_prior_is_taken_over(self):
        # That a fixed prior stays as it is, prior_test shows.
        config = runs.configuration("unused", prior="fixed", prior_from=str(self.whole))
        source = build.load_source(config)
        classifier = build.classifier_for(config, source)
        maker = build.view_maker(config, source)
        model = build.make_model(config, classifier, source, maker, 0.1)
        expected = run_folder.RunFolder(self.whole).policies()[-1]
        self.assertAllClose(model.prior.probabilities, expected, rtol=1e-6)

    def test_a_loss_that_is_not_finite_stops_the_run(self):
        run_dir = self.folder()
        # Larger than anybody may choose.
        rate = mock.patch.object(build, "learning_rate", lambda config, plan: _Huge())
        told = self.assertRaisesRegex(NonFiniteError, "at step .*learning rate.*>")
        with rate, told:
            runs.start(runs.configuration(run_dir, **PLAIN))
        # Not one good epoch was there to be saved.
        checkpoint = tf.train.latest_checkpoint(str(run_dir / "checkpoints"))
        self.assertIsNone(checkpoint)


class BadInputTest(parameterized.TestCase, tf.test.TestCase):
    def test_a_folder_with_a_run_is_left_alone(self):
        run_dir = pathlib.Path(self.create_tempdir().full_path)
        (run_dir / "config.json").write_text("{}")
        with self.assertRaisesRegex(UserError, "--resume.*another --run_dir"):
            runs.start(runs.configuration(run_dir))
        self.assertEqual(os.listdir(run_dir), ["config.json"])

    def test_a_folder_that_cannot_be_made(self):
        file = self.create_tempfile().full_path
        with self.assertRaisesRegex(UserError, "--run_dir=.* cannot be written"):
            runs.start(runs.configuration(pathlib.Path(file) / "run"))

    def test_a_full_disk_at_the_first_file(self):
        full = OSError(errno.ENOSPC, "No space left on device")
        run_dir = pathlib.Path(self.create_tempdir().full_path) / "run"
        writing = mock.patch.object(pathlib.Path, "write_bytes", side_effect=full)
        with writing, self.assertRaisesRegex(UserError, "No space left on device"):
            runs.start(runs.configuration(run_dir))

    def test_nothing_to_resume(self):
        run_dir = self.create_tempdir().full_path
        with self.assertRaisesRegex(UserError, "holds no run"):
            runs.resume(run_dir)

    def test_a_run_of_another_generation_of_keras(self):
        folder = run_folder.RunFolder(self.create_tempdir().full_path)
        config = runs.configuration(folder.path)
        versions = {"keras": "1.2.2"}
        folder.write_record({"config": config.values(), "versions": versions})
        with self.assertRaisesRegex(UserError, "trained on Keras 1.2.2.*export"):
            runs.resume(config.run_dir)
        with self.assertRaisesRegex(UserError, "trained on Keras 1.2.2.*export"):
            restore.load(folder)

    def test_a_batch_larger_than_the_set_writes_nothing(self):
        run_dir = pathlib.Path(self.create_tempdir().full_path) / "run"
        with self.assertRaisesRegex(UserError, "--batch_size=100 is larger"):
            runs.start(runs.configuration(run_dir, batch_size=100))
        self.assertFalse(run_dir.exists())

    def test_a_prior_that_is_none(self):
        file = self.create_tempfile(content="no arrays").full_path
        with self.assertRaisesRegex(UserError, "--prior_from"):
            runs.start(runs.configuration("unused", prior_from=file))


class BadPriorTest(parameterized.TestCase):
    """A --prior_from that is damaged, or something else."""

    def setUp(self):
        super().setUp()
        self.path = pathlib.Path(self.create_tempdir().full_path) / "policy.npz"
        self.arrays = {
            "prior": np.full([2, 256], 1 / 256, np.float32),
            "operations": policy.operations_of("latentaugment"),
        }

    def save(self, **changes):
        np.savez(self.path, **{**self.arrays, **changes})

    def assert_refused(self, words="", path=None):
        path = path or self.path
        with self.assertRaisesRegex(UserError, f"--prior_from={path} .*{words}"):
            build.read_prior(path, methods.rule(TrainConfig()))

    def test_what_is_right(self):
        self.save()
        expected = self.arrays["prior"][-1]
        for path in (self.path, self.path.parent):
            found = build.read_prior(path, methods.rule(TrainConfig()))
            np.testing.assert_array_equal(found, expected)

    @parameterized.parameters(
        (lambda prior: -prior, "none negative"),
        (lambda prior: 2 * prior, "sum to 1"),
        (lambda prior: np.nan * prior, "not finite"),
        (lambda prior: np.inf * prior, "not finite"),
        (lambda prior: prior[:, 1:], r"shape \(255,\)"),
        (lambda prior: prior[0], r"shape \(256,\)"),
        (lambda prior: prior[None], r"shape \(1, 2, 256\)"),
        (lambda prior: prior[:0], "out of bounds"),
        (lambda prior: prior.astype(int), "int64"),
        (lambda prior: prior.astype(str), "<U"),
        (lambda prior: prior.astype(object), "allow_pickle"),
    )
    def test_probabilities_that_are_none(self, change, words):
        self.save(prior=change(self.arrays["prior"]))
        self.assert_refused(words)

    @parameterized.parameters("prior", "operations")
    def test_an_array_that_is_missing(self, name):
        del self.arrays[name]
        self.save()
        self.assert_refused(f"{name} is not a file in the archive")

    def test_other_operations(self):
        self.save(operations=self.arrays["operations"][::-1])
        self.assert_refused("other operations")

    def test_damaged_files(self):
        self.save()
        data = self.path.read_bytes()
        middle = len(data) // 3
        flipped = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
        for content in (b"", b"text", data[:middle], bytes(len(data)), flipped):
            self.path.write_bytes(content)
            self.assert_refused()

    def test_what_is_no_file(self):
        self.assert_refused("no file")
        self.assert_refused("no file", self.path.parent)
        os.mkfifo(self.path)
        self.assert_refused("no file")


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

    def test_mixed_precision_without_a_gpu_is_told(self):
        self.addCleanup(keras.mixed_precision.set_global_policy, "float32")
        config = runs.configuration("unused", mixed_precision=True, deterministic=False)
        with (
            mock.patch.object(tf.config, "list_physical_devices", return_value=[]),
            mock.patch.object(loop.sys.stderr, "write") as told,
        ):
            loop._set_up(config)
        # Keras may say something of its own.
        words = "".join(call.args[0] for call in told.call_args_list)
        self.assertIn("is for GPUs", words)

    def test_another_type_of_machine_is_told_in_one_line(self):
        config = runs.configuration("unused", resume=True)
        folder = mock.Mock(path="unused")
        here = provenance.machine()
        lines = []
        for record in ({"machine": here}, {}, {"machine": {**here, "cpu": "Z80"}}):
            folder.record.return_value = record
            lines.append(train_command.opening(config, folder))
        self.assertEqual(lines[0], lines[1])
        [note] = set(lines[2]) - set(lines[0])
        self.assertRegex(note, r"\(cpu Z80 is now .*\): results .*last bits")

    def test_a_rate_that_follows_the_batch_is_told_at_once(self):
        folder = mock.Mock(path="unused")
        lines = train_command.opening(TrainConfig(batch_size=16), folder)
        expected = "learning rate 0.025 (recipe: 0.1 at batch_size=64, in proportion"
        self.assertStartsWith(lines[1], expected)
        lines = train_command.opening(TrainConfig(), folder)
        self.assertNotIn("learning rate", "".join(lines))

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
