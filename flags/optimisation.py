"""Flags: the optimizer and its schedule."""

from flags import define

NAMES = define.fields(
    epochs="passes over the training images",
    batch_size="images a step, over all replicas",
    learning_rate="peak, after the warm-up; follows the batch",
    weight_decay="L2, added to the gradient",
    warmup_epochs="epochs in which the rate rises to its peak",
    clip_norm="clip the gradient's global norm",
    evaluate_every="epochs between evaluations; 0: the last alone",
    on_nonfinite="a loss that is no number: stop, or skip the step",
)
