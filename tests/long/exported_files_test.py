"""Every file of an export is evaluated as the run itself, TFLite's of each kind too."""

import pathlib
from unittest import mock

import tensorflow as tf

import la_tf
from la_tf.config import TrainConfig
from la_tf.errors import UserError
from la_tf.export import TFLITE_KINDS, writer
from la_tf.run import folder as run_folder
from la_tf.run import restore
from la_tf.train import loop
from tests import helper
from tests.la_tf.evaluate.evaluate_test import main, read
from tests.la_tf.export import export_test


def trained(run_dir):
    """The folder and the summary of a run that was trained for a moment."""
    config = TrainConfig(
        model="wrn_10_1",
        method="baseline",
        num_views=1,
        limit_train=640,
        batch_size=64,
        epochs=2,
        flip=False,
        final="none",
        strategy="none",
        verbosity=-1,
        run_dir=str(run_dir),
    )
    folder = run_folder.fresh(config)
    with helper.without_pictures():
        return folder, loop.train_and_evaluate(config, folder)


class ExportedFilesTest(tf.test.TestCase):
    def test_every_exported_file_can_be_evaluated(self):
        folder = pathlib.Path(self.create_tempdir().full_path)
        run, summary = trained(folder / "run")
        version = la_tf.load(run.path).export(folder / "served", tflite=TFLITE_KINDS)
        self.assertEqual(version, folder / "served" / "1")
        main(f"--run_dir={run.path}", "--robustness_images=0", "--verbosity=-1")
        expected = read(run.path)
        self.assertAlmostEqual(expected["top_1"], summary["last_accuracy"], places=6)
        files = sorted(path.name for path in version.glob("classifier*"))
        self.assertEqual(
            files,
            ["classifier.keras"]
            + [f"classifier_{kind}.tflite" for kind in sorted(TFLITE_KINDS)],
        )
        for name in files:
            with self.subTest(name):
                output = folder / name
                main(
                    f"--saved_model={version / name}",
                    f"--output_dir={output}",
                    "--robustness_images=0",
                    "--verbosity=-1",
                )
                result = read(output)
                if name == "classifier.keras":
                    self.assertEqual(result["confusion"], expected["confusion"])
                # Whole numbers of eight bits move an answer at a border here and there.
                few = 0.02 if "int8" in name else 0.003
                self.assertAlmostEqual(result["top_1"], expected["top_1"], delta=few)
                few = 0.05 if "int8" in name else 0.003
                self.assertAlmostEqual(result["loss"], expected["loss"], delta=few)

    def test_the_best_checkpoint_is_another_network(self):
        folder = pathlib.Path(self.create_tempdir().full_path)
        run, served = folder / "run", folder / "best"
        images = helper.digits(5)[0].repeat(2, axis=1).repeat(2, axis=2)
        last = export_test.write_run(run, best_seed=1)(images)
        best = restore.load(run_folder.RunFolder(run), "best").classifier(images)
        path = export_test.export_to(served, run, checkpoint="best", version=9)
        self.assertEqual(path, served / "9")
        loaded = tf.saved_model.load(str(path))
        given = loaded.logits(tf.constant(images))
        self.assertAllClose(given, best, rtol=0, atol=1e-5)
        self.assertNotAllClose(given, last, atol=0.1)

    def test_the_command_tells_the_stages_in_lines_and_what_to_do_next(self):
        folder = pathlib.Path(self.create_tempdir().full_path)
        run, served = folder / "run", folder / "served"
        export_test.write_run(run)
        printed = export_test.main(f"--run_dir={run}", f"--export_dir={served}")
        self.assertIn("rebuilding the network ...\n", printed)
        self.assertIn(f"exported   {served}/1\n", printed)
        self.assertNotIn("\r", printed)

    def test_an_export_that_fails_leaves_nothing(self):
        folder = pathlib.Path(self.create_tempdir().full_path)
        run, served = folder / "run", folder / "served"
        export_test.write_run(run)
        seen = []

        def fail(path, *unused):
            seen.extend(served.iterdir())
            raise OSError(28, "No space left on device")

        failing = mock.patch.object(writer.warmup, "write", fail)
        with failing, self.assertRaisesRegex(UserError, "No space left"):
            export_test.export_to(served, run)
        # Up to its end the model stood where Serving does not look.
        self.assertLen(seen, 1)
        self.assertStartsWith(seen[0].name, ".export-")
        self.assertEmpty(list(served.iterdir()))


if __name__ == "__main__":
    tf.test.main()
