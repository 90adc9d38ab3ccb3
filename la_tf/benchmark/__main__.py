"""Measure this machine: python -m la_tf.benchmark views."""

import importlib

from flags import benchmark as benchmark_flags
from la_tf import cli


def main(subject):
    cli.load_tensorflow()
    cli.hush_compiler()
    importlib.import_module(f"la_tf.benchmark.{subject}").run()


if __name__ == "__main__":
    benchmark_flags.install_help()
    cli.run(main, benchmark_flags.SUBJECTS)
