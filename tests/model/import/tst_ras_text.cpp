// SPDX-License-Identifier: Apache-2.0
// What NCCL's RAS says of a job. The texts have the form of NCCL's user guide ("RAS") and of src/ras/client_support.cc.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/import/hang/flight_dump_reader.h"
#include "model/import/hang/ras_text.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>

namespace tst_ras_text {

using namespace fourwalls;
using namespace fourwalls::importers;
using diagnose::RasNote;

namespace {

const std::string kHead = "NCCL version 2.28.3 compiled with CUDA 12.9\n"
                          "CUDA runtime version 12090, driver version 12090\n\n"
                          "Job summary\n===========\n\n"
                          "  Nodes  Processes         GPUs  Processes     GPUs\n"
                          "(total)   per node  per process    (total)  (total)\n"
                          "      4          8            1         32       32\n\n"
                          "Communicators... (0.00s)\n=============\n\n"
                          "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
                          "    #  in group  per comm  per node  per comm  in group\n"
                          "    0         1         4         8        32        32   RUNNING  MISMATCH\n\n";

const std::string kWarnings =
    "Warnings\n========\n\n"
    "#0-0 (27a079b828ff1a75) MISMATCH\n"
    "  Communicator ranks have different collective operation counts\n"
    "  26 ranks have launched up to operation 6650\n"
    "  6 ranks have launched up to operation 6649\n"
    "  Rank 0 -- GPU 0 managed by process 483072 on node 172.16.64.210\n"
    "  Rank 7 -- GPU 7 managed by process 483079 on node 172.16.64.210\n\n"
    "#1-0 (78db921d1c117b4a) MISMATCH\n"
    "  Communicator ranks have different AllReduce operation counts\n"
    "  7 ranks have launched up to operation 64\n"
    "  Rank 7 has launched up to operation 60 -- GPU 3 managed by process 1650386 on node n1\n\n"
    "  Communicator ranks have different Broadcast operation counts\n"
    "  7 ranks have launched up to operation 3\n"
    "  Rank 2 has not launched any operations -- [process information not found]\n\n"
    "#2-1 (00000000000000aa) MISMATCH\n"
    "  Communicator ranks have different status\n"
    "  3 ranks have status RUNNING\n"
    "  Rank 1 has status ABORT -- GPU 1 managed by process 5 on node n2\n\n";

} // namespace

class RasTextTest : public QObject {
    Q_OBJECT

private slots:
    void ranksThatAreBehind()
    {
        const std::vector<RasNote> notes = rasNotes(kHead + kWarnings);
        QCOMPARE(notes.size(), std::size_t{4});
        QCOMPARE(notes[0].communicator, std::string("27a079b828ff1a75"));
        QCOMPARE(notes[0].ranks, (std::vector<int>{0, 7}));
        QCOMPARE(notes[0].because, std::string("launched up to operation 6649, where 26 ranks are at 6650"));
        QCOMPARE(sentenceOf(notes[1]), std::string("communicator 78db921d1c117b4a, rank 7: launched up to AllReduce "
                                                   "operation 60, where 7 ranks are at 64"));
        QCOMPARE(sentenceOf(notes[2]), std::string("communicator 78db921d1c117b4a, rank 2: launched up to Broadcast "
                                                   "operation 0, where 7 ranks are at 3"));
        QCOMPARE(sentenceOf(notes[3]),
                 std::string("communicator 00000000000000aa, rank 1: status ABORT, where 3 ranks have RUNNING"));
    }

    void processesThatDoNotAnswer()
    {
        const std::vector<RasNote> notes =
            rasNotes(kHead + "Errors\n======\n\nDEAD\n"
                             "  1 job process is considered dead (unreachable via the RAS network)\n"
                             "  Process 3487984 on node 172.16.64.213 managing GPU 5\n\n");
        QCOMPARE(notes.size(), std::size_t{1});
        QVERIFY(notes[0].ranks.empty() && notes[0].communicator.empty());
        QCOMPARE(notes[0].because,
                 std::string("1 job process is considered dead (unreachable via the RAS network): Process 3487984 on "
                             "node 172.16.64.213 managing GPU 5"));
    }

