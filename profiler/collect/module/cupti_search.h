// SPDX-License-Identifier: Apache-2.0
// Where this process's CUPTI may be. A copy that the process has loaded already comes first, whatever its folder and
// name: a second one beside the program's own would record nothing. Then the copies of the process's environment, of
// the system and of the toolkit. Those that the driver is too old for come last.
#pragma once

#include <cstddef>

struct dl_phdr_info;

namespace fourwalls::collect::module {

class CuptiSearch {
public:
    /// cudaDriver: as cuDriverGetVersion says it (12040), 0: unknown.
    explicit CuptiSearch(int cudaDriver);

    /// The next copy, loaded; nullptr: there is no more.
    void* next();
    /// The path of the copy that next() gave last, or the name that the system's loader found it by.
    const char* path() const { return m_at == 0 ? "" : m_found[m_at - 1].path; }
    /// The main number of its CUDA, by its name; 0: that does not tell.
    int cudaMajor() const;
    /// The copies that the process had loaded itself: their number, and their paths as a list.
    int loaded(char* paths, std::size_t size) const;

private:
    struct Found {
        char path[512];
        int rank; ///< the smaller the earlier
    };
    static constexpr std::size_t kMost = 32;

    void add(const char* folder, const char* name, int rank, bool mustExist);
    static int note(dl_phdr_info* object, std::size_t size, void* search);
    void noteObject(const char* path);

    Found m_found[kMost];
    std::size_t m_count = 0;
    std::size_t m_at = 0;
    int m_driverMajor;
};

/// The CUDA version of the driver that the process has loaded, as 12040; 0: it has none.
int loadedDriverVersion();

} // namespace fourwalls::collect::module
