// SPDX-License-Identifier: Apache-2.0
// A module for LD_PRELOAD that lets allocations fail, to try a program where memory runs out. What libraries allocate before
// main is not counted. FAIL_FROM: the first one that fails, counted from 1; FAIL_FOR: how many do, without it all from there; FAIL_LEAST: smaller ones than this [bytes] are
// not counted and do not fail.
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

#include <dlfcn.h>

extern "C" {
void* __libc_malloc(std::size_t);              // NOLINT: names of the C library
void* __libc_calloc(std::size_t, std::size_t); // NOLINT
void* __libc_realloc(void*, std::size_t);      // NOLINT
}

namespace {

struct FailurePlan {
    long from = 0, count = 0, least = 0;
};

long numberOf(const char* variable, long otherwise)
{
    const char* text = std::getenv(variable);
    return text ? std::atol(text) : otherwise;
}

using Main = int (*)(int, char**, char**);
Main ownMain = nullptr;
std::atomic<bool> started{false};

int startedMain(int argc, char** argv, char** environment)
{
    started = true;
    return ownMain(argc, argv, environment);
}

bool failsNow(std::size_t bytes)
{
    if (!started.load(std::memory_order_relaxed)) return false;
    static const FailurePlan plan{numberOf("FAIL_FROM", 0), numberOf("FAIL_FOR", 1L << 40), numberOf("FAIL_LEAST", 0)};
    static std::atomic<long> allocations{0};
    if (plan.from == 0 || static_cast<long>(bytes) < plan.least) return false;
    const long number = ++allocations;
    if (number < plan.from || number - plan.from >= plan.count) return false;
    errno = ENOMEM;
    return true;
}

} // namespace

extern "C" {

/// The C library's, which calls main.
int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(), void (*loaderFini)(),
                      void* stackEnd) // NOLINT
{
    using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
    ownMain = main;
    const auto next = reinterpret_cast<Start>(::dlsym(RTLD_NEXT, "__libc_start_main"));
    return next(startedMain, argc, argv, init, fini, loaderFini, stackEnd);
}

void* malloc(std::size_t bytes) noexcept
{
    return failsNow(bytes) ? nullptr : __libc_malloc(bytes);
}

void* calloc(std::size_t count, std::size_t bytes) noexcept
{
    return failsNow(count * bytes) ? nullptr : __libc_calloc(count, bytes);
}

void* realloc(void* memory, std::size_t bytes) noexcept
{
    return failsNow(bytes) ? nullptr : __libc_realloc(memory, bytes);
}
}
