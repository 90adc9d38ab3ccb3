"""Flags: the method, its prior and its views, and what its rivals add."""

from flags import define
from la_tf import methods

NAMES = define.fields(
    method=", ".join(methods.NAMES),
    num_views="views of an image (K)",
    weights="of views: latent (eq. 3), equal, hardest",
    sigma="0: the hardest view alone; inf: equal",
    prior="policies' prior: moving, fixed or corrected",
    prior_window="steps in the moving average",
    prior_from="start from a run's prior (folder or npz)",
    e_step="shared: one pass; separate: as released",
    transforms="autoaugment: SamplePairing for MixUp",
    mixup_alpha="MixUp's Beta(a, a); 0: no mixing",
    final="last step: cutmix, cutout or none",
    view_chunk="views at a time: bounds the memory",
    backward_views="train on M drawn views: less time",
)
RIVALS = define.fields(
    ubs_select="hardest: views used",
    ubs_choice="hardest, or proportional to the losses",
    autoaugment="sub-policies of cifar10, svhn or imagenet",
    randaugment_ops="operations one after the other (N)",
    randaugment_magnitude="their strength, 0 to 30 (M)",
    magnitude_scale="M is of 30, or of 10 as Google released it",
    trivialaugment="strengths: standard or wide",
    controller_interval="adversarial: steps to an update; unset: an epoch",
    meta_alpha="metaaugment: length of the look-ahead",
)
