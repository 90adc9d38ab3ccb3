"""The rivals' layers give the same in a pipeline, alone and in a model."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

from la_tf import layers
from tests.la_tf import layers_test


class LayersTest(tf.test.TestCase):
    def test_in_a_dataset_and_in_a_model(self):
        images = layers_test._images()
        host, device = layers.RandAugment(2, 9), layers.RandAugment(2, 9, on_host=False)
        both = np.concatenate([images, images[::-1]])
        data = tf.data.Dataset.from_tensor_slices(both).batch(layers_test.COUNT)
        own_draws = data.map(host).element_spec
        self.assertEqual(own_draws.shape[1:], [16, 16, 3])
        self.assertEqual(own_draws.dtype, tf.uint8)
        seeds = tf.data.Dataset.range(9).map(lambda step: tf.stack([step, 7]))
        data = tf.data.Dataset.zip((data, seeds)).map(host.apply, num_parallel_calls=2)
        for step, (given, changed) in enumerate(zip((images, images[::-1]), data)):
            again = device.apply(given, [step, 7])
            self.assertAllEqual(changed, again)
        model = keras.Sequential(
            [
                keras.Input([layers_test.SIZE, layers_test.SIZE, 3]),
                device,
                keras.layers.Rescaling(1 / 255),
            ]
        )
        # Nothing is changed where nothing is trained.
        values = images.astype(np.float32)
        self.assertAllClose(model(values, training=False), values / 255)
        self.assertNotAllClose(model(values, training=True), values / 255)


if __name__ == "__main__":
    tf.test.main()
