"""Measures this machine: python -m la_tf.benchmark views."""

import importlib

from flags import benchmark as benchmark_flags
from la_tf import command, startup


def main(subject):
    startup.quiet()
    startup.hush_compiler()
    importlib.import_module(f"la_tf.benchmarks.{subject}").run()


if __name__ == "__main__":
    benchmark_flags.install_help()
    command.run(main, benchmark_flags.SUBJECTS)
