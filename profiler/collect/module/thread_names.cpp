// SPDX-License-Identifier: Apache-2.0
// /proc/self/task holds a folder per thread, with its name in "comm".
#include "profiler/collect/module/thread_names.h"

#include "profiler/collect/module/definitions.h"
#include "profiler/collect/module/system.h"

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace fourwalls::collect::module {

namespace {

constexpr std::size_t kMostKept = 1024;
Mutex g_keptMutex;
std::uint32_t g_kept[kMostKept];
std::size_t g_keptCount = 0;

bool keepsItsName(std::uint32_t thread)
{
    const Locked lock(g_keptMutex);
    for (std::size_t i = 0; i < g_keptCount; ++i) {
        if (g_kept[i] == thread) return true;
    }
    return false;
}

/// The name in `path`, without the line's end. False: the thread is gone.
bool readName(const char* path, char (&name)[16])
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    const ssize_t length = read(file, name, sizeof name);
    close(file);
    if (length <= 0) return false;
    name[length - 1] = '\0'; // the kernel ends it with a line break
    return true;
}

} // namespace

void keepThreadName(std::uint32_t thread)
{
    if (keepsItsName(thread)) return;
    const Locked lock(g_keptMutex);
    if (g_keptCount < kMostKept) g_kept[g_keptCount++] = thread;
}

bool ThreadNames::isNew(std::uint32_t thread, const char* name)
{
    for (std::size_t i = 0; i < m_count; ++i) {
        Seen& seen = m_seen[i];
        if (seen.thread != thread) continue;
        if (std::strcmp(seen.name, name) == 0) return false;
        std::memcpy(seen.name, name, sizeof seen.name);
        return true;
    }
    if (m_count == kMost) return false;
    Seen& seen = m_seen[m_count++];
    seen.thread = thread;
    std::memcpy(seen.name, name, sizeof seen.name);
    return true;
}

void ThreadNames::look()
{
    char own[16] = "";
    if (!readName("/proc/self/comm", own)) return;
    DIR* const folder = opendir("/proc/self/task");
    if (folder == nullptr) return;
    while (const dirent* entry = readdir(folder)) {
        // Not strtoul: since glibc 2.38 its header means a function by another name, and the module loads on older ones.
        std::uint32_t thread = 0;
        std::from_chars(entry->d_name, entry->d_name + std::strlen(entry->d_name), thread);
        if (thread == 0) continue; // "." and ".."
        char path[64];
        std::snprintf(path, sizeof path, "/proc/self/task/%u/comm", thread);
        char name[16] = "";
        // A thread that nobody named has the process's name: that tells nothing.
        if (!readName(path, name) || std::strcmp(name, own) == 0 || std::strncmp(name, "fw_", 3) == 0) continue;
        if (!isNew(thread, name) || keepsItsName(thread)) continue;
        const Thread to{thread, 0};
        const EventText text{name, offsetof(Thread, name)};
        addDefinition(RecordKind::Thread, &to, sizeof to, &text, 1);
    }
    closedir(folder);
}

} // namespace fourwalls::collect::module
