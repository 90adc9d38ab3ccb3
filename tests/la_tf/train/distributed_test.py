"""A run of several machines by the command line: two processes on loopback."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import time

from absl.testing import absltest

from la_tf.run import folder as run_folder

FLAGS = (
    "--model=wrn_10_1",
    "--limit_train=80",
    "--batch_size=16",
    "--num_views=2",
    "--epochs=4",
    "--strategy=multiworker",
)


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def start_workers(run_dir, *flags):
    """The two running processes of a cluster; the first is the chief."""
    addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
    processes = []
    for index in range(2):
        task = {"type": "worker", "index": index}
        cluster = {"cluster": {"worker": addresses}, "task": task}
        processes.append(
            subprocess.Popen(
                [sys.executable, "-m", "la_tf.train", *FLAGS, *flags]
                + [f"--run_dir={run_dir}"],
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(sys.path),
                    "TF_CONFIG": json.dumps(cluster),
                },
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    return processes


class DistributedRunTest(absltest.TestCase):
    def test_a_lost_worker_ends_the_run_which_then_goes_on(self):
        run_dir = pathlib.Path(self.create_tempdir().full_path) / "run"
        chief, worker = start_workers(run_dir)
        while not list((run_dir / "checkpoints").glob("step-*.index")):
            self.assertIsNone(chief.poll(), "the run ended before its first epoch did")
            time.sleep(0.02)
        worker.kill()
        worker.communicate()
        _, words = chief.communicate(timeout=120)
        self.assertEqual(chief.returncode, 2, words)
        self.assertRegex(
            words.splitlines()[-1], r"127\.0\.0\.1:\d+ was lost after step"
        )
        self.assertNotIn("Traceback", words)

        chief, worker = start_workers(run_dir, "--resume")
        said, words = chief.communicate(timeout=240)
        self.assertEqual(chief.returncode, 0, words)
        self.assertIn("test accuracy", said)
        self.assertEqual(worker.communicate(timeout=60)[0], "")
        self.assertEqual(worker.returncode, 0)
        rows = run_folder.RunFolder(run_dir).rows()
        self.assertEqual([row["epoch"] for row in rows], [1, 2, 3, 4])
        self.assertEqual([row["step"] for row in rows], [5, 10, 15, 20])


if __name__ == "__main__":
    absltest.main()
