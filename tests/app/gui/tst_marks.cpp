// SPDX-License-Identifier: GPL-3.0-or-later
// Marks 0 to 9: a key keeps what is seen, another one comes back to it, in whichever view it was; they are kept beside
// the trace with the bookmarks.
#include "app/gui/appearance.h"
#include "app/gui/main_window.h"
#include "app/gui/trace_document.h"
#include "app/gui/trace_notes.h"
#include "tests/views/fail_on_warning.h"
#include "tests/views/painted_texts.h"
#include "views/timeline/timeline_view.h"
#ifndef Q_MOC_RUN
#include "model/store/trace_file.h"
#include "tests/support/test_program.h"
#endif

#include <QFile>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QtTest/QtTest>

namespace tst_marks {

using namespace fourwalls;
using namespace fourwalls::gui;

class TestMarks : public QObject {
    Q_OBJECT
private:
    QTemporaryDir m_folder;
    QString m_trace;
    std::unique_ptr<tests::FailOnWarning> m_warnings;

    static QList<int> numbersOf(const TraceNotes& notes)
    {
        QList<int> numbers;
        for (const TraceNote& note : notes.notes()) numbers << note.number.value_or(-1);
        return numbers;
    }

private slots:
    void initTestCase()
    {
        QStandardPaths::setTestModeEnabled(true);
        QFile packed(QStringLiteral(FOURWALLS_SOURCE_DIR "/resources/demos/pipe_1f1b.fourwalls.z"));
        QVERIFY(packed.open(QIODevice::ReadOnly));
        m_trace = m_folder.filePath(QStringLiteral("run.fourwalls"));
        QFile file(m_trace);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(qUncompress(packed.readAll()));
    }
    void init()
    {
        m_warnings = std::make_unique<tests::FailOnWarning>();
        applyLanguage(QStringLiteral("en"));
    }
    void cleanup() { QCOMPARE(tests::FailOnWarning::take(), QString()); }

    void aKeyKeepsAPlaceAndAnotherComesBack()
    {
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window([](const QString& path) { return store::openTrace(path.toStdString()); }, settings);
        window.resize(1300, 800);
        window.show();
        window.activateWindow();
        TraceDocument* document = window.openFile(m_trace);
        QTRY_VERIFY(document->isOpen() && document->notes()->isLoaded());
        const auto press = [&](int digit, Qt::KeyboardModifiers modifiers) {
            QTest::keyClick(&window, Qt::Key(Qt::Key_0 + digit), modifiers);
        };
        const Qt::KeyboardModifiers set = Qt::ControlModifier | Qt::ShiftModifier, go = Qt::AltModifier;
        views::Selection& selection = *document->selection();
        const TimeRange whole = selection.whole();
        const auto part = [&](int of100, int to100) {
            return TimeRange{whole.begin + Duration{whole.length().ns / 100 * of100},
                             whole.begin + Duration{whole.length().ns / 100 * to100}};
        };
        window.showView(QStringLiteral("timeline"));
        selection.setRank(RankId{1});
        selection.setRange(part(10, 20));
        press(3, set);
        window.showView(QStringLiteral("memory"));
        selection.setRank(RankId{0});
        selection.setRange(part(40, 60));
        press(0, set);
        QCOMPARE(numbersOf(*document->notes()), QList<int>({3, 0}));
        selection.setRange(whole);
        window.showView(QStringLiteral("steps"));
        press(3, go);
        QCOMPARE(window.currentViewId(), QStringLiteral("timeline"));
        QCOMPARE(selection.range(), part(10, 20));
        QCOMPARE(selection.rank(), RankId{1});
        press(0, go);
        QCOMPARE(window.currentViewId(), QStringLiteral("memory"));
        QCOMPARE(selection.range(), part(40, 60));
        QCOMPARE(selection.rank(), RankId{0});
        press(7, go); // was never set: nothing moves
        QCOMPARE(selection.range(), part(40, 60));
        // Set again it is elsewhere, and there is still one of the number.
        window.showView(QStringLiteral("timeline"));
        selection.setRange(part(70, 80));
        press(3, set);
        QCOMPARE(numbersOf(*document->notes()), QList<int>({3, 0}));
        selection.setRange(whole);
        press(3, go);
        QCOMPARE(selection.range(), part(70, 80));
        QTRY_VERIFY(document->isSettled());
        // The digit stands in its flag on the axis.
        QStringList painted;
        for (const tests::PaintedText& each : tests::paintedTexts(window))
            if (each.widget == &qobject_cast<views::TimelineView*>(document->currentView())->canvas())
                painted << each.text;
        QVERIFY2(painted.contains(QStringLiteral("3")), qPrintable(painted.join(QLatin1Char('|'))));
        QTRY_VERIFY(document->notes()->isSettled());
    }

    void theyAreKeptWithTheOthers()
    {
        // Another opening of the same trace has both, the later place of the one that was set twice.
        TraceNotes notes(m_trace);
        QTRY_VERIFY(notes.isSettled());
        QCOMPARE(numbersOf(notes), QList<int>({3, 0}));
        QVERIFY(notes.mark(3) && notes.mark(0) && !notes.mark(7));
        QCOMPARE(notes.mark(3)->view, QStringLiteral("timeline"));
        QCOMPARE(notes.mark(0)->view, QStringLiteral("memory"));
        // Set before the file is read: takes the place of the one in it.
        TraceNotes again(m_trace);
        TraceNote early = *notes.mark(0);
        early.text = QStringLiteral("early");
        again.setMark(early);
        QTRY_VERIFY(again.isSettled());
        QCOMPARE(numbersOf(again), QList<int>({3, 0}));
        QCOMPARE(again.mark(0)->text, QStringLiteral("early"));
    }

    void aStrangersNumbersAreChecked()
    {
        QByteArray json = "{\"format\":1,\"notes\":[";
        for (const char* number : {"4", "4", "10", "-1", "\"5\"", "9"})
            json += QByteArray("{\"text\":\"t\",\"from_ns\":\"1\",\"to_ns\":\"2\",\"number\":") + number + "},";
        json.chop(1);
        const auto notes = notesFromJson(json + "]}", QStringLiteral("notes"));
        QVERIFY(notes.ok());
        QList<int> numbers;
        for (const TraceNote& note : *notes) numbers << note.number.value_or(-1);
        QCOMPARE(numbers, QList<int>({4, -1, -1, -1, -1, 9}));
        QVERIFY(*notesFromJson(notesToJson(*notes), QStringLiteral("notes")) == *notes);
    }
};

FOURWALLS_TEST(TestMarks, QApplication)

} // namespace tst_marks

#include "tst_marks.moc"
