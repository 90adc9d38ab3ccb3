"""The benchmarks run; what they measure is not tested."""

import os
import subprocess
import sys
from unittest import mock

from absl.testing import absltest

from la_tf.benchmark import methods, networks, pillow, processes, steps, views
from tests.la_tf.benchmark.benchmark_test import printed

NAME = "tests.long.benchmark_test"


def measure(number, options):
    """What the process of its own is asked for."""
    tensorflow = sys.modules["tensorflow"]
    return {"number": number, **options, "version": tensorflow.__version__}


class ProcessesTest(absltest.TestCase):
    def test_a_process_of_its_own_has_tensorflow_and_answers(self):
        path = {"PYTHONPATH": os.pathsep.join(sys.path)}
        with mock.patch.dict(os.environ, path):
            answer = processes.measure(NAME, 6, {"e_step": "separate"})
        import tensorflow as tf

        expected = {"number": 6, "e_step": "separate", "version": tf.__version__}
        self.assertEqual(answer, expected)

    def test_what_is_started_on_one_core_has_one(self):
        if not hasattr(os, "sched_getaffinity"):
            self.skipTest("this system does not tell which cores a process may use")
        program = "import os; print(len(os.sched_getaffinity(0)))"
        before = os.sched_getaffinity(0)
        with processes.on_cores(1):
            told = subprocess.check_output([sys.executable, "-c", program], text=True)
        self.assertEqual(int(told), 1)
        self.assertEqual(os.sched_getaffinity(0), before)


class MeasuredTest(absltest.TestCase):
    def test_a_network_is_measured(self):
        changes = {"SECONDS": 0.001, "RUNS": 2, "_batch_size": lambda name: 2}
        for name, value in changes.items():
            self.enter_context(mock.patch.object(networks, name, value))
        result = networks.measure("wrn_10_1")
        for way in ("forward", "backward"):
            self.assertLen(result[way], 2)
            self.assertGreater(min(result[way]), 0)
        self.assertGreaterEqual(result["megabytes"], 0)

    def test_a_step_is_measured(self):
        changes = {"MODEL": "wrn_10_1", "SIDE": 8, "BATCH": 2, "STEPS": 1}
        for name, value in changes.items():
            self.enter_context(mock.patch.object(steps, name, value))
        result = steps.measure(2, {"e_step": "separate"})
        self.assertGreater(result["median"], 0)
        self.assertEqual(result["fastest"], result["slowest"])

    def test_a_method_s_step_is_measured(self):
        changes = {"MODEL": "wrn_10_1", "SIDE": 8, "BATCH": 2, "SECONDS": 0}
        for name, value in changes.items():
            self.enter_context(mock.patch.object(methods, name, value))
        self.assertGreater(methods.Case({"method": "baseline"}).seconds(), 0)


class ViewsTest(absltest.TestCase):
    def test_views(self):
        # Sixteen pipelines to compile, and processes to start, are left out.
        for owner, name, value in (
            (pillow, "measure", 1000.0),
            (processes, "measure", views.measure(16, 2, 0.01)),
            (views, "_stages", {"draw": 1.5}),
            (views, "_operations", {"ShearX": 10.0, "MixUp": 30.0}),
        ):
            stand_in = mock.Mock(return_value=value)
            self.enter_context(mock.patch.object(owner, name, stand_in))
        table = printed(views.run, [(16, 2)], 0.01)
        self.assertIn("16 x 16, batches of 2 images\non one core", table)
        self.assertRegex(table, r"la_tf.make_views +[1-9][\d,]* views/s, .*1.00 of the")
        self.assertRegex(table, r"device, compiled +[1-9][\d,]* views/s")
        self.assertRegex(table, r"slowest of median +0.50")


if __name__ == "__main__":
    absltest.main()
