// SPDX-License-Identifier: Apache-2.0
// CUPTI's activity records, read out of its buffers by its own iterator, as records of the spool.
#pragma once

#include "profiler/collect/module/api_filter.h"
#include "profiler/collect/module/buffer_pool.h"
#include "profiler/collect/module/cupti_library.h"
#include "profiler/collect/module/spool_sink.h"

#include <atomic>
#include <cstdint>

namespace fourwalls::collect::module {

/// The kind that the collector pushes its own external ids under.
inline constexpr CUpti_ExternalCorrelationKind kOwnExternalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2;

/// How many records of a buffer there are; used where a buffer has to be thrown away.
std::uint64_t countRecords(const CuptiLibrary& cupti, std::uint8_t* bytes, std::size_t valid);

class ActivityRecords {
public:
    ActivityRecords(const CuptiLibrary& cupti, const ApiFilter& filter, SpoolSink& sink)
        : m_cupti(cupti)
        , m_filter(filter)
        , m_sink(sink)
    {}

    /// Writes all records of a buffer.
    void convert(const FilledBuffer& buffer);
    /// API calls of this thread are the collector's own and are left out.
    void ignoreThread(std::uint32_t thread);

    std::uint64_t suspiciousTimes() const { return m_suspicious; }

private:
    void convertOne(const CUpti_Activity* record);
    template <class Record>
    void checkTimes(const Record& record);
    void addApi(ApiDomain domain, const CUpti_ActivityAPI* call);
    void addDevice(const CUpti_ActivityDevice5* device);

    static constexpr std::size_t kMostIgnored = 8;
    const CuptiLibrary& m_cupti;
    const ApiFilter& m_filter;
    SpoolSink& m_sink;
    std::atomic<std::uint32_t> m_ignored[kMostIgnored] = {};
    bool m_named[2][ApiFilter::kMostFunctions] = {};
    std::uint64_t m_suspicious = 0;
};

} // namespace fourwalls::collect::module
