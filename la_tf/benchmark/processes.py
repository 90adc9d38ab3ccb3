"""Measuring in a process of its own: the memory that matters is the highest it had."""

import contextlib
import json
import os
import resource
import subprocess
import sys

_PROGRAM = """
import importlib, json, sys
from la_tf import cli
cli.load_tensorflow()
cli.hush_compiler()
module = importlib.import_module(sys.argv[1])
print(json.dumps(module.measure(*json.loads(sys.argv[2]))))
"""


def measure(module, *arguments):
    """Return what `module.measure(*arguments)` gives in a new process, through JSON."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, module, json.dumps(arguments)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def peak_megabytes():
    """Return the most memory that this process has ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@contextlib.contextmanager
def on_cores(count):
    """Let what is started meanwhile use so many cores alone, where that can be told."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    all_cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(all_cores)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, all_cores)
