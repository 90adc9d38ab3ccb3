"""Flags: where and how the steps run."""

import re

from absl import flags as absl_flags

from flags import define
from la_tf.config import TrainConfig

define.integer("seed", TrainConfig.seed, 0, 2**31 - 1, "of everything random")
define.choice(
    "strategy",
    TrainConfig.strategy,
    ("auto", "none", "mirrored", "multiworker"),
    "auto, none, mirrored or multiworker",
)
define.integer("logical_cpus", None, 1, 64, "split the CPU into so many devices")
define.choice(
    "augment_on",
    TrainConfig.augment_on,
    ("host", "device"),
    "where views are made: host or device",
)
absl_flags.DEFINE_string("data_service", None, "grpc://host:port that makes the views")
absl_flags.DEFINE_bool("mixed_precision", False, "float16 with loss scaling")
absl_flags.DEFINE_bool("jit_compile", False, "compile the step with XLA")
absl_flags.DEFINE_bool("deterministic", False, "the same bits in every run")


@absl_flags.validator("data_service")
def _check_data_service(address):
    # Empty: without the service, also where the run to resume had one.
    if address and not re.fullmatch(r"grpc://[^\s/]+:[0-9]{1,5}", address):
        raise absl_flags.ValidationError("must look like grpc://host:port.")
    return True


NAMES = (
    "seed",
    "strategy",
    "logical_cpus",
    "augment_on",
    "data_service",
    "mixed_precision",
    "jit_compile",
    "deterministic",
)
