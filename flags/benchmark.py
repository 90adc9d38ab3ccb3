"""Flags of the benchmarks: none but --help."""

from flags import help

SUBJECTS = ("views", "networks", "steps", "methods")
USAGE = """\
Measures this machine: python -m la_tf.benchmark SUBJECT
  views      views a second, by operation, beside a Pillow pipeline
  networks   images a second of each network, forward and backward
  steps      time and memory of a training step, by views, chunks and economy
  methods    time of a training step, by method, beside RandAugment's
Run it with nothing else running."""


def install_help():
    """Let `--help` print what can be measured."""
    help.install(USAGE, ())
