"""Every form of the operations gives the same bytes, alone and in chains."""

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from la_tf import ops
from la_tf.ops import compiled, families, operation, words
from tests import helper
from tests.conformance.ops_test import NAMES
from tests.la_tf import policy_test


class FormsTest(tf.test.TestCase):
    def assert_every_form_as_the_layers(self, channels, num_stages):
        images = np.repeat(helper.small_images(2)[:, :20, :, :channels], 10, axis=0)
        count = len(NAMES) * len(images)
        layers = [ops.make(name) for name in NAMES]
        base = tf.constant(np.tile(images, [len(NAMES), 1, 1, 1]))
        index = tf.repeat(tf.range(len(NAMES), dtype=tf.int64), len(images))
        level = tf.tile(tf.range(10, dtype=tf.int64), [count // 10])
        noise = operation.draw_noise([count], [8, 9])
        choices = [layer.parameters(level, noise, 20, 32) for layer in layers]
        parameters = tf.gather(tf.stack(choices, axis=1), index, batch_dims=1)
        partners = (tf.range(count, dtype=tf.int64) + 11) % count
        stage = families.Stage(index, parameters, partners)
        stages = [
            families.Stage(*(tf.roll(column, 23 * place, 0) for column in stage))
            for place in range(num_stages)
        ]
        expected = base.numpy()
        for stage in stages:
            expected = _by_layers(layers, expected, base.numpy(), stage)

        def on_device(pixels):
            view_at = families.by_places(pixels)
            changed = families.Families(layers).run(
                view_at, pixels.shape[1:], stages, channels
            )
            return words.unpack(changed, channels)

        packed = words.pack(base)
        forms = {
            "host": compiled.Program(layers).run(base, stages),
            "device": on_device(packed),
            "device, compiled": tf.function(on_device, jit_compile=True)(packed),
        }
        for form, result in forms.items():
            same = np.all(result == expected, axis=(1, 2, 3))
            wrong = [
                [NAMES[one.index[n]] for one in stages] for n in np.where(~same)[0]
            ]
            self.assertEmpty(wrong, form)

    def test_every_form_gives_the_bytes_of_the_layers(self):
        for channels, num_stages in ((3, 1), (1, 1), (1, 2), (3, 3)):
            with self.subTest(channels=channels, num_stages=num_stages):
                self.assert_every_form_as_the_layers(channels, num_stages)


def _by_layers(layers, images, base, stage):
    """The images after one stage, each layer by itself on the views that take it."""
    changed = images.copy()
    for index, layer in enumerate(layers):
        takes = stage.index.numpy() == index
        partners = base[stage.partners.numpy()[takes]]
        parameters = stage.parameters.numpy()[takes]
        changed[takes] = layer.transform(
            tf.constant(images[takes]), tf.constant(parameters), tf.constant(partners)
        )
    return changed


class PoliciesTest(policy_test.ApplyTestCase, parameterized.TestCase):
    @parameterized.parameters("latentaugment", "autoaugment")
    def test_host_and_device_forms_give_the_same_bytes(self, transforms):
        self.assert_host_as_device(transforms, num_seeds=5)


if __name__ == "__main__":
    tf.test.main()
