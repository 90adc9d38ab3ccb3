"""Looking at a `.keras` file before Keras does.

Such a file may name any function of any Python module, or hold the bytes of one, and
Keras may run it while it loads: some of its versions do so even in safe mode, and for
an older kind of file there is no safe mode. So only classes are let in of which it is
known that they do nothing but compute.
"""

from __future__ import annotations

import json
import zipfile

# All classes of these modules, which hold functions too; a class begins with a capital.
_MODULES = (
    "keras.constraints",
    "keras.initializers",
    "keras.layers",
    "keras.losses",
    "keras.metrics",
    "keras.mixed_precision",
    "keras.optimizers",
    "keras.optimizers.experimental",
    "keras.optimizers.schedules",
    "keras.regularizers",
)
# But for these, which hold a program, or read one elsewhere.
_PROGRAMS = ("FlaxLayer", "JaxLayer", "Lambda", "TFSMLayer", "TorchModuleWrapper")
# Single classes, of both generations of Keras.
_CLASSES = {
    "keras": ("DTypePolicy", "Sequential"),
    "keras.src.applications.convnext": ("LayerScale",),
    "keras.src.engine.functional": ("Functional",),
    "keras.src.models.functional": ("Functional",),
    "keras.src.ops.numpy": ("Add", "Multiply"),
    "la_tf.model": ("LatentAugment",),
}
# Keras 2 has one layer for all functions of TensorFlow, some of which write files.
_TENSORFLOW_LAYER = ("keras.src.layers.core.tf_op_layer", "TFOpLambda")
_TENSORFLOW_FUNCTIONS = ("__operators__.add", "math.multiply")
# Far more than the description of any network needs.
_MOST_BYTES = 16 << 20


def check(path):
    """Refuse a file in which there may be a program.

    Raises:
        ValueError: there may be, or it is no `.keras` file at all.
    """
    # An HDF5 file or a folder of this name would be loaded without safe mode.
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path} is no .keras file.")
    with zipfile.ZipFile(path) as archive:
        if archive.getinfo("config.json").file_size > _MOST_BYTES:
            raise ValueError(f"{path} is no .keras file: its config.json is too large.")
        _check_objects(json.loads(archive.read("config.json")), path)


def _check_objects(value, path):
    if isinstance(value, list):
        for item in value:
            _check_objects(item, path)
    if isinstance(value, dict):
        if "class_name" in value and not _is_known(value):
            raise ValueError(
                f"{path} holds {value.get('module')}.{value['class_name']}, which "
                "might run as a program; it is not loaded."
            )
        for item in value.values():
            _check_objects(item, path)


def _is_known(description):
    name, module = description["class_name"], description.get("module")
    if name == "__keras_tensor__":
        # A place between two layers, which no module makes.
        return module is None
    if not isinstance(name, str) or not isinstance(module, str):
        return False
    # Keras looks for this name first.
    names = (None, name, f"la_tf>{name}", f"la_tf_models>{name}")
    if description.get("registered_name") not in names:
        return False
    if (module, name) == _TENSORFLOW_LAYER:
        return description["config"]["function"] in _TENSORFLOW_FUNCTIONS
    if module in _MODULES or module.startswith("models."):
        return name[:1].isupper() and name not in _PROGRAMS
    return name in _CLASSES.get(module, ())
