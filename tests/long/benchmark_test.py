"""The benchmark of views runs and prints its table; what it measures is not tested."""

from unittest import mock

from absl.testing import absltest

from la_tf.benchmark import pillow, processes, views
from tests.la_tf.benchmark.benchmark_test import printed


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
