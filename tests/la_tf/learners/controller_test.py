"""Adversarial AutoAugment's controller: its reward, its gradient, its policies."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

from la_tf.learners import adam, controller
from la_tf.learners.adversarial import Adversarial

OPERATIONS, LEVELS = 16, 10
POLICIES = 4


def _weights(seed=0):
    return controller.initial_weights(OPERATIONS, LEVELS, [seed, 7])


def _decisions(count=POLICIES, seed=1):
    return controller.drawn(_weights(), count, [seed, 0])[0]


def _gradients(weights, function):
    with tf.GradientTape() as tape:
        tape.watch(weights)
        value = function(weights)
    return tape.gradient(value, weights)


def _sigmoid(values):
    return 1 / (1 + np.exp(-values))


def _reference(weights, decisions):
    """log p and entropy of one policy, in NumPy and float64."""
    weights = {
        name: value.numpy().astype(np.float64) for name, value in weights.items()
    }
    hidden, cell, token = np.zeros(100), np.zeros(100), np.zeros(32)
    log_probability = entropy = 0.0
    for place, decision in enumerate(decisions):
        gates = np.concatenate([token, hidden]) @ weights["kernel"] + weights["bias"]
        enter, keep, new, leave = np.split(gates, 4)
        cell = _sigmoid(keep) * cell + _sigmoid(enter) * np.tanh(new)
        hidden = _sigmoid(leave) * np.tanh(cell)
        head = ("operation", "level")[place % 2]
        logits = hidden @ weights[f"{head}_kernel"] + weights[f"{head}_bias"]
        shares = np.exp(logits) / np.exp(logits).sum()
        log_probability += np.log(shares[decision])
        entropy -= np.sum(shares * np.log(shares))
        token = weights[f"{head}_embedding"][decision]
    return log_probability, entropy


class ControllerTest(tf.test.TestCase):
    def test_a_policy_has_twenty_decisions_within_their_ranges(self):
        decisions = _decisions(300).numpy()
        self.assertEqual(decisions.shape, (300, 20))
        self.assertEqual(set(decisions[:, ::2].flat), set(range(OPERATIONS)))
        self.assertEqual(set(decisions[:, 1::2].flat), set(range(LEVELS)))

    def test_probability_and_entropy_are_those_of_the_sequence(self):
        # Larger than at the start, so that the state has something to say.
        weights = {name: 8 * value for name, value in _weights().items()}
        decisions = _decisions()
        ours = controller.log_probabilities(weights, decisions)
        expected = [_reference(weights, policy) for policy in decisions.numpy()]
        self.assertAllClose(np.transpose(ours), expected, rtol=1e-4)

    def test_drawn_policies_follow_their_probabilities(self):
        weights = _weights()
        bias = np.linspace(-1, 1, OPERATIONS, dtype=np.float32)
        weights["operation_bias"] = tf.constant(bias)
        weights["operation_kernel"] *= 0.0
        decisions = controller.drawn(weights, 400, [1, 2])[0].numpy()
        counts = np.bincount(decisions[:, ::2].ravel(), minlength=OPERATIONS)
        expected = 4000 * np.exp(bias) / np.exp(bias).sum()
        # Chi-square with 15 degrees of freedom: 44.3 has a chance of 1 in 10,000.
        self.assertLess(np.sum((counts - expected) ** 2 / expected), 44.3)

    def test_rewards_have_mean_0_and_deviation_1(self):
        rewards = controller.rewards(tf.constant([0.5, 2.5, 1.0, 8.0])).numpy()
        self.assertAllClose(rewards.mean(), 0.0, atol=1e-6)
        self.assertAllClose(rewards.std(), 1.0, atol=1e-4)
        self.assertAllEqual(np.argsort(rewards), [0, 2, 1, 3])

    def test_equal_losses_leave_the_gradient_of_the_entropy_alone(self):
        weights, decisions = _weights(), _decisions()
        ours = _gradients(
            weights,
            lambda each: controller.objective(each, decisions, tf.fill([4], 2.5)),
        )
        entropy = _gradients(
            weights,
            lambda each: tf.reduce_mean(
                controller.log_probabilities(each, decisions)[1]
            ),
        )
        for name, gradient in ours.items():
            self.assertAllClose(gradient, -1e-5 * entropy[name], rtol=1e-5, atol=1e-12)

    def test_reinforce_gradient_by_hand(self):
        # Without kernels every operation is drawn by softmax(bias), so that
        # d log p / d bias = Σ over the ten operations of (chosen or not) - softmax.
        weights, decisions = _weights(), _decisions()
        bias = np.linspace(-1, 1, OPERATIONS)
        weights["operation_bias"] = tf.constant(bias, tf.float32)
        weights["operation_kernel"] *= 0.0
        losses = np.array([1.0, 3.0, 2.0, 4.0])
        rewards = (losses - losses.mean()) / (losses.std() + 1e-5)
        softmax = np.exp(bias) / np.exp(bias).sum()
        chosen = np.eye(OPERATIONS)[decisions.numpy()[:, ::2]].sum(1)
        entropy = -np.sum(softmax * np.log(softmax))
        of_entropy = -10 * softmax * (np.log(softmax) + entropy)
        expected = -np.mean(rewards[:, None] * (chosen - 10 * softmax), 0)
        expected -= 1e-5 * of_entropy
        ours = _gradients(
            weights,
            lambda each: controller.objective(
                each, decisions, tf.constant(losses, tf.float32)
            ),
        )
        self.assertAllClose(ours["operation_bias"], expected, rtol=1e-5, atol=1e-6)

    def test_adam_is_that_of_keras(self):
        start = np.array([1.0, -2.0, 0.5], np.float32)
        ours, theirs = tf.Variable(start), tf.Variable(start)
        keras_adam = keras.optimizers.Adam(0.01, epsilon=1e-8)
        our_adam = adam.Adam({"weight": ours}, 0.01)
        for step in range(5):
            gradient = tf.constant([0.3, -0.1, 0.02]) * (step - 1.5)
            our_adam.apply({"weight": gradient})
            keras_adam.apply_gradients([(gradient, theirs)])
        self.assertAllClose(ours, theirs, rtol=1e-5)


class AdversarialTest(tf.test.TestCase):
    def setUp(self):
        super().setUp()
        # An update or two are sooner done than traced.
        tf.config.run_functions_eagerly(True)
        self.addCleanup(tf.config.run_functions_eagerly, False)

    def _recorded(self, learner, losses):
        losses = tf.constant(losses, tf.float32)
        learner.record(tf.constant(True), None, None, learner.sums(losses))

    def test_each_view_has_a_sub_policy_of_its_own_policy(self):
        learner = Adversarial(3, interval=5)
        choice = learner.draw(200, 3, [1, 2])
        operations, levels = (
            part.numpy() for part in controller.sub_policies(learner.decisions)
        )
        for view in range(3):
            rows = zip(
                choice.operations[:, view].numpy(), choice.levels[:, view].numpy()
            )
            drawn = {(*pair, *level) for pair, level in rows}
            policy = zip(operations[view], levels[view])
            self.assertEqual(drawn, {(*pair, *level) for pair, level in policy})
        first, second = choice.operations[..., 0], choice.operations[..., 1]
        self.assertAllEqual(choice.policies, 16 * first + second)

    def test_the_policy_of_highest_loss_gains_probability(self):
        learner = Adversarial(3, interval=2)
        decisions = tf.identity(learner.decisions)
        before, _ = controller.log_probabilities(learner.weights, decisions)
        self._recorded(learner, [[1.0, 5.0, 1.2], [1.1, 4.0, 0.9]])
        self._recorded(learner, [[0.9, 6.0, 1.0]])
        learner.update()
        after, _ = controller.log_probabilities(learner.weights, decisions)
        self.assertGreater(after[1], before[1])
        self.assertLess(after[0], before[0])

    def test_an_update_decides_anew_and_forgets_the_losses(self):
        learner, other = (Adversarial(2, interval=1) for _ in range(2))
        before = learner.decisions.numpy()
        self._recorded(learner, [[1.0, 2.0]])
        self._recorded(other, [[1.0, 2.0]])
        # A step that was not sound has nothing to say.
        nothing = other.sums(tf.constant([[np.nan, 1.0]]))
        other.record(tf.constant(False), None, None, nothing)
        for each in learner, other:
            each.update()
        self.assertNotAllEqual(before, learner.decisions)
        self.assertAllEqual(other.decisions, learner.decisions)
        self.assertAllEqual(learner._losses, [0.0, 0.0])
        # Twenty decisions between nearly equal chances: 10 (ln 16 + ln 10) nats.
        entropy = learner.logs()["drawing_entropy"]
        self.assertAllClose(entropy, 50.75, atol=0.05)

    def test_the_number_of_views_is_that_of_the_policies(self):
        with self.assertRaisesRegex(ValueError, "num_views is 6, but the controller"):
            Adversarial(3, interval=1).draw(4, 6, [1, 2])


if __name__ == "__main__":
    tf.test.main()
