"""The report of a run: what the page says, how it behaves and what is refused."""

import base64
import html
import html.parser
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import numpy as np
import tensorflow as tf
from PIL import Image

from la_tf import console, methods, ops, policy
from la_tf.config import TrainConfig
from la_tf.errors import UserError
from la_tf.report import example_views, markup, runs, summary, writing
from la_tf.run import build, provenance, recorder
from la_tf.run.folder import RunFolder
from tests import helper

THIN = helper.thin_wide_resnets()
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
EPOCHS = 3


def setUpModule():
    """Makes the folder of a run, which every test reports or copies.

    All but the training is real: its network is as it was initialised.
    """
    global TRAINED
    THIN.start()
    TRAINED = pathlib.Path(tempfile.mkdtemp()) / "trained"
    config = TrainConfig(
        dataset="digits",
        model="wrn_10_1",
        num_views=3,
        epochs=EPOCHS,
        final="cutout",
    )
    source = build.load_source(config)
    folder = RunFolder(TRAINED)
    folder.write_record(provenance.record(config, source))
    shape = [EPOCHS, policy.NUM_POLICIES]
    priors = np.random.default_rng(0).gamma(20, size=shape)
    priors /= priors.sum(1, keepdims=True)
    folder.write_history(rows(), priors, ops.OPERATIONS)
    folder.write_summary({"waits_for_input": 0.125})
    classifier = build.build_classifier(
        config, source.image_shape, source.num_classes, source.mean, source.std
    )
    checkpoint = tf.train.Checkpoint(model=tf.train.Checkpoint(classifier=classifier))
    checkpoint.save(str(folder.checkpoints / "step"))


def rows():
    """Those of metrics.csv."""
    return [row(epoch) for epoch in range(EPOCHS)]


def row(epoch):
    """A row of metrics.csv as a run writes it."""
    numbers = dict.fromkeys(recorder.COLUMNS, 0.5 + 0.1 * epoch)
    clock = {"seconds": 2.0, "evaluation_seconds": 0.5, "saving_seconds": 0.1}
    return {
        "epoch": epoch + 1,
        "step": 22 * (epoch + 1),
        **numbers,
        "learning_rate": 0.1,
        "images_per_second": 700.0,
        **clock,
    }


def tearDownModule():
    THIN.stop()
    shutil.rmtree(TRAINED.parent)


def copied(directory, name="copy", **values):
    """A copy of the run, some values of its configuration told otherwise."""
    path = pathlib.Path(directory) / name
    shutil.copytree(TRAINED, path)
    record = RunFolder(path).record()
    record["config"].update(values)
    record["config"].update(methods.get(record["config"]["method"]).constants)
    RunFolder(path).write_record(record)
    return path


def rewrite(path, table):
    """Give a run another metrics.csv."""
    folder = RunFolder(path)
    folder.write_history(table, folder.policies(), ops.OPERATIONS)


def written(*paths, to, with_views=True):
    """The text of the report of these runs."""
    with console.Stages(1, verbosity=-1) as stages:
        path = writing.write(runs.read(paths), to, stages, with_views)
    return path.read_text("utf-8")


