import pytest
import torch

from kvcourse import device
from kvcourse.errors import UserError


def test_the_cpu_is_always_there():
    assert device.pick_device("cpu") == torch.device("cpu")


def test_best_device_first(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert device.pick_device() == torch.device("cpu")
    assert not device.has_gpu()
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert device.pick_device() == torch.device("mps")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert device.pick_device() == torch.device("cuda")
    assert device.pick_device("cuda:1") == torch.device("cuda:1")


@pytest.mark.parametrize("name", ["cuda", "gpu", "", 3.5, "meta"])
def test_a_device_that_is_not_here(name, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match="device"):
        device.pick_device(name)


def test_synchronize_on_the_cpu_is_nothing():
    device.synchronize("cpu")


@pytest.mark.gpu
def test_synchronize_waits_for_the_gpu():
    stream = torch.cuda.current_stream()
    a = torch.randn(4096, 4096, device="cuda")
    for _ in range(20):
        a = a @ a
    device.synchronize(a.device)
    assert stream.query()  # nothing is left to do
