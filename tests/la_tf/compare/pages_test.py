"""The pages of a comparison, from a study and a table of results alone."""

import dataclasses
import html.parser
import pathlib
import shutil
import tempfile

from absl.testing import absltest

from la_tf.compare import pages, presets, results, study
from la_tf.errors import UserError

# Accuracies of 1,000 test images, by setting and seed.
COUNTS = {"equal": [950, 952, 957], "latent": [955, 956, 960], "baseline": [900, 910]}
PLAN = {
    "title": "Weights",
    "about": "Do <weights> matter? Try `--sigma=<number>`.",
    "fixed": {"dataset": "digits", "epochs": 4},
    "seeds": 3,
    "reference": "equal",
    "comparisons": [["latent", "baseline"]],
    "settings": [{"method": ["equal", "latent", "baseline"]}],
    "paper": [["digits", "wrn_16_1", "latent", 97.27, 0.09, 4.7]],
}


def table(made, seconds=None):
    """Results by key, as a table has them."""
    seconds = seconds or {}
    found = {}
    for setting in made.settings:
        for seed, count in zip(setting.seeds, COUNTS[setting.name]):
            result = results.Result(
                group=setting.group,
                setting=setting.name,
                seed=seed,
                accuracy=count / 1000,
                top_5=1.0,
                seconds=seconds.get(setting.name, 60.0),
                step_seconds=0.05 * setting.config.num_views,
                views=100 * setting.config.num_views,
                updates=10,
                train_images=200,
                test_images=1000,
                cores=1,
                versions="la_tf 1",
                fingerprint=setting.fingerprint,
            )
            found[result.key] = result
    return found


class _Text(html.parser.HTMLParser):
    """Gathers a page's text and the number of its drawings."""

    def __init__(self, page):
        super().__init__()
        self.words, self.drawings = [], 0
        self.feed(page)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attributes):
        self.drawings += tag == "svg"

    def handle_data(self, data):
        self.words.append(data)


