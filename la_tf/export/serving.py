"""A trained classifier as TensorFlow Serving wants it: signatures and nothing else."""

from __future__ import annotations

import functools

import tensorflow as tf

from la_tf import keras_generation
from la_tf.export import claims


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
        most_megapixels: encoded images that claim to be larger are not decoded.
    """

    def __init__(
        self, classifier, class_names, class_names_file, prepare, most_megapixels=50.0
    ):
        super().__init__(name="server")
        # Wrapped in a partial, as a Keras model that is an attribute would be saved
        # with functions for each of its layers, those for training included.
        self._classify = functools.partial(classifier, training=False)
        self._prepare = prepare
        self._most_megapixels = most_megapixels
        self._class_names = tuple(class_names)
        self._images = tf.TensorSpec(classifier.input_shape, tf.uint8, "images")
        self.weights = variables(classifier)
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
        """Return the answers for encoded images, JPEG, PNG, BMP or GIF.

        Besides them `error`: empty, or why an image was not looked at. Its label is
        then -1, its name empty and its probabilities 0; the others are answered.
        """
        # The files differ in size, so each is decoded and cropped on its own; few at a
        # time, as each may take some hundred megabytes.
        images, errors = tf.map_fn(
            self._from_bytes,
            image_bytes,
            fn_output_signature=(
                tf.TensorSpec(self._images.shape[1:], tf.uint8),
                tf.TensorSpec([], tf.string),
            ),
            parallel_iterations=2,
        )
        answers, refused = self(images), tf.strings.length(errors) > 0
        return {
            "probabilities": tf.where(refused[:, None], 0.0, answers["probabilities"]),
            "label": tf.where(refused, -1, answers["label"]),
            "name": tf.where(refused, "", answers["name"]),
            "error": errors,
        }

    def _from_bytes(self, encoded):
        """Return one image's pixels, and why it has none: an empty text if it has."""
        claimed = claims.pixels(encoded)
        limit = int(1e6 * self._most_megapixels)
        error = tf.strings.join(
            [
                "the image claims ",
                tf.strings.as_string(claimed),
                f" pixels, which is above the limit of {limit}",
            ]
        )
        return tf.cond(
            claimed <= limit,
            lambda: (self._prepare(claims.first_frame(encoded)), ""),
            lambda: (tf.zeros(self._images.shape[1:], tf.uint8), error),
        )

    def _logits(self, images):
        if images.dtype.is_floating:
            _refuse_scaled(images)
        # oneDNN's fused convolutions fail on an empty batch, so it gets an image that
        # is not answered for. Not by tf.pad: TFLite's takes no such number of images.
        count = tf.shape(images)[0]
        spare = tf.zeros([tf.maximum(1 - count, 0), *self._images.shape[1:]])
        images = tf.concat([images, tf.cast(spare, images.dtype)], axis=0)
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


def _refuse_scaled(images):
    """Fail for an image of 0..1, which would be taken for a black one.

    Each image is looked at alone, since a server may batch those of several requests;
    one that is all zeros is black indeed.
    """
    brightest = tf.reduce_max(images, axis=[1, 2, 3])
    tf.debugging.Assert(
        tf.reduce_all((brightest <= 0) | (brightest > 1)),
        ["images have no pixel above 1: send pixels of 0..255, not of 0..1"],
    )


def variables(classifier):
    """Return the classifier's weights as TensorFlow's own variables.

    Tools that freeze a SavedModel do not look inside those of Keras 3.
    """
    return [keras_generation.tensorflow_variable(each) for each in classifier.variables]
