"""The distances of the mixture from two lists, by their definitions."""

import itertools


def edges(order):
    """The neighbours on the cycle, as ordered pairs."""
    return list(zip(order, order[1:] + order[:1], strict=True))


def discordant(a, b):
    pairs = itertools.combinations(range(len(a)), 2)
    return sum((a.index(i) < a.index(j)) != (b.index(i) < b.index(j)) for i, j in pairs)


def apart(a, b):
    """Of the neighbours in a, how many are not neighbours in b."""
    pairs = {frozenset(pair) for pair in edges(b)}
    return sum(frozenset(pair) not in pairs for pair in edges(a))


def not_succeeding(a, b):
    pairs = set(edges(b))
    return sum(pair not in pairs for pair in edges(a))


KINDS_PLAIN = {
    "position": lambda a, b: sum(abs(a.index(i) - b.index(i)) for i in a),
    "hamming": lambda a, b: sum(a.index(i) != b.index(i) for i in a),
    "precedence": discordant,
    "adjacency": apart,
    "successor": not_succeeding,
}
