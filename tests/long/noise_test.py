"""The noise of networks that are traced in several replicas."""

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from la_tf import keras_generation
from tests import helper
from tests.models import noise_test


class ReplicasTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters(("shake_shake", True), ("pyramidnet", False))
    def test_replicas_draw_what_their_seeds_say(self, name, remat):
        """Two replicas, traced in threads, against two runs alone with their seeds."""
        alone = noise_test.one_block(name, (16, 16, 3), 5)
        strategy = tf.distribute.MirroredStrategy(
            ["/cpu:0", "/cpu:1"], tf.distribute.HierarchicalCopyAllReduce()
        )
        with strategy.scope():
            model = noise_test.one_block(name, (16, 16, 3), 5, remat=remat)
        for weight in model.weights:
            variable = keras_generation.tensorflow_variable(weight)
            first, second = strategy.experimental_local_results(variable)
            self.assertAllEqual(first, second)
        model.set_weights(alone.get_weights())
        images = tf.constant(helper.small_images(4, 16))

        def replica():
            context = tf.distribute.get_replica_context()
            number = context.replica_id_in_sync_group
            return noise_test.gradients(model, images, tf.stack([5, number]))

        per_replica = tf.function(lambda: strategy.run(replica))()
        for number in (0, 1):
            expected = noise_test.gradients(alone, images, tf.constant([5, number]))
            largest = max(np.abs(gradient).max() for gradient in expected)
            for ours, theirs in zip(expected, per_replica):
                local = strategy.experimental_local_results(theirs)[number]
                # Rounding alone: other noise would change the first digit.
                self.assertAllClose(ours, local, rtol=0, atol=1e-5 * largest)


if __name__ == "__main__":
    tf.test.main()
