"""State and sums that all replicas of a training step hold alike."""

from __future__ import annotations

import tensorflow as tf


def variable(value, name):
    """Return a variable that every replica of a step writes, all the same."""
    # Each has its own copy; as they are alike, the first is as good as any.
    return tf.Variable(
        value,
        trainable=False,
        name=name,
        synchronization=tf.VariableSynchronization.ON_READ,
        aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
    )


def place():
    """Return the number of this replica, and how many there are.

    By them a step draws for the images of all replicas and takes its own, so that draws
    do not depend on how a batch is divided, if it is divided evenly.
    """
    context = tf.distribute.get_replica_context()
    number = tf.cast(context.replica_id_in_sync_group, tf.int32)
    return number, context.num_replicas_in_sync


def summed(values):
    """Return a structure of tensors added up over all replicas."""
    context = tf.distribute.get_replica_context()
    if context.num_replicas_in_sync == 1:
        return values
    return context.all_reduce(tf.distribute.ReduceOp.SUM, values)


def assign(variables, values):
    """Give variables that a replica may not assign by itself the same new values.

    Args:
        variables: a list of `tf.Variable`.
        values: a list of tensors, the same in all replicas.
    """

    def assign_all(strategy, values):
        for each, value in zip(variables, values):
            strategy.extended.update(each, lambda one, new: one.assign(new), (value,))

    tf.distribute.get_replica_context().merge_call(assign_all, args=(values,))
