"""Images and classes are found in the layouts people have, and faults are named."""

import pathlib
import subprocess
import sys

from absl.testing import absltest, parameterized

from la_tf.config import TrainConfig
from la_tf.data.sources import listing
from la_tf.errors import UserError
from la_tf.run.folder import RunFolder
from tests import helper


class ListingTest(parameterized.TestCase):
    def setUp(self):
        super().setUp()
        self.root = pathlib.Path(self.create_tempdir().full_path)

    def write(self, *paths):
        """Write files, which no listing ever opens."""
        for path in paths:
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_bytes(b"")

    def table(self, name, text):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text, "utf-8")
        return self.root / name

    def found(self, part):
        """Pairs of path below the root and class."""
        return [
            (
                pathlib.Path(path).relative_to(self.root).as_posix(),
                part.class_names[label],
            )
            for path, label in zip(part.paths, part.labels)
        ]

    def assert_error(self, sentence, data_dir=None):
        with self.assertRaisesRegex(UserError, sentence):
            listing.find(data_dir or self.root)


class FoldersTest(ListingTest):
    def test_images_at_any_depth(self):
        self.write("train/b/2.jpg", "train/b/1.jpg", "train/a/images/x/3.JPEG")
        self.write("train/a/4.png", "train/a/.cache/5.png", "train/a/Thumbs.db")
        (train,) = listing.find(self.root)
        self.assertEqual(train.class_names, ("a", "b"))
        self.assertEqual(
            self.found(train),
            [
                ("train/a/4.png", "a"),
                ("train/a/images/x/3.JPEG", "a"),
                ("train/b/1.jpg", "b"),
                ("train/b/2.jpg", "b"),
            ],
        )

    def test_tiny_imagenet_as_it_comes(self):
        self.write("wnids.txt", "train/n2/images/n2_0.JPEG", "train/n2/n2_boxes.txt")
        self.write("train/n1/images/n1_0.JPEG", "train/n1/n1_boxes.txt")
        self.write("val/images/val_0.JPEG", "val/images/val_1.JPEG")
        self.table(
            "val/val_annotations.txt",
            "val_0.JPEG\tn2\t0\t32\t44\t62\nval_1.JPEG\tn1\t52\t55\t57\t59\n",
        )
        self.write("test/images/test_0.JPEG")
        train, test = listing.find(self.root)
        self.assertLen(train.paths, 2)
        self.assertEqual(
            self.found(test),
            [("val/images/val_0.JPEG", "n2"), ("val/images/val_1.JPEG", "n1")],
        )

    @parameterized.parameters("test", "val", "validation")
    def test_names_of_the_test_part(self, name):
        self.write(
            "train/a/1.jpg", "train/b/2.jpg", f"{name}/a/3.jpg", f"{name}/b/4.jpg"
        )
        _, test = listing.find(self.root)
        self.assertEqual(test.origin, self.root / name)

    def test_the_test_part_comes_before_the_validation_part(self):
        for part in ("train", "val", "test"):
            self.write(f"{part}/a/1.jpg", f"{part}/b/2.jpg")
        self.assertEqual(listing.find(self.root)[1].origin, self.root / "test")

    def test_hints_say_what_was_seen(self):
        self.assert_error(
            "holds 0 class folders: found nothing; expected train/<class>"
        )
        self.write("1.jpg", "2.jpg", "3.jpg", "4.jpg")
        self.assert_error(r"found 4 files: 1.jpg, 2.jpg, 3.jpg, \.\.\.; expected")
        self.write("mine/train/a/5.jpg", "mine/test/a/5.jpg")
        self.assert_error(
            r"found 1 folder: mine and 4 files: .*labels\.csv.*Did you mean --data_dir="
            f"{self.root / 'mine'}"
        )
        self.write("val/a/6.jpg")
        self.assert_error("has val/ but no train/ in it: found 2 folders: mine, val")
        self.assert_error("neither a folder nor a table", self.root / "nowhere")

    def test_parts_must_have_the_same_classes(self):
        self.write("train/a/1.jpg", "train/b/2.jpg", "test/a/3.jpg")
        (self.root / "test" / "c").mkdir()
        self.assert_error("class folder .*c is empty")
        self.write("test/c/4.jpg")
        self.assert_error("the class 'b' is in .*train but not in .*test")


