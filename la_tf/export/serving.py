"""A trained classifier as TensorFlow Serving wants it: signatures and nothing else."""

from __future__ import annotations

import functools

import tensorflow as tf


class Server(tf.Module):
    """Answers for images: probabilities, the most likely label, and its name.

    A loaded SavedModel of it is called with uint8 or float images, `[batch, height,
    width, channels]` in 0..255; `from_bytes` takes encoded ones and `logits` gives
    what the classifier gives.

    Args:
        classifier: the Keras model, from raw pixels to logits.
        class_names: the classes' names in the order of the logits.
        class_names_file: a text file of them, a line each; it travels as an asset.
        prepare: a function from an encoded image to the classifier's uint8 pixels.
    """

    def __init__(self, classifier, class_names, class_names_file, prepare):
        super().__init__(name="server")
        # Wrapped in a partial, as a Keras model that is an attribute would be saved
        # with functions for each of its layers, those for training included.
        self._classify = functools.partial(classifier, training=False)
        self._prepare = prepare
        self._class_names = tuple(class_names)
        self._images = tf.TensorSpec(classifier.input_shape, tf.uint8, "images")
        self.weights = classifier.variables
        self.class_names_file = tf.saved_model.Asset(str(class_names_file))

    @tf.function
    def logits(self, images):
        """Return the classifier's float32 logits."""
        return self._logits(images)

    @tf.function
    def __call__(self, images):
        """Return the answers for images."""
        logits = self._logits(images)
        label = tf.argmax(logits, axis=-1, output_type=tf.int32)
        return {
            "probabilities": tf.nn.softmax(logits),
            "label": label,
            "name": tf.gather(tf.constant(self._class_names), label),
        }

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "image_bytes")])
    def from_bytes(self, image_bytes):
        """Return the answers for encoded images, JPEG, PNG, BMP or GIF, of any size."""
        # The files differ in size, so each is decoded and cropped on its own.
        pixels = tf.map_fn(
            self._prepare,
            image_bytes,
            fn_output_signature=tf.TensorSpec(self._images.shape[1:], tf.uint8),
        )
        return self(pixels)

    def _logits(self, images):
        # oneDNN's fused convolutions fail on an empty batch, so it gets an image that
        # is not answered for.
        count = tf.shape(images)[0]
        spare = tf.cast(count == 0, tf.int32)
        images = tf.pad(images, [[0, spare], [0, 0], [0, 0], [0, 0]])
        return self._classify(images)[:count]

    def signatures(self):
        """Return the functions that are served, by name."""
        images = self._images
        floats = tf.TensorSpec(images.shape, tf.float32, images.name)
        for spec in (images, floats):
            self.logits.get_concrete_function(spec)
        return {
            "serving_default": self.__call__.get_concrete_function(images),
            "serve_float": self.__call__.get_concrete_function(floats),
            "serve_bytes": self.from_bytes.get_concrete_function(),
        }

    def warmup_requests(self):
        """Return a request for each signature: pairs of its name and its inputs."""
        images = tf.fill([1, *self._images.shape[1:]], tf.constant(128, tf.uint8))
        encoded = tf.io.encode_png(images[0])[tf.newaxis]
        return (
            ("serving_default", {"images": images.numpy()}),
            ("serve_float", {"images": tf.cast(images, tf.float32).numpy()}),
            ("serve_bytes", {"image_bytes": encoded.numpy()}),
        )
