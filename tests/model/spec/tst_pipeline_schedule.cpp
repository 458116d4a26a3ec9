// SPDX-License-Identifier: Apache-2.0
// The pipeline schedules: complete, in an order that can run, with the bubbles and the memory that theory promises.
#include <QtTest>

#include "model/spec/names.h"
#include "model/spec/pipeline_schedule.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace tst_pipeline_schedule {

using namespace fourwalls;
using enum PipelinePass;

namespace {

using Lists = std::vector<std::vector<PipelineAction>>;
using TransferKey = std::tuple<PipelineTensor, int, int>; // tensor, micro-batch, receiving position

TransferKey keyOf(const PipelineTransfer& transfer)
{
    return {transfer.tensor, transfer.microbatch, transfer.toPosition};
}

/// Times of one micro-batch in one chunk.
struct PassTimes {
    int forward = 1, backwardInput = 1, backwardWeight = 1;

    int of(PipelinePass pass) const
    {
        if (pass == Forward) return forward;
        if (pass == BackwardInput) return backwardInput;
        return pass == BackwardWeight ? backwardWeight : backwardInput + backwardWeight;
    }
};

struct StageRun {
    int firstStart = 0, lastEnd = 0, busy = 0;
};

/// Runs the lists with buffered sends that take no time; empty when they cannot finish.
std::vector<StageRun> execute(const PipelineShape& shape, const Lists& lists, const PassTimes& times)
{
    std::map<TransferKey, int> arrived;
    std::vector<std::size_t> next(lists.size());
    std::vector<StageRun> runs(lists.size());
    for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t s = 0; s < lists.size(); ++s) {
            while (next[s] < lists[s].size()) {
                const PipelineAction& action = lists[s][next[s]];
                int start = runs[s].lastEnd;
                if (const auto needed = shape.needs(static_cast<int>(s), action)) {
                    const auto found = arrived.find(keyOf(*needed));
                    if (found == arrived.end()) break;
                    start = std::max(start, found->second);
                }
                if (next[s] == 0) runs[s].firstStart = start;
                runs[s].lastEnd = start + times.of(action.pass);
                runs[s].busy += times.of(action.pass);
                if (const auto given = shape.gives(static_cast<int>(s), action))
                    arrived.emplace(keyOf(*given), runs[s].lastEnd);
                ++next[s];
                moved = true;
            }
        }
    }
    for (std::size_t s = 0; s < lists.size(); ++s)
        if (next[s] != lists[s].size()) return {};
    return runs;
}

int windowOf(const std::vector<StageRun>& runs)
{
    int first = runs.front().firstStart, last = 0;
    for (const StageRun& run : runs) {
        first = std::min(first, run.firstStart);
        last = std::max(last, run.lastEnd);
    }
    return last - first;
}

/// Mean bubble as a share of the window.
double bubbleOf(const std::vector<StageRun>& runs)
{
    const double window = windowOf(runs);
    double sum = 0;
    for (const StageRun& run : runs) sum += (window - run.busy) / window;
    return sum / static_cast<double>(runs.size());
}

/// Runs the lists when a send waits for its receiver and a stage keeps one receive posted per neighbour and kind of
/// tensor: the strictest way to send. False when that deadlocks.
bool finishesWithWaitingSends(const PipelineShape& shape, const Lists& lists)
{
    using Channel = std::tuple<int, int, PipelineTensor>; // from, to
    struct Stage {
        std::size_t next = 0;
        std::optional<PipelineTransfer> sending;
    };
    std::map<Channel, std::size_t> delivered; // and not yet used
    std::vector<Stage> stages(lists.size());
    for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t s = 0; s < lists.size(); ++s) {
            Stage& stage = stages[s];
            if (stage.sending) {
                const Channel channel{stage.sending->fromStage, stage.sending->toStage, stage.sending->tensor};
                if (!stage.sending->isLocal() && delivered[channel] == 1) continue; // the posted receive is full
                ++delivered[channel];
                stage.sending.reset();
                moved = true;
            }
            if (stage.next == lists[s].size()) continue;
            const PipelineAction& action = lists[s][stage.next];
            if (const auto needed = shape.needs(static_cast<int>(s), action)) {
                const Channel channel{needed->fromStage, needed->toStage, needed->tensor};
                if (delivered[channel] == 0) continue;
                --delivered[channel];
            }
            stage.sending = shape.gives(static_cast<int>(s), action);
            ++stage.next;
            moved = true;
        }
    }
    for (std::size_t s = 0; s < lists.size(); ++s)
        if (stages[s].sending || stages[s].next != lists[s].size()) return false;
    return true;
}

