// SPDX-License-Identifier: Apache-2.0
// `runs`: the catalogue of a folder of trainings: what each was, how it ended, its tags.
#include "app/cli/run_folder.h"
#include "app/cli/stop_signals.h"
#include "app/cli/verbs.h"
#include "model/base/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

namespace fourwalls::cli {

namespace {

using compare::CurvePoint;
using compare::LossSpike;
using compare::RunCurves;
using nlohmann::json;

// Of all runs together, so that an answer stays readable however many there are.
constexpr std::int64_t kAllPoints = 60'000, kFewestPoints = 40, kMostPoints = 2000;

template <class Value>
json orNothing(const std::optional<Value>& value)
{
    return value ? json(*value) : json(nullptr);
}

json orNothing(const std::string& text)
{
    return text.empty() ? json(nullptr) : json(text);
}

std::string dayOf(std::int64_t unixNs)
{
    const std::time_t seconds = static_cast<std::time_t>(unixNs / 1'000'000'000);
    std::tm utc{};
    char text[32] = {};
    if (unixNs <= 0 || !gmtime_r(&seconds, &utc) || std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &utc) == 0)
        return {};
    return text;
}

/// One list for each figure: short, and as tables of other programs want it.
json seriesJson(const std::vector<CurvePoint>& points)
{
    json object;
    for (const char* key :
         {"step", "seconds", "tokens", "loss", "grad_norm", "lr", "loss_scale", "tokens_per_s", "goodput"})
        object[key] = json::array();
    for (const CurvePoint& point : points) {
        object["step"].push_back(point.step);
        object["seconds"].push_back(point.seconds);
        object["tokens"].push_back(point.tokens);
        object["loss"].push_back(orNothing(point.loss));
        object["grad_norm"].push_back(orNothing(point.gradientNorm));
        object["lr"].push_back(orNothing(point.learningRate));
        object["loss_scale"].push_back(orNothing(point.lossScale));
        object["tokens_per_s"].push_back(orNothing(point.tokensPerSecond));
        object["goodput"].push_back(orNothing(point.goodput));
    }
    return object;
}

json runJson(const FolderRun& run, std::optional<std::int64_t> points)
{
    const RunCurves& curves = run.curves;
    json object{{"file", run.file},
                {"name", curves.name},
                {"model", orNothing(curves.model)},
                {"plan", curves.model.empty() ? json(nullptr) : json(curves.plan)},
                {"producer", orNothing(curves.producer)},
                {"width", orNothing(curves.width)},
                {"mup_base_width", orNothing(curves.mupBaseWidth)},
                {"batch", orNothing(curves.batch)},
                {"lr", orNothing(curves.learningRate)},
                {"warmup", orNothing(curves.warmup)},
                {"weight_decay", orNothing(curves.weightDecay)},
                {"clip", orNothing(curves.clip)},
                {"precision", orNothing(curves.precision)},
                {"optimizer", orNothing(curves.optimizer)},
                {"started", orNothing(dayOf(curves.startedUnixNs))},
                {"complete", curves.complete},
                {"steps", curves.points.size()},
                {"seconds", curves.seconds()},
                {"tokens", curves.tokens()},
                {"tokens_per_s", orNothing(curves.tokensPerSecond())},
                {"final_loss", orNothing(curves.finalLoss())},
                {"least_loss", orNothing(curves.leastLoss())},
                {"tags", curves.tags},
                {"spikes", json::array()}};
    for (const LossSpike& spike : curves.spikes)
        object["spikes"].push_back({{"step", spike.step},
                                    {"loss", orNothing(spike.loss)},
                                    {"before", spike.before},
                                    {"event", orNothing(spike.event)},
                                    {"detail", orNothing(spike.detail)},
                                    {"gradient_factor", orNothing(spike.gradientFactor)}});
    if (points) object["series"] = seriesJson(compare::thinned(curves.points, static_cast<std::size_t>(*points)));
    return object;
}

std::vector<std::string> tagList(const std::string& text)
{
    std::vector<std::string> tags;
    std::size_t from = 0;
    while (from <= text.size()) {
        const std::size_t comma = std::min(text.find(',', from), text.size());
        std::string tag = text.substr(from, comma - from);
        while (!tag.empty() && tag.front() == ' ') tag.erase(tag.begin());
        while (!tag.empty() && tag.back() == ' ') tag.pop_back();
        if (!tag.empty() && std::find(tags.begin(), tags.end(), tag) == tags.end()) tags.push_back(std::move(tag));
        from = comma + 1;
    }
    return tags;
}

std::string leftOutText(const RunFolder& folder)
{
    std::string text;
    if (!folder.leftOut.empty()) text += fmt::format("\n{} files left out", folder.leftOut.size());
    for (std::size_t i = 0; i < std::min<std::size_t>(5, folder.leftOut.size()); ++i)
        text += "\n    " + folder.leftOut[i].first + ": " + folder.leftOut[i].second;
    return text;
}

/// isFound: the folder has runs, but none with the words that were asked for.
std::string noRunText(const RunFolder& folder, const std::string& path, bool isFound)
{
    return (isFound ? std::string("no run has these words in its name, model, plan or tags")
                    : "no run in " + path + ": fourwalls-cli record -o " +
                          (std::filesystem::path(path) / "run.fourwalls").string() +
                          " makes one; event files of TensorBoard and logs of training are read, too") +
           leftOutText(folder);
}

std::string catalogueText(const RunFolder& folder)
{
    std::size_t name = 4, model = 5;
    for (const FolderRun& run : folder.runs) {
        name = std::max(name, run.curves.name.size());
        model = std::max(model, run.curves.model.size());
    }
    std::string text = fmt::format("{:<{}}  {:<{}}  {:>7}  {:>9}  {:>9}  {:>8}  {}", "run", name, "model", model,
                                   "steps", "lr", "loss", "time", "plan, tags");
    for (const FolderRun& run : folder.runs) {
        const RunCurves& c = run.curves;
        const auto loss = c.finalLoss();
        std::string last = c.plan;
        for (const std::string& tag : c.tags) last += (last.empty() ? "#" : " #") + tag;
        text += fmt::format("\n{:<{}}  {:<{}}  {:>7}  {:>9}  {:>9}  {:>8}  {}", c.name, name, c.model, model,
                            c.points.size(), c.learningRate ? fmt::format("{:.3g}", *c.learningRate) : "\xe2\x80\x93",
                            loss ? fmt::format("{:.4f}", *loss) : "\xe2\x80\x93",
                            formatTime(Duration::fromSeconds(c.seconds())), last);
        while (text.back() == ' ') text.pop_back();
        for (const LossSpike& spike : c.spikes)
            text += fmt::format("\n    spike in step {}: loss {} after {:.4f}{}", spike.step,
                                spike.loss ? fmt::format("{:.4f}", *spike.loss) : "no number", spike.before,
                                (spike.event.empty() ? "" : ", " + spike.event) +
                                    (spike.detail.empty() ? "" : ", " + spike.detail));
    }
    if (!folder.runs.empty()) text += "\nloss: the mean of the last tenth of the steps";
    text += leftOutText(folder);
    return text;
}

class RunsVerb : public Verb {
public:
    const char* name() const override { return "runs"; }
    const char* summary() const override { return "the trainings of a folder: what each was, how it ended, its tags"; }
    const char* examples() const override
    {
        return "  fourwalls-cli runs results\n"
               "  fourwalls-cli runs results --find \"gpt width\"\n"
               "  fourwalls-cli runs results --tag run7.fourwalls=baseline,keep\n"
               "  fourwalls-cli runs results --series --json\n"
               "Traces, sweeps, TensorBoard event files and logs of other frameworks stand side by side.";
    }
    Arguments arguments() override
    {
        return {Argument("FOLDER", &m_folder, "with traces or training logs, also in folders of it").required(),
                {"--find", &m_find, "only runs with these words in name, model, plan or tags"},
                {"--tag", &m_tags, "FILE=TAG,…, what a run is tagged with from now on; FILE= takes its tags away"},
                {"--series", &m_series, "with --json: the curves, too"},
                {"--points", &m_points,
                 "with --series: at most about so many of a run (default: 2000, less of many runs)"}};
    }

