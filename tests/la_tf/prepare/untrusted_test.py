"""Archives and files of strangers: nothing is run, misplaced or swollen."""

import gzip
import io
import json
import os
import pathlib
import tarfile
from unittest import mock

import numpy as np
from absl.testing import absltest, parameterized
from PIL import Image

from la_tf import sha256sums
from la_tf.data.sources import npz
from la_tf.errors import UserError
from la_tf.prepare import archives


def member(name, size=3, kind=tarfile.REGTYPE, target=""):
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = size, kind, target
    return info


def write_tar(path, members, mode="w:gz"):
    with tarfile.open(path, mode) as archive:
        for info in members:
            has_data = info.type == tarfile.REGTYPE
            archive.addfile(info, io.BytesIO(b"x" * info.size) if has_data else None)
    return path


class TarTest(parameterized.TestCase):
    def setUp(self):
        super().setUp()
        self.root = pathlib.Path(self.create_tempdir().full_path)
        self.target = self.root / "target"
        self.target.mkdir()

    def unpack(self, *members):
        archives.unpack(write_tar(self.root / "archive.tar.gz", members), self.target)
        return sorted(path.name for path in self.target.iterdir())

    @parameterized.parameters("../evil", "/evil", "a/../../evil", "./evil", "a/b/evil")
    def test_every_file_lands_in_the_folder(self, name):
        self.assertEqual(self.unpack(member(name)), ["evil"])
        outside = [
            path for path in self.root.rglob("evil") if path.parent != self.target
        ]
        self.assertEmpty(outside)
        self.assertFalse(os.path.exists("/evil"))

    @parameterized.parameters("..", "a/..", "/", ".")
    def test_names_that_are_folders_are_left_out(self, name):
        self.assertEqual(self.unpack(member(name), member("good")), ["good"])

    @parameterized.parameters(
        tarfile.SYMTYPE,
        tarfile.LNKTYPE,
        tarfile.CHRTYPE,
        tarfile.BLKTYPE,
        tarfile.FIFOTYPE,
        tarfile.DIRTYPE,
    )
    def test_what_is_no_plain_file_is_left_out(self, kind):
        odd = member("odd", 0, kind, "/etc/passwd")
        # Not even through a link that came before is anything written elsewhere.
        self.assertEqual(self.unpack(odd, member("odd/good")), ["good"])

    def test_the_first_of_a_name_stays(self):
        self.unpack(member("a/batch", 3), member("b/batch", 4))
        self.assertEqual((self.target / "batch").stat().st_size, 3)

    def test_a_bomb_is_refused_before_it_is_unpacked(self):
        with (
            mock.patch.object(archives, "_MOST_UNPACKED", 1000),
            self.assertRaisesRegex(UserError, "unpacks to more than"),
        ):
            self.unpack(member("small", 900), member("large", 200))
        self.assertFalse((self.target / "large").exists())

    def test_bytes_that_are_no_archive(self):
        path = self.root / "archive.tar.gz"
        for content in (b"", b"\x1f\x8b\x08garbage", gzip.compress(b"no tar" * 99)):
            path.write_bytes(content)
            with self.assertRaisesRegex(UserError, "cut off or damaged"):
                archives.unpack(path, self.target)


class IdxTest(absltest.TestCase):
    def test_a_bomb_is_not_unpacked(self):
        root = pathlib.Path(self.create_tempdir().full_path)
        bomb = root / "train-images-idx3-ubyte.gz"
        bomb.write_bytes(gzip.compress(bytes(1 << 16)))
        with (
            mock.patch.object(archives, "_MOST_IDX", 1 << 12),
            self.assertRaisesRegex(UserError, "unpacks to more than"),
        ):
            archives._write_idx(root, root / "target", {})


