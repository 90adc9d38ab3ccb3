"""From a block of a study's file to the settings that it stands for."""

from __future__ import annotations

import itertools
import math

from la_tf import errors, methods
from la_tf.compare import protocols
from la_tf.compare.setting import OF_A_RUN, Place, Setting
from la_tf.config import FIELDS, TrainConfig
from la_tf.errors import UserError

# What a block has besides fields of TrainConfig.
_KEYS = ("name", "protocol", "seeds")


def settings(fixed, block, protocol, seeds):
    """Return pairs of a Setting of the block, before its protocol, and the protocol."""
    if protocol not in protocols.NAMES:
        raise UserError(f"protocol {errors.unknown(protocol, protocols.NAMES)}")
    fields = {name: value for name, value in block.items() if name not in _KEYS}
    for name in (*fixed, *fields):
        if name in OF_A_RUN:
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


def _constants(chosen):
    """Return what the method and its weights fix themselves, whatever a study says."""
    method = chosen.get("method", TrainConfig.method)
    if method not in methods.NAMES:
        return {}
    weights = chosen.get("weights", TrainConfig(method=method).weights)
    return {**methods.WEIGHTS.get(weights, {}), **methods.get(method).constants}


def _method_note(fixed, constants):
    """Return a sentence on what the study fixes otherwise than the method."""
    words = [
        f"{name}={constants[name]}"
        for name, value in fixed.items()
        if name in constants and _from_json(name, value) != constants[name]
    ]
    return f"the method means {', '.join(words)}" if words else ""


def _name(method, chosen, block):
    """Return the method and what the block chose besides data set and network."""
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


def _from_json(name, value):
    if name not in FIELDS or not FIELDS[name].type.startswith("float"):
        return value
    # 1 and 1.0 are to be the same setting.
    if value == "inf":
        return math.inf
    return float(value) if isinstance(value, int) else value
