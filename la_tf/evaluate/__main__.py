"""Evaluate a trained classifier: python -m la_tf.evaluate --run_dir=R."""

import json
import pathlib

from flags import evaluate as evaluate_flags
from la_tf import cli, files
from la_tf.data import sources
from la_tf.errors import UserError
from la_tf.run import folder as run_folder

_HARDEST = 3


def main():
    options = evaluate_flags.options_from_flags()
    folder = None
    if options.saved_model is None:
        folder = run_folder.RunFolder(options.run_dir)
        # A wrong path is told before TensorFlow takes its seconds to load.
        _check_images(folder.config(), options.overrides)
    _tell(options, [f"evaluating {options.saved_model or options.run_dir}"])
    cli.load_tensorflow(options.verbosity)
    result = evaluate(options, folder)
    _tell(options, table(result))
    if options.output_dir is None:
        _tell(options, ["", "nothing written: name a folder by --output_dir"])
    else:
        paths = write(result, pathlib.Path(options.output_dir))
        _tell(options, ["", *(f"written    {path}" for path in paths)])
    return 0


def evaluate(options, folder):
    """Evaluate a classifier and return what evaluation.json holds.

    Args:
        options: the EvaluateOptions.
        folder: the RunFolder, or None for a SavedModel.
    """
    # TensorFlow is imported here, once the environment that it reads is settled.
    from la_tf.evaluate import candidate, scoring

    if folder is None:
        classifier = candidate.from_export(options.saved_model)
    else:
        classifier = candidate.from_run(folder, options.checkpoint)
    return scoring.evaluation(
        classifier,
        options.overrides,
        options.robustness_level,
        options.robustness_images,
        options.verbosity,
    )


def table(result):
    """Return the lines of a short table of results."""
    part = "held-out" if result["held_out"] else "test"
    lines = [
        "",
        f"{result['dataset']}, {result['images']:,} {part} images",
        f"  top-1 accuracy     {result['top_1']:8.2%}",
        f"  top-5 accuracy     {result['top_5']:8.2%}",
        f"  loss               {result['loss']:8.4f}",
        f"  calibration error  {result['calibration']['error']:8.2%}  (15 bins)",
        f"  hardest classes    {_hardest(result)}",
        f"  commonest mistakes {_mistakes(result)}",
    ]
    if not result["same_names"]:
        lines.append(
            "  The network's names of the classes are not those of the images; classes "
            "were\n  compared by number."
        )
    return lines + _robustness_lines(result.get("robustness"))


def write(result, folder):
    """Write evaluation.json and confusion.png and return their paths."""
    import numpy as np

    from la_tf import drawing
    from la_tf.evaluate import confusion

    confusion_path = folder / "confusion.png"
    figure = confusion.draw(
        np.asarray(result["confusion"]),
        result["class_names"],
        f"{result['dataset']} with {result['model']}: top-1 {result['top_1']:.2%}",
    )
    json_path = folder / "evaluation.json"
    try:
        files.write(json_path, (json.dumps(result, indent=2) + "\n").encode())
        files.write(confusion_path, drawing.png(figure))
    except OSError as error:
        raise UserError(
            f"--output_dir={folder} cannot be written ({error.strerror}); choose "
            "another --output_dir."
        ) from None
    return json_path, confusion_path


def _check_images(config, overrides):
    dataset = overrides.get("dataset", config.dataset)
    # Of another data set the place is not the run's.
    own = config.data_dir if dataset == config.dataset else None
    sources.check(dataset, overrides.get("data_dir", own))


def _hardest(result):
    known = [
        (accuracy, name)
        for accuracy, name in zip(result["class_accuracy"], result["class_names"])
        if accuracy is not None
    ]
    known.sort(key=lambda pair: pair[0])
    return ", ".join(f"{name} {accuracy:.1%}" for accuracy, name in known[:_HARDEST])


def _mistakes(result):
    import numpy as np

    from la_tf.evaluate import measures

    names = result["class_names"]
    mistakes = measures.most_confused(np.asarray(result["confusion"]), _HARDEST)
    texts = [f"{names[a]} taken for {names[b]} ({count})" for a, b, count in mistakes]
    return ", ".join(texts) or "none"


def _robustness_lines(robustness):
    if robustness is None:
        return []
    lines = [
        "",
        f"accuracy under each operation at level {robustness['level']}, "
        f"{robustness['images']:,} images; unchanged {robustness['unchanged']:.2%}",
    ]
    cells = [
        f"  {name:<13}{accuracy:8.2%}"
        for name, accuracy in robustness["operations"].items()
    ]
    rows = len(cells) // 2
    return lines + [f"{cells[row]}    {cells[rows + row]}" for row in range(rows)]


def _tell(options, lines):
    if options.verbosity >= 0:
        print("\n".join(lines), flush=True)


if __name__ == "__main__":
    evaluate_flags.install_help()
    cli.run(main)
