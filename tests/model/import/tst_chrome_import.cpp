// SPDX-License-Identifier: Apache-2.0
// What becomes of each kind of event of a Chrome or Kineto trace.
#include "model/import/common/op_names.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/spec_evidence.h"
#include "tests/model/import/import_helpers.h"
#include "tests/support/test_program.h"

#include <QTest>

#include <map>

namespace tst_chrome_import {

using namespace fourwalls;
using namespace fourwalls::importers;
using namespace fourwalls::importers::test;

namespace {

/// A training step of a two-rank job: forward on one thread, backward on another, an all-reduce.
std::string kineto()
{
    return js(
        "{'schemaVersion':1,'HF_TOKEN':'secret-token','traceEvents':["
        "{'ph':'X','cat':'kernel','name':'sm80_gemm','pid':0,'tid':7,'ts':120.5,'dur':10,'args':{'device':0,'stream':7,"
        "'correlation':5}},"
        "{'ph':'X','cat':'user_annotation','name':'ProfilerStep#3','pid':9,'tid':9,'ts':90,'dur':100},"
        "{'ph':'X','cat':'cpu_op','name':'aten::mm','pid':9,'tid':9,'ts':100,'dur':20,'args':{'Input "
        "Dims':[[4,8],[8,16]],'Input type':['c10::BFloat16','c10::BFloat16']}},"
        "{'ph':'X','cat':'cuda_runtime','name':'cudaLaunchKernel','pid':9,'tid':9,'ts':105,'dur':3,'args':{'"
        "correlation':5}},"
        "{'ph':'X','cat':'cpu_op','name':'autograd::engine::evaluate_function: "
        "MmBackward0','pid':9,'tid':10,'ts':130,'dur':20},"
        "{'ph':'X','cat':'cuda_runtime','name':'cudaLaunchKernel','pid':9,'tid':10,'ts':131,'dur':3,'args':{'"
        "correlation':6}},"
        "{'ph':'X','cat':'kernel','name':'elementwise','pid':0,'tid':7,'ts':140,'dur':5,'args':{'device':0,'stream':7,'"
        "correlation':6}},"
        "{'ph':'X','cat':'kernel','name':'ncclDevKernel_Generic','pid':0,'tid':20,'ts':150,'dur':30,'args':{'device':0,"
        "'stream':20,'correlation':99,"
        "'Collective name':'allreduce','In msg nelems':1000,'Out msg nelems':1000,'Group "
        "size':2,'dtype':'BFloat16','Process Group Name':'1',"
        "'Process Group Description':'dp','Process Group Ranks':'[0, 1]','Seq':4}},"
        "{'ph':'X','cat':'gpu_user_annotation','name':'ProfilerStep#3','pid':0,'tid':7,'ts':120.499,'dur':60},"
        "{'ph':'X','cat':'python_function','name':'nn.Module: Linear_0','pid':9,'tid':9,'ts':99,'dur':30},"
        "{'ph':'X','cat':'newest_thing','name':'unknown','pid':9,'tid':9,'ts':101,'dur':1},"
        "{'ph':'X','cat':'Trace','name':'PyTorch Profiler (0)','pid':'Spans','tid':'PyTorch "
        "Profiler','ts':0,'dur':1000},"
        "{'ph':'s','cat':'ac2g','name':'ac2g','id':5,'pid':9,'tid':9,'ts':105},"
        "{'ph':'f','cat':'ac2g','name':'ac2g','id':5,'pid':0,'tid':7,'ts':120.5,'bp':'e'},"
        "{'ph':'s','cat':'fwdbwd','name':'fwdbwd','id':1,'pid':9,'tid':9,'ts':100},"
        "{'ph':'f','cat':'fwdbwd','name':'fwdbwd','id':1,'pid':9,'tid':10,'ts':130,'bp':'e'},"
        "{'ph':'i','cat':'cpu_instant_event','name':'[memory]','pid':9,'tid':9,'ts':101,'args':{'Device "
        "Type':1,'Device Id':0,'Addr':4096,'Bytes':512,'Total Allocated':1512,'Total Reserved':2048}},"
        "{'ph':'i','cat':'cpu_instant_event','name':'[memory]','pid':9,'tid':9,'ts':103,'args':{'Device "
        "Type':1,'Device Id':0,'Addr':8192,'Bytes':-200,'Total Allocated':1312,'Total Reserved':2048}},"
        "{'ph':'i','cat':'cpu_instant_event','name':'[memory]','pid':9,'tid':9,'ts':102,'args':{'Device "
        "Type':1,'Device Id':0,'Addr':4096,'Bytes':-512,'Total Allocated':1000,'Total Reserved':2048}},"
        "{'ph':'M','name':'thread_name','pid':9,'tid':9,'ts':0,'args':{'name':'thread 9 (python)'}},"
        "{'ph':'M','name':'process_name','pid':9,'tid':0,'ts':0,'args':{'name':'python train.py --api-key=hunter2'}},"
        "{'ph':'N','name':'object','pid':9,'tid':9,'ts':5,'id':'0x1'}"
        "],'distributedInfo':{'backend':'nccl','rank':1,'world_size':2},'deviceProperties':[{'id':0,'name':'NVIDIA "
        "H100 80GB HBM3','totalGlobalMem':85028372480}],"
        "'baseTimeNanoseconds':1700000000000000000}");
}

} // namespace

class ChromeImportTest : public QObject {
    Q_OBJECT

private slots:
    void header()
    {
        const Imported trace = importText(kineto());
        QCOMPARE(trace.error, std::string());
        const TraceHeader& header = trace.data->info.header;
        QCOMPARE(header.source, TraceSource::Imported);
        QCOMPARE(header.ranks.size(), std::size_t{1});
        QCOMPARE(header.ranks[0].rank, RankId{1});
        QCOMPARE(header.ranks[0].device, std::string("NVIDIA H100 80GB HBM3"));
        QCOMPARE(trace.data->info.closing.peakFlopsPerDevice.value(), 989e12);
        QCOMPARE(trace.data->info.closing.peakSource, std::string("datasheet"));
        QCOMPARE(header.ranks[0].memoryBytes, std::int64_t{85028372480});
        // The origin is the first event, metadata and the profiling window left out; the base may come last.
        QCOMPARE(header.originUnixNs, std::int64_t{1700000000000005000});
    }

