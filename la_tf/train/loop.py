"""The wiring of a training run: configuration in, summary out."""

from __future__ import annotations

import contextlib
import dataclasses
import sys

import tensorflow as tf
from tensorflow import keras

from la_tf import cli, console
from la_tf.data import batches, integrity, waiting
from la_tf.errors import UserError
from la_tf.run import (
    build,
    checkpoints,
    cluster,
    data_check,
    divergence,
    freezing,
    placement,
    pretrained,
    provenance,
    recorder,
    strategies,
)
from la_tf.run import folder as run_folder
from la_tf.step.health import StopOnNonFinite
from la_tf.train import (
    input_watch,
    interruption,
    pace,
    profiling,
    progress,
    service,
    tensorboard,
)

# A look makes the host wait for the device. No step after a failed one changes
# anything, so that it is enough to look now and then.
_STEPS_BETWEEN_LOOKS = 10


def train_and_evaluate(config, folder):
    """Return the summary of a finished run, as summary.json has it.

    Args:
        config: the TrainConfig.
        folder: the RunFolder; with `config.resume` the run in it goes on.

    Raises:
        UserError: the configuration, the data or the folder is at fault.
        checkpoints.RunStopped: the run was asked to stop and has been saved.
    """
    strategy = strategies.make(config.strategy, config.logical_cpus)
    cli.hush_compiler()
    _set_up(config)
    folder.writable = strategies.worker_index(strategy) == 0
    with folder.taken(new=not config.resume):
        return _train(config, folder, strategy)


def _train(config, folder, strategy):
    verbosity = config.verbosity if folder.writable else -1
    with console.Stages(2, verbosity) as stages:
        stages.begin(f"reading {config.dataset}")
        source = build.load_source(config)
        stages.tell(_size(source))
        plan = _plan(config, source, strategy)
        stages.begin(f"building {config.model}")
        schedule = build.learning_rate(config, plan)
        with strategy.scope():
            classifier = build.classifier_for(config, source)
            if config.augment_on == "auto":
                config = placement.settled(config, classifier, plan.share)
            maker = build.view_maker(config, source)
            network = build.make_model(config, classifier, source, maker, schedule)
    strategies.check_agreement(
        strategy, {**_decisive(config), **data_check.fingerprint(source)}
    )
    if config.resume:
        data_check.check(folder.data(), source, folder.path)
    else:
        folder.write_record(provenance.record(config, source))
    rule = maker.drawing
    history = recorder.Recorder(folder, plan, schedule, rule.space.operations)
    with interruption.StopRequest() as stop_request:
        checkpointer = checkpoints.Checkpointer(
            network,
            folder,
            plan,
            history,
            stop_request,
            keep=config.keep,
            minutes=config.checkpoint_minutes,
        )
        first_step = checkpointer.restore() if config.resume else 0
        told = [_place(plan, first_step)] if config.resume else []
        if first_step == 0 and config.init_from is not None:
            told.append(pretrained.initialise(network.classifier, config, source))
        strategies.check_agreement(
            strategy, {"the checkpoint to go on from": first_step}
        )
        if verbosity >= 0:
            for line in told:
                console.say(line)
        watch = service.ServiceWatch(config.data_service)
        whole_epochs = service.WholeEpochs(plan, first_step)
        steps = plan.total_steps - first_step
        # TensorFlow has no clock where all must be deterministic.
        input_wait = None if config.deterministic else waiting.Waiting()
        keeping_up = _keeping_up(config, folder, steps, input_wait)
        with (
            watch,
            whole_epochs,
            _display(config, plan, history, first_step, verbosity, source) as display,
            _lost_worker_told(plan, checkpointer, folder),
            integrity.told(source),
        ):
            callbacks = [
                watch,
                *keeping_up,
                StopOnNonFinite(_STEPS_BETWEEN_LOOKS, rule.name_of),
                whole_epochs,
                history,
                *display,
                tensorboard.TensorBoard(folder, config, history, source, maker),
                *_profile(config, folder, steps),
                checkpointer,
            ]
            for span in _spans(config, plan, first_step):
                _fit(network, config, source, plan, maker, span, callbacks, input_wait)
    summary = _summary(config, network, plan, history)
    summary["waits_for_input"] = keeping_up[0].share if keeping_up else None
    summary["warning"] = divergence.warning(history.last_row, source.num_classes)
    folder.write_summary(summary)
    return summary


def _set_up(config):
    keras.utils.set_random_seed(config.seed)
    if config.deterministic:
        tf.config.experimental.enable_op_determinism()
        # keras-cv's layers ask for the global generator; ours never draw from it.
        tf.random.set_global_generator(tf.random.Generator.from_seed(config.seed))
    if config.mixed_precision and not tf.config.list_physical_devices("GPU"):
        sys.stderr.write(
            "--mixed_precision is for GPUs: without one float16 is far slower than "
            "float32 (some 60 times, measured on two cores).\n"
        )
    name = "mixed_float16" if config.mixed_precision else "float32"
    keras.mixed_precision.set_global_policy(name)


