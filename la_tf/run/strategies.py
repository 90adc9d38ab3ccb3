"""On which devices and machines a run is spread."""

import zlib

import numpy as np
import tensorflow as tf

from la_tf.errors import UserError
from la_tf.run import cluster


def make(name, logical_cpus=None):
    """Return the tf.distribute strategy of a name.

    "auto" is multiworker where TF_CONFIG names several workers, mirrored where several
    devices are to be had, and otherwise none.

    Args:
        name: "auto", "none", "mirrored" or "multiworker".
        logical_cpus: splits the CPU into so many devices, to mirror without GPUs.
    """
    # Workers must find each other before TensorFlow touches any device.
    if name == "multiworker" or (name == "auto" and cluster.workers() > 1):
        return _multiworker()
    if logical_cpus:
        _split_cpu(logical_cpus)
    devices = _devices(logical_cpus)
    if name == "none" or (name == "auto" and len(devices) == 1):
        return tf.distribute.get_strategy()
    return tf.distribute.MirroredStrategy(devices, _reduction(devices))


def worker_index(strategy):
    """Return the number of this process among the workers; 0 is the chief."""
    return cluster.rank() if strategy.cluster_resolver is not None else 0


def worker_count(strategy):
    """Return how many processes train together."""
    return cluster.workers() if strategy.cluster_resolver is not None else 1


def _multiworker():
    if cluster.workers() < 2:
        raise UserError(
            "--strategy=multiworker needs the environment variable TF_CONFIG with a "
            "cluster of at least two workers and this one's task; for one machine use "
            "--strategy=mirrored."
        )
    with cluster.waiting():
        return tf.distribute.MultiWorkerMirroredStrategy()


def _devices(logical_cpus):
    if logical_cpus:
        return [f"/cpu:{index}" for index in range(logical_cpus)]
    gpus = tf.config.list_logical_devices("GPU")
    return [device.name for device in gpus] or ["/cpu:0"]


def _reduction(devices):
    # NCCL speaks to GPUs only.
    if "GPU" in devices[0]:
        return None
    return tf.distribute.HierarchicalCopyAllReduce()


def _split_cpu(count):
    cpu = tf.config.list_physical_devices("CPU")[0]
    if len(tf.config.get_logical_device_configuration(cpu) or ()) == count:
        return
    try:
        tf.config.set_logical_device_configuration(
            cpu, [tf.config.LogicalDeviceConfiguration()] * count
        )
    except RuntimeError:
        raise UserError(
            "--logical_cpus must be set before TensorFlow is used; start a new process."
        ) from None


def any_worker(strategy, flag):
    """Tell whether the flag is set in any of the workers.

    All must ask at the same step.
    """
    if worker_count(strategy) == 1:
        return flag
    return bool(_sum_over_replicas(strategy, tf.constant(int(flag))) > 0)


def check_agreement(strategy, values):
    """Refuse to train where the workers do not have the same values.

    Args:
        strategy: the tf.distribute strategy.
        values: what all must agree on, by the name of its flag.
    """
    if worker_count(strategy) == 1:
        return
    own = [zlib.crc32(repr(value).encode()) for value in values.values()]
    sums = _sum_over_replicas(strategy, tf.constant(own, tf.int64)).numpy()
    replicas = strategy.num_replicas_in_sync
    differing = [
        name
        for name, value, total in zip(values, own, sums)
        if value * replicas != total
    ]
    if differing:
        raise UserError(
            f"the workers do not agree on {', '.join(differing)}; start all of them "
            "with the same flags and the same data."
        )


class ReplicaValues:
    """Scalar variables of which every replica has a value of its own.

    Across the replicas only their sum can be read. A sum that is split evenly again
    and added to is not to the bit the sum that the replicas would have had.

    Args:
        strategy: the tf.distribute strategy.
        variables: float32 tf.Variables.
    """

    def __init__(self, strategy, variables):
        self._strategy = strategy
        self._variables = variables

    def read(self):
        """Return them as an array [replicas, variables]; all workers must ask."""
        return self._read().numpy()

    def assign(self, values):
        """Set them to what `read` gave, maybe in a run with more or fewer replicas."""
        replicas = self._strategy.num_replicas_in_sync
        if len(values) != replicas:
            values = np.tile(values.sum(0) / replicas, [replicas, 1])
        self._assign(tf.constant(values, tf.float32))

    @tf.function
    def _read(self):
        def row():
            values = [tf.identity(variable) for variable in self._variables]
            return tf.stack(values)[tf.newaxis]

        return self._strategy.gather(self._strategy.run(row), axis=0)

    @tf.function
    def _assign(self, values):
        def assign():
            context = tf.distribute.get_replica_context()
            row = tf.gather(values, context.replica_id_in_sync_group)
            for variable, value in zip(self._variables, tf.unstack(row)):
                variable.assign(value)

        self._strategy.run(assign)


@tf.function
def _sum_over_replicas(strategy, value):
    copies = strategy.run(tf.identity, [value])
    return strategy.reduce(tf.distribute.ReduceOp.SUM, copies, axis=None)
