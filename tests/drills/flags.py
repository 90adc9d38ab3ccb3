"""Command lines that somebody's cat has typed: a sentence, never a traceback.

Each ends at the latest where TensorFlow would be loaded.
"""

import random
import sys

from tests.drills import commands

WHAT = "A random command line of any command: help, a sentence, or accepted."
TIMES = 2000
COMMANDS = (
    *("benchmark", "compare", "evaluate", "export", "prepare", "preview", "report"),
    "train",
)
VALUES = (
    *("", "0", "1", "-1", "7", "1e999", "nan", "inf", "-0.0", "1e-400", "0x10", "True"),
    *(
        "none",
        "None",
        "..",
        "/",
        "/dev/null",
        "/no/such",
        "a b",
        "ä€😀",
        "\n",
        "$x",
        "%s",
    ),
    *("x" * 5000, "x" * 300, "[1]", "{}", "digits", "cifar10", "latent", "wrn_10_1"),
    *("wrn_11_1", "wrn_0_0", "99999999999999999999", "grpc://", "grpc://a:b", "best"),
)


def run(root):
    """Yield a case, whether it held, and how it went."""
    generator = random.Random(0)
    names = {name: commands.call(_flag_names, name) for name in COMMANDS}
    for number in range(TIMES):
        command = COMMANDS[number % len(COMMANDS)]
        words = [
            _word(generator, names[command]) for _ in range(generator.randint(1, 5))
        ]
        ended = commands.run(command, *words, before=lambda: _prepare(root))
        held = ended.code in (0, 2) and "Traceback" not in ended.said
        held &= ended.code == 0 or ended.is_refusal
        yield f"{command} {words}", held, f"{ended.code} {ended.said}"


def _word(generator, names):
    name = generator.choice(names)
    if generator.random() < 0.1:
        name = name[:-1] + generator.choice("xyz")
    form = generator.choice(
        ("--{}={}", "--{}={}", "--{}={}", "--{}", "--no{}", "-{}", "{1}")
    )
    return form.format(name, generator.choice(VALUES))


def _prepare(root):
    """In the new process: nothing is written elsewhere, and nothing is trained."""
    import os

    from la_tf import cli
    from la_tf.compare import workers

    os.chdir(root)
    cli.load_tensorflow = workers.make = lambda *_: sys.exit(0)


def _flag_names(command):
    import importlib

    from absl import app, flags

    app.define_help_flags()
    importlib.import_module(f"la_tf.{command}.__main__")
    # These start a debugger, or end with absl's own pages and code.
    left_out = ("run_with_pdb", "pdb", "pdb_post_mortem")
    pages = ("?", "helpfull", "helpshort", "helpxml")
    return sorted(set(flags.FLAGS) - {*left_out, *pages})
