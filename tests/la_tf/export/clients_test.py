"""The clients in docs/serving.md, word for word, against a stand-in for Serving.

No package installs TensorFlow Serving itself. The stand-in answers by the exported
signatures and follows the documented interfaces: requests in row format with `b64`
objects by REST, PredictRequest by gRPC.
"""

import base64
import concurrent.futures
import contextlib
import http.server
import importlib.util
import io
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading

import numpy as np
import tensorflow as tf
from PIL import Image
from tensorflow import keras

from la_tf.data import sources
from la_tf.export import serving
from tests import helper

NAMES = ("zero", "eins", "två")
PATH = "/v1/models/digits:predict"


def photograph():
    """The bytes of a JPEG of more than 3 MB."""
    noise = np.random.default_rng(0).integers(0, 256, [1536, 2048, 3], np.uint8)
    file = io.BytesIO()
    Image.fromarray(noise).save(file, "JPEG", quality=95)
    return file.getvalue()


def blocks():
    """The examples of the page, without their fences."""
    text = (helper.ROOT / "docs" / "serving.md").read_text("utf-8")
    return re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def block(*words):
    """The one example with all these words in it."""
    (found,) = [text for text in blocks() if all(word in text for word in words)]
    return found


def decoded(value):
    """A value of a REST request: bytes for an object whose one name is b64."""
    if isinstance(value, dict):
        (encoded,) = [value["b64"]] if list(value) == ["b64"] else []
        return base64.b64decode(encoded, validate=True)
    return value


@contextlib.contextmanager
def rest_server(signatures):
    """The address of a server that answers as Serving's REST interface does."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            assert self.path == PATH, self.path
            length = int(self.headers["Content-Length"])
            request = json.loads(self.rfile.read(length))
            signature = signatures[request.get("signature_name", "serving_default")]
            # With one input its name may be left out.
            inputs = tf.constant([decoded(value) for value in request["instances"]])
            answers = {k: v.numpy() for k, v in signature(inputs).items()}
            rows = [
                {name: plain(values[row]) for name, values in answers.items()}
                for row in range(len(inputs))
            ]
            body = json.dumps({"predictions": rows}).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def plain(value):
    return value.decode() if isinstance(value, bytes) else value.tolist()


@contextlib.contextmanager
def grpc_server(signatures):
    """The address of a server that answers as Serving's gRPC interface does."""
    import grpc
    from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

    class Service(prediction_service_pb2_grpc.PredictionServiceServicer):
        def Predict(self, request, context):  # noqa: N802
            inputs = {
                name: tf.constant(tf.make_ndarray(value))
                for name, value in request.inputs.items()
            }
            answer = predict_pb2.PredictResponse()
            spec = request.model_spec
            assert spec.name == "digits", spec
            for name, value in signatures[spec.signature_name](**inputs).items():
                answer.outputs[name].CopyFrom(tf.make_tensor_proto(value.numpy()))
            return answer

    # Serving takes messages of any size; a gRPC server of its own 4 MB.
    pool = concurrent.futures.ThreadPoolExecutor(1)
    server = grpc.server(pool, options=[("grpc.max_receive_message_length", -1)])
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
        Service(), server
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()


class ClientsTest(tf.test.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        keras.utils.set_random_seed(0)
        classifier = keras.Sequential(
            [
                keras.Input([8, 8, 3]),
                keras.layers.Rescaling(1 / 255),
                keras.layers.Flatten(),
                keras.layers.Dense(len(NAMES)),
            ]
        )
        (cls.folder / "names.txt").write_text("\n".join(NAMES))
        cls.server = serving.Server(
            classifier,
            NAMES,
            cls.folder / "names.txt",
            sources.preparation((8, 8, 3)),
        )
        cls.signatures = cls.server.signatures()
        file = photograph()
        assert len(file) > 3e6, len(file)
        cls.path = cls.folder / "photo.jpg"
        cls.path.write_bytes(file)
        answer = cls.signatures["serve_bytes"](tf.constant([file]))
        cls.expected = {name: value.numpy()[0] for name, value in answer.items()}

    def assert_answer(self, answer):
        self.assertAllClose(answer["probabilities"], self.expected["probabilities"])
        self.assertEqual(answer["label"], self.expected["label"])
        self.assertEqual(answer["name"], self.expected["name"].decode())

    def test_curl_sends_a_photograph_of_3_mb(self):
        if not shutil.which("curl"):
            self.skipTest("curl is not installed.")
        script = block("curl -d @-")
        with rest_server(self.signatures) as address:
            done = subprocess.run(
                ["sh", "-c", script.replace("localhost:8501", address)],
                cwd=self.folder,
                capture_output=True,
                text=True,
                check=False,
            )
        self.assertEqual(done.returncode, 0, done.stderr)
        (answer,) = json.loads(done.stdout)["predictions"]
        self.assert_answer(answer)

    def test_the_rest_client(self):
        client = {}
        exec(block("urllib.request"), client)
        with rest_server(self.signatures) as address:
            url = f"http://{address}{PATH}"
            answers = client["classify"](self.path, self.path, url=url)
        self.assertLen(answers, 2)
        for answer in answers:
            self.assert_answer(answer)

    def test_the_grpc_client(self):
        if importlib.util.find_spec("tensorflow_serving") is None:
            self.skipTest("tensorflow-serving-api is not installed.")
        client = {}
        exec(block("prediction_service_pb2_grpc"), client)
        with grpc_server(self.signatures) as address:
            answers = client["classify"](self.path, self.path, address=address)
        self.assertAllEqual(answers["label"], [self.expected["label"]] * 2)
        self.assertAllEqual(answers["name"], [self.expected["name"]] * 2)
        self.assertAllClose(
            answers["probabilities"], [self.expected["probabilities"]] * 2
        )


if __name__ == "__main__":
    tf.test.main()
