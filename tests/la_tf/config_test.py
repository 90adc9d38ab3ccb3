"""Configurations built in Python: completed and checked as the command line's are."""

import dataclasses
import json
import math
import pathlib

import numpy as np
from absl.testing import absltest, parameterized

from la_tf import config as configuration
from la_tf import methods, policy, recipes, rules
from la_tf.config import FIELDS, TrainConfig
from la_tf.errors import UserError
from la_tf.run import build
from la_tf.run import folder as run_folder


class ResolvedTest(parameterized.TestCase):
    @parameterized.parameters(*methods.NAMES)
    def test_a_method_brings_its_constants(self, name):
        config = TrainConfig(method=name)
        for field, constant in methods.get(name).constants.items():
            self.assertEqual(getattr(config, field), constant)
            self.assertEqual(config.origins[field], "method")

    def test_no_change_can_contradict_the_method(self):
        with self.assertRaisesRegex(UserError, "--method=equal means --weights=equal"):
            dataclasses.replace(TrainConfig(), method="equal")
        with self.assertRaisesRegex(UserError, "--sigma"):
            TrainConfig(method="equal", sigma=0.5)

    def test_a_recipe_completes_what_was_not_chosen(self):
        config = TrainConfig(dataset="svhn", epochs=3)
        self.assertEqual((config.model, config.learning_rate), ("wrn_28_10", 0.005))
        self.assertEqual((config.epochs, config.origins["epochs"]), (3, "chosen"))
        self.assertEqual(config.origins["learning_rate"], "recipe")

    def test_the_learning_rate_follows_the_batch_unless_it_is_given(self):
        config = TrainConfig(dataset="cifar10", batch_size=32)
        self.assertEqual(config.learning_rate, 0.1 / 4)
        self.assertIn("0.1 at batch_size=128", config.origins["learning_rate"])
        given = TrainConfig(dataset="cifar10", batch_size=32, learning_rate=0.1)
        self.assertEqual(given.learning_rate, 0.1)

    def test_an_optimizer_brings_its_rate_and_its_decay(self):
        config = TrainConfig(dataset="cifar10", optimizer="adamw", batch_size=64)
        self.assertEqual((config.learning_rate, config.weight_decay), (5e-4, 0.05))
        self.assertEqual(config.origins["weight_decay"], "optimizer adamw")
        self.assertIn("adamw: 0.001 at batch", config.origins["learning_rate"])
        given = TrainConfig(optimizer="lion", learning_rate=3e-4)
        self.assertEqual((given.learning_rate, given.weight_decay), (3e-4, 0.5))
        self.assertEqual(TrainConfig().origins["optimizer"], "recipe")

    def test_a_backbone_from_imagenet_learns_at_a_tenth_of_the_rate(self):
        config = TrainConfig(dataset="cifar10", init_from="imagenet")
        self.assertEqual((config.learning_rate, config.backbone_rate), (0.1, 0.1))
        self.assertEqual(config.origins["backbone_rate"], "for init_from=imagenet")
        given = TrainConfig(init_from="imagenet", backbone_rate=1.0)
        self.assertEqual(given.backbone_rate, 1.0)
        self.assertEqual(TrainConfig(init_from="run").backbone_rate, 1.0)
        frozen = TrainConfig(init_from="imagenet", freeze="backbone")
        self.assertEqual(frozen.backbone_rate, 1.0)

    def test_a_changed_copy_keeps_all_other_values(self):
        config = TrainConfig(dataset="svhn")
        copy = dataclasses.replace(config, data_dir="elsewhere")
        self.assertEqual({**config.values(), "data_dir": "elsewhere"}, copy.values())
        self.assertEqual(copy.origins, config.origins)

    def test_values_survive_json(self):
        config = TrainConfig(method="equal")
        values = json.loads(json.dumps(config.values()))
        again = TrainConfig.from_values(values, config.origins)
        self.assertTrue(math.isinf(again.sigma))
        self.assertEqual(again, config)

    def test_sets_of_operations_are_those_of_the_policies(self):
        self.assertCountEqual(configuration.options("transforms"), policy.TRANSFORMS)


