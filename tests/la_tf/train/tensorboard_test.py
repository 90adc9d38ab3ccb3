"""What a run writes for TensorBoard, read back from its event files."""

import pathlib
import shutil
import tempfile
from unittest import mock

import numpy as np
import tensorflow as tf
from tensorboard.backend.event_processing import event_multiplexer
from tensorflow import keras

from la_tf import ops
from la_tf.config import TrainConfig
from la_tf.data import batches
from la_tf.data.views import ViewMaker
from la_tf.errors import UserError
from la_tf.model import LatentAugment
from la_tf.run import build, recorder, view_samples
from la_tf.run.folder import RunFolder
from la_tf.train import profiling, tensorboard


def train(run_dir, profile=False, epochs=2, **values):
    """The folder of a tiny run, and what its callbacks were given."""
    config = TrainConfig(dataset="digits", limit_train=60, batch_size=20, **values)
    folder = RunFolder(run_dir)
    source = build.load_source(config)
    maker = build.view_maker(config, source)
    plan = batches.plan(source.train, seed=0, batch_size=20, epochs=epochs)
    classifier = keras.Sequential(
        [
            keras.Input(source.image_shape),
            keras.layers.Rescaling(1 / 255),
            keras.layers.Flatten(),
            keras.layers.Dense(source.num_classes),
        ]
    )
    model = LatentAugment(classifier, sigma=config.sigma)
    model.compile(keras.optimizers.SGD(0.1))
    history = recorder.Recorder(folder, plan, lambda step: 0.1, ops.OPERATIONS)
    callbacks = [
        history,
        tensorboard.TensorBoard(folder, config, history, source, maker),
    ]
    if profile:
        callbacks.append(profiling.StepProfile(folder, plan.total_steps))
    model.fit(
        batches.training(source.train, maker, plan),
        epochs=epochs,
        steps_per_epoch=plan.steps_per_epoch,
        validation_data=batches.evaluation(source.test, 64),
        callbacks=callbacks,
        verbose=0,
    )
    return folder, model, source, maker


def events(folder):
    """{name: {step: the tensor that was written}} from the event files."""
    found = {}
    for path in sorted(pathlib.Path(folder.tensorboard).glob("events*")):
        for record in tf.data.TFRecordDataset(str(path)):
            event = tf.compat.v1.Event.FromString(record.numpy())
            for value in event.summary.value:
                array = tf.make_ndarray(value.tensor)
                found.setdefault(value.tag, {})[event.step] = array
    return found


