"""Every method trains exactly the loss that its authors wrote down (Theorem 1)."""

import dataclasses
import subprocess
import sys

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from tensorflow import keras

from la_tf import methods
from la_tf.config import TrainConfig
from la_tf.data.views import ViewMaker
from la_tf.model import LatentAugment
from tests import helper

POLICIES = 16


def _classifier():
    """A small network without BatchNorm, the same every time."""
    layers = [keras.layers.Dense(6, "tanh"), keras.layers.Dense(5)]
    for number, layer in enumerate(layers):
        layer.kernel_initializer = keras.initializers.HeNormal(seed=number)
    return keras.Sequential([keras.Input([4]), *layers])


def _batch(views, seed=0, images=9):
    generator = np.random.default_rng(seed)
    labels = np.eye(5)[generator.integers(0, 5, images)]
    policies = [generator.choice(POLICIES, views, False) for _ in range(images)]
    return (
        tf.constant(2 * generator.normal(size=[images, views, 4]), tf.float32),
        tf.constant(np.repeat(labels[:, None], views, 1), tf.float32),
        tf.constant(np.array(policies), tf.int32),
    )


def _losses(classifier, batch):
    """-log P(y | view), [images, views], by Keras' own cross-entropy."""
    views, labels, _ = batch
    logits = tf.reshape(classifier(tf.reshape(views, [-1, 4])), labels.shape)
    return keras.losses.categorical_crossentropy(labels, logits, from_logits=True)


def _latent_loss(losses):
    """Eq. 2 to 4 at a prior that is the same for all, in float64."""
    likelihood = np.exp(-losses.numpy().astype(np.float64))
    h = likelihood / likelihood.sum(-1, keepdims=True)
    weights = np.exp(-h) / np.exp(-h).sum(-1, keepdims=True)
    return tf.reduce_sum(tf.constant(weights, tf.float32) * losses, -1)


def _ubs_loss(losses, select=1):
    return tf.reduce_mean(tf.sort(losses, direction="DESCENDING")[:, :select], -1)


def _equal_loss(losses):
    return tf.reduce_mean(losses, -1)


# The loss of an image from the -log P of its views, as each method's paper has it.
DIRECT_LOSSES = {
    "latent": _latent_loss,
    "equal": _equal_loss,
    "ubs": lambda losses: tf.reduce_max(losses, -1),
    "policy": lambda losses: losses[:, 0],
    "autoaugment": _equal_loss,
    "randaugment": _equal_loss,
    "trivialaugment": _equal_loss,
    "adversarial": _equal_loss,
    "baseline": lambda losses: losses[:, 0],
}


def _direct_gradients(batch, loss):
    classifier = _classifier()
    with tf.GradientTape() as tape:
        total = tf.reduce_mean(loss(_losses(classifier, batch)))
    return tape.gradient(total, classifier.trainable_variables)


def _model(name, config=None, **options):
    config = config or TrainConfig(method=name)
    options.update(sigma=config.sigma, prior=config.prior)
    model = LatentAugment(_classifier(), POLICIES, **options)
    # Plain steps of length 1: the difference of the weights is the gradient.
    model.compile(keras.optimizers.SGD(1.0), run_eagerly=True)
    return model


def _gradients(model, batch):
    before = model.classifier.get_weights()
    model.train_step(batch)
    return [a - b for a, b in zip(before, model.classifier.get_weights())]


class MethodsTest(tf.test.TestCase, parameterized.TestCase):
    def test_every_method_has_its_loss_here(self):
        # MetaAugment has a step of its own, and so a test.
        self.assertEqual(set(methods.NAMES) - {"metaaugment"}, set(DIRECT_LOSSES))

    @parameterized.parameters(*DIRECT_LOSSES)
    def test_gradient_is_that_of_the_directly_written_loss(self, name):
        views = TrainConfig(method=name).num_views
        for seed in range(3):
            batch = _batch(views, seed)
            ours = _gradients(_model(name), batch)
            direct = _direct_gradients(batch, DIRECT_LOSSES[name])
            for one, other in zip(ours, direct):
                self.assertAllClose(one, other, rtol=1e-6, atol=1e-6)

    @parameterized.product(
        name=("autoaugment", "randaugment", "trivialaugment"),
        weights=tuple(methods.WEIGHTS),
    )
    def test_any_drawing_goes_with_any_weights(self, name, weights):
        config = TrainConfig(method=name, num_views=6, weights=weights)
        self.assertEqual(config.hardest_views, 1 if weights == "hardest" else None)
        direct = {"hardest": "ubs"}.get(weights, weights)
        batch = _batch(6)
        ours = _gradients(_model(name, config), batch)
        for one, other in zip(ours, _direct_gradients(batch, DIRECT_LOSSES[direct])):
            self.assertAllClose(one, other, rtol=1e-6, atol=1e-6)

    @parameterized.parameters(1, 2, 5, 6)
    def test_ubs_with_several_data_points(self, select):
        batch = _batch(6)
        ours = _gradients(_model("ubs", ubs_select=select), batch)
        direct = _direct_gradients(batch, lambda losses: _ubs_loss(losses, select))
        for one, other in zip(ours, direct):
            self.assertAllClose(one, other, rtol=1e-6, atol=1e-6)

    def test_all_hardest_views_are_all_views(self):
        batch = _batch(6)
        for one, other in zip(
            _gradients(_model("ubs", ubs_select=6), batch),
            _gradients(_model("equal"), batch),
        ):
            self.assertAllClose(one, other, rtol=1e-6, atol=1e-7)

    @parameterized.parameters(*methods.NAMES)
    def test_prior_moves_for_latentaugment_alone(self, name):
        model = _model(name)
        batch = _batch(TrainConfig(method=name).num_views)
        dataset = tf.data.Dataset.from_tensors(batch)
        model.fit(dataset, verbose=0)
        uniform = np.full(POLICIES, 1 / POLICIES, np.float32)
        moved = not np.array_equal(model.prior.probabilities.numpy(), uniform)
        self.assertEqual(moved, name == "latent")

    @parameterized.parameters(*methods.NAMES)
    def test_constants_are_fields_of_the_configuration(self, name):
        method = methods.get(name)
        self.assertEqual(method.name, name)
        self.assertTrue(method.summary)
        dataclasses.replace(TrainConfig(), method=name, **method.constants)

    def test_unknown_name_is_refused(self):
        with self.assertRaisesRegex(
            ValueError, "latent, equal, ubs, policy, .*, baseline"
        ):
            methods.get("latnet")

    def test_names_are_known_without_tensorflow(self):
        code = (
            "import sys; from la_tf import methods; print(methods.NAMES, *sys.modules)"
        )
        result = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertIn("'baseline'", result.stdout)
        self.assertNotIn("tensorflow", result.stdout)