Lists listsOf(const PipelineShape& shape)
{
    auto lists = pipelineActions(shape);
    return lists ? std::move(*lists) : Lists{};
}

} // namespace

class PipelineScheduleTest : public QObject {
    Q_OBJECT

private slots:
    void everySchedule_data();
    void everySchedule();
    void bubbles_data();
    void bubbles();
    void zeroBubbleStagesNeverPause_data();
    void zeroBubbleStagesNeverPause();
    void inFlight_data();
    void inFlight();
    void interleavedOrder();
    void refuses_data();
    void refuses();
    void shapeOfAPlan();
};

void PipelineScheduleTest::everySchedule_data()
{
    QTest::addColumn<int>("schedule");
    QTest::addColumn<int>("stages");
    QTest::addColumn<int>("chunks");
    QTest::addColumn<int>("microbatches");
    for (const auto& [schedule, word] : kScheduleWords) {
        for (const int stages : {1, 2, 3, 4, 7, 8}) {
            for (const int microbatches : {1, 2, 3, 4, 6, 8, 16, 21}) {
                for (const int chunks : {1, 2, 3, 5}) {
                    if (!checkPipeline({schedule, stages, chunks, microbatches}).ok()) continue;
                    QTest::addRow("%s p=%d v=%d m=%d", std::string(word).c_str(), stages, chunks, microbatches)
                        << static_cast<int>(schedule) << stages << chunks << microbatches;
                }
            }
        }
    }
}

void PipelineScheduleTest::everySchedule()
{
    QFETCH(int, schedule);
    QFETCH(int, stages);
    QFETCH(int, chunks);
    QFETCH(int, microbatches);
    const PipelineShape shape{static_cast<PipelineSchedule>(schedule), stages, chunks, microbatches};
    const Lists lists = listsOf(shape);
    QCOMPARE(lists.size(), std::size_t(stages));

    // Each action once.
    const std::set<PipelinePass> passes =
        shape.splitsBackward() ? std::set{Forward, BackwardInput, BackwardWeight} : std::set{Forward, Backward};
    for (const auto& list : lists) {
        std::set<std::tuple<PipelinePass, int, int>> seen;
        for (const PipelineAction& action : list) {
            QVERIFY(passes.contains(action.pass));
            QVERIFY(action.microbatch >= 0 && action.microbatch < microbatches);
            QVERIFY(action.chunk >= 0 && action.chunk < chunks);
            QVERIFY(seen.emplace(action.pass, action.microbatch, action.chunk).second);
            // On its own stage: forward before backward, input gradient before weight gradient.
            if (action.pass == Backward || action.pass == BackwardInput)
                QVERIFY(seen.contains({Forward, action.microbatch, action.chunk}));
            if (action.pass == BackwardWeight) QVERIFY(seen.contains({BackwardInput, action.microbatch, action.chunk}));
        }
        QCOMPARE(seen.size(), passes.size() * std::size_t(microbatches) * std::size_t(chunks));
    }

    // Every tensor that is needed is given, by the neighbour, once; nothing is given that nobody needs.
    std::map<TransferKey, int> given, needed;
    std::map<std::tuple<int, int, PipelineTensor>, std::vector<TransferKey>> sentOrder, neededOrder;
    for (int stage = 0; stage < stages; ++stage) {
        for (const PipelineAction& action : lists[std::size_t(stage)]) {
            if (const auto transfer = shape.needs(stage, action)) {
                ++needed[keyOf(*transfer)];
                QCOMPARE(transfer->toStage, stage);
                neededOrder[{transfer->fromStage, stage, transfer->tensor}].push_back(keyOf(*transfer));
            }
            if (const auto transfer = shape.gives(stage, action)) {
                ++given[keyOf(*transfer)];
                QCOMPARE(transfer->fromStage, stage);
                sentOrder[{stage, transfer->toStage, transfer->tensor}].push_back(keyOf(*transfer));
            }
        }
    }
    QVERIFY(given == needed);
    QVERIFY(std::all_of(given.begin(), given.end(), [](const auto& entry) { return entry.second == 1; }));
    QVERIFY(sentOrder == neededOrder); // a channel per (pair, tensor) needs no tags

    const PassTimes times;
    QVERIFY(!execute(shape, lists, times).empty());
    QVERIFY(finishesWithWaitingSends(shape, lists));
}

