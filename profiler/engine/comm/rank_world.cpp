// SPDX-License-Identifier: Apache-2.0
// See rank_world.h.
#include "profiler/engine/comm/rank_world.h"

#include "model/spec/rank_layout.h"
#include "profiler/engine/comm/local_exchange.h"
#include "profiler/engine/device/cpu_device.h"

#include <algorithm>
#include <new>
#include <string>
#include <thread>
#include <utility>

namespace fourwalls::engine {

namespace {

// A waiter with a core of its own looks this often before it sleeps (about 20 us); others make room at once.
constexpr int kSpinsWithCore = 1000;
constexpr int kSpinsWithout = 20;

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
        m_spins = m_layout.worldSize() <= cores ? kSpinsWithCore : kSpinsWithout;
    }

    std::unique_ptr<Communicator> communicator(CommContext& context, std::string name, std::vector<RankId> ranks,
                                               RankId own)
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
            auto exchange = std::make_shared<LocalExchange>(ranks, m_failure, m_spins, m_options.patience);
            found = m_groups.emplace(key, SharedGroup{std::move(description), std::move(exchange)}).first;
        }
        const auto place = std::find(ranks.begin(), ranks.end(), own) - ranks.begin();
        return std::make_unique<GroupCommunicator>(
            context, found->second.description,
            std::make_unique<LocalTransport>(found->second.exchange, static_cast<int>(place)));
    }

    std::unique_ptr<ParallelGroups> groupsOf(CommContext& context, RankId rank)
    {
        const auto of = [&](GroupKind kind) {
            return communicator(context, std::string(name(kind)), m_layout.groupMembers(kind, rank), rank);
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
        groups->embedding = communicator(context, "embedding", std::move(ends), rank);
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
    int m_spins = kSpinsWithout;
    std::map<std::pair<std::string, std::vector<RankId>>, SharedGroup> m_groups;
};

Error outOfMemory()
{
    return {ErrorCode::Internal, "out of memory", "training", "a smaller model or batch"};
}

} // namespace

RankSlot::RankSlot(const WorldOptions& options, RankId rank)
{
    const ClockOrigin origin = options.sink ? options.origin : ClockOrigin::now();
    recorder = std::make_unique<Recorder>(options.sink, rank, origin);
    if (options.deviceClock) recorder->startVirtualClock();
    allocator = std::make_unique<Allocator>(*recorder, options.memoryLimit);
    device = options.makeDevice ? options.makeDevice(*recorder, *allocator)
                                : std::make_unique<CpuDevice>(*recorder, *allocator);
    context = std::make_unique<RankContext>(RankContext{*recorder, *allocator, *device, options.format});
}

Status runRanks(const WorldOptions& options, const std::function<Status(RankSlot&)>& work)
{
    const int world = options.plan.worldSize();
    Failure failure;
    if (options.onFailure) failure.addWaker(options.onFailure);
    std::vector<std::unique_ptr<RankSlot>> slots(static_cast<std::size_t>(world));
    {
        SharedGroups groups(options, failure);
        for (int r = 0; r < world; ++r) {
            auto slot = std::make_unique<RankSlot>(options, RankId{r});
            if (world > 1) {
                slot->commThread =
                    std::make_unique<CommThread>(options.sink, RankId{r}, options.origin, options.deviceClock);
                slot->comm.reset(
                    new CommContext{*slot->recorder, *slot->allocator, *slot->commThread, options.links, {}});
                slot->groups = groups.groupsOf(*slot->comm, RankId{r});
                slot->context->groups = slot->groups.get();
            }
            slots[static_cast<std::size_t>(r)] = std::move(slot);
        }
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
        const RankId rank = slot.recorder->rank();
        if (failure.report(rank, *error)) slot.recorder->event(EventKind::Fault, "failed: " + error->what);
    };
    // Nothing of a rank goes before all are done: others may still read its memory.
    std::vector<std::thread> threads;
    for (const auto& slot : slots) threads.emplace_back([&runOne, &slot] { runOne(*slot); });
    for (std::thread& thread : threads) thread.join();
    for (const auto& slot : slots)
        if (slot->commThread) slot->commThread->close();
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
