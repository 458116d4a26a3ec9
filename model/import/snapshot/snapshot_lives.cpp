// SPDX-License-Identifier: Apache-2.0
// One walk along the history of a device. What runs is known from who allocates: forward, backward or optimizer, each
// change of which begins a new era.
#include "model/import/snapshot/snapshot_lives.h"

#include <algorithm>
#include <optional>

namespace fourwalls::importers {

namespace {

enum class Running : std::uint8_t { Unknown, Forward, Backward, Optimizer };

constexpr MemoryCategory kUndecided = MemoryCategory::Other;

class PurposeWalk {
public:
    PurposeWalk(const SnapshotStacks& stacks, const SnapshotHistory& history) : m_stacks(stacks), m_history(history) {}

    SnapshotPurposes run()
    {
        m_found.made.assign(m_history.size(), static_cast<std::uint8_t>(kUndecided));
        m_found.freesSayWho = freesSayWho();
        for (std::size_t i = 0; i < m_history.size(); ++i) {
            const SnapshotEntry each = m_history[i];
            if (each.action == SnapshotAction::Alloc)
                allocated(i, each);
            else if (each.action == SnapshotAction::FreeCompleted)
                freed(each);
            else if (each.action == SnapshotAction::OutOfMemory)
                m_failedInEra = m_era;
        }
        atTheEnd();
        return std::move(m_found);
    }

private:
    struct Live {
        std::size_t entry = 0;
        std::int32_t stack = -1;
        StackRole role = StackRole::None;
        std::uint32_t era = 0, backwards = 0; ///< the era it was made in; passes begun until then
        bool inBackward = false;
    };
    struct Votes {
        std::uint32_t count[kMemoryCategoryCount] = {};
    };

    /// Whether frees have their own stacks: where buffers are freed by the very stack that made them, it is the maker's.
    bool freesSayWho() const
    {
        std::unordered_map<std::int64_t, std::int32_t> makers;
        std::int64_t same = 0, other = 0;
        for (std::size_t i = 0; i < m_history.size() && same + other < 10'000; ++i) {
            const SnapshotEntry each = m_history[i];
            if (each.action == SnapshotAction::Alloc) makers[each.address] = each.frame;
            if (each.action != SnapshotAction::FreeCompleted || each.frame < 0) continue;
            const auto maker = makers.find(each.address);
            if (maker == makers.end() || maker->second < 0) continue;
            ++(maker->second == each.frame ? same : other);
        }
        return other > same / 9;
    }

    void runs(Running now)
    {
        if (now == m_running) return;
        m_running = now;
        ++m_era;
        if (now == Running::Backward) ++m_backwards;
    }

    static Running runningOf(StackRole role, bool inBackward)
    {
        if (inBackward || role == StackRole::Backward) return Running::Backward;
        if (role == StackRole::Optimizer) return Running::Optimizer;
        return role == StackRole::Module || role == StackRole::Silent || role == StackRole::WeightSetUp
                   ? Running::Forward
                   : Running::Unknown;
    }

    void allocated(std::size_t i, const SnapshotEntry& each)
    {
        Live made{i, each.frame, m_stacks.role(each.frame), 0, 0, m_stacks.inBackward(each.frame)};
        // The thread of the backward pass has no Python frames. The pass begins with a gradient that the caller makes;
        // until the caller goes on, what has no stack is made by that thread.
        if (made.role == StackRole::None && m_running == Running::Backward) made.role = StackRole::Backward;
        if (const Running now = runningOf(made.role, made.inBackward); now != Running::Unknown) runs(now);
        made.era = m_era;
        made.backwards = m_backwards;
        m_live[each.address] = made;
    }

    void freed(const SnapshotEntry& each)
    {
        const StackRole by = m_found.freesSayWho ? m_stacks.role(each.frame) : StackRole::None;
        const bool inBackward = m_found.freesSayWho && m_stacks.inBackward(each.frame);
        if (inBackward && m_running == Running::Forward) runs(Running::Backward);
        const auto found = m_live.find(each.address);
        if (found == m_live.end()) {
            MemoryCategory category = kUndecided;
            if (by == StackRole::Optimizer)
                category = MemoryCategory::OptimizerState;
            else if (by == StackRole::ZeroGradients)
                category = MemoryCategory::Gradients;
            else if (inBackward)
                category = MemoryCategory::Activations;
            if (category != kUndecided)
                m_found.before.try_emplace(each.address, category); // a later free is of no known buffer
            return;
        }
        decide(found->second, ofFreed(found->second, by, inBackward));
        m_live.erase(found);
    }

