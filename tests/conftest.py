"""Lets absl-style tests run under plain pytest."""

import atexit
import gc
import os
import shutil
import tempfile

from absl import flags

from la_tf import environment

# Before any test file imports TensorFlow.
environment.settle()
# Two processes share a GPU, where there is one.
os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
# The first process of all makes the folder; those that it starts find it.
if "LA_TF_TEST_RUNS" not in os.environ:
    os.environ["LA_TF_TEST_RUNS"] = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, os.environ["LA_TF_TEST_RUNS"], ignore_errors=True)


# The longest first, so that the last file to begin is short and both workers end at
# about the same time.
LONGEST = (
    "model_test.py",
    "evaluate_test.py",
    "export_test.py",
    "views_test.py",
    "report_test.py",
    "methods_test.py",
    "train_test.py",
    "batches_test.py",
    "step_test.py",
    "models_test.py",
    "sources_test.py",
    "parity_test.py",
    "preparation_test.py",
    "saving_test.py",
    "portable_test.py",
    "splits_test.py",
    "build_test.py",
    "layers_test.py",
    "noise_test.py",
    "orientation_test.py",
    "policy_test.py",
    "prepare_test.py",
    "ops_test.py",
)


def pytest_configure(config):
    del config
    if not flags.FLAGS.is_parsed():
        flags.FLAGS.mark_as_parsed()


def pytest_collection_finish():
    # What was imported stays for good, and graphs stay long: to look through all of it
    # for garbage after every few hundred objects takes a twentieth of the time.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def pytest_collection_modifyitems(items):
    # tf.test.TestCase has a method of this name which is no test.
    items[:] = [item for item in items if item.name != "test_session"]
    items.sort(key=_place)


def _place(item):
    name = item.path.name
    return LONGEST.index(name) if name in LONGEST else len(LONGEST)
