"""A trained classifier as TensorFlow Serving wants it."""
