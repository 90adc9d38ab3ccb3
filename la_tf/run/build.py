"""The parts of a run, made from its configuration."""

from __future__ import annotations

import pathlib

from tensorflow import keras

import models
from la_tf import methods, prior
from la_tf.data import sources
from la_tf.data.views import ViewMaker
from la_tf.errors import UserError
from la_tf.learners.learner import Learner
from la_tf.learners.sampler import Sampler
from la_tf.meta_model import MetaAugment
from la_tf.model import LatentAugment
from la_tf.run import folder as run_folder
from la_tf.run import freezing
from la_tf.schedule import WarmupCosine

# A short run spends no more than this share of its steps on the warm-up.
_LONGEST_WARMUP = 0.2


def load_source(config):
    """Return the data set of a run."""
    return sources.load(
        config.dataset,
        data_dir=config.data_dir,
        image_size=config.image_size,
        holdout=config.holdout,
        limit_train=config.limit_train,
        test_on_rest=config.test_on_rest,
        seed=config.seed,
        skip_bad_images=config.skip_bad_images,
        encoded=config.preprocessing == "inception",
        set_aside=methods.get(config.method).sets_aside,
    )


def view_maker(config, source):
    """Return the ViewMaker of a run."""
    return ViewMaker(
        source.num_classes,
        num_views=config.num_views,
        operations=methods.get(config.method).drawing is not None,
        drawing=methods.rule(config),
        mixup_alpha=config.mixup_alpha,
        final=config.final,
        cutmix_probability=config.cutmix_probability,
        cutout_size=pixels(config.cutout_share, source.image_shape),
        fill=tuple(round(255 * channel) for channel in source.mean),
        padding=padding(config, source.image_shape),
        flip=config.flip,
        keep_early=config.e_step == "separate",
        on_host=config.augment_on != "device",
    )


def padding(config, image_shape):
    """Return how far a run's crops may move in each direction, in pixels."""
    if config.preprocessing != "crop":
        return 0
    return pixels(config.padding_share, image_shape)


def pixels(share, image_shape):
    """Return a share of an image's shorter side in whole pixels."""
    return round(share * min(image_shape[:2]))


def build_classifier(config, image_shape, num_classes, mean, std, weights=None):
    """Return a freshly initialised network, or one with the `weights` called so."""
    try:
        return models.build(
            config.model,
            image_shape,
            num_classes,
            mean=mean,
            std=std,
            remat=config.remat,
            weights=weights,
        )
    except ValueError as error:
        raise UserError(f"--model={config.model}: {error}") from None


def learning_rate(config, plan):
    """Return the schedule of a run's learning rate."""
    warmup = min(
        config.warmup_epochs * plan.steps_per_epoch,
        int(_LONGEST_WARMUP * plan.total_steps),
    )
    return WarmupCosine(config.learning_rate, warmup, plan.total_steps)


def classifier_for(config, source):
    """Return a freshly initialised network for a data set."""
    return build_classifier(
        config, source.image_shape, source.num_classes, source.mean, source.std
    )


def make_model(config, classifier, source, maker, schedule):
    """Return the compiled LatentAugment model of a network.

    What `maker` draws by is learned with it, where it can be. Both must be made in the
    strategy's scope.
    """
    freezing.freeze(classifier, config.freeze)
    views = source.train.view_function(maker)
    common = {
        "weight_decay": config.weight_decay if config.optimizer == "sgd" else 0.0,
        "label_smoothing": config.label_smoothing,
        "backbone_rate": config.backbone_rate,
        **_average(config, source),
        "clip_norm": config.clip_norm,
        "on_nonfinite": config.on_nonfinite,
        "seed": config.seed,
        "augment": views if config.augment_on == "device" else None,
    }
    rule = maker.drawing
    if isinstance(rule, Sampler):
        model = MetaAugment(
            classifier,
            rule,
            choice=maker.choice,
            meta_alpha=config.meta_alpha,
            **common,
        )
    else:
        model = LatentAugment(
            classifier,
            num_policies=rule.num_policies,
            sigma=config.sigma,
            prior=config.prior,
            prior_window=config.prior_window,
            initial_prior=read_prior(config.prior_from, rule),
            ubs_select=config.hardest_views,
            ubs_choice=config.ubs_choice,
            e_step=config.e_step,
            view_chunk=config.view_chunk,
            backward_views=config.backward_views,
            learner=rule if isinstance(rule, Learner) else None,
            **common,
        )
    model.compile(optimizer(config, schedule), jit_compile=config.jit_compile)
    # So that a checkpoint finds its momentum at once, and a damaged one is noticed.
    model.optimizer.build(model.trainable_variables)
    return model


def optimizer(config, schedule):
    """Return the optimizer of a run.

    SGD's weight decay is coupled and the step's own; that of the others is theirs.
    """
    if config.optimizer == "sgd":
        return keras.optimizers.SGD(schedule, momentum=config.momentum, nesterov=True)
    kind = {"adamw": keras.optimizers.AdamW, "lion": keras.optimizers.Lion}
    return kind[config.optimizer](schedule, weight_decay=config.weight_decay)


def _average(config, source):
    """Return the arguments by which weights are averaged; none where they are not."""
    if config.ema is None:
        return {}
    return {"averaged": classifier_for(config, source), "ema": config.ema}


def read_prior(path, rule):
    """Return the prior at the end of another run, float [policies]; None for no path.

    Args:
        path: a run folder, or a policy.npz of one.
        rule: the drawing rule whose policies the prior must be over.
    """
    if path is None:
        return None
    path = pathlib.Path(path)
    file = run_folder.RunFolder(path).policy_path if path.is_dir() else path
    try:
        # A pipe would be waited for.
        if not file.is_file():
            raise FileNotFoundError(f"there is no file {file}")
        priors, operations, _ = run_folder.read_policies(file)
        probabilities = prior.checked(priors[-1], rule.num_policies)
    except run_folder.UNREADABLE as error:
        raise UserError(
            f"--prior_from={path} is neither a run folder with a finished epoch nor "
            f"the policy.npz of one ({error})."
        ) from None
    if operations != rule.space.operations:
        raise UserError(
            f"--prior_from={path} is a prior of other operations "
            f"({', '.join(operations)}) than this run's "
            f"({', '.join(rule.space.operations)}); choose that run's --method and "
            "--transforms."
        )
    return probabilities
