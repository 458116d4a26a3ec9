// SPDX-License-Identifier: Apache-2.0
// The list of candidates, by a walk over what the process has loaded and by the places where CUPTI is installed.
#include "profiler/collect/module/cupti_search.h"

#include "profiler/collect/collector_environment.h"
#include "profiler/collect/module/system.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <link.h>
#include <unistd.h>
#include <utility>

namespace fourwalls::collect::module {

namespace {

// Ranks of candidates; kNewer is added to those of a CUDA that the driver is too old for.
enum { kNamed = 0, kLoaded = 1, kOfEnvironment = 2, kOfSystem = 3, kOfToolkit = 4, kNewer = 8 };

/// The main number in "libcupti.so.13", "libcupti-1a2b3c.so.12.4"; 0: there is none.
int majorOf(const char* path)
{
    const char* at = std::strstr(path, ".so.");
    int major = 0;
    for (at = at == nullptr ? "" : at + 4; *at >= '0' && *at <= '9' && major < 1000; ++at) {
        major = major * 10 + (*at - '0');
    }
    return major;
}

const char* fileName(const char* path)
{
    const char* const slash = std::strrchr(path, '/');
    return slash == nullptr ? path : slash + 1;
}

} // namespace

void CuptiSearch::add(const char* folder, const char* name, int rank, bool mustExist)
{
    if (m_count == kMost) return;
    Found& to = m_found[m_count];
    std::snprintf(to.path, sizeof to.path, "%s%s%s", folder, *folder != '\0' ? "/" : "", name);
    const auto isThis = [&to](const Found& each) { return std::strcmp(each.path, to.path) == 0; };
    if (std::any_of(m_found, m_found + m_count, isThis) || (mustExist && access(to.path, R_OK) != 0)) return;
    to.rank = rank + (m_driverMajor != 0 && majorOf(to.path) > m_driverMajor ? kNewer : 0);
    for (std::size_t i = m_count++; i > 0 && m_found[i - 1].rank > m_found[i].rank; --i) {
        std::swap(m_found[i - 1], m_found[i]);
    }
}

void CuptiSearch::noteObject(const char* path)
{
    if (std::strncmp(fileName(path), "libcupti", 8) == 0 && std::strstr(fileName(path), ".so") != nullptr) {
        return add("", path, kLoaded, false);
    }
    // A library of a Python environment, or of Debian's own Python: its packages of CUDA lie beside it.
    const char* packages = std::strstr(path, "/site-packages/");
    if (packages == nullptr) packages = std::strstr(path, "/dist-packages/");
    if (packages == nullptr) return;
    char folder[512];
    const auto length = static_cast<int>(packages - path + sizeof "/site-packages/" - 1);
    for (const char* place : {"nvidia/cu13/lib", "nvidia/cuda_cupti/lib"}) {
        std::snprintf(folder, sizeof folder, "%.*s%s", length, path, place);
        for (const char* name : {"libcupti.so.13", "libcupti.so.12"}) add(folder, name, kOfEnvironment, true);
    }
}

int CuptiSearch::note(dl_phdr_info* object, std::size_t, void* search)
{
    if (object->dlpi_name != nullptr) static_cast<CuptiSearch*>(search)->noteObject(object->dlpi_name);
    return 0;
}

CuptiSearch::CuptiSearch(int cudaDriver) : m_driverMajor(cudaDriver / 1000)
{
    const char* const named = std::getenv(kEnvCupti);
    if (named != nullptr && *named != '\0') {
        add("", named, kNamed, false); // that one or none
        return;
    }
    dl_iterate_phdr(&CuptiSearch::note, this);
    for (const char* name : {"libcupti.so.13", "libcupti.so.12", "libcupti.so"}) add("", name, kOfSystem, false);
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH", ""}) {
        const char* root = *variable != '\0' ? std::getenv(variable) : "/usr/local/cuda";
        if (root == nullptr || *root == '\0') continue;
        char folder[512];
        for (const char* place : {"lib64", "lib", "extras/CUPTI/lib64"}) {
            std::snprintf(folder, sizeof folder, "%s/%s", root, place);
            for (const char* name : {"libcupti.so.13", "libcupti.so.12"}) add(folder, name, kOfToolkit, true);
        }
    }
}

void* CuptiSearch::next()
{
    while (m_at < m_count) {
        if (void* const library = openLibrary(m_found[m_at++].path, true)) return library;
    }
    return nullptr;
}

int CuptiSearch::cudaMajor() const
{
    return majorOf(path());
}

int CuptiSearch::loaded(char* paths, std::size_t size) const
{
    int count = 0;
    std::size_t at = 0;
    paths[0] = '\0';
    for (std::size_t i = 0; i < m_count; ++i) {
        if (m_found[i].rank % kNewer != kLoaded) continue;
        std::snprintf(paths + at, size - at, "%s%s", count++ > 0 ? ", " : "", m_found[i].path);
        at = std::strlen(paths);
    }
    return count;
}

int loadedDriverVersion()
{
    int (*driverVersion)(int*) = nullptr;
    int version = 0;
    void* const driver = openLibrary("libcuda.so.1", false);
    return driver != nullptr && bind(driver, driverVersion, "cuDriverGetVersion") && driverVersion(&version) == 0
               ? version
               : 0;
}

} // namespace fourwalls::collect::module
