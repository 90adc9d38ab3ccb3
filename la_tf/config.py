"""Everything that decides a training run, in one frozen value.

Each field knows which values it takes. Recipes, the method's constants and all checks
are applied here, so that a run is the same from Python and from the command line.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

from la_tf import errors, methods, recipes
from la_tf.data import sources
from la_tf.errors import UserError

_INFINITY = float("inf")

# For a backbone that knows far more than the images can teach; its new head learns at
# the whole rate.
_IMAGENET_BACKBONE_RATE = 0.1


def _choice(default, *options):
    return dataclasses.field(default=default, metadata={"options": options})


def _number(default, low, high):
    return dataclasses.field(default=default, metadata={"range": (low, high)})


@dataclasses.dataclass(frozen=True, init=False)
class TrainConfig:
    """A training run: what the user chose, completed by recipe, method and defaults.

    `origins` tells for each field where its value came from: "chosen", "recipe",
    "method" or "default"; a learning rate that follows the batch says so.
    """

    # Data.
    dataset: str = _choice("digits", *sources.NAMES)
    data_dir: str | None = None
    image_size: int | None = _number(None, 8, 2048)
    holdout: float = _number(0.0, 0, 1e9)
    limit_train: int | None = _number(None, 1, 10**9)
    test_on_rest: bool = False
    skip_bad_images: bool = False
    preprocessing: str = _choice("crop", "crop", "inception", "none")
    # Of the shorter side, so that it scales with the image.
    padding_share: float = _number(4 / 32, 0, 1)
    flip: bool = True

    # Network.
    model: str = "wrn_16_1"
    remat: bool = False

    # Fine-tuning.
    init_from: str | None = None
    freeze: str | None = None
    head_epochs: int = _number(0, 0, 10**6)
    backbone_rate: float = _number(1.0, 1e-6, 1)

    # Method.
    method: str = _choice("latent", *methods.NAMES)
    weights: str = _choice("latent", *methods.WEIGHTS)
    num_views: int = _number(6, 1, 256)
    sigma: float = _number(1.0, 0, _INFINITY)
    prior: str = _choice("moving", "moving", "fixed", "corrected")
    prior_window: int = _number(10, 1, 10**6)
    prior_from: str | None = None
    e_step: str = _choice("shared", "shared", "separate")
    ubs_select: int = _number(1, 1, 256)
    ubs_choice: str = _choice("hardest", "hardest", "proportional")
    autoaugment: str = _choice("cifar10", "cifar10", "svhn", "imagenet")
    randaugment_ops: int = _number(2, 1, 10)
    randaugment_magnitude: int = _number(9, 0, 30)
    magnitude_scale: int = _choice(30, 30, 10)
    trivialaugment: str = _choice("wide", "standard", "wide")
    controller_interval: int | None = _number(None, 1, 10**9)  # steps; None: an epoch
    meta_alpha: float = _number(0.01, 0, 100)
    transforms: str = _choice("latentaugment", "latentaugment", "autoaugment")
    mixup_alpha: float = _number(1.0, 0, 1e6)
    final: str = _choice("cutmix", "cutmix", "cutout", "none")
    cutmix_probability: float = _number(0.5, 0, 1)
    cutout_share: float = _number(0.5, 0, 1)  # of the shorter side
    view_chunk: int | None = _number(None, 1, 256)
    backward_views: int | None = _number(None, 1, 256)

    # Optimisation.
    epochs: int = _number(200, 1, 10**6)
    batch_size: int = _number(128, 1, 10**6)
    optimizer: str = _choice("sgd", "sgd", *recipes.OPTIMIZERS)
    learning_rate: float = _number(0.1, 0, 100)
    weight_decay: float = _number(2e-4, 0, 1)
    momentum: float = _number(0.9, 0, 1)
    warmup_epochs: int = _number(5, 0, 10**6)
    clip_norm: float | None = _number(None, 1e-9, 1e9)
    label_smoothing: float = _number(0.0, 0, 0.9)
    ema: float | None = _number(None, 0, 0.999999)
    on_nonfinite: str = _choice("stop", "stop", "skip")
    evaluate_every: int = _number(1, 0, 10**6)  # epochs; 0: after the last alone

    # Execution.
    seed: int = _number(0, 0, 2**31 - 1)
    strategy: str = _choice("auto", "auto", "none", "mirrored", "multiworker")
    logical_cpus: int | None = _number(None, 1, 64)
    augment_on: str = _choice("auto", "auto", "host", "device")
    data_service: str | None = None
    mixed_precision: bool = False
    jit_compile: bool = False
    deterministic: bool = False

    # Run folder.
    run_dir: str | None = None
    resume: bool = False
    keep: int = _number(2, 1, 10**6)
    checkpoint_minutes: float = _number(15.0, 0.01, 1e6)
    profile: bool = False
    verbosity: int = 0

    origins: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def __init__(self, *, origins=None, **chosen):
        """Complete what the user chose, and check it.

        Args:
            origins: given with the values of a run that is already complete; nothing
                is taken from recipe or method then.
            **chosen: fields by name.

        Raises:
            UserError: a value is wrong, or two do not fit together.
        """
        for name in chosen:
            if name not in FIELDS:
                hint = errors.nearest(name, FIELDS) or f"there are {', '.join(FIELDS)}."
                raise UserError(f"TrainConfig has no field {name!r}; {hint}")
        for name, value in chosen.items():
            wrong = problem(name, value)
            if wrong is not None:
                raise UserError(f"--{name}={value}: {wrong}")
        # An empty address of a data service means none: so a run can leave it.
        if chosen.get("data_service") == "":
            chosen["data_service"] = None
        if origins is None:
            values, origins = _resolved(chosen)
        else:
            values = {**_DEFAULTS, **chosen}
        for name in FIELDS:
            object.__setattr__(self, name, values[name])
        object.__setattr__(self, "origins", origins)
        _check_together(self)

    def values(self):
        """Return every value by name, fit for JSON, without the origins."""
        values = {name: getattr(self, name) for name in FIELDS}
        # JSON has no infinity.
        if math.isinf(self.sigma):
            values["sigma"] = "inf"
        return values

    @classmethod
    def from_values(cls, values, origins=None):
        """Return the configuration that `values()` came from."""
        values = dict(values)
        if values.get("sigma") == "inf":
            values["sigma"] = _INFINITY
        return cls(origins=origins or {}, **values)

    @property
    def evaluated_epochs(self):
        """The epochs, from 1, after which the network is evaluated; always the last."""
        every = self.evaluate_every
        between = range(every, self.epochs, every) if every else ()
        return [*between, self.epochs]

    @property
    def hardest_views(self):
        """The number of hard views that the loss is made of, or None for eq. 3."""
        return self.ubs_select if self.weights == "hardest" else None


FIELDS = {
    field.name: field
    for field in dataclasses.fields(TrainConfig)
    if field.name != "origins"
}
_DEFAULTS = {name: field.default for name, field in FIELDS.items()}
_KINDS = {
    "bool": (bool, "true or false"),
    "int": (int, "a whole number"),
    "float": ((int, float), "a number"),
    "str": (str, "a text"),
}
RECIPE_FIELDS = frozenset(
    field.name
    for field in dataclasses.fields(recipes.Recipe)
    if field.name in FIELDS and field.name not in ("dataset", "model")
)


def options(name):
    """Return the values that a field takes, where it takes only a few."""
    return FIELDS[name].metadata["options"]


def problem(name, value):
    """Return what is wrong with a field's value in a few words; None for a good one."""
    field = FIELDS[name]
    kind, _, optional = field.type.partition(" | ")
    if value is None and optional:
        return None
    types, words = _KINDS[kind]
    if not isinstance(value, types) or (kind != "bool" and isinstance(value, bool)):
        return f"must be {words}."
    if "options" in field.metadata and value not in field.metadata["options"]:
        return errors.unknown(value, field.metadata["options"])
    if "range" in field.metadata:
        low, high = field.metadata["range"]
        # Written so that NaN fails it.
        if not low <= value <= high:
            return f"must be {words} from {low} to {high}."
    return None


