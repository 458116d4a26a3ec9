// SPDX-License-Identifier: Apache-2.0
// See operator_rates.h.
#include "model/learn/operator_rates.h"

#include "model/learn/shaped_work.h"
#include "model/replay/replay_graph.h"
#include "model/trace/spec_evidence.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>

namespace fourwalls::learn {

namespace {

/// Points of a grid: what a file holds without becoming unreadable, and what pricing looks at.
constexpr std::size_t kMostCells = 4096;

/// A shape that was met.
struct RatePoint {
    std::vector<double> shape;
    double rate = 0, seconds = 0; ///< seconds: of all that were met
};

/// Rate before anything was learned. Products by the tiles of the device, the rest by its memory.
double rateBefore(const cost::DeviceRates& rates, const std::string& name, const std::vector<double>& shape)
{
    const auto measured = [&]() -> std::optional<double> {
        if (!rates.measured) return std::nullopt;
        const auto found = rates.measured->find(name);
        if (found == rates.measured->end() || found->second.axes.size() != shape.size()) return std::nullopt;
        return found->second.at(shape);
    }();
    if (measured) return *measured;
    if (shape.size() == 3) {
        const double seconds = cost::gemmSeconds(rates, 1, shape[0], shape[1], shape[2]);
        return seconds > 0 ? 2 * shape[0] * shape[1] * shape[2] / seconds : 1;
    }
    if (shape.size() == 2)
        return std::max(1.0, cost::attentionRate(rates, name.ends_with("backward"), shape[0], shape[1]));
    const double rate = cost::memoryRate(rates, cost::memoryClassOf(name));
    return rate > 0 ? shape[0] / (shape[0] / rate + rates.kernelSeconds) : 1;
}

/// The rates of a core with what its own products tell of how much of their time goes into operands: beside their launch all
/// take their FLOPs at one rate and their bytes at another, by least squares of relative errors. A trace has few shapes, often
/// of few rows, so that and what is usual count by how certain each is. Of fewer shapes the rates stay as they were.
cost::DeviceRates withProducts(cost::DeviceRates rates, const std::vector<RatePoint>& products)
{
    constexpr std::size_t kLeast = 6;
    constexpr double kUsualSpread = 0.2; // of the usual share, standard deviation
    if (!rates.fetchesInTurn || products.size() < kLeast) return rates;
    double ff = 0, fb = 0, bb = 0, f = 0, b = 0;
    for (const RatePoint& point : products) {
        const double m = point.shape[0], n = point.shape[1], k = point.shape[2], flops = 2 * m * n * k;
        const double met = flops / point.rate, seconds = std::max(met - rates.gemmKernelSeconds, met / 10),
                     work = flops / seconds, bytes = rates.operandBytes * (m * k + k * n + m * n) / seconds;
        ff += work * work;
        fb += work * bytes;
        bb += bytes * bytes;
        f += work;
        b += bytes;
    }
    const double determinant = ff * bb - fb * fb;
    if (!(determinant > 1e-9 * ff * bb)) return rates;
    const double perFlop = (f * bb - b * fb) / determinant, perByte = (b * ff - f * fb) / determinant;
    if (!(perFlop > 0)) return rates;
    const auto count = static_cast<double>(products.size());
    const double scatter = std::max(0.0, count - perFlop * f - perByte * b) / (count - 2);
    const double own = perByte / perFlop, usual = rates.gemmFlops / rates.streamBytes; // FLOPs in the time of a byte
    // Of a quotient of two coefficients, whose variances and covariance the same matrix gives.
    const double variance = scatter * (ff + own * own * bb + 2 * own * fb) / (determinant * perFlop * perFlop);
    const double spread = kUsualSpread * usual, trust = spread * spread / (spread * spread + variance);
    rates.streamBytes = rates.gemmFlops / (usual + trust * (std::max(0.0, own) - usual));
    return rates;
}

/// Those with most time, as long as the grid through them stays small.
std::vector<RatePoint> fitting(std::vector<RatePoint> points, std::size_t& leftOut)
{
    std::stable_sort(points.begin(), points.end(),
                     [](const RatePoint& a, const RatePoint& b) { return a.seconds > b.seconds; });
    std::vector<RatePoint> kept;
    std::vector<std::set<double>> axes(points.front().shape.size());
    for (RatePoint& point : points) {
        std::vector<std::set<double>> wider = axes;
        std::size_t cells = 1;
        for (std::size_t i = 0; i < wider.size(); ++i) {
            wider[i].insert(point.shape[i]);
            cells *= wider[i].size();
        }
        if (cells > kMostCells) {
            ++leftOut;
            continue;
        }
        axes = std::move(wider);
        kept.push_back(std::move(point));
    }
    return kept;
}

/// Puts points on an axis beyond what was met, where the rates before say how it goes on; as many as the grid holds. Returns
/// the cells that it has then.
std::size_t goBeyond(std::vector<double>& axis, std::size_t cells)
{
    constexpr int kDoublings = 4;
    const std::size_t others = cells / axis.size();
    for (int i = 0; i < kDoublings && others * (axis.size() + 2) <= kMostCells; ++i) {
        axis.insert(axis.begin(), axis.front() / 2);
        axis.push_back(axis.back() * 2);
    }
    return others * axis.size();
}

RateGrid gridThrough(const std::vector<RatePoint>& points, const cost::DeviceRates& before, const std::string& name)
{
    RateGrid grid;
    const std::size_t dimensions = points.front().shape.size();
    std::size_t cells = 1;
    for (std::size_t i = 0; i < dimensions; ++i) {
        std::set<double> axis;
        for (const RatePoint& point : points) axis.insert(point.shape[i]);
        grid.axes.emplace_back(axis.begin(), axis.end());
        cells *= axis.size();
    }
    for (std::vector<double>& axis : grid.axes) cells = goBeyond(axis, cells);
    std::vector<double> ratios; // of what was measured to what the rates before say, as logarithms
    for (const RatePoint& point : points)
        ratios.push_back(std::log(point.rate / rateBefore(before, name, point.shape)));
    for (std::size_t cell = 0; cell < cells; ++cell) {
        std::vector<double> shape(dimensions);
        for (std::size_t i = dimensions, rest = cell; i-- > 0; rest /= grid.axes[i].size())
            shape[i] = grid.axes[i][rest % grid.axes[i].size()];
        double weights = 0, sum = 0;
        const RatePoint* same = nullptr;
        for (std::size_t p = 0; p < points.size() && !same; ++p) {
            double distance = 0;
            for (std::size_t i = 0; i < dimensions; ++i)
                distance += std::pow(std::log(shape[i] / points[p].shape[i]), 2);
            if (distance == 0) {
                same = &points[p];
            } else {
                weights += 1 / distance;
                sum += ratios[p] / distance;
            }
        }
        grid.rates.push_back(same ? same->rate : rateBefore(before, name, shape) * std::exp(sum / weights));
    }
    return grid;
}

/// shapes: points by shape, with `work` and `seconds`. Those with a time.
template <typename Shapes>
std::vector<RatePoint> ratePoints(const Shapes& shapes)
{
    std::vector<RatePoint> points;
    for (const auto& [shape, point] : shapes)
        if (const Spread spread = spreadOf(point.seconds); spread.median > 0)
            points.push_back(
                {shape, point.work / spread.median, spread.median * static_cast<double>(point.seconds.size())});
    return points;
}

} // namespace

void OperatorRateSamples::add(const replay::Recording& recording)
{
    std::unordered_map<std::int32_t, std::pair<Kernel*, Point*>> known; // by operator
    const bool sharded = std::any_of(recording.ops.begin(), recording.ops.end(),
                                     [](const auto& op) { return op && op->name == "row maxima"; });
    for (const replay::Piece& piece : recording.pieces) {
        if (piece.isCollective() || piece.op.value < 0 || piece.length().ns <= 0) continue;
        const auto [found, isNew] = known.try_emplace(piece.op.value, nullptr, nullptr);
        if (isNew) {
            const OpInfo& op = recording.op(piece);
            if (op.kind != SliceKind::Kernel) continue;
            const auto bytes = static_cast<double>(op.bytes);
            Kernel& kernel = m_kernels[{op.name, op.detail, static_cast<int>(op.phase), op.flops, bytes}];
            kernel.phase = op.phase;
            kernel.flops = op.flops;
            kernel.bytes = bytes;
            found->second.first = &kernel;
            const auto work = shapedWork(op, m_elementBytes, m_lossBytes);
            if (Point* part = sharded ? pointOfLoss(op) : nullptr) {
                kernel.rate = "loss.sharded";
                found->second.second = part;
            } else if (work && work->work > 0) {
                kernel.rate = work->name;
                Point& point = work->inside > 0 ? m_withResidual[work->shape] : m_points[work->name][work->shape];
                point.work = work->work;
                point.inside = work->inside;
                found->second.second = &point;
            }
        }
        if (!found->second.first) continue;
        const double seconds = piece.length().seconds();
        found->second.first->seconds.push_back(seconds);
        if (found->second.second) found->second.second->seconds.push_back(seconds);
    }
    addProducts(recording);
}

/// Cut over ranks the loss is three kernels over the same logits, of which none is the whole of it.
OperatorRateSamples::Point* OperatorRateSamples::pointOfLoss(const OpInfo& op)
{
    constexpr std::array<std::string_view, 3> kKernels{"row maxima", "cross entropy exponentials", "cross entropy"};
    const auto kernel = std::find(kKernels.begin(), kKernels.end(), op.name);
    const std::vector<Shape> shapes = shapesOf(op.detail, 1);
    if (kernel == kKernels.end() || shapes.empty() || shapes.front().size() != 2) return nullptr;
    const double logits = static_cast<double>(shapes.front()[0]) * static_cast<double>(shapes.front()[1]);
    return &m_shardedLoss[logits][static_cast<std::size_t>(kernel - kKernels.begin())];
}

void OperatorRateSamples::joinLoss(Points& points) const
{
    for (const auto& [logits, kernels] : m_shardedLoss) {
        double seconds = 0;
        for (const Point& kernel : kernels) seconds += spreadOf(kernel.seconds).median;
        if (std::ranges::all_of(kernels, [](const Point& kernel) { return !kernel.seconds.empty(); }))
            points["loss.sharded"][{m_lossBytes / 2 * logits}] = {m_lossBytes * logits, 0, {seconds}};
    }
    // Whole or cut, the same is done with a logit.
    for (const auto& [from, to] : {std::pair{"loss", "loss.sharded"}, std::pair{"loss.sharded", "loss"}})
        if (points.contains(from) && !points.contains(to)) points[to] = points[from];
}

/// Residual sums get a rate, and products that add one as well are priced without it: the product alone and the sum's own
/// reading are what the cost model asks for, and where a tensor group cuts the product the sum is a kernel by itself.
void OperatorRateSamples::takeResidualsOut(Points& points, const cost::DeviceRates& before) const
{
    constexpr double kPasses = 3; // of a sum that is a kernel
    constexpr double kMost = 0.3; // of a product's time
    if (!points.contains("residual")) {
        // Not met: as much quicker than the rates before as the other kernels that only move and add. What these read was just
        // written, and lies in a cache.
        double logarithm = 0, bytes = 0;
        int kinds = 0;
        for (const char* name : {"bias.gradient", "embedding", "attention.rotary", "copy"}) {
            const auto met = points.find(name);
            if (met == points.end()) continue;
            const auto& [shape, point] = *met->second.rbegin();
            const double seconds = spreadOf(point.seconds).median;
            if (!(seconds > 0)) continue;
            logarithm += std::log(point.work / seconds / rateBefore(before, name, shape));
            bytes = std::max(bytes, shape[0]);
            ++kinds;
        }
        if (kinds > 0) {
            const double rate = rateBefore(before, "residual", {bytes}) * std::exp(logarithm / kinds);
            points["residual"][{bytes}] = {bytes, 0, {bytes / rate}};
        }
    }
    const auto met = points.find("residual");
    std::optional<RateGrid> sums;
    if (met != points.end()) {
        sums = gridThrough(ratePoints(met->second), before, "residual");
        Shapes inside;
        for (const auto& [shape, point] : met->second) inside[{shape[0] / kPasses}] = point;
        points["residual.inside"] = std::move(inside);
    }
    for (const auto& [shape, point] : m_withResidual) {
        Point& alone = points["gemm"][shape];
        alone.work = point.work;
        const double sum = sums ? point.inside / sums->at(std::array{kPasses * point.inside}) : 0;
        for (const double seconds : point.seconds) alone.seconds.push_back(seconds - std::min(sum, kMost * seconds));
    }
}

/// Products of matrices that a program asked for: each call by the kernels that it launched.
void OperatorRateSamples::addProducts(const replay::Recording& recording)
{
    // Pieces are by rank, track and start, so that the calls inside a product follow it.
    std::map<std::pair<std::int32_t, std::int64_t>, std::uint32_t> productOf; // by rank and correlation
    std::uint32_t open = replay::kNone;
    for (std::uint32_t i = 0; i < recording.pieces.size(); ++i) {
        const replay::Piece& piece = recording.pieces[i];
        if (recording.track(piece).kind != TrackKind::CpuThread) continue;
        if (open != replay::kNone &&
            (recording.pieces[open].track != piece.track || recording.pieces[open].end < piece.end))
            open = replay::kNone;
        const OpInfo& op = recording.op(piece);
        if (op.kind == SliceKind::Operator && programProduct(op))
            open = i;
        else if (op.kind == SliceKind::HostCall && open != replay::kNone && piece.correlation >= 0)
            productOf.try_emplace({piece.rank.value, piece.correlation}, open);
    }
    if (productOf.empty()) return;
    std::map<std::uint32_t, double> seconds; // of each call
    for (const replay::Piece& piece : recording.pieces) {
        const TrackKind kind = recording.track(piece).kind;
        if (piece.isCollective() || piece.correlation < 0 || kind == TrackKind::CpuThread) continue;
        const auto found = productOf.find({piece.rank.value, piece.correlation});
        if (found != productOf.end()) seconds[found->second] += piece.length().seconds();
    }
    for (const auto& [call, took] : seconds) {
        const OpInfo& op = recording.op(recording.pieces[call]);
        const auto work = programProduct(op);
        if (!work || !(took > 0)) continue;
        Kernel& kernel = m_kernels[{op.name, op.detail, static_cast<int>(op.phase), work->work, 0}];
        kernel.phase = op.phase;
        kernel.flops = work->work;
        kernel.rate = work->name;
        kernel.isCall = true;
        kernel.seconds.push_back(took);
        Point& point = m_points[work->name][work->shape];
        point.work = work->work;
        point.seconds.push_back(took);
    }
}

std::vector<LearnedKernel> OperatorRateSamples::kernels() const
{
    std::vector<LearnedKernel> all;
    for (const auto& [key, kernel] : m_kernels) {
        if (kernel.seconds.empty()) continue;
        all.push_back({std::get<0>(key), std::get<1>(key), kernel.rate, kernel.phase, kernel.flops, kernel.bytes,
                       spreadOf(kernel.seconds), std::accumulate(kernel.seconds.begin(), kernel.seconds.end(), 0.0),
                       kernel.isCall});
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const LearnedKernel& a, const LearnedKernel& b) { return a.total > b.total; });
    return all;
}

