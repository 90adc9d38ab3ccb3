"""What a run writes for TensorBoard, read back from its event files."""

import pathlib
from unittest import mock

import tensorflow as tf
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
