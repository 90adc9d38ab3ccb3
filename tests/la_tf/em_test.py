"""The equations against values by hand and against NumPy in float64."""

import math

import hypothesis
import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from hypothesis import strategies as st

from la_tf import draws, em


def _compiled(function):
    return tf.function(function, jit_compile=True)


# Each equation is run in all three ways that TensorFlow has.
WAYS = (
    ("eager", lambda function: function),
    ("graph", tf.function),
    ("xla", _compiled),
)


def _reference_posterior(prior, likelihood):
    joint = np.maximum(prior * likelihood, 1e-10)
    return joint / joint.sum(-1, keepdims=True)


def _reference_softmin(h, sigma):
    if sigma == 0:
        hardest = (h == h.min(-1, keepdims=True)).astype(np.float64)
        return hardest / hardest.sum(-1, keepdims=True)
    powers = np.exp(-(h - h.min(-1, keepdims=True)) / sigma)
    return powers / powers.sum(-1, keepdims=True)


def _reference_mass(weights, policies, num_policies):
    mass = np.zeros(num_policies)
    for weight, policy in zip(weights.ravel(), policies.ravel()):
        mass[policy] += weight
    return mass / weights.sum()


@st.composite
def _problems(draw):
    """Random prior, likelihoods, policies and sigma of a small batch."""
    images, views = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    num_policies = draw(st.integers(views, 12))
    seed = draw(st.integers(0, 2**32 - 1))
    sigma = draw(st.sampled_from([0.0, 1e-3, 0.1, 0.5, 1.0, 3.0, 1e3, math.inf]))
    generator = np.random.default_rng(seed)
    prior = generator.dirichlet(np.full(num_policies, draw(st.sampled_from([0.1, 5]))))
    # From 1 down to 1e-30.
    smallest = draw(st.sampled_from([0.5, 8, 30]))
    likelihood = 10.0 ** -generator.uniform(0, smallest, [images, views])
    policies = generator.integers(0, num_policies, [images, views])
    return prior, likelihood, policies, sigma


class EquationsTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.named_parameters(*WAYS)
    def test_one_image_by_hand(self, way):
        # π P = 0.5 · 0.2, 0.25 · 0.4, 0.25 · 0.8 = 0.1, 0.1, 0.2, so h = 1/4, 1/4, 1/2.
        # With sigma 0.5 the powers are e^-0.5, e^-0.5, e^-1; by e^0.5: 1, 1, 0.606531;
        # their sum is 2.606531.
        prior = tf.constant([[0.5, 0.25, 0.25]])
        likelihood = tf.constant([[0.2, 0.4, 0.8]])
        h = way(em.posterior)(prior, likelihood)
        self.assertAllClose(h, [[0.25, 0.25, 0.5]], rtol=1e-6)
        weights = way(lambda h: em.softmin(h, 0.5))(h)
        self.assertAllClose(weights, [[0.383652, 0.383652, 0.232697]], atol=2e-6)
        # -(0.383652 (ln 0.1 + ln 0.1) + 0.232697 ln 0.2) = 1.766775 + 0.374511
        loss = way(em.expected_loss)(
            weights, tf.math.log(likelihood), tf.math.log(prior)
        )
        self.assertAllClose(loss, 2.141286, atol=4e-6)
        # Policies 2, 0, 2 of four.
        mass = way(lambda w, p: em.policy_mass(w, p, 4))(weights, [[2, 0, 2]])
        self.assertAllClose(mass, [0.383652, 0.0, 0.616348, 0.0], atol=2e-6)

    @parameterized.named_parameters(*WAYS)
    def test_loss_is_the_mean_over_images(self, way):
        weights = tf.constant([[0.5, 0.5], [0.25, 0.75]])
        log_likelihood = tf.constant([[-1.0, -3.0], [-4.0, -8.0]])
        # Image 1: 2. Image 2: 1 + 6 = 7. Mean: 4.5.
        loss = way(em.weighted_loss)(weights, log_likelihood)
        self.assertAllClose(loss, 4.5)

    @hypothesis.settings(
        max_examples=150, deadline=None, derandomize=True, database=None
    )
    @hypothesis.given(_problems())
    def test_against_numpy_in_float64(self, problem):
        prior, likelihood, policies, sigma = problem
        h = _reference_posterior(prior[policies], likelihood)
        ours = em.posterior(prior[policies], likelihood)
        self.assertAllClose(ours, h, rtol=2e-6, atol=0)
        if 0 < sigma < 1e-2:
            # A float32 rounding of h, divided by sigma, is what limits here.
            tolerance = 4e-7 / sigma
        else:
            tolerance = 4e-6
        # From the same h: near a tie float32 and float64 may differ in which is less.
        h = np.asarray(ours, np.float64)
        weights = _reference_softmin(h, sigma)
        ours = em.softmin(h, sigma)
        self.assertAllClose(ours, weights, rtol=0, atol=tolerance)
        self.assertAllClose(tf.reduce_sum(ours, -1), np.ones(len(h)), atol=1e-6)

        log_prior = np.log(np.maximum(prior[policies], 1e-10))
        loss = -(weights * (log_prior + np.log(likelihood))).sum(-1).mean()
        ours = em.expected_loss(
            weights, np.log(likelihood), em.log_of_prior(prior[policies])
        )
        self.assertAllClose(ours, loss, rtol=3e-6)
        mass = _reference_mass(weights, policies, len(prior))
        ours = em.policy_mass(weights, policies, len(prior))
        self.assertAllClose(ours, mass, atol=1e-6)

    @hypothesis.settings(
        max_examples=60, deadline=None, derandomize=True, database=None
    )
    @hypothesis.given(
        st.integers(0, 2**32 - 1), st.integers(2, 12), st.sampled_from([1, 10, 60])
    )
    def test_likelihoods_against_numpy_in_float64(self, seed, classes, spread):
        generator = np.random.default_rng(seed)
        logits = generator.normal(size=[3, 4, classes]) * spread
        labels = generator.dirichlet(np.ones(classes), [3, 4])
        labels[0] = np.eye(classes)[0]
        exact = logits.astype(np.float32).astype(np.float64)
        log_softmax = exact - exact.max(-1, keepdims=True)
        log_softmax -= np.log(np.exp(log_softmax).sum(-1, keepdims=True))
        expected = (labels * log_softmax).sum(-1)
        ours = em.log_likelihood(logits, labels)
        self.assertAllClose(ours, expected, rtol=3e-6, atol=3e-6)
        expected = np.log((labels * np.exp(log_softmax)).sum(-1))
        ours = em.log_probability(logits, labels)
        self.assertAllClose(ours, expected, rtol=3e-6, atol=3e-6)
        # A label of one class has but one likelihood.
        self.assertAllClose(em.log_likelihood(logits, labels)[0], ours[0], rtol=1e-6)


class LimitsTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.named_parameters(*WAYS)
    def test_sigma_zero_splits_ties_exactly(self, way):
        h = tf.constant([[0.2, 0.4, 0.2, 0.2], [0.1, 0.2, 0.3, 0.4]])
        weights = way(lambda h: em.softmin(h, 0))(h)
        third = np.float32(1.0) / np.float32(3.0)
        self.assertAllEqual(weights, [[third, 0, third, third], [1, 0, 0, 0]])

    @parameterized.named_parameters(*WAYS)
    def test_sigma_infinite_is_exactly_even(self, way):
        h = tf.constant([[0.1, 0.2, 0.7], [1.0, 0.0, 0.0]])
        weights = way(lambda h: em.softmin(h, math.inf))(h)
        self.assertAllEqual(weights, tf.fill([2, 3], np.float32(1.0) / np.float32(3)))

    @parameterized.parameters(1e-50, 1e-38, 1e-20, 1e-6)
    def test_small_sigma_is_finite_and_goes_to_the_limit(self, sigma):
        h = tf.constant([[0.2, 0.5, 0.3], [0.25, 0.5, 0.25]])
        weights = em.softmin(h, sigma)
        self.assertAllEqual(weights, em.softmin(h, 0))

    def test_large_sigma_goes_to_the_limit(self):
        h = tf.constant([[0.2, 0.5, 0.3]])
        self.assertAllClose(em.softmin(h, 1e7), em.softmin(h, math.inf), atol=1e-6)
        self.assertAllEqual(em.softmin(h, 1e300), em.softmin(h, math.inf))

    @parameterized.parameters(0, 0.5, 1, math.inf)
    def test_one_view_has_all_weight(self, sigma):
        h = em.posterior([[0.01], [0.9]], [[1e-30], [1.0]])
        self.assertAllEqual(h, [[1.0], [1.0]])
        self.assertAllEqual(em.softmin(h, sigma), [[1.0], [1.0]])

    def test_clamp_is_on_the_product(self):
        # π P = 1e-40 and 1e-9: the first counts as 1e-10.
        h = em.posterior([[0.1, 0.1]], [[1e-39, 1e-8]])
        self.assertAllClose(h, [[1 / 11, 10 / 11]], rtol=1e-6)
        # π P = 5e-11 and 1e-10: both do, though P alone would not.
        h = em.posterior([[0.005, 0.01]], [[1e-8, 1e-8]])
        self.assertAllClose(h, [[0.5, 0.5]], rtol=1e-6)

    @parameterized.parameters("float16", "bfloat16", "float32")
    def test_likelihood_of_1e_minus_30_from_any_logits(self, dtype):
        # logits 0 and 70: P of the first is 1 / (1 + e^70), its logarithm -70.
        logits = tf.cast([[0.0, 70.0]], dtype)
        labels = tf.constant([[1.0, 0.0]])
        for function in em.log_likelihood, em.log_probability:
            result = function(logits, labels)
            self.assertEqual(result.dtype, tf.float32)
            self.assertAllClose(result, [-70.0], rtol=1e-6)
        self.assertAllClose(
            tf.exp(em.log_probability(logits, labels)), [math.exp(-70)], rtol=1e-4
        )

    def test_impossible_class_outside_of_the_label_is_no_harm(self):
        logits = tf.constant([[0.0, 0.0, -np.inf]])
        labels = tf.constant([[1.0, 0.0, 0.0]])
        self.assertAllClose(em.log_likelihood(logits, labels), [-math.log(2)])

    def test_repeated_and_missing_policies(self):
        # Image 1 has policy 1 twice; policies 0 and 3 are never drawn.
        weights = [[0.25, 0.75], [0.5, 0.5]]
        mass = em.policy_mass(weights, [[1, 1], [2, 1]], 4)
        self.assertAllClose(mass, [0.0, 0.75, 0.25, 0.0])
        # A policy of probability 0 is as hard as any view can be, and no more.
        h = em.posterior([[0.0, 1.0]], [[1.0, 1.0]])
        self.assertAllClose(h, [[1e-10, 1.0]], rtol=1e-6)
        self.assertAllClose(em.log_of_prior([0.0, 1.0]), [math.log(1e-10), 0.0])


