"""The pages of a study, from its file and its table of results alone."""

from __future__ import annotations

import math
import pathlib

from la_tf import console
from la_tf.compare import charts, document, presets, results, statistics
from la_tf.compare.document import Chart, Heading, Items, Paragraph, Table
from la_tf.compare.setting import Place
from la_tf.report.gallery import Gallery

_COST_REFERENCE = "randaugment"


def write(study, found, directory):
    """Write the pages of a study; return their paths, Markdown first.

    Args:
        study: a Study.
        found: Results by key.
        directory: where the pages and their pictures go.
    """
    by_setting = results.of_study(study, found)
    parts = [Paragraph(study.about)] if study.about else []
    for number, (group, settings) in enumerate(study.groups.items(), 1):
        prefix = f"group{number}_" if len(study.groups) > 1 else ""
        runs = {
            setting.name: by_setting[group, setting.name]
            for setting in settings
            if by_setting[group, setting.name]
        }
        parts.append(Heading(group))
        if runs:
            parts += _group(study, settings, runs, prefix)
        else:
            parts.append(Paragraph("None of these runs is there yet."))
    parts += _paper(study)
    parts += _making(study, by_setting, found)
    gallery = Gallery(pathlib.Path(directory), flag="compare_dir")
    return document.write(gallery, study.title, _lead(study, by_setting), parts)


def _lead(study, by_setting):
    done = sum(len(runs) for runs in by_setting.values())
    wanted = sum(len(setting.seeds) for setting in study.settings)
    return f"{done} of {wanted} runs. Accuracies are those of the last epoch."


def _group(study, settings, runs, prefix):
    figures = [
        figure
        for figure in study.paper
        if f"{figure.dataset} with {figure.model}" == settings[0].group
    ]
    paper = {figure.setting: (figure.accuracy, figure.deviation) for figure in figures}
    costs = {figure.setting: figure.cost for figure in figures if figure.cost}
    values = {
        name: {seed: 100 * result.accuracy for seed, result in found.items()}
        for name, found in runs.items()
    }
    return [
        Heading("Accuracy", 3),
        _accuracy_chart(values, paper, prefix),
        _accuracy_table(values, paper),
        *_sweeps(settings, values, paper, prefix),
        *_comparisons(study, values, prefix),
        *_costs(study, runs, costs),
    ]


def _accuracy_chart(values, paper, prefix):
    rows = [(name, list(found.values())) for name, found in values.items()]
    told = "; ".join(f"{name} {_mean(found)}" for name, found in values.items())
    return Chart(
        f"{prefix}accuracy",
        charts.accuracies("Test accuracy", rows, paper),
        f"Test accuracy in percent: {told}.",
        "Every seed is a dot; bars are one standard deviation of single runs.",
    )


def _accuracy_table(values, paper):
    head = ["setting", "mean ± sd, %", "runs"]
    head += ["the paper's, %"] if paper else []
    rows = []
    for name, found in values.items():
        row = [name, _mean(found), str(len(found))]
        row += [_published(paper.get(name))] if paper else []
        row.append(", ".join(f"{seed}: {found[seed]:.2f}" for seed in sorted(found)))
        rows.append(tuple(row))
    head.append("every seed")
    return Table("Test accuracy after the last epoch", tuple(head), tuple(rows))


def _sweeps(settings, values, paper, prefix):
    """Return a chart for each field that was swept over three numbers or more."""
    fields = {}
    for name, place in _places(settings):
        if name in values:
            fields.setdefault(place.field, {})[name] = place
    parts = []
    for field, places in fields.items():
        if len({place.value for place in places.values()}) < 3:
            continue
        lines, published = {}, {}
        for name, place in places.items():
            found = list(values[name].values())
            lines.setdefault(place.line, {})[place.value] = found
            if name in paper:
                published[place.line, place.value] = paper[name]
        title = f"Test accuracy by {field}"
        told = "; ".join(f"{name} {_mean(values[name])}" for name in places)
        parts.append(
            Chart(
                f"{prefix}{field}",
                charts.sweep(title, field, lines, published),
                f"{title}: {told}.",
                "Means with one standard deviation of single runs; seeds are dots. "
                "Values are evenly spaced.",
            )
        )
    return parts


def _places(settings):
    """Return pairs of a setting's name and Place, for all that belong to a sweep.

    A setting that has the name of a line and was not swept itself is the line's point
    at the value that it leaves the field at.
    """
    pairs = [(setting.name, setting.place) for setting in settings if setting.place]
    unswept = {setting.name: setting for setting in settings if not setting.place}
    for field, line in dict.fromkeys((place.field, place.line) for _, place in pairs):
        value = getattr(unswept[line].config, field) if line in unswept else None
        if value is not None:
            pairs.append((line, Place(field, float(value), line)))
    return pairs


def _comparisons(study, values, prefix):
    parts = []
    planned = [pair for pair in study.comparisons if set(pair) <= set(values)]
    if planned:
        named = {pair: f"{pair[0]} − {pair[1]}" for pair in planned}
        parts += _compared("Planned comparisons", named, values, f"{prefix}planned")
    for number, reference in enumerate(study.references, 1):
        named = {(name, reference): name for name in values if name != reference}
        if reference in values and named:
            title = f"Differences from {reference}"
            parts += _compared(title, named, values, f"{prefix}differences{number}")
    return parts


