// SPDX-License-Identifier: Apache-2.0
// From names in a file to operators of the trace: every distinct (category, name, detail) is decoded and classified
// once; its operators differ further only in phase and FLOPs.
#pragma once

#include "model/import/common/name_memo.h"
#include "model/import/common/trace_categories.h"
#include "model/spec/device_datasheet.h"
#include "model/trace/trace_sink.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fourwalls::importers {

/// Of the detail of an operator, such as the shapes of its inputs, this much is kept [bytes].
inline constexpr std::size_t kLongestDetail = 300;

/// Whether a call of a runtime or driver launches work on a device: a kernel, a cooperative one, a graph.
bool isLaunchCall(std::string_view name);

/// Whether a copy of that name keeps no caller of an asynchronous call: it stays on devices, or its memory is page-locked.
bool waitsForNothing(std::string_view copy);

/// What a call of a runtime counts as, given how long it took: an asynchronous copy that keeps its caller waits for the
/// copy (pageable memory), and for what was launched before it. freeCopy: the copy is known to be one that does not
/// (LaunchLinks::isFreeCopy); it launches, however long it takes (a full queue).
Activity callActivity(const OpInfo& call, Duration length, bool freeCopy);

/// A name once met.
struct NamedWork {
    OpInfo info; ///< without phase and FLOPs
    bool communication = false;
    bool matrix = false;                    ///< a kernel that can carry the FLOPs of its operator
    std::optional<CollectiveOp> collective; ///< what the name says
    int stepNumber = -1;                    ///< of ProfilerStep#N; -1: none
    std::optional<bool> marksSteps;         ///< StepFinder::interesting; absent: not asked
    std::optional<bool> ofOptimizer;        ///< optimizerKernel(); absent: not asked
    std::optional<Arithmetic> arithmetic;   ///< arithmeticOf() its name and detail; absent: not asked
    std::int64_t count = 0;                 ///< how often it was asked for
    struct Variant {
        Phase phase;
        Activity activity;
        double flops;
        OpId id;
    };
    std::vector<Variant> variants;
};

class OpNames {
public:
    /// Distinct names that are kept as they are. Each takes some 900 bytes until the trace is finished.
    static constexpr std::size_t kMostNames = 200'000;

    /// cpuOnly: nothing in the run was executed by an accelerator, so that operators themselves are the work.
    OpNames(TraceSink& sink, bool cpuOnly, std::size_t mostNames = kMostNames)
        : m_sink(sink)
        , m_cpuOnly(cpuOnly)
        , m_mostNames(mostNames)
    {}

    /// The entry of a name; valid while this lives. Bytes of the name that are no UTF-8 are replaced.
    NamedWork& find(Category category, std::string_view name, std::string_view detail = {});
    /// The entry of a copy or set of so many bytes, which its detail says, too.
    NamedWork& findCopy(Category category, std::string_view name, std::int64_t bytes);
    OpId id(NamedWork& work, Phase phase = Phase::None, double flops = 0);
    /// The same where the occurrence counts otherwise than its name tells.
    OpId id(NamedWork& work, Phase phase, double flops, Activity activity);

    /// What a kernel of a training is for. launched: what is known from its launch. Outside of ranges and nodes that
    /// say more than "forward", an optimizer's kernels are known by their names.
    static Phase kernelPhase(NamedWork& work, Phase launched);

    template <class Visit>
    void each(Visit&& visit) const
    {
        for (const NamedWork& work : m_works) visit(work);
    }

    /// Details left out because there were too many different ones.
    std::int64_t droppedDetails() const { return m_droppedDetails; }
    /// Events whose names had their numbers replaced by # (of as many names again, then the whole name) because there
    /// were too many different ones.
    std::int64_t shortenedNames() const { return m_shortenedNames; }

private:
    NamedWork make(Category category, std::string_view name, std::string_view detail) const;
    NamedWork& shortened(Category category, std::string_view name);
    void setKey(Category category, std::string_view name, std::string_view detail);
    using Entry = std::pair<const std::string, std::size_t>;
    static bool isKey(const std::string& key, Category category, std::string_view name, std::string_view detail);

    TraceSink& m_sink;
    bool m_cpuOnly;
    std::size_t m_mostNames;
    std::unordered_map<std::string, std::size_t> m_byKey;
    std::deque<NamedWork> m_works;
    std::array<const Entry*, kRecentSlots> m_recent{}; ///< of m_byKey, by recentSlot() of name and detail
    std::string m_key;
    std::int64_t m_droppedDetails = 0, m_shortenedNames = 0;
};

} // namespace fourwalls::importers
