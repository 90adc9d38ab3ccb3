"""Batches depend on seed, epoch, step and worker, and on nothing else."""

import pathlib
import shutil
import tempfile

import numpy as np
import tensorflow as tf
from PIL import Image

from la_tf import draws
from la_tf.data import batches, sources
from la_tf.data.views import ViewMaker
from la_tf.errors import UserError
from tests import helper


def numbered_images(count):
    """A split whose image i has the value i everywhere, so that it can be told."""
    values = np.arange(count, dtype=np.uint8)
    images = np.broadcast_to(values[:, None, None, None], [count, 8, 8, 1])
    return sources.Arrays(np.ascontiguousarray(images), values.astype(np.int32) % 3)


def digits_split():
    return sources.Arrays(*helper.digits(40))


def full_maker(num_classes=10, **options):
    """Everything that is random about views."""
    return ViewMaker(num_classes, num_views=3, final="cutmix", padding=1, **options)


def quick_maker(num_classes=10, **options):
    """Views that show their seeds by crop, mirror and CutMix, and are soon traced."""
    return full_maker(num_classes, operations=False, **options)


def plain_maker():
    return ViewMaker(
        3, num_views=1, operations=False, final="none", padding=0, flip=False
    )


def collect(dataset, threads=None):
    if threads:
        options = tf.data.Options()
        options.threading.private_threadpool_size = threads
        dataset = dataset.with_options(options)
    return [tuple(part.numpy() for part in batch) for batch in dataset]


def plan(split, **changes):
    values = {"seed": 7, "batch_size": 8, "epochs": 2, **changes}
    return batches.plan(split, **values)


class AsideTest(tf.test.TestCase):
    def test_plain_images_follow_each_batch_by_its_step(self):
        aside, chosen = numbered_images(5), plan(numbered_images(40))
        training = tf.data.Dataset.range(chosen.total_steps).map(lambda step: (step,))
        made = collect(batches.with_aside(training, aside, chosen))
        self.assertLen(made, chosen.total_steps)
        for _, images, labels in made:
            self.assertAllEqual(images.shape, [8, 8, 8, 1])
            self.assertAllEqual(images[:, 0, 0, 0] % 3, labels)
        drawn = np.stack([images[:, 0, 0, 0] for _, images, _ in made])
        self.assertEqual(set(drawn.flat), set(range(5)))
        self.assertNotAllEqual(drawn[0], drawn[1])
        later = collect(batches.with_aside(training.skip(4), aside, chosen, 4))
        for one, other in zip(made[4:], later, strict=True):
            for part, expected in zip(one, other):
                self.assertAllEqual(part, expected)


