"""Flags: which network."""

from absl import flags as absl_flags

import models
from flags import define

NAMES = define.fields(
    model="wrn_<depth>_<width>, resnet_50, EfficientNetV2B0, ...",
    remat="recompute blocks: less memory, more time",
)


@absl_flags.validator("model")
def _check_model(name):
    if name is not None:
        try:
            models.check_name(name)
        except ValueError as error:
            raise absl_flags.ValidationError(str(error)) from None
    return True
