"""LatentAugment as a Keras model: a step by hand, fit, evaluation and its refusals."""

import math

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from tensorflow import keras

import la_tf
from la_tf import keras_generation
from la_tf.errors import UserError
from la_tf.model import StopOnNonFinite
from tests import helper

POLICIES = 8


def _linear(inputs=3, classes=4, regularizer=None):
    layer = keras.layers.Dense(
        classes,
        kernel_initializer=keras.initializers.RandomNormal(seed=0),
        kernel_regularizer=regularizer,
    )
    return keras.Sequential([keras.Input([inputs]), layer])


def _normalized(inputs=3, classes=4):
    return keras.Sequential(
        [
            keras.Input([inputs]),
            keras.layers.Dense(5, kernel_initializer=keras.initializers.HeNormal(1)),
            keras.layers.BatchNormalization(momentum=0.9),
            keras.layers.Dense(
                classes, kernel_initializer=keras.initializers.HeNormal(2)
            ),
        ]
    )


def _batch(images=6, views=3, inputs=3, classes=4, seed=0):
    generator = np.random.default_rng(seed)
    labels = np.eye(classes)[generator.integers(0, classes, images)]
    return (
        tf.constant(generator.normal(size=[images, views, inputs]), tf.float32),
        tf.constant(np.repeat(labels[:, None], views, 1), tf.float32),
        tf.constant(generator.integers(0, POLICIES, [images, views]), tf.int32),
    )


def _model(classifier, learning_rate=0.5, optimizer=None, compiled=None, **options):
    """A model that runs eagerly, which spares the test the tracing, unless told."""
    model = la_tf.LatentAugment(classifier, POLICIES, **options)
    optimizer = optimizer or keras.optimizers.SGD(learning_rate, momentum=0.9)
    model.compile(optimizer, **(compiled or {"run_eagerly": True}))
    return model


def _fit(model, *batches, **options):
    dataset = tf.data.Dataset.from_generator(
        lambda: iter(batches),
        output_signature=tuple(
            tf.TensorSpec([None, *part.shape[1:]], part.dtype) for part in batches[0]
        ),
    )
    return model.fit(dataset, verbose=0, **options).history


def _state(model):
    """All that a step may change, but for the number of steps."""
    variables = [*model.classifier.variables, *model.optimizer.variables]
    variables += [model.prior.probabilities, model.prior.window, model.prior.steps]
    if model.prior.kind == "corrected":
        variables.append(model.prior.draw_window)
    return [
        variable.numpy()
        for variable in variables
        if variable is not model.optimizer.iterations
    ]


