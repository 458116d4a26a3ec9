// SPDX-License-Identifier: Apache-2.0
// An event's handle is its number, not an address: NCCL may name an event as a parent after it has stopped. Open events
// live in a fixed ring by number; one that stays open while 32768 others start is given up and counted.
#include "profiler/collect/module/nccl_events.h"

#include "profiler/collect/module/definitions.h"
#include "profiler/collect/module/recorder.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace fourwalls::collect::module {

namespace {

using namespace nccl;

/// NCCL's context of one communicator.
struct Communicator {
    NcclCommunicator definition;
    char name[128];
};

struct OpenEvent {
    std::atomic<std::uint64_t> id; ///< 0: free; kInHand: one thread reads or writes the rest, and no other one does
    RecordKind kind;
    bool pushed; ///< an external id was pushed to CUPTI
    Recorder* recorder;
    const char* texts[4]; ///< NCCL's constants: they outlive the event
    union {
        NcclGroup group;
        NcclApi api;
        NcclKernelLaunch launch;
        NcclColl coll;
        NcclP2p p2p;
    };
};

constexpr std::uint64_t kInHand = ~std::uint64_t{0};
constexpr std::size_t kOpenEvents = 1 << 15;
std::atomic<OpenEvent*> g_open{nullptr};
std::atomic<std::uint64_t> g_events{0};
std::atomic<std::uint64_t> g_communicators{0};

std::uint64_t idOf(const void* handle)
{
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(handle));
}
std::uint64_t addressOf(const void* pointer)
{
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pointer));
}

/// The ring, made with the first communicator; its pages are used as events come.
OpenEvent* openEvents()
{
    OpenEvent* events = g_open.load(std::memory_order_acquire);
    if (events != nullptr) return events;
    auto* made = static_cast<OpenEvent*>(std::calloc(kOpenEvents, sizeof(OpenEvent)));
    if (made == nullptr) return nullptr;
    if (g_open.compare_exchange_strong(events, made)) return made;
    std::free(made);
    return events;
}

void define(const Communicator& communicator)
{
    const EventText text{communicator.name, offsetof(NcclCommunicator, name)};
    addDefinition(RecordKind::NcclCommunicator, &communicator.definition, sizeof communicator.definition, &text, 1);
}

Result init(void** context, std::uint64_t commId, int* activation, const char* commName, int nodes, int ranks, int rank,
            int version, int wanted)
{
    *context = nullptr;
    // What to record is one mask for all communicators of NCCL: it is written once, and only where this one is recorded.
    Recorder* const recorder = Recorder::start(kEntryNccl);
    if (recorder == nullptr || !recorder->settings().parts.nccl || openEvents() == nullptr) return 0;
    auto* communicator = static_cast<Communicator*>(std::calloc(1, sizeof(Communicator)));
    if (communicator == nullptr) return 0;
    NcclCommunicator& definition = communicator->definition;
    definition.id = g_communicators.fetch_add(1) + 1;
    definition.commId = commId;
    definition.nodes = nodes;
    definition.ranks = ranks;
    definition.rank = rank;
    definition.time = realtime();
    std::snprintf(communicator->name, sizeof communicator->name, "%s", commName != nullptr ? commName : "");
    define(*communicator);
    if (definition.id == 1) {
        char text[160];
        std::snprintf(text, sizeof text, "NCCL reports its operations through plugin interface %d%s", version,
                      version >= 5 ? "" : ": kernels are not paired exactly, and API calls are not seen");
        recorder->message(MessageCode::NcclPlugin, Severity::Info, version, text);
    }
    *context = communicator;
    if (activation != nullptr) *activation = wanted;
    return 0;
}

/// Takes the event in hand if it still has this number.
bool takeInHand(OpenEvent& event, std::uint64_t id)
{
    return event.id.compare_exchange_strong(id, kInHand, std::memory_order_acquire, std::memory_order_relaxed);
}

/// Gives an event in hand free, or back under its number.
void giveBack(OpenEvent& event, std::uint64_t id = 0)
{
    event.id.store(id, std::memory_order_release);
}

/// A place for a new event, in hand, and its number; nullptr: nothing is recorded now.
OpenEvent* begin(RecordKind kind, std::uint64_t* number)
{
    Recorder* const recorder = Recorder::current();
    if (recorder == nullptr || !recorder->capturing()) return nullptr;
    OpenEvent* const events = g_open.load(std::memory_order_acquire);
    OpenEvent* place = nullptr;
    while (place == nullptr) { // whoever was left in a place is given up; who is in hand at this moment is passed by
        *number = g_events.fetch_add(1, std::memory_order_relaxed) + 1;
        OpenEvent& next = events[*number % kOpenEvents];
        const std::uint64_t before = next.id.load(std::memory_order_relaxed);
        if (before != kInHand && takeInHand(next, before)) place = &next;
    }
    OpenEvent& event = *place;
    event.kind = kind;
    event.pushed = false;
    event.recorder = recorder;
    std::memset(event.texts, 0, sizeof event.texts);
    std::memset(static_cast<void*>(&event.coll), 0, sizeof event.coll);
    return &event;
}

