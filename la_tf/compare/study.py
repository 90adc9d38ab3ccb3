"""What is to be compared: a grid of settings with their seeds, from a small file.

A study is JSON. Every block of `settings` gives fields of TrainConfig; a field with a
list is swept over it, and the block stands for all combinations:

    {
      "title": "Do weights matter?",
      "fixed": {"dataset": "digits", "epochs": 100},
      "seeds": 10,
      "reference": "equal",
      "settings": [
        {"method": ["equal", "latent"], "seeds": 20},
        {"method": "latent", "sigma": [0, 0.1, "inf"]},
        {"method": "latent", "protocol": "compute"}
      ],
      "comparisons": [["latent", "equal"]]
    }
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import math
import pathlib
from collections.abc import Mapping

from la_tf import config as configuration
from la_tf import errors, methods
from la_tf.compare import protocols
from la_tf.config import FIELDS, TrainConfig
from la_tf.errors import UserError

KEYS = {
    "title": str,
    "about": str,
    "fixed": dict,
    "seeds": (int, list),
    "protocol": str,
    "reference": (str, list),
    "comparisons": list,
    "settings": list,
    "paper": list,
}
# What a block has besides fields of TrainConfig.
BLOCK_KEYS = ("name", "protocol", "seeds")
# Fields that are not a study's to choose.
NOT_CHOSEN = ("seed", "run_dir", "resume")
# Fields that change no result.
_NO_MATTER = frozenset(
    [
        *(*NOT_CHOSEN, "checkpoint_minutes", "data_dir", "data_service", "keep"),
        *("profile", "verbosity"),
    ]
)


@dataclasses.dataclass(frozen=True)
class Place:
    """A point of a sweep: the field, its value, and what the rest is called."""

    field: str
    value: float
    line: str


@dataclasses.dataclass(frozen=True)
class Setting:
    """A point of the grid: what its runs share, and their seeds.

    Attributes:
        name: what it is called, different for each of a data set and network.
        config: the TrainConfig, but for seed and run folder.
        seeds: one for each run.
        note: what the method or the protocol changed, or an empty text.
        place: where it stands in a sweep over numbers, or None.
    """

    name: str
    config: TrainConfig
    seeds: tuple[int, ...]
    note: str = ""
    place: Place | None = None

    @property
    def group(self):
        """The data set and network; only runs of one group are compared."""
        return f"{self.config.dataset} with {self.config.model}"

    @property
    def fingerprint(self):
        """A short text that is the same for configurations with the same results."""
        return fingerprint(self.config)

    def run(self, seed, runs_dir):
        """Return the TrainConfig of one run."""
        folder = f"{self.config.method}-{self.fingerprint}"
        path = pathlib.Path(runs_dir) / folder / f"seed-{seed}"
        return dataclasses.replace(self.config, seed=seed, run_dir=str(path))


@dataclasses.dataclass(frozen=True)
class PaperFigure:
    """What the paper reports; never a result of ours.

    Attributes:
        dataset, model, setting: of what.
        accuracy: on the test images, in percent.
        deviation: of single runs, or None.
        cost: hours of training relative to RandAugment's, or None.
    """

    dataset: str
    model: str
    setting: str
    accuracy: float
    deviation: float | None = None
    cost: float | None = None


@dataclasses.dataclass(frozen=True)
class Study:
    """A grid, what is to be compared in it, and what is said about it.

    Attributes:
        plan: what it was made from, as the file has it.
        references: names of settings that all others are compared with.
        comparisons: pairs of names, planned before the first run.
        notes: sentences for the page.
    """

    title: str
    about: str
    settings: tuple[Setting, ...]
    references: tuple[str, ...]
    comparisons: tuple[tuple[str, str], ...]
    paper: tuple[PaperFigure, ...]
    notes: tuple[str, ...]
    plan: Mapping[str, object]

    @property
    def groups(self):
        """The settings by data set and network, in their order."""
        found = {}
        for setting in self.settings:
            found.setdefault(setting.group, []).append(setting)
        return found


def read(path, changes=None):
    """Return the Study in a JSON file.

    Args:
        path: the file.
        changes: fields of TrainConfig that change no result, such as `data_dir`.
    """
    try:
        plan = json.loads(pathlib.Path(path).read_text("utf-8"))
    except OSError as error:
        raise UserError(
            f"--study={path} cannot be read ({error.strerror}); give a JSON file."
        ) from None
    except ValueError as error:
        raise UserError(f"--study={path} is not JSON: {error}.") from None
    try:
        return make(plan, changes=changes)
    except UserError as error:
        raise UserError(f"--study={path}: {error}") from None


def make(plan, changes=None, notes=()):
    """Return the Study of a plan, with every configuration built and checked.

    Args:
        plan: a dictionary as in the file.
        changes: further fixed fields.
        notes: sentences for its page.
    """
    _check_plan(plan)
    fixed = {**plan.get("fixed", {}), **(changes or {})}
    drafts = [
        draft
        for block in plan["settings"]
        for draft in _drafts(
            fixed,
            block,
            block.get("protocol", plan.get("protocol", "updates")),
            _seeds(block.get("seeds", plan.get("seeds", 3))),
        )
    ]
    most_views = max(draft.config.num_views for draft, _ in drafts)
    settings = tuple(_under_protocol(*draft, most_views) for draft in drafts)
    _check_names(settings)
    reference = plan.get("reference", settings[0].name)
    references = tuple([reference] if isinstance(reference, str) else reference)
    comparisons = tuple(tuple(pair) for pair in plan.get("comparisons", ()))
    names = {setting.name for setting in settings}
    for name in (*references, *itertools.chain(*comparisons)):
        if name not in names:
            raise UserError(
                f"there is no setting {name!r} to compare with; "
                f"there are {', '.join(sorted(names))}."
            )
    return Study(
        title=plan.get("title", "Comparison"),
        about=plan.get("about", ""),
        settings=settings,
        references=references,
        comparisons=comparisons,
        paper=tuple(PaperFigure(*row) for row in plan.get("paper", ())),
        notes=tuple(notes),
        plan=plan,
    )


def fingerprint(config):
    """Return a short text that is the same for configurations with the same results.

    Only what differs from the defaults counts, so that a field that comes later changes
    no fingerprint.
    """
    values = {
        name: value
        for name, value in config.values().items()
        if name not in _NO_MATTER and value != FIELDS[name].default
    }
    if config.dataset in ("folder", "npz"):
        values["data"] = pathlib.Path(config.data_dir).name
    text = json.dumps(values, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def parse(name, text):
    """Return the value of a field of TrainConfig from the text of a flag."""
    if name not in FIELDS:
        raise UserError(f"--sweep={name}: {errors.unknown(name, tuple(FIELDS))}")
    kind = FIELDS[name].type.partition(" | ")[0]
    if kind == "bool":
        text = {"true": "1", "false": "0"}.get(text.lower(), text)
    try:
        if kind == "bool":
            return bool(("0", "1").index(text))
        return {"int": int, "float": float, "str": str}[kind](text)
    except ValueError:
        raise UserError(f"--sweep={name}: {text!r} is no {kind}.") from None


def to_json(value):
    """Return a field's value as a study's file has it: JSON has no infinity."""
    return "inf" if value == math.inf else value


def _check_plan(plan):
    if not isinstance(plan, dict):
        raise UserError("a study is a JSON object with settings in it.")
    for key, value in plan.items():
        if key not in KEYS:
            raise UserError(f"a study has no {errors.unknown(key, tuple(KEYS))}")
        if not isinstance(value, KEYS[key]) or isinstance(value, bool):
            raise UserError(f"{key!r} has the wrong type ({type(value).__name__}).")
    if not plan.get("settings"):
        raise UserError("'settings' is missing: a list of blocks with a method each.")
    for block in plan["settings"]:
        if not isinstance(block, dict):
            raise UserError(f"a block of 'settings' is {block!r}, not an object.")
    for pair in plan.get("comparisons", ()):
        if not isinstance(pair, list) or len(pair) != 2:
            raise UserError(f"a comparison is two names, not {pair!r}.")
    for row in plan.get("paper", ()):
        if not isinstance(row, list) or not 4 <= len(row) <= 6:
            raise UserError(
                "a row of 'paper' has data set, network, setting and accuracy, and may "
                f"have deviation and cost; not {row!r}."
            )


def _seeds(seeds):
    if isinstance(seeds, int):
        seeds = range(seeds)
    seeds = tuple(seeds)
    if not seeds or len(set(seeds)) < len(seeds):
        raise UserError("'seeds' is a number from 1, or a list of different seeds.")
    for seed in seeds:
        wrong = configuration.problem("seed", seed)
        if wrong is not None:
            raise UserError(f"seed {seed!r} {wrong}")
    return seeds


def _drafts(fixed, block, protocol, seeds):
    """Pairs of a Setting of the block, before its protocol, and the protocol."""
    if protocol not in protocols.NAMES:
        raise UserError(f"protocol {errors.unknown(protocol, protocols.NAMES)}")
    fields = {name: value for name, value in block.items() if name not in BLOCK_KEYS}
    for name in (*fixed, *fields):
        if name in NOT_CHOSEN:
            raise UserError(f"{name!r} is not a study's to choose; 'seeds' is.")
    swept = [value if isinstance(value, list) else [value] for value in fields.values()]
    drafts = {}
    for values in itertools.product(*swept):
        chosen = dict(zip(fields, values))
        constants = _constants({**fixed, **chosen})
        chosen = {key: chosen[key] for key in chosen if key not in constants}
        method = chosen.get("method", fixed.get("method", TrainConfig.method))
        name = block.get("name") or _name(method, chosen, block)
        kept = {
            key: _from_json(key, value)
            for key, value in {**fixed, **chosen}.items()
            if key not in constants
        }
        config = TrainConfig(**{**kept, "verbosity": -1})
        draft = Setting(
            name,
            config,
            seeds,
            _method_note(fixed, constants),
            _place(method, chosen, block),
        )
        # A method that fixes what is swept comes once, not for every value.
        drafts.setdefault((draft.group, name), (draft, protocol))
    if block.get("name") and len(list(itertools.product(*swept))) > 1:
        raise UserError(f"the block named {block['name']!r} sweeps; leave out 'name'.")
    return list(drafts.values())


def _constants(chosen):
    """What the method fixes itself, whatever the study says."""
    method = chosen.get("method", TrainConfig.method)
    return methods.get(method).constants if method in methods.NAMES else {}


def _method_note(fixed, constants):
    """A sentence on what the study fixes otherwise than the method."""
    words = [
        f"{name}={constants[name]}"
        for name, value in fixed.items()
        if name in constants and _from_json(name, value) != constants[name]
    ]
    return f"the method means {', '.join(words)}" if words else ""


def _name(method, chosen, block):
    """The method and what the block chose besides data set and network."""
    words = [
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in chosen.items()
        if name not in ("method", "dataset", "model") and value is not None
    ]
    if "protocol" in block:
        words.append(protocols.WORDS[block["protocol"]])
    return ", ".join([str(method), *words])


def _place(method, chosen, block):
    numbers = [
        name
        for name, values in block.items()
        if name in chosen
        and isinstance(values, list)
        and FIELDS[name].type.startswith(("int", "float"))
    ]
    if len(numbers) != 1:
        return None
    (field,) = numbers
    rest = {name: value for name, value in chosen.items() if name != field}
    return Place(field, float(chosen[field]), _name(method, rest, block))


def _under_protocol(draft, protocol, most_views):
    config, note = protocols.apply(protocol, draft.config, most_views)
    notes = [text for text in (draft.note, note) if text]
    return dataclasses.replace(draft, config=config, note="; ".join(notes))


def _from_json(name, value):
    if name not in FIELDS or not FIELDS[name].type.startswith("float"):
        return value
    # 1 and 1.0 are to be the same setting.
    if value == "inf":
        return math.inf
    return float(value) if isinstance(value, int) else value


def _check_names(settings):
    seen = set()
    for setting in settings:
        key = (setting.group, setting.name)
        if key in seen:
            raise UserError(
                f"two settings of {setting.group} are called {setting.name!r}; give "
                "one of their blocks a 'name'."
            )
        seen.add(key)
