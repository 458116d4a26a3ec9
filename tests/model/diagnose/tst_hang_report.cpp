// SPDX-License-Identifier: Apache-2.0
// Simulated hangs of all kinds: who was made to fail is named, nobody else is; and single rules by hand.
#include <QtTest>

#include "model/diagnose/hang_report.h"
#include "tests/model/diagnose/hung_job.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace tst_hang_report {

using namespace fourwalls::diagnose;
using hung_job::Fault;
using hung_job::FaultKind;
using hung_job::Job;

namespace {

constexpr unsigned kSeed = 20261125;
constexpr const char* kKinds[] = {"stops before",    "stops after", "no dump",    "device error",
                                  "wrong operation", "wrong size",  "leaves out", "stuck kernel"};

struct Tally {
    int faults = 0, named = 0, inSet = 0, missed = 0;
};

struct Verdict {
    Tally of[8], all;
    int jobs = 0, falseNames = 0;
    QStringList wrong;
};

Fault randomFault(const Job& job, FaultKind kind, std::mt19937& random)
{
    Fault fault;
    fault.kind = kind;
    for (;;) {
        fault.rank = std::uniform_int_distribution<int>(0, job.ranks() - 1)(random);
        const auto& program = job.program(fault.rank);
        fault.at = std::uniform_int_distribution<std::size_t>(program.size() / 3, program.size() - 2)(random);
        const auto& operation = program[fault.at];
        const bool isChange = kind == FaultKind::WrongOperation || kind == FaultKind::WrongSize ||
                              kind == FaultKind::LeaveOut || kind == FaultKind::StuckKernel;
        if (isChange && isTransfer(operation.op)) continue;
        if (kind == FaultKind::WrongSize && operation.op == FlightOp::AllToAll) continue;
        break;
    }
    fault.unmarked = std::uniform_int_distribution<std::size_t>(0, 12)(random);
    fault.runsOn = std::uniform_int_distribution<std::size_t>(0, 25)(random);
    return fault;
}

QString describe(const Job& job, const std::vector<Fault>& faults)
{
    QString text = QString("%1 ranks:").arg(job.ranks());
    for (const Fault& fault : faults)
        text += QString(" rank %1 %2 at %3 (%4);")
                    .arg(fault.rank)
                    .arg(kKinds[static_cast<int>(fault.kind)])
                    .arg(fault.at)
                    .arg(QString::fromStdString(job.program(fault.rank)[fault.at].name));
    return text;
}

void judge(const Job& job, const std::vector<Fault>& faults, const std::vector<Fault>& seen, const HangReport& report,
           Verdict& verdict)
{
    std::set<int> named, inSet, guilty;
    for (const HangSuspect& suspect : report.suspects) named.insert(suspect.rank);
    for (const HangSet& set : report.sets) inSet.insert(set.ranks.begin(), set.ranks.end());
    for (const Fault& fault : faults) guilty.insert(fault.rank);
    for (const Fault& fault : seen) {
        for (Tally* tally : {&verdict.of[static_cast<int>(fault.kind)], &verdict.all}) {
            ++tally->faults;
            ++(named.count(fault.rank) > 0 ? tally->named : inSet.count(fault.rank) > 0 ? tally->inSet : tally->missed);
        }
        if (named.count(fault.rank) + inSet.count(fault.rank) == 0) verdict.wrong += "missed: " + describe(job, faults);
    }
    for (const HangSuspect& suspect : report.suspects)
        if (guilty.count(suspect.rank) == 0) {
            ++verdict.falseNames;
            verdict.wrong += QString("false: rank %1, %2; ").arg(suspect.rank).arg(name(suspect.reason)) +
                             describe(job, faults) + " " + QString::fromStdString(suspect.because);
        }
}

/// Everything that dumps say.
std::string contentOf(const std::vector<FlightDump>& dumps)
{
    std::string text;
    for (const FlightDump& dump : dumps) {
        text += "rank " + std::to_string(dump.rank);
        for (const FlightGroup& group : dump.groups)
            text +=
                ' ' + std::to_string(group.enqueued.value_or(-2)) + '/' + std::to_string(group.completed.value_or(-2));
        for (const FlightRecord& record : dump.records)
            text += ' ' + std::to_string(record.id) + dump.texts[record.name] + dump.texts[record.sizes] +
                    std::to_string(static_cast<int>(record.state));
    }
    return text;
}

/// Jobs with one to `mostFaults` faults near one another. Only faults without which the dumps would differ count.
Verdict simulate(unsigned seed, int jobs, int mostRanks, int mostFaults)
{
    std::mt19937 random(seed);
    Verdict verdict;
    while (verdict.jobs < jobs) {
        Job job(hung_job::randomShape(random, mostRanks));
        std::vector<Fault> faults;
        const int count = std::uniform_int_distribution<int>(1, mostFaults)(random);
        std::set<int> used;
        while (static_cast<int>(faults.size()) < count) {
            Fault fault =
                randomFault(job, static_cast<FaultKind>(std::uniform_int_distribution<int>(0, 7)(random)), random);
            if (!faults.empty() && std::max(fault.at, faults[0].at) - std::min(fault.at, faults[0].at) > 12) continue;
            if (used.insert(fault.rank).second) faults.push_back(fault);
        }
        const bool whole = std::uniform_int_distribution<int>(0, 1)(random) == 1;
        if (!job.run(faults)) continue; // a rank without partners may leave out what it likes
        const std::vector<FlightDump> dumps = job.dumps(whole);
        std::vector<Fault> seen;
        for (const Fault& fault : faults) {
            std::vector<Fault> others;
            for (const Fault& other : faults)
                if (other.rank != fault.rank) others.push_back(other);
            if (faults.size() > 1) job.run(others);
            if (faults.size() == 1 || contentOf(job.dumps(whole)) != contentOf(dumps)) seen.push_back(fault);
        }
        ++verdict.jobs;
        judge(job, faults, seen, analyseHang(dumps), verdict);
    }
    return verdict;
}

} // namespace