    void slices()
    {
        const Imported trace = importText(kineto());
        const SliceView* gemm = trace.slice("sm80_gemm");
        QVERIFY(gemm);
        QCOMPARE(gemm->start, Instant{115500});
        QCOMPARE(gemm->duration, Duration{10000});
        QCOMPARE(gemm->correlation, CorrelationId{5});
        QCOMPARE(trace.op(*gemm).kind, SliceKind::Kernel);
        QCOMPARE(trace.op(*gemm).activity, Activity::Compute);
        QCOMPARE(trace.op(*gemm).phase, Phase::Forward);
        QCOMPARE(trace.op(*gemm).flops, 2.0 * 4 * 8 * 16);
        QCOMPARE(trace.track(*gemm).kind, TrackKind::ComputeStream);
        QCOMPARE(trace.track(*gemm).name, std::string("stream 7"));
        QCOMPARE(trace.op(*trace.slice("elementwise")).phase, Phase::BackwardInput);
        QCOMPARE(trace.op(*trace.slice("aten::mm")).activity, Activity::None);
        QCOMPARE(trace.op(*trace.slice("aten::mm")).detail, std::string("[[4,8],[8,16]]"));
        QCOMPARE(trace.track(*trace.slice("aten::mm")).name, std::string("thread 9 (python)"));
        QCOMPARE(trace.op(*trace.slice("cudaLaunchKernel")).activity, Activity::Launch);
        QCOMPARE(trace.op(*trace.slice("nn.Module: Linear_0")).kind, SliceKind::Layer);
        QVERIFY(trace.slice("unknown"));
        QCOMPARE(trace.data->slices.size(), std::size_t{12});
        QCOMPARE(trace.audit("unsupported_phase"), std::int64_t{1});
        QCOMPARE(trace.audit("work_without_launch"), std::int64_t{1});
        QCOMPARE(trace.audit("import_entries"), std::int64_t{22});
    }

