"""From the command line to a TrainConfig: the only reader of FLAGS for training."""

from absl import flags as absl_flags

from flags import data, execution, help, method, network, optimisation, run
from la_tf import methods, recipes
from la_tf.config import FIELDS, TrainConfig
from la_tf.data import sources
from la_tf.errors import UserError

FLAGS = absl_flags.FLAGS

GROUPS = (
    ("Data", data.NAMES),
    ("Network", network.NAMES),
    ("Method", method.NAMES),
    ("Optimisation (by default the recipe's)", optimisation.NAMES),
    ("Execution", execution.NAMES),
    ("Run", run.NAMES),
)
USAGE = """\
Trains a classifier with LatentAugment: python -m la_tf.train --name=value ...
Without flags: the embedded digits. --dataset and --model choose the recipe."""


def install_help():
    """None; `--help` prints this command's flags."""
    help.install(USAGE, GROUPS)


def config_from_flags():
    """The TrainConfig that the flags, the recipe, the method and defaults make.

    An explicit flag wins over the recipe; the method's own constants may not be
    contradicted.
    """
    dataset = FLAGS.dataset
    model = FLAGS.model or recipes.default_model(dataset)
    recipe = recipes.find(dataset, model)
    values, origins = {}, {}
    for name in FIELDS:
        values[name], origins[name] = _value(name, recipe)
    values["model"] = model
    if not FLAGS["model"].present:
        origins["model"] = "recipe"
    if origins["preprocessing"] == "recipe" and dataset not in sources.PHOTOGRAPHS:
        # Arrays of small images have no room for crops of 8 % of their area.
        values["preprocessing"] = values["preprocessing"].replace("inception", "crop")
    _apply_method(values, origins)
    config = TrainConfig(origins=origins, **values)
    _check_together(config)
    return config


def recipe_note(config):
    """A line that tells which row was used in place of a missing one, or None."""
    recipe = recipes.find(config.dataset, config.model)
    if (recipe.dataset, recipe.model) == (config.dataset, config.model):
        return None
    return (
        f"There is no recipe for {config.dataset} with {config.model}; using that of "
        f"{recipe.title}."
    )


def _value(name, recipe):
    if name in FLAGS and FLAGS[name].present:
        return FLAGS[name].value, "flag"
    if hasattr(recipe, name) and name not in ("dataset", "model"):
        return getattr(recipe, name), "recipe"
    return getattr(TrainConfig, name), "default"


def _apply_method(values, origins):
    constants = methods.get(values["method"]).constants
    for name, constant in constants.items():
        if origins[name] == "flag" and values[name] != constant:
            raise UserError(
                f"--method={values['method']} means --{name}={constant}; leave "
                f"--{name} out or choose another --method."
            )
        values[name], origins[name] = constant, "method"


def _check_together(config):
    if config.resume and config.run_dir is None:
        raise UserError(
            "--resume needs --run_dir, the folder of the run to go on with."
        )
    if config.dataset in ("folder", "npz") and config.data_dir is None:
        raise UserError(
            f"--dataset={config.dataset} needs --data_dir, where your images are."
        )
    for name in ("ubs_select", "view_chunk", "backward_views"):
        value = getattr(config, name)
        if value is not None and value > config.num_views:
            raise UserError(
                f"--{name}={value} is more than --num_views={config.num_views}; "
                f"lower it, or raise --num_views."
            )
    if config.jit_compile and config.strategy in ("mirrored", "multiworker"):
        raise UserError(
            "--jit_compile does not work with --strategy="
            f"{config.strategy} in TensorFlow 2.15; leave one of them out."
        )
    if config.strategy == "multiworker" and config.run_dir is None:
        raise UserError(
            "--strategy=multiworker needs --run_dir, a folder that all workers share."
        )
    if (
        config.preprocessing == "inception"
        and config.dataset not in sources.PHOTOGRAPHS
    ):
        raise UserError(
            f"--preprocessing=inception crops photographs ("
            f"{', '.join(sources.PHOTOGRAPHS)}); for --dataset={config.dataset} use "
            "--preprocessing=crop."
        )
    if config.jit_compile and config.augment_on == "device":
        raise UserError(
            "--jit_compile cannot compile the views of --augment_on=device; leave one "
            "of them out."
        )
    if config.data_service and config.augment_on == "device":
        raise UserError(
            "--data_service makes the views on its workers; leave --augment_on=device "
            "out."
        )
