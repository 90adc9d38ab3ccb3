"""AutoAugment, RandAugment, TrivialAugment and random policies as Keras layers.

For any `tf.data` pipeline or Keras model: every image draws by itself, results are
Pillow's bytes, and a seed gives the same images again.
"""

from __future__ import annotations

import tensorflow as tf
from tensorflow import keras

from la_tf import draws, policy, rules
from la_tf.methods import autoaugment
from la_tf.ops import checks, spaces


class DrawnLayer(keras.layers.Layer):
    """Images changed by operations that a rule draws for each of them.

    Called on images [B, H, W, C] or [H, W, C], or on a dictionary with "images" and
    "labels" [B, classes]. Images are uint8, or floats from 0 to 255, and keep their
    type; with `training=False`, as in `evaluate` and `predict`, they stay as they are.

    Called as a layer it draws from its own generator; `apply` takes a seed and keeps no
    state, which is what a `tf.data` pipeline with parallel calls needs to give the same
    again.

    Args:
        rule: the drawing rule.
        seed: whole number for the layer's own draws, or None.
        on_host: True for `tf.data` and models on the CPU: one program that is compiled
            for each shape of batch. False for a model on an accelerator.
        mixup_alpha: of MixUp, where labels are given.
    """

    def __init__(self, rule, seed=None, on_host=True, mixup_alpha=1.0, **kwargs):
        # Whole numbers up to 255 and labels must survive a mixed-precision policy.
        kwargs.setdefault("dtype", "float32")
        super().__init__(**kwargs)
        self.rule = rule
        self.seed = seed
        self.on_host = on_host
        # Images alone cannot be mixed: their labels would be wrong.
        self._images_alone = policy.Policies(rule.space, 0.0, on_host)
        self._with_labels = policy.Policies(rule.space, mixup_alpha, on_host)
        self._generator = (
            tf.random.Generator.from_non_deterministic_state()
            if seed is None
            else tf.random.Generator.from_seed(seed, alg="philox")
        )

    @tf.autograph.experimental.do_not_convert
    def apply(self, images, seed, labels=None):
        """Return the changed images, and with labels [B, classes] also the labels.

        Args:
            images: uint8 or floats [B, H, W, C] in 0..255, C 1 or 3.
            seed: two whole numbers.
            labels: floats, or None.
        """
        images = tf.convert_to_tensor(images)
        pixels = checks.to_bytes(images)
        if None in pixels.shape[1:3]:
            raise ValueError(
                f"images have shape {images.shape}; their size must be known: resize "
                "or crop them first"
            )
        # The same numbers are the same seed, in whichever type they come.
        draw_seed, apply_seed = draws.split(tf.cast(seed, tf.int64), 2)
        choice = self.rule.draw(tf.shape(pixels)[0], 1, draw_seed)
        given = tf.zeros([tf.shape(pixels)[0], 1]) if labels is None else labels
        policies = self._images_alone if labels is None else self._with_labels
        changed, mixed = policies.apply(
            pixels[:, tf.newaxis], given[:, tf.newaxis], choice, apply_seed
        )
        changed = tf.cast(changed[:, 0], images.dtype)
        return changed if labels is None else (changed, mixed[:, 0])

    def call(self, inputs, training=True):
        """Return the inputs with their images, and labels if there are any, changed."""
        if not training:
            return inputs
        seed = self._generator.make_seeds(1)[:, 0]
        if not isinstance(inputs, dict):
            images = tf.convert_to_tensor(inputs)
            if images.shape.rank == 3:
                return self.apply(images[tf.newaxis], seed)[0]
            return self.apply(images, seed)
        if "labels" not in inputs:
            return {**inputs, "images": self.apply(inputs["images"], seed)}
        labels = tf.cast(inputs["labels"], tf.float32)
        images, labels = self.apply(inputs["images"], seed, labels)
        return {**inputs, "images": images, "labels": labels}

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), "seed": self.seed, "on_host": self.on_host}


