"""The notebook in docs runs, and shows what running it showed."""

import contextlib
import json
import os

from absl.testing import absltest

from tests import helper

NOTEBOOK = helper.ROOT / "docs" / "notebook.ipynb"

# Smaller than on the page, for the same code.
SMALLER = {
    "epochs=15": "epochs=1, limit_train=60, batch_size=30, num_views=2, verbosity=-1",
    "run.evaluate()": "run.evaluate(robustness_images=8)",
    ', tflite=("int8",)': "",
}


def code_cells():
    """The notebook's cells of code."""
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


class NotebookTest(absltest.TestCase):
    def test_it_was_executed_from_top_to_bottom(self):
        cells = code_cells()
        counts = [cell["execution_count"] for cell in cells]
        self.assertEqual(counts, list(range(1, len(cells) + 1)))
        kinds = {part["output_type"] for cell in cells for part in cell["outputs"]}
        self.assertNotIn("error", kinds)
        self.assertTrue(all(cell["outputs"] for cell in cells))

    def test_its_cells_run(self):
        script = "\n".join("".join(cell["source"]) for cell in code_cells())
        for text, smaller in SMALLER.items():
            self.assertEqual(script.count(text), 1)
            script = script.replace(text, smaller)
        names = {}
        with contextlib.ExitStack() as stack:
            stack.callback(os.chdir, os.getcwd())
            os.chdir(self.create_tempdir().full_path)
            stack.enter_context(contextlib.redirect_stdout(None))
            exec(compile(script, "notebook.ipynb", "exec"), names)
            self.assertLen(names["run"].metrics, 1)
            self.assertTrue((names["version"] / "saved_model.pb").exists())
        self.assertEqual(names["views"].shape, (4, 6, 16, 16, 1))


if __name__ == "__main__":
    absltest.main()
