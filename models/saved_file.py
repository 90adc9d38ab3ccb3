"""Looking at a `.keras` file before Keras does.

Such a file may name any function of any Python module, or hold the bytes of one, and
Keras may run it while it loads: some of its versions do so even in safe mode, and for
an older kind of file there is no safe mode. So only what the networks are made of may
be in it.
"""

from __future__ import annotations

import json
import zipfile

_CLASSES = {
    "keras": ("DTypePolicy", "Functional"),
    "keras.initializers": ("Ones", "VarianceScaling", "Zeros"),
    "keras.layers": (
        "Conv2D",
        "Dense",
        "GlobalAveragePooling2D",
        "InputLayer",
        "MaxPooling2D",
        "ReLU",
        "Rescaling",
        "ZeroPadding2D",
    ),
    "keras.mixed_precision": ("Policy",),
    "models": (
        "BatchNormalization",
        "Bottleneck",
        "PaddedConvolution",
        "PyramidBlock",
        "ShakeShakeBlock",
        "WideBlock",
    ),
}
# Where a network has these from is Keras' or this package's own matter.
_PLACES = {
    "keras.src.engine.functional": "keras",
    "keras.src.models.functional": "keras",
}
# Far more than any network needs.
_MOST_BYTES = 16 << 20


def check(path):
    """Refuse a file that holds anything but one of the networks.

    Raises:
        ValueError: it does, or is no `.keras` file at all.
    """
    # An HDF5 file or a folder of this name would be loaded without safe mode.
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path} is no .keras file.")
    with zipfile.ZipFile(path) as archive:
        if archive.getinfo("config.json").file_size > _MOST_BYTES:
            raise ValueError(f"{path} describes no network of this package.")
        _check_objects(json.loads(archive.read("config.json")), path)


def _check_objects(value, path):
    if isinstance(value, list):
        for item in value:
            _check_objects(item, path)
    if isinstance(value, dict):
        if "class_name" in value and not _is_known(value):
            raise ValueError(
                f"{path} holds {value.get('module')}.{value['class_name']}, of which "
                "no network of this package is made; it is not loaded."
            )
        for item in value.values():
            _check_objects(item, path)


def _is_known(description):
    name, module = description["class_name"], description.get("module")
    if name == "__keras_tensor__":
        # A place between two layers, which no module makes.
        return module is None
    if not isinstance(module, str):
        return False
    # Keras looks for this name first.
    if description.get("registered_name") not in (None, name, f"la_tf_models>{name}"):
        return False
    place = "models" if module.startswith("models.") else _PLACES.get(module, module)
    return name in _CLASSES.get(place, ())