    void collectives()
    {
        const Imported trace = importText(kineto());
        QCOMPARE(trace.data->collectives.size(), std::size_t{1});
        const CollectiveRecord& record = trace.data->collectives[0].record;
        QCOMPARE(record.operation, CollectiveOp::AllReduce);
        QCOMPARE(record.payloadBytes.value_or(-1), std::int64_t{2000});
        QCOMPARE(record.wireBytes.value_or(-1), std::int64_t{2000});
        QCOMPARE(trace.data->info.groups[0].ranks, (std::vector<RankId>{RankId{0}, RankId{1}}));
        QCOMPARE(trace.data->info.groups[0].transport, std::string("nccl"));
        QCOMPARE(trace.track(*trace.slice("ncclDevKernel_Generic")).kind, TrackKind::CommStream);
    }

    void aStepIsItsMarkAndTheWorkLaunchedInIt()
    {
        const Imported trace = importText(kineto());
        const auto& steps = trace.data->steps.at(RankId{1});
        QCOMPARE(steps.size(), std::size_t{1});
        QCOMPARE(steps[0].record.step, StepIndex{3});
        // The mark; both kernels that were launched within it end before it does.
        QCOMPARE(steps[0].record.range.begin, Instant{85000});
        QCOMPARE(steps[0].record.range.length(), Duration{100000});
        QCOMPARE(trace.data->info.closing.stepsBy, std::string("ProfilerStep"));
    }

    void flows()
    {
        const Imported trace = importText(kineto());
        int launches = 0, backward = 0;
        for (const FlowRecord& flow : trace.data->flows) {
            launches += flow.kind == "launch";
            backward += flow.kind == "forward_backward";
        }
        QCOMPARE(launches, 2);
        QCOMPARE(backward, 1);
    }

    void memory()
    {
        // In time order: 512 more, 512 less, then 200 less of what was there before: 1000 bytes at the start.
        const Imported trace = importText(kineto());
        const auto& curve = trace.data->memory.at(RankId{1});
        QCOMPARE(curve.front().total(), std::int64_t{1512});
        QCOMPARE(curve.back().total(), std::int64_t{800});
        QCOMPARE(trace.audit("buffers_before_window"), std::int64_t{1});
    }

    /// Of Intel's GPUs, for one: the highest bit is set. The device's type is neither the CPU's nor CUDA's.
    void memoryAtHighAddresses()
    {
        const std::string event = "{'ph':'i','cat':'cpu_instant_event','name':'[memory]','pid':9,'tid':9,'ts':%1,'args'"
                                  ":{'Device Type':12,'Device Id':0,'Addr':18374686479671623680,'Bytes':%2,'Total "
                                  "Allocated':%3,'Total Reserved':2048}}";
        const auto at = [&](const char* ts, const char* bytes, const char* total) {
            return QString::fromStdString(event).arg(ts, bytes, total).toStdString();
        };
        const Imported trace = importText(js("{'schemaVersion':1,'traceEvents':[" + at("10", "512", "512") + "," +
                                             at("20", "-512", "0") + "," + at("30", "256", "256") + "]}"));
        QCOMPARE(trace.data->info.counts.allocations, std::int64_t{2});
        const auto& curve = trace.data->memory.at(RankId{0});
        QCOMPARE(curve.front().total(), std::int64_t{512});
        QCOMPARE(curve.back().total(), std::int64_t{256});
    }

