"""Runs from Python: train one, load one, and use what it has learned."""

from __future__ import annotations

import functools
import pathlib
import sys

import numpy as np

from la_tf import cli, environment, methods
from la_tf.data import sources
from la_tf.data.sources import image_files
from la_tf.errors import UserError
from la_tf.run import folder as run_folder


def train(**chosen):
    """Train as the command does; return the finished `Run`.

    Args:
        **chosen: fields of `la_tf.config.TrainConfig` by name, which are the command's
            flags. The rest comes from the recipe of `dataset` and `model`.

    Raises:
        UserError: a value, the data or the folder is at fault.
        KeyboardInterrupt: the run was stopped, and saved.
    """
    folder, config = run_folder.opened(chosen)
    _load_tensorflow(config.verbosity)
    from la_tf.run import checkpoints
    from la_tf.train import loop

    try:
        loop.train_and_evaluate(config, folder)
    except checkpoints.RunStopped as stopped:
        raise KeyboardInterrupt(
            f"stopped and saved after step {stopped.step}; go on with "
            f"la_tf.train(run_dir={str(folder.path)!r}, resume=True)"
        ) from None
    return load(folder.path)


def load(path, checkpoint="last"):
    """Return the `Run` in a folder.

    Args:
        path: the run's folder.
        checkpoint: "last", "best" or a path: which weights its classifier has.
    """
    _load_tensorflow()
    return Run(run_folder.RunFolder(path), checkpoint)


def _load_tensorflow(verbosity=0):
    """Import TensorFlow as the commands do, unless the user has chosen its settings."""
    if "tensorflow" not in sys.modules:
        cli.load_tensorflow(verbosity)
        return
    environment.settle()
    cli.import_quietly()


class Run:
    """A run's network and results, read from its folder when they are asked for.

    Attributes:
        path: the folder.
        config: the TrainConfig.
        checkpoint: which weights the classifier has.
    """

    def __init__(self, folder, checkpoint="last"):
        # Where it is, wherever the program goes from here.
        self._folder = run_folder.RunFolder(folder.path.absolute())
        self.path = folder.path
        self.config = folder.config()
        self.checkpoint = checkpoint

    @functools.cached_property
    def _network(self):
        from la_tf.run import restore

        return restore.load(self._folder, self.checkpoint)

    @property
    def classifier(self):
        """The Keras model, from raw pixels 0..255 to logits."""
        return self._network.classifier

    @property
    def class_names(self):
        """The classes' names; a label is an index into them."""
        return self._network.class_names

    @property
    def metrics(self):
        """The rows of metrics.csv, a dictionary an epoch."""
        return self._folder.rows()

    @property
    def prior(self):
        """The policies' last probabilities by name, the likeliest first."""
        rule = methods.rule(self.config)
        last = self._folder.policies()[-1]
        order = np.argsort(-last, kind="stable")
        return {rule.name_of(index): float(last[index]) for index in order}

    def predict(self, images):
        """Return class probabilities, float32 [N, classes].

        Args:
            images: paths of image files, or an array [N, H, W, C] in 0..255 of the
                network's own size.
        """
        import tensorflow as tf

        pixels = self._pixels(images)
        return tf.nn.softmax(self.classifier.predict(pixels, verbose=0)).numpy()

    def evaluate(self, robustness_images=1000, **overrides):
        """Return what `python -m la_tf.evaluate` writes to evaluation.json.

        Args:
            robustness_images: how many images are changed by each operation; 0: none.
            **overrides: `dataset`, `data_dir`, `image_size`, `holdout` where the images
                are not the run's own test images.
        """
        from la_tf.evaluate import candidate, scoring

        trained = candidate.from_run(self._folder, self.checkpoint)
        return scoring.evaluation(
            trained, overrides, robustness_images=robustness_images, verbosity=-1
        )

    def export(self, export_dir, tflite=(), onnx=False):
        """Write a SavedModel and a .keras file; return the path of their version.

        Args:
            export_dir: the folder that holds a model's versions.
            tflite: TFLite files to add: "float32", "float16", "int8".
            onnx: whether to add an ONNX file, which takes the package tf2onnx.
        """
        from la_tf import console
        from la_tf.export import writer

        with console.Stages(3, verbosity=-1) as stages:
            return writer.export_run(
                self._folder,
                export_dir,
                stages,
                checkpoint=self.checkpoint,
                tflite=tflite,
                onnx=onnx,
            )

    def _pixels(self, images):
        if isinstance(images, (str, pathlib.Path)):
            images = [images]
        if isinstance(images, (list, tuple)) and all(
            isinstance(image, (str, pathlib.Path)) for image in images
        ):
            return self._read(images)
        images = np.asarray(images)
        shape = self._network.image_shape
        if images.shape[1:] != shape:
            raise UserError(
                f"images have the shape {images.shape}, but the network takes [N, "
                f"{', '.join(map(str, shape))}]; give files to have them resized."
            )
        return images

    def _read(self, paths):
        import tensorflow as tf

        prepare = sources.preparation(
            self._network.image_shape, encoded=self.config.preprocessing == "inception"
        )
        pixels = []
        for path in paths:
            try:
                pixels.append(prepare(tf.constant(image_files.decodable_bytes(path))))
            except OSError as error:
                raise UserError(f"{path} cannot be read ({error.strerror}).") from None
            except image_files.BadImageError as error:
                raise UserError(f"{path} is no image: {error}.") from None
            except tf.errors.InvalidArgumentError:
                raise UserError(f"{path} is no image that can be decoded.") from None
        return np.stack(pixels)

    def __repr__(self):
        rows = self.metrics
        done = f"{len(rows)} of {self.config.epochs} epochs"
        accuracy = f", test accuracy {rows[-1]['test_accuracy']:.2%}" if rows else ""
        title = f"{self.config.dataset} with {self.config.model}, {self.config.method}"
        return f"<la_tf run {self.path}: {title}, {done}{accuracy}>"
