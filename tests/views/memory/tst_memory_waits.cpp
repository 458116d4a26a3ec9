// SPDX-License-Identifier: GPL-3.0-or-later
// The memory view while answers are on their way: whatever changes meanwhile, the picture is complete in the end.
#include "tests/support/test_program.h"
#include "tests/views/memory/view_probe.h"
#include "views/memory/memory_area_plot.h"
#include "views/memory/memory_view.h"

#include <QApplication>
#include <QScopeGuard>

#include <atomic>
#include <utility>

namespace tst_memory_waits {

using namespace fourwalls;
using namespace fourwalls::views;

namespace {

/// Curves of memory wait while `held`.
class HeldQuery : public InMemoryTraceQuery {
public:
    HeldQuery(std::shared_ptr<const InMemoryTraceData> data, std::atomic<bool>& held)
        : InMemoryTraceQuery(data)
        , m_data(std::move(data))
        , m_held(held)
    {}
    Result<std::unique_ptr<TraceQuery>> reopen() const override
    {
        return std::unique_ptr<TraceQuery>(std::make_unique<HeldQuery>(m_data, m_held));
    }
    Result<MemoryWindow> memory(RankId rank, TimeRange range, int pixels) override
    {
        m_held.wait(true);
        return InMemoryTraceQuery::memory(rank, range, pixels);
    }

private:
    std::shared_ptr<const InMemoryTraceData> m_data;
    std::atomic<bool>& m_held;
};

} // namespace

class MemoryWaitsTest : public QObject {
    Q_OBJECT

private slots:
    void init() { failOnQtWarnings(); }

    void aPlotThatGrowsMeanwhileGetsAFinerPicture()
    {
        std::atomic<bool> held = false;
        const auto release = qScopeGuard([&] {
            held = false;
            held.notify_all();
        });
        ShownView<MemoryView> shown(
            [&held](const QString&) -> Result<std::unique_ptr<TraceQuery>> {
                return std::unique_ptr<TraceQuery>(
                    std::make_unique<HeldQuery>(sample::training(sample::TrainingShape{}), held));
            },
            QSize(700, 760));
        QVERIFY(shown.ready());
        const TimeRange whole = shown.selection.whole();
        shown.selection.setRange({whole.begin, whole.begin + Duration{whole.length().ns / 50}});
        QVERIFY(shown.ready());
        held = true;
        shown.selection.setRange(whole);
        const int columns = shown.view->areaPlot().deviceColumns();
        shown.view->resize(1500, 760); // the answer that is on its way has too few columns, but not a quarter
        QVERIFY(shown.view->areaPlot().deviceColumns() > 2 * columns);
        QCoreApplication::processEvents(); // what else the new size moves
        QVERIFY(!shown.view->showsFinalData());
        held = false;
        held.notify_all();
        QVERIFY(shown.ready());
    }
};

FOURWALLS_TEST(MemoryWaitsTest, QApplication)

} // namespace tst_memory_waits

#include "tst_memory_waits.moc"
