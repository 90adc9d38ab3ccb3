"""From each replica's gradients to new weights, the same in all replicas."""

from __future__ import annotations

import tensorflow as tf

from la_tf import keras_generation


def over_replicas(gradients, images, sums, averages):
    """Return the gradients' mean over the global batch and the sums over all replicas.

    The classifier's moving averages become the replicas' mean in each of them, so that
    all evaluate, save and resume the same network. Replicas may hold different numbers
    of images, so each one's mean is weighted by its number. Everything travels
    together, once a step.

    Args:
        gradients: a list, of this replica's mean loss.
        images: how many images this replica holds, float32.
        sums: any structure of float32 tensors.
        averages: the classifier's `MovingAverages`.
    """
    context = tf.distribute.get_replica_context()
    if context.num_replicas_in_sync == 1:
        return gradients, sums
    weighted = [images * gradient for gradient in gradients]
    weighted, moved, images, sums = context.all_reduce(
        tf.distribute.ReduceOp.SUM, (weighted, averages.sums(images), images, sums)
    )
    averages.agree(moved, images)
    return [gradient / images for gradient in weighted], sums


def is_finite(gradients, optimizer):
    """Tell whether all gradients are finite, or the optimizer looks after that itself.

    A LossScaleOptimizer tries large scales on purpose and passes over the steps whose
    gradients overflow.
    """
    if keras_generation.scales_by_trial(optimizer):
        return tf.constant(True)
    return tf.math.is_finite(tf.linalg.global_norm(gradients))


def clipped(gradients, norm):
    """Return the gradients scaled down to a global norm, or as they are for None."""
    return gradients if norm is None else tf.clip_by_global_norm(gradients, norm)[0]


def decayed(gradients, variables, weight_decay):
    """Return the gradients with the L2 penalty's added: g + weight_decay · w."""
    if not weight_decay:
        return gradients
    return [
        gradient + weight_decay * tf.cast(variable, gradient.dtype)
        for gradient, variable in zip(gradients, variables)
    ]


def apply_if(
    condition, optimizer, gradients, variables, shorter_steps=None, average=None
):
    """Apply the gradients if the condition holds, and only count the step if not.

    Args:
        condition: a boolean, the same in all replicas.
        optimizer: a Keras optimizer, built: a condition is no place to make slots.
        gradients: already summed over the replicas, the same in all.
        variables: what they are the gradients of.
        shorter_steps: the `weights.ShorterSteps` of a backbone, or None.
        average: the `weights.Average` that follows the weights, or None.
    """

    def apply(gradients):
        keras_generation.apply(optimizer, gradients, variables)

    def apply_in_all(strategy, gradients):
        step = tf.identity(optimizer.iterations)
        before = shorter_steps.begin(strategy) if shorter_steps else None
        strategy.extended.call_for_each_replica(apply, args=(gradients,))
        if shorter_steps:
            shorter_steps.finish(strategy, before)
        if average:
            average.follow(strategy, step)

    def choose(strategy, condition, gradients):
        # Optimizers meet across replicas, which only works outside of a replica's own
        # condition: so the condition is taken once, and the replicas go on inside.
        tf.cond(
            strategy.experimental_local_results(condition)[0],
            lambda: apply_in_all(strategy, gradients),
            lambda: _count(optimizer),
        )

    context = tf.distribute.get_replica_context()
    context.merge_call(choose, args=(condition, gradients))


def _count(optimizer):
    # The step is over, so that the learning rate and the noise go on.
    optimizer.iterations.assign_add(1)
