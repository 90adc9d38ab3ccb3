"""Write small data sets of five classes of CIFAR-10 each, to fine-tune from and on.

python studies/halves.py DATA_DIR OUTPUT_DIR

`first.npz` has 1,000 training images of each of the classes 0 to 4, and their test
images; `first_whole.npz` all 5,000. `second.npz` has 250 training and 250 test images
of each of the other classes, which are called 0 to 4 there.
"""

import pathlib
import sys

import numpy as np
import tensorflow_datasets as tfds

CLASSES = 5
# A file's name, its first class and how many images of each class it has at most.
PARTS = (("first", 0, 1000), ("first_whole", 0, 5000), ("second", CLASSES, 250))


def main(data_dir, output_dir):
    """Write the files."""
    output = pathlib.Path(output_dir)
    output.mkdir(parents=True, exist_ok=True)
    splits = {
        split: tfds.as_numpy(
            tfds.load("cifar10", split=split, data_dir=data_dir, batch_size=-1)
        )
        for split in ("train", "test")
    }
    for name, first, count in PARTS:
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
