"""The processes that train, each on cores of its own."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys

from la_tf import environment
from la_tf.errors import UserError

_COMMAND = (sys.executable, "-m", "la_tf.compare.worker")
# Of these TensorFlow can be told only once in a process.
_OF_A_PROCESS = ("deterministic", "logical_cpus", "strategy")


class Worker:
    """A process that trains runs; it is started when it is first asked.

    Args:
        number: from 0, for the name of its log.
        cores: the numbers of the cores that it may use.
        gpus: the GPUs that it may use, or None for all.
        log_dir: where its log goes.
    """

    def __init__(self, number, cores, gpus, log_dir):
        self.cores = cores
        self._gpus = gpus
        self.log_path = pathlib.Path(log_dir) / f"worker-{number}.log"
        self._process = None
        self._settled = None

    def ask(self, config, **task):
        """Return the answer to a task: a dictionary, with "error" where it failed."""
        settled = [getattr(config, name) for name in _OF_A_PROCESS]
        if self._process is not None and settled != self._settled:
            self.close()
        if self._process is None:
            self._settled = settled
            self._start()
        task.update(config=config.values(), origins=dict(config.origins))
        with contextlib.suppress(OSError):
            self._process.stdin.write(json.dumps(task) + "\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        if line:
            return json.loads(line)
        code = self._process.wait()
        self._process = None
        return {"error": f"its process ended {_how(code)}"}

    def stop(self):
        """Ask the process to save its run and end."""
        process = self._process
        if process is not None:
            process.terminate()

    def close(self):
        """End the process, once it has answered."""
        if self._process is not None:
            self._process.stdin.close()
            self._process.wait()
            self._process = None

    def _start(self):
        count = str(len(self.cores))
        environment = {
            "OMP_NUM_THREADS": count,
            "TF_NUM_INTRAOP_THREADS": count,
            **os.environ,
            # The package may be imported from the folder that the user stands in.
            "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path),
        }
        if self._gpus is not None:
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(self._gpus)
        self.log_path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.log_path, "a", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                [*_COMMAND, json.dumps(self.cores)],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                # A Ctrl-C is for this process alone, which then asks all to stop.
                start_new_session=True,
            )


def make(jobs, log_dir):
    """Return so many Workers that share this process's cores and GPUs."""
    every = environment.cores()
    cores = shares(every, jobs)
    if cores is None:
        raise UserError(
            f"--jobs={jobs} is more than the {len(every)} cores there are; choose "
            f"at most {len(every)}."
        )
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    gpus = [gpu for gpu in visible.split(",") if gpu not in ("", "-1")]
    devices = shares(gpus, jobs) if gpus else [None] * jobs
    if devices is None:
        raise UserError(
            f"--jobs={jobs} is more than the GPUs in CUDA_VISIBLE_DEVICES={visible}; "
            f"choose at most {len(gpus)}."
        )
    pairs = enumerate(zip(cores, devices))
    return [Worker(number, *pair, log_dir) for number, pair in pairs]


def shares(items, parts):
    """Return the items in so many parts, neighbours together; None for too few."""
    if parts > len(items):
        return None
    ends = [round(part * len(items) / parts) for part in range(parts + 1)]
    return [items[first:last] for first, last in zip(ends, ends[1:])]


def _how(code):
    if code >= 0:
        return f"with code {code}"
    name = signal.Signals(-code).name
    return f"by {name}, perhaps for want of memory" if code == -9 else f"by {name}"
