"""Runs what a study still lacks, and keeps its table of results."""

from __future__ import annotations

import dataclasses
import queue
import threading
import time

from la_tf import console
from la_tf.compare import protocols, results
from la_tf.compare.setting import Setting
from la_tf.errors import UserError


@dataclasses.dataclass(frozen=True)
class Task:
    """A run that is to be made."""

    setting: Setting
    seed: int

    @property
    def name(self):
        """The run in words."""
        return f"{self.setting.group}: {self.setting.name}, seed {self.seed}"


class Clock:
    """Tells how long the rest takes, from what the runs so far took.

    A setting that has not run yet is taken to cost what the others did a view.
    """

    def __init__(self, jobs):
        self._jobs = jobs
        self._taken = {}

    def add(self, setting, seconds):
        """Take note of a run's seconds, from its start to its end."""
        self._taken.setdefault(setting.fingerprint, (setting, []))[1].append(seconds)

    def left(self, tasks):
        """Return the seconds that these tasks will take; NaN before the first run."""
        return sum(self._expected(task.setting) for task in tasks) / self._jobs

    def _expected(self, setting):
        if setting.fingerprint in self._taken:
            seconds = self._taken[setting.fingerprint][1]
            return sum(seconds) / len(seconds)
        pairs = [
            (taken, second) for taken, all in self._taken.values() for second in all
        ]
        if not pairs:
            return float("nan")
        seconds = sum(second for _, second in pairs)
        views = [protocols.views(taken.config) for taken, _ in pairs]
        own = protocols.views(setting.config)
        if own is None or None in views:
            return seconds / len(pairs)
        return seconds * own / sum(views)


def collect(study, found, runs_dir):
    """Return the results so far: those known, and those of finished run folders."""
    found = dict(found)
    for task in pending(study, found):
        path = task.setting.run(task.seed, runs_dir).run_dir
        try:
            result = results.of_run(task.setting, task.seed, path, cores=0)
        except (UserError, KeyError, IndexError, ValueError):
            # Damaged: the run is made again, or says itself what is wrong.
            result = None
        if result is not None:
            found[result.key] = result
    return found


def pending(study, found):
    """Return the Tasks that have no result, a seed of every setting after the other.

    So an early look has all settings in it, and slow hours of a machine fall on all of
    them alike.
    """
    rounds = max(len(setting.seeds) for setting in study.settings)
    tasks = [
        Task(setting, setting.seeds[number])
        for number in range(rounds)
        for setting in study.settings
        if number < len(setting.seeds)
    ]
    # Two settings may be the same run under two names.
    unique = {(task.setting.fingerprint, task.seed): task for task in reversed(tasks)}
    wanted = [key for key in reversed(unique) if key not in found]
    return [unique[key] for key in wanted]


def run(tasks, workers, runs_dir, on_result, say):
    """Train the tasks' runs; return those that failed, with their errors.

    Args:
        tasks: from `pending`.
        workers: from `workers.make`; they are closed at the end.
        runs_dir: where the run folders go.
        on_result: called with each new Result.
        say: called with a line after each run.

    Returns:
        Pairs of a Task and a sentence.
    """
    left, answers = queue.SimpleQueue(), queue.SimpleQueue()
    for task in tasks:
        left.put(task)
    threads = [
        threading.Thread(target=_serve, args=(worker, left, answers, runs_dir))
        for worker in workers
    ]
    for thread in threads:
        thread.start()
    clock, failed, open_tasks = Clock(len(workers)), [], list(tasks)
    try:
        while open_tasks:
            task, answer, cores, seconds = answers.get()
            open_tasks.remove(task)
            place = f"[{len(tasks) - len(open_tasks)}/{len(tasks)}] {task.name}"
            result = _result(task, answer, runs_dir, cores)
            if isinstance(result, str):
                failed.append((task, result))
                say(f"{place}: FAILED: {result}")
                continue
            on_result(result)
            clock.add(task.setting, seconds)
            rest = clock.left(open_tasks)
            more = f"; about {console.duration(rest)} left" if open_tasks else ""
            took = console.duration(seconds)
            say(f"{place}: {result.accuracy:.2%} in {took}{more}")
    finally:
        # On an interruption, what is running saves itself; nothing new is begun.
        while not left.empty():
            left.get()
        for worker in workers if open_tasks else ():
            worker.stop()
        for thread in threads:
            thread.join()
    return failed


def _serve(worker, left, answers, runs_dir):
    while True:
        try:
            task = left.get_nowait()
        except queue.Empty:
            return worker.close()
        start = time.monotonic()
        answer = worker.ask(task.setting.run(task.seed, runs_dir))
        if "error" in answer:
            answer["error"] += f" (see {worker.log_path})"
        seconds = time.monotonic() - start
        answers.put((task, answer, len(worker.cores), seconds))


def _result(task, answer, runs_dir, cores):
    """Return the Result of a run, or a sentence that tells why there is none."""
    if "error" in answer:
        return answer["error"]
    if "stopped" in answer:
        return "stopped and saved; the same command goes on with it"
    path = task.setting.run(task.seed, runs_dir).run_dir
    result = results.of_run(task.setting, task.seed, path, cores)
    return result or f"{path} holds the run of another configuration; move it away"
