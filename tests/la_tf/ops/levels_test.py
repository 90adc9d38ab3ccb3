"""What is said about the levels of the operations."""

from absl.testing import absltest, parameterized

from la_tf import ops
from la_tf.ops import levels


class SpanTest(parameterized.TestCase):
    @parameterized.parameters(
        ("ShearY", "slope 0 to 0.3, either way"),
        ("TranslateX", "0 to 45% of the width, either way"),
        ("TranslateY", "0 to 45% of the height, either way"),
        ("Rotate", "−30° to 30°"),
        ("Posterize", "8 to 4 bits kept"),
        ("Brightness", "factor 0.1 to 1.9"),
        ("Cutout", "square of 0 to 62.5% of the side"),
        ("Invert", "no level"),
        ("MixUp", "no level; share from Beta(α, α), α = 0.5"),
        ("SamplePairing", "no level; half of each image"),
    )
    def test_span(self, name, expected):
        self.assertEqual(levels.span(name, mixup_alpha=0.5), expected)

    @parameterized.parameters(*ops.OPERATIONS, "SamplePairing")
    def test_only_operations_with_levels_have_values(self, name):
        if ops.make(name).has_level:
            texts = [levels.value(name, level, (40, 32, 3)) for level in range(10)]
            self.assertGreater(len(set(texts)), 4)
        else:
            self.assertStartsWith(levels.span(name, 1.0), "no level")


if __name__ == "__main__":
    absltest.main()
