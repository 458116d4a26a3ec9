// SPDX-License-Identifier: Apache-2.0
// What happens to the process: fork, exit, signals. Handlers are only installed where the program has none of its own.
#include "profiler/collect/module/recorder.h"

#include <cstdlib>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

namespace fourwalls::collect::module {

namespace {

constexpr int kEnding[] = {SIGTERM, SIGINT, SIGHUP};
constexpr std::uint32_t kPidsKept = 64;

/// Lives in memory that parent and children share, so that the parent learns of its children.
struct Family {
    std::atomic<std::uint32_t> children;
    std::atomic<std::int32_t> pids[kPidsKept];
};

Family* g_family = nullptr;
std::atomic<bool> g_installed{false};
std::atomic<int> g_endingSignals{0};

void onSignal(int number)
{
    Recorder* const recorder = Recorder::current();
    if (recorder == nullptr) { // a forked child: as if there were no handler
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    if (number != recorder->settings().signal && g_endingSignals.fetch_add(1) > 0) {
        signal(number, SIG_DFL); // the second time is meant
        raise(number);
        return;
    }
    recorder->signalled(number);
}

void onFork()
{
    if (g_family != nullptr && Recorder::current() != nullptr) {
        const std::uint32_t index = g_family->children.fetch_add(1);
        if (index < kPidsKept) g_family->pids[index].store(getpid());
    }
    forgetRecordingInChild();
}

void onExit()
{
    if (Recorder* const recorder = Recorder::current()) recorder->stop(EndReason::Exit, MessageCode::Exited, 0);
}

/// Installs the handler where the signal still has its default meaning. False: it has another.
bool handle(int number)
{
    struct sigaction now {};
    if (sigaction(number, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0) return false;
    if (now.sa_handler == onSignal) return true; // of the recorded process that forked this one
    if (now.sa_handler != SIG_DFL) return false;
    struct sigaction ours {};
    ours.sa_handler = onSignal;
    ours.sa_flags = SA_RESTART;
    sigemptyset(&ours.sa_mask);
    return sigaction(number, &ours, nullptr) == 0;
}

} // namespace

bool installProcessEvents(const Settings& settings)
{
    if (!g_installed.exchange(true)) {
        void* memory = mmap(nullptr, sizeof(Family), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        g_family = memory == MAP_FAILED ? nullptr : static_cast<Family*>(memory);
        pthread_atfork(nullptr, nullptr, onFork);
        std::atexit(onExit);
    } else if (g_family != nullptr) {
        // A recorded child of a recorded process: its own family.
        void* memory = mmap(nullptr, sizeof(Family), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        g_family = memory == MAP_FAILED ? nullptr : static_cast<Family*>(memory);
    }
    g_endingSignals.store(0);
    for (const int number : kEnding) handle(number);
    return settings.signal == 0 || handle(settings.signal);
}

void resendSignal(int number)
{
    signal(number, SIG_DFL);
    kill(getpid(), number);
}

std::uint32_t childrenForked()
{
    return g_family == nullptr ? 0 : g_family->children.load();
}

std::int32_t childPid(std::uint32_t index)
{
    return g_family == nullptr || index >= kPidsKept ? 0 : g_family->pids[index].load();
}

} // namespace fourwalls::collect::module
