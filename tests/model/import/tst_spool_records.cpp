// SPDX-License-Identifier: Apache-2.0
// Later kinds of records of a spool: events between streams, the recorder's cost, its limits, steps left out; and spools
// of before, which lack them.
#include <QtTest>

#ifndef Q_MOC_RUN
#include "model/trace/in_memory_trace.h"
#include "model/trace/trace_completeness.h"
#include "tests/model/import/import_helpers.h"
#include "tests/model/import/spool_sample.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <map>
#include <string>
#include <vector>
#endif

namespace tst_spool_records {

using namespace fourwalls;
using namespace fourwalls::importers;
using namespace fourwalls::importers::test;

class SpoolRecordsTest : public QObject {
    Q_OBJECT

private slots:
    /// What Python's hook tells becomes slices of the thread; waiting for data is data loading.
    void hostPauses()
    {
        const QTemporaryDir folder;
        const std::string path = folder.path().toStdString() + "/p.fwspool";
        {
            using enum collect::PauseKind;
            SpoolSample spool(path, 0, 1);
            const auto pause = [&](collect::PauseKind kind, std::int64_t begin, std::int64_t end,
                                   std::uint64_t detail) {
                spool.add(collect::RecordKind::HostPause, collect::HostPause{spool.at(begin), spool.at(end), 1,
                                                                             static_cast<std::uint32_t>(kind), detail});
            };
            spool.launch("gemm", 10, 20, 30);
            pause(GarbageCollection, 60, 72, 2);
            pause(DataLoading, 80, 95, 0);
            pause(DataLoading, 99, 98, 0); // impossible
            spool.launch("gemm", 100, 110, 30);
            spool.end(200);
        }
        const Imported imported = importPaths({path});
        QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
        const auto collected = imported.slice("garbage collection (generation 2)");
        const auto loaded = imported.slice("DataLoader.__next__");
        QVERIFY(collected && loaded);
        QCOMPARE(collected->duration.ns, std::int64_t{12'000});
        QCOMPARE(loaded->duration.ns, std::int64_t{15'000});
        QCOMPARE(loaded->track, collected->track);
        QCOMPARE((loaded->start - collected->start).ns, std::int64_t{20'000});
        QCOMPARE(imported.data->ops[static_cast<std::size_t>(loaded->op.value)]->activity, Activity::DataLoading);
        QVERIFY(imported.data->ops[static_cast<std::size_t>(collected->op.value)]->activity != Activity::DataLoading);
        QCOMPARE(imported.audit("host_pauses"), std::int64_t{2});
        QCOMPARE(imported.audit("unknown_records"), std::int64_t{0});
    }

    /// A call that waits has its place in the Python program; calls of the same function elsewhere have theirs, or none.
    void stacksOfWaits()
    {
        const QTemporaryDir folder;
        const std::string path = folder.path().toStdString() + "/s.fwspool";
        {
            SpoolSample spool(path, 0, 1);
            const auto wait = [&](std::int64_t at, const std::string& stack) {
                const std::uint32_t correlation = spool.nextCorrelation();
                spool.call(at, correlation, 1, "cudaStreamSynchronize_v3020");
                if (!stack.empty())
                    spool.add(collect::RecordKind::SyncStack,
                              collect::SyncStack{spool.at(at), 1, correlation, spool.text(stack), 0});
            };
            spool.launch("gemm", 10, 20, 30);
            wait(60, "job/train.py:12 log < job/train.py:40 <module>");
            wait(70, "job/train.py:20 clip < job/train.py:40 <module>");
            wait(80, "");
            spool.end(200);
        }
        const Imported imported = importPaths({path});
        QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
        std::map<std::int64_t, std::string> found;
        for (const auto& slice : imported.data->slices) {
            const auto& op = *imported.data->ops[static_cast<std::size_t>(slice.op.value)];
            if (op.name == "cudaStreamSynchronize") found[slice.start.ns] = op.detail;
        }
        QCOMPARE(found.size(), std::size_t{3});
        QCOMPARE(found.begin()->second, std::string("job/train.py:12 log < job/train.py:40 <module>"));
        QCOMPARE(std::next(found.begin())->second, std::string("job/train.py:20 clip < job/train.py:40 <module>"));
        QCOMPARE(std::next(found.begin(), 2)->second, std::string());
        QCOMPARE(imported.audit("sync_stacks"), std::int64_t{2});
        QCOMPARE(imported.audit("unknown_records"), std::int64_t{0});
    }

    /// Stream 20 waits for what stream 7 was given before its event: not for the kernel behind it.
    void streamWaits_data()
    {
        QTest::addColumn<bool>("withIds");
        QTest::addColumn<bool>("old");
        QTest::newRow("tied by the record's id") << true << false;
        QTest::newRow("tied by event and order") << false << false;
        QTest::newRow("a wait as older collectors wrote it") << false << true;
    }
    void streamWaits()
    {
        QFETCH(const bool, withIds);
        QFETCH(const bool, old);
        const QTemporaryDir folder;
        const std::string path = folder.path().toStdString() + "/e.fwspool";
        {
            SpoolSample spool(path, 0, 1);
            const auto record = [&](std::uint32_t event, std::uint64_t id) {
                collect::CudaEvent made{};
                made.recordId = withIds ? id : 0;
                made.event = event;
                made.context = 1;
                made.stream = 7;
                made.correlation = spool.nextCorrelation();
                spool.add(collect::RecordKind::CudaEvent, made);
            };
            const auto wait = [&](std::uint32_t event, std::uint64_t id, std::int64_t at) {
                collect::Synchronization made{};
                made.start = spool.at(at);
                made.end = spool.at(at + 1);
                made.type = static_cast<std::uint32_t>(collect::SynchronizationType::StreamWaitEvent);
                made.context = 1;
                made.stream = 20;
                made.event = event;
                made.correlation = spool.nextCorrelation();
                made.recordId = withIds ? id : 0;
                if (!old) {
                    spool.add(collect::RecordKind::Synchronization, made);
                    return;
                }
                struct Old {
                    std::byte bytes[offsetof(collect::Synchronization, recordId)];
                } shorter;
                std::memcpy(&shorter, &made, sizeof shorter);
                spool.add(collect::RecordKind::Synchronization, shorter);
            };
            spool.launch("first", 10, 20, 30, 1, 7);
            record(3, 100);
            spool.launch("second", 12, 50, 30, 1, 7);
            wait(3, 100, 14);
            spool.launch("reduced", 16, 60, 10, 1, 20);
            record(3, 101); // the same event again
            spool.launch("third", 18, 90, 5, 1, 7);
            wait(3, 101, 20);
            spool.launch("reduced again", 22, 85, 10, 1, 20);
            wait(9, 900, 24); // never seen
            spool.end(200);
        }
        const Imported imported = importPaths({path});
        QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
        std::vector<FlowRecord> arrows;
        for (const FlowRecord& flow : imported.data->flows)
            if (flow.kind == "stream_wait") arrows.push_back(flow);
        QCOMPARE(arrows.size(), std::size_t{2});
        const auto us = [&](const char* name) { return imported.slice(name)->start; };
        QCOMPARE(arrows[0].fromTrack, imported.slice("first")->track);
        QCOMPARE(arrows[0].toTrack, imported.slice("reduced")->track);
        QCOMPARE((arrows[0].from - us("first")).ns, std::int64_t{30'000});
        QCOMPARE(arrows[0].to, us("reduced"));
        QCOMPARE((arrows[1].from - us("second")).ns, std::int64_t{30'000});
        QCOMPARE(arrows[1].to, us("reduced again"));
        QCOMPARE(imported.audit("stream_wait_arrows"), std::int64_t{2});
        QCOMPARE(imported.audit("stream_waits_without_arrow"), std::int64_t{1});
    }

    /// 1 ms is recorded of 3; the loop's thread spent 50 us of it in the recorder, another one 20, the recorder's own 900.
    void costOfTheRecorder()
    {
        const QTemporaryDir folder;
        const std::string path = folder.path().toStdString() + "/c.fwspool";
        {
            SpoolSample spool(path, 0, 1);
            spool.launch("gemm", 0, 20, 5);
            const auto cost = [&](std::int64_t at, std::uint32_t thread, std::int64_t us, bool own) {
                spool.add(collect::RecordKind::RecorderCost,
                          collect::RecorderCost{spool.at(at), static_cast<std::uint64_t>(us) * 1000, 10, thread,
                                                own ? 1u : 0u});
            };
            cost(100, 1, 10, false);
            cost(200, 1, 50, false);
            cost(200, 2, 20, false);
            cost(200, 3, 900, true);
            spool.window(500, false, collect::WindowReason::Every);
            spool.window(2500, true, collect::WindowReason::Every);
            spool.used(3000, 1);
            spool.end(3000);
        }
        const Imported imported = importPaths({path});
        QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
        const auto fraction = imported.data->info.closing.recorderOverheadFraction;
        QVERIFY(fraction.has_value());
        QVERIFY2(std::abs(*fraction - 0.05) < 1e-9, std::to_string(*fraction).c_str());
        QCOMPARE(imported.audit("recording_pauses"), std::int64_t{1});
        QCOMPARE(imported.audit("recorder_ns_rank_0"), std::int64_t{70'000}); // the last of each thread
        QCOMPARE(imported.audit("recorder_threads_ns_rank_0"), std::int64_t{900'000});
        const auto& audit = imported.data->info.audit;
        const auto row = std::find_if(audit.begin(), audit.end(),
                                      [](const AuditRecord& each) { return each.name == "recorder_ns_rank_0"; });
        QVERIFY(row != audit.end());
        QVERIFY2(row->detail.ends_with(" 0.05 ms, thread 2 0.02 ms"), row->detail.c_str());
    }

    /// What the limit cut is not all there is; detail and left-out steps are as asked for.
    void endedAtTheLimit()
    {
        const QTemporaryDir folder;
        for (const bool limited : {false, true}) {
            const std::string path = folder.path().toStdString() + (limited ? "/l.fwspool" : "/n.fwspool");
            {
                SpoolSample spool(path, 0, 1);
                spool.launch("gemm", 10, 20, 5);
                const auto say = [&](collect::MessageCode code, std::int64_t value) {
                    spool.add(collect::RecordKind::Message,
                              collect::Message{spool.at(1), value, static_cast<std::uint32_t>(code), 0, 0, 0});
                };
                say(collect::MessageCode::Detail, 1);
                say(collect::MessageCode::Every, 10);
                if (limited) say(collect::MessageCode::SpoolLimit, 1 << 20);
                collect::MemoryPool pool{}; // its size lies where an end has its reason
                pool.time = spool.at(30);
                pool.size = static_cast<std::uint64_t>(collect::EndReason::Limit);
                spool.add(collect::RecordKind::MemoryPool, pool);
                spool.add(collect::RecordKind::End,
                          collect::End{spool.at(100), 1,
                                       static_cast<std::uint32_t>(limited ? collect::EndReason::Limit
                                                                          : collect::EndReason::Exit),
                                       0});
            }
            const Imported imported = importPaths({path});
            QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
            QCOMPARE(imported.audit("detail_level_low"), std::int64_t{1});
            QCOMPARE(imported.audit("every_nth_step_10"), std::int64_t{1});
            QCOMPARE(imported.audit("recording_limited"), std::int64_t{limited ? 1 : 0});
            QCOMPARE(imported.audit("recording_cut"), std::int64_t{0});
            QCOMPARE(completenessOf(imported.data->info).state,
                     limited ? Completeness::Partial : Completeness::Complete);
        }
    }

    /// Counts of processes are added up, and a level is no count.
    void settingsOfTwoProcesses()
    {
        const QTemporaryDir folder;
        std::vector<std::string> paths;
        for (int rank = 0; rank < 2; ++rank) {
            paths.push_back(folder.path().toStdString() + "/" + std::to_string(rank) + ".fwspool");
            SpoolSample spool(paths.back(), rank, 2);
            spool.launch("gemm", 10, 20, 5);
            for (const auto& [code, value] :
                 {std::pair{collect::MessageCode::Detail, 1}, std::pair{collect::MessageCode::Every, 10}})
                spool.add(collect::RecordKind::Message,
                          collect::Message{spool.at(1), value, static_cast<std::uint32_t>(code), 0, 0, 0});
            spool.end(100);
        }
        const Imported imported = importPaths(paths);
        QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
        QCOMPARE(imported.audit("detail_level_low"), std::int64_t{2});
        QCOMPARE(imported.audit("every_nth_step_10"), std::int64_t{2});
    }

    /// One step out of five: each lasts as long as its own work, not until the next one that was recorded.
    void oneStepOutOfFive()
    {
        const QTemporaryDir folder;
        const std::string path = folder.path().toStdString() + "/f.fwspool";
        {
            SpoolSample spool(path, 0, 1);
            for (int step = 0; step < 20; ++step) {
                const std::int64_t begin = 1000 + step * 100;
                if (step % 5 == 0) spool.window(begin - 1, true, collect::WindowReason::Every);
                if (step % 5 == 1) spool.window(begin - 1, false, collect::WindowReason::Every);
                spool.add(collect::RecordKind::StepMark, collect::StepMark{spool.at(begin), step, 1, 0, 1, 0});
                if (step % 5 != 0) continue;
                for (int i = 0; i < 3; ++i) spool.launch("gemm", begin + 1 + i * 5, begin + 30 + i * 10, 8);
            }
            spool.end(4000);
        }
        const Imported imported = importPaths({path});
        QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
        const std::vector<StepView>& steps = imported.data->steps.at(RankId{0});
        QCOMPARE(steps.size(), std::size_t{4});
        for (std::size_t i = 0; i < steps.size(); ++i) {
            QCOMPARE(steps[i].record.step.value, static_cast<int>(i * 5));
            // Of the last, too: 30 to 58.
            QVERIFY2(steps[i].record.range.length().ns <= 100'000,
                     std::to_string(steps[i].record.range.length().ns).c_str());
            QVERIFY(steps[i].record.range.length().ns >= 28'000);
        }
    }

    /// Where the program marks no steps, the recorder counts the ends of its optimizer.
    void stepsBetweenOptimizers_data()
    {
        QTest::addColumn<bool>("window");
        QTest::addColumn<std::vector<int>>("expected");
        QTest::newRow("a window") << true << std::vector<int>{2, 3, 4};
        // Its first step holds what the program begins with, and behind the last optimizer it evaluates.
        QTest::newRow("everything") << false << std::vector<int>{1, 2, 3, 4, 5};
    }
    void stepsBetweenOptimizers()
    {
        QFETCH(bool, window);
        QFETCH(std::vector<int>, expected);
        const QTemporaryDir folder;
        const std::string path = folder.path().toStdString() + "/o.fwspool";
        {
            SpoolSample spool(path, 0, 1);
            if (window) spool.window(1, false, collect::WindowReason::Always);
            for (int step = 0; step < 6; ++step) {
                const std::int64_t begin = 1000 + step * 1000, end = begin + 900;
                const bool recorded = !window || (step >= 2 && step <= 4);
                const int launches = step == 0 ? 90 : 30;
                for (int i = 0; recorded && i < launches; ++i)
                    spool.launch("gemm", begin + i * 5, begin + 50 + i * 5, 4);
                if (window && step == 1) spool.window(end - 1, true, collect::WindowReason::Steps);
                if (window && step == 4) spool.window(end - 1, false, collect::WindowReason::Steps);
                spool.add(collect::RecordKind::StepMark,
                          collect::StepMark{spool.at(end), step + 1,
                                            static_cast<std::uint32_t>(collect::StepSource::Optimizer), 0, 1, 0});
            }
            for (int i = 0; !window && i < 10; ++i) spool.launch("evaluate", 8000 + i * 5, 8050 + i * 5, 4);
            spool.end(9000);
        }
        const Imported imported = importPaths({path});
        QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
        std::vector<int> steps;
        for (const StepView& step : imported.data->steps.at(RankId{0})) {
            steps.push_back(step.record.step.value);
            QCOMPARE(imported.data->info.closing.stepsBy, std::string("optimizer ranges"));
        }
        QCOMPARE(steps, expected);
        QCOMPARE(imported.audit("steps_from_optimizer_ranges"), static_cast<std::int64_t>(expected.size()));
    }

    /// A device as collectors wrote it before instances of a card were known: what is missing is zero.
    void deviceOfBefore()
    {
        const QTemporaryDir folder;
        const std::string path = folder.path().toStdString() + "/d.fwspool";
        {
            SpoolSample spool(path, 0, 1);
            collect::Device device{};
            device.id = 0;
            device.name = spool.text("NVIDIA A100");
            device.memoryBytes = 40'000'000'000;
            struct Old {
                std::byte bytes[72];
            } shorter;
            static_assert(sizeof(Old) < sizeof(collect::Device));
            std::memcpy(&shorter, &device, sizeof shorter);
            spool.add(collect::RecordKind::Device, shorter);
            spool.launch("gemm", 10, 20, 5);
            spool.used(30, 5'000'000);
            spool.end(100);
        }
        const Imported imported = importPaths({path});
        QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
        QCOMPARE(imported.data->info.header.ranks.front().device, std::string("NVIDIA A100"));
        QCOMPARE(imported.audit("memory_peak_used_rank_0"), std::int64_t{5'000'000});
    }
};

FOURWALLS_TEST(SpoolRecordsTest, QCoreApplication)

} // namespace tst_spool_records

#include "tst_spool_records.moc"
