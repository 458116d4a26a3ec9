// SPDX-License-Identifier: GPL-3.0-or-later
// The list of buffers says all that it leaves out, and its names are in the user's language.
#include "model/trace/memory_facts.h"
#include "tests/support/test_program.h"
#include "views/memory/memory_allocation_model.h"
#include "views/memory/memory_panels.h"

#include <QTranslator>
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

    /// What our own readers call an operator is no name of a file: it goes through the words of the view.
    void namesOfOursAreWords()
    {
        struct Chinese : QTranslator {
            using QTranslator::QTranslator;
            bool isEmpty() const override { return false; }
            QString translate(const char*, const char* source, const char*, int) const override
            {
                return QLatin1String(source) == QLatin1String("from before the history") ? QStringLiteral("早于历史")
                                                                                         : QString();
            }
        } translator;
        QCoreApplication::installTranslator(&translator);
        MemoryAllocationModel model;
        model.setList(listOf(1, 1, 0), {});
        QCOMPARE(model.index(0, MemoryAllocationModel::Operator).data().toString(), QStringLiteral("早于历史"));
        QCoreApplication::removeTranslator(&translator);
    }
};

FOURWALLS_TEST(MemoryBuffersTest, QApplication)

} // namespace tst_memory_buffers

#include "tst_memory_buffers.moc"
