"""The classifier as one file for other runtimes: TFLite and ONNX.

Every file takes `images`, uint8 `[batch, height, width, channels]` in 0..255, and gives
`logits` and `probabilities`, float32 `[batch, classes]`.
"""

from __future__ import annotations

import functools
import tempfile

import numpy as np
import tensorflow as tf

from la_tf import cli
from la_tf.export import TFLITE_KINDS, serving

# tf2onnx knows all of it, and runtimes of 2022 and later do.
_OPSET = 17


class _Portable(tf.Module):
    """From pixels to logits and probabilities, and nothing that only servers have."""

    def __init__(self, classifier):
        super().__init__(name="classifier")
        self._classify = functools.partial(classifier, training=False)
        self.weights = serving.variables(classifier)

    @tf.function
    def __call__(self, images):
        logits = self._classify(tf.cast(images, tf.float32))
        return {"logits": logits, "probabilities": tf.nn.softmax(logits)}


def tflite(classifier, kind, images=None):
    """Return the bytes of a TFLite file.

    Args:
        classifier: the Keras model, in full precision.
        kind: "float32"; "float16", whose weights are halved; "int8", which computes in
            whole numbers.
        images: for int8 uint8 [N, H, W, C], from which the ranges of all numbers
            between the layers are taken.
    """
    if kind not in TFLITE_KINDS:
        raise ValueError(f"tflite is {kind!r}; give some of {TFLITE_KINDS}")
    whole = kind == "int8"
    module = _Portable(classifier)
    # One image at a time, as phones ask; an interpreter may resize it to more.
    spec = tf.TensorSpec(
        [1, *classifier.input_shape[1:]], tf.float32 if whole else tf.uint8, "images"
    )
    with tempfile.TemporaryDirectory() as folder:
        signature = module.__call__.get_concrete_function(spec)
        tf.saved_model.save(module, folder, signatures=signature)
        converter = tf.lite.TFLiteConverter.from_saved_model(folder)
        if kind != "float32":
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        if kind == "float16":
            converter.target_spec.supported_types = [tf.float16]
        if whole:
            converter.representative_dataset = lambda: _representative(images)
            converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
            converter.inference_input_type = tf.uint8
        # It writes a page about itself; what goes wrong comes as an exception.
        with cli.error_stream_closed():
            return converter.convert()


def onnx(classifier):
    """Return the bytes of an ONNX file.

    Args:
        classifier: the Keras model, in full precision.
    """
    import tf2onnx

    module = _Portable(classifier)
    spec = tf.TensorSpec(classifier.input_shape, tf.uint8, "images")
    model, _ = tf2onnx.convert.from_function(
        module.__call__, input_signature=[spec], opset=_OPSET
    )
    return model.SerializeToString()


def _representative(images):
    """Yield the inputs of single calls; the first holds the whole range of pixels.

    A quantised input has the range that was seen. With 0 and 255 among it, its bytes
    are the pixels themselves.
    """
    for number, image in enumerate(images.astype(np.float32)):
        if number == 0:
            image[0, 0], image[-1, -1] = 0, 255
        yield [image[np.newaxis]]
