// SPDX-License-Identifier: Apache-2.0
// The plans that are held against the one-rank run: single methods, pairs, triples; 2, 3, 4 and 8 ranks; layers and
// vocabulary that do not divide.
#pragma once

#include "tests/profiler/engine/parity_fixture.h"

#include <string>

namespace fourwalls::engine::testing {

struct ParityPlan {
    const char* plan;
    int layers = 4;
    bool untied = false;
    bool adamw = false;
};

inline constexpr ParityPlan kParityPlans[] = {
    {"dp=2"},
    {"dp=2 overlap=0"},
    {"dp=2 microbatches=2 documents=2x3,5"},
    {"tp=2 sp=1 pp=2 microbatches=4 schedule=zb recompute=selective documents=2x3,5"},
    {"dp=2 pp=2 vpp=2 microbatches=2 zero=3 recompute=full documents=2x3,5"},
    {"dp=2 offload=activations documents=2x3,5"},
    {"pp=4 microbatches=4 documents=2x3,5"}, // stages in the middle read no tokens
    {"pp=3 recompute=full,none,full microbatches=4 documents=2x3,5", 5},
    {"dp=4 microbatches=2"},
    {"dp=8", 2},
    {"dp=2 microbatches=4 zero=1"},
    {"dp=4 zero=1 overlap=0", 4, true},
    {"dp=2 zero=2"},
    {"dp=4 zero=2 microbatches=2 overlap=0"},
    {"dp=2 zero=3", 4, true},
    {"dp=4 zero=3 microbatches=2"},
    {"dp=2 zero=3 reshard=0 microbatches=2"},
    {"dp=3 zero=3 overlap=0", 4, false, true},
    {"pp=2 schedule=naive microbatches=2"},
    {"pp=2 schedule=gpipe microbatches=4"},
    {"pp=2 microbatches=4", 4, true},
    {"pp=4 microbatches=8"},
    {"pp=3 microbatches=4", 5},
    {"pp=3 layers=1,3,1 microbatches=4", 5},
    {"tp=2 pp=2 layers=3,1 microbatches=4 schedule=zb"},
    {"dp=2 pp=2 vpp=2 layers=1,2,1,1 microbatches=2 zero=1", 5},
    {"pp=2 vpp=2 microbatches=4"},
    {"pp=2 vpp=3 microbatches=2", 7},
    {"pp=4 schedule=zb microbatches=8"},
    {"pp=2 schedule=zb2p microbatches=4", 3},
    {"pp=2 schedule=zbv microbatches=4"},
    {"pp=4 schedule=zbv microbatches=8", 9},
    {"dp=2 pp=2 microbatches=2"},
    {"dp=2 pp=2 microbatches=4 schedule=gpipe zero=1"},
    {"dp=2 pp=2 microbatches=2 zero=2"},
    {"dp=2 pp=2 microbatches=4 zero=3", 5, true},
    {"dp=2 pp=2 microbatches=2 zero=3"},
    {"dp=2 pp=4 microbatches=4 schedule=zb"},
    {"dp=2 pp=2 microbatches=4 schedule=zbv zero=1", 4, false, true},
    {"dp=2 pp=2 vpp=2 microbatches=2 zero=1"},
    {"dp=4 pp=2 microbatches=2 overlap=0"},
    {"tp=2"},
    {"tp=4", 2, true},
    {"tp=2 sp=1 microbatches=2"},
    {"tp=4 sp=1", 2},
    {"tp=2 recompute=full"},
    {"pp=3 recompute=full,none,full microbatches=4", 5},
    {"tp=2 pp=2 recompute=none,full microbatches=4 schedule=zb"},
    {"dp=2 pp=2 vpp=2 recompute=selective,full attention=unfused microbatches=2"},
    {"dp=2 pp=2 order=tp-cp-ep-pp-dp microbatches=4"},
    {"dp=2 tp=2 pp=2 order=tp-cp-ep-pp-dp microbatches=2 zero=2 sp=1"},
    {"dp=2 pp=2 cp=2 order=tp-cp-ep-pp-dp microbatches=2 zero=3"},
    {"recompute=full microbatches=2"},
    {"recompute=selective attention=unfused"},
    {"tp=2 sp=1 recompute=selective attention=unfused"},
    {"cp=2"},
    {"cp=4", 2, true},
    {"cp=2 attention=unfused"},
    {"dp=2 tp=2"},
    {"dp=2 tp=2 sp=1 zero=1"},
    {"dp=2 tp=2 zero=2 microbatches=2"},
    {"dp=2 tp=2 sp=1 zero=3 microbatches=2"},
    {"dp=2 cp=2 zero=1"},
    {"dp=2 cp=2 zero=3", 3},
    {"tp=2 cp=2"},
    {"tp=2 sp=1 cp=2 microbatches=2"},
    {"tp=2 pp=2 microbatches=4"},
    {"tp=2 sp=1 pp=2 microbatches=4 schedule=gpipe"},
    {"tp=2 pp=2 vpp=2 microbatches=2 sp=1"},
    {"tp=2 pp=2 microbatches=4 schedule=zb"},
    {"tp=2 sp=1 pp=2 microbatches=2 schedule=zbv"},
    {"cp=2 pp=2 microbatches=2"},
    {"cp=2 pp=2 microbatches=4 recompute=full schedule=zb"},
    {"dp=2 recompute=full zero=3"},
    {"pp=4 microbatches=4 recompute=selective attention=unfused", 6},
    {"dp=2 tp=2 pp=2 microbatches=2"},
    {"dp=2 tp=2 pp=2 microbatches=2 sp=1 zero=1"},
    {"dp=2 tp=2 pp=2 microbatches=4 zero=3 sp=1", 3},
    {"dp=2 tp=2 cp=2"},
    {"dp=2 cp=2 pp=2 microbatches=2 zero=2"},
    {"tp=2 cp=2 pp=2 microbatches=2 sp=1", 4, true},
    {"dp=2 tp=2 pp=2 microbatches=4 schedule=zb2p zero=1"},
    {"dp=2 tp=2 pp=2 microbatches=4 sp=1 recompute=full", 4, true},
    // Where things are and how operators are cut changes no number; the reference works in place and fused.
    {"offload=optimizer microbatches=2", 2},
    {"offload=activations microbatches=2", 4, true},
    {"offload=activations recompute=full overlap=0", 2},
    {"offload=parameters", 3},
    {"dp=2 zero=1 offload=optimizer,activations", 2},
    {"dp=2 zero=3 offload=parameters", 3, true},
    {"dp=2 zero=3 reshard=0 offload=optimizer,parameters overlap=0 microbatches=2", 2},
    {"pp=2 microbatches=4 offload=activations,parameters", 4, true},
    {"pp=2 schedule=zbv microbatches=4 offload=optimizer,activations,parameters"},
    {"tp=2 sp=1 offload=activations,optimizer", 2},
    {"inplace=0", 2},
    {"fuse=0", 2, true},
    {"fuse=0 inplace=0", 2, false, true},
    {"pp=2 schedule=zb microbatches=4 fuse=0 inplace=0", 2},
    {"tp=2 fuse=0 inplace=0 recompute=selective attention=unfused", 2},
};

/// The run of such a plan.
inline RunSpec paritySpec(const ParityPlan& p)
{
    const int batch = std::string(p.plan).find("dp=3") != std::string::npos ? 6 : 8;
    RunSpec spec = paritySpec(p.plan, p.layers, batch);
    std::get<TransformerSpec>(spec.model.architecture).tiedEmbeddings = !p.untied;
    if (p.adamw) {
        spec.training.optimizer = Optimizer::AdamW;
        spec.training.learningRate = 1e-3;
    }
    return spec;
}

/// Plans with equal keys have the same reference.
inline std::string referenceKey(const ParityPlan& p)
{
    return std::to_string(p.layers) + (p.untied ? "u" : "t") + (p.adamw ? "a" : "s") +
           std::to_string(paritySpec(p).training.batch) + documentsText(paritySpec(p).plan.documents);
}

} // namespace fourwalls::engine::testing
