"""law-auto's model: a Gaussian process, the pairwise model beside it, and which of the two predicts better.

The chains of the pairwise model continue at each fit with a few sweeps, given all values, unless they rest. As the
values grow in number, one after the other begins afresh. As in `law_ray.models.selection`, all models predict the
values that came in since the last fit, before they learn them: the process, the pairwise model, and each of its chains.
Chains that predict much worse than the best are left out until they do better.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from law_ray.models import selection
from law_ray.models.pairwise import gibbs, templates
from law_ray.models.pairwise.chain import Chain, Kind
from law_ray.models.pairwise.ensemble import Ensemble
from law_ray.models.pairwise.gibbs import N_ANNEALED, Data, Draw
from law_ray.models.pairwise.hyperparameters import PairwiseHyperparameters
from law_ray.models.part import part
from law_ray.models.selection import SelectionHyperparameters, mean_square, remembered
from law_ray.models.standardize import Standardization
from law_ray.space.permutations import invert
from law_ray.typing import FloatArray, IntArray
from law_ray.utils import parallel

KINDS = (*(4 * (Kind.ANY,)), Kind.DISTANT_PLACES, Kind.DISTANT_ITEMS, Kind.TEMPLATE, Kind.SPARSE_TEMPLATE)
"""Of the chains. With two of kind ANY, chr12a's optimum was found 10 evaluations later, and nug22's less often."""
RESTING = 10.0
"""A chain whose error is larger than this many times the least makes no sweeps, until it begins afresh (heuristic)."""
GROWTH = 1.3
"""A chain may be replaced by a new one once there are this many times the values that it began with (heuristic).

Chains that began with few values stay in the mode that they found then. After 350 values of nug22, new chains predicted
the next ones with a root mean square error of 0.13 standard deviations, and those that had begun with 30 values hardly
better than the process.
"""
MIN_SWEEPS = 2
"""Of a chain at a fit (heuristic)."""
USUAL_SWEEPS, USUAL_WORK = 4, 1.2e10
"""USUAL_SWEEPS are made even if they cost more than MAX_WORK, as long as they cost at most USUAL_WORK (heuristic).

That is so up to 48 items and 555 values, or 100 items and 255.
"""
MAX_WORK, WORK_PER_ITEM = 1.5e9, 4e6
"""A chain makes as many sweeps as MAX_WORK floating-point operations allow, but at least those above.

More sweeps find chr12a's optimum sooner, after 185 evaluations instead of 220 with 6. A sweep costs WORK_PER_ITEM per
item besides those of its matrix products. Chosen such that fits to 22 and to 32 items take less than twice the time of
the process alone.
"""
MAX_NEW_WORK = 6e10
"""The same of a new chain, until its noise has fallen: some 3 s (heuristic)."""
THREADED_WORK = 1e7
"""From this many floating-point operations in a sweep on, chains run in threads (heuristic)."""
MAX_SWEEP_WORK = 1e11
"""Chains are given as many values as a sweep of this many floating-point operations allows (heuristic).

These are 130,000 values of 30 items, 18,000 of 48, or 1,600 of 100.
"""
N_KEPT = 6
"""Draws of a chain that the ensemble gets, from its last sweeps (heuristic)."""
N_KEPT_KNOWN = 20
"""The same of a chain that knows D: at least this many sweeps, whose draws are nearly independent (heuristic)."""
KEPT_WORK = 2e11
"""These sweeps take at most this many floating-point operations, about 3 s (heuristic)."""
SIZES, FREE_SIZES = range(8, 101), range(8, 65)
"""Numbers of items with which chains that know D are used, and the others.

