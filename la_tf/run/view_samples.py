"""A few real images of a run's data with their views, and how the run weighs them."""

from __future__ import annotations

import dataclasses

import numpy as np
import tensorflow as tf

from la_tf import em
from la_tf.data import batches, inception


@dataclasses.dataclass(frozen=True, eq=False)
class Examples:
    """B images with K views each.

    Attributes:
        images: uint8 [B, H, W, C], as evaluation sees them.
        labels: int [B].
        views: uint8 [B, K, H, W, C], as training sees them.
        policies: int [B, K].
        names: text [B, K], the operations of each view; empty where there are none.
        weighed_views, weighed_labels: what the weights come from: the views, or with a
            separate E-step those before the final Cutout or CutMix.
    """

    images: np.ndarray
    labels: np.ndarray
    views: np.ndarray
    policies: np.ndarray
    names: np.ndarray
    weighed_views: np.ndarray
    weighed_labels: np.ndarray

    def take(self, indices):
        """Return the Examples of these images alone."""
        return Examples(*(values[indices] for values in vars(self).values()))


@dataclasses.dataclass(frozen=True, eq=False)
class Weights:
    """What the network makes of the views: each float [B, K].

    Attributes:
        likelihood: P, the probability of the view's label.
        posterior: h of eq. 2.
        weights: h̃ of eq. 3, the views' weights in the loss.
    """

    likelihood: np.ndarray
    posterior: np.ndarray
    weights: np.ndarray


def draw(source, maker, seed, count):
    """Return `count` Examples of the training images.

    The same seed, the same examples.
    """
    count = min(count, source.train.size)
    plan = batches.Plan(seed, count, 1, source.train.size // count)
    dataset = batches.training(source.train, maker, plan, on_device=True)
    parts = next(iter(dataset))
    batch = source.train.view_function(maker)(*parts)
    views, _, policies = batch[:3]
    weighed_views, weighed_labels = batch[3:] or batch[:2]
    images, _, _ = next(iter(source.train.training_batches(_Unaltered(), plan)))
    return Examples(
        images.numpy(),
        parts[1].numpy(),
        views.numpy(),
        policies.numpy(),
        _names(maker, parts),
        weighed_views.numpy(),
        weighed_labels.numpy(),
    )


def _names(maker, parts):
    if maker.policies is None:
        return np.full([len(parts[1]), maker.num_views], "")
    return maker.drawing.names_of(maker.choice(*parts))


def losses(examples, classifier):
    """Return the loss of each image as evaluation sees it, and the logits."""
    logits = classifier.predict(examples.images, batch_size=32, verbose=0)
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(examples.labels, logits)
    return loss.numpy(), logits


def weigh(examples, classifier, prior, sigma, ubs_select=None, ubs_choice="hardest"):
    """Return the Weights that a network and a prior give to the views.

    The network runs as in evaluation: with so few images a batch's own statistics say
    little, and nothing of the network may change.

    Args:
        examples: the Examples.
        classifier: gives logits.
        prior: [policies].
        sigma: of eq. 3.
        ubs_select: weighs so many of the hardest views alike, in the place of eq. 3.
        ubs_choice: "proportional" where views are drawn in proportion to their losses:
            the weights are then the mean over all draws.
    """
    views, labels = examples.weighed_views, examples.weighed_labels
    flat = np.reshape(views, [-1, *views.shape[2:]])
    logits = tf.reshape(classifier(flat, training=False), labels.shape)
    log_probability = em.log_probability(logits, labels)
    prior = tf.gather(tf.convert_to_tensor(prior), examples.policies)
    posterior, weights = em.e_step(prior, log_probability, sigma, ubs_select)
    if ubs_select is not None and ubs_choice == "proportional":
        weights = em.loss_shares(log_probability)
    return Weights(tf.exp(log_probability).numpy(), posterior.numpy(), weights.numpy())


class _Unaltered:
    """Stands in for a ViewMaker to give the same images in the same order, as tests do.

    Photographs are cropped where they are read; small images come whole anyway.
    """

    def crop_photograph(self, encoded, size, seed):
        del seed
        return inception.evaluation_image(encoded, size)
