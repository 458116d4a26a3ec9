// SPDX-License-Identifier: GPL-3.0-or-later
// The step of an open recording or import, run again from its own times with what a person changes: the first thing that
// the What-if dock offers, before any prediction. It says how far the same replay is off when nothing is changed.
#pragma once

#include "model/replay/replay_offers.h"
#include "model/replay/spec_change.h"
#include "views/whatif/prediction_card.h"
#include "views/words/format.h"

#include <QPointer>
#include <QWidget>

#include <memory>
#include <optional>
#include <string>
#include <vector>

class QPushButton;

namespace fourwalls::views {

class ReplayControls;
class TraceSession;

class ReplayCard : public QWidget {
    Q_OBJECT
public:
    explicit ReplayCard(QWidget* parent = nullptr);

    /// The trace; null: none. It is asked when the card is first seen, so that nobody waits for it who does not look.
    void setSession(TraceSession* session);

    void setByteUnit(ByteUnit unit);
    /// Null: the cost model has its own.
    void setRates(std::shared_ptr<const replay::MachineRates> rates) { m_rates = std::move(rates); }

    const FigureTable& table() const { return *m_table; }
    ReplayControls& controls() { return *m_controls; }
    /// "Unchanged, this replay is 0.03 % off.", or why the step cannot be run again.
    QString sentence() const { return m_sentence->text(); }
    /// What the changed step rests on; empty while nothing is changed.
    QString restsOn() const { return m_rests->text(); }
    /// The command that says the same; empty while nothing is changed.
    QString command() const;

signals:
    /// The changed step is to become a trace: the changes as `replay --change` takes them.
    void saveRequested(const QStringList& changes);
    /// The step can be run again: what its machines do is wanted, for changes that are modelled (setRates).
    void ratesWanted();

protected:
    void showEvent(QShowEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void ask();
    void run();
    void refresh();

    QPointer<TraceSession> m_session;
    bool m_asked = false;
    ByteUnit m_unit = ByteUnit::GB;
    std::shared_ptr<const replay::ReplayOffers> m_offers;
    std::shared_ptr<const replay::MachineRates> m_rates;
    std::shared_ptr<const replay::ReplayOutcome> m_outcome; ///< of m_changes; null: none or not known yet
    std::vector<std::string> m_changes;
    QString m_failure, m_changeFailure;
    QLabel *m_title, *m_together;
    WrappedText *m_sentence, *m_rests;
    FigureTable* m_table;
    ReplayControls* m_controls;
    QPushButton *m_reset, *m_save, *m_copy;
    QWidget* m_buttons;
};

} // namespace fourwalls::views
