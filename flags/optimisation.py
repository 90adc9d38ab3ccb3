"""Flags: the optimizer and its schedule."""

from flags import define

NAMES = define.fields(
    epochs="passes over the training images",
    batch_size="images a step, over all replicas",
    optimizer="sgd, adamw or lion, with a rate of its own",
    learning_rate="peak, after the warm-up; follows the batch",
    weight_decay="L2 in the gradient (adamw, lion: decoupled)",
    warmup_epochs="epochs in which the rate rises to its peak",
    clip_norm="clip the gradient's global norm",
    label_smoothing="share of a label spread over all classes",
    ema="use weights averaged with this decay, such as 0.999",
    evaluate_every="epochs between evaluations; 0: the last alone",
    on_nonfinite="a loss that is no number: stop, or skip",
)
