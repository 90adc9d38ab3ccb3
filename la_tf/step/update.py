"""From each replica's gradients to new weights, the same in all replicas."""

from __future__ import annotations

import tensorflow as tf
from tensorflow import keras


def scaled(loss, optimizer):
    """The loss as mixed precision wants it multiplied before its gradient is taken."""
    return optimizer.get_scaled_loss(loss) if _scales(optimizer) else loss


def unscaled(gradients, optimizer):
    """The loss's own gradients, dense, from those of the scaled loss."""
    gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
    return (
        optimizer.get_unscaled_gradients(gradients) if _scales(optimizer) else gradients
    )


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
    """Whether all gradients are finite, or the optimizer looks after that itself.

    A LossScaleOptimizer tries large scales on purpose and passes over the steps whose
    gradients overflow.
    """
    if _scales(optimizer) and optimizer.dynamic:
        return tf.constant(True)
    return tf.math.is_finite(tf.linalg.global_norm(gradients))


def clipped(gradients, norm):
    """The gradients scaled down to a global norm, or as they are for None."""
    return gradients if norm is None else tf.clip_by_global_norm(gradients, norm)[0]


def decayed(gradients, variables, weight_decay):
    """The gradients with the L2 penalty's added: g + weight_decay · w."""
    if not weight_decay:
        return gradients
    return [
        gradient + weight_decay * tf.cast(variable, gradient.dtype)
        for gradient, variable in zip(gradients, variables)
    ]


def apply_if(condition, optimizer, gradients, variables):
    """Applies the gradients if the condition holds, and only counts the step if not.

    Args:
        condition: a boolean, the same in all replicas.
        optimizer: a Keras optimizer.
        gradients: already summed over the replicas, the same in all.
        variables: what they are the gradients of.
    """
    if hasattr(optimizer, "build"):
        # Slots must not be made inside of the condition.
        with tf.init_scope():
            optimizer.build(variables)

    def apply(gradients):
        optimizer.apply_gradients(
            zip(gradients, variables), experimental_aggregate_gradients=False
        )

    def choose(strategy, condition, gradients):
        # Optimizers meet across replicas, which only works outside of a replica's own
        # condition: so the condition is taken once, and the replicas go on inside.
        tf.cond(
            strategy.experimental_local_results(condition)[0],
            lambda: strategy.extended.call_for_each_replica(apply, args=(gradients,)),
            lambda: _count(optimizer),
        )

    context = tf.distribute.get_replica_context()
    context.merge_call(choose, args=(condition, gradients))


def _count(optimizer):
    # The step is over, so that the learning rate and the noise go on.
    optimizer.iterations.assign_add(1)


def _scales(optimizer):
    return isinstance(optimizer, keras.mixed_precision.LossScaleOptimizer)
