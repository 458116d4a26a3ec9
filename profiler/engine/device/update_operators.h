// SPDX-License-Identifier: Apache-2.0
// The optimizers' updates in elementary passes over memory, as a framework without fused optimizers runs them; each
// pass is recorded as one kernel slice. Same results as Device::adamw and Device::sgd within rounding. Everything is in
// the master type. One object per rank, used by its thread.
#pragma once

#include "profiler/engine/device/device.h"

namespace fourwalls::engine {

class UpdateOperators {
public:
    explicit UpdateOperators(Device& device) : m_device(device) {}

    /// One update in place; gradient is overwritten where it is clipped. See Device::adamw.
    void adamw(const UpdateTensors& tensors, const AdamWStep& step);
    /// See Device::sgd.
    void sgd(const UpdateTensors& tensors, const SgdStep& step);

private:
    void clip(const Tensor& gradient, double scale);

    Device& m_device;
};

} // namespace fourwalls::engine
