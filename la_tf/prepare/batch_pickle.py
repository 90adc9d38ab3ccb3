"""Reading CIFAR's pickled batches without giving them any power.

A pickle is a program that may call whatever it can name. The official batches name
three things, those that make an array of bytes; here each is replaced by a stand-in
that can make nothing else, and every other name is refused.
"""

from __future__ import annotations

import pickle

import numpy as np

from la_tf.errors import UserError


class _Bytes:
    """A stand-in for numpy.ndarray that only becomes an array of bytes."""

    def __setstate__(self, state):
        _, shape, kind, column_order, content = state
        if not isinstance(kind, _Kind) or column_order:
            raise pickle.UnpicklingError("an array that does not hold plain bytes")
        if isinstance(content, str):
            content = content.encode("latin1")
        self.array = np.frombuffer(content, np.uint8).reshape(shape)


class _Kind:
    """A stand-in for numpy.dtype that is always uint8."""

    def __init__(self, name, *_):
        if name not in ("u1", b"u1"):
            raise pickle.UnpicklingError(f"an array of {name!r}")

    def __setstate__(self, state):
        del state


def _reconstruct(*_):
    return _Bytes()


_STAND_INS = {
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    # Its name in what NumPy 2 writes.
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy", "ndarray"): _Bytes,
    ("numpy", "dtype"): _Kind,
}


class _Unpickler(pickle.Unpickler):
    """An unpickler that can build dictionaries, lists, text, numbers and bytes."""

    def find_class(self, module, name):
        try:
            return _STAND_INS[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}") from None

    def persistent_load(self, pid):
        raise pickle.UnpicklingError(f"it asks for the object {pid!r}")


def read(path):
    """Return the dictionary in a pickled batch, with text keys and uint8 arrays.

    Raises:
        UserError: the file is no such pickle, or asks for anything else.
    """
    try:
        with open(path, "rb") as file:
            content = _Unpickler(file, encoding="latin1").load()
        return {key: getattr(value, "array", value) for key, value in content.items()}
    except Exception as error:  # A damaged pickle may fail in any way.
        raise UserError(
            f"{path} is not a python batch of CIFAR ({error}); get it again."
        ) from error
