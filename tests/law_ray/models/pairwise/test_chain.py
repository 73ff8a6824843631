import json

import numpy as np
import pytest

from law_ray.models.pairwise.chain import Chain, Kind, LowRank
from law_ray.models.pairwise.templates import Template
from tests.oracles.pairwise import low_rank_of


@pytest.mark.parametrize("of_items", [False, True])
@pytest.mark.parametrize("kind", Kind)
def test_a_chain_survives_json(kind, of_items):
    rng = np.random.default_rng(0)
    template = Template("line", rng.normal(size=28), of_items, 9, 1.5) if kind.knows_places else None
    chain = Chain.start(8, kind, rng, 10, template)
    again = Chain.from_record(json.loads(json.dumps(chain.to_record())))
    assert again == chain
    assert again.kind is kind
    assert again.swapped is (of_items and kind.knows_places)
    if template is None:
        assert again.known is None
    else:
        assert (again.known.name, again.known.of_items, again.known.n, again.known.penalty) == (
            "line",
            of_items,
            9,
            1.5,
        )
        np.testing.assert_array_equal(again.known.entries, template.entries.astype("<f4"))
    np.testing.assert_array_equal(again.items_prior.columns, chain.items_prior.columns)
    assert again != Chain.start(8, kind, np.random.default_rng(1))


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize(("n_items", "limit"), [(30, 5_000), (100, 55_000)])
def test_a_record_is_as_short_as_documented(n_items, limit, kind):
    assert len(json.dumps(Chain.start(n_items, kind, np.random.default_rng(0)).to_record())) < limit


def test_a_chain_of_an_older_journal_is_of_any_kind():
    chain = Chain.start(8, Kind.ANY, np.random.default_rng(0))
    record = chain.to_record()
    for later in ("kind", "known", "began"):
        del record[later]
    assert Chain.from_record(record) == chain


@pytest.mark.parametrize("kind", Kind)
def test_the_low_rank_of_a_scaled_prior_is_scaled(kind):
    prior = LowRank.start(7, kind.places, False, np.random.default_rng(0))
    np.testing.assert_allclose(prior.mean(), low_rank_of(prior))
    np.testing.assert_allclose(prior.scaled(3.0).mean(), 3.0 * prior.mean())
    # what has the prior variance w is c times what has w / c^2
    of_products = np.array(kind.places) != 0
    np.testing.assert_allclose(prior.scaled(3.0).widths, prior.widths * np.where(of_products, 3.0, 9.0))
    assert prior.scaled(3.0).residual == pytest.approx(9.0 * prior.residual)


@pytest.mark.parametrize("kind", Kind)
def test_the_columns_of_a_new_chain_are_a_draw_of_their_prior(kind):
    for signs in (kind.places, kind.items):
        prior = LowRank.start(2000, signs, False, np.random.default_rng(0))
        np.testing.assert_allclose((prior.columns**2).mean(axis=0), prior.widths, rtol=5 * np.sqrt(2 / 2000))
        assert prior.columns.shape == (2000, len(signs))
        assert prior.residual == 0.5
