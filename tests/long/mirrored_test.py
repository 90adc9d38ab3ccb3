"""A run of several replicas on one machine by the command line."""

import os
import pathlib
import subprocess
import sys

from absl.testing import absltest

from la_tf.run import folder as run_folder

FLAGS = (
    "--model=wrn_10_1",
    "--limit_train=40",
    "--batch_size=16",
    "--num_views=2",
    "--epochs=2",
    "--strategy=mirrored",
    "--logical_cpus=2",
)


class MirroredRunTest(absltest.TestCase):
    def test_two_replicas_train_and_evaluate(self):
        run_dir = pathlib.Path(self.create_tempdir().full_path) / "run"
        done = subprocess.run(
            [sys.executable, "-m", "la_tf.train", *FLAGS, f"--run_dir={run_dir}"],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        folder = run_folder.RunFolder(run_dir)
        self.assertEqual([row["step"] for row in folder.rows()], [2, 4])
        # Every policy's weight of both replicas is in the prior.
        self.assertEqual(folder.policies().shape, (2, 256))
        for prior in folder.policies():
            self.assertAlmostEqual(float(prior.sum()), 1, places=4)


if __name__ == "__main__":
    absltest.main()
