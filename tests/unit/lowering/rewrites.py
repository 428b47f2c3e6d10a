"""Rewrites that the lowering tests apply; real ones live on the shelf of transforms."""

import torch

from strop.lowering import FROZEN, refresh_metadata

aten = torch.ops.aten


def calls(graph, target):
    return [node for node in graph.graph.nodes if node.op == "call_function" and node.target is target]


def fold_batch_norm(graph):
    """Fold every evaluated batch norm behind a convolution into its weights, as parameter-only nodes."""
    for norm in calls(graph, aten._native_batch_norm_legit_no_training.default):
        conv, gamma, beta, mean, var, _, eps = norm.args
        weight, bias = conv.args[1], conv.args[2]
        with graph.graph.inserting_before(conv):
            made = []

            def frozen(target, *args, made=made):
                node = graph.graph.call_function(target, args)
                node.meta[FROZEN] = True
                made.append(node)
                return node

            scale = frozen(aten.mul.Tensor, frozen(aten.rsqrt.default, frozen(aten.add.Scalar, var, eps)), gamma)
            folded = frozen(aten.mul.Tensor, weight, frozen(aten.view.default, scale, [-1, 1, 1, 1]))
            shift = frozen(aten.add.Tensor, frozen(aten.mul.Tensor, frozen(aten.sub.Tensor, bias, mean), scale), beta)
        conv.args = (conv.args[0], folded, shift, *conv.args[3:])
        for user in list(norm.users):
            user.replace_all_uses_with(conv)
    refresh_metadata(graph)
    return graph


def swap(old, new, *extra):
    """Replace every call of one operator by another with the same first argument."""

    def rewrite(graph):
        for node in calls(graph, old):
            with graph.graph.inserting_before(node):
                other = graph.graph.call_function(new, (node.args[0], *extra))
            node.replace_all_uses_with(other)
            graph.graph.erase_node(node)
        return graph

    return rewrite
