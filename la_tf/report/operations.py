"""The operations one by one: how likely as first and as second, and their levels."""

from __future__ import annotations

import numpy as np

from la_tf import drawing, policy
from la_tf.ops import levels
from la_tf.report import markup


def section(run, images, gallery, level, prefix=""):
    """Return the section with the prior's marginals and a table of the levels."""
    parts, note = [_table(run, images)], None
    if run.has_policies and run.rule.is_square:
        parts.insert(0, _chart(run, gallery, prefix))
        note = (
            "The bars: the prior summed over the other operation, in sixteenths. "
            "A level is drawn evenly from 0 to 9 for each operation of each view, "
            "whatever the policy: levels are not learned."
        )
    return markup.section(
        level,
        "Operations and levels",
        markup.tag("div", *parts, class_="charts"),
        note=note,
    )


def _chart(run, gallery, prefix):
    operations = run.rule.space.operations
    first, second = marginals(run.priors[-1], len(operations))
    figure = _drawn(operations, first, second)
    told = ", ".join(
        f"{name} {one:.2f} and {two:.2f}"
        for name, one, two in zip(operations, first, second)
    )
    return gallery.chart(
        f"{prefix}operations",
        figure,
        f"Each operation's share as first and as second, times uniform: {told}.",
    )


def marginals(prior, count):
    """Return each operation's probability as first and as second, times uniform."""
    square = np.reshape(prior, [count, count])
    return square.sum(1) * count, square.sum(0) * count


def _drawn(operations, first, second):
    places = np.arange(len(operations))
    look = {"height": 0.38, "left": 1}
    with drawing.style():
        figure = drawing.new_figure(4.4, 4.8)
        axes = figure.add_subplot()
        axes.barh(
            places - 0.2, first - 1, color=drawing.SERIES[0], label="first", **look
        )
        axes.barh(
            places + 0.2, second - 1, color=drawing.SERIES[1], label="second", **look
        )
        axes.axvline(1, color=drawing.INK, linewidth=0.8)
        axes.set_yticks(places, operations)
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x")
        axes.set_axisbelow(True)
        axes.set_xlabel("times uniform")
        figure.legend(loc="outside upper right", ncols=2)
    return figure


def _table(run, images):
    config, space, rows = run.config, run.rule.space, []
    last = space.num_levels - 1
    shown = [last * third // 3 for third in range(4)]
    head = ["operation", f"level 0 to {last}"]
    if images is not None:
        head.append(f"at levels {', '.join(map(str, shown))}")
    for name, layer in policy.make_layers(space, config.mixup_alpha).items():
        row = [name, levels.span(name, config.mixup_alpha, space)]
        if images is not None:
            own = shown if layer.has_level else shown[:1]
            row.append(_pictures(name, layer, images, config.seed, own))
        rows.append(row)
    return markup.table(head, rows, "Levels of the operations", class_="levels")


def _pictures(name, layer, images, seed, shown):
    changed = [layer.apply(images, one, [seed, 0])[0].numpy() for one in shown]
    return markup.tag(
        "span",
        *(
            markup.picture(pixels, f"{name} at level {one}")
            for pixels, one in zip(changed, shown)
        ),
        class_="row",
    )
