"""Grids: what a study stands for, what its protocols change, and what is refused."""

import dataclasses
import json
import math
import tempfile

from absl.testing import absltest, parameterized

from la_tf.compare import blocks, presets, protocols, results, runner, study
from la_tf.compare.setting import Place, fingerprint
from la_tf.config import TrainConfig
from la_tf.errors import UserError

SMALL = {"dataset": "digits", "limit_train": 200, "batch_size": 32, "epochs": 100}


def make(*blocks, **plan):
    return study.make({"fixed": SMALL, "settings": list(blocks), **plan})


def names(made):
    return [setting.name for setting in made.settings]


class GridTest(parameterized.TestCase):
    def test_lists_are_swept_in_all_combinations(self):
        made = make({"method": "latent", "sigma": [0, "inf"], "num_views": [2, 4]})
        self.assertEqual(
            names(made),
            [
                "latent, sigma=0, num_views=2",
                "latent, sigma=0, num_views=4",
                "latent, sigma=inf, num_views=2",
                "latent, sigma=inf, num_views=4",
            ],
        )
        self.assertEqual(made.settings[2].config.sigma, math.inf)
        self.assertEqual(made.settings[0].config.epochs, 100)

    def test_a_sweep_over_numbers_is_a_line(self):
        made = make({"method": ["latent", "equal"], "num_views": [2, 4]})
        self.assertEqual(
            [setting.place for setting in made.settings],
            [
                Place("num_views", 2.0, "latent"),
                Place("num_views", 4.0, "latent"),
                Place("num_views", 2.0, "equal"),
                Place("num_views", 4.0, "equal"),
            ],
        )
        both = make({"method": "latent", "num_views": [2, 4], "sigma": [0, 1]})
        self.assertIsNone(both.settings[0].place)

    def test_a_method_that_fixes_what_is_swept_comes_once(self):
        made = make({"method": ["latent", "equal", "ubs"], "sigma": [0.5, 1.0]})
        self.assertEqual(
            names(made), ["latent, sigma=0.5", "latent, sigma=1", "equal", "ubs"]
        )

    def test_what_the_method_fixes_wins_over_the_study_and_is_told(self):
        made = study.make(
            {
                "fixed": {**SMALL, "num_views": 4, "final": "cutout"},
                "settings": [{"method": ["latent", "baseline"]}],
            }
        )
        latent, baseline = made.settings
        self.assertEqual((latent.config.num_views, latent.note), (4, ""))
        self.assertEqual(baseline.config.final, "none")
        self.assertEqual(baseline.note, "the method means num_views=1, final=none")

    def test_a_block_has_its_own_seeds_and_protocol(self):
        made = make(
            {"method": "equal", "seeds": 4},
            {"method": "equal", "seeds": [7, 9], "protocol": "compute"},
            {"method": "latent"},
            seeds=2,
        )
        seeds = [setting.seeds for setting in made.settings]
        self.assertEqual(seeds, [(0, 1, 2, 3), (7, 9), (0, 1)])
        self.assertEqual(names(made), ["equal", "equal, same compute", "latent"])

    def test_data_sets_and_networks_are_groups(self):
        made = study.make(
            {"settings": [{"dataset": ["digits", "mnist"], "method": "latent"}]}
        )
        self.assertEqual(
            list(made.groups), ["digits with wrn_16_1", "mnist with wrn_40_2"]
        )
        self.assertEqual(names(made), ["latent", "latent"])

    @parameterized.parameters(
        ({"settings": []}, "'settings' is missing"),
        ({"setings": []}, "did you mean settings?"),
        ({"settings": [{"method": "latant"}]}, "did you mean latent?"),
        ({"settings": [{"sigam": 1}]}, "did you mean sigma?"),
        ({"settings": [{"seed": 1}]}, "'seeds' is"),
        ({"settings": [{"method": "latent"}], "seeds": 0}, "from 1"),
        ({"settings": [{"method": "latent"}], "seeds": [1, 1]}, "different"),
        ({"settings": [{"method": "latent"}], "seeds": [-1]}, "seed -1"),
        ({"settings": [{"method": "latent"}], "reference": "equal"}, "no setting"),
        ({"settings": [{"method": "latent"}], "comparisons": [["a"]]}, "two names"),
        ({"settings": [{"method": "latent"}, {"method": "latent"}]}, "a 'name'"),
        ({"settings": [{"method": ["latent", "equal"], "name": "a"}]}, "sweeps"),
        ({"settings": [{"method": "latent", "protocol": "x"}]}, "protocol 'x'"),
        ({"settings": [{"method": "latent"}], "paper": [["a"]]}, "a row of 'paper'"),
        ([], "JSON object"),
    )
    def test_a_wrong_plan_is_refused_in_one_sentence(self, plan, words):
        with self.assertRaisesRegex(UserError, words):
            study.make(plan)

    def test_a_file_is_named(self):
        path = self.create_tempfile("a.json", '{"settings": 3}').full_path
        with self.assertRaisesRegex(UserError, "a.json: 'settings' has the wrong type"):
            study.read(path)
        with self.assertRaisesRegex(UserError, "cannot be read"):
            study.read(path + "x")

    def test_values_of_a_flag(self):
        self.assertEqual(blocks.parse("sigma", "inf"), math.inf)
        self.assertEqual(blocks.parse("num_views", "4"), 4)
        self.assertIs(blocks.parse("flip", "false"), False)
        with self.assertRaisesRegex(UserError, "'x' is no int"):
            blocks.parse("num_views", "x")


