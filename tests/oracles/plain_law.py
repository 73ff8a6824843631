"""An oracle of the batch choice: every formula in full with numpy.linalg, every neighbour evaluated."""

import itertools

import numpy as np


class PlainLaw:
    """LAW-EST's objectives by direct formulas, from permutations X, standardized values z and pending points."""

    def __init__(self, X, z, hyperparameters, pending=()):
        self.X, self.z, self.h, self.n_items = X, z, hyperparameters, X.shape[1]
        self.pending = np.reshape(pending, (-1, self.n_items)).astype(int)

    def prior(self, A, B):
        positions_a, positions_b = (
            np.array([[row.index(i) for i in range(self.n_items)] for row in P.tolist()]) for P in (A, B)
        )
        distances = np.abs(positions_a[:, None] - positions_b[None]).sum(axis=2)
        return self.h.signal_variance * np.exp(-self.h.decay / self.n_items * distances)

    def covariance(self, given, A, B):
        K = self.prior(given, given) + self.h.noise * np.eye(len(given))
        return self.prior(A, B) - self.prior(A, given) @ np.linalg.solve(K, self.prior(given, B))

    def mean(self, A):
        K = self.prior(self.X, self.X) + self.h.noise * np.eye(len(self.X))
        return self.h.mean + self.prior(A, self.X) @ np.linalg.solve(K, self.z - self.h.mean)

    def variance(self, A, batch=()):
        given = np.concatenate([self.X, self.pending, np.reshape(batch, (-1, self.n_items)).astype(int)])
        K = self.prior(given, given) + self.h.noise * np.eye(len(given))
        across = self.prior(A, given)
        return self.h.signal_variance - np.sum(across * np.linalg.solve(K, across.T).T, axis=1)

    def weight(self, A, optimum):
        acquisition = (optimum - self.mean(A)) / np.sqrt(self.variance(A))
        return acquisition, 0.01 + 0.99 / (1 + np.exp(-0.2 * np.maximum(acquisition, -1e3)))

    def objective(self, A, optimum, batch):
        acquisition, weight = self.weight(A, optimum)
        return np.log(self.variance(A, batch)) + 2 * np.log(weight) if len(batch) else acquisition

    def climb(self, starts, optimum, batch, excluded):
        """Return the best end of steepest ascents over free neighbours, as (permutation, value)."""
        ends = []
        for permutation in starts:
            value = -np.inf if permutation in excluded else self.objective(permutation[None], optimum, batch)[0]
            while True:
                around = neighbours(permutation)
                values = self.objective(around, optimum, batch)
                values[[p in excluded for p in around]] = -np.inf
                if values.max() <= value + 1e-9:
                    break
                permutation, value = around[values.argmax()], values.max()
            ends.append((value, permutation))
        value, permutation = max(ends, key=lambda end: end[0])
        return permutation, value


def neighbours(permutation):
    """Return all permutations that differ by a swap of two positions."""
    around = []
    for i, j in itertools.combinations(range(len(permutation)), 2):
        swapped = permutation.copy()
        swapped[[i, j]] = swapped[[j, i]]
        around.append(swapped)
    return np.array(around)
