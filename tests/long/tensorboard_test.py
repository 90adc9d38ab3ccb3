"""One run's event files for TensorBoard, looked at from several sides."""

import pathlib
import shutil
import tempfile
from unittest import mock

import numpy as np
import tensorflow as tf
from tensorboard.backend.event_processing import event_multiplexer

from la_tf.run import view_samples
from la_tf.train import tensorboard
from tests.la_tf.train import tensorboard_test


class RunTest(tf.test.TestCase):
    """One run of two epochs, looked at from several sides."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        directory = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, directory)
        # Three steps an epoch: the loss so far is told at the end of each.
        with mock.patch.object(tensorboard, "_STEPS_BETWEEN_SCALARS", 3):
            run = tensorboard_test.train(directory, profile=True, sigma=0.5)
        cls.folder, cls.model, cls.source, cls.maker = run
        cls.written = tensorboard_test.events(cls.folder)

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


if __name__ == "__main__":
    tf.test.main()