def _resolved(chosen):
    """Return all values, and where each came from."""
    values = {**_DEFAULTS, **chosen}
    origins = {name: "chosen" if name in chosen else "default" for name in FIELDS}
    if values["model"] is None or "model" not in chosen:
        values["model"] = recipes.default_model(values["dataset"])
        origins["model"] = "recipe"
    recipe = recipes.find(values["dataset"], values["model"])
    for name in RECIPE_FIELDS:
        if name not in chosen:
            values[name], origins[name] = getattr(recipe, name), "recipe"
    _fit_to_data(values, origins)
    _fit_to_optimizer(values, origins, recipe)
    _scale_learning_rate(values, origins, recipe)
    _spare_backbone(values, origins)
    _apply_method(values, origins, recipe)
    return values, origins


def _fit_to_data(values, origins):
    of_arrays = values["dataset"] not in sources.PHOTOGRAPHS
    if origins["preprocessing"] == "recipe" and of_arrays:
        # Arrays of small images have no room for crops of 8 % of their area.
        values["preprocessing"] = values["preprocessing"].replace("inception", "crop")


def _fit_to_optimizer(values, origins, recipe):
    name = values["optimizer"]
    if name == recipe.optimizer:
        return
    for field, value in recipes.OPTIMIZERS[name].items():
        if origins[field] == "recipe":
            values[field], origins[field] = value, f"optimizer {name}"


