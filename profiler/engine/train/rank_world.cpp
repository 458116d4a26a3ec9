// SPDX-License-Identifier: Apache-2.0
// See rank_world.h.
#include "profiler/engine/train/rank_world.h"

#include "model/spec/rank_layout.h"
#include "profiler/engine/comm/hang_watch.h"
#include "profiler/engine/comm/local_exchange.h"
#include "profiler/engine/device/cpu_device.h"

#include <algorithm>
#include <new>
#include <string>
#include <thread>
#include <utility>

namespace fourwalls::engine {

namespace {

// A waiter with a core of its own looks this long before it sleeps: waking a sleeper takes 50 us on a busy virtual
// machine. Others make room at once.
constexpr std::chrono::microseconds kSpinWithCore{200};

// One group of the world: what its members share.
struct SharedGroup {
    GroupDescription description;
    std::shared_ptr<LocalExchange> exchange;
};

class SharedGroups {
public:
    SharedGroups(const WorldOptions& options, Failure& failure)
        : m_options(options)
        , m_layout(options.plan)
        , m_failure(failure)
    {
        const auto cores = static_cast<int>(std::thread::hardware_concurrency());
        if (m_layout.worldSize() <= cores) m_spin = kSpinWithCore;
    }

    // number: the same for groups of one name, see ProcessWorld.
    std::unique_ptr<Communicator> communicator(CommContext& context, int number, std::string name,
                                               std::vector<RankId> ranks, RankId own)
    {
        const auto key = std::pair(name, ranks);
        auto found = m_groups.find(key);
        if (found == m_groups.end()) {
            GroupDescription description;
            description.name = std::move(name);
            description.ranks = ranks;
            description.algorithm = m_options.plan.collective;
            description.membersPerNode = membersPerNode(ranks);
            if (m_options.collectiveLinks)
                description.choose = [links = *m_options.collectiveLinks](const CollectiveShape& shape, double width) {
                    return chooseAlgorithm(shape, width, links);
                };
            description.pipeline = description.name == "pp";
            for (const RankId rank : ranks)
                if (m_layout.coordinates(rank).stage != m_layout.coordinates(ranks.front()).stage)
                    description.acrossStages = true;
            description.messagesOnly = m_options.collectives != nullptr;
            std::shared_ptr<LocalExchange> exchange;
            if (!m_options.processes)
                exchange = std::make_shared<LocalExchange>(ranks, m_failure, m_spin, m_options.patience);
            found = m_groups.emplace(key, SharedGroup{std::move(description), std::move(exchange)}).first;
        }
        const auto place = static_cast<int>(std::find(ranks.begin(), ranks.end(), own) - ranks.begin());
        std::unique_ptr<Transport> transport;
        if (m_options.processes)
            transport = m_options.processes->transport(number, std::move(ranks), place);
        else
            transport = std::make_unique<LocalTransport>(found->second.exchange, place);
        const GroupDescription& group = found->second.description;
        auto communicator = std::make_unique<GroupCommunicator>(context, group, std::move(transport));
        if (!m_options.collectives || group.ranks.size() < 2) return communicator;
        return m_options.collectives->communicator(own, group, std::move(communicator));
    }

