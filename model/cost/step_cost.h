// SPDX-License-Identifier: Apache-2.0
// What the parts of one training step cost: per pipeline position and pass the seconds on the device and what they are
// made of, per stage the work after the last backward and the memory. This is the one description that both the
// simulation of the schedule and the closed form read.
#pragma once

#include "model/base/result.h"
#include "model/cost/collective_time.h"
#include "model/cost/cost_parts.h"
#include "model/spec/pipeline_schedule.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fourwalls::cost {

/// Bytes that a rank sends for one micro-batch, per kind of communication.
struct WireBytes {
    double tensor = 0, context = 0, expert = 0, parameter = 0;
    /// Of those of a part: what all-gathers and reduce-scatters send; the rest are all-reduces.
    struct Halves {
        double gathers = 0, scatters = 0;
    };
    Halves ofTensor, ofParameter;

    WireBytes& addScaled(const WireBytes& other, double factor)
    {
        tensor += factor * other.tensor;
        context += factor * other.context;
        expert += factor * other.expert;
        parameter += factor * other.parameter;
        ofTensor.gathers += factor * other.ofTensor.gathers;
        ofTensor.scatters += factor * other.ofTensor.scatters;
        ofParameter.gathers += factor * other.ofParameter.gathers;
        ofParameter.scatters += factor * other.ofParameter.scatters;
        return *this;
    }
    double total() const { return tensor + context + expert + parameter; }
    /// Those of one part of the cost; the others send nothing inside a pass.
    double* of(CostPart part)
    {
        switch (part) {
        case CostPart::TensorComm: return &tensor;
        case CostPart::ContextComm: return &context;
        case CostPart::ExpertComm: return &expert;
        case CostPart::ParameterComm: return &parameter;
        default: return nullptr;
        }
    }
    double of(CostPart part) const
    {
        const double* bytes = const_cast<WireBytes*>(this)->of(part);
        return bytes ? *bytes : 0;
    }
    /// Adds what one collective of a part sends.
    void add(CostPart part, Collective kind, double bytes)
    {
        if (double* all = of(part)) *all += bytes;
        Halves none;
        Halves& halves = part == CostPart::TensorComm ? ofTensor : part == CostPart::ParameterComm ? ofParameter : none;
        if (kind == Collective::AllGather) halves.gathers += bytes;
        if (kind == Collective::ReduceScatter) halves.scatters += bytes;
    }
};

/// One pass of one micro-batch through one position of the pipeline.
struct PassCost {
    PartSeconds parts;     ///< adds up to the time that the stage is occupied
    PartSeconds hidden;    ///< communication that runs beside computation (not in parts)
    double flops = 0;      ///< matrix products and convolutions on this rank, as executed
    double modelFlops = 0; ///< of them, what the model needs (causal attention half, no recomputation)
    WireBytes wire;        ///< sent by a rank, hidden or not
    double seconds() const { return parts.total(); }
};

/// A position of the pipeline (a stage's chunk). Positions that hold the same kinds of layers share one.
struct ChunkCost {
    std::int64_t layers = 0; ///< transformer layers (or blocks) in it
    bool holdsEmbedding = false, holdsHead = false;
    PassCost forward;
    PassCost recompute;         ///< before the backward, on the same stage; zero without recomputation
    PassCost backwardInput;     ///< gradient of the inputs
    PassCost backwardWeight;    ///< gradient of the weights
    double activationBytes = 0; ///< kept from forward to backward, per micro-batch
    double transientForwardBytes = 0, transientBackwardBytes = 0; ///< on top of that while a pass runs
    double weightGradientBytes = 0; ///< of activationBytes: still held between backwardInput and backwardWeight

    double backwardSeconds() const { return backwardInput.seconds() + backwardWeight.seconds(); }
    /// Of all its passes.
    double seconds() const { return forward.seconds() + recompute.seconds() + backwardSeconds(); }
    /// Of forward, recomputation and backward together.
    double wireBytes() const
    {
        return forward.wire.total() + recompute.wire.total() + backwardInput.wire.total() + backwardWeight.wire.total();
    }
};

/// Peak bytes of a rank of a stage, by term; they add up to the peak.
struct MemoryTerms {
    double weights = 0; ///< in the precision that computes (and what a gathered shard adds)
    double gradients = 0;
    double optimizer = 0;     ///< states and master weights
    double activations = 0;   ///< of all micro-batches in flight at the peak
    double logits = 0;        ///< of the head and loss, at the peak
    double transient = 0;     ///< workspace of the pass at the peak
    double communication = 0; ///< buckets and gather buffers
    double library = 0;       ///< buffers of the collective library, outside of the allocator
    double context = 0;       ///< the driver's and libraries' context on the device
    double slack = 0;         ///< what the allocator reserves and cannot use
    double total() const { return reserved() + library + context; }
    /// What an allocator reports as allocated.
    double allocated() const
    {
        return weights + gradients + optimizer + activations + logits + transient + communication;
    }
    /// What an allocator reports as reserved: with what it cannot use.
    double reserved() const { return allocated() + slack; }
};

