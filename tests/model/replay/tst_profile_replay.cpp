// SPDX-License-Identifier: Apache-2.0
// Profiles of PyTorch that others recorded on several ranks, run again with the delays that work of its kind usually has.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/import/import_registry.h"
#include "model/replay/replay.h"
#include "model/trace/in_memory_query.h"
#include "tests/support/test_program.h"

#include <QDir>
#include <QDirIterator>

#include <cstdlib>

namespace tst_profile_replay {

using namespace fourwalls;
using namespace fourwalls::replay;

Result<Replay> replayOf(const QString& folder)
{
    std::vector<std::string> files;
    QDirIterator below(QDir(FOURWALLS_SOURCE_DIR "/tests/data/import").filePath(folder), {"*.json.gz"}, QDir::Files,
                       QDirIterator::Subdirectories);
    while (below.hasNext()) files.push_back(below.next().toStdString());
    std::sort(files.begin(), files.end());
    FOURWALLS_TRY_ASSIGN(const auto import, importers::openImport(files));
    InMemoryTrace trace(import->header());
    FOURWALLS_TRY(import->write(trace, {}));
    FOURWALLS_TRY(trace.finish(import->closing()));
    InMemoryTraceQuery query(trace.data());
    return Replay::of(query, {});
}

class ProfileReplayTest : public QObject {
    Q_OBJECT

private slots:
    void unchanged_data();
    void unchanged();
    void aProgramBoundStepGainsNothingFromKernels();
    void aFullQueueIsNoWorkOfTheProgram();
    void refuses_data();
    void refuses();
};

void ProfileReplayTest::unchanged_data()
{
    QTest::addColumn<QString>("folder");
    QTest::addColumn<int>("ranks");
    QTest::addColumn<bool>("stalls");
    QTest::newRow("DLRM") << "param/dlrm_kineto" << 8 << false;
    QTest::newRow("Megatron-LM") << "Megatron-LM/tp2" << 2 << true;
}

void ProfileReplayTest::unchanged()
{
    QFETCH(QString, folder);
    QFETCH(int, ranks);
    QFETCH(bool, stalls);
    const auto replay = replayOf(folder);
    QVERIFY2(replay.ok(), replay.ok() ? "" : replay.error().message().c_str());
    const ReplayQuality quality = replay->quality(DelayRule::Class);
    QCOMPARE(quality.ranks, std::int64_t(ranks));
    QVERIFY2(quality.meanError < 0.3, qPrintable(QString::number(quality.meanError)));
    QCOMPARE(quality.negativeDelays, std::int64_t(0));
    // Rank 0 of the second job stands still again and again while work is queued: said, and kept.
    const bool said = std::any_of(quality.notes.begin(), quality.notes.end(), [](const Sentence& note) {
        return note.inWords().find("stood still") != std::string::npos;
    });
    QVERIFY(said || !stalls);
    QCOMPARE(replay->quality(DelayRule::Own).maxError, 0.0);
}

void ProfileReplayTest::aProgramBoundStepGainsNothingFromKernels()
{
    const auto replay = replayOf("param/dlrm_kineto");
    QVERIFY(replay.ok());
    const double unchanged = replay->quality(DelayRule::Class).replayed.milliseconds();
    const auto after = [&](const char* change) {
        const std::vector<ReplayChange> changes{*parseChange(change)};
        return replay->run(DelayRule::Class, changes)->changed.milliseconds();
    };
    QCOMPARE(after("kernels:sgemm*0.5"), unchanged);
    QVERIFY(after("launches=graph") < 0.25 * unchanged);
}

void ProfileReplayTest::aFullQueueIsNoWorkOfTheProgram()
{
    // A device that is busy for 98 % of the step, behind a queue of about a thousand launches.
    const char* const folder = std::getenv("FOURWALLS_TRACES");
    if (!folder) QSKIP("FOURWALLS_TRACES does not name the larger set of files");
    const auto replay = replayOf(QString(folder) + "/HolisticTraceAnalysis/ns_resolution_trace");
    QVERIFY2(replay.ok(), replay.ok() ? "" : replay.error().message().c_str());
    const ReplayQuality quality = replay->quality(DelayRule::Class);
    QVERIFY2(quality.meanError < 0.3, qPrintable(QString::number(quality.meanError)));
    QCOMPARE(quality.negativeDelays, std::int64_t(0));
    const auto after = [&](const char* change) {
        const std::vector<ReplayChange> changes{*parseChange(change)};
        return replay->run(DelayRule::Class, changes)->changed.milliseconds();
    };
    // 93.7 ms of kernels a step, and 31 ms of the program that waited for nothing, worked out from the file by itself.
    const double half = after("kernels:*0.5");
    QVERIFY2(half > 0.5 * 93.7 && half < 52, qPrintable(QString::number(half)));
    const double graph = after("launches=graph");
    QVERIFY2(graph > 93.7 && graph <= quality.replayed.milliseconds(), qPrintable(QString::number(graph)));
}

void ProfileReplayTest::refuses_data()
{
    QTest::addColumn<QString>("folder");
    QTest::addColumn<QString>("change");
    QTest::addColumn<QString>("says");
    QTest::newRow("transfers by the name of a kernel") << "Megatron-LM/tp2"
                                                       << "kernels:nccl*0.5"
                                                       << "link:GROUP*F";
    QTest::newRow("one rank has no peers") << "HolisticTraceAnalysis/critical_path/alexnet"
                                           << "stragglers=none"
                                           << "no other one to compare it with";
}

void ProfileReplayTest::refuses()
{
    QFETCH(QString, folder);
    QFETCH(QString, change);
    QFETCH(QString, says);
    const auto replay = replayOf(folder);
    QVERIFY2(replay.ok(), replay.ok() ? "" : replay.error().message().c_str());
    const std::vector<ReplayChange> changes{*parseChange(change.toStdString())};
    const auto outcome = replay->run(DelayRule::Class, changes);
    QVERIFY(!outcome.ok());
    QVERIFY2(QString::fromStdString(outcome.error().message()).contains(says), outcome.error().message().c_str());
}

FOURWALLS_TEST(ProfileReplayTest, QCoreApplication)

} // namespace tst_profile_replay

#include "tst_profile_replay.moc"
