"""Draw what the policies do to images: python -m la_tf.preview --dataset=D."""

import io

from flags import preview as preview_flags
from la_tf import cli, console, files
from la_tf.data import sources
from la_tf.errors import UserError


def main():
    request = preview_flags.preview_request()
    verbosity = request.config.verbosity
    # A wrong path is told before TensorFlow takes its seconds to load.
    sources.check(request.config.dataset, request.config.data_dir)
    with console.Stages(3, verbosity) as stages:
        stages.begin("loading TensorFlow")
        cli.load_tensorflow(verbosity)
        cli.hush_compiler()
        from la_tf.preview import sheets

        stages.begin("reading images and making views")
        examples = sheets.load(request.config, request.images)
        stages.begin("drawing")
        save(sheets.operations(examples), request.operations_path)
        save(sheets.views(examples), request.views_path)
    if verbosity >= 0:
        print(f"operations at each level   {request.operations_path}")
        print(f"views of a few images      {request.views_path}")
    return 0


def save(picture, path):
    """Write a picture to a PNG file, whole or not at all."""
    content = io.BytesIO()
    picture.save(content, "PNG")
    try:
        files.write(path, content.getvalue())
    except OSError as error:
        raise UserError(
            f"--output: {path} cannot be written ({error.strerror}); choose another "
            "place."
        ) from None


if __name__ == "__main__":
    preview_flags.install_help()
    cli.run(main)
