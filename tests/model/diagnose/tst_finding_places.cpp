// SPDX-License-Identifier: Apache-2.0
// Where in the program a finding is, which rows its figures come from, and how exact its gain is.
#include "model/diagnose/finding_remedy.h"
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/diagnose/diagnosis.h"
#include "model/diagnose/evidence_rows.h"
#include "model/diagnose/finding_advice.h"
#include "model/diagnose/finding_text.h"
#include "model/trace/step_window.h"
#include "tests/model/trace/allocator_example.h"
#include "tests/model/trace/step_builder.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <cmath>

namespace tst_finding_places {

using namespace fourwalls;
using namespace fourwalls::test;
using namespace fourwalls::diagnose;

namespace {

struct Said {
    Diagnosis diagnosis;

    const Finding* has(Cause cause) const
    {
        const auto at = std::find_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                                     [cause](const Finding& each) { return each.cause == cause; });
        return at == diagnosis.findings.end() ? nullptr : &*at;
    }
    const Abstention* lacks(Lack lack) const
    {
        const auto at = std::find_if(diagnosis.abstained.begin(), diagnosis.abstained.end(),
                                     [lack](const Abstention& each) { return each.lack == lack; });
        return at == diagnosis.abstained.end() ? nullptr : &*at;
    }
};

Said diagnosed(Builder& builder, const TraceClosing& closing = {})
{
    InMemoryTraceQuery trace = builder.finish(closing);
    auto said = diagnose::diagnose(trace);
    if (!said.ok()) qFatal("%s", said.error().message().c_str());
    return {std::move(*said)};
}

/// On a rank's thread, or on the track of its Python functions.
void program(Builder& b, const char* track, const std::string& name, SliceKind kind, Activity activity,
             std::int64_t begin, std::int64_t end, const std::string& detail = {})
{
    OpInfo info;
    info.name = name;
    info.kind = kind;
    info.activity = activity;
    info.detail = detail;
    const TrackId id = b.trace.defineTrack({RankId{0}, TrackKind::CpuThread, track, 2});
    b.producer->slice({id, b.trace.defineOp(info), Instant{begin}, Duration{end - begin}, {}, {}});
}

void function(Builder& b, const std::string& name, std::int64_t begin, std::int64_t end)
{
    program(b, "thread 1 frames", name, SliceKind::Marker, Activity::None, begin, end);
}

bool isAbout(double value, double expected)
{
    return std::abs(value - expected) < 1e-6 * std::max(1.0, std::abs(expected));
}

/// One step of 100 ms in which the device works for the first and the last 20.
void idleInTheMiddle(Builder& b)
{
    b.step(0, 0, 0, 100 * kMs);
    for (int i = 0; i < 20; ++i) b.work(0, "k", Phase::None, i * kMs, (i + 1) * kMs);
    b.work(0, "k", Phase::None, 80 * kMs, 100 * kMs);
}

} // namespace

class FindingPlacesTest : public QObject {
    Q_OBJECT

private slots:
    /// The collector writes the stack with the call; PyTorch's profiler writes functions beside it.
    void callsThatWait()
    {
        for (const bool byStack : {true, false}) {
            Builder b(1);
            idleInTheMiddle(b);
            program(b, "thread 1", "cudaStreamSynchronize", SliceKind::HostCall, Activity::Synchronisation, 20 * kMs,
                    50 * kMs, byStack ? "job/train.py:31 log < job/train.py:90 main" : "");
            if (!byStack) {
                function(b, "job/train.py(80): main", 0, 100 * kMs);
                function(b, "job/train.py(30): log", 19 * kMs, 51 * kMs);
                function(b, "torch/_tensor.py(5): item", 20 * kMs, 50 * kMs);
            }
            program(b, "thread 1", "aten::mm", SliceKind::Operator, Activity::None, 50 * kMs, 80 * kMs);
            const Said said = diagnosed(b);
            const Finding* sync = said.has(Cause::SyncCalls);
            QVERIFY(sync);
            QCOMPARE(sync->source.what, std::string("cudaStreamSynchronize"));
            QCOMPARE(sync->source.frame, std::optional(SourceFrame{"job/train.py", byStack ? 31 : 30, "log"}));
            QCOMPARE(placeText(sync->source),
                     std::string("cudaStreamSynchronize, log at job/train.py:") + (byStack ? "31" : "30"));
            QCOMPARE(sync->show.range, std::optional(TimeRange{Instant{20 * kMs}, Instant{50 * kMs}}));
        }
    }

