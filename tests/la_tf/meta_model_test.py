"""MetaAugment's step against the published one, which differentiates twice."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

import models
from la_tf.learners import policy_network
from la_tf.learners.sampler import Sampler
from la_tf.meta_model import MetaAugment, with_features
from la_tf.policy import Choice

IMAGES, HELD_OUT, CLASSES = 8, 6, 5
ALPHA = 0.5  # long, so that the look-ahead shows


def _classifier():
    make = keras.initializers.HeNormal
    layers = [
        keras.Input([4]),
        keras.layers.Dense(6, "tanh", kernel_initializer=make(1)),
        keras.layers.BatchNormalization(momentum=0.5),
        keras.layers.Dense(CLASSES, kernel_initializer=make(2)),
    ]
    return keras.Sequential(layers)


def _data(seed=0):
    """Views, labels, policies, (operations, levels), held-out images, their labels."""
    generator = np.random.default_rng(seed)
    operations = generator.integers(0, 14, [IMAGES, 1, 2])
    levels = generator.integers(0, 101, [IMAGES, 1, 2])
    return (
        generator.normal(size=[IMAGES, 1, 4]).astype(np.float32),
        np.eye(CLASSES, dtype=np.float32)[generator.integers(0, 5, [IMAGES, 1])],
        (14 * operations[..., 0] + operations[..., 1]).astype(np.int32),
        np.stack([operations, levels], -1),
        generator.normal(size=[HELD_OUT, 4]).astype(np.float32),
        generator.integers(0, CLASSES, HELD_OUT).astype(np.int32),
    )


def _choice(*parts):
    made = parts[-1]
    return Choice(None, made[..., 0], made[..., 1])


def _model(**options):
    model = MetaAugment(
        _classifier(),
        Sampler(),
        augment=lambda views, labels, policies, _: (views, labels, policies),
        choice=_choice,
        meta_alpha=ALPHA,
        **options,
    )
    # Plain steps of length 1: the difference of the weights is the gradient.
    model.compile(keras.optimizers.SGD(1.0), run_eagerly=True)
    return model


def _logits(weights, inputs, averages=None):
    """The classifier of `_classifier`, and its features, in the weights' own type."""
    kernel, bias, gamma, beta, last_kernel, last_bias = weights
    hidden = tf.tanh(inputs @ kernel + bias)
    mean, variance = averages or tf.nn.moments(hidden, 0)
    features = gamma * (hidden - mean) / tf.sqrt(variance + 1e-3) + beta
    return features @ last_kernel + last_bias, features


def _losses(weights, inputs, labels, averages=None):
    logits, _ = _logits(weights, inputs, averages)
    return tf.nn.softmax_cross_entropy_with_logits(labels, logits)


class _Reference:
    """One step in float64, by a gradient of a gradient."""

    def __init__(self, model, data):
        self.weights, self.averages = (
            [tf.constant(variable.numpy(), tf.float64) for variable in variables]
            for variables in (
                model.classifier.trainable_variables,
                model.classifier.non_trainable_variables,
            )
        )
        self.theta = {
            name: tf.constant(value.numpy(), tf.float64)
            for name, value in model.policy_network.weights.items()
        }
        views, labels, _, made, images, classes = data
        embedding = model.learner.embedding(_choice(made))
        self.embedding = tf.cast(embedding, tf.float64)
        self.inputs = tf.constant(views[:, 0], tf.float64)
        self.labels = tf.constant(labels[:, 0], tf.float64)
        self.held_out = (
            tf.constant(images, tf.float64),
            tf.one_hot(classes, CLASSES, dtype=tf.float64),
        )
        self.features = _logits(self.weights, self.inputs)[1]

    def shares(self, theta):
        raw = policy_network.raw_weights(theta, self.features, self.embedding)
        return raw / tf.reduce_sum(raw)

    def gradient(self, theta):
        """∇_w Σ ŵ ℓ."""
        with tf.GradientTape() as tape:
            tape.watch(self.weights)
            losses = _losses(self.weights, self.inputs, self.labels)
            loss = tf.reduce_sum(self.shares(theta) * losses)
        return tape.gradient(loss, self.weights)

    def ahead(self, theta):
        return [
            weight - ALPHA * gradient
            for weight, gradient in zip(self.weights, self.gradient(theta))
        ]

    def double_gradient(self):
        with tf.GradientTape() as tape:
            tape.watch(self.theta)
            losses = _losses(self.ahead(self.theta), *self.held_out, self.averages)
            loss = tf.reduce_mean(losses)
        return tape.gradient(loss, self.theta)

    def forward_mode_gradient(self):
        ahead = self.ahead(self.theta)
        with tf.GradientTape() as tape:
            tape.watch(ahead)
            loss = tf.reduce_mean(_losses(ahead, *self.held_out, self.averages))
        direction = tape.gradient(loss, ahead)
        with tf.autodiff.ForwardAccumulator(self.weights, direction) as accumulator:
            losses = _losses(self.weights, self.inputs, self.labels)
        return policy_network.look_ahead_gradient(
            self.theta, self.features, self.embedding, accumulator.jvp(losses), ALPHA
        )


