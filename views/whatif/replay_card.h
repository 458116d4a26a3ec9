// SPDX-License-Identifier: GPL-3.0-or-later
// What would make the step of an open recording or import shorter, from its own times: the first thing that the What-if
// dock offers, before any prediction. It says how far the same replay is off when nothing is changed.
#pragma once

#include "model/replay/replay_offers.h"
#include "views/whatif/prediction_card.h"

#include <QPointer>
#include <QWidget>

#include <memory>

namespace fourwalls::views {

class TraceSession;

class ReplayCard : public QWidget {
    Q_OBJECT
public:
    explicit ReplayCard(QWidget* parent = nullptr);

    /// The trace; null: none. It is asked when the card is first seen, so that nobody waits for it who does not look.
    void setSession(TraceSession* session);

    const FigureTable& table() const { return *m_table; }
    /// "Unchanged, this replay is 0.03 % off.", or why the step cannot be run again.
    QString sentence() const { return m_sentence->text(); }

protected:
    void showEvent(QShowEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void ask();
    void refresh();

    QPointer<TraceSession> m_session;
    bool m_asked = false;
    std::shared_ptr<const replay::ReplayOffers> m_offers;
    QString m_failure;
    QLabel* m_title;
    WrappedText* m_sentence;
    FigureTable* m_table;
};

} // namespace fourwalls::views
