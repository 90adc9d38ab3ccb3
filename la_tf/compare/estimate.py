"""How long a study will take, before its first run."""

from __future__ import annotations

from la_tf import console
from la_tf.compare import protocols


def lines(tasks, found, worker, jobs, given=None):
    """Return a line for each data set and network: runs, views, and hours.

    The hours come from a given speed, from runs that are there, or from a measurement.

    Args:
        tasks: what is to be run.
        found: Results by key.
        worker: a Worker that can measure.
        jobs: how many run at a time.
        given: views a second of one process, or None.
    """
    groups = {}
    for task in tasks:
        groups.setdefault(task.setting.group, []).append(task)
    return [
        _line(group, members, _speed(group, members, found, worker, given), jobs)
        for group, members in groups.items()
    ]


def _line(group, tasks, speed, jobs):
    counts = [protocols.views(task.setting.config) for task in tasks]
    told = f"{group}: {len(tasks)} run{'s' if len(tasks) > 1 else ''}"
    if None in counts:
        return f"{told}; only the data can tell how long"
    told += f", {sum(counts):,} views"
    if speed is None:
        return f"{told}; give --views_per_second for an estimate of the hours"
    rate, source = speed
    length = console.duration(sum(counts) / rate / jobs)
    return f"{told}, about {length} at {rate:,.0f} views/s ({source})"


def _speed(group, tasks, found, worker, given):
    """Return views a second of one process, and where the figure is from.

    None for unknown.
    """
    if given:
        return given, "as given"
    runs = [result for result in found.values() if result.group == group]
    if runs:
        views = sum(result.views for result in runs)
        return views / sum(result.seconds for result in runs), "of the runs so far"
    config = tasks[0].setting.config
    shape = protocols.image_shape(config)
    if shape is None:
        return None
    answer = worker.ask(config, image_shape=shape)
    if "rate" not in answer:
        return None
    return answer["rate"], (
        "measured now: forward and backward pass of one process; making views, "
        "evaluation, checkpoints and a method's own passes come on top"
    )
