// SPDX-License-Identifier: Apache-2.0
// What work a Chrome or Kineto trace says was done: which kernels have the FLOPs of an operator, and what counts as
// computing where there is no device.
#include "model/trace/in_memory_query.h"
#include "model/trace/kernel_arithmetic.h"
#include "model/trace/metrics.h"
#include "model/trace/peak_facts.h"
#include "tests/model/import/import_helpers.h"
#include "tests/support/test_program.h"

#include <QTest>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace tst_chrome_flops {

using namespace fourwalls;
using namespace fourwalls::importers;
using namespace fourwalls::importers::test;

class ChromeFlopsTest : public QObject {
    Q_OBJECT

private slots:
    /// One convolution in two kernels: the first has the FLOPs, the second is known to be a part of it. The forward
    /// convolution has no strides; the backward operator of the same sizes tells them.
    void aProductInSeveralKernels()
    {
        const Imported trace = importText(js(
            "{'schemaVersion':1,'traceEvents':["
            "{'ph':'X','cat':'cpu_op','name':'aten::convolution','pid':9,'tid':9,'ts':0,'dur':20,'args':{'Input "
            "Dims':[[2,3,8,8],[16,3,3,3],[],[],[],[],[],[],[]],'Input type':['float','float']}},"
            "{'ph':'X','cat':'cuda_runtime','name':'cudaLaunchKernel','pid':9,'tid':9,'ts':1,'dur':1,'args':{'"
            "correlation':1}},"
            "{'ph':'X','cat':'cuda_runtime','name':'cudaLaunchKernel','pid':9,'tid':9,'ts':3,'dur':1,'args':{'"
            "correlation':2}},"
            "{'ph':'X','cat':'kernel','name':'winogradForwardData4x4','pid':0,'tid':7,'ts':30,'dur':4,'args':{'stream':"
            "7,"
            "'correlation':1}},"
            "{'ph':'X','cat':'kernel','name':'volta_sgemm_64x64_nn','pid':0,'tid':7,'ts':40,'dur':9,'args':{'stream':7,"
            "'correlation':2}},"
            "{'ph':'X','cat':'cpu_op','name':'aten::cudnn_convolution_backward','pid':9,'tid':9,'ts':60,'dur':20,'args'"
            ":{"
            "'Input Dims':[[2,3,8,8],[2,16,4,4],[16,3,3,3],[],[],[],[],[],[],[]]}}]}"));
        QCOMPARE(trace.error, std::string());
        QCOMPARE(trace.op(*trace.slice("winogradForwardData4x4")).flops, 2.0 * 2 * 16 * 4 * 4 * 3 * 3 * 3);
        const OpInfo& rest = trace.op(*trace.slice("volta_sgemm_64x64_nn"));
        QCOMPARE(rest.flops, 0.0);
        QVERIFY(isPartOfProduct(rest.detail));
        QVERIFY(!isPartOfProduct(trace.op(*trace.slice("winogradForwardData4x4")).detail));
        InMemoryTraceQuery query(trace.data);
        const auto facts = peakFacts(query);
        QVERIFY(facts.ok());
        QCOMPARE(facts->matrixKnown, std::optional(1.0));
        QCOMPARE(facts->flopsKnown, std::optional(1.0));
        QCOMPARE(facts->nothingKnown, 0.0);
    }

    /// Tools that write traces of their own leave the correlation out, and number calls and kernels by their operator.
    void launchesByTheOperatorsNumber()
    {
        const Imported trace = importText(
            js("{'schemaVersion':1,'traceEvents':["
               "{'ph':'X','cat':'cpu_op','name':'aten::mm','pid':9,'tid':9,'ts':100,'dur':20,'args':{'Input Dims':"
               "[[64,32],[32,16]],'Input type':['float','float'],'External id':7}},"
               "{'ph':'X','cat':'cuda_runtime','name':'cudaLaunchKernel','pid':9,'tid':9,'ts':105,'dur':3,'args':{"
               "'External id':7}},"
               "{'ph':'X','cat':'kernel','name':'sm80_gemm','pid':0,'tid':7,'ts':120,'dur':10,'args':{'device':0,"
               "'stream':7,'External id':7}}]}"));
        QVERIFY2(trace.error.empty(), trace.error.c_str());
        QCOMPARE(trace.audit("work_without_launch"), std::int64_t{0});
        const auto kernel = trace.slice("sm80_gemm");
        QVERIFY(kernel);
        QCOMPARE(trace.op(*kernel).flops, 2.0 * 64 * 32 * 16);
    }