/// The event is complete and may be stopped from now on.
void publish(OpenEvent* event, std::uint64_t id, void** handle)
{
    *handle = reinterpret_cast<void*>(static_cast<std::uintptr_t>(id));
    giveBack(*event, id);
}

template <class Api, class From>
void fillApi(Api* api, OpenEvent* event, const From& from)
{
    api->count = from.count;
    api->streamHandle = addressOf(from.stream);
    api->captured = from.graphCaptured ? 1 : 0;
    event->texts[0] = from.function;
    event->texts[1] = from.datatype;
}

void fillColl(OpenEvent* event, const Coll& from)
{
    NcclColl& coll = event->coll;
    coll.sequence = from.sequence;
    coll.count = from.count;
    coll.sendBuffer = addressOf(from.sendBuffer);
    coll.receiveBuffer = addressOf(from.receiveBuffer);
    coll.root = from.root;
    coll.channels = from.channels;
    coll.warps = from.warps;
    event->texts[0] = from.function;
    event->texts[1] = from.datatype;
    event->texts[2] = from.algorithm;
    event->texts[3] = from.protocol;
}

void fillCopies(OpenEvent* event, const CeColl& from)
{
    NcclColl& coll = event->coll;
    coll.sequence = from.sequence;
    coll.count = from.count;
    coll.sendBuffer = addressOf(from.sendBuffer);
    coll.receiveBuffer = addressOf(from.receiveBuffer);
    coll.root = from.root;
    event->texts[0] = from.function;
    event->texts[1] = from.datatype;
    event->texts[2] = "CE";
    event->texts[3] = from.strategy;
}

void fillP2p(OpenEvent* event, const P2p& from)
{
    NcclP2p& p2p = event->p2p;
    p2p.count = from.count;
    p2p.buffer = addressOf(from.buffer);
    p2p.peer = from.peer;
    p2p.channels = from.channels;
    event->texts[0] = from.function;
    event->texts[1] = from.datatype;
}

/// Fields that all structures have.
template <class Structure>
void common(Structure* to, std::uint64_t id, const void* context)
{
    to->id = id;
    to->start = realtime();
    to->communicator = context != nullptr ? static_cast<const Communicator*>(context)->definition.id : 0;
    to->thread = threadId();
}

RecordKind kindOf(std::uint64_t type)
{
    switch (type) {
    case kGroup:
    case kGroupApi: return RecordKind::NcclGroup;
    case kCollApi: return RecordKind::NcclCollApi;
    case kP2pApi: return RecordKind::NcclP2pApi;
    case kKernelLaunch: return RecordKind::NcclKernelLaunch;
    case kColl: return RecordKind::NcclColl;
    case kCeColl: return RecordKind::NcclCopies;
    case kP2p: return RecordKind::NcclP2p;
    default: return RecordKind::None;
    }
}

/// The description of versions 5 and 6 is the common form; version 4's is brought into it.
void start(void* context, void** handle, const DescriptionV5& from, bool hasParentGroup)
{
    const RecordKind kind = kindOf(from.type);
    std::uint64_t id = 0;
    OpenEvent* const event = kind == RecordKind::None ? nullptr : begin(kind, &id);
    if (event == nullptr) return;
    const CostScope cost(event->recorder->callbackNs, event->recorder->callbacks);
    const std::uint64_t parent = idOf(from.parent);
    switch (kind) {
    case RecordKind::NcclGroup:
        common(&event->group, id, context);
        event->group.api = from.type == kGroupApi ? 1 : 0;
        event->group.depth = from.type == kGroupApi ? from.groupApi.depth : 0;
        event->group.captured = from.type == kGroupApi && from.groupApi.graphCaptured ? 1 : 0;
        break;
    case RecordKind::NcclCollApi:
        common(&event->api, id, context);
        event->api.parent = parent;
        event->api.root = from.collApi.root;
        fillApi(&event->api, event, from.collApi);
        break;
    case RecordKind::NcclP2pApi:
        common(&event->api, id, context);
        event->api.parent = parent;
        event->api.root = -1;
        fillApi(&event->api, event, from.p2pApi);
        break;
    case RecordKind::NcclKernelLaunch:
        common(&event->launch, id, context);
        event->launch.parent = parent;
        event->launch.streamHandle = addressOf(from.kernelLaunch.stream);
        event->pushed = event->recorder->cupti().pushExternal(id);
        event->launch.correlated = event->pushed ? 1 : 0;
        break;
    case RecordKind::NcclCopies:
        common(&event->coll, id, context);
        event->coll.parent = parent;
        fillCopies(event, from.ceColl);
        event->pushed = event->recorder->cupti().pushExternal(id);
        break;
    case RecordKind::NcclColl:
        common(&event->coll, id, context);
        event->coll.parent = parent;
        event->coll.group = hasParentGroup ? idOf(from.coll.parentGroup) : parent;
        fillColl(event, from.coll);
        break;
    default:
        common(&event->p2p, id, context);
        event->p2p.parent = parent;
        event->p2p.group = hasParentGroup ? idOf(from.p2p.parentGroup) : parent;
        fillP2p(event, from.p2p);
    }
    publish(event, id, handle);
}

