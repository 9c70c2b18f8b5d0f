"""What fits, and where cache and weights are equal: published figures and defining properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcourse.errors import ConfigError
from kvcourse.memory import sequences_that_fit, sequences_to_exceed, tokens_that_fit, tokens_to_reach

GIB = 2**30
sizes = st.integers(1, 10**6)


def test_the_seventh_sequence_of_llama_2_7b_passes_its_weights():
    assert sequences_to_exceed(524_288 * 4096, 2 * 6_738_415_616) == 7


def test_paged_attention_paper_table_1():
    """12 GiB for OPT-13B at 800 KiB a token: 15.7K slots, 7 requests of 2,048 (arXiv:2309.06180)."""
    assert tokens_that_fit(12 * GIB, 819_200) == 15_728
    assert sequences_that_fit(12 * GIB, 819_200 * 2048) == 7
    assert tokens_that_fit(12 * GIB, 819_200, block=16) == 15_728 // 16 * 16


def test_llama_crossovers():
    """25.7k tokens in flight for Llama-2-7B, 122k for Llama-3.1-8B."""
    assert tokens_to_reach(2 * 6_738_415_616, 524_288) == 25_706
    assert tokens_to_reach(2 * 8_030_261_248, 131_072) == 122_533


@given(sizes, sizes)
def test_exceeding_is_strict_and_first(per_sequence, weights):
    count = sequences_to_exceed(per_sequence, weights)
    assert count * per_sequence > weights >= (count - 1) * per_sequence


@given(sizes, sizes)
def test_reaching_is_first(per_token, weights):
    count = tokens_to_reach(weights, per_token)
    assert count * per_token >= weights > (count - 1) * per_token


@given(sizes, sizes, st.integers(1, 64))
def test_what_fits_fits_and_one_more_does_not(pool, per_token, block):
    tokens = tokens_that_fit(pool, per_token, block)
    assert tokens % block == 0 and tokens * per_token <= pool < (tokens + block) * per_token
    assert sequences_that_fit(pool, per_token) == tokens_that_fit(pool, per_token)


def test_nothing_fits_into_nothing():
    assert sequences_that_fit(0, 5) == tokens_that_fit(0, 5, 16) == 0
    assert sequences_to_exceed(5, 0) == 1
    assert tokens_to_reach(0, 5) == 0


@pytest.mark.parametrize("bad", [0, -1, 1.5, "5", None])
def test_a_sequence_of_no_bytes_is_refused(bad):
    for function in (sequences_that_fit, tokens_that_fit, tokens_to_reach):
        with pytest.raises(ConfigError, match=r"bytes_per_\w+ is"):
            function(10, bad)
    with pytest.raises(ConfigError, match="bytes_per_sequence is"):
        sequences_to_exceed(bad, 10)
