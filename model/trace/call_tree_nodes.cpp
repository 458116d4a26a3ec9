// SPDX-License-Identifier: Apache-2.0
// See call_tree_nodes.h.
#include "model/trace/call_tree_nodes.h"

#include <string_view>

namespace fourwalls {

namespace {

std::uint64_t pairOf(std::uint32_t parent, std::uint32_t what)
{
    return std::uint64_t{parent} << 32 | what;
}

} // namespace

std::uint32_t CallTreeNodes::nodeOf(std::uint32_t parent, OpId op, const OpInfo& info)
{
    const auto [byOp, isNewOp] = m_byOp.try_emplace(pairOf(parent, static_cast<std::uint32_t>(op.value)), 0);
    if (!isNewOp) return byOp->second;
    const std::string key = nodeName(info) + '\0' + std::to_string(static_cast<int>(info.phase));
    const std::uint32_t named = m_names.try_emplace(key, static_cast<std::uint32_t>(m_names.size())).first->second;
    const auto [byName, isNew] = m_byName.try_emplace(pairOf(parent, named), 0);
    if (isNew) {
        if (isFull()) return byName->second = byOp->second = parent;
        byName->second = static_cast<std::uint32_t>(m_nodes.size());
        m_nodes.push_back({parent, op});
    }
    return byOp->second = byName->second;
}

void CallTreeNodes::finish()
{
    decltype(m_byOp)().swap(m_byOp); // = {} would keep the room
    decltype(m_byName)().swap(m_byName);
    decltype(m_names)().swap(m_names);
    m_nodes.shrink_to_fit();
}

void LaunchedWork::finish()
{
    std::sort(m_work.begin(), m_work.end());
    std::size_t kept = 0;
    for (std::size_t i = 0; i < m_work.size(); ++i) {
        if (kept > 0 && m_work[kept - 1].first == m_work[i].first)
            m_work[kept - 1].second += m_work[i].second;
        else
            m_work[kept++] = m_work[i];
    }
    m_work.resize(kept);
    m_work.shrink_to_fit();
}

Duration LaunchedWork::of(const SliceView& launch) const
{
    if (!launch.correlation || m_work.empty()) return {};
    const auto found = std::lower_bound(m_work.begin(), m_work.end(), launch.correlation->value,
                                        [](const auto& work, std::int64_t id) { return work.first < id; });
    return found != m_work.end() && found->first == launch.correlation->value ? found->second : Duration{};
}

bool isDeviceTrack(TrackKind kind)
{
    return kind == TrackKind::ComputeStream || kind == TrackKind::CommStream || kind == TrackKind::CopyStream;
}

bool isHostTrack(TrackKind kind)
{
    return kind == TrackKind::CpuThread || kind == TrackKind::Operators || kind == TrackKind::Other;
}

bool hasNodes(CallTreeBy by, bool isFrames)
{
    switch (by) {
    case CallTreeBy::Operator:
    case CallTreeBy::Range: return !isFrames;
    case CallTreeBy::Frame: return isFrames;
    case CallTreeBy::Module: return true;
    }
    return false;
}

std::string nodeName(const OpInfo& op)
{
    if (op.kind != SliceKind::Step) return op.name;
    const std::string_view name = std::string_view(op.name).substr(0, op.name.find_first_of("0123456789"));
    const std::size_t last = name.find_last_not_of(" #_-:(");
    return last == std::string_view::npos ? op.name : std::string(name.substr(0, last + 1));
}

bool isNode(CallTreeBy by, const OpInfo& op, bool isFrames)
{
    // The profiler's own span, as long as the recording, called nothing.
    if (op.kind == SliceKind::Marker && op.name.starts_with("PyTorch Profiler (")) return false;
    switch (by) {
    case CallTreeBy::Operator: return true;
    case CallTreeBy::Frame: return isFrames;
    case CallTreeBy::Module: return op.kind == SliceKind::Layer;
    case CallTreeBy::Range: return op.kind == SliceKind::Marker;
    }
    return false;
}

} // namespace fourwalls
