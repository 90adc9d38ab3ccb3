"""Identity: what a method applies where it leaves an image as it is."""

from __future__ import annotations

import tensorflow as tf
from tensorflow import keras

from la_tf.ops import operation


@keras.utils.register_keras_serializable(package="la_tf")
class Identity(operation.Operation):
    """Images as they are; the level changes nothing."""

    has_level = False

    def parameters(self, level, noise, height, width):
        return operation.pack(tf.zeros_like(level))

    def transform(self, images, parameters, partners=None):
        return images
