"""Running a study: who trains what, what a failure leaves, and what is told."""

import os
import pathlib
import sys
import threading
from unittest import mock

import numpy as np
from absl.testing import absltest

from la_tf import environment
from la_tf.compare import results, runner, study, workers
from la_tf.config import TrainConfig
from la_tf.errors import UserError
from la_tf.run.folder import RunFolder

# Stands for the process that trains: says what it was asked and with what cores, and
# dies of the seed 13.
STUB = """
import json, os, signal, sys
for line in sys.stdin:
    task = json.loads(line)
    if task["config"]["seed"] == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    told = {"pid": os.getpid(), "cores": json.loads(sys.argv[1])}
    told["threads"] = os.environ["TF_NUM_INTRAOP_THREADS"]
    told["gpus"] = os.environ.get("CUDA_VISIBLE_DEVICES")
    print(json.dumps(told), flush=True)
"""


def finish(config, accuracy):
    """Write a run folder as a finished run leaves it."""
    folder = RunFolder(config.run_dir)
    record = {
        "config": config.values(),
        "origins": {},
        "versions": {"la_tf": "1", "tensorflow": "2"},
        "data": {"train_images": 10, "test_images": 20},
    }
    summary = {"last_accuracy": accuracy, "last_top_5": 1.0, "seconds": 2.5}
    names = ("epoch", "step", "skipped_steps", "seconds")
    rows = [dict(zip(names, row)) for row in ((1, 2, 0, 9), (2, 4, 0, 3), (3, 6, 1, 1))]
    folder.write_record(record)
    folder.write_history(rows, np.full([3, 256], 1 / 256, np.float32), ["unused"])
    folder.write_summary(summary)


class FakeWorker:
    """Finishes runs at once; the method "ubs" fails."""

    cores = (0, 1, 2, 3)
    log_path = "worker-0.log"

    def __init__(self):
        self.closed = False

    def ask(self, config):
        if config.method == "ubs":
            return {"error": "no such luck"}
        finish(config, 0.5 + config.seed / 10)
        return {}

    def close(self):
        self.closed = True


class SlowWorker(FakeWorker):
    """Trains until it is told to stop."""

    def __init__(self):
        super().__init__()
        self.asked = 0
        self._stopped = threading.Event()

    def ask(self, config):
        self.asked += 1
        self._stopped.wait()
        return {"stopped": True}

    def stop(self):
        self._stopped.set()


class RunTest(absltest.TestCase):
    def setUp(self):
        super().setUp()
        self.runs_dir = self.create_tempdir().full_path
        self.study = study.make(
            {
                "fixed": {"dataset": "digits", "batch_size": 10, "num_views": 3},
                "settings": [{"method": ["latent", "ubs", "equal"]}],
                "seeds": 2,
            }
        )

    def run_all(self, team):
        found, lines = {}, []
        failed = runner.run(
            runner.pending(self.study, {}),
            team,
            self.runs_dir,
            on_result=lambda result: found.setdefault(result.key, result),
            say=lines.append,
        )
        return found, failed, lines

    def test_a_failed_run_is_named_and_the_rest_goes_on(self):
        team = [FakeWorker(), FakeWorker()]
        found, failed, lines = self.run_all(team)
        self.assertLen(found, 4)
        names = sorted(task.name for task, _ in failed)
        self.assertEqual(
            names, [f"digits with wrn_16_1: ubs, seed {seed}" for seed in (0, 1)]
        )
        self.assertLen(lines, 6)
        self.assertLen([line for line in lines if "FAILED: no such luck" in line], 2)
        self.assertTrue(all(worker.closed for worker in team))

    def test_an_interruption_stops_what_runs_and_begins_nothing_new(self):
        slow = SlowWorker()
        quick = FakeWorker()
        quick.stop = lambda: None

        def interrupt(result):
            raise KeyboardInterrupt

        tasks = runner.pending(self.study, {})
        with self.assertRaises(KeyboardInterrupt):
            runner.run(tasks, [slow, quick], self.runs_dir, interrupt, print)
        self.assertEqual(slow.asked, 1)
        self.assertTrue(slow.closed and quick.closed)

    def test_a_result_is_the_last_epoch_s(self):
        found, _, _ = self.run_all([FakeWorker()])
        result = found[self.study.settings[0].fingerprint, 1]
        self.assertEqual((result.accuracy, result.seconds), (0.6, 2.5))
        # Six steps of ten images with three views, one of which was skipped.
        self.assertEqual((result.views, result.updates), (180, 5))
        # The median epoch took 3 s for two steps.
        self.assertEqual(result.step_seconds, 1.5)
        self.assertEqual((result.train_images, result.test_images), (10, 20))
        self.assertEqual(result.cores, 4)

    def test_finished_folders_are_taken_up(self):
        setting = self.study.settings[0]
        finish(setting.run(0, self.runs_dir), 0.7)
        found = runner.collect(self.study, {}, self.runs_dir)
        self.assertEqual(found[setting.fingerprint, 0].accuracy, 0.7)
        self.assertLen(runner.pending(self.study, found), 5)

    def test_a_folder_of_another_configuration_does_not_count(self):
        setting = self.study.settings[0]
        config = setting.run(0, self.runs_dir)
        finish(TrainConfig(dataset="digits", run_dir=config.run_dir), 0.7)
        self.assertEqual(runner.collect(self.study, {}, self.runs_dir), {})
        self.assertIsNone(results.of_run(setting, 0, config.run_dir, 1))

    def test_a_folder_of_another_seed_does_not_count(self):
        setting = self.study.settings[0]
        config = setting.run(0, self.runs_dir)
        finish(config, 0.7)
        self.assertIsNone(results.of_run(setting, 1, config.run_dir, 1))

    def test_an_unfinished_folder_does_not_count(self):
        config = self.study.settings[0].run(0, self.runs_dir)
        finish(config, 0.7)
        (pathlib.Path(config.run_dir) / "summary.json").unlink()
        self.assertEqual(runner.collect(self.study, {}, self.runs_dir), {})


