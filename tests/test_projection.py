import pytest
import torch

from kvcourse.projection import Projection, WeightMemory


def memory(dtype=torch.float32):
    return WeightMemory(10_000, dtype, torch.device("cpu"))


@pytest.mark.parametrize(("out", "into"), [(12, 5), (5, 12), (6, 6), (1, 1)])
@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (2, 1), (2, 3)])
def test_it_is_a_linear_map_however_it_is_stored(out, into, shape):
    first, second = torch.randn(out, into), torch.randn(3, into)
    x = torch.randn(*shape, into)
    stacked = Projection(first, second, memory=memory())
    assert torch.equal(stacked.weight, torch.cat([first, second]))
    torch.testing.assert_close(stacked(x), x @ torch.cat([first, second]).T)
    torch.testing.assert_close(Projection(first, memory=memory())(x), x @ first.T)


def test_wide_weights_are_stored_input_major():
    assert Projection(torch.zeros(12, 5), memory=memory()).weight.t().is_contiguous()
    assert Projection(torch.zeros(5, 12), memory=memory()).weight.is_contiguous()


def test_pieces_of_one_memory_do_not_overlap():
    shared = memory()
    weights = [torch.randn(7, 3), torch.randn(3, 7), torch.randn(4, 4)]
    projections = [Projection(weight, memory=shared) for weight in weights]
    for weight, projection in zip(weights, projections, strict=True):
        assert torch.equal(projection.weight, weight)
    assert len({projection.weight.untyped_storage().data_ptr() for projection in projections}) == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_dtypes(dtype):
    weight = torch.randn(9, 4).to(dtype)
    assert torch.equal(Projection(weight, memory=memory(dtype)).weight, weight)
