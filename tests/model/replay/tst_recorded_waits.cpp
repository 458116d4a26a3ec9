// SPDX-License-Identifier: Apache-2.0
// Small steps written by hand, with a program's calls and two streams: what waits for what as the recording states it, and
// operations that a group counts one kind at a time.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/replay/replay.h"
#include "model/trace/in_memory_query.h"
#include "tests/support/test_program.h"

namespace tst_recorded_waits {

using namespace fourwalls;
using namespace fourwalls::replay;

namespace {

/// One step of some ranks. Times are given in microseconds.
class StepByHand {
public:
    explicit StepByHand(int ranks) : m_trace(header(ranks))
    {
        for (int rank = 0; rank < ranks; ++rank) {
            m_threads.push_back(m_trace.defineTrack({RankId{rank}, TrackKind::CpuThread, "thread 1"}));
            for (const char* name : {"stream 7", "stream 20"})
                m_streams.push_back(m_trace.defineTrack({RankId{rank}, TrackKind::ComputeStream, name}));
        }
        m_producer = m_trace.openProducer();
    }

    /// A call of a microsecond; of a launch, its work on the rank's first or second stream.
    void call(int rank, const char* name, std::int64_t at, std::int64_t length = 1)
    {
        slice(m_threads[static_cast<std::size_t>(rank)], {name, SliceKind::HostCall}, at, at + length, -1);
    }
    void launch(int rank, std::int64_t at, const char* name, int stream, std::int64_t start, std::int64_t end,
                SliceKind kind = SliceKind::Kernel)
    {
        ++m_launches;
        slice(m_threads[static_cast<std::size_t>(rank)], {"cudaLaunchKernel", SliceKind::HostCall}, at, at + 1,
              m_launches);
        slice(streamOf(rank, stream), {name, kind}, start, end, m_launches);
    }
    void arrow(int rank, int from, std::int64_t end, int to, std::int64_t start)
    {
        m_producer->flow({"stream_wait", streamOf(rank, from), us(end), streamOf(rank, to), us(start)});
    }
    void operation(int rank, int stream, GroupId group, CollectiveOp kind, std::int64_t sequence, std::int64_t start,
                   std::int64_t arrival, std::int64_t end)
    {
        CollectiveRecord record;
        record.track = streamOf(rank, stream);
        record.start = us(start);
        record.lastArrival = us(arrival);
        record.end = us(end);
        record.operation = kind;
        record.group = group;
        record.sequence = sequence;
        record.payloadBytes = 1000;
        m_producer->collective(record);
    }
    GroupId group(int ranks)
    {
        ProcessGroupInfo info;
        info.name = "world";
        info.transport = "nccl";
        for (int rank = 0; rank < ranks; ++rank) info.ranks.push_back(RankId{rank});
        return m_trace.defineGroup(info);
    }
    Result<Replay> replay(int ranks, std::int64_t end)
    {
        for (int rank = 0; rank < ranks; ++rank) {
            StepRecord step;
            step.step = StepIndex{0};
            step.range = {us(0), us(end)};
            m_producer->step(RankId{rank}, step);
        }
        m_producer.reset();
        FOURWALLS_TRY(m_trace.finish({}));
        InMemoryTraceQuery query(m_trace.data());
        return Replay::of(query, {});
    }

private:
    static TraceHeader header(int ranks)
    {
        TraceHeader header;
        for (int rank = 0; rank < ranks; ++rank) {
            RankInfo info;
            info.rank = RankId{rank};
            header.ranks.push_back(info);
        }
        return header;
    }
    static Instant us(std::int64_t time) { return Instant{time * 1000}; }
    TrackId streamOf(int rank, int stream) const { return m_streams[static_cast<std::size_t>(rank * 2 + stream)]; }
    void slice(TrackId track, const std::pair<const char*, SliceKind>& what, std::int64_t begin, std::int64_t end,
               std::int64_t correlation)
    {
        OpInfo op;
        op.name = what.first;
        op.kind = what.second;
        SliceRecord record;
        record.track = track;
        record.op = m_trace.defineOp(op);
        record.start = us(begin);
        record.duration = us(end) - us(begin);
        if (correlation >= 0) record.correlation = CorrelationId{correlation};
        m_producer->slice(record);
    }

