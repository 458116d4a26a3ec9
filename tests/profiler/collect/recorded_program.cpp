// SPDX-License-Identifier: Apache-2.0
// A program that is recorded: it loads the stand-in for CUPTI as a CUDA program would have it, then the module as the
// CUDA driver, NVTX or NCCL would, and does what its first argument says. The tests of the module run it (module_test.h).
// Where it stands still, its pace is the input: the module records windows of wall time and looks at rates of launches.
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "tests/profiler/collect/recorded_nccl.h"
#include "tests/profiler/collect/recorded_ranges.h"

#include <nvtx3/nvToolsExt.h>
#include <poll.h>

namespace {

bool g_diskIsFull = false;
void* g_cupti = nullptr;
void* g_module = nullptr;

template <class Function>
Function* find(void* library, const char* name)
{
    auto* function = library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
    if (function == nullptr) {
        std::fprintf(stderr, "no %s\n", name);
        _exit(9);
    }
    return function;
}

/// Loads the libraries of a list, "A:B". The first one, nullptr: there is none.
void* loadAll(const char* variable)
{
    const char* list = std::getenv(variable);
    void* first = nullptr;
    for (std::string rest = list != nullptr ? list : ""; !rest.empty();) {
        const std::size_t end = rest.find(':');
        void* const library = dlopen(rest.substr(0, end).c_str(), RTLD_NOW);
        if (library == nullptr) std::fprintf(stderr, "%s\n", dlerror());
        if (first == nullptr) first = library;
        rest = end == std::string::npos ? "" : rest.substr(end + 1);
    }
    return first;
}

void loadModule()
{
    g_module = dlopen(std::getenv("COLLECTOR"), RTLD_NOW | RTLD_LOCAL);
    if (g_module == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        _exit(9);
    }
}

void initialiseCuda()
{
    find<int()>(g_module, "InitializeInjection")();
}
void launch(std::uint32_t count)
{
    find<void(std::uint32_t)>(g_cupti, "fake_launch")(count);
}
void step(long long n)
{
    find<void(long long)>(g_module, "fourwalls_collector_step")(n);
}

/// NCCL's entry points without a communicator: it refuses, but says so in an NVTX range first.
void realNccl()
{
    void* library = dlopen(std::getenv("NCCL"), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        _exit(77);
    }
    using AllReduce = int(const void*, void*, std::size_t, int type, int op, void* communicator, void* stream);
    find<AllReduce>(library, "ncclAllReduce")(nullptr, nullptr, 1000, 7, 0, nullptr, nullptr); // 7: float
}

/// One thread begins the recording and is held at the file's name, which is taken by a pipe; then CUDA comes in on
/// another, and only when that one waits, too, the first goes on.
void together()
{
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    const std::string pipe =
        std::string(std::getenv("FOURWALLS_SPOOL_DIR")) + "/" + host + "-" + std::to_string(getpid()) + ".fwspool";
    if (mkfifo(pipe.c_str(), 0600) != 0) _exit(9);
    std::thread first([] {
        const auto* plugin = static_cast<const nccl::PluginV5*>(dlsym(g_module, "ncclProfiler_v5"));
        void* communicator = nullptr;
        int activation = 0;
        plugin->init(&communicator, 0xabcdef, &activation, "dp", 2, 16, 3, nullptr);
    });
    int held = -1;
    while ((held = open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0) std::this_thread::yield();
    std::atomic<int> waiting{0};
    std::thread second([&waiting] {
        auto* const initialise = find<int()>(g_module, "InitializeInjection");
        waiting.store(gettid());
        initialise();
        launch(10);
    });
    const auto sleeps = [](int thread) { // "TID (name) S ..."
        std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        const std::size_t name = text.rfind(") ");
        return name != std::string::npos && text[name + 2] == 'S';
    };
    while (waiting.load() == 0 || !sleeps(waiting.load())) std::this_thread::yield();
    unlink(pipe.c_str());
    close(held);
    first.join();
    second.join();
}

/// The most memory that this process has had [bytes].
long peakBytes()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss * 1024;
}

/// The recording's writer stands still while the program launches and marks far more than the queue holds. Says by how
/// much the process grew meanwhile.
void stalled()
{
    launch(100);
    auto* const hold = find<void(int)>(g_cupti, "fake_hold");
    hold(1);
    const long before = peakBytes();
    launch(500'000); // 128 MB of records
    nvtxEventAttributes_t attributes = noAttributes();
    for (int i = 0; i < 200'000; ++i) nvtxMarkEx(&attributes); // 20 MB of events
    std::printf("grown %ld\n", peakBytes() - before);
    hold(0);
}

bool isEnabled(int kind)
{
    return find<int(int)>(g_cupti, "fake_enabled")(kind) != 0;
}

/// Launches in `rounds` of `each`, 20 ms apart, and says at the end which kinds CUPTI records: of kernels and of calls.
void paced(int rounds, std::uint32_t each)
{
    for (int i = 0; i < rounds; ++i) {
        launch(each);
        usleep(20'000);
    }
    std::printf("kernels %d calls %d waits %d events %d\n", isEnabled(10), isEnabled(5), isEnabled(38), isEnabled(36));
}

/// Says after each of several windows' beginnings whether CUPTI records calls of cudaLaunchKernel and cudaGetDevice.
void callsOfWindows()
{
    auto* const enabled = find<int(int, std::uint32_t)>(g_cupti, "fake_call_enabled");
    constexpr std::uint32_t kLaunchKernel = 211, kGetDevice = 17; // CUPTI's numbers of functions of the runtime
    for (int n = 0; n < 8; ++n) {
        const int before = enabled(1, kLaunchKernel);
        step(n);
        std::printf("%d%d ", enabled(1, kLaunchKernel), enabled(1, kGetDevice));
        // A window begins or ends with every step, a little after it.
        for (int i = 0; i < 100 && enabled(1, kLaunchKernel) == before; ++i) usleep(10'000);
    }
}

/// Launches and ends without any exit handler, or is ended, when the test has seen what CUPTI gives of itself; unfinished:
/// with work under way all the time.
void endsAbruptly(std::uint32_t launches, bool unfinished)
{
    find<void(int)>(g_cupti, "fake_unfinished")(unfinished ? 1 : 0);
    auto* const flushes = find<std::uint32_t()>(g_cupti, "fake_flushes");
    const std::uint32_t before = flushes();
    launch(launches);
    while (flushes() == before) usleep(10'000);
    std::puts("ready");
    std::fflush(stdout);
    std::fgetc(stdin);
    _exit(0);
}

/// Another profiler takes CUPTI's buffers and ends, while the program goes on until its launches are recorded again.
/// keeps: CUPTI holds a buffer of the recording meanwhile. each: launches at a time.
void takenOver(bool keeps, std::uint32_t each)
{
    find<void(int)>(g_cupti, "fake_keep_buffers")(keeps ? 1 : 0);
    launch(10);
    find<void()>(g_cupti, "fake_take_over")();
    for (int i = 0; i < 2000 && !isEnabled(10); ++i) {
        launch(each);
        usleep(10'000);
    }
    find<void(int)>(g_cupti, "fake_keep_buffers")(0);
    launch(20);
    // The recording sees them come between two times that it asks for records.
    auto* const flushes = find<std::uint32_t()>(g_cupti, "fake_flushes");
    const std::uint32_t before = flushes();
    for (int i = 0; i < 500 && flushes() < before + 2; ++i) usleep(10'000);
}

/// Steps of 10 launches and 60 ms; says of each whether CUPTI records kernels in it, at its end.
void pacedSteps(int count)
{
    std::string enabled;
    for (int n = 0; n < count; ++n) {
        step(n);
        launch(10);
        usleep(60'000);
        enabled += isEnabled(10) ? '1' : '0';
    }
    std::printf("enabled %s\n", enabled.c_str());
}

} // namespace

/// The recording's question goes here, as this program comes first in the search for symbols.
extern "C" __attribute__((visibility("default"))) int statvfs(const char*, struct statvfs* disk) noexcept
{
    *disk = {};
    disk->f_frsize = 4096;
    disk->f_blocks = 1 << 20;
    disk->f_bavail = g_diskIsFull ? 1 : 1 << 19;
    return 0;
}

int main(int argc, char** argv)
{
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "real-nccl") { // NVTX loads the module itself
        realNccl();
        return 0;
    }
    if (what == "nvtx") return nvtx(), 0;
    if (what == "nvtx-levels") return nvtxLevels(), 0;
    if (what == "nvtx-threads") return nvtxThreads(), 0;
    g_cupti = loadAll("FAKE_CUPTI");
    loadAll("FAKE_NVML"); // before the driver, with which the module looks for it once
    loadAll("FAKE_DRIVER");
    loadModule();
    if (what == "nccl") return nccl5(g_module, [] {}), 0;
    if (what == "nccl4") return nccl4(g_module), 0;
    if (what == "idle") return 0; // loaded, and nothing that starts a recording
    if (what == "together") return together(), 0;
    if (what == "own-signal") signal(SIGUSR2, [](int) {});
    if (what == "no-descriptors") {
        const rlimit none{3, 3}; // standard input, output and error are open already
        setrlimit(RLIMIT_NOFILE, &none);
    }
    initialiseCuda();
    if (g_cupti == nullptr) g_cupti = loadAll("FAKE_CUPTI_LATE"); // the copy that the recording has found and loaded
    if (what == "launch") {
        launch(argc > 2 ? static_cast<std::uint32_t>(std::atoi(argv[2])) : 1000);
    } else if (what == "kinds") {
        find<void()>(g_cupti, "fake_every_kind")();
        find<void(std::uint64_t)>(g_cupti, "fake_mem_create")(2 << 20);
    } else if (what == "edge") {
        find<void()>(g_cupti, "fake_event_edge")();
    } else if (what == "paced") {
        paced(std::atoi(argv[2]), static_cast<std::uint32_t>(std::atoi(argv[3])));
    } else if (what == "limits") {
        const std::uint32_t buffers = find<std::uint32_t(std::uint32_t)>(g_cupti, "fake_threads")(200);
        std::printf("pool limit %zu, buffers %u\n", find<std::size_t()>(g_cupti, "fake_pool_limit")(), buffers);
    } else if (what == "ends-abruptly") {
        endsAbruptly(static_cast<std::uint32_t>(std::atoi(argv[2])), std::strcmp(argv[3], "unfinished") == 0);
    } else if (what == "calls") {
        callsOfWindows();
    } else if (what == "taken-over") {
        takenOver(false, 1);
    } else if (what == "taken-over-held") {
        takenOver(true, 200);
    } else if (what == "graph") {
        find<void(std::uint32_t)>(g_cupti, "fake_graph")(static_cast<std::uint32_t>(std::atoi(argv[2])));
    } else if (what == "graphs") {
        auto* const replay = find<void(std::uint32_t)>(g_cupti, "fake_graph");
        for (replay(2000); !isEnabled(51);) usleep(10'000);
        replay(7);
    } else if (what == "full-disk") {
        launch(10);
        g_diskIsFull = true;
        paced(150, 10);
    } else if (what == "small-files") {
        const rlimit most{1 << 20, 1 << 20};
        setrlimit(RLIMIT_FSIZE, &most);
        paced(40, 1000);
    } else if (what == "no-folder") {
        launch(10);
        const std::string folder = std::getenv("FOURWALLS_SPOOL_DIR");
        rename(folder.c_str(), (folder + "-gone").c_str());
        paced(150, 10);
        rename((folder + "-gone").c_str(), folder.c_str());
    } else if (what == "paced-steps") {
        pacedSteps(std::atoi(argv[2]));
    } else if (what == "cuda-nccl") {
        nccl5(g_module, [] { launch(1); });
    } else if (what == "cuda-nccl6") {
        nccl6(g_module, [](std::uint64_t bytes) { find<void(std::uint64_t)>(g_cupti, "fake_copy")(bytes); });
    } else if (what == "keep") {
        find<void(int)>(g_cupti, "fake_keep_buffers")(1);
        launch(static_cast<std::uint32_t>(std::atoi(argv[2])));
    } else if (what == "stalled") {
        stalled();
    } else if (what == "steps") {
        for (int n = 0; n < 20; ++n) {
            step(n);
            launch(10);
        }
    } else if (what == "optimizers" || what == "optimizers-in-steps") {
        optimizerSteps(8, [&what](int n) {
            if (what == "optimizers-in-steps") step(n + 100);
            launch(10);
        });
    } else if (what == "profiler-api") {
        auto* const api = find<void(int)>(g_cupti, "fake_profiler_api");
        launch(10);
        api(1);
        launch(20);
        api(0);
    } else if (what == "wait") {
        launch(500);
        std::puts("ready");
        std::fflush(stdout);
        for (;;) pause();
    } else if (what == "signal") {
        launch(10);
        for (const char* word : {"off", "on"}) { // what FOURWALLS_SIGNAL has switched when the next line is read
            std::puts(word);
            std::fflush(stdout);
            if (std::fgetc(stdin) == EOF) break;
            launch(word[1] == 'f' ? 20 : 40);
        }
    } else if (what == "sampled") {
        for (const char* path : {"FAKE_CUDA", "FAKE_NVML"}) dlopen(std::getenv(path), RTLD_NOW | RTLD_GLOBAL);
        launch(10);
        std::puts("ready");
        std::fflush(stdout);
        std::fgetc(stdin);
    } else if (what == "fork") {
        launch(10);
        const pid_t child = fork();
        if (child == 0) {
            launch(1000); // nothing of a child is recorded
            std::exit(0); // with exit handlers
        }
        waitpid(child, nullptr, 0);
        launch(10);
    } else if (what == "exec") {
        launch(10);
        execl(argv[0], argv[0], "launch", "30", nullptr);
    } else if (what == "abort") {
        launch(10);
        std::puts("ready");
        std::fflush(stdout);
        std::fgetc(stdin); // until the file has them
        std::abort();
    } else if (what == "state-errors") {
        find<void(int)>(g_cupti, "fake_state_errors")(1000);
    } else if (what == "gone") {
        launch(10);
        nvtxMarkA("the last that is seen");
        find<void()>(g_cupti, "fake_gone")();
    } else if (what == "gone-at-end" || what == "gone-at-a-signal") {
        launch(10);
        nvtxMarkA("the last that is seen");
        find<void()>(g_cupti, "fake_gone_at_end")();
        if (what == "gone-at-a-signal") {
            kill(getpid(), SIGTERM);
            for (;;) pause();
        }
    } else if (what == "quiet") { // CUDA is there, and for several rounds of the sampler nothing is launched
        poll(nullptr, 0, 700);
        std::printf("flushes %u\n", find<std::uint32_t()>(g_cupti, "fake_flushes")());
    } else if (what == "named" || what == "named-twice") {
        std::thread autograd([&what] {
            prctl(PR_SET_NAME, "pt_autograd_0"); // as PyTorch names its threads
            if (what == "named-twice") nvtxNameOsThreadA(static_cast<std::uint32_t>(gettid()), "backward");
            launch(10);
            find<void()>(g_module, "fourwalls_collector_stop")(); // while the thread is there to be looked at
        });
        autograd.join();
    } else if (what == "stop") {
        launch(10);
        find<void()>(g_module, "fourwalls_collector_stop")();
        launch(1000);
    }
    return 0;
}
