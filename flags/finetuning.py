"""Flags: where the first weights come from, and which layers are trained how."""

from flags import define

NAMES = define.fields(
    init_from="a run, .keras or weights file, or imagenet",
    freeze="backbone (all but the head), or up to this layer",
    head_epochs="epochs at first in which the head alone learns",
    backbone_rate="of the learning rate, for all but the head",
)
