"""What la_tf.export writes: whole, never overwritten, served by TensorFlow alone."""

import io
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
from unittest import mock

import numpy as np
import tensorflow as tf
from absl import flags as absl_flags
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from PIL import Image
from tensorflow import keras
from tensorflow.core.framework import tensor_pb2

from la_tf import console
from la_tf.config import TrainConfig
from la_tf.data import sources
from la_tf.errors import UserError
from la_tf.export import __main__ as export_command
from la_tf.export import writer
from la_tf.run import build, provenance
from la_tf.run import folder as run_folder
from tests import helper

NAMES = ("zero", "one", "zwei", "trois", "cuatro", "cinque", "sex", "sju", "åtta", "九")
SERVE = textwrap.dedent(
    """
    import sys

    class Blocker:
        def find_spec(self, name, path=None, target=None):
            if name.split(".")[0] in ("la_tf", "models", "flags", "keras_cv"):
                raise ImportError(name)

    sys.meta_path.insert(0, Blocker())
    import numpy as np
    import tensorflow as tf

    folder, requests, answers = sys.argv[1:]
    loaded = tf.saved_model.load(folder)
    given = np.load(requests)
    images = tf.constant(given["images"])
    encoded = tf.constant([given["encoded"].tobytes()])
    floats = tf.cast(images, tf.float32)
    results = {
        "default": loaded.signatures["serving_default"](images=images),
        "float": loaded.signatures["serve_float"](images=floats),
        "bytes": loaded.signatures["serve_bytes"](image_bytes=encoded),
    }
    np.savez(
        answers,
        logits=loaded.logits(images),
        **{
            f"{signature}_{name}": value.numpy().astype(str)
            if value.dtype == tf.string
            else value.numpy()
            for signature, result in results.items()
            for name, value in result.items()
        },
    )
    """
)
LOAD_KERAS = textwrap.dedent(
    """
    import sys

    class Blocker:
        def find_spec(self, name, path=None, target=None):
            if name.split(".")[0] in ("la_tf", "flags", "keras_cv"):
                raise ImportError(name)

    sys.meta_path.insert(0, Blocker())
    root, file, requests, answers = sys.argv[1:]
    sys.path.append(root)
    import models
    import numpy as np

    model = models.load(file)
    np.save(answers, model.predict(np.load(requests), verbose=0))
    """
)


THIN = helper.thin_wide_resnets()


def setUpModule():  # noqa: N802
    THIN.start()


def tearDownModule():  # noqa: N802
    THIN.stop()


def write_run(path, image_shape=(16, 16, 1), seed=0, best_seed=None, **values):
    """The classifier of a run folder, as training leaves one, without training."""
    config = TrainConfig(model="wrn_10_1", **values)
    folder = run_folder.RunFolder(path)
    source = sources.Source(
        name=config.dataset,
        train=sources.Arrays(np.zeros([1, *image_shape], np.uint8), np.zeros(1, int)),
        test=sources.Arrays(np.zeros([1, *image_shape], np.uint8), np.zeros(1, int)),
        class_names=NAMES,
        image_shape=image_shape,
        mean=(0.4,) * image_shape[2],
        std=(0.3,) * image_shape[2],
    )
    folder.write_record(provenance.record(config, source))
    if best_seed is not None:
        best = network(config, source, best_seed)
        save(best, folder.best_checkpoints)
    classifier = network(config, source, seed)
    save(classifier, folder.checkpoints)
    return classifier


def network(config, source, seed):
    """An untrained network whose answers and statistics are worth restoring."""
    keras.utils.set_random_seed(seed)
    policy = "mixed_float16" if config.mixed_precision else "float32"
    keras.mixed_precision.set_global_policy(policy)
    try:
        classifier = build.build_classifier(
            config, source.image_shape, len(NAMES), source.mean, source.std
        )
    finally:
        keras.mixed_precision.set_global_policy("float32")
    generator = np.random.default_rng(seed)
    for variable in classifier.variables:
        if "moving_variance" in variable.name:
            variable.assign(generator.uniform(0.5, 2.0, variable.shape))
        elif "moving_mean" in variable.name or "bias" in variable.name:
            variable.assign(generator.normal(0.0, 0.1, variable.shape))
    kernel = classifier.get_layer("logits").kernel
    kernel.assign(10 * kernel)
    return classifier


def save(classifier, directory):
    # The names by which a run's checkpoint reaches the classifier.
    tree = tf.train.Checkpoint(model=tf.train.Checkpoint(classifier=classifier))
    tf.train.CheckpointManager(tree, str(directory), 1, checkpoint_name="step").save(5)


