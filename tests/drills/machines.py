"""Two workers on this machine, one of which is lost, late or different."""

import json
import signal
import time

from tests.drills import commands

WHAT = (
    "Two workers on loopback, one killed, killed and restarted, stopped, ended, "
    "different or missing: all end with a sentence that names it, and the resumed run "
    "is equal to the bit."
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
    ended = [command.wait() for command in _start(whole)[0]]
    assert [end.code for end in ended] == [0, 0], ended
    for name, (victim, number) in LOSSES.items():
        yield name, *_lose(root / name.replace(" ", "_"), whole, victim, number)
    yield "worker killed and restarted", *_restart(root / "restarted", whole)
    differing = [
        command.wait()
        for command in _start(root / "seeds", each=(["--seed=1"], ["--seed=2"]))[0]
    ]
    held = all(
        end.is_refusal and "do not agree on seed" in end.said for end in differing
    )
    yield "other seeds", held, str(differing)
    yield "a worker that never comes", *_alone(root / "alone")


def _lose(run_dir, whole, victim, number):
    started, addresses = _start(run_dir)
    _wait_for_checkpoint(run_dir, started)
    started[victim].signal(number)
    lost_at = time.monotonic()
    survivor = started[1 - victim].wait()
    seconds = time.monotonic() - lost_at
    print(f"{run_dir.name}: told after {seconds:.0f} s", flush=True)
    if number == signal.SIGSTOP:
        started[victim].signal(signal.SIGKILL)
    started[victim].wait()
    told = survivor.is_refusal and addresses[victim] in survivor.said
    if number == signal.SIGTERM:
        # It asks all to stop together, and they do.
        told = survivor.code == 130
    resumed = [
        command.wait() for command in _start(run_dir, each=(["--resume"],) * 2)[0]
    ]
    found = commands.differences(run_dir, whole) if resumed[0].code == 0 else ["failed"]
    note = f"after {seconds:.0f} s: {survivor.said[-300:]}; differs: {found[:5]}"
    return told and not found, note


def _restart(run_dir, whole):
    """The worker is back at once, the chief when it has heard of the loss."""
    (chief, worker), addresses = _start(run_dir)
    _wait_for_checkpoint(run_dir, (chief, worker))
    worker.signal(signal.SIGKILL)
    worker.wait()
    lost_at = time.monotonic()
    again = _worker(run_dir, addresses, 1, ["--resume"])
    survivor = chief.wait()
    seconds = time.monotonic() - lost_at
    print(f"{run_dir.name}: told after {seconds:.0f} s", flush=True)
    told = survivor.is_refusal and addresses[1] in survivor.said
    ended = [_worker(run_dir, addresses, 0, ["--resume"]).wait(), again.wait()]
    if any(end.code for end in ended):
        # The new worker met the old chief: whatever supervises them starts both.
        told &= all(end.code == 0 or end.is_refusal for end in ended)
        resumed = _start(run_dir, each=(["--resume"],) * 2)[0]
        ended = [command.wait() for command in resumed]
    found = commands.differences(run_dir, whole) if ended[0].code == 0 else ["failed"]
    note = f"after {seconds:.0f} s: {survivor.said[-300:]}; {ended}"
    return told and not found, f"{note}; differs: {found[:5]}"


def _alone(run_dir):
    addresses = commands.free_addresses(2)
    chief = _worker(run_dir, addresses, 0)
    told = chief.wait_until_said(f"waiting for {addresses[1]}")
    chief.signal(signal.SIGKILL)
    return told, chief.wait().said


def _wait_for_checkpoint(run_dir, started):
    while not list((run_dir / "checkpoints").glob("step-*.index")):
        for command in started:
            assert not command.has_ended(), command.wait().said
        time.sleep(0.05)


def _start(run_dir, each=((), ())):
    """The workers' commands, and their addresses."""
    addresses = commands.free_addresses(2)
    started = [_worker(run_dir, addresses, index, each[index]) for index in range(2)]
    return started, addresses


def _worker(run_dir, addresses, index, flags=()):
    task = {"type": "worker", "index": index}
    config = {"cluster": {"worker": addresses}, "task": task}
    flags = flags if "--resume" in flags else (*FLAGS, *flags)
    variables = {"TF_CONFIG": json.dumps(config)}
    return commands.Command(
        "train", *flags, f"--run_dir={run_dir}", variables=variables
    )
