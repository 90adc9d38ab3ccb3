"""What differs between Keras 2 and Keras 3, in one place.

TensorFlow 2.15 brings Keras 2 as `tf.keras`, its later versions Keras 3. Everything
else in this package is written for both; a version is asked for here alone.
"""

from __future__ import annotations

import itertools
import math
import warnings

import tensorflow as tf
from tensorflow import keras

from la_tf.console import tqdm
from la_tf.errors import UserError

NUMBER = 2 if tf.__version__.startswith("2.15.") else 3

if NUMBER == 3 and keras.backend.backend() != "tensorflow":
    raise UserError(
        f"Keras runs on {keras.backend.backend()} here, but la_tf trains on "
        "TensorFlow: set KERAS_BACKEND=tensorflow before Keras is imported."
    )


def scaled(loss, optimizer):
    """Return the loss as mixed precision wants it multiplied for its gradient."""
    if not scales(optimizer):
        return loss
    return (
        optimizer.get_scaled_loss(loss) if NUMBER == 2 else optimizer.scale_loss(loss)
    )


def unscaled(gradients, optimizer):
    """Return the loss's own gradients, dense, from those of the scaled loss."""
    gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
    if not scales(optimizer):
        return gradients
    if NUMBER == 2:
        return optimizer.get_unscaled_gradients(gradients)
    scale = loss_scale(optimizer)
    return [gradient / scale for gradient in gradients]


def loss_scale(optimizer):
    """Return what an optimizer that `scales` multiplies the loss by."""
    if NUMBER == 2:
        return tf.convert_to_tensor(optimizer.loss_scale)
    by_trial = scales_by_trial(optimizer)
    return tf.convert_to_tensor(
        optimizer.dynamic_scale if by_trial else optimizer.loss_scale_factor
    )


def scales(optimizer):
    """Return whether the optimizer scales the loss, as mixed precision needs it."""
    # In Keras 3 every optimizer can, by a factor that stays.
    factor = getattr(optimizer, "loss_scale_factor", None)
    return _is_loss_scale_optimizer(optimizer) or factor is not None


def scales_by_trial(optimizer):
    """Return whether the optimizer itself passes over steps that are not finite."""
    return _is_loss_scale_optimizer(optimizer) and getattr(optimizer, "dynamic", True)


def _is_loss_scale_optimizer(optimizer):
    return isinstance(optimizer, keras.mixed_precision.LossScaleOptimizer)


def build(optimizer, variables):
    """Make the optimizer's own variables, if it has none yet."""
    if NUMBER == 2:
        # Optimizers of the legacy kind make theirs by themselves.
        if hasattr(optimizer, "build"):
            optimizer.build(variables)
    elif not optimizer.built:
        optimizer.build(variables)


def apply(optimizer, gradients, variables):
    """Apply unscaled gradients that are the same in all replicas already."""
    if NUMBER == 2:
        optimizer.apply_gradients(
            zip(gradients, variables), experimental_aggregate_gradients=False
        )
        return
    # Keras 3 always sums over the replicas, and unscales by itself.
    factor = 1.0 / tf.distribute.get_strategy().num_replicas_in_sync
    if scales(optimizer):
        factor *= loss_scale(optimizer)
    gradients = [tf.cast(factor, each.dtype) * each for each in gradients]
    optimizer.apply_gradients(zip(gradients, variables))


def results(metrics):
    """Return the values of metrics by name, over all replicas, within a step."""
    context = tf.distribute.get_replica_context()
    if NUMBER == 2 or context is None or context.num_replicas_in_sync == 1:
        return {metric.name: metric.result() for metric in metrics}
    # Keras 3 gives each replica its own sums; what is read needs a device to travel
    # from.
    sums = [
        [tf.identity(variable.value) for variable in metric.variables]
        for metric in metrics
    ]
    sums = context.all_reduce(tf.distribute.ReduceOp.SUM, sums)
    return {
        metric.name: metric.stateless_result(part)
        for metric, part in zip(metrics, sums)
    }


def local_mean(model, name):
    """Return the value of a `Mean` metric over this process's replicas, a float.

    The other workers need not take part, as they must where it is read as usual.
    """
    (metric,) = (each for each in model.metrics if each.name == name)
    total, count = (
        sum(map(float, model.distribute_strategy.experimental_local_results(variable)))
        for variable in map(tensorflow_variable, (metric.total, metric.count))
    )
    return total / count if count else math.nan


def step_logs(logs):
    """Return a step's logs in the form that Keras takes from a replica."""
    workers = tf.distribute.MultiWorkerMirroredStrategy
    if NUMBER == 2 or not isinstance(tf.distribute.get_strategy(), workers):
        return logs
    # Keras 3 takes the workers' mean along the first axis, and a scalar has none.
    return {name: tf.cast(log, tf.float32)[None] for name, log in logs.items()}


