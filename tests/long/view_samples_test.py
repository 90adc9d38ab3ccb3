"""Photographs that a run shows are as evaluation sees them."""

import pathlib
import shutil

import numpy as np
import tensorflow as tf
from PIL import Image

from la_tf.config import TrainConfig
from la_tf.run import build, view_samples
from tests import helper


class PhotographsTest(tf.test.TestCase):
    def test_photographs_are_shown_as_evaluation_sees_them(self):
        folder = pathlib.Path(self.create_tempdir().full_path)
        for label, photograph in enumerate(helper.photographs()):
            for number in range(3):
                path = folder / "train" / str(label) / f"{number}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                left = 100 * number
                Image.fromarray(photograph[:, left : left + 300]).save(path)
        shutil.copytree(folder / "train", folder / "test")
        config = TrainConfig(
            dataset="folder",
            data_dir=str(folder),
            image_size=32,
            preprocessing="inception",
            method="baseline",
        )
        source = build.load_source(config)
        drawn = view_samples.draw(source, build.view_maker(config, source), 0, count=4)
        # The test part has the same photographs.
        seen = list(source.test.evaluation_examples().as_numpy_iterator())
        for image, label in zip(drawn.images, drawn.labels):
            same = [own for other, own in seen if np.array_equal(other, image)]
            self.assertEqual(same, [label])


if __name__ == "__main__":
    tf.test.main()
