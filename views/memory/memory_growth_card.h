// SPDX-License-Identifier: GPL-3.0-or-later
// Whose memory rises from step to step: what was alive at the ends of steps, by maker, in place of the tables.
#pragma once

#include "model/trace/memory_growth.h"
#include "views/plot/plot_card.h"
#include "views/words/format.h"

#include <memory>
#include <optional>

namespace fourwalls::views {

class CellTable;

class MemoryGrowthCard : public PlotCard {
    Q_OBJECT
public:
    explicit MemoryGrowthCard(QWidget* parent = nullptr);

    /// Null: not known; `why` says why. capacity: of the device [bytes]; 0: not known. begin: of the trace.
    void setGrowth(std::shared_ptr<const MemoryGrowth> growth, std::int64_t capacity, Instant begin,
                   const QString& why = {});
    void setByteUnit(ByteUnit unit);
    QString tableAsCsv() const;
    /// "grows by 64 MB a step; full after 120 more steps"; of two chosen moments what was alive at each.
    QString sentence() const;
    void retranslate();

private:
    void fillTable();
    QString sentenceBetween() const;

    std::shared_ptr<const MemoryGrowth> m_growth;
    std::int64_t m_capacity = 0;
    Instant m_begin;
    QString m_why;
    ByteUnit m_unit = ByteUnit::GB;
    CellTable* m_table;
};

} // namespace fourwalls::views
