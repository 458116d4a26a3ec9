// SPDX-License-Identifier: Apache-2.0
// The steps of a spool: as the job marks them, as its kernels repeat where it marks none, as a person chooses them, and of
// a window within the job.
#include <QtTest>

#ifndef Q_MOC_RUN
#include "model/import/common/step_periodicity.h"
#include "model/import/recut_steps.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "tests/model/import/import_helpers.h"
#include "tests/model/import/spool_sample.h"
#include "tests/support/test_program.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>
#endif

namespace tst_spool_steps {

using namespace fourwalls;
using namespace fourwalls::importers;
using namespace fourwalls::importers::test;

class SpoolStepsTest : public QObject {
    Q_OBJECT

private slots:
    void stepsOfAJobThatMarksNone()
    {
        const QTemporaryDir folder;
        const std::string path = pathIn(folder, "node0-100.fwspool");
        {
            SpoolSample spool(path, -1, -1);
            std::int64_t now = 100;
            for (int i = 0; i < 30; ++i)
                spool.launch("weights_init_" + std::to_string(i % 7), now + i * 10, now + i * 10 + 5, 4);
            now += 400;
            for (int step = 0; step < 6; ++step) now = addStep(spool, now, false, step);
            spool.end(now);
        }
        const Imported imported = importPaths({path});
        QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
        const AuditRecord* how = imported.auditRecord("steps_from_repeating_kernels");
        QVERIFY(how);
        QCOMPARE(how->count, std::int64_t{6});
        QVERIFY2(how->detail.starts_with("14 kernels repeat, alike to 100 %"), how->detail.c_str());
        // Each begins with its first kernel.
        const std::vector<StepView>& steps = imported.data->steps.at(RankId{0});
        for (std::size_t i = 1; i < steps.size(); ++i)
            QCOMPARE((steps[i].record.range.begin - steps[i - 1].record.range.begin).ns,
                     std::int64_t{20 + 14 * 45 + 105 + 300} * 1000);
        QVERIFY(imported.auditRecord("rank_unknown"));
    }

