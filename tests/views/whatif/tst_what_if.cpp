// SPDX-License-Identifier: GPL-3.0-or-later
// The What-if sliders in their dock: dragged, typed and undone; predictions, and the figures beside them.
#include <QtTest/QtTest>

#include "tests/views/fail_on_warning.h"
#include "tests/views/layout_problems.h"
#include "views/whatif/documents_box.h"
#include "views/whatif/knob_row.h"
#include "views/whatif/prediction_card.h"
#include "views/whatif/what_if.h"
#include "views/whatif/what_if_panel.h"
#ifndef Q_MOC_RUN // moc cannot read the standard library's headers of threads
#include "tests/support/test_program.h"
#include "tests/views/whatif/predicted_sample.h"
#endif

#include <QLineEdit>
#include <QToolButton>
#include <QUndoStack>

#include <algorithm>
#include <memory>
#include <vector>

namespace tst_what_if {

using namespace fourwalls;
using namespace fourwalls::views;

class TestWhatIf : public QObject {
    Q_OBJECT
private:
    std::unique_ptr<tests::FailOnWarning> m_warnings;

    /// A panel on a predicted trace, opened as the application does it.
    struct Probe {
        explicit Probe(const RunSpec& spec) : session(sample::opener(spec), QStringLiteral("sample"))
        {
            panel.resize(360, 900);
            panel.show();
            if (!QTest::qWaitFor([this] { return session.isOpen(); })) return;
            whatIf.setTrace(session.info());
            panel.setDocument(&session, &whatIf);
            whatIf.setActive(true);
        }
        bool settled()
        {
            return QTest::qWaitFor([this] { return !whatIf.isPredicting() && session.pending() == 0; }, 10'000);
        }
        /// Drags the handle of a slider over all its stops to the last one.
        void dragToEnd(Knob knob)
        {
            KnobSlider& slider = panel.row(knob).slider();
            const QPoint middle(slider.width() / 2, slider.height() / 2);
            QTest::mousePress(&slider, Qt::LeftButton, {}, {2, middle.y()});
            for (int x = 2; x < slider.width(); x += 4) {
                QMouseEvent move(QEvent::MouseMove, QPointF(x, middle.y()), slider.mapToGlobal(QPointF(x, middle.y())),
                                 Qt::NoButton, Qt::LeftButton, {});
                QCoreApplication::sendEvent(&slider, &move);
            }
            QTest::mouseRelease(&slider, Qt::LeftButton, {}, {slider.width() - 1, middle.y()});
        }

        TraceSession session;
        WhatIf whatIf;
        WhatIfPanel panel;
    };

private slots:
    void documentsAreChosenOrTyped()
    {
        Probe probe(sample::smallSpec());
        QVERIFY(probe.settled());
        auto& box = *probe.panel.findChild<DocumentsBox*>();
        const int whole = static_cast<int>(probe.whatIf.spec()->training.sequence);
        QCOMPARE(box.itemText(1).toInt(), whole / 2);
        const auto type = [&box](const char* text) {
            box.lineEdit()->selectAll();
            QTest::keyClicks(box.lineEdit(), QString::fromLatin1(text));
            QTest::keyClick(box.lineEdit(), Qt::Key_Return);
        };
        type("3x16, 64");
        QVERIFY((probe.whatIf.spec()->plan.documents == std::vector<DocumentLength>{{3, 16}, {1, 64}}));
        QCOMPARE(box.currentText(), QStringLiteral("3x16,64"));
        QVERIFY(probe.settled());
        QCOMPARE(probe.whatIf.history()->count(), 1);
        type("16 or so"); // says no lengths: the plan stays, and is shown again
        QCOMPARE(box.currentText(), QStringLiteral("3x16,64"));
        QCOMPARE(probe.whatIf.history()->count(), 1);
        probe.whatIf.history()->undo();
        QVERIFY(probe.whatIf.spec()->plan.documents.empty());
        QCOMPARE(box.currentText(), box.itemText(0));
    }

    void init() { m_warnings = std::make_unique<tests::FailOnWarning>(); }
    void cleanup() { QCOMPARE(tests::FailOnWarning::take(), QString()); }

