"""A report draws views as the run has learned to draw them."""

import pathlib
import re

import numpy as np
import tensorflow as tf

from la_tf.report import example_views, runs
from tests.la_tf.report import report_test

setUpModule, tearDownModule = report_test.setUpModule, report_test.tearDownModule


def teach(rule):
    """Let a controller draw one pair of operations only; return its name."""
    operations = [rule.space.index("Invert"), 0, rule.space.index("Equalize"), 0]
    rule.decisions.assign(np.tile(operations, [rule.decisions.shape[0], 5]))
    return "Invert>Equalize"


def save(run, rule):
    """Give a run a checkpoint of its network and of what it has learned to draw."""
    classifier = example_views.network_of(run).classifier
    model = tf.train.Checkpoint(classifier=classifier, learner=rule)
    path = run.folder.checkpoints / "step-99"
    tf.train.Checkpoint(model=model).write(str(path))


class LearnedTest(tf.test.TestCase):
    def setUp(self):
        super().setUp()
        self.directory = pathlib.Path(self.create_tempdir().full_path)

    def test_views_of_a_method_that_learns_are_drawn_as_it_has_learned(self):
        path = report_test.copied(self.directory, method="adversarial", num_views=2)
        run = runs.read([path])[0]
        pair = teach(run.rule)
        save(run, run.rule)
        text = report_test.written(path, to=self.directory / "to")
        tiles = re.findall(r"<figcaption>(\w+ &gt; \w+)<br>", text)
        # Two views of four images as they come and of the four hardest.
        self.assertEqual(tiles, [pair.replace(">", " &gt; ")] * 16)
        self.assertNotIn("heaviest", text[text.index("<main") :])


if __name__ == "__main__":
    tf.test.main()
