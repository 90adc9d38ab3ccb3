"""Fuzzed requests to a served network: no crash, and memory that stays bounded."""

import random
import resource

from tests.drills import commands

WHAT = (
    "A batch of up to four encoded images of which one is damaged: an answer or "
    "INVALID_ARGUMENT, and at the end less than 600 MB more memory than at the start."
)
TIMES = 10_000


def run(root):
    """Yield a case, whether it held, and how it went."""
    for ended in (
        commands.run("train", *commands.RUN, f"--run_dir={root / 'run'}"),
        commands.run(
            "export", f"--run_dir={root / 'run'}", f"--export_dir={root / 'export'}"
        ),
    ):
        assert ended.code == 0, ended.said
    counts, megabytes = commands.call(_ask, str(root / "export" / "1"))
    for kind, count in counts.items():
        for _ in range(count):
            yield kind, kind in ("answered", "refused", "too large"), kind
    yield f"memory grew by {megabytes} MB", megabytes < 600, f"{megabytes} MB"


def _ask(path):
    import tensorflow as tf

    from tests.la_tf.export import claims_test

    model = tf.saved_model.load(path)
    generator = random.Random(0)
    good = [claims_test.encoded(kind, 64, 48) for kind in claims_test.KINDS]
    good += [claims_test.bomb(kind) for kind in claims_test.KINDS]
    good.append(claims_test.animation(40))
    before, counts = _peak(), {}
    for _ in range(TIMES):
        batch = [generator.choice(good[:4]) for _ in range(generator.randint(0, 3))]
        batch.append(_fuzzed(generator.choice(good), generator))
        kind = _answer(model, batch, tf)
        counts[kind] = counts.get(kind, 0) + 1
    return counts, (_peak() - before) // 1024


def _answer(model, batch, tf):
    try:
        answers = model.from_bytes(tf.constant(batch))
    except tf.errors.InvalidArgumentError:
        return "refused"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if any(answers["error"].numpy()[:-1]) or len(answers["label"]) != len(batch):
        return "harmed another image"
    return "too large" if answers["error"].numpy()[-1] else "answered"


def _fuzzed(data, generator):
    how = generator.choice(("flipped", "flipped", "header", "truncated", "noise"))
    if how == "noise":
        return generator.randbytes(generator.randrange(200))
    if how == "header":
        place = generator.randrange(min(40, len(data) - 4))
        return data[:place] + generator.randbytes(4) + data[place + 4 :]
    return commands.damaged(data, how, generator)


def _peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