    void aDragIsOneEntryOfTheHistory()
    {
        Probe probe(sample::smallSpec());
        QVERIFY(probe.settled());
        QSignalSpy specs(&probe.whatIf, &WhatIf::specChanged);
        probe.dragToEnd(Knob::Pipeline);
        QVERIFY(specs.count() > 1);
        QCOMPARE(probe.whatIf.history()->count(), 1);
        QCOMPARE(probe.whatIf.spec()->plan.pp, 8);
        QCOMPARE(probe.whatIf.spec()->plan.worldSize(), 8);
        probe.whatIf.history()->undo();
        QVERIFY(probe.whatIf.isAsRecorded());
        QCOMPARE(probe.panel.row(Knob::Pipeline).valueText(), QStringLiteral("2"));
        probe.whatIf.history()->redo();
        QCOMPARE(probe.whatIf.spec()->plan.pp, 8);
        probe.panel.resetToRecorded();
        QVERIFY(probe.whatIf.isAsRecorded());
        QCOMPARE(probe.whatIf.history()->count(), 2);
    }

    void aValueCanBeTyped()
    {
        Probe probe(sample::smallSpec());
        KnobRow& stages = probe.panel.row(Knob::Pipeline);
        stages.slider().setFocus();
        QTest::keyClick(&stages.slider(), Qt::Key_8);
        QCOMPARE(stages.value().text(), QStringLiteral("8"));
        QTest::keyClick(&stages.value(), Qt::Key_Return);
        QCOMPARE(probe.whatIf.spec()->plan.pp, 8);
        QCOMPARE(probe.whatIf.history()->count(), 1);
        QCOMPARE(stages.value().text(), QStringLiteral("8"));
        // What does not fit becomes the nearest that does; what is no number, or given up, changes nothing.
        stages.value().startTyping(QStringLiteral("3"));
        QTest::keyClick(&stages.value(), Qt::Key_Return);
        QVERIFY(probe.whatIf.spec()->plan.pp == 2 || probe.whatIf.spec()->plan.pp == 4);
        const int stayed = probe.whatIf.spec()->plan.pp, entries = probe.whatIf.history()->count();
        for (const char* text : {"four", "", "1e400", "-1x"}) {
            stages.value().startTyping(QString());
            stages.value().setText(QString::fromLatin1(text));
            QTest::keyClick(&stages.value(), Qt::Key_Return);
        }
        stages.value().startTyping(QStringLiteral("1"));
        QTest::keyClick(&stages.value(), Qt::Key_Escape);
        QCOMPARE(probe.whatIf.spec()->plan.pp, stayed);
        QCOMPARE(probe.whatIf.history()->count(), entries);
        // Links are typed as they read.
        KnobRow& link = probe.panel.row(Knob::NodeLink);
        link.value().startTyping(QStringLiteral("600 GB/s"));
        QTest::keyClick(&link.value(), Qt::Key_Return);
        QCOMPARE(probe.whatIf.spec()->cluster.nodeLink.bytesPerSecond, 6e11);
        link.value().startTyping(QStringLiteral("123"));
        QTest::keyClick(&link.value(), Qt::Key_Return);
        QCOMPARE(probe.whatIf.spec()->cluster.nodeLink.bytesPerSecond, 1.23e11);
        QVERIFY(!link.value().accessibleName().isEmpty());
    }

    void machinesOfAFileComeWithTheirRates()
    {
        Probe probe(sample::smallSpec());
        QVERIFY(probe.settled());
        ClusterSpec machine = *loadCluster("dgx-h100");
        machine.name = "our cluster";
        auto slow = std::make_shared<Calibration>(*loadCalibration("published"));
        for (auto& [name, family] : slow->families)
            for (auto& [precision, fraction] : family.gemmCeiling) fraction /= 2;
        probe.whatIf.addMachine(machine, slow);
        QVERIFY(probe.settled());
        // The same devices: what was measured on them holds for the recorded cluster, too.
        QCOMPARE(probe.whatIf.calibration().get(), slow.get());
        const double calibrated = probe.whatIf.step()->seconds;
        QVERIFY(calibrated > cost::predictStep(sample::smallSpec())->seconds);
        probe.panel.chooseMachines(QStringLiteral("our cluster"));
        QCOMPARE(probe.whatIf.spec()->cluster.name, std::string("our cluster"));
        QVERIFY(probe.settled());
        QCOMPARE(probe.whatIf.calibrationOf(*probe.whatIf.spec()).get(), slow.get());
        probe.whatIf.history()->undo();
        QCOMPARE(probe.whatIf.spec()->cluster.name, std::string("dgx-h100"));
        RunSpec elsewhere = sample::smallSpec();
        elsewhere.cluster = *loadCluster("v100-pcie");
        QVERIFY(!probe.whatIf.calibrationOf(elsewhere));
    }

