"""The paper's equations 2 to 5 as pure functions of tensors.

Symbols: B images have K views each, drawn from S policies; z is a policy, π_z its
prior probability, P_z = P(y | o_z(x), θ) the likelihood of the label under the view.
Tensors are [B, K] unless said otherwise and are computed in float32 whatever comes in.

Only log P needs logarithms from the start. In eq. 2 a likelihood too small for float32
is below the clamp anyway, so the plain product π P loses nothing there.
"""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf

# Eq. 2 takes no π P for smaller than this, so that h is defined for every view.
SMALLEST = 1e-10


def log_likelihood(logits, labels):
    """Return Σ_c y_c log softmax(logits)_c, the log P of eq. 4.

    Args:
        logits: [..., classes], of any floating type.
        labels: [..., classes], each row a distribution over the classes.
    """
    log_softmax = tf.nn.log_softmax(_float32(logits))
    # 0 · log 0 counts as 0: a class that the label leaves out says nothing.
    return tf.reduce_sum(tf.math.multiply_no_nan(log_softmax, _float32(labels)), -1)


def log_probability(logits, labels):
    """Return log Σ_c softmax(logits)_c y_c, whose exponential is the P of eq. 2.

    It equals `log_likelihood` for a label of one class, and is larger for a mixed one.
    """
    log_softmax = tf.nn.log_softmax(_float32(logits))
    return tf.reduce_logsumexp(log_softmax + tf.math.log(_float32(labels)), -1)


def posterior(prior, likelihood):
    """Return h, eq. 2: max(π_z P_z, 1e-10) as a share of its sum over K views.

    Args:
        prior: π_z of each view's policy.
        likelihood: P_z of each view.
    """
    joint = tf.maximum(_float32(prior) * _float32(likelihood), SMALLEST)
    return joint / tf.reduce_sum(joint, -1, keepdims=True)


def softmin(h, sigma):
    """Return h̃, eq. 3: exp(-h_z / σ) as a share of its sum over K views.

    σ = 0 and σ = inf are the exact limits: all weight on the smallest h, evenly over
    ties, and 1/K.

    Args:
        h: what `posterior` gives.
        sigma: a Python number, 0 to inf.
    """
    h = _float32(h)
    if math.isinf(sigma):
        return tf.ones_like(h) / _float32(tf.shape(h)[-1])
    smallest = tf.reduce_min(h, -1, keepdims=True)
    if sigma == 0:
        hardest = _float32(h <= smallest)
        return hardest / tf.reduce_sum(hardest, -1, keepdims=True)
    # From the smallest h, so that a tiny σ gives exp(0) and exp(-inf), never inf/inf.
    return tf.nn.softmax((smallest - h) / max(sigma, np.finfo(np.float32).tiny))


def hardest(log_joint, count):
    """Return weights 1/count on the `count` views of smallest π P, 0 on the others.

    Uncertainty-based sampling of several data points. Among equals the earlier view
    is taken.

    Args:
        log_joint: log π_z + log P_z.
        count: how many of the K views, a Python number.
    """
    chosen = tf.math.top_k(-_float32(log_joint), count).indices
    views = tf.shape(log_joint)[-1]
    return tf.reduce_sum(tf.one_hot(chosen, views, on_value=1.0 / count), -2)


def loss_shares(log_probability):
    """Return -log P_z as a share of its sum over K views; even where all are 0."""
    losses = -tf.minimum(_float32(log_probability), 0.0)
    total = tf.reduce_sum(losses, -1, keepdims=True)
    even = 1.0 / _float32(tf.shape(losses)[-1])
    return tf.where(total > 0.0, tf.math.divide_no_nan(losses, total), even)


def drawn(shares, points):
    """Return weights n/s on views that came up n times in s draws.

    Draws with replacement in proportion to the shares, as the released code of
    uncertainty-based sampling makes them: the weights' mean is the shares.

    Args:
        shares: which sum to 1 in each row.
        points: [B, s], independent and uniform in [0, 1); s is known.
    """
    edges = tf.cumsum(shares, axis=-1)[:, tf.newaxis, :-1]
    # A GPU leaves sums of int32 to the host.
    views = tf.reduce_sum(tf.cast(points[..., tf.newaxis] >= edges, tf.int64), -1)
    share = 1.0 / points.shape[1]
    return tf.reduce_sum(tf.one_hot(views, tf.shape(shares)[-1], on_value=share), -2)


def e_step(prior, log_probability, sigma, select=None, points=None):
    """Return h of eq. 2 and the views' weights: h̃ of eq. 3, without a gradient.

    Args:
        prior: π_z of each view's policy.
        log_probability: log P_z of each view.
        sigma: σ of eq. 3, a Python number.
        select: weighs so many of the hardest views alike, in the place of eq. 3.
        points: what `drawn` takes, to draw these views in proportion to their losses
            instead; or None.
    """
    log_probability = tf.stop_gradient(log_probability)
    h = posterior(prior, tf.exp(log_probability))
    if select is None:
        return h, softmin(h, sigma)
    if points is not None:
        return h, drawn(loss_shares(log_probability), points)
    return h, hardest(log_of_prior(prior) + log_probability, select)


def weighted_loss(weights, log_likelihood):
    """Return -(1/B) Σ_b Σ_z h̃_z log P_z, the part of eq. 4 that θ is trained on.

    No gradient flows through the weights.
    """
    weighted = tf.stop_gradient(_float32(weights)) * _float32(log_likelihood)
    # An empty batch, as a replica may get at the end of an epoch, weighs nothing.
    images = tf.maximum(tf.shape(weighted)[0], 1)
    return -tf.reduce_sum(weighted) / _float32(images)


def expected_loss(weights, log_likelihood, log_prior):
    """Return Ẽ, eq. 4: -(1/B) Σ_b Σ_z h̃_z (log π_z + log P_z), h̃ held constant."""
    return weighted_loss(weights, _float32(log_prior) + _float32(log_likelihood))


def log_of_prior(prior):
    """Return log π_z, at least log 1e-10: the window may hold no draw of a policy."""
    return tf.math.log(tf.maximum(_float32(prior), SMALLEST))


def policy_sums(weights, policies, num_policies):
    """Return Σ_b Σ_{k: z_bk = z} h̃_bk for every policy z, [num_policies].

    The numerator of eq. 5. A step adds up the sums of its replicas before it takes
    their `shares`.
    """
    return tf.math.unsorted_segment_sum(
        tf.reshape(_float32(weights), [-1]), tf.reshape(policies, [-1]), num_policies
    )


def policy_mass(weights, policies, num_policies):
    """Return m, the fraction in eq. 5: each policy's share of all weight, [S]."""
    return shares(policy_sums(weights, policies, num_policies))


def shares(sums):
    """Return each sum's share of the total; zeros where nothing was summed."""
    return tf.math.divide_no_nan(sums, tf.reduce_sum(sums))


def entropy(distribution):
    """Return -Σ p log p over the last axis, in nats; 0 · log 0 counts as 0."""
    return -tf.reduce_sum(tf.math.xlogy(distribution, distribution), -1)


def _float32(tensor):
    return tf.cast(tensor, tf.float32)
