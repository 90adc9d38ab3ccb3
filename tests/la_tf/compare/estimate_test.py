"""The estimate of a study's length: what it comes from, and that it says so."""

from absl.testing import absltest

from la_tf.compare import estimate, results, runner, study

PLAN = {
    "fixed": {"dataset": "digits", "limit_train": 100, "batch_size": 10, "epochs": 36},
    "settings": [{"method": "latent", "num_views": [2, 8]}],
    "seeds": 1,
}
# 360 steps of 10 images with two views, and with eight.
VIEWS = 360 * 10 * (2 + 8)


class FakeWorker:
    """Measures 500 views a second."""

    def __init__(self, answer=None):
        self.answer = answer or {"rate": 500.0}
        self.shapes = []

    def ask(self, config, image_shape):
        self.shapes.append(image_shape)
        return self.answer


def lines(plan, worker, found=None, jobs=1, given=None):
    made = study.make(plan)
    found = found or {}
    return estimate.lines(runner.pending(made, found), found, worker, jobs, given)


class EstimateTest(absltest.TestCase):
    def test_a_given_speed_needs_no_measurement(self):
        worker = FakeWorker()
        (line,) = lines(PLAN, worker, jobs=2, given=5.0)
        # 36,000 views at 5 a second in each of two processes: one hour.
        self.assertEqual(
            line,
            "digits with wrn_16_1: 2 runs, 36,000 views, about 60.0 min at 5 "
            "views/s (as given)",
        )
        self.assertEqual(VIEWS, 36_000)
        self.assertEmpty(worker.shapes)

    def test_without_runs_the_network_is_measured(self):
        worker = FakeWorker()
        (line,) = lines(PLAN, worker)
        self.assertIn("about 72.0 s at 500 views/s (measured now", line)
        self.assertEqual(worker.shapes, [(16, 16, 1)])

    def test_runs_that_are_there_count_more(self):
        setting = study.make(PLAN).settings[0]
        done = results.Result(
            *(
                setting.group,
                setting.name,
                0,
                0.9,
                1.0,
                72.0,
                0.2,
                7200,
                360,
                100,
                360,
                1,
            ),
            *("la_tf 1", setting.fingerprint),
        )
        (line,) = lines(PLAN, FakeWorker(), {done.key: done})
        self.assertIn(
            "1 run, 28,800 views, about 4.8 min at 100 views/s (of the runs so far)",
            line,
        )

    def test_what_cannot_be_known_is_said(self):
        own = {**PLAN, "fixed": {"dataset": "npz", "data_dir": "x"}}
        self.assertIn("only the data can tell", lines(own, FakeWorker())[0])
        failing = FakeWorker({"error": "no"})
        self.assertIn("give --views_per_second", lines(PLAN, failing)[0])


if __name__ == "__main__":
    absltest.main()
