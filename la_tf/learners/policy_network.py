"""MetaAugment's policy network: how much a view counts, and how that is learned.

Symbols: r_i in (0, 1) is the raw weight of view i, R their sum over the global batch,
ŵ_i = r_i / R its weight in the loss, θ the policy network's own weights, α the length
of the look-ahead w' = w - α ∇_w Σ_i ŵ_i ℓ_i(w).
"""

from __future__ import annotations

import tensorflow as tf

from la_tf import draws, replicas

UNITS = 100
LEARNING_RATE = 1e-3
MOMENTUM = 0.9
WEIGHT_DECAY = 5e-4

# Keeps these draws apart from all others that start from the run's seed.
_NETWORK = 5


class PolicyNetwork(tf.Module):
    """A small network from a view's features and transformation to its raw weight.

    Args:
        num_features: of the classifier, for each view.
        embedding_size: of the transformation.
        seed: of the initial weights.
    """

    def __init__(self, num_features, embedding_size, seed=0):
        super().__init__(name="policy_network")
        weights = initial_weights(num_features, embedding_size, seed)
        self.weights = _variables(weights)
        self.momenta = _variables(
            {name: tf.zeros_like(each) for name, each in weights.items()}
        )

    def values(self):
        """Return the weights as tensors by name."""
        return {name: tf.identity(each) for name, each in self.weights.items()}

    def moved(self, gradients):
        """Return weights and momenta after a step of SGD, without taking it.

        The momentum is m ← 0.9 m + g + 5e-4 θ, and θ ← θ - β m.
        """
        momenta = {
            name: MOMENTUM * self.momenta[name]
            + gradient
            + WEIGHT_DECAY * self.weights[name]
            for name, gradient in gradients.items()
        }
        weights = {
            name: self.weights[name] - LEARNING_RATE * momentum
            for name, momentum in momenta.items()
        }
        return weights, momenta

    def assign_if(self, condition, weights, momenta):
        """Take a step that `moved` gave, if the condition holds and it is finite."""
        condition &= tf.math.is_finite(tf.linalg.global_norm([*momenta.values()]))
        for name, variable in self.weights.items():
            variable.assign(tf.where(condition, weights[name], variable))
            momentum = self.momenta[name]
            momentum.assign(tf.where(condition, momenta[name], momentum))


def initial_weights(num_features, embedding_size, seed):
    """Return weights by name: kernels as Glorot and Bengio draw them, biases zero."""
    shapes = {
        "feature_kernel": [num_features, UNITS],
        "embedding_kernel": [embedding_size, UNITS],
        "joint_kernel": [2 * UNITS, 1],
    }
    weights = {}
    for number, (name, shape) in enumerate(shapes.items()):
        limit = (6 / sum(shape)) ** 0.5
        one = draws.fold([seed, _NETWORK], number)
        weights[name] = draws.uniform(shape, one, -limit, limit)
        weights[name.replace("kernel", "bias")] = tf.zeros(shape[1:])
    return weights


def raw_weights(weights, features, embedding):
    """Return r, [N], from features [N, F] and embeddings [N, E] of the views."""
    parts = [
        tf.nn.relu(inputs @ weights[f"{name}_kernel"] + weights[f"{name}_bias"])
        for name, inputs in (("feature", features), ("embedding", embedding))
    ]
    joint = tf.concat(parts, 1) @ weights["joint_kernel"] + weights["joint_bias"]
    return tf.sigmoid(joint[:, 0])


def look_ahead_gradient(weights, features, embedding, slopes, length):
    """Return ∂L_val(w')/∂θ by name, the same in all replicas.

    By the chain rule it is -α Σ_i (∂ŵ_i/∂θ) s_i, where s_i is the slope of ℓ_i at w
    in the direction of ∇L_val(w'). As ŵ_i = r_i / R, that is

        -(α/R) [Σ_i s_i ∂r_i/∂θ - (Σ_i ŵ_i s_i) Σ_i ∂r_i/∂θ],

    whose sums each replica can take of its own views.

    Args:
        weights: θ by name.
        features: [N, F].
        embedding: [N, E].
        slopes: s, [N].
        length: α.
    """
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(weights)
        raw = raw_weights(weights, features, embedding)
    sloped = tape.gradient(raw, weights, output_gradients=slopes)
    plain = tape.gradient(raw, weights)
    sums = sloped, plain, tf.reduce_sum(raw), tf.reduce_sum(raw * slopes)
    sloped, plain, total, weighted = replicas.summed(sums)
    return {
        name: -(length / total) * (sloped[name] - weighted / total * plain[name])
        for name in weights
    }


def _variables(values):
    return {name: replicas.variable(value, name) for name, value in values.items()}