    void aKeyHeldDownIsOneEntry()
    {
        Probe probe(sample::smallSpec());
        KnobSlider& slider = probe.panel.row(Knob::Zero).slider();
        slider.setFocus();
        QTest::keyPress(&slider, Qt::Key_Right);
        QKeyEvent again(QEvent::KeyPress, Qt::Key_Right, {}, {}, true);
        QCoreApplication::sendEvent(&slider, &again);
        QTest::keyRelease(&slider, Qt::Key_Right);
        QCOMPARE(probe.whatIf.spec()->plan.zero, 2);
        QCOMPARE(probe.whatIf.history()->count(), 1);
    }

    void predictionEqualsTheModel()
    {
        const RunSpec spec = sample::smallSpec();
        Probe probe(spec);
        QVERIFY(probe.settled());
        QVERIFY(probe.whatIf.baseline() && probe.whatIf.prediction());
        const auto direct = cost::predictStep(spec);
        QCOMPARE(probe.whatIf.baseline()->step.seconds, direct->seconds);
        QCOMPARE(probe.whatIf.prediction()->metrics.stepTime, probe.whatIf.baseline()->metrics.stepTime);
        RunSpec other = spec;
        other.plan.zero = 1;
        probe.whatIf.propose(other);
        QVERIFY(probe.settled());
        QCOMPARE(probe.whatIf.prediction()->step.seconds, cost::predictStep(other)->seconds);
        QVERIFY(probe.whatIf.prediction() != probe.whatIf.baseline());
        QCOMPARE(probe.panel.card().table().rows().front().predicted,
                 formatDuration(Duration::fromSeconds(probe.whatIf.step()->seconds), 3));
    }

    void anotherBatchIsShown()
    {
        Probe probe(sample::smallSpec());
        QVERIFY(probe.settled());
        const QString same = probe.panel.card().table().rows().front().name;
        RunSpec other = sample::smallSpec();
        other.training.batch = 64;
        probe.whatIf.propose(other);
        QVERIFY(probe.settled());
        const FigureTable::Row row = probe.panel.card().table().rows().front();
        QVERIFY(row.name != same);
        QCOMPARE(row.recorded, QString::number(sample::smallSpec().training.batch));
        QCOMPARE(row.predicted, QStringLiteral("64"));
    }

    void whatDoesNotFitSaysWhy()
    {
        Probe probe(sample::smallSpec());
        RunSpec large = sample::smallSpec("dp=1", 64);
        large.model = *loadModel("gpt3-175b");
        probe.whatIf.propose(large);
        QVERIFY(probe.settled());
        QVERIFY(probe.whatIf.prediction());
        QVERIFY(!probe.whatIf.prediction()->step.feasible);
        QVERIFY2(probe.panel.card().verdict().contains(QStringLiteral("Does not fit")),
                 qPrintable(probe.panel.card().verdict()));
        RunSpec impossible = sample::smallSpec();
        impossible.plan.tp = 3;
        probe.whatIf.propose(impossible);
        QVERIFY(probe.settled());
        QVERIFY(!probe.whatIf.prediction());
        QVERIFY2(probe.panel.card().verdict().contains(QStringLiteral("heads")),
                 qPrintable(probe.panel.card().verdict()));
        probe.whatIf.history()->undo();
        probe.whatIf.history()->undo();
        QVERIFY(probe.settled());
        QVERIFY(probe.whatIf.prediction() && probe.whatIf.prediction()->step.feasible);
    }

    void switchesAndPresetsAreEntries()
    {
        Probe probe(sample::smallSpec());
        int entries = 0;
        for (QToolButton* button : probe.panel.findChildren<QToolButton*>()) {
            if (!button->isCheckable() || !button->isEnabled() || !button->isVisible() ||
                button->objectName() == QLatin1String("lock"))
                continue;
            QTest::mouseClick(button, Qt::LeftButton);
            QCOMPARE(probe.whatIf.history()->count(), ++entries);
        }
        QVERIFY(entries >= 5);
        while (probe.whatIf.history()->canUndo()) probe.whatIf.history()->undo();
        QVERIFY(probe.whatIf.isAsRecorded());
    }

