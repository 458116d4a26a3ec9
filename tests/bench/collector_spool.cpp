// SPDX-License-Identifier: Apache-2.0
// How many launches the collector takes into its spool without losing one: the module is loaded as the CUDA driver
// would, a stand-in for CUPTI produces launches (API call, external correlation and kernel each) at a given rate, and
// the spool is read back and counted.
//
// Usage: bench_collector_spool [RATE [SECONDS [FOLDER [DETAIL]]]]   default: 300000 launches/s for 10 s into a temporary
// folder. DETAIL: low, normal (default), full; or between: steps of 10 ms of which --every leaves all out, to see what a
// recording costs there.
#include "profiler/collect/collector_environment.h"
#include "profiler/collect/spool_reader.h"
#include "tests/support/load_pace.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/resource.h>

using namespace fourwalls::collect;

namespace {

template <class Function>
Function* find(void* library, const char* name)
{
    auto* function = library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
    if (function == nullptr) {
        std::fprintf(stderr, "no %s: %s\n", name, dlerror());
        std::exit(1);
    }
    return function;
}

double processorSeconds()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// What the collector's threads took beside the program, and its functions in the program's thread.
struct ThreadCosts {
    std::uint64_t ownNs = 0, programNs = 0, programCalls = 0;

    void add(const RecorderCost& cost)
    {
        if (cost.own != 0)
            ownNs += cost.nanoseconds;
        else
            programNs += cost.nanoseconds, programCalls += cost.calls;
    }
};

double peakMegabytes()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
}

} // namespace

int main(int argc, char** argv)
{
    const double rate = argc > 1 ? std::atof(argv[1]) : 300'000;
    const double seconds = argc > 2 ? std::atof(argv[2]) : 10;
    const auto folder =
        argc > 3 ? std::filesystem::path(argv[3]) : std::filesystem::temp_directory_path() / "fw_bench_spool";
    const std::string libraries = std::string(FOURWALLS_BIN_DIR) + "/../lib/";
    const std::string detail = argc > 4 ? argv[4] : "normal";
    const bool between = detail == "between";
    setenv(kEnvSpoolFolder, folder.c_str(), 1);
    setenv(kEnvDetail, between ? "normal" : detail.c_str(), 1);
    if (between) setenv(kEnvEvery, "1000000000", 1);

    dlopen((libraries + "fake/libcuda.so.1").c_str(), RTLD_NOW); // without a driver CUPTI is not asked
    void* cupti = dlopen((libraries + "fake/libcupti.so.13").c_str(), RTLD_NOW);
    void* module = dlopen((libraries + kModuleFileName).c_str(), RTLD_NOW);
    auto* const launch = find<void(std::uint32_t)>(cupti, "fake_launch");
    find<int(int, std::uint64_t)>(cupti, "cuptiActivityPushExternalCorrelationId")(5, 1);
    find<int()>(module, "InitializeInjection")();
    auto* const step = find<void(long long)>(module, "fourwalls_collector_step");

    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    const double processorBegin = processorSeconds();
    constexpr std::uint64_t kAtOnce = 60; // 200 us of the default rate
    const auto total = static_cast<std::uint64_t>(rate * seconds);
    const fourwalls::test::LoadPace pace(rate);
    std::uint64_t launched = 0;
    while (launched < total) {
        pace.waitUntilDue(static_cast<std::int64_t>(launched));
        const std::uint64_t now = std::min(kAtOnce, total - launched);
        constexpr std::uint64_t kStepsPerSecond = 100;
        const auto stepOf = [rate](std::uint64_t launches) {
            return static_cast<long long>(static_cast<double>(launches) * kStepsPerSecond / rate);
        };
        if (between && (launched == 0 || stepOf(launched) != stepOf(launched - kAtOnce))) step(stepOf(launched));
        launch(static_cast<std::uint32_t>(now));
        launched += now;
    }
    const double took = std::chrono::duration<double>(Clock::now() - begin).count();
    const std::string path = find<const char*()>(module, "fourwalls_collector_path")();
    find<void()>(module, "fourwalls_collector_stop")();
    const double ended = std::chrono::duration<double>(Clock::now() - begin).count();
    const double processor = processorSeconds() - processorBegin;
    const double peak = peakMegabytes();

    auto reader = SpoolReader::open(path);
    if (!reader.ok()) {
        std::fprintf(stderr, "%s\n", reader.error().message().c_str());
        return 1;
    }
    std::uint64_t kernels = 0;
    std::uint64_t lost = 0;
    OwnCost cost{};
    ThreadCosts threads;
    const auto readBegin = Clock::now();
    for (;;) {
        auto record = reader->next();
        if (!record.ok() || !*record) break;
        kernels += (*record)->kind == RecordKind::Kernel ? 1 : 0;
        if ((*record)->kind == RecordKind::Loss) {
            const auto loss = (*record)->as<Loss>();
            const bool ofBuffers = loss.kind == static_cast<std::uint32_t>(LossKind::BufferRefused);
            lost += ofBuffers ? 0 : loss.count;
        }
        if ((*record)->kind == RecordKind::RecorderCost) threads.add((*record)->as<RecorderCost>());
        if ((*record)->kind == RecordKind::OwnCost) cost = (*record)->as<OwnCost>();
    }
    const double reading = std::chrono::duration<double>(Clock::now() - readBegin).count();
    const auto records = static_cast<double>(reader->state().records);
    std::printf("launches      %10llu  in %.1f s: %.0f/s\n", static_cast<unsigned long long>(launched), took,
                static_cast<double>(launched) / took);
    std::printf("in the spool  %10llu  records lost %llu, detail %s (target: all of 300000/s, none lost)\n",
                static_cast<unsigned long long>(kernels), static_cast<unsigned long long>(lost), detail.c_str());
    std::printf("records       %10.0f  %.1f MB, %.0f MB/s\n", records, static_cast<double>(reader->fileBytes()) / 1e6,
                static_cast<double>(reader->fileBytes()) / 1e6 / took);
    std::printf("writer        %9.1f %%  of one core; %.0f ns a launch\n",
                1e-7 * static_cast<double>(cost.writerCpuNs) / took,
                static_cast<double>(cost.writerCpuNs) / static_cast<double>(std::max<std::uint64_t>(1, launched)));
    std::printf(
        "callbacks     %10llu  %.3f %% of the program's time; all threads, with the stand-in: %.1f %% of one core\n",
        static_cast<unsigned long long>(cost.callbacks), 1e-7 * static_cast<double>(cost.callbackNs) / took,
        100 * processor / took);
    std::printf(
        "threads       %9.3f %%  of the program's time in the collector's functions (%.1f ns a launch, %llu calls); "
        "the collector's own threads %.1f %% of a core\n",
        1e-7 * static_cast<double>(threads.programNs) / took,
        static_cast<double>(threads.programNs) / static_cast<double>(std::max<std::uint64_t>(1, launched)),
        static_cast<unsigned long long>(threads.programCalls), 1e-7 * static_cast<double>(threads.ownNs) / took);
    std::printf("memory        %9.1f MB  of buffers at most (bound: 256), %.1f MB resident at most\n",
                static_cast<double>(cost.queuePeak) / 1e6, peak);
    std::printf("stop          %9.0f ms\n", 1e3 * (ended - took));
    std::printf("reading back  %9.1f M records/s\n", records / 1e6 / reading);
    std::filesystem::remove(path);
    return kernels == (between ? 0 : launched) && lost == 0 ? 0 : 1;
}
