"""What TensorBoard shows of a run: numbers and pictures, written as training goes."""

from __future__ import annotations

import contextlib
import math

import tensorflow as tf
from tensorflow import keras

from la_tf import drawing, methods
from la_tf.errors import UserError
from la_tf.run import store, view_samples

# Column of metrics.csv: name in TensorBoard, one chart group for each first word.
SCALARS = {
    "loss": "loss/train",
    "expected_loss": "loss/expected",
    "test_loss": "loss/test",
    "train_accuracy": "accuracy/train",
    "test_accuracy": "accuracy/test",
    "test_top_5": "accuracy/test_top_5",
    "learning_rate": "training/learning_rate",
    "images_per_second": "training/images_per_second",
    "weight_entropy": "policies/weight_entropy",
    "effective_policies": "policies/effective_policies",
    "drawing_entropy": "policies/drawing_entropy",
}
_STEPS_BETWEEN_SCALARS = 100
_IMAGES = 4
_MOST_VIEWS = 8


class TensorBoard(keras.callbacks.Callback):
    """Writes a run's numbers, its prior and a strip of views after every epoch.

    Pictures take as long as an evaluation: an epoch without one goes without them.

    Within an epoch nothing is fetched from the device but the loss so far, once in a
    hundred steps. Every worker takes part, since reading a network that is spread over
    workers needs all of them; only the chief's files are kept.

    Args:
        folder: the RunFolder.
        config: the TrainConfig.
        history: the Recorder, which must run earlier in the list of callbacks.
        source: the data set.
        maker: the ViewMaker.
    """

    def __init__(self, folder, config, history, source, maker):
        super().__init__()
        # The loss is fetched when it is wanted, not after every step.
        self._supports_tf_logs = True
        self._folder = folder
        self._config = config
        self._history = history
        self._pictures = _Pictures(config, source, maker)
        self._writer = None
        self._steps = 0

    def on_train_begin(self, logs=None):
        if self._writer is not None:
            return
        if not self._folder.writable:
            self._writer = tf.summary.create_noop_writer()
            return
        with self._told():
            path = str(self._folder.tensorboard)
            self._writer = tf.summary.create_file_writer(path)

    def on_train_batch_end(self, batch, logs=None):
        self._steps += 1
        if self._steps % _STEPS_BETWEEN_SCALARS == 0:
            step = int(self.model.optimizer.iterations)
            loss = self.model.get_metrics_result()["loss"]
            with self._writer.as_default(step):
                tf.summary.scalar("steps/loss_so_far_in_epoch", loss)

    def on_epoch_end(self, epoch, logs=None):
        row = self._history.last_row
        with self._writer.as_default(row["epoch"]):
            for column, name in SCALARS.items():
                # NaN: the epoch was not evaluated. Some methods have no such column.
                if not math.isnan(row.get(column, math.nan)):
                    tf.summary.scalar(name, row[column])
            if not math.isnan(row["test_accuracy"]):
                for name, pixels in self._pictures.of(self.model, row["epoch"]):
                    tf.summary.image(name, pixels[None])
        with self._told():
            self._writer.flush()

    @contextlib.contextmanager
    def _told(self):
        """Tell in a sentence of a disk that cannot be written to."""
        try:
            yield
        except store.DISK_ERRORS as error:
            raise UserError(
                f"{self._folder.tensorboard} cannot be written "
                f"({store.reason(error)}); make room there, pass --resume."
            ) from None


class _Pictures:
    """The pictures of an epoch; what stays the same is made once."""

    def __init__(self, config, source, maker):
        self._config = config
        self._source = source
        self._maker = maker
        self._rule = maker.drawing
        method = methods.get(config.method)
        self._has_prior = method.has_policies and self._rule.is_square
        self._has_operations = method.drawing is not None
        self._heat_map = None
        self._examples = None
        self._strip = None

    def of(self, model, epoch):
        """Return pairs of a name and a picture, uint8 [H, W, 3]."""
        prior = model.prior.probabilities.numpy()
        pictures = [("views", self._views(model.classifier, prior))]
        if self._has_prior:
            pictures.append(("prior", self._prior(prior, epoch)))
        return pictures

    def _prior(self, prior, epoch):
        if self._heat_map is None:
            self._heat_map = drawing.HeatMap(self._rule.space.operations)
        title = f"prior after epoch {epoch}"
        return drawing.pixels(self._heat_map.show(prior, title))

    def _views(self, classifier, prior):
        """Return the same views every epoch, so that their weights can be followed."""
        if self._examples is None:
            self._examples = view_samples.draw(
                self._source, self._maker, self._config.seed, _IMAGES
            )
            shown = self._examples.views[:, :_MOST_VIEWS]
            lines = self._rule.num_stages + 2 if self._has_operations else 1
            self._strip = drawing.ViewStrip(shown, lines)
        weighed = view_samples.weigh(
            self._examples,
            classifier,
            prior,
            self._config.sigma,
            self._config.hardest_views,
            self._config.ubs_choice,
        )
        return drawing.pixels(self._strip.show(self._captions(weighed)))

    def _captions(self, weighed):
        return [
            [self._caption(*values) for values in zip(*rows)]
            for rows in zip(
                self._examples.names[:, :_MOST_VIEWS],
                weighed.likelihood,
                weighed.weights,
            )
        ]

    def _caption(self, name, likelihood, weight):
        if not self._has_operations:
            return f"P {likelihood:.3f}"
        name = name.replace(">", " >\n")
        return f"{name}\nP {likelihood:.3f}\nweight {weight:.3f}"
