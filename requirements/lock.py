"""Writes the lock files anew: the newest versions that setup.py allows.

    pip install uv && python requirements/lock.py

A file serves all Pythons of its stack; where they differ, a line has a condition.
"""

import ast
import pathlib
import subprocess

HERE = pathlib.Path(__file__).parent
# The stack's list in setup.py: the oldest Python that can have it.
OLDEST_PYTHON = {"KERAS_2": "3.9", "KERAS_3": "3.10"}


def lists():
    """Return the lists of requirements in setup.py by their names."""
    module = ast.parse((HERE.parent / "setup.py").read_text("utf-8"))
    return {
        statement.targets[0].id: ast.literal_eval(statement.value)
        for statement in module.body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.List)
    }


def lock(packages, python, path):
    """Write the exact versions that the packages and all they need resolve to."""
    command = ["uv", "pip", "compile", "--universal", "--quiet", "--no-annotate"]
    command += ["--no-header", "--upgrade", "--python-version", python]
    subprocess.run(
        [*command, "--output-file", str(path), "-"],
        input="\n".join(packages),
        text=True,
        check=True,
    )


if __name__ == "__main__":
    found = lists()
    for stack, python in OLDEST_PYTHON.items():
        path = HERE / f"{stack.lower().replace('_', '')}.txt"
        lock(found["EVERYWHERE"] + found["TEST"] + found[stack], python, path)