class HandTestCase(tf.test.TestCase):
    # Two images of one number, K = 2 views, two classes, four policies of probability
    # 1/4. The classifier has logits (0, x ln 3), so that
    #   x:             1           -1          0           2
    #   softmax:   1/4, 3/4    3/4, 1/4    1/2, 1/2    1/10, 9/10
    #
    # Image 1 is of class 1, its views 1 and -1: P = 3/4, 1/4, so h = 3/4, 1/4, and
    #   h~ = 1 / (1 + e^(1/2)), 1 / (1 + e^(-1/2)) = 0.377541, 0.622459.
    # Image 2 is of class 0, its views 0 and 2: P = 1/2, 1/10, so h = 5/6, 1/6, and
    #   h~ = 1 / (1 + e^(2/3)), 1 / (1 + e^(-2/3)) = 0.339244, 0.660756.
    #
    # Loss: -(0.377541 ln 3/4 + 0.622459 ln 1/4
    #         + 0.339244 ln 1/2 + 0.660756 ln 1/10) / 2 = 1.364059.
    # With log π it is 1.364059 + ln 4 = 2.750353.
    #
    # Gradient of the second weight: h~ (softmax_1 - y_1) x, over the four views:
    #   (0.377541 (3/4 - 1) 1 + 0.622459 (1/4 - 1) (-1)
    #    + 0.339244 (1/2 - 0) 0 + 0.660756 (9/10 - 0) 2) / 2
    #   = (-0.094385 + 0.466844 + 0 + 1.189361) / 2 = 0.780910,
    # and of the first weight its opposite. Weight decay 0.01 adds 0.01 ln 3 = 0.010986
    # to the second. New weights at learning rate 0.1:
    #   0 + 0.078091, 1.098612 - 0.1 · 0.791897 = 0.078091, 1.019423.
    #
    # Policies: image 1 has 0 and 1, image 2 has 1 and 3. Mass over two images:
    #   0.377541, 0.622459 + 0.339244, 0, 0.660756, halved:
    #   0.188770, 0.480851, 0, 0.330378,
    # which is one of ten steps in the window: π = 0.9 / 4 + 0.1 m =
    #   0.243877, 0.273085, 0.225, 0.258038.
    # Both images' entropy: mean of 0.662806 and 0.640574 = 0.651690. One of the four
    # views has its class on top for sure, one is even; ties go to class 0, which is
    # right for that view: accuracy 2/4.
    def assert_step(self, way):
        classifier = keras.Sequential(
            [keras.Input([1]), keras.layers.Dense(2, use_bias=False)]
        )
        classifier.set_weights([np.array([[0.0, math.log(3.0)]])])
        model = la_tf.LatentAugment(classifier, 4, sigma=1.0, weight_decay=0.01)
        model.compile(keras.optimizers.SGD(0.1), **way)
        views = tf.constant([[[1.0], [-1.0]], [[0.0], [2.0]]])
        labels = tf.one_hot([[1, 1], [0, 0]], 2)
        history = _fit(model, (views, labels, tf.constant([[0, 1], [1, 3]])))

        logs = {name: values[0] for name, values in history.items()}
        self.assertAllClose(logs["loss"], 1.364059, atol=2e-6)
        self.assertAllClose(logs["expected_loss"], 2.750353, atol=2e-6)
        self.assertAllClose(logs["weight_entropy"], 0.651690, atol=2e-6)
        self.assertAllClose(logs["accuracy"], 0.5)
        # The prior before the step.
        self.assertAllClose(logs["effective_policies"], 4.0, atol=1e-5)
        weights = classifier.get_weights()[0]
        self.assertAllClose(weights, [[0.078091, 1.019423]], atol=2e-6)
        expected = [0.243877, 0.273085, 0.225, 0.258038]
        self.assertAllClose(model.prior.probabilities, expected, atol=2e-6)


class HandTest(HandTestCase, parameterized.TestCase):
    @parameterized.named_parameters(
        ("eager", {"run_eagerly": True}),
        # Compiled by XLA: `tests/long/model_test.py`.
        ("graph", {}),
    )
    def test_step(self, way):
        self.assert_step(way)

    def test_next_step_reads_the_moved_prior(self):
        # One image, two views alike (P = 1/2), policies 0 and 1 of two: h is π. With
        # π = (0.8, 0.2) the first weight is 1 / (1 + e^0.6).
        classifier = _linear(1, 2)
        classifier.set_weights([np.zeros([1, 2]), np.zeros([2])])
        model = la_tf.LatentAugment(
            classifier, 2, prior_window=1, initial_prior=[0.8, 0.2]
        )
        model.compile(keras.optimizers.SGD(0.0))
        batch = tf.zeros([1, 2, 1]), tf.one_hot([[0, 0]], 2), tf.constant([[0, 1]])
        _fit(model, batch)
        first = 1 / (1 + math.exp(0.6))
        self.assertAllClose(model.prior.probabilities, [first, 1 - first])
        _fit(model, batch)
        second = 1 / (1 + math.exp(first - (1 - first)))
        self.assertAllClose(model.prior.probabilities, [second, 1 - second])


