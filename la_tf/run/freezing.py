"""Which layers of a network stay as they are."""

from __future__ import annotations

from la_tf import errors
from la_tf.errors import UserError
from la_tf.step import weights

BACKBONE = "backbone"


def freeze(classifier, up_to):
    """Let the layers up to one stay as they are, and all others learn.

    A frozen BatchNorm works as in evaluation.

    Args:
        classifier: the network.
        up_to: the name of the last layer to freeze; "backbone" for all but the head,
            the last layer that has weights; None for no layer.

    Raises:
        UserError: there is no such layer, or nothing would be left to learn.
    """
    frozen = _count(classifier, up_to)
    for number, layer in enumerate(classifier.layers):
        layer.trainable = number >= frozen


def _count(classifier, up_to):
    if up_to is None:
        return 0
    names = [layer.name for layer in classifier.layers]
    head = names.index(weights.head_of(classifier).name)
    if up_to == BACKBONE:
        return head
    if up_to not in names:
        choices = [BACKBONE, *names[:head]]
        raise UserError(f"--freeze={up_to}: {errors.unknown(up_to, choices)}")
    if names.index(up_to) >= head:
        raise UserError(
            f"--freeze={up_to} would leave nothing to learn; --freeze={BACKBONE} "
            "leaves the head."
        )
    return names.index(up_to) + 1
