// SPDX-License-Identifier: GPL-3.0-or-later
// What this process has used, from the kernel's own accounts.
#include "app/gui/process_figures.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace fourwalls::gui {

namespace {

double milliseconds(clockid_t clock)
{
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

} // namespace

double millisecondsSinceProcessStart()
{
    // Field 22 of /proc/self/stat, clock ticks since boot; the name in field 2 may hold spaces, so count from its end.
    char text[1024] = {};
    std::FILE* file = std::fopen("/proc/self/stat", "r");
    if (!file) return 0;
    const std::size_t length = std::fread(text, 1, sizeof text - 1, file);
    std::fclose(file);
    text[length] = 0;
    const char* at = std::strrchr(text, ')');
    for (int field = 2; at && field < 22; ++field) at = std::strchr(at + 1, ' ');
    unsigned long long ticks = 0;
    if (!at || std::sscanf(at, "%llu", &ticks) != 1) return 0;
    const double started = static_cast<double>(ticks) * 1e3 / static_cast<double>(sysconf(_SC_CLK_TCK));
    return milliseconds(CLOCK_BOOTTIME) - started;
}

double processorMilliseconds()
{
    return milliseconds(CLOCK_PROCESS_CPUTIME_ID);
}

double residentMegabytes()
{
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    if (!file) return 0;
    unsigned long long total = 0, resident = 0;
    const bool read = std::fscanf(file, "%llu %llu", &total, &resident) == 2;
    std::fclose(file);
    return read ? static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) * 1e-6 : 0;
}

double peakResidentMegabytes()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) * 1024.0 * 1e-6; // ru_maxrss is in KiB on Linux
}

} // namespace fourwalls::gui
