// SPDX-License-Identifier: GPL-3.0-or-later
// The tour, page by page in the real window: the key figures of a caption (listed by page below) stand on the page
// that it speaks of, every page asks one question, and the memory wall is hit.
#include <QtTest/QtTest>

#include "app/gui/demo_library.h"
#include "app/gui/demo_player.h"
#include "app/gui/figure_outline.h"
#include "app/gui/main_window.h"
#include "app/gui/trace_document.h"
#include "tests/app/gui/openers.h"
#include "tests/app/gui/window_start.h"
#include "tests/support/test_program.h"
#include "views/base/view.h"
#include "views/plot/plot_card.h"
#include "views/whatif/prediction.h"
#include "views/whatif/what_if.h"

#include <QComboBox>
#include <QFile>
#include <QHash>
#include <QLabel>
#include <QStandardPaths>

namespace tst_tour {

using namespace fourwalls;
using namespace fourwalls::gui;
using tests::fileOpener;

namespace {

/// What a view says: its figures, labels and choices, and what it would tell somebody who cannot see its pictures.
QString wordsOn(const views::View& view)
{
    QStringList words;
    for (const QWidget* widget : view.findChildren<QWidget*>()) {
        if (!widget->isVisible()) continue;
        words << widget->accessibleName() << widget->accessibleDescription();
        if (const auto* label = qobject_cast<const QLabel*>(widget)) words << label->text();
        if (const auto* text = qobject_cast<const views::ElidedText*>(widget)) words << text->text();
        if (const auto* box = qobject_cast<const QComboBox*>(widget)) words << box->currentText();
        if (const auto* strip = qobject_cast<const views::FigureStrip*>(widget))
            for (const views::PlotFigure& figure : strip->figures()) words << figure.value << figure.note;
    }
    words.removeAll(QString());
    return words.join(QLatin1Char('\n'));
}

} // namespace

class TestTour : public QObject, private tests::WindowStart {
    Q_OBJECT

private slots:
    void initTestCase() { QStandardPaths::setTestModeEnabled(true); }
    void init() { beginInEnglish(); }
    void cleanup() { failOnWarnings(); }

    void theTourSaysWhatTheScreenShows()
    {
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window(fileOpener(), settings);
        window.resize(1600, 900);
        window.show();
        DemoPlayer& player = *window.demoPlayer();
        window.startDemo(QStringLiteral("tour"));
        QTRY_VERIFY_WITH_TIMEOUT(player.isPlaying(), 20'000);
        // What the caption says and the page has to show, word by word.
        const QHash<QString, QStringList> shown{
            {QStringLiteral("timeline"), {QStringLiteral("{step_time}")}},
            {QStringLiteral("memory"), {QStringLiteral("{peak}"), QStringLiteral("{capacity}")}},
            {QStringLiteral("communication"), {QStringLiteral("{comm.all.wire}"), QStringLiteral("{exposed_comm}")}},
            {QStringLiteral("performance"), {QStringLiteral("{mfu}")}},
            {QStringLiteral("pipeline"), {QStringLiteral("{bubble}")}},
            {QStringLiteral("overview"),
             {QStringLiteral("{waterfall.achieved}"), QStringLiteral("{waterfall.bubble}")}}};
        const auto count = player.demo()->demo.steps.size();
        for (int i = 0; i < count; ++i) {
            QTRY_COMPARE_WITH_TIMEOUT(player.step(), i, 5'000);
            QTRY_VERIFY_WITH_TIMEOUT(player.isSettled(), 10'000);
            const views::DemoStep& step = player.demo()->demo.steps[i];
            if (!step.own) {
                QVERIFY2(!step.question.empty() && !step.answer.empty(), qPrintable(step.view));
                TraceDocument* document = window.currentDocument();
                QTRY_VERIFY_WITH_TIMEOUT(document->currentView()->showsFinalData(), 20'000);
                if (step.plan) QTRY_VERIFY_WITH_TIMEOUT(document->whatIf()->prediction() != nullptr, 10'000);
                const QString screen = wordsOn(*document->currentView());
                for (const QString& expression : shown.value(step.view)) {
                    const QString figure =
                        views::fillIn(expression, player.demo()->sources[i], views::ByteUnit::GB, nullptr);
                    QVERIFY2(screen.contains(figure),
                             qPrintable(step.view + QStringLiteral(" lacks ") + expression + QLatin1Char(' ') + figure +
                                        QStringLiteral(":\n") + screen));
                }
                // What the caption quotes has a frame where it stands.
                const FigureOutline* frames = player.outlined();
                QVERIFY(frames);
                if (shown.contains(step.view) && step.view != QLatin1String("timeline")) {
                    QTRY_VERIFY2(!frames->places().isEmpty(), qPrintable(step.view));
                    for (const QRect& place : frames->places())
                        QVERIFY(document->currentView()->rect().contains(place.center()));
                }
                // The walls are really hit.
                if (step.view == QLatin1String("memory")) {
                    QVERIFY(!document->whatIf()->prediction()->step.feasible);
                    QVERIFY(document->whatIf()->isActive());
                }
            }
            QTest::keyClick(&window, Qt::Key_Right, Qt::AltModifier);
        }
        QTRY_VERIFY(!player.isPlaying());
        QVERIFY(!player.outlined());
    }
};

FOURWALLS_TEST(TestTour, QApplication)

} // namespace tst_tour

#include "tst_tour.moc"
