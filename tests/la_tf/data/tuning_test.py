"""TensorFlow's tuner of tf.data pipelines: where it is left out."""

from unittest import mock

import tensorflow as tf

import la_tf
from la_tf import environment
from la_tf.data import batches, sources, tuning
from la_tf.data.views import ViewMaker
from tests import helper


def is_tuned(dataset):
    return dataset.options().autotune.enabled is not False


def cores(count):
    return mock.patch.object(environment, "cores", lambda: list(range(count)))


class WithoutTunerTest(tf.test.TestCase):
    def test_it_is_left_out_where_all_cores_are_used_anyway(self):
        dataset = tf.data.Dataset.range(3)
        with cores(16):
            self.assertFalse(is_tuned(tuning.without_tuner(dataset)))
        with cores(17):
            self.assertTrue(is_tuned(tuning.without_tuner(dataset)))

    def test_a_choice_of_the_user_stays(self):
        options = tf.data.Options()
        options.autotune.enabled = True
        dataset = tf.data.Dataset.range(3).with_options(options)
        with cores(2):
            self.assertTrue(is_tuned(tuning.without_tuner(dataset)))

    def test_no_pipeline_of_a_run_waits_for_it(self):
        split = sources.Arrays(*helper.digits(8))
        plan = batches.plan(split, seed=1, batch_size=4, epochs=1)
        maker = ViewMaker(10, num_views=1, operations=False)
        images = tf.data.Dataset.from_tensor_slices((split.images, split.labels))
        with cores(2):
            pipelines = {
                "training": batches.training(split, maker, plan),
                "training on the device": batches.training(
                    split, maker, plan, on_device=True
                ),
                "evaluation": batches.evaluation(split, 4),
                "views": la_tf.make_views(
                    images.batch(4), num_classes=10, num_views=1, operations=False
                ),
            }
            pipelines["with images aside"] = batches.with_aside(
                pipelines["training"], split, plan
            )
        for name, pipeline in pipelines.items():
            with self.subTest(name):
                self.assertFalse(is_tuned(pipeline))


if __name__ == "__main__":
    tf.test.main()