class WorkersTest(absltest.TestCase):
    def setUp(self):
        super().setUp()
        command = (sys.executable, "-c", STUB)
        self.enter_context(mock.patch.object(workers, "_COMMAND", command))
        cores = mock.patch.object(environment, "cores", lambda: [2, 3, 5, 7])
        self.enter_context(cores)
        self.folder = self.create_tempdir().full_path

    def team(self, jobs, gpus=None):
        changes = {} if gpus is None else {"CUDA_VISIBLE_DEVICES": gpus}
        with mock.patch.dict(os.environ, changes):
            if gpus is None:
                os.environ.pop("CUDA_VISIBLE_DEVICES", None)
            team = workers.make(jobs, self.folder)
        for worker in team:
            self.addCleanup(worker.close)
        return team

    def test_cores_are_shared_out(self):
        answers = [worker.ask(TrainConfig()) for worker in self.team(2)]
        self.assertEqual([a["cores"] for a in answers], [[2, 3], [5, 7]])
        self.assertEqual([a["threads"] for a in answers], ["2", "2"])
        self.assertNotEqual(answers[0]["pid"], answers[1]["pid"])

    def test_gpus_are_shared_out(self):
        answers = [worker.ask(TrainConfig()) for worker in self.team(2, "0,1,3")]
        self.assertEqual([a["gpus"] for a in answers], ["0,1", "3"])

    def test_more_jobs_than_cores_or_gpus_are_refused(self):
        with self.assertRaisesRegex(UserError, "choose at most 4"):
            self.team(5)
        with self.assertRaisesRegex(UserError, "choose at most 1"):
            self.team(2, "0")

    def test_one_process_trains_one_run_after_another(self):
        (worker,) = self.team(1)
        first, second = (worker.ask(TrainConfig(seed=seed))["pid"] for seed in (0, 1))
        self.assertEqual(first, second)

    def test_what_is_settled_once_in_a_process_takes_a_new_one(self):
        (worker,) = self.team(1)
        first = worker.ask(TrainConfig())["pid"]
        second = worker.ask(TrainConfig(deterministic=True))["pid"]
        self.assertNotEqual(first, second)

    def test_a_process_that_dies_is_told_and_followed_by_another(self):
        (worker,) = self.team(1)
        answer = worker.ask(TrainConfig(seed=13))
        self.assertIn("SIGKILL, perhaps for want of memory", answer["error"])
        self.assertIn("pid", worker.ask(TrainConfig(seed=14)))


class SharesTest(absltest.TestCase):
    def test_by_hand(self):
        self.assertEqual(workers.shares([1, 2, 3], 2), [[1, 2], [3]])
        self.assertEqual(workers.shares([1, 2], 2), [[1], [2]])
        self.assertIsNone(workers.shares([1], 2))


if __name__ == "__main__":
    absltest.main()
