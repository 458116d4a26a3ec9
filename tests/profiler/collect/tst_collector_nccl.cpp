// SPDX-License-Identifier: Apache-2.0
// NCCL and NVTX in the injected module, without a GPU: NCCL's plugin interface driven directly, the true NCCL library,
// and a program that marks its ranges. Where something of these is missing, the tests say so and are skipped.
#include "tests/profiler/collect/module_test.h"
#include "tests/support/test_program.h"

namespace tst_collector_nccl {

using namespace fourwalls::collect;

class TestCollectorNccl : public ModuleTest {
    Q_OBJECT

private slots:
    void init()
    {
        if (!isModuleBuilt()) QSKIP("the collector's module was not built: CUPTI's headers are missing");
    }

    void ncclEventsArePairedWithKernels()
    {
        const Spool spool = record({"cuda-nccl"});
        const auto communicators = spool.all<NcclCommunicator>(RecordKind::NcclCommunicator);
        QCOMPARE(communicators.size(), std::size_t{2}); // made and torn down
        QCOMPARE(communicators[0].commId, std::uint64_t{0xabcdef});
        QCOMPARE(communicators[0].ranks, 16);
        QCOMPARE(communicators[0].rank, 3);
        QCOMPARE(spool.text(communicators[0].name), std::string("dp"));
        QVERIFY(communicators[1].endTime > communicators[0].time);
        const auto group = spool.all<NcclGroup>(RecordKind::NcclGroup).at(0);
        const auto api = spool.all<NcclApi>(RecordKind::NcclCollApi).at(0);
        QCOMPARE(api.parent, group.id);
        QCOMPARE(api.count, std::uint64_t{1000});
        QCOMPARE(spool.text(api.datatype), std::string("ncclFloat32"));
        const auto coll = spool.all<NcclColl>(RecordKind::NcclColl).at(0);
        QCOMPARE(coll.parent, api.id);
        QCOMPARE(coll.sequence, std::uint64_t{5});
        QCOMPARE(spool.text(coll.function), std::string("AllReduce"));
        QCOMPARE(spool.text(coll.algorithm), std::string("RING"));
        QCOMPARE(spool.text(coll.protocol), std::string("SIMPLE"));
        QCOMPARE(coll.channels, std::uint16_t{8});
        const auto p2p = spool.all<NcclP2p>(RecordKind::NcclP2p).at(0);
        QCOMPARE(p2p.peer, 3);
        const auto open = spool.all<NcclApi>(RecordKind::NcclP2pApi).at(0);
        QCOMPARE(open.stop, std::uint64_t{0}); // NCCL never stopped it
        // Exactly: launch -> external id -> correlation -> kernel.
        const auto launch = spool.all<NcclKernelLaunch>(RecordKind::NcclKernelLaunch).at(0);
        QCOMPARE(launch.parent, group.id);
        QCOMPARE(launch.correlated, 1U);
        const auto external = spool.all<ExternalCorrelation>(RecordKind::ExternalCorrelation).at(0);
        QCOMPARE(external.external, launch.id);
        QCOMPARE(external.kind, static_cast<std::uint32_t>(ExternalKind::NcclKernelLaunch));
        QCOMPARE(spool.all<Kernel>(RecordKind::Kernel).at(0).correlation, external.correlation);
    }

    /// From plugin interface 6 on: an operation of copy engines has no kernel, its copies carry its id.
    void operationsOfCopyEngines()
    {
        const Spool spool = record({"cuda-nccl6"}, {{kEnvDetail, "normal"}});
        QVERIFY(m_process.readAll().startsWith("activation 7943\n")); // and 4096
        QVERIFY(spool.message(MessageCode::NcclPlugin).find("interface 6") != std::string::npos);
        const auto copies = spool.all<NcclColl>(RecordKind::NcclCopies);
        QCOMPARE(copies.size(), std::size_t{1});
        QCOMPARE(copies[0].parent, spool.all<NcclApi>(RecordKind::NcclCollApi).at(0).id);
        QCOMPARE(copies[0].communicator, spool.all<NcclCommunicator>(RecordKind::NcclCommunicator).at(0).id);
        QCOMPARE(copies[0].sequence, std::uint64_t{6});
        QCOMPARE(copies[0].count, std::uint64_t{1000});
        QCOMPARE(spool.text(copies[0].function), std::string("AllGather"));
        QCOMPARE(spool.text(copies[0].datatype), std::string("ncclFloat32"));
        QCOMPARE(spool.text(copies[0].algorithm), std::string("CE"));
        QCOMPARE(spool.text(copies[0].protocol), std::string("MC"));
        QVERIFY(copies[0].stop >= copies[0].start && copies[0].start > 0);
        const auto external = spool.all<ExternalCorrelation>(RecordKind::ExternalCorrelation);
        const auto moved = spool.all<Memcpy>(RecordKind::Memcpy);
        QCOMPARE(external.size(), std::size_t{3}); // not the program's own
        QCOMPARE(moved.size(), std::size_t{4});
        for (std::size_t i = 0; i < external.size(); ++i) {
            QCOMPARE(external[i].external, copies[0].id);
            QCOMPARE(external[i].correlation, moved[i].correlation);
        }
        // What interface 5 has is where it was.
        const auto coll = spool.all<NcclColl>(RecordKind::NcclColl).at(0);
        QCOMPARE(coll.sequence, std::uint64_t{5});
        QCOMPARE(spool.text(coll.algorithm), std::string("RING"));
        QCOMPARE(spool.all<NcclP2p>(RecordKind::NcclP2p).at(0).peer, 3);
    }