    /// The function within the loading that takes its time says more than the one that asks for the batch.
    void loading()
    {
        for (const bool slowPicture : {true, false}) {
            Builder b(1);
            idleInTheMiddle(b);
            program(b, "thread 1", "enumerate(DataLoader)#_Iter.__next__", SliceKind::DataLoading,
                    Activity::DataLoading, 20 * kMs, 80 * kMs);
            function(b, "train.py(9): main", 0, 100 * kMs);
            function(b, "torch/utils/data/_utils/fetch.py(54): <listcomp>", 21 * kMs, 79 * kMs);
            for (int i = 0; i < 10; ++i)
                function(b, "pictures.py(12): __getitem__", (22 + 5 * i) * kMs,
                         (22 + 5 * i + (slowPicture ? 4 : 1)) * kMs);
            const Said said = diagnosed(b);
            const Finding* loading = said.has(Cause::DataLoading);
            QVERIFY(loading);
            QCOMPARE(loading->source.frame, std::optional(slowPicture ? SourceFrame{"pictures.py", 12, "__getitem__"}
                                                                      : SourceFrame{"train.py", 9, "main"}));
        }
    }

    /// Values that a program without a device reads: 50 in a step are many, and fewer are said to be unknown.
    void readsWithoutADevice()
    {
        for (const int reads : {0, 49, 50}) {
            Builder b(1);
            b.step(0, 0, 0, 100 * kMs);
            program(b, "thread 1", "aten::mm", SliceKind::Operator, Activity::Compute, 0, 10 * kMs);
            function(b, "eval.py(4): accuracy", 20 * kMs, 90 * kMs);
            for (int i = 0; i < reads; ++i) {
                const std::int64_t at = (20 + i) * kMs;
                program(b, "thread 1", "aten::item", SliceKind::Operator, Activity::Compute, at, at + 4 * kUs);
                program(b, "thread 1", "aten::_local_scalar_dense", SliceKind::Operator, Activity::Compute, at + kUs,
                        at + 2 * kUs);
            }
            const Said said = diagnosed(b);
            const Finding* sync = said.has(Cause::SyncCalls);
            const Abstention* unknown = said.lacks(Lack::Reads);
            QCOMPARE(sync != nullptr, reads == 50);
            QCOMPARE(unknown != nullptr, reads == 49);
            const SourceFrame accuracy{"eval.py", 4, "accuracy"};
            if (unknown) QCOMPARE(unknown->source.frame, std::optional(accuracy));
            if (!sync) continue;
            QCOMPARE(sync->source.frame, std::optional(accuracy));
            QCOMPARE(sync->value(EvidenceKind::Occurrences), 50.0);
            QVERIFY(isAbout(sync->value(EvidenceKind::ShareOfStep), 50 * 4e-3 / 100));
            QVERIFY(!sync->gain);
        }
    }