    std::unique_ptr<ParallelGroups> groupsOf(CommContext& context, RankId rank)
    {
        int number = 0;
        const auto of = [&](GroupKind kind) {
            return communicator(context, number++, std::string(name(kind)), m_layout.groupMembers(kind, rank), rank);
        };
        auto groups = std::make_unique<ParallelGroups>();
        groups->plan = m_options.plan;
        groups->world = of(GroupKind::World);
        groups->tensor = of(GroupKind::Tensor);
        groups->context = of(GroupKind::Context);
        groups->data = of(GroupKind::Data);
        groups->gradient = of(GroupKind::DataContext);
        groups->pipeline = of(GroupKind::Pipeline);
        groups->expert = of(GroupKind::Expert);
        groups->expertData = of(GroupKind::ExpertData);
        const int stage = m_layout.coordinates(rank).stage;
        std::vector<RankId> ends{rank};
        if (m_options.plan.pp > 1 && (stage == 0 || stage == m_options.plan.pp - 1))
            ends = {m_layout.onStage(rank, 0), m_layout.onStage(rank, m_options.plan.pp - 1)};
        groups->embedding = communicator(context, number, "embedding", std::move(ends), rank);
        return groups;
    }

private:
    // Members that share a node, if the group is cut evenly by nodes; else 0.
    int membersPerNode(const std::vector<RankId>& ranks) const
    {
        const int perNode = m_options.ranksPerNode;
        if (perNode <= 0) return 0;
        const auto node = [perNode](RankId rank) { return rank.value / perNode; };
        std::size_t first = 0;
        while (first < ranks.size() && node(ranks[first]) == node(ranks.front())) ++first;
        for (std::size_t i = 0; i < ranks.size(); ++i)
            if (node(ranks[i]) != node(ranks[i / first * first])) return 0;
        return ranks.size() % first == 0 ? static_cast<int>(first) : 0;
    }

