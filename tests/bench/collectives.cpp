// SPDX-License-Identifier: Apache-2.0
// All-reduce between rank threads: time per call, by size, ranks and algorithm, beside Gloo's own (threads of this process
// over TCP) where it is installed; between processes, our algorithms over Gloo's messages beside Gloo's own all-reduce;
// what overlap leaves exposed; and, on the device clock, how well a ring uses its links against its length and the message
// size. MPI is measured by collectives_mpi.c beside this file; compare_collectives.py runs both in turns.
//   bench_collectives [most_megabytes=64] [threads]     threads: the first table only
#include "profiler/engine/train/rank_world.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#if __has_include(<gloo/allreduce.h>) && defined(FOURWALLS_HAVE_GLOO)
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/hash_store.h>
#include <gloo/transport/tcp/device.h>
#define BENCH_GLOO 1
#else
#define BENCH_GLOO 0
#endif

using namespace fourwalls;
using namespace fourwalls::engine;

namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::time_point from)
{
    return std::chrono::duration<double, std::micro>(Clock::now() - from).count();
}

double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values.empty() ? 0 : values[values.size() / 2];
}

int repeats(std::int64_t bytes)
{
    return static_cast<int>(std::clamp<std::int64_t>((std::int64_t{256} << 20) / (bytes + 1), 7, 300));
}

/// Median time of an all-reduce on rank 0 [us].
double local(int ranks, std::int64_t bytes, CollectiveAlgorithm algorithm)
{
    ParallelPlan plan;
    plan.dp = ranks;
    plan.collective = algorithm;
    double result = 0;
    const Status status = runRanks(plan, {DType::F32, DType::F32}, [&](RankContext& rank) {
        Communicator& group = *rank.groups->data;
        const Tensor t = Tensor::make(rank.allocator, {bytes / 4}, DType::F32, MemoryCategory::Other);
        std::fill_n(t.as<float>(), bytes / 4, 0.0f);
        std::vector<double> times;
        for (int i = 0; i < repeats(bytes) + 2; ++i) {
            const auto begin = Clock::now();
            group.allReduce(t);
            if (i >= 2) times.push_back(microseconds(begin));
        }
        if (group.index() == 0) result = median(std::move(times));
    });
    if (!status.ok()) {
        std::fprintf(stderr, "%s\n", status.error().message().c_str());
        std::exit(1); // no time is better than 0
    }
    return result;
}

#if BENCH_GLOO
/// Gloo's own all-reduce as one member calls it, median [us].
double glooMember(const std::shared_ptr<::gloo::rendezvous::Context>& context, std::int64_t bytes)
{
    std::vector<float> data(static_cast<std::size_t>(bytes / 4), 0.0f);
    std::vector<double> times;
    for (int i = 0; i < repeats(bytes) + 2; ++i) {
        const auto begin = Clock::now();
        ::gloo::AllreduceOptions options(context);
        options.setOutput(data.data(), data.size());
        options.setReduceFunction(
            [](void* c, const void* a, const void* b, std::size_t n) { ::gloo::sum<float>(c, a, b, n); });
        ::gloo::allreduce(options);
        if (i >= 2) times.push_back(microseconds(begin));
    }
    return median(std::move(times));
}

double glooAllReduce(int ranks, std::int64_t bytes)
{
    auto store = std::make_shared<::gloo::rendezvous::HashStore>();
    auto device = ::gloo::transport::tcp::CreateDevice("localhost");
    double result = 0;
    std::vector<std::thread> threads;
    for (int r = 0; r < ranks; ++r)
        threads.emplace_back([&, r] {
            auto context = std::make_shared<::gloo::rendezvous::Context>(r, ranks);
            context->connectFullMesh(*store, device);
            const double time = glooMember(context, bytes);
            if (r == 0) result = time;
        });
    for (std::thread& thread : threads) thread.join();
    return result;
}

