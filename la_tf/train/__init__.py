"""Training a classifier, from a configuration to a summary.

The package is also the function `la_tf.train(dataset="digits", epochs=5)`.
"""

import sys
import types


class _CallablePackage(types.ModuleType):
    def __call__(self, **chosen):
        """Train as `la_tf.runs.train` does."""
        from la_tf import runs

        return runs.train(**chosen)


sys.modules[__name__].__class__ = _CallablePackage
