"""The prior over policies as heat maps: at three epochs, and at any by a slider."""

from __future__ import annotations

import json

import matplotlib
import numpy as np

from la_tf import drawing
from la_tf.report import markup

_TITLE = "Prior over policies"
_MOST_EPOCHS = 101
_COLOURS = 64
_CELL, _LEFT, _TOP = 20, 92, 88


def section(run, gallery, level, prefix=""):
    """Return the section with the heat maps; for fewer policies than pairs a list."""
    operations, limits = run.rule.space.operations, drawing.limits_of(run.priors)
    if np.ptp(run.priors[-1]) == 0 and np.ptp(run.priors, axis=0).max() == 0:
        words = f"The prior is fixed and uniform: {_uniform(run)} for each policy."
        return markup.section(level, _TITLE, markup.tag("p", words))
    if not run.rule.is_square:
        return markup.section(level, _TITLE, _list(run), note=_about(run))
    if np.ptp(run.priors, axis=0).max() == 0:
        return _constant(run, operations, gallery, level, prefix, limits)
    maps = [
        _map(run, operations, gallery, epoch, f"{prefix}prior_{name}", limits)
        for name, epoch in _three(len(run.priors))
    ]
    return markup.section(
        level,
        _TITLE,
        markup.tag("div", *maps, class_="charts"),
        _slider(run, operations, limits),
        note=f"{_about(run)} It is the mean of a few steps only, so that single cells "
        "are noisy: trust rows, columns and what lasts over epochs.",
    )


def _uniform(run):
    return f"1/{run.priors.shape[1]}"


def _about(run):
    return (
        "π, the learned probability of each policy, as a multiple of the uniform "
        f"{_uniform(run)}. Policies are drawn evenly whatever π is; it weighs the "
        "views."
    )


def _list(run):
    """Return all policies with their probabilities, the likeliest first."""
    multiples = run.priors[-1] * run.priors.shape[1]
    order = np.argsort(-multiples, kind="stable")
    rows = [
        (run.rule.name_of(index).replace(">", " > "), f"{multiples[index]:.2f}")
        for index in order
    ]
    return markup.table(("policy", "times uniform"), rows, "Policies after training")


def _constant(run, operations, gallery, level, prefix, limits):
    body = markup.tag(
        "div",
        markup.tag("p", "The prior is fixed to that of another run."),
        _map(run, operations, gallery, 0, f"{prefix}prior", limits),
    )
    return markup.section(level, _TITLE, body)


def _three(epochs):
    """Return names and indices of the first, middle and last epoch that differ."""
    chosen = {}
    for name, index in (("start", 0), ("end", epochs - 1), ("middle", epochs // 2)):
        chosen.setdefault(index, name)
    return [(chosen[index], index) for index in sorted(chosen)]


def _map(run, operations, gallery, index, name, limits):
    epoch = int(run.rows[index]["epoch"])
    figure = drawing.HeatMap(operations, limits).show(
        run.priors[index], f"after epoch {epoch}"
    )
    alt = f"Heat map of the prior after epoch {epoch}. {_extremes(run, operations)}"
    return gallery.chart(name, figure, alt)


def _extremes(run, operations):
    multiples = run.priors[-1] * run.priors.shape[1]
    told = []
    for index in (np.argmax(multiples), np.argmin(multiples)):
        first, second = divmod(int(index), len(operations))
        name = f"{operations[first]} then {operations[second]}"
        told.append(f"{name} with {multiples[index]:.2f}")
    return f"At the end the highest is {told[0]} times uniform, the lowest {told[1]}."


def _slider(run, operations, limits):
    """Return a heat map with a slider over the epochs; its script makes it visible."""
    chosen = np.unique(
        np.linspace(0, len(run.priors) - 1, min(len(run.priors), _MOST_EPOCHS))
        .round()
        .astype(int)
    )
    multiples = run.priors[chosen] * run.priors.shape[1]
    effective = [row.get("effective_policies", 0.0) for row in run.rows]
    data = {
        "epochs": [int(run.rows[index]["epoch"]) for index in chosen],
        "effective": [round(effective[index], 1) for index in chosen],
        "thousandths": np.round(1000 * multiples).astype(int).tolist(),
        "limits": limits,
        "colours": _colours(),
        "operations": list(operations),
    }
    label = markup.tag(
        "label",
        "Epoch ",
        markup.tag(
            "input",
            type="range",
            min=0,
            max=len(chosen) - 1,
            value=len(chosen) - 1,
            step=1,
        ),
    )
    controls = markup.tag(
        "div",
        label,
        markup.tag("output", aria_live="polite"),
        _key(data["colours"], limits),
        markup.tag("p", "Point at a cell, or touch it, to read it.", class_="reading"),
        markup.tag("p", "Most likely at this epoch:"),
        markup.tag("ol"),
    )
    return markup.tag(
        "div",
        controls,
        _cells(operations),
        markup.tag("script", _json(data), type="application/json"),
        class_="slider",
        hidden=True,
    )


def _key(colours, limits):
    """Return the key to the colours."""
    return markup.tag(
        "div",
        markup.tag("span", f"{limits[0]:g}"),
        markup.tag(
            "span",
            class_="bar",
            style=f"background: linear-gradient(to right, {', '.join(colours[::9])})",
        ),
        markup.tag("span", f"{limits[1]:g} times uniform"),
        class_="key",
    )


def _cells(operations):
    """Return the drawing that the slider's script colours."""
    side = len(operations)
    places = [_CELL * index + _CELL * 0.7 for index in range(side)]
    labels = [
        markup.tag("text", name, x=_LEFT - 6, y=f"{_TOP + y:g}", text_anchor="end")
        for name, y in zip(operations, places)
    ] + [
        markup.tag(
            "text", name, transform=f"translate({_LEFT + x:g} {_TOP - 6}) rotate(-90)"
        )
        for name, x in zip(operations, places)
    ]
    cells = [
        markup.tag(
            "rect",
            x=_LEFT + _CELL * (index % side),
            y=_TOP + _CELL * (index // side),
            width=_CELL,
            height=_CELL,
        )
        for index in range(side * side)
    ]
    size = _CELL * side
    return markup.tag(
        "svg",
        *labels,
        markup.tag("g", *cells),
        viewBox=f"0 0 {_LEFT + size + 2} {_TOP + size + 2}",
        role="img",
        aria_label="Heat map of the prior at the chosen epoch: rows by first "
        "operation, columns by second",
    )


def _colours():
    steps = matplotlib.colormaps[drawing.COLOUR_MAP](np.linspace(0, 1, _COLOURS))
    return [matplotlib.colors.to_hex(step) for step in steps]


def _json(data):
    # A name could hold "</script>".
    text = json.dumps(data, separators=(",", ":"))
    return markup.Html(text.replace("<", "\\u003c"))
