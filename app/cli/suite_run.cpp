// SPDX-License-Identifier: Apache-2.0
// See suite_run.h.
#include "app/cli/suite_run.h"

#include <algorithm>
#include <atomic>
#include <filesystem>

#include <unistd.h>

namespace fourwalls::cli {

Result<RecordedRun> recordInMemory(const RunSpec& spec, engine::RunOptions options)
{
    options.measurePeak = false;
    options.origin = engine::ClockOrigin::now();
    RecordedRun recorded;
    recorded.trace = std::make_unique<InMemoryTrace>(engine::describeRun(spec, options.origin, options.clock));
    options.sink = recorded.trace.get();
    FOURWALLS_TRY_ASSIGN(const engine::RunReport report, engine::runTraining(spec, options));
    if (report.stopped) return Error{ErrorCode::Cancelled, "stopped", formatPlan(spec.plan), ""};
    FOURWALLS_TRY(recorded.trace->finish(report.closing));
    recorded.query = std::make_unique<InMemoryTraceQuery>(recorded.trace->data());
    FOURWALLS_TRY_ASSIGN(const std::vector<JobStep> steps, recorded.query->jobSteps());
    const auto isWarm = [](const JobStep& step) { return step.state == StepState::Warmup; };
    const auto first = std::find_if_not(steps.begin(), steps.end(), isWarm);
    if (first != steps.end())
        recorded.perStep = static_cast<double>((steps.back().range.end - first->range.begin).ns) /
                           static_cast<double>(steps.end() - first);
    return recorded;
}

Result<ScratchFile> ScratchFile::create()
{
    static std::atomic<int> made = 0;
    std::error_code failure;
    const std::filesystem::path folder = std::filesystem::temp_directory_path(failure);
    if (failure) return Error{ErrorCode::Io, failure.message(), "temporary file", "set TMPDIR to a folder"};
    const std::string name = "fourwalls-suite-" + std::to_string(::getpid()) + '-' + std::to_string(++made);
    return ScratchFile((folder / name).string());
}

ScratchFile::~ScratchFile()
{
    std::error_code ignored;
    if (!m_path.empty()) std::filesystem::remove_all(m_path, ignored);
}

} // namespace fourwalls::cli
