"""Measuring in a process of its own: the memory that matters is the highest it had."""

import json
import resource
import subprocess
import sys

_PROGRAM = """
import importlib, json, sys
from la_tf import cli
cli.load_tensorflow()
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