    void ranksThatAreMissingOrReportErrors()
    {
        const std::vector<RasNote> notes =
            rasNotes(kHead + "Errors\n======\n\nINCOMPLETE\n"
                             "  Missing communicator data from 1 job process\n"
                             "  Process 3487984 on node 172.16.64.213 managing GPU 5\n\n"
                             "#0-0 (cf264af53edbe986) INCOMPLETE\n"
                             "  Missing communicator data from 2 ranks\n"
                             "  Rank 21 -- GPU 5 managed by process 3487984 on node 172.16.64.213\n"
                             "  Rank 22 -- [process information not found]\n\n"
                             "#1-0 (00000000000000aa) ERROR\n"
                             "  Asynchronous errors on 3 ranks\n"
                             "  2 ranks reported ncclRemoteError\n"
                             "  Rank 1 -- GPU 1 managed by process 5 on node n2\n"
                             "  Rank 3 -- GPU 3 managed by process 7 on node n2\n"
                             "  Rank 0 reported ncclSystemError -- GPU 0 managed by process 4 on node n2\n\n");
        QCOMPARE(notes.size(), std::size_t{4});
        QCOMPARE(sentenceOf(notes[0]),
                 std::string("Missing communicator data from 1 job process: Process 3487984 on node "
                             "172.16.64.213 managing GPU 5"));
        QCOMPARE(sentenceOf(notes[1]),
                 std::string("communicator cf264af53edbe986, ranks 21, 22: Missing communicator data "
                             "from 2 ranks"));
        QCOMPARE(sentenceOf(notes[2]),
                 std::string("communicator 00000000000000aa, ranks 1, 3: 2 ranks reported ncclRemoteError"));
        QCOMPARE(notes[3].ranks, std::vector<int>{0});
        QVERIFY(notes[3].because.find("ncclSystemError") != std::string::npos);
    }

    void aHealthyJobAndOtherTexts()
    {
        QVERIFY(rasNotes(kHead + "Errors\n======\n\nWarnings\n========\n\n").empty());
        QVERIFY(isRasText(kHead) && !isRasText("NCCL version 2.28.3") && !isRasText(""));
        // Cut and senseless lines name nobody, or what is there; none ends the program.
        const std::string text = kHead + kWarnings;
        for (std::size_t length = 0; length <= text.size(); ++length)
            QVERIFY(rasNotes(text.substr(0, length)).size() <= 4);
        rasNotes("Rank 99999999999999999999 has\n  Rank -1\n  7 ranks have launched up to operation x\n#( )\n  Rank 3");
    }

    void longLinesAreCut()
    {
        // What stands above many lines is part of every note.
        std::string text =
            kHead + "Errors\n======\n\n#0-0 (cf264af53edbe986) ABORT\n  " + std::string(100'000, 'x') + "\n";
        for (int i = 0; i < 1000; ++i) text += "  Process " + std::to_string(i) + "\n";
        const auto notes = rasNotes(text);
        QCOMPARE(notes.size(), std::size_t{1000});
        for (const auto& note : notes) QVERIFY(note.because.size() < 1100);
        QVERIFY(notes.back().because.ends_with(": Process 999"));
        // Counts that no job has are no counts, and none is added up beyond what a number holds.
        rasNotes(kHead + "  9223372036854775807 ranks have status X\n  9223372036854775807 ranks have status X\n");
    }

    void besideDumps()
    {
        QTemporaryDir folder;
        QFile file(folder.filePath("ras.txt"));
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write((kHead + kWarnings).c_str()) > 0);
        file.close();
        const std::string path = file.fileName().toStdString();
        const auto notes = readRasNotes({folder.path().toStdString()});
        QVERIFY(notes.ok());
        QCOMPARE(notes->size(), std::size_t{4});
        // A report that somebody names is no damaged dump.
        const auto dumps = readFlightDumps({path});
        QVERIFY(!dumps.ok() && dumps.error().code == ErrorCode::InvalidArgument);
    }
};

FOURWALLS_TEST(RasTextTest, QCoreApplication)

} // namespace tst_ras_text

#include "tst_ras_text.moc"