class TestHangReport : public QObject {
    Q_OBJECT

private slots:
    void soundJobsNameNobody()
    {
        std::mt19937 random(5);
        for (int i = 0; i < 10; ++i) {
            Job job(hung_job::randomShape(random, 64));
            QVERIFY(!job.run({})); // programs without a fault come to their end
            const HangReport report = analyseHang(job.dumps(i % 2 == 0));
            QVERIFY(report.suspects.empty());
            QVERIFY(report.sets.empty());
        }
    }

    void oneFaultIsNeverMissed()
    {
        const Verdict verdict = simulate(kSeed, 120, 64, 1);
        for (int kind = 0; kind < 8; ++kind)
            qInfo("%-16s %3d: named %3d, in a set %3d, missed %d", kKinds[kind], verdict.of[kind].faults,
                  verdict.of[kind].named, verdict.of[kind].inSet, verdict.of[kind].missed);
        for (const QString& each : verdict.wrong.mid(0, 12)) qInfo("%s", qPrintable(each));
        QCOMPARE(verdict.falseNames, 0);
        QCOMPARE(verdict.all.missed, 0);
        QVERIFY(verdict.all.named * 100 >= verdict.all.faults * 70);
    }

    void severalFaults()
    {
        const Verdict verdict = simulate(kSeed + 1, 60, 64, 3);
        qInfo("%d faults: named %d, in a set %d, missed %d, false names %d", verdict.all.faults, verdict.all.named,
              verdict.all.inSet, verdict.all.missed, verdict.falseNames);
        for (const QString& each : verdict.wrong.mid(0, 12)) qInfo("%s", qPrintable(each));
        QCOMPARE(verdict.falseNames, 0);
        // A second fault may be hidden by the first: the same dump without it.
        QVERIFY(verdict.all.missed * 100 <= verdict.all.faults * 10);
    }

    void listsOfRanksAreShort()
    {
        QCOMPARE(rankList({0, 1, 2, 3, 7, 9, 10}), std::string("0-3, 7, 9, 10"));
        QCOMPARE(rankList({5}), std::string("5"));
    }
};

FOURWALLS_TEST(TestHangReport, QCoreApplication)

} // namespace tst_hang_report

#include "tst_hang_report.moc"
