"""What is close stays apart in a drawing, however far off the rest is."""

import numpy as np
from absl.testing import absltest

from la_tf import drawing
from la_tf.compare import charts, statistics

CLOSE = [98.1, 98.5]


def shares(axes, values):
    """Where values lie between the ends of the horizontal axis."""
    points = axes.transData.transform([(value, 0) for value in values])[:, 0]
    return (points - axes.bbox.x0) / axes.bbox.width


def drawn_differences(*means):
    rows = [
        (str(mean), statistics.Difference(mean, mean - 0.1, mean + 0.1, 0.5, 2), [mean])
        for mean in means
    ]
    return charts.differences("", rows).axes[0]


class AxesTest(absltest.TestCase):
    def accuracies(self, *groups):
        rows = [(str(number), values) for number, values in enumerate(groups)]
        return charts.accuracies("", rows, paper={}).axes[0]

    def test_close_accuracies_are_drawn_evenly(self):
        axes = self.accuracies(CLOSE, [96.0, 97.0])
        self.assertEqual(axes.get_xscale(), "linear")

    def test_accuracies_far_apart(self):
        axes = self.accuracies(CLOSE, [36.0, 38.0], [100.0, 100.0])
        low, *middle, high = shares(axes, [36.0, *CLOSE, 100.0])
        # An even axis would give them 0.4 of 64 points.
        self.assertGreater(np.diff(middle)[0], 5 * 0.4 / 64)
        self.assertBetween(low, 0, 0.2)
        self.assertBetween(high, 0.8, 1)

    def test_long_names_stay_in_the_figure(self):
        name = "method, " + ", ".join(["a_field_of_its_own=0.0005"] * 4)
        rows = charts.accuracies(f"By {name}", [(name, CLOSE)], paper={})
        self.assert_inside(rows, rows.axes[0].get_yticklabels())
        short = name[: len(name) // 2]
        lines = {short: {1: CLOSE}, short.upper(): {1: CLOSE}}
        self.assert_inside(charts.sweep(f"By {name}", "field", lines, paper={}))

    def assert_inside(self, figure, labels=()):
        drawing.pixels(figure)
        (legend,) = figure.legends
        for text in (*figure.texts, legend, *labels):
            box = text.get_window_extent()
            self.assertGreaterEqual(box.x0, 0)
            self.assertLessEqual(box.x1, figure.bbox.width)
        self.assertGreater(figure.axes[0].bbox.width, figure.bbox.width / 3)

    def test_differences_far_apart(self):
        self.assertEqual(drawn_differences(0.1, -4.0).get_xscale(), "linear")
        axes = drawn_differences(0.1, -60.0)
        first, second = shares(axes, [0.0, 0.5])
        self.assertGreater(second - first, 0.05)


if __name__ == "__main__":
    absltest.main()
