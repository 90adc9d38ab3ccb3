"""Where the views of a run are made, and the reason that its record gives."""

from unittest import mock

import tensorflow as tf
from absl.testing import parameterized

import models
from la_tf.config import TrainConfig
from la_tf.errors import UserError
from la_tf.run import placement


def settled(config, gpus, network="wrn_10_1", side=8, images=128):
    """The place and its reason, as config.json has them."""
    classifier = models.build(network, (side, side, 1), 10)
    devices = mock.patch.object(
        tf.config, "list_physical_devices", return_value=["GPU"] * gpus
    )
    with devices:
        config = placement.settled(config, classifier, images)
    return config.augment_on, config.origins["augment_on"]


class PlacementTest(parameterized.TestCase, tf.test.TestCase):
    def test_without_a_gpu(self):
        self.assertEqual(settled(TrainConfig(), 0), ("host", "auto: there is no GPU"))

    @parameterized.parameters(
        # 6 views of 128 images in a network of 0.33 billion multiplications: about
        # 6 * 128 * 6 * 0.33e9 / 1e13 = 0.15 s, beside 0.002 s for the views.
        ("wrn_40_2", 32, 1, "device", "some 1% "),
        # Sixteen have a sixteenth of it each, and make the same views.
        ("wrn_40_2", 32, 16, "host", "some 1[5-9]% "),
        # A step that takes no time at all.
        ("wrn_10_1", 8, 1, "host", "some [6-9].% "),
    )
    def test_a_gpu_makes_them_where_it_costs_little(
        self, network, side, gpus, place, share
    ):
        found, reason = settled(TrainConfig(), gpus, network, side)
        self.assertEqual(found, place)
        self.assertRegex(reason, f"auto: .*{share}of a step")

    def test_a_data_service_makes_them_elsewhere(self):
        config = TrainConfig(data_service="grpc://elsewhere:5000")
        self.assertEqual(settled(config, 1)[0], "host")

    def test_a_method_that_learns_how_to_draw_makes_them_in_the_step(self):
        config = TrainConfig(method="adversarial")
        self.assertEqual(config.augment_on, "device")
        for values in ({"augment_on": "host"}, {"data_service": "grpc://a:1"}):
            with self.assertRaisesRegex(UserError, "adversarial"):
                TrainConfig(method="adversarial", **values)


if __name__ == "__main__":
    tf.test.main()