    /// A device that is named and did nothing is no measure of what the processor computed.
    void aNamedDeviceThatDidNothing()
    {
        const Imported trace =
            importText(js("{'traceEvents':[{'ph':'X','cat':'cpu_op','name':'aten::mm','pid':9,'tid':9,'ts':100,'dur':"
                          "20,'args':{'Input "
                          "Dims':[[4,8],[8,16]],'Input "
                          "type':['float','float']}}],'deviceProperties':[{'id':0,'name':'NVIDIA H100 80GB "
                          "HBM3','totalGlobalMem':85028372480}]}"));
        QVERIFY2(trace.data, trace.error.c_str());
        InMemoryTraceQuery query(trace.data);
        const auto metrics = computeMetrics(query);
        QVERIFY(metrics.ok());
        QVERIFY(metrics->hostOnly && !metrics->mfu && !metrics->peak.peak);
        QCOMPARE(metrics->mfuAbsent, NoMfu::NoDevice);
    }

    /// Shapes and kernels, and no calls between them.
    void whatNoCallLinksHasFlopsOfNoKernel()
    {
        const Imported trace = importText(js("{'traceEvents':[{'ph':'X','cat':'cpu_op','name':'aten::mm','pid':9,'tid':"
                                             "9,'ts':100,'dur':20,'args':{'Input "
                                             "Dims':[[4,8],[8,16]],'Input type':['float','float']}},"
                                             "{'ph':'X','cat':'kernel','name':'sm80_gemm','pid':0,'tid':7,'ts':120,'"
                                             "dur':10,'args':{'device':0,'stream':7,"
                                             "'correlation':5}}]}"));
        QVERIFY2(trace.data, trace.error.c_str());
        InMemoryTraceQuery query(trace.data);
        QCOMPARE(computeMetrics(query)->mfuAbsent, NoMfu::NotLinked);
    }

    void operatorsOfAProcessorCountTheirTimeOnce()
    {
        // Without a device the operators are the work, and they hold one another.
        const Imported trace = importText(
            js("{'traceEvents':["
               "{'ph':'X','cat':'user_annotation','name':'ProfilerStep#3','pid':9,'tid':9,'ts':90,'dur':100},"
               "{'ph':'X','cat':'cpu_op','name':'aten::linear','pid':9,'tid':9,'ts':100,'dur':60},"
               "{'ph':'X','cat':'cpu_op','name':'aten::addmm','pid':9,'tid':9,'ts':110,'dur':30},"
               "{'ph':'X','cat':'cpu_op','name':'aten::relu','pid':9,'tid':9,'ts':165,'dur':20}]}"));
        QVERIFY2(trace.data, trace.error.c_str());
        QCOMPARE(trace.data->stepSummaries.size(), std::size_t{1});
        std::int64_t sum = 0;
        for (const OpSummary& summary : trace.data->opSummaries)
            if (trace.data->ops[static_cast<std::size_t>(summary.op.value)]->activity == Activity::Compute)
                sum += summary.total.ns;
        QCOMPARE(sum, std::int64_t{80'000});
        QCOMPARE(trace.data->stepSummaries.front().compute.ns, sum);
    }
};

FOURWALLS_TEST(ChromeFlopsTest, QCoreApplication)

} // namespace tst_chrome_flops

#include "tst_chrome_flops.moc"
