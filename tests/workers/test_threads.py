from __future__ import annotations

import pytest
import torch

from changeproof.workers.interpreter import one_thread


def test_threads_are_given_back() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with pytest.raises(RuntimeError, match="stop"), one_thread():
            assert torch.get_num_threads() == 1
            raise RuntimeError("stop")
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