/// One process of a run: measures both and, on rank 0, prints a line per size. folder: for Gloo's own meeting.
int rankProcess(std::int64_t most, const char* folder)
{
    const auto self = launchedRank([](const char* name) { return std::getenv(name); });
    if (!self || !*self) return 1;
    auto world = joinGlooWorld(**self, std::chrono::seconds(30));
    if (!world) {
        std::fprintf(stderr, "%s\n", world.error().message().c_str());
        return 1;
    }
    ::gloo::rendezvous::FileStore store(folder);
    auto device = ::gloo::transport::tcp::CreateDevice("localhost");
    auto context = std::make_shared<::gloo::rendezvous::Context>((*self)->rank, (*self)->world);
    context->connectFullMesh(store, device);
    WorldOptions options;
    options.plan.dp = (*self)->world;
    options.format = {DType::F32, DType::F32};
    options.processes = world->get();
    const Status status = runRanks(options, [&](RankSlot& slot) -> Status {
        Communicator& group = *slot.context->groups->data;
        for (std::int64_t bytes = 1024; bytes <= most; bytes *= 16) {
            const Tensor t = Tensor::make(*slot.allocator, {bytes / 4}, DType::F32, MemoryCategory::Other);
            std::fill_n(t.as<float>(), bytes / 4, 0.0f);
            std::vector<double> times;
            for (int i = 0; i < repeats(bytes) + 2; ++i) {
                const auto begin = Clock::now();
                group.allReduce(t);
                if (i >= 2) times.push_back(microseconds(begin));
            }
            const double own = median(std::move(times)), gloo = glooMember(context, bytes);
            if (group.index() == 0)
                std::printf("%10lld %5d  %9.1f %9.1f %8.2fx\n", static_cast<long long>(bytes), group.size(), own, gloo,
                            gloo / own);
        }
        return {};
    });
    if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().message().c_str());
    return status.ok() ? 0 : 1;
}

/// Starts the ranks as processes of this program and waits for them.
void processes(int ranks, std::int64_t most)
{
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("bench_collectives." + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
    const std::string megabytes = std::to_string(most >> 20), place = folder.string();
    setenv("WORLD_SIZE", std::to_string(ranks).c_str(), 1);
    setenv("MASTER_PORT", std::to_string(20000 + getpid() % 20000).c_str(), 1);
    std::fflush(stdout);
    std::vector<pid_t> children;
    for (int r = 0; r < ranks; ++r) {
        setenv("RANK", std::to_string(r).c_str(), 1);
        std::string words[] = {"bench_collectives", megabytes, place};
        char* const arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
        pid_t child = 0;
        if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, environ) == 0) children.push_back(child);
    }
    for (const pid_t child : children) waitpid(child, nullptr, 0);
    std::filesystem::remove_all(folder);
}
#endif

/// Work that takes about as long as the all-reduce, with and beside it: what of the all-reduce stays visible.
void overlap()
{
    constexpr std::int64_t kElements = 4 << 20;
    ParallelPlan plan;
    plan.dp = 2;
    plan.collective = CollectiveAlgorithm::Ring;
    const Status status = runRanks(plan, {DType::F32, DType::F32}, [](RankContext& rank) {
        Communicator& group = *rank.groups->data;
        const auto make = [&rank](std::int64_t n) {
            const Tensor t = Tensor::make(rank.allocator, {n}, DType::F32, MemoryCategory::Other);
            std::fill_n(t.as<float>(), n, 1.0f);
            return t;
        };
        const Tensor t = make(kElements);
        const Tensor a = make(512 * 512).reshaped({512, 512}), c = make(512 * 512).reshaped({512, 512});
        const auto compute = [&] {
            for (int i = 0; i < 6; ++i) rank.device.matmul(matrix(a), matrix(a), matrix(c));
        };
        std::vector<double> alone, communication, beside, waited;
        for (int i = 0; i < 12; ++i) {
            group.barrier();
            auto begin = Clock::now();
            compute();
            alone.push_back(microseconds(begin));
            group.barrier();
            begin = Clock::now();
            group.allReduce(t);
            communication.push_back(microseconds(begin));
            group.barrier();
            begin = Clock::now();
            CommRequest request = group.startAllReduce(t);
            compute();
            const auto computed = Clock::now();
            request.wait();
            waited.push_back(microseconds(computed));
            beside.push_back(microseconds(begin));
        }
        if (group.index() == 0)
            std::printf(
                "\noverlap, 16 MB, 2 ranks: compute %.0f us, all-reduce %.0f us, together %.0f us, left to wait "
                "for after the computation %.0f us (2 ranks and 2 communication threads on %u cores)\n",
                median(alone), median(communication), median(beside), median(waited),
                std::thread::hardware_concurrency());
    });
    if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().message().c_str());
}