def _compared(title, named, values, name):
    """Return a chart and a table of the pairs, each with what it is called in them."""
    rows = [
        (
            words,
            statistics.paired(values[first], values[second]),
            _by_pair(values[first], values[second]),
        )
        for (first, second), words in named.items()
    ]
    rows = [row for row in rows if row[1] is not None]
    if not rows:
        return []
    told = "; ".join(f"{words} {_signed(found.mean)}" for words, found, _ in rows)
    table = Table(
        title,
        ("difference", "points", "95 % interval", "p (sign flips)", "pairs"),
        tuple(
            (
                words,
                _signed(found.mean),
                _interval(found),
                _p_value(found.p_value),
                str(found.count),
            )
            for words, found, _ in rows
        ),
    )
    chart = Chart(
        name,
        charts.differences(title, rows),
        f"{title}, in points: {told}.",
        "Runs of the same seed are compared with each other. Intervals are Student's; "
        "p-values are exact, two-sided, and not corrected for their number.",
    )
    return [Heading(title, 3), chart, table]


def _costs(study, runs, published):
    names = list(runs)
    wanted = (_COST_REFERENCE, *study.references, names[0])
    reference = next(name for name in wanted if name in runs)
    means = {
        name: [
            sum(getattr(result, column) for result in found.values()) / len(found)
            for column in ("seconds", "step_seconds", "views", "updates")
        ]
        for name, found in runs.items()
    }
    rows = [
        (
            name,
            console.duration(means[name][0]),
            f"{1000 * means[name][1]:,.1f}\u00a0ms",
            f"{means[name][2]:,.0f}",
            f"{means[name][3]:,.0f}",
            *(
                f"{own / other:.2f}"
                for own, other in zip(means[name], means[reference])
            ),
        )
        for name in names
    ]
    head = ("setting", "seconds", "a step", "views", "updates")
    head += tuple(f"{name}, relative" for name in head[1:])
    if published:
        head += ("the paper's GPU hours, relative to randaugment",)
        rows = [(*row, f"{published.get(row[0], '–')}") for row in rows]
    return [
        Heading("Cost", 3),
        Table(f"Cost of a run; relative to {reference}", head, tuple(rows)),
        Paragraph(_seconds_note(runs), is_note=True),
    ]


def _seconds_note(runs):
    cores = {result.cores for found in runs.values() for result in found.values()}
    told = (
        "Seconds are of training alone, without evaluation and checkpoints, and with "
        "the building of the graph in the first epoch; a step's are of the median "
        "epoch. "
    )
    if len(cores) == 1 and 0 not in cores:
        count = cores.pop()
        return told + f"Every run had {count} core{'s' if count > 1 else ''}."
    return told + "The runs had different cores: their seconds do not compare."


def _paper(study):
    if not study.paper:
        return []
    return [
        Heading("About the paper's figures"),
        Paragraph(
            "Figures marked as the paper's are printed in it (arXiv 2305.02668): of "
            "LatentAugment means of five runs, of the others quoted from their own "
            "papers. None was measured here. Six things to know when reading them:"
        ),
        Items(presets.CAVEATS),
    ]


def _making(study, by_setting, found):
    parts = [Heading("How it was made")]
    parts += [Paragraph(note) for note in study.notes]
    fixed = [f"{name}={value}" for name, value in study.plan["fixed"].items()]
    if fixed:
        parts.append(Paragraph(f"Chosen for all: {', '.join(fixed)}."))
    rows = tuple(
        (
            setting.group,
            setting.name,
            f"{setting.config.batch_size} × {setting.config.num_views}",
            str(setting.config.epochs),
            f"{setting.config.learning_rate:g}",
            f"{setting.config.weight_decay:g}",
            _data(by_setting[setting.group, setting.name]),
            setting.note or "–",
        )
        for setting in study.settings
    )
    head = ("data and network", "setting", "images × views", "epochs")
    head += ("learning rate", "weight decay", "train, test images", "changed")
    parts.append(Table("Settings", head, rows))
    parts += _missing(by_setting, study)
    known = {result.key for runs in by_setting.values() for result in runs.values()}
    others = len(found.keys() - known)
    if others:
        parts.append(
            Paragraph(
                f"The table of results has {others} more runs, of settings that the "
                "study does not have, or no longer has; they are left out here."
            )
        )
    versions = sorted({found[key].versions for key in known})
    if versions:
        parts.append(Paragraph(f"Made with {'; '.join(versions)}."))
    return parts


def _missing(by_setting, study):
    lines = []
    for setting in study.settings:
        runs = by_setting[setting.group, setting.name]
        seeds = [str(seed) for seed in setting.seeds if seed not in runs]
        if seeds:
            lines.append(f"{setting.group}: {setting.name}, seed {', '.join(seeds)}")
    return [Paragraph(f"Not there: {'; '.join(lines)}.")] if lines else []


def _data(runs):
    sizes = {(result.train_images, result.test_images) for result in runs.values()}
    return "; ".join(f"{train:,}, {test:,}" for train, test in sorted(sizes)) or "–"


def _by_pair(first, second):
    return [first[seed] - second[seed] for seed in first if seed in second]


def _mean(found):
    mean, deviation = statistics.mean_and_deviation(list(found.values()))
    return f"{mean:.2f}" + ("" if math.isnan(deviation) else _spread(deviation))


def _published(figure):
    if figure is None:
        return "–"
    accuracy, deviation = figure
    return f"{accuracy:.2f}" + _spread(deviation) if deviation else f"{accuracy:g}"


def _spread(deviation):
    # No line is broken before it.
    return f"\u00a0±\u00a0{deviation:.2f}"


def _signed(value):
    return f"{value:+.2f}".replace("-", "−")


def _interval(difference):
    if math.isnan(difference.low):
        return "–"
    return f"{_signed(difference.low)} to {_signed(difference.high)}"


def _p_value(value):
    if math.isnan(value):
        return "–"
    return f"{value:.2g}"