    void nothingSecretIsKept()
    {
        const Imported trace = importText(kineto());
        std::string all = trace.data->info.header.producer;
        for (const auto& op : trace.data->ops) all += op->name + op->detail;
        for (const auto& track : trace.data->tracks) all += track.info.name;
        for (const auto& event : trace.data->events) all += event.text;
        for (const auto& record : trace.data->info.audit) all += record.name + record.detail;
        QVERIFY(all.find("secret") == std::string::npos);
        QVERIFY(all.find("hunter2") == std::string::npos);
    }

    void beginAndEnd()
    {
        // Out of order in the file; one end too many, which is the one whose name nothing open has; one begin without end.
        const Imported trace = importText(
            js("[{'ph':'E','pid':1,'tid':1,'ts':30},{'ph':'B','pid':1,'tid':1,'ts':10,'name':'outer'},"
               "{'ph':'B','pid':1,'tid':1,'ts':12,'name':'inner'},{'ph':'E','pid':1,'tid':1,'ts':20,'name':'wrong'},"
               "{'ph':'E','pid':1,'tid':1,'ts':31},{'ph':'B','pid':1,'tid':2,'ts':5,'name':'open'}]"));
        QCOMPARE(trace.slice("outer")->duration, Duration{21000});
        QCOMPARE(trace.slice("inner")->duration, Duration{18000});
        QCOMPARE(trace.slice("open")->duration, Duration{26000});
        QCOMPARE(trace.audit("end_without_begin"), std::int64_t{1});
        QCOMPARE(trace.audit("begin_without_end"), std::int64_t{1});
        // As many ends as begins: their names are ignored.
        const Imported even = importText(
            js("[{'ph':'B','pid':1,'tid':1,'ts':10,'name':'outer'},{'ph':'B','pid':1,'tid':1,'ts':12,'name':'inner'},"
               "{'ph':'E','pid':1,'tid':1,'ts':20,'name':'wrong'},{'ph':'E','pid':1,'tid':1,'ts':30}]"));
        QCOMPARE(even.slice("outer")->duration, Duration{20000});
        QCOMPARE(even.slice("inner")->duration, Duration{8000});
    }

    void asyncAndCounters()
    {
        const Imported trace =
            importText(js("[{'ph':'b','cat':'net','id':'0x1','pid':1,'tid':1,'ts':10,'name':'request'},"
                          "{'ph':'b','cat':'net','id':'0x2','pid':1,'tid':1,'ts':11,'name':'other'},"
                          "{'ph':'n','cat':'net','id':'0x1','pid':1,'tid':1,'ts':12,'name':'mark'},"
                          "{'ph':'e','cat':'net','id':'0x1','pid':1,'tid':1,'ts':20,'name':'request'},"
                          "{'ph':'e','cat':'net','id':'0x2','pid':1,'tid':1,'ts':21,'name':'other'},"
                          "{'ph':'S','cat':'x','id':7,'pid':1,'tid':1,'ts':1,'name':'old'},{'ph':'F','cat':'x','id':7,'"
                          "pid':1,'tid':2,'ts':4,'name':'old'},"
                          "{'ph':'C','pid':1,'tid':1,'ts':3,'name':'heap','args':{'used':12.5,'free':1}},"
                          "{'ph':'C','pid':1,'tid':1,'ts':4,'name':'heap','args':{'text':'x'}}]"));
        QCOMPARE(trace.slice("request")->duration, Duration{10000});
        QCOMPARE(trace.slice("other")->duration, Duration{10000});
        QCOMPARE(trace.slice("old")->duration, Duration{3000});
        QCOMPARE(trace.data->events.size(), std::size_t{1});
        QCOMPARE(trace.data->info.counters.size(), std::size_t{2});
        QCOMPARE(trace.data->info.counters[0].name, std::string("heap.used"));
        QCOMPARE(trace.audit("counter_event_unread"), std::int64_t{1});
    }