/// What belongs to a stage as a whole, once per step.
struct StageCost {
    double parameters = 0;            ///< on a rank of this stage, before sharding over data parallelism
    double gradientCommSeconds = 0;   ///< the whole reduction of gradients (and gathering of parameters) of the step
    double gradientCommExposed = 0;   ///< of it, after the stage's last backward
    double gradientWireBytes = 0;     ///< sent by a rank in all of that
    double expertWireBytes = 0;       ///< of them: gradients (and parameters) of experts
    double tableWireBytes = 0;        ///< of them: the table that the first and the last stage share
    double partialWireBytes = 0;      ///< of them: over the tensor group, of what each of its ranks holds whole
    bool scattersGradients = false;   ///< the reduction leaves each rank its share: a reduce-scatter
    double gatherWireBytes = 0;       ///< of them: new parameters brought together, those of experts not
    double expertGatherWireBytes = 0; ///< of expertWireBytes: the same of experts
    double optimizerSeconds = 0;      ///< gradient norm and update, after the reduction of every stage
    int inFlight = 1;                 ///< (micro-batch, chunk) activations held at once
    MemoryTerms memory;
    double usableMemoryBytes = 0; ///< capacity of its smallest device; 0 unknown
    /// A layer and micro-batch through all passes, where stages differ in their devices; else 0.
    double layerSeconds = 0;

    /// How full a device is with so many bytes: 1 is its capacity. A device of unknown capacity takes everything, so it is
    /// less full than any other, and more with more bytes.
    double fullness(double bytes) const
    {
        constexpr double kMoreThanAny = 1e18; // bytes
        return bytes / (usableMemoryBytes > 0 ? usableMemoryBytes : kMoreThanAny);
    }
    bool fits(double bytes) const { return usableMemoryBytes <= 0 || bytes <= usableMemoryBytes; }
};

/// The transfer over one boundary of the pipeline, from position i to i + 1 (and the gradient back).
struct BoundaryCost {
    double bytes = 0;   ///< per message and rank
    double seconds = 0; ///< of one message
};

/// Costs of one step under one plan.
struct StepCost {
    PipelineShape shape;
    std::vector<ChunkCost> kinds;              ///< the different positions
    std::vector<std::uint32_t> kindOfPosition; ///< by position: index into kinds
    std::vector<BoundaryCost> boundaries;      ///< by position; one fewer than positions (same stage: 0 seconds)
    bool blockingTransfers = false;            ///< sender and receiver both wait for a transfer (else it runs beside)
    std::vector<StageCost> stages;             ///< by stage
    double unevenSeconds = 0;                  ///< once per step all wait for the replica with the longest documents
    double agreementSeconds = 0;               ///< once per step all ranks agree on the gradient's norm and the loss
    double agreementWireBytes = 0;             ///< sent by a rank for that
    bool flushMessages = false;                ///< stages tell each other with a word each that their passes are over
    double fixedSeconds = 0;                   ///< once per step outside of all of these (engine, data, logging)
    double bandWidth = 0;                      ///< half of the band in the logarithm; 0: by parts (Calibration::band)
    double modelFlopsPerStep = 0;              ///< of the whole job
    double tokensPerStep = 0;                  ///< or samples, for models without a sequence
    double peakFlops = 0;                      ///< of a device in the precision that runs, their mean [FLOP/s]
    double deviceWatts = 0;                    ///< power limit of a device, their mean; 0 unknown
    int devices = 1;

    const ChunkCost& chunk(int position) const { return kinds[kindOfPosition[static_cast<std::size_t>(position)]]; }
    /// All times become `factor` of what they are.
    void scaleTimes(double factor);
};

/// One operator of a pass, for timelines and tables.
struct OperatorCost {
    std::string name;        ///< as the engine names them: "attention.qkv", "mlp.up", "all_reduce", …
    std::int64_t layer = -1; ///< in the whole network; -1: embedding or head
    CostPart part = CostPart::Gemm;
    bool communication = false; ///< runs on a communication stream
    bool hidden = false;        ///< beside computation: does not add to the pass
    double seconds = 0;
    double flops = 0;
    double bytes = 0;     ///< moved in memory, or payload of a collective
    double wireBytes = 0; ///< of a collective: sent by a rank
    Collective collective = Collective::AllReduce;
    /// Of a collective that the pass waits for: what follows `seconds` of it beside computation, not in them.
    double hiddenSeconds = 0;
};

} // namespace fourwalls::cost
