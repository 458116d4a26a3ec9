// SPDX-License-Identifier: GPL-3.0-or-later
// "Find anything": the order of what is found, and a window in which it is typed, chosen and gone to. A Qt warning fails
// the test.
#include "app/gui/appearance.h"
#include "app/gui/find_box.h"
#include "app/gui/main_window.h"
#include "app/gui/trace_document.h"
#include "app/gui/trace_notes.h"
#include "tests/app/gui/window_start.h"
#include "views/tables/tables_view.h"
#include "views/timeline/timeline_canvas.h"
#include "views/timeline/timeline_toolbar.h"
#include "views/timeline/timeline_view.h"
#ifndef Q_MOC_RUN
#include "tests/support/test_program.h"
#include "tests/views/timeline/sample_trace.h"
#endif

#include <QLineEdit>
#include <QListWidget>
#include <QStandardPaths>
#include <QtTest/QtTest>

namespace tst_find_box {

using namespace fourwalls;
using namespace fourwalls::gui;

namespace {

FindItem item(FindGroup group, const char* text, MatchQuality quality = MatchQuality::None)
{
    FindItem made{group, QString::fromUtf8(text)};
    made.quality = quality;
    return made;
}

QStringList textsOf(const std::vector<FindRow>& rows)
{
    QStringList texts;
    for (const FindRow& row : rows)
        texts << (row.kind == FindRow::Kind::More ? QStringLiteral("+%1").arg(row.more) : row.item.text);
    return texts;
}

/// A window with the sample run open, and what is done to its box.
struct FindBench {
    Settings settings{Settings::Kind::Forgetful};
    std::unique_ptr<MainWindow> window;
    TraceDocument* document = nullptr;