    InMemoryTrace m_trace;
    std::unique_ptr<TraceProducer> m_producer;
    std::vector<TrackId> m_threads, m_streams;
    std::int64_t m_launches = 0;
};

/// Length of the step after a change, with the delays that it had [us].
std::int64_t after(const Replay& replay, const char* change)
{
    const std::vector<ReplayChange> changes{*parseChange(change)};
    const auto outcome = replay.run(DelayRule::Own, changes);
    return outcome ? outcome->changed.ns / 1000 : -1;
}

} // namespace

class RecordedWaitsTest : public QObject {
    Q_OBJECT

private slots:
    /// The event stands behind "first", and "second" was launched on the same stream before the other stream waited: the
    /// order of calls alone takes "other" for waiting for "second", which its times contradict.
    void waitsAsRecorded()
    {
        for (const bool stated : {true, false}) {
            StepByHand step(1);
            step.launch(0, 1, "first", 0, 10, 110);
            step.call(0, "cudaEventRecord", 3);
            step.launch(0, 5, "second", 0, 110, 160);
            step.call(0, "cudaStreamWaitEvent", 7);
            step.launch(0, 9, "other", 1, 110, 400);
            step.call(0, "cudaDeviceSynchronize", 11, 390);
            if (stated) step.arrow(0, 0, 110, 1, 110);
            const auto replay = step.replay(1, 402);
            QVERIFY2(replay.ok(), replay.ok() ? "" : replay.error().message().c_str());
            const ReplayQuality quality = replay->quality(DelayRule::Own);
            QCOMPARE(quality.recorded.ns, std::int64_t{402'000});
            QCOMPARE(quality.maxError, 0.0);
            // Half of 100 us: "other" begins at 60 and not at 110, and the call that waits for it ends 50 us earlier.
            QCOMPARE(after(*replay, "kernels:first*0.5"), std::int64_t{stated ? 352 : 402});
            QCOMPARE(after(*replay, "kernels:second*0.5"), std::int64_t{402}); // nobody waits for it
            QCOMPARE(after(*replay, "kernels:other*0.5"), std::int64_t{257});
        }
    }

    /// NCCL counts gathers and scatters of a communicator by themselves: both have a first one, and meet apart.
    void operationsCountedByKind()
    {
        StepByHand step(2);
        const GroupId world = step.group(2);
        for (int rank = 0; rank < 2; ++rank) {
            // Rank 1 computes for 30 us more before the scatter.
            const std::int64_t computed = rank == 0 ? 150 : 180;
            step.launch(rank, 1, "ncclDevKernel_AllGather", 0, 20, 50, SliceKind::Collective);
            step.operation(rank, 0, world, CollectiveOp::AllGather, 0, 20, 20, 50);
            step.launch(rank, 3, "gemm", 0, 50, computed);
            step.launch(rank, 5, "ncclDevKernel_ReduceScatter", 0, computed, 220, SliceKind::Collective);
            step.operation(rank, 0, world, CollectiveOp::ReduceScatter, 0, computed, 180, 220);
            step.call(rank, "cudaDeviceSynchronize", 7, 214);
        }
        const auto replay = step.replay(2, 222);
        QVERIFY2(replay.ok(), replay.ok() ? "" : replay.error().message().c_str());
        QCOMPARE(replay->quality(DelayRule::Own).maxError, 0.0);
        // Rank 0 computes for 50 us and rank 1 for 65: both meet at 115 and move for 40.
        QCOMPARE(after(*replay, "kernels:gemm*0.5"), std::int64_t{157});
    }
};

FOURWALLS_TEST(RecordedWaitsTest, QCoreApplication)

} // namespace tst_recorded_waits

#include "tst_recorded_waits.moc"
