"""The distances between two orderings, given as lists, by their definitions."""

import itertools


def edges(order):
    """Return the neighbours on the cycle, as ordered pairs."""
    return list(zip(order, order[1:] + order[:1], strict=True))


def discordant(a, b):
    """Count the pairs of items that are in the opposite order."""
    pairs = itertools.combinations(range(len(a)), 2)
    return sum((a.index(i) < a.index(j)) != (b.index(i) < b.index(j)) for i, j in pairs)


def apart(a, b):
    """Count the neighbours in a that are not neighbours in b."""
    pairs = {frozenset(pair) for pair in edges(b)}
    return sum(frozenset(pair) not in pairs for pair in edges(a))


def not_succeeding(a, b):
    """Count the items in a that do not have the same successor in b."""
    pairs = set(edges(b))
    return sum(pair not in pairs for pair in edges(a))


PLAIN_DISTANCES = {
    "position": lambda a, b: sum(abs(a.index(i) - b.index(i)) for i in a),
    "hamming": lambda a, b: sum(a.index(i) != b.index(i) for i in a),
    "precedence": discordant,
    "adjacency": apart,
    "successor": not_succeeding,
    "spearman": lambda a, b: sum((a.index(i) - b.index(i)) ** 2 for i in a),
    "manhattan": lambda a, b: sum(abs(i - j) for i, j in zip(a, b, strict=True)),
}
