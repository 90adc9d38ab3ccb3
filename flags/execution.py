"""Flags: where and how the steps run."""

from flags import define

NAMES = define.fields(
    seed="of everything random",
    strategy="auto, none, mirrored or multiworker",
    logical_cpus="split the CPU into so many devices",
    augment_on="where views are made: auto, host or device",
    data_service="grpc://host:port that makes the views",
    mixed_precision="float16 with loss scaling",
    jit_compile="compile the step with XLA",
    deterministic="the same bits in every run",
)
