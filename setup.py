"""Installs la_tf with versions that work together."""

import pathlib
import re

import setuptools

HERE = pathlib.Path(__file__).parent
VERSION = re.search(
    r'__version__ = "(.+)"', (HERE / "la_tf" / "__init__.py").read_text("utf-8")
).group(1)

EVERYWHERE = [
    "absl-py>=1.4",
    "h5py>=3.8",
    # tensorflow-datasets imports it when it prepares data, but asks for it only on
    # older Pythons.
    "importlib_resources",
    "keras-cv==0.9.0",
    "matplotlib>=3.7",
    "Pillow>=9.5",
    "scikit-learn>=1.2",
    "scipy>=1.9",
    "tensorflow-datasets>=4.9.3",
    "tqdm>=4.60",
]

# The last TensorFlow that tensorflow-addons imports on; not built for Python 3.12.
OLDER = 'python_version < "3.12"'
KERAS_2 = [
    "numpy>=1.23,<2",
    # TensorBoard 2.15 imports pkg_resources, which later ones no longer have.
    "setuptools<81",
    "tensorboard>=2.15,<2.16",
    "tensorflow==2.15.1",
    "tensorflow-addons==0.23.0",
    # 1.16 and later want protobuf 5; TensorFlow 2.15 has 4.
    "tensorflow-metadata<1.16",
]

# Python 3.10 and 3.11 can have these too, by way of requirements/keras3.txt.
NEWER = 'python_version >= "3.12"'
KERAS_3 = [
    "keras>=3.12,<4",
    "numpy>=2,<2.5",
    # TensorFlow itself no longer asks for it.
    "tensorboard>=2.20,<3",
    "tensorflow==2.21.*",
]

# For --onnx; tf2onnx has no build for Python 3.9. onnx 1.19 and later want an ml_dtypes
# that TensorFlow 2.15 does not have.
ONNX = ["onnx>=1.14", "onnxruntime>=1.17", "tf2onnx>=1.17"]
ONNX_OLDER = ["onnx<1.19"]
TEST = ["hypothesis>=6.80", "pytest>=7.4", "pytest-xdist>=3.5", "ruff>=0.4"]


def where(marker, packages):
    """Return the requirements with a condition on the Python that installs them."""
    return [f"{package}; {marker}" for package in packages]


setuptools.setup(
    name="la_tf",
    version=VERSION,
    description="LatentAugment for TensorFlow and Keras",
    long_description=(HERE / "README.md").read_text("utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    packages=setuptools.find_packages(include=["flags*", "la_tf*", "models*"]),
    package_data={"la_tf.report": ["*.css", "*.js"]},
    python_requires=">=3.9,<3.14",
    install_requires=EVERYWHERE + where(OLDER, KERAS_2) + where(NEWER, KERAS_3),
    extras_require={
        "gpu": where(OLDER, ["tensorflow[and-cuda]==2.15.1"])
        + where(NEWER, ["tensorflow[and-cuda]==2.21.*"]),
        "onnx": ONNX + where(OLDER, ONNX_OLDER),
        "test": TEST
        + where('python_version >= "3.10"', ONNX)
        + where(f'python_version >= "3.10" and {OLDER}', ONNX_OLDER)
        # The classes of the gRPC client in docs/serving.md.
        + where(OLDER, ["tensorflow-serving-api==2.15.1"])
        + where(NEWER, ["tensorflow-serving-api==2.21.*"]),
    },
    entry_points={"console_scripts": ["la_tf = la_tf.__main__:main"]},
    classifiers=[
        "License :: OSI Approved :: Apache Software License",
        "Programming Language :: Python :: 3.9",
        "Programming Language :: Python :: 3.10",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
    ],
)
