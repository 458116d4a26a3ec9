// SPDX-License-Identifier: GPL-3.0-or-later
// The order of the passes, changed by hand: schedule, micro-batches and chunks of the replay, with the times that were
// measured. The same state as that of the What-if dock.
#pragma once

#include "model/spec/pipeline_schedule.h"

#include <QPointer>
#include <QWidget>

#include <optional>
#include <string>

class QComboBox;
class QLabel;
class QSpinBox;

namespace fourwalls::views {

class KnobSlider;
class Replayer;

/// A change of a replay in words: "zero bubble", "16 micro-batches"; others as `replay --change` takes them.
QString changeWords(const std::string& change);

class OrderControls : public QWidget {
    Q_OBJECT
public:
    explicit OrderControls(QWidget* parent = nullptr);

    /// Of the trace that is shown; null: none.
    void setReplayer(Replayer* replayer);
    void retranslate();
    QComboBox& schedule() { return *m_schedule; }
    KnobSlider& slider() { return *m_slider; }
    QSpinBox& microbatches() { return *m_microbatches; }
    QSpinBox& chunks() { return *m_chunks; }
    /// Why nothing can be changed; empty: it can.
    QString blocked() const;

protected:
    void changeEvent(QEvent* event) override;

private:
    /// What the changes ask for; of a schedule with chunks, both.
    struct Order {
        PipelineSchedule schedule = PipelineSchedule::OneFOneB;
        int microbatches = 1, chunks = 1;
    };
    std::optional<PipelineShape> recorded() const;
    Order shown() const;
    void choose(const Order& order);
    void refresh();
    void fillSchedules();

    QPointer<Replayer> m_replayer;
    QLabel *m_name, *m_microbatchesName, *m_chunksName;
    QComboBox* m_schedule;
    KnobSlider* m_slider; ///< of the micro-batches
    QSpinBox *m_microbatches, *m_chunks;
};

} // namespace fourwalls::views
