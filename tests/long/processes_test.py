"""Two processes on loopback train as one."""

import json
import os
import sys
import tempfile

import tensorflow as tf

from tests import helper
from tests.long import replicas_test, workers_test


def _run_worker(path):
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    runs = {
        name: replicas_test.train(strategy, **replicas_test.OPTIONS[name])
        for name in ("plain", "stop")
    }
    replicas_test.save(path, runs)


def _worker_runs():
    """What each of two processes has at the end."""
    hosts = [f"127.0.0.1:{port}" for port in workers_test.free_ports(2)]
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, f"{number}.npz") for number in range(2)]
        processes = []
        for worker, path in enumerate(paths):
            task = {"type": "worker", "index": worker}
            config = json.dumps({"cluster": {"worker": hosts}, "task": task})
            processes.append(replicas_test.start(__file__, path, TF_CONFIG=config))
        try:
            for process in processes:
                helper.finish(process)
        finally:
            for process in processes:
                process.kill()
        return [replicas_test.load(path) for path in paths]


class ProcessesTest(replicas_test.SameTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.workers = _worker_runs()
        alone = tf.distribute.get_strategy()
        cls.expected = {
            name: replicas_test.train(alone, **replicas_test.OPTIONS[name])
            for name in ("plain", "stop")
        }

    def test_two_processes_train_as_one(self):
        for worker in self.workers:
            self.assert_same(self.expected["plain"], worker["plain"])
        one, other = (worker["plain"]["prior"] for worker in self.workers)
        self.assertAllEqual(one, other)

    def test_broken_view_of_one_process_stops_both(self):
        expected = self.expected["stop"]
        for worker in self.workers:
            self.assertEqual(worker["stop"]["failure"], expected["failure"])
            self.assert_same(expected, worker["stop"])


if __name__ == "__main__":
    if replicas_test.PROGRAM in os.environ:
        _run_worker(sys.argv[1])
    else:
        tf.test.main()
