// SPDX-License-Identifier: GPL-3.0-or-later
// See memory_compare_panel.h.
#include "views/memory/memory_compare_panel.h"

#include "views/plot/plot_cells.h"
#include "views/plot/theme.h"
#include "views/words/words.h"

#include <cmath>

namespace fourwalls::views {

namespace {

QString errorText(std::int64_t predicted, std::int64_t recorded)
{
    if (recorded <= 0) return QString(kDash);
    const double share = static_cast<double>(predicted) / static_cast<double>(recorded) - 1;
    if (std::abs(share) < 5e-4) return formatPercent(0);
    return (share < 0 ? QString(QChar(0x2212)) : QStringLiteral("+")) + formatPercent(std::abs(share));
}

} // namespace

MemoryComparePanel::MemoryComparePanel(QWidget* parent) : PlotCard(parent), m_table(new CellTable(this))
{
    addContent(m_table, 1);
    retranslate();
}

void MemoryComparePanel::retranslate()
{
    m_table->setAccessibleName(tr("Memory at the peak by category, predicted and recorded"));
}

void MemoryComparePanel::setPeaks(const std::optional<MemorySummary>& recorded,
                                  const std::optional<MemorySummary>& baseline,
                                  const std::optional<MemorySummary>& ghost, bool replayed, ByteUnit unit,
                                  TraceSource source)
{
    const bool modelled = source == TraceSource::Predicted;
    title().setText(modelled ? tr("Prediction and sliders") : tr("Predicted and recorded"));
    std::vector<CellColumn> columns{{tr("at the peak"), {}, false, 0}};
    if (modelled) {
        columns.push_back({tr("this trace"), tr("The predicted peak of this rank"), true, 74});
    } else {
        columns.push_back({tr("recorded"), tr("The recorded peak of this rank"), true, 74});
        // The sliders' plan matters more than the recorded one's; the error can be left out, the panel's heading has it.
        const bool spare = ghost.has_value();
        columns.push_back({tr("predicted"), tr("The model's peak for the recorded plan"), true, 78, spare});
        columns.push_back({tr("error"), tr("100 x (predicted - recorded) / recorded"), true, 62, true});
    }
    if (ghost && replayed)
        columns.push_back(
            {tr("replayed"), tr("The peak of the recorded step with the changes of its replay"), true, 74});
    else if (ghost)
        columns.push_back({tr("sliders"), tr("The model's peak for the plan of the sliders"), true, 74});
    const auto bytes = [unit](std::int64_t value) {
        return CellValue{.text = formatBytes(static_cast<double>(value), unit), .exact = static_cast<qlonglong>(value)};
    };
    const CellValue none{.text = QString(kDash)};
    std::vector<std::vector<CellValue>> rows;
    const auto addRow = [&](CellValue name, auto value) {
        const auto of = [&](const std::optional<MemorySummary>& summary) {
            return summary ? value(*summary) : std::int64_t{0};
        };
        if (of(recorded) == 0 && of(baseline) == 0 && of(ghost) == 0) return;
        std::vector<CellValue> row{std::move(name), recorded ? bytes(of(recorded)) : none};
        if (!modelled) {
            row.push_back(baseline ? bytes(of(baseline)) : none);
            row.back().ink = currentTheme().prediction;
            CellValue error = none;
            if (recorded && baseline) error.text = errorText(of(baseline), of(recorded));
            row.push_back(error);
        }
        if (ghost) {
            row.push_back(bytes(of(ghost)));
            row.back().ink = currentTheme().prediction;
        }
        rows.push_back(std::move(row));
    };
    addRow({.text = tr("all")}, [](const MemorySummary& summary) { return summary.peakBytes; });
    for (int i = 0; i < kMemoryCategoryCount; ++i) {
        const auto category = static_cast<MemoryCategory>(i);
        addRow({.text = words(category), .colour = colourOf(currentTheme(), category)},
               [i](const MemorySummary& summary) { return summary.atPeak[static_cast<std::size_t>(i)]; });
    }
    m_table->setContent(std::move(columns), std::move(rows));
    const std::optional<MemorySummary>& other = modelled ? ghost : baseline;
    if (recorded && other)
        finding().setText((modelled ? tr("peak %1") : tr("model's error at the peak: %1"))
                              .arg(errorText(other->peakBytes, recorded->peakBytes)));
    else
        finding().setText(modelled ? tr("the sliders say what this trace predicts") : QString());
}

QString MemoryComparePanel::tableAsCsv() const
{
    return m_table->asCsv();
}

bool MemoryComparePanel::tableHasFocus() const
{
    return m_table->hasFocus();
}

} // namespace fourwalls::views
