// SPDX-License-Identifier: GPL-3.0-or-later
// See hang_reading.h.
#include "app/gui/hang_reading.h"

#include <nlohmann/json.hpp>

#include <QDir>
#include <QFile>
#include <QFileInfo>

#include <array>
#include <string>

namespace fourwalls::gui {

namespace {

using diagnose::HangConfidence;
using diagnose::HangPlace;
using diagnose::HangReason;
using diagnose::HangReport;
using nlohmann::json;

constexpr qint64 kDumpHead = 64 << 10;
constexpr int kMostLookedAt = 64; ///< files of a folder

bool isDumpFile(const QFileInfo& info)
{
    QString name = info.fileName();
    const bool isPacked = name.endsWith(QLatin1String(".gz"));
    if (isPacked) name.chop(3);
    for (const char* ending : {".json", ".pickle", ".pkl"})
        if (name.endsWith(QLatin1String(ending))) name.chop(static_cast<int>(qstrlen(ending)));
    if (name.isEmpty() || !name.back().isDigit()) return false; // the rank
    if (isPacked) return name.contains(QLatin1String("dump")) || name.contains(QLatin1String("nccl_trace"));
    QFile file(info.filePath());
    if (!file.open(QIODevice::ReadOnly)) return false;
    const QByteArray head = file.read(kDumpHead);
    if (head.isEmpty() || (head[0] != '\x80' && head.trimmed().left(1) != "{")) return false;
    // Profiles of PyTorch name process groups, too.
    if (head.contains("traceEvents") || head.contains("schemaVersion")) return false;
    return head.contains("pg_status") || head.contains("pg_config") || head.contains("nccl_version");
}

template <class Enum, std::size_t Count>
Enum namedValue(const std::string& text, const std::array<Enum, Count>& values)
{
    for (const Enum each : values)
        if (text == name(each)) return each;
    return values.back();
}

HangReason reasonOf(const std::string& text)
{
    constexpr std::array kAll{HangReason::DeviceStopped,  HangReason::StuckAfterKernel, HangReason::NoDump,
                              HangReason::OtherOperation, HangReason::HostStopped,      HangReason::SkippedOperation,
                              HangReason::ExtraOperation, HangReason::HostBehind,       HangReason::DeviceBehind,
                              HangReason::WaitedFor};
    return namedValue(text, kAll);
}

HangConfidence confidenceOf(const std::string& text)
{
    constexpr std::array kAll{HangConfidence::Certain, HangConfidence::Strong, HangConfidence::Likely};
    return namedValue(text, kAll);
}

/// A text, or nothing where there is null.
std::string textOf(const json& object, const char* key)
{
    const json& value = object.at(key);
    return value.is_null() ? std::string() : value.get<std::string>();
}

HangPlace placeOf(const json& object)
{
    HangPlace place{textOf(object, "group"), textOf(object, "group_description"), textOf(object, "operation"), {}};
    if (!object.at("sequence").is_null()) place.sequence = object.at("sequence").get<std::int64_t>();
    return place;
}

std::vector<std::optional<std::int64_t>> numbersOf(const json& list)
{
    std::vector<std::optional<std::int64_t>> numbers;
    numbers.reserve(list.size());
    for (const json& each : list)
        numbers.push_back(each.is_null() ? std::nullopt : std::optional(each.get<std::int64_t>()));
    return numbers;
}

HangReport reportOf(const json& object)
{
    HangReport report;
    for (const json& each : object.at("suspects"))
        report.suspects.push_back({each.at("rank").get<int>(), reasonOf(textOf(each, "reason")),
                                   confidenceOf(textOf(each, "confidence")), placeOf(each), textOf(each, "because"),
                                   textOf(each, "stack")});
    for (const json& each : object.at("one_of"))
        report.sets.push_back({each.at("ranks").get<std::vector<int>>(), placeOf(each), textOf(each, "because")});
    for (const json& each : object.at("waits"))
        report.chain.push_back(
            {each.at("ranks").get<std::vector<int>>(), placeOf(each), each.at("waits_for").get<std::vector<int>>()});
    for (const json& each : object.at("fronts")) {
        diagnose::HangFront front{textOf(each, "group"),
                                  textOf(each, "description"),
                                  each.at("counts_transfers").get<bool>(),
                                  each.at("ranks").get<std::vector<int>>(),
                                  numbersOf(each.at("entered")),
                                  numbersOf(each.at("started")),
                                  numbersOf(each.at("completed"))};
        if (front.entered.size() != front.ranks.size() || front.completed.size() != front.ranks.size()) continue;
        report.fronts.push_back(std::move(front));
    }
    report.ranks = object.at("ranks").get<std::vector<int>>();
    report.missing = object.at("missing").get<std::vector<int>>();
    report.unreadable = object.at("unreadable").get<std::vector<int>>();
    for (const auto& [rank, stack] : object.at("stacks").items())
        report.stacks.emplace(std::stoi(rank), stack.get<std::string>());
    for (const json& each : object.at("ras"))
        report.ras.push_back(
            {textOf(each, "communicator"), each.at("ranks").get<std::vector<int>>(), textOf(each, "because")});
    report.records = object.at("records").get<std::int64_t>();
    report.contradictingGroups = object.at("contradicting_groups").get<std::int64_t>();
    return report;
}

} // namespace

bool isDump(const QString& path)
{
    const QFileInfo info(path);
    if (!info.isDir()) return isDumpFile(info);
    int looked = 0;
    for (const QFileInfo& each : QDir(path).entryInfoList(QDir::Files, QDir::Name)) {
        if (++looked > kMostLookedAt) break;
        if (isDumpFile(each)) return true;
    }
    return false;
}

QStringList hangArguments(const QStringList& dumps)
{
    return QStringList{QStringLiteral("hang"), QStringLiteral("--json"), QStringLiteral("--")} + dumps;
}

Result<HangReport> hangReportOf(const QByteArray& text)
{
    try {
        return reportOf(json::parse(text.begin(), text.end()));
    } catch (const std::exception& error) {
        return Error{ErrorCode::Format, error.what(), "fourwalls-cli hang",
                     "fourwalls-cli of the same release beside fourwalls"};
    }
}

} // namespace fourwalls::gui
