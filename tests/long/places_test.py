"""A run's metrics are the same wherever its views are made.

On the host; in the step, plain or compiled; and in each of two replicas.
"""

import subprocess
import sys

from absl.testing import absltest

from la_tf.run import folder as run_folder
from tests import helper

FLAGS = (
    "--dataset=digits",
    "--model=wrn_10_1",
    "--epochs=2",
    "--limit_train=256",
    "--batch_size=64",
    "--num_views=3",
    "--deterministic",
    "--verbosity=-1",
)
TWO_REPLICAS = ("--strategy=mirrored", "--logical_cpus=2")
CLOCKS = {"seconds", "evaluation_seconds", "saving_seconds", "images_per_second"}


class PlacesTest(absltest.TestCase):
    def rows(self, *flags):
        """The metrics of every epoch of a run, without its clocks."""
        run_dir = self.create_tempdir().full_path + "/run"
        done = subprocess.run(
            [
                *(sys.executable, "-m", "la_tf.train", *FLAGS, *flags),
                f"--run_dir={run_dir}",
            ],
            env=helper.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return [
            {name: value for name, value in row.items() if name not in CLOCKS}
            for row in run_folder.RunFolder(run_dir).rows()
        ]

    def assert_near(self, rows, others):
        """Losses to a thousandth, and as many right but for two in a hundred.

        A loss moves with the rounding; an answer that hangs in the balance jumps.
        """
        self.assertEqual([row.keys() for row in rows], [row.keys() for row in others])
        for row, other in zip(rows, others):
            for name, value in row.items():
                delta = 1e-3 if "loss" in name else 0.02
                self.assertAlmostEqual(value, other[name], delta=delta, msg=name)

    def test_host_and_device_to_the_bit_and_compiled_nearly(self):
        host = self.rows("--augment_on=host")
        self.assertEqual(self.rows("--augment_on=device"), host)
        # XLA rounds the network's own sums in another way.
        self.assert_near(self.rows("--augment_on=device", "--jit_compile"), host)

    def test_two_replicas_to_the_bit(self):
        host = self.rows("--augment_on=host", *TWO_REPLICAS)
        self.assertEqual(self.rows("--augment_on=device", *TWO_REPLICAS), host)


if __name__ == "__main__":
    absltest.main()
