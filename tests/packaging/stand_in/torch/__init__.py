# SPDX-License-Identifier: Apache-2.0
"""As much of PyTorch as packaging/check_on_gpu/endings.py asks for. Its kernels are launches of the stand-ins for CUPTI and the
driver in the folder STAND_IN; the recorder is loaded as CUDA's driver loads it, where the environment says so."""
import ctypes
import os
import select


_cupti = None


class _Tensor:
    def __init__(self):
        global _cupti
        folder = os.environ["STAND_IN"]
        for name in ("libnvidia-ml.so.1", "libcuda.so.1"):
            ctypes.CDLL(os.path.join(folder, name))
        _cupti = ctypes.CDLL(os.path.join(folder, "libcupti.so.13"))
        ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection()
        self.launched = 0

    def mul_(self, factor):
        if self.launched % 200 == 0:
            _cupti.fake_unfinished(1)  # until somebody waits, something is under way
            select.select([], [], [], 0.004)  # a GPU's pace: what is lost by time is an input here
        _cupti.fake_launch(1)
        self.launched += 1


class cuda:
    @staticmethod
    def synchronize():
        _cupti.fake_unfinished(0)


def ones(size, device):
    return _Tensor()
