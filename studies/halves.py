"""Write two small data sets that share no class: five classes of CIFAR-10 each.

python studies/halves.py DATA_DIR OUTPUT_DIR

`first.npz` has 1,000 training images of each of the classes 0 to 4, and their test
images; `second.npz` has 250 training and 250 test images of each of the others, which
are called 0 to 4 there.
"""

import pathlib
import sys

import numpy as np
import tensorflow_datasets as tfds

CLASSES = 5


def main(data_dir, output_dir):
    """Write both files."""
    output = pathlib.Path(output_dir)
    output.mkdir(parents=True, exist_ok=True)
    splits = {
        split: tfds.as_numpy(
            tfds.load("cifar10", split=split, data_dir=data_dir, batch_size=-1)
        )
        for split in ("train", "test")
    }
    for name, first, count in (("first", 0, 1000), ("second", CLASSES, 250)):
        arrays = {}
        for split, data in splits.items():
            classes = range(first, first + CLASSES)
            chosen = np.concatenate(
                [np.flatnonzero(data["label"] == label)[:count] for label in classes]
            )
            arrays[f"x_{split}"] = data["image"][chosen]
            arrays[f"y_{split}"] = data["label"][chosen] - first
        np.savez(output / f"{name}.npz", **arrays)


if __name__ == "__main__":
    main(*sys.argv[1:])