def export_to(path, run, **options):
    """The folder of the version that the run was exported to."""
    folder = run_folder.RunFolder(run)
    with console.Stages(4, verbosity=-1) as stages:
        return writer.export_run(folder, path, stages, **options)


def main(*arguments):
    """What `python -m la_tf.export` prints, to either stream."""
    return helper.printed(export_command, *arguments)


def encoded(image, kind="PNG"):
    """The bytes of an image file."""
    file = io.BytesIO()
    Image.fromarray(image).save(file, kind)
    return file.getvalue()


def start(*arguments):
    """A Python process that knows nothing of this project's folder."""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    environment.pop("PYTHONPATH", None)
    if "PYTHONPATH" in os.environ:
        # Bazel's libraries are on this path, and the project's own folder.
        paths = os.environ["PYTHONPATH"].split(os.pathsep)
        paths = [path for path in paths if not os.path.isdir(f"{path}/la_tf")]
        environment["PYTHONPATH"] = os.pathsep.join(paths)
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        cwd=tempfile.gettempdir(),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


class ServedTestCase(tf.test.TestCase):
    """One exported network of grey 16x16 images."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.classifier = write_run(cls.folder / "run", best_seed=1)
        cls.path = export_to(cls.folder / "served", cls.folder / "run")
        cls.loaded = tf.saved_model.load(str(cls.path))
        digits, _ = helper.digits(5)
        cls.images = digits.repeat(2, axis=1).repeat(2, axis=2)
        cls.logits = cls.classifier.predict(cls.images, verbose=0)
        # Answers that were all alike would prove nothing.
        assert np.ptp(cls.logits, axis=0).min() > 0.1, cls.logits

    def served(self, *files):
        return self.loaded.signatures["serve_bytes"](tf.constant(list(files)))


class ServedTest(ServedTestCase):
    """In this process; others are in `tests/long/commands_test.py`."""

    def test_signatures_say_what_they_take(self):
        signatures = self.loaded.signatures
        for name, argument, kind, shape in (
            ("serving_default", "images", tf.uint8, [None, 16, 16, 1]),
            ("serve_float", "images", tf.float32, [None, 16, 16, 1]),
            ("serve_bytes", "image_bytes", tf.string, [None]),
        ):
            [[], arguments] = signatures[name].structured_input_signature
            self.assertEqual(list(arguments), [argument])
            self.assertEqual(arguments[argument].dtype, kind)
            self.assertEqual(arguments[argument].shape.as_list(), shape)

    def test_keras_takes_the_saved_model_as_a_layer(self):
        if not hasattr(keras.layers, "TFSMLayer"):
            self.skipTest("Keras 2 has no such layer; there the .keras file is opened.")
        layer = keras.layers.TFSMLayer(self.path, call_endpoint="serving_default")
        model = keras.Sequential([keras.Input([16, 16, 1], dtype="uint8"), layer])
        answers = model.predict(self.images, verbose=0)
        expected = tf.nn.softmax(self.logits)
        self.assertAllClose(answers["probabilities"], expected, rtol=0, atol=1e-5)
        self.assertAllEqual(answers["label"], self.logits.argmax(axis=1))

    def test_tflite_s_converter_takes_the_saved_model_itself(self):
        converter = tf.lite.TFLiteConverter.from_saved_model(
            str(self.path), signature_keys=["serving_default"]
        )
        interpreter = tf.lite.Interpreter(model_content=converter.convert())
        answers = interpreter.get_signature_runner()(images=self.images)
        expected = tf.nn.softmax(self.logits)
        self.assertAllClose(answers["probabilities"], expected, rtol=0, atol=1e-5)

    def test_floats_of_0_to_1_are_refused_and_dark_images_are_not(self):
        serve = self.loaded.signatures["serve_float"]
        floats = self.images.astype(np.float32)
        scaled = floats.copy()
        scaled[3] /= 255
        for call in (serve, self.loaded, self.loaded.logits):
            with self.assertRaisesRegex(
                tf.errors.InvalidArgumentError, "pixels of 0..255, not of 0..1"
            ):
                call(tf.constant(scaled))
        dark = np.stack([np.zeros_like(floats[0]), np.full_like(floats[0], 1.5)])
        self.assertEqual(serve(images=tf.constant(dark))["label"].shape, [2])

    def test_class_names_travel_as_an_asset(self):
        text = (self.path / "assets" / "class_names.txt").read_text("utf-8")
        self.assertEqual(tuple(text.splitlines()), NAMES)
        asset = self.loaded.class_names_file.asset_path.numpy().decode()
        self.assertEqual(pathlib.Path(asset), self.path / "assets/class_names.txt")

    def test_nothing_of_training_is_saved(self):
        files = sum(file.stat().st_size for file in self.path.rglob("*.data-*"))
        weights = sum(4 * weight.numpy().size for weight in self.classifier.variables)
        # The weights once, and a few kilobytes about them.
        self.assertBetween(files, weights, weights + 30_000)

    def test_an_empty_batch_gives_empty_answers(self):
        empty = np.zeros([0, 16, 16, 1])
        signatures = self.loaded.signatures
        for answer in (
            signatures["serving_default"](images=tf.constant(empty, tf.uint8)),
            signatures["serve_float"](images=tf.constant(empty, tf.float32)),
            signatures["serve_bytes"](image_bytes=tf.constant([], tf.string)),
        ):
            self.assertEqual(answer["probabilities"].shape, [0, 10])
            self.assertEqual(answer["label"].shape, [0])
            self.assertEqual(answer["name"].shape, [0])

    def test_bytes_that_are_no_image_fail_and_the_next_request_does_not(self):
        good = encoded(self.images[0, ..., 0])
        for bad in (b"", b"no image", good[: len(good) // 2]):
            with self.subTest(bad[:8]), self.assertRaises(tf.errors.OpError) as caught:
                self.served(good, bad)
            self.assertIsInstance(caught.exception, tf.errors.InvalidArgumentError)
        self.assertAllEqual(self.served(good)["label"], self.logits[:1].argmax(1))

    def test_images_of_any_size_kind_and_colour_are_answered(self):
        photograph = helper.photographs()[0]
        files = {
            "1 px wide": encoded(photograph[:, :1]),
            "1 px high": encoded(photograph[:1]),
            "1 px": encoded(photograph[:1, :1]),
            "grey": encoded(photograph[..., 0]),
            "JPEG": encoded(photograph, "JPEG"),
            "BMP": encoded(photograph, "BMP"),
            "GIF": encoded(photograph[..., 0], "GIF"),
            "transparent": encoded(np.dstack([photograph, photograph[..., :1]])),
            "16 bit": encoded(photograph[..., 0].astype(np.uint16) * 256),
        }
        answers = self.served(*files.values())["probabilities"]
        self.assertAllClose(tf.reduce_sum(answers, 1), np.ones(len(files)), atol=1e-5)

    def test_colour_becomes_grey_as_pillow_makes_it(self):
        colour = helper.photographs()[0][:16, :16]
        grey = np.asarray(Image.fromarray(colour).convert("L"))[np.newaxis, ..., None]
        expected = tf.nn.softmax(self.classifier.predict(grey, verbose=0))
        given = self.served(encoded(colour))["probabilities"]
        self.assertAllClose(given, expected, rtol=0, atol=1e-5)

    def test_warm_up_requests_are_what_serving_reads_and_can_be_answered(self):
        log_type = prediction_log_type()
        path = self.path / "assets.extra" / "tf_serving_warmup_requests"
        asked = []
        for record in tf.data.TFRecordDataset(str(path)):
            request = log_type.FromString(record.numpy()).predict_log.request
            self.assertEqual(request.model_spec.name, "served")
            name = request.model_spec.signature_name
            inputs = {
                entry.key: tf.constant(
                    tf.make_ndarray(tensor_pb2.TensorProto.FromString(entry.value))
                )
                for entry in request.inputs
            }
            answer = self.loaded.signatures[name](**inputs)
            self.assertEqual(answer["probabilities"].shape, [1, 10])
            asked.append(name)
        self.assertEqual(asked, ["serving_default", "serve_float", "serve_bytes"])

    def test_versions_go_up_and_are_never_overwritten(self):
        self.assertEqual(self.path, self.folder / "served" / "1")
        served, run = self.folder / "versions", self.folder / "run"
        shutil.copytree(self.path, served / "7")
        before = {path: path.stat().st_mtime_ns for path in served.rglob("*")}
        with self.assertRaisesRegex(UserError, "--version=7 is in .*; leave .* 8"):
            export_to(served, run, version=7)
        self.assertEqual(
            {path: path.stat().st_mtime_ns for path in served.rglob("*")}, before
        )


class CommandTest(tf.test.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.create_tempdir().full_path)
        self.run_dir = self.folder / "run"
        self.export_dir = self.folder / "served"
        self.flags = (f"--run_dir={self.run_dir}", f"--export_dir={self.export_dir}")

    def assert_refused(self, sentence, *arguments):
        with self.assertRaisesRegex(UserError, sentence):
            main(*(arguments or self.flags))
        self.assertFalse(self.export_dir.exists())

    def test_quiet_says_nothing(self):
        write_run(self.run_dir)
        # The stages' own silence is `console_test`'s matter.
        exported = self.export_dir / "1"
        with mock.patch.object(writer, "export_run", return_value=exported) as export:
            self.assertEqual(main(*self.flags, "--verbosity=-1"), "")
        export.assert_called_once()

    def test_a_kind_of_tflite_that_there_is_not_is_named(self):
        with self.assertRaisesRegex(
            absl_flags.IllegalFlagValueError, "'int7' is unknown; did you mean int8"
        ):
            main(*self.flags, "--tflite=float16,int7")

    def test_flags_that_are_missing_are_named(self):
        self.assert_refused("--run_dir is missing", self.flags[1])
        self.assert_refused("--export_dir is missing", self.flags[0])

    def test_a_folder_that_is_no_run_is_refused(self):
        self.assert_refused("holds no run")
        self.run_dir.mkdir()
        (self.run_dir / "config.json").write_text('{"config": {}}')
        self.assert_refused("not a configuration")
        write_run(self.run_dir)
        folder = run_folder.RunFolder(self.run_dir)
        record = folder.record()
        del record["data"]
        folder.write_record(record)
        self.assert_refused("does not tell the classes")

    def test_a_run_without_a_finished_epoch_is_refused(self):
        write_run(self.run_dir)
        shutil.rmtree(self.run_dir / "checkpoints")
        self.assert_refused("finish an epoch first")

    def test_a_checkpoint_of_another_network_is_refused(self):
        write_run(self.run_dir)
        write_run(self.folder / "other", image_shape=(16, 16, 3))
        other = f"--checkpoint={self.folder}/other/checkpoints/step-5"
        self.assert_refused("belongs to another network", *self.flags, other)

    def test_a_truncated_checkpoint_is_refused(self):
        write_run(self.run_dir)
        data = next((self.run_dir / "checkpoints").glob("*.data-*"))
        for size in (data.stat().st_size // 2, 0):
            os.truncate(data, size)
            self.assert_refused("is damaged")
        data.unlink()
        self.assert_refused("is damaged")
        os.truncate(self.run_dir / "checkpoints" / "step-5.index", 10)
        self.assert_refused("is damaged")

    def test_a_checkpoint_that_is_not_there_is_refused(self):
        write_run(self.run_dir)
        missing = f"--checkpoint={self.run_dir}/checkpoints/step-6"
        self.assert_refused("is no checkpoint", *self.flags, missing)

    def test_a_folder_that_cannot_be_written_is_named(self):
        write_run(self.run_dir)
        (self.folder / "file").write_text("")
        flags = (self.flags[0], f"--export_dir={self.folder}/file")
        self.assert_refused("--export_dir=.*file cannot be written", *flags)

    def test_the_command_ends_with_a_sentence_and_code_2(self):
        process = subprocess.run(
            [sys.executable, "-m", "la_tf.export", *self.flags],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(process.returncode, 2)
        self.assertEqual(process.stderr.count("\n"), 1)
        self.assertStartsWith(process.stderr, "error: --run_dir=")


def prediction_log_type():
    """Serving's PredictionLog, by the field numbers of its published .proto files.

    tensors stay bytes: `map<string, TensorProto>` is a repeated entry on the wire.
    """
    file = descriptor_pb2.FileDescriptorProto(name="log.proto", syntax="proto3")
    file.package = "test"
    messages = {
        "ModelSpec": {"name": (1, "string"), "signature_name": (3, "string")},
        "Entry": {"key": (1, "string"), "value": (2, "bytes")},
        "PredictRequest": {"model_spec": (1, "ModelSpec"), "inputs": (2, "*Entry")},
        "PredictLog": {"request": (1, "PredictRequest")},
        "PredictionLog": {"predict_log": (6, "PredictLog")},
    }
    for message_name, fields in messages.items():
        message = file.message_type.add(name=message_name)
        for name, (number, kind) in fields.items():
            field = message.field.add(name=name, number=number)
            field.label = field.LABEL_OPTIONAL
            if kind.startswith("*"):
                field.label, kind = field.LABEL_REPEATED, kind[1:]
            if kind in ("string", "bytes"):
                field.type = getattr(field, f"TYPE_{kind.upper()}")
            else:
                field.type, field.type_name = field.TYPE_MESSAGE, f".test.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    descriptor = pool.FindMessageTypeByName("test.PredictionLog")
    return message_factory.GetMessageClass(descriptor)


if __name__ == "__main__":
    tf.test.main()
