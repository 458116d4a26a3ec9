// SPDX-License-Identifier: Apache-2.0
// See learned_report.h.
#include "app/cli/learned_report.h"

#include "model/base/format.h"
#include "model/spec/run_spec.h"
#include "model/trace/short_name.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace fourwalls::cli {

namespace {

using nlohmann::json;

/// Kernels that a reader looks at; the file has all of them.
constexpr std::size_t kMostLines = 12;

json secondsJson(const learn::Spread& spread)
{
    return {{"seconds", spread.median}, {"low", spread.low}, {"high", spread.high}, {"count", spread.count}};
}

json operatorJson(const learn::LearnedKernel& kernel)
{
    json object = secondsJson(kernel.seconds);
    object["name"] = kernel.name;
    object["shape"] = kernel.detail;
    object["phase"] = name(kernel.phase);
    object["flops"] = kernel.flops;
    object["bytes"] = kernel.bytes;
    object["rate"] = kernel.rate.empty() ? json(nullptr) : json(kernel.rate);
    return object;
}

json transferJson(const learn::LearnedTransfer& transfer)
{
    json points = json::array();
    for (const learn::LearnedTransfer::Point& point : transfer.points) {
        json object = secondsJson(point.seconds);
        object["bytes"] = point.bytes;
        points.push_back(std::move(object));
    }
    return {{"operation", name(transfer.operation)},
            {"ranks", transfer.group.ranks},
            {"per_node", transfer.group.perNode},
            {"tier", transfer.group.insideNode() ? "inside" : "between"},
            {"groups", transfer.groups},
            {"latency_seconds", transfer.latency ? json(*transfer.latency) : json(nullptr)},
            {"bytes_per_second", transfer.bytesPerSecond > 0 ? json(transfer.bytesPerSecond) : json(nullptr)},
            {"estimate", transfer.isEstimate},
            {"points", std::move(points)}};
}

json spreadJson(const learn::Spread& spread)
{
    if (spread.count == 0) return nullptr;
    return {{"median", spread.median}, {"low", spread.low}, {"high", spread.high}, {"count", spread.count}};
}

/// What a step takes beside kernels and transfers, by the names of the file.
std::vector<std::pair<const char*, const learn::Spread*>> listed(const learn::StepOverheads& overheads)
{
    return {{"launch_seconds", &overheads.launch},     {"launch_latency_seconds", &overheads.latency},
            {"kernel_gap_seconds", &overheads.gap},    {"reading_seconds", &overheads.reading},
            {"compute_slowdown", &overheads.slowdown}, {"transfer_rate_beside", &overheads.beside}};
}

std::string timeText(double seconds)
{
    return formatTime(Duration::fromSeconds(seconds));
}

} // namespace

json clusterFile(const ClusterSpec& cluster, const Calibration& calibration, const std::string& source)
{
    json object = json::parse(toJson(cluster));
    object["fabric"] = wordOf(kFabricWords, cluster.fabric); // also without a link
    object["calibration"] = toJson(calibration);
    object["source"] = source;
    return object;
}

json learnedFile(const learn::LearnedCalibration& learned, const std::vector<std::string>& traces)
{
    std::string source = "learned by fourwalls-cli calibrate --from";
    for (const std::string& trace : traces) source += " " + trace;
    ClusterSpec cluster = learned.cluster;
    cluster.name = "learned";
    json object = clusterFile(cluster, learned.calibration, source);
    json operators = json::array(), transfers = json::array(), levels = json::array(), overheads = json::object();
    for (const learn::LearnedKernel& kernel : learned.kernels) operators.push_back(operatorJson(kernel));
    for (const learn::LearnedTransfer& transfer : learned.transfers) transfers.push_back(transferJson(transfer));
    for (const learn::LearnedLevel& level : learned.levels)
        levels.push_back({{"operator", level.name},
                          {"backward", level.backward},
                          {"factor", level.factor},
                          {"low", level.low},
                          {"high", level.high},
                          {"seconds", level.seconds}});
    for (const auto& [key, spread] : listed(learned.overheads)) overheads[key] = spreadJson(*spread);
    object["operators"] = std::move(operators);
    object["rate_share"] = learned.kernelShare;
    object["transfers"] = std::move(transfers);
    object["overheads"] = std::move(overheads);
    object["levels"] = std::move(levels);
    object["notes"] = learned.notes;
    return object;
}

