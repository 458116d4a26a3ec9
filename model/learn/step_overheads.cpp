// SPDX-License-Identifier: Apache-2.0
// See step_overheads.h.
#include "model/learn/step_overheads.h"

#include "model/base/median.h"
#include "model/trace/interval_union.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace fourwalls::learn {

namespace {

/// A kernel that was launched so long before its stream was free was not held up by its launch.
constexpr Duration kLaunchedInTime{50'000};
/// Work is beside a transfer from this share of its time on, and alone up to the rest of it.
constexpr double kBeside = 0.9;
/// Executions of one kind that say how long it takes.
constexpr std::size_t kLeastSamples = 3;

bool contains(const std::string& name, std::string_view word)
{
    return name.find(word) != std::string::npos;
}

/// A launch puts work on a stream and returns.
bool launches(const std::string& call)
{
    return contains(call, "Launch") && !contains(call, "HostFunc");
}

/// By its kinds: how long it takes beside something, by how long it takes alone. Kinds count by their time beside it.
template <class Kinds>
Spread ratios(const Kinds& kinds, bool inverse)
{
    std::vector<std::pair<double, double>> all; // ratio, weight
    double weights = 0;
    for (const auto& [kind, sides] : kinds) {
        if (sides.alone.size() < kLeastSamples || sides.beside.size() < kLeastSamples) continue;
        const double alone = median(sides.alone), beside = median(sides.beside);
        if (!(alone > 0) || !(beside > 0)) continue;
        const double weight = beside * static_cast<double>(sides.beside.size());
        all.push_back({inverse ? alone / beside : beside / alone, weight});
        weights += weight;
    }
    if (all.empty()) return {};
    std::sort(all.begin(), all.end());
    const auto at = [&](double share) {
        double sum = 0;
        for (const auto& [ratio, weight] : all)
            if (sum += weight; sum >= share * weights) return ratio;
        return all.back().first;
    };
    return {at(0.5), at(0.25), at(0.75), all.size()};
}

bool isDeviceTrack(TrackKind kind)
{
    return kind != TrackKind::CpuThread && kind != TrackKind::Markers && kind != TrackKind::Steps;
}

} // namespace

void OverheadSamples::addLaunches(const replay::Recording& recording)
{
    // Pieces are by rank, track and start: calls of a thread and work of a stream follow each other.
    std::map<std::pair<std::int32_t, std::int64_t>, const replay::Piece*> launched; // by rank and correlation
    const replay::Piece* before = nullptr;
    for (const replay::Piece& piece : recording.pieces) {
        const OpInfo& op = recording.op(piece);
        if (op.kind != SliceKind::HostCall) continue;
        if (contains(op.name, "Synchronize") || contains(op.name, "Memcpy")) {
            before = nullptr; // the program waits
            continue;
        }
        if (!launches(op.name)) continue;
        if (before && before->track == piece.track && before->step == piece.step)
            m_launch.push_back((piece.start - before->start).seconds());
        before = &piece;
        if (piece.correlation >= 0) launched.try_emplace({piece.rank.value, piece.correlation}, &piece);
    }
    if (launched.empty()) return;
    const replay::Piece* earlier = nullptr;
    for (const replay::Piece& piece : recording.pieces) {
        const TrackKind kind = recording.track(piece).kind;
        if (kind != TrackKind::ComputeStream && kind != TrackKind::CommStream && kind != TrackKind::CopyStream)
            continue;
        const bool follows = earlier && earlier->track == piece.track && earlier->step == piece.step;
        const auto call = launched.find({piece.rank.value, piece.correlation});
        if (follows && call != launched.end()) {
            const Instant asked = call->second->start;
            if (earlier->end <= asked && piece.start >= asked)
                m_latency.push_back((piece.start - asked).seconds());
            else if (asked + kLaunchedInTime <= earlier->end && piece.start >= earlier->end && !piece.isCollective())
                m_gap.push_back((piece.start - earlier->end).seconds());
        }
        if (!follows || piece.end > earlier->end) earlier = &piece;
    }
}

void OverheadSamples::addRank(const replay::Recording& recording, std::size_t first, std::size_t last)
{
    IntervalUnion computing, moving;
    for (std::size_t i = first; i < last; ++i) {
        const replay::Piece& piece = recording.pieces[i];
        if (piece.isCollective()) {
            const CollectiveRecord& record = recording.collectives[piece.collective].record;
            moving.add({std::max(record.start, record.lastArrival), record.end});
        } else if (isDeviceTrack(recording.track(piece).kind) && recording.op(piece).kind == SliceKind::Kernel) {
            computing.add({piece.start, piece.end});
        }
    }
    std::map<std::uint32_t, double> reading;
    for (std::size_t i = first; i < last; ++i) {
        const replay::Piece& piece = recording.pieces[i];
        const OpInfo& op = recording.op(piece);
        const auto share = [](Duration part, Duration whole) {
            return static_cast<double>(part.ns) / static_cast<double>(whole.ns);
        };
        if (op.kind == SliceKind::DataLoading)
            reading[piece.step] += (piece.length() - computing.within({piece.start, piece.end})).seconds();
        if (piece.isCollective()) {
            const CollectiveRecord& record = recording.collectives[piece.collective].record;
            const Instant begin = std::max(record.start, record.lastArrival);
            if (record.end <= begin || !record.payloadBytes) continue;
            const double beside = share(computing.within({begin, record.end}), record.end - begin);
            if (beside > 1 - kBeside && beside < kBeside) continue;
            Sides& sides = m_transfers[{static_cast<int>(record.operation),
                                        recording.info.groups[static_cast<std::size_t>(record.group.value)].name,
                                        *record.payloadBytes}];
            (beside >= kBeside ? sides.beside : sides.alone).push_back((record.end - begin).seconds());
        } else if (op.kind == SliceKind::Kernel && piece.length().ns > 0 &&
                   isDeviceTrack(recording.track(piece).kind)) {
            m_kernelSeconds += piece.length().seconds();
            const double beside = share(moving.within({piece.start, piece.end}), piece.length());
            if (beside > 1 - kBeside && beside < kBeside) continue;
            Sides& sides = m_kernels[{op.name, static_cast<int>(op.phase), op.detail}];
            (beside >= kBeside ? sides.beside : sides.alone).push_back(piece.length().seconds());
        }
    }
    for (const auto& [step, seconds] : reading) m_reading.push_back(seconds);
}

void OverheadSamples::add(const replay::Recording& recording)
{
    addLaunches(recording);
    for (std::size_t first = 0, last = 0; first < recording.pieces.size(); first = last) {
        while (last < recording.pieces.size() && recording.pieces[last].rank == recording.pieces[first].rank) ++last;
        addRank(recording, first, last);
    }
}

StepOverheads OverheadSamples::overheads() const
{
    return {spreadOf(m_launch),  spreadOf(m_latency),      spreadOf(m_gap),
            spreadOf(m_reading), ratios(m_kernels, false), ratios(m_transfers, true)};
}

double OverheadSamples::slowedShare() const
{
    double added = 0;
    for (const auto& [kind, sides] : m_kernels) {
        if (sides.alone.size() < kLeastSamples || sides.beside.size() < kLeastSamples) continue;
        added += static_cast<double>(sides.beside.size()) * (median(sides.beside) - median(sides.alone));
    }
    return m_kernelSeconds > 0 ? std::clamp(added / m_kernelSeconds, 0.0, 0.9) : 0;
}

} // namespace fourwalls::learn