    /// A person may say what a step is, when a recording is imported and later; a job's own marks stay.
    void stepsThatWereChosen()
    {
        const QTemporaryDir folder;
        const std::string path = pathIn(folder, "node0-100.fwspool"), marked = pathIn(folder, "node0-101.fwspool");
        for (const std::string& each : {path, marked}) {
            SpoolSample spool(each, 0, 1);
            for (int i = 0; i < 6; ++i) {
                const std::int64_t begin = 1000 + i * 200;
                if (each == marked)
                    spool.add(collect::RecordKind::StepMark, collect::StepMark{spool.at(begin), i, 1, 0, 1, 0});
                spool.push("sample " + std::to_string(i), begin);
                spool.launch("gemm", begin + 10, begin + 20, 150);
                spool.pop(begin + 100);
            }
            spool.end(4000);
        }
        ImportOptions options;
        options.steps = {StepChoice::Kind::Range, "sample #", 0};
        const Imported chosen = importPaths({path}, options);
        QVERIFY2(chosen.data && chosen.error.empty(), chosen.error.c_str());
        QCOMPARE(chosen.data->steps.at(RankId{0}).size(), std::size_t{6});
        QCOMPARE(chosen.data->info.closing.stepsBy, std::string("range sample #"));
        // From its begin to the end of its own work, which the mark does not cover.
        QCOMPARE(chosen.data->steps.at(RankId{0})[2].record.range.length(), Duration{170'000});
        options.steps.name = "nothing of the kind";
        QVERIFY(importPaths({path}, options).error.find("nothing in this trace") != std::string::npos);

        const Imported plain = importPaths({path});
        QVERIFY(plain.data);
        InMemoryTraceQuery stored(plain.data);
        auto again = stepsOfChoice(stored, {StepChoice::Kind::Range, "sample #", 0}, {});
        QVERIFY2(again.ok(), again.ok() ? "" : again.error().message().c_str());
        InMemoryTrace cut(plain.data->info.header);
        QCOMPARE(*again->writeTo(cut), std::string("range sample #"));

        const Imported own = importPaths({marked});
        InMemoryTraceQuery ofJob(own.data);
        const auto refused = stepsOfChoice(ofJob, {StepChoice::Kind::Range, "sample #", 0}, {});
        QVERIFY(!refused.ok());
        QVERIFY(refused.error().message().find("marked its steps itself") != std::string::npos);
    }

    /// FOURWALLS_STEPS=10-13: all twenty steps are marked, four are recorded.
    void stepsOfAWindow()
    {
        const QTemporaryDir folder;
        const std::string path = pathIn(folder, "w.fwspool");
        {
            SpoolSample spool(path, 0, 1);
            spool.window(0, false, collect::WindowReason::Always);
            for (int step = 0; step < 20; ++step) {
                const std::int64_t begin = 1000 + step * 100;
                if (step == 10) spool.window(begin - 1, true);
                if (step == 14) spool.window(begin - 1, false);
                spool.add(collect::RecordKind::StepMark, collect::StepMark{spool.at(begin), step, 1, 0, 1, 0});
                // Kinds are switched off late: some work behind the window is in the file.
                for (int i = 0; i < (step == 14 ? 1 : step >= 10 && step < 14 ? 3 : 0); ++i)
                    spool.launch("gemm", begin + 1 + i * 5, begin + 30 + i * 10, 8);
            }
            spool.end(4000);
        }
        const Imported imported = importPaths({path});
        QVERIFY2(imported.data && imported.error.empty(), imported.error.c_str());
        const AuditRecord* how = imported.auditRecord("steps_from_step_marks");
        QVERIFY(how);
        QVERIFY2(how->detail.ends_with("as they appear on the device"), how->detail.c_str());
        const std::vector<StepView>& steps = imported.data->steps.at(RankId{0});
        QCOMPARE(steps.size(), std::size_t{4});
        for (std::size_t i = 0; i < steps.size(); ++i) QCOMPARE(steps[i].record.step.value, static_cast<int>(10 + i));
        QCOMPARE((steps.back().record.range.end - steps.front().record.range.begin).ns,
                 std::int64_t{(300 + 28) * 1000});
    }

    void periodOfKernels()
    {
        // Layers repeat within a step, and micro-batches before its optimizer: neither is the step.
        std::vector<StreamKernel> kernels;
        std::vector<bool> isOptimizer(10, false);
        isOptimizer[9] = true;
        std::int64_t now = 0;
        const auto run = [&](int name) {
            kernels.push_back({now, now + 10, name});
            now += 12;
        };
        for (int step = 0; step < 7; ++step) {
            for (int microbatch = 0; microbatch < 4; ++microbatch) {
                run(0);
                for (int layer = 0; layer < 6; ++layer)
                    for (const int name : {1, 2, 3}) run(name);
                for (int layer = 0; layer < 6; ++layer)
                    for (const int name : {4, 5, 6, 7}) run(name);
            }
            if (step == 3) run(8); // once: a message to the log
            run(9);
            run(9);
        }
        const auto found = findPeriod(kernels, isOptimizer);
        QVERIFY(found);
        QCOMPARE(found->kernels, std::size_t{4 * 43 + 2});
        QCOMPARE(found->boundaries.size(), std::size_t{8});
        QCOMPARE(found->boundaries.front(), std::size_t{0});
        QVERIFY(found->byOptimizer);
        // One pass over layers between an embedding and a head is no training.
        std::vector<StreamKernel> once;
        once.push_back({0, 1, 0});
        for (int layer = 0; layer < 20; ++layer)
            for (const int name : {1, 2, 3, 4, 5})
                once.push_back({static_cast<std::int64_t>(once.size()) * 10,
                                static_cast<std::int64_t>(once.size()) * 10 + 5, name});
        once.push_back({5000, 5001, 6});
        QVERIFY(!findPeriod(once, std::vector<bool>(10, false)));
        QVERIFY(!findPeriod({}, {}));
    }
};

FOURWALLS_TEST(SpoolStepsTest, QCoreApplication)

} // namespace tst_spool_steps

#include "tst_spool_steps.moc"