    FindBench()
    {
        const std::shared_ptr<const InMemoryTraceData> data = sample::sampleTrace({})->data();
        window = std::make_unique<MainWindow>(
            [data](const QString&) -> Result<std::unique_ptr<TraceQuery>> {
                return std::unique_ptr<TraceQuery>(std::make_unique<InMemoryTraceQuery>(data));
            },
            settings);
        window->resize(1280, 760);
        window->show();
        document = window->openFile(QStringLiteral("a.fourwalls"));
    }
    bool ready()
    {
        return QTest::qWaitFor([this] { return document->isSettled(); }, 20'000);
    }
    views::TimelineView* timeline() { return qobject_cast<views::TimelineView*>(document->currentView()); }
    FindBox& box()
    {
        if (!window->findChild<FindBox*>() || !window->findChild<FindBox*>()->isVisible())
            for (QAction* action : window->allActions())
                if (action->objectName() == QLatin1String("window.find")) action->trigger();
        return *window->findChild<FindBox*>();
    }
    /// Types it and waits for all answers.
    FindBox& type(const QString& text)
    {
        FindBox& shown = box();
        shown.findChild<QLineEdit*>()->setText(text);
        if (!QTest::qWaitFor([this] { return document->session()->pending() == 0; }, 20'000)) qWarning("no answer");
        return shown;
    }
    void take(Qt::Key first = Qt::Key_unknown)
    {
        auto* edit = box().findChild<QLineEdit*>();
        if (first != Qt::Key_unknown) QTest::keyClick(edit, first);
        QTest::keyClick(edit, Qt::Key_Return);
    }
};

} // namespace

class TestFindBox : public QObject, private tests::WindowStart {
    Q_OBJECT

private slots:
    void initTestCase() { QStandardPaths::setTestModeEnabled(true); }
    void init() { beginInEnglish(); }
    void cleanup() { failOnWarnings(); }

    void theBestGroupIsFirst()
    {
        const std::vector<FindItem> items{
            item(FindGroup::Commands, "Open a trace"), item(FindGroup::Commands, "Reopen the last traces"),
            item(FindGroup::Files, "open.fourwalls"), item(FindGroup::Names, "reopen_kernel", MatchQuality::Inside),
            item(FindGroup::Marking, "mark", MatchQuality::Whole)};
        QCOMPARE(textsOf(arrangeFinds(QStringLiteral("open"), items)),
                 QStringList({QStringLiteral("Commands"), QStringLiteral("Open a trace"),
                              QStringLiteral("Reopen the last traces"), QStringLiteral("Files"),
                              QStringLiteral("open.fourwalls"), QStringLiteral("Names"),
                              QStringLiteral("reopen_kernel"), QStringLiteral("Timeline"), QStringLiteral("mark")}));
        // Letters with others between them find commands, and nothing else.
        QCOMPARE(textsOf(arrangeFinds(QStringLiteral("oat"), {items[0], items[2]})),
                 QStringList({QStringLiteral("Commands"), QStringLiteral("Open a trace")}));
        QVERIFY(!textsOf(arrangeFinds(QStringLiteral("ofwalls"), items)).contains(QStringLiteral("open.fourwalls")));
    }

    void aLongGroupSaysHowManyMore()
    {
        std::vector<FindItem> items;
        for (int i = 0; i < 20; ++i) items.push_back(item(FindGroup::Names, "gemm", MatchQuality::Whole));
        const QStringList texts = textsOf(arrangeFinds(QStringLiteral("gemm"), items));
        QCOMPARE(texts.size(), 8);
        QCOMPARE(texts.last(), QStringLiteral("+14"));
        QCOMPARE(textsOf(arrangeFinds(QStringLiteral("gemm"), items, {FindGroup::Names})).size(), 21);
    }

    void numbersBeginAsTyped()
    {
        const QString label = QStringLiteral("step %1");
        std::vector<qint64> numbers;
        for (qint64 i = 0; i < 200; ++i) numbers.push_back(i);
        const auto like = [&](const char* typed) { return numbersLike(QString::fromUtf8(typed), label, numbers, 4); };
        QCOMPARE(like("1"), (std::vector<qint64>{1, 10, 11, 12}));
        QCOMPARE(like("step 17"), (std::vector<qint64>{17, 170, 171, 172}));
        QCOMPARE(like("0"), (std::vector<qint64>{0}));
        QCOMPARE(like("st"), (std::vector<qint64>{0, 1, 2, 3}));
        QCOMPARE(like("rank 1"), (std::vector<qint64>{}));
        QCOMPARE(like("999"), (std::vector<qint64>{}));
        QCOMPARE(like("99999999999999999999"), (std::vector<qint64>{}));
        QCOMPARE(numbersLike(QStringLiteral("第 1"), QStringLiteral("第 %1 步"), numbers, 1), (std::vector<qint64>{1}));
    }

    void aNameLeadsToItsNextSlice()
    {
        FindBench bench;
        QVERIFY(bench.ready());
        FindBox& box = bench.type(QStringLiteral("reducescatter"));
        QVERIFY2(box.current().has_value(), qPrintable(box.shown().join(u'\n')));
        QCOMPARE(box.current()->group, FindGroup::Names);
        const QString name = box.current()->value;
        bench.take();
        QVERIFY(!box.isVisible());
        QTRY_VERIFY(bench.document->selection()->slice().has_value());
        QCOMPARE(bench.window->currentViewId(), QStringLiteral("timeline"));
        const auto first = *bench.document->selection()->slice();
        QCOMPARE(QString::fromStdString(first.op->name), name);
        QCOMPARE(bench.timeline()->toolbar().filter().text, name); // the others are dimmed
        QVERIFY(bench.timeline()->canvas().range().contains(first.slice.start));
        // Once more: the next one.
        bench.type(QStringLiteral("reducescatter"));
        bench.take();
        QTRY_VERIFY(bench.document->selection()->slice()->slice.id != first.slice.id);
        QVERIFY(bench.document->selection()->slice()->slice.start >= first.slice.start);
    }

    void slicesAreThoseFromHereOn()
    {
        FindBench bench;
        QVERIFY(bench.ready());
        const Instant from{150'000'000};
        bench.document->selection()->setRange({from, from + Duration{10'000'000}});
        FindBox& box = bench.type(QStringLiteral("reducescatter"));
        QVERIFY(box.shown().size() > 2);
        const auto rows = box.findChild<QListWidget*>();
        // Down to the first slice.
        while (box.current() && box.current()->group != FindGroup::Slices)
            QTest::keyClick(box.findChild<QLineEdit*>(), Qt::Key_Down);
        QVERIFY(box.current() && rows->currentRow() > 1);
        const NamedSlice wanted = *box.current()->slice;
        QVERIFY(wanted.slice.end() >= from);
        bench.take();
        QCOMPARE(bench.document->selection()->slice()->slice.id, wanted.slice.id);
    }

    void placesAreGoneTo()
    {
        FindBench bench;
        QVERIFY(bench.ready());
        views::Selection& selection = *bench.document->selection();
        bench.type(QStringLiteral("step 2"));
        bench.take();
        QCOMPARE(selection.step(), std::optional(StepIndex{2}));
        QVERIFY(selection.range().begin > Instant{190'000'000});
        bench.type(QStringLiteral("rank 1"));
        bench.take();
        QCOMPARE(selection.rank(), RankId{1});
        bench.type(QStringLiteral("layer 3"));
        QCOMPARE(bench.box().current()->group, FindGroup::Layers);
        bench.take();
        QTRY_VERIFY(selection.slice().has_value());
        QCOMPARE(selection.slice()->op->layer, std::optional(LayerIndex{3}));
        bench.type(QStringLiteral("NCCL · rank 1"));
        QCOMPARE(bench.box().current()->group, FindGroup::Tracks);
        bench.take();
        bench.type(QStringLiteral("memory"));
        QCOMPARE(bench.box().current()->group, FindGroup::Views);
        bench.take();
        QCOMPARE(bench.window->currentViewId(), QStringLiteral("memory"));
        bench.type(QStringLiteral("allocations"));
        QCOMPARE(bench.box().current()->group, FindGroup::Tables);
        bench.take();
        QCOMPARE(bench.window->currentViewId(), QStringLiteral("tables"));
        const auto* tables = qobject_cast<views::TablesView*>(bench.document->currentView());
        QVERIFY(tables && tables->kind() == views::TableKind::Allocations);
    }

    void settingsCommandsAndFilesAreFound()
    {
        FindBench bench;
        QVERIFY(bench.ready());
        bench.type(QStringLiteral("light and dark"));
        QCOMPARE(bench.box().current()->group, FindGroup::Settings);
        const bool dark = views::currentTheme().dark;
        bench.take();
        QVERIFY(views::currentTheme().dark != dark);
        bench.type(QStringLiteral("open folder")); // the name in the source language
        QCOMPARE(bench.box().current()->value, QStringLiteral("file.open_folder"));
        // A file that is open in another tab.
        const TraceDocument* other = bench.window->openFile(QStringLiteral("/runs/lately.fourwalls"));
        QTRY_VERIFY(other->isOpen());
        bench.window->openFile(bench.document->path());
        QCOMPARE(bench.window->currentDocument(), bench.document);
        bench.type(QStringLiteral("lately"));
        QCOMPARE(bench.box().current()->group, FindGroup::Files);
        bench.take();
        QTRY_COMPARE(bench.window->currentDocument(), other);
    }

    void enterWaitsForTheNames()
    {
        FindBench bench;
        QVERIFY(bench.ready());
        FindBox& box = bench.box();
        box.findChild<QLineEdit*>()->setText(QStringLiteral("reducescatter"));
        bench.take(); // before any answer came
        QTRY_VERIFY(bench.document->selection()->slice().has_value());
        QVERIFY(QString::fromStdString(bench.document->selection()->slice()->op->name)
                    .contains(QStringLiteral("ReduceScatter")));
        QVERIFY(!box.isVisible());
    }

    void nothingIsFoundWithoutHarm()
    {
        FindBench bench;
        QVERIFY(bench.ready());
        FindBox& box = bench.type(QStringLiteral("zzzz no such thing \u0001 ("));
        QCOMPARE(box.shown().size(), 1); // to mark it on the timeline
        bench.take(Qt::Key_PageDown);
        QCOMPARE(bench.window->currentViewId(), QStringLiteral("timeline"));
        bench.type({});
        QVERIFY(box.shown().contains(QStringLiteral("Open a trace")));
        QTest::keyClick(box.findChild<QLineEdit*>(), Qt::Key_Escape);
        QVERIFY(!box.isVisible());
    }

    void moreIsShownOnDemand()
    {
        FindBench bench;
        QVERIFY(bench.ready());
        FindBox& box = bench.type(QStringLiteral("e"));
        auto* list = box.findChild<QListWidget*>();
        int more = -1;
        for (int row = 0; row < list->count(); ++row)
            if (more < 0 && list->item(row)->text().endsWith(QStringLiteral("more"))) more = row;
        QVERIFY(more > 0);
        const int before = list->count();
        emit list->itemClicked(list->item(more));
        QVERIFY(box.isVisible());
        QVERIFY(list->count() > before);
        QCOMPARE(list->currentRow(), more);
        // The heading of a group is nothing to go to.
        QSignalSpy chosen(&box, &FindBox::chosen);
        emit list->itemClicked(list->item(0));
        QVERIFY(!box.current());
        QCOMPARE(chosen.size(), 0);
        QVERIFY(box.isVisible());
    }

    void itSpeaksTheLanguage()
    {
        FindBench bench;
        QVERIFY(bench.ready());
        const QString hint = bench.box().findChild<QLineEdit*>()->placeholderText();
        bench.box().hide();
        applyLanguage(QStringLiteral("zh_CN"));
        QCoreApplication::sendPostedEvents();
        FindBox& box = bench.type({});
        QVERIFY(box.findChild<QLineEdit*>()->placeholderText() != hint);
        for (const QString& name : box.shown()) // neither the letter to press nor its parentheses
            QVERIFY2(!name.contains(QLatin1Char('&')) && !name.contains(QStringLiteral("(O)")), qPrintable(name));
        bench.type(QStringLiteral("file open"));
        QVERIFY(box.current() && box.current()->group == FindGroup::Commands);
        box.hide();
        applyLanguage(QStringLiteral("en"));
    }
};

FOURWALLS_TEST(TestFindBox, QApplication)

} // namespace tst_find_box

#include "tst_find_box.moc"