void PipelineScheduleTest::bubbles_data()
{
    QTest::addColumn<int>("schedule");
    QTest::addColumn<int>("chunks");
    QTest::addColumn<int>("forward");
    QTest::addColumn<int>("backwardInput");
    QTest::addColumn<int>("backwardWeight");
    const std::tuple<const char*, PipelineSchedule, int> kinds[] = {
        {"naive", PipelineSchedule::Naive, 1},
        {"gpipe", PipelineSchedule::GPipe, 1},
        {"1f1b", PipelineSchedule::OneFOneB, 1},
        {"interleaved v=2", PipelineSchedule::Interleaved, 2},
        {"interleaved v=4", PipelineSchedule::Interleaved, 4},
        {"zb", PipelineSchedule::ZeroBubbleH1, 1}};
    for (const auto& [word, schedule, chunks] : kinds)
        for (const auto& [f, b, w] : {std::tuple{1, 1, 1}, {20, 22, 18}, {5, 6, 4}})
            QTest::addRow("%s F=%d B=%d W=%d", word, f, b, w) << static_cast<int>(schedule) << chunks << f << b << w;
}

void PipelineScheduleTest::bubbles()
{
    QFETCH(int, schedule);
    QFETCH(int, chunks);
    QFETCH(int, forward);
    QFETCH(int, backwardInput);
    QFETCH(int, backwardWeight);
    const PassTimes times{forward, backwardInput, backwardWeight};
    for (const auto& [p, m] : {std::pair{4, 8}, {8, 16}, {2, 2}, {3, 12}}) {
        const PipelineShape shape{static_cast<PipelineSchedule>(schedule), p, chunks, m};
        const auto runs = execute(shape, listsOf(shape), times);
        QVERIFY(!runs.empty());
        const double idle = p - 1;
        double expected = 0;
        switch (shape.schedule) {
        case PipelineSchedule::Naive: expected = idle / p; break;
        case PipelineSchedule::ZeroBubbleH1: {
            const double empty = idle * (forward + backwardInput - backwardWeight);
            expected = empty / (m * (forward + backwardInput + backwardWeight) + empty);
            break;
        }
        default: expected = idle / (chunks * m + idle);
        }
        QVERIFY2(std::abs(bubbleOf(runs) - expected) < 1e-9,
                 qPrintable(QString("p=%1 m=%2: %3, expected %4").arg(p).arg(m).arg(bubbleOf(runs)).arg(expected)));
    }
}

void PipelineScheduleTest::zeroBubbleStagesNeverPause_data()
{
    QTest::addColumn<int>("schedule");
    QTest::addColumn<int>("chunks");
    QTest::newRow("zb2p") << static_cast<int>(PipelineSchedule::ZeroBubble2p) << 1;
    QTest::newRow("zbv") << static_cast<int>(PipelineSchedule::ZeroBubbleV) << 2;
}

/// With equal times a stage, once it has begun, works without a pause until it is done.
void PipelineScheduleTest::zeroBubbleStagesNeverPause()
{
    QFETCH(int, schedule);
    QFETCH(int, chunks);
    for (const auto& [p, m] : {std::pair{2, 3}, {2, 8}, {4, 7}, {4, 8}, {8, 16}, {8, 40}}) {
        const PipelineShape shape{static_cast<PipelineSchedule>(schedule), p, chunks, m};
        const auto runs = execute(shape, listsOf(shape), {});
        QVERIFY(!runs.empty());
        for (std::size_t s = 0; s < runs.size(); ++s) {
            QCOMPARE(runs[s].firstStart, int(s));
            QVERIFY2(runs[s].lastEnd - runs[s].firstStart == runs[s].busy,
                     qPrintable(QString("p=%1 m=%2 stage %3: %4 busy of %5")
                                    .arg(p)
                                    .arg(m)
                                    .arg(s)
                                    .arg(runs[s].busy)
                                    .arg(runs[s].lastEnd - runs[s].firstStart)));
        }
    }
}

void PipelineScheduleTest::inFlight_data()
{
    QTest::addColumn<int>("stages");
    QTest::addColumn<int>("microbatches");
    for (const auto& [p, m] : {std::pair{1, 4}, {2, 8}, {4, 8}, {8, 16}, {8, 3}, {4, 64}})
        QTest::addRow("p=%d m=%d", p, m) << p << m;
}

