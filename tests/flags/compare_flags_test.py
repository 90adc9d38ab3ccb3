"""The flags of a comparison, and what they say when wrong."""

import json
import math

from absl import flags as absl_flags
from absl.testing import absltest, flagsaver, parameterized

from flags import compare as compare_flags
from flags import help as flags_help
from la_tf import methods
from la_tf.errors import UserError


def options(*arguments):
    """The CompareOptions of a command line."""
    with flagsaver.flagsaver():
        absl_flags.FLAGS(["la_tf.compare", *arguments])
        return compare_flags.options_from_flags()


def names(made):
    ((study, _),) = made.studies
    return [setting.name for setting in study.settings]


class CompareFlagsTest(parameterized.TestCase):
    def test_without_flags_all_methods_are_compared_on_digits(self):
        made = options()
        self.assertEqual(names(made), list(methods.NAMES))
        ((study, folder),) = made.studies
        self.assertEqual(list(study.groups), ["digits with wrn_16_1"])
        self.assertEqual(study.settings[0].seeds, (0, 1, 2))
        self.assertEqual(folder, "compare")

    def test_a_grid(self):
        made = options(
            *("--methods=latent,equal", "--sweep=sigma:0,inf", "--sweep=num_views:2,4"),
            *("--seeds=4,7", "--epochs=5", "--reference=latent, sigma=0, num_views=2"),
        )
        self.assertLen(names(made), 6)
        ((study, _),) = made.studies
        self.assertEqual(study.settings[2].config.sigma, math.inf)
        self.assertEqual({setting.config.epochs for setting in study.settings}, {5})
        self.assertEqual(study.settings[0].seeds, (4, 7))
        self.assertEqual(study.references, ("latent, sigma=0, num_views=2",))
        # What was chosen can be written as a file.
        self.assertNotIn("Infinity", json.dumps(study.plan))

    def test_presets_have_a_folder_each(self):
        made = options("--presets=table3,figure4", "--compare_dir=x")
        self.assertEqual(
            [folder for _, folder in made.studies], ["x/table3", "x/figure4"]
        )

    def test_a_changed_preset_says_so(self):
        ((study, _),) = options("--presets=extra", "--epochs=2").studies
        self.assertIn("not the paper's experiment: epochs=2", study.notes[-1])
        self.assertEqual(study.settings[0].config.epochs, 2)

    def test_a_study_s_folder_is_named_like_its_file(self):
        path = self.create_tempfile("a.json", '{"settings": [{"method": "equal"}]}')
        made = options(f"--study={path.full_path}", "--data_dir=/d", "--jobs=2")
        ((study, folder),) = made.studies
        self.assertEqual(folder, path.full_path[: -len(".json")])
        self.assertEqual(study.settings[0].config.data_dir, "/d")

    @parameterized.parameters(
        (["--method=latent"], "takes --methods"),
        (["--seed=1"], "takes --seeds"),
        (["--run_dir=x"], "--runs_dir"),
        (["--sweep=sigma"], "must look like"),
        (["--sweep=sigam:1"], "did you mean sigma?"),
        (["--sweep=sigma:1", "--sigma=2"], "both given"),
        (["--sweep=sigma:x"], "'x' is no float"),
        (["--seeds=x"], "--seeds=x must be"),
        (["--methods=latant"], "did you mean latent?"),
        (["--presets=tabel1"], "did you mean table1?"),
        (["--presets=transfer"], "needs --prior_from"),
        (["--presets=table1", "--seeds=2"], "--presets decides --seeds"),
        (["--study=x.json", "--presets=table1"], "choose one"),
        (["--study=x.json", "--epochs=3"], "decides --epochs"),
        (["--study=x.json"], "cannot be read"),
    )
    def test_mistakes(self, arguments, words):
        with self.assertRaisesRegex(UserError, words):
            options(*arguments)

    def test_help_is_one_line_a_flag(self):
        page = flags_help.page(compare_flags.USAGE, compare_flags.GROUPS)
        for line in page.splitlines():
            self.assertLessEqual(len(line), flags_help.WIDTH)


if __name__ == "__main__":
    absltest.main()
