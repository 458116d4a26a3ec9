// SPDX-License-Identifier: Apache-2.0
// Fuzz target: logs of training programs, of PyTorch's compiler and of NCCL's tools, event files of TensorBoard, memory
// timelines.
#include "tests/fuzz/import_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    fourwalls::fuzz::importBytes(data, size, "train.log");
    return 0;
}
