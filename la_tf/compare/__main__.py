"""Compares methods: python -m la_tf.compare --methods=latent,equal --seeds=5."""

import json
import pathlib
import signal
import sys

from flags import compare as compare_flags
from la_tf import cli
from la_tf.compare import estimate, pages, results, runner, workers
from la_tf.report.gallery import Gallery

FAILED = 1


def main():
    options = compare_flags.options_from_flags()
    # A scheduler's wish to stop is taken like Ctrl-C: the runs save themselves.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    failed = 0
    for study, folder in options.studies:
        failed += compare(study, pathlib.Path(folder), options)
    return FAILED if failed else 0


def compare(study, folder, options):
    """Run what a study lacks and write its pages; return how many runs failed."""
    table = folder / "results.csv"
    found = results.read(table)
    failed = []
    if not options.only_pages:
        found = runner.collect(study, found, options.runs_dir)
        failed = _run(study, folder, found, options)
    if options.only_plan:
        return 0
    written = pages.write(study, found, folder)
    if options.verbosity >= 0:
        print("\n".join(f"page       {path}" for path in written))
        print(f"results    {table}")
    for task, why in failed:
        sys.stderr.write(f"failed: {task.name}: {why}\n")
    return len(failed)


def _run(study, folder, found, options):
    """Return the runs that failed.

    Those that did not are in `found` and in the table.
    """

    def keep(result):
        found[result.key] = result
        results.write(folder / "results.csv", found)

    tasks = runner.pending(study, found)
    team = workers.make(options.jobs, pathlib.Path(options.runs_dir))
    say = _say if options.verbosity >= 0 else lambda line: None
    for line in (*study.notes, *_notes(study)):
        say(line)
    total = sum(len(setting.seeds) for setting in study.settings)
    say(f"{study.title}: {len(tasks)} of {total} runs to make")
    if tasks and (options.only_plan or options.verbosity >= 0):
        if options.only_plan:
            print("\n".join(_settings(study)), flush=True)
        given = options.views_per_second
        for line in estimate.lines(tasks, found, team[0], options.jobs, given):
            print(line, flush=True)
    if options.only_plan or not tasks:
        team[0].close()
        return []
    Gallery(folder, "compare_dir").write(
        "study.json", (json.dumps(study.plan, indent=2) + "\n").encode()
    )
    return runner.run(tasks, team, options.runs_dir, keep, say)


def _settings(study):
    """Return what is in the grid, a line for each data set and network."""
    return [
        f"{group}: {'; '.join(setting.name for setting in settings)}"
        for group, settings in study.groups.items()
    ]


def _notes(study):
    """Return what methods and protocol changed, a line for each setting."""
    return [
        f"{setting.name}: {setting.note}" for setting in study.settings if setting.note
    ]


def _say(line):
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    compare_flags.install_help()
    cli.run(main)