class MetaAugmentTest(tf.test.TestCase):
    def test_forward_mode_gives_the_gradient_of_double_backpropagation(self):
        reference = _Reference(_model(), _data())
        expected = reference.double_gradient()
        ours = reference.forward_mode_gradient()
        for name, gradient in ours.items():
            self.assertAllClose(gradient, expected[name], rtol=1e-6, atol=1e-12)
            if name != "joint_bias":
                self.assertGreater(np.abs(gradient).max(), 1e-6, name)

    def test_one_step_by_the_published_formulas(self):
        model, data = _model(), _data()
        reference = _Reference(model, data)
        slope = reference.double_gradient()
        model.train_step(data)
        theta = {}
        for name, weight in reference.theta.items():
            momentum = slope[name] + 5e-4 * weight
            theta[name] = weight - 1e-3 * momentum
            ours = model.policy_network.momenta[name]
            self.assertAllClose(ours, momentum, rtol=1e-3, atol=1e-6)
            self.assertAllClose(model.policy_network.weights[name], theta[name])
        for variable, before, gradient in zip(
            model.classifier.trainable_variables,
            reference.weights,
            reference.gradient(theta),
        ):
            self.assertAllClose(variable, before - gradient, rtol=1e-5, atol=1e-6)

    def test_look_ahead_and_held_out_images_leave_no_trace_in_the_averages(self):
        model, plain, data = _model(), _classifier(), _data()
        plain(data[0][:, 0], training=True)
        model.train_step(data)
        for ours, expected in zip(
            model.classifier.non_trainable_variables, plain.non_trainable_variables
        ):
            self.assertAllClose(ours, expected, rtol=1e-6)

    def test_raw_weights_teach_the_sampler(self):
        model, data = _model(), _data()
        model.train_step(data)
        raw = model.learner.mass.numpy()
        self.assertAllInRange(raw, 0, IMAGES)
        self.assertEqual(set(raw.nonzero()[0]), set(data[2].flat))
        self.assertEqual(model.learner.draws.numpy().sum(), IMAGES)

    def test_a_step_that_is_not_finite_changes_nothing(self):
        model, data = _model(on_nonfinite="skip"), _data()
        data[0][2] = np.nan
        modules = model.policy_network, model.learner
        variables = [each for module in modules for each in module.variables]
        variables = [each for each in variables if "steps" not in each.name]
        variables += model.classifier.variables
        before = [variable.numpy() for variable in variables]
        model.train_step(data)
        for variable, value in zip(variables, before):
            self.assertAllEqual(variable, value)

    def test_several_views_are_refused(self):
        views, labels, policies, *rest = _data()
        twice = [np.repeat(part, 2, 1) for part in (views, labels, policies)]
        with self.assertRaisesRegex(ValueError, "one view of each image, not 2"):
            _model().train_step((*twice, *rest))


class FeaturesTest(tf.test.TestCase):
    def test_they_are_what_the_last_dense_layer_takes_in(self):
        network = models.build("wrn_10_1", (8, 8, 1), 3)
        images = tf.random.stateless_uniform([2, 8, 8, 1], [1, 2], 0, 255)
        logits, features = with_features(network)(images)
        self.assertAllEqual(features.shape, [2, 64])
        self.assertAllClose(network.get_layer("logits")(features), logits)
        self.assertAllClose(network(images), logits)

    def test_maps_are_averaged(self):
        layers = [keras.Input([2, 2, 3]), keras.layers.Dense(4)]
        network = keras.Sequential([*layers, keras.layers.GlobalAveragePooling2D()])
        images = tf.random.stateless_uniform([5, 2, 2, 3], [1, 2])
        _, features = with_features(network)(images)
        self.assertAllClose(features, tf.reduce_mean(images, [1, 2]))

    def test_a_network_without_a_dense_layer_is_refused(self):
        network = keras.Sequential([keras.Input([4]), keras.layers.ReLU()])
        with self.assertRaisesRegex(ValueError, "last Dense layer: give a classifier"):
            with_features(network)


if __name__ == "__main__":
    tf.test.main()
