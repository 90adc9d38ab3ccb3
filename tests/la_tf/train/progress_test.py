"""The bar that a person sees while a network trains, and the lines above it."""

import contextlib
import io
import math
from unittest import mock

import numpy as np
import tensorflow as tf
from absl.testing import absltest
from tensorflow import keras

from la_tf import console, keras_generation
from la_tf.data import batches
from la_tf.train import pace, progress

ROW = {
    "epoch": 7,
    "loss": 1.25,
    "train_accuracy": 0.5,
    "test_accuracy": 0.9876,
    "images_per_second": 12345.6,
    "seconds": 3.21,
}


PLAN = batches.Plan(seed=0, batch_size=4, epochs=3, steps_per_epoch=6)


class Clock:
    """Stands until a test moves it."""

    now = 1000.0

    def __call__(self):
        return self.now


class Run:
    """A run on paper: a Pace, a display of lines, and a clock that both read.

    Twelve test images in batches of four are evaluated after the second epoch and the
    third.
    """

    def __init__(self, first_step=0):
        self.clock = Clock()
        self.pace = pace.Pace(PLAN, 2, 12, [2, 3], first_step, self.clock)
        self.lines = progress.ProgressLines(self.pace, self.clock)
        self.said = []

    def wait(self, seconds):
        """Let so many whole seconds pass, with a tick in each."""
        with mock.patch.object(console, "say", self.said.append):
            for _ in range(seconds):
                self.clock.now += 1
                self.lines.tick()

    def train(self, epoch, steps, seconds):
        """Train so many steps of an epoch, which take so long each."""
        self.pace.on_epoch_begin(epoch)
        for step in range(steps):
            self.wait(seconds)
            with mock.patch.object(keras_generation, "local_mean", return_value=0.5):
                self.pace.on_train_batch_end(step)

    def evaluate(self, seconds):
        self.pace.on_test_begin()
        for batch in range(3):
            self.pace.on_test_batch_begin(batch)
            self.wait(seconds)
        self.pace.on_test_end()


class PaceTest(absltest.TestCase):
    def test_the_first_step_which_compiles_is_no_measure(self):
        run = Run()
        run.train(0, 1, seconds=70)
        self.assertTrue(math.isnan(run.pace.images_per_second))
        self.assertTrue(math.isnan(run.pace.seconds_left))
        run.train(0, 3, seconds=2)
        self.assertEqual(run.pace.images_per_second, 2.0)

    def test_the_time_left_counts_evaluations_and_saving(self):
        run = Run()
        run.train(0, 6, seconds=3)
        # Twelve steps, and two evaluations of three batches: a view takes a sixth of a
        # step's two views forward and backward.
        self.assertAlmostEqual(run.pace.seconds_left, 12 * 3 + 2 * 3 * 3 / 6)
        run.pace.on_epoch_end(0)
        run.wait(5)
        run.train(1, 6, seconds=3)
        self.assertAlmostEqual(run.pace.seconds_left, 6 * 3 + 2 * 1.5 + 2 * 5)
        run.evaluate(seconds=4)
        run.pace.on_epoch_end(1)
        self.assertAlmostEqual(run.pace.seconds_left, 6 * 3 + 12 + 2 * 5)
        run.wait(5)
        run.train(2, 6, seconds=3)
        run.pace.on_test_begin()
        run.wait(2)
        self.assertAlmostEqual(run.pace.seconds_left, 10 + 5)

    def test_a_resumed_run_begins_where_it_was(self):
        run = Run(first_step=9)
        run.train(1, 2, seconds=1)
        self.assertEqual((run.pace.step, run.pace.done, run.pace.total), (11, 5, 6))

    def test_the_loss_is_fetched_seldom(self):
        run = Run()
        run.pace.on_epoch_begin(0)
        with mock.patch.object(
            keras_generation, "local_mean", return_value=0.25
        ) as fetch:
            for step in range(6):
                run.wait(1)
                run.pace.on_train_batch_end(step)
        fetch.assert_called_once()
        self.assertEqual(run.pace.loss, 0.25)


class LinesTest(absltest.TestCase):
    def test_a_log_is_never_silent_for_longer_than_half_a_minute(self):
        run = Run()
        run.train(0, 6, seconds=20)
        run.pace.on_epoch_end(0)
        run.wait(40)
        run.train(1, 6, seconds=1)
        run.evaluate(seconds=15)
        # 120 s of training, 40 of saving, 6 of training and 45 of evaluation.
        self.assertEqual(
            run.said,
            [
                "epoch 1/3  step 1 of 6  loss 0.5000",
                "epoch 1/3  step 2 of 6  loss 0.5000  0.2 images/s  5.7 min left",
                "epoch 1/3  step 4 of 6  loss 0.5000  0.2 images/s  5.0 min left",
                "epoch 1/3  step 5 of 6  loss 0.5000  0.2 images/s  4.7 min left",
                "epoch 1/3  saving  30 s so far  4.3 min left",
                "epoch 2/3  evaluating 0 of 3 batches  14 s so far  2.4 min left",
                "epoch 2/3  evaluating 2 of 3 batches  44 s so far  2.4 min left",
            ],
        )

    def test_a_line_of_somebody_else_s_will_do(self):
        run = Run()
        run.wait(29)
        run.lines.wrote_line()
        run.wait(29)
        self.assertEmpty(run.said)
        run.wait(1)
        self.assertEqual(run.said, ["epoch 1/3  first step (compiling)  59 s so far"])


class Watcher(keras.callbacks.Callback):
    """Notes what the bar shows after every step and before every test batch."""

    def __init__(self, bar):
        super().__init__()
        self._bar = bar
        self.seen = []

    def _look(self):
        self._bar.tick()
        self.seen.append(str(self._bar.overall_progress_tqdm))

    def on_train_batch_end(self, batch, logs=None):
        self._look()

    def on_test_batch_begin(self, batch, logs=None):
        self._look()


class ProgressBarTest(tf.test.TestCase):
    def test_a_bar_for_each_epoch_and_its_evaluation(self):
        now = pace.Pace(PLAN, 2, 12, [1, 2, 3])
        bar = progress.ProgressBar(now)
        watcher = Watcher(bar)
        model = keras.Sequential([keras.Input([1]), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        data = tf.data.Dataset.from_tensors((np.ones([4, 1]), np.ones([4, 1])))
        with contextlib.redirect_stderr(io.StringIO()):
            model.fit(
                data.repeat(),
                epochs=2,
                steps_per_epoch=6,
                validation_data=data.repeat(3),
                callbacks=[now, bar, watcher],
                verbose=0,
            )
            bar.close()
        self.assertLen(watcher.seen, 2 * (6 + 3))
        self.assertRegex(watcher.seen[0], r"^epoch 1/3 training \|.+\|  17%$")
        for text in watcher.seen[1:6]:
            self.assertRegex(text, r"\d+%, [\d,]+ images/s, \S+ s left$")
        self.assertRegex(watcher.seen[5], r"^epoch 1/3 training \|.+\| 100%, ")
        self.assertRegex(watcher.seen[7], r"^epoch 1/3 evaluating \|.+\|  33%, ")
        self.assertRegex(watcher.seen[9], r"^epoch 2/3 training \|.+\|  17%, ")


class EpochLineTest(tf.test.TestCase):
    def test_a_line(self):
        self.assertEqual(
            progress.epoch_line(ROW, 200),
            "epoch   7/200  loss 1.2500  train  50.00%  test  98.76%  12,346 images/s"
            "  3.2 s",
        )


if __name__ == "__main__":
    tf.test.main()
