// SPDX-License-Identifier: Apache-2.0
// The list of counters that programs read.
#include "model/trace/audit_counter.h"
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

    void aFamilyHasMembers()
    {
        const AuditRecord record = auditRecord(AuditCounter::ClockOffset, -5, "from 7 collectives", "3");
        QCOMPARE(record.name, std::string("clock_offset_ns_rank_3"));
        QCOMPARE(record.detail, std::string("from 7 collectives"));
        QVERIFY(memberOf(record) == "3");
        QVERIFY(memberOf(auditRecord(AuditCounter::FileCut, 1)).empty());
    }

    void whatOnlyPeopleReadIsNoCounter()
    {
        QVERIFY(!counterOf({"details_left_out", AuditSeverity::Info, 1, ""}));
        QVERIFY(!counterOf({"file_cut_short", AuditSeverity::Info, 1, ""}));
        QVERIFY(!hasCounter({{"rank_unknown_too", AuditSeverity::Info, 1, ""}}, AuditCounter::RankUnknown));
    }
};

FOURWALLS_TEST(AuditCounterTest, QCoreApplication)

} // namespace tst_audit_counter

#include "tst_audit_counter.moc"
