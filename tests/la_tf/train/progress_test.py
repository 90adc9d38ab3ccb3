"""The bar that a person sees while a network trains, and the lines above it."""

import contextlib
import io

import numpy as np
import tensorflow as tf
from tensorflow import keras

from la_tf.data import batches
from la_tf.train import progress

ROW = {
    "epoch": 7,
    "loss": 1.25,
    "train_accuracy": 0.5,
    "test_accuracy": 0.9876,
    "images_per_second": 12345.6,
    "seconds": 3.21,
}


class Watcher(keras.callbacks.Callback):
    """Notes what the bar shows after every step."""

    def __init__(self, bar):
        super().__init__()
        self._bar = bar
        self.seen = []

    def on_train_batch_end(self, batch, logs=None):
        self.seen.append(str(self._bar.overall_progress_tqdm))


class ProgressBarTest(tf.test.TestCase):
    def watched(self, first_step, **fit_options):
        """What the bar shows after every step of a run of twice six steps."""
        plan = batches.Plan(seed=0, batch_size=4, epochs=2, steps_per_epoch=6)
        bar = progress.ProgressBar(plan, first_step)
        watcher = Watcher(bar)
        model = keras.Sequential([keras.Input([1]), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        data = tf.data.Dataset.from_tensors((np.ones([4, 1]), np.ones([4, 1])))
        with contextlib.redirect_stderr(io.StringIO()):
            model.fit(
                data.repeat(),
                validation_data=data,
                callbacks=[bar, watcher],
                verbose=0,
                **fit_options,
            )
        return watcher.seen

    def test_one_bar_goes_over_the_whole_run(self):
        seen = self.watched(0, epochs=2, steps_per_epoch=6)
        self.assertLen(seen, 12)
        self.assertStartsWith(seen[0], "epoch 1/2 |")
        self.assertIn("|   8% ", seen[0])
        self.assertIn("|  50% ", seen[5])
        self.assertStartsWith(seen[6], "epoch 2/2 |")
        self.assertIn("| 100% ", seen[11])
        for text in seen:
            self.assertRegex(text, r"images/s, \S+ left$")

    def test_a_resumed_run_begins_where_it_was(self):
        seen = self.watched(9, initial_epoch=1, epochs=2, steps_per_epoch=3)
        self.assertStartsWith(seen[0], "epoch 2/2 |")
        self.assertIn("|  83% ", seen[0])
        self.assertIn("| 100% ", seen[2])


class EpochLineTest(tf.test.TestCase):
    def test_a_line(self):
        self.assertEqual(
            progress.epoch_line(ROW, 200),
            "epoch   7/200  loss 1.2500  train  50.00%  test  98.76%  12,346 images/s"
            "  3.2 s",
        )


if __name__ == "__main__":
    tf.test.main()
