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
import itertools
import json
import pathlib
from collections.abc import Mapping

from la_tf import config as configuration
from la_tf import errors
from la_tf.compare import blocks, protocols
from la_tf.compare.setting import OF_THE_MACHINE, Setting
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
        for draft in blocks.settings(
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
        plan=_with_fixed(plan, fixed),
    )


def _with_fixed(plan, fixed):
    """Return the plan with all that is fixed, but for what the machine decides."""
    kept = {
        name: blocks.to_json(value)
        for name, value in fixed.items()
        if name not in OF_THE_MACHINE
    }
    return {**plan, "fixed": kept}


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


def _under_protocol(draft, protocol, most_views):
    config, note = protocols.apply(protocol, draft.config, most_views)
    notes = [text for text in (draft.note, note) if text]
    return dataclasses.replace(draft, config=config, note="; ".join(notes))


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
