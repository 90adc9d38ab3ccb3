"""Everything that decides a training run, in one frozen value."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    """A training run: what the user chose, completed by the recipe and the defaults.

    `origins` tells for each field where its value came from: "flag", "recipe",
    "method" or "default".
    """

    # Data.
    dataset: str = "digits"
    data_dir: str | None = None
    image_size: int | None = None
    holdout: float = 0.0
    limit_train: int | None = None
    skip_bad_images: bool = False
    preprocessing: str = "crop"
    padding: int = 4
    flip: bool = True

    # Network.
    model: str = "wrn_16_1"
    remat: bool = False

    # Method.
    method: str = "latent"
    num_views: int = 6
    sigma: float = 1.0
    prior: str = "moving"
    prior_window: int = 10
    prior_from: str | None = None
    e_step: str = "shared"
    ubs_select: int = 1
    transforms: str = "latentaugment"
    mixup_alpha: float = 1.0
    final: str = "cutmix"
    cutmix_probability: float = 0.5
    cutout_size: int | None = None
    view_chunk: int | None = None
    backward_views: int | None = None

    # Optimisation.
    epochs: int = 200
    batch_size: int = 128
    learning_rate: float = 0.1
    weight_decay: float = 2e-4
    momentum: float = 0.9
    warmup_epochs: int = 5
    clip_norm: float | None = None
    on_nonfinite: str = "stop"

    # Execution.
    seed: int = 0
    strategy: str = "auto"
    logical_cpus: int | None = None
    augment_on: str = "host"
    data_service: str | None = None
    mixed_precision: bool = False
    jit_compile: bool = False
    deterministic: bool = False

    # Run folder.
    run_dir: str | None = None
    resume: bool = False
    keep: int = 2
    checkpoint_minutes: float = 15.0
    profile: bool = False
    verbosity: int = 0

    origins: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def values(self):
        """Every value by name, fit for JSON, without the origins."""
        values = dataclasses.asdict(self)
        del values["origins"]
        # JSON has no infinity.
        if math.isinf(self.sigma):
            values["sigma"] = "inf"
        return values

    @classmethod
    def from_values(cls, values):
        """The configuration that `values()` came from; unknown names are refused."""
        values = dict(values)
        values["sigma"] = float(values["sigma"])
        return cls(**values)


FIELDS = tuple(
    field.name for field in dataclasses.fields(TrainConfig) if field.name != "origins"
)