class Page(html.parser.HTMLParser):
    """The elements of a page, as pairs of name and attributes."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def all(self, name):
        return [attributes for tag, attributes in self.elements if tag == name]


def headings(text):
    return re.findall(r"<h[2-4]>(.*?)</h[2-4]>", text)


class OneRunTest(tf.test.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.directory = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        cls.text = written(TRAINED, to=cls.directory)
        cls.page = Page(cls.text)

    def test_all_parts_are_there(self):
        expected = ["Summary", "Curves", "Prior over policies", "Policies"]
        expected += ["Most likely", "Least likely", "Operations and levels", "Views"]
        expected += ["Hardest images", "Mistakes", "Time", "Configuration"]
        self.assertEqual(headings(self.text), expected)
        self.assertIn("la_tf.train", self.text)
        self.assertIn(f"{EPOCHS} of {EPOCHS}", self.text)
        self.assertIn("waited for its input 12% of the time", self.text)

    def test_nothing_is_fetched(self):
        for _, attributes in self.page.elements:
            for name in ("src", "href", "xlink:href", "action", "data"):
                value = attributes.get(name) or "#"
                self.assertTrue(value.startswith(("data:", "#")), value[:80])
        self.assertEmpty(self.page.all("link"))
        self.assertNotIn("@import", self.text)
        self.assertNotRegex(self.text, r"url\((?!#)")

    def test_every_picture_is_told_in_words(self):
        images = self.page.all("img")
        # Four images of three views each, twenty policies, and the levels.
        self.assertGreater(len(images), 4 * 4 + 20 + 16)
        for image in images:
            self.assertGreater(len(image["alt"]), 5)
        for drawing in self.page.all("svg"):
            self.assertEqual(drawing["role"], "img")
            self.assertGreater(len(drawing["aria-label"]), 20)

    def test_names_are_unique(self):
        names = [attrs["id"] for _, attrs in self.page.elements if "id" in attrs]
        self.assertLen(set(names), len(names))
        for used in re.findall(r'(?:url\(|href=")#([^)"]+)', self.text):
            self.assertIn(used, names)

    def test_configuration_tells_where_values_came_from(self):
        cells = r'<tr><th scope="row">{}</th><td>{}</td><td>{}</td>'
        self.assertRegex(self.text, cells.format("epochs", EPOCHS, "chosen"))
        self.assertRegex(self.text, cells.format("batch_size", 64, "recipe"))

    def test_numbers_under_the_views_obey_the_equations(self):
        prior = RunFolder(TRAINED).policies()[-1]
        views = self.text[self.text.index("<h2>Views") :]
        rows = re.findall(r'<div class="tiles">(.*?)</div>', views)
        # Four images as they come, and the four hardest.
        self.assertLen(rows, 8)
        pattern = r"(\w+ &gt; \w+)<br>.*?<br>P (.*?)<br>h (.*?)<br>h̃ ([\d.]+)"
        for row in rows:
            found = re.findall(pattern, row)
            self.assertLen(found, 3)
            names = [html.unescape(one[0]).replace(" ", "") for one in found]
            told = np.array([one[1:] for one in found], float)
            joint = prior[[policy.index_of(name) for name in names]] * told[:, 0]
            # The page has three digits, which is coarse where P is small.
            self.assertAllClose(told[:, 1], joint / joint.sum(), atol=0.03)
            weights = np.exp(-told[:, 1])
            self.assertAllClose(told[:, 2], weights / weights.sum(), atol=0.001)

    def test_the_hardest_images_have_the_highest_losses(self):
        run = runs.read([TRAINED])[0]
        classifier = example_views.network_of(run).classifier
        train = build.load_source(run.config).train
        logits = classifier.predict(train.images, verbose=0)
        entropy = tf.keras.losses.SparseCategoricalCrossentropy(
            from_logits=True, reduction="none"
        )
        losses = entropy(train.labels, logits).numpy()
        part = self.text[self.text.index("<h2>Hardest images") :]
        tile = r"base64,([^\"]+)\" alt=\"Image \d, .*?<br>loss ([\d.]+)"
        told = re.findall(tile, part)
        self.assertLen(told, 4)
        for data, loss in told:
            pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))
            places = (train.images[..., 0] == pixels).all((1, 2))
            self.assertAllClose(losses[places].max(), float(loss), rtol=0.01)
        shown = [float(loss) for _, loss in told]
        self.assertEqual(shown, sorted(shown, reverse=True))
        # They are the highest of 128 among 1,437: far above the middle.
        self.assertGreater(shown[-1], np.quantile(losses, 0.9))

    def test_a_run_that_was_not_evaluated_says_how(self):
        command = f"python -m la_tf.evaluate --run_dir={TRAINED}"
        self.assertIn(command, self.text[self.text.index("<h2>Mistakes") :])

    def test_the_ten_policies_are_in_order(self):
        multiples = RunFolder(TRAINED).policies()[-1] * 256
        order = np.argsort(-multiples, kind="stable")
        for name, indices in (("Most", order[:10]), ("Least", order[::-1][:10])):
            start = self.text.index(f"{name} likely")
            found = re.findall(r"\d+\. (\w+ &gt; \w+)<br>([\d.]+) ×", self.text[start:])
            expected = [
                (policy.name_of(i).replace(">", " &gt; "), f"{multiples[i]:.2f}")
                for i in indices
            ]
            self.assertEqual(found[:10], expected)

    def test_pictures_lie_beside_it(self):
        names = {path.stem for path in self.directory.glob("*.svg")}
        for name in ("loss", "accuracy", "prior_start", "prior_end", "views", "time"):
            self.assertIn(name, names)
        for name in names:
            with Image.open(self.directory / f"{name}.png") as image:
                self.assertGreater(np.asarray(image.convert("L")).std(), 1)
            file = self.directory / f"{name}.svg"
            root = xml.etree.ElementTree.parse(file).getroot()
            self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")

    def test_images_are_those_of_the_data_set(self):
        views = self.text[self.text.index("<h2>Views") :]
        data = re.search(r"base64,([^\"]+)\" alt=\"Image 1, ", views).group(1)
        pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))
        from la_tf.data import sources

        train = sources.load("digits").train.images[..., 0]
        self.assertTrue((train == pixels).all((1, 2)).any())

    def test_the_slider_works_in_a_browser(self):
        browser = next(filter(None, map(shutil.which, BROWSERS)), None)
        if browser is None:
            self.skipTest("no browser is installed; the page's text is tested above")
        moved = """<script>
          const input = document.querySelector(".slider input");
          input.value = 0;
          input.dispatchEvent(new Event("input"));
        </script></body>"""
        page = self.directory / "moved.html"
        page.write_text(self.text.replace("</body>", moved), "utf-8")
        dom = dumped(browser, page)
        self.assertIn('data-ready="yes"', dom)
        box = re.search(r'<div class="slider".*?</svg>', dom, re.DOTALL).group()
        self.assertNotIn("hidden", box[: box.index(">")])
        self.assertIn("after epoch 1:", box)
        multiples = RunFolder(TRAINED).policies()[0] * 256
        best = np.argmax(multiples)
        name = policy.name_of(best).replace(">", " &gt; ")
        self.assertIn(f"<li>{name}: {multiples[best]:.2f} times uniform</li>", box)
        fills = re.findall(r'<rect [^>]*fill="(#\w{6})"', box)
        self.assertLen(fills, 256)
        # Yellow is high and dark violet low; green tells them apart.
        greens = [int(fill[3:5], 16) for fill in fills]
        self.assertEqual(fills[best], "#fde725")
        self.assertLess(greens[np.argmin(multiples)], 0x20)
        self.assertGreater(np.corrcoef(greens, multiples)[0, 1], 0.95)


def dumped(browser, page):
    """The page's elements after its scripts have run."""
    with tempfile.TemporaryDirectory() as home:
        result = subprocess.run(
            [
                browser,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--no-first-run",
                f"--user-data-dir={home}",
                "--virtual-time-budget=5000",
                "--dump-dom",
                page.as_uri(),
            ],
            env={**os.environ, "HOME": home},
            capture_output=True,
            text=True,
            timeout=helper.PATIENCE,
            check=True,
        )
    return result.stdout


