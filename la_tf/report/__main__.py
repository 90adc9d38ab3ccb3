"""Write a run's report: python -m la_tf.report --run_dir=R."""

from flags import report as report_flags
from la_tf import cli, console


def main():
    options = report_flags.options_from_flags()
    # Light to import: refuse a folder that is not a run before TensorFlow is loaded.
    from la_tf.report import runs as report_runs

    runs = report_runs.read(options.run_dirs)
    stages_a_run = 3 if options.views else 1
    with console.Stages(1 + stages_a_run * len(runs), options.verbosity) as stages:
        stages.begin("loading TensorFlow")
        cli.load_tensorflow(options.verbosity)
        cli.hush_compiler()
        from la_tf.report import writing

        path = writing.write(
            runs, options.report_dir, stages, options.views, options.data_dir
        )
    if options.verbosity >= 0:
        print(f"report     {path}\npictures   {path.parent} (PNG and SVG)")
    return 0


if __name__ == "__main__":
    report_flags.install_help()
    cli.run(main)
