"""What else weighs in a step, against NumPy: images, smoothed labels, slower layers."""

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from tensorflow import keras

from la_tf.model import LatentAugment
from la_tf.step import moving_averages

POLICIES = 8
IMAGES, VIEWS, INPUTS, CLASSES = 5, 4, 3, 4
SAMPLE_WEIGHTS = np.array([0.0, 1.0, 2.5, 0.5, 1.0])


def _batch(seed=0):
    generator = np.random.default_rng(seed)
    views = generator.normal(size=[IMAGES, VIEWS, INPUTS])
    labels = generator.dirichlet(np.full(CLASSES, 0.3), [IMAGES, VIEWS])
    policies = [generator.choice(POLICIES, VIEWS, False) for _ in range(IMAGES)]
    return views.astype(np.float32), labels.astype(np.float32), np.array(policies)


def _softmax(logits):
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def _expected(kernel, batch, early, sigma, smoothing=0.0):
    """The loss, the gradient and the policies' mass of a linear classifier, float64."""
    views, labels, policies = (part.astype(np.float64) for part in batch)
    early_views, early_labels = (part.astype(np.float64) for part in early[:2])
    likelihood = (_softmax(early_views @ kernel) * early_labels).sum(-1)
    h = likelihood / likelihood.sum(-1, keepdims=True)
    if sigma == 0.0:
        weights = (h == h.min(-1, keepdims=True)).astype(np.float64)
    else:
        weights = _softmax(-h / sigma)
    labels = (1.0 - smoothing) * labels + smoothing / CLASSES
    probabilities = _softmax(views @ kernel)
    counted = SAMPLE_WEIGHTS[:, None] * weights / IMAGES
    loss = -np.sum(counted[..., None] * labels * np.log(probabilities))
    slopes = counted[..., None] * (probabilities - labels)
    gradient = np.einsum("bki,bkc->ic", views, slopes)
    mass = np.zeros(POLICIES)
    np.add.at(mass, policies.astype(int), weights / IMAGES)
    return loss, gradient, mass


def _linear(kernel):
    classifier = keras.Sequential(
        [keras.Input([INPUTS]), keras.layers.Dense(CLASSES, use_bias=False)]
    )
    classifier.set_weights([kernel])
    return classifier


class SampleWeightsTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.named_parameters(
        ("plain", {}),
        ("smoothed", {"label_smoothing": 0.2}),
        ("chunks", {"view_chunk": 3}),
        ("separate", {"e_step": "separate"}),
        # All weight is on one view of an image, so that it is drawn for certain.
        ("economy", {"backward_views": 2, "sigma": 0.0}),
        ("smoothed_chunks", {"view_chunk": 1, "label_smoothing": 0.2}),
    )
    def test_they_weigh_the_loss_and_not_the_prior(self, options):
        kernel = np.random.default_rng(2).normal(size=[INPUTS, CLASSES])
        batch = early = _batch()
        parts = [*batch]
        if "e_step" in options:
            early = _batch(seed=1)
            parts += early[:2]
        classifier = _linear(kernel)
        model = LatentAugment(classifier, POLICIES, prior_window=1, **options)
        model.compile(keras.optimizers.SGD(1.0), run_eagerly=True)
        parts = (*parts, SAMPLE_WEIGHTS.astype(np.float32))
        dataset = tf.data.Dataset.from_tensors(parts)
        history = model.fit(dataset, verbose=0).history
        loss, gradient, mass = _expected(
            kernel,
            batch,
            early,
            options.get("sigma", 1.0),
            options.get("label_smoothing", 0.0),
        )
        self.assertAllClose(history["loss"], [loss], rtol=1e-5)
        moved = kernel - classifier.get_weights()[0]
        self.assertAllClose(moved, gradient, rtol=1e-5, atol=1e-6)
        self.assertAllClose(model.prior.probabilities, mass, rtol=1e-5)
        # Over policies of equal prior, log π adds their sum of weights, ln 8 each.
        added = SAMPLE_WEIGHTS.mean() * np.log(POLICIES)
        self.assertAllClose(history["expected_loss"], [loss + added], rtol=1e-5)

    def test_weights_of_another_shape_are_refused(self):
        model = LatentAugment(_linear(np.ones([INPUTS, CLASSES])), POLICIES)
        with self.assertRaisesRegex(ValueError, r"a number for each image, \[B\]"):
            model.train_step((*_batch(), np.ones([IMAGES, VIEWS])))


def _two_layers():
    make = keras.initializers.HeNormal
    return keras.Sequential(
        [
            keras.Input([INPUTS]),
            keras.layers.Dense(5, kernel_initializer=make(1)),
            keras.layers.BatchNormalization(momentum=0.5),
            keras.layers.Dense(CLASSES, kernel_initializer=make(2)),
        ]
    )


def _steps(optimizer, count=2, **options):
    """The weights before and after a few steps."""
    classifier = _two_layers()
    before = classifier.get_weights()
    model = LatentAugment(classifier, POLICIES, **options)
    model.compile(optimizer, run_eagerly=True)
    model.fit(tf.data.Dataset.from_tensors(_batch()).repeat(count), verbose=0)
    return before, classifier.get_weights()


class BackboneRateTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters("SGD", "AdamW", "Lion")
    def test_the_backbone_s_update_is_multiplied(self, name):
        def moved(**options):
            options["weight_decay"] = 0.01
            optimizer = getattr(keras.optimizers, name)(0.1)
            before, after = _steps(optimizer, 1, **options)
            return [new - old for old, new in zip(before, after)]

        for number, (whole, slow) in enumerate(zip(moved(), moved(backbone_rate=0.25))):
            # Kernel, bias, scale and shift; two averages that every pass moves alike.
            factor = 0.25 if number < 4 else 1.0
            self.assertAllClose(slow, factor * whole, rtol=1e-4, atol=1e-7)


class AverageTest(tf.test.TestCase):
    def test_follows_the_weights(self):
        classifier, averaged = _two_layers(), _two_layers()
        averaged.set_weights([np.full_like(w, 9.0) for w in averaged.get_weights()])
        model = LatentAugment(classifier, POLICIES, averaged=averaged, ema=0.15)
        model.compile(keras.optimizers.SGD(0.1), run_eagerly=True)
        expected = None
        # Decays 0, 1/10 and then 0.15, which is below 2/11.
        for decay in (0.0, 0.1, 0.15, 0.15):
            model.fit(tf.data.Dataset.from_tensors(_batch()), verbose=0)
            weights = classifier.get_weights()
            expected = [
                decay * old + (1.0 - decay) * new
                for old, new in zip(expected or weights, weights)
            ]
        for one, other in zip(averaged.get_weights(), expected):
            self.assertAllClose(one, other, rtol=1e-5, atol=1e-6)
        images = _batch()[0][:, 0]
        self.assertAllClose(model.predict(images, verbose=0), averaged(images))
        self.assertNotAllClose(averaged(images), classifier(images), atol=1e-3)


class FrozenTest(tf.test.TestCase):
    def test_a_frozen_layer_s_averages_are_not_touched(self):
        classifier = _two_layers()
        classifier.layers[1].trainable = False
        averages = moving_averages.MovingAverages(classifier)
        self.assertEmpty(averages.values())


if __name__ == "__main__":
    tf.test.main()
