// SPDX-License-Identifier: Apache-2.0
// From a spool to a finished trace: rows per second of processor time, against the target of 200,000 on one core.
// Usage: bench_spool [launches]
#include "model/import/import_registry.h"
#include "model/store/check.h"
#include "model/store/trace_writer.h"
#include "tests/model/import/spool_sample.h"

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

using namespace fourwalls;
using namespace fourwalls::importers::test;

namespace {

double processorSeconds()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int fail(const std::string& text)
{
    std::fprintf(stderr, "%s\n", text.c_str());
    return 1;
}

} // namespace

int main(int argc, char** argv)
{
    const long launches = argc > 1 ? std::atol(argv[1]) : 500'000;
    const std::string folder = (std::filesystem::temp_directory_path() / "fourwalls-bench-spool").string();
    std::filesystem::create_directories(folder);
    const std::string spoolPath = folder + "/bench.fwspool", tracePath = folder + "/bench.fourwalls";
    {
        SpoolSample spool(spoolPath, 0, 1);
        std::int64_t now = 100;
        for (int step = 0; step * 14L < launches; ++step) now = addStep(spool, now, step % 2 == 0, step);
        spool.end(now);
    }
    const double spoolMegabytes = static_cast<double>(std::filesystem::file_size(spoolPath)) * 1e-6;
    const auto begin = std::chrono::steady_clock::now();
    const double processorBegin = processorSeconds();
    double written = 0;
    {
        const auto import = importers::openImport({spoolPath});
        if (!import.ok()) return fail(import.error().message());
        const auto writer = store::TraceWriter::create(tracePath, (*import)->header());
        if (!writer.ok()) return fail(writer.error().message());
        const Status handedOver = (*import)->write(**writer, {});
        if (!handedOver.ok()) return fail(handedOver.error().message());
        written = processorSeconds() - processorBegin;
        const Status finished = (*writer)->finish((*import)->closing());
        if (!finished.ok()) return fail(finished.error().message());
    }
    const double processor = processorSeconds() - processorBegin;
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const auto report = store::checkTrace(tracePath);
    if (!report.ok() || !report->sound || !report->complete) return fail("check does not accept the trace");
    // A launch is three rows: the call, the kernel, the arrow between them.
    const double rows = static_cast<double>(launches) * 3;
    std::printf("spool %.1f MB, %ld launches, trace %.1f MB\n", spoolMegabytes, launches,
                static_cast<double>(std::filesystem::file_size(tracePath)) * 1e-6);
    std::printf("spool to store: %.0f k rows/s of processor time until the records are handed over, %.0f k rows/s with "
                "summaries and level of detail "
                "(target 200); %.2f s processor, %.2f s wall\n",
                rows / written * 1e-3, rows / processor * 1e-3, processor, wall);
    std::filesystem::remove_all(folder);
    return 0;
}
