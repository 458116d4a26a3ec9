// SPDX-License-Identifier: Apache-2.0
// Threads, waiting, and libraries at run time. The functions that glibc 2.34 moved into libc are asked for by the
// version that older systems have; the module names libdl and libpthread, which hold them there.
#include "profiler/collect/module/system.h"

#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define FOURWALLS_OLD_SYMBOL(name) __asm__(".symver " #name "," #name "@GLIBC_2.2.5")
#elif defined(__aarch64__)
#define FOURWALLS_OLD_SYMBOL(name) __asm__(".symver " #name "," #name "@GLIBC_2.17")
#else
#define FOURWALLS_OLD_SYMBOL(name) static_assert(true)
#endif
FOURWALLS_OLD_SYMBOL(dlopen);
FOURWALLS_OLD_SYMBOL(dlsym);
FOURWALLS_OLD_SYMBOL(dladdr);
FOURWALLS_OLD_SYMBOL(pthread_create);
FOURWALLS_OLD_SYMBOL(pthread_join);

namespace fourwalls::collect::module {

namespace {

thread_local std::uint32_t t_threadId = 0;

struct ThreadStart {
    void* (*body)(void*);
    void* argument;
    const char* name;
    std::atomic<bool> taken{false};
};

void* runThread(void* start)
{
    auto* from = static_cast<ThreadStart*>(start);
    prctl(PR_SET_NAME, from->name, 0, 0, 0);
    auto* const body = from->body;
    void* const argument = from->argument;
    from->taken.store(true, std::memory_order_release); // the starter's stack is its own again
    return body(argument);
}

} // namespace

std::uint32_t threadId()
{
    if (t_threadId == 0) t_threadId = static_cast<std::uint32_t>(syscall(SYS_gettid));
    return t_threadId;
}

void forgetThreadId()
{
    t_threadId = 0;
}

bool Alarm::open()
{
    m_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return m_event >= 0;
}

void Alarm::wake() const
{
    const std::uint64_t one = 1;
    if (write(m_event, &one, sizeof one) < 0) return; // it is full: the sleeper has reason enough to wake
}

void Alarm::wait(int ms) const
{
    pollfd event{m_event, POLLIN, 0};
    std::uint64_t count = 0;
    if (poll(&event, 1, ms) > 0 && read(m_event, &count, sizeof count) < 0) return; // somebody else emptied it
}

bool startThread(pthread_t* thread, void* (*body)(void*), void* argument, const char* name)
{
    ThreadStart start{body, argument, name};
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before); // on Linux of the calling thread alone, inherited by the one it starts
    const bool started = pthread_create(thread, nullptr, runThread, &start) == 0;
    sigprocmask(SIG_SETMASK, &before, nullptr);
    while (started && !start.taken.load(std::memory_order_acquire)) poll(nullptr, 0, 0);
    return started;
}

void joinThread(pthread_t thread)
{
    pthread_join(thread, nullptr);
}

void* openLibrary(const char* name, bool load)
{
    void* library = dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    return library != nullptr || !load ? library : dlopen(name, RTLD_LAZY | RTLD_LOCAL);
}

void* symbolOf(void* library, const char* name)
{
    return library == nullptr ? nullptr : dlsym(library, name);
}

void* programSymbol(const char* name)
{
    return dlsym(RTLD_DEFAULT, name);
}

void pinModule()
{
    Dl_info self{};
    if (dladdr(reinterpret_cast<const void*>(&pinModule), &self) != 0 && self.dli_fname != nullptr) {
        dlopen(self.dli_fname, RTLD_LAZY | RTLD_NODELETE | RTLD_NOLOAD);
    }
}

} // namespace fourwalls::collect::module