OperatorRates OperatorRateSamples::rates(const cost::DeviceRates& before, std::size_t& leftOut) const
{
    Points points = m_points;
    joinLoss(points);
    takeResidualsOut(points, before);
    const Points met = points;
    // A product that was met in one layout only stands for the other one at that shape (the head's logits are made with
    // the table's rows).
    const auto lend = [&](const char* from, const char* to) {
        const auto found = met.find(from);
        if (found == met.end()) return;
        for (const auto& [shape, point] : found->second) points[to].try_emplace(shape, point);
    };
    lend("gemm.input_gradient", "gemm");
    lend("gemm", "gemm.input_gradient");
    lend("gemm.weight_gradient.added", "gemm.weight_gradient");
    if (!met.contains("gemm.weight_gradient")) lend("gemm", "gemm.weight_gradient"); // of profiles
    std::map<std::string, std::vector<RatePoint>> lists;
    std::vector<RatePoint> products;
    for (const auto& [name, shapes] : points) {
        const std::vector<RatePoint> all = ratePoints(shapes);
        if (all.empty()) continue;
        lists[name] = all;
        const auto own = met.find(name);
        if (!name.starts_with("gemm") || own == met.end()) continue;
        std::ranges::copy_if(all, std::back_inserter(products),
                             [&own](const RatePoint& point) { return own->second.contains(point.shape); });
    }
    const cost::DeviceRates usual = withProducts(before, products);
    OperatorRates rates;
    for (auto& [name, list] : lists) rates.emplace(name, gridThrough(fitting(std::move(list), leftOut), usual, name));
    return rates;
}

double OperatorRateSamples::shareWithRate() const
{
    double with = 0, all = 0;
    for (const auto& [key, kernel] : m_kernels) {
        const double seconds = std::accumulate(kernel.seconds.begin(), kernel.seconds.end(), 0.0);
        if (!kernel.isCall) all += seconds;
        if (!kernel.rate.empty()) with += seconds;
    }
    return all > 0 ? with / all : 0;
}

Spread OperatorRateSamples::relative() const
{
    Spread sum;
    for (const auto& [key, kernel] : m_kernels) {
        const Spread spread = spreadOf(kernel.seconds);
        const auto count = static_cast<double>(spread.count);
        sum.median += count * spread.median;
        sum.low += count * spread.low;
        sum.high += count * spread.high;
        sum.count += spread.count;
    }
    if (!(sum.median > 0)) return {1, 1, 1, 0};
    return {1, sum.low / sum.median, sum.high / sum.median, sum.count};
}

} // namespace fourwalls::learn
