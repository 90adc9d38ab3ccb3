"""The preprocessing of photographs against Pillow and NumPy."""

import io

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from PIL import Image, ImageEnhance
from scipy import stats

from la_tf.data import inception
from tests import helper

UNCHANGED = np.ones(3, np.float32)
NO_LIGHT = np.zeros(3, np.float32)


def encode(image, form="JPEG"):
    """The bytes of a Pillow image."""
    buffer = io.BytesIO()
    image.save(buffer, form, **({"quality": 95} if form == "JPEG" else {}))
    return buffer.getvalue()


def photograph(height=213, width=320):
    return Image.fromarray(helper.photographs()[0]).resize((width, height))


def draws(mirrored=False, order=(0, 1, 2), factors=UNCHANGED, light=NO_LIGHT):
    """The draws of one view, none of which changes anything by default."""
    return inception.Draws(
        boxes=None,
        mirrored=tf.constant(mirrored),
        order=tf.constant(order),
        factors=tf.constant(factors, tf.float32),
        light=tf.constant(light, tf.float32),
    )


def grey(image):
    return image @ np.array([0.299, 0.587, 0.114])


def resize(image, height, width):
    """The image resized by Pillow in floating point, so that nothing is rounded."""
    channels = [
        Image.fromarray(channel.astype(np.float32)).resize(
            (width, height), Image.BILINEAR
        )
        for channel in np.moveaxis(image, -1, 0)
    ]
    return np.stack([np.asarray(channel, np.float64) for channel in channels], axis=-1)


def jitter(image, order, factors, light):
    """Colour jitter and lighting in float64."""
    for kind in order:
        other = (0, grey(image.mean((0, 1))), grey(image)[..., None])[kind]
        factor = factors[kind]
        image = np.clip(factor * image + (1 - factor) * other, 0, 255)
    return np.clip(image + light, 0, 255)


class DrawTest(tf.test.TestCase, parameterized.TestCase):
    def test_boxes_are_distributed_as_their_definition_says(self):
        height, width, count = 300, 400, 3000
        boxes = inception.draw(height, width, count, (0, 1)).boxes.numpy()
        tops, lefts, heights, widths = boxes.T
        self.assertAllInRange(tops, 0, height - 1)
        self.assertAllEqual(tops + heights <= height, np.ones(count, bool))
        self.assertAllEqual(lefts + widths <= width, np.ones(count, bool))
        areas, aspects = self._reference(height, width, count)
        for found, expected in (
            (heights * widths, areas),
            (widths / heights, aspects),
            # Where there is room, the place is uniform in it.
            (
                (tops / (height - heights + 1e-9))[heights < 200],
                np.linspace(0, 1, 5000),
            ),
            ((lefts / (width - widths + 1e-9))[widths < 200], np.linspace(0, 1, 5000)),
        ):
            self.assertGreater(stats.ks_2samp(found, expected).pvalue, 1e-3)

    def _reference(self, height, width, count):
        """Areas and aspects by rejection, drawn one by one."""
        generator = np.random.default_rng(0)
        areas, aspects = [], []
        while len(areas) < count:
            area = generator.uniform(0.08, 1) * height * width
            aspect = np.exp(generator.uniform(np.log(3 / 4), np.log(4 / 3)))
            rows, columns = round((area / aspect) ** 0.5), round((area * aspect) ** 0.5)
            if rows <= height and columns <= width:
                areas.append(rows * columns)
                aspects.append(columns / rows)
        return areas, aspects

    @parameterized.parameters(
        # height, width, and the box where no attempt fits: 100 x 133 in the middle.
        (100, 2000, (0, 933, 100, 133)),
        (2000, 90, (940, 0, 120, 90)),
        (1, 1, (0, 0, 1, 1)),
    )
    def test_boxes_of_long_photographs(self, height, width, fallback):
        boxes = inception.draw(height, width, 200, (5, 5)).boxes.numpy()
        self.assertAllInRange(boxes[:, :2], 0, 2000)
        self.assertAllInRange(boxes[:, 2:], 1, 2000)
        self.assertAllEqual(boxes[:, 0] + boxes[:, 2] <= height, np.ones(200, bool))
        self.assertAllEqual(boxes[:, 1] + boxes[:, 3] <= width, np.ones(200, bool))
        self.assertIn(fallback, {tuple(box) for box in boxes})

    def test_colour_draws(self):
        count = 6000
        drawn = inception.draw(300, 400, count, (0, 2))
        self.assertAllInRange(drawn.factors, 0.6, 1.4)
        for factors in drawn.factors.numpy().T:
            uniform = stats.kstest(factors, stats.uniform(0.6, 0.8).cdf)
            self.assertGreater(uniform.pvalue, 1e-3)
        _, counts = np.unique(drawn.order, axis=0, return_counts=True)
        self.assertLen(counts, 6)
        self.assertGreater(stats.chisquare(counts).pvalue, 1e-3)
        self.assertBetween(np.mean(drawn.mirrored), 0.47, 0.53)
        # The largest component by hand: 255 * 0.1 * 0.2175 = 5.546 grey levels along
        # (-0.5675, -0.5808, -0.5836), so red deviates by 3.15 from it alone.
        deviations = np.array([0.2175, 0.0188, 0.0045]) * 25.5
        directions = np.array(
            [
                [-0.5675, 0.7192, 0.4009],
                [-0.5808, -0.0045, -0.8140],
                [-0.5836, -0.6948, 0.4203],
            ]
        )
        covariance = directions @ np.diag(deviations**2) @ directions.T
        self.assertBetween(covariance[0, 0] ** 0.5, 3.15, 3.18)
        found = np.cov(drawn.light.numpy().T)
        self.assertAllClose(found, covariance, atol=0.05 * covariance.max())


class RenderTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters((300, 280), (90, 120), (64, 64), (301, 50), (1, 9))
    def test_resizes_as_pillow_does(self, height, width):
        crop = np.asarray(photograph(height, width))
        view = inception.render(crop, draws(), 64).numpy()
        self.assertLess(np.abs(view - resize(crop, 64, 64)).max(), 0.501)
        mirrored = inception.render(crop, draws(mirrored=True), 64)
        self.assertAllEqual(mirrored, view[:, ::-1])

    @parameterized.parameters(0.6, 0.85, 1.4)
    def test_each_jitter_is_pillows(self, factor):
        crop = photograph(64, 64)
        enhancers = (
            ImageEnhance.Brightness,
            ImageEnhance.Contrast,
            ImageEnhance.Color,
        )
        for place, enhancer in enumerate(enhancers):
            factors = np.where(np.arange(3) == place, factor, 1)
            view = inception.render(np.asarray(crop), draws(factors=factors), 64)
            expected = np.asarray(enhancer(crop).enhance(factor), int)
            self.assertLessEqual(np.abs(view.numpy() - expected).max(), 1)

    def test_order_and_light(self):
        crop = np.asarray(photograph(64, 64))
        factors, light = np.array([1.35, 0.7, 1.3]), np.array([9.0, -7.0, 5.0])
        seen = set()
        for order in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)):
            view = inception.render(crop, draws(False, order, factors, light), 64)
            expected = jitter(crop.astype(np.float64), order, factors, light)
            self.assertLess(np.abs(view.numpy() - expected).max(), 0.501)
            seen.add(view.numpy().tobytes())
        self.assertLen(seen, 6)

    def test_grey_photographs_have_no_colour_to_change(self):
        crop = np.asarray(photograph(64, 64).convert("L"))[..., None]
        factors = np.array([1.2, 0.8, 0.6])
        view = inception.render(crop, draws(factors=factors, light=[50, 50, 50]), 64)
        bright = np.clip(crop * 1.2, 0, 255)
        expected = np.clip(bright * 0.8 + 0.2 * bright.mean(), 0, 255)
        self.assertLess(np.abs(view.numpy() - expected).max(), 0.51)


