"""A small real comparison: two methods and two seeds on digits."""

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
SMALL = (
    *("--model=wrn_10_1", "--limit_train=80", "--test_on_rest", "--batch_size=16"),
    *("--epochs=2", "--num_views=2", "--evaluate_every=0", "--final=cutout"),
    *("--deterministic", "--strategy=none"),
)
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
        cls.arguments = (
            *("--methods=latent,equal", "--seeds=2", "--reference=equal", *SMALL),
            f"--compare_dir={cls.folder / 'pages'}",
            f"--runs_dir={cls.folder / 'runs'}",
            "--views_per_second=1000",
        )
        cls.done = command("compare", *cls.arguments)

    def test_it_runs_everything_and_writes_the_pages(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        lines = self.done.stderr.splitlines()
        self.assertLen([line for line in lines if line.startswith("[")], 4)
        self.assertIn("[1/4] digits with wrn_10_1: latent, seed 0: ", lines[1])
        self.assertIn(" left", lines[1])
        # 4 runs of 10 steps with 32 views.
        self.assertIn("4 runs, 1,280 views", self.done.stdout)
        text = (self.folder / "pages" / "compare.md").read_text("utf-8")
        self.assertIn("4 of 4 runs", text)
        self.assertIn("| 80, 1,717 |", text)
        self.assertTrue((self.folder / "pages" / "compare.html").exists())

    def test_a_later_run_of_a_process_is_as_in_a_fresh_one(self):
        (last,) = (self.folder / "runs").glob("equal-*/seed-1")
        fresh = self.folder / "fresh"
        arguments = ("--method=equal", "--seed=1", f"--run_dir={fresh}", *SMALL)
        done = command("train", *arguments, "--verbosity=-1")
        self.assertEqual(done.returncode, 0, done.stderr)
        after, alone = runs.read([last, fresh])
        for column in TOLD:
            self.assertEqual(
                after.column(column).tobytes(), alone.column(column).tobytes(), column
            )

    def test_an_epoch_without_evaluation_can_be_read(self):
        (path,) = (self.folder / "runs").glob("latent-*/seed-0")
        (run,) = runs.read([path])
        self.assertEqual(run.best["epoch"], 2)
        self.assertNotEqual(run.rows[0]["test_accuracy"], run.rows[0]["test_accuracy"])
        self.assertEqual(run.rows[0]["evaluation_seconds"], 0)

    def test_what_is_done_is_not_done_again(self):
        before = (self.folder / "pages" / "results.csv").read_text("utf-8")
        again = command("compare", *self.arguments)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("0 of 4 runs to make", again.stderr)
        after = (self.folder / "pages" / "results.csv").read_text("utf-8")
        self.assertEqual(before, after)

    def test_pages_need_no_runs_and_the_plan_is_a_study(self):
        folder = pathlib.Path(self.create_tempdir().full_path)
        shutil.copy(self.folder / "pages" / "study.json", folder / "small.json")
        (folder / "small").mkdir()
        shutil.copy(self.folder / "pages" / "results.csv", folder / "small")
        done = command(
            "compare",
            f"--study={folder / 'small.json'}",
            f"--runs_dir={folder / 'none'}",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse((folder / "none").exists())
        for name in ("compare.md", "compare.html"):
            self.assertEqual(
                (folder / "small" / name).read_bytes(),
                (self.folder / "pages" / name).read_bytes(),
            )

    def test_a_run_that_fails_is_told_by_the_exit_code(self):
        folder = pathlib.Path(self.create_tempdir().full_path)
        block = {"method": "baseline", "limit_train": [5, 80]}
        plan = {
            "fixed": {
                "dataset": "digits",
                "model": "wrn_10_1",
                "batch_size": 16,
                "epochs": 1,
                "evaluate_every": 0,
                "strategy": "none",
            },
            "seeds": 1,
            "settings": [block],
        }
        (folder / "s.json").write_text(json.dumps(plan))
        done = command(
            "compare", f"--study={folder / 's.json'}", f"--runs_dir={folder / 'runs'}"
        )
        self.assertEqual(done.returncode, 1)
        (line,) = (x for x in done.stderr.splitlines() if x.startswith("failed: "))
        self.assertIn("baseline, limit_train=5, seed 0: --limit_train=5 is less", line)
        self.assertIn("1 of 2 runs", (folder / "s" / "compare.md").read_text("utf-8"))


if __name__ == "__main__":
    absltest.main()
