// SPDX-License-Identifier: GPL-3.0-or-later
// Two traces beside each other, offscreen: aligned, compared, and without the other one. Any Qt warning fails.
#include "tests/support/test_program.h"
#include "tests/views/memory/view_probe.h"
#include "tests/views/trace_probe.h"
#include "views/compare/compare_memory_plot.h"
#include "views/compare/compare_view.h"
#include "views/compare/operator_changes.h"
#include "views/plot/plot_card.h"
#include "views/plot/plot_table.h"
#include "views/timeline/bar_painter.h"
#include "views/timeline/timeline_canvas.h"
#include "views/words/format.h"

#include <QAbstractItemModelTester>
#include <QHeaderView>
#include <QSignalSpy>
#include <QTableView>

#include <cmath>
#include <memory>

namespace tst_compare_view {

using namespace fourwalls;
using namespace fourwalls::sample;
using namespace fourwalls::views;

class CompareViewTest : public QObject {
    Q_OBJECT

    /// A step of `layers` operators per phase, each of `time`.
    static sample::TrainingShape shaped(Duration time)
    {
        sample::TrainingShape shape;
        shape.layers = 4;
        shape.operatorTime = time;
        return shape;
    }

    static std::unique_ptr<TraceSession> opened(const sample::TrainingShape& shape)
    {
        auto session = std::make_unique<TraceSession>([shape](const QString&) { return sample::open(shape); },
                                                      QStringLiteral("b"));
        return QTest::qWaitFor([&] { return session->isOpen(); }) ? std::move(session) : nullptr;
    }

    /// The trace is open and everything of it is there.
    static bool shown(ViewProbe<CompareView>& probe)
    {
        return QTest::qWaitFor([&] { return probe.view->session() != nullptr; }) && probe.ready();
    }

