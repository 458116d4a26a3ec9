// SPDX-License-Identifier: Apache-2.0
// Which tool a trace says that it is from.
#include <QtTest> // Qt's headers first: the moc of Qt 6.4 cannot read <compare> as the first header

#include "model/present/recorder.h"
#include "tests/support/test_program.h"

namespace tst_recorder {

using namespace fourwalls;

class RecorderTest : public QObject {
    Q_OBJECT

private slots:
    void theProducerTells()
    {
        TraceHeader header;
        header.source = TraceSource::Imported;
        const auto of = [&](const char* producer) {
            header.producer = producer;
            return recorderOf(header);
        };
        QVERIFY(of("Ascend PyTorch Profiler") == Recorder::AscendPyTorch);
        QVERIFY(of("NVIDIA Nsight Systems 2024.5") == Recorder::NsightSystems);
        QVERIFY(of("PyTorch Profiler (Kineto)") == Recorder::PyTorch);
        QVERIFY(of("PyTorch memory snapshot") == Recorder::MemorySnapshot);
        QVERIFY(of("fourwalls 0.1.0") == Recorder::Own && of("Fourwalls 0.1.0") == Recorder::Own);
        QVERIFY(of("rocprofv3") == Recorder::Rocprof && of("rocprofiler-sdk (rocpd)") == Recorder::Rocprof);
        QVERIFY(of("JAX 0.10") == Recorder::Jax && of("XLA profiler (XSpace)") == Recorder::Jax);
        header.ranks.push_back({RankId{0}, "AMD GPU", "", 0, 0, 0});
        QVERIFY(of("JAX 0.10") == Recorder::Jax);
        header.ranks.push_back({RankId{1}, "Nvidia GPU", "", 0, 0, 0});
        QVERIFY(of("JAX 0.10") == Recorder::JaxCuda && of("XLA profiler (XSpace)") == Recorder::JaxCuda);
        QVERIFY(of("four") == Recorder::Other && of("") == Recorder::Other);
        header.source = TraceSource::Recorded;
        QVERIFY(of("anything") == Recorder::Own);
    }
};

FOURWALLS_TEST(RecorderTest, QCoreApplication)

} // namespace tst_recorder

#include "tst_recorder.moc"
