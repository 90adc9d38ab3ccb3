"""Pictures of whatever classes may be called."""

import numpy as np
from absl.testing import absltest

from la_tf import drawing
from la_tf.evaluate import confusion


class NamesTest(absltest.TestCase):
    def test_a_name_is_text_and_never_mathematics(self):
        names = ["$a_{$", "$$", "\\frac{1}", "100 %"]
        figure = confusion.draw(np.eye(4, dtype=int), names, "$x_{$")
        shown = {text.get_text() for text in figure.axes[0].get_xticklabels()}
        self.assertEqual(shown, set(names))
        self.assertStartsWith(drawing.png(figure).decode("latin1"), "\x89PNG")
        self.assertIn("$a_{$", drawing.svg(figure))


class HeatMapTest(absltest.TestCase):
    def test_the_title_of_a_difference_has_room_for_two_runs(self):
        heat_map = drawing.HeatMap(["Rotate"] * 16, difference=True)
        figure = heat_map.show(np.zeros(256), "one run\nminus another")
        title = figure.axes[0].title.get_window_extent()
        self.assertLessEqual(title.y1, figure.bbox.height)


if __name__ == "__main__":
    absltest.main()
