"""What TensorFlow would do with a graph on a GPU, read from its kernel registry.

The registry holds the GPU's kernels even where there is no GPU, so that a machine
without one can tell which operations would be sent to the host.
"""

import collections
import functools

import tensorflow as tf
from tensorflow.python.framework import function_def_to_graph, kernels, op_def_registry

# Tensors up to this size may be left to the host: shapes, seeds, counts.
FEW_BYTES = 4096

# The runtime takes these apart before it places anything.
_CALLS = frozenset(
    {
        "Case",
        "If",
        "PartitionedCall",
        "Placeholder",
        "StatefulPartitionedCall",
        "StatelessCase",
        "StatelessIf",
        "StatelessWhile",
        "While",
    }
)


def left_to_the_host(function):
    """What a concrete function would not do on a GPU: a Counter of sentences.

    An operation is named with its types if it has no GPU kernel for them, or if its
    kernel wants a tensor of more than a few kilobytes in the host's memory.
    """
    found = collections.Counter()
    _walk(function.graph, {d.signature.name: d for d in _library(function)}, found)
    return found


def _library(function):
    return function.graph.as_graph_def().library.function


def _walk(graph, library, found):
    for operation in graph.get_operations():
        for name in _called(operation):
            _walk(_inner(operation, library[name]), library, found)
        if operation.type not in _CALLS:
            fault = _fault(operation)
            if fault:
                found[fault] += 1


def _called(operation):
    """The names of the functions that an operation runs."""
    definition = operation.node_def
    for value in definition.attr.values():
        if value.HasField("func"):
            yield value.func.name
        yield from (function.name for function in value.list.func)


def _inner(operation, definition):
    """The graph of a function, with the shapes that its caller gives it."""
    inputs = list(operation.inputs)
    # A condition's first input is no argument of its branches.
    inputs = inputs[len(inputs) - len(definition.signature.input_arg) :]
    shapes = [tensor.shape for tensor in inputs]
    return function_def_to_graph.function_def_to_graph(definition, shapes)


def _fault(operation):
    kernel = _kernel(operation)
    if kernel is None:
        return f"{_described(operation)} has no GPU kernel"
    large = [
        tensor
        for tensor in _on_host(operation, kernel)
        if not _is_small(tensor) and tensor.dtype != tf.resource
    ]
    if large:
        return f"{_described(operation)} takes {large[0].shape} to the host"
    return None


def _kernel(operation):
    """The kernel that a GPU would run, or None."""
    fitting = [
        kernel for kernel in _registered(operation.type) if _fits(kernel, operation)
    ]
    return max(fitting, key=lambda kernel: kernel.priority, default=None)


@functools.cache
def _registered(name):
    registered = kernels.get_registered_kernels_for_op(name).kernel
    # A default kernel serves any device that has none of its own.
    own = [kernel for kernel in registered if kernel.device_type == "GPU"]
    return own + [kernel for kernel in registered if kernel.device_type == "DEFAULT"]


def _fits(kernel, operation):
    attributes = operation.node_def.attr
    return not kernel.label and all(
        attributes[constraint.name].type in constraint.allowed_values.list.type
        for constraint in kernel.constraint
    )


def _on_host(operation, kernel):
    """The tensors that a kernel has in the host's memory."""
    definition = op_def_registry.get(operation.type)
    for arguments, tensors in (
        (definition.input_arg, operation.inputs),
        (definition.output_arg, operation.outputs),
    ):
        tensors = iter(tensors)
        for argument in arguments:
            for _ in range(_length(argument, operation)):
                tensor = next(tensors)
                if argument.name in kernel.host_memory_arg:
                    yield tensor


def _length(argument, operation):
    if argument.number_attr:
        return operation.get_attr(argument.number_attr)
    if argument.type_list_attr:
        return len(operation.get_attr(argument.type_list_attr))
    return 1


def _is_small(tensor):
    count = tensor.shape.num_elements()
    return count is not None and count * tensor.dtype.size <= FEW_BYTES


def _described(operation):
    types = [tensor.dtype.name for tensor in (*operation.inputs, *operation.outputs)]
    return f"{operation.type}({', '.join(dict.fromkeys(types))})"