    MemoryCategory ofFreed(const Live& life, StackRole by, bool inBackward) const
    {
        const bool sameEra = life.era == m_era;
        const bool seenBackward =
            m_running == Running::Backward || inBackward ? !sameEra || life.inBackward : m_backwards > life.backwards;
        switch (life.role) {
        case StackRole::Communication: return MemoryCategory::CommBuffers;
        case StackRole::Workspace: return MemoryCategory::Workspace;
        case StackRole::Optimizer: return sameEra ? MemoryCategory::Temporaries : MemoryCategory::OptimizerState;
        case StackRole::Backward: return sameEra ? MemoryCategory::Temporaries : MemoryCategory::Gradients;
        case StackRole::WeightSetUp: return sameEra ? MemoryCategory::Temporaries : MemoryCategory::Weights;
        case StackRole::Module: return seenBackward ? MemoryCategory::Activations : MemoryCategory::Temporaries;
        case StackRole::Silent:
            if (by == StackRole::ZeroGradients) return MemoryCategory::Gradients;
            return inBackward && !sameEra ? MemoryCategory::Activations : kUndecided;
        case StackRole::None:
        case StackRole::ZeroGradients: break;
        }
        return kUndecided;
    }

    void decide(const Live& life, MemoryCategory category)
    {
        m_found.made[life.entry] = static_cast<std::uint8_t>(category);
        if (m_backwards == 0 && life.role == StackRole::Module) {
            m_passing.push_back(life.entry);
            return;
        }
        if (life.stack < 0 || category == kUndecided) return;
        m_votes.resize(std::max(m_votes.size(), static_cast<std::size_t>(life.stack) + 1));
        ++m_votes[static_cast<std::size_t>(life.stack)].count[static_cast<std::size_t>(category)];
    }

    void atTheEnd()
    {
        // Where no backward pass is in the history, what a module made may be for one that comes later.
        if (m_backwards == 0)
            for (const std::size_t entry : m_passing) m_found.made[entry] = static_cast<std::uint8_t>(kUndecided);
        for (const auto& [address, life] : m_live) {
            // A run that ended without memory in the middle of something leaves buffers of which nobody knows how long they
            // would have lived.
            const bool cut = m_failedInEra == life.era;
            MemoryCategory category = kUndecided;
            switch (life.role) {
            case StackRole::Communication: category = MemoryCategory::CommBuffers; break;
            case StackRole::Workspace: category = MemoryCategory::Workspace; break;
            case StackRole::Optimizer: category = cut ? kUndecided : MemoryCategory::OptimizerState; break;
            case StackRole::Backward: category = cut ? kUndecided : MemoryCategory::Gradients; break;
            case StackRole::WeightSetUp: category = MemoryCategory::Weights; break;
            case StackRole::Module:
                category = m_backwards > life.backwards ? MemoryCategory::Activations : kUndecided;
                break;
            case StackRole::None:
            case StackRole::Silent:
            case StackRole::ZeroGradients: break;
            }
            if (category == kUndecided) category = asOthersOf(life.stack).value_or(kUndecided);
            m_found.made[life.entry] = static_cast<std::uint8_t>(category);
        }
    }

    /// What all buffers of the stack were that the history shows to their end.
    std::optional<MemoryCategory> asOthersOf(std::int32_t stack) const
    {
        if (stack < 0 || static_cast<std::size_t>(stack) >= m_votes.size()) return std::nullopt;
        const auto& count = m_votes[static_cast<std::size_t>(stack)].count;
        std::optional<MemoryCategory> only;
        for (int i = 0; i < kMemoryCategoryCount; ++i) {
            if (count[i] == 0) continue;
            if (only) return std::nullopt;
            only = static_cast<MemoryCategory>(i);
        }
        return only;
    }

    const SnapshotStacks& m_stacks;
    const SnapshotHistory& m_history;
    SnapshotPurposes m_found;
    std::unordered_map<std::int64_t, Live> m_live; ///< by address
    std::vector<Votes> m_votes;                    ///< by stack
    std::vector<std::size_t> m_passing;            ///< of modules, freed before any backward pass
    Running m_running = Running::Unknown;
    std::uint32_t m_era = 0, m_backwards = 0;
    std::optional<std::uint32_t> m_failedInEra;
};

} // namespace

SnapshotPurposes purposesOf(const MemorySnapshot& snapshot, std::size_t device)
{
    if (device >= snapshot.history.size()) return {};
    return PurposeWalk(snapshot.stacks, snapshot.history[device]).run();
}

MemoryCategory purposeOfStack(const SnapshotStacks& stacks, std::int32_t stack)
{
    switch (stacks.role(stack)) {
    case StackRole::Communication: return MemoryCategory::CommBuffers;
    case StackRole::Workspace: return MemoryCategory::Workspace;
    case StackRole::Optimizer: return MemoryCategory::OptimizerState;
    case StackRole::Backward: return MemoryCategory::Gradients;
    case StackRole::WeightSetUp: return MemoryCategory::Weights;
    case StackRole::Module:
    case StackRole::Silent:
    case StackRole::None:
    case StackRole::ZeroGradients: break;
    }
    return kUndecided;
}

} // namespace fourwalls::importers
