"""The benchmarks print their tables; those that measure are in `tests/long`."""

import contextlib
import io
import itertools
import random
from unittest import mock

import numpy as np
from absl.testing import absltest

from la_tf.benchmark import __main__ as benchmark_command
from la_tf.benchmark import methods, networks, pillow, processes, steps
from tests import helper


def printed(function, *arguments):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        function(*arguments)
    return text.getvalue()


class ProcessesTest(absltest.TestCase):
    def test_memory_is_counted_in_megabytes(self):
        before = processes.peak_megabytes()
        held = np.ones(64 << 20, np.uint8)
        self.assertGreaterEqual(processes.peak_megabytes(), before)
        self.assertBetween(processes.peak_megabytes(), 64, 1 << 20)
        del held


class PillowTest(absltest.TestCase):
    def test_a_batch_of_views(self):
        images = helper.small_images(8)
        for seed in range(3):
            made = pillow._batch(images, random.Random(seed))
            self.assertEqual(made.shape, (8, 6, 32, 32, 3))
            self.assertGreater(np.ptp(made), 200)

    def test_every_operation_changes_an_image_at_some_level(self):
        image = pillow.Image.fromarray(helper.small_images(8)[0])
        for operation in pillow.OPERATIONS:
            if operation is pillow._mix_up:
                continue
            changed = [
                np.array(operation(image.copy(), level, random.Random(level)))
                for level in range(10)
            ]
            self.assertTrue(any((one != np.array(image)).any() for one in changed))

    def test_a_worker_counts_views(self):
        self.assertGreater(pillow._work(helper.small_images(8), 4, 0.01, 0), 0)


class TablesTest(absltest.TestCase):
    def test_networks(self):
        answer = {"forward": [3.0, 1.0, 2.0], "backward": [1.0] * 3, "megabytes": 7}
        stand_in = mock.Mock(return_value=answer)
        with mock.patch.object(processes, "measure", stand_in):
            table = printed(networks.run)
        self.assertEqual(stand_in.call_count, len(networks.cases()))
        self.assertIn("2.0 (1.0-3.0)", table)
        self.assertIn("wrn_40_2", table)

    def test_steps(self):
        answer = {"median": 5.0, "fastest": 4.0, "slowest": 6.0, "megabytes": 9.0}
        stand_in = mock.Mock(return_value=answer)
        with mock.patch.object(processes, "measure", stand_in):
            table = printed(steps.run)
        self.assertEqual(stand_in.call_count, len(steps.CASES))
        self.assertIn("K = 6, e_step = separate", table)

    def test_methods(self):
        # Of each case the reference's seconds, twice as many, three times as many...
        stand_in = mock.Mock()
        stand_in.return_value.seconds.side_effect = itertools.cycle(
            [(number + 1) / 100 for number in range(len(methods.CASES))]
        )
        with mock.patch.object(methods, "Case", stand_in):
            table = printed(methods.run)
        self.assertRegex(table, r"randaugment +10 \(10-10\) +1.00 \(1.00-1.00\)")
        self.assertRegex(table, r"metaaugment .* 13.00 \(13.00-13.00\)")


class CommandTest(absltest.TestCase):
    def test_the_subject_is_run(self):
        with mock.patch.object(steps, "run") as run:
            benchmark_command.main("steps")
        run.assert_called_once_with()


if __name__ == "__main__":
    absltest.main()
