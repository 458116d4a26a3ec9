// SPDX-License-Identifier: Apache-2.0
// Where CUPTI's times are not on the system's clock (under WSL they count from the machine's start), its records are put
// onto it by the pairs of clocks that the collector read: ranges, NCCL and samples are on the system's.
#pragma once

#include "profiler/collect/spool_reader.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fourwalls::importers {

class SpoolDeviceClock {
public:
    /// Reads pairs and the first of CUPTI's times; the whole file only where they are on another clock. Errors: as SpoolReader.
    static Result<SpoolDeviceClock> of(const std::string& path);

    /// The record with its times on the system's clock; valid until the next call and the reader's next().
    collect::SpoolRecord place(const collect::SpoolRecord& record);

    /// What is added to the first of CUPTI's times; 0: they are on the system's clock [ns].
    std::int64_t offset() const { return m_pairs.empty() ? 0 : m_pairs.front().second; }

private:
    std::uint64_t moved(std::uint64_t time) const;

    std::vector<std::pair<std::uint64_t, std::int64_t>> m_pairs; ///< CUPTI's time, what to add; by time
    std::vector<std::byte> m_bytes;
};

} // namespace fourwalls::importers
