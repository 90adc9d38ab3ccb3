"""How long a network waits for its batches, and what is said of it."""

import contextlib
import io
import time
from unittest import mock

import tensorflow as tf
from absl.testing import parameterized

from la_tf.data.waiting import Waiting
from la_tf.train import input_watch


class WaitingTest(tf.test.TestCase):
    def test_a_slow_source_is_waited_for(self):
        def slowly():
            for number in range(4):
                time.sleep(0.02)
                yield number

        spec = tf.TensorSpec([], tf.int64)
        slow = tf.data.Dataset.from_generator(slowly, output_signature=spec)
        waiting = Waiting()
        # As `fit` reads it: a pair, fetched ahead as far as the source allows.
        pairs = waiting.measured(tf.data.Dataset.zip((slow, slow)).prefetch(2))
        self.assertEqual(list(pairs.as_numpy_iterator()), [(n, n) for n in range(4)])
        self.assertGreaterEqual(waiting.seconds, 4 * 2 * 0.02)


class KeepingUpTest(parameterized.TestCase, tf.test.TestCase):
    def said(self, waits, steps=40, **options):
        """What is said of steps of a second each of which so much is waited."""
        waiting, clock = mock.Mock(seconds=0.0), mock.Mock(return_value=0.0)
        watch = input_watch.KeepingUp(waiting, steps, **options)
        watch.set_model(mock.Mock())
        text = io.StringIO()
        ticking = mock.patch.object(time, "perf_counter", clock)
        with ticking, contextlib.redirect_stderr(text):
            for step in range(steps):
                # Between two steps there may be an evaluation, or a save.
                clock.return_value += 100.0
                watch.on_train_batch_begin(step)
                waiting.seconds += waits
                clock.return_value += 1.0
                watch.on_train_batch_end(step)
        self.assertAlmostEqual(watch.share, waits)
        synced = watch.model.health.skipped_steps.read_value.call_count
        self.assertLessEqual(synced, 21)
        return text.getvalue().strip()

    def test_a_wait_is_told_once_with_the_way_out(self):
        gpu = mock.patch.object(tf.config, "list_physical_devices", return_value=["G"])
        with gpu:
            line = self.said(0.25, on_device=False)
        self.assertEqual(
            line,
            "the network waits for its input 25% of the time: "
            "--augment_on=device makes the views on the GPU",
        )
        cpu = mock.patch.object(tf.config, "list_physical_devices", return_value=[])
        with cpu:
            self.assertIn("--data_service", self.said(0.25, on_device=False))
        self.assertIn("decoding", self.said(0.25, on_device=True))

    def test_nothing_is_said_without_need(self):
        self.assertEqual(self.said(0.05, on_device=False), "")
        self.assertEqual(self.said(0.5, on_device=False, tell=False), "")

    def test_a_profile_tells_it_in_any_case(self):
        expected = "the network waits for its input 5% of the time"
        self.assertEqual(self.said(0.05, on_device=False, tell=True), expected)

    @parameterized.parameters(2, 7, 25)
    def test_a_short_run_is_measured_too(self, steps):
        self.assertIn("50%", self.said(0.5, steps, on_device=False))


if __name__ == "__main__":
    tf.test.main()
