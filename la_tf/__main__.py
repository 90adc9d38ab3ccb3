"""Lists the commands, or runs one: python -m la_tf train --dataset=cifar10."""

import runpy
import sys

import la_tf
from la_tf import cli, errors

COMMANDS = {
    "train": "train a classifier",
    "evaluate": "accuracy, calibration and robustness of a trained classifier",
    "export": "a trained classifier as a SavedModel for serving",
    "report": "one HTML page that explains a run, or compares several",
    "compare": "methods over seeds and settings, with statistics",
    "preview": "pictures of the operations and of views",
    "prepare": "a data set from archives or packages that you have",
    "benchmark": "what this machine does",
}


def main():
    """Run the command that the command line names; the console script calls this."""
    words = sys.argv[1:]
    if words[:1] == ["--version"]:
        print(f"la_tf {la_tf.__version__}")
    elif not words or words[0] in ("-h", "--help", "help"):
        cli.show(page())
    elif words[0] in COMMANDS:
        # As `python -m la_tf.train` would see it.
        del sys.argv[0]
        runpy.run_module(f"la_tf.{words[0]}", run_name="__main__", alter_sys=True)
    else:
        cli.fail(f"la_tf has no such command: {errors.unknown(words[0], COMMANDS)}")


def page():
    """Return the list of commands."""
    lines = [f"  {name:<11}{what}" for name, what in COMMANDS.items()]
    return "\n".join(
        [
            f"la_tf {la_tf.__version__}: LatentAugment for TensorFlow and Keras",
            "",
            "la_tf COMMAND --name=value ...   (or python -m la_tf.COMMAND)",
            *lines,
            "",
            "la_tf COMMAND --help lists a command's flags.",
            "",
        ]
    )


if __name__ == "__main__":
    main()