class OtherRunsTest(tf.test.TestCase):
    def setUp(self):
        super().setUp()
        self.directory = pathlib.Path(self.create_tempdir().full_path)

    def test_a_checkpoint_of_another_method_is_named(self):
        path = copied(self.directory, method="metaaugment")
        with self.assertRaisesRegex(UserError, "another method.*--noviews"):
            written(path, to=self.directory / "to")

    def test_a_run_that_diverged_is_named_as_such(self):
        for loss, diverged in ((1.3e8, True), (float("nan"), True), (12.0, False)):
            name = f"loss {loss}"
            path = copied(self.directory, name)
            table = rows()
            table[-1]["test_loss"] = loss
            rewrite(path, table)
            text = summary.section(*runs.read([path]), level=2)
            words = (
                f"has diverged: its last test loss is {loss:.3g}, and guessing alone"
            )
            self.assertEqual(words in text, diverged)

    def test_text_is_escaped(self):
        self.assertEqual(
            markup.tag("p", "<b>", class_='"'), '<p class="&quot;">&lt;b&gt;</p>'
        )


class BadInputTest(tf.test.TestCase):
    def setUp(self):
        super().setUp()
        self.directory = pathlib.Path(self.create_tempdir().full_path)

    def check_refused(self, pattern, path, with_views=True):
        to = self.directory / "to"
        with self.assertRaisesRegex(UserError, pattern):
            written(path, to=to, with_views=with_views)
        self.assertFalse((to / writing.NAME).exists())

    def test_a_folder_that_is_no_run(self):
        self.check_refused("holds no run", self.directory)

    def test_a_run_without_a_finished_epoch(self):
        path = copied(self.directory)
        for name in ("metrics.csv", "policy.npz"):
            (path / name).unlink()
        self.check_refused("no finished epoch", path)

    def test_damaged_tables(self):
        for name in ("metrics.csv", "policy.npz"):
            path = copied(self.directory, name.split(".")[0])
            (path / name).write_bytes(b"epoch,loss\nx,y\n")
            self.check_refused("is damaged", path)

    def test_a_truncated_checkpoint(self):
        path = copied(self.directory)
        for file in (path / "checkpoints").glob("*.data-*"):
            file.write_bytes(file.read_bytes()[:1000])
        self.check_refused("damaged or belongs .*--noviews", path)

    def test_a_checkpoint_of_another_network(self):
        path = copied(self.directory, model="wrn_16_1")
        self.check_refused("another network.*--noviews", path)

    def test_a_run_without_checkpoints(self):
        path = copied(self.directory)
        shutil.rmtree(path / "checkpoints")
        self.check_refused("no checkpoint.*--noviews", path)

    def test_data_that_cannot_be_read(self):
        path = copied(self.directory, dataset="npz", data_dir="/nowhere/x.npz")
        self.check_refused("--noviews", path)

    def test_the_same_run_twice(self):
        with self.assertRaisesRegex(UserError, "twice"):
            runs.read([str(TRAINED), f"{TRAINED}/"])

    def test_a_place_that_cannot_be_written(self):
        file = self.create_tempfile().full_path
        with self.assertRaisesRegex(UserError, "--report_dir"):
            written(TRAINED, to=file, with_views=False)


class CommandTest(tf.test.TestCase):
    def run_command(self, *arguments):
        return subprocess.run(
            [sys.executable, "-m", "la_tf.report", *arguments],
            cwd=helper.ROOT,
            capture_output=True,
            text=True,
            timeout=helper.PATIENCE,
        )

    def test_a_mistake_is_one_sentence(self):
        for arguments in ((), ("--run_dir=/nowhere",)):
            result = self.run_command(*arguments)
            self.assertEqual(result.returncode, 2)
            self.assertRegex(result.stderr, r"\Aerror: --run_dir.*\.\n\Z")


if __name__ == "__main__":
    tf.test.main()
