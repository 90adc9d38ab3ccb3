"""The program's commands, each in a process of its own that starts within a moment.

This process imports TensorFlow and the program once and uses nothing of them; the
others are its forks.
"""

from __future__ import annotations

import importlib
import os
import pathlib
import pickle
import pkgutil
import runpy
import signal
import socket
import sys
import tempfile
import time
import traceback
from typing import NamedTuple

import la_tf
from la_tf import environment
from tests import helper

# A short run on the embedded digits: five steps an epoch.
RUN = (
    *("--model=wrn_10_1", "--limit_train=80", "--batch_size=16", "--num_views=2"),
    *("--epochs=3", "--deterministic", "--strategy=none", "--checkpoint_minutes=0.01"),
)
HUNG = -1


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    said: str
    seconds: float

    @property
    def is_refusal(self):
        """Whether it ended with one sentence about a mistake."""
        lines = [line for line in self.said.splitlines() if line.startswith("error: ")]
        return self.code == 2 and len(lines) == 1 and "Traceback" not in self.said


def preload():
    """Import what takes long to import."""
    environment.settle()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import keras_cv  # noqa: F401
    import sklearn.datasets  # noqa: F401
    import tensorflow_datasets  # noqa: F401

    for module in pkgutil.walk_packages(la_tf.__path__, "la_tf."):
        # A command's own module brings its flags, which are not those of the others.
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


class Command:
    """A running command: python -m la_tf.<name> <flags>.

    Args:
        name: of the command.
        flags: its flags.
        before: is called in its process first.
        variables: of its environment.
    """

    def __init__(self, name, *flags, before=None, variables=None):
        self._files = [tempfile.TemporaryFile("w+") for _ in range(2)]  # noqa: SIM115
        self._started = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            self._be(name, flags, before, variables or {})

    def _be(self, name, flags, before, variables):
        code = 99
        try:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for number, file in enumerate(self._files, 1):
                os.dup2(file.fileno(), number)
            os.environ.update(variables)
            sys.argv = [name, *map(str, flags)]
            if before is not None:
                before()
            runpy.run_module(f"la_tf.{name}", run_name="__main__", alter_sys=True)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def signal(self, number):
        """Send it a signal."""
        os.kill(self.pid, number)

    def wait_until_said(self, words, seconds=helper.PATIENCE):
        """Whether it says these words on its error stream before it ends."""
        until = time.monotonic() + seconds
        while words not in self._read(1):
            if self.has_ended() or time.monotonic() > until:
                return words in self._read(1)
            time.sleep(0.2)
        return True

    def has_ended(self):
        """Whether it has; `wait` still tells how."""
        state = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1]
        return state.split()[0] == "Z"

    def wait(self, seconds=helper.PATIENCE):
        """How it Ended; after so many seconds it is killed."""
        code = None
        while code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
            elif time.monotonic() - self._started > seconds:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                code = HUNG
            else:
                time.sleep(0.01)
        texts = [self._read(number) for number in range(2)]
        for file in self._files:
            file.close()
        return Ended(code, *texts, time.monotonic() - self._started)

    def _read(self, number):
        """Return what a stream's file holds; the process writes where it was."""
        descriptor = self._files[number].fileno()
        size = os.fstat(descriptor).st_size
        return os.pread(descriptor, size, 0).decode("utf-8", "replace")


def go_on(run_dir):
    """How a run Ended that is resumed, or started anew if it has left nothing."""
    has_begun = (run_dir / "config.json").exists()
    return run("train", *(["--resume"] if has_begun else RUN), f"--run_dir={run_dir}")


def run(name, *flags, **options):
    """How a command Ended."""
    return Command(name, *flags, **options).wait()


def call(function, *arguments):
    """What a function gives, called in a process of its own."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            with os.fdopen(write, "wb") as file:
                pickle.dump(function(*arguments), file)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        content = file.read()
    os.waitpid(pid, 0)
    return pickle.loads(content)


def spawn(function, *arguments):
    """The number of a process that does nothing but call a function."""
    pid = os.fork()
    if pid == 0:
        try:
            function(*arguments)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    return pid


def kill(pid):
    """Kill a process that was spawned."""
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def free_addresses(count):
    """Addresses on this machine at which nobody listens."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    addresses = [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
    for one in sockets:
        one.close()
    return addresses


def differences(run_dir, other):
    """What differs between two runs; empty if they are equal to the bit."""

    def compare():
        from tests import runs

        return runs.differences(run_dir, other)

    return call(compare)


def damaged(data, how, generator):
    """The bytes of a file after some damage."""
    if how == "emptied":
        return b""
    if how == "zeroed":
        return bytes(len(data))
    place = generator.randrange(max(1, len(data)))
    if how == "truncated":
        return data[:place]
    return (
        data[:place]
        + bytes([data[place] ^ 1 << generator.randrange(8)])
        + (data[place + 1 :])
    )


DAMAGES = ("truncated", "emptied", "zeroed", "flipped", "deleted")


def damage(path, how, generator):
    """Damage a file."""
    path = pathlib.Path(path)
    if how == "deleted":
        path.unlink()
    elif path.stat().st_size:
        path.write_bytes(damaged(path.read_bytes(), how, generator))
