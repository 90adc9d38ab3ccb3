"""Prepare a data set: python -m la_tf.prepare --dataset=cifar10 --via=npm."""

from flags import prepare as prepare_flags
from la_tf import cli


def main():
    request = prepare_flags.prepare_request()
    cli.load_tensorflow()
    from la_tf.prepare import conversion

    folder, was_there = conversion.prepare(request)
    print(f"{request.dataset} is {'already ' if was_there else ''}prepared in {folder}")
    where = f" --data_dir={request.data_dir}" if request.data_dir else ""
    print(f"Train on it: python -m la_tf.train --dataset={request.dataset}{where}")


if __name__ == "__main__":
    prepare_flags.install_help()
    cli.run(main)
