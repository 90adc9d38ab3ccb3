"""Two workers on this machine, one of which is lost, late or different."""

import json
import shutil
import signal
import socket
import time

from tests.drills import commands

WHAT = (
    "Two workers on loopback, one killed, stopped, ended or different: all end with a "
    "sentence that names it, and the resumed run is equal to the bit."
)
FLAGS = (
    *("--model=wrn_10_1", "--limit_train=80", "--batch_size=16", "--num_views=2"),
    *("--epochs=4", "--deterministic", "--strategy=multiworker"),
)
# Who is sent what, once the first epoch is saved.
LOSSES = {
    "worker killed": (1, signal.SIGKILL),
    "worker stopped": (1, signal.SIGSTOP),
    "worker asked to end": (1, signal.SIGTERM),
    "chief killed": (0, signal.SIGKILL),
}


def run(root):
    """Yield a case, whether it held, and how it went."""
    whole = root / "whole"
    ended = [command.wait(300) for command in _start(whole)[0]]
    assert [end.code for end in ended] == [0, 0], ended
    for name, (victim, number) in LOSSES.items():
        yield name, *_lose(root / name.replace(" ", "_"), whole, victim, number)
    differing = [
        command.wait(120)
        for command in _start(root / "seeds", each=(["--seed=1"], ["--seed=2"]))[0]
    ]
    held = all(
        end.is_refusal and "do not agree on seed" in end.said for end in differing
    )
    yield "other seeds", held, str(differing)
    yield "a worker that never comes", *_alone(root / "alone")


def _lose(run_dir, whole, victim, number):
    started, addresses = _start(run_dir)
    while not list((run_dir / "checkpoints").glob("step-*.index")):
        time.sleep(0.05)
    started[victim].signal(number)
    lost_at = time.monotonic()
    survivor = started[1 - victim].wait(300)
    seconds = time.monotonic() - lost_at
    if number == signal.SIGSTOP:
        started[victim].signal(signal.SIGKILL)
    started[victim].wait(120)
    told = survivor.is_refusal and addresses[victim] in survivor.said
    if number == signal.SIGTERM:
        # It asks all to stop together, and they do.
        told = survivor.code == 130
    resumed = [
        command.wait(300) for command in _start(run_dir, each=(["--resume"],) * 2)[0]
    ]
    found = commands.differences(run_dir, whole) if resumed[0].code == 0 else ["failed"]
    note = f"after {seconds:.0f} s: {survivor.said[-300:]}; differs: {found[:5]}"
    return told and not found, note


def _alone(run_dir):
    (chief,), addresses = _start(run_dir, count=1)
    time.sleep(25)
    chief.signal(signal.SIGKILL)
    ended = chief.wait()
    return f"waiting for {addresses[1]}" in ended.said, ended.said


def _start(run_dir, each=((), ()), count=2):
    """The workers' commands, and all addresses."""
    shutil.rmtree(run_dir / "lock", ignore_errors=True)
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    addresses = [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
    for one in sockets:
        one.close()
    started = []
    for index in range(count):
        task = {"type": "worker", "index": index}
        config = {"cluster": {"worker": addresses}, "task": task}
        flags = each[index] if "--resume" in each[index] else (*FLAGS, *each[index])
        variables = {"TF_CONFIG": json.dumps(config)}
        started.append(
            commands.Command(
                "train", *flags, f"--run_dir={run_dir}", variables=variables
            )
        )
    return started, addresses
