"""Reports of all kinds of runs, with all that they draw."""

import collections
import json
import pathlib
import re
import shutil

import numpy as np
import tensorflow as tf
from PIL import Image

from la_tf import ops
from la_tf.errors import UserError
from la_tf.report import example_views, runs
from la_tf.run.folder import RunFolder
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


class OtherRunsTest(tf.test.TestCase):
    def setUp(self):
        super().setUp()
        self.directory = pathlib.Path(self.create_tempdir().full_path)

    def test_several_runs_are_compared(self):
        other = report_test.copied(self.directory, "other", sigma=0.25)
        # It was stopped after two of three epochs.
        table = report_test.rows()[:-1]
        priors = RunFolder(report_test.TRAINED).policies()[1:]
        # A tenth of all probability goes from the others to one policy.
        priors[-1] *= 0.9
        priors[-1, 5] += 0.1
        table[-1]["test_accuracy"] = report_test.rows()[-1]["test_accuracy"] - 0.0125
        RunFolder(other).write_history(table, priors, ops.OPERATIONS)
        folder = self.directory / "to"
        text = report_test.written(
            report_test.TRAINED, other, to=folder, with_views=False
        )
        self.assertIn("<h1>2 runs</h1>", text)
        self.assertIn("2 of 3", text)
        self.assertIn('<th scope="row">sigma</th><td>1.0</td><td>0.25</td>', text)
        self.assertNotIn('<th scope="row">num_views</th><td>3</td><td>3</td>', text)
        counts = collections.Counter(report_test.headings(text))
        self.assertEqual(counts["Curves"], 1)
        self.assertEqual(counts["Prior over policies"], 2)
        loss = re.search(r'aria-label="(Loss over[^"]+)"', text).group(1)
        self.assertIn("trained training from", loss)
        self.assertIn("other test from", loss)
        # Priors are subtracted, and so are results.
        self.assertIn("Heat map of the prior of other minus that of trained", text)
        moved = float(re.search(r"([\d.]+)% of the probability lies", text).group(1))
        share = RunFolder(report_test.TRAINED).policies()[-1, 5]
        self.assertAllClose(moved, 10 * (1 - share), atol=0.06)
        self.assertTrue((folder / "prior_difference_2.png").exists())
        self.assertIn("<td>−1.25 points</td>", text)

    def test_an_evaluation_is_shown(self):
        path = report_test.copied(self.directory)
        matrix = np.diag([35] * 10)
        matrix[3, 8] = 7
        result = {
            "checkpoint": "run/checkpoints/step-66",
            "dataset": "digits",
            "held_out": False,
            "images": 357,
            "top_1": 350 / 357,
            "top_5": 1.0,
            "loss": 0.1,
            "calibration": {"error": 0.02},
            "class_names": [f"<{digit}>" for digit in range(10)],
            "confusion": matrix.tolist(),
            "robustness": {
                "level": 9,
                "images": 357,
                "unchanged": 0.98,
                "operations": {"Invert": 0.5, "Color": 0.98},
            },
        }
        (path / "evaluation.json").write_text(json.dumps(result))
        text = report_test.written(path, to=self.directory / "to", with_views=False)
        part = text[text.index("<h2>Mistakes") :]
        self.assertIn("checkpoint step-66: top-1 accuracy 98.04%", part)
        cells = ("&lt;8&gt;", "7", "16.7%")
        row = '<th scope="row">&lt;3&gt;</th>' + "".join(f"<td>{c}</td>" for c in cells)
        self.assertIn(row, part)
        self.assertIn('<th scope="row">Invert</th><td>50.00%</td>', part)
        self.assertIn('alt="Confusion matrix of 10 classes: 350 of 357', part)
        with Image.open(self.directory / "to" / "confusion.png") as image:
            self.assertGreater(min(image.size), 600)
        (path / "evaluation.json").write_text('{"confusion": [[1, 2]]}')
        with self.assertRaisesRegex(UserError, "evaluation.json is damaged; write it"):
            report_test.written(path, to=self.directory / "to", with_views=False)

    def test_a_run_without_policies_leaves_them_out(self):
        path = report_test.copied(self.directory, method="baseline")
        text = report_test.written(path, to=self.directory / "to")
        expected = ["Summary", "Curves", "Views", "Hardest images", "Mistakes"]
        expected += ["Time", "Configuration"]
        self.assertEqual(report_test.headings(text), expected)
        self.assertRegex(text, r"crop and flip<br>“\d”<br>P [\d.]+</figcaption>")
        self.assertNotIn("Effective number", text)

    def test_what_was_learned_has_a_curve(self):
        path = report_test.copied(self.directory, method="adversarial")
        report_test.rewrite(
            path, [{**row, "drawing_entropy": 50.0} for row in report_test.rows()]
        )
        text = report_test.written(path, to=self.directory / "to", with_views=False)
        self.assertIn("Entropy of the learned drawing, nats over the epochs", text)
        self.assertNotIn("Effective number", text)

    def test_a_fixed_prior_needs_no_slider(self):
        path = report_test.copied(self.directory)
        uniform = np.full([report_test.EPOCHS, 256], 1 / 256, np.float32)
        RunFolder(path).write_history(report_test.rows(), uniform, ["unused"])
        text = report_test.written(path, to=self.directory / "to", with_views=False)
        self.assertIn("fixed and uniform", text)
        self.assertNotIn('class="slider"', text)
        self.assertNotIn("Most likely", text.split("<script>")[0])

    def test_names_cannot_break_out(self):
        path = report_test.copied(self.directory, method="baseline")
        record = RunFolder(path).record()
        evil = '</script><script>alert("1")</script><img src=x onerror=alert(2)>'
        record["data"]["class_names"] = [evil] * 10
        record["command"] = evil
        RunFolder(path).write_record(record)
        text = report_test.written(path, to=self.directory / "to")
        self.assertNotIn('<script>alert("1")', text)
        for image in report_test.Page(text).all("img"):
            self.assertNotIn("onerror", image)

    def test_a_run_without_checkpoints_can_go_without_views(self):
        path = report_test.copied(self.directory)
        shutil.rmtree(path / "checkpoints")
        text = report_test.written(path, to=self.directory / "to", with_views=False)
        self.assertNotIn("<img", text)
        self.assertIn("Least likely", text)


if __name__ == "__main__":
    tf.test.main()
