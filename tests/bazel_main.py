"""Runs one test file under Bazel, with the settings that pytest's tests have."""

import os
import runpy
import sys

if __name__ == "__main__":
    # Python looks into this file's folder first, where la_tf, flags and models are the
    # packages of their tests.
    del sys.path[0]
    from la_tf import environment

    environment.settle()
    del sys.argv[0]
    # A test file finds out from its name in the process that it is the program.
    runpy.run_path(os.path.abspath(sys.argv[0]), run_name="__main__")
