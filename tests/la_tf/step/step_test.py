"""Chunks, economy and the separate E-step against the plain step and by themselves."""

import contextlib
import functools
from unittest import mock

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from tensorflow import keras

from la_tf import em
from la_tf.model import LatentAugment
from la_tf.step import moving_averages, passes
from models import noise

POLICIES = 16
CLASSES = 5


class Noisy(keras.layers.Layer):
    """Multiplies every example by a number of its own, as Shake-Shake would."""

    noise_scope = staticmethod(noise.scope)

    def call(self, inputs, training=None):
        if not training:
            return inputs
        numbers = noise.current().draw(7, tf.shape(inputs)[0], 1)
        return inputs * (0.5 + numbers[:, :, None, None])


def _classifier(noisy=True):
    """A convolutional network without BatchNorm, the same every time."""
    make = keras.initializers.HeNormal
    return keras.Sequential(
        [
            keras.Input([6, 6, 1]),
            keras.layers.Rescaling(1 / 128, -1),
            keras.layers.Conv2D(4, 3, activation="relu", kernel_initializer=make(1)),
            Noisy() if noisy else keras.layers.Activation("linear"),
            keras.layers.Flatten(),
            keras.layers.Dense(CLASSES, kernel_initializer=make(2)),
        ]
    )


def _batch(images=5, views=6, seed=0):
    generator = np.random.default_rng(seed)
    pixels = generator.integers(0, 256, [images, views, 6, 6, 1])
    # Mixed labels, as MixUp and CutMix make them.
    labels = generator.dirichlet(np.full(CLASSES, 0.3), [images, views])
    policies = [generator.choice(POLICIES, views, False) for _ in range(images)]
    return (
        tf.constant(pixels, tf.uint8),
        tf.constant(labels, tf.float32),
        tf.constant(np.array(policies), tf.int32),
    )


def _step(batch, steps=1, run_eagerly=True, noisy=True, sigma=0.3, **options):
    """The weights after plain steps of length 1, the logs, and the prior."""
    model = LatentAugment(_classifier(noisy), POLICIES, sigma, **options)
    model.compile(keras.optimizers.SGD(1.0), run_eagerly=run_eagerly)
    dataset = tf.data.Dataset.from_tensors(batch).repeat(steps)
    history = model.fit(dataset, verbose=0).history
    return model.classifier.get_weights(), history, model.prior.probabilities.numpy()


def _distance(weights, others):
    return np.sqrt(sum(np.sum((a - b) ** 2) for a, b in zip(weights, others)))


class ChunksTest(tf.test.TestCase, parameterized.TestCase):
    @staticmethod
    @functools.cache
    def plain():
        return _step(_batch(), steps=2)

    @parameterized.parameters(
        (1, True), (2, True), (4, False), (5, True), (6, True), (7, True)
    )
    def test_same_step_as_in_one_piece(self, chunk, run_eagerly):
        plain = self.plain()
        chunked = _step(_batch(), 2, run_eagerly, view_chunk=chunk)
        for one, other in zip(plain[0], chunked[0]):
            self.assertAllClose(one, other, rtol=1e-5, atol=2e-6)
        self.assertAllClose(plain[1], chunked[1], rtol=1e-5)
        self.assertAllClose(plain[2], chunked[2], rtol=1e-5)


class SeparateTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters({}, {"view_chunk": 2}, {"ubs_select": 2})
    def test_weights_from_early_views_and_loss_from_late_ones(self, **options):
        views, labels, policies = _batch(seed=0)
        early_views, early_labels, _ = _batch(seed=1)
        batch = views, labels, policies, early_views, early_labels
        weights, history, prior = _step(batch, e_step="separate", **options)
        # What weighs the early views alone gives their share; the prior takes it.
        _, _, early_prior = _step((early_views, early_labels, policies), **options)
        self.assertAllClose(prior, early_prior, rtol=1e-6)
        # With both the same there is nothing that sets it apart from the plain step.
        same = views, labels, policies, views, labels
        plain, separate = (
            _step(same[:3], **options),
            _step(same, e_step="separate", **options),
        )
        for one, other in zip(plain[0], separate[0]):
            self.assertAllClose(one, other, rtol=1e-5, atol=1e-6)
        self.assertNotAllClose(weights[0], plain[0][0])
        self.assertNotAllClose(history["loss"], separate[1]["loss"])


class EconomyTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters(1, 2, 3, 5)
    def test_draws_are_unbiased(self, count):
        weights = tf.constant([[0.05, 0.4, 0.1, 0.25, 0.2]])
        start = tf.random.stateless_uniform([20000, 1], [1, 2])
        chosen = passes.draw_views(tf.repeat(weights, 20000, 0), count, start)
        self.assertAllInRange(chosen, 0, 4)
        shares = tf.reduce_mean(tf.one_hot(chosen, 5), [0, 1])
        # A share's standard error is at most 0.5 / sqrt(20000) = 0.0035.
        self.assertAllClose(shares, weights[0], atol=0.011)

    def test_views_are_drawn_once_where_that_can_be(self):
        weights = tf.repeat([[0.3, 0.1, 0.32, 0.28]], 500, 0)
        start = tf.random.stateless_uniform([500, 1], [5, 6])
        chosen = np.sort(passes.draw_views(weights, 3, start), -1)
        self.assertAllGreater(np.diff(chosen, axis=-1), 0)

    def test_all_weight_on_one_view(self):
        weights = tf.constant([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
        chosen = passes.draw_views(weights, 2, tf.constant([[0.0], [0.5], [0.99]]))
        self.assertAllEqual(chosen, [[1, 1], [2, 2], [0, 0]])

    @parameterized.parameters(1, 2)
    def test_gradient_is_unbiased(self, count):
        # 16,000 copies of two images, each with draws of its own: the gradient of one
        # step is the mean over 16,000 draws, and its standard error 0.012 of its size.
        batch = _batch(images=2, views=4)
        many = tuple(tf.repeat(part, 16000, 0) for part in batch)
        exact, _, exact_prior = _step(batch, noisy=False)
        drawn, _, drawn_prior = _step(many, noisy=False, backward_views=count)
        even, _, _ = _step(batch, noisy=False, sigma=np.inf)
        size = _distance(exact, _classifier(False).get_weights())
        self.assertLess(_distance(exact, drawn), 0.036 * size)
        # Views drawn evenly would be far outside of that.
        self.assertGreater(_distance(exact, even), 0.15 * size)
        # The prior takes the weights of all views, drawn or not.
        self.assertAllClose(exact_prior, drawn_prior, rtol=1e-4)

    @parameterized.parameters({}, {"view_chunk": 1})
    def test_drawn_views_keep_their_noise(self, **options):
        # All weight is on one view of each image, so that it is drawn for certain.
        plain = _step(_batch(), sigma=0.0)
        drawn = _step(_batch(), sigma=0.0, backward_views=2, **options)
        for one, other in zip(plain[0], drawn[0]):
            self.assertAllClose(one, other, rtol=1e-5, atol=1e-6)

    def test_draws_repeat_with_the_seed_and_change_with_the_step(self):
        def losses(seed):
            model = LatentAugment(
                _classifier(False), POLICIES, backward_views=1, prior="fixed", seed=seed
            )
            model.compile(keras.optimizers.SGD(0.0), run_eagerly=True)
            dataset = tf.data.Dataset.from_tensors(_batch())
            return model.fit(dataset, epochs=3, verbose=0).history["loss"]

        first = losses(0)
        self.assertEqual(first, losses(0))
        self.assertLen(set(first), 3)
        self.assertNotEqual(first, losses(1))


class MovingAveragesTest(tf.test.TestCase):
    def test_chunks_of_unequal_size_count_by_their_size(self):
        layer = keras.layers.BatchNormalization()
        layer.build([None, 2])
        averages = moving_averages.MovingAverages(layer)
        passes_values = [
            [tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])],
            [tf.constant([7.0, 8.0]), tf.constant([9.0, 10.0])],
        ]
        averages.average(passes_values, sizes=[4, 2])
        # Two thirds of the first and a third of the second.
        self.assertAllClose(layer.moving_mean, [3.0, 4.0])
        self.assertAllClose(layer.moving_variance, [5.0, 6.0])

    def test_the_step_counts_a_smaller_last_chunk_by_its_size(self):
        images, labels, policies = _batch(views=3)
        classifier = keras.Sequential(
            [
                keras.Input([6, 6, 1]),
                keras.layers.BatchNormalization(momentum=0.0),
                keras.layers.Flatten(),
                keras.layers.Dense(CLASSES),
            ]
        )
        model = LatentAugment(classifier, POLICIES, view_chunk=2)
        model.compile("sgd", run_eagerly=True)
        model.fit(tf.data.Dataset.from_tensors((images, labels, policies)), verbose=0)
        # With a momentum of 0 the average is the mean of the last step's pixels.
        moved = classifier.layers[0].moving_mean.numpy()
        self.assertAllClose(moved, [np.mean(images)], rtol=1e-5)


class EquationsTest(tf.test.TestCase):
    def test_the_step_runs_the_equations_of_em(self):
        names = ("posterior", "softmin", "expected_loss", "policy_sums", "shares")
        with contextlib.ExitStack() as stack:
            spies = {
                name: stack.enter_context(
                    mock.patch.object(em, name, wraps=getattr(em, name))
                )
                for name in names
            }
            _step(_batch())
        for name, spy in spies.items():
            with self.subTest(name):
                spy.assert_called()


if __name__ == "__main__":
    tf.test.main()