def _decisive(config):
    """Return the values on which all workers must agree."""
    return {
        name: value
        for name, value in config.values().items()
        if name not in run_folder.MAY_CHANGE
    }


def _plan(config, source, strategy):
    return batches.plan(
        source.train,
        seed=config.seed,
        batch_size=config.batch_size,
        epochs=config.epochs,
        worker=strategies.worker_index(strategy),
        workers=strategies.worker_count(strategy),
        replicas=strategy.num_replicas_in_sync,
    )


@contextlib.contextmanager
def _lost_worker_told(plan, checkpointer, folder):
    try:
        yield
    except (tf.errors.UnavailableError, tf.errors.AbortedError) as error:
        if plan.workers == 1:
            raise
        raise UserError(
            f"{cluster.lost(error)} was lost after step {checkpointer.global_step}; "
            f"start all workers again with --run_dir={folder.path} --resume."
        ) from None


def _spans(config, plan, first_step):
    """Return the calls of fit: (first step, first epoch, last epoch, steps an epoch).

    An epoch that was stopped in its middle is finished by a call of its own. So is
    every epoch, one by one, of a tf.data service: it then shows at once if a batch was
    lost. The epochs in which the head learns alone are other calls than the rest.
    """
    epoch, done = divmod(first_step, plan.steps_per_epoch)
    spans = []
    if done:
        spans.append((first_step, epoch, epoch + 1, plan.steps_per_epoch - done))
        epoch += 1
    ends = [plan.epochs]
    if config.data_service:
        ends = range(1, plan.epochs + 1)
    for end in sorted({config.head_epochs, *ends}):
        if end > epoch:
            start = epoch * plan.steps_per_epoch
            spans.append((start, epoch, end, plan.steps_per_epoch))
            epoch = end
    return spans


def _fit(network, config, source, plan, maker, span, callbacks, input_wait):
    first_step, first_epoch, last_epoch, steps = span
    if config.head_epochs:
        head_alone = first_epoch < config.head_epochs
        freezing.freeze(
            network.classifier, freezing.BACKBONE if head_alone else config.freeze
        )
        # Keras trains the layers that could learn when `compile` was called.
        with network.distribute_strategy.scope():
            network.compile(network.optimizer, jit_compile=config.jit_compile)
    on_device = config.augment_on == "device"
    training = batches.training(
        source.train,
        maker,
        dataclasses.replace(plan, epochs=last_epoch),
        first_step=first_step,
        on_device=on_device,
        service=config.data_service,
    )
    if source.aside is not None:
        training = batches.with_aside(training, source.aside, plan, first_step)
    if input_wait is not None:
        training = input_wait.measured(training)
    network.fit(
        batches.distribute(network.distribute_strategy, training, on_device),
        initial_epoch=first_epoch,
        epochs=last_epoch,
        steps_per_epoch=steps,
        shuffle=False,  # the order is the plan's
        validation_data=batches.evaluation(source.test, plan.batch_size),
        validation_freq=config.evaluated_epochs,
        callbacks=callbacks,
        verbose=0,
    )


def _size(source):
    """Return what was read, in words."""
    height, width, _ = source.image_shape
    return (
        f"{source.train.size:,} training and {source.test.size:,} test images of "
        f"{height}×{width}, {source.num_classes:,} classes"
    )


def _place(plan, first_step):
    """Return where a run goes on, in words."""
    epoch, step = divmod(first_step, plan.steps_per_epoch)
    return (
        f"going on after step {first_step:,} of {plan.total_steps:,}: epoch "
        f"{epoch + 1} of {plan.epochs}, {step:,} of its {plan.steps_per_epoch:,} steps "
        "done"
    )


def _display(config, plan, history, first_step, verbosity, source):
    """Return a context that gives the callbacks which show the run."""
    if verbosity < 0:
        return contextlib.nullcontext([])
    now = pace.Pace(
        plan,
        config.num_views,
        source.test.size,
        config.evaluated_epochs,
        first_step,
    )
    return progress.shown(now, history)


def _keeping_up(config, folder, steps, input_wait):
    if input_wait is None:
        return []
    quiet = config.verbosity < 0 or not folder.writable
    tell = False if quiet else config.profile or None
    on_device = config.augment_on == "device"
    return [input_watch.KeepingUp(input_wait, steps, on_device, tell)]


def _profile(config, folder, steps):
    if not config.profile or not folder.writable:
        return []
    return [profiling.StepProfile(folder, steps)]


def _summary(config, network, plan, history):
    last, best = history.last_row, history.history.best_row
    return {
        "dataset": config.dataset,
        "model": config.model,
        "method": config.method,
        "epochs": plan.epochs,
        "last_step": last["step"],
        "last_accuracy": last["test_accuracy"],
        "last_top_5": last["test_top_5"],
        "best_accuracy": best["test_accuracy"],
        "best_epoch": best["epoch"],
        "best_step": best["step"],
        "best_chosen_on": "held-out images" if config.holdout else "test images",
        "seconds": round(history.seconds, 1),
        "parameters": sum(
            weight.shape.num_elements()
            for weight in network.classifier.trainable_weights
        ),
    }
