// SPDX-License-Identifier: Apache-2.0
// See sweep_result.h.
#include "app/cli/sweep_result.h"

#include "app/cli/output_file.h"
#include "model/base/fnv_hash.h"
#include "model/store/trace_writer.h"
#include "profiler/engine/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

namespace fourwalls::cli {

namespace {

using nlohmann::json;

constexpr int kResultVersion = 1;

std::string resultPath(const std::string& folder, const std::string& name)
{
    return folder + '/' + name + ".result.json";
}

std::string tracePath(const std::string& folder, const std::string& name)
{
    return folder + '/' + name + ".fourwalls";
}

json finiteOrNull(double value)
{
    return std::isfinite(value) ? json(value) : json(nullptr);
}

double numberOrNan(const json& value)
{
    return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

std::optional<std::string> wholeFile(const std::string& path)
{
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf())) return std::nullopt;
    return std::move(text).str();
}

std::string hashText(std::string_view bytes)
{
    return fmt::format("{:016x}", fnvHash(bytes));
}

/// The field "checksum" is that of the text without it.
std::string checksumOf(json object)
{
    object.erase("checksum");
    return hashText(object.dump());
}

Status writeStepTrace(const std::string& path, const SweepResult& result, const RunSpec& spec)
{
    TraceHeader header = engine::describeRun(spec, engine::ClockOrigin::now());
    header.producer = "fourwalls-cli sweep";
    header.computeLabel = header.communicationLabel = "none"; // of the steps only their lengths are known
    header.ranks.resize(1);
    FOURWALLS_TRY_ASSIGN(const std::unique_ptr<store::TraceWriter> writer, store::TraceWriter::create(path, header));
    OpInfo info;
    info.name = "step";
    info.kind = SliceKind::Step;
    const OpId op = writer->defineOp(info);
    const RankId rank{0};
    const TrackId track = writer->defineTrack({rank, TrackKind::Markers, "steps", 0});
    const CounterId loss = writer->defineCounter({std::nullopt, "loss", CounterUnit::None});
    const CounterId norm = writer->defineCounter({std::nullopt, "grad_norm", CounterUnit::None});
    const CounterId rate = writer->defineCounter({std::nullopt, "lr", CounterUnit::None});
    {
        const std::unique_ptr<TraceProducer> producer = writer->openProducer();
        Instant at;
        for (std::size_t i = 0; i < result.taken.size(); ++i) {
            const SweepStep& taken = result.taken[i];
            const Instant end = at + Duration::fromSeconds(taken.milliseconds / 1e3);
            StepRecord step;
            step.step = StepIndex{static_cast<std::int32_t>(i)};
            step.range = {at, end};
            if (std::isfinite(taken.loss)) step.loss = taken.loss;
            if (std::isfinite(taken.gradientNorm)) step.gradientNorm = taken.gradientNorm;
            step.learningRate = taken.learningRate;
            step.samples = spec.training.batch;
            step.tokens = result.tokensPerStep;
            producer->step(rank, step);
            SliceRecord slice;
            slice.track = track;
            slice.op = op;
            slice.start = at;
            slice.duration = end - at;
            producer->slice(slice);
            if (step.loss) producer->counter({loss, end, *step.loss});
            if (step.gradientNorm) producer->counter({norm, end, *step.gradientNorm});
            producer->counter({rate, end, taken.learningRate});
            at = end;
        }
        if (result.diverged)
            producer->event({EventKind::LossSpike, rank, at, "the loss is no finite number: the run ended here"});
    }
    return writer->finish({});
}

json resultJson(const SweepResult& result)
{
    json object{{"version", kResultVersion},
                {"name", result.name},
                {"spec", result.spec},
                {"steps", result.steps},
                {"diverged", result.diverged},
                {"tokens_per_step", result.tokensPerStep},
                {"noise_every", result.noiseEvery},
                {"trace_hash", result.traceHash},
                {"point", json::object()},
                {"loss", json::array()},
                {"gradient_norm", json::array()},
                {"learning_rate", json::array()},
                {"step_ms", json::array()}};
    for (std::size_t i = 0; i < kSweepAxisCount; ++i) {
        const auto axis = static_cast<SweepAxis>(i);
        if (!result.point[axis].empty()) object["point"][std::string(axisName(axis))] = result.point[axis];
    }
    for (const SweepStep& step : result.taken) {
        object["loss"].push_back(finiteOrNull(step.loss));
        object["gradient_norm"].push_back(finiteOrNull(step.gradientNorm));
        object["learning_rate"].push_back(step.learningRate);
        object["step_ms"].push_back(step.milliseconds);
    }
    const engine::GradientNoise& noise = result.noise;
    if (noise.probes > 0)
        object["noise"] = {{"batch", noise.batch},
                           {"batches", noise.batches},
                           {"probes", noise.probes},
                           {"small_squares", noise.smallSquares},
                           {"large_squares", noise.largeSquares}};
    return object;
}

SweepResult resultOf(const json& object)
{
    SweepResult result;
    result.name = object.at("name").get<std::string>();
    result.spec = object.at("spec").get<std::string>();
    result.steps = object.at("steps").get<std::int64_t>();
    result.diverged = object.at("diverged").get<bool>();
    result.tokensPerStep = object.at("tokens_per_step").get<std::int64_t>();
    result.noiseEvery = object.value("noise_every", std::int64_t{-1});
    result.traceHash = object.at("trace_hash").get<std::string>();
    const json &losses = object.at("loss"), &norms = object.at("gradient_norm");
    for (std::size_t i = 0; i < losses.size(); ++i)
        result.taken.push_back({numberOrNan(losses.at(i)), numberOrNan(norms.at(i)),
                                object.at("learning_rate").at(i).get<double>(),
                                object.at("step_ms").at(i).get<double>()});
    if (const auto noise = object.find("noise"); noise != object.end())
        result.noise = {noise->at("batch").get<std::int64_t>(), noise->at("batches").get<std::int64_t>(),
                        noise->at("probes").get<std::int64_t>(), noise->at("small_squares").get<double>(),
                        noise->at("large_squares").get<double>()};
    return result;
}

} // namespace

