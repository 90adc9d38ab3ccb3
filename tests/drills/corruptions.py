"""Every file of a run, an export and a prepared data set, damaged in every way."""

import json
import random
import shutil
import sys

from tests.drills import commands

WHAT = (
    "Every file of a finished run, an export or a prepared data set cut, emptied, "
    "zeroed, with a flipped bit or deleted: one sentence, or the same result as "
    "without the damage."
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
                if name == "report" and len(file.parts) > 1:
                    # Without views it looks into no folder below the run's.
                    continue
                shutil.rmtree(copy)
                shutil.copytree(whole, copy)
                commands.damage(copy / file, how, generator)
                result, ended = use()
                held = ended.is_refusal or (
                    ended.code == 0 and result == expected[name]
                )
                yield f"{file} {how}: {name}", held, f"{ended.code} {ended.said}"
    yield from _damaged(
        export, generator, lambda: _evaluated(root, f"--saved_model={export}")
    )
    data = root / "data"
    commands.call(_prepare, data, root / "official")
    yield from _damaged(data, generator, lambda: _trained_on(root, data))


def _damaged(folder, generator, use):
    """Yield the cases of a folder that is used in one way."""
    kept = folder.with_name(f"{folder.name}-kept")
    shutil.copytree(folder, kept)
    expected, _ = use()
    assert expected is not None
    files = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    for file in sorted(files):
        for how in commands.DAMAGES:
            shutil.rmtree(folder)
            shutil.copytree(kept, folder)
            commands.damage(folder / file, how, generator)
            result, ended = use()
            held = ended.is_refusal or (ended.code == 0 and result == expected)
            yield f"{folder.name}/{file} {how}", held, f"{ended.code} {ended.said}"


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


def _prepare(data_dir, official):
    """Prepare sixty images as if they were all of CIFAR-10."""
    from la_tf.prepare import conversion
    from tests.la_tf.prepare import prepare_test

    prepare_test.write(official, prepare_test.cifar10_files("binary"))
    request = conversion.Request("cifar10", str(data_dir), archive=str(official))
    checksums = {"cifar10": prepare_test.cifar10_checksums()}
    return str(conversion.prepare(request, checksums)[0])


def _trained_on(root, data_dir):
    """What a run keeps of its images, and how it ended."""
    run_dir = root / "trained"
    shutil.rmtree(run_dir, ignore_errors=True)
    ended = commands.run(
        "train",
        *("--dataset=cifar10", f"--data_dir={data_dir}", f"--run_dir={run_dir}"),
        *("--model=wrn_10_1", "--method=baseline", "--epochs=1", "--batch_size=10"),
        *("--strategy=none", "--verbosity=-1"),
        before=_end_before_training,
    )
    if ended.code:
        return None, ended
    data = json.loads((run_dir / "config.json").read_text())["data"]
    return data, ended


def _end_before_training():
    """In the new process: all images have been read by then, and their digest kept."""
    from la_tf.train import loop

    loop._fit = lambda *_: sys.exit(0)
