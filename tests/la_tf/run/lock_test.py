"""Two runs never share a folder, whoever started, died or lives elsewhere."""

import json
import os
import pathlib
import signal
import subprocess
import sys
from unittest import mock

from absl.testing import absltest, parameterized

from la_tf.config import TrainConfig
from la_tf.errors import UserError
from la_tf.run import folder as run_folder
from la_tf.run import lock
from tests import helper

# Holds the lock of a folder, says so, and waits to be killed or told to end.
HOLDER = """
import pathlib, sys
from la_tf.run import lock
with lock.held(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""
# Takes a new folder under runs/ with a file in it and names it.
STARTER = """
import sys
from la_tf.config import TrainConfig
from la_tf.run import folder as run_folder
sys.stdin.read(1)
for _ in range(20):
    folder = run_folder.fresh(TrainConfig())
    with folder.taken(new=True):
        folder.write_record({"owner": sys.argv[1]})
    print(folder.path)
"""


def process(program, *arguments, folder=None):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


class LockTest(parameterized.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.create_tempdir().full_path) / "run"

    def start_holder(self):
        holder = process(HOLDER, self.folder)
        self.addCleanup(holder.communicate)
        self.addCleanup(holder.kill)
        self.assertEqual(holder.stdout.readline(), "held\n")
        return holder

    def test_the_owner_is_named_while_it_lives_and_gone_afterwards(self):
        (self.folder / "kept").mkdir(parents=True)
        with lock.held(self.folder):
            owner = json.loads((self.folder / lock.NAME).read_text())
            self.assertEqual(owner["process"], os.getpid())
        self.assertEqual(os.listdir(self.folder), ["kept"])

    def test_a_folder_that_stays_empty_is_taken_away(self):
        with lock.held(self.folder / "inner"):
            pass
        self.assertFalse(self.folder.exists())

    def test_nobody_else_gets_it(self):
        with (
            lock.held(self.folder),
            self.assertRaisesRegex(UserError, f"in use by process {os.getpid()} on"),
            lock.held(self.folder),
        ):
            pass

    def test_a_stopped_owner_still_owns_it_and_a_killed_one_does_not(self):
        holder = self.start_holder()
        holder.send_signal(signal.SIGSTOP)
        with self.assertRaisesRegex(UserError, f"process {holder.pid} on host"):
            lock.held(self.folder).__enter__()
        holder.kill()
        holder.wait()
        # What it wrote is still there; yet it is known to be dead.
        self.assertTrue((self.folder / lock.NAME).exists())
        with lock.held(self.folder):
            owner = json.loads((self.folder / lock.NAME).read_text())
            self.assertEqual(owner["process"], os.getpid())

    def test_another_host_s_lock_is_not_broken(self):
        self.folder.mkdir()
        path = self.folder / lock.NAME
        path.write_text('{"host": "elsewhere", "process": 7}')
        with self.assertRaisesRegex(UserError, f"process 7 on host elsewhere.*{path}"):
            lock.held(self.folder).__enter__()
        self.assertIn("elsewhere", path.read_text())

    @parameterized.parameters("", "garbage", "[1]", "\0\0")
    def test_a_damaged_lock_of_a_dead_owner_is_taken(self, content):
        self.folder.mkdir()
        (self.folder / lock.NAME).write_text(content)
        with lock.held(self.folder):
            pass

    def test_a_lock_that_vanishes_between_opening_and_locking_is_not_trusted(self):
        (self.folder / "kept").mkdir(parents=True)
        path, flock = self.folder / lock.NAME, lock.fcntl.flock
        inodes = []

        def vanish_once(file, how):
            if not inodes:
                path.unlink()
            inodes.append(os.fstat(file.fileno()).st_ino)
            flock(file, how)

        with (
            mock.patch.object(lock.fcntl, "flock", vanish_once),
            lock.held(self.folder),
        ):
            self.assertLen(inodes, 2)
            self.assertTrue(path.exists())

    def test_a_file_system_without_locks_is_told_and_used(self):
        refused = OSError(37, "No locks available")
        with (
            mock.patch.object(lock.fcntl, "flock", side_effect=refused),
            mock.patch.object(sys.stderr, "write") as told,
            lock.held(self.folder),
        ):
            self.assertIn("No locks available", told.call_args.args[0])

    def test_a_folder_that_cannot_be_made(self):
        file = pathlib.Path(self.create_tempfile().full_path)
        for path in (file, file / "run", pathlib.Path("x" * 300)):
            with self.assertRaisesRegex(UserError, "--run_dir=.* cannot be written"):
                lock.held(path).__enter__()


class FolderTest(absltest.TestCase):
    def test_runs_that_start_together_get_a_folder_each(self):
        place = self.create_tempdir().full_path
        starters = [process(STARTER, number, folder=place) for number in range(3)]
        for starter in starters:
            # All of them wait for this, so that they start as one.
            starter.stdin.write(".")
            starter.stdin.flush()
        said = [starter.communicate()[0].split() for starter in starters]
        paths = [path for lines in said for path in lines]
        self.assertLen(paths, 60)
        self.assertLen(set(paths), 60)
        for number, lines in enumerate(said):
            for path in lines:
                record = run_folder.RunFolder(pathlib.Path(place) / path).record()
                self.assertEqual(record, {"owner": str(number)})

    def test_a_run_that_came_and_went_meanwhile_is_left_alone(self):
        path = pathlib.Path(self.create_tempdir().full_path) / "run"
        ours = run_folder.fresh(TrainConfig(run_dir=str(path)))
        theirs = run_folder.fresh(TrainConfig(run_dir=str(path)))
        with theirs.taken(new=True):
            theirs.write_record({"owner": "theirs"})
        with (
            self.assertRaisesRegex(UserError, "already holds a run"),
            ours.taken(new=True),
        ):
            pass
        self.assertEqual(theirs.record(), {"owner": "theirs"})
        self.assertEqual(os.listdir(path), ["config.json"])

    def test_the_command_does_not_resume_a_run_that_lives(self):
        folder = run_folder.RunFolder(self.create_tempdir().full_path)
        config = TrainConfig(run_dir=str(folder.path))
        with folder.taken(new=True):
            folder.write_record({"config": config.values(), "versions": {}})
            ended = subprocess.run(
                [sys.executable, "-m", "la_tf.train", "--resume"]
                + [f"--run_dir={folder.path}"],
                env=helper.environment(),
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertTrue((folder.path / lock.NAME).exists())
        self.assertEqual(ended.returncode, 2)
        self.assertRegex(ended.stderr, f"^error: .* in use by process {os.getpid()} ")


if __name__ == "__main__":
    absltest.main()
