"""MetaAugment: a Keras model that learns how much each view counts.

Zhou et al., AAAI 2021, arXiv 2012.12076. The published step differentiates through the
look-ahead; here the same gradient takes one more pass in the forward direction, see
`policy_network.look_ahead_gradient`.
"""

from __future__ import annotations

import math

import tensorflow as tf
from tensorflow import keras

from la_tf import em, keras_generation, replicas
from la_tf.learners import policy_network
from la_tf.model import LatentAugment
from la_tf.step import passes, training_batch
from la_tf.step.moving_averages import MovingAverages


class MetaAugment(LatentAugment):
    """Trains a classifier on one view of each image, weighted by a policy network.

    `fit` takes batches of the parts that `augment` makes views from, and behind them
    plain images and labels that are held out.

    Args:
        classifier: a Keras model that gives logits, made from a `keras.Input`; what its
            last Dense layer takes in are the features.
        sampler: a `la_tf.learners.sampler.Sampler`.
        augment: a callable from the parts of an example to a training batch.
        choice: a callable from the same parts to the `Choice` that `augment` makes the
            views by.
        meta_alpha: α, the length of the look-ahead.
        seed: of the policy network and of the networks' noise.
        **options: those of `LatentAugment` that have a meaning for one view.
    """

    def __init__(
        self,
        classifier,
        sampler,
        *,
        augment,
        choice,
        meta_alpha=0.01,
        seed=0,
        **options,
    ):
        super().__init__(
            classifier,
            sampler.num_policies,
            math.inf,
            prior="fixed",
            augment=augment,
            learner=sampler,
            seed=seed,
            **options,
        )
        self._choice = choice
        self._meta_alpha = meta_alpha
        featured = with_features(classifier)
        # Behind a function, so that Keras does not track the same layers twice.
        self._featured = lambda: featured
        self.policy_network = policy_network.PolicyNetwork(
            featured.outputs[1].shape[-1], sampler.embedding_size, seed
        )

    def get_config(self):
        """Refuse: the functions that make the views cannot be written down."""
        raise NotImplementedError("MetaAugment cannot be saved; save its classifier.")

    def train_step(self, data):
        """Run one iteration; return its logs."""
        # A view of each image, how it was made, and plain images that are held out.
        *examples, images, labels = data
        batch = training_batch.unpack(examples, self._augment)
        embedding = self._embedding(batch, examples)
        forward, averages, _ = self._begin(batch)

        # One pass serves the look-ahead and the update.
        with tf.GradientTape(persistent=True) as tape:
            logits, features = forward.run(batch.views)
            outcome = forward.outcome(logits, batch.views.labels)
            penalty = passes.regularization(self.classifier)
            losses = penalty - outcome.log_likelihood[:, 0]
        features = tf.stop_gradient(tf.cast(features, tf.float32))

        # Where plain SGD would go with the present weights, and which way the held-out
        # images would have it go on from there.
        theta = self.policy_network.values()
        raw = policy_network.raw_weights(theta, features, embedding)
        with tf.GradientTape() as weight_tape:
            weight_tape.watch(raw)
            weighted = self._gradient(tape, losses, raw)
        step = _summed_share(weighted, tf.reduce_sum(raw))
        after_pass = MovingAverages(self.classifier)
        averages.restore()
        direction = self._held_out_gradient(step, images, labels)
        after_pass.restore()

        # How fast each loss grows that way. The weighted gradient is linear in the
        # weights: its derivative by a weight is the gradient of that weight's loss.
        slopes = weight_tape.gradient(weighted, raw, direction)

        # By which the policy network learns, and weighs the views anew.
        gradient = policy_network.look_ahead_gradient(
            theta, features, embedding, slopes, self._meta_alpha
        )
        theta, momenta = self.policy_network.moved(gradient)
        raw = policy_network.raw_weights(theta, features, embedding)
        trained = self._trained(tape, losses, raw, outcome, batch)

        # New parameters of both, if the step is sound in all replicas.
        weighed = passes.Weighed(outcome.log_probability, raw[:, None])
        sound = self._update(batch, weighed, trained, averages)
        self.policy_network.assign_if(sound, theta, momenta)
        # An image's only view has all of its weight.
        alone = weighed._replace(weights=tf.ones_like(weighed.weights))
        return self._train_logs(batch, alone, trained, sound)

    def _network(self):
        return self._featured()

    def _embedding(self, batch, examples):
        """Return what the policy network is told of each view's transformation."""
        if batch.policies.shape[1] != 1:
            raise ValueError(
                f"MetaAugment has one view of each image, not {batch.policies.shape[1]}"
            )
        return self.learner.embedding(self._choice(*examples))

    def _gradient(self, tape, losses, weights):
        """Return the gradients of the weighted sum of losses."""
        gradients = tape.gradient(
            losses,
            self.classifier.trainable_variables,
            keras_generation.scaled(weights, self.optimizer),
            tf.UnconnectedGradients.ZERO,
        )
        return keras_generation.unscaled(gradients, self.optimizer)

    def _held_out_gradient(self, step, images, labels):
        """Return the gradients of the held-out images' mean loss after a step of SGD.

        The network runs as in evaluation, and has its own weights again afterwards.
        """
        weights = self.classifier.trainable_variables
        variables = [keras_generation.tensorflow_variable(weight) for weight in weights]
        before = [tf.identity(variable) for variable in variables]
        ahead = [one - self._meta_alpha * move for one, move in zip(before, step)]
        replicas.assign(variables, ahead)
        with tf.GradientTape() as tape:
            logits = tf.cast(self.classifier(images, training=False), tf.float32)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        weights = tf.ones_like(losses)
        gradients = self._gradient(tape, losses, weights)
        replicas.assign(variables, before)
        return _summed_share(gradients, tf.reduce_sum(weights))

    def _trained(self, tape, losses, raw, outcome, batch):
        """Return the `Trained` of views with these raw weights."""
        images = tf.cast(tf.size(raw), tf.float32)
        total, all_images = replicas.summed((tf.reduce_sum(raw), images))
        # Such that their sum over the global batch, divided by its images, is 1.
        weights = raw * (all_images / total)
        weighed = passes.Weighed(outcome.log_probability, weights[:, None])
        return passes.Trained(
            weighed,
            outcome.logits,
            batch.views.labels,
            outcome.log_likelihood,
            batch.policies,
            em.weighted_loss(weighed.weights, outcome.log_likelihood),
            self._gradient(tape, losses, weights / images),
        )


def _summed_share(values, whole):
    """Return a list of tensors and divide it, both added up over the replicas."""
    values, whole = replicas.summed((values, whole))
    return [value / whole for value in values]


def with_features(classifier):
    """Return a model that gives a classifier's logits and its features [B, F].

    The features are what its last Dense layer takes in, averaged over places if it
    takes maps.
    """
    dense = [
        layer for layer in classifier.layers if isinstance(layer, keras.layers.Dense)
    ]
    inputs = getattr(classifier, "inputs", None)
    if not dense or not inputs:
        raise ValueError(
            "MetaAugment takes a network's features from its last Dense layer: give a "
            "classifier that has one and begins with a keras.Input."
        )
    features = dense[-1].input
    if len(features.shape) > 2:
        places = tuple(range(1, len(features.shape) - 1))
        average = keras.layers.Lambda(lambda maps: tf.reduce_mean(maps, places))
        features = average(features)
    return keras.Model(inputs, [classifier.outputs[0], features])
