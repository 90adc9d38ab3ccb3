"""Installs la_tf with versions that work together."""

import pathlib
import re

import setuptools

HERE = pathlib.Path(__file__).parent
VERSION = re.search(
    r'__version__ = "(.+)"', (HERE / "la_tf" / "__init__.py").read_text("utf-8")
).group(1)

setuptools.setup(
    name="la_tf",
    version=VERSION,
    description="LatentAugment for TensorFlow and Keras",
    long_description=(HERE / "README.md").read_text("utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    packages=setuptools.find_packages(include=["flags*", "la_tf*", "models*"]),
    package_data={"la_tf.report": ["*.css", "*.js"]},
    # tensorflow-addons imports on no TensorFlow after 2.15, and TensorFlow 2.15 has
    # no build for Python 3.12.
    python_requires=">=3.9,<3.12",
    install_requires=[
        "absl-py>=1.4",
        # tensorflow-datasets imports it when it prepares data, but asks for it only
        # on older Pythons.
        "importlib_resources",
        "keras-cv==0.9.0",
        "matplotlib>=3.7",
        "numpy>=1.23,<2",
        "Pillow>=9.5",
        "scikit-learn>=1.2",
        "scipy>=1.9",
        "tensorboard>=2.15,<2.16",
        "tensorflow==2.15.1",
        "tensorflow-addons==0.23.0",
        "tensorflow-datasets>=4.9.3",
        # 1.16 and later want protobuf 5; TensorFlow 2.15 has 4.
        "tensorflow-metadata<1.16",
        "tqdm>=4.60",
    ],
    extras_require={
        "gpu": ["tensorflow[and-cuda]==2.15.1"],
        # For --onnx; tf2onnx has no build for Python 3.9.
        "onnx": [
            # 1.19 and later want an ml_dtypes that TensorFlow 2.15 does not have.
            "onnx>=1.14,<1.19",
            "onnxruntime>=1.17",
            "tf2onnx>=1.17",
        ],
        "test": [
            "hypothesis>=6.80",
            "pytest>=7.4",
            "pytest-xdist>=3.5",
            "ruff>=0.4",
            # For the gRPC client of docs/serving.md.
            "tensorflow-serving-api==2.15.1",
        ],
    },
    entry_points={"console_scripts": ["la_tf = la_tf.__main__:main"]},
    classifiers=[
        "License :: OSI Approved :: Apache Software License",
        "Programming Language :: Python :: 3.9",
        "Programming Language :: Python :: 3.10",
        "Programming Language :: Python :: 3.11",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
    ],
)
