// SPDX-License-Identifier: Apache-2.0
// The handlers of NVTX's slots. Domains, registered strings and schemas live as long as the process, because handles to
// them do; events are copied into the recording's queue. A process without CUDA or NCCL is recorded from its first
// event on, not from its first library that merely could make one.
#include "profiler/collect/module/nvtx_events.h"

#include "profiler/collect/module/definitions.h"
#include "profiler/collect/module/optimizer_ranges.h"
#include "profiler/collect/module/recorder.h"
#include "profiler/collect/module/thread_names.h"
#include "profiler/collect/step_mark.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <initializer_list>

namespace fourwalls::collect::module {

namespace {

using namespace nvtx;

struct Domain {
    std::uint32_t id;
    bool ours; ///< "fourwalls": its ranges may be steps, as those of the default domain
};

/// What nvtxDomainRegisterString hands out: a text that is known to last.
struct Registered {
    const char* text;
};

std::atomic<std::uint32_t> g_domains{0};
std::atomic<std::uint64_t> g_ranges{0};
std::atomic<std::uint64_t> g_schemas{0};
constexpr std::uint64_t kFirstOwnSchema = 1ULL << 32; // where NVTX wants a tool's own ids to begin

/// The recording, begun by the first event if need be; nullptr: there is none.
Recorder* recording()
{
    if (Recorder* const recorder = Recorder::current()) return recorder;
    return Recorder::start(kEntryNvtx);
}

/// A wide text as UTF-8, cut to the room there is.
void narrow(const wchar_t* from, char* to, std::size_t room)
{
    std::size_t at = 0;
    for (; from != nullptr && *from != L'\0' && at + 5 < room; ++from) {
        const auto c = static_cast<std::uint32_t>(*from);
        if (c < 0x80) {
            to[at++] = static_cast<char>(c);
        } else if (c < 0x800) {
            to[at++] = static_cast<char>(0xc0 | c >> 6);
            to[at++] = static_cast<char>(0x80 | (c & 0x3f));
        } else {
            const bool four = c >= 0x10000;
            to[at++] = static_cast<char>(four ? 0xf0 | (c >> 18 & 7) : 0xe0 | c >> 12);
            if (four) to[at++] = static_cast<char>(0x80 | (c >> 12 & 0x3f));
            to[at++] = static_cast<char>(0x80 | (c >> 6 & 0x3f));
            to[at++] = static_cast<char>(0x80 | (c & 0x3f));
        }
    }
    to[at] = '\0';
}

class Narrowed {
public:
    explicit Narrowed(const wchar_t* text) { narrow(text, m_text, sizeof m_text); }
    const char* text() const { return m_text; }

private:
    char m_text[1024];
};

void setPayload(const EventAttributes& from, NvtxEvent* to)
{
    switch (from.payloadType) {
    case kPayloadU64: to->payloadType = static_cast<std::uint32_t>(NvtxPayloadType::Unsigned); break;
    case kPayloadI64: to->payloadType = static_cast<std::uint32_t>(NvtxPayloadType::Signed); break;
    case kPayloadDouble: to->payloadType = static_cast<std::uint32_t>(NvtxPayloadType::Double); break;
    case kPayloadU32:
        to->payloadType = static_cast<std::uint32_t>(NvtxPayloadType::Unsigned);
        to->payload = from.payload.u32;
        return;
    case kPayloadI32:
        to->payloadType = static_cast<std::uint32_t>(NvtxPayloadType::Signed);
        to->payload = static_cast<std::uint64_t>(std::int64_t{from.payload.i32});
        return;
    case kPayloadFloat: {
        const double real = from.payload.single;
        to->payloadType = static_cast<std::uint32_t>(NvtxPayloadType::Double);
        std::memcpy(&to->payload, &real, sizeof real);
        return;
    }
    default: return;
    }
    to->payload = from.payload.u64;
}

const char* messageOf(const EventAttributes& from, char* room, std::size_t size)
{
    switch (from.messageType) {
    case kMessageAscii: return from.message.ascii;
    case kMessageUnicode: narrow(from.message.unicode, room, size); return room;
    case kMessageRegistered:
        return from.message.registered != nullptr ? static_cast<const Registered*>(from.message.registered)->text
                                                  : nullptr;
    default: return nullptr;
    }
}

void noteStep(Recorder& recorder, const Domain* domain, RecordKind kind, const NvtxEvent& event, const char* name)
{
    if (name == nullptr) return;
    const auto step = stepOfName({name, strnlen(name, kLongestText)}, recorder.settings().stepMark);
    if (!step || (domain != nullptr && !domain->ours && recorder.settings().stepMark[0] == '\0')) return;
    std::int64_t number = step->number.value_or(-1);
    const auto type = static_cast<NvtxPayloadType>(event.payloadType);
    if (number < 0 && (type == NvtxPayloadType::Unsigned || type == NvtxPayloadType::Signed)) {
        number = static_cast<std::int64_t>(event.payload);
    }
    recorder.stepBegan(number, kind == RecordKind::NvtxMark ? StepSource::NvtxMark : StepSource::NvtxRange, name);
}

/// Records a push, a range's start or a mark.
void record(RecordKind kind, const Domain* domain, std::uint64_t range, const EventAttributes* attributes,
            const char* plainName, const PayloadData* payloads = nullptr, std::size_t payloadCount = 0)
{
    Recorder* const recorder = recording();
    if (recorder == nullptr || !recorder->settings().parts.nvtx) return;
    const CostScope cost(recorder->callbackNs, recorder->callbacks);
    char room[1024];
    NvtxEvent event{};
    const char* name = plainName;
    if (attributes != nullptr && attributes->size >= sizeof *attributes) {
        name = messageOf(*attributes, room, sizeof room);
        setPayload(*attributes, &event);
        event.category = attributes->category;
        event.color = attributes->colorType == 1 ? attributes->color : 0;
        if (attributes->payloadType == kPayloadExtended && attributes->payloadCount > 0) {
            payloads = reinterpret_cast<const PayloadData*>(static_cast<std::uintptr_t>(attributes->payload.u64));
            payloadCount = static_cast<std::size_t>(attributes->payloadCount);
        }
    }
    noteStep(*recorder, domain, kind, event, name);
    if (!recorder->capturing()) return;
    event.time = realtime();
    event.range = range;
    event.domain = domain != nullptr ? domain->id : 0;
    event.thread = threadId();
    const void* bytes = nullptr;
    if (payloads != nullptr && payloadCount > 0 && payloads[0].payload != nullptr) {
        event.payloadType = static_cast<std::uint32_t>(NvtxPayloadType::Extended);
        event.schema = payloads[0].schema;
        event.extendedBytes = static_cast<std::uint32_t>(std::min<std::size_t>(payloads[0].size, kLongestTail));
        bytes = payloads[0].payload;
        if (payloads[0].size == static_cast<std::size_t>(-1))
            event.extendedBytes = 0; // zero-terminated: of no use here
    }
    const EventText text{name, offsetof(NvtxEvent, name)};
    recorder->push(kind, event, &text, 1, bytes, event.extendedBytes);
}

void recordEnd(RecordKind kind, const Domain* domain, std::uint64_t range)
{
    Recorder* const recorder = Recorder::current();
    if (recorder == nullptr || !recorder->capturing() || !recorder->settings().parts.nvtx) return;
    const CostScope cost(recorder->callbackNs, recorder->callbacks);
    recorder->push(kind, NvtxEnd{realtime(), range, domain != nullptr ? domain->id : 0, threadId()});
}

std::uint64_t newRange()
{
    return g_ranges.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::uint64_t startRange(const Domain* domain, const EventAttributes* attributes, const char* name)
{
    const std::uint64_t range = newRange();
    record(RecordKind::NvtxRangeStart, domain, range, attributes, name);
    return range;
}

void nameCategory(const Domain* domain, std::uint32_t category, const char* name)
{
    const NvtxCategory to{domain != nullptr ? domain->id : 0, category, 0, 0};
    const EventText text{name, offsetof(NvtxCategory, name)};
    addDefinition(RecordKind::NvtxCategory, &to, sizeof to, &text, 1);
}

void nameThread(std::uint32_t thread, const char* name)
{
    keepThreadName(thread);
    const Thread to{thread, 0};
    const EventText text{name, offsetof(Thread, name)};
    addDefinition(RecordKind::Thread, &to, sizeof to, &text, 1);
}

Domain* createDomain(const char* name)
{
    auto* domain = static_cast<Domain*>(std::malloc(sizeof(Domain)));
    if (domain == nullptr) return nullptr;
    domain->id = g_domains.fetch_add(1) + 1;
    domain->ours = name != nullptr && std::strcmp(name, "fourwalls") == 0;
    const NvtxDomain to{domain->id, 0};
    const EventText text{name, offsetof(NvtxDomain, name)};
    addDefinition(RecordKind::NvtxDomain, &to, sizeof to, &text, 1);
    return domain;
}

Registered* registerString(const char* text)
{
    const std::size_t length = text == nullptr ? 0 : strnlen(text, kLongestText);
    auto* registered = static_cast<Registered*>(std::malloc(sizeof(Registered) + length + 1));
    if (registered == nullptr) return nullptr;
    auto* copy = reinterpret_cast<char*>(registered + 1);
    if (length > 0) std::memcpy(copy, text, length);
    copy[length] = '\0';
    registered->text = copy;
    return registered;
}

/// What pushes and pops answer: the level of their range in the thread and domain, from 0, recorded or not.
constexpr std::size_t kMostLevels = 64; // of domains beyond, it is always 0
thread_local int t_level[kMostLevels] = {};

int* levelOf(const Domain* domain)
{
    const std::size_t index = domain == nullptr ? 0 : domain->id;
    return index < kMostLevels ? &t_level[index] : nullptr;
}

int pushed(const Domain* domain)
{
    int* const level = levelOf(domain);
    return level == nullptr ? 0 : (*level)++;
}

/// -1: there is no range to end.
int popped(const Domain* domain)
{
    int* const level = levelOf(domain);
    if (level == nullptr) return 0;
    return *level == 0 ? -1 : --*level;
}

// What NVTX calls.
void markEx(const EventAttributes* a)
{
    record(RecordKind::NvtxMark, nullptr, 0, a, nullptr);
}
void markA(const char* m)
{
    record(RecordKind::NvtxMark, nullptr, 0, nullptr, m);
}
void markW(const wchar_t* m)
{
    record(RecordKind::NvtxMark, nullptr, 0, nullptr, Narrowed(m).text());
}
std::uint64_t rangeStartEx(const EventAttributes* a)
{
    return startRange(nullptr, a, nullptr);
}
std::uint64_t rangeStartA(const char* m)
{
    return startRange(nullptr, nullptr, m);
}
std::uint64_t rangeStartW(const wchar_t* m)
{
    return startRange(nullptr, nullptr, Narrowed(m).text());
}
void rangeEnd(std::uint64_t range)
{
    recordEnd(RecordKind::NvtxRangeEnd, nullptr, range);
}
int rangePushEx(const EventAttributes* a)
{
    return record(RecordKind::NvtxPush, nullptr, 0, a, nullptr), pushed(nullptr);
}
int rangePushA(const char* m)
{
    record(RecordKind::NvtxPush, nullptr, 0, nullptr, m);
    const int level = pushed(nullptr);
    noteOptimizerRange(m, level);
    return level;
}
int rangePushW(const wchar_t* m)
{
    return record(RecordKind::NvtxPush, nullptr, 0, nullptr, Narrowed(m).text()), pushed(nullptr);
}
int rangePop()
{
    recordEnd(RecordKind::NvtxPop, nullptr, 0);
    const int level = popped(nullptr);
    Recorder* const recorder = isEndOfOptimizer(level) ? Recorder::current() : nullptr;
    if (recorder != nullptr && recorder->settings().parts.nvtx) recorder->optimizerEnded();
    return level;
}
void nameCategoryA(std::uint32_t category, const char* name)
{
    nameCategory(nullptr, category, name);
}
void nameCategoryW(std::uint32_t category, const wchar_t* name)
{
    nameCategory(nullptr, category, Narrowed(name).text());
}
void nameThreadA(std::uint32_t thread, const char* name)
{
    nameThread(thread, name);
}
void nameThreadW(std::uint32_t thread, const wchar_t* name)
{
    nameThread(thread, Narrowed(name).text());
}

void domainMarkEx(Domain* d, const EventAttributes* a)
{
    record(RecordKind::NvtxMark, d, 0, a, nullptr);
}
std::uint64_t domainRangeStartEx(Domain* d, const EventAttributes* a)
{
    return startRange(d, a, nullptr);
}
void domainRangeEnd(Domain* d, std::uint64_t range)
{
    recordEnd(RecordKind::NvtxRangeEnd, d, range);
}
int domainRangePushEx(Domain* d, const EventAttributes* a)
{
    return record(RecordKind::NvtxPush, d, 0, a, nullptr), pushed(d);
}
int domainRangePop(Domain* d)
{
    return recordEnd(RecordKind::NvtxPop, d, 0), popped(d);
}
void domainNameCategoryA(Domain* d, std::uint32_t category, const char* name)
{
    nameCategory(d, category, name);
}
void domainNameCategoryW(Domain* d, std::uint32_t category, const wchar_t* name)
{
    nameCategory(d, category, Narrowed(name).text());
}
Registered* domainRegisterStringA(Domain*, const char* text)
{
    return registerString(text);
}
Registered* domainRegisterStringW(Domain*, const wchar_t* text)
{
    return registerString(Narrowed(text).text());
}
Domain* domainCreateA(const char* name)
{
    return createDomain(name);
}
Domain* domainCreateW(const wchar_t* name)
{
    return createDomain(Narrowed(name).text());
}

std::uint64_t registerSchema(Domain* domain, const SchemaAttributes* from)
{
    constexpr std::size_t kMostEntries = 64;
    if (from == nullptr) return 0;
    NvtxSchema to{};
    to.id = (from->fieldMask & kSchemaId) != 0 && from->schemaId != 0 ? from->schemaId
                                                                      : kFirstOwnSchema + g_schemas.fetch_add(1);
    to.domain = domain != nullptr ? domain->id : 0;
    to.payloadBytes = (from->fieldMask & kSchemaSize) != 0 ? static_cast<std::uint32_t>(from->payloadSize) : 0;
    to.entries = static_cast<std::uint32_t>(from->entries == nullptr ? 0 : std::min(from->entryCount, kMostEntries));
    // String ids are the writer's: until then an entry's name is its place in the tail, behind the entries.
    NvtxSchemaEntry entries[kMostEntries];
    char tail[sizeof entries + kMostEntries * 64];
    std::size_t at = to.entries * sizeof *entries;
    for (std::size_t i = 0; i < to.entries; ++i) {
        const SchemaEntry& entry = from->entries[i];
        entries[i] = {entry.type, entry.offset, entry.arrayOrUnion, static_cast<std::uint32_t>(entry.flags), 0};
        const std::size_t length = entry.name == nullptr ? 0 : strnlen(entry.name, 63);
        entries[i].name = static_cast<std::uint32_t>(at);
        if (length > 0) std::memcpy(tail + at, entry.name, length);
        tail[at + length] = '\0';
        at += length + 1;
    }
    std::memcpy(tail, entries, to.entries * sizeof *entries);
    const EventText text{(from->fieldMask & kSchemaName) != 0 ? from->name : nullptr, offsetof(NvtxSchema, name)};
    addDefinition(RecordKind::NvtxSchema, &to, sizeof to, &text, 1, tail, at);
    return to.id;
}

void markPayload(Domain* d, const PayloadData* p, std::size_t n)
{
    record(RecordKind::NvtxMark, d, 0, nullptr, nullptr, p, n);
}
int pushPayload(Domain* d, const PayloadData* p, std::size_t n)
{
    return record(RecordKind::NvtxPush, d, 0, nullptr, nullptr, p, n), pushed(d);
}
int popPayload(Domain* d, const PayloadData*, std::size_t)
{
    return recordEnd(RecordKind::NvtxPop, d, 0), popped(d);
}
std::uint64_t startPayload(Domain* d, const PayloadData* p, std::size_t n)
{
    const std::uint64_t range = newRange();
    record(RecordKind::NvtxRangeStart, d, range, nullptr, nullptr, p, n);
    return range;
}
void endPayload(Domain* d, std::uint64_t range, const PayloadData*, std::size_t)
{
    recordEnd(RecordKind::NvtxRangeEnd, d, range);
}

struct Handler {
    std::size_t slot;
    FunctionPointer function;
};

template <class Function>
FunctionPointer plain(Function* function)
{
    return reinterpret_cast<FunctionPointer>(function);
}

void fill(FunctionTable table, unsigned size, std::initializer_list<Handler> handlers)
{
    for (const Handler& handler : handlers) {
        if (handler.slot < size && table[handler.slot] != nullptr) *table[handler.slot] = handler.function;
    }
}

} // namespace

bool attachNvtx(GetExportTable getExportTable)
{
    const auto* callbacks = static_cast<const ExportCallbacks*>(getExportTable(kTableCallbacks));
    if (callbacks == nullptr || callbacks->structSize < sizeof *callbacks) return false;
    FunctionTable table = nullptr;
    unsigned size = 0;
    if (callbacks->getModuleFunctionTable(kModuleCore, &table, &size) == 0 || table == nullptr) return false;
    fill(table, size,
         {{kMarkEx, plain(markEx)},
          {kMarkA, plain(markA)},
          {kMarkW, plain(markW)},
          {kRangeStartEx, plain(rangeStartEx)},
          {kRangeStartA, plain(rangeStartA)},
          {kRangeStartW, plain(rangeStartW)},
          {kRangeEnd, plain(rangeEnd)},
          {kRangePushEx, plain(rangePushEx)},
          {kRangePushA, plain(rangePushA)},
          {kRangePushW, plain(rangePushW)},
          {kRangePop, plain(rangePop)},
          {kNameCategoryA, plain(nameCategoryA)},
          {kNameCategoryW, plain(nameCategoryW)},
          {kNameThreadA, plain(nameThreadA)},
          {kNameThreadW, plain(nameThreadW)}});
    if (callbacks->getModuleFunctionTable(kModuleCore2, &table, &size) == 0 || table == nullptr) return false;
    fill(table, size,
         {{kDomainMarkEx, plain(domainMarkEx)},
          {kDomainRangeStartEx, plain(domainRangeStartEx)},
          {kDomainRangeEnd, plain(domainRangeEnd)},
          {kDomainRangePushEx, plain(domainRangePushEx)},
          {kDomainRangePop, plain(domainRangePop)},
          {kDomainNameCategoryA, plain(domainNameCategoryA)},
          {kDomainNameCategoryW, plain(domainNameCategoryW)},
          {kDomainRegisterStringA, plain(domainRegisterStringA)},
          {kDomainRegisterStringW, plain(domainRegisterStringW)},
          {kDomainCreateA, plain(domainCreateA)},
          {kDomainCreateW, plain(domainCreateW)}});
    return true;
}

bool attachNvtxPayloads(ExtensionModule* extension)
{
    if (extension == nullptr || extension->moduleId != kPayloadModule || extension->segmentCount == 0) return false;
    const Handler handlers[] = {{kSchemaRegister, plain(registerSchema)},  {kMarkPayload, plain(markPayload)},
                                {kRangePushPayload, plain(pushPayload)},   {kRangePopPayload, plain(popPayload)},
                                {kRangeStartPayload, plain(startPayload)}, {kRangeEndPayload, plain(endPayload)}};
    const ExtensionSegment& segment = extension->segments[0];
    for (const Handler& handler : handlers) {
        if (handler.slot < segment.slotCount)
            segment.slots[handler.slot] = reinterpret_cast<std::intptr_t>(handler.function);
    }
    return true;
}

} // namespace fourwalls::collect::module
