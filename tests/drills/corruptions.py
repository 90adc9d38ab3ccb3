"""Every file of a run and of an export, damaged in every way."""

import json
import random
import shutil

from tests.drills import commands

WHAT = (
    "Every file of a finished run or an export cut, emptied, zeroed, with a flipped "
    "bit or deleted: one sentence, or the same result as without the damage."
)


def run(root):
    """Yield a case, whether it held, and how it went."""
    generator = random.Random(0)
    whole, copy, export = root / "whole", root / "run", root / "export"
    for ended in (
        commands.run("train", *commands.RUN, f"--run_dir={whole}"),
        commands.run("export", f"--run_dir={whole}", f"--export_dir={export}"),
    ):
        assert ended.code == 0, ended.said
    shutil.copytree(whole, copy)
    uses = {
        "resume": lambda: _resumed(copy, whole),
        "evaluate": lambda: _evaluated(root, f"--run_dir={copy}"),
        "report": lambda: _reported(copy),
    }
    expected = {name: use()[0] for name, use in uses.items()}
    files = [path.relative_to(whole) for path in whole.rglob("*") if path.is_file()]
    for file in sorted(files):
        for how in commands.DAMAGES:
            for name, use in uses.items():
                shutil.rmtree(copy)
                shutil.copytree(whole, copy)
                commands.damage(copy / file, how, generator)
                result, ended = use()
                held = ended.is_refusal or (
                    ended.code == 0 and result == expected[name]
                )
                yield f"{file} {how}: {name}", held, f"{ended.code} {ended.said}"
    yield from _exports(root, export, generator)


def _exports(root, export, generator):
    kept = root / "kept"
    shutil.copytree(export, kept)
    expected, _ = _evaluated(root, f"--saved_model={export}")
    files = [path.relative_to(export) for path in export.rglob("*") if path.is_file()]
    for file in sorted(files):
        for how in commands.DAMAGES:
            shutil.rmtree(export)
            shutil.copytree(kept, export)
            commands.damage(export / file, how, generator)
            result, ended = _evaluated(root, f"--saved_model={export}")
            held = ended.is_refusal or (ended.code == 0 and result == expected)
            yield f"export {file} {how}", held, f"{ended.code} {ended.said}"


def _resumed(copy, whole):
    ended = commands.run("train", "--resume", f"--run_dir={copy}", "--verbosity=-1")
    return (ended.code == 0 and commands.differences(copy, whole)), ended


def _evaluated(root, what):
    output = root / "output"
    shutil.rmtree(output, ignore_errors=True)
    ended = commands.run(
        "evaluate", what, f"--output_dir={output}", "--robustness_images=0"
    )
    if ended.code:
        return None, ended
    return json.loads((output / "evaluation.json").read_text())["confusion"], ended


def _reported(copy):
    ended = commands.run("report", f"--run_dir={copy}", "--views=false")
    page = copy / "report" / "report.html"
    return (page.read_text() if page.exists() else None), ended