void writeEvent(OpenEvent& event, std::uint64_t stop)
{
    Recorder& recorder = *event.recorder;
    switch (event.kind) {
    case RecordKind::NcclGroup: event.group.stop = stop; return recorder.push(event.kind, event.group);
    case RecordKind::NcclKernelLaunch: event.launch.stop = stop; return recorder.push(event.kind, event.launch);
    case RecordKind::NcclCollApi:
    case RecordKind::NcclP2pApi: {
        event.api.stop = stop;
        const EventText texts[] = {{event.texts[0], offsetof(NcclApi, function)},
                                   {event.texts[1], offsetof(NcclApi, datatype)}};
        return recorder.push(event.kind, event.api, texts, 2);
    }
    case RecordKind::NcclColl:
    case RecordKind::NcclCopies: {
        event.coll.stop = stop;
        const EventText texts[] = {{event.texts[0], offsetof(NcclColl, function)},
                                   {event.texts[1], offsetof(NcclColl, datatype)},
                                   {event.texts[2], offsetof(NcclColl, algorithm)},
                                   {event.texts[3], offsetof(NcclColl, protocol)}};
        return recorder.push(event.kind, event.coll, texts, 4);
    }
    default: {
        event.p2p.stop = stop;
        const EventText texts[] = {{event.texts[0], offsetof(NcclP2p, function)},
                                   {event.texts[1], offsetof(NcclP2p, datatype)}};
        recorder.push(event.kind, event.p2p, texts, 2);
    }
    }
}

} // namespace

Result ncclInitV6(void** context, std::uint64_t commId, int* activation, const char* commName, int nodes, int ranks,
                  int rank, Log)
{
    return init(context, commId, activation, commName, nodes, ranks, rank, 6,
                kGroup | kColl | kP2p | kGroupApi | kCollApi | kP2pApi | kKernelLaunch | kCeColl);
}

Result ncclInitV5(void** context, std::uint64_t commId, int* activation, const char* commName, int nodes, int ranks,
                  int rank, Log)
{
    return init(context, commId, activation, commName, nodes, ranks, rank, 5,
                kGroup | kColl | kP2p | kGroupApi | kCollApi | kP2pApi | kKernelLaunch);
}

Result ncclInitV4(void** context, int* activation, const char* commName, std::uint64_t commId, int nodes, int ranks,
                  int rank, Log)
{
    return init(context, commId, activation, commName, nodes, ranks, rank, 4, kGroup | kColl | kP2p);
}

Result ncclStartV5(void* context, void** event, DescriptionV5* description)
{
    *event = nullptr;
    if (context != nullptr && description != nullptr) start(context, event, *description, true);
    return 0;
}

Result ncclStartV4(void* context, void** event, DescriptionV4* description)
{
    *event = nullptr;
    if (context == nullptr || description == nullptr) return 0;
    DescriptionV5 common{};
    common.type = description->type;
    common.parent = description->parent;
    common.rank = description->rank;
    if (description->type == kColl) {
        std::memcpy(static_cast<void*>(&common.coll), &description->coll, offsetof(Coll, parentGroup));
    } else if (description->type == kP2p) {
        std::memcpy(static_cast<void*>(&common.p2p), &description->p2p, offsetof(P2p, parentGroup));
    }
    start(context, event, common, false);
    return 0;
}

Result ncclStop(void* handle)
{
    const std::uint64_t id = idOf(handle);
    OpenEvent* const events = g_open.load(std::memory_order_acquire);
    if (id == 0 || events == nullptr) return 0;
    OpenEvent& event = events[id % kOpenEvents];
    if (!takeInHand(event, id)) return 0; // given up
    if (event.recorder == Recorder::current()) {
        const CostScope cost(event.recorder->callbackNs, event.recorder->callbacks);
        if (event.pushed) event.recorder->cupti().popExternal();
        writeEvent(event, realtime());
    }
    giveBack(event);
    return 0;
}

Result ncclState(void*, int, void*)
{
    return 0;
}

Result ncclFinalize(void* context)
{
    auto* communicator = static_cast<Communicator*>(context);
    if (communicator == nullptr) return 0;
    communicator->definition.endTime = realtime();
    define(*communicator);
    std::free(communicator);
    return 0;
}

void writeOpenNcclEvents(Recorder& recorder)
{
    OpenEvent* const events = g_open.load(std::memory_order_acquire);
    for (std::size_t i = 0; events != nullptr && i < kOpenEvents; ++i) {
        const std::uint64_t id = events[i].id.load(std::memory_order_relaxed);
        if (id == 0 || id == kInHand || !takeInHand(events[i], id)) continue;
        const bool ours = events[i].recorder == &recorder;
        if (ours) writeEvent(events[i], 0);
        giveBack(events[i], ours ? 0 : id);
    }
}

} // namespace fourwalls::collect::module
