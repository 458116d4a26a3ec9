// SPDX-License-Identifier: Apache-2.0
// The Chrome export of XLA's profiler (trace.json.gz): what its lines say, and what they leave open.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "model/trace/in_memory_query.h"
#include "model/trace/metrics.h"
#include "tests/model/import/import_helpers.h"
#include "tests/support/test_program.h"

#include <cmath>
#include <string>

namespace tst_xla_chrome {

using namespace fourwalls;
using namespace fourwalls::importers;
using namespace fourwalls::importers::test;

namespace {

std::string named(int pid, const std::string& process)
{
    return "{'ph':'M','pid':" + std::to_string(pid) + ",'name':'process_name','args':{'name':'" + process + "'}},";
}
std::string lane(int pid, int tid, const std::string& thread)
{
    return "{'ph':'M','pid':" + std::to_string(pid) + ",'tid':" + std::to_string(tid) +
           ",'name':'thread_name','args':{'name':'" + thread + "'}},";
}
std::string slice(int pid, int tid, int at, int length, const std::string& name, const std::string& args = {})
{
    return "{'ph':'X','pid':" + std::to_string(pid) + ",'tid':" + std::to_string(tid) + ",'ts':" + std::to_string(at) +
           ",'dur':" + std::to_string(length) + ",'name':'" + name + "','args':{" + args + "}},";
}

/// Four steps of 1 ms: 200 us of a product, 300 us of a fusion and 100 us of an all-reduce; 30 us of a copy.
std::string profile(int devices)
{
    std::string text = "{'displayTimeUnit':'ns','traceEvents':[" + named(701, "/host:CPU") + lane(701, 9, "python");
    for (int device = 0; device < devices; ++device) {
        const int pid = device + 1;
        text += named(pid, "/device:GPU:" + std::to_string(device)) + lane(pid, 1, "Steps") +
                lane(pid, 2, "XLA Modules") + lane(pid, 3, "XLA Ops") + lane(pid, 13, "Stream #13(Compute)") +
                lane(pid, 14, "Stream #14(MemcpyH2D)");
    }
    for (int step = 0; step < 4; ++step) {
        const int at = 1000 * step;
        text += slice(701, 9, at, 1000, "train", "'step_num':'" + std::to_string(step) + "'");
        for (int pid = 1; pid <= devices; ++pid)
            text += slice(pid, 1, at + 100, 800, std::to_string(step)) + slice(pid, 2, at + 100, 800, "jit_step(1)") +
                    slice(pid, 13, at + 100, 200, "gemm_fusion_dot_1") + slice(pid, 3, at + 100, 200, "dot.1") +
                    slice(pid, 13, at + 300, 300, "loop_fusion") + slice(pid, 14, at + 20, 30, "MemcpyH2D") +
                    slice(pid, 13, at + 600, 100, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)");
    }
    return js(text + "{}]}");
}

} // namespace

class XlaChromeTest : public QObject {
    Q_OBJECT
private slots:
    void oneDevice()
    {
        const Imported trace = importText(profile(1));
        QVERIFY2(trace.error.empty(), trace.error.c_str());
        QCOMPARE(trace.data->info.header.producer, std::string("Chrome trace"));
        QCOMPARE(trace.audit("no_time"), std::int64_t{0}); // the empty entry at the end says nothing
        InMemoryTraceQuery query(trace.data);
        const auto steps = query.jobSteps();
        QVERIFY(steps.ok());
        QCOMPARE(steps->size(), std::size_t{4});
        const auto metrics = computeMetrics(query);
        QVERIFY(metrics.ok());
        QCOMPARE(metrics->stepTime.value().ns, std::int64_t{1'000'000});
        QVERIFY(!metrics->hostOnly);
        QVERIFY(std::abs(metrics->exposedCommFraction.value() - 0.1) < 1e-9);
        QVERIFY(std::abs(metrics->exposedCopyFraction.value() - 0.03) < 1e-9);
        QVERIFY(std::abs(metrics->idleFraction.value() - 0.37) < 1e-9); // modules and operators repeat what ran
    }

    /// Which rank a device is, the file does not say: nothing is added up over them.
    void severalDevices()
    {
        const Imported trace = importText(profile(2));
        QVERIFY2(trace.error.empty(), trace.error.c_str());
        QCOMPARE(trace.audit("devices_not_told_apart"), std::int64_t{1});
        InMemoryTraceQuery query(trace.data);
        const auto metrics = computeMetrics(query);
        QVERIFY(metrics.ok() && metrics->hostOnly);
    }
};

FOURWALLS_TEST(XlaChromeTest, QCoreApplication)

} // namespace tst_xla_chrome

#include "tst_xla_chrome.moc"