void PipelineScheduleTest::inFlight()
{
    QFETCH(int, stages);
    QFETCH(int, microbatches);
    const int p = stages, m = microbatches;
    const auto held = [&](PipelineSchedule schedule, int chunks) {
        std::vector<int> counts;
        for (const auto& list : listsOf({schedule, p, chunks, m})) counts.push_back(mostInFlight(list));
        return counts;
    };
    for (int s = 0; s < p; ++s) {
        const auto i = std::size_t(s);
        QCOMPARE(held(PipelineSchedule::Naive, 1)[i], 1);
        QCOMPARE(held(PipelineSchedule::GPipe, 1)[i], m);
        QCOMPARE(held(PipelineSchedule::OneFOneB, 1)[i], std::min(m, p - s));
        QCOMPARE(held(PipelineSchedule::ZeroBubbleH1, 1)[i], std::min(m, p));
        QCOMPARE(held(PipelineSchedule::ZeroBubble2p, 1)[i], std::min(m, 2 * p - 1));
        QVERIFY(held(PipelineSchedule::ZeroBubbleV, 2)[i] <= 2 * std::min(m, p) + (m < 2 * p ? m : 0));
        if (m >= 2 * p - 1) QCOMPARE(held(PipelineSchedule::ZeroBubbleV, 2)[i], 2 * p);
        if (m % p != 0) continue;
        for (const int v : {2, 3}) {
            // The first stage: p (1 + (p - 1) / (p v)) micro-batches of the whole stage.
            const int warmup = 2 * (p - s - 1) + (v - 1) * p;
            QCOMPARE(held(PipelineSchedule::Interleaved, v)[i], std::min(m * v, warmup + 1));
        }
    }
}

/// Two stages, two chunks, four micro-batches, by hand.
void PipelineScheduleTest::interleavedOrder()
{
    const Lists lists = listsOf({PipelineSchedule::Interleaved, 2, 2, 4});
    const auto textOf = [](const std::vector<PipelineAction>& list) {
        QString text;
        for (const PipelineAction& action : list)
            text += QString("%1%2%3 ")
                        .arg(action.pass == Forward ? "F" : "B")
                        .arg(action.microbatch)
                        .arg(QChar('a' + action.chunk));
        return text.trimmed();
    };
    QCOMPARE(textOf(lists[0]), QString("F0a F1a F0b F1b F2a B0b F3a B1b F2b B0a F3b B1a B2b B3b B2a B3a"));
    QCOMPARE(textOf(lists[1]), QString("F0a F1a F0b B0b F1b B1b F2a B0a F3a B1a F2b B2b F3b B3b B2a B3a"));
}

void PipelineScheduleTest::refuses_data()
{
    QTest::addColumn<int>("schedule");
    QTest::addColumn<int>("stages");
    QTest::addColumn<int>("chunks");
    QTest::addColumn<int>("microbatches");
    QTest::addColumn<QString>("field");
    const auto row = [](const char* what, PipelineSchedule schedule, int p, int v, int m, const char* field) {
        QTest::newRow(what) << static_cast<int>(schedule) << p << v << m << field;
    };
    row("no stages", PipelineSchedule::OneFOneB, 0, 1, 1, "pp");
    row("no micro-batches", PipelineSchedule::GPipe, 2, 1, 0, "microbatches");
    row("negative micro-batches", PipelineSchedule::GPipe, 2, 1, -3, "microbatches");
    row("no chunks", PipelineSchedule::Interleaved, 2, 0, 2, "vpp");
    row("one chunk interleaved", PipelineSchedule::Interleaved, 2, 1, 2, "vpp");
    row("not a multiple", PipelineSchedule::Interleaved, 4, 2, 6, "microbatches");
    row("virtual stages of 1f1b", PipelineSchedule::OneFOneB, 4, 2, 8, "schedule");
    row("virtual stages of zb", PipelineSchedule::ZeroBubbleH1, 4, 2, 8, "schedule");
    row("three legs of a V", PipelineSchedule::ZeroBubbleV, 4, 3, 8, "vpp");
    row("too long", PipelineSchedule::OneFOneB, 1000, 1, 1'000'000, "microbatches");
}

void PipelineScheduleTest::refuses()
{
    QFETCH(int, schedule);
    QFETCH(int, stages);
    QFETCH(int, chunks);
    QFETCH(int, microbatches);
    QFETCH(QString, field);
    const auto lists = pipelineActions({static_cast<PipelineSchedule>(schedule), stages, chunks, microbatches});
    QVERIFY(!lists.ok());
    QCOMPARE(QString::fromStdString(lists.error().where), field);
    QVERIFY(!lists.error().hint.empty());
}

void PipelineScheduleTest::shapeOfAPlan()
{
    const auto shape = pipelineShape(*parsePlan("pp=4 vpp=2 microbatches=8"));
    QVERIFY((shape == PipelineShape{PipelineSchedule::Interleaved, 4, 2, 8}));
    const auto v = pipelineShape(*parsePlan("pp=4 microbatches=8 schedule=zbv"));
    QCOMPARE(v.chunks, 2);
    QCOMPARE(v.stageOf(4), 3);
    QCOMPARE(v.positionOf(0, 1), 7);
}

FOURWALLS_TEST(PipelineScheduleTest, QCoreApplication)

} // namespace tst_pipeline_schedule

#include "tst_pipeline_schedule.moc"
