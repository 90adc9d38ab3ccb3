"""The classifier for other runtimes: the same answers from raw pixels."""

import functools
import importlib.util

import numpy as np
import tensorflow as tf
from absl.testing import parameterized
from tensorflow import keras

import models
from la_tf.export import TFLITE_KINDS, portable
from tests import helper

SHAPE = (16, 16, 3)


class PortableTest(parameterized.TestCase, tf.test.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        keras.utils.set_random_seed(0)
        cls.classifier = models.build("wrn_10_1", SHAPE, 10)
        cls.images = helper.small_images(12, 16)
        cls.logits = cls.classifier.predict(cls.images, verbose=0)

    @classmethod
    @functools.cache
    def content(cls, kind):
        """The file of that kind, which takes its ranges from dark images."""
        return portable.tflite(cls.classifier, kind, cls.images // 4)

    def opened(self, content):
        return tf.lite.Interpreter(model_content=content)

    @parameterized.parameters(("float32", 1e-3), ("float16", 0.01), ("int8", 0.1))
    def test_tflite_gives_the_classifier_s_answers(self, kind, share):
        content = portable.tflite(self.classifier, kind, self.images)
        answers = self.opened(content).get_signature_runner()(images=self.images)
        far = share * np.ptp(self.logits)
        self.assertAllClose(answers["logits"], self.logits, rtol=0, atol=far)
        expected = tf.nn.softmax(answers["logits"])
        # A whole number of eight bits is a 256th of the range 0..1.
        self.assertAllClose(answers["probabilities"], expected, rtol=0, atol=1 / 128)

    def test_other_kinds_are_refused(self):
        with self.assertRaisesRegex(ValueError, "tflite is 'int4'; give some of"):
            portable.tflite(self.classifier, "int4", self.images)

    def test_the_files_get_smaller(self):
        sizes = [len(self.content(kind)) for kind in TFLITE_KINDS]
        self.assertEqual(sizes, sorted(sizes, reverse=True))

    @parameterized.parameters(*TFLITE_KINDS)
    def test_one_image_of_bytes_is_the_input_even_if_the_data_are_dark(self, kind):
        (given,) = self.opened(self.content(kind)).get_input_details()
        self.assertEqual(given["dtype"], np.uint8)
        self.assertAllEqual(given["shape"], [1, *SHAPE])
        if kind == "int8":
            # The bytes stand for themselves: times one, plus nothing.
            scale, zero = given["quantization"]
            self.assertAllClose(scale, 1.0)
            self.assertEqual(zero, 0)

    def test_onnx_gives_the_classifier_s_answers(self):
        if importlib.util.find_spec("tf2onnx") is None:
            self.skipTest("tf2onnx, of the extra onnx, is not installed.")
        import onnxruntime

        session = onnxruntime.InferenceSession(
            portable.onnx(self.classifier), providers=["CPUExecutionProvider"]
        )
        names = ["logits", "probabilities"]
        logits, probabilities = session.run(names, {"images": self.images})
        far = 1e-3 * np.ptp(self.logits)
        self.assertAllClose(logits, self.logits, rtol=0, atol=far)
        self.assertAllClose(probabilities, tf.nn.softmax(self.logits), atol=1e-4)


if __name__ == "__main__":
    tf.test.main()
