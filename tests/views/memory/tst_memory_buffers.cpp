// SPDX-License-Identifier: GPL-3.0-or-later
// The list of buffers says all that it leaves out.
#include "model/trace/memory_facts.h"
#include "tests/support/test_program.h"
#include "views/memory/memory_panels.h"

#include <QtTest>

namespace tst_memory_buffers {

using namespace fourwalls;
using namespace fourwalls::views;

class MemoryBuffersTest : public QObject {
    Q_OBJECT

    static std::shared_ptr<AllocationList> listOf(int items, std::int64_t total, std::int64_t leftOut)
    {
        auto list = std::make_shared<AllocationList>();
        auto op = std::make_shared<OpInfo>();
        op->name = kBeforeHistory;
        list->ops[OpId(0)] = op;
        for (int i = 0; i < items; ++i) {
            AllocationView item;
            item.id = AllocationId(i);
            item.bytes = 1000;
            item.op = OpId(0);
            list->items.push_back(item);
        }
        list->totalCount = total;
        list->leftOut = leftOut;
        if (leftOut > 0) list->shortest = Duration{4'190'000};
        return list;
    }

    static QString saidOf(std::shared_ptr<const AllocationList> list)
    {
        MemoryBufferPanel panel;
        panel.setList(std::move(list), {});
        QString said = panel.finding().text();
        return said.replace(QChar(0x202F), QLatin1Char(' ')).replace(QChar(0x2009), QLatin1Char(' '));
    }

private slots:
    void allThatIsLeftOutIsCounted()
    {
        QCOMPARE(saidOf(listOf(3, 3, 0)), QStringLiteral("3 buffers"));
        QCOMPARE(saidOf(listOf(3, 10, 0)), QStringLiteral("3 largest, 7 smaller ones not listed"));
        QCOMPARE(saidOf(listOf(3, 3, 41)),
                 QStringLiteral("3 buffers that lived 4.19 ms or longer, about 41 shorter ones when zoomed in"));
        QCOMPARE(saidOf(listOf(3, 10, 41)), QStringLiteral("3 largest that lived 4.19 ms or longer, 7 smaller ones not "
                                                           "listed, about 41 shorter ones when zoomed in"));
    }
};

FOURWALLS_TEST(MemoryBuffersTest, QApplication)

} // namespace tst_memory_buffers

#include "tst_memory_buffers.moc"
