"""A run over two replicas, stopped in the middle, goes on to the bit."""

import os
import subprocess
import sys

from absl.testing import absltest

from tests import helper

# The CPU can be split only before TensorFlow is used: hence a process of its own.
PROGRAM = """
import pathlib, sys
from la_tf import environment
environment.settle()
from tests import runs

root = pathlib.Path(sys.argv[1])
changes = dict(
    limit_train=48, epochs=2, strategy="mirrored", logical_cpus=2, keep=9
)
runs.start(runs.configuration(root / "whole", **changes))
runs.stop(runs.configuration(root / "stopped", **changes), steps=4)
runs.resume(root / "stopped")
print(runs.differences(root / "stopped", root / "whole"))
"""


class ReplicasTest(absltest.TestCase):
    def test_two_replicas(self):
        ended = subprocess.run(
            [sys.executable, "-c", PROGRAM, self.create_tempdir().full_path],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            cwd=helper.ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(ended.stdout.splitlines()[-1], "[]")


if __name__ == "__main__":
    absltest.main()
