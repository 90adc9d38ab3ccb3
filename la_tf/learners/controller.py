"""Adversarial AutoAugment's controller: an LSTM that decides policies, and its reward.

A policy is a sequence of decisions: an operation, its level, the next operation, its
level, and so on. Each decision is embedded and fed to the next; the state lasts through
the policy. All of it are pure functions of the controller's weights, a dictionary.
"""

from __future__ import annotations

import tensorflow as tf

from la_tf import draws

SUB_POLICIES = 5
STAGES = 2
_PAIRS = SUB_POLICIES * STAGES
DECISIONS = 2 * _PAIRS

UNITS = 100
EMBEDDING = 32
ENTROPY_WEIGHT = 1e-5
_INITIAL_RANGE = 0.1
_SMALLEST_DEVIATION = 1e-5


def initial_weights(num_operations, num_levels, seed):
    """Return weights drawn evenly from ±0.1, the heads' biases zero.

    Args:
        num_operations: that a decision may choose from.
        num_levels: likewise.
        seed: two whole numbers.
    """
    shapes = {
        "operation_embedding": [num_operations, EMBEDDING],
        "level_embedding": [num_levels, EMBEDDING],
        "kernel": [EMBEDDING + UNITS, 4 * UNITS],
        "bias": [4 * UNITS],
        "operation_kernel": [UNITS, num_operations],
        "level_kernel": [UNITS, num_levels],
    }
    weights = {
        name: draws.uniform(shape, one, -_INITIAL_RANGE, _INITIAL_RANGE)
        for (name, shape), one in zip(shapes.items(), draws.split(seed, len(shapes)))
    }
    return {
        **weights,
        "operation_bias": tf.zeros([num_operations]),
        "level_bias": tf.zeros([num_levels]),
    }


def drawn(weights, count, seed):
    """Return new policies: decisions int64 [count, 20], and the mean entropy."""
    uniform = draws.uniform([_PAIRS, count, 2], seed)
    decisions, _, entropy = _decide(weights, uniform, draws.categorical)
    return decisions, tf.reduce_mean(entropy)


def log_probabilities(weights, decisions):
    """Return log p and entropy in nats of the policies, [M] each.

    Both are sums over a policy's decisions.

    Args:
        weights: of the controller.
        decisions: int64 [M, 20].
    """
    pairs = tf.transpose(tf.reshape(decisions, [-1, _PAIRS, 2]), [1, 0, 2])
    _, log_probability, entropy = _decide(weights, pairs, lambda _, given: given)
    return log_probability, entropy


def rewards(losses):
    """Return the policies' losses [M] normalised: mean 0, deviation 1.

    Equal losses give zeros.
    """
    centred = losses - tf.reduce_mean(losses)
    deviation = tf.sqrt(tf.reduce_mean(tf.square(centred)))
    return centred / (deviation + _SMALLEST_DEVIATION)


def objective(weights, decisions, losses):
    """Return what the controller minimises.

    -(1/M) Σ_m L̃_m log p_m - λ · entropy, L̃ the normalised losses: REINFORCE, which
    makes policies of high loss more probable.

    Args:
        weights: of the controller.
        decisions: int64 [M, 20].
        losses: [M], the mean training loss of each policy's views.
    """
    log_probability, entropy = log_probabilities(weights, decisions)
    gain = tf.reduce_mean(rewards(losses) * log_probability)
    return -gain - ENTROPY_WEIGHT * tf.reduce_mean(entropy)


def sub_policies(decisions):
    """Return the operations and the levels, int64 [M, sub-policies, stages] each."""
    parts = tf.reshape(decisions, [-1, SUB_POLICIES, STAGES, 2])
    return parts[..., 0], parts[..., 1]


def _decide(weights, given, choose):
    """Return decisions int64 [M, 20], log p [M] and entropy [M].

    Args:
        weights: of the controller.
        given: [pairs, M, 2], what each decision comes from.
        choose: gives decisions [M] from probabilities [M, n] and what was given [M].
    """
    count = given.shape[1]
    zeros = tf.zeros([count])
    state = tf.zeros([count, UNITS]), tf.zeros([count, UNITS])
    start = state, tf.zeros([count, EMBEDDING]), zeros, zeros

    def decide_pair(before, given):
        (state, token, log_probability, entropy), _ = before
        pair = []
        for place, head in enumerate(("operation", "level")):
            state = _lstm(weights, token, *state)
            logits = state[0] @ weights[f"{head}_kernel"] + weights[f"{head}_bias"]
            log_softmax = tf.nn.log_softmax(logits)
            softmax = tf.exp(log_softmax)
            pair.append(choose(softmax, given[:, place]))
            chosen = tf.one_hot(pair[-1], logits.shape[1])
            log_probability += tf.reduce_sum(chosen * log_softmax, 1)
            entropy -= tf.reduce_sum(softmax * log_softmax, 1)
            token = chosen @ weights[f"{head}_embedding"]
        return (state, token, log_probability, entropy), tf.stack(pair, 1)

    # A loop of the graph: unrolled it would take seconds to trace.
    decisions = tf.zeros([count, 2], tf.int64)
    after, decisions = tf.scan(decide_pair, given, (start, decisions))
    decisions = tf.reshape(tf.transpose(decisions, [1, 0, 2]), [count, DECISIONS])
    return decisions, after[2][-1], after[3][-1]


def _lstm(weights, inputs, hidden, cell):
    """Return the hidden state and the cell after one more input."""
    gates = tf.concat([inputs, hidden], 1) @ weights["kernel"] + weights["bias"]
    enter, keep, new, leave = tf.split(gates, 4, 1)
    cell = tf.sigmoid(keep) * cell + tf.sigmoid(enter) * tf.tanh(new)
    return tf.sigmoid(leave) * tf.tanh(cell), cell
