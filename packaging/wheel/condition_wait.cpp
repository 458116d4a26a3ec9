// SPDX-License-Identifier: Apache-2.0
// std::condition_variable::wait for the wheel. libstdc++ 12 changed its declaration (not noexcept any more, so that a
// cancelled thread may unwind) and gave it a new version, GLIBCXX_3.4.30, which systems with C library 2.34 lack. It is
// the only such function that fourwalls-cli calls; auditwheel refuses the wheel if another one comes.
#include <condition_variable>
#include <exception>
#include <mutex>
#include <pthread.h>

void std::condition_variable::wait(std::unique_lock<std::mutex>& lock)
{
    if (pthread_cond_wait(native_handle(), lock.mutex()->native_handle()) != 0) std::terminate();
}
