"""LatentAugment: a Keras model that trains any classifier on K views of each image."""

from __future__ import annotations

import functools

import tensorflow as tf
from tensorflow import keras

from la_tf import draws, em, keras_generation
from la_tf.learners.learner import LearnerUpdates, Nothing
from la_tf.prior import PolicyMovingAverage, PolicyPrior
from la_tf.step import arguments, health, passes, training_batch, update
from la_tf.step import weights as step_weights
from la_tf.step.health import StopOnNonFinite
from la_tf.step.moving_averages import MovingAverages


@keras.utils.register_keras_serializable("la_tf")
class LatentAugment(keras_generation.Model):
    """Trains a classifier by the E-step and M-step of the paper's eq. 2 to 5.

    `fit` takes batches of K views of each image, as `la_tf.make_views` makes them;
    `evaluate` and `predict` take plain images, with integer or one-hot labels. The
    trained network is `classifier`, the policies' probabilities are
    `prior.probabilities`.

    Args:
        classifier: a Keras model that gives logits.
        num_policies: S, how many policies there are.
        sigma: σ of eq. 3; 0 and inf are the exact limits.
        weight_decay: coupled L2: weight_decay · w is added to the gradient of every
            trainable weight w, after clipping.
        label_smoothing: ε of the labels (1 - ε) y + ε / classes in the loss; the views
            are weighed by the labels as they are.
        backbone_rate: multiplies the learning rate of all layers but the last one that
            has weights.
        averaged: another network of the classifier's architecture. It becomes the
            moving average of the classifier's weights, and `evaluate` and `predict`
            use it.
        ema: the decay of that average.
        prior: "moving", "fixed" or "corrected", see `la_tf.prior.PolicyPrior`.
        prior_window: how many steps the moving average holds.
        initial_prior: the probabilities to start from, or uniform for None.
        ubs_select: trains on so many of an image's hardest views with equal weights, in
            the place of eq. 3.
        ubs_choice: "hardest", or "proportional" to draw these views, with replacement,
            in proportion to their losses.
        e_step: "shared" weighs the views by the pass that trains them; "separate" by a
            pass of its own over the views before the final Cutout or CutMix, which the
            batch must then hold too.
        view_chunk: passes so many of an image's views at once, to save memory.
        backward_views: trains on so many of an image's views, drawn in proportion to
            their weights, to save time.
        clip_norm: the largest global norm of the gradient, or None.
        seed: of the networks' noise and of `backward_views`.
        augment: a callable that makes a training batch from the parts of a dataset's
            element at the head of the step, on the device that trains.
        learner: what is learned beside the network and the prior, see
            `la_tf.learners.learner.Learner`; None for nothing.
        on_nonfinite: what a step whose loss or gradient is not finite does, other than
            to leave weights, optimizer, statistics and prior as they were: "stop" ends
            `fit` with a `NonFiniteError`, "skip" counts it in the log `skipped_steps`.
    """

    def __init__(
        self,
        classifier,
        num_policies=256,
        sigma=1.0,
        *,
        weight_decay=0.0,
        label_smoothing=0.0,
        backbone_rate=1.0,
        averaged=None,
        ema=0.999,
        prior="moving",
        prior_window=10,
        initial_prior=None,
        ubs_select=None,
        ubs_choice="hardest",
        e_step="shared",
        view_chunk=None,
        backward_views=None,
        clip_norm=None,
        seed=0,
        augment=None,
        learner=None,
        on_nonfinite="stop",
    ):
        # The classifier's type decides whether the loss is scaled; pixels stay exact.
        super().__init__(dtype=classifier.dtype_policy, autocast=False)
        arguments.check_numbers(sigma, weight_decay, clip_norm)
        arguments.check_options(e_step=e_step, ubs_choice=ubs_choice)
        arguments.check_shares(
            label_smoothing=label_smoothing, backbone_rate=backbone_rate, ema=ema
        )
        arguments.check_logits(classifier)
        arguments.check_scope(classifier)
        arguments.check_counts(
            ubs_select=ubs_select, view_chunk=view_chunk, backward_views=backward_views
        )
        self.classifier = classifier
        self.averaged = averaged
        if averaged is not None:
            # Its weights come from the classifier's, not from an optimizer.
            averaged.trainable = False
        self.prior = PolicyPrior(num_policies, prior, prior_window, initial_prior)
        self.health = health.Health(on_nonfinite, num_policies)
        self._sigma = float(sigma)
        self._weight_decay = weight_decay
        self._label_smoothing = label_smoothing
        self._backbone_rate = backbone_rate
        self._ema = ema
        self._ubs_select = ubs_select
        self._ubs_choice = ubs_choice
        self._separate = e_step == "separate"
        self._view_chunk = view_chunk
        self._backward_views = backward_views
        self._clip_norm = clip_norm
        self._seed = seed
        self._augment = augment
        self.learner = learner or Nothing()
        # Logs are the same in all replicas; Keras would else add them up.
        self.distribute_reduction_method = "first"
        self._loss = keras.metrics.Mean("loss")
        self._expected_loss = keras.metrics.Mean("expected_loss")
        self._accuracy = keras.metrics.Mean("accuracy")
        self._weight_entropy = keras.metrics.Mean("weight_entropy")
        self._top_5_accuracy = keras.metrics.Mean("top_5_accuracy")
        self._own_metrics = []
        # Its only weights are the classifier's, and views are no input to build from.
        self.built = classifier.built

    @property
    def metrics(self):
        """What an epoch starts anew, in the order of the logs."""
        built_in = [
            self._loss,
            self._expected_loss,
            self._accuracy,
            self._weight_entropy,
            self._top_5_accuracy,
        ]
        return built_in + list(self._own_metrics)

    def get_config(self):
        """Return what `keras.models.load_model` makes the model from.

        `augment` and `learner` are not part of it: give them to the loaded model's
        constructor anew.
        """
        return {
            "classifier": keras.utils.serialize_keras_object(self.classifier),
            "num_policies": self.prior.num_policies,
            "sigma": self._sigma,
            "weight_decay": self._weight_decay,
            "label_smoothing": self._label_smoothing,
            "backbone_rate": self._backbone_rate,
            "averaged": self.averaged
            and keras.utils.serialize_keras_object(self.averaged),
            "ema": self._ema,
            "prior": self.prior.kind,
            "prior_window": self.prior.window_steps,
            "ubs_select": self._ubs_select,
            "ubs_choice": self._ubs_choice,
            "e_step": "separate" if self._separate else "shared",
            "view_chunk": self._view_chunk,
            "backward_views": self._backward_views,
            "clip_norm": self._clip_norm,
            "seed": self._seed,
            "on_nonfinite": self.health.action,
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        """Return the model of a configuration, untrained."""
        networks = {
            name: keras.utils.deserialize_keras_object(
                config[name], custom_objects=custom_objects
            )
            for name in ("classifier", "averaged")
            if config[name] is not None
        }
        return cls(**{**config, **networks})

    def get_compile_config(self):
        """Return the arguments of `compile`, for `keras.models.load_model`."""
        return {
            "optimizer": keras.utils.serialize_keras_object(self.optimizer),
            "metrics": [
                keras.utils.serialize_keras_object(metric)
                for metric in self._own_metrics
            ],
            "jit_compile": self.jit_compile,
            "run_eagerly": self.run_eagerly,
        }

    def compile_from_config(self, config):
        """Compile as `get_compile_config` says, the optimizer ready for its state."""
        parts = {
            name: keras.utils.deserialize_keras_object(config[name])
            for name in ("optimizer", "metrics")
        }
        self.compile(**{**config, **parts})
        if self.built:
            keras_generation.build(self.optimizer, self.trainable_variables)

    def save_own_variables(self, store):
        """Put the prior, its window and the failures, if any, into a Keras file."""
        for name, variable in self._own_variables().items():
            store[name] = variable.read_value().numpy()

    def load_own_variables(self, store):
        """Take what `save_own_variables` put into a Keras file."""
        for name, variable in self._own_variables().items():
            variable.assign(store[name])

    def _own_variables(self):
        variables = (*self.prior.variables, *self.health.variables)
        return {variable.name.split(":")[0]: variable for variable in variables}

    def call(self, inputs, training=None):
        """Return the logits, in evaluation those of the averaged network if any."""
        if training or self.averaged is None:
            return self.classifier(inputs, training=training)
        return self.averaged(inputs, training=False)

    def compile(
        self,
        optimizer,
        loss=None,
        metrics=(),
        jit_compile=None,
        run_eagerly=None,
        steps_per_execution=1,
    ):
        """Set the optimizer, metrics of your own and how the step is run.

        Args:
            optimizer: any Keras optimizer or its name. Leave its own `weight_decay` out
                for the paper's coupled one.
            loss: None: it is built in.
            metrics: `keras.metrics.Metric` objects of one-hot labels [N, classes] and
                logits, besides those that are built in. In training N counts the views
                that are trained on, with mixed labels; `evaluate` is of plain images.
            jit_compile: compiles the step by XLA; not under a strategy.
            run_eagerly: runs the step without a graph, to debug it.
            steps_per_execution: 1. It is here to say why no other number will do.
        """
        arguments.check_scope(self.classifier)
        if loss is not None:
            raise ValueError(
                "The loss of LatentAugment is built in, the weighted cross-entropy of "
                "eq. 4: leave out loss."
            )
        self._own_metrics = []
        self._own_metrics = arguments.checked_metrics(metrics, self.metrics)
        if steps_per_execution != 1:
            raise ValueError(
                f"steps_per_execution is {steps_per_execution}, but the prior moves "
                "after each step and Keras calls back only once per execution: leave "
                "it at 1."
            )
        strategies = (
            tf.distribute.MirroredStrategy,
            tf.distribute.MultiWorkerMirroredStrategy,
        )
        if jit_compile and isinstance(self.distribute_strategy, strategies):
            raise ValueError(
                "TensorFlow cannot compile a step by XLA under "
                f"{type(self.distribute_strategy).__name__}: leave out jit_compile or "
                "the strategy."
            )
        super().compile(
            optimizer, jit_compile=bool(jit_compile), run_eagerly=run_eagerly
        )

    def fit(self, *args, callbacks=None, **kwargs):
        """Train as `keras.Model.fit` does; the callbacks it needs come first.

        `PolicyMovingAverage`, `StopOnNonFinite` and, with a learner, `LearnerUpdates`
        are added where they are missing, and run before all others, which thus see a
        step's final state.
        """
        if kwargs.get("class_weight") is not None:
            # Keras would multiply the third part of a batch by it: the policies. And a
            # view's label may be mixed, so that the image's class is not in the batch.
            raise ValueError(
                "class_weight cannot be told from a batch of views: give it to "
                "la_tf.make_views, which makes sample weights of it."
            )
        callbacks = tf.nest.flatten(callbacks) if callbacks else []
        needed = PolicyMovingAverage, StopOnNonFinite
        if not isinstance(self.learner, Nothing):
            needed += (LearnerUpdates,)
        ours = [callback for callback in callbacks if isinstance(callback, needed)]
        ours += [
            kind()
            for kind in needed
            if not any(isinstance(callback, kind) for callback in ours)
        ]
        others = [callback for callback in callbacks if callback not in ours]
        return super().fit(*args, callbacks=ours + others, **kwargs)

    def train_step(self, data):
        """Run one iteration; return its logs."""
        # The K views of each image, and the prior as it was before this step.
        batch = training_batch.unpack(data, self._augment, self._separate)
        prior = self.prior.of(batch.policies)
        loss = functools.partial(em.weighted_loss, sample_weights=batch.sample_weights)
        forward, averages, draw_seed = self._begin(batch)
        weigh = functools.partial(self._weigh, prior, batch, draw_seed)

        # E-step, eq. 2 and 3, where the pass that trains does not see all views.
        views, weighed = batch.views, None
        if self._weighs_first(batch):
            parts = passes.in_chunks(batch.early or views, self._view_chunk)
            weighed = passes.without_gradient(forward, parts, weigh, averages)
            views = self._to_train(batch, weighed.weights, draw_seed)

        # The weighted loss of eq. 4 and its gradient; else the E-step is part of it.
        parts = passes.in_chunks(views, self._view_chunk)
        trained = passes.with_gradient(
            forward, parts, weigh, loss, averages, self.optimizer
        )
        weighed = weighed or trained.weighed

        # M-step, eq. 5: new parameters, if the step is sound in all replicas.
        sound = self._update(batch, weighed, trained, averages)
        return self._train_logs(batch, weighed, trained, sound)

    def test_step(self, data):
        """Return loss, accuracy and all other metrics of plain images and labels."""
        images, labels, weights = keras.utils.unpack_x_y_sample_weight(data)
        logits = tf.cast(self(images, training=False), tf.float32)
        classes = _classes(labels)
        if _is_one_hot(labels):
            passes.check_classes(logits, labels)
            losses = -em.log_likelihood(logits, labels)
        else:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(classes, logits)
            labels = tf.one_hot(classes, logits.shape[-1])
        top = min(5, logits.shape[-1])
        self._loss.update_state(losses, weights)
        self._accuracy.update_state(tf.argmax(logits, -1) == classes, weights)
        self._top_5_accuracy.update_state(
            tf.math.in_top_k(classes, logits, top), weights
        )
        for metric in self._own_metrics:
            metric.update_state(labels, logits, weights)
        built_in = [self._loss, self._accuracy, self._top_5_accuracy]
        logs = keras_generation.results([*built_in, *self._own_metrics])
        return keras_generation.step_logs(logs)

    def _begin(self, batch):
        """Return the step's `Forward`, the averages before it, and a seed for draws."""
        arguments.check_views(
            batch.policies.shape[1],
            ubs_select=self._ubs_select,
            backward_views=self._backward_views,
        )
        if not self.classifier.built:
            self.classifier.build([None, *batch.views.images.shape[2:]])
        with tf.init_scope():
            keras_generation.build(self.optimizer, self.classifier.trainable_variables)
        seed = draws.fold([self._seed, 0], self.optimizer.iterations)
        noise_seed, draw_seed = draws.split(seed, 2)
        forward = passes.Forward(
            self._network(), noise_seed, batch.total, self._label_smoothing
        )
        return forward, MovingAverages(self.classifier), draw_seed

    def _network(self):
        """Return what a pass of the views runs through."""
        return self.classifier

    def _weighs_first(self, batch):
        """Tell whether the weights come from a pass before the one that trains."""
        views = batch.policies.shape[1]
        chunked = self._view_chunk is not None and self._view_chunk < views
        return self._separate or chunked or self._backward_views is not None

    def _weigh(self, prior, batch, draw_seed, log_probability):
        """Return the weights [B, K] of the views."""
        select, points = self._ubs_select, None
        if select is not None and self._ubs_choice == "proportional":
            # Apart from the draws of `backward_views`.
            points = batch.uniform(select, draws.fold(draw_seed, 1))
        _, weights = em.e_step(prior, log_probability, self._sigma, select, points)
        return weights

    def _to_train(self, batch, weights, seed):
        """Return the views that are trained on, with their weights."""
        count = self._backward_views
        if count is None:
            return batch.views._replace(weights=weights)
        start = batch.uniform(1, seed)
        drawn = batch.views.chosen(passes.draw_views(weights, count, start))
        return drawn._replace(weights=tf.fill(tf.shape(drawn.positions), 1.0 / count))

    def _update(self, batch, weighed, trained, averages):
        """Apply the step and record it for the callbacks; return whether it was sound.

        They move the policies' weight into the prior, and update the learner.
        """
        images = tf.cast(tf.shape(batch.policies)[0], tf.float32)
        policy_sums = functools.partial(
            em.policy_sums,
            policies=batch.policies,
            num_policies=self.prior.num_policies,
        )
        log_probability, weights = weighed
        broken = tf.logical_not(tf.math.is_finite(log_probability))
        sums = (
            # Finite if the loss and all that the weights come from are.
            images * trained.loss + tf.reduce_sum(log_probability),
            policy_sums(weights),
            policy_sums(tf.ones_like(weights)),
            policy_sums(broken),
            self.learner.sums(-trained.log_likelihood),
        )
        gradients, sums = update.over_replicas(
            trained.gradients, images, sums, averages
        )
        witness, mass, draws, broken, lessons = sums
        finite = tf.math.is_finite(witness) & update.is_finite(
            gradients, self.optimizer
        )
        sound = self.health.check(finite, self.optimizer.iterations, broken, draws)
        variables = self.classifier.trainable_variables
        gradients = update.clipped(gradients, self._clip_norm)
        gradients = update.decayed(gradients, variables, self._weight_decay)
        update.apply_if(
            sound, self.optimizer, gradients, variables, **self._besides_the_update()
        )
        averages.restore_unless(sound)
        self.prior.record(tf.where(sound, mass, 0.0), draws)
        self.learner.record(sound, mass, draws, lessons)
        return sound

    def _besides_the_update(self):
        """Return what else is done to the weights, as `update.apply_if` takes it."""
        network, besides = self.classifier, {}
        if self._backbone_rate != 1.0:
            shorter_steps = step_weights.ShorterSteps(network, self._backbone_rate)
            besides["shorter_steps"] = shorter_steps
        if self.averaged is not None:
            average = step_weights.Average(network, self.averaged, self._ema)
            besides["average"] = average
        return besides

    def _train_logs(self, batch, weighed, trained, sound):
        """Return the means so far in this epoch, over the sound steps."""
        expected_loss = em.expected_loss(
            trained.weighed.weights,
            trained.log_likelihood,
            em.log_of_prior(self.prior.of(trained.policies)),
            batch.sample_weights,
        )
        correct = tf.argmax(trained.logits, -1) == tf.argmax(trained.labels, -1)
        images = tf.shape(batch.policies)[0]
        values = (
            (self._loss, trained.loss),
            (self._expected_loss, expected_loss),
            (self._accuracy, tf.reduce_mean(tf.cast(correct, tf.float32))),
            (self._weight_entropy, tf.reduce_mean(em.entropy(weighed.weights))),
        )
        for metric, value in values:
            counted = tf.where(sound, tf.cast(images, tf.float32), 0.0)
            metric.update_state(tf.where(counted > 0.0, value, 0.0), counted)
        self._update_own_metrics(trained, sound)
        built_in = [metric for metric, _ in values]
        logs = keras_generation.results([*built_in, *self._own_metrics])
        logs["effective_policies"] = self.prior.effective_policies()
        logs.update(self.learner.logs())
        if self.health.action == "skip":
            logs["skipped_steps"] = tf.identity(self.health.skipped_steps)
        return keras_generation.step_logs(logs)

    def _update_own_metrics(self, trained, sound):
        """Count the trained views, each for one, in the metrics of `compile`."""
        classes = trained.logits.shape[-1]
        labels = tf.reshape(trained.labels, [-1, classes])
        # What is not finite would leave its mark even where it weighs nothing.
        logits = tf.where(sound, tf.reshape(trained.logits, [-1, classes]), 0.0)
        counted = tf.fill(tf.shape(logits)[:1], tf.cast(sound, tf.float32))
        for metric in self._own_metrics:
            metric.update_state(labels, logits, counted)


def _classes(labels):
    """Return each example's class, int64 [B], from integers or one-hot rows."""
    if _is_one_hot(labels):
        return tf.argmax(labels, -1)
    return tf.cast(tf.reshape(labels, [-1]), tf.int64)


def _is_one_hot(labels):
    return labels.shape.rank == 2 and labels.shape[-1] > 1
