// SPDX-License-Identifier: Apache-2.0
// A thread that waits for the signals: nothing happens inside a signal handler.
#include "app/cli/stop_signals.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

namespace fourwalls::cli {

namespace {

sigset_t stopSignals()
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    return set;
}

constexpr int kExitInterrupted = 130;

} // namespace

StopSignals::StopSignals()
{
    const sigset_t set = stopSignals();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    m_waiter = std::jthread([this, set](std::stop_token over) {
        while (true) {
            int signal = 0;
            if (sigwait(&set, &signal) != 0 || over.stop_requested()) return;
            if (m_stop.stop_requested()) _exit(kExitInterrupted);
            m_stop.request_stop();
        }
    });
}

StopSignals::~StopSignals()
{
    m_waiter.request_stop();
    pthread_kill(m_waiter.native_handle(), SIGTERM); // wakes the wait; the signal is blocked everywhere
    m_waiter.join();
    const sigset_t set = stopSignals();
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

} // namespace fourwalls::cli
