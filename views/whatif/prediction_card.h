// SPDX-License-Identifier: GPL-3.0-or-later
// The What-if dock's answer: does it fit, how quick is it, what takes the time, and how far the model is off on the
// plan that was recorded.
#pragma once

#include "model/trace/metrics.h"
#include "views/plot/spoken.h"
#include "views/whatif/prediction.h"

#include "views/words/format.h"

#include <QLabel>
#include <QPointer>
#include <QWidget>

#include <memory>
#include <optional>
#include <vector>

namespace fourwalls::views {

class MemoryBar;
class WhatIf;

/// Figures in two columns: as recorded, and as predicted for the sliders (violet).
class FigureTable : public QWidget, public Spoken {
    Q_OBJECT
public:
    struct Row {
        QString name, recorded, predicted, explanation;
        friend bool operator==(const Row&, const Row&) = default;
    };
    explicit FigureTable(QWidget* parent = nullptr);
    void setHeadings(const QString& recorded, const QString& predicted);
    void setRows(std::vector<Row> rows);
    const std::vector<Row>& rows() const { return m_rows; }
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }
    QAccessible::Role spokenRole() const override { return QAccessible::StaticText; }

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    void speak(); ///< the accessible name: all figures under their headings
    /// Of the column on the right: as its widest figure needs.
    int predictedWidth() const;

    QString m_recorded, m_predicted;
    std::vector<Row> m_rows;
};

/// A text in as many lines as it needs. It changes with every move of a slider, and a layout asks for its height many
/// times: it is worked out once for each text and width.
class WrappedText : public QLabel {
    Q_OBJECT
public:
    explicit WrappedText(QWidget* parent = nullptr);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }
    int heightForWidth(int width) const override;

protected:
    void changeEvent(QEvent* event) override;

private:
    mutable QString m_measured; ///< the text whose height is known
    mutable int m_width = -1, m_height = 0;
};

class PredictionCard : public QWidget {
    Q_OBJECT
public:
    explicit PredictionCard(QWidget* parent = nullptr);

    /// Null: none.
    void setWhatIf(WhatIf* whatIf);
    /// The figures of the open trace; null: not known (yet). source: what made them.
    void setMeasured(std::shared_ptr<const TraceMetrics> measured, TraceSource source);
    void setByteUnit(ByteUnit unit);
    void refresh();
    /// Where there is little height: one line instead of bar, table and sentences.
    void setCompact(bool compact);
    bool isCompact() const { return m_compact; }
    /// "step 896 ms · fits: 14.9 GB of 85.9 GB".
    QString summary() const;

    const FigureTable& table() const { return *m_table; }
    /// "Fits: …", or why not.
    QString verdict() const;
    /// How far the baseline is from what was measured; empty where that is not known.
    QString modelError() const;

protected:
    void paintEvent(QPaintEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    std::vector<FigureTable::Row> rows() const;

    QPointer<WhatIf> m_whatIf;
    std::shared_ptr<const TraceMetrics> m_measured;
    TraceSource m_source = TraceSource::Recorded;
    ByteUnit m_unit = ByteUnit::GB;
    bool m_compact = false;
    MemoryBar* m_bar;
    FigureTable* m_table;
    WrappedText *m_verdict, *m_band, *m_error;
};

/// The largest peak over the ranks [bytes]; absent without memory records.
std::optional<double> peakOf(const TraceMetrics& metrics);

} // namespace fourwalls::views
