"""Flags: the method, its prior and its views."""

from flags import define
from la_tf import methods

NAMES = define.fields(
    method="one of " + ", ".join(methods.NAMES),
    num_views="views of an image (K)",
    sigma="0: the hardest view alone; inf: equal",
    prior="policies' prior: moving, fixed or corrected",
    prior_window="steps in the moving average",
    prior_from="start from a run's prior (folder or npz)",
    e_step="shared: one forward pass; separate: as released",
    ubs_select="ubs: hardest views used",
    transforms="autoaugment: SamplePairing for MixUp",
    mixup_alpha="MixUp's Beta(a, a); 0: no mixing",
    final="last step: cutmix, cutout or none",
    view_chunk="views at a time: bounds the memory",
    backward_views="train on M drawn views: less time",
)