    void badEventsAreCounted()
    {
        const Imported trace = importText(js(
            "[{'ph':'X','pid':1,'tid':1,'ts':1,'dur':-2,'name':'negative'},{'ph':'X','pid':1,'tid':1,'name':'no time'},"
            "{'ph':'X','pid':1,'tid':1,'ts':2,'name':'no duration'},null,"
            "{'ph':'X','pid':1,'tid':1,'ts':3,'dur':1,'name':'twice','name':'twice'},"
            "{'ph':'X','pid':1,'tid':1,'ts':2.3e15,'dur':1e12,'name':'far'}]"));
        QCOMPARE(trace.audit("negative_duration"), std::int64_t{1});
        QCOMPARE(trace.audit("no_time"), std::int64_t{1});
        QCOMPARE(trace.audit("no_duration"), std::int64_t{1});
        QCOMPARE(trace.audit("not_an_event"), std::int64_t{1});
        QCOMPARE(trace.audit("duplicate_keys"), std::int64_t{1});
        QCOMPARE(trace.data->slices.size(), std::size_t{3});
    }

    void overlappingSlicesAreKept()
    {
        const Imported trace = importText(js("[{'ph':'X','pid':1,'tid':1,'ts':0,'dur':10,'name':'a'},{'ph':'X','pid':1,"
                                             "'tid':1,'ts':5,'dur':10,'name':'b'}]"));
        QCOMPARE(trace.data->slices.size(), std::size_t{2});
        QCOMPARE(trace.data->tracks[0].lanes, 2);
    }

    /// Ends are rounded, not lengths: what nests or touches in picoseconds needs no lane of its own.
    void finerThanNanoseconds()
    {
        const Imported trace = importText(js("[{'ph':'X','pid':1,'tid':1,'ts':0.0004,'dur':2.0003,'name':'outer'},{'ph'"
                                             ":'X','pid':1,'tid':1,'ts':1.0006,'dur':1.0001,'name':'inner'},"
                                             "{'ph':'X','pid':1,'tid':1,'ts':2.0007,'dur':1.0004,'name':'next'}]"));
        QCOMPARE(trace.slice("outer")->duration, Duration{2001});
        QCOMPARE(trace.slice("inner")->end(), trace.slice("outer")->end());
        QCOMPARE(trace.slice("next")->start, trace.slice("outer")->end());
        QCOMPARE(trace.data->tracks[0].lanes, 2);
    }

    /// Other tools rewrite the base as a floating-point number; its digits still count.
    void baseAsAFraction()
    {
        const Imported trace = importText(
            js("{'baseTimeNanoseconds':1.7e18,'traceEvents':[{'ph':'X','pid':1,'tid':1,'ts':5,'dur':1,'name':'a'}]}"));
        QCOMPARE(trace.data->info.header.originUnixNs, std::int64_t{1700000000000005000});
    }

    /// Millions of names that differ in a number would fill the memory.
    void tooManyNames()
    {
        InMemoryTrace sink{TraceHeader{}};
        OpNames names(sink, false, 3);
        const auto nameOf = [&](const std::string& text) {
            return names.find(Category::UserAnnotation, text).info.name;
        };
        for (const char* kept : {"request 1", "request 2", "step"}) QCOMPARE(nameOf(kept), std::string(kept));
        QCOMPARE(names.shortenedNames(), std::int64_t{0});
        for (int i = 3; i < 100; ++i)
            QCOMPARE(nameOf("request " + std::to_string(i) + "_of 0x7fab: a" + std::to_string(i) + "b"),
                     std::string("request #_of #: a#"));
        QCOMPARE(nameOf("request 2"), std::string("request 2"));
        QCOMPARE(names.shortenedNames(), std::int64_t{97});
        QCOMPARE(nameOf("second"), std::string("second")); // nothing to leave out, nothing to count
        QCOMPARE(names.shortenedNames(), std::int64_t{97});
        QCOMPARE(nameOf("third 3"), std::string("third #"));
        QCOMPARE(nameOf("fourth"), std::string("(one of too many names)"));
        QCOMPARE(nameOf("fifth"), std::string("(one of too many names)"));
        QCOMPARE(nameOf("third 4"), std::string("third #"));
        int distinct = 0;
        names.each([&](const NamedWork&) { ++distinct; });
        QCOMPARE(distinct, 7);
    }

