"""Train a classifier: python -m la_tf.train --dataset=cifar10 --model=wrn_40_2."""

import sys

from flags import train as train_flags
from la_tf import cli, recipes
from la_tf.run import cluster, provenance
from la_tf.run import folder as run_folder


def main():
    chosen = train_flags.chosen()
    folder, config = run_folder.opened(chosen)
    folder.writable = cluster.is_chief()
    with folder.taken(new=not config.resume):
        return _train(config, folder)


def _train(config, folder):
    _tell(config, opening(config, folder))
    cli.load_tensorflow(config.verbosity)
    # TensorFlow is imported here, once the environment that it reads is settled.
    from la_tf.run import checkpoints
    from la_tf.train import loop

    try:
        summary = loop.train_and_evaluate(config, folder)
    except checkpoints.RunStopped as stopped:
        return _tell_stopped(stopped.step, folder)
    _tell(config, closing(summary, folder))
    return 0


def opening(config, folder):
    """Return the lines before the first progress bar."""
    lines = [
        f"{config.dataset} with {config.model}, method {config.method}: "
        f"{config.epochs} epochs of batches of {config.batch_size}, "
        f"{config.num_views} view{'s' if config.num_views > 1 else ''} an image",
        _rate(config),
        f"run folder: {folder.path}",
        provenance.machine_note(folder.record()) if config.resume else "",
        "loading TensorFlow ...",
    ]
    note = recipes.note(config.dataset, config.model)
    return [line for line in (note, *lines) if line]


def _rate(config):
    """Return a line about a learning rate that is not simply the recipe's."""
    origin = config.origins["learning_rate"]
    if not origin.startswith("recipe:"):
        return ""
    return f"learning rate {config.learning_rate:.4g} ({origin})"


def closing(summary, folder):
    """Return the lines after the last epoch."""
    warning = summary.get("warning")
    return [
        "",
        *([warning] if warning else []),
        f"test accuracy  {summary['last_accuracy']:.2%} after the last epoch (best "
        f"{summary['best_accuracy']:.2%} in epoch {summary['best_epoch']}, chosen on "
        f"{summary['best_chosen_on']})",
        f"training time  {summary['seconds']:.0f} s for {summary['epochs']} epochs, "
        f"{summary['parameters']:,} parameters",
        f"run folder     {folder.path}",
        f"try next       python -m la_tf.report --run_dir={folder.path}",
        f"               python -m la_tf.export --run_dir={folder.path} "
        "--export_dir=exported",
    ]


def _tell(config, lines):
    if config.verbosity >= 0 and cluster.is_chief():
        print("\n".join(lines), flush=True)


def _tell_stopped(step, folder):
    sys.stderr.write(
        f"\nstopped and saved after step {step}; go on with\n"
        f"  python -m la_tf.train --run_dir={folder.path} --resume\n"
    )
    return cli.INTERRUPTED


if __name__ == "__main__":
    train_flags.install_help()
    cli.run(main)
