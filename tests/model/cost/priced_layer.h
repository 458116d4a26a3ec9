// SPDX-License-Identifier: Apache-2.0
// A small transformer layer and round rates, for tests of what its operators cost.
#pragma once

#include "model/cost/layer_cost.h"

namespace fourwalls::cost::testing {

struct PricedLayer {
    TransformerSpec model;
    FrameworkPreset framework;
    Calibration calibration;
    DeviceRates rates;
    CollectiveTimes collectives{[] {
                                    ClusterSpec c;
                                    c.devicesPerNode = 8;
                                    c.nodeLink = {100e9, 1e-6};
                                    c.nicLink = {10e9, 1e-5};
                                    c.nicsPerNode = 8;
                                    return c;
                                }(),
                                calibration};

    PricedLayer()
    {
        model.layers = 4;
        model.hidden = 1024;
        model.heads = model.kvHeads = 16;
        model.ffnHidden = 4096;
        model.vocabulary = 1000;
        model.sequence = 512;
        framework.flashAttention = false;
        framework.dropout = true;
        rates.peakFlops = rates.gemmFlops = rates.attentionPeak = rates.attentionGemmFlops = 1e14;
        rates.plainFlops = 1e13;
        rates.attentionForward = rates.attentionBackward = 5e13;
        rates.memoryBytes.fill(1e12);
        rates.updateBytes = rates.streamBytes = 1e12;
        rates.multiprocessors = 100;
    }
    CostContext context() const { return {model, framework, calibration, rates, collectives, 8}; }
    static LayerSetting setting(double batch = 4)
    {
        LayerSetting s;
        s.microBatch = batch;
        s.sequence = 512;
        return s;
    }
};

} // namespace fourwalls::cost::testing
