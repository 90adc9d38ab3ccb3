"""A run of several machines by the command line: two processes on loopback."""

import json
import pathlib
import signal
import socket
import subprocess
import sys

from absl.testing import absltest

from la_tf.run import folder as run_folder
from tests import helper

FLAGS = (
    "--model=wrn_10_1",
    # Two processes' views are batches_test's and their prior replicas_test's matter.
    "--method=baseline",
    "--final=none",
    "--limit_train=80",
    "--batch_size=16",
    "--epochs=2",
    "--strategy=multiworker",
)
TRAIN = (sys.executable, "-m", "la_tf.train")


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def start_workers(run_dir, *flags, programs=(TRAIN, TRAIN)):
    """The two running processes of a cluster; the first is the chief."""
    addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
    processes = []
    for index, program in enumerate(programs):
        task = {"type": "worker", "index": index}
        cluster = {"cluster": {"worker": addresses}, "task": task}
        processes.append(
            subprocess.Popen(
                [*program, *FLAGS, *flags, f"--run_dir={run_dir}"],
                env=helper.environment(TF_CONFIG=json.dumps(cluster)),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    return processes


class DistributedRunTest(absltest.TestCase):
    def test_a_lost_worker_ends_the_run_which_then_goes_on(self):
        run_dir = pathlib.Path(self.create_tempdir().full_path) / "run"
        # Five steps an epoch: the worker is lost in the second.
        chief, worker = start_workers(
            run_dir, programs=(TRAIN, helper.killed_training(7))
        )
        worker.communicate(timeout=helper.PATIENCE)
        self.assertEqual(worker.returncode, -signal.SIGKILL)
        _, words = chief.communicate(timeout=helper.PATIENCE)
        self.assertEqual(chief.returncode, 2, words)
        self.assertRegex(
            words.splitlines()[-1], r"127\.0\.0\.1:\d+ was lost after step"
        )
        self.assertNotIn("Traceback", words)

        chief, worker = start_workers(run_dir, "--resume")
        said, words = chief.communicate(timeout=helper.PATIENCE)
        self.assertEqual(chief.returncode, 0, words)
        self.assertIn("test accuracy", said)
        self.assertEqual(worker.communicate(timeout=helper.PATIENCE)[0], "")
        self.assertEqual(worker.returncode, 0)
        rows = run_folder.RunFolder(run_dir).rows()
        self.assertEqual([row["epoch"] for row in rows], [1, 2])
        self.assertEqual([row["step"] for row in rows], [5, 10])


if __name__ == "__main__":
    absltest.main()
