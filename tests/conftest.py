"""Lets absl-style tests run under plain pytest."""

import os

from absl import flags

from la_tf import environment

# Before any test file imports TensorFlow.
environment.settle()
# Two processes share a GPU, where there is one.
os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")


def pytest_configure(config):
    del config
    if not flags.FLAGS.is_parsed():
        flags.FLAGS.mark_as_parsed()


def pytest_collection_modifyitems(items):
    # tf.test.TestCase has a method of this name which is no test.
    items[:] = [item for item in items if item.name != "test_session"]
