// SPDX-License-Identifier: GPL-3.0-or-later
// See runs_reading.h.
#include "app/gui/runs_reading.h"

#include <nlohmann/json.hpp>

#include <QDir>
#include <QDirIterator>
#include <QFileInfo>
#include <QSet>

#include <optional>
#include <string>

namespace fourwalls::gui {

namespace {

using nlohmann::json;

constexpr int kMostNamesOfRuns = 4000;  ///< looked at in a folder
constexpr int kDeepestFolderOfRuns = 3; ///< folders in folders that `fourwalls-cli runs` reads

std::string textOr(const json& object, const char* key)
{
    const json& value = object.at(key);
    return value.is_string() ? value.get<std::string>() : std::string();
}

template <class Number>
std::optional<Number> numberOr(const json& value)
{
    return value.is_number() ? std::optional(value.get<Number>()) : std::nullopt;
}

compare::RunCurves curvesOf(const json& object)
{
    compare::RunCurves run;
    run.name = textOr(object, "name");
    run.model = textOr(object, "model");
    run.plan = textOr(object, "plan");
    run.producer = textOr(object, "producer");
    run.precision = textOr(object, "precision");
    run.optimizer = textOr(object, "optimizer");
    run.width = numberOr<std::int64_t>(object.at("width"));
    run.batch = numberOr<std::int64_t>(object.at("batch"));
    run.mupBaseWidth = numberOr<std::int64_t>(object.at("mup_base_width"));
    run.learningRate = numberOr<double>(object.at("lr"));
    run.warmup = numberOr<double>(object.at("warmup"));
    run.weightDecay = numberOr<double>(object.at("weight_decay"));
    run.clip = numberOr<double>(object.at("clip"));
    run.complete = object.at("complete").get<bool>();
    run.tags = object.at("tags").get<std::vector<std::string>>();
    const json& series = object.at("series");
    const std::size_t count = series.at("step").size();
    for (std::size_t i = 0; i < count; ++i) {
        compare::CurvePoint point;
        point.step = series.at("step").at(i).get<std::int64_t>();
        point.seconds = series.at("seconds").at(i).get<double>();
        point.tokens = series.at("tokens").at(i).get<double>();
        point.loss = numberOr<double>(series.at("loss").at(i));
        point.gradientNorm = numberOr<double>(series.at("grad_norm").at(i));
        point.learningRate = numberOr<double>(series.at("lr").at(i));
        point.lossScale = numberOr<double>(series.at("loss_scale").at(i));
        point.tokensPerSecond = numberOr<double>(series.at("tokens_per_s").at(i));
        run.points.push_back(point);
    }
    for (const json& each : object.at("spikes"))
        run.spikes.push_back(
            {each.at("step").get<std::int64_t>(), numberOr<double>(each.at("loss")), each.at("before").get<double>(),
             textOr(each, "event"), numberOr<double>(each.at("gradient_factor")),
             each.contains("detail") ? textOr(each, "detail") : std::string()}); // kept lists have none
    return run;
}

} // namespace

bool isRunFolder(const QString& path)
{
    if (!QFileInfo(path).isDir()) return false;
    QDirIterator names(QFileInfo(path).absoluteFilePath(), QDir::Files | QDir::NoDotAndDotDot,
                       QDirIterator::Subdirectories);
    QSet<QString> boards; // folders with event files of TensorBoard
    const auto root = QFileInfo(path).absoluteFilePath().count(QLatin1Char('/'));
    int looked = 0;
    while (names.hasNext() && ++looked <= kMostNamesOfRuns) {
        const QFileInfo file(names.next());
        const QString name = file.fileName();
        if (file.path().count(QLatin1Char('/')) - root > kDeepestFolderOfRuns) continue;
        // A trace beside the file that it was imported from is that file, not a run of its own.
        constexpr QLatin1String kOwn(".fourwalls");
        if (name.endsWith(kOwn) && !QFileInfo::exists(file.filePath().chopped(kOwn.size()))) return true;
        if (name.contains(QLatin1String("tfevents"))) boards.insert(file.path());
        if (boards.size() > 1) return true;
    }
    return false;
}

QStringList runsArguments(const QString& folder)
{
    return {QStringLiteral("runs"), QStringLiteral("--series"), QStringLiteral("--json"), QStringLiteral("--"), folder};
}

QStringList tagArguments(const QString& folder, const QString& file, const QStringList& tags)
{
    return {QStringLiteral("runs"), QStringLiteral("--json"),
            QStringLiteral("--tag=%1=%2").arg(file, tags.join(QLatin1Char(','))), QStringLiteral("--"), folder};
}

Result<std::shared_ptr<views::RunList>> runListOf(const QByteArray& text)
{
    try {
        const json answer = json::parse(text.begin(), text.end());
        auto list = std::make_shared<views::RunList>();
        for (const json& each : answer.at("runs"))
            list->runs.push_back({each.at("file").get<std::string>(), curvesOf(each)});
        list->leftOut = static_cast<int>(answer.at("left_out").size());
        return list;
    } catch (const std::exception& error) {
        return Error{ErrorCode::Format, error.what(), "fourwalls-cli runs",
                     "fourwalls-cli of the same release beside fourwalls"};
    }
}

} // namespace fourwalls::gui
