"""Export a trained classifier: python -m la_tf.export --run_dir=R --export_dir=E."""

from flags import export as export_flags
from la_tf import cli, console
from la_tf.run import folder as run_folder

_STAGES = 4


def main():
    options = export_flags.options_from_flags()
    folder = run_folder.RunFolder(options.run_dir)
    # Refuse a folder that is not a run before TensorFlow takes seconds to load.
    folder.config()
    with console.Stages(_STAGES, options.verbosity) as stages:
        stages.begin("loading TensorFlow")
        cli.load_tensorflow(options.verbosity)
        from la_tf.export import writer

        path = writer.export_run(
            folder,
            options.export_dir,
            stages,
            version=options.version,
            checkpoint=options.checkpoint,
        )
    if options.verbosity >= 0:
        print("\n".join(closing(path)))
    return 0


def closing(path):
    """Return the lines that tell what to do with an export."""
    return [
        f"exported   {path}",
        f"look       saved_model_cli show --dir {path} --all",
        "serve      tensorflow_model_server --rest_api_port=8501 "
        f"--model_name={path.parent.resolve().name} "
        f"--model_base_path={path.parent.resolve()} --enable_model_warmup",
        f"evaluate   python -m la_tf.evaluate --saved_model={path}",
    ]


if __name__ == "__main__":
    export_flags.install_help()
    cli.run(main)
