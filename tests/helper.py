"""Real images and paths that several tests share."""

import contextlib
import functools
import io
import os
import pathlib
import sys
import textwrap
from unittest import mock

import numpy as np
from absl import flags as absl_flags
from absl.testing import flagsaver

# The source root, or its copy among Bazel's run files.
ROOT = pathlib.Path(__file__).resolve().parent.parent

# Seconds after which a process counts as hung: no measure of speed on any machine.
PATIENCE = 1200

# A folder with more real images than scikit-learn carries; used where it exists.
SAMPLES = pathlib.Path(os.environ.get("LA_TF_SAMPLES", ROOT.parent / "shared" / "data"))


@functools.cache
def photographs():
    """Two real photographs, uint8 [427, 640, 3], from scikit-learn's wheel."""
    from sklearn import datasets

    return np.stack(datasets.load_sample_images().images)


@functools.cache
def small_images(count=64, size=32):
    """Small real colour images, uint8 [count, size, size, 3].

    CIFAR-10 where a sample of it is at hand, tiles of two photographs where not.
    """
    sample = SAMPLES / "cifar10_2000_500.npz"
    if size == 32 and sample.exists():
        return np.load(sample)["x_train"][:count]
    generator = np.random.default_rng(0)
    tops = generator.integers(0, 427 - size, count)
    lefts = generator.integers(0, 640 - size, count)
    sources = photographs()
    return np.stack(
        [
            sources[index % 2, top : top + size, left : left + size]
            for index, (top, left) in enumerate(zip(tops, lefts))
        ]
    )


@functools.cache
def digits(count=64):
    """Real handwritten digits, uint8 [count, 8, 8, 1], and their labels [count]."""
    from sklearn import datasets

    bunch = datasets.load_digits()
    images = np.round(bunch.images[:count, ..., None] * (255 / 16)).astype(np.uint8)
    return images, bunch.target[:count].astype(np.int32)


def layers_of(model):
    """All layers of a model, those inside of other layers too."""
    # Keras 2 has a public name for it, which Keras 3 has not.
    return list(model._flatten_layers())


def small_network(name, input_shape, num_classes, **options):
    """Return what `models.build` does; a thin ResNet of two blocks a stage for its own.

    ResNet has no small member by name, and its weights alone take seconds to draw.
    """
    import models
    from models import resnet

    stages = [(4 * 2**stage, 2) for stage in range(len(resnet.STAGES))]
    with mock.patch.object(resnet, "STAGES", stages):
        return models.build(name, input_shape, num_classes, **options)


def thin_wide_resnets():
    """Let a Wide-ResNet have two thin stages, where any network will do."""
    from models import wrn

    return mock.patch.object(wrn, "STAGE_FILTERS", (8, 16))


def tiny_backbone(name):
    """Let a convolution and a dropout stand for a network of `keras.applications`.

    ImageNet's weights of it cannot be fetched.
    """
    from tensorflow import keras

    def tiny(include_top, weights, input_tensor):
        if include_top or weights == "imagenet":
            raise Exception("URL fetch failure")
        outputs = keras.layers.Conv2D(4, 3, name="stem")(input_tensor)
        outputs = keras.layers.Dropout(0.5)(outputs)
        return keras.Model(input_tensor, outputs)

    return mock.patch.object(keras.applications, name, tiny)


def without_pictures():
    """Spare a run the pictures for TensorBoard, which change nothing else."""
    return mock.patch("la_tf.train.tensorboard._Pictures.of", return_value=[])


def environment(**additions):
    """Return the environment of a process that runs this checkout's commands."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **additions}


def finish(process):
    """What a process printed; fails unless it ended well."""
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, output[-4000:]
    return output


def printed(command, *arguments):
    """What a command prints to either stream when it is run in this process.

    Args:
        command: its `__main__` module.
        arguments: its flags.
    """
    text = io.StringIO()
    with flagsaver.flagsaver(), contextlib.redirect_stdout(text):
        absl_flags.FLAGS([command.__name__, *map(str, arguments)])
        with contextlib.redirect_stderr(text):
            command.main()
    return text.getvalue()


def killed_training(step):
    """Return the words that start `la_tf.train`, killed in its process after a step.

    It kills itself: a test that watched it from outside might come too late.
    """
    program = f"""
        import os, runpy, signal
        from la_tf import cli
        cli.load_tensorflow()
        from la_tf.run import checkpoints

        class Killed(checkpoints.Checkpointer):
            def on_train_batch_end(self, batch, logs=None):
                super().on_train_batch_end(batch, logs)
                if self.global_step == {step}:
                    os.kill(os.getpid(), signal.SIGKILL)

        checkpoints.Checkpointer = Killed
        runpy.run_module("la_tf.train", run_name="__main__", alter_sys=True)
    """
    return [sys.executable, "-c", textwrap.dedent(program)]


def flower_files():
    """Paths of real JPEG photographs in class folders; empty where there are none."""
    return sorted((SAMPLES / "flowers").glob("*/*.jpg"))


def write_flowers(data_dir, scratch):
    """Prepare Oxford Flowers as tensorflow-datasets does, with three JPEGs a part."""
    import tensorflow_datasets as tfds
    from PIL import Image

    builder = tfds.builder("oxford_flowers102", data_dir=data_dir)
    photograph = Image.fromarray(photographs()[0])

    def examples(part):
        for index in range(3):
            path = pathlib.Path(scratch) / f"{part}{index}.jpg"
            photograph.crop((0, 0, 100 + 10 * index, 90)).save(path)
            example = {"image": str(path), "label": index, "file_name": path.name}
            yield path.name, example

    parts = ("train", "validation", "test")
    builder._split_generators = lambda manager: {part: examples(part) for part in parts}
    builder.download_and_prepare()