    const WorldOptions& m_options;
    RankLayout m_layout;
    Failure& m_failure;
    std::chrono::nanoseconds m_spin{0};
    std::map<std::pair<std::string, std::vector<RankId>>, SharedGroup> m_groups;
};

Error outOfMemory()
{
    return {ErrorCode::Internal, "out of memory", "training", "a smaller model or batch"};
}

// This process's rank has failed: by itself, which the others are told, or because another one did. Either way its own
// recording says so.
void failProcess(RankSlot& slot, ProcessWorld& processes, Failure& failure, const Error& error)
{
    const RankId rank = slot.recorder->rank();
    if (const auto lost = processes.meeting().lost()) failure.report(lost->rank, lost->error);
    const bool own = failure.report(rank, error);
    if (own) processes.meeting().fail(error);
    const Failure::Cause cause = failure.cause();
    slot.recorder->event(EventKind::Fault, own || cause.rank == rank ? "failed: " + error.what
                                                                     : "rank " + std::to_string(cause.rank.value) +
                                                                           " failed: " + cause.error.what);
}

/// The first word about it counts.
void noteFailure(const WorldOptions& options, const Recorder& recorder, const Failure& failure)
{
    if (!options.notes) return;
    const Failure::Cause cause = failure.cause();
    options.notes->add({.what = JobNote::What::Detected, .rank = cause.rank, .at = recorder.wallNow()},
                       cause.error.what);
}

/// A rank that is a thread has a flight recorder where it has to stand still.
void prepareHangs(const WorldOptions& options, RankSlot& slot, Failure& failure)
{
    const RankId rank = slot.recorder->rank();
    for (const Fault& fault : options.hangs) {
        if (fault.rank != rank) continue;
        if (!slot.flight) {
            slot.flight = std::make_unique<FlightRecorder>(rank);
            failure.addWaker([flight = slot.flight.get()] { flight->release(); });
        }
        slot.flight->hangAt(fault.step, fault.operation, [&options, fault] {
            if (options.onHang) options.onHang(fault);
        });
    }
}

} // namespace

RankSlot::RankSlot(const WorldOptions& options, RankId rank)
{
    const ClockOrigin origin = options.sink ? options.origin : ClockOrigin::now();
    recorder = std::make_unique<Recorder>(options.sink, rank, origin);
    recorder->numberFor(options.attempt);
    if (options.deviceClock) recorder->startVirtualClock();
    if (options.makeMemory) memory = options.makeMemory(rank);
    recorder->followDevice(memory.get());
    allocator = std::make_unique<Allocator>(*recorder, options.memoryLimit, Allocator::Pool::Device, memory.get());
    device = options.makeDevice ? options.makeDevice(*recorder, *allocator)
                                : std::make_unique<CpuDevice>(*recorder, *allocator);
    context = std::make_unique<RankContext>(RankContext{*recorder, *allocator, *device, options.format});
}

Status runRanks(const WorldOptions& options, const std::function<Status(RankSlot&)>& work)
{
    const int world = options.plan.worldSize();
    ProcessWorld* const processes = options.processes;
    Failure failure;
    if (options.onFailure) failure.addWaker(options.onFailure);
    std::vector<RankId> ranks;
    for (int r = 0; r < world; ++r)
        if (!processes || processes->rank().value == r) ranks.push_back(RankId{r});
    if (processes) processes->watch(&failure);
    DeviceCollectives* const collectives = options.collectives.get();
    std::vector<std::unique_ptr<RankSlot>> slots;
    try {
        SharedGroups groups(options, failure);
        for (const RankId rank : ranks) {
            auto slot = std::make_unique<RankSlot>(options, rank);
            if (world > 1) {
                slot->commThread = std::make_unique<CommThread>(options.sink, rank, options.origin, options.deviceClock,
                                                                options.attempt);
                if (processes) slot->flight = std::make_unique<FlightRecorder>(rank);
                prepareHangs(options, *slot, failure);
                slot->comm.reset(new CommContext{*slot->recorder,
                                                 *slot->allocator,
                                                 *slot->commThread,
                                                 options.links,
                                                 {},
                                                 slot->memory ? slot->memory->beside() : nullptr,
                                                 slot->flight.get()});
            }
            if (collectives) collectives->join(*slot, options, failure);
            if (world > 1) {
                slot->groups = groups.groupsOf(*slot->comm, rank);
                slot->context->groups = slot->groups.get();
            }
            slots.push_back(std::move(slot));
        }
        if (collectives) collectives->open();
    } catch (const EngineError& caught) {
        if (collectives) collectives->close();
        if (processes) processes->watch(nullptr);
        return caught.error();
    }
    const auto runOne = [&](RankSlot& slot) {
        useSingleThread();
        std::optional<Error> error;
        try {
            const Status status = work(slot);
            if (!status.ok()) error = status.error();
        } catch (const EngineError& caught) {
            error = caught.error();
        } catch (const std::bad_alloc&) {
            error = outOfMemory();
        } catch (const std::exception& caught) {
            error = Error{ErrorCode::Internal, caught.what(), "training", ""};
        }
        if (!error) return;
        if (processes) {
            failProcess(slot, *processes, failure, *error);
            return noteFailure(options, *slot.recorder, failure);
        }
        if (failure.report(slot.recorder->rank(), *error)) {
            noteFailure(options, *slot.recorder, failure);
            slot.recorder->event(EventKind::Fault, "failed: " + error->what);
        }
        if (collectives) collectives->giveUp(slot.recorder->rank());
    };
    std::unique_ptr<HangWatch> hangWatch;
    if (processes && world > 1)
        hangWatch = std::make_unique<HangWatch>(*slots.front()->flight, options.hang, *processes, failure);
    // Nothing of a rank goes before all are done: others may still read its memory.
    std::vector<std::thread> threads;
    for (const auto& slot : slots) threads.emplace_back([&runOne, &slot] { runOne(*slot); });
    for (std::thread& thread : threads) thread.join();
    hangWatch.reset();
    for (const auto& slot : slots)
        if (slot->commThread) slot->commThread->close();
    if (collectives) collectives->close();
    if (processes) {
        // Connections stay until everybody has what was sent.
        if (!failure.happened())
            if (const auto all = processes->meeting().gather("work", ""); !all) failure.report(RankId{}, all.error());
        if (failure.happened()) processes->giveUp(); // nobody waits for what is under way
        slots.clear();
        processes->watch(nullptr);
    }
    if (!failure.happened()) return {};
    Failure::Cause cause = failure.cause();
    if (world > 1) {
        const std::string rank = "rank " + std::to_string(cause.rank.value);
        cause.error.where =
            cause.error.where.empty() || cause.error.where == rank ? rank : rank + ", " + cause.error.where;
    }
    return cause.error;
}

Status runRanks(const ParallelPlan& plan, NumberFormat format, const std::function<void(RankContext&)>& work,
                DeviceFactory makeDevice)
{
    WorldOptions options;
    options.plan = plan;
    options.format = format;
    options.makeDevice = std::move(makeDevice);
    return runRanks(options, [&work](RankSlot& slot) -> Status {
        work(*slot.context);
        return {};
    });
}

} // namespace fourwalls::engine
