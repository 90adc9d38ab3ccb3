"""A run's metrics are the same wherever its views are made.

On the host; in the step, plain or compiled; and in each of two replicas.
"""

from absl.testing import absltest

from tests import runs

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


class PlacesTest(absltest.TestCase):
    def rows(self, *flags):
        """The metrics of every epoch of a run, without its clocks."""
        run_dir = self.create_tempdir().full_path + "/run"
        return runs.rows(runs.by_command(run_dir, *FLAGS, *flags).path)

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