@keras.utils.register_keras_serializable(package="la_tf")
class AutoAugment(DrawnLayer):
    """One of AutoAugment's 25 sub-policies for each image.

    Args:
        policy: that of "cifar10" (CIFAR-100 too), "svhn" or "imagenet".
        **kwargs: `seed`, `on_host` and those of every Keras layer.
    """

    def __init__(self, policy="cifar10", **kwargs):
        known = autoaugment.SUB_POLICIES
        if policy not in known:
            raise ValueError(f"policy is {policy!r}; choose one of {', '.join(known)}")
        rule = rules.SubPolicies(spaces.AUTOAUGMENT, known[policy])
        super().__init__(rule, **kwargs)
        self.policy = policy

    def get_config(self):
        return {**super().get_config(), "policy": self.policy}


@keras.utils.register_keras_serializable(package="la_tf")
class RandAugment(DrawnLayer):
    """A number of random operations for each image, all at one magnitude.

    Args:
        num_ops: N, how many of the fourteen, drawn with replacement.
        magnitude: M, 0 to 30.
        magnitude_scale: 30 for magnitudes that are shares of 30; 10 for shares of 10
            without a bound, as in Google's released code.
        **kwargs: `seed`, `on_host` and those of every Keras layer.
    """

    def __init__(self, num_ops=2, magnitude=9, magnitude_scale=30, **kwargs):
        by_scale = {30: spaces.RANDAUGMENT, 10: spaces.RANDAUGMENT_OF_10}
        if num_ops < 1:
            raise ValueError(f"num_ops is {num_ops}; give 1 or more")
        if magnitude not in range(31):
            raise ValueError(f"magnitude is {magnitude}; give a whole number 0 to 30")
        if magnitude_scale not in by_scale:
            raise ValueError(f"magnitude_scale is {magnitude_scale}; give 30 or 10")
        space = by_scale[magnitude_scale]
        super().__init__(rules.RandomOperations(space, num_ops, magnitude), **kwargs)
        self.num_ops = num_ops
        self.magnitude = magnitude
        self.magnitude_scale = magnitude_scale

    def get_config(self):
        own = {
            "num_ops": self.num_ops,
            "magnitude": self.magnitude,
            "magnitude_scale": self.magnitude_scale,
        }
        return {**super().get_config(), **own}


@keras.utils.register_keras_serializable(package="la_tf")
class TrivialAugment(DrawnLayer):
    """One random operation at a random strength for each image.

    Args:
        strengths: "wide", or "standard" for networks as small as WRN-40-2.
        **kwargs: `seed`, `on_host` and those of every Keras layer.
    """

    def __init__(self, strengths="wide", **kwargs):
        by_name = {"wide": spaces.WIDE, "standard": spaces.RANDAUGMENT}
        if strengths not in by_name:
            raise ValueError(f"strengths is {strengths!r}; give wide or standard")
        super().__init__(rules.RandomOperations(by_name[strengths], 1), **kwargs)
        self.strengths = strengths

    def get_config(self):
        return {**super().get_config(), "strengths": self.strengths}


@keras.utils.register_keras_serializable(package="la_tf")
class RandomPolicy(DrawnLayer):
    """Two random operations of LatentAugment's sixteen, each at a random level.

    MixUp mixes images of the batch, and their labels with them: it takes part where
    labels are given. On images alone it leaves an image as it is.

    Args:
        mixup_alpha: of MixUp's Beta distribution.
        **kwargs: `seed`, `on_host` and those of every Keras layer.
    """

    def __init__(self, mixup_alpha=1.0, **kwargs):
        super().__init__(rules.DistinctPairs(), mixup_alpha=mixup_alpha, **kwargs)
        self.mixup_alpha = mixup_alpha

    def get_config(self):
        return {**super().get_config(), "mixup_alpha": self.mixup_alpha}
