"""A tf.data service whose worker or dispatcher dies, and comes back or does not."""

import os
import signal
import time

from la_tf.run import cluster
from tests.drills import commands

WHAT = (
    "The worker or the dispatcher of a tf.data service killed while it serves a run: "
    "once it is back the run goes on, or ends with a sentence and is resumed; one that "
    "stays away is named, and the run resumed without it. Equal to the bit to a run "
    "without the service."
)
# Whose process is killed, and whether it is started again.
LOSSES = {
    "worker restarted": ("worker", True),
    "worker gone": ("worker", False),
    "dispatcher restarted": ("dispatcher", True),
    "dispatcher gone": ("dispatcher", False),
}


def run(root):
    """Yield a case, whether it held, and how it went."""
    whole = root / "whole"
    ended = commands.run("train", *commands.RUN, f"--run_dir={whole}")
    assert ended.code == 0, ended.said
    for name, (victim, returns) in LOSSES.items():
        yield name, *_lose(root / name.replace(" ", "_"), whole, victim, returns)
    [nobody] = commands.free_addresses(1)
    flags = (*commands.RUN, f"--data_service=grpc://{nobody}")
    ended = commands.run("train", *flags, f"--run_dir={root / 'absent'}")
    yield "dispatcher absent", ended.is_refusal and nobody in ended.said, ended.said


def _lose(run_dir, whole, victim, returns):
    dispatcher, worker = commands.free_addresses(2)
    start = {
        "dispatcher": lambda: commands.spawn(_dispatch, dispatcher),
        "worker": lambda: commands.spawn(_work, dispatcher, worker),
    }
    servers = {name: begin() for name, begin in start.items()}
    while not (cluster.answers(dispatcher) and cluster.answers(worker)):
        time.sleep(0.1)
    flags = (*commands.RUN, f"--data_service=grpc://{dispatcher}")
    command = commands.Command("train", *flags, f"--run_dir={run_dir}")
    while not list((run_dir / "checkpoints").glob("step-*.index")):
        assert not command.has_ended(), command.wait().said
        time.sleep(0.05)
    commands.kill(servers.pop(victim))
    lost_at = time.monotonic()
    if returns:
        time.sleep(2)
        servers[victim] = start[victim]()
        first = command.wait()
        told = first.code == 0 or first.is_refusal
        again = ()
    else:
        told = command.wait_until_said(f"//{dispatcher}")
        command.signal(signal.SIGKILL)
        first = command.wait()
        again = ("--data_service=",)
    seconds = time.monotonic() - lost_at
    print(f"{run_dir.name}: {first.code} after {seconds:.0f} s", flush=True)
    last = commands.run("train", "--resume", *again, f"--run_dir={run_dir}")
    for pid in servers.values():
        commands.kill(pid)
    found = commands.differences(run_dir, whole) if last.code == 0 else ["failed"]
    note = (
        f"after {seconds:.0f} s: {first.code} {first.said[-300:]}; {last.said[-200:]}"
    )
    return told and not found, f"{note}; differs: {found[:5]}"


def _dispatch(address):
    import tensorflow as tf

    service = tf.data.experimental.service
    _be_quiet()
    service.DispatchServer(service.DispatcherConfig(port=_port(address))).join()


def _work(dispatcher, address):
    import tensorflow as tf

    service = tf.data.experimental.service
    _be_quiet()
    config = service.WorkerConfig(
        dispatcher, worker_address=address, port=_port(address)
    )
    service.WorkerServer(config).join()


def _be_quiet():
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _port(address):
    return int(address.rsplit(":", 1)[1])
