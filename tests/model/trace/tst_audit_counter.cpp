// SPDX-License-Identifier: Apache-2.0
// The list of audit counters.
#include "model/trace/audit_counter.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "tests/support/test_program.h"

#include <QtTest/QtTest>

#include <string>

namespace tst_audit_counter {

using namespace fourwalls;

class AuditCounterTest : public QObject {
    Q_OBJECT

private slots:
    void everyCounterIsFoundByItsRecord()
    {
        int place = 0;
        for (const AuditCounterInfo& info : auditCounters()) {
            QCOMPARE(static_cast<int>(info.counter), place++);
            const AuditRecord record = auditRecord(info.counter, 3, {}, info.name.ends_with('_') ? "12" : "");
            QVERIFY2(counterOf(record) == info.counter, record.name.c_str());
            QVERIFY(record.severity == info.severity);
            QCOMPARE(record.detail, std::string(info.meaning));
            QVERIFY(hasCounter({record}, info.counter));
        }
    }

    void whatIsNotThereIsNoRecord()
    {
        InMemoryTrace trace(TraceHeader{});
        auditCount(trace, AuditCounter::TimesLost, 0);
        auditCount(trace, AuditCounter::NoTimes, -1);
        auditCount(trace, AuditCounter::Unread, 2, "samples", "pmc_event");
        QVERIFY(trace.finish({}).ok());
        const InMemoryTraceQuery query(trace.data());
        const auto& audit = query.info().audit;
        QCOMPARE(audit.size(), std::size_t{1});
        QVERIFY((audit.front() == AuditRecord{"unread_pmc_event", AuditSeverity::Skipped, 2, "samples"}));
    }

    void aFamilyHasMembers()
    {
        const AuditRecord record = auditRecord(AuditCounter::ClockOffset, -5, "from 7 collectives", "3");
        QCOMPARE(record.name, std::string("clock_offset_ns_rank_3"));
        QCOMPARE(record.detail, std::string("from 7 collectives"));
        QVERIFY(memberOf(record) == "3");
        QVERIFY(memberOf(auditRecord(AuditCounter::FileCut, 1)).empty());
    }

    void noNameIsAnotherOnesToo()
    {
        for (const AuditCounterInfo& info : auditCounters())
            for (const AuditCounterInfo& other : auditCounters())
                if (info.counter != other.counter) {
                    const bool isMember = other.name.ends_with('_') && info.name.starts_with(other.name);
                    QVERIFY2(info.name != other.name && !isMember, std::string(info.name).c_str());
                }
    }

    void countersOfOtherVersionsAreNone()
    {
        QVERIFY(!counterOf({"of_a_later_version", AuditSeverity::Info, 1, ""}));
        QVERIFY(!counterOf({"file_cut_short", AuditSeverity::Info, 1, ""}));
        QVERIFY(!hasCounter({{"rank_unknown_too", AuditSeverity::Info, 1, ""}}, AuditCounter::RankUnknown));
    }
};

FOURWALLS_TEST(AuditCounterTest, QCoreApplication)

} // namespace tst_audit_counter

#include "tst_audit_counter.moc"
