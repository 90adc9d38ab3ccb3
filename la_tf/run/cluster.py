"""Which of several machines this one is, as TF_CONFIG tells, and where the others are.

Importing this module does not import TensorFlow.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

from la_tf.errors import UserError

# Seconds until it is said for whom this process waits, and until it gives up.
SAY_AFTER, GIVE_UP_AFTER = 10, 600

_JOBS = ("chief", "worker")
_ADDRESS = re.compile(r"[^\s:/][^\s/]*:[0-9]{1,5}")
_TASK = re.compile(r"/job:(chief|worker)/replica:\d+/task:(\d+)")


def workers():
    """Return how many processes train together; 1 without TF_CONFIG."""
    return max(1, len(addresses()))


def is_chief():
    """Tell whether this process speaks and writes for all."""
    return rank() == 0


def rank():
    """Return the number of this process among all of them; 0 is the chief."""
    cluster, task = _settings()
    if not cluster:
        return 0
    before = len(cluster.get("chief", ())) if task["type"] == "worker" else 0
    return before + task["index"]


def addresses():
    """Return the host:port of every process, by rank."""
    cluster, _ = _settings()
    return [address for job in _JOBS for address in cluster.get(job, ())]


@contextlib.contextmanager
def waiting():
    """Say after a while for whom this process waits, and in the end give up.

    TensorFlow itself waits for a machine that never comes without a word. It holds
    Python's lock meanwhile, so that a thread could not speak: a process watches.
    """
    program = (
        "from la_tf.run import cluster; "
        f"cluster.watch({os.getpid()}, {SAY_AFTER}, {GIVE_UP_AFTER})"
    )
    watcher = subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        yield
    finally:
        watcher.kill()
        watcher.wait()


def lost(error):
    """Return the addresses of the processes that an error is about, in words.

    They are those that no longer answer, or else those that it names.
    """
    silent = _silent()
    if not silent:
        cluster, _ = _settings()
        named = {match for match in _TASK.findall(str(error)) if match[0] in cluster}
        found = {cluster[job][int(task)] for job, task in named}
        silent = sorted(found - {addresses()[rank()]})
    return ", ".join(silent) or "another worker"


def watch(waiting, say_after, give_up_after):
    """Speak for a process that waits, and end it where nobody comes.

    Args:
        waiting: the number of the process, whose child this one is.
        say_after, give_up_after: seconds.
    """
    _sleep_beside(waiting, say_after)
    sys.stderr.write(f"waiting for {_whom()} ...\n")
    _sleep_beside(waiting, give_up_after - say_after)
    sys.stderr.write(
        f"error: gave up after waiting {give_up_after} s for {_whom()}; start the "
        "same command on all machines that TF_CONFIG names.\n"
    )
    # TensorFlow catches SIGTERM while it connects, and goes on waiting.
    os.kill(waiting, signal.SIGKILL)


def _sleep_beside(process, seconds):
    """Sleep; end with the process, should it end."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if os.getppid() != process:
            sys.exit()
        time.sleep(min(0.5, seconds))


def _whom():
    return ", ".join(_silent()) or "the other workers"


def _silent():
    """Return the addresses at which nobody listens."""
    others = [a for number, a in enumerate(addresses()) if number != rank()]
    return [address for address in others if not answers(address)]


def answers(address):
    """Tell whether anybody listens at host:port."""
    try:
        host, port = address.rsplit(":", 1)
        socket.create_connection((host.strip("[]"), int(port)), timeout=1).close()
    except (OSError, OverflowError, ValueError):
        return False
    return True


def _settings():
    """Return TF_CONFIG's cluster, job name to addresses, and task, or nothing."""
    text = os.environ.get("TF_CONFIG")
    if not text:
        return {}, {}
    try:
        settings = json.loads(text)
    except ValueError:
        raise _wrong("it is not JSON") from None
    if not isinstance(settings, dict):
        raise _wrong("it is not a JSON object")
    cluster, task = settings.get("cluster", {}), settings.get("task", {})
    _check_cluster(cluster)
    if cluster:
        _check_task(cluster, task)
    return cluster, task


def _check_cluster(cluster):
    if not isinstance(cluster, dict):
        raise _wrong("its cluster is not an object of job names and addresses")
    for job, found in cluster.items():
        if job not in _JOBS:
            raise _wrong(f"its job {job!r} is none of {', '.join(_JOBS)}")
        if not isinstance(found, list) or not found:
            raise _wrong(f"its {job} is not a list of addresses")
        for address in found:
            if not isinstance(address, str) or not _ADDRESS.fullmatch(address):
                raise _wrong(f"{address!r} is not an address like host:2222")
    if len(cluster.get("chief", ())) > 1:
        raise _wrong("it names more than one chief")
    found = [address for job in cluster.values() for address in job]
    if len(set(found)) < len(found):
        raise _wrong("it names an address twice")


def _check_task(cluster, task):
    if not isinstance(task, dict) or task.get("type") not in cluster:
        raise _wrong(f"its task must have a type out of {', '.join(cluster)}")
    index, count = task.get("index"), len(cluster[task["type"]])
    if type(index) is not int or not 0 <= index < count:
        raise _wrong(f"its task's index is {index!r}, not 0 to {count - 1}")


def _wrong(why):
    return UserError(
        f"the environment variable TF_CONFIG is of no use: {why}. Mend it, or unset it "
        "to train on this machine alone."
    )