class TrainingViewsTest(tf.test.TestCase, parameterized.TestCase):
    def test_views_are_what_was_drawn(self):
        image = np.asarray(photograph())
        views = inception.training_views(image, 6, 48, (0, 3)).numpy()
        drawn = inception.draw(213, 320, 6, (0, 3))
        self.assertEqual(views.shape, (6, 48, 48, 3))
        for view, *draw in zip(views, *[values.numpy() for values in drawn]):
            (top, left, height, width), mirrored, *colour = draw
            crop = image[top : top + height, left : left + width]
            expected = jitter(resize(crop, 48, 48), *colour)
            expected = expected[:, ::-1] if mirrored else expected
            self.assertLess(np.abs(view - expected).max(), 0.501)

    def test_encoded_and_decoded_agree(self):
        png = encode(photograph(), "PNG")
        expected = inception.training_views(np.asarray(photograph()), 3, 48, (0, 3))
        self.assertAllEqual(inception.training_views(png, 3, 48, (0, 3)), expected)
        one = inception.training_views(np.asarray(photograph()), 1, 48, (0, 3))
        self.assertAllEqual(inception.training_views(png, 1, 48, (0, 3)), one)

    def test_decoding_only_the_crop_changes_nothing(self):
        jpeg = encode(photograph())
        for seed in range(6):
            fused = inception.training_views(jpeg, 1, 48, (seed, 0))
            whole = inception.training_views(inception.decode(jpeg), 1, 48, (seed, 0))
            # Colours are interpolated across the border of the crop, so that its
            # outermost pixels may differ.
            difference = np.abs(fused.numpy().astype(int) - whole)
            self.assertLessEqual(difference[:, 1:-1, 1:-1].max(), 2)

    @parameterized.parameters("L", "CMYK", "RGB")
    def test_every_kind_of_jpeg_becomes_pillows_rgb(self, mode):
        jpeg = encode(photograph(96, 128).convert(mode))
        expected = np.asarray(Image.open(io.BytesIO(jpeg)).convert("RGB"))
        for num_views in (1, 2):
            views = inception.training_views(jpeg, num_views, 48, (0, 0))
            self.assertEqual(views.shape, (num_views, 48, 48, 3))
        self.assertAllEqual(inception.decode(jpeg), expected)

    @parameterized.parameters((1, 1), (1, 40), (40, 1), (2, 3))
    def test_tiny_photographs(self, height, width):
        jpeg, png = encode(photograph(height, width)), photograph(height, width)
        for source in (jpeg, encode(png, "PNG"), np.asarray(png)):
            for num_views in (1, 2):
                views = inception.training_views(source, num_views, 16, (0, 0))
                self.assertEqual(views.shape, (num_views, 16, 16, 3))
            self.assertEqual(inception.evaluation_image(source, 16).shape, (16, 16, 3))

    def test_bad_arguments(self):
        image = np.zeros([8, 8, 3], np.uint8)
        with self.assertRaisesRegex(ValueError, "0 views"):
            inception.training_views(image, 0, 48, (0, 0))
        with self.assertRaisesRegex(ValueError, "1 or 3 channels, not 2"):
            inception.training_views(image[..., :2], 1, 48, (0, 0))
        with self.assertRaisesRegex(ValueError, r"uint8 \[H, W, C\], not float32"):
            inception.evaluation_image(image.astype(np.float32), 48)
        with self.assertRaises(tf.errors.InvalidArgumentError):
            inception.evaluation_image(b"not an image", 48)


class EvaluationImageTest(tf.test.TestCase, parameterized.TestCase):
    @parameterized.parameters(
        (213, 320, 64), (320, 213, 64), (427, 640, 224), (75, 75, 96), (31, 200, 33)
    )
    def test_is_pillows_resize_and_crop(self, height, width, size):
        source = photograph(height, width)
        # 224 becomes 256; 64 becomes 73.14, so 73.
        short = round(size * 8 / 7)
        shape = [int(short * side / min(height, width)) for side in (height, width)]
        resized = resize(np.asarray(source), *shape)
        top, left = (round((side - size) / 2) for side in shape)
        expected = resized[top : top + size, left : left + size]
        found = inception.evaluation_image(np.asarray(source), size).numpy()
        self.assertEqual(found.dtype, np.uint8)
        # Half a level is rounding; positions are float32 and cost the rest.
        self.assertLess(np.abs(found - expected).max(), 0.51)

    def test_graph_of_encoded_photographs(self):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def preprocess(batch):
            return tf.map_fn(
                lambda one: inception.evaluation_image(one, 48),
                batch,
                fn_output_signature=tf.uint8,
            )

        batch = [encode(photograph(90, 70)), encode(photograph(), "PNG")]
        expected = [inception.evaluation_image(one, 48) for one in batch]
        self.assertAllEqual(preprocess(batch), expected)
        self.assertEqual(preprocess([]).shape, [0, 48, 48, 3])


if __name__ == "__main__":
    tf.test.main()