std::optional<double> SweepResult::lossAt(std::int64_t count) const
{
    constexpr std::int64_t kShare = 10;
    if (count < 1 || count > static_cast<std::int64_t>(taken.size())) return std::nullopt;
    const std::int64_t last = std::max<std::int64_t>(1, count / kShare);
    double sum = 0;
    for (std::int64_t i = count - last; i < count; ++i) sum += taken[static_cast<std::size_t>(i)].loss;
    if (!std::isfinite(sum)) return std::nullopt;
    return sum / static_cast<double>(last);
}

double SweepResult::seconds() const
{
    double all = 0;
    for (const SweepStep& step : taken) all += step.milliseconds / 1e3;
    return all;
}

std::string sweepRunName(const SweepPoint& point, const std::string& specHash)
{
    std::string text = point.text();
    std::erase(text, '=');
    std::replace(text.begin(), text.end(), ' ', '-');
    return text + '-' + specHash.substr(0, 8);
}

Status writeSweepResult(const std::string& folder, SweepResult& result, const RunSpec& spec)
{
    const std::string trace = tracePath(folder, result.name);
    {
        FOURWALLS_TRY_ASSIGN(PendingOutput pending, PendingOutput::create(trace, OutputKind::Trace));
        FOURWALLS_TRY(writeStepTrace(pending.temporaryPath(), result, spec));
        FOURWALLS_TRY(pending.commit());
    }
    const std::optional<std::string> bytes = wholeFile(trace);
    if (!bytes) return Error{ErrorCode::Io, "cannot be read back", trace, "check the disk"};
    result.traceHash = hashText(*bytes);
    json object = resultJson(result);
    object["checksum"] = checksumOf(object);
    FOURWALLS_TRY_ASSIGN(PendingOutput pending,
                         PendingOutput::create(resultPath(folder, result.name), OutputKind::Other));
    {
        std::ofstream file(pending.temporaryPath(), std::ios::binary);
        file << object.dump() << '\n';
        file.close();
        if (!file)
            return Error{ErrorCode::Io, "cannot be written", resultPath(folder, result.name), "check the disk's space"};
    }
    return pending.commit();
}

std::optional<SweepResult> readSweepResult(const std::string& folder, const std::string& name,
                                           const std::string& specHash)
{
    const std::optional<std::string> text = wholeFile(resultPath(folder, name));
    if (!text) return std::nullopt;
    const json object = json::parse(*text, nullptr, false);
    if (!object.is_object() || object.value("version", json()) != json(kResultVersion) ||
        object.value("spec", json()) != json(specHash) || object.value("checksum", json()) != json(checksumOf(object)))
        return std::nullopt;
    try {
        SweepResult result = resultOf(object);
        for (std::size_t i = 0; i < kSweepAxisCount; ++i) {
            const auto axis = static_cast<SweepAxis>(i);
            const auto value = object.at("point").find(std::string(axisName(axis)));
            if (value != object.at("point").end() && !result.point.set(axis, value->get<std::string>()).ok())
                return std::nullopt;
        }
        const std::optional<std::string> trace = wholeFile(tracePath(folder, name));
        if (!trace || hashText(*trace) != result.traceHash) return std::nullopt;
        return result;
    } catch (const json::exception&) {
        return std::nullopt; // not written by this program
    }
}

} // namespace fourwalls::cli