class RunTest(tf.test.TestCase):
    """One run of two epochs, looked at from several sides."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        directory = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, directory)
        # Three steps an epoch: the loss so far is told at the end of each.
        with mock.patch.object(tensorboard, "_STEPS_BETWEEN_SCALARS", 3):
            run = train(directory, profile=True, sigma=0.5)
        cls.folder, cls.model, cls.source, cls.maker = run
        cls.written = events(cls.folder)

    def test_every_epoch_has_its_numbers(self):
        rows = self.folder.rows()
        self.assertLen(rows, 2)
        columns = tensorboard.SCALARS.keys() & rows[0].keys()
        # Only a method that learns how to draw has the entropy of its draws.
        self.assertEqual(tensorboard.SCALARS.keys() - columns, {"drawing_entropy"})
        for column in columns:
            name = tensorboard.SCALARS[column]
            expected = {row["epoch"]: np.float32(row[column]) for row in rows}
            self.assertEqual(self.written[name], expected)

    def test_tensorboard_calls_the_run_by_its_folder(self):
        runs = event_multiplexer.EventMultiplexer()
        runs.AddRunsFromDirectory(str(self.folder.path / "tensorboard"))
        self.assertEqual(list(runs.Runs()), [self.folder.path.name])

    def test_the_loss_is_told_within_an_epoch(self):
        told = self.written["steps/loss_so_far_in_epoch"]
        losses = [row["loss"] for row in self.folder.rows()]
        self.assertAllClose(told, dict(zip((3, 6), losses)))

    def test_every_epoch_has_its_pictures(self):
        for name in ("prior", "views"):
            steps = self.written[name]
            self.assertEqual(list(steps), [1, 2])
            # Width and height come first, then the encoded picture.
            first, second = (
                tf.io.decode_png(steps[step][2]).numpy().astype(int) for step in (1, 2)
            )
            self.assertGreater(first.std(), 10)
            # The prior, and the weights under the views, have moved.
            self.assertGreater(np.abs(first - second).max(), 30)

    def test_the_graph_of_the_step_is_there(self):
        encoded = self.written["train_step"][0].item()
        graphs = tf.compat.v1.RunMetadata.FromString(encoded).function_graphs
        operations = {
            node.op for graph in graphs for node in graph.pre_optimization_graph.node
        } | {
            node.op
            for graph in graphs
            for function in graph.pre_optimization_graph.library.function
            for node in function.node_def
        }
        self.assertIn("MatMul", operations)

    def test_a_profile_is_there(self):
        traces = list(pathlib.Path(self.folder.tensorboard).rglob("*.xplane.pb"))
        self.assertLen(traces, 1)
        # The input-pipeline page needs to know where steps begin, and the time in which
        # they ask for their batches.
        trace = traces[0].read_bytes()
        for name in (b"step_num", b"IteratorGetNext"):
            self.assertIn(name, trace)

    def test_weights_follow_the_paper_s_equations(self):
        drawn = view_samples.draw(self.source, self.maker, seed=3, count=5)
        prior = self.model.prior.probabilities.numpy()
        classifier = self.model.classifier
        weighed = view_samples.weigh(drawn, classifier, prior, sigma=0.5)
        images = drawn.views.reshape([-1, *self.source.image_shape])
        logits = classifier.predict(images, verbose=0).astype(np.float64)
        shares = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
        labels = drawn.weighed_labels.reshape([len(images), -1])
        likelihood = (shares * labels).sum(-1).reshape(drawn.policies.shape)
        joint = prior[drawn.policies] * likelihood
        posterior = joint / joint.sum(-1, keepdims=True)
        weights = np.exp(-posterior / 0.5)
        weights /= weights.sum(-1, keepdims=True)
        self.assertAllClose(weighed.likelihood, likelihood, 1e-4, 1e-6)
        self.assertAllClose(weighed.posterior, posterior, 1e-4, 1e-6)
        self.assertAllClose(weighed.weights, weights, 1e-4, 1e-6)


class TensorBoardTest(tf.test.TestCase):
    def test_a_place_that_cannot_be_written(self):
        folder = RunFolder(self.create_tempdir().full_path)
        (folder.path / "tensorboard").write_text("a file in its place")
        callback = tensorboard.TensorBoard(
            folder, TrainConfig(), None, None, mock.Mock()
        )
        told = rf"^{folder.tensorboard} cannot be written \(/.* is not a directory\);"
        with self.assertRaisesRegex(UserError, told):
            callback.on_train_begin()

    def test_without_policies_no_prior_is_drawn(self):
        folder, *_ = train(
            self.create_tempdir().full_path,
            epochs=1,
            method="baseline",
            num_views=1,
            final="none",
            prior="fixed",
        )
        written = events(folder)
        self.assertIn("views", written)
        self.assertNotIn("prior", written)

    def test_a_step_fetches_nothing_but_now_and_then(self):
        class Untouchable(dict):
            def __getitem__(self, name):
                raise AssertionError("a log was fetched")

        board = tensorboard.TensorBoard(None, TrainConfig(), None, None, mock.Mock())
        for batch in range(99):
            board.on_train_batch_end(batch, Untouchable())
        # Without this Keras would copy every log to the host after every step.
        self.assertTrue(board._supports_tf_logs)


class ExamplesTest(tf.test.TestCase):
    def test_the_seed_decides(self):
        config = TrainConfig(limit_train=60, method="baseline")
        source = build.load_source(config)
        maker = build.view_maker(config, source)
        first, again, other = (
            view_samples.draw(source, maker, seed, count=3) for seed in (1, 1, 2)
        )
        self.assertAllEqual(first.views, again.views)
        self.assertNotAllEqual(first.views, other.views)
        # Real images of the training split, with their own labels.
        for image, label in zip(first.images, first.labels):
            same = (source.train.images == image).all((1, 2, 3))
            self.assertTrue(same.any())
            self.assertIn(label, source.train.labels[same])

    def test_a_separate_e_step_weighs_the_early_views(self):
        config = TrainConfig(dataset="digits", limit_train=60, e_step="separate")
        source = build.load_source(config)
        self.assertTrue(build.view_maker(config, source).keep_early)
        maker = ViewMaker(10, 3, final="cutout", operations=False, keep_early=True)
        drawn = view_samples.draw(source, maker, 0, count=3)
        self.assertEqual(drawn.views.shape, drawn.weighed_views.shape)
        self.assertNotAllEqual(drawn.views, drawn.weighed_views)


if __name__ == "__main__":
    tf.test.main()