    /// Two calls of 50 us each: one puts a copy within the device into a full queue, the other waits for its copy.
    void aCopyWithinTheDeviceKeepsNobody()
    {
        const Imported trace = importText(js(
            "[{'ph':'X','cat':'cuda_runtime','name':'cudaMemcpyAsync','pid':9,'tid':9,'ts':0,'dur':50,"
            "'args':{'correlation':1}},"
            "{'ph':'X','cat':'cuda_runtime','name':'cudaMemcpyAsync','pid':9,'tid':9,'ts':100,'dur':50,"
            "'args':{'correlation':2}},"
            "{'ph':'X','cat':'gpu_memcpy','name':'Memcpy DtoD (Device -> Device)','pid':0,'tid':7,'ts':60,'dur':5,"
            "'args':{'device':0,'stream':7,'correlation':1}},"
            "{'ph':'X','cat':'gpu_memcpy','name':'Memcpy DtoH (Device -> Pageable)','pid':0,'tid':7,'ts':140,'dur':5,"
            "'args':{'device':0,'stream':7,'correlation':2}}]"));
        QVERIFY2(trace.data, trace.error.c_str());
        std::map<std::int64_t, Activity> activities;
        for (const SliceView& slice : trace.data->slices)
            if (trace.op(slice).kind == SliceKind::HostCall) activities[slice.start.ns] = trace.op(slice).activity;
        QCOMPARE(activities,
                 (std::map<std::int64_t, Activity>{{0, Activity::Launch}, {100'000, Activity::Synchronisation}}));
    }

    /// The profiler that PyTorch had before Kineto writes no categories: its processes say what they are.
    void pyTorchBeforeKineto()
    {
        const Imported cpu = importText(
            js("[{'name':'aten::addmm','ph':'X','ts':0,'dur':20,'tid':1,'pid':'CPU functions','args':{}},"
               "{'name':'AddmmBackward','ph':'X','ts':30,'dur':10,'tid':1,'pid':'CPU functions','args':{}},"
               "{'name':'rpc_remote#_invoke','ph':'X','ts':0,'dur':100,'tid':1,'pid':'CPU functions','args':{}}]"));
        QVERIFY2(cpu.data, cpu.error.c_str());
        QCOMPARE(cpu.data->info.header.producer, std::string("PyTorch autograd profiler"));
        QCOMPARE(cpu.op(*cpu.slice("aten::addmm")).activity, Activity::Compute);
        QCOMPARE(cpu.op(*cpu.slice("rpc_remote#_invoke")).kind, SliceKind::Marker);
        QCOMPARE(cpu.data->stepSummaries.front().compute.ns, std::int64_t{30'000});
        InMemoryTraceQuery query(cpu.data);
        QVERIFY(evidenceOf(query)->data().hasBackward);

        const Imported gpu = importText(
            js("[{'name':'aten::addmm','ph':'X','ts':0,'dur':20,'tid':1,'pid':'CPU functions','args':{}},"
               "{'name':'volta_sgemm','ph':'X','ts':10,'dur':30,'tid':0,'pid':'CUDA functions','args':{}}]"));
        QVERIFY2(gpu.data, gpu.error.c_str());
        QCOMPARE(gpu.op(*gpu.slice("volta_sgemm")).kind, SliceKind::Kernel);
        QCOMPARE(gpu.track(*gpu.slice("volta_sgemm")).kind, TrackKind::ComputeStream);
        // Threads of any other program stay what they are.
        const Imported other = importText(js("[{'name':'work','ph':'X','ts':0,'dur':20,'tid':1,'pid':1}]"));
        QCOMPARE(other.op(*other.slice("work")).activity, Activity::None);
    }
};

FOURWALLS_TEST(ChromeImportTest, QCoreApplication)

} // namespace tst_chrome_import

#include "tst_chrome_import.moc"