std::string learnedText(const learn::LearnedCalibration& learned)
{
    std::string text = learned.cluster.device.name + '\n';
    double all = 0;
    for (const learn::LearnedKernel& kernel : learned.kernels) all += kernel.isCall ? 0 : kernel.total;
    if (!learned.kernels.empty())
        text += fmt::format("{} kernels by shape, of whose time {} became rates\n", learned.kernels.size(),
                            formatPercent(learned.kernelShare));
    for (std::size_t i = 0; i < std::min(kMostLines, learned.kernels.size()); ++i) {
        const learn::LearnedKernel& kernel = learned.kernels[i];
        const double work = kernel.flops > 0 ? kernel.flops : kernel.bytes;
        text +=
            fmt::format("  {:<28}{:<24}{:>10} ({} to {}, {} times, {}){}\n", shortName(kernel.name), kernel.detail,
                        timeText(kernel.seconds.median), timeText(kernel.seconds.low), timeText(kernel.seconds.high),
                        kernel.seconds.count, formatPercent(all > 0 ? kernel.total / all : 0),
                        work > 0 && kernel.seconds.median > 0
                            ? "  " + formatRate(work / kernel.seconds.median, kernel.flops > 0 ? "FLOP/s" : "B/s")
                            : "");
    }
    for (const learn::LearnedTransfer& transfer : learned.transfers) {
        text += fmt::format("{} of {} ranks ({}), {} sizes", name(transfer.operation), transfer.group.ranks,
                            transfer.group.insideNode() ? "inside a node" : "between nodes", transfer.points.size());
        if (transfer.latency) text += ": " + timeText(*transfer.latency) + " and";
        text += transfer.bytesPerSecond > 0 ? " " + formatRate(transfer.bytesPerSecond, "B/s") : " no time";
        text += transfer.isEstimate ? " (the shortest stands for moving: members are missing)\n" : "\n";
    }
    for (const auto& [key, spread] : listed(learned.overheads)) {
        if (spread->count == 0) continue;
        const bool isTime = std::string_view(key).ends_with("seconds");
        const auto shown = [&](double value) { return isTime ? timeText(value) : fmt::format("{:.3g}", value); };
        text += fmt::format("{:<28}{} ({} to {}, {} times)\n", key, shown(spread->median), shown(spread->low),
                            shown(spread->high), spread->count);
    }
    if (!learned.levels.empty()) {
        double low = 1e9, high = 0;
        for (const learn::LearnedLevel& level : learned.levels) {
            low = std::min(low, level.factor);
            high = std::max(high, level.factor);
        }
        text += fmt::format("{} operators take {:.3g} to {:.3g} of what the rates say, which predictions take over\n",
                            learned.levels.size(), low, high);
    }
    for (const std::string& note : learned.notes) text += "note: " + note + '\n';
    return text;
}

json likeJson(const std::string& file, const learn::LikeTrace& like)
{
    const double recorded = like.recordedSeconds, predicted = like.predictedSeconds;
    return {{"file", file},
            {"operators", like.operators},
            {"plan", formatPlan(like.spec.plan)},
            {"recorded_ms", recorded * 1e3},
            {"predicted_ms", predicted * 1e3},
            {"error_pct", recorded > 0 ? json(100 * (predicted / recorded - 1)) : json(nullptr)}};
}

std::string likeText(const std::string& file, const learn::LikeTrace& like)
{
    return fmt::format("{:<26}its own plan takes {}, predicted {}", "like " + file,
                       formatTime(Duration::fromSeconds(like.recordedSeconds)),
                       formatTime(Duration::fromSeconds(like.predictedSeconds)));
}

} // namespace fourwalls::cli
