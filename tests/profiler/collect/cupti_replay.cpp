// SPDX-License-Identifier: Apache-2.0
// Decodes raw CUPTI buffers that FOURWALLS_RAW kept, wherever they came from, with the collector's own decoder and the
// record iterator of a libcupti: no GPU and no driver is needed. Writes what the recording would have written of them
// as a spool and says what was in it.
//
// Usage: cupti_replay RAW SPOOL [LIBCUPTI]     LIBCUPTI: path of a libcupti; default: the one that the system finds
#include "profiler/collect/module/activity_records.h"
#include "profiler/collect/module/cupti_search.h"
#include "tests/profiler/collect/raw_file.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace fourwalls::collect;
using namespace fourwalls::collect::module;

namespace {

/// The texts known so far; later ones at the same address replace earlier ones, as in the process.
struct Texts {
    std::map<std::uint64_t, std::string> known;
    std::uint64_t missing = 0;

    static const char* find(void* owner, const char* address)
    {
        if (address == nullptr) return nullptr;
        auto& texts = *static_cast<Texts*>(owner);
        const auto found = texts.known.find(reinterpret_cast<std::uintptr_t>(address));
        if (found != texts.known.end()) return found->second.c_str();
        ++texts.missing;
        return nullptr;
    }
};

/// What the conversion takes for granted of CUPTI: that correlation ids count the calls of a process, and that a wait names
/// the record of an event that it waits for.
class Premises {
public:
    void look(const CuptiLibrary& cupti, const FilledBuffer& buffer)
    {
        RecordWalk walk(cupti, buffer);
        while (const CUpti_Activity* record = walk.next()) {
            if (record->kind != CUPTI_ACTIVITY_KIND_RUNTIME && record->kind != CUPTI_ACTIVITY_KIND_DRIVER) continue;
            CUpti_ActivityAPI call{};
            std::memcpy(&call, record, sizeof call);
            m_calls[std::uint32_t{call.threadId}].emplace_back(std::uint64_t{call.start},
                                                               std::uint32_t{call.correlationId});
        }
    }
    std::uint64_t calls() const
    {
        std::uint64_t count = 0;
        for (const auto& [thread, calls] : m_calls) count += calls.size();
        return count;
    }
    /// Calls of a thread whose id is below that of an earlier one; ids may go round once.
    std::uint64_t outOfOrder()
    {
        std::uint64_t count = 0;
        for (auto& [thread, calls] : m_calls) {
            std::sort(calls.begin(), calls.end());
            for (std::size_t i = 1; i < calls.size(); ++i)
                count += static_cast<std::int32_t>(calls[i].second - calls[i - 1].second) < 0 ? 1 : 0;
        }
        return count;
    }

private:
    std::map<std::uint32_t, std::vector<std::pair<std::uint64_t, std::uint32_t>>> m_calls; // by thread: start, id
};

} // namespace

int main(int argc, char** argv)
{
    if (argc < 3) {
        std::fprintf(stderr, "usage: cupti_replay RAW SPOOL [LIBCUPTI]\n");
        return 2;
    }
    RawFile raw = readRawFile(argv[1]);
    if (!raw.problem.empty()) {
        std::fprintf(stderr, "%s\n", raw.problem.c_str());
        return 1;
    }
    if (argc > 3 && dlopen(argv[3], RTLD_NOW | RTLD_GLOBAL) == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    CuptiLibrary cupti;
    CuptiSearch search(0);
    void* library = search.next();
    while (library != nullptr && cupti.bindTo(library) != CUPTI_SUCCESS) library = search.next();
    if (library == nullptr) {
        std::fprintf(stderr, "no libcupti of CUDA 12.0 or newer was found that works here\n");
        return 1;
    }
    ApiFilter filter;
    filter.learn(cupti);
    SpoolFile file;
    FileHeader header{};
    header.rank = header.worldSize = header.localRank = header.localWorldSize = -1;
    std::snprintf(header.executable, sizeof header.executable, "cupti_replay");
    if (const int error = file.create(argv[2], header, 0); error != 0) {
        std::fprintf(stderr, "%s: %s\n", argv[2], std::strerror(error));
        return 1;
    }
    SpoolSink sink(file);
    Texts texts;
    ActivityRecords decoder(cupti, filter, sink, RecordTexts(Texts::find, &texts));
    Premises premises;
    std::uint64_t records = 0;
    for (RawFile::Buffer& buffer : raw.buffers) {
        for (const auto& [address, text] : buffer.texts) texts.known[address] = text;
        const FilledBuffer filled{reinterpret_cast<std::uint8_t*>(buffer.words.data()), buffer.valid};
        records += countRecords(cupti, filled);
        premises.look(cupti, filled);
        decoder.convert(filled);
    }
    sink.writeLosses();
    if (const int error = file.flush(); error != 0) {
        std::fprintf(stderr, "%s: %s\n", argv[2], std::strerror(error));
        return 1;
    }
    const auto lost = [&sink](LossKind kind) { return static_cast<unsigned long long>(sink.lost(kind)); };
    std::printf("buffers %zu of CUPTI %u, read with CUPTI %u\n", raw.buffers.size(), raw.cuptiVersion, cupti.version);
    std::printf("records %llu\n", static_cast<unsigned long long>(records));
    std::printf("unknown kinds %llu, malformed buffers %llu, texts missing %llu, bytes behind a cut %zu\n",
                lost(LossKind::UnknownKind), lost(LossKind::BufferMalformed),
                static_cast<unsigned long long>(texts.missing), raw.unreadBytes);
    std::printf("calls %llu, correlation ids out of order %llu\n", static_cast<unsigned long long>(premises.calls()),
                static_cast<unsigned long long>(premises.outOfOrder()));
    return 0;
}
