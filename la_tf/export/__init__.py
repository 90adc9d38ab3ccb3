"""A trained classifier for others: TensorFlow Serving, Keras, TFLite and ONNX."""

# The kinds of TFLite file: how their weights, and of int8 all numbers, are stored.
TFLITE_KINDS = ("float32", "float16", "int8")