class TablesTest(ListingTest):
    def setUp(self):
        super().setUp()
        self.write("images/1.jpg", "images/2.jpg", "3.jpg")

    @parameterized.parameters(
        ("labels.csv", "path,label\n{}"),
        ("labels.csv", "{}"),
        ("labels.csv", "\ufeffFileName,Class\n{}"),
        ("labels.tsv", "path\tlabel\n{}"),
        ("mine.csv", "image;category\n{}"),
        ("list.txt", "{}"),
    )
    def test_headers_and_delimiters(self, name, text):
        delimiter = ";" if ";" in text else "\t" if name.endswith("tsv") else ", "
        rows = [("images/1.jpg", "cat"), ("2.jpg", "dog"), ("3.jpg", "cat")]
        rows = "\n".join(delimiter.join(row) for row in rows) + "\n\n"
        table = self.table(name, text.format(rows))
        data_dir = self.root if name.startswith("labels") else table
        (train,) = listing.find(data_dir)
        self.assertEqual(
            self.found(train),
            [("images/1.jpg", "cat"), ("images/2.jpg", "dog"), ("3.jpg", "cat")],
        )

    def test_columns_are_found_by_name_and_splits_told(self):
        self.table(
            "labels.csv",
            "id,split,label,path\n7,train,10,1.jpg\n8,train,2,2.jpg\n9,Test,10,3.jpg\n",
        )
        train, test = listing.find(self.root)
        # Numbers in their own order; the test part need not have every class.
        self.assertEqual(train.class_names, ("2", "10"))
        self.assertEqual(self.found(train)[0], ("images/1.jpg", "10"))
        self.assertEqual(self.found(test), [("3.jpg", "10")])

    def test_validation_rows_are_tested_on_only_without_test_rows(self):
        head = "path,label,split\n1.jpg,a,train\n2.jpg,b,train\n"
        self.table("labels.csv", head + "3.jpg,a,val\n")
        self.assertEqual(self.found(listing.find(self.root)[1]), [("3.jpg", "a")])
        self.table("labels.csv", head + "3.jpg,a,val\n1.jpg,a,test\n")
        _, test = listing.find(self.root)
        self.assertEqual(self.found(test), [("images/1.jpg", "a")])

    def test_a_table_beside_the_training_table(self):
        table = self.table("train.txt", '1.jpg, "0", 5\n2.jpg, "1", 5\n')
        self.table("val.txt", "3.jpg, 1, 5\n")
        train, test = listing.find(table)
        self.assertEqual(train.class_names, ("0", "1"))
        self.assertEqual(self.found(test), [("3.jpg", "1")])

    @parameterized.parameters(
        ("", "labels.csv is empty"),
        ("path,label\n", "has a header and no other line"),
        ("path,label\n1.jpg,a\n9.jpg,b\n", "line 3: there is no file '9.jpg'"),
        ("path,label\n1.jpg\n", "line 2: there are 1 cells"),
        ("path,label\n1.jpg,\n", "line 2: a path or a label is missing"),
        ("path,label,split\n1.jpg,a,\n", "line 2: the split '' is none of train"),
        ("path,label,split\n1.jpg,a,test\n", "names no image of the training part"),
        ("1.jpg,a\n2.jpg,a\n", "names one class only, 'a'"),
        (
            "path,label,split\n1.jpg,a,train\n2.jpg,b,train\n3.jpg,c,test\n",
            "the class 'c' is in",
        ),
    )
    def test_says_what_is_wrong(self, text, sentence):
        self.table("labels.csv", text)
        self.assert_error(sentence)

    def test_a_file_that_is_no_table(self):
        self.assert_error("is a file, but not a table", self.root / "3.jpg")
        (self.root / "labels.csv").write_bytes(b"caf\xe9.jpg,a\n")
        self.assert_error("cannot be read as a table .*UTF-8")


class EarlyErrorsTest(parameterized.TestCase):
    def told(self, command, *flags):
        """What a command writes to the error stream without importing TensorFlow."""
        program = (
            "import runpy, sys\n"
            "try:\n"
            f"    runpy.run_module('la_tf.{command}', run_name='__main__')\n"
            "finally:\n"
            "    assert 'tensorflow' not in sys.modules\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, *flags],
            cwd=helper.ROOT,
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 2, done.stderr)
        return done.stderr

    @parameterized.parameters("train", "preview")
    def test_a_wrong_path_is_told_before_tensorflow_is_imported(self, command):
        self.assertEqual(
            self.told(command, "--dataset=folder", "--data_dir=nowhere"),
            "error: --data_dir=nowhere is neither a folder nor a table.\n",
        )
        self.assertEqual(
            self.told(command, "--dataset=npz", "--data_dir=nowhere.npz"),
            "error: --data_dir=nowhere.npz does not exist.\n",
        )

    def test_so_is_one_of_images_to_evaluate_on(self):
        folder = RunFolder(self.create_tempdir().full_path)
        config = TrainConfig(dataset="folder", data_dir="gone", image_size=8)
        folder.write_record({"config": config.values()})
        run = f"--run_dir={folder.path}"
        for flags, path in (([], "gone"), (["--data_dir=nowhere"], "nowhere")):
            self.assertEqual(
                self.told("evaluate", run, *flags),
                f"error: --data_dir={path} is neither a folder nor a table.\n",
            )


if __name__ == "__main__":
    absltest.main()
