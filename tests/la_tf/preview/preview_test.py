"""The preview's two sheets, and the command that draws them."""

import dataclasses
import subprocess
import sys

import numpy as np
import tensorflow as tf
from absl.testing import parameterized

from la_tf import methods, policy
from la_tf.config import TrainConfig
from la_tf.ops import levels
from la_tf.preview import contact_sheet, sheets
from tests import helper


def preview(*flags):
    """What a shell sees of the command."""
    return subprocess.run(
        [sys.executable, "-m", "la_tf.preview", *flags],
        cwd=helper.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def find(sheet, tile):
    """Whether the sheet shows exactly these pixels, [H, W, 3], somewhere."""
    height, width = tile.shape[:2]
    for top in range(sheet.shape[0] - height + 1):
        left = sheet[top].tobytes().find(tile[0].tobytes())
        while left >= 0:
            place = sheet[top : top + height, left // 3 : left // 3 + width]
            if np.array_equal(place, tile):
                return True
            left = sheet[top].tobytes().find(tile[0].tobytes(), left + 1)
    return False


class LevelValueTest(parameterized.TestCase):
    @parameterized.parameters(
        # Levels 0, 3 and 9 by hand; 150/331 = 0.453, and 20/32 of 32 pixels are 20.
        ("ShearX", "±0.00", "±0.10", "±0.30"),
        ("ShearY", "±0.00", "±0.10", "±0.30"),
        ("TranslateX", "±0 %", "±15 %", "±45 %"),
        ("TranslateY", "±0 %", "±15 %", "±45 %"),
        ("Rotate", "−30°", "−10°", "+30°"),
        ("Color", "× 0.1", "× 0.7", "× 1.9"),
        ("Posterize", "8 bits", "7 bits", "4 bits"),
        ("Solarize", "from 256", "from 171", "from 0"),
        ("Contrast", "× 0.1", "× 0.7", "× 1.9"),
        ("Sharpness", "× 0.1", "× 0.7", "× 1.9"),
        ("Brightness", "× 0.1", "× 0.7", "× 1.9"),
        ("Cutout", "0 px", "7 px", "20 px"),
    )
    def test_value(self, name, *expected):
        values = [levels.value(name, level, (32, 40, 3)) for level in (0, 3, 9)]
        self.assertSequenceEqual(values, expected)


class ContactSheetTest(parameterized.TestCase):
    @parameterized.parameters((32, 32, 3), (16, 16, 1), (8, 12, 3), (130, 150, 3))
    def test_tiles_are_whole_multiples_of_the_images(self, height, width, channels):
        shape = [3, height, width, channels]
        tiles = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
        rows = [contact_sheet.Row(list(tiles), ["a", "b\nb", "c"], "heading")]
        sheet = np.asarray(contact_sheet.draw("title", "subtitle", rows))
        factor = max(1, round(112 / max(height, width)))
        for tile in tiles:
            large = np.repeat(np.repeat(tile, factor, axis=0), factor, axis=1)
            large = np.broadcast_to(large, [*large.shape[:2], 3])
            self.assertTrue(find(sheet, large))

    def test_long_words_stay_in_their_place(self):
        tile = np.zeros([32, 32, 3], np.uint8)
        long = "a class with a name that goes on and on"
        rows = [contact_sheet.Row([tile] * 3, ["", long, ""])]
        sheet = np.asarray(contact_sheet.draw("", "", rows).convert("L"))
        left = contact_sheet.MARGIN + 128 + contact_sheet.GAP
        captions = sheet[-2 * contact_sheet.LINE - 10 :] < 200
        columns = np.flatnonzero(captions.any(0))
        self.assertGreater(len(columns), 50)
        self.assertGreaterEqual(columns[0], left - 4)
        self.assertLess(columns[-1], left + 128 + 4)

    def test_large_pictures_are_made_smaller(self):
        tile = np.zeros([224, 448, 3], np.uint8)
        sheet = contact_sheet.draw("", "", [contact_sheet.Row([tile], ["x"])])
        self.assertEqual(sheet.width, 160 + 2 * contact_sheet.MARGIN)


class PreviewTest(parameterized.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        config = TrainConfig(num_views=11, transforms="autoaugment", final="none")
        cls.preview = sheets.load(config, 2)

    def test_views_and_their_names(self):
        sheet = np.asarray(sheets.views(self.preview))
        side = self.preview.examples.images.shape[1]
        factor = round(112 / side)
        # Two images of 11 views each: 9 and 2 in a line, so 4 lines.
        line = side * factor + 2 * contact_sheet.LINE + 2 * contact_sheet.GAP
        self.assertBetween(sheet.shape[0], 4 * line, 4 * line + 120)
        for view in self.preview.examples.views[1][::5]:
            large = np.repeat(np.repeat(view, factor, axis=0), factor, axis=1)
            self.assertTrue(find(sheet, np.repeat(large, 3, axis=-1)))
        names = sheets._policy_names(self.preview, 0)
        indices = [
            policy.index_of(name.replace(" >\n", ">"), "autoaugment") for name in names
        ]
        self.assertSequenceEqual(indices, list(self.preview.examples.policies[0]))

    def test_what_is_not_learned_yet_is_said(self):
        words = "two operations as drawn before training"
        self.assertNotIn(words, sheets._pipeline(self.preview))
        config = TrainConfig(method="adversarial", num_views=2)
        learning = dataclasses.replace(
            self.preview, config=config, rule=methods.rule(config)
        )
        self.assertIn(words, sheets._pipeline(learning))

    def test_every_operation_has_its_tiles(self):
        tiles = {}
        for row in sheets.operation_rows(self.preview):
            if row.heading == "no level":
                tiles.update(zip(row.captions, ([tile] for tile in row.tiles)))
            else:
                tiles[row.heading.split("\n")[0]] = row.tiles
        original = tiles.pop("original")[0]
        self.assertCountEqual(tiles, policy.operations_of("autoaugment"))
        np.testing.assert_array_equal(tiles["Invert"][0], 255 - original)
        np.testing.assert_array_equal(tiles["Solarize"][9], 255 - original)
        np.testing.assert_array_equal(tiles["Cutout"][0], original)
        np.testing.assert_array_equal(tiles["Posterize"][9], original & 0xF0)
        for name in ("ShearX", "TranslateY", "Rotate", "Contrast", "SamplePairing"):
            self.assertLen(tiles[name], 10)
            self.assertFalse(np.array_equal(tiles[name][9], original), name)


class CommandTest(parameterized.TestCase):
    @parameterized.parameters(
        ("--output=/no/such/folder/picture.png", "there is no folder /no/such/folder"),
        ("--output=picture.pdf", "must be the name of a .png file"),
        ("--images=0", "--images=0: must be a whole number from 1 to 100"),
    )
    def test_mistakes_are_told_in_a_sentence(self, flag, sentence):
        done = preview(flag)
        self.assertEqual(done.returncode, 2)
        self.assertIn(sentence, done.stderr)
        self.assertLess(done.stderr.count("\n"), 2)


if __name__ == "__main__":
    tf.test.main()