The space of fewer items is searched exhaustively; more items have too many unknowns.
"""


def fit(
    X: IntArray,
    y: FloatArray,
    rng: np.random.Generator,
    previous: PairwiseHyperparameters | None = None,
    standard_errors: FloatArray | None = None,
    rows: IntArray | None = None,
    kinds: Sequence[Kind] = KINDS,
) -> PairwiseHyperparameters:
    """Update the prediction errors of all models, fit the process, and continue those chains that do not rest.

    The process is fitted while the chains go on.

    Where sweeps are costly, chains whose draws are not needed rest: those that predict too badly to be used, and all
    where the process predicts better. They go on when the process is fitted again, after a tenth more values.

    Cost: that of `selection.fit`, the factor of a regression for each chain, and `n_sweeps` sweeps (`gibbs`) of those
    that do not rest, N_ANNEALED of a new one.

    Args:
        X: (n, n_items) permutations, the new ones since the last fit at the end.
        y: (n,) raw values.
        rng: Drives the fits.
        previous: The last fit.
        standard_errors: (n,) of the values, 0 where unknown.
        rows: (m,) which of the values the process is given; all by default. The chains get all (`max_values`).
        kinds: Of the chains that the first fit begins.
    """
    n_items = X.shape[1]
    rows = np.arange(len(y)) if rows is None else rows
    kinds = [kind for kind in kinds if n_items in (SIZES if kind.knows_places else FREE_SIZES)]
    errors: tuple[float, ...] = (0.0, 0.0)
    chain_errors = tuple(0.0 for _ in kinds)
    earlier = None if previous is None else previous.selection
    of_processes = selection.latest_errors(X, y, earlier, standard_errors, rows)
    if previous is not None and previous.chains:
        errors, chain_errors = previous.prediction_errors, previous.chain_errors
        if of_processes is not None:
            of_pairs, of_chains = _latest_errors(X, y, previous, standard_errors, rows)
            of_process = of_processes[previous.selection.number_selected]
            errors, chain_errors = remembered(errors, (of_process, of_pairs)), remembered(chain_errors, of_chains)
    due = selection.is_due(y, rows, earlier)
    fit_process = selection.prepared(X, y, rng, earlier, standard_errors, rows, of_processes)

    if not kinds:
        return PairwiseHyperparameters(fit_process(), (), errors, chain_errors, len(y))
    data = _data(X, y, standard_errors, rows)
    if previous is None:
        selected = fit_process()
        first = PairwiseHyperparameters(selected, (), errors, chain_errors, len(y))
        return _advanced(first, kinds, data, due, rng, lambda: selected)
    judged = replace(previous, prediction_errors=errors, chain_errors=chain_errors, n=len(y), ensemble=None)
    return _advanced(judged, kinds, data, due, rng, fit_process)


def _advanced(
    fitted: PairwiseHyperparameters,
    kinds: Sequence[Kind],
    data: Data,
    due: bool,
    rng: np.random.Generator,
    fit_process: Callable[[], SelectionHyperparameters],
) -> PairwiseHyperparameters:
    """Return a fit with its chains continued, or begun, with the draws of those that are used, and the process fitted.

    The chains do not depend on how the process is fitted, only on whether it is: `due`.
    """
    chains, errors = list(fitted.chains), fitted.chain_errors
    n, n_items = data.X.shape
    is_due = due or n_sweeps(n, n_items) > USUAL_SWEEPS
    if not chains:
        for kind in kinds:
            chains.append(_new_chain(kind, data, rng, chains))
    elif is_due or fitted.leads:
        errors = _begin_afresh(chains, errors, data, rng)
    return _swept(replace(fitted, chains=tuple(chains), chain_errors=errors), data, is_due, rng, fit_process)


def _swept(
    fitted: PairwiseHyperparameters,
    data: Data,
    is_due: bool,
    rng: np.random.Generator,
    fit_process: Callable[[], SelectionHyperparameters],
) -> PairwiseHyperparameters:
    """Return a fit after the sweeps of its chains, each with a generator of its own, and in threads where that pays."""
    numbers = [_n_sweeps_of(fitted, k, data, is_due) for k in range(len(fitted.chains))]
    generators = rng.spawn(len(numbers))

    def advance(k: int) -> tuple[Chain, list[Draw]]:
        return gibbs.advance(fitted.chains[k], data, numbers[k], generators[k])

    longest_first = sorted((k for k, number in enumerate(numbers) if number), key=lambda k: -numbers[k])
    selected, advanced = parallel.beside(fit_process, advance, longest_first, _pays(data))
    results = dict(zip(longest_first, advanced, strict=True))
    chains = [results[k][0] if k in results else chain for k, chain in enumerate(fitted.chains)]
    draws, used = list[Draw](), list[Chain]()
    for k in np.flatnonzero(fitted.used).tolist():
        used.append(chains[k])
        if k in results:
            draws += results[k][1][-(N_KEPT_KNOWN if chains[k].kind.knows_places else N_KEPT) :]
    ensemble = _ensemble(draws, used) if draws else None
    return replace(fitted, selection=selected, chains=tuple(chains), ensemble=ensemble)


def _pays(data: Data) -> bool:
    """Say whether it pays to give each chain a thread."""
    return sweep_work(*data.X.shape) > THREADED_WORK


def _n_sweeps_of(fitted: PairwiseHyperparameters, k: int, data: Data, is_due: bool) -> int:
    """Return how many sweeps chain k makes, 0 if it rests; `is_due` says whether it is time for those not used."""
    chain, errors = fitted.chains[k], fitted.chain_errors
    is_asked = fitted.used[k] and fitted.leads
    if errors[k] > RESTING * min(errors) or not (is_due or is_asked or chain.sweeps < N_ANNEALED):
        return 0
    n, n_items = data.X.shape
    number = n_sweeps(n, n_items, chain.sweeps)
    if is_asked and chain.kind.knows_places:
        return max(number, min(N_KEPT_KNOWN, int(KEPT_WORK / sweep_work(n, n_items))))
    return number


def _new_chain(kind: Kind, data: Data, rng: np.random.Generator, others: Sequence[Chain]) -> Chain:
    """Draw the state of a chain that begins, where its kind takes a template with the best one.

    That is not searched for again if one of the chains so far has one that was found among hardly fewer values.
    """
    n, n_items = data.X.shape
    if not kind.knows_places:
        return Chain.start(n_items, kind, rng, n)
    earlier = [chain.known for chain in others if chain.known is not None]
    latest = max(earlier, key=lambda template: template.n, default=None)
    if latest is None or n >= GROWTH * latest.n:
        latest = templates.best(data.X, data.z, earlier)
    return Chain.start(n_items, kind, rng, n, latest)


def _begin_afresh(
    chains: list[Chain], errors: tuple[float, ...], data: Data, rng: np.random.Generator
) -> tuple[float, ...]:
    """Replace the chain that predicts worst, among those that began with few values, by a new one of its kind.

    The new chain is taken to predict as well as the best one until the next values judge it.

    Args:
        chains: Changed in place.
        errors: Of the chains.
        data: All values.
        rng: Draws the new chain.

    Returns:
        The errors of the chains.
    """
    old = [k for k, chain in enumerate(chains) if len(data.z) >= GROWTH * chain.began]
    if not old:
        return errors
    worst = max(old, key=lambda k: errors[k])
    chains[worst] = _new_chain(chains[worst].kind, data, rng, chains)
    return tuple(min(errors) if k == worst else error for k, error in enumerate(errors))


def n_sweeps(n: int, n_items: int, done: int = N_ANNEALED) -> int:
    """Return how many sweeps a chain makes at a fit to n values.

    Args:
        n: The number of values.
        n_items: The number of items.
        done: The chain's sweeps so far. A new chain makes more of them.
    """
    work = sweep_work(n, n_items)
    usual, new = min(USUAL_SWEEPS, int(USUAL_WORK / work)), min(N_ANNEALED - done, int(MAX_NEW_WORK / work))
    return max(MIN_SWEEPS, usual, int(MAX_WORK / work), new)


def sweep_work(n: int, n_items: int) -> float:
    """Return the cost of a sweep in floating-point operations; other work counts as the operations it is worth."""
    n_pairs = n_items * (n_items - 1) // 2
    rows = min(n, n_pairs)
    return 4.0 * rows * n_pairs * (n + rows) + WORK_PER_ITEM * n_items  # two matrices


def max_values(n_items: int) -> int:
    """Return how many values the chains are given at most: a sweep then costs MAX_SWEEP_WORK."""
    n_pairs = n_items * (n_items - 1) // 2
    of_compressed = MAX_SWEEP_WORK / (4.0 * n_pairs**2) - n_pairs  # n >= n_pairs in `sweep_work`
    return int(of_compressed if of_compressed >= n_pairs else (MAX_SWEEP_WORK / (8.0 * n_pairs)) ** 0.5)


def learned(
    hyperparameters: PairwiseHyperparameters, X: IntArray, y: FloatArray, standard_errors: FloatArray | None = None
) -> Ensemble:
    """Return what the chains learned as one draw of each that is used: its D, and the mean of F given D and the values.

    It follows from what a journal stores, without random numbers.

    Args:
        hyperparameters: A fit with chains, as fitted or as read from a journal.
        X: (n, n_items) permutations.
        y: (n,) raw values, those of the fit or more.
        standard_errors: (n,) of the values, 0 where unknown.
    """
    chains = [chain for chain, used in zip(hyperparameters.chains, hyperparameters.used, strict=True) if used]
    return _means(chains, _data(X, y, standard_errors, np.arange(len(y))))


def _data(X: IntArray, y: FloatArray, standard_errors: FloatArray | None, rows: IntArray) -> Data:
    """Return what the chains are given, in the units of a process that is given some `rows` (m,) of the values."""
    standardize = Standardization.of(y[rows])
    known_noise = np.broadcast_to(standardize.known_noise(standard_errors), y.shape)
    given = part(y, max_values(X.shape[1]))
    return Data.of(X[given], standardize(y[given]), known_noise[given])


def _ensemble(draws: Sequence[Draw], chains: Sequence[Chain]) -> Ensemble:
    items, places = np.array([draw.items for draw in draws]), np.array([draw.places for draw in draws])
    noise = float(np.mean([chain.noise for chain in chains]))
    return Ensemble.of(items, places, np.array([draw.constant for draw in draws]), noise)


def _means(chains: Sequence[Chain], data: Data) -> Ensemble:
    return _ensemble(parallel.each(lambda chain: gibbs.mean_items(chain, data), chains, _pays(data)), chains)


def _latest_errors(
    X: IntArray,
    y: FloatArray,
    previous: PairwiseHyperparameters,
    standard_errors: FloatArray | None,
    rows: IntArray,
) -> tuple[float, list[float]]:
    """Return the mean square errors of the pairwise model and of each chain at the values since the last fit.

    They are those of the model as it was fitted last. A chain predicts by the mean of F given its D: that follows from
    what a journal stores.
    """
    n = previous.n
    known, before = None if standard_errors is None else standard_errors[:n], rows[rows < n]
    z = Standardization.of(y[before])(y[n:])
    by_chains = _means(previous.chains, _data(X[:n], y[:n], known, before)).values(invert(X[n:]))
    by_pairs = by_chains[:, previous.used].mean(axis=1)
    return mean_square(by_pairs - z), [mean_square(column - z) for column in by_chains.T]
