// SPDX-License-Identifier: Apache-2.0
// Ranks that took turns on too few cores: what a replay of them labels and refuses.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/replay/core_share.h"
#include "model/replay/replay.h"
#include "tests/model/trace/step_builder.h"
#include "tests/support/test_program.h"

#include <algorithm>

namespace tst_core_share {

using namespace fourwalls;
using namespace fourwalls::replay;
using namespace fourwalls::test;

TraceHeader header(int ranks, int cores, const char* family = "cpu")
{
    TraceHeader header = headerOf(ranks);
    header.spec.emplace();
    header.spec->training.device = DeviceKind::Cpu;
    header.spec->cluster.device.family = family;
    header.spec->cluster.devicesPerNode = cores;
    return header;
}

/// Each rank works for 4 ms, one after the other; all meet; each works for 2 ms more, at once.
Replay turns(const TraceHeader& of, int late = 0)
{
    const int ranks = static_cast<int>(of.ranks.size());
    Builder b(ranks, of);
    for (int step : {0, 1})
        for (int rank = 0; rank < ranks; ++rank) {
            const std::int64_t begin = 40 * step * kMs, met = begin + 20 * kMs;
            const std::int64_t start = begin + (4 * rank + (step == 1 ? late : 0)) * kMs;
            b.work(rank, "forward", Phase::Forward, start, start + 4 * kMs);
            b.collective(rank, start + 4 * kMs, met, met + 2 * kMs, step);
            b.work(rank, "adam", Phase::Optimizer, met + 2 * kMs, met + 4 * kMs);
            b.step(rank, step, begin, met + 4 * kMs);
        }
    InMemoryTraceQuery trace = b.finish();
    auto made = Replay::of(trace, {});
    if (!made.ok()) qFatal("%s", made.error().message().c_str());
    return std::move(*made);
}

bool has(const std::vector<Sentence>& sentences, const char* words)
{
    return std::any_of(sentences.begin(), sentences.end(),
                       [&](const Sentence& each) { return each.inWords().find(words) != std::string::npos; });
}

Result<ReplayOutcome> after(const Replay& replay, const char* change)
{
    const std::vector<ReplayChange> changes{*parseChange(change)};
    return replay.run(DelayRule::Class, changes);
}

class CoreShareTest : public QObject {
    Q_OBJECT

private slots:
    void whoSharesCores();
    void whatCannotBeToldIsRefused_data();
    void whatCannotBeToldIsRefused();
    void theRestIsLabelled();
    void aCoreEachIsNoMatter();
};

void CoreShareTest::whoSharesCores()
{
    QVERIFY(coreShare(header(4, 2))->isCrowded());
    QVERIFY(!coreShare(header(2, 2))->isCrowded());
    QVERIFY(!coreShare(header(1, 1)));
    // Machines of a preset are not those that computed.
    const auto elsewhere = coreShare(header(4, 8, "ampere"));
    QVERIFY(elsewhere && !elsewhere->cores && !elsewhere->isCrowded());
    // On two hosts, two ranks each.
    TraceHeader spread = header(4, 2);
    for (int rank : {2, 3}) spread.ranks[static_cast<std::size_t>(rank)].host = "other";
    QVERIFY(!coreShare(spread)->isCrowded());
    TraceHeader modelled = header(4, 2);
    modelled.clock = ClockKind::Device;
    QVERIFY(!coreShare(modelled));
    TraceHeader gpus = header(4, 2);
    gpus.spec->training.device = DeviceKind::Cuda;
    QVERIFY(!coreShare(gpus));
}

void CoreShareTest::whatCannotBeToldIsRefused_data()
{
    QTest::addColumn<QString>("change");
    for (const char* change : {"stragglers=none", "rank:1=fleet", "link:dp*2"}) QTest::newRow(change) << change;
}

void CoreShareTest::whatCannotBeToldIsRefused()
{
    QFETCH(QString, change);
    const auto outcome = after(turns(header(4, 2)), change.toUtf8().constData());
    QVERIFY(!outcome.ok());
    QVERIFY2(outcome.error().message().find("4 ranks took turns on 2 cores") != std::string::npos,
             outcome.error().message().c_str());
}

void CoreShareTest::theRestIsLabelled()
{
    const Replay replay = turns(header(4, 2));
    QVERIFY(has(replay.quality(DelayRule::Class).notes, "4 ranks took turns on 2 cores"));
    const auto outcome = after(replay, "kernels:adam*0.5");
    QVERIFY2(outcome.ok(), outcome.ok() ? "" : outcome.error().message().c_str());
    QVERIFY(has(outcome->assumed, "4 ranks took turns on 2 cores"));
    // Who does not say how many cores there were, and is far off, is not believed either.
    const Replay old = turns(header(4, 8, "ampere"), 3);
    const ReplayQuality quality = old.quality(DelayRule::Class);
    QVERIFY2(quality.meanError > 10, qPrintable(QString::number(quality.meanError)));
    QVERIFY(has(quality.notes, "does not say how many cores"));
}

void CoreShareTest::aCoreEachIsNoMatter()
{
    const Replay replay = turns(header(4, 4));
    QVERIFY(!has(replay.quality(DelayRule::Class).notes, "cores"));
    QVERIFY(after(replay, "stragglers=none").ok());
}

FOURWALLS_TEST(CoreShareTest, QCoreApplication)

} // namespace tst_core_share

#include "tst_core_share.moc"