    void aLockButtonKeepsItsSlider()
    {
        Probe probe(sample::smallSpec());
        QVERIFY(probe.panel.locks().holds(Knob::Devices));
        QTest::mouseClick(probe.panel.row(Knob::Data).lock(), Qt::LeftButton);
        QVERIFY(probe.panel.locks().holds(Knob::Data));
        probe.dragToEnd(Knob::Pipeline);
        QCOMPARE(probe.whatIf.spec()->plan.dp, 2);
        QCOMPARE(probe.whatIf.spec()->plan.worldSize(), 8);
    }

    void everyControlSpeaks()
    {
        Probe probe(sample::smallSpec());
        for (const QWidget* widget : probe.panel.findChildren<QWidget*>()) {
            if (widget->focusPolicy() == Qt::NoFocus || !widget->isVisible()) continue;
            const auto* button = qobject_cast<const QAbstractButton*>(widget);
            const bool speaks = !widget->accessibleName().isEmpty() || (button && !button->text().isEmpty());
            QVERIFY2(speaks, widget->metaObject()->className());
        }
    }

    void wideFiguresAreWhole()
    {
        FigureTable table;
        table.setHeadings(QStringLiteral("recorded"), QStringLiteral("predicted"));
        table.setRows({{QStringLiteral("Step time"), QStringLiteral("98.3 ms"), QStringLiteral("97 ms"), {}},
                       {QStringLiteral("Energy"), QStringLiteral("no figure at all"),
                        QStringLiteral("12.65 kilojoules"), QStringLiteral("how much it takes")}});
        table.resize(307, table.sizeHint().height()); // as in the dock
        table.show();
        QCOMPARE(tests::layoutProblems(table), QStringList());
        const QStringList said = textsOf(table);
        QVERIFY2(said.contains(QStringLiteral("12.65 kilojoules")), qPrintable(said.join(QLatin1Char('|'))));
    }

    void ratesOfLinksAreWholeBesideTheirSlider()
    {
        KnobRow row(KnobRow::Lock::None);
        row.setName(QStringLiteral("Link"), {});
        row.setFormat([](double value) { return formatRate(value, QStringLiteral("B/s")); });
        row.setStops({9.03e9, 450e9});
        row.showValue(9.03e9);
        row.resize(300, row.sizeHint().height());
        row.show();
        QVERIFY(textsOf(row).contains(row.valueText()));
        QCOMPARE(tests::cutTexts(row), QStringList());
    }

    void samplesFitBesideTheirName()
    {
        const RunSpec spec = withModel(sample::smallSpec("dp=2", 4096), *loadModel("resnet50"));
        QCOMPARE(spec.training.sequence, 0);
        Probe probe(spec);
        QVERIFY(probe.settled());
        FigureTable& table = *probe.panel.card().findChild<FigureTable*>();
        const auto row = std::find_if(table.rows().begin(), table.rows().end(), [](const FigureTable::Row& each) {
            return each.name.contains(QLatin1String("samples/s"));
        });
        QVERIFY(row != table.rows().end());
        // The batch by the time of the step.
        const double perSecond = 4096 / probe.whatIf.step()->seconds;
        QVERIFY(perSecond > 1000);
        QCOMPARE(row->predicted, formatRate(perSecond, {}).trimmed());
        QVERIFY(!row->predicted.contains(QLatin1String("samples")));
        QCOMPARE(tests::layoutProblems(table), QStringList());
        QVERIFY(textsOf(table).contains(row->name));
    }

    void figuresAreSpokenUnderTheirHeadings()
    {
        FigureTable table;
        const std::vector<FigureTable::Row> rows{
            {QStringLiteral("step"), QStringLiteral("1 s"), QStringLiteral("2 s"), {}}};
        table.setHeadings(QStringLiteral("recorded"), QStringLiteral("predicted"));
        table.setRows(rows);
        QCOMPARE(table.accessibleName(), QStringLiteral("step: recorded 1 s, predicted 2 s"));
        table.setHeadings(QStringLiteral("imported"), QStringLiteral("predicted"));
        table.setRows(rows);
        QCOMPARE(table.accessibleName(), QStringLiteral("step: imported 1 s, predicted 2 s"));
    }

private:
    static QStringList textsOf(QWidget& window)
    {
        QStringList said;
        for (const tests::PaintedText& each : tests::paintedTexts(window)) said << each.text;
        return said;
    }
};

FOURWALLS_TEST(TestWhatIf, QApplication)

} // namespace tst_what_if

#include "tst_what_if.moc"
