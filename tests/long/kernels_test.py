"""On a GPU no step that makes its own views leaves anything to the host.

Every family of networks and every option, each in one step at least. One step alone is
traced by `tests/conformance/kernels_test.py`.
"""

import tensorflow as tf
from absl.testing import parameterized

from tests.conformance import kernels_test

STEPS = {
    "economy": {"network": "wrn_10_1", "half": True, "backward_views": 2},
    "separate": {
        "network": "shake_shake_26_2x2d",
        "half": True,
        "method": "trivialaugment",
        "final": "cutout",
        "e_step": "separate",
    },
    "chunks": {
        "network": "pyramidnet_11_6",
        "transforms": "autoaugment",
        "view_chunk": 2,
    },
    "one_view": {
        "network": "resnet_50",
        "method": "autoaugment",
        "num_views": 1,
        "cropped": True,
    },
}


class StepsTest(kernels_test.StepTestCase, parameterized.TestCase):
    @parameterized.parameters(*STEPS)
    def test_all_of_a_step_is_on_the_device(self, name):
        self.assert_all_on_the_device(**STEPS[name])


if __name__ == "__main__":
    tf.test.main()
