// SPDX-License-Identifier: Apache-2.0
// Kills a recording process many times at moments spread over its life, and reports what was lost. Every file must
// open and pass `check` as incomplete but sound. Exit status 1 if one does not.
#include "model/store/check.h"
#include "model/store/trace_file.h"
#include "tests/model/store/recording_process.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <vector>

using namespace fourwalls;

namespace {

/// Slices a second that the child records: 200 k rows with its allocations, frees and counters.
constexpr std::int64_t kRate = 188'000;

double percentile(std::vector<double> values, double share)
{
    std::sort(values.begin(), values.end());
    return values.empty() ? 0 : values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

} // namespace

/// bench_store_kills [KILLS]
int main(int argc, char** argv)
{
    const int kills = argc > 1 ? std::atoi(argv[1]) : 200;
    const auto folder = std::filesystem::temp_directory_path() / ("bench_store_kills-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    const std::string path = (folder / "killed.fourwalls").string();
    std::mt19937_64 random(1);
    std::vector<double> lostMs, openMs;
    int bad = 0;
    for (int i = 0; i < kills; ++i) {
        test::RecordingProcess process(path, kRate);
        // By records handed over, not by time: from the first one to two seconds' worth.
        process.waitFor(process.state().handedOver, 1 + static_cast<std::int64_t>(random() % (2 * kRate)));
        const std::int64_t handedOver = process.state().handedOver;
        const std::int64_t committed = process.state().committed;
        process.kill();
        const auto report = store::checkTrace(path);
        const auto begin = std::chrono::steady_clock::now();
        const auto trace = store::openTrace(path);
        openMs.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
        const bool good = report.ok() && report->sound && !report->complete && trace.ok() && !(*trace)->info().complete;
        if (!good) {
            ++bad;
            std::printf("kill %d: %s\n", i,
                        !trace.ok()                                ? trace.error().message().c_str()
                        : report.ok() && !report->problems.empty() ? report->problems[0].detail.c_str()
                                                                   : "wrong state");
            continue;
        }
        const TraceCounts& counts = (*trace)->info().counts;
        if (counts.slices + 2 * counts.allocations + counts.counterSamples < committed) {
            ++bad;
            std::printf("kill %d: committed records are missing\n", i);
        }
        lostMs.push_back(static_cast<double>(handedOver - counts.slices) * 1000.0 / kRate);
        std::filesystem::remove(path);
    }
    std::filesystem::remove_all(folder);
    std::printf("%d kills at %lld slices/s, not good: %d (target: 0)\n", kills, static_cast<long long>(kRate), bad);
    std::printf("lost ms: median %.0f, p95 %.0f, largest %.0f (target: 200)\n", percentile(lostMs, 0.5),
                percentile(lostMs, 0.95), percentile(lostMs, 1));
    std::printf("recovery and open ms: median %.0f, largest %.0f\n", percentile(openMs, 0.5), percentile(openMs, 1));
    return bad ? 1 : 0;
}