    void ncclWithoutCuda()
    {
        const Spool five = record({"nccl"}, {{"FAKE_CUPTI", ""}});
        QVERIFY(five.state.ended);
        QCOMPARE(five.count(RecordKind::NcclColl), std::size_t{1});
        QCOMPARE(five.all<NcclKernelLaunch>(RecordKind::NcclKernelLaunch).at(0).correlated, 0U);
        QVERIFY(five.message(MessageCode::DriverMissing).find("CUDA was not initialised") != std::string::npos);
        // NCCL's bits of group, collective and message (1, 2, 4), of their calls (256, 512, 1024) and of launches (2048).
        QVERIFY(m_process.readAll().startsWith("activation 3847\n"));
        const Spool four = record({"nccl4"}, {{"FAKE_CUPTI", ""}});
        QVERIFY(m_process.readAll().startsWith("activation 7\n"));
        const auto coll = four.all<NcclColl>(RecordKind::NcclColl).at(0);
        QCOMPARE(four.text(coll.algorithm), std::string("TREE"));
        QVERIFY(four.message(MessageCode::NcclPlugin).find("interface 4") != std::string::npos);
    }

    /// What NCCL reports is one mask for all communicators and all that use it: it is not touched in passing.
    void ncclLeftOutLeavesNcclAlone()
    {
        for (const char* version : {"nccl", "nccl4"}) {
            const Spool spool = record({version}, {{"FAKE_CUPTI", ""}, {kEnvWithout, "nccl"}});
            QVERIFY(m_process.readAll().startsWith("activation 64\n"));
            QCOMPARE(spool.count(RecordKind::NcclCommunicator), std::size_t{0});
        }
    }

    void nvtxOfTheProgram()
    {
        const QString module = QString::fromStdString(kModule);
        const Spool spool = record({"nvtx"}, {{kEnvNvtxInjection, module}});
        QVERIFY(spool.state.ended);
        QCOMPARE(spool.count(RecordKind::NvtxPush), std::size_t{6});
        QCOMPARE(spool.count(RecordKind::NvtxPop), std::size_t{6});
        QCOMPARE(spool.count(RecordKind::NvtxRangeStart), std::size_t{3});
        QCOMPARE(spool.count(RecordKind::NvtxMark), std::size_t{3});
        const auto pushes = spool.all<NvtxEvent>(RecordKind::NvtxPush);
        QCOMPARE(spool.text(pushes[0].name), std::string("iteration 5"));
        QCOMPARE(pushes[0].domain, 0U);
        QCOMPARE(spool.text(pushes[1].name), std::string("forward"));
        QCOMPARE(pushes[1].color, 0xff00ff00U);
        QCOMPARE(static_cast<std::int64_t>(pushes[1].payload), std::int64_t{-5});
        const auto domain = spool.all<NvtxDomain>(RecordKind::NvtxDomain).at(0);
        QCOMPARE(domain.id, pushes[1].domain);
        QCOMPARE(spool.text(domain.name), std::string("model"));
        QCOMPARE(spool.text(spool.all<NvtxCategory>(RecordKind::NvtxCategory).at(0).name), std::string("compute"));
        QCOMPARE(spool.text(spool.all<Thread>(RecordKind::Thread).at(0).name), std::string("trainer"));
        const auto started = spool.all<NvtxEvent>(RecordKind::NvtxRangeStart).at(0);
        QCOMPARE(spool.text(started.name), std::string("r\u00fcckw\u00e4rts"));
        QCOMPARE(spool.all<NvtxEnd>(RecordKind::NvtxRangeEnd).at(0).range, started.range);
        std::vector<std::int64_t> steps;
        for (const StepMark& mark : spool.all<StepMark>(RecordKind::StepMark)) steps.push_back(mark.step);
        QCOMPARE(steps, (std::vector<std::int64_t>{5, 6, 7}));

        const Spool window = record({"nvtx"}, {{kEnvNvtxInjection, module}, {kEnvSteps, "6"}});
        QCOMPARE(window.count(RecordKind::NvtxPush), std::size_t{2});
        QCOMPARE(window.count(RecordKind::StepMark), std::size_t{3});
        QCOMPARE(record({"nvtx"}, {{kEnvNvtxInjection, module}, {kEnvWithout, "nvtx"}}).count(RecordKind::NvtxPush),
                 std::size_t{0});
    }

