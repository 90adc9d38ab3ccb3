"""Runs of the methods that learn how to augment: stopped, resumed and looked at."""

import pathlib

import numpy as np
from absl.testing import absltest, parameterized

from la_tf import methods
from la_tf.run import checkpoints
from la_tf.run import folder as run_folder
from tests import runs

# Ten steps in two epochs. A controller decides anew after steps 3, 6 and 9, a sampler
# after steps 5 and 10.
OPTIONS = {
    "adversarial": {"num_views": 2, "controller_interval": 3},
    "metaaugment": {},
}
# What the views are drawn from.
DRAWN_FROM = {"adversarial": "decisions", "metaaugment": "probabilities"}


class LearnedMethodsTest(parameterized.TestCase):
    @parameterized.parameters(*OPTIONS)
    def test_a_run(self, method):
        folder = pathlib.Path(self.create_tempdir().full_path)
        options = {**methods.get(method).constants, **OPTIONS[method]}
        whole, stopped = (
            runs.configuration(folder / name, method=method, epochs=2, **options)
            for name in ("whole", "stopped")
        )
        runs.start(whole)
        # In the middle of an epoch and of an interval.
        runs.stop(stopped, 7)
        runs.resume(stopped.run_dir)
        self.assertEmpty(runs.differences(whole.run_dir, stopped.run_dir))

        # A report draws as the run had learned to at its end.
        name = DRAWN_FROM[method]
        rule = methods.rule(whole)
        before = getattr(rule, name).numpy()
        path = checkpoints.latest(run_folder.RunFolder(whole.run_dir))
        checkpoints.restore_learner(rule, path)
        after = getattr(rule, name).numpy()
        saved = f"model/learner/{name}/.ATTRIBUTES/VARIABLE_VALUE"
        np.testing.assert_array_equal(after, runs.variables(whole.run_dir)[saved])
        self.assertFalse(np.array_equal(before, after))


if __name__ == "__main__":
    absltest.main()