    /// Compilation and first calls are told apart from a program that is always behind, and win nothing in later steps.
    void startUp_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<int>("kind");
        QTest::addColumn<int>("activity");
        QTest::addColumn<bool>("starts");
        const auto row = [](const char* name, SliceKind kind, Activity activity, bool starts) {
            QTest::newRow(name) << name << static_cast<int>(kind) << static_cast<int>(activity) << starts;
        };
        row("Nvrtc::CompileProgram", SliceKind::Marker, Activity::None, true);
        row("Torch-Compiled Region: 0/0", SliceKind::Operator, Activity::None, false);
        row("cuModuleLoadData", SliceKind::HostCall, Activity::None, true);
        row("cudaLaunchKernel", SliceKind::HostCall, Activity::Launch, true);
        row("cudaFree", SliceKind::HostCall, Activity::Synchronisation, true);
        row("aten::conv2d", SliceKind::Operator, Activity::None, false);
    }
    void startUp()
    {
        QFETCH(QString, name);
        QFETCH(int, kind);
        QFETCH(int, activity);
        QFETCH(bool, starts);
        Builder b(1);
        idleInTheMiddle(b);
        // Half of it while the device works: that costs nothing.
        program(b, "thread 1", name.toStdString(), static_cast<SliceKind>(kind), static_cast<Activity>(activity),
                10 * kMs, 70 * kMs);
        program(b, "thread 1", "aten::mm", SliceKind::Operator, Activity::None, 70 * kMs, 80 * kMs);
        const Said said = diagnosed(b);
        const Finding* start = said.has(Cause::WarmUp);
        QCOMPARE(start != nullptr, starts);
        const Finding* bound = said.has(Cause::HostBound);
        QVERIFY(bound);
        QVERIFY(isAbout(bound->value(EvidenceKind::ShareOfStep), starts ? 0.1 : 0.6));
        // What starts up is no launch of the rest, and few kernels do not wait for their launches for milliseconds each.
        QVERIFY(bound->value(EvidenceKind::LaunchShare) <= bound->value(EvidenceKind::ShareOfStep) + 1e-9);
        if (starts) QCOMPARE(bound->value(EvidenceKind::LaunchShare), 0.0);
        QCOMPARE(remedyOf(*bound), std::string(starts ? "launches=graph" : ""));
        if (!start) return;
        QVERIFY(isAbout(start->value(EvidenceKind::ShareOfStep), 0.5));
        QCOMPARE(start->text(EvidenceKind::Mostly), name.toStdString());
        QVERIFY(!start->gain && !isFault(start->cause));
        QVERIFY(!said.has(Cause::SyncCalls));
    }

    /// A call that takes long each time is no start.
    void launchesThatAreAlwaysLong()
    {
        Builder b(1);
        idleInTheMiddle(b);
        for (int i = 0; i < 10; ++i)
            program(b, "thread 1", "cudaLaunchKernel", SliceKind::HostCall, Activity::Launch, (20 + 6 * i) * kMs,
                    (25 + 6 * i) * kMs);
        const Said said = diagnosed(b);
        QVERIFY(!said.has(Cause::WarmUp));
        QVERIFY(said.has(Cause::HostBound));
    }

    /// Waiting for most of the step, while a device does nothing: its work is not in the trace.
    void workThatIsNotRecorded()
    {
        for (const int end : {70, 75}) {
            Builder b(1);
            idleInTheMiddle(b);
            program(b, "thread 1", "hipMemcpyWithStream", SliceKind::HostCall, Activity::Synchronisation, 20 * kMs,
                    end * kMs);
            program(b, "thread 1", "aten::mm", SliceKind::Operator, Activity::None, end * kMs, 80 * kMs);
            const Said said = diagnosed(b);
            QCOMPARE(said.has(Cause::SyncCalls) != nullptr, end == 70);
            const Abstention* awaited = said.lacks(Lack::WorkAwaited);
            QCOMPARE(awaited != nullptr, end == 75);
            if (awaited) QVERIFY(!whatToRecord(*awaited).empty());
        }
    }

    /// One gap with nothing in it, neither of the device nor of the program.
    void aGapWithNothingInIt()
    {
        for (const bool recorded : {true, false}) {
            Builder b(1);
            idleInTheMiddle(b);
            program(b, "thread 1", "aten::mm", SliceKind::Operator, Activity::None, 21 * kMs,
                    (recorded ? 60 : 21) * kMs + kUs);
            const Said said = diagnosed(b);
            QCOMPARE(said.has(Cause::HostBound) != nullptr, recorded);
            QCOMPARE(said.lacks(Lack::Gap) != nullptr, !recorded);
        }
    }

    /// Half of 60 ms of idle time are three gaps with nothing in them; the rest has operators.
    void severalGapsWithNothingInThem()
    {
        Builder b(1);
        b.step(0, 0, 0, 100 * kMs);
        for (int i = 0; i < 30; ++i) b.work(0, "k", Phase::None, i * kMs, (i + 1) * kMs);
        for (const int at : {40, 50, 60}) b.work(0, "k", Phase::None, at * kMs, at * kMs + kMs);
        b.work(0, "k", Phase::None, 93 * kMs, 100 * kMs);
        program(b, "thread 1", "aten::mm", SliceKind::Operator, Activity::None, 61 * kMs, 93 * kMs);
        const Said said = diagnosed(b);
        // Idle: 30 to 40, 41 to 50, 51 to 60 (28 ms, nothing recorded) and 61 to 93 (32 ms).
        const Abstention* unknown = said.lacks(Lack::Gap);
        QVERIFY(unknown);
        QCOMPARE(unknown->because, std::string("the device is idle for 60 % of the step, for 28 ms (28 %) in 3 gaps in "
                                               "which nothing of the program is recorded"));
        const Finding* bound = said.has(Cause::HostBound);
        QVERIFY(bound);
        QVERIFY(isAbout(bound->value(EvidenceKind::ShareOfStep), 0.32));
        QVERIFY(isAbout(bound->value(EvidenceKind::DeviceIdle), 0.6));
        QVERIFY(isAbout(bound->value(EvidenceKind::LongestPause), 32));
        QCOMPARE(bound->text(EvidenceKind::Meanwhile), std::string("aten::mm"));
    }

    /// Of calls of one name those are start-up that take ten times what it takes later: 30, 3 and 2 ms before 1.5 ms each,
    /// which is what an allocation takes here.
    void firstCallsTakeWhatLaterOnesDoNot()
    {
        Builder b(1);
        idleInTheMiddle(b);
        const auto allocate = [&b](std::int64_t begin, std::int64_t end) {
            program(b, "thread 1", "cudaMalloc", SliceKind::HostCall, Activity::None, begin, end);
        };
        allocate(20 * kMs, 50 * kMs);
        allocate(50 * kMs, 53 * kMs);
        allocate(53 * kMs, 55 * kMs);
        for (int i = 0; i < 5; ++i) allocate(55 * kMs + 2 * i * kMs, 56 * kMs + 2 * i * kMs + kMs / 2);
        program(b, "thread 1", "aten::mm", SliceKind::Operator, Activity::None, 66 * kMs, 80 * kMs);
        const Said said = diagnosed(b);
        const Finding* start = said.has(Cause::WarmUp);
        QVERIFY(start);
        QVERIFY(isAbout(start->value(EvidenceKind::ShareOfStep), 0.3));
        QCOMPARE(start->value(EvidenceKind::Occurrences), 1.0);
        QVERIFY(isAbout(said.has(Cause::HostBound)->value(EvidenceKind::ShareOfStep), 0.3));
    }

    /// Two launches of 30 ms each: the first one of a kernel loads it, that of a kernel that ran before does something else.
    void theFirstLaunchOfAKernel()
    {
        Builder b(1);
        idleInTheMiddle(b);
        const auto launch = [&b](const char* kernel, std::int64_t begin, std::int64_t end, std::int64_t at, int id) {
            OpInfo call, work;
            call.name = "cudaLaunchKernel";
            call.kind = SliceKind::HostCall;
            call.activity = Activity::Launch;
            work.name = kernel;
            work.kind = SliceKind::Kernel;
            work.activity = Activity::Compute;
            const TrackId thread = b.trace.defineTrack({RankId{0}, TrackKind::CpuThread, "thread 1", 2});
            const Duration took{end - begin};
            b.producer->slice({thread, b.trace.defineOp(call), Instant{begin}, took, {}, CorrelationId{id}});
            b.producer->slice(
                {b.kernels(0), b.trace.defineOp(work), Instant{at}, Duration{kUs}, {}, CorrelationId{id}});
        };
        for (int i = 0; i < 4; ++i) launch("used", i * kMs, i * kMs + 10 * kUs, i * kMs + 20 * kUs, i);
        launch("new", 20 * kMs, 50 * kMs, 80 * kMs, 10);
        launch("used", 50 * kMs, 80 * kMs, 81 * kMs, 11);
        const Said said = diagnosed(b);
        const Finding* start = said.has(Cause::WarmUp);
        QVERIFY(start);
        QVERIFY(isAbout(start->value(EvidenceKind::ShareOfStep), 0.3));
        QCOMPARE(start->value(EvidenceKind::Occurrences), 1.0);
        QVERIFY(isAbout(said.has(Cause::HostBound)->value(EvidenceKind::ShareOfStep), 0.3));
    }

    /// A call within a compilation passes once. Frees before any work start the context, however long the others take.
    void startUpIsCountedOnce()
    {
        Builder b(1);
        b.step(0, 0, 0, 100 * kMs);
        b.work(0, "k", Phase::None, 60 * kMs, 100 * kMs);
        program(b, "thread 1", "cudaFree", SliceKind::HostCall, Activity::Synchronisation, 0, 20 * kMs);
        program(b, "thread 1", "torch.compile", SliceKind::Marker, Activity::None, 20 * kMs, 50 * kMs);
        program(b, "thread 1", "cudaLaunchKernel", SliceKind::HostCall, Activity::Launch, 30 * kMs, 50 * kMs);
        for (int i = 0; i < 4; ++i)
            program(b, "thread 1", "cudaFree", SliceKind::HostCall, Activity::Synchronisation, (60 + 10 * i) * kMs,
                    (69 + 10 * i) * kMs);
        const Said said = diagnosed(b);
        const Finding* start = said.has(Cause::WarmUp);
        QVERIFY(start);
        QVERIFY(isAbout(start->value(EvidenceKind::ShareOfStep), 0.5));
        QVERIFY(!said.has(Cause::SyncCalls));
    }

    /// A rank that waits in two groups at once waits once: never more than all of the step.
    void waitsThatOverlap()
    {
        Builder b(3);
        for (const int rank : {0, 1, 2}) {
            b.step(rank, 0, 0, 10 * kMs);
            b.work(rank, rank == 0 ? "pad" : "gemm", Phase::None, 0, rank == 0 ? 9 * kMs : kMs);
        }
        for (int i = 0; i < 8; ++i)
            for (const int rank : {0, 1, 2}) b.collective(rank, rank == 0 ? 9 * kMs : kMs, 9 * kMs, 10 * kMs, i);
        const Said said = diagnosed(b);
        const auto waits =
            std::find_if(said.diagnosis.findings.begin(), said.diagnosis.findings.end(), [](const Finding& each) {
                return each.cause == Cause::SlowRank && each.find(EvidenceKind::ShareOfStep);
            });
        QVERIFY(waits != said.diagnosis.findings.end());
        QVERIFY(isAbout(waits->value(EvidenceKind::ShareOfStep), 0.8)); // from 1 to 9 ms of 10
    }

    /// Every figure names its rows, every finding what helps, and a bound begins at nothing.
    void rowsBandAndAdvice()
    {
        Builder b(1);
        idleInTheMiddle(b);
        program(b, "thread 1", "aten::mm", SliceKind::Operator, Activity::None, 20 * kMs, 80 * kMs);
        const Said said = diagnosed(b);
        const Finding* bound = said.has(Cause::HostBound);
        QVERIFY(bound && bound->gain && bound->gain->band);
        QCOMPARE(bound->gain->band->low, Duration{});
        QCOMPARE(bound->gain->band->high, bound->gain->perStep);
        for (const Evidence& each : bound->evidence) QVERIFY(each.rows);
        QCOMPARE(queryOf(*bound->find(EvidenceKind::ShareOfStep)->rows),
                 std::string("SELECT * FROM step_summary WHERE step = 0"));
        QCOMPARE(
            queryOf(*bound->find(EvidenceKind::Meanwhile)->rows),
            std::string("SELECT * FROM named_slices WHERE start_ns <= 80000000 AND start_ns + duration_ns >= 20000000 "
                        "AND name = 'aten::mm'"));
        EvidenceRows rows;
        rows.table = EvidenceRows::Table::Slices;
        rows.ranks = {RankId{1}, RankId{3}};
        rows.op = "it's";
        QCOMPARE(queryOf(rows), std::string("SELECT * FROM named_slices WHERE rank IN (1, 3) AND name = 'it''s'"));
        for (int cause = 0; cause < kCauseCount; ++cause) {
            Finding finding;
            finding.cause = static_cast<Cause>(cause);
            finding.ranks = {RankId{2}};
            QVERIFY2(!adviceOn(finding).empty(), std::string(name(finding.cause)).c_str());
            QVERIFY(adviceOn(finding).english().find('%') == std::string::npos);
        }
    }

    /// A snapshot has its own reason; and at its end 16 MiB are free in pieces, which is no trouble at that size.
    void aSnapshotTellsOfMemory()
    {
        InMemoryTraceQuery trace(allocator::example());
        const auto found = diagnose::diagnose(trace);
        QVERIFY(found.ok());
        const Said said{*found};
        QVERIFY(said.lacks(Lack::Snapshot));
        QVERIFY(!said.lacks(Lack::Steps));
        QVERIFY(!said.has(Cause::Fragmentation));
    }

    /// A history that rises and falls six times. What stays gets more by 40 each time; or is the same.
    void growthOfAHistory()
    {
        for (const bool grows : {true, false}) {
            Builder b(1);
            std::int64_t id = 0;
            for (int rise = 0; rise < 7; ++rise) {
                const std::int64_t at = rise * 10 * kMs;
                const auto allocate = [&](std::int64_t when, std::int64_t bytes, std::optional<std::int64_t> until) {
                    AllocationRecord record;
                    record.id = AllocationId{++id};
                    record.at = Instant{when};
                    record.bytes = bytes;
                    OpInfo op;
                    op.name = until ? "forward · train.py:8" : "keep · train.py:12";
                    record.op = b.trace.defineOp(op);
                    b.producer->allocated(RankId{0}, record);
                    if (until) b.producer->freed(RankId{0}, record.id, Instant{*until});
                };
                allocate(at + kMs, 1'000'000, at + 6 * kMs);
                if (grows) allocate(at + 2 * kMs, 40'000, {});
            }
            const Said said = diagnosed(b);
            const Finding* growth = said.has(Cause::MemoryGrowth);
            QCOMPARE(growth != nullptr, grows);
            if (!growth) continue;
            QVERIFY(isAbout(growth->value(EvidenceKind::BytesPerRise), 40'000));
            QCOMPARE(growth->value(EvidenceKind::Rises), 6.0);
            QCOMPARE(growth->source.frame, std::optional(SourceFrame{"train.py", 12, "keep"}));
        }
    }
};

FOURWALLS_TEST(FindingPlacesTest, QCoreApplication)

} // namespace tst_finding_places

#include "tst_finding_places.moc"