class FitTest(tf.test.TestCase, parameterized.TestCase):
    def test_class_weights_are_refused(self):
        # Keras would take the policies for sample weights, without a word.
        with self.assertRaisesRegex(ValueError, "give it to la_tf.make_views"):
            _model(_linear()).fit(
                tf.data.Dataset.from_tensors(_batch()), class_weight={0: 2.0}
            )

    def test_a_loss_is_refused(self):
        with self.assertRaisesRegex(ValueError, "is built in, .* leave out loss"):
            la_tf.LatentAugment(_linear()).compile("sgd", "mse")

    def test_own_metrics_are_of_the_trained_views_and_of_plain_images(self):
        views, labels, policies = _batch(seed=1)
        # Of two chunks, so that the metric sees them joined again.
        model = la_tf.LatentAugment(_linear(), POLICIES, view_chunk=2)
        top_2 = keras.metrics.TopKCategoricalAccuracy(2, name="top_2")
        model.compile(keras.optimizers.SGD(0.0), metrics=[top_2], run_eagerly=True)
        plain = tf.data.Dataset.from_tensors((views[:, 0], tf.argmax(labels[:, 0], -1)))
        history = _fit(model, (views, labels, policies), validation_data=plain)

        def share(images, labels):
            logits = model.classifier(tf.reshape(images, [-1, 3])).numpy()
            classes = np.argmax(labels, -1).reshape([-1, 1])
            return np.mean((-logits).argsort(-1)[:, :2] == classes) * 2

        self.assertAllClose(history["top_2"], [share(views, labels)])
        expected = [share(views[:, 0], labels[:, 0])]
        self.assertAllClose(history["val_top_2"], expected)

    @parameterized.parameters(
        (lambda: "accuracy", "called accuracy is built in"),
        (lambda: keras.metrics.Mean("loss"), "called loss is built in"),
        (lambda: "top_k_categorical_accuracy", "give objects of one-hot labels"),
    )
    def test_other_metrics_are_refused(self, metric, message):
        with self.assertRaisesRegex(ValueError, message):
            la_tf.LatentAugment(_linear()).compile("sgd", metrics=[metric()])

    def test_labels_of_another_number_of_classes(self):
        model, (views, labels, policies) = _model(_linear()), _batch(classes=7)
        with self.assertRaisesRegex(ValueError, "gives 4 logits, .* have 7 classes"):
            model.train_step((views, labels, policies))
        with self.assertRaisesRegex(ValueError, "gives 4 logits, .* have 7 classes"):
            model.test_step((views[:, 0], labels[:, 0]))

    @parameterized.parameters("softmax", "sigmoid")
    def test_probabilities_are_refused(self, activation):
        dense = keras.layers.Dense(4, activation=activation)
        with self.assertRaisesRegex(ValueError, f"ends in {activation}"):
            la_tf.LatentAugment(keras.Sequential([keras.Input([3]), dense]))

    def test_callbacks_come_by_themselves_and_first(self):
        seen = []

        class Witness(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                seen.append(int(self.model.prior.steps))

        _fit(_model(_linear()), _batch(), _batch(), callbacks=[Witness()])
        self.assertEqual(seen, [1, 2])
        callbacks = [Witness(), la_tf.PolicyMovingAverage()]
        _fit(_model(_linear()), _batch(), _batch(), callbacks=callbacks)
        self.assertEqual(seen[2:], [1, 2])

    def test_evaluates_and_predicts_plain_images(self):
        images, labels = helper.digits(40)
        images = images.reshape([40, 64]).astype(np.float32)
        model = _model(_linear(64, 10))
        logits = model.classifier(images).numpy().astype(np.float64)
        log_softmax = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
        ranks = (-logits).argsort(-1)
        expected = {
            "loss": -log_softmax[np.arange(40), labels].mean(),
            "accuracy": (ranks[:, 0] == labels).mean(),
            "top_5_accuracy": (ranks[:, :5] == labels[:, None]).any(-1).mean(),
        }
        for form in labels, labels[:, None], np.eye(10, dtype=np.float32)[labels]:
            dataset = tf.data.Dataset.from_tensor_slices((images, form)).batch(16)
            logs = model.evaluate(dataset, verbose=0, return_dict=True)
            self.assertAllClose(logs, expected, rtol=1e-5)
        self.assertAllClose(model.predict(images, verbose=0), logits, rtol=1e-5)
        names = "loss", "accuracy", "top_5_accuracy"
        flat = model.evaluate(images, labels, batch_size=40, verbose=0)
        self.assertAllClose(flat, [expected[name] for name in names], rtol=1e-5)

    def test_unbuilt_classifier_and_fewer_classes_than_five(self):
        classifier = keras.Sequential(
            [keras.layers.BatchNormalization(), keras.layers.Dense(3)]
        )
        model = _model(classifier)
        views, labels, policies = _batch(classes=3)
        plain = tf.data.Dataset.from_tensors((views[:, 0], labels[:, 0]))
        history = _fit(model, (views, labels, policies), validation_data=plain)
        self.assertEqual(history["val_top_5_accuracy"], [1.0])

    def test_the_classifiers_own_losses_are_trained(self):
        batch = _batch()
        for chunk in None, 1:
            plain, penalised = _linear(), _linear(regularizer="l2")
            start = plain.get_weights()[0]
            for classifier in plain, penalised:
                _model(classifier, view_chunk=chunk).train_step(batch)
            difference = penalised.get_weights()[0] - plain.get_weights()[0]
            # Keras' "l2" is 0.01 w², its gradient 0.02 w; the learning rate is 0.5.
            self.assertAllClose(difference, -0.01 * start, atol=1e-6)

    def test_weight_decay_comes_after_clipping(self):
        batch = _batch()
        start = _linear().get_weights()
        classifier = _linear()
        _model(classifier, 1.0).train_step(batch)
        gradients = [a - b for a, b in zip(start, classifier.get_weights())]
        norm = math.sqrt(sum((gradient**2).sum() for gradient in gradients))
        classifier = _linear()
        _model(classifier, 1.0, weight_decay=0.1, clip_norm=norm / 2).train_step(batch)
        for weight, first, gradient in zip(classifier.get_weights(), start, gradients):
            expected = first - gradient / 2 - 0.1 * first
            self.assertAllClose(weight, expected, atol=1e-6)

    def test_gradient_overflow_is_left_to_the_loss_scale(self):
        optimizer = keras.mixed_precision.LossScaleOptimizer(
            keras.optimizers.SGD(0.1), initial_scale=3e38
        )
        model = _model(_linear(), optimizer=optimizer)
        before = model.classifier.get_weights()
        # So large images overflow the scaled loss's gradient, not the loss.
        views, labels, policies = _batch()
        _fit(model, (100 * views, labels, policies))
        self.assertAllClose(model.classifier.get_weights(), before, atol=0)
        self.assertLess(float(keras_generation.loss_scale(optimizer)), 3e38)
        self.assertEqual(int(model.health.skipped_steps), 0)

    def test_any_optimizer(self):
        optimizers = [keras.optimizers.AdamW()]
        if keras_generation.NUMBER == 2:
            optimizers.append(keras.optimizers.legacy.Adam())
        for optimizer in optimizers:
            model = _model(_linear(), optimizer=optimizer)
            before = model.classifier.get_weights()
            _fit(model, _batch(), _batch())
            self.assertNotAllClose(model.classifier.get_weights()[0], before[0])
            self.assertEqual(int(optimizer.iterations), 2)

    def test_augment_at_the_head_of_the_step(self):
        views, labels, policies = _batch()
        images = views[:, 0]

        def augment(images, classes, seeds):
            del seeds
            return (
                tf.repeat(images[:, None], 3, 1),
                tf.repeat(tf.one_hot(classes, 4)[:, None], 3, 1),
                policies,
            )

        classes = tf.argmax(labels[:, 0], -1, tf.int32)
        seeds = tf.zeros([6, 2], tf.int32)
        on_device, on_host = _linear(), _linear()
        _fit(_model(on_device, augment=augment), (images, classes, seeds))
        _fit(_model(on_host), augment(images, classes, seeds))
        self.assertAllClose(on_device.get_weights(), on_host.get_weights(), atol=0)

    @parameterized.parameters(
        ({"sigma": -1.0}, "sigma is -1"),
        ({"sigma": math.nan}, "sigma is nan"),
        ({"weight_decay": -0.1}, "weight_decay"),
        ({"e_step": "both"}, "shared, separate"),
        ({"clip_norm": 0.0}, "clip_norm"),
        ({"label_smoothing": 1.5}, "label_smoothing is 1.5"),
        ({"backbone_rate": -0.1}, "backbone_rate is -0.1"),
        ({"view_chunk": 0}, "view_chunk is 0"),
        ({"backward_views": -1}, "backward_views is -1"),
        ({"on_nonfinite": "ignore"}, "stop, skip"),
        ({"prior": "learned"}, "moving, fixed, corrected"),
    )
    def test_bad_arguments(self, options, message):
        with self.assertRaisesRegex(ValueError, message):
            la_tf.LatentAugment(_linear(), **options)

    def test_steps_per_execution_is_refused_with_the_reason(self):
        model = la_tf.LatentAugment(_linear())
        with self.assertRaisesRegex(ValueError, "moves after each step"):
            model.compile("sgd", steps_per_execution=4)

    def test_bad_batches(self):
        views, labels, policies = _batch()
        for batch, message in (
            ((views, labels), "2 part"),
            ((views[:, 0], labels[:, 0], policies[:, 0]), r"\(6, 3\), \(6, 4\)"),
        ):
            with self.assertRaisesRegex(ValueError, message):
                _model(_linear()).train_step(batch)
        with self.assertRaisesRegex(ValueError, "early views"):
            _model(_linear(), e_step="separate").train_step(_batch())
        with self.assertRaisesRegex(ValueError, "only 3 view"):
            _model(_linear(), backward_views=4).train_step(_batch())
        with self.assertRaisesRegex(ValueError, "only 3 view"):
            _model(_linear(), ubs_select=4).train_step(_batch())


class StatisticsTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.named_parameters(
        ("shared", {}),
        ("separate", {"e_step": "separate"}),
        ("economy", {"backward_views": 3}),
        ("chunks", {"view_chunk": 1}),
        ("separate_chunks", {"e_step": "separate", "view_chunk": 2}),
    )
    def test_move_once_a_step(self, options):
        # A batch that is normalised alike however it is cut: all views are the same.
        views, labels, policies = _batch(views=1)
        batch = [tf.repeat(part, 4, 1) for part in (views, labels, policies)]
        if "e_step" in options:
            # Early views of quite another mean must leave no trace.
            batch += [batch[0] + 100.0, batch[1]]
        classifier = _normalized()
        normalization = classifier.layers[1]
        inputs = classifier.layers[0](views[:, 0])
        mean, variance = tf.nn.moments(inputs, 0)
        _fit(_model(classifier, 0.1, **options), tuple(batch))
        self.assertAllClose(normalization.moving_mean, 0.1 * mean, atol=1e-6)
        # Keras' plain and fused layers differ in whether they divide by N or N - 1.
        expected = 0.9 + 0.1 * variance
        self.assertAllClose(normalization.moving_variance, expected, atol=1e-6)

    def test_frozen_layers_keep_their_statistics_and_weights(self):
        classifier = _normalized()
        classifier.layers[1].trainable = False
        before = classifier.layers[1].get_weights()
        _fit(_model(classifier, view_chunk=1), _batch())
        self.assertAllClose(classifier.layers[1].get_weights(), before, atol=0)


class NonFiniteTestCase(tf.test.TestCase):
    def _bad_batch(self):
        views, labels, policies = _batch()
        broken = tf.tensor_scatter_nd_update(views, [[2, 1, 0]], [math.nan])
        return broken, labels, tf.tensor_scatter_nd_update(policies, [[2, 1]], [5])

    def assert_skip_leaves_no_trace_but_a_count(self, options):
        good = _batch(seed=1), _batch(seed=2)
        with_bad = _model(_normalized(), on_nonfinite="skip", **options)
        history = _fit(with_bad, good[0], self._bad_batch(), self._bad_batch())
        self.assertEqual(history["skipped_steps"], [2])
        self.assertAllGreater(history["loss"], 0.0)
        without = _model(_normalized(), **options)
        _fit(without, good[0])
        for one, other in zip(_state(with_bad), _state(without)):
            self.assertAllEqual(one, other)
        # The skipped steps are over all the same: schedules and noise go on.
        self.assertEqual(int(with_bad.optimizer.iterations), 3)
        _fit(with_bad, good[1])
        self.assertAllInRange(with_bad.prior.probabilities, 0.0, 1.0)


class NonFiniteTest(NonFiniteTestCase, parameterized.TestCase):
    @parameterized.named_parameters(
        ("shared", {}),
        ("chunks", {"view_chunk": 1}),
        ("economy", {"backward_views": 2}),
        # In a graph, compiled or not: `tests/long/model_test.py`.
        ("corrected", {"prior": "corrected"}),
    )
    def test_skip_leaves_no_trace_but_a_count(self, options):
        self.assert_skip_leaves_no_trace_but_a_count(options)

    def test_stop_names_step_rate_and_policies_and_leaves_the_last_good_state(self):
        schedule = keras.optimizers.schedules.PiecewiseConstantDecay([0], [0.5, 0.25])
        model = _model(_linear(), schedule)
        batches = [_batch(seed=1), self._bad_batch(), _batch(seed=2)]
        with self.assertRaises(UserError) as caught:
            _fit(model, *batches)
        error = caught.exception
        self.assertEqual((error.step, error.learning_rate), (1, 0.25))
        # The one view that is not a number is named, by its policy.
        self.assertEqual(error.policies, [(5, 1)])
        self.assertIn("not finite at step 1", str(error))
        self.assertIn("5 (1)", str(error))
        expected = _model(_linear(), schedule)
        _fit(expected, batches[0])
        for one, other in zip(_state(model), _state(expected)):
            self.assertAllEqual(one, other)
        # Another call starts afresh.
        _fit(model, batches[2])

    def test_steps_after_the_failure_are_void_until_it_is_seen(self):
        model = _model(_linear())
        batches = [_batch(seed=1), self._bad_batch(), _batch(seed=2), _batch(seed=3)]
        look = StopOnNonFinite(every=100, name_of=lambda z: f"policy {z}")
        with self.assertRaisesRegex(ValueError, r"step 1, .*policy 5 \(1\)"):
            _fit(model, *batches, callbacks=[look])
        expected = _model(_linear())
        _fit(expected, batches[0])
        for one, other in zip(_state(model), _state(expected)):
            self.assertAllEqual(one, other)

    def test_infinite_gradient_of_a_finite_loss_is_caught(self):
        # The square root of 0 has an infinite slope.
        classifier = keras.Sequential(
            [
                keras.Input([3]),
                keras.layers.Dense(4, kernel_initializer="zeros"),
                keras.layers.Lambda(tf.sqrt),
            ]
        )
        with self.assertRaisesRegex(ValueError, "not finite at step 0"):
            _fit(_model(classifier), _batch())
        self.assertAllEqual(classifier.get_weights()[0], np.zeros([3, 4]))


if __name__ == "__main__":
    tf.test.main()