class PagesTest(absltest.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.study = study.make(PLAN)
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        found = table(cls.study, {"latent": 90.0})
        paths = pages.write(cls.study, found, cls.folder)
        cls.markdown, cls.html = (path.read_text("utf-8") for path in paths)

    def row(self, name, times=1):
        """The cells of the Markdown rows that begin with this name."""
        lines = self.markdown.splitlines()
        rows = [line for line in lines if line.startswith(f"| {name} |")]
        self.assertLen(rows, times)
        return [row.split(" | ")[1:] for row in rows]

    def test_mean_deviation_and_every_seed(self):
        # 95.5, 95.6, 96.0: mean 95.7, deviation 0.2646.
        accuracy, *_ = self.row("latent", 3)
        self.assertEqual(accuracy[0].replace("\u00a0", " "), "95.70 ± 0.26")
        self.assertEqual(accuracy[1], "3")
        self.assertEqual(accuracy[-1], "0: 95.50, 1: 95.60, 2: 96.00 |")

    def test_the_paper_s_figure_is_marked(self):
        self.assertIn("| the paper's, % |", self.markdown)
        accuracy, *_ = self.row("latent", 3)
        self.assertEqual(accuracy[2].replace("\u00a0", " "), "97.27 ± 0.09")
        self.assertEqual(self.row("equal", 2)[0][2], "–")
        for number, caveat in enumerate(presets.CAVEATS, 1):
            self.assertIn(f"{number}. {caveat}", self.markdown)

    def test_paired_differences(self):
        # 0.5, 0.4, 0.3: mean 0.4, deviation 0.1; 4.3027 * 0.1 / sqrt(3) = 0.2484.
        self.assertEqual(
            self.row("latent", 3)[1], ["+0.40", "+0.15 to +0.65", "0.25", "3 |"]
        )

    def test_a_planned_comparison_uses_the_seeds_that_both_have(self):
        # 5.5, 4.6: mean 5.05, deviation 0.6364; 12.7062 * 0.6364 / sqrt(2) = 5.718.
        self.assertEqual(
            self.row("latent − baseline")[0], ["+5.05", "−0.67 to +10.77", "0.5", "2 |"]
        )
        self.assertIn(
            "Not there: digits with wrn_16_1: baseline, seed 2.", self.markdown
        )

    def test_costs_are_relative_to_the_reference(self):
        self.assertIn("relative to equal", self.markdown)
        cost = self.row("latent", 3)[-1]
        # The last is the paper's.
        self.assertEqual(cost[:4], ["90.0 s", "300.0\u00a0ms", "600", "10"])
        self.assertEqual(cost[4:], ["1.50", "1.00", "1.00", "1.00", "4.7 |"])
        baseline = self.row("baseline", 3)[-1]
        self.assertEqual(baseline[4:], ["1.00", "0.17", "0.17", "1.00", "– |"])
        self.assertIn("Every run had 1 core.", self.markdown)

    def test_backquotes_mark_code(self):
        code = "matter? Try <code>--sigma=&lt;number&gt;</code>."
        self.assertIn(code, self.html)
        self.assertIn(PLAN["about"], self.markdown)

    def test_both_pages_tell_the_same(self):
        page = _Text(self.html)
        lines = [line for line in self.markdown.splitlines() if line.startswith("| ")]
        cells = {cell for line in lines for cell in line.strip("| ").split(" | ")}
        for cell in cells - {"---"}:
            self.assertIn(" ".join(cell.split()), page.text)
        self.assertEqual(page.drawings, self.markdown.count("!["))

    def test_pictures_are_there(self):
        for name in ("accuracy", "planned", "differences1"):
            self.assertTrue((self.folder / f"{name}.png").exists())
            self.assertIn(f"({name}.png)", self.markdown)

    def test_what_was_chosen_for_all_is_told(self):
        self.assertIn("Chosen for all: dataset=digits, epochs=4.", self.markdown)

    def test_text_is_escaped(self):
        self.assertIn("Do &lt;weights&gt; matter?", self.html)

    def test_randaugment_is_what_costs_are_relative_to(self):
        blocks = [
            {"method": "equal", "num_views": 1, "name": "randaugment"},
            {"method": "equal", "name": "equal"},
        ]
        made = study.make({**PLAN, "settings": blocks, "comparisons": []})
        found = {}
        for setting in made.settings:
            other = dataclasses.replace(setting, name="equal")
            for result in table(dataclasses.replace(made, settings=(other,))).values():
                found[result.key] = result
        folder = self.create_tempdir().full_path
        markdown = pages.write(made, found, folder)[0].read_text("utf-8")
        self.assertIn("Cost of a run; relative to randaugment", markdown)

    def test_a_sweep_is_drawn_as_a_line(self):
        block = {"method": "equal", "num_views": [1, 2, 4]}
        plan = {**PLAN, "settings": [block], "comparisons": []}
        made = study.make({**plan, "reference": "equal, num_views=1"})
        renamed = [dataclasses.replace(one, name="equal") for one in made.settings]
        found = table(dataclasses.replace(made, settings=tuple(renamed)))
        folder = pathlib.Path(self.create_tempdir().full_path)
        markdown = pages.write(made, found, folder)[0].read_text("utf-8")
        self.assertIn("](num_views.png)", markdown)
        self.assertTrue((folder / "num_views.svg").exists())

    def test_what_a_sweep_leaves_as_it_is_belongs_to_its_line(self):
        blocks = [{"method": "equal"}, {"method": "equal", "num_views": [1, 2]}]
        made = study.make({**PLAN, "settings": blocks, "comparisons": []})
        renamed = [dataclasses.replace(one, name="equal") for one in made.settings]
        found = table(dataclasses.replace(made, settings=tuple(renamed)))
        folder = self.create_tempdir().full_path
        markdown = pages.write(made, found, folder)[0].read_text("utf-8")
        # Three values with the default, which is six views.
        self.assertRegex(markdown, r"by num_views: equal, num_views=1 .*; equal \d")

    def test_results_of_other_settings_are_left_out(self):
        found = table(self.study)
        made = study.make({**PLAN, "fixed": {"dataset": "digits", "epochs": 5}})
        markdown = pages.write(made, found, self.create_tempdir().full_path)[0]
        text = markdown.read_text("utf-8")
        self.assertIn("None of these runs is there yet.", text)
        self.assertIn("has 8 more runs", text)

    def test_a_folder_that_cannot_be_written_is_named(self):
        path = self.create_tempfile("file").full_path
        with self.assertRaisesRegex(UserError, "--compare_dir="):
            pages.write(self.study, table(self.study), path)


if __name__ == "__main__":
    absltest.main()