    void threadsMarkAtOnce()
    {
        // A queue so small that some may be lost: what was lost is counted, what was kept is in order.
        const Spool spool =
            record({"nvtx-threads"}, {{kEnvNvtxInjection, QString::fromStdString(kModule)}, {kEnvQueueBytes, "8M"}});
        QVERIFY(spool.state.ended);
        QCOMPARE(spool.count(RecordKind::NvtxMark) + spool.lost(LossKind::QueueFull), std::size_t{80'100});
        QCOMPARE(spool.count(RecordKind::NvtxDomain), std::size_t{100});
        std::map<std::uint32_t, std::uint64_t> last;
        for (const NvtxEvent& event : spool.all<NvtxEvent>(RecordKind::NvtxMark)) {
            if (event.domain != 0) continue;
            QVERIFY(event.payload > last[event.category]);
            last[event.category] = event.payload;
        }
    }

    void nvtxOfTheTrueNccl()
    {
        const std::string library = toolkitLibrary("libnccl.so.2");
        if (library.empty()) QSKIP("libnccl.so.2 is not installed");
        const Spool spool = record({"real-nccl"}, {{"NCCL", QString::fromStdString(library)},
                                                   {kEnvNvtxInjection, QString::fromStdString(kModule)}});
        QVERIFY(spool.state.ended);
        std::map<std::uint32_t, std::string> domains;
        for (const auto& domain : spool.all<NvtxDomain>(RecordKind::NvtxDomain))
            domains[domain.id] = spool.text(domain.name);
        bool found = false;
        for (const auto& bytes : spool.records.at(RecordKind::NvtxPush)) {
            const SpoolRecord record{RecordKind::NvtxPush, bytes};
            const auto event = record.as<NvtxEvent>();
            if (spool.text(event.name) != "ncclAllReduce") continue;
            found = true;
            QCOMPARE(domains[event.domain], std::string("NCCL"));
            QCOMPARE(event.payloadType, static_cast<std::uint32_t>(NvtxPayloadType::Extended));
            const auto payload = record.tail(event.extendedBytes);
            QVERIFY(payload.size() >= 16);
            // The schema says where the size of the message is.
            bool sized = false;
            for (const auto& schemaBytes : spool.records.at(RecordKind::NvtxSchema)) {
                const SpoolRecord schemaRecord{RecordKind::NvtxSchema, schemaBytes};
                const auto schema = schemaRecord.as<NvtxSchema>();
                if (schema.id != event.schema) continue;
                const auto entries = schemaRecord.tail(schema.entries * sizeof(NvtxSchemaEntry));
                for (std::size_t i = 0; i < schema.entries; ++i) {
                    NvtxSchemaEntry entry;
                    std::memcpy(&entry, entries.data() + i * sizeof entry, sizeof entry);
                    if (spool.text(entry.name).find("Message size") == std::string::npos) continue;
                    std::uint64_t size = 0;
                    QVERIFY(entry.offset + sizeof size <= payload.size());
                    std::memcpy(&size, payload.data() + entry.offset, sizeof size);
                    QCOMPARE(size, std::uint64_t{4000});
                    sized = true;
                }
            }
            QVERIFY(sized);
        }
        QVERIFY(found);
        QCOMPARE(spool.count(RecordKind::NvtxPop), spool.count(RecordKind::NvtxPush));
    }
};

FOURWALLS_TEST(TestCollectorNccl, QCoreApplication)

} // namespace tst_collector_nccl

#include "tst_collector_nccl.moc"
