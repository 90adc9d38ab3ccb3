"""The learning rate of every step."""

import math

import tensorflow as tf
from tensorflow import keras


@keras.utils.register_keras_serializable("la_tf")
class WarmupCosine(keras.optimizers.schedules.LearningRateSchedule):
    """A linear rise to the peak, then one half cosine down to 0.

    Step t (from 0) of W warm-up steps has rate peak · (t + 1) / W; a later one of T in
    all has peak · (1 + cos(pi · (t - W) / (T - W))) / 2.
    """

    def __init__(self, peak, warmup_steps, total_steps):
        super().__init__()
        self.peak = peak
        self.warmup_steps = warmup_steps
        self.total_steps = total_steps

    def __call__(self, step):
        step = tf.cast(step, tf.float32)
        rising = self.peak * (step + 1.0) / max(self.warmup_steps, 1)
        span = max(self.total_steps - self.warmup_steps, 1)
        angle = math.pi * tf.clip_by_value((step - self.warmup_steps) / span, 0.0, 1.0)
        falling = self.peak * (1.0 + tf.cos(angle)) / 2.0
        return tf.where(step < self.warmup_steps, rising, falling)

    def get_config(self):
        return {
            "peak": self.peak,
            "warmup_steps": self.warmup_steps,
            "total_steps": self.total_steps,
        }