/// The device clock's time of a ring all-reduce on a link of 25 GB/s and 5 us: share of the link's rate that is used.
void ringLength()
{
    const LinkTimes link{5e-6, 25e9, 0};
    std::printf("\nring all-reduce on links of 25 GB/s and 5 us (device clock): used share of the link, time\n%10s",
                "bytes");
    const int lengths[] = {2, 4, 8, 16};
    for (const int ranks : lengths) std::printf("  %14d", ranks);
    std::printf("\n");
    for (std::int64_t bytes = 4096; bytes <= (std::int64_t{16} << 20); bytes *= 8) {
        std::printf("%10lld", static_cast<long long>(bytes));
        for (const int ranks : lengths) {
            WorldOptions options;
            options.plan.dp = ranks;
            options.plan.collective = CollectiveAlgorithm::Ring;
            options.format = {DType::F32, DType::F32};
            options.deviceClock = true;
            options.links = [link](RankId, RankId) { return link; };
            double seconds = 0;
            const Status status = runRanks(options, [&](RankSlot& slot) -> Status {
                RankContext& rank = *slot.context;
                const Tensor t = Tensor::make(rank.allocator, {bytes / 4}, DType::F32, MemoryCategory::Other);
                std::fill_n(t.as<float>(), bytes / 4, 0.0f);
                rank.groups->data->allReduce(t);
                if (rank.recorder.rank().value == 0) seconds = static_cast<double>(rank.recorder.now().ns) * 1e-9;
                return {};
            });
            if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().message().c_str());
            const double wire = 2.0 * (ranks - 1) / ranks * static_cast<double>(bytes);
            std::printf("  %3.0f %% %7.0f us", 100 * wire / seconds / link.bytesPerSecond, seconds * 1e6);
        }
        std::printf("\n");
    }
}

} // namespace

int main(int argc, char** argv)
{
    const std::int64_t most = (argc > 1 ? std::atoll(argv[1]) : 64) << 20;
    const bool threadsOnly = argc > 2 && std::string(argv[2]) == "threads";
#if BENCH_GLOO
    if (argc > 2 && !threadsOnly) return rankProcess(most, argv[2]);
#endif
    std::printf("all-reduce, median [us]%s\n", BENCH_GLOO ? "" : " (built without Gloo)");
    std::printf("%10s %5s  %9s %9s %9s %9s %9s\n", "bytes", "ranks", "direct", "ring", "tree", "gloo", "ratio");
    for (const int ranks : {2, 4})
        for (std::int64_t bytes = 1024; bytes <= most; bytes *= 16) {
            const double direct = local(ranks, bytes, CollectiveAlgorithm::Direct);
            const double ring = local(ranks, bytes, CollectiveAlgorithm::Ring);
            const double tree = local(ranks, bytes, CollectiveAlgorithm::Tree);
#if BENCH_GLOO
            const double other = glooAllReduce(ranks, bytes);
            std::printf("%10lld %5d  %9.1f %9.1f %9.1f %9.1f %8.1fx\n", static_cast<long long>(bytes), ranks, direct,
                        ring, tree, other, direct > 0 ? other / direct : 0);
#else
            std::printf("%10lld %5d  %9.1f %9.1f %9.1f %9s %9s\n", static_cast<long long>(bytes), ranks, direct, ring,
                        tree, "-", "-");
#endif
        }
    if (threadsOnly) return 0;
#if BENCH_GLOO
    std::printf("\nbetween processes, median [us]\n%10s %5s  %9s %9s %9s\n", "bytes", "ranks", "direct", "gloo",
                "ratio");
    for (const int ranks : {2, 4}) processes(ranks, most);
#endif
    overlap();
    ringLength();
    return 0;
}
