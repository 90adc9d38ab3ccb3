"""TF_CONFIG: what it may say, and waiting for machines that never come."""

import json
import os
import signal
import subprocess
import sys
from unittest import mock

from absl.testing import absltest

from la_tf.errors import UserError
from la_tf.run import cluster
from tests import helper

# Waits for a worker that never comes, with the times cut short.
WAITER = """
import ctypes
from la_tf.run import cluster
cluster.SAY_AFTER, cluster.GIVE_UP_AFTER = 0.1, 0.5
with cluster.waiting():
    # As TensorFlow does: it holds Python's lock.
    ctypes.PyDLL(None).sleep(60)
"""


def config(workers, index=0, job="worker", **more):
    return {
        "cluster": {"worker": workers, **more},
        "task": {"type": job, "index": index},
    }


MALFORMED = (
    "no json",
    "[]",
    '{"cluster": []}',
    config([]),
    config("a:1"),
    config(["a"]),
    config(["a:b"]),
    config(["http://a:1"]),
    config([7]),
    config(["a:1", "a:1"]),
    config(["a:1"], chief=["b:1", "c:1"], job="chief"),
    config(["a:1"], ps=["b:1"]),
    config(["a:1"], index=1),
    config(["a:1"], index=-1),
    config(["a:1"], index="0"),
    config(["a:1"], index=True),
    config(["a:1"], job="evaluator"),
    {"cluster": {"worker": ["a:1"]}},
    {"cluster": {"worker": ["a:1"]}, "task": "worker"},
)


def settings(value):
    text = value if isinstance(value, str) else json.dumps(value)
    return mock.patch.dict(os.environ, TF_CONFIG=text)


class ConfigTest(absltest.TestCase):
    def test_without_it_this_process_is_alone(self):
        for value in ("", "{}"):
            with settings(value):
                self.assertEqual((cluster.workers(), cluster.rank()), (1, 0))

    def test_workers_alone(self):
        with settings(config(["a:1", "b:2"], index=1)):
            self.assertEqual(cluster.addresses(), ["a:1", "b:2"])
            self.assertEqual((cluster.rank(), cluster.is_chief()), (1, False))

    def test_a_chief_comes_before_the_workers(self):
        with settings(config(["b:2", "[::1]:3"], index=1, chief=["a:1"])):
            self.assertEqual(cluster.addresses(), ["a:1", "b:2", "[::1]:3"])
            self.assertEqual((cluster.rank(), cluster.workers()), (2, 3))
        with settings(config(["b:2"], job="chief", chief=["a:1"])):
            self.assertTrue(cluster.is_chief())

    def test_what_is_malformed_is_told(self):
        for value in MALFORMED:
            with (
                self.subTest(value),
                settings(value),
                self.assertRaisesRegex(UserError, "TF_CONFIG.*unset it"),
            ):
                cluster.rank()


class WaitingTest(absltest.TestCase):
    def test_a_worker_that_never_comes_is_named_and_given_up(self):
        # Nobody listens at port 1 of this machine.
        value = config(["127.0.0.1:2", "127.0.0.1:1"])
        ended = subprocess.run(
            [sys.executable, "-c", WAITER],
            env={**os.environ, "TF_CONFIG": json.dumps(value)},
            cwd=helper.ROOT,
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )
        self.assertEqual(ended.returncode, -signal.SIGKILL)
        said = ended.stderr.splitlines()
        self.assertLen(said, 2)
        self.assertEqual(said[0], "waiting for 127.0.0.1:1 ...")
        self.assertRegex(said[1], "error: gave up after .* for 127.0.0.1:1; start")

    def test_who_was_lost(self):
        with settings(config(["a:1", "b:2", "c:3"], index=1)):
            with mock.patch.object(
                cluster, "answers", lambda address: address != "c:3"
            ):
                self.assertEqual(cluster.lost("whatever"), "c:3")
            # A machine that hangs still takes connections.
            with mock.patch.object(cluster, "answers", lambda address: True):
                error = (
                    "from /job:worker/replica:0/task:0 to /job:worker/replica:0/task:1"
                )
                self.assertEqual(cluster.lost(error), "a:1")
                self.assertEqual(cluster.lost("whatever"), "another worker")


if __name__ == "__main__":
    absltest.main()
