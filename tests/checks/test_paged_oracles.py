"""The references for paged attention against PyTorch's own; each mistake gives something else."""

import pytest
import torch
import torch.nn.functional as F

from kvcourse.caches.paged_attention import Partial, finish, merge
from kvcourse.checks import check, hidden
from kvcourse.checks.messages import CheckFailed
from kvcourse.checks.paged_oracles import check_part, paged_case, part, write_mistakes, written


def drawn(seed, *args, **kwargs):
    return paged_case(torch.Generator().manual_seed(seed), *args, **kwargs)


@pytest.mark.parametrize("filler", [0.0, 1e4, float("nan")])
def test_case_is_attention_over_the_tokens_of_each_table(filler):
    case = drawn(1, [7, 12, 1], 4, (6, 2, 4), filler=filler)
    for n, (table, length) in enumerate(zip(case.tables, case.lengths, strict=True)):
        k, v = (pool[table].flatten(0, 1)[:length].transpose(0, 1) for pool in (case.k_pool, case.v_pool))
        want = F.scaled_dot_product_attention(case.q[n, :, None], k, v, enable_gqa=True)[:, 0]
        torch.testing.assert_close(case.want[n], want)
    assert case.k_pool.isnan().any() == (filler != filler)


def test_no_mistake_gives_the_right_output():
    for seed in range(5):
        case = drawn(seed, [7, 12, 5], 4, (6, 2, 4), filler=1e4)
        assert len(case.mistakes) >= 10
        for hint, wrong in case.mistakes.items():
            assert not torch.allclose(wrong, case.want, atol=1e-3), hint
            assert hint.endswith((".", "?"))


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_parts_merge_as_the_courses_own_do(scale):
    generator = torch.Generator().manual_seed(2)
    scores = scale * torch.randn(3, 9, generator=generator)
    values = torch.randn(3, 9, 4, generator=generator)
    pieces = [part(scores[:, a:b], values[:, a:b]) for a, b in ((0, 4), (4, 4), (4, 9))]
    assert torch.equal(pieces[1][0], torch.full((3,), -torch.inf)) and not pieces[1][2].any()
    as_partials = [Partial(m[:, None], total[:, None], o) for m, total, o in pieces]
    whole = merge(merge(as_partials[0], as_partials[1]), as_partials[2])
    m, total, o = part(scores, values)
    torch.testing.assert_close(finish(whole), o / total[:, None])
    check_part(check, (whole.m[:, 0], whole.l[:, 0], whole.o), scores, values, "merge", pieces)
    lse = m + total.log()  # another way to say the same
    check_part(check, (lse, torch.ones(3), o / total[:, None]), scores, values, "merge")


def test_wrong_parts_are_named():
    generator = torch.Generator().manual_seed(3)
    scores, values = 3 * torch.randn(2, 9, generator=generator), torch.randn(2, 9, 4, generator=generator)
    a, b = (part(scores[:, :4], values[:, :4]), part(scores[:, 4:], values[:, 4:]))
    m = torch.maximum(a[0], b[0])
    mean = (a[2] / a[1][:, None] + b[2] / b[1][:, None]) / 2
    nan = torch.full((2,), torch.nan)
    for got, text in (
        ((m, a[1] + b[1], a[2] + b[2]), "added as they are"),
        ((m, torch.ones(2), mean), "averaged"),
        (a, "output of one part"),
        ((nan, nan, a[2]), "must be finite"),
        ((m, a[1]), "a tuple of 3"),
        ((m, a[1], a[2][:, :2]), "shape (2, 4)"),
        ((m, a[1][:, None], a[2]), "shape (2,)"),
        (None, "None means"),
    ):
        with pytest.raises(CheckFailed) as caught:
            check_part(check, got, scores, values, "merge(a, b)", [a, b])
        assert text in str(caught.value)
    with pytest.raises(CheckFailed) as caught:
        check_part(hidden, a, scores, values, "merge(a, b)", [a, b])
    assert "0." not in str(caught.value)


def test_written_is_an_index_copy_into_the_flat_pool():
    generator = torch.Generator().manual_seed(4)
    pool = torch.randn(5, 4, 2, 3, generator=generator)
    rows, other = torch.randn(2, 6, 2, 3, generator=generator)
    slots = [7, 3, 19, 0, 12, 6]
    want = pool.flatten(0, 1).index_copy(0, torch.tensor(slots), rows).view_as(pool)
    assert torch.equal(written(pool, rows, slots), want)
    for hint, wrong in write_mistakes(pool, rows, other, slots).items():
        assert not torch.equal(wrong, want), hint