    /// As an allocator's snapshot is imported: one buffer; with or without a range that the program named.
    static Result<std::unique_ptr<TraceQuery>> snapshot(const char* maker, std::int64_t bytes, bool hasRange)
    {
        TraceHeader header;
        header.source = TraceSource::Imported;
        header.producer = "PyTorch memory snapshot";
        header.ranks.push_back({RankId{0}, "device", "host", 0, 0, 1});
        InMemoryTrace trace(header);
        OpInfo op;
        op.name = maker;
        op.kind = SliceKind::Operator;
        const OpId id = trace.defineOp(op);
        {
            const auto producer = trace.openProducer();
            AllocationRecord record;
            record.id = AllocationId{1};
            record.bytes = bytes;
            record.op = id;
            producer->allocated(RankId{0}, record);
            producer->freed(RankId{0}, record.id, Instant{bytes});
            op.name = "early.py:9 load";
            producer->allocated(RankId{0}, {AllocationId{2}, Instant{0}, 64, 0, {}, trace.defineOp(op), {}});
            producer->freed(RankId{0}, AllocationId{2}, Instant{bytes / 2});
            if (hasRange) {
                const TrackId track = trace.defineTrack({RankId{0}, TrackKind::Operators, "annotations", 0});
                producer->slice({track, id, Instant{10}, Duration{100'000}, {}, {}});
            }
        }
        FOURWALLS_TRY(trace.finish({}));
        return std::unique_ptr<TraceQuery>(std::make_unique<InMemoryTraceQuery>(trace.data()));
    }

    /// namesMayBeCut: what stretches holds names of any length.
    static void wordsAreWhole(const QTableView& table, bool namesMayBeCut)
    {
        const QAbstractItemView& cells = table; // says publicly what cells take
        for (int column = 0; column < table.model()->columnCount(); ++column) {
            if (table.isColumnHidden(column)) continue;
            const bool stretched =
                namesMayBeCut && table.horizontalHeader()->sectionResizeMode(column) == QHeaderView::Stretch;
            QVERIFY2(stretched || table.columnWidth(column) >= cells.sizeHintForColumn(column),
                     qPrintable(QStringLiteral("%1, column %2: %3 of %4 pixels")
                                    .arg(table.accessibleName())
                                    .arg(column)
                                    .arg(table.columnWidth(column))
                                    .arg(cells.sizeHintForColumn(column))));
        }
    }

private slots:
    void init() { failOnQtWarnings(); }

    void withoutASecondTraceItSaysWhatToDo()
    {
        ViewProbe<CompareView> probe(shaped(Duration{1'000'000}));
        QVERIFY(shown(probe));
        QVERIFY(probe.view->emptyReason().contains(QStringLiteral("second trace")));
        QVERIFY(probe.view->tableAsCsv().isEmpty());
        QSignalSpy asked(probe.view.get(), &CompareView::partnerRequested);
        for (QAction* action : probe.view->viewActions())
            if (action->objectName() == QLatin1String("compare.choose")) action->trigger();
        QCOMPARE(asked.size(), 1);
    }

    void alignsAndCompares()
    {
        ViewProbe<CompareView> probe(shaped(Duration{1'000'000}));
        const auto other = opened(shaped(Duration{1'500'000}));
        QVERIFY(other);
        probe.view->setPartner(other.get(), QStringLiteral("slower"));
        QVERIFY(shown(probe));
        QTRY_VERIFY(other->pending() == 0);
        QVERIFY(probe.view->emptyReason().isEmpty());
        const SharedComparison& comparison = probe.view->comparison();
        QVERIFY(comparison);
        const auto& figures = comparison->figures;
        const auto time = std::find_if(figures.begin(), figures.end(),
                                       [](const auto& figure) { return figure.info == &infoOf(Figure::StepTime); });
        QVERIFY(time != figures.end() && time->percent());
        QVERIFY2(std::fabs(*time->percent() - 50) < 1, qPrintable(QString::number(*time->percent())));

        // The same instant of a step stands at the same place: ranges of equal length, moved by the steps' distance.
        const TimeRange a = probe.view->canvas(0).range(), b = probe.view->canvas(1).range();
        QCOMPARE(a.length().ns, b.length().ns);
        probe.selection.setRange({a.begin, a.begin + Duration{a.length().ns / 2}});
        QVERIFY(shown(probe));
        QCOMPARE(probe.view->canvas(1).range().length().ns, a.length().ns / 2);
        QCOMPARE(probe.view->canvas(1).range().begin.ns - probe.view->canvas(0).range().begin.ns,
                 b.begin.ns - a.begin.ns);

        QVERIFY(probe.view->layers().rowCount() > 0);
        QVERIFY(!probe.view->layers().sentence().isEmpty());
        QAbstractItemModelTester figuresTester(&probe.view->figures(),
                                               QAbstractItemModelTester::FailureReportingMode::QtTest);
        QAbstractItemModelTester layersTester(&probe.view->layers(),
                                              QAbstractItemModelTester::FailureReportingMode::QtTest);
        QVERIFY(probe.view->tableAsCsv().contains(QStringLiteral("step_time_ms")));

        // The largest change comes first.
        const auto changeAt = [&](int row) {
            return std::fabs(
                probe.view->layers().index(row, CompareLayerModel::Difference).data(Qt::UserRole + 1).toDouble());
        };
        for (int row = 1; row < probe.view->layers().rowCount(); ++row)
            QVERIFY(changeAt(row - 1) >= changeAt(row) - 1e-12);
    }

    void wordsAreWholeInASmallWindow()
    {
        ViewProbe<CompareView> probe(shaped(Duration{1'000'000}));
        const auto other = opened(shaped(Duration{1'500'000}));
        QVERIFY(other);
        probe.view->setPartner(other.get(), QStringLiteral("slower"));
        probe.view->resize(1172, 650); // what a window of 1280 x 720 leaves
        QVERIFY(shown(probe));
        QTRY_VERIFY(other->pending() == 0);
        QVERIFY(shown(probe));
        using Table = CompareView::Table;
        for (const Table shownTable : {Table::Layers, Table::Operators, Table::Makers}) {
            probe.view->showTable(shownTable);
            QVERIFY(shown(probe));
            auto tables = probe.view->findChildren<QTableView*>();
            tables.removeIf([](const QTableView* table) { return !table->isVisible(); });
            QCOMPARE(tables.size(), 2);
            for (const QTableView* table : tables)
                wordsAreWhole(*table, shownTable != Table::Layers &&
                                          !table->accessibleName().startsWith(QStringLiteral("Figures")));
        }
    }

    /// What is gone, what is new and what both have, with what it would gain.
    void findingsThatWentAndCame()
    {
        using diagnose::Cause;
        const auto finding = [](Cause cause, std::vector<RankId> ranks, std::optional<double> gain) {
            diagnose::Finding made;
            made.cause = cause;
            made.ranks = std::move(ranks);
            made.add(diagnose::EvidenceKind::Ratio, 1.5);
            if (gain) made.gain = diagnose::Gain{Duration{1}, *gain, diagnose::GainSource::Replay};
            return made;
        };
        auto both = std::make_shared<BothDiagnoses>();
        const std::vector<RankId> all{RankId{0}, RankId{1}};
        both->a.ranks = both->b.ranks = all;
        both->a.findings = {finding(Cause::HostBound, all, 0.4), finding(Cause::SlowRank, {RankId{1}}, 0.2)};
        both->b.findings = {finding(Cause::HostBound, all, 0.3), finding(Cause::SmallKernels, all, std::nullopt)};
        CompareFindingModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.setDiagnoses(both);
        QCOMPARE(model.rowCount(), 3);
        using Column = CompareFindingModel::Column;
        const auto text = [&model](int row, Column column) { return model.index(row, column).data().toString(); };
        QCOMPARE(model.sentence(), QStringLiteral("gone: 1 \u00b7 new: 1 \u00b7 still there: 1"));
        QCOMPARE(text(0, Column::Change), QStringLiteral("gone"));
        QCOMPARE(text(0, Column::Name), QStringLiteral("Rank 1 is slower than the others"));
        QCOMPARE(text(0, Column::B), QString(kDash));
        QCOMPARE(text(1, Column::Change), QStringLiteral("new"));
        QCOMPARE(text(1, Column::Difference), QString(kDash)); // not estimated
        QCOMPARE(text(2, Column::Change), QStringLiteral("still there"));
        const auto difference = model.index(2, Column::Difference).data(kExactRole).toDouble();
        QVERIFY(std::abs(difference + 0.1) < 1e-9);
        model.setDiagnoses(nullptr);
        QCOMPARE(model.rowCount(), 0);
        QVERIFY(model.sentence().isEmpty());
    }

    /// Traces without steps, one of them without any row: both are shown, and what differs is who holds memory.
    void snapshotsAreComparedByTheirBuffers()
    {
        ShownView<CompareView> probe([](const QString&) { return snapshot("model.py:1 forward", 1 << 20, true); },
                                     {1200, 760});
        const auto other = std::make_unique<TraceSession>(
            [](const QString&) { return snapshot("model.py:2 forward", 3 << 20, false); }, QStringLiteral("b"));
        QVERIFY(QTest::qWaitFor([&] { return other->isOpen(); }));
        probe.view->setPartner(other.get(), QStringLiteral("later"));
        QVERIFY(QTest::qWaitFor([&] { return probe.view->session() != nullptr; }) && probe.ready());
        const CompareMakerModel& makers = probe.view->makers();
        QCOMPARE(makers.rowCount(), 3);
        const auto exact = [&makers](int row, int column) { return makers.index(row, column).data(kExactRole); };
        QCOMPARE(exact(0, CompareMakerModel::Name).toString(), QStringLiteral("model.py:2 forward"));
        QCOMPARE(exact(0, CompareMakerModel::A).toLongLong(), qint64(0));
        QCOMPARE(exact(0, CompareMakerModel::Difference).toLongLong(), qint64(3 << 20));
        QCOMPARE(exact(1, CompareMakerModel::Difference).toLongLong(), qint64(-(1 << 20)));
        QVERIFY(makers.sentence().contains(QStringLiteral("model.py:2")));
        QVERIFY(probe.view->tableAsCsv().contains(QStringLiteral("model.py:1 forward")));
        probe.view->showTable(CompareView::Table::MakersAtEnd);
        QCOMPARE(makers.rowCount(), 2); // the third one's buffer is gone
        QCOMPARE(exact(0, CompareMakerModel::CountB).toLongLong(), qint64(1));
        QVERIFY(!probe.view->tableAsCsv().contains(QStringLiteral("early.py:9")));
        probe.view->showTable(CompareView::Table::Makers);
        QCOMPARE(makers.rowCount(), 3);
        // Beside timelines there is no room for many rows; of snapshots there are no timelines.
        QVERIFY(probe.view->canvas(0).isHidden());
        QAbstractItemModelTester tester(&probe.view->makers(), QAbstractItemModelTester::FailureReportingMode::QtTest);
        // A profile beside a snapshot has one.
        const auto profile = opened(shaped(Duration{1'000'000}));
        QVERIFY(profile);
        probe.view->setPartner(profile.get(), QStringLiteral("profile"));
        QVERIFY(probe.ready());
        QVERIFY(!probe.view->canvas(1).isHidden());
        probe.view->setPartner(nullptr, {});
    }

    /// The modelled step of two networks, one of them as if it was recorded.
    void otherNetworksAreNamedAndNotJudged()
    {
        const auto shownWith = [](std::shared_ptr<const InMemoryTraceData> data) {
            return [data](const QString&) -> Result<std::unique_ptr<TraceQuery>> {
                return std::unique_ptr<TraceQuery>(std::make_unique<InMemoryTraceQuery>(data));
            };
        };
        const auto a = modelledTrace(specOf("dp=2 tp=2", "gpt-tiny"), TraceSource::Recorded),
                   b = modelledTrace(specOf("dp=4", "llama-tiny"), TraceSource::Predicted),
                   plan = modelledTrace(specOf("dp=4", "gpt-tiny"), TraceSource::Recorded);
        QVERIFY(a && b && plan);
        ShownView<CompareView> probe(shownWith(a), {1200, 760});
        const auto comparedWith = [&](const std::shared_ptr<const InMemoryTraceData>& data) {
            auto session = std::make_unique<TraceSession>(shownWith(data), QStringLiteral("b"));
            const bool isShown = QTest::qWaitFor([&] { return session->isOpen(); }) && [&] {
                probe.view->setPartner(session.get(), QStringLiteral("other"));
                return QTest::qWaitFor([&] { return probe.view->session() != nullptr; }) && probe.ready();
            }();
            return isShown ? std::move(session) : nullptr;
        };
        const auto isJudged = [&] {
            const auto texts = probe.view->findChildren<ElidedText*>();
            return std::any_of(texts.begin(), texts.end(), [](const ElidedText* text) {
                return text->text().contains(QStringLiteral("worse most")) ||
                       text->text().contains(QStringLiteral("did not get worse"));
            });
        };
        auto other = comparedWith(b);
        QVERIFY(other);
        const QString said = probe.view->contrast().text();
        QVERIFY(probe.view->contrast().isVisible());
        for (const char* part : {"network: gpt-tiny \u2192 llama-tiny", "plan: dp 2 \u00b7 tp 2", "clock: "})
            QVERIFY2(said.contains(QString::fromUtf8(part)), qPrintable(said));
        QVERIFY(!isJudged());
        // The axis of memory counts from the step, as those of the timelines do.
        QCOMPARE(probe.view->memory().zero(), InMemoryTraceQuery(a).steps(RankId{0})->front().record.range.begin);
        probe.view->setPartner(nullptr, {});

        other = comparedWith(plan);
        QVERIFY(other);
        QVERIFY2(probe.view->contrast().text().contains(QStringLiteral("plan: ")),
                 qPrintable(probe.view->contrast().text()));
        const auto& figures = probe.view->comparison()->figures;
        for (const PlotFigure& card : probe.view->strip().figures()) {
            const auto figure =
                std::ranges::find_if(figures, [&](const auto& each) { return figureName(each) == card.name; });
            QVERIFY(figure != figures.end());
            const double worse = worseBy(*figure).value_or(0);
            QCOMPARE(card.alarm, worse >= kLeastChange);
            QCOMPARE(card.good, worse <= -kLeastChange);
        }
        probe.view->setPartner(nullptr, {});
    }

    void timelinesAreColouredByWhatChanged()
    {
        compare::ComparedOperator gemm, copy, alone;
        const auto time = [](std::int64_t ns) { return compare::OperatorTime{1, Duration{ns}, Duration{ns}}; };
        gemm.name = "gemm";
        gemm.shape = "m=1";
        gemm.a = time(100);
        gemm.b = time(125);
        copy.name = "copy";
        copy.match = compare::OperatorMatch::Name;
        copy.kind = SliceKind::Copy;
        copy.a = time(100);
        copy.b = time(95);
        alone.name = "new";
        alone.b = time(1);
        const OperatorChanges changes({gemm, copy, alone});
        const auto colour = [&](const char* name, const char* shape, SliceKind kind) {
            OpInfo op;
            op.name = name;
            op.detail = shape;
            op.kind = kind;
            return changes.colourOf(op);
        };
        QCOMPARE(colour("gemm", "m=1", SliceKind::Kernel), keyOf(TimeChange::MuchLonger));
        QCOMPARE(colour("gemm", "m=2", SliceKind::Kernel), keyOf(TimeChange::Same)); // another shape is another product
        QCOMPARE(colour("copy", "of any size", SliceKind::Copy), keyOf(TimeChange::Shorter));
        QCOMPARE(colour("new", "", SliceKind::Kernel), keyOf(TimeChange::Alone));

        ViewProbe<CompareView> probe(shaped(Duration{1'000'000}));
        const auto other = opened(shaped(Duration{1'500'000}));
        QVERIFY(other);
        probe.view->setPartner(other.get(), QStringLiteral("slower"));
        QVERIFY(shown(probe));
        QTRY_VERIFY(other->pending() == 0);
        const QColor longer = changeColour(currentTheme(), TimeChange::MuchLonger);
        const auto pixelsOf = [&](std::size_t side) {
            const QImage image = probe.view->canvas(side).grab().toImage();
            int count = 0;
            for (int y = 0; y < image.height(); ++y)
                for (int x = 0; x < image.width(); ++x) count += image.pixelColor(x, y) == longer;
            return count;
        };
        QCOMPARE(pixelsOf(0), 0);
        probe.view->colourByChange(true);
        QVERIFY(shown(probe));
        QVERIFY(pixelsOf(0) > 100 && pixelsOf(1) > 100); // all its operators take half as long again
        probe.view->colourByChange(false);
        QVERIFY(shown(probe));
        QCOMPARE(pixelsOf(1), 0);
    }

    void sharesChangeByPointsAndTheRestByPercentOrTimes()
    {
        const auto change = [](Figure figure, double a, double b) {
            return changeText(compare::ComparedFigure{&infoOf(figure), {}, a, b});
        };
        QCOMPARE(change(Figure::Mfu, 0.414, 0.58), QStringLiteral("+16.6 pp"));
        QCOMPARE(change(Figure::Bubble, 0.209, 0), QString(QChar(0x2212)) + QStringLiteral("20.9 pp"));
        QCOMPARE(change(Figure::ExposedComm, 0, 0.006), QStringLiteral("+0.6 pp")); // from nothing, too
        QCOMPARE(change(Figure::StepTime, 10, 12), QStringLiteral("+20 %").replace(u' ', changeText(20.0)[3]));
        QCOMPARE(change(Figure::PeakBytes, 1e9, 20e9), QString(QChar(0x00d7)) + QStringLiteral("20"));
        QCOMPARE(*worseBy({&infoOf(Figure::Mfu), {}, 0.5, 0.4}), 10.0);
        QVERIFY(*worseBy({&infoOf(Figure::StepTime), {}, 10.0, 8.0}) < 0);
    }

    void aTraceAgainstItselfHasNotChanged()
    {
        ViewProbe<CompareView> probe(shaped(Duration{1'000'000}));
        const auto other = opened(shaped(Duration{1'000'000}));
        QVERIFY(other);
        probe.view->setPartner(other.get(), QStringLiteral("same"));
        QVERIFY(shown(probe));
        for (const compare::ComparedFigure& figure : probe.view->comparison()->figures)
            if (figure.difference()) QCOMPARE(*figure.difference(), 0.0);
    }

    void anotherRankOrLanguageComparesNothingAnew()
    {
        ViewProbe<CompareView> probe(shaped(Duration{1'000'000}));
        const auto other = opened(shaped(Duration{1'500'000}));
        QVERIFY(other);
        probe.view->setPartner(other.get(), QStringLiteral("slower"));
        QVERIFY(shown(probe));
        const SharedComparison before = probe.view->comparison();
        probe.selection.setRank(RankId{1});
        QVERIFY(shown(probe));
        QCOMPARE(probe.view->comparison(), before);
        QEvent language(QEvent::LanguageChange);
        QCoreApplication::sendEvent(probe.view.get(), &language);
        QCOMPARE(probe.view->comparison(), before);
        QVERIFY(shown(probe));
        QCOMPARE(probe.view->comparison(), before);
    }

    void anotherThatHasFailedSaysSo()
    {
        ViewProbe<CompareView> probe(shaped(Duration{1'000'000}));
        TraceSession other(
            [](const QString&) -> Result<std::unique_ptr<TraceQuery>> {
                return Error{ErrorCode::Format, "is no trace", "x.fourwalls", "another file"};
            },
            QStringLiteral("x"));
        QTRY_VERIFY(other.error()); // before it is chosen
        probe.view->setPartner(&other, QStringLiteral("x"));
        QVERIFY(shown(probe));
        QVERIFY(probe.view->emptyReason().contains(QStringLiteral("is no trace")));
        probe.view->setPartner(nullptr, {});
        QVERIFY(shown(probe));
    }

    void anotherThatFailedBeforeThisOneOpenedSaysSo()
    {
        TraceSession other(
            [](const QString&) -> Result<std::unique_ptr<TraceQuery>> {
                return Error{ErrorCode::Format, "is no trace", "x.fourwalls", "another file"};
            },
            QStringLiteral("x"));
        QTRY_VERIFY(other.error());
        ViewProbe<CompareView> probe(shaped(Duration{1'000'000})); // opens with the next event
        probe.view->setPartner(&other, QStringLiteral("x"));
        QVERIFY(shown(probe));
        QVERIFY(probe.view->emptyReason().contains(QStringLiteral("is no trace")));
    }

    void theOtherTraceMayGo()
    {
        ViewProbe<CompareView> probe(shaped(Duration{1'000'000}));
        auto other = opened(shaped(Duration{2'000'000}));
        QVERIFY(other);
        probe.view->setPartner(other.get(), QStringLiteral("gone soon"));
        QVERIFY(shown(probe));
        other.reset();
        QVERIFY(shown(probe));
        QCOMPARE(probe.view->partner(), nullptr);
        QVERIFY(!probe.view->emptyReason().isEmpty());
        QVERIFY(!probe.view->grab().isNull());
    }
};

FOURWALLS_TEST(CompareViewTest, QApplication)

} // namespace tst_compare_view

#include "tst_compare_view.moc"