class PngTest(parameterized.TestCase):
    """The PNG form of CIFAR-10: a row is an image, the labels are a JSON list."""

    def setUp(self):
        super().setUp()
        self.root = pathlib.Path(self.create_tempdir().full_path)

    def read(self, pixels, labels):
        path = self.root / "test_batch.png"
        if isinstance(pixels, bytes):
            path.write_bytes(pixels)
        else:
            Image.fromarray(pixels).save(path)
        text = labels if isinstance(labels, str) else json.dumps(labels)
        (self.root / "test_lables.json").write_text(text)
        return archives._from_png(self.root, path, 0)

    def test_what_is_right(self):
        rows = self.read(np.zeros([2, 1024, 3], np.uint8), [3, 9])
        self.assertEqual((len(rows), rows[0], rows[3073]), (2 * 3073, 3, 9))

    @parameterized.parameters(
        (np.zeros([2, 1000, 3], np.uint8), [1, 2]),
        (np.zeros([2, 1024], np.uint8), [1, 2]),
        (np.zeros([2, 1024, 4], np.uint8), [1, 2]),
        (b"no png", [1, 2]),
        (b"\x89PNG\r\n\x1a\n" + bytes(40), [1, 2]),
        (np.zeros([2, 1024, 3], np.uint8), [1]),
        (np.zeros([2, 1024, 3], np.uint8), {"0": 1}),
        (np.zeros([2, 1024, 3], np.uint8), 7),
        (np.zeros([2, 1024, 3], np.uint8), ["1", "2"]),
        (np.zeros([2, 1024, 3], np.uint8), [1, 300]),
        (np.zeros([2, 1024, 3], np.uint8), [1, -1]),
        (np.zeros([2, 1024, 3], np.uint8), "no json"),
    )
    def test_what_is_wrong_is_told(self, pixels, labels):
        with self.assertRaisesRegex(UserError, str(self.root)):
            self.read(pixels, labels)


class NamesTest(absltest.TestCase):
    def test_names_that_are_none_or_repeat(self):
        for names in (None, "ab", [1, 2], {"a": 1}, ["a", "a"]):
            with self.assertRaisesRegex(UserError, "meta"):
                archives._check_names(names, pathlib.Path("meta"))


class ZipTest(parameterized.TestCase):
    def setUp(self):
        super().setUp()
        self.path = pathlib.Path(self.create_tempdir().full_path) / "arrays.npz"

    def test_objects_are_not_unpickled(self):
        class Harmful:
            def __reduce__(self):
                return (os.mkdir, ("harmed",))

        np.savez(self.path, x_train=np.array([Harmful()], object))
        with self.assertRaisesRegex(UserError, "not an npz file of plain arrays"):
            npz._arrays(self.path)
        self.assertFalse(os.path.exists("harmed"))

    def test_a_bomb_is_not_unpacked(self):
        np.savez_compressed(self.path, x_train=np.zeros(1 << 20, np.uint8))
        with (
            mock.patch.object(os, "sysconf", lambda name: 512),
            self.assertRaisesRegex(UserError, "unpacks to 1 MB, and this machine has"),
        ):
            npz._arrays(self.path)

    def test_a_header_that_lies_about_its_size(self):
        np.savez(self.path, x_train=np.zeros([1000], np.uint8))
        data = self.path.read_bytes()
        self.path.write_bytes(data.replace(b"(1000,)", b"(9e12,)"))
        with self.assertRaisesRegex(UserError, "not an npz file of plain arrays"):
            npz._arrays(self.path)


class SumsTest(absltest.TestCase):
    def test_every_change_in_a_folder_is_noticed(self):
        root = pathlib.Path(self.create_tempdir().full_path)
        (root / "inner").mkdir()
        (root / "inner" / "b").write_bytes(b"content")
        (root / "a").write_bytes(b"")
        sums = root / "SHA256SUMS"
        sha256sums.write(root, sums)
        sha256sums.check(root, sums)
        for path in (root / "inner" / "b", sums):
            before = path.read_bytes()
            path.write_bytes(bytes([before[0] ^ 1]) + before[1:])
            with self.assertRaisesRegex(UserError, str(root)):
                sha256sums.check(root, sums)
            path.write_bytes(before)
        (root / "a").unlink()
        with self.assertRaisesRegex(UserError, f"{root}/a is damaged or gone"):
            sha256sums.check(root, sums)
        sha256sums.check(root, sums, leave_out="a".__eq__)


if __name__ == "__main__":
    absltest.main()
