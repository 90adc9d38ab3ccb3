"""Pictures of whatever classes may be called."""

import warnings

import numpy as np
from absl.testing import absltest

from la_tf import drawing
from la_tf.evaluate import confusion


class NamesTest(absltest.TestCase):
    def test_a_name_is_text_and_never_mathematics(self):
        names = ["$a_{$", "$$", "\\frac{1}", "100 %", "日本"]
        figure = confusion.draw(np.eye(5, dtype=int), names, "$x_{$")
        shown = {text.get_text() for text in figure.axes[0].get_xticklabels()}
        self.assertEqual(shown, set(names))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            png = drawing.png(figure)
        self.assertStartsWith(png.decode("latin1"), "\x89PNG")
        self.assertIn("$a_{$", drawing.svg(figure))


class HeatMapTest(absltest.TestCase):
    def test_the_title_of_a_difference_has_room_for_two_runs(self):
        heat_map = drawing.HeatMap(["Rotate"] * 16, difference=True)
        figure = heat_map.show(np.zeros(256), "one run\nminus another")
        title = figure.axes[0].title.get_window_extent()
        self.assertLessEqual(title.y1, figure.bbox.height)


if __name__ == "__main__":
    absltest.main()