class CheckedTest(parameterized.TestCase):
    @parameterized.parameters(
        ({"epochs": 0}, "--epochs=0: must be a whole number from 1"),
        ({"epochs": "3"}, "--epochs=3: must be a whole number"),
        ({"epochs": True}, "must be a whole number"),
        ({"sigma": float("nan")}, "--sigma=nan"),
        ({"final": "cutmixx"}, "did you mean cutmix"),
        ({"flip": "no"}, "--flip=no: must be true or false"),
        ({"model": 3}, "--model=3: must be a text"),
        ({"data_service": "localhost:5000"}, "grpc://"),
        ({"epoch": 3}, "did you mean epochs"),
    )
    def test_a_wrong_value_is_refused_with_the_way_out(self, chosen, sentence):
        with self.assertRaisesRegex(UserError, sentence):
            TrainConfig(**chosen)

    def test_every_default_is_a_value_that_the_field_takes(self):
        for name, field in FIELDS.items():
            self.assertIsNone(configuration.problem(name, field.default), name)


class NearestRecipeTest(parameterized.TestCase):
    @parameterized.parameters(
        ("mnist", "wrn_28_10"), ("digits", "wrn_28_10"), ("digits", "wrn_40_2")
    )
    def test_a_data_set_s_own_row_wins(self, dataset, model):
        self.assertEqual(recipes.find(dataset, model).dataset, dataset)

    @parameterized.parameters((32, 20, 4), (28, 18, 4), (16, 10, 2), (224, 140, 28))
    def test_sizes_in_pixels_scale_with_the_image(self, side, cutout, padding):
        shape = (side, side + 8, 3)
        share = TrainConfig(dataset="svhn").cutout_share
        self.assertEqual(build.pixels(share, shape), cutout)
        self.assertEqual(build.padding(TrainConfig(), shape), padding)


class ResumedTest(absltest.TestCase):
    def stored(self, **chosen):
        folder = run_folder.RunFolder(self.create_tempdir().full_path)
        config = TrainConfig(**chosen)
        folder.write_record(
            {"config": config.values(), "origins": dict(config.origins)}
        )
        return str(folder.path), config

    def test_the_folder_alone_is_enough(self):
        path, config = self.stored(dataset="folder", data_dir="photographs", epochs=7)
        _, resumed = run_folder.resumed({"run_dir": path, "resume": True})
        expected = {**config.values(), "run_dir": path, "resume": True}
        self.assertEqual(resumed.values(), expected)

    def test_the_original_command_may_be_repeated(self):
        chosen = {"dataset": "folder", "data_dir": "photographs", "method": "equal"}
        path, _ = self.stored(**chosen)
        for part in (chosen, {"dataset": "folder"}, {"sigma": math.inf}):
            _, resumed = run_folder.resumed({**part, "run_dir": path, "resume": True})
            self.assertEqual(resumed.data_dir, "photographs")

    def test_another_value_is_refused(self):
        path, _ = self.stored(dataset="cifar10")
        with self.assertRaisesRegex(UserError, "--epochs=3 differs from the 200"):
            run_folder.resumed({"run_dir": path, "resume": True, "epochs": 3})

    def test_a_run_can_leave_the_data_service(self):
        path, _ = self.stored(data_service="grpc://localhost:5000")
        chosen = {"run_dir": path, "resume": True, "data_service": ""}
        _, resumed = run_folder.resumed(chosen)
        self.assertIsNone(resumed.data_service)

    def test_no_folder(self):
        with self.assertRaisesRegex(UserError, "--resume needs --run_dir"):
            run_folder.resumed({"resume": True})


class PriorFromTest(absltest.TestCase):
    def test_a_prior_of_other_operations_is_refused(self):
        path = pathlib.Path(self.create_tempdir().full_path)
        names = policy.operations_of("autoaugment")
        prior = np.full([2, 256], 1 / 256, np.float32)
        run_folder.RunFolder(path).write_history(
            [{"epoch": 1}, {"epoch": 2}], prior, names
        )
        np.testing.assert_array_equal(
            build.read_prior(path, rules.DistinctPairs("autoaugment")), prior[-1]
        )
        with self.assertRaisesRegex(UserError, "prior of other operations"):
            build.read_prior(path, rules.DistinctPairs())


class EvaluatedEpochsTest(parameterized.TestCase):
    @parameterized.parameters(
        (1, [1, 2, 3, 4, 5]), (2, [2, 4, 5]), (5, [5]), (9, [5]), (0, [5])
    )
    def test_the_last_is_always_among_them(self, every, epochs):
        config = TrainConfig(epochs=5, evaluate_every=every)
        self.assertEqual(config.evaluated_epochs, epochs)


class RestTest(absltest.TestCase):
    def test_it_needs_a_limit_and_no_holdout(self):
        with self.assertRaisesRegex(UserError, "give --limit_train"):
            TrainConfig(test_on_rest=True)
        with self.assertRaisesRegex(UserError, "leave one of them out"):
            TrainConfig(test_on_rest=True, limit_train=50, holdout=0.5)


if __name__ == "__main__":
    absltest.main()
