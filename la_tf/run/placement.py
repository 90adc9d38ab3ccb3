"""Where a run makes its views: on the host beside the step, or in the step itself."""

from __future__ import annotations

import dataclasses

import numpy as np
import tensorflow as tf

# A GPU of middling speed. Only the order of magnitude of a share matters.
_OPERATIONS_A_SECOND = 1e13
_BYTES_A_SECOND = 1e12
# What the views move, counted in docs/operations.md, and what launching takes.
_BYTES_A_PIXEL = 69
_LAUNCH_SECONDS = 2e-3
# A step that spends more of its time on views leaves them to the host.
_LARGEST_SHARE = 0.1


def settled(config, classifier, images):
    """Return the configuration with --augment_on=auto made host or device.

    The origin of the value tells the reason.

    Args:
        config: the TrainConfig.
        classifier: the network.
        images: of a step in this process.
    """
    place, reason = _chosen(config, classifier, images)
    origins = {**config.origins, "augment_on": f"auto: {reason}"}
    return dataclasses.replace(config, augment_on=place, origins=origins)


def _chosen(config, classifier, images):
    if config.data_service:
        return "host", "the data service makes the views"
    gpus = len(tf.config.list_physical_devices("GPU"))
    if not gpus:
        return "host", "there is no GPU"
    share = share_of_step(classifier, images, config.num_views, gpus)
    place = "device" if share <= _LARGEST_SHARE else "host"
    return place, f"on a GPU views would take some {share:.0%} of a step (estimated)"


def share_of_step(classifier, images, num_views, gpus):
    """Return which part of a step on a GPU making its views would take, estimated.

    Every GPU makes the views of the whole batch, and trains on its part of them.
    """
    pixels = np.prod(classifier.input_shape[1:-1])
    making = _LAUNCH_SECONDS + images * num_views * pixels * (
        _BYTES_A_PIXEL / _BYTES_A_SECOND
    )
    # A multiplication and an addition; and the way back takes twice the way forward.
    operations = 2 * 3 * images / gpus * num_views * _multiplications(classifier)
    return making / (making + operations / _OPERATIONS_A_SECOND)


def _multiplications(classifier):
    """Return about how many take an image through the network."""
    return sum(
        float(np.prod(layer.output.shape[1:-1])) * float(np.prod(weight.shape))
        for layer in classifier.layers
        for weight in layer.trainable_weights
        if len(weight.shape) > 1
    )
