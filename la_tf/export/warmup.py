"""The requests that TensorFlow Serving sends a model before it takes others.

Serving reads them from a file of `PredictionLog` messages. Their Python classes come
with the package tensorflow-serving-api, which nothing else here needs; all the fields
that a request has are strings and nested messages, so they are written out below.
"""

from __future__ import annotations

import tensorflow as tf

# Where Serving looks, below the folder of the model's version.
PATH = "assets.extra/tf_serving_warmup_requests"

# The fields of tensorflow_serving/apis/{prediction_log,predict,model}.proto.
_PREDICTION_LOG_PREDICT_LOG = 6
_PREDICT_LOG_REQUEST = 1
_REQUEST_MODEL, _REQUEST_INPUTS = 1, 2
_MODEL_NAME, _MODEL_SIGNATURE = 1, 3
_ENTRY_KEY, _ENTRY_VALUE = 1, 2

_LENGTH_DELIMITED = 2


def write(path, model_name, requests):
    """Write the file of warm-up requests.

    Args:
        path: the file.
        model_name: the name that the model is served by.
        requests: pairs of a signature's name and its inputs, tensors by name.
    """
    with tf.io.TFRecordWriter(str(path)) as writer:
        for signature, inputs in requests:
            writer.write(prediction_log(model_name, signature, inputs))


def prediction_log(model_name, signature, inputs):
    """Return the bytes of a `PredictionLog` that holds one request."""
    model = _field(_MODEL_NAME, model_name.encode())
    model += _field(_MODEL_SIGNATURE, signature.encode())
    request = _field(_REQUEST_MODEL, model)
    for name, tensor in inputs.items():
        value = tf.make_tensor_proto(tensor).SerializeToString()
        entry = _field(_ENTRY_KEY, name.encode()) + _field(_ENTRY_VALUE, value)
        request += _field(_REQUEST_INPUTS, entry)
    log = _field(_PREDICT_LOG_REQUEST, request)
    return _field(_PREDICTION_LOG_PREDICT_LOG, log)


def _field(number, payload):
    """Return a string or a message as a field of a protocol buffer."""
    tag = number << 3 | _LENGTH_DELIMITED
    return _variable_length(tag) + _variable_length(len(payload)) + payload


def _variable_length(number):
    """Return a whole number in groups of seven bits, the lowest first."""
    groups = bytearray()
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    groups.append(number)
    return bytes(groups)