def all_variables(layer):
    """Return the variables of a layer and those inside of it.

    Their order does not depend on which of them learn, unlike that of `layer.weights`.
    """
    kinds = "_trainable_weights", "_non_trainable_weights"
    if NUMBER == 3:
        kinds = "_trainable_variables", "_non_trainable_variables"
    variables = {
        id(variable): tensorflow_variable(variable)
        for part in layer._flatten_layers()
        for kind in kinds
        for variable in getattr(part, kind)
    }
    return list(variables.values())


def tensorflow_variable(variable):
    """Return the `tf.Variable` that holds a layer's weight."""
    return variable if NUMBER == 2 else variable.value


def may_assign_in_replica(variable):
    """Return whether a replica may assign this `tf.Variable` by itself."""
    if NUMBER == 3 or not tf.distribute.has_strategy():
        return True
    return (
        variable.synchronization == tf.VariableSynchronization.ON_READ
        or variable.aggregation != tf.VariableAggregation.NONE
    )


def progress_bar():
    """Return a callback class that owns a tqdm bar, `overall_progress_tqdm`."""
    if NUMBER == 3:
        return _ProgressBar
    with warnings.catch_warnings():
        # That its development has ended.
        warnings.simplefilter("ignore")
        import tensorflow_addons as addons

    return addons.callbacks.TQDMProgressBar


class _ProgressBar(keras.callbacks.Callback):
    """As much of tensorflow-addons' callback as `la_tf.train.progress` needs.

    tensorflow-addons is no longer developed and does not import beside Keras 3.
    """

    def __init__(self, overall_bar_format, leave_overall_progress, **unused):
        super().__init__()
        self._options = {
            "bar_format": overall_bar_format,
            "leave": leave_overall_progress,
        }
        self.overall_progress_tqdm = None

    def on_train_begin(self, logs=None):
        self.overall_progress_tqdm = tqdm(dynamic_ncols=True, **self._options)

    def on_train_end(self, logs=None):
        self.overall_progress_tqdm.close()


class _Unread(dict):
    """Logs that nobody reads before the epoch's end: Keras finds none to copy."""

    def items(self):
        return ()


class _ModelOfKeras3(keras.Model):
    """A model whose `fit` copies a step's logs to the host only for those who read.

    Keras 3 waits after every step for all logs. Keras 2 leaves them on the device where
    all callbacks say by `_supports_tf_logs` that they do not read them; so does this.
    """

    _logs_are_read = True

    def fit(self, x=None, *args, callbacks=(), verbose="auto", **kwargs):
        self._logs_are_read = verbose != 0 or any(map(_reads_logs, callbacks))
        kwargs.update(callbacks=callbacks, verbose=verbose)
        try:
            return super().fit(_known_to_keras_3(x), *args, **kwargs)
        finally:
            self._logs_are_read = True

    def evaluate(self, x=None, *args, **kwargs):
        return super().evaluate(_known_to_keras_3(x), *args, **kwargs)

    def _maybe_symbolic_build(self, iterator=None, data_batch=None):
        # Keras would call the model on a batch of views, which are not its input.
        if self.optimizer is None or self._distribute_strategy is None:
            return
        if not self.built:
            raise ValueError(
                "The classifier has no weights yet, and a strategy needs them before "
                "the first step: begin it with a keras.Input."
            )
        with self._distribute_strategy.scope():
            build(self.optimizer, self.trainable_variables)

    def make_train_function(self, force=False):
        if self.train_function is not None and not force:
            return
        super().make_train_function(force)
        step = self.train_function
        numbers = itertools.count()

        def step_without_waiting(iterator):
            # Keras 2 marks the steps, without which a profile cannot tell their parts.
            with tf.profiler.experimental.Trace("train", step_num=next(numbers), _r=1):
                logs = step(iterator)
            return logs if self._logs_are_read else _Unread(logs)

        self.train_function = step_without_waiting


def _known_to_keras_3(data):
    """Return data as Keras takes it, which knows distributed datasets by name alone."""
    if type(data).__name__ != "DistributedDatasetsFromFunction":
        return data
    from keras.src.trainers.data_adapters import tf_dataset_adapter

    return tf_dataset_adapter.TFDatasetAdapter(data)


def _reads_logs(callback):
    if getattr(callback, "_supports_tf_logs", False):
        return False
    hooks = "on_train_batch_end", "on_batch_end"
    return any(
        getattr(getattr(callback, hook), "__func__", None)
        is not getattr(keras.callbacks.Callback, hook)
        for hook in hooks
    )


Model = keras.Model if NUMBER == 2 else _ModelOfKeras3
