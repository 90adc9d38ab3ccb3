"""On a GPU no step that makes its own views leaves anything to the host.

Read from TensorFlow's kernel registry: see `tests/kernels.py`.
"""

import tensorflow as tf
from absl.testing import parameterized
from tensorflow import keras

import models
from la_tf import methods
from la_tf.config import TrainConfig
from la_tf.data.views import ViewMaker
from la_tf.model import LatentAugment
from tests import kernels

CLASSES = 10
# As many views as the paper's batches have: what is small here is small there.
BATCH = 128


# Every family of networks and every option, each in one step at least.
STEPS = {
    "plain": {"network": "wrn_10_1"},
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
    # Three operations, and a replica of two.
    "half_of_a_batch": {
        "network": "wrn_10_1",
        "method": "randaugment",
        "e_step": "separate",
        "own_images": BATCH // 2,
    },
}


def _specification(num_views, cropped, own_images):
    views = [num_views] if cropped else []
    parts = (
        tf.TensorSpec([BATCH, *views, 32, 32, 3], tf.uint8),
        tf.TensorSpec([BATCH], tf.int32),
        tf.TensorSpec([BATCH, 2], tf.int32),
    )
    return (*parts, tf.TensorSpec([own_images], tf.int64)) if own_images else parts


def _step(
    network,
    num_views=6,
    half=False,
    cropped=False,
    own_images=None,
    final="cutmix",
    method="latent",
    transforms="latentaugment",
    **options,
):
    """A traced training step that makes its views on the device."""
    keras.mixed_precision.set_global_policy("mixed_float16" if half else "float32")
    maker = ViewMaker(
        CLASSES,
        num_views,
        final=final,
        drawing=methods.rule(TrainConfig(method=method, transforms=transforms)),
        keep_early=options.get("e_step") == "separate",
        on_host=False,
    )
    augment = maker.from_base_views if cropped else maker.from_images
    classifier = models.build(network, (32, 32, 3), CLASSES)
    model = LatentAugment(classifier, augment=augment, **options)
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True))
    model.optimizer.build(model.trainable_variables)
    step = tf.function(lambda *data: model.train_step(data))
    parts = _specification(num_views, cropped, own_images)
    return step.get_concrete_function(*parts)


class StepsTest(tf.test.TestCase, parameterized.TestCase):
    def tearDown(self):
        keras.mixed_precision.set_global_policy("float32")
        super().tearDown()

    def assert_all_on_the_device(self, network, **options):
        faults = kernels.left_to_the_host(_step(network, **options))
        listed = [f"{count} x {fault}" for fault, count in faults.most_common()]
        self.assertEmpty(listed, "\n".join(listed))

    @parameterized.parameters(*STEPS)
    def test_all_of_a_step_is_on_the_device(self, name):
        self.assert_all_on_the_device(**STEPS[name])


if __name__ == "__main__":
    tf.test.main()
