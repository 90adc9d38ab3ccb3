"""Flags: which of a run's checkpoints."""

from absl import flags as absl_flags

absl_flags.DEFINE_string("checkpoint", "last", "last, best or a checkpoint's path")

NAMES = ("checkpoint",)