# Every method, and those whose weights or number of views are the user's choice.
RUNS = {
    **{name: {"method": name} for name in methods.NAMES},
    "latent, economy": {"method": "latent", "backward_views": 2},
    "ubs, proportional": {
        "method": "ubs",
        "ubs_select": 2,
        "ubs_choice": "proportional",
    },
    "autoaugment, latent": {
        "method": "autoaugment",
        "num_views": 3,
        "weights": "latent",
    },
}
_NUM_STEPS = 2


def _maker(config, on_host):
    """The ViewMaker of a method, for small digits."""
    return ViewMaker(
        10,
        num_views=config.num_views,
        drawing=methods.rule(config),
        operations=methods.get(config.method).drawing is not None,
        final=config.final,
        padding=1,
        on_host=on_host,
    )


class _Run:
    """A few steps on real digits whose views are made in the step."""

    def __init__(self, **chosen):
        config = TrainConfig(**chosen)
        self._images, self._labels = map(tf.constant, helper.digits(6))
        maker = _maker(config, on_host=False)
        initializer = keras.initializers.HeNormal(seed=0)
        classifier = keras.Sequential(
            [
                keras.Input([8, 8, 1]),
                keras.layers.Rescaling(1 / 255),
                keras.layers.Flatten(),
                keras.layers.Dense(10, kernel_initializer=initializer),
            ]
        )
        self.model = LatentAugment(
            classifier,
            maker.drawing.num_policies,
            sigma=config.sigma,
            prior=config.prior,
            ubs_select=config.hardest_views,
            ubs_choice=config.ubs_choice,
            backward_views=config.backward_views,
            seed=config.seed,
            augment=maker.on_device,
        )
        self.model.compile(keras.optimizers.SGD(0.1, momentum=0.9), run_eagerly=True)
        self.model.optimizer.build(self.model.trainable_variables)
        self._checkpoint = tf.train.Checkpoint(model=self.model)

    def step(self, first=0, last=_NUM_STEPS):
        """Make the steps `first` to `last` - 1; return all that was learned."""
        for step in range(first, last):
            batch = (self._images, self._labels, tf.constant([[step, 5]]))
            self.model.train_step(batch)
            self.model.prior.advance()
        variables = (*self.model.prior.variables, *self.model.optimizer.variables)
        return [*self.model.get_weights(), *(v.numpy() for v in variables)]

    def save(self, path):
        return self._checkpoint.save(path)

    def restore(self, path):
        self._checkpoint.restore(path).expect_partial()


class RunsTestCase(tf.test.TestCase):
    def assert_device_as_host(self, name):
        config = TrainConfig(**RUNS[name])
        parts = *map(tf.constant, helper.digits(6)), tf.constant([[7, 8]])
        host = _maker(config, on_host=True).from_images(*parts)
        device = _maker(config, on_host=False).on_device(*parts)
        self.assertLen(host, 3)
        for one, other in zip(host, device):
            self.assertAllEqual(one, other)
        self.assertNotAllEqual(host[0][:, 0], parts[0])

    def assert_resumes_to_the_bit(self, name):
        whole = _Run(**RUNS[name]).step()
        stopped = _Run(**RUNS[name])
        first = stopped.step(0, 1)
        path = stopped.save(self.create_tempdir().full_path + "/run")
        resumed = _Run(**RUNS[name])
        resumed.restore(path)
        again = resumed.step(1)
        self.assertLen(again, len(whole))
        for one, other in zip(whole, again):
            self.assertAllEqual(one, other)
        self.assertTrue(np.all(np.isfinite(whole[0])))
        self.assertNotAllEqual(whole[0], first[0])


# One of each kind of state: the prior, draws of the step, both that learn. The others,
# and views made on the device, are in `tests/long/methods_test.py`.
QUICK_RUNS = ("latent", "ubs, proportional", "adversarial", "metaaugment")


class RunsTest(RunsTestCase, parameterized.TestCase):
    @parameterized.parameters(*QUICK_RUNS)
    def test_repeats_itself_and_resumes_to_the_bit(self, name):
        self.assert_resumes_to_the_bit(name)


if __name__ == "__main__":
    tf.test.main()
