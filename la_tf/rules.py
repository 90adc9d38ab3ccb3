"""Drawing rules: which operations and levels each view gets.

A rule has a `space`, a number of `num_stages` and of `num_policies`, and draws a
`Choice` from a seed. How the views are weighted afterwards is another matter.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from la_tf import draws, policy
from la_tf.ops import operation, spaces
from la_tf.policy import Choice

# So many views of an image are drawn one by one, more by sorting.
_FEW = 16


class Rule:
    """How policies are drawn.

    Attributes:
        space: the `la_tf.ops.spaces.Space` that operations and levels are from.
        num_stages: S, how many operations a view goes through.
        num_policies: how many policies the prior tells apart; 1 if there are none.
    """

    space: spaces.Space
    num_stages = 2
    num_policies = 1

    def draw(self, batch_size, num_views, seed):
        """Return a `Choice` for so many views of each image.

        It can be traced, reads nothing but the seed and the rule's own variables, and
        gives the same on every device.

        Args:
            batch_size: B, a number or a scalar tensor.
            num_views: K, a Python number.
            seed: two whole numbers.
        """
        raise NotImplementedError

    def name_of(self, number):
        """Return the name of a policy; the operations that run first stand first."""
        del number
        return "any operations"

    @property
    def is_square(self):
        """Whether the policies are all pairs, `first * operations + second`."""
        return self.num_policies == len(self.space.operations) ** 2

    def names_of(self, choice):
        """Return what happens to each view, as "ShearX>Invert": text [B, K]."""
        operations = np.asarray(choice.operations)
        return np.array([[self._joined(view) for view in row] for row in operations])

    def showing(self, policies, level):
        """Return the `Choice` of given policies with none of their operations left out.

        Args:
            policies: int32 [B, K].
            level: of the operations, where the policies do not say it.
        """
        raise NotImplementedError

    def _joined(self, operations):
        names = [self.space.operations[index] for index in operations]
        return ">".join(name for name in names if name != "Identity") or "Identity"

    def check_num_views(self, num_views):
        """Return the number of views, if so many can be drawn."""
        if num_views < 1:
            raise ValueError(f"num_views is {num_views}; give 1 or more")
        return num_views


class DistinctPairs(Rule):
    """LatentAugment's: K distinct ones of the 256 ordered pairs, each at any level.

    Every set of K policies is equally likely, in every order; levels are 0..9 evenly.
    """

    num_policies = policy.NUM_POLICIES

    def __init__(self, transforms="latentaugment"):
        self.space = policy.space_of(transforms)
        self._transforms = transforms

    def draw(self, batch_size, num_views, seed):
        self.check_num_views(num_views)
        key_seed, level_seed = draws.split(seed, 2)
        keys = operation.draw_noise([batch_size, self.num_policies], key_seed)[..., 0]
        # The policy's own number in the lowest bits leaves no ties, which devices might
        # break differently.
        numbers = tf.range(self.num_policies, dtype=tf.int64)
        keys = tf.bitwise.bitwise_and(keys, ~(self.num_policies - 1)) + numbers
        policies = _places_of_largest(keys, num_views, self.num_policies)
        levels = operation.draw_noise([batch_size, num_views], level_seed)
        levels = operation.below(levels, self.space.num_levels)
        return Choice(policies, policy.pairs(policies), levels)

    def name_of(self, number):
        return policy.name_of(number, self._transforms)

    def showing(self, policies, level):
        operations = policy.pairs(policies)
        return Choice(policies, operations, tf.zeros_like(operations) + level)

    def check_num_views(self, num_views):
        if not 1 <= num_views <= self.num_policies:
            raise ValueError(
                f"num_views is {num_views}; give 1 to {self.num_policies}: "
                "the views of an image have distinct policies"
            )
        return num_views


class SubPolicies(Rule):
    """AutoAugment's: one sub-policy of a list, each operation by its own chance.

    An operation that is passed over is Identity. Each view draws by itself.

    Args:
        space: of the operations, Identity among them.
        sub_policies: a list of sub-policies; each is a list of operations, as many in
            all, and an operation is its name, its chance in tenths and its level.
    """

    def __init__(self, space, sub_policies):
        self.space = space
        self.num_policies = len(sub_policies)
        self.num_stages = len(sub_policies[0])
        columns = np.moveaxis(
            [
                [(space.index(name), tenths, level) for name, tenths, level in one]
                for one in sub_policies
            ],
            -1,
            0,
        )
        self._operations, self._tenths, self._levels = columns.astype(np.int64)

    def draw(self, batch_size, num_views, seed):
        policy_seed, *stage_seeds = draws.split(seed, 1 + self.num_stages)
        shape = [batch_size, num_views]
        noise = operation.draw_noise(shape, policy_seed)[..., 0]
        policies = operation.below(noise, self.num_policies)
        coins = [operation.draw_noise(shape, one)[..., 0] for one in stage_seeds]
        coins = operation.below(tf.stack(coins, axis=-1), 10)
        applied = coins < tf.gather(self._tenths, policies)
        operations = tf.gather(self._operations, policies)
        identity = tf.constant(self.space.index("Identity"), tf.int64)
        return Choice(
            tf.cast(policies, tf.int32),
            tf.where(applied, operations, identity),
            tf.gather(self._levels, policies),
        )

    def name_of(self, number):
        # The number too, for some sub-policies differ by chance and level alone.
        return f"{self._joined(self._operations[number])} (no. {number})"

    def showing(self, policies, level):
        del level
        return Choice(
            policies,
            tf.gather(self._operations, policies),
            tf.gather(self._levels, policies),
        )


class RandomOperations(Rule):
    """RandAugment's and TrivialAugment's: operations drawn evenly, with replacement.

    Args:
        space: of the operations.
        num_stages: how many operations a view goes through.
        level: of all operations, or None to draw a level for each evenly.
    """

    def __init__(self, space, num_stages, level=None):
        self.space = space
        self.num_stages = num_stages
        self.level = level

    def draw(self, batch_size, num_views, seed):
        noise = tf.stack(
            [
                operation.draw_noise([batch_size, num_views], one)
                for one in draws.split(seed, self.num_stages)
            ],
            axis=2,
        )
        operations = operation.below(noise[..., 0], len(self.space.operations))
        if self.level is None:
            levels = operation.below(noise[..., 1], self.space.num_levels)
        else:
            levels = tf.zeros_like(operations) + self.level
        policies = tf.zeros_like(operations[..., 0], tf.int32)
        return Choice(policies, operations, levels)


def _places_of_largest(keys, count, size):
    """Return the places int32 [B, count] of the largest keys [B, size], in order.

    The lowest bits of a key are its place, and size is a power of two.
    """
    if count > _FEW:
        return tf.math.top_k(keys, count).indices
    # A few maxima, each below the one before, are a third of the work of sorting. In
    # float64, which holds the keys exactly and which a GPU has kernels for.
    keys = tf.cast(keys, tf.float64)
    largest = [tf.reduce_max(keys, axis=1)]
    for _ in range(count - 1):
        smaller = keys < largest[-1][:, tf.newaxis]
        largest.append(tf.reduce_max(tf.where(smaller, keys, -1.0), axis=1))
    largest = tf.cast(tf.stack(largest, axis=1), tf.int64)
    places = tf.bitwise.bitwise_and(largest, size - 1)
    return tf.cast(places, tf.int32)
