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

    def test_host_and_device_to_the_bit(self):
        host = self.rows("--augment_on=host")
        self.assertEqual(self.rows("--augment_on=device"), host)

    def test_compiled_nearly(self):
        # One step: XLA rounds the network's own sums in another way, and what comes of
        # that grows with every further step.
        one_step = ("--epochs=1", "--limit_train=64")
        (host,) = self.rows(*one_step, "--augment_on=host")
        (device,) = self.rows(*one_step, "--augment_on=device", "--jit_compile")
        self.assertEqual(device.keys(), host.keys())
        for name, value in host.items():
            # An answer that hangs in the balance may fall to the other side.
            delta = 1e-3 if "loss" in name else 0.02
            self.assertAlmostEqual(device[name], value, delta=delta, msg=name)

    def test_two_replicas_to_the_bit(self):
        host, device = (
            self.rows(f"--augment_on={place}", *TWO_REPLICAS)
            for place in ("host", "device")
        )
        self.assertEqual(device, host)


if __name__ == "__main__":
    absltest.main()