    int run(Console& console) override
    {
        if (m_points && (*m_points < 4 || *m_points > 1'000'000))
            return console.wrongUsage({ErrorCode::InvalidArgument, "must be from 4 to 1000000", "--points", "2000"});
        if (const Status tagged = setTags(); !tagged.ok())
            return tagged.error().code == ErrorCode::InvalidArgument ? console.wrongUsage(tagged.error())
                                                                     : console.fail(tagged.error());
        const StopSignals signals;
        RunFolder folder;
        {
            Progress progress("reading the runs");
            auto read = readRunFolder(
                m_folder, [&progress](double share) { progress(share); }, signals.token());
            if (!read) return console.fail(read.error());
            folder = std::move(*read);
        }
        const bool isEmpty = folder.runs.empty();
        std::erase_if(folder.runs, [this](const FolderRun& run) { return !run.curves.matches(m_find); });
        if (!console.json())
            return console.answerText(folder.runs.empty() ? noRunText(folder, m_folder, !isEmpty)
                                                          : catalogueText(folder));
        json object{{"folder", m_folder}, {"runs", json::array()}, {"left_out", json::array()}};
        std::optional<std::int64_t> points;
        if (m_series)
            points = m_points.value_or(
                std::clamp(kAllPoints / std::max<std::int64_t>(1, static_cast<std::int64_t>(folder.runs.size())),
                           kFewestPoints, kMostPoints));
        for (const FolderRun& run : folder.runs) object["runs"].push_back(runJson(run, points));
        for (const auto& [file, why] : folder.leftOut) object["left_out"].push_back({{"file", file}, {"because", why}});
        return console.answerJson(std::move(object));
    }

private:
    Status setTags() const
    {
        if (m_tags.empty()) return {};
        FOURWALLS_TRY_ASSIGN(RunTags tags, readRunTags(m_folder));
        for (const std::string& each : m_tags) {
            // File names and tags may hold '=' too: the one behind a file's name is meant.
            std::size_t equals = std::string::npos;
            std::error_code failure;
            for (std::size_t at = each.find('='); at != std::string::npos; at = each.find('=', at + 1))
                if (std::filesystem::is_regular_file(std::filesystem::path(m_folder) / each.substr(0, at), failure))
                    equals = at;
            const bool isFile = equals != std::string::npos;
            if (!isFile) equals = each.find('=');
            if (equals == std::string::npos || equals == 0)
                return wrongArgument("--tag", "cannot be '" + each + "'", "FILE=TAG,TAG");
            const std::string file = each.substr(0, equals);
            if (!isFile)
                return Error{ErrorCode::NotFound, "no such file in the folder", "--tag '" + file + "'",
                             "the file's path from the folder, as `runs --json` gives it"};
            tags[file] = tagList(each.substr(equals + 1));
        }
        return writeRunTags(m_folder, tags);
    }

    std::string m_folder, m_find;
    std::vector<std::string> m_tags;
    bool m_series = false;
    std::optional<std::int64_t> m_points;
};

} // namespace

std::unique_ptr<Verb> makeRunsVerb()
{
    return std::make_unique<RunsVerb>();
}

} // namespace fourwalls::cli
