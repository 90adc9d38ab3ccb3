"""Export a trained classifier: python -m la_tf.export --run_dir=R --export_dir=E."""

import importlib.util

from flags import export as export_flags
from la_tf import cli, console
from la_tf.errors import UserError
from la_tf.run import folder as run_folder

_STAGES = 4


def main():
    options = export_flags.options_from_flags()
    folder = run_folder.RunFolder(options.run_dir)
    # Refuse a folder that is not a run before TensorFlow takes seconds to load.
    folder.config()
    if options.onnx and importlib.util.find_spec("tf2onnx") is None:
        raise UserError(
            "--onnx needs the package tf2onnx; install it by pip install '.[onnx]', or "
            "leave --onnx out."
        )
    count = _STAGES + len(options.tflite) + options.onnx
    with console.Stages(count, options.verbosity) as stages:
        stages.begin("loading TensorFlow")
        cli.load_tensorflow(options.verbosity)
        from la_tf.export import writer

        path = writer.export_run(
            folder,
            options.export_dir,
            stages,
            version=options.version,
            checkpoint=options.checkpoint,
            most_megapixels=options.max_megapixels,
            tflite=options.tflite,
            onnx=options.onnx,
            data_dir=options.data_dir,
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
        *(
            f"evaluate   python -m la_tf.evaluate --saved_model={each}"
            for each in (path, *sorted(path.glob("classifier*")))
        ),
    ]


if __name__ == "__main__":
    export_flags.install_help()
    cli.run(main)
