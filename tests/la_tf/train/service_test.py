"""A tf.data service that is absent, dies or loses batches."""

import socket
import sys
import threading
from unittest import mock

import numpy as np
import tensorflow as tf
from tensorflow import keras

from la_tf.config import TrainConfig
from la_tf.data import batches
from la_tf.errors import UserError
from la_tf.train import loop, service

PLAN = batches.Plan(seed=0, batch_size=4, epochs=5, steps_per_epoch=10)


class WatchTest(tf.test.TestCase):
    def setUp(self):
        super().setUp()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self.socket.close)
        host, port = self.socket.getsockname()
        self.address = f"grpc://{host}:{port}"

    def test_an_absent_dispatcher_is_told_at_once(self):
        self.socket.close()
        with self.assertRaisesRegex(UserError, f"at --data_service={self.address}"):
            service.ServiceWatch(self.address).__enter__()

    def test_a_dispatcher_that_dies_is_told_and_given_up(self):
        ended = threading.Event()
        times = {"_DISPATCHER_SILENT": 0.1, "_GIVE_UP": 1.5}
        with (
            mock.patch.multiple(service, **times),
            mock.patch.object(service.os, "_exit", lambda code: ended.set()),
            mock.patch.object(sys.stderr, "write") as told,
            service.ServiceWatch(self.address),
        ):
            self.socket.close()
            self.assertTrue(ended.wait(30))
        said = "".join(call.args[0] for call in told.call_args_list)
        self.assertIn(f"waiting for the dispatcher at {self.address}", said)
        self.assertIn(f"error: no batch has come from {self.address}", said)

    def test_without_a_service_nothing_is_watched(self):
        for address in (None, ""):
            with service.ServiceWatch(address):
                pass


class LostBatchesTest(tf.test.TestCase):
    def test_each_epoch_is_a_call_of_its_own(self):
        plain = TrainConfig()
        alone = loop._spans(TrainConfig(data_service="grpc://a:1"), PLAN, 15)
        self.assertEqual(alone[0], (15, 1, 2, 5))
        self.assertEqual(alone[1:], [(10 * n, n, n + 1, 10) for n in (2, 3, 4)])
        self.assertEqual(loop._spans(plain, PLAN, 15), [(15, 1, 2, 5), (20, 2, 5, 10)])
        self.assertEqual(loop._spans(plain, PLAN, 50), [])

    def test_an_epoch_that_ends_too_soon_is_no_epoch(self):
        whole = service.WholeEpochs(PLAN, first_step=15)
        for batch in range(5):
            whole.on_train_batch_end(batch)
        whole.on_epoch_end(1)
        for batch in range(7):
            whole.on_train_batch_end(batch)
        with self.assertRaisesRegex(
            UserError, "epoch 3 ended after 7 of its 10.*step 27.*--resume"
        ):
            whole.on_epoch_end(2)

    def test_an_epoch_without_any_batch_is_no_epoch(self):
        model = keras.Sequential([keras.Input([1]), keras.layers.Dense(1)])
        model.compile("sgd", "mse", run_eagerly=True)
        nothing = tf.data.Dataset.from_tensor_slices((np.ones([0, 1]), np.ones([0, 1])))
        whole = service.WholeEpochs(PLAN, first_step=20)
        refused = self.assertRaisesRegex(UserError, "epoch 3 ended after 0 of its 10")
        with refused, whole:
            model.fit(
                nothing.batch(1),
                initial_epoch=2,
                epochs=3,
                steps_per_epoch=10,
                callbacks=[whole],
                verbose=0,
            )


if __name__ == "__main__":
    tf.test.main()
