// SPDX-License-Identifier: Apache-2.0
// The stable names of the trace's words, as files, JSON and CSV spell them.
#include "model/trace/vocabulary.h"

#include <cstddef>

namespace fourwalls {

namespace {

/// The name at the enumerator's value; "unknown" for a value that a newer or damaged file brought in.
template <class Enum, std::size_t N>
std::string_view at(const std::array<std::string_view, N>& names, Enum value)
{
    const auto index = static_cast<std::size_t>(value);
    return index < N ? names[index] : std::string_view("unknown");
}

} // namespace

std::string_view name(TraceSource value)
{
    static constexpr std::array<std::string_view, 4> kNames{"recorded", "imported", "predicted", "synthetic"};
    return at(kNames, value);
}

std::string_view name(ClockKind value)
{
    static constexpr std::array<std::string_view, 3> kNames{"wall", "device", "predicted"};
    return at(kNames, value);
}

std::string_view name(SliceKind value)
{
    static constexpr std::array<std::string_view, kSliceKindCount> kNames{
        "step", "phase", "layer",        "operator",   "kernel", "collective", "hop",
        "copy", "wait",  "data_loading", "checkpoint", "marker", "host_call"};
    return at(kNames, value);
}

std::string_view name(Phase value)
{
    static constexpr std::array<std::string_view, kPhaseCount> kNames{
        "none",          "forward",      "backward_input",  "backward_weight", "recompute",  "optimizer",
        "gradient_sync", "data_loading", "checkpoint_save", "checkpoint_load", "evaluation", "setup"};
    return at(kNames, value);
}

std::string_view name(Activity value)
{
    static constexpr std::array<std::string_view, kActivityCount> kNames{
        "none",          "compute",      "transfer", "collective_wait", "copy",
        "pipeline_wait", "data_loading", "launch",   "synchronisation", "pipeline_transfer"};
    return at(kNames, value);
}

std::string_view name(MemoryCategory value)
{
    static constexpr std::array<std::string_view, kMemoryCategoryCount> kNames{
        "weights", "gradients", "optimizer_state", "activations", "temporaries", "comm_buffers", "workspace", "other"};
    return at(kNames, value);
}

std::string_view name(TrackKind value)
{
    static constexpr std::array<std::string_view, 9> kNames{"steps",          "phases",      "operators",
                                                            "compute_stream", "comm_stream", "copy_stream",
                                                            "cpu_thread",     "markers",     "other"};
    return at(kNames, value);
}

std::string_view name(CollectiveOp value)
{
    static constexpr std::array<std::string_view, 12> kNames{"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                                             "all_to_all", "send",       "receive",        "reduce",
                                                             "gather",     "scatter",    "barrier",        "other"};
    return at(kNames, value);
}

std::string_view name(CounterUnit value)
{
    static constexpr std::array<std::string_view, 7> kNames{"none",    "bytes", "per_second", "watt",
                                                            "celsius", "hertz", "percent"};
    return at(kNames, value);
}

std::string_view name(EventKind value)
{
    static constexpr std::array<std::string_view, 6> kNames{"fault",         "checkpoint", "loss_spike",
                                                            "out_of_memory", "annotation", "rollback"};
    return at(kNames, value);
}

std::string_view name(AuditSeverity value)
{
    static constexpr std::array<std::string_view, 4> kNames{"info", "repaired", "skipped", "dropped"};
    return at(kNames, value);
}

std::string_view name(StepState state)
{
    switch (state) {
    case StepState::Measured: return "measured";
    case StepState::Warmup: return "warmup";
    case StepState::Cut: return "cut";
    case StepState::Odd: return "odd";
    case StepState::Lost: return "lost";
    }
    return "";
}

} // namespace fourwalls