class FingerprintTest(absltest.TestCase):
    def test_what_changes_no_result_does_not_count(self):
        config = TrainConfig(**SMALL)
        same = dataclasses.replace(config, data_dir="x", seed=3, run_dir="y", keep=9)
        other = dataclasses.replace(config, sigma=0.5)
        self.assertEqual(fingerprint(config), fingerprint(same))
        self.assertNotEqual(fingerprint(config), fingerprint(other))

    def test_it_stays_when_a_default_is_written_out(self):
        first, second = (
            make({"method": "latent"}),
            make({"sigma": 1, "method": "latent"}),
        )
        self.assertEqual(first.settings[0].fingerprint, second.settings[0].fingerprint)


class ProtocolsTest(absltest.TestCase):
    def test_same_updates_changes_nothing(self):
        config = TrainConfig(**SMALL)
        self.assertEqual(protocols.apply("updates", config, 6), (config, ""))

    def test_same_compute_divides_images_and_epochs(self):
        config = TrainConfig(**{**SMALL, "batch_size": 24, "limit_train": 240})
        changed, told = protocols.apply("compute", config, 6)
        # 10 steps of 24 for 100 epochs; 60 steps of 4 for 16.7 epochs.
        self.assertEqual((changed.batch_size, changed.epochs), (4, 17))
        self.assertEqual(changed.learning_rate, config.learning_rate)
        self.assertEqual(changed.warmup_epochs, 1)
        self.assertIn("1,020 steps beside 1,000, 24 views a step beside 24", told)

    def test_rounding_keeps_the_steps(self):
        # 6 steps of 32 for 100 epochs: 600. 32 / 6 is 5: 40 steps for 15 epochs.
        changed, told = protocols.apply("compute", TrainConfig(**SMALL), 6)
        self.assertEqual((changed.batch_size, changed.epochs), (5, 15))
        self.assertIn("600 steps beside 600, 30 views a step beside 32", told)

    def test_what_a_protocol_changes_counts_as_chosen(self):
        # Or the recipe would scale the rate when the run's command is repeated.
        changed, _ = protocols.apply("compute", TrainConfig(dataset="digits"), 6)
        self.assertEqual(changed.origins["learning_rate"], "chosen")
        self.assertEqual(changed.origins["batch_size"], "chosen")

    def test_more_epochs_for_fewer_views(self):
        made = make({"method": ["latent", "baseline"]}, protocol="epochs")
        latent, baseline = (setting.config for setting in made.settings)
        self.assertEqual((latent.epochs, baseline.epochs), (100, 600))
        self.assertEqual(protocols.views(latent), protocols.views(baseline))

    def test_sizes(self):
        config = TrainConfig(dataset="digits", epochs=2, batch_size=100, num_views=3)
        self.assertEqual(protocols.updates(config), 28)
        self.assertEqual(protocols.views(config), 8400)
        held_out = dataclasses.replace(config, holdout=437.0)
        self.assertEqual(protocols.train_images(held_out), 1000)
        own = dataclasses.replace(config, dataset="npz", data_dir="x")
        self.assertIsNone(protocols.views(own))


