// SPDX-License-Identifier: GPL-3.0-or-later
// See hang_words.h.
#include "views/hang/hang_words.h"

#include "model/trace/group_label.h"

#include <QCoreApplication>

#include <algorithm>
#include <string_view>

namespace fourwalls::views {

namespace {

struct HangWords {
    Q_DECLARE_TR_FUNCTIONS(HangWords)
};

using diagnose::HangConfidence;
using diagnose::HangReason;

/// What PyTorch calls the group of all ranks.
constexpr std::string_view kEverybody = "default_pg";

QString rankNumbers(const std::vector<int>& ranks)
{
    return QString::fromStdString(diagnose::rankList(ranks)).replace(QLatin1Char('-'), QChar(0x2013));
}

QString operationWords(const diagnose::HangPlace& place)
{
    QString text = place.operation.empty()
                       ? HangWords::tr("an operation")
                       : QString::fromStdString(place.operation).replace(QLatin1Char('_'), QLatin1Char('-'));
    if (place.sequence) text += QLatin1Char(' ') + QString::number(*place.sequence);
    return text;
}

} // namespace

QString rankWords(const std::vector<int>& ranks)
{
    return ranks.size() == 1 ? HangWords::tr("rank %1").arg(ranks.front())
                             : HangWords::tr("ranks %1").arg(rankNumbers(ranks));
}

QString groupKindWords(const std::string& kind)
{
    switch (purposeOfGroup(kind)) {
    case GroupPurpose::Tensor: return HangWords::tr("tensor");
    case GroupPurpose::Pipeline: return HangWords::tr("pipeline");
    case GroupPurpose::Data: return HangWords::tr("data");
    case GroupPurpose::Context: return HangWords::tr("context");
    case GroupPurpose::Expert: return HangWords::tr("expert");
    case GroupPurpose::Other: break;
    }
    if (kind == kEverybody) return HangWords::tr("all ranks");
    return QString::fromStdString(kind);
}

QString hangPlaceWords(const diagnose::HangPlace& place)
{
    if (place.group.empty()) return operationWords(place);
    if (place.description == kEverybody) return HangWords::tr("%1 of all ranks").arg(operationWords(place));
    if (place.description.empty())
        return HangWords::tr("%1 of group %2").arg(operationWords(place), QString::fromStdString(place.group));
    return HangWords::tr("%1 of the %2 group %3")
        .arg(operationWords(place), groupKindWords(place.description), QString::fromStdString(place.group));
}

QString suspectSentence(const diagnose::HangSuspect& suspect)
{
    const QString place = hangPlaceWords(suspect.place);
    const int rank = suspect.rank;
    switch (suspect.reason) {
    case HangReason::DeviceStopped:
        return HangWords::tr("The device of rank %1 stopped: peers finished %2, which it entered and never finished.")
            .arg(rank)
            .arg(place);
    case HangReason::StuckAfterKernel:
        return HangWords::tr(
                   "Rank %1 entered %2 and never finished it, though peers did: its device stopped, or stands there.")
            .arg(rank)
            .arg(place);
    case HangReason::NoDump: return HangWords::tr("Rank %1 wrote no dump: its process was gone.").arg(rank);
    case HangReason::OtherOperation:
        return HangWords::tr("Rank %1 entered another operation than its peers as %2.").arg(rank).arg(place);
    case HangReason::HostStopped:
        return HangWords::tr("The program of rank %1 stands: it never entered %2.").arg(rank).arg(place);
    case HangReason::SkippedOperation: return HangWords::tr("Rank %1 went on without %2.").arg(rank).arg(place);
    case HangReason::ExtraOperation:
        return HangWords::tr("Rank %1 entered %2, without which its peers went on.").arg(rank).arg(place);
    case HangReason::HostBehind:
        return HangWords::tr("The program of rank %1 stands at %2, where its peers went on.").arg(rank).arg(place);
    case HangReason::DeviceBehind:
        return HangWords::tr("The device of rank %1 did not begin %2, which its peers began.").arg(rank).arg(place);
    case HangReason::WaitedFor: break;
    }
    return HangWords::tr("The others wait for rank %1 in %2, and it waits for nobody.").arg(rank).arg(place);
}

QString setSentence(const diagnose::HangSet& set)
{
    return HangWords::tr("One or more of %1, at %2: the dumps do not tell which.")
        .arg(rankWords(set.ranks), hangPlaceWords(set.place));
}

QString waitSentence(const diagnose::HangWaiting& waiting)
{
    const QString kind =
        groupKindWords(waiting.place.description.empty() ? waiting.place.group : waiting.place.description);
    QString text = HangWords::tr("%1 wait(s) for %2 in %3 (%4)", nullptr, static_cast<int>(waiting.ranks.size()))
                       .arg(rankWords(waiting.ranks), rankWords(waiting.waitsFor), operationWords(waiting.place), kind);
    if (!text.isEmpty()) text[0] = text[0].toUpper();
    return text;
}

QString confidenceWords(HangConfidence confidence)
{
    switch (confidence) {
    case HangConfidence::Certain: return HangWords::tr("certain");
    case HangConfidence::Strong: return HangWords::tr("nothing else explains it");
    case HangConfidence::Likely: break;
    }
    return HangWords::tr("likely");
}

QString rasSentence(const diagnose::RasNote& note)
{
    return HangWords::tr("NCCL RAS: %1").arg(QString::fromStdString(sentenceOf(note)));
}

QString hangAdvice(const diagnose::HangReport& report)
{
    const auto has = [&](std::initializer_list<HangReason> reasons) {
        return std::any_of(report.suspects.begin(), report.suspects.end(), [&](const diagnose::HangSuspect& each) {
            return std::find(reasons.begin(), reasons.end(), each.reason) != reasons.end();
        });
    };
    QStringList parts;
    if (has({HangReason::DeviceStopped, HangReason::StuckAfterKernel, HangReason::DeviceBehind}))
        parts << HangWords::tr(
            "Look into the kernel log of that host for Xid messages, and restart without the device.");
    if (has({HangReason::NoDump}))
        parts << HangWords::tr("Look into the log of that rank: it ended by itself, or was killed (out of memory?).");
    if (has({HangReason::OtherOperation, HangReason::SkippedOperation, HangReason::ExtraOperation}))
        parts << HangWords::tr("Look for a condition in the program that is not the same on all ranks.");
    if (report.stacks.empty() && has({HangReason::HostStopped, HangReason::HostBehind, HangReason::WaitedFor}))
        parts << HangWords::tr(
            "Where its program stands tells a stack: py-spy dump --pid PID > stack_RANK.txt beside the dumps.");
    if (report.suspects.empty() && !report.sets.empty())
        parts << HangWords::tr("With TORCH_NCCL_ENABLE_TIMING=1 a dump also says which device began an operation.");
    return parts.join(QLatin1Char(' '));
}

} // namespace fourwalls::views
