// SPDX-License-Identifier: Apache-2.0
// CUPTI's activity records, read out of its buffers by its own iterator, as records of the spool.
#pragma once

#include "profiler/collect/module/api_filter.h"
#include "profiler/collect/module/buffer_pool.h"
#include "profiler/collect/module/cupti_library.h"
#include "profiler/collect/module/skipped_times.h"
#include "profiler/collect/module/spool_sink.h"

#include <atomic>
#include <cstdint>

namespace fourwalls::collect::module {

/// The kind that the collector pushes its own external ids under.
inline constexpr CUpti_ExternalCorrelationKind kOwnExternalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2;

/// The records of a buffer in the order in which CUPTI's iterator finds them. What the iterator says is not believed
/// blindly: it ends at a record that lies outside the buffer or not behind the one before.
class RecordWalk {
public:
    RecordWalk(const CuptiLibrary& cupti, const FilledBuffer& buffer) : m_cupti(cupti), m_buffer(buffer) {}

    /// The next record, nullptr at the end.
    const CUpti_Activity* next();
    /// What there is of the buffer from the record that next() returned last [bytes].
    std::size_t left() const { return m_left; }
    /// Behind the end: true if it was not the end of the records.
    bool malformed() const { return m_malformed; }

private:
    const CuptiLibrary& m_cupti;
    FilledBuffer m_buffer;
    CUpti_Activity* m_record = nullptr;
    std::size_t m_left = 0;
    bool m_malformed = false;
};

/// How many records of a buffer there are; used where a buffer has to be thrown away.
std::uint64_t countRecords(const CuptiLibrary& cupti, const FilledBuffer& buffer);

/// Who knows the texts that records point at. In the recorded process the pointers are texts; in raw buffers that were
/// kept (raw_keeper.h) they are addresses of another process, and who keeps the buffers wants to see the texts.
class RecordTexts {
public:
    /// The text that a record points at, nullptr for none.
    const char* at(const char* address) const { return m_find == nullptr ? address : m_find(m_owner, address); }

    RecordTexts() = default;
    RecordTexts(const char* (*find)(void* owner, const char* address), void* owner) : m_find(find), m_owner(owner) {}

private:
    const char* (*m_find)(void* owner, const char* address) = nullptr;
    void* m_owner = nullptr;
};

class ActivityRecords {
public:
    ActivityRecords(const CuptiLibrary& cupti, const ApiFilter& filter, SpoolSink& sink, RecordTexts texts = {})
        : m_cupti(cupti)
        , m_filter(filter)
        , m_sink(sink)
        , m_texts(texts)
    {}

    /// Writes all records of a buffer. What cannot be read is counted in the sink: a kind that is not known
    /// (UnknownKind), and a buffer whose rest is no record, with the bytes of that rest (BufferMalformed).
    void convert(const FilledBuffer& buffer);
    /// API calls of this thread are the collector's own and are left out.
    void ignoreThread(std::uint32_t thread);

    /// Device work and calls that began in these times are left out.
    void skip(const SkippedTimes* times) { m_skip = times; }

    std::uint64_t suspiciousTimes() const { return m_suspicious; }
    /// Of them, nodes of graphs whose times CUPTI lost.
    std::uint64_t lostNodes() const { return m_lostNodes; }
    /// What was launched in the first second: kernels, and graphs as a whole.
    struct Launches {
        std::uint64_t count = 0;
        std::uint64_t first = 0; ///< when the first of them began on the device
        bool over = false;       ///< there is one behind that second
    };
    const Launches& launches() const { return m_launches; }

private:
    /// Writes one record. False: it reaches beyond the `left` bytes of its buffer.
    bool convertOne(const CUpti_Activity* record, std::size_t left);
    template <class Record>
    void checkTimes(const Record& record);
    void addApi(ApiDomain domain, const CUpti_ActivityAPI* call);
    void addDevice(const CUpti_ActivityDevice4* device);
    void noteLaunch(const Kernel& kernel);
    bool isSkipped(std::uint64_t start) const;
    /// Work that runs in the window and was launched before it: ids grow with the calls.
    bool isOfSkippedCall(std::uint32_t correlation) const { return correlation != 0 && correlation <= m_skippedCalls; }

    static constexpr std::size_t kMostIgnored = 8;
    const CuptiLibrary& m_cupti;
    const ApiFilter& m_filter;
    SpoolSink& m_sink;
    RecordTexts m_texts;
    std::size_t m_bytesOf[CUPTI_ACTIVITY_KIND_COUNT] = {}; ///< of a record of a kind, as the iterator steps; 0: unknown
    std::atomic<std::uint32_t> m_ignored[kMostIgnored] = {};
    bool m_named[2][ApiFilter::kMostFunctions] = {};
    std::uint64_t m_suspicious = 0;
    std::uint64_t m_lostNodes = 0;
    const SkippedTimes* m_skip = nullptr;
    Launches m_launches;
    std::uint32_t m_lastGraphLaunch = 0;
    std::uint32_t m_skippedCalls = 0; ///< the last correlation id of a call that was skipped
};

} // namespace fourwalls::collect::module
