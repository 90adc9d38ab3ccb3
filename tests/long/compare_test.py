"""A small real comparison on digits: two methods, two seeds, and a run that fails."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from absl.testing import absltest

from la_tf.report import runs

# 80 images in batches of 16: five steps an epoch, ten in all.
SMALL = {
    "dataset": "digits",
    "model": "wrn_10_1",
    "limit_train": 80,
    "test_on_rest": True,
    "batch_size": 16,
    "epochs": 2,
    "evaluate_every": 0,
    "deterministic": True,
    "strategy": "none",
}
PLAN = {
    "fixed": SMALL,
    "seeds": 2,
    "reference": "baseline",
    "settings": [
        {"method": "baseline"},
        {"method": "equal", "num_views": 2, "name": "equal"},
        # Less than one image a class: only the data can tell.
        {"method": "equal", "limit_train": 5, "name": "too few", "seeds": 1},
    ],
}
# The other columns of metrics.csv tell the time.
TOLD = ("loss", "train_accuracy", "test_loss", "test_accuracy", "effective_policies")


def command(name, *arguments):
    """The finished process of one of the project's commands."""
    return subprocess.run(
        [sys.executable, "-m", f"la_tf.{name}", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )


class CompareTest(absltest.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        (cls.folder / "small.json").write_text(json.dumps(PLAN))
        cls.arguments = (
            f"--study={cls.folder / 'small.json'}",
            f"--runs_dir={cls.folder / 'runs'}",
            "--views_per_second=1000",
        )
        cls.done = command("compare", *cls.arguments)

    def text(self, name):
        return (self.folder / "small" / name).read_text("utf-8")

    def test_it_runs_everything_and_writes_the_pages(self):
        lines = self.done.stderr.splitlines()
        told = [line for line in lines if line.startswith("[")]
        self.assertLen(told, 5, self.done.stderr)
        self.assertIn("[1/5] digits with wrn_10_1: baseline, seed 0: ", told[0])
        self.assertIn(" left", told[0])
        # 10 steps of 16 images with one view and with two, twice each.
        self.assertIn("5 runs, 960 views", self.done.stdout)
        self.assertIn("4 of 5 runs", self.text("compare.md"))
        self.assertIn("| 80, 1,717 |", self.text("compare.md"))
        self.assertIn("<svg", self.text("compare.html"))

    def test_a_run_that_fails_is_named_and_told_by_the_exit_code(self):
        self.assertEqual(self.done.returncode, 1)
        (line,) = (
            line for line in self.done.stderr.splitlines() if line.startswith("failed")
        )
        self.assertIn("too few, seed 0: --limit_train=5 is less than one image", line)
        self.assertIn("too few, seed 0.", self.text("compare.md"))

    def test_a_later_run_of_a_process_is_as_in_a_fresh_one(self):
        (last,) = (self.folder / "runs").glob("equal-*/seed-1")
        fresh = self.folder / "fresh"
        flags = [f"--{name}={value}" for name, value in SMALL.items()]
        done = command(
            *("train", "--method=equal", "--num_views=2", "--seed=1", "--verbosity=-1"),
            *(f"--run_dir={fresh}", *flags),
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        after, alone = runs.read([last, fresh])
        for column in TOLD:
            self.assertEqual(
                after.column(column).tobytes(), alone.column(column).tobytes(), column
            )

    def test_an_epoch_without_evaluation_can_be_read(self):
        (path,) = (self.folder / "runs").glob("baseline-*/seed-0")
        (run,) = runs.read([path])
        self.assertEqual(run.best["epoch"], 2)
        self.assertNotEqual(run.rows[0]["test_accuracy"], run.rows[0]["test_accuracy"])
        self.assertEqual(run.rows[0]["evaluation_seconds"], 0)

    def test_what_is_done_is_not_done_again(self):
        before = self.text("results.csv")
        again = command("compare", *self.arguments, "--plan")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("1 of 5 runs to make", again.stderr)
        self.assertIn("digits with wrn_10_1: baseline; equal; too few", again.stdout)
        self.assertEqual(self.text("results.csv"), before)

    def test_pages_need_no_runs(self):
        folder = pathlib.Path(self.create_tempdir().full_path)
        shutil.copy(self.folder / "small.json", folder)
        (folder / "small").mkdir()
        shutil.copy(self.folder / "small" / "results.csv", folder / "small")
        done = command("compare", f"--study={folder / 'small.json'}", "--pages")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("compare.md", "compare.html"):
            written = (folder / "small" / name).read_text("utf-8")
            self.assertEqual(written, self.text(name))


if __name__ == "__main__":
    absltest.main()
