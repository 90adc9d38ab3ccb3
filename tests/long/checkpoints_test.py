"""A run whose files are lost or damaged goes on as if they were not."""

import shutil
from unittest import mock

import tensorflow as tf

from tests.la_tf.run import checkpoints_test


class RunTest(checkpoints_test.RunTestCase):
    def test_lost_files_are_written_anew_from_the_last_whole_checkpoint(self):
        # That one is of the middle of an epoch.
        run_dir = self.copy(last_step=10)
        path = run_dir / "checkpoints" / "step-10.data-00000-of-00001"
        path.write_bytes(path.read_bytes()[:-9])
        (run_dir / "metrics.csv").unlink()
        (run_dir / "policy.npz").write_bytes(b"garbage")
        (run_dir / "checkpoints" / "checkpoint").write_bytes(b"\xff\0garbage")
        shutil.rmtree(run_dir / "checkpoints" / "best")
        with mock.patch("sys.stderr.write") as told:
            self.resume(run_dir)
        words = "".join(call.args[0] for call in told.call_args_list)
        self.assertRegex(words, "step-10 is damaged; going on from step-7")
        self.assert_like_the_whole(run_dir)


if __name__ == "__main__":
    tf.test.main()
