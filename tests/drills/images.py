"""Bad images in a folder of photographs: named, or left out when asked."""

import io
import os
import shutil
import struct

import numpy as np
from PIL import Image

from tests.drills import commands

WHAT = (
    "A bad file among the images of a class: one sentence that names it, or left out "
    "with --skip_bad_images."
)
TRAIN = (
    *("--dataset=folder", "--model=wrn_10_1", "--image_size=16", "--epochs=1"),
    *("--batch_size=4", "--num_views=2", "--holdout=0.25", "--strategy=none"),
)


def run(root):
    """Yield a case, whether it held, and how it went."""
    for name, make in sorted(BAD.items()):
        data = root / name
        _write_good(data)
        bad = data / "bee" / "bad.png"
        make(bad)
        for kind in ("crop", "inception"):
            for skip in (False, True):
                run_dir = root / "run"
                shutil.rmtree(run_dir, ignore_errors=True)
                ended = commands.run(
                    "train",
                    *TRAIN,
                    f"--data_dir={data}",
                    f"--run_dir={run_dir}",
                    f"--preprocessing={kind}",
                    f"--skip_bad_images={skip}",
                )
                held = ended.code == 0 if skip else ended.is_refusal
                held &= skip or str(bad) in ended.said
                yield f"{name}, {kind}, skip {skip}", held, f"{ended.code} {ended.said}"


def _write_good(data):
    generator = np.random.default_rng(0)
    for name in ("ant", "bee", "cow"):
        (data / name).mkdir(parents=True)
        for number in range(8):
            pixels = generator.integers(0, 256, [24, 24, 3], np.uint8)
            Image.fromarray(pixels).save(data / name / f"{number}.png")


def _encoded(kind):
    file = io.BytesIO()
    pixels = np.random.default_rng(1).integers(0, 256, [24, 24, 3], np.uint8)
    Image.fromarray(pixels).save(file, kind)
    return file.getvalue()


def _bytes(content):
    return lambda path: path.write_bytes(content)


def _flipped(data):
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def _without_size(data):
    return data[:16] + struct.pack(">II", 0, 0) + data[24:]


BAD = {
    "cut_png": _bytes(_encoded("PNG")[:200]),
    "flipped_png": _bytes(_flipped(_encoded("PNG"))),
    "cut_jpeg": _bytes(_encoded("JPEG")[:300]),
    "cut_gif": _bytes(_encoded("GIF")[:30]),
    "cut_bmp": _bytes(_encoded("BMP")[:100]),
    "header_alone": _bytes(_encoded("PNG")[:8]),
    "empty": _bytes(b""),
    "text": _bytes(b"no image at all"),
    "zeros": _bytes(bytes(1000)),
    "no_size": _bytes(_without_size(_encoded("PNG"))),
    "pipe": os.mkfifo,
    "broken_link": lambda path: path.symlink_to("nowhere"),
}
