"""The flags of training, the recipes behind them, and what they say when wrong."""

import math
import os
import subprocess
import sys

from absl import flags as absl_flags
from absl.testing import absltest, flagsaver, parameterized

from flags import help as flags_help
from flags import train as train_flags
from la_tf import recipes
from la_tf.config import FIELDS, TrainConfig
from la_tf.errors import UserError


def config(*arguments):
    """The TrainConfig of a command line."""
    with flagsaver.flagsaver():
        absl_flags.FLAGS(["la_tf.train", *arguments])
        return train_flags.config_from_flags()


def run(*arguments):
    """The finished process of `python -m la_tf.train` with these arguments."""
    return subprocess.run(
        [sys.executable, "-m", "la_tf.train", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )


# The paper's table of hyperparameters, with the preprocessing that its text tells:
# learning rate, weight decay, batch size, epochs, preprocessing, flip, final step.
PAPER = """
cifar10           wrn_40_2              0.1   2e-4   128 200  crop      yes cutmix
cifar10           wrn_28_10             0.1   5e-4   128 200  crop      yes cutmix
cifar10           shake_shake_26_2x32d  0.01  1e-3   128 1800 crop      yes cutmix
cifar10           shake_shake_26_2x96d  0.01  1e-3   128 1800 crop      yes cutmix
cifar10           shake_shake_26_2x112d 0.01  1e-3   128 1800 crop      yes cutmix
cifar10           pyramidnet_272_200    0.05  5e-5   64  1800 crop      yes cutmix
cifar100          wrn_40_2              0.1   2e-4   128 200  crop      yes cutmix
cifar100          wrn_28_10             0.1   5e-4   128 200  crop      yes cutmix
cifar100          shake_shake_26_2x96d  0.01  2.5e-3 128 1800 crop      yes cutmix
svhn              wrn_28_10             0.005 1e-3   128 160  none      no  cutout
imagenet2012      resnet_50             0.1   1e-4   256 270  inception yes cutmix
mnist             wrn_40_2              0.1   2e-4   128 200  crop      no  cutout
fashion_mnist     wrn_40_2              0.1   2e-4   128 200  crop      yes cutmix
oxford_flowers102 resnet_50             0.1   1e-4   256 270  inception yes cutmix
"""


class RecipesTest(parameterized.TestCase):
    @parameterized.parameters(*(line.split() for line in PAPER.strip().splitlines()))
    def test_dataset_and_model_alone_are_the_paper_s_row(self, dataset, model, *row):
        chosen = config(f"--dataset={dataset}", f"--model={model}")
        rate, decay, batch, epochs, preprocessing, flip, final = row
        self.assertEqual(chosen.learning_rate, float(rate))
        self.assertEqual(chosen.weight_decay, float(decay))
        self.assertEqual((chosen.batch_size, chosen.epochs), (int(batch), int(epochs)))
        self.assertEqual(chosen.preprocessing, preprocessing)
        self.assertEqual(chosen.flip, flip == "yes")
        self.assertEqual(chosen.final, final)
        self.assertEqual((chosen.num_views, chosen.sigma), (6, 1.0))
        self.assertEqual((chosen.prior, chosen.prior_window), ("moving", 10))
        self.assertIsNone(recipes.note(chosen.dataset, chosen.model))

    def test_special_values_of_single_rows(self):
        self.assertEqual(config("--dataset=svhn").cutout_share, 20 / 32)
        self.assertEqual(config("--dataset=imagenet2012").cutmix_probability, 1.0)
        self.assertEqual(config("--dataset=cifar10").cutmix_probability, 0.5)

    @parameterized.parameters(
        ("cifar100", "pyramidnet_272_200", "cifar10", "pyramidnet_272_200"),
        ("cifar10", "wrn_16_4", "cifar10", "wrn_40_2"),
        ("svhn", "wrn_40_2", "svhn", "wrn_28_10"),
        ("npz", "wrn_28_10", "cifar10", "wrn_28_10"),
        ("folder", "resnet_50", "imagenet2012", "resnet_50"),
        ("folder", "EfficientNetV2B0", "imagenet2012", "resnet_50"),
        ("cifar10", "resnet_50", "cifar10", "wrn_40_2"),
    )
    def test_a_missing_row_takes_the_nearest(self, dataset, model, near, near_model):
        row = recipes.find(dataset, model)
        self.assertEqual((row.dataset, row.model), (near, near_model))

    def test_a_missing_row_is_told_in_one_line(self):
        chosen = config("--dataset=cifar100", "--model=pyramidnet_272_200")
        note = recipes.note(chosen.dataset, chosen.model)
        self.assertIn("cifar10 with pyramidnet_272_200", note)
        self.assertNotIn("\n", note)

    def test_small_arrays_are_never_cropped_as_photographs(self):
        chosen = config("--dataset=npz", "--data_dir=x.npz", "--model=resnet_50")
        self.assertEqual(chosen.preprocessing, "crop")


class ConfigTest(parameterized.TestCase):
    def test_origins_tell_flag_recipe_method_and_default(self):
        chosen = config("--dataset=cifar10", "--epochs=3", "--method=equal")
        self.assertEqual(chosen.epochs, 3)
        self.assertEqual(chosen.origins["epochs"], "chosen")
        self.assertEqual(chosen.origins["model"], "recipe")
        self.assertEqual(chosen.origins["learning_rate"], "recipe")
        self.assertEqual(chosen.origins["sigma"], "method")
        self.assertEqual(chosen.origins["prior_window"], "default")
        self.assertCountEqual(chosen.origins, FIELDS)

    def test_no_flags_train_the_embedded_digits(self):
        self.assertEqual(config().dataset, "digits")

    def test_values_survive_json(self):
        chosen = config("--method=equal")
        self.assertEqual(chosen.values()["sigma"], "inf")
        again = TrainConfig.from_values(chosen.values())
        self.assertTrue(math.isinf(again.sigma))
        self.assertEqual(again.values(), chosen.values())

    @parameterized.parameters(
        (["--resume"], "--run_dir"),
        (["--dataset=folder"], "--data_dir"),
        (["--num_views=4", "--backward_views=5"], "--num_views"),
        (["--ubs_select=7"], "--ubs_select"),
        (["--method=equal", "--sigma=0.5"], "--sigma"),
        (["--method=baseline", "--num_views=4"], "--num_views"),
        (["--view_chunk=7"], "--view_chunk"),
        (["--jit_compile", "--strategy=mirrored"], "--jit_compile"),
        (["--dataset=cifar10", "--preprocessing=inception"], "--preprocessing"),
        (["--strategy=multiworker"], "--run_dir"),
        (["--freeze=backbone"], "--init_from"),
        (["--head_epochs=2"], "--init_from"),
        (["--backbone_rate=0.1"], "--init_from"),
        (["--init_from=x", "--freeze=backbone", "--head_epochs=2"], "--head_epochs"),
        (["--init_from=x", "--epochs=3", "--head_epochs=3"], "--freeze=backbone"),
    )
    def test_flags_that_do_not_fit_together(self, arguments, named):
        with self.assertRaisesRegex(UserError, named):
            config(*arguments)


class CommandLineTest(parameterized.TestCase):
    @parameterized.parameters(
        ("--dataset=cifra10", "cifar10"),
        ("--model=wrn_40_3x", "wrn_"),
        ("--model=wrn_41_2", "--model"),
        ("--epochs=0", "--epochs"),
        ("--epochs=-3", "--epochs"),
        ("--batch_size=999999999999", "--batch_size"),
        ("--learning_rate=nan", "--learning_rate"),
        ("--sigma=-1", "--sigma"),
        ("--optimizer=adam", "adamw"),
        ("--model=MobileNetV3Smal", "MobileNetV3Small"),
        ("--num_views=257", "--num_views"),
        ("--prior=moved", "moving"),
        ("--epoch=3", "--epochs"),
        ("--data_service=localhost:5000", "grpc://"),
        ("extra", "extra"),
    )
    def test_a_bad_value_gives_one_sentence_and_exit_code_2(self, argument, named):
        with self.subTest(argument):
            done = run(argument)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(named, done.stderr)
            self.assertLen(done.stderr.strip().splitlines(), 1)
            self.assertEqual(done.stdout, "")

    def test_help_fits_on_three_screens(self):
        done = run("--help")
        self.assertEqual(done.returncode, 0)
        lines = done.stdout.splitlines()
        self.assertLess(len(lines), 3 * 26)
        self.assertLessEqual(max(map(len, lines)), flags_help.WIDTH)
        for name in FIELDS:
            if name in absl_flags.FLAGS:
                self.assertIn(f"--{name} ", done.stdout)


if __name__ == "__main__":
    absltest.main()
