"""A run of several replicas on one machine by the command line."""

import pathlib

from absl.testing import absltest

from tests import runs

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
    def train(self, run_dir, *flags):
        """Train by the command, without a traceback."""
        return runs.by_command(run_dir, *FLAGS, *flags)

    def test_two_replicas_train_evaluate_and_fine_tune(self):
        directory = pathlib.Path(self.create_tempdir().full_path)
        folder = self.train(directory / "run")
        self.assertEqual([row["step"] for row in folder.rows()], [2, 4])
        # Every policy's weight of both replicas is in the prior.
        self.assertEqual(folder.policies().shape, (2, 256))
        for prior in folder.policies():
            self.assertAlmostEqual(float(prior.sum()), 1, places=4)
        # The layers that learn change between the epochs.
        flags = (f"--init_from={folder.path}", "--head_epochs=1")
        tuned = self.train(directory / "tuned", *flags)
        self.assertEqual([row["step"] for row in tuned.rows()], [2, 4])


if __name__ == "__main__":
    absltest.main()