class PresetsTest(parameterized.TestCase):
    @parameterized.parameters(*presets.NAMES)
    def test_every_preset_is_a_study(self, name):
        changes = {"prior_from": "x"} if name in presets.NEEDS else None
        made = study.make(presets.plan(name), changes)
        known = {(s.config.dataset, s.config.model, s.name) for s in made.settings}
        for figure in made.paper:
            self.assertIn((figure.dataset, figure.model, figure.setting), known)

    def test_table_2_agrees_with_the_recipes(self):
        from la_tf import recipes

        figures = {
            (figure[0], figure[1]): figure[3]
            for figure in presets.PRESETS["table2"]["paper"]
            if figure[2] == "latent"
        }
        for row in recipes.RECIPES:
            key = (row.dataset, row.model)
            if key in figures:
                self.assertEqual(figures.pop(key), row.paper_accuracy)
        self.assertEmpty(figures)

    def test_there_are_six_caveats(self):
        self.assertLen(presets.CAVEATS, 6)


class TasksTest(absltest.TestCase):
    def test_a_seed_of_every_setting_after_the_other(self):
        made = make({"method": "equal", "seeds": 3}, {"method": "latent", "seeds": 2})
        tasks = [(task.setting.name, task.seed) for task in runner.pending(made, {})]
        self.assertEqual(
            tasks,
            [("equal", 0), ("latent", 0), ("equal", 1), ("latent", 1), ("equal", 2)],
        )

    def test_what_is_done_is_skipped(self):
        made = make({"method": ["equal", "latent"]}, seeds=2)
        done = {(made.settings[0].fingerprint, 1): None}
        tasks = [(task.setting.name, task.seed) for task in runner.pending(made, done)]
        self.assertEqual(tasks, [("equal", 0), ("latent", 0), ("latent", 1)])

    def test_the_same_run_under_two_names_is_made_once(self):
        made = make({"method": "latent"}, {"method": "latent", "sigma": 1}, seeds=1)
        self.assertLen(runner.pending(made, {}), 1)

    def test_time_left(self):
        made = make({"method": ["latent", "baseline"]}, seeds=3)
        clock = runner.Clock(jobs=2)
        tasks = runner.pending(made, {})
        self.assertTrue(math.isnan(clock.left(tasks)))
        clock.add(made.settings[0], 60.0)
        clock.add(made.settings[0], 120.0)
        # Two of latent at 90 s; three of baseline, a sixth of the views, at 15 s.
        self.assertAlmostEqual(clock.left(tasks[2:] + tasks[:1]), (3 * 90 + 30) / 2)

    def test_results_survive_their_file(self):
        result = results.Result(
            "digits with wrn_16_1",
            'a, "b"',
            3,
            0.9273638129234314,
            1.0,
            20.9,
            *(0.08, 48000, 240, 200, 1597, 2),
            "la_tf 1, TensorFlow 2",
            "abc",
        )
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/new/results.csv"
            self.assertEqual(results.read(path), {})
            results.write(path, {result.key: result})
            self.assertEqual(results.read(path), {("abc", 3): result})
            with open(path, "a", encoding="utf-8") as file:
                file.write("x,y\n")
            with self.assertRaisesRegex(UserError, "is damaged"):
                results.read(path)
            for text in ("", "another,table\n", "x" * 200_000):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                with self.assertRaisesRegex(UserError, "is damaged"):
                    results.read(path)

    def test_a_plan_of_flags_can_be_written_as_a_file(self):
        made = make({"method": "latent", "sigma": [blocks.to_json(math.inf)]})
        again = study.make(json.loads(json.dumps(made.plan)))
        self.assertEqual(again.settings, made.settings)


if __name__ == "__main__":
    absltest.main()