class InMemoryTest(tf.test.TestCase):
    def assert_same_batches(self, first, second):
        self.assertEqual(len(first), len(second))
        for left, right in zip(first, second):
            for left_part, right_part in zip(left, right):
                np.testing.assert_array_equal(left_part, right_part)

    def test_threads_do_not_matter(self):
        split = digits_split()
        made = batches.training(split, quick_maker(), plan(split))
        one, two = collect(made, threads=1), collect(made, threads=2)
        self.assertLen(one, 2 * (40 // 8))
        self.assert_same_batches(one, two)

    def test_a_start_in_the_middle_gives_the_same_batches(self):
        split = digits_split()
        maker = quick_maker()
        whole = collect(batches.training(split, maker, plan(split)))
        # Step 3 is in the middle of the first epoch; the rest crosses into the second.
        rest = collect(batches.training(split, maker, plan(split), first_step=3))
        self.assert_same_batches(whole[3:], rest)

    def test_seed_epoch_and_step_each_matter(self):
        split = numbered_images(16)

        def views(seed):
            made = batches.training(split, plain_maker(), plan(split, seed=seed))
            return [batch[0][:, 0, 0, 0, 0].tolist() for batch in collect(made)]

        first, second = views(1), views(2)
        orders = [tuple(step) for step in first + second]
        self.assertLen(set(orders), len(orders))

    def test_an_epoch_meets_each_image_once(self):
        split = numbered_images(24)
        made = collect(batches.training(split, plain_maker(), plan(split)))
        for epoch in (made[:3], made[3:]):
            seen = np.concatenate([views[:, 0, 0, 0, 0] for views, _, _ in epoch])
            self.assertCountEqual(seen.tolist(), range(24))

    def test_the_order_is_that_of_chance(self):
        size, orders = 50_000, 10
        # Neighbours must be as far apart as in NumPy's permutations.
        distances = []
        for epoch in range(orders):
            order = draws.order(tf.range(size), size, 3, epoch).numpy()
            self.assertLen(np.unique(order), size)
            distances.append(np.abs(np.diff(order)).mean())
        generator = np.random.default_rng(0)
        expected = [
            np.abs(np.diff(generator.permutation(size))).mean() for _ in range(orders)
        ]
        error = np.hypot(np.std(distances), np.std(expected)) / np.sqrt(orders)
        self.assertLess(abs(np.mean(distances) - np.mean(expected)), 4 * error)

    def test_workers_share_each_batch(self):
        split = numbered_images(24)

        def images(**share):
            made = batches.training(split, plain_maker(), plan(split, **share))
            return [views[:, 0, 0, 0, 0].tolist() for views, _, _ in collect(made)]

        whole = images()
        parts = [images(worker=worker, workers=2) for worker in (0, 1)]
        self.assertEqual(whole, [left + right for left, right in zip(*parts)])

    def test_device_batches_carry_what_the_host_used(self):
        # That policies give the same in both places, views_test shows.
        split = digits_split()
        host = collect(batches.training(split, quick_maker(), plan(split)))
        maker = quick_maker(on_host=False)
        device = batches.training(split, maker, plan(split), on_device=True)
        made = [
            tuple(part.numpy() for part in maker.on_device(*batch)) for batch in device
        ]
        self.assert_same_batches(host, made)

    def test_a_data_service_makes_the_same_batches(self):
        split, maker = digits_split(), quick_maker()
        service = tf.data.experimental.service
        dispatcher = service.DispatchServer()
        address = dispatcher.target.split("://")[1]
        worker = service.WorkerServer(service.WorkerConfig(address))
        served = batches.training(split, maker, plan(split), service=dispatcher.target)
        self.assert_same_batches(
            collect(batches.training(split, maker, plan(split))), collect(served)
        )
        del worker

    def test_labels_follow_their_images(self):
        split = numbered_images(24)
        for views, labels, _ in collect(
            batches.training(split, plain_maker(), plan(split))
        ):
            expected = views[:, 0, 0, 0, 0] % 3
            np.testing.assert_array_equal(labels[:, 0].argmax(-1), expected)

    def test_a_batch_must_fit_the_set_and_the_replicas(self):
        with self.assertRaisesRegex(UserError, "--batch_size=32 is larger"):
            plan(numbered_images(24), batch_size=32)
        with self.assertRaisesRegex(UserError, "multiple of 3"):
            plan(numbered_images(24), batch_size=8, replicas=3)

    def test_evaluation_gives_every_image_in_order(self):
        split = numbered_images(10)
        made = collect(batches.evaluation(split, 4))
        self.assertEqual([len(labels) for _, labels in made], [4, 4, 2])
        seen = np.concatenate([images[:, 0, 0, 0] for images, _ in made])
        np.testing.assert_array_equal(seen, np.arange(10))


class StreamedTest(tf.test.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, folder)
        tiles = helper.small_images(24)
        for part, indices in (("train", range(20)), ("test", range(20, 24))):
            for index in indices:
                path = folder / part / "ab"[index % 2] / f"{index}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                # Photographs differ in size.
                Image.fromarray(tiles[index][: 20 + index % 5]).save(path)
        cls.source = sources.load(
            "folder", data_dir=folder, image_size=16, encoded=True
        )
        cls.maker = quick_maker(2)
        cls.whole = cls.made(threads=1)

    @classmethod
    def made(cls, threads=None, first_step=0, **changes):
        split = cls.source.train
        dataset = batches.training(
            split,
            cls.maker,
            plan(split, batch_size=4, **changes),
            first_step=first_step,
        )
        return collect(dataset, threads)

    def test_threads_and_a_start_in_the_middle_do_not_matter(self):
        self.assertLen(self.whole, 2 * (20 // 4))
        rest = self.made(threads=2, first_step=3)
        self.assertLen(rest, 2 * (20 // 4) - 3)
        for left, right in zip(self.whole[3:], rest):
            for left_part, right_part in zip(left, right):
                np.testing.assert_array_equal(left_part, right_part)

    def test_epochs_differ(self):
        self.assertNotAllEqual(self.whole[0][0], self.whole[5][0])

    def test_workers_share_each_batch(self):
        for step in zip(self.made(worker=0, workers=2), self.made(worker=1, workers=2)):
            self.assertEqual([len(views) for views, _, _ in step], [2, 2])

    def test_evaluation_crops_the_centre(self):
        made = collect(batches.evaluation(self.source.test, 3))
        self.assertEqual(
            [images.shape for images, _ in made], [(3, 16, 16, 3), (1, 16, 16, 3)]
        )


if __name__ == "__main__":
    tf.test.main()
