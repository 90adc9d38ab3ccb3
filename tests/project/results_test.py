"""Figures in the documents are those of the tables of results."""

import csv
import itertools
import re
from unittest import mock

import numpy as np
from absl.testing import absltest, parameterized

from la_tf.compare import pages, results, statistics, study
from la_tf.report import gallery
from tests import helper

STUDIES = helper.ROOT / "studies"
PLANS = sorted(plan.stem for plan in STUDIES.glob("*.json"))
# Its page and docs/finetuning.md tell which runs are missing.
UNFINISHED = ("finetuning",)
DOCUMENTS = ("README.md", "RESULTS.md", "docs/finetuning.md")

SPREAD = re.compile(r"\d+\.\d\d ± \d+\.\d\d")
INTERVAL = re.compile(r"[+−]\d+\.\d\d to [+−]\d+\.\d\d")
# A row's difference, its interval and its p-value.
COMPARISON = re.compile(
    rf"\| ([+−]\d+\.\d\d) \| ({INTERVAL.pattern}) \| (?:< )?([\d.]+) "
)


def tables():
    """Yield for every table of accuracies those in percent, by setting and seed."""
    for path in sorted(STUDIES.glob("*/results.csv")):
        found = {}
        with open(path, encoding="utf-8") as file:
            for row in csv.DictReader(file):
                name = row.get("setting") or row.get("drawn")
                if name:
                    of_setting = found.setdefault(name, {})
                    of_setting[int(row["seed"])] = 100 * float(row["accuracy"])
        yield found


def plan_and_results(name):
    return (
        study.read(STUDIES / f"{name}.json"),
        results.read(STUDIES / name / "results.csv"),
    )


def differences():
    """Yield the Difference of any two settings in a table."""
    for table in tables():
        for first, second in itertools.permutations(table.values(), 2):
            if len(first.keys() & second.keys()) > 1:
                yield statistics.paired(first, second)


def weights_row(*columns):
    """Return means over the runs, a cell for each epoch, as RESULTS.md has them."""
    of_epoch = {}
    with open(STUDIES / "weights" / "results.csv", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            values = [float(row[column]) for column in columns]
            of_epoch.setdefault(int(row["epoch"]), []).append(values)
    means = [np.mean(of_epoch[epoch], 0) for epoch in sorted(of_epoch)]
    # No zero below zero.
    cells = (
        " to ".join(f"{value + 0:.2f}" for value in mean.round(2)) for mean in means
    )
    return f"| {' | '.join(cells)} |".replace("-", "−")


def signed(number):
    return f"{number:+.2f}".replace("-", "−")


def interval(difference):
    return f"{signed(difference.low)} to {signed(difference.high)}"


def text_of(document):
    return " ".join((helper.ROOT / document).read_text("utf-8").split())


class StudiesTest(parameterized.TestCase):
    @parameterized.parameters(*PLANS)
    def test_a_plan_was_run_to_its_end(self, name):
        planned, found = plan_and_results(name)
        by_setting = results.of_study(planned, found)
        self.assertLen(found, sum(map(len, by_setting.values())))
        if name not in UNFINISHED:
            self.assertLen(found, sum(len(one.seeds) for one in planned.settings))

    @parameterized.parameters(*PLANS)
    def test_a_page_is_made_of_its_results(self, name):
        planned, found = plan_and_results(name)
        # The words are compared, not the pictures, which take their time.
        with mock.patch.object(gallery.Gallery, "chart", return_value=""):
            page, *_ = pages.write(planned, found, self.create_tempdir().full_path)
        committed = STUDIES / name / "compare.md"
        self.assertEqual(page.read_text("utf-8"), committed.read_text("utf-8"))


class DocumentsTest(parameterized.TestCase):
    @parameterized.parameters(*DOCUMENTS)
    def test_means_and_deviations(self, document):
        measured = {
            "{:.2f} ± {:.2f}".format(*statistics.mean_and_deviation([*runs.values()]))
            for table in tables()
            for runs in table.values()
        }
        written = set(SPREAD.findall(text_of(document)))
        self.assertNotEmpty(written)
        self.assertEmpty(written - measured)

    def test_comparisons(self):
        found = {}
        for difference in differences():
            key = signed(difference.mean), interval(difference)
            found.setdefault(key, []).append(difference.p_value)
        rows = COMPARISON.findall(" ".join(map(text_of, DOCUMENTS)))
        self.assertGreater(len(rows), 40)
        for points, between, p_value in rows:
            decimals = len(p_value.partition(".")[2])
            rounded = [round(value, decimals) for value in found[points, between]]
            self.assertIn(float(p_value), [max(value, 0.001) for value in rounded])

    @parameterized.parameters(*DOCUMENTS)
    def test_intervals(self, document):
        measured = {interval(difference) for difference in differences()}
        written = set(INTERVAL.findall(text_of(document)))
        self.assertNotEmpty(written)
        self.assertEmpty(written - measured)

    def test_weights(self):
        table = text_of("RESULTS.md").partition("## What decides the weights")[2]
        for columns in (
            ["loss"],
            ["weight_5_percent", "weight_95_percent"],
            ["policy_weight_least", "policy_weight_most"],
            ["mixup_weight"],
            ["weight_between_halves"],
            ["use_between_halves"],
            ["with_next_epoch"],
            ["prior_with_weight"],
            ["prior_with_use"],
            ["weight_with_use"],
            ["weight_with_use_without_mixup"],
        ):
            with self.subTest(columns[0]):
                self.assertIn(weights_row(*columns), table)


if __name__ == "__main__":
    absltest.main()