def _scale_learning_rate(values, origins, recipe):
    """Let a rate that was not given follow the batch, in proportion."""
    origin, rate = origins["learning_rate"], values["learning_rate"]
    if origin == "chosen" or values["batch_size"] == recipe.batch_size:
        return
    values["learning_rate"] *= values["batch_size"] / recipe.batch_size
    origins["learning_rate"] = (
        f"{origin}: {rate:g} at batch_size={recipe.batch_size}, in proportion to the "
        "batch"
    )


def _spare_backbone(values, origins):
    # A network of one's own gained most from learning on at the whole rate.
    knows_much = values["init_from"] == "imagenet" and values["freeze"] != "backbone"
    if knows_much and origins["backbone_rate"] == "default":
        values["backbone_rate"] = _IMAGENET_BACKBONE_RATE
        origins["backbone_rate"] = "for init_from=imagenet"


def _apply_method(values, origins, recipe):
    method = methods.get(values["method"])
    _fill(values, origins, {**method.defaults(recipe), **method.constants})
    _fill(values, origins, methods.WEIGHTS[values["weights"]])


def _fill(values, origins, own):
    """Put in a method's own values, where the user chose no others."""
    for name, value in own.items():
        if origins[name] != "chosen":
            values[name], origins[name] = value, "method"


def _check_together(config):
    _check_meaning(config, "method", methods.get(config.method).constants)
    _check_meaning(config, "weights", methods.WEIGHTS[config.weights])
    if config.resume and config.run_dir is None:
        raise UserError(
            "--resume needs --run_dir, the folder of the run to go on with."
        )
    if config.dataset in ("folder", "npz") and config.data_dir is None:
        raise UserError(
            f"--dataset={config.dataset} needs --data_dir, where your images are."
        )
    for name in ("ubs_select", "view_chunk", "backward_views"):
        value = getattr(config, name)
        if value is not None and value > config.num_views:
            raise UserError(
                f"--{name}={value} is more than --num_views={config.num_views}; "
                f"lower it, or raise --num_views."
            )
    if config.jit_compile and config.strategy in ("mirrored", "multiworker"):
        raise UserError(
            f"--jit_compile does not work with --strategy={config.strategy} in "
            "TensorFlow; leave one of them out."
        )
    if config.strategy == "multiworker" and config.run_dir is None:
        raise UserError(
            "--strategy=multiworker needs --run_dir, a folder that all workers share."
        )
    _check_data(config)
    _check_views(config)
    _check_fine_tuning(config)


def _check_fine_tuning(config):
    for name in ("freeze", "head_epochs", "backbone_rate"):
        chosen = getattr(config, name) != FIELDS[name].default
        if chosen and config.init_from is None:
            raise UserError(
                f"--{name} is for a network that knows something: give --init_from, or "
                f"leave --{name} out."
            )
        if chosen and name != "freeze" and config.freeze == "backbone":
            raise UserError(
                f"--freeze=backbone trains the head alone, for which --{name} says "
                "nothing; leave one of them out."
            )
    if config.head_epochs >= config.epochs:
        raise UserError(
            f"--head_epochs={config.head_epochs} leaves none of --epochs="
            f"{config.epochs} for the rest; lower it, or pass --freeze=backbone."
        )


def _check_meaning(config, flag, constants):
    for name, constant in constants.items():
        if getattr(config, name) != constant:
            raise UserError(
                f"--{flag}={getattr(config, flag)} means --{name}={constant}; leave "
                f"--{name} out or choose another --{flag}."
            )


def _check_data(config):
    if config.test_on_rest and config.limit_train is None:
        raise UserError(
            "--test_on_rest tests on what --limit_train leaves; give --limit_train."
        )
    if config.test_on_rest and config.holdout:
        raise UserError(
            "--test_on_rest and --holdout both choose the test images; leave one of "
            "them out."
        )


def _check_views(config):
    crops_photographs = config.preprocessing == "inception"
    if crops_photographs and config.dataset not in sources.PHOTOGRAPHS:
        raise UserError(
            "--preprocessing=inception crops photographs "
            f"({', '.join(sources.PHOTOGRAPHS)}); for --dataset={config.dataset} use "
            "--preprocessing=crop."
        )
    service = config.data_service
    if service and not service.startswith("grpc://"):
        raise UserError(f"--data_service={service}: must look like grpc://host:port.")
    if service and config.augment_on == "device":
        raise UserError(
            "--data_service makes the views on its workers, but --augment_on=device or "
            f"--method={config.method} in the step; leave one of them out."
        )