class WeightsTest(tf.test.TestCase, parameterized.TestCase):
    def test_no_gradient_through_the_weights(self):
        log_likelihood = tf.constant([[-1.0, -2.0]])
        with tf.GradientTape() as tape:
            tape.watch(log_likelihood)
            h = em.posterior([[0.5, 0.5]], tf.exp(log_likelihood))
            weights = em.softmin(h, 1.0)
            loss = em.weighted_loss(weights, log_likelihood)
        self.assertAllEqual(tape.gradient(loss, log_likelihood), -weights)

    @parameterized.named_parameters(*WAYS)
    def test_hardest_views_share_evenly(self, way):
        log_joint = tf.constant([[-1.0, -9.0, -3.0, -80.0], [-2.0, -2.0, -2.0, -1.0]])
        weights = way(lambda values: em.hardest(values, 2))(log_joint)
        self.assertAllEqual(weights, [[0, 0.5, 0, 0.5], [0.5, 0.5, 0, 0]])

    def test_entropy(self):
        distributions = [[0.25, 0.25, 0.25, 0.25], [1, 0, 0, 0], [0.5, 0.5, 0, 0]]
        expected = [math.log(4), 0.0, math.log(2)]
        self.assertAllClose(em.entropy(tf.constant(distributions)), expected)

    def test_empty_batch_has_no_loss(self):
        empty = tf.zeros([0, 3])
        self.assertAllEqual(em.weighted_loss(empty, empty), 0.0)


class ProportionalTest(tf.test.TestCase):
    """Uncertainty-based sampling in proportion to the losses."""

    def test_shares_are_those_of_the_losses(self):
        # Losses 1, 3 and 0; and all of them 0.
        shares = em.loss_shares(tf.constant([[-1.0, -3.0, 0.0], [0.0, 0.0, 0.0]]))
        self.assertAllClose(shares, [[0.25, 0.75, 0.0], [1 / 3, 1 / 3, 1 / 3]])

    def test_draws_are_with_replacement_in_proportion(self):
        shares = np.array([0.1, 0.0, 0.6, 0.3], np.float32)
        count, images = 2, 20000
        weights = em.drawn(
            tf.tile(shares[None], [images, 1]), draws.uniform([images, count], [5, 6])
        ).numpy()
        self.assertAllEqual(np.sum(weights, axis=1), np.ones(images))
        # How often each pair of views comes up, in either order; a view may twice.
        pairs = np.zeros([4, 4])
        for row in weights:
            chosen = np.repeat(np.arange(4), np.round(count * row).astype(int))
            pairs[chosen[0], chosen[1]] += 1
        expected = np.outer(shares, shares) * images
        expected = np.triu(expected + expected.T - np.diag(np.diag(expected)))
        possible = expected > 0
        self.assertEqual(pairs[~possible].sum(), 0)
        gaps = (pairs - expected)[possible] ** 2 / expected[possible]
        # 6 kinds of pairs: 30.9 with 5 degrees of freedom has a chance of 1e-5.
        self.assertLess(np.sum(gaps), 30.9)

    def test_points_fall_into_the_views_shares(self):
        shares = tf.constant([[0.25, 0.5, 0.25]])
        points = tf.constant([[0.0, 0.25, 0.7, 0.99]])
        draw = tf.function(em.drawn, jit_compile=True)
        for weights in (em.drawn(shares, points), draw(shares, points)):
            self.assertAllEqual(weights, [[0.25, 0.5, 0.25]])

    def test_e_step_draws_with_points_alone(self):
        log_p = -tf.random.stateless_uniform([9, 4], [1, 2])
        points = draws.uniform([9, 2], [3, 4])
        prior = tf.fill([9, 4], 0.25)
        _, hard = em.e_step(prior, log_p, 0.0, 2)
        _, drawn = em.e_step(prior, log_p, 0.0, 2, points)
        self.assertAllEqual(hard, em.hardest(log_p, 2))
        self.assertAllEqual(drawn, em.drawn(em.loss_shares(log_p), points))


if __name__ == "__main__":
    tf.test.main()
