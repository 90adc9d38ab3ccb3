"""Workers that were started with different flags."""

from unittest import mock

import tensorflow as tf

from la_tf.errors import UserError
from la_tf.run import strategies


def check(ours, theirs):
    """Check what one of two workers has, as if the other had said what it has."""
    strategy, said = mock.Mock(num_replicas_in_sync=2), []

    def hear(strategy, own):
        said.append(own)
        return 2 * own

    def add(strategy, own):
        return own + said[0]

    with mock.patch.object(strategies, "worker_count", return_value=2):
        for values, reduce in ((theirs, hear), (ours, add)):
            with mock.patch.object(strategies, "_sum_over_replicas", reduce):
                strategies.check_agreement(strategy, values)


class AgreementTest(tf.test.TestCase):
    def test_the_same_flags(self):
        values = {"seed": 1, "sigma": 0.5, "final": None}
        check(values, dict(values))

    def test_what_differs_is_named(self):
        ours = {"seed": 1, "sigma": 0.5, "epochs": 3}
        theirs = {"seed": 2, "sigma": 0.5, "epochs": "3"}
        with self.assertRaisesRegex(UserError, "do not agree on seed, epochs; start"):
            check(ours, theirs)


if __name__ == "__main__":
    tf.test.main()
